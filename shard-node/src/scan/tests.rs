//! The scan against a sort of everything, with codes drawn so that ties are the rule.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use sextant_kernels::{Isa, Kernels};

use super::{
    BatchEntry, Control, Depth, Filter, ScanError, ScanQuery, Scored, top_k, top_k_batch, top_k_selected,
};
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
            assert_eq!(arena.remove(vector_id), Ok(true));
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
    prop_oneof![1_usize..=10, Just(20)].prop_flat_map(|words| {
        let code = || prop::collection::vec(coarse_word(), words);
        let live = prop::collection::btree_map(0_u32..1_000, code(), 0..200);
        let removed = prop::collection::btree_map(1_000_u32..2_000, code(), 0..50);
        (live, removed).prop_map(move |(live, removed)| Rows { words, live, removed })
    })
}

/// All ways to ask that must give the exact answer.
const EXACT: [Depth; 2] = [Depth::Exact, Depth::Pruned { z: f32::INFINITY }];

proptest! {
    #[test]
    fn equals_a_sort_of_everything(
        rows in rows(),
        code in prop::collection::vec(coarse_word(), 20),
        weights in prop::collection::vec(-2_i16..=2, 20 * 64),
        cut in 0_usize..64,
        (k, oversample) in (0_usize..40, 0_usize..6),
        (modulus, backwards, threads) in (1_u32..5, any::<bool>(), 1_usize..3),
    ) {
        let query = ScanQuery {
            code: &code[..rows.words],
            weights: &weights[..rows.words * 64 - cut],
            k,
            oversample,
            depth: Depth::Exact,
        };
        let pass = |vector_id: u32| vector_id.is_multiple_of(modulus);
        let expected = naive(&rows, &query, pass);
        let arena = rows.arena(backwards);
        let snapshot = arena.snapshot();
        for (kernels, depth) in present().flat_map(|kernels| EXACT.map(|depth| (kernels, depth))) {
            let query = ScanQuery { depth, ..query };
            let asked = Mutex::new(BTreeSet::new());
            let filter: Filter<'_> = &|vector_id| {
                assert!(asked.lock().expect("no panic").insert(vector_id), "asked twice about {vector_id}");
                assert!(rows.live.contains_key(&vector_id), "asked about a removed vector");
                pass(vector_id)
            };
            let control = Control { threads, ..Control::ALONE };
            let scan = top_k(kernels, &snapshot, &query, filter, control).expect("a query that fits");
            prop_assert_eq!(&scan.hits, &expected, "{:?} {:?}", kernels.isa(), depth);
            prop_assert_eq!(scan.stats.tested, asked.lock().expect("no panic").len() as u64);

            let mut chosen: Vec<u32> =
                rows.live.keys().filter(|id| pass(**id)).filter_map(|id| arena.row(*id)).collect();
            chosen.sort_unstable();
            let scan = top_k_selected(kernels, &snapshot, &query, &chosen, control).expect("a query that fits");
            prop_assert_eq!(&scan.hits, &expected, "selected, {:?}", kernels.isa());
        }
    }

    #[test]
    fn a_batch_equals_its_queries_one_by_one(
        rows in rows(),
        codes in prop::collection::vec(prop::collection::vec(coarse_word(), 20), 0..6),
        weights in prop::collection::vec(-2_i16..=2, 20 * 64),
        pruned in any::<bool>(),
        threads in 1_usize..3,
    ) {
        let arena = rows.arena(false).snapshot();
        let even: Filter<'_> = &|id| id % 2 == 0;
        let all: Filter<'_> = &|_| true;
        let entries: Vec<BatchEntry<'_>> = codes
            .iter()
            .enumerate()
            .map(|(n, code)| BatchEntry {
                query: ScanQuery {
                    code: &code[..rows.words],
                    weights: &weights[..rows.words * 64],
                    k: n * 3,
                    oversample: 2,
                    depth: EXACT[usize::from(pruned)],
                },
                filter: if n % 2 == 0 { all } else { even },
            })
            .collect();
        let control = Control { threads, ..Control::ALONE };
        for kernels in present() {
            let together = top_k_batch(kernels, &arena, &entries, control).expect("queries that fit");
            prop_assert_eq!(together.len(), entries.len());
            for (entry, scan) in entries.iter().zip(together) {
                let alone = top_k(kernels, &arena, &entry.query, entry.filter, Control::ALONE);
                prop_assert_eq!(scan.hits, alone.expect("a query that fits").hits, "{:?}", kernels.isa());
            }
        }
    }
}

