//! The arena against a plain map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Arena, ArenaError, SEGMENT_ROWS};

const WORDS: usize = 3;

fn code(seed: u64) -> [u64; WORDS] {
    [seed, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), !seed]
}

fn bytes(code: &[u64]) -> Vec<u8> {
    code.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What a scan would see: every live row by its vector.
fn visible(arena: &Arena) -> Vec<(u32, Vec<u64>)> {
    let mut seen = Vec::new();
    for segment in arena.segments() {
        for (offset, code) in segment.codes.chunks_exact(arena.words()).enumerate() {
            if let Some(vector_id) = segment.live_id(offset) {
                seen.push((vector_id, code.to_vec()));
                assert_eq!(arena.code_at(segment.first_row + offset as u32), Some(code));
            }
        }
    }
    seen.sort_unstable();
    seen
}

proptest! {
    #[test]
    fn holds_what_a_map_holds(
        steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0_u32..60), 0..300),
    ) {
        let mut arena = Arena::new(WORDS).expect("a width in range");
        let mut expected = BTreeMap::new();
        let mut most = 0;
        for (push, as_bytes, vector_id) in steps {
            let code = code(u64::from(vector_id));
            if push && as_bytes {
                arena.push_bytes(vector_id, &bytes(&code)).expect("a code that fits");
                expected.insert(vector_id, code.to_vec());
            } else if push {
                arena.push(vector_id, &code).expect("a code that fits");
                expected.insert(vector_id, code.to_vec());
            } else {
                assert_eq!(arena.remove(vector_id), expected.remove(&vector_id).is_some());
            }
            most = most.max(expected.len());
            prop_assert_eq!(arena.len(), expected.len());
        }
        // Retired rows are taken again, so memory follows the most that was ever live.
        prop_assert_eq!(arena.row_count(), most);
        for vector_id in 0..60 {
            prop_assert_eq!(arena.code(vector_id), expected.get(&vector_id).map(Vec::as_slice));
        }
        prop_assert_eq!(visible(&arena), expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn rows_run_on_across_segments() {
    let count = 2 * SEGMENT_ROWS as u32 + 5;
    let rows = (0..count).map(|id| Ok::<_, ArenaError>((id * 7, bytes(&code(u64::from(id))))));
    let arena = Arena::rebuild(WORDS, rows).expect("rows that fit");
    assert_eq!(arena.len(), count as usize);
    let lengths: Vec<usize> = arena.segments().map(|segment| segment.codes.len() / WORDS).collect();
    assert_eq!(lengths, [SEGMENT_ROWS, SEGMENT_ROWS, 5]);
    assert_eq!(visible(&arena).len(), count as usize);
    assert!(arena.bytes() >= 3 * SEGMENT_ROWS * WORDS * 8);
}

#[test]
fn segments_begin_on_a_cache_line() {
    let rows = (0..5_000).map(|id| Ok::<_, ArenaError>((id, bytes(&code(u64::from(id))))));
    let arena = Arena::rebuild(WORDS, rows).expect("rows that fit");
    for segment in arena.segments() {
        assert_eq!(segment.codes.as_ptr().align_offset(64), 0);
    }
}

#[test]
fn a_rebuild_stops_at_the_row_that_cannot_be_read() {
    let rows = [Ok((1, bytes(&code(1)))), Ok((2, vec![0; 23])), Ok((3, bytes(&code(3))))];
    let refused = Arena::rebuild(WORDS, rows).map(|_| ());
    assert_eq!(refused, Err(ArenaError::CodeLength { vector_id: 2, bytes: 23, expected: 24 }));
}

#[test]
fn refusals_change_nothing() {
    assert_eq!(Arena::new(0).map(|_| ()), Err(ArenaError::Width { words: 0 }));
    assert!(Arena::new(sextant_kernels::MAX_WORDS + 1).is_err());

    let mut arena = Arena::new(WORDS).expect("a width in range");
    assert_eq!(arena.push(9, &[1, 2]), Err(ArenaError::CodeLength { vector_id: 9, bytes: 16, expected: 24 }));
    arena.push(9, &code(1)).expect("a code that fits");
    arena.push(9, &code(1)).expect("the same again");
    assert_eq!(arena.push(9, &code(2)), Err(ArenaError::Conflict { vector_id: 9 }));
    assert_eq!((arena.len(), arena.row_count()), (1, 1));
    assert_eq!(arena.code(9), Some(code(1).as_slice()));
    assert!(!arena.remove(8));
}
