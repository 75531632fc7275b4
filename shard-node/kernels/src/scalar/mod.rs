//! The definition that every other kernel is tested against.
//!
//! Owns the plain loops, one vector and one word after the other; written to be read, not to be quick.

use crate::planes::{LANES, Near, Planes, RestRows, Split, interleaved_at};

fn differing(query: &[u64], words: impl Fn(usize) -> u64) -> u32 {
    query.iter().enumerate().map(|(word, query)| (words(word) ^ query).count_ones()).sum()
}

/// Distances of all rows, those of at most `limit` kept in row order.
fn keep(rows: usize, limit: u32, out: &mut [Near], distance: impl Fn(usize) -> u32) -> usize {
    let mut found = 0;
    for row in 0..rows {
        let near = Near { row: row as u32, distance: distance(row) };
        if near.distance <= limit {
            out[found] = near;
            found += 1;
        }
    }
    found
}

/// See [`crate::Kernels::within`].
pub(crate) fn within(query: Split<'_>, planes: Planes<'_>, limit: u32, out: &mut [Near]) -> usize {
    let (prefix, rest) = (query.prefix.len(), query.rest.len());
    keep(planes.prefix.len() / prefix, limit, out, |row| {
        differing(query.prefix, |word| planes.prefix[interleaved_at(row, word, prefix)])
            + differing(query.rest, |word| planes.rest[row * rest + word])
    })
}

/// See [`crate::Kernels::interleaved_within`].
pub(crate) fn interleaved_within(
    query: Split<'_>,
    planes: Planes<'_>,
    limit: u32,
    out: &mut [Near],
) -> usize {
    let (prefix, rest) = (query.prefix.len(), query.rest.len());
    keep(planes.prefix.len() / prefix, limit, out, |row| {
        differing(query.prefix, |word| planes.prefix[interleaved_at(row, word, prefix)])
            + differing(query.rest, |word| planes.rest[interleaved_at(row, word, rest)])
    })
}

/// See [`crate::Kernels::narrow`].
pub(crate) fn narrow(part: &[u64], rest: RestRows<'_>, limit: u32, near: &mut [Near]) -> usize {
    let mut kept = 0;
    for at in 0..near.len() {
        let Near { row, distance } = near[at];
        let first = row as usize * rest.stride + rest.from;
        let distance = distance + differing(part, |word| rest.words[first + word]);
        if distance <= limit {
            near[kept] = Near { row, distance };
            kept += 1;
        }
    }
    kept
}

/// See [`crate::Kernels::interleave`].
pub(crate) fn interleave(rows: &[u64], words: usize, out: &mut [u64]) {
    for (row, code) in rows.chunks_exact(words).enumerate() {
        for (word, value) in code.iter().enumerate() {
            out[row / LANES * LANES * words + word * LANES + row % LANES] = *value;
        }
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
