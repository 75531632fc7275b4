//! The arena against a plain map, alone and while it is read and rewritten.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Arena, ArenaError, SEGMENT_ROWS, Snapshot};

const WORDS: usize = 10;

fn code(seed: u64) -> [u64; WORDS] {
    std::array::from_fn(|word| {
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(word as u32 * 7) ^ word as u64
    })
}

fn bytes(code: &[u64]) -> Vec<u8> {
    code.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What a scan would see: every live row by its vector, read from the planes.
fn visible(snapshot: &Snapshot) -> Vec<(u32, Vec<u64>)> {
    let mut seen = Vec::new();
    let mut code = vec![0; snapshot.shape().words()];
    for (index, segment) in snapshot.segments().iter().enumerate() {
        let planes = segment.planes(0, segment.used().next_multiple_of(8));
        assert_eq!(planes.prefix.len() % (8 * snapshot.shape().prefix), 0);
        for offset in 0..segment.used() {
            if let Some(vector_id) = segment.live_id(offset) {
                assert!(snapshot.copy_code((index * SEGMENT_ROWS + offset) as u32, &mut code));
                let rest = snapshot.shape().rest;
                assert_eq!(planes.rest[offset * rest..(offset + 1) * rest], code[snapshot.shape().prefix..]);
                seen.push((vector_id, code.clone()));
            }
        }
    }
    seen.sort_unstable();
    seen
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(u32),
    PushBytes(u32),
    Remove(u32),
    /// Take a snapshot, and look at it at the end.
    Look,
    Begin,
    Run,
    Finish,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u32..60).prop_map(Step::Push),
        3 => (0_u32..60).prop_map(Step::PushBytes),
        5 => (0_u32..60).prop_map(Step::Remove),
        1 => Just(Step::Look),
        1 => Just(Step::Begin),
        1 => Just(Step::Run),
        1 => Just(Step::Finish),
    ]
}

