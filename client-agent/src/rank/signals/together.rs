//! Several good chunks in one file: the file is about the question.

use std::collections::HashMap;

use crate::rank::weights::Weights;

/// Sum of each file's best chunks, each counting less than the one before, as a share of the largest sum.
pub(in crate::rank) fn together<'a>(
    values: impl Iterator<Item = (&'a str, f32)>,
    weights: &Weights,
) -> HashMap<&'a str, f32> {
    let mut files: HashMap<&str, Vec<f32>> = HashMap::new();
    for (path, value) in values {
        files.entry(path).or_default().push(value);
    }
    let mut sums: HashMap<&str, f32> = HashMap::with_capacity(files.len());
    for (path, mut values) in files {
        values.sort_by(|a, b| b.total_cmp(a));
        let decays = std::iter::successors(Some(1f32), |decay| Some(decay * weights.file_decay));
        let best = values.iter().zip(decays).take(weights.file_chunks);
        sums.insert(path, best.map(|(value, decay)| value * decay).sum());
    }
    let most = sums.values().fold(f32::MIN_POSITIVE, |most, sum| most.max(*sum));
    for sum in sums.values_mut() {
        *sum /= most;
    }
    sums
}
