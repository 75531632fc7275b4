//! What a model wants before its texts, shown on a model that has prefixes.

use std::path::Path;

use sextant_embed::config::{ModelConfig, Pooling};
use sextant_embed::tokenizer::TextTokenizer;
use sextant_proto::embed::Lane;

use crate::nodes::{engine, fakes, parts, request};

fn prefixed() -> ModelConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prefixed");
    ModelConfig::load(&folder).unwrap()
}

#[test]
fn golden_inputs_of_a_model_with_prefixes() {
    let config = prefixed();
    assert_eq!((config.dims, config.pooling), (1024, Pooling::Last));
    assert_eq!(config.matryoshka, [512, 256, 128]);
    let input = |lane, text: &str| format!("{}{text}", config.prefix(lane));
    assert_eq!(
        input(Lane::Query, "where are tokens refreshed"),
        "Instruct: Given a question about a program, retrieve the code that answers it\nQuery:where are tokens refreshed"
    );
    assert_eq!(input(Lane::Index, "fn refresh()"), "fn refresh()");
    let tokenizer = TextTokenizer::words(64);
    let (prefix, text) = (config.prefix(Lane::Query), "where are tokens refreshed");
    let joined = tokenizer.encode("", &input(Lane::Query, text), 0).unwrap();
    assert_eq!(tokenizer.encode(prefix, text, 0).unwrap(), joined);
}

#[tokio::test]
async fn each_lane_reads_its_own_prefix() {
    let mut with = parts(fakes(1));
    with.config.query_prefix = "find: ".into();
    with.config.document_prefix = "doc: ".into();
    let (with, without) = (engine(with), engine(parts(fakes(1))));
    let code = async |engine: &sextant_embed::engine::Engine, lane, text: &str| {
        engine.embed(request(lane, [text])).await.unwrap().codes
    };
    let plain = code(&without, Lane::Index, "find: open file").await;
    assert_eq!(code(&with, Lane::Query, "open file").await, plain);
    assert_ne!(code(&with, Lane::Index, "open file").await, plain);
    assert_eq!(
        code(&with, Lane::Index, "open file").await,
        code(&without, Lane::Query, "doc: open file").await
    );
}
