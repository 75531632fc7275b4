//! How far a prefix may be from the query's for its vector to be worth reading on.
//!
//! Owns the arithmetic of the pruned scan. It must not know codes or rows.
//!
//! Rotated bits are exchangeable: of a code that differs from the query in `d` of `B` bits, the first `p` bits differ in
//! a hypergeometric number, of mean `p·d/B` and variance `p·f·(1−f)·(B−p)/(B−1)` with `f = d/B`. A vector at the very
//! edge of the answer passes a limit of mean + z·σ with the probability Φ(z); the nearer ones more surely.

/// How the scan reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Depth {
    /// Every bit of every code: the answer is exact, and the same in whatever order the rows lie.
    #[default]
    Exact,
    /// The prefix of every code, and on where it may still belong to the answer. Only for rotated codes.
    Pruned {
        /// Standard errors that a vector at the edge may be unlucky by. Infinite: exact.
        z: f32,
    },
}

impl Depth {
    /// The `z` that a search uses: recall of at least .999 on the one distribution measured, by which it was chosen too
    /// (`docs/scan.md`).
    pub const DEFAULT_Z: f32 = 2.5;
}

/// Greatest distance of the first `part` of `bits` bits that is worth reading on where the whole may differ in `limit`.
pub fn part_limit(limit: u32, part: usize, bits: usize, z: f32) -> u32 {
    if limit as usize >= bits || part >= bits {
        return limit;
    }
    let (p, all, z) = (part as f64, bits as f64, f64::from(z));
    let share = f64::from(limit) / all;
    let sigma = (p * share * (1.0 - share) * (all - p) / (all - 1.0)).sqrt();
    // A limit of 0 has no spread; 0 × ∞ is no number, and all must pass at z = ∞.
    let allowed = if z.is_infinite() { p } else { (p * share + z.max(0.0) * sigma).floor() };
    // The part is never farther than the whole may be.
    allowed.clamp(0.0, f64::from(limit)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hand_made_limits() {
        // Half of 2,048 bits: mean 128 of 256, σ = √(256 · ¼ · 1792/2047) = 7.485.
        assert_eq!(part_limit(1_024, 256, 2_048, 0.0), 128);
        assert_eq!(part_limit(1_024, 256, 2_048, 3.0), 150);
        assert_eq!(part_limit(u32::MAX, 256, 2_048, 3.0), u32::MAX);
        assert_eq!(part_limit(0, 256, 2_048, f32::INFINITY), 0);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_at_infinity_and_a_greater_z_prunes_less(
            limit in 0_u32..5_000, part in 1_usize..4_096, bits in 1_usize..4_096, z in 0_f32..6.0,
        ) {
            let infinite = part_limit(limit, part, bits, f32::INFINITY);
            // Whatever the first bits, at most all of them and at most the limit can differ in a vector that is in.
            prop_assert!(infinite >= limit.min(part as u32));
            let (less, more) = (part_limit(limit, part, bits, z), part_limit(limit, part, bits, z + 1.0));
            prop_assert!(less <= more && more <= infinite.max(limit));
        }
    }
}
