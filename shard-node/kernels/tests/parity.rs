//! Every instruction set of this processor against plain definitions written here a second time.

use proptest::prelude::*;
use sextant_kernels::{Isa, Kernels, LANES, MAX_WORDS, Near, Planes, RestRows, SLACK, ShapeError, Split};

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

/// Columns `from..to` of rows, interleaved by eight.
fn interleaved(rows: &[u64], words: usize, from: usize, to: usize) -> Vec<u64> {
    let mut plane = Vec::new();
    for block in rows.chunks_exact(words * LANES) {
        for word in from..to {
            plane.extend(block.chunks_exact(words).map(|row| row[word]));
        }
    }
    plane
}

/// A shape to be checked: whole words, those of the prefix, blocks of eight rows.
#[derive(Clone, Copy, Debug)]
struct Shape {
    seed: u64,
    words: usize,
    prefix: usize,
    blocks: usize,
    /// Words in front of both planes, which make them start at any alignment.
    skew: usize,
}

fn check_distances(shape: Shape) {
    let Shape { seed, words, prefix, blocks, skew } = shape;
    let query = noise(seed, words);
    let rows = noise(!seed, blocks * LANES * words);
    let distances: Vec<u32> = rows.chunks_exact(words).map(|row| naive_hamming(&query, row)).collect();
    let shifted = |plane: Vec<u64>| [vec![0; skew], plane].concat();
    let prefix_plane = shifted(interleaved(&rows, words, 0, prefix));
    let rest: Vec<u64> = rows.chunks_exact(words).flat_map(|row| row[prefix..].to_vec()).collect();
    let rest_plane = shifted(rest.clone());
    let interleaved_rest = shifted(interleaved(&rows, words, prefix, words));
    let split = Split { prefix: &query[..prefix], rest: &query[prefix..] };

    let mut sorted = distances.clone();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    for limit in [0, middle, u32::MAX] {
        let expected: Vec<Near> = distances
            .iter()
            .enumerate()
            .filter(|(_, distance)| **distance <= limit)
            .map(|(row, &distance)| Near { row: row as u32, distance })
            .collect();
        for kernels in present() {
            let case = format!("{shape:?}, limit {limit}, {:?}", kernels.isa());
            let mut out = vec![Near::default(); distances.len() + SLACK];
            let planes = Planes { prefix: &prefix_plane[skew..], rest: &rest_plane[skew..] };
            let found = kernels.within(split, planes, limit, &mut out).expect("shapes fit");
            assert_eq!(out[..found], expected, "within, {case}");

            let planes = Planes { prefix: &prefix_plane[skew..], rest: &interleaved_rest[skew..] };
            let found = kernels.interleaved_within(split, planes, limit, &mut out).expect("shapes fit");
            assert_eq!(out[..found], expected, "interleaved_within, {case}");
        }
    }
    for kernels in present() {
        let mut turned = vec![0; rest.len()];
        kernels.interleave(&rest, words - prefix, &mut turned).expect("shapes fit");
        assert_eq!(turned, interleaved_rest[skew..], "interleave, {shape:?}, {:?}", kernels.isa());
    }
}

