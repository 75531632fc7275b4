//! The only place that writes to standard output and standard error.
//!
//! Must not know what it writes. A reader that went away (`| head`) is no error: the rest is dropped in silence.

use std::io::{self, ErrorKind, Write};

use crate::cli::escape;

/// Standard output, or what stands for it in a test.
pub(super) struct Printer<W> {
    out: W,
    closed: bool,
}

impl<W: Write> Printer<W> {
    /// Prints to `out`.
    pub(super) fn new(out: W) -> Self {
        Self { out, closed: false }
    }

    /// Writes `text` and hands it on at once. Nothing happens once the reader is gone.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if self.closed || text.is_empty() {
            return Ok(());
        }
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            done => done,
        }
    }

    /// Whether the reader is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Writes `sextant: message` to standard error. Where that fails nobody can be told.
pub(super) fn error(message: &str) {
    let _ = writeln!(io::stderr().lock(), "sextant: {}", lines(message));
}

/// Writes a warning to standard error.
pub(super) fn warning(message: &str) {
    error(&format!("warning: {message}"));
}

/// Writes `line` to standard error.
pub(super) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", lines(line));
}

/// `text` safe to show, its line ends kept: help for a flag stands on more than one line.
fn lines(text: &str) -> String {
    let safe: Vec<_> = text.trim_end().split('\n').map(escape::line).collect();
    safe.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `room` writes, then fails with `kind`.
    struct Pipe {
        taken: Vec<u8>,
        room: usize,
        kind: ErrorKind,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(self.kind.into());
            }
            self.room -= 1;
            self.taken.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_left_ends_the_output_quietly() {
        let mut printer = Printer::new(Pipe { taken: Vec::new(), room: 1, kind: ErrorKind::BrokenPipe });
        assert!(printer.text("a\n").is_ok() && !printer.is_closed());
        assert!(printer.text("b\n").is_ok() && printer.is_closed());
        printer.out.room = 9;
        assert!(printer.text("c\n").is_ok());
        assert_eq!(printer.out.taken, b"a\n");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let mut printer = Printer::new(Pipe { taken: Vec::new(), room: 0, kind: ErrorKind::StorageFull });
        assert!(printer.text("a\n").is_err());
    }

    #[test]
    fn messages_keep_their_lines_and_nothing_else() {
        assert_eq!(lines("a\x1b[2J\n  b\r\n"), "a\\x1b[2J\n  b");
    }
}
