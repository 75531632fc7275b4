//! The local API as a program of the user's sees it: every route of the document answers as the document says.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use super::sandbox::{Model, Sandbox, text};

/// Sends one request by hand; status, content type and body.
fn call(sandbox: &Sandbox, head: &str, accept: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
    let record: Value =
        serde_json::from_slice(&std::fs::read(sandbox.data().join("daemon.json")).expect("a record"))
            .expect("JSON");
    let mut stream = UnixStream::connect(text(&record, "socket")).expect("it listens");
    let head = format!(
        "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: {accept}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("written");
    // A request that is refused early may not be read to its end.
    let _ = stream.write_all(body);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    let at = reply.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&reply[..at]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let kind =
        head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default().to_owned();
    let mut body = reply.split_off(at + 4);
    if head.contains("transfer-encoding: chunked") {
        body = unchunk(&body);
    }
    (status, kind, body)
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n").expect("a length");
        let size =
            std::str::from_utf8(&bytes[..end]).ok().and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let size = size.expect("a length");
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}

fn post(sandbox: &Sandbox, path: &str, body: &Value) -> (u16, Value) {
    let (status, kind, reply) =
        call(sandbox, &format!("POST {path}"), "application/json", body.to_string().as_bytes());
    assert_eq!(kind, "application/json");
    (status, serde_json::from_slice(&reply).expect("JSON"))
}

/// Checks `value` against a schema of the document: the part of JSON Schema that the document uses.
fn check(document: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
        return check(document, document.pointer(&to[1..]).expect("defined"), value, at);
    }
    if let Some(all) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array) {
        let fits = |option: &&Value| std::panic::catch_unwind(|| check(document, option, value, at)).is_ok();
        assert!(all.iter().any(|option| fits(&option)), "{at}: {value} is none of {all:?}");
        return;
    }
    if let Some(one) = schema.get("const") {
        assert_eq!(value, one, "{at}");
    }
    if let Some(some) = schema.get("enum").and_then(Value::as_array) {
        assert!(some.contains(value), "{at}: {value} is not in {some:?}");
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let fits = |allowed: &&str| *allowed == kind || *allowed == "number" && kind == "integer";
    assert!(allowed.is_empty() || allowed.iter().any(fits), "{at}: {value} is no {allowed:?}");
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for (n, value) in values.iter().enumerate() {
            check(document, items, value, &format!("{at}/{n}"));
        }
    }
    if let (Some(properties), Some(fields)) =
        (schema.get("properties").and_then(Value::as_object), value.as_object())
    {
        for name in fields.keys() {
            assert!(properties.contains_key(name), "{at}: `{name}` is not in the document");
        }
        for (name, schema) in properties {
            if let Some(value) = fields.get(name) {
                check(document, schema, value, &format!("{at}/{name}"));
            }
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().expect("a name");
        assert!(value.get(name).is_some(), "{at}: `{name}` is missing in {value}");
    }
}

fn indexed() -> Sandbox {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.write("b.bin", b"\0\0");
    sandbox.run(&["daemon", "start"]);
    sandbox
}

#[test]
fn every_route_answers_as_the_document_says() {
    let sandbox = indexed();
    let (status, _, document) = call(&sandbox, "GET /v1/openapi.json", "*/*", b"");
    assert_eq!(status, 200);
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../client-agent/src/api/openapi.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).expect("the file")).expect("JSON");
    assert!(document == file, "what is served is what the repository holds");

    let path = sandbox.tree();
    let body = |route: &str| match route {
        "/v1/index" => json!({ "path": path }),
        "/v1/search" => json!({ "path": path, "query": "alpaca", "limit": 3 }),
        "/v1/status" => json!({}),
        _ => Value::Null,
    };
    // The route that ends it comes last.
    let paths = document["paths"].as_object().expect("paths");
    let (last, first): (Vec<_>, Vec<_>) = paths.iter().partition(|(path, _)| path.ends_with("/stop"));
    for (route, operations) in first.into_iter().chain(last) {
        let (method, operation) =
            operations.as_object().and_then(|all| all.iter().next()).expect("one method");
        let content = &operation["responses"]["200"]["content"];
        let head = format!("{} {route}", method.to_uppercase());
        let bytes = if body(route).is_null() { Vec::new() } else { body(route).to_string().into_bytes() };
        if let Some(events) = content.get("application/x-ndjson") {
            let (status, kind, reply) = call(&sandbox, &head, "application/x-ndjson", &bytes);
            assert_eq!((status, kind.as_str()), (200, "application/x-ndjson"), "{route}");
            let lines: Vec<Value> = String::from_utf8_lossy(&reply)
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect();
            for line in &lines {
                check(&document, &events["x-event"], line, route);
            }
            assert_eq!(lines.last().map(|line| text(line, "event")), Some("done"), "{lines:?}");
        }
        let (status, kind, reply) = call(&sandbox, &head, "application/json", &bytes);
        assert_eq!((status, kind.as_str()), (200, "application/json"), "{route}");
        let reply: Value = serde_json::from_slice(&reply).expect("JSON");
        check(&document, &content["application/json"]["schema"], &reply, route);
    }
}

#[test]
fn what_is_wrong_is_told_as_the_document_says() {
    let sandbox = indexed();
    let (_, _, document) = call(&sandbox, "GET /v1/openapi.json", "*/*", b"");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let schema = json!({ "$ref": "#/components/schemas/ErrorReply" });
    let tree = sandbox.tree();
    let long = "x".repeat(1 << 20);
    for (route, body, status, part) in [
        ("/v1/index", json!({}), 400, "missing field `path`"),
        ("/v1/index", json!({ "path": "a" }), 400, "must be absolute"),
        ("/v1/index", json!({ "path": tree, "forced": true }), 400, "unknown field `forced`"),
        ("/v1/index", json!({ "path": { "hex": "2g" } }), 400, "hexadecimal"),
        ("/v1/index", json!({ "path": "/nowhere/at/all" }), 404, "check the spelling"),
        ("/v1/index", json!({ "path": "/" }), 409, "--force"),
        ("/v1/index", json!({ "path": tree.join("a.py") }), 422, "is not a folder"),
        ("/v1/search", json!({ "path": tree, "query": " " }), 400, "the question is empty"),
        ("/v1/search", json!({ "path": tree, "query": long }), 400, "1048576 bytes"),
        ("/v1/search", json!({ "path": tree, "query": "q", "limit": 0 }), 400, "`limit` is 0"),
        ("/v1/search", json!({ "path": tree, "query": "q", "limit": 1_000_000 }), 400, "1 to 10000"),
        ("/v1/serach", json!({}), 404, "there is no /v1/serach"),
        ("/v1/version", json!({}), 404, "is not called like that"),
    ] {
        let (found, reply) = post(&sandbox, route, &body);
        assert_eq!(found, status, "{route}: {reply}");
        check(&document, &schema, &reply, route);
        assert!(text(&reply["error"], "message").contains(part), "{part}: {reply}");
    }
    let (status, _, _) = call(&sandbox, "POST /v1/search", "*/*", &vec![b' '; 9 << 20]);
    assert_eq!(status, 400, "a request over the cap");
    let (_, _, reply) = call(&sandbox, "POST /v1/index", "application/x-ndjson", br#"{"path":"/nowhere"}"#);
    let reply: Value = serde_json::from_slice(&reply).expect("one line");
    assert_eq!((&reply["event"], &reply["error"]["code"]), (&json!("failed"), &json!("bad_path")));
    assert_eq!(sandbox.index()["files"], 1, "and works all the same");
}
