//! Portable kernels: the definition that every other instruction set is tested against.
//!
//! Owns the plain loops; written to be read, and left to the compiler to speed up.

/// Bits that differ between `query` and each row. The caller has checked the shapes.
pub(crate) fn hamming_rows(query: &[u64], rows: &[u64], out: &mut [u32]) {
    for (distance, row) in out.iter_mut().zip(rows.chunks_exact(query.len())) {
        *distance = row.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum();
    }
}

/// Sum of weights, each with the sign of its bit. The caller has checked the shapes.
pub(crate) fn asymmetric(weights: &[i16], code: &[u64]) -> i64 {
    weights
        .chunks(64)
        .zip(code)
        .map(|(weights, &word)| {
            let signed = |(bit, &weight): (usize, &i16)| {
                let weight = i64::from(weight);
                if (word >> bit) & 1 == 1 { weight } else { -weight }
            };
            weights.iter().enumerate().map(signed).sum::<i64>()
        })
        .sum()
}
