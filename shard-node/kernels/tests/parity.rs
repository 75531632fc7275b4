//! Every instruction set of this processor against plain definitions written here a second time.

use proptest::prelude::*;
use sextant_kernels::{Isa, Kernels, MAX_WORDS, ShapeError};

fn present() -> impl Iterator<Item = Kernels> {
    Isa::ALL.into_iter().filter_map(Kernels::with)
}

/// Bit by bit, without population counts.
fn naive_hamming(query: &[u64], row: &[u64]) -> u32 {
    let differs = |bit: usize| (query[bit / 64] >> (bit % 64)) & 1 != (row[bit / 64] >> (bit % 64)) & 1;
    (0..query.len() * 64).filter(|&bit| differs(bit)).count() as u32
}

fn naive_asymmetric(weights: &[i16], code: &[u64]) -> i64 {
    let sign = |bit: usize| 2 * ((code[bit / 64] >> (bit % 64)) & 1) as i64 - 1;
    weights.iter().enumerate().map(|(bit, &weight)| sign(bit) * i64::from(weight)).sum()
}

/// SplitMix64: bits for shapes too large to draw one by one.
fn noise(seed: u64, count: usize) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..count).map(|_| next()).collect()
}

fn noise_weights(seed: u64, count: usize) -> Vec<i16> {
    noise(seed, count).into_iter().map(|bits| bits as i16).collect()
}

fn check_hamming(seed: u64, words: usize, rows: usize, skew: usize) {
    // `skew` words in front make the rows start at any alignment.
    let query = noise(seed, words);
    let memory = noise(!seed, skew + rows * words);
    let expected: Vec<u32> =
        memory[skew..].chunks_exact(words).map(|row| naive_hamming(&query, row)).collect();
    for kernels in present() {
        let mut distances = vec![u32::MAX; rows];
        kernels.hamming_rows(&query, &memory[skew..], &mut distances).expect("shapes fit");
        assert_eq!(distances, expected, "{} words, {rows} rows, {:?}", words, kernels.isa());
    }
}

fn check_asymmetric(weights: &[i16], code: &[u64]) {
    let expected = naive_asymmetric(weights, code);
    for kernels in present() {
        let score = kernels.asymmetric(weights, code).expect("shapes fit");
        assert_eq!(score, expected, "{} weights, {:?}", weights.len(), kernels.isa());
    }
}

proptest! {
    #[test]
    fn hamming_equals_the_definition(
        seed: u64, words in 1_usize..=128, rows in 0_usize..=40, skew in 0_usize..8,
    ) {
        check_hamming(seed, words, rows, skew);
    }

    #[test]
    fn asymmetric_equals_the_definition(seed: u64, bits in 1_usize..=8_192) {
        check_asymmetric(&noise_weights(seed, bits), &noise(!seed, bits.div_ceil(64)));
    }

    #[test]
    fn chosen_words_and_weights(
        code in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], 1..20),
        seed: u64, cut in 0_usize..64,
    ) {
        let mut weights = noise_weights(seed, code.len() * 64 - cut);
        check_asymmetric(&weights, &code);
        // The extreme that a 16-bit negation would wrap.
        weights.fill(i16::MIN);
        check_asymmetric(&weights, &code);
    }
}

#[test]
fn common_widths_with_every_number_of_rows_in_a_tile() {
    for bits in [64, 384, 512, 768, 1_024, 1_536, 2_048, 4_096, 8_192] {
        for rows in 0..=17 {
            check_hamming(bits as u64, bits / 64, rows, 1);
        }
        check_asymmetric(&noise_weights(3, bits), &noise(4, bits / 64));
    }
}

#[test]
fn greatest_width_does_not_overflow() {
    let query = vec![0; MAX_WORDS];
    let rows = vec![u64::MAX; MAX_WORDS];
    let smallest = vec![i16::MIN; MAX_WORDS * 64];
    let total = i64::from(i16::MIN) * (MAX_WORDS as i64) * 64;
    for kernels in present() {
        let mut distance = [0];
        kernels.hamming_rows(&query, &rows, &mut distance).expect("shapes fit");
        assert_eq!(distance, [MAX_WORDS as u32 * 64], "{:?}", kernels.isa());
        assert_eq!(kernels.asymmetric(&smallest, &rows), Ok(total), "{:?}", kernels.isa());
        assert_eq!(kernels.asymmetric(&smallest, &query), Ok(-total), "{:?}", kernels.isa());
    }
}

#[test]
fn padding_bits_do_not_count() {
    for kernels in present() {
        for padding in [0, u64::MAX << 3] {
            assert_eq!(kernels.asymmetric(&[5, -3, 7], &[0b101 | padding]), Ok(15), "{:?}", kernels.isa());
        }
    }
}

#[test]
fn wrong_shapes_are_refused_and_write_nothing() {
    for kernels in present() {
        let mut out = [7; 2];
        assert_eq!(kernels.hamming_rows(&[], &[], &mut out), Err(ShapeError::Width { words: 0 }));
        let wide = vec![0; MAX_WORDS + 1];
        assert_eq!(
            kernels.hamming_rows(&wide, &wide, &mut out[..1]),
            Err(ShapeError::Width { words: MAX_WORDS + 1 })
        );
        assert_eq!(
            kernels.hamming_rows(&[1, 2], &[1, 2, 3], &mut out),
            Err(ShapeError::Rows { words: 2, rows: 2, given_words: 3 })
        );
        assert_eq!(out, [7; 2]);
        assert_eq!(kernels.asymmetric(&[], &[]), Err(ShapeError::Width { words: 0 }));
        for weights in [0, 64, 129] {
            assert_eq!(
                kernels.asymmetric(&vec![1; weights], &[0, 0]),
                Err(ShapeError::Weights { weights, words: 2 })
            );
        }
    }
}

#[test]
fn detection_takes_the_fastest_present() {
    let fastest = present().last().map(Kernels::isa);
    assert_eq!(Some(Kernels::detect().isa()), fastest);
    assert!(Kernels::with(Isa::Scalar).is_some());
}
