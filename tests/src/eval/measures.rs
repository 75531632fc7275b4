//! Measures of a ranked list against its targets. Pure.
//!
//! Gains are binary; a place of the list gains once however many targets it meets; the ideal list meets a target at
//! each of its first places. Means are taken over repositories, so that a large one counts as much as a small one.

/// Places that count.
pub const PLACES: usize = 10;

/// A right answer: a file, or lines of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Path from the repository's root.
    pub path: String,
    /// First and last line; the whole file where absent.
    pub lines: Option<(u32, u32)>,
}

/// A hit as it is compared with targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path from the repository's root.
    pub path: String,
    /// First and last line.
    pub lines: (u32, u32),
}

impl Target {
    /// Whether a hit meets it.
    pub fn is_met_by(&self, place: &Place) -> bool {
        self.path == place.path
            && self.lines.is_none_or(|(start, end)| place.lines.0 <= end && start <= place.lines.1)
    }
}

/// Measures of one question, or their mean over several.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measures {
    /// Normalised discounted cumulative gain of the first ten.
    pub ndcg: f64,
    /// One by the rank of the first right hit among the first ten.
    pub mrr: f64,
    /// Share of the targets met by the first ten.
    pub recall: f64,
}

/// Measures of one list.
pub fn measure(list: &[Place], targets: &[Target]) -> Measures {
    let list = &list[..list.len().min(PLACES)];
    let mut ranks: Vec<usize> =
        targets.iter().filter_map(|target| list.iter().position(|place| target.is_met_by(place))).collect();
    let met = ranks.len();
    ranks.sort_unstable();
    ranks.dedup();
    let gain = |at: usize| 1.0 / ((at + 2) as f64).log2();
    let ideal: f64 = (0..targets.len().min(PLACES)).map(gain).sum();
    if ideal == 0.0 {
        return Measures::default();
    }
    Measures {
        ndcg: ranks.iter().map(|at| gain(*at)).sum::<f64>() / ideal,
        mrr: ranks.first().map_or(0.0, |at| 1.0 / (*at + 1) as f64),
        recall: met as f64 / targets.len() as f64,
    }
}

/// Mean of several; zero of none.
pub fn mean(all: &[Measures]) -> Measures {
    let count = all.len().max(1) as f64;
    let of = |pick: fn(&Measures) -> f64| all.iter().map(pick).sum::<f64>() / count;
    Measures { ndcg: of(|m| m.ndcg), mrr: of(|m| m.mrr), recall: of(|m| m.recall) }
}

/// The value below which a share `q` of `sorted` lies.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(at.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(paths: &[&str]) -> Vec<Place> {
        paths.iter().map(|path| Place { path: (*path).into(), lines: (10, 20) }).collect()
    }

    fn targets(paths: &[&str]) -> Vec<Target> {
        paths.iter().map(|path| Target { path: (*path).into(), lines: None }).collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn hand_made_lists_have_the_measures_of_the_definition() {
        let first = measure(&list(&["a", "b"]), &targets(&["a"]));
        assert_eq!(first, Measures { ndcg: 1.0, mrr: 1.0, recall: 1.0 });
        let second = measure(&list(&["b", "a"]), &targets(&["a"]));
        assert!(near(second.ndcg, 1.0 / 3f64.log2()) && near(second.mrr, 0.5) && near(second.recall, 1.0));
        let half = measure(&list(&["a", "a", "x"]), &targets(&["a", "z"]));
        assert!(near(half.ndcg, 1.0 / (1.0 + 1.0 / 3f64.log2())) && near(half.recall, 0.5));
        assert_eq!(measure(&list(&["x"]), &targets(&["a"])), Measures::default());
        assert_eq!(measure(&[], &[]), Measures::default());
        let eleventh: Vec<_> = std::iter::repeat_n("x", 10).chain(["a"]).collect();
        assert_eq!(measure(&list(&eleventh), &targets(&["a"])), Measures::default());
    }

    #[test]
    fn lines_of_a_target_must_meet_those_of_the_hit() {
        let at = |start, end| Target { path: "a".into(), lines: Some((start, end)) };
        let place = &list(&["a"])[0];
        assert!(at(1, 10).is_met_by(place) && at(20, 30).is_met_by(place) && at(12, 13).is_met_by(place));
        assert!(!at(1, 9).is_met_by(place) && !at(21, 30).is_met_by(place));
    }

    #[test]
    fn quantiles_are_values_of_the_list() {
        let sorted: Vec<f64> = (1..=50).map(f64::from).collect();
        assert!(near(quantile(&sorted, 0.5), 25.0) && near(quantile(&sorted, 0.95), 48.0));
        assert!(near(quantile(&[], 0.5), 0.0) && near(quantile(&[7.0], 0.95), 7.0));
    }
}
