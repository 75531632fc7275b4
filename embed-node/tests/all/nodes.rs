//! Nodes and requests that the tests share.

use std::path::Path;
use std::sync::OnceLock;

use sextant_embed::backend::fake::FakeBackend;
use sextant_embed::backend::{Backend, Batch, Output};
use sextant_embed::batch::BatchPolicy;
use sextant_embed::config::ModelConfig;
use sextant_embed::engine::{Engine, EngineParts};
use sextant_embed::queue::LaneBounds;
use sextant_embed::settings::assets_folder;
use sextant_embed::tokenizer::TextTokenizer;
use sextant_embed::{EmbedError, EmbedService, NodeSettings};
use sextant_proto::code::CodeSpec;
use sextant_proto::embed::{EmbedRequest, Lane};
use sextant_proto::ids::ModelFingerprint;

pub(crate) const DIMS: usize = 128;
pub(crate) const MODEL: ModelFingerprint = ModelFingerprint([7; 32]);

/// A configuration for backends without files.
pub(crate) fn config() -> ModelConfig {
    let text = format!(
        "name = 'fake'\ndims = {DIMS}\nmax_tokens = 64\npooling = 'graph'\nlicense = 'none'\nonnx = 'm'\ntokenizer = 't'\n"
    );
    ModelConfig::parse(&text, Path::new("")).unwrap()
}

pub(crate) fn parts(backends: Vec<Box<dyn Backend>>) -> EngineParts {
    EngineParts {
        config: config(),
        fingerprint: MODEL,
        tokenizer: TextTokenizer::words(64),
        backends,
        policy: BatchPolicy::SINGLE,
        bounds: LaneBounds { index: 512, query: 512 },
    }
}

pub(crate) fn request(lane: Lane, texts: impl IntoIterator<Item = impl Into<String>>) -> EmbedRequest {
    let texts = texts.into_iter().map(Into::into).collect();
    EmbedRequest { lane, model: MODEL, code: CodeSpec::default(), texts }
}

/// A backend made of a closure.
pub(crate) struct Scripted<F>(pub F);

impl<F: FnMut(Batch<'_>) -> Result<Output, EmbedError> + Send> Backend for Scripted<F> {
    fn run(&mut self, batch: Batch<'_>) -> Result<Output, EmbedError> {
        (self.0)(batch)
    }
}

pub(crate) fn scripted(
    run: impl FnMut(Batch<'_>) -> Result<Output, EmbedError> + Send + 'static,
) -> Vec<Box<dyn Backend>> {
    vec![Box::new(Scripted(run))]
}

pub(crate) fn fakes(count: usize) -> Vec<Box<dyn Backend>> {
    (0..count).map(|_| Box::new(FakeBackend::new(DIMS)) as Box<dyn Backend>).collect()
}

pub(crate) fn engine(parts: EngineParts) -> Engine {
    Engine::start(parts).unwrap()
}

/// Settings of the model that the set-up script makes.
pub(crate) fn real_settings() -> NodeSettings {
    let settings = NodeSettings { sessions: Some(2), ..NodeSettings::default() };
    let model = settings.models[0].join("model.onnx");
    for file in [&model, &settings.library] {
        assert!(
            file.is_file(),
            "{} is missing below {}: run deploy/setup.sh",
            file.display(),
            assets_folder().display()
        );
    }
    settings
}

/// The real model, loaded once for all tests.
pub(crate) fn real() -> &'static EmbedService {
    static SERVICE: OnceLock<EmbedService> = OnceLock::new();
    SERVICE.get_or_init(|| EmbedService::open(&real_settings()).unwrap())
}

pub(crate) fn real_request(lane: Lane, texts: impl IntoIterator<Item = impl Into<String>>) -> EmbedRequest {
    EmbedRequest { model: real().models().models[0].fingerprint, ..request(lane, texts) }
}
