//! Cuts vectors and entries into publishes that fit the wire. Pure.

use sextant_proto::ids::GenerationId;
use sextant_proto::limits::MAX_PUBLISH_BYTES;
use sextant_proto::publish::{Batch, Entry, VectorColumns};

/// Part of the limit that is filled; the rest is for the request around the batch and MessagePack's own bytes.
const FILL: usize = MAX_PUBLISH_BYTES as usize / 2;
/// Bytes of a chunk record on the wire, at most.
const RECORD_BYTES: usize = 96;

/// A vector with the slot that needs it.
pub(super) type Vector = (sextant_proto::ids::ChunkKey, Vec<u8>, sextant_proto::slot::Slot);

/// Batches in order. A vector never comes after the entry that needs it: vectors first, then entries.
pub(super) fn pack(generation: GenerationId, vectors: &[Vector], entries: Vec<Entry>) -> Vec<Batch> {
    let mut batches = Vec::new();
    let mut batch = Batch { generation, ..Batch::default() };
    let mut filled = 0;
    let mut flush = |batch: &mut Batch, filled: &mut usize| {
        let full = std::mem::replace(batch, Batch { generation, ..Batch::default() });
        *filled = 0;
        if !full.vectors.is_empty() || !full.entries.is_empty() {
            batches.push(full);
        }
    };
    for (key, code, slot) in vectors {
        let bytes = 32 + 3 + code.len();
        if filled + bytes > FILL {
            flush(&mut batch, &mut filled);
        }
        filled += bytes;
        VectorColumns::push(&mut batch.vectors, *key, code, *slot);
    }
    for entry in entries {
        let bytes = entry_bytes(&entry);
        if filled > 0 && filled + bytes > FILL {
            flush(&mut batch, &mut filled);
        }
        filled += bytes;
        batch.entries.push(entry);
    }
    flush(&mut batch, &mut filled);
    batches
}

fn entry_bytes(entry: &Entry) -> usize {
    let path = entry.path().len() + 200;
    match entry {
        Entry::Put(version) => path + version.chunks.len() * RECORD_BYTES,
        Entry::Mask(_) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sextant_proto::ids::ChunkKey;
    use sextant_proto::slot::Slot;

    proptest! {
        #[test]
        fn nothing_is_lost_doubled_or_too_large(vectors in 0usize..6000, entries in 0usize..2000) {
            let of = |n: usize| ChunkKey(std::array::from_fn(|i| (n >> (8 * (i % 4))) as u8));
            let given: Vec<Vector> = (0..vectors).map(|n| (of(n), vec![n as u8; 256], Slot(n as u16 % 1024))).collect();
            let masks: Vec<Entry> = (0..entries).map(|n| Entry::Mask(format!("dir/{n}"))).collect();
            let batches = pack(GenerationId(1), &given, masks.clone());
            let mut seen = Vec::new();
            let mut paths = Vec::new();
            for batch in &batches {
                let width = sextant_proto::code::CodeWidth::DEFAULT;
                prop_assert!(batch.validate(width).is_ok());
                prop_assert!(sextant_proto::message::encode(batch).unwrap().len() < MAX_PUBLISH_BYTES as usize);
                seen.extend(batch.vectors.iter(width).map(|(key, _)| key));
                paths.extend(batch.entries.clone());
            }
            prop_assert_eq!(seen, given.iter().map(|(key, ..)| *key).collect::<Vec<_>>());
            prop_assert_eq!(paths, masks);
        }
    }
}
