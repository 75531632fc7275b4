//! The last order of an answer, made where it is read. Pure; knows hits and the question's words, no server and no file.
//!
//! Rules, each general: a file with several good chunks rises; test code stands behind what it tests unless the
//! question asks for tests; every file shows its best chunk before any file shows a second one.

use std::collections::HashMap;

use sextant_proto::chunk::flags;
use sextant_proto::search::Hit;

/// Candidates asked of the cluster for one answer, at least.
pub const LEAST_CANDIDATES: u32 = 200;
/// Candidates for each hit wanted.
pub const CANDIDATES_A_HIT: u32 = 5;

/// Weight of a file's best chunks together, against its best one alone.
const FILE_WEIGHT: f32 = 0.5;
/// Chunks of a file that count, each by this factor less than the one before.
const FILE_CHUNKS: usize = 5;
const FILE_DECAY: f32 = 0.9;
/// What test code keeps of its score.
const TEST_FACTOR: f32 = 0.5;

/// Orders candidates by file and score. `candidates` come best first, each with its score; a higher one is better.
pub fn rank(query: &str, candidates: Vec<(Hit, f32)>) -> Vec<(Hit, f32)> {
    let about_tests =
        query.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with("test"));
    let (low, high) =
        candidates.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), (_, score)| {
            (low.min(*score), high.max(*score))
        });
    let span = if high > low { high - low } else { 1.0 };
    let value = |hit: &Hit, score: f32| {
        let normal = (score - low) / span;
        if hit.flags & flags::TEST != 0 && !about_tests { normal * TEST_FACTOR } else { normal }
    };

    let mut files: HashMap<String, Vec<f32>> = HashMap::new();
    for (hit, score) in &candidates {
        files.entry(hit.path.clone()).or_default().push(value(hit, *score));
    }
    let together: HashMap<String, f32> = files
        .into_iter()
        .map(|(path, mut values)| {
            values.sort_by(|a, b| b.total_cmp(a));
            let decays = std::iter::successors(Some(1f32), |decay| Some(decay * FILE_DECAY));
            (path, values.iter().zip(decays).take(FILE_CHUNKS).map(|(value, decay)| value * decay).sum())
        })
        .collect();
    let most = together.values().fold(f32::MIN_POSITIVE, |most, sum| most.max(*sum));

    // The best chunk of each file by value, files by their best and their sum; then everything else by value.
    let mut order: Vec<(usize, f32)> =
        candidates.iter().enumerate().map(|(at, (hit, score))| (at, value(hit, *score))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut seen = std::collections::HashSet::new();
    let (mut first, rest): (Vec<_>, Vec<_>) =
        order.into_iter().partition(|(at, _)| seen.insert(&candidates[*at].0.path));
    for (at, value) in &mut first {
        *value += FILE_WEIGHT * together.get(&candidates[*at].0.path).copied().unwrap_or_default() / most;
    }
    first.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let places: Vec<usize> = first.into_iter().chain(rest).map(|(at, _)| at).collect();
    let mut slots: Vec<Option<(Hit, f32)>> = candidates.into_iter().map(Some).collect();
    places.into_iter().filter_map(|at| slots.get_mut(at).and_then(Option::take)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sextant_proto::ids::{BlobId, TextHash};

    fn hit(path: &str, start: u32, test: bool) -> Hit {
        Hit {
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
        }
    }

    fn order(query: &str, given: &[(&str, bool, f32)]) -> Vec<(String, u32)> {
        let given = given
            .iter()
            .zip(0u32..)
            .map(|((path, test, score), at)| (hit(path, at, *test), *score))
            .collect();
        rank(query, given).into_iter().map(|(hit, _)| (hit.path, hit.start_byte)).collect()
    }

    #[test]
    fn every_file_comes_before_any_comes_twice() {
        let given = [("a", false, 0.9), ("a", false, 0.8), ("b", false, 0.3), ("c", false, 0.2)];
        let paths: Vec<_> = order("q", &given).into_iter().map(|(path, _)| path).collect();
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
        assert_eq!(order("q", &given)[0].0, "many");
    }

    #[test]
    fn tests_stand_behind_code_unless_asked_for() {
        let given = [("t", true, 0.9), ("c", false, 0.8), ("z", false, 0.1)];
        assert_eq!(order("how is it done", &given)[0].0, "c");
        assert_eq!(order("where is it tested", &given)[0].0, "t");
        assert_eq!(order("the latest attestation", &given)[0].0, "c");
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
}