/// SplitMix64.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Vectors whose distance to the query spreads as those of real texts: each bit differs with a probability of the
/// vector's own, .30 to .50.
fn spread(count: u32, query: &[u64]) -> Arena {
    let mut noise = noise(5);
    let mut arena = Arena::new(query.len()).expect("a width in range");
    for id in 0..count {
        let share = 77 + noise() % 52;
        let code: Vec<u64> =
            query
                .iter()
                .map(|word| {
                    // Eight random words make a bit that is set with the probability `share` / 256.
                    let differing = (0..8).fold(0, |bits, digit| {
                        if (share >> digit) & 1 == 1 { bits | noise() } else { bits & noise() }
                    });
                    word ^ differing
                })
                .collect();
        arena.push(id, &code).expect("a code that fits");
    }
    arena
}

#[test]
fn pruning_reads_less_and_loses_almost_nothing_on_every_instruction_set() {
    let mut noise = noise(9);
    let code: Vec<u64> = (0..32).map(|_| noise()).collect();
    let arena = spread(40_000, &code).snapshot();
    let exact = ScanQuery { code: &code, weights: &[1; 2_048], k: 20, oversample: 1, depth: Depth::Exact };
    let whole =
        top_k(Kernels::detect(), &arena, &exact, &|_| true, Control::ALONE).expect("a query that fits");
    let distances = |hits: &[Scored]| {
        let mut all: Vec<(u32, u32)> = hits.iter().map(|hit| (hit.distance, hit.vector_id)).collect();
        all.sort_unstable();
        all
    };
    let pruned = ScanQuery { depth: Depth::Pruned { z: 3.0 }, ..exact };
    for kernels in present() {
        let scan = top_k(kernels, &arena, &pruned, &|_| true, Control::ALONE).expect("a query that fits");
        assert!(scan.stats.bytes * 3 < whole.stats.bytes, "{:?}", scan.stats);
        assert_eq!(scan.stats.rows, whole.stats.rows);
        let (found, expected) = (distances(&scan.hits), distances(&whole.hits));
        let lost = expected.iter().filter(|hit| !found.contains(hit)).count();
        assert!(lost <= 1, "{lost} of 20 lost, {:?}", kernels.isa());
    }
}

#[test]
fn any_number_of_threads_gives_the_same_exact_answer() {
    let mut noise = noise(11);
    let code: Vec<u64> = (0..9).map(|_| noise()).collect();
    // Five segments, and distances of which many are equal.
    let arena = spread(4 * SEGMENT_ROWS as u32 + 77, &code).snapshot();
    let query = ScanQuery { code: &code, weights: &[1; 576], k: 300, oversample: 2, depth: Depth::Exact };
    let scan = |threads| {
        let control = Control { threads, ..Control::ALONE };
        top_k(Kernels::detect(), &arena, &query, &|id| id % 3 != 0, control).expect("a query that fits").hits
    };
    let alone = scan(1);
    assert_eq!(alone.len(), 300);
    for threads in [2, 3, 8] {
        assert_eq!(scan(threads), alone);
    }
}

#[test]
fn a_scan_that_nobody_waits_for_stops_at_the_next_segment() {
    let arena = ramp(3 * SEGMENT_ROWS as u32, 1).snapshot();
    let query = ScanQuery { code: &[0], weights: &[0; 64], k: 3, oversample: 1, depth: Depth::Exact };
    let looks = AtomicUsize::new(0);
    // Asked before each segment: goes away while the first is read.
    let stop = || looks.fetch_add(1, Ordering::Relaxed) >= 1;
    let control = Control { threads: 1, stop: &stop };
    let seen = AtomicUsize::new(0);
    let filter: Filter<'_> = &|id| {
        seen.fetch_max(id as usize, Ordering::Relaxed);
        true
    };
    assert_eq!(top_k(Kernels::detect(), &arena, &query, filter, control), Err(ScanError::Stopped));
    assert!(seen.load(Ordering::Relaxed) < SEGMENT_ROWS);
    assert_eq!(looks.load(Ordering::Relaxed), 2);
    let entries = [BatchEntry { query, filter }];
    let control = Control { threads: 1, stop: &|| true };
    assert_eq!(top_k_batch(Kernels::detect(), &arena, &entries, control), Err(ScanError::Stopped));
    assert_eq!(top_k_selected(Kernels::detect(), &arena, &query, &[1], control), Err(ScanError::Stopped));
}

