//! The order as a whole: files first, tests behind, nothing lost.

use super::*;
use proptest::prelude::*;
use sextant_proto::chunk::flags;
use sextant_proto::ids::{BlobId, TextHash};

fn candidate(path: &str, start: u32, test: bool, semantic: f32) -> Candidate {
    let hit = Hit {
        score: 0,
        distance: 0,
        path: path.into(),
        blob: BlobId([0; 32]),
        language: "rust".into(),
        start_byte: start,
        end_byte: start + 1,
        start_line: 1,
        end_line: 1,
        item: 1,
        flags: if test { flags::TEST } else { 0 },
        text_hash: TextHash([0; 16]),
        more: 0,
    };
    Candidate { hit, semantic: Some(semantic), lexical: 0.0, names: Vec::new() }
}

fn order(query: &str, given: &[(&str, bool, f32)]) -> Vec<(String, u32)> {
    let given = given
        .iter()
        .zip(0u32..)
        .map(|((path, test, score), at)| candidate(path, at, *test, *score))
        .collect();
    let ranked = rank(&Asked::new(query), &Words::default(), given, &Weights::default());
    ranked.into_iter().map(|one| (one.candidate.hit.path, one.candidate.hit.start_byte)).collect()
}

#[test]
fn every_file_comes_before_any_comes_twice() {
    let given = [("a", false, 0.9), ("a", false, 0.8), ("b", false, 0.3), ("c", false, 0.2)];
    let paths: Vec<_> = order("q r", &given).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["a", "b", "c", "a"]);
}

#[test]
fn several_good_chunks_lift_a_file_over_one_slightly_better() {
    let given = [
        ("one", false, 0.80),
        ("many", false, 0.78),
        ("many", false, 0.77),
        ("many", false, 0.7),
        ("z", false, 0.1),
    ];
    assert_eq!(order("q r", &given)[0].0, "many");
}

#[test]
fn tests_stand_behind_code_unless_asked_for() {
    let given = [("t", true, 0.9), ("c", false, 0.8), ("z", false, 0.1)];
    assert_eq!(order("how is it done", &given)[0].0, "c");
    assert_eq!(order("where is it tested", &given)[0].0, "t");
    assert_eq!(order("the latest attestation", &given)[0].0, "c");
}

#[test]
fn words_lift_a_chunk_that_meaning_alone_puts_second() {
    let mut given =
        vec![candidate("a", 0, false, 0.9), candidate("b", 1, false, 0.8), candidate("z", 2, false, 0.1)];
    given[1].lexical = 5.0;
    let ranked = rank(&Asked::new("two words"), &Words::default(), given, &Weights::default());
    assert_eq!(ranked[0].candidate.hit.path, "b");
}

proptest! {
    #[test]
    fn nothing_is_lost_or_doubled(given in proptest::collection::vec((0u8..5, any::<bool>(), -1f32..1.0), 0..40)) {
        let names = ["a", "b", "c", "d", "e"];
        let given: Vec<_> = given.into_iter().map(|(file, test, score)| (names[usize::from(file)], test, score)).collect();
        let mut ranked: Vec<u32> = order("q", &given).into_iter().map(|(_, at)| at).collect();
        ranked.sort_unstable();
        prop_assert_eq!(ranked, (0..given.len() as u32).collect::<Vec<_>>());
    }
}