/// Candidates in any order, any of them twice, over words `from..from + part` of rows of `stride`.
fn check_narrow(seed: u64, stride: usize, (from, part): (usize, usize), count: usize) {
    let rows = 50;
    let plane = noise(seed, rows * stride);
    let query = noise(!seed, part);
    let start: Vec<Near> = noise(seed ^ 1, count)
        .into_iter()
        .map(|bits| Near { row: (bits % rows as u64) as u32, distance: (bits >> 32) as u32 % 100 })
        .collect();
    let whole: Vec<Near> = start
        .iter()
        .map(|near| {
            let first = near.row as usize * stride + from;
            let more = naive_hamming(&query, &plane[first..first + part]);
            Near { row: near.row, distance: near.distance + more }
        })
        .collect();
    let middle = whole.get(count / 2).map_or(0, |near| near.distance);
    for limit in [0, middle, u32::MAX] {
        let expected: Vec<Near> = whole.iter().copied().filter(|near| near.distance <= limit).collect();
        for kernels in present() {
            let mut near = start.clone();
            let rest = RestRows { words: &plane, stride, from };
            let kept = kernels.narrow(&query, rest, limit, &mut near).expect("shapes fit");
            assert_eq!(near[..kept], expected, "{stride} {from} {part} {count} {limit} {:?}", kernels.isa());
        }
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
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn distances_equal_the_definition(
        seed: u64, words in 1_usize..=128, cut in 1_usize..=128, blocks in 0_usize..=5, skew in 0_usize..8,
    ) {
        check_distances(Shape { seed, words, prefix: 1 + cut % words, blocks, skew });
    }

    #[test]
    fn narrowing_equals_the_definition(
        seed: u64, stride in 1_usize..=128, a in 0_usize..=128, b in 0_usize..=128, count in 0_usize..=70,
    ) {
        let (from, to) = (a.min(b) % (stride + 1), a.max(b) % (stride + 1));
        check_narrow(seed, stride, (from.min(to), from.max(to) - from.min(to)), count);
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
fn common_widths_with_every_number_of_blocks_and_every_tail() {
    for bits in [64, 384, 512, 768, 1_024, 1_536, 2_048, 4_096, 8_192] {
        let words = bits / 64;
        for prefix in [6, 8, words] {
            for blocks in 0..=3 {
                check_distances(Shape {
                    seed: bits as u64,
                    words,
                    prefix: prefix.min(words),
                    blocks,
                    skew: 1,
                });
            }
        }
        for count in 0..=33 {
            check_narrow(bits as u64, words, (0, words), count);
        }
        check_asymmetric(&noise_weights(3, bits), &noise(4, words));
    }
}

#[test]
fn reading_meets_every_word() {
    for count in [0, 1, 31, 32, 100] {
        let words: Vec<u64> = (0..count).map(|bit| 1 << (bit % 64)).collect();
        for kernels in present() {
            assert_eq!(
                kernels.read(&words),
                words.iter().fold(0, |all, word| all | word),
                "{:?}",
                kernels.isa()
            );
        }
    }
}

#[test]
fn greatest_width_does_not_overflow() {
    let query = vec![0; MAX_WORDS];
    let rows = vec![u64::MAX; MAX_WORDS * LANES];
    let smallest = vec![i16::MIN; MAX_WORDS * 64];
    let total = i64::from(i16::MIN) * (MAX_WORDS as i64) * 64;
    for kernels in present() {
        for prefix in [1, 6, MAX_WORDS] {
            let split = Split { prefix: &query[..prefix], rest: &query[prefix..] };
            let (prefix, rest) = rows.split_at(prefix * LANES);
            let mut out = [Near::default(); LANES + SLACK];
            let planes = Planes { prefix, rest };
            let most = MAX_WORDS as u32 * 64;
            assert_eq!(kernels.within(split, planes, most - 1, &mut out), Ok(0), "{:?}", kernels.isa());
            assert_eq!(kernels.within(split, planes, most, &mut out), Ok(LANES));
            assert_eq!(out[LANES - 1], Near { row: LANES as u32 - 1, distance: most });
            assert_eq!(kernels.interleaved_within(split, planes, most, &mut out), Ok(LANES));
        }
        let code = &rows[..MAX_WORDS];
        assert_eq!(kernels.asymmetric(&smallest, code), Ok(total), "{:?}", kernels.isa());
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
        let mark = Near { row: 7, distance: 7 };
        let mut out = [mark; LANES + SLACK];
        let plane = [0; 3 * LANES];
        let split =
            |prefix, rest| Split { prefix: &[0; MAX_WORDS + 1][..prefix], rest: &[0; MAX_WORDS][..rest] };
        let planes = |prefix, rest| Planes { prefix: &plane[..prefix], rest: &plane[..rest] };
        let wrong = |words, prefix, rest| Err(ShapeError::Planes { words, prefix, rest });
        let cases = [
            (split(0, 1), planes(0, 8), Err(ShapeError::Width { words: 1 })),
            (split(MAX_WORDS + 1, 0), planes(0, 0), Err(ShapeError::Width { words: MAX_WORDS + 1 })),
            (split(2, 1), planes(8, 8), wrong(3, 8, 8)),
            (split(1, 1), planes(8, 16), wrong(2, 8, 16)),
            (split(1, 0), planes(7, 0), wrong(1, 7, 0)),
            (split(1, 0), planes(16, 0), Err(ShapeError::Room { rows: 16, places: 16 })),
        ];
        for (split, planes, refusal) in cases {
            assert_eq!(kernels.within(split, planes, u32::MAX, &mut out), refusal);
            assert_eq!(kernels.interleaved_within(split, planes, u32::MAX, &mut out), refusal);
        }
        let rest = |stride, from| RestRows { words: &plane[..12], stride, from };
        let mut near = [Near { row: 3, distance: 0 }];
        for (part, stride, from) in [(2, 3, 2), (1, 4, 0), (4, 4, usize::MAX)] {
            let refusal = Err(ShapeError::Part { from, words: part, stride });
            assert_eq!(kernels.narrow(&[0; 9][..part], rest(stride, from), 9, &mut near), refusal);
        }
        assert_eq!(near, [Near { row: 3, distance: 0 }]);
        let mut turned = [7; 16];
        for (rows, words) in [(8, 1), (16, 3), (16, 0)] {
            assert!(kernels.interleave(&plane[..rows], words, &mut turned).is_err());
        }
        assert_eq!((out, turned), ([mark; LANES + SLACK], [7; 16]));
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
    assert!(Kernels::with(Isa::Scalar).is_some() && Kernels::with(Isa::Portable).is_some());
}
