//! Code in colours, by syntect's grammars and theme. Built only where something is coloured: loading takes longer than a
//! search of a small index.
//!
//! Must not know hits or terminals: a language and lines come in, painted lines go out.

use std::sync::OnceLock;

use syntect::easy::HighlightLines;
use syntect::highlighting::{Theme, ThemeSet};
use syntect::parsing::{SyntaxReference, SyntaxSet};

use crate::cli::paint::Colors;

/// The theme: its colours can be read on dark and on middling grounds; grounds are left as the terminal has them.
const THEME: &str = "base16-ocean.dark";

/// The grammars and the theme.
struct Assets {
    syntaxes: SyntaxSet,
    theme: Option<Theme>,
}

fn assets() -> &'static Assets {
    static LOADED: OnceLock<Assets> = OnceLock::new();
    LOADED.get_or_init(|| Assets {
        syntaxes: SyntaxSet::load_defaults_newlines(),
        theme: ThemeSet::load_defaults().themes.remove(THEME),
    })
}

/// Paints `lines` (without line ends, already safe to show) of language `lang`, one for one.
pub(super) fn paint(lines: &[String], lang: &str, colors: Colors) -> Vec<String> {
    if colors == Colors::None {
        return lines.to_vec();
    }
    let assets = assets();
    let (Some(theme), Some(syntax)) = (&assets.theme, syntax(&assets.syntaxes, lang)) else {
        return lines.to_vec();
    };
    let mut state = HighlightLines::new(syntax, theme);
    lines.iter().map(|line| paint_line(&mut state, &assets.syntaxes, line, colors)).collect()
}

/// One line; plain where the grammar fails on it.
fn paint_line(state: &mut HighlightLines<'_>, syntaxes: &SyntaxSet, line: &str, colors: Colors) -> String {
    let with_end = format!("{line}\n");
    let Ok(pieces) = state.highlight_line(&with_end, syntaxes) else {
        return line.to_owned();
    };
    let mut painted = String::with_capacity(line.len() * 4);
    for (style, piece) in pieces {
        let piece = piece.trim_end_matches('\n');
        if piece.trim().is_empty() {
            painted.push_str(piece);
        } else {
            let color = style.foreground;
            colors.push_rgb(&mut painted, (color.r, color.g, color.b), piece);
        }
    }
    painted
}

/// The grammar of a language. The default set lacks Kotlin and TypeScript; the nearest relative stands in for them.
fn syntax<'a>(syntaxes: &'a SyntaxSet, lang: &str) -> Option<&'a SyntaxReference> {
    let token = match lang {
        "csharp" => "cs",
        "kotlin" => "scala",
        "typescript" | "tsx" | "jsx" => "js",
        "toml" | "ini" => "properties",
        other => other,
    };
    syntaxes.find_syntax_by_token(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(painted: &str) -> String {
        let mut plain = String::new();
        let mut rest = painted;
        while let Some(at) = rest.find('\x1b') {
            plain.push_str(&rest[..at]);
            let end = rest[at..].find('m').expect("a sequence ends");
            rest = &rest[at + end + 1..];
        }
        plain + rest
    }

    #[test]
    fn every_language_of_the_chunker_is_painted_and_keeps_its_text() {
        let lines =
            vec!["/* a */ class A { int x = \"s\"; }".to_owned(), String::new(), "return 1;".to_owned()];
        for lang in [
            "rust",
            "java",
            "kotlin",
            "python",
            "javascript",
            "typescript",
            "tsx",
            "csharp",
            "php",
            "go",
            "markdown",
        ] {
            let painted = paint(&lines, lang, Colors::Indexed);
            assert!(painted.iter().any(|line| line.contains("\x1b[38;5;")), "{lang}: {painted:?}");
            let plain: Vec<String> = painted.iter().map(|line| strip(line)).collect();
            assert_eq!(plain, lines, "{lang}");
        }
    }

    #[test]
    fn an_unknown_language_stays_plain() {
        let lines = vec!["let x = 1".to_owned()];
        assert_eq!(paint(&lines, "no-such-language", Colors::True), lines);
        assert_eq!(paint(&lines, "rust", Colors::None), lines);
    }
}
