//! The model that the set-up script makes, through ONNX Runtime. Fails where it is missing: run deploy/setup.sh.

use std::path::PathBuf;

use sextant_embed::backend::ort::OrtBackend;
use sextant_embed::backend::{Backend, Batch};
use sextant_embed::config::ModelConfig;
use sextant_embed::pool::pool;
use sextant_embed::tokenizer::TextTokenizer;
use sextant_embed::{EmbedService, NodeSettings};
use sextant_proto::code::CodeSpec;
use sextant_proto::embed::Lane;

use crate::nodes::{real, real_request, real_settings};

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn bits_apart(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

#[test]
fn tokens_and_vectors_are_those_of_the_full_precision_weights() {
    let settings = real_settings();
    let config = ModelConfig::load(&settings.models[0]).unwrap();
    let golden = std::fs::read(settings.models[0].join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_slice(&golden).unwrap();
    let tokenizer = TextTokenizer::open(&config).unwrap();
    let mut backend = OrtBackend::open(&config, &settings).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let ids: Vec<u32> = serde_json::from_value(case["token_ids"].clone()).unwrap();
        let expected: Vec<f32> = serde_json::from_value(case["embedding"].clone()).unwrap();
        assert_eq!(tokenizer.encode("", text, 0).unwrap().ids, ids, "{text}");
        let output = backend.run(Batch { rows: &[&ids], pad_id: tokenizer.pad_id() }).unwrap();
        let vectors = pool(&output, &[ids.len()], &config).unwrap();
        let near = cosine(&vectors[0], &expected);
        assert!(near > 0.97, "{text}: {near}");
    }
}

#[tokio::test]
async fn the_same_text_has_the_same_code_whatever_travels_with_it() {
    let text =
        "pub fn acquire(&self, timeout: Duration) -> Result<Permit, Closed> { self.queue.wait(timeout) }";
    let alone = real().embed(real_request(Lane::Index, [text])).await.unwrap();
    let crowd =
        (0..24).map(|n| if n == 11 { text.to_owned() } else { format!("let x{n} = {n}; ").repeat(n) });
    let crowd = real().embed(real_request(Lane::Index, crowd)).await.unwrap();
    assert_eq!(crowd.code(11, CodeSpec::default()).unwrap(), alone.codes);
    let query = real().embed(real_request(Lane::Query, [text])).await.unwrap();
    assert_eq!(query.codes, alone.codes, "the model has no prefixes");
}

#[tokio::test]
async fn near_in_meaning_is_near_in_bits() {
    let texts = [
        "how are database connections reused",
        "fn checkout(&self) -> Result<PooledConnection> { self.idle.pop().unwrap_or_else(|| self.connect()) }",
        "def bake(self, loaf): self.oven.heat(220); self.oven.put(loaf)",
    ];
    let reply = real().embed(real_request(Lane::Index, texts)).await.unwrap();
    let code = |at| reply.code(at, CodeSpec::default()).unwrap();
    assert!(bits_apart(code(0), code(1)) + 50 < bits_apart(code(0), code(2)));
}

#[tokio::test]
async fn what_the_model_does_not_read_is_told() {
    let long = "alpha beta gamma ".repeat(200);
    let texts = ["short".to_owned(), long.clone(), format!("{long} and more")];
    let reply = real().embed(real_request(Lane::Index, texts)).await.unwrap();
    assert_eq!(reply.truncated, [0, 1, 1]);
    let spec = CodeSpec::default();
    assert_eq!(reply.code(1, spec), reply.code(2, spec), "both were cut at the same token");
}

#[tokio::test]
async fn a_special_token_in_a_text_is_text() {
    let config = ModelConfig::load(&real_settings().models[0]).unwrap();
    let ids = TextTokenizer::open(&config).unwrap().encode("", "[SEP] [CLS]", 0).unwrap().ids;
    assert_eq!(ids.iter().filter(|id| **id == 101 || **id == 102).count(), 2, "{ids:?}");
}

#[test]
fn a_batch_that_would_blur_codes_is_refused() {
    let settings = NodeSettings { max_batch_texts: Some(8), ..real_settings() };
    let error = EmbedService::open(&settings).err().unwrap().to_string();
    assert!(error.contains("max_batch_texts = 1"), "{error}");
}

#[test]
fn missing_files_are_named_with_their_remedy() {
    let settings = NodeSettings { models: vec![PathBuf::from("/nowhere/model")], ..real_settings() };
    let error = EmbedService::open(&settings).err().unwrap().to_string();
    assert!(error.contains("/nowhere/model/model.toml") && error.contains("deploy/setup.sh"), "{error}");
}

#[test]
fn a_graph_that_does_not_fit_its_description_is_found_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let real = real_settings();
    for name in ["model.onnx", "tokenizer.json"] {
        std::os::unix::fs::symlink(real.models[0].join(name), folder.path().join(name)).unwrap();
    }
    let text = std::fs::read_to_string(real.models[0].join("model.toml")).unwrap();
    for (from, to, word) in
        [("dims = 384", "dims = 768", "384"), ("pooling = \"graph\"", "pooling = \"mean\"", "pooling")]
    {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        std::fs::write(folder.path().join("model.toml"), changed).unwrap();
        let settings = NodeSettings { models: vec![folder.path().to_owned()], ..real.clone() };
        let error = EmbedService::open(&settings).err().unwrap().to_string();
        assert!(error.contains(word) && error.contains("model.onnx"), "{error}");
    }
}