/// Vector `id` differs from the zero query in `id / 10` bits.
fn ramp(count: u32, words: usize) -> Arena {
    let mut arena = Arena::new(words).expect("a width in range");
    for id in 0..count {
        let ones = id as usize / 10;
        let code: Vec<u64> = (0..words)
            .map(|word| match ones.saturating_sub(64 * word) {
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
    // All distances differ by ten rows, so no row of the first chunk beats those before it.
    let arena = ramp(count.min(10 * 4_096), 64).snapshot();
    let rows = arena.len() as u64;
    let query = ScanQuery { code: &[0; 64], weights: &[-1; 4_096], k: 5, oversample: 4, depth: Depth::Exact };
    for kernels in present() {
        // Nearest first: once twenty are in, nobody else is asked about.
        let scan = top_k(kernels, &arena, &query, &|_| true, Control::ALONE).expect("a query that fits");
        let ids: Vec<u32> = scan.hits.iter().map(|hit| hit.vector_id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        assert_eq!(scan.stats.tested, 20);
        assert_eq!(scan.stats.candidates, 20);
        assert_eq!(scan.stats.rows, rows);
        assert_eq!(scan.stats.bytes, rows * 512);
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
    let query = ScanQuery { code: &[0b11], weights: &weights, k: 1, oversample: 2, depth: Depth::Exact };
    let scan = top_k(Kernels::detect(), &arena.snapshot(), &query, &|_| true, Control::ALONE);
    let expected = [Scored { vector_id: 2, score: 900 - 63, distance: 1 }];
    assert_eq!(scan.expect("a query that fits").hits, expected);
}

#[test]
fn the_widest_code_is_scanned() {
    let words = sextant_kernels::MAX_WORDS;
    let arena = ramp(30, words).snapshot();
    let (code, weights) = (vec![0; words], vec![-1; words * 64]);
    let query = ScanQuery { code: &code, weights: &weights, k: 1, oversample: 1, depth: Depth::Exact };
    let scan = top_k(Kernels::detect(), &arena, &query, &|id| id >= 20, Control::ALONE);
    let hits = scan.expect("a query that fits").hits;
    assert_eq!(hits.first().map(|hit| (hit.vector_id, hit.distance)), Some((20, 2)));
}

#[test]
fn a_huge_k_allocates_no_more_than_there_is() {
    let arena = ramp(7, 2).snapshot();
    let (k, oversample) = (usize::MAX, usize::MAX);
    let query = ScanQuery { code: &[0; 2], weights: &[0; 128], k, oversample, depth: Depth::Exact };
    let scan = top_k(Kernels::detect(), &arena, &query, &|_| true, Control::ALONE);
    assert_eq!(scan.expect("a query that fits").hits.len(), 7);
}

#[test]
fn queries_of_another_width_are_refused() {
    let kernels = Kernels::detect();
    for arena in [ramp(0, 2), ramp(3, 2)] {
        let arena = arena.snapshot();
        let (k, oversample, depth) = (1, 1, Depth::Exact);
        let wide = ScanQuery { code: &[0; 3], weights: &[0; 192], k, oversample, depth };
        assert_eq!(
            top_k(kernels, &arena, &wide, &|_| true, Control::ALONE),
            Err(ScanError::Width { query_words: 3, arena_words: 2 })
        );
        let unlike = ScanQuery { code: &[0; 2], weights: &[0; 64], k, oversample, depth };
        let refused = top_k(kernels, &arena, &unlike, &|_| true, Control::ALONE);
        assert!(matches!(refused, Err(ScanError::Shape(_))));
    }
}
