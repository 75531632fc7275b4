//! Answers and reports as JSON for programs. Pure. The fields are a promise: names and meanings stay.
//!
//! Must not know where the text goes.

use std::borrow::Cow;

use serde::Serialize;

use crate::cli::escape;
use crate::cli::render::state_name;
use crate::report::{Answer, Found, Receipt, Timing};

/// A hit. The order of the fields is that of the lines of `--jsonl`.
#[derive(Serialize)]
struct Hit<'a> {
    path: &'a str,
    start_line: u32,
    end_line: u32,
    start_byte: u64,
    end_byte: u64,
    score: f32,
    item: &'a str,
    lang: &'a str,
    collection: &'a str,
    revision: &'a str,
    state: &'a str,
    snippet: Option<&'a str>,
}

#[derive(Serialize)]
struct Whole<'a> {
    query: &'a str,
    root: &'a str,
    hits: Vec<Hit<'a>>,
    coverage: &'a Receipt,
    warnings: &'a [String],
    bad_coordinates: u64,
    /// Seconds.
    timing: Timing,
}

impl<'a> From<&'a Found> for Hit<'a> {
    fn from(found: &'a Found) -> Self {
        Self {
            path: &found.path,
            start_line: found.start_line,
            end_line: found.end_line,
            start_byte: found.start_byte,
            end_byte: found.end_byte,
            score: found.score,
            item: &found.item,
            lang: &found.lang,
            collection: &found.collection,
            revision: &found.revision,
            state: state_name(found.state),
            snippet: found.snippet.as_deref(),
        }
    }
}

/// The whole answer to `query` as one object on one line; `root` is the folder that paths start from.
pub(super) fn answer(answer: &Answer, query: &str, root: &str) -> Result<String, serde_json::Error> {
    object(&Whole {
        query,
        root,
        hits: answer.hits.iter().map(Hit::from).collect(),
        coverage: &answer.coverage,
        warnings: &answer.warnings,
        bad_coordinates: answer.bad_coordinates,
        timing: answer.timing,
    })
}

/// One hit as one object on one line.
pub(super) fn hit(found: &Found) -> Result<String, serde_json::Error> {
    object(&Hit::from(found))
}

/// `value` as one object on one line, with its line end.
pub(super) fn object<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = match escape::json(&serde_json::to_string(value)?) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    };
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::render::tests::{answer_of, hit as found};
    use crate::report::{IndexReport, SkippedFile};

    #[test]
    fn a_line_has_exactly_its_fields_in_order() {
        let line = hit(&found("src/\u{9b}x.rs", (9, 11), Some("fn x() {}\n\x1b"))).expect("serialise");
        assert_eq!(
            line,
            "{\"path\":\"src/\\u009bx.rs\",\"start_line\":9,\"end_line\":11,\"start_byte\":100,\"end_byte\":180,\
             \"score\":0.73125,\"item\":\"function\",\"lang\":\"rust\",\"collection\":\"example\",\
             \"revision\":\"00ff\",\"state\":\"exact\",\"snippet\":\"fn x() {}\\n\\u001b\"}\n"
        );
        assert!(hit(&found("x", (1, 1), None)).expect("serialise").contains("\"snippet\":null"));
    }

    #[test]
    fn a_whole_answer_is_one_object() {
        let mut partial = answer_of(vec![found("a", (1, 1), None), found("b", (1, 1), None)]);
        partial.coverage.complete = false;
        let text = answer(&partial, "q", "/r").expect("serialise");
        assert_eq!(text.lines().count(), 1);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["hits"][1]["path"], "b");
        assert_eq!((&value["query"], &value["root"]), (&json!("q"), &json!("/r")));
        assert_eq!(value["coverage"]["complete"], json!(false));
    }

    #[test]
    fn an_index_has_the_fields_that_were_promised() {
        let report = IndexReport {
            skipped: vec![SkippedFile { path: "p".into(), reason: "r".into() }],
            ..IndexReport::default()
        };
        let value: Value = serde_json::from_str(&object(&report).expect("serialise")).expect("JSON");
        for field in ["files", "chunks", "embedded", "reused", "bytes_sent", "seconds"] {
            assert!(value[field].is_number(), "{field}");
        }
        assert_eq!(value["skipped"], json!([{ "path": "p", "reason": "r" }]));
    }
}
