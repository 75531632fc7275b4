//! What an assistant may send with a call: `search(query, path?, limit?)`. What it may not is refused with the right
//! names, for a model guesses names and silence would teach it nothing.
//!
//! Pure.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::api::wire::DEFAULT_LIMIT;

/// The only tool.
pub(super) const TOOL: &str = "search";
/// Hits at most: a model reads them all.
const LIMIT_CAP: u64 = 100;
const NAMES: [&str; 3] = ["query", "path", "limit"];

/// Checked arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) query: String,
    pub(super) path: PathBuf,
    pub(super) limit: u32,
}

/// What the arguments are, as JSON Schema.
pub(super) fn schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What the code does, in plain words" },
            "path": {
                "type": "string",
                "description": "The folder to search, absolute or from the server's current folder; that folder unless \
                    given",
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": LIMIT_CAP, "default": DEFAULT_LIMIT,
                "description": "Places wanted",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Checks a call's arguments.
pub(super) fn parse(arguments: Map<String, Value>) -> Result<Arguments, String> {
    let signature = "search(query, path?, limit?)";
    if let Some(unknown) = arguments.keys().find(|name| !NAMES.contains(&name.as_str())) {
        let near = NAMES
            .into_iter()
            .map(|name| (strsim::jaro_winkler(unknown, name), name))
            .filter(|(likeness, _)| *likeness >= 0.7)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = near.map(|(_, name)| format!("; did you mean `{name}`?")).unwrap_or_default();
        let shown: String = unknown.chars().take(60).collect();
        return Err(format!("there is no argument `{shown}`{hint} The tool is {signature}"));
    }
    let text = |name: &str| match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{name}` must be a string, not {other:.60}. The tool is {signature}")),
    };
    let query = text("query")?.ok_or_else(|| format!("`query` is missing. The tool is {signature}"))?;
    let limit = match arguments.get("limit") {
        None | Some(Value::Null) => DEFAULT_LIMIT,
        Some(value) => match value.as_u64() {
            Some(limit @ 1..=LIMIT_CAP) => limit as u32,
            _ => {
                return Err(format!("`limit` must be a whole number from 1 to {LIMIT_CAP}, not {value:.60}"));
            }
        },
    };
    Ok(Arguments { query, path: text("path")?.unwrap_or_else(|| ".".into()).into(), limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(value: Value) -> Result<Arguments, String> {
        match value {
            Value::Object(arguments) => parse(arguments),
            other => panic!("no object: {other}"),
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let expected = Arguments { query: "q".into(), path: ".".into(), limit: 10 };
        assert_eq!(parsed(json!({ "query": "q" })), Ok(expected));
        let expected = Arguments { query: "q".into(), path: "/a".into(), limit: 100 };
        assert_eq!(parsed(json!({ "query": "q", "path": "/a", "limit": 100 })), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_right() {
        for (value, part) in [
            (json!({}), "`query` is missing"),
            (json!({ "query": 7 }), "`query` must be a string, not 7"),
            (json!({ "query": "q", "limits": 3 }), "no argument `limits`; did you mean `limit`?"),
            (json!({ "question": "q" }), "no argument `question`"),
            (json!({ "query": "q", "path": ["a"] }), "`path` must be a string"),
            (json!({ "query": "q", "limit": 0 }), "from 1 to 100, not 0"),
            (json!({ "query": "q", "limit": 1.5 }), "from 1 to 100, not 1.5"),
            (json!({ "query": "q", "limit": "ten" }), "from 1 to 100"),
        ] {
            let problem = parsed(value.clone()).expect_err(part);
            assert!(problem.contains(part), "{value}: {problem}");
        }
        let problem = parsed(json!({ "colour": 1 })).expect_err("unknown");
        assert!(problem.ends_with("search(query, path?, limit?)"), "{problem}");
    }

    #[test]
    fn the_schema_names_what_is_parsed() {
        let schema = schema();
        let names: Vec<&str> =
            schema["properties"].as_object().expect("object").keys().map(String::as_str).collect();
        let mut expected = NAMES;
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!(schema["additionalProperties"], json!(false));
    }
}
