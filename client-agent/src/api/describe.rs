//! The OpenAPI 3.1 document: made of the table of routes and the types of requests and replies, so it cannot tell what
//! is not so. `openapi.json` beside this file is its text; a test holds it in step.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, generate::Contract};
use serde_json::{Value, json};

use crate::api::routes::{ROUTES, Route};
use crate::api::stream::NDJSON;
use crate::api::wire::{
    DaemonReply, ErrorReply, IndexEvent, IndexRequest, SearchEvent, SearchRequest, StatusRequest, StopReply,
    VersionReply,
};
use crate::report::{Answer, IndexReport, StatusReport};

/// The document.
pub fn document() -> Value {
    let mut replies = generator(Contract::Serialize);
    let mut requests = generator(Contract::Deserialize);
    let mut paths = serde_json::Map::new();
    for route in ROUTES {
        let operation = operation(route, &mut requests, &mut replies);
        paths.insert(route.path.to_owned(), json!({ route.method: operation }));
    }
    let mut schemas = replies.take_definitions(true);
    schemas.extend(requests.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sextant's local API",
            "version": "1",
            "description": "HTTP over the daemon's Unix socket, for programs of the same user on the same machine. \
                `daemon.json` in the data folder names the socket. Fields may be added to replies; names and meanings \
                stay within a version.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://localhost" }],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    settings.contract = contract;
    settings.into_generator()
}

fn operation(route: &Route, requests: &mut SchemaGenerator, replies: &mut SchemaGenerator) -> Value {
    let (request, reply, events) = match route.path {
        "/v1/version" => (None, of::<VersionReply>(replies), None),
        "/v1/daemon" => (None, of::<DaemonReply>(replies), None),
        "/v1/daemon/stop" => (None, of::<StopReply>(replies), None),
        "/v1/index" => {
            (Some(of::<IndexRequest>(requests)), of::<IndexReport>(replies), Some(of::<IndexEvent>(replies)))
        }
        "/v1/search" => {
            (Some(of::<SearchRequest>(requests)), of::<Answer>(replies), Some(of::<SearchEvent>(replies)))
        }
        "/v1/status" => (Some(of::<StatusRequest>(requests)), of::<StatusReport>(replies), None),
        _ => (None, json!({ "type": "object" }), None),
    };
    let mut content = json!({ "application/json": { "schema": reply } });
    if let Some(events) = events {
        content[NDJSON] = json!({
            "schema": { "type": "string", "description": "One event a line, each as `x-event` says it." },
            "x-event": events,
        });
    }
    let mut operation = json!({
        "summary": route.summary,
        "responses": {
            "200": { "description": "Done", "content": content },
            "default": {
                "description": "An error",
                "content": { "application/json": { "schema": of::<ErrorReply>(replies) } },
            },
        },
    });
    if let Some(request) = request {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": request } } });
    }
    operation
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_document() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/api/openapi.json");
        let mut text = serde_json::to_string_pretty(&document()).expect("serialise");
        text.push('\n');
        if std::env::var_os("SEXTANT_WRITE_DOCS").is_some() {
            std::fs::write(path, &text).expect("written");
        }
        let file = std::fs::read_to_string(path).unwrap_or_default();
        assert!(file == text, "openapi.json is not what the types say; `make docs` writes it");
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_route_has_types() {
        let document = document();
        let mut found = 0;
        let mut rest = vec![&document];
        while let Some(value) = rest.pop() {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(to)) = fields.get("$ref") {
                        let at = to.strip_prefix('#').expect("a reference within the document");
                        assert!(document.pointer(at).is_some(), "{to}");
                        found += 1;
                    }
                    rest.extend(fields.values());
                }
                Value::Array(values) => rest.extend(values),
                _ => {}
            }
        }
        assert!(found > 10, "only {found} references");
        let paths = document["paths"].as_object().expect("paths");
        assert_eq!(paths.len(), ROUTES.len());
        for (path, operations) in paths.iter().filter(|(path, _)| *path != "/v1/openapi.json") {
            let (_, operation) = operations.as_object().and_then(|all| all.iter().next()).expect("one");
            let reply = &operation["responses"]["200"]["content"]["application/json"]["schema"];
            assert!(reply.get("$ref").is_some(), "{path}: {reply}");
        }
    }
}
