//! The scan against a sort of everything, with codes drawn so that ties are the rule.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sextant_kernels::{Isa, Kernels};

use super::{ScanError, ScanQuery, Scored, top_k};
use crate::arena::{Arena, SEGMENT_ROWS};

fn present() -> impl Iterator<Item = Kernels> {
    Isa::ALL.into_iter().filter_map(Kernels::with)
}

/// Codes by vector; those in `removed` are pushed first and taken out again.
#[derive(Clone, Debug)]
struct Rows {
    words: usize,
    live: BTreeMap<u32, Vec<u64>>,
    removed: BTreeMap<u32, Vec<u64>>,
}

impl Rows {
    fn arena(&self, backwards: bool) -> Arena {
        let mut arena = Arena::new(self.words).expect("a width in range");
        let mut order: Vec<_> = self.live.iter().chain(&self.removed).collect();
        order.sort_unstable();
        if backwards {
            order.reverse();
        }
        for (&vector_id, code) in order {
            arena.push(vector_id, code).expect("a code that fits");
        }
        for &vector_id in self.removed.keys() {
            assert!(arena.remove(vector_id));
        }
        arena
    }
}

/// The definition: sort all by (distance, id), score the first `k × oversample`, sort by (score, id).
fn naive(rows: &Rows, query: &ScanQuery<'_>, pass: impl Fn(u32) -> bool) -> Vec<Scored> {
    let mut all: Vec<Scored> = rows
        .live
        .iter()
        .filter(|(vector_id, _)| pass(**vector_id))
        .map(|(&vector_id, code)| {
            let distance = code.iter().zip(query.code).map(|(a, b)| (a ^ b).count_ones()).sum();
            let signed = |(bit, &weight): (usize, &i16)| {
                if (code[bit / 64] >> (bit % 64)) & 1 == 1 { i64::from(weight) } else { -i64::from(weight) }
            };
            let score = query.weights.iter().enumerate().map(signed).sum();
            Scored { vector_id, score, distance }
        })
        .collect();
    all.sort_by_key(|hit| (hit.distance, hit.vector_id));
    all.truncate(query.k * query.oversample.max(1));
    all.sort_by_key(|hit| (Reverse(hit.score), hit.vector_id));
    all.truncate(query.k);
    all
}

/// Few bits and small weights, so that both orders tie often.
fn coarse_word() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..8, Just(u64::MAX), any::<u64>()]
}

fn rows() -> impl Strategy<Value = Rows> {
    (1_usize..=9).prop_flat_map(|words| {
        let code = || prop::collection::vec(coarse_word(), words);
        let live = prop::collection::btree_map(0_u32..1_000, code(), 0..200);
        let removed = prop::collection::btree_map(1_000_u32..2_000, code(), 0..50);
        (live, removed).prop_map(move |(live, removed)| Rows { words, live, removed })
    })
}

proptest! {
    #[test]
    fn equals_a_sort_of_everything(
        rows in rows(),
        code in prop::collection::vec(coarse_word(), 9),
        weights in prop::collection::vec(-2_i16..=2, 9 * 64),
        cut in 0_usize..64,
        (k, oversample) in (0_usize..40, 0_usize..6),
        (modulus, backwards) in (1_u32..5, any::<bool>()),
    ) {
        let query = ScanQuery {
            code: &code[..rows.words],
            weights: &weights[..rows.words * 64 - cut],
            k,
            oversample,
        };
        let pass = |vector_id: u32| vector_id.is_multiple_of(modulus);
        let expected = naive(&rows, &query, pass);
        let arena = rows.arena(backwards);
        for kernels in present() {
            let mut asked = BTreeSet::new();
            let scan = top_k(kernels, &arena, &query, &mut |vector_id| {
                assert!(asked.insert(vector_id), "asked twice about {vector_id}");
                assert!(rows.live.contains_key(&vector_id), "asked about a removed vector");
                pass(vector_id)
            });
            let scan = scan.expect("a query that fits");
            prop_assert_eq!(&scan.hits, &expected, "{:?}", kernels.isa());
            prop_assert_eq!(scan.stats.tested, asked.len() as u64);
        }
    }
}

