//! What a file's bytes say about whether it is source text. A pure function; the indexer calls it when it reads a
//! file, never the walk. Must not know paths or languages.

use super::SkipReason;

/// Lines longer than this mark a minified or generated file: hand-written lines stay under 1,000 bytes, and long
/// literals (tables, test data, embedded keys) rarely pass 10,000.
pub const LINE_CAP_BYTES: usize = 20_000;

/// `Err` where `bytes` is not text to index: UTF-16 or UTF-32 by its mark, a NUL anywhere, nothing but white space,
/// or a line over [`LINE_CAP_BYTES`]. Bytes that are not UTF-8 (Latin-1, broken sequences) are no reason to skip.
/// Lines end at LF, or at CR where no LF follows (old Mac files), as the line numbers of chunks do.
pub fn classify(bytes: &[u8]) -> Result<(), SkipReason> {
    // FF FE also begins UTF-32LE; UTF-32BE is 00 00 FE FF.
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(SkipReason::Utf16);
    }
    if bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(SkipReason::Utf16);
    }
    if bytes.contains(&0) {
        return Err(SkipReason::Binary);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(SkipReason::Empty);
    }
    let longest = text
        .split(|&b| b == b'\n' || b == b'\r')
        .find(|line| line.len() > LINE_CAP_BYTES)
        .map(|line| (line.as_ptr() as usize - text.as_ptr() as usize, line.len()));
    match longest {
        None => Ok(()),
        Some((start, bytes)) => {
            let line = line_number(&text[..start]);
            Err(SkipReason::LineTooLong { line, bytes, cap: LINE_CAP_BYTES })
        }
    }
}

/// The 1-based number of the line that follows `before`; CRLF counts once.
fn line_number(before: &[u8]) -> usize {
    let mut line = 1;
    for (at, &byte) in before.iter().enumerate() {
        let crlf = byte == b'\r' && before.get(at + 1) == Some(&b'\n');
        line += usize::from(byte == b'\n' || (byte == b'\r' && !crlf));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_bytes() {
        let fits = vec![b'x'; LINE_CAP_BYTES];
        let long = [b"a\r\nb\n".as_slice(), &fits, b"x\n"].concat();
        let too_long = SkipReason::LineTooLong { line: 3, bytes: LINE_CAP_BYTES + 1, cap: LINE_CAP_BYTES };
        let rows: [(&[u8], Option<SkipReason>); 16] = [
            (b"def a(): pass\n", None),
            (b"# caf\xe9\n", None),
            (b"x='\xf0\x9f\x92'\n", None),
            (b"a\rb\rc", None),
            ("// \u{2028}\u{85}".as_bytes(), None),
            (b"\xef\xbb\xbfx", None),
            (&fits, None),
            (b"\xff\xfec\0", Some(SkipReason::Utf16)),
            (b"\xfe\xff\0c", Some(SkipReason::Utf16)),
            (b"\0\0\xfe\xff\0\0\0c", Some(SkipReason::Utf16)),
            (b"\0x", Some(SkipReason::Binary)),
            (b"c\0l\0a\0", Some(SkipReason::Binary)),
            (b"", Some(SkipReason::Empty)),
            (b"\xef\xbb\xbf", Some(SkipReason::Empty)),
            (b" \t\r\n \n", Some(SkipReason::Empty)),
            (&long, Some(too_long)),
        ];
        for (bytes, reason) in rows {
            let head = &bytes[..bytes.len().min(12)];
            assert_eq!(classify(bytes).err(), reason, "{head:?}");
        }
    }
}
