//! Tests of the chunker as a whole: what holds for any bytes, what each language gives, and files of the kinds
//! that broke other programs.

mod awkward;
mod constructs;
mod definitions;
mod invariants;
mod parts;
mod samples;
mod stability;
mod together;

use crate::chunk::{Chunk, ChunkBudget, ChunkedFile, chunk_file};

fn chunk_default(path: &str, bytes: &[u8]) -> ChunkedFile {
    chunk_file(path, bytes, &ChunkBudget::default())
}

fn text<'a>(bytes: &'a [u8], chunk: &Chunk) -> &'a [u8] {
    &bytes[chunk.start_byte as usize..chunk.end_byte as usize]
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// Everything that must hold for every file; the oracle walks byte by byte.
fn assert_invariants(path: &str, bytes: &[u8], budget: &ChunkBudget) {
    let file = chunk_file(path, bytes, budget);
    let cap = budget.hard_cap_bytes.max(64);
    let utf8 = std::str::from_utf8(bytes).ok();
    let mut covered = vec![0_u8; bytes.len()];
    let mut before = 0;
    for (n, chunk) in file.chunks.iter().enumerate() {
        let (start, end) = (chunk.start_byte as usize, chunk.end_byte as usize);
        assert_eq!(chunk.ordinal as usize, n, "{path}: ordinals count up");
        assert!(
            before <= start && start < end && end <= bytes.len(),
            "{path}: {chunk:?} ordered and not empty"
        );
        assert!(end - start <= cap, "{path}: {chunk:?} over the cap of {cap}");
        assert!(!is_space(bytes[start]) && !is_space(bytes[end - 1]), "{path}: {chunk:?} is trimmed");
        if let Some(utf8) = utf8 {
            assert!(
                utf8.is_char_boundary(start) && utf8.is_char_boundary(end),
                "{path}: {chunk:?} tears a character"
            );
        }
        let line = |at: usize| bytes[..at].split(|b| *b == b'\n').count() as u32;
        if n < 50 {
            assert_eq!(
                (chunk.start_line, chunk.end_line),
                (line(start), line(end - 1)),
                "{path}: lines of {chunk:?}"
            );
        }
        covered[start..end].iter_mut().for_each(|c| *c += 1);
        before = end;
    }
    let bom = if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) { 3 } else { 0 };
    for (at, byte) in bytes.iter().enumerate().skip(bom) {
        assert!(is_space(*byte) || covered[at] == 1, "{path}: byte {at} is in {} chunks", covered[at]);
    }
    assert!(covered[..bom].iter().all(|c| *c == 0), "{path}: the BOM is in a chunk");
    assert_eq!(file, chunk_file(path, bytes, budget), "{path}: the same bytes, the same chunks");
}