proptest! {
    #[test]
    fn holds_what_a_map_holds(steps in prop::collection::vec(step(), 0..300)) {
        let mut arena = Arena::new(WORDS).expect("a width in range");
        let mut expected: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let mut looks = Vec::new();
        let mut compaction = None;
        let mut most = 0;
        for step in steps {
            match step {
                Step::Push(id) => {
                    arena.push(id, &code(u64::from(id))).expect("a code that fits");
                    expected.insert(id, code(u64::from(id)).to_vec());
                }
                Step::PushBytes(id) => {
                    arena.push_bytes(id, &bytes(&code(u64::from(id)))).expect("a code that fits");
                    expected.insert(id, code(u64::from(id)).to_vec());
                }
                Step::Remove(id) => {
                    assert_eq!(arena.remove(id), Ok(expected.remove(&id).is_some()));
                }
                Step::Look => looks.push((arena.snapshot(), expected.clone())),
                Step::Begin => compaction = Some((arena.begin_compaction(), false)),
                Step::Run => {
                    if let Some((compaction, ran @ false)) = &mut compaction {
                        compaction.run().expect("memory");
                        *ran = true;
                    }
                }
                Step::Finish => {
                    // One that did not run has copied nothing and must not be finished.
                    if let Some((compaction, _)) = compaction.take_if(|(_, ran)| *ran) {
                        assert_eq!(arena.finish_compaction(compaction), Ok(true));
                    }
                }
            }
            most = most.max(expected.len());
            prop_assert_eq!(arena.len(), expected.len());
            prop_assert!(arena.row_count() <= most);
        }
        for vector_id in 0..60 {
            prop_assert_eq!(arena.code(vector_id), expected.get(&vector_id).cloned());
        }
        looks.push((arena.snapshot(), expected));
        for (snapshot, expected) in looks {
            prop_assert_eq!(snapshot.len(), expected.len());
            prop_assert_eq!(visible(&snapshot), expected.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn rows_run_on_across_segments() {
    let count = 2 * SEGMENT_ROWS as u32 + 5;
    let rows = (0..count).map(|id| Ok::<_, ArenaError>((id * 7, bytes(&code(u64::from(id))))));
    let arena = Arena::rebuild(WORDS, rows).expect("rows that fit");
    assert_eq!(arena.len(), count as usize);
    let snapshot = arena.snapshot();
    let lengths: Vec<usize> = snapshot.segments().iter().map(|segment| segment.used()).collect();
    assert_eq!(lengths, [SEGMENT_ROWS, SEGMENT_ROWS, 5]);
    assert_eq!(visible(&snapshot).len(), count as usize);
    let codes = count as usize * WORDS * 8;
    assert!(arena.bytes() >= codes);
}

#[test]
fn memory_follows_the_codes() {
    // A handful of vectors costs little; a whole segment costs its codes, four bytes a row for ids, the map and some.
    let mut arena = Arena::new(32).expect("a width in range");
    arena.push(0, &[1; 32]).expect("a code that fits");
    assert!(arena.bytes() < 100_000, "{}", arena.bytes());
    for id in 0..2 * SEGMENT_ROWS as u32 {
        arena.push(id, &[1; 32]).expect("a code that fits");
    }
    let codes = 2 * SEGMENT_ROWS * 256;
    assert!(arena.bytes() * 100 <= codes * 115, "{} for {codes} bytes of codes", arena.bytes());
}

#[test]
fn planes_begin_on_a_cache_line() {
    let rows = (0..5_000).map(|id| Ok::<_, ArenaError>((id, bytes(&code(u64::from(id))))));
    let arena = Arena::rebuild(WORDS, rows).expect("rows that fit");
    for segment in arena.snapshot().segments() {
        let planes = segment.planes(0, 8);
        assert_eq!((planes.prefix.as_ptr().align_offset(64), planes.rest.as_ptr().align_offset(64)), (0, 0));
    }
}

#[test]
fn dead_rows_are_given_back() {
    let mut arena = Arena::new(WORDS).expect("a width in range");
    let count = 2 * SEGMENT_ROWS as u32;
    for id in 0..count {
        arena.push(id, &code(u64::from(id))).expect("a code that fits");
    }
    assert!(!arena.wants_compaction());
    for id in (0..count).filter(|id| id % 4 != 0) {
        assert_eq!(arena.remove(id), Ok(true));
    }
    assert!(arena.wants_compaction());
    let (before, rows) = (arena.snapshot(), arena.row_count());
    let mut stale = arena.begin_compaction();
    let mut compaction = arena.begin_compaction();
    stale.run().expect("memory");
    compaction.run().expect("memory");
    assert_eq!(arena.finish_compaction(stale), Ok(false), "a later one was begun");
    assert_eq!(arena.finish_compaction(compaction), Ok(true));
    assert_eq!((rows, arena.row_count()), (count as usize, count as usize / 4));
    assert_eq!(visible(&before), visible(&arena.snapshot()));
}

#[test]
fn a_rebuild_stops_at_the_row_that_cannot_be_read() {
    let rows = [Ok((1, bytes(&code(1)))), Ok((2, vec![0; 79])), Ok((3, bytes(&code(3))))];
    let refused = Arena::rebuild(WORDS, rows).map(|_| ());
    assert_eq!(refused, Err(ArenaError::CodeLength { vector_id: 2, bytes: 79, expected: 80 }));
}

#[test]
fn refusals_change_nothing() {
    assert_eq!(Arena::new(0).map(|_| ()), Err(ArenaError::Width { words: 0 }));
    assert!(Arena::new(sextant_kernels::MAX_WORDS + 1).is_err());

    let mut arena = Arena::new(WORDS).expect("a width in range");
    assert_eq!(arena.push(9, &[1, 2]), Err(ArenaError::CodeLength { vector_id: 9, bytes: 16, expected: 80 }));
    arena.push(9, &code(1)).expect("a code that fits");
    arena.push(9, &code(1)).expect("the same again");
    assert_eq!(arena.push(9, &code(2)), Err(ArenaError::Conflict { vector_id: 9 }));
    assert_eq!((arena.len(), arena.row_count()), (1, 1));
    assert_eq!(arena.code(9), Some(code(1).to_vec()));
    assert_eq!(arena.remove(8), Ok(false));
}

/// Every order of a writer, a compactor and a reader: the reader sees the vectors that stay throughout, once each, and
/// none of a half-made state.
#[test]
fn loom_scans_see_whole_generations() {
    use loom::sync::{Arc, RwLock};

    loom::model(|| {
        let mut arena = Arena::new(1).expect("a width in range");
        for id in 0..3 {
            arena.push(id, &[u64::from(id)]).expect("a code that fits");
        }
        assert_eq!(arena.remove(0), Ok(true));
        let shared = Arc::new(RwLock::new(arena));
        let writer = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || {
                shared.write().expect("no panic").push(9, &[9]).expect("a code that fits");
                assert_eq!(shared.write().expect("no panic").remove(1), Ok(true));
            })
        };
        let compactor = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || {
                let mut compaction = shared.write().expect("no panic").begin_compaction();
                compaction.run().expect("memory");
                assert_eq!(shared.write().expect("no panic").finish_compaction(compaction), Ok(true));
            })
        };
        let snapshot = shared.read().expect("no panic").snapshot();
        // No lock from here on.
        let seen: Vec<u32> = visible(&snapshot)
            .into_iter()
            .map(|(id, code)| {
                assert_eq!(code, [u64::from(id)]);
                id
            })
            .collect();
        assert!([&[1, 2][..], &[1, 2, 9], &[2, 9]].contains(&seen.as_slice()), "{seen:?}");
        writer.join().expect("no panic");
        compactor.join().expect("no panic");
        let last: Vec<u32> =
            visible(&shared.read().expect("no panic").snapshot()).into_iter().map(|(id, _)| id).collect();
        assert_eq!(last, [2, 9]);
    });
}