/// Vector `id` differs from the zero query in `id / 10` bits.
fn ramp(count: u32, words: usize) -> Arena {
    let mut arena = Arena::new(words).expect("a width in range");
    for id in 0..count {
        let ones = id as usize / 10;
        let code: Vec<u64> = (0..words)
            .map(|word| match ones.saturating_sub(64 * word) {
                0 => 0,
                left if left >= 64 => u64::MAX,
                left => (1 << left) - 1,
            })
            .collect();
        arena.push(id, &code).expect("a code that fits");
    }
    arena
}

#[test]
fn the_filter_is_asked_only_about_vectors_that_could_enter() {
    let count = 3 * SEGMENT_ROWS as u32;
    let arena = ramp(count, 8);
    let query = ScanQuery { code: &[0; 8], weights: &[-1; 512], k: 5, oversample: 4 };
    for kernels in present() {
        // Nearest first: once twenty are in, nobody else is asked about.
        let scan = top_k(kernels, &arena, &query, &mut |_| true).expect("a query that fits");
        let ids: Vec<u32> = scan.hits.iter().map(|hit| hit.vector_id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        assert_eq!(scan.stats.tested, 20);
        assert_eq!(scan.stats.candidates, 20);
        assert_eq!(scan.stats.rows, u64::from(count));
        assert_eq!(scan.stats.bytes, u64::from(count) * 64);
    }
}

#[test]
fn the_scores_order_what_the_distances_picked() {
    let mut arena = Arena::new(1).expect("a width in range");
    // Both differ from the query in one bit; the query is surer of bit 0 than of bit 1. The third has the best
    // score a far code could have, and is not picked.
    arena.push(1, &[0b10]).expect("a code that fits");
    arena.push(2, &[0b01]).expect("a code that fits");
    arena.push(3, &[u64::MAX << 2 | 0b11]).expect("a code that fits");
    let mut weights = [1; 64];
    weights[0] = 900;
    let query = ScanQuery { code: &[0b11], weights: &weights, k: 1, oversample: 2 };
    let scan = top_k(Kernels::detect(), &arena, &query, &mut |_| true).expect("a query that fits");
    assert_eq!(scan.hits, [Scored { vector_id: 2, score: 900 - 63, distance: 1 }]);
}

#[test]
fn the_widest_code_fits_a_block() {
    let words = sextant_kernels::MAX_WORDS;
    let arena = ramp(30, words);
    let query = ScanQuery { code: &vec![0; words], weights: &vec![-1; words * 64], k: 1, oversample: 1 };
    let scan = top_k(Kernels::detect(), &arena, &query, &mut |id| id >= 20).expect("a query that fits");
    assert_eq!(scan.hits.first().map(|hit| (hit.vector_id, hit.distance)), Some((20, 2)));
}

#[test]
fn a_huge_k_allocates_no_more_than_there_is() {
    let arena = ramp(7, 2);
    let query = ScanQuery { code: &[0; 2], weights: &[0; 128], k: usize::MAX, oversample: usize::MAX };
    let scan = top_k(Kernels::detect(), &arena, &query, &mut |_| true).expect("a query that fits");
    assert_eq!(scan.hits.len(), 7);
}

#[test]
fn queries_of_another_width_are_refused() {
    let kernels = Kernels::detect();
    for arena in [ramp(0, 2), ramp(3, 2)] {
        let wide = ScanQuery { code: &[0; 3], weights: &[0; 192], k: 1, oversample: 1 };
        assert_eq!(
            top_k(kernels, &arena, &wide, &mut |_| true),
            Err(ScanError::Width { query_words: 3, arena_words: 2 })
        );
        let unlike = ScanQuery { code: &[0; 2], weights: &[0; 64], k: 1, oversample: 1 };
        assert!(matches!(top_k(kernels, &arena, &unlike, &mut |_| true), Err(ScanError::Shape(_))));
    }
}
