//! The batch planner: which waiting texts run together. A function of lengths; it knows neither queue nor model.

/// What a backend takes at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPolicy {
    /// Most texts a run.
    pub max_texts: usize,
    /// Most tokens a run, padding counted: texts × the longest. A single longer text still runs, alone.
    pub max_tokens: usize,
}

impl BatchPolicy {
    /// One text a run. On a CPU that is faster than batches (no padding, no shared cache lines), and a text's code
    /// cannot depend on what travels with it: dynamic int8 scales activations over the whole batch.
    pub const SINGLE: Self = Self { max_texts: 1, max_tokens: 1 };

    /// Token-budget batches for an accelerator.
    pub const ACCELERATOR: Self = Self { max_texts: 32, max_tokens: 8192 };

    /// Waiting texts that the planner looks at. More would sort better and let the head of the queue wait no longer.
    pub const fn window(self) -> usize {
        if self.max_texts == 1 { 1 } else { self.max_texts * 8 }
    }

    /// Whether texts of these lengths may run together.
    pub const fn allows(self, texts: usize, longest: usize) -> bool {
        texts <= 1 || (texts <= self.max_texts && padded_tokens(texts, longest) <= self.max_tokens)
    }
}

/// Cost of a run, tokens: each text is padded to the longest.
pub const fn padded_tokens(texts: usize, longest: usize) -> usize {
    texts * longest
}

/// The next batch out of `lengths` (tokens, oldest first): positions by rising length.
///
/// It always holds position 0, so nothing starves, and grows from there to the neighbours in length, the nearer first.
pub fn next_batch(lengths: &[usize], policy: BatchPolicy) -> Vec<usize> {
    if lengths.is_empty() {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| (lengths[*at], *at));
    let start = order.iter().position(|at| *at == 0).unwrap_or(0);
    let (mut low, mut high) = (start, start + 1);
    loop {
        let longest = lengths[order[high - 1]];
        let shorter = (low > 0 && policy.allows(high - low + 1, longest))
            .then(|| lengths[order[start]] - lengths[order[low - 1]]);
        let longer = order
            .get(high)
            .filter(|at| policy.allows(high - low + 1, lengths[**at]))
            .map(|at| lengths[*at] - lengths[order[start]]);
        match (shorter, longer) {
            (Some(down), Some(up)) if up < down => high += 1,
            (Some(_), _) => low -= 1,
            (None, Some(_)) => high += 1,
            (None, None) => return order[low..high].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs the planner until nothing waits.
    fn drain(lengths: &[usize], policy: BatchPolicy) -> Vec<Vec<usize>> {
        let mut waiting: Vec<usize> = (0..lengths.len()).collect();
        let mut batches = Vec::new();
        while !waiting.is_empty() {
            let window = waiting.len().min(policy.window());
            let seen: Vec<usize> = waiting[..window].iter().map(|at| lengths[*at]).collect();
            let batch: Vec<usize> = next_batch(&seen, policy).into_iter().map(|at| waiting[at]).collect();
            assert!(batch.contains(&waiting[0]), "the oldest waits on");
            waiting.retain(|at| !batch.contains(at));
            batches.push(batch);
        }
        batches
    }

    fn cost(lengths: &[usize], batches: &[Vec<usize>]) -> usize {
        let longest = |batch: &Vec<usize>| batch.iter().map(|at| lengths[*at]).max().unwrap_or(0);
        batches.iter().map(|batch| padded_tokens(batch.len(), longest(batch))).sum()
    }

    #[test]
    fn one_long_text_does_not_pad_the_short_ones() {
        let mut lengths = vec![256];
        lengths.extend([3; 511]);
        let batches = drain(&lengths, BatchPolicy::ACCELERATOR);
        let sorted_cost = cost(&lengths, &batches);
        assert!(sorted_cost <= 32 * 256 + 511 * 3, "{sorted_cost}");
    }

    proptest! {
        #[test]
        fn every_text_runs_once_within_the_budget(
            lengths in proptest::collection::vec(1usize..600, 0..300),
            max_texts in 1usize..40,
            max_tokens in 1usize..9000,
        ) {
            let policy = BatchPolicy { max_texts, max_tokens };
            let batches = drain(&lengths, policy);
            let mut all: Vec<usize> = batches.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            for batch in &batches {
                let sizes: Vec<usize> = batch.iter().map(|at| lengths[*at]).collect();
                prop_assert!(sizes.is_sorted());
                let longest = sizes.iter().max().copied().unwrap_or(0);
                prop_assert!(batch.len() == 1 || (batch.len() <= max_texts && batch.len() * longest <= max_tokens));
            }
        }

        #[test]
        fn single_policy_keeps_the_order(lengths in proptest::collection::vec(1usize..600, 0..50)) {
            let order: Vec<usize> = drain(&lengths, BatchPolicy::SINGLE).concat();
            prop_assert_eq!(order, (0..lengths.len()).collect::<Vec<_>>());
        }

        #[test]
        fn a_batch_is_never_smaller_than_the_budget_forces(
            lengths in proptest::collection::vec(1usize..100, 1..60),
            max_texts in 1usize..20,
        ) {
            // Nobody may be left out who would fit beside the batch: naive check over all that were left.
            let policy = BatchPolicy { max_texts, max_tokens: 1000 };
            let batch = next_batch(&lengths, policy);
            let longest = batch.iter().map(|at| lengths[*at]).max().unwrap_or(0);
            for left in (0..lengths.len()).filter(|at| !batch.contains(at)) {
                prop_assert!(!policy.allows(batch.len() + 1, longest.max(lengths[left])));
            }
        }
    }
}
