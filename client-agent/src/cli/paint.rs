//! Colours: whether there are any, which the terminal has, and the styles of what is not code.
//!
//! Must not know what is printed.

use std::fmt::Write;

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};

use crate::cli::args::ColorChoice;

/// Colours of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colors {
    /// None.
    None,
    /// The 256 of xterm.
    Indexed,
    /// 24 bits.
    True,
}

/// What the choice of colours depends on.
#[derive(Debug, Clone, Default)]
pub(super) struct Screen {
    /// Whether standard output is a terminal.
    pub(super) terminal: bool,
    /// `NO_COLOR` is set to something (no-color.org).
    pub(super) no_color: bool,
    /// `TERM`.
    pub(super) term: String,
    /// `COLORTERM`.
    pub(super) colorterm: String,
}

impl Colors {
    /// The colours for `choice` on `screen`.
    pub(super) fn choose(choice: ColorChoice, screen: &Screen) -> Self {
        let wanted = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => screen.terminal && !screen.no_color && screen.term != "dumb",
        };
        match (wanted, screen.colorterm.as_str()) {
            (false, _) => Self::None,
            (true, "truecolor" | "24bit") => Self::True,
            (true, _) => Self::Indexed,
        }
    }

    /// `text` in `style`; plain where there are no colours.
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self == Self::None || text.is_empty() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }

    /// Appends `text` in a colour of 24 bits, or in the nearest that there is.
    pub(super) fn push_rgb(self, out: &mut String, (r, g, b): (u8, u8, u8), text: &str) {
        let rgb = RgbColor(r, g, b);
        let color = match self {
            Self::None => return out.push_str(text),
            Self::True => Color::Rgb(rgb),
            Self::Indexed => Color::Ansi256(Ansi256Color(anstyle_lossy::rgb_to_xterm(rgb).0)),
        };
        let style = Style::new().fg_color(Some(color));
        // Writing to a string cannot fail.
        let _ = write!(out, "{style}{text}{style:#}");
    }
}

/// Style of a path.
pub(super) const PATH: Style = AnsiColor::Magenta.on_default().bold();
/// Style of line numbers in a heading.
pub(super) const LINES: Style = AnsiColor::Green.on_default();
/// Style of what steps back.
pub(super) const DIM: Style = Style::new().dimmed();
/// Style of a doubt.
pub(super) const DOUBT: Style = AnsiColor::Yellow.on_default();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_unless_told() {
        let tty = Screen { terminal: true, term: "xterm".into(), ..Screen::default() };
        let pipe = Screen { terminal: false, ..tty.clone() };
        let no_color = Screen { no_color: true, ..tty.clone() };
        let dumb = Screen { term: "dumb".into(), ..tty.clone() };
        let deep = Screen { colorterm: "truecolor".into(), ..tty.clone() };
        for (choice, screen, colors) in [
            (ColorChoice::Auto, &tty, Colors::Indexed),
            (ColorChoice::Auto, &deep, Colors::True),
            (ColorChoice::Auto, &pipe, Colors::None),
            (ColorChoice::Auto, &no_color, Colors::None),
            (ColorChoice::Auto, &dumb, Colors::None),
            (ColorChoice::Always, &pipe, Colors::Indexed),
            (ColorChoice::Always, &no_color, Colors::Indexed),
            (ColorChoice::Never, &deep, Colors::None),
        ] {
            assert_eq!(Colors::choose(choice, screen), colors, "{choice:?} on {screen:?}");
        }
    }

    #[test]
    fn a_colour_ends_where_its_text_ends() {
        assert_eq!(Colors::None.paint(PATH, "a"), "a");
        assert!(Colors::Indexed.paint(PATH, "a").ends_with("a\x1b[0m"));
        let mut out = String::new();
        Colors::True.push_rgb(&mut out, (1, 2, 3), "x");
        assert_eq!(out, "\x1b[38;2;1;2;3mx\x1b[0m");
        out.clear();
        Colors::Indexed.push_rgb(&mut out, (255, 0, 0), "x");
        assert_eq!(out, "\x1b[38;5;196mx\x1b[0m");
    }
}
