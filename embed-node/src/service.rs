//! The node's two calls, as plain async functions, and how they hang on the wire.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sextant_proto::access::Role;
use sextant_proto::embed::{EmbedReply, EmbedRequest, ModelsReply, ModelsRequest};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::ModelFingerprint;
use sextant_transport::Routes;

use crate::backend::fake::FakeBackend;
use crate::backend::ort::OrtBackend;
use crate::backend::{Backend, Batch};
use crate::batch::BatchPolicy;
use crate::config::{ModelConfig, Pooling};
use crate::engine::{Engine, EngineParts};
use crate::error::EmbedError;
use crate::fingerprint::{fingerprint, without_files};
use crate::pool::pool;
use crate::queue::label;
use crate::settings::NodeSettings;
use crate::tokenizer::TextTokenizer;

/// An embed-node's models.
pub struct EmbedService {
    engines: Vec<Engine>,
}

impl EmbedService {
    /// Loads every model of `settings` and tries each once. Cost: seconds, most of it reading the weights; call it
    /// outside of an async worker.
    pub fn open(settings: &NodeSettings) -> Result<Self, EmbedError> {
        settings.validate().map_err(|reason| EmbedError::config(Path::new("the node's settings"), reason))?;
        let engines: Result<Vec<Engine>, EmbedError> =
            settings.models.iter().map(|folder| open_engine(folder, settings)).collect();
        Ok(Self::with_engines(engines?))
    }

    /// A service over engines that stand already.
    pub fn with_engines(engines: Vec<Engine>) -> Self {
        Self { engines }
    }

    /// A service without a model: vectors of `dims` dimensions from hashed words, the same on every machine. For tests
    /// of what uses an embed-node.
    pub fn fake(dims: usize, sessions: usize) -> Result<Self, EmbedError> {
        let settings = NodeSettings::default();
        let config = ModelConfig {
            name: "fake".into(),
            dims,
            max_tokens: 256,
            pooling: Pooling::Graph,
            normalize: true,
            query_prefix: String::new(),
            document_prefix: String::new(),
            matryoshka: Vec::new(),
            license: "none".into(),
            onnx: Path::new("fake").into(),
            tokenizer: Path::new("words").into(),
        };
        let backends = (0..sessions.max(1)).map(|_| Box::new(FakeBackend::new(dims)) as Box<dyn Backend>);
        let engine = Engine::start(EngineParts {
            fingerprint: without_files(&config, "hashed words 1"),
            tokenizer: TextTokenizer::words(config.max_tokens),
            backends: backends.collect(),
            config,
            policy: BatchPolicy::SINGLE,
            bounds: settings.bounds(),
        })?;
        Ok(Self::with_engines(vec![engine]))
    }

    /// Vectors of the request's texts. Dropping the future frees what waits for it.
    pub async fn embed(&self, request: EmbedRequest) -> Result<EmbedReply, WireError> {
        let (started, lane) = (Instant::now(), label(request.lane));
        let result = self.try_embed(request).await;
        metrics::histogram!("embed_seconds", "lane" => lane).record(started.elapsed().as_secs_f64());
        match &result {
            Ok(reply) => {
                let cut = reply.truncated.iter().filter(|cut| **cut != 0).count();
                let texts = reply.truncated.len() as u64;
                metrics::counter!("embed_texts_total", "lane" => lane).increment(texts);
                metrics::counter!("embed_truncated_total").increment(cut as u64);
            }
            Err(error) => {
                metrics::counter!("embed_errors_total", "code" => error.code.label()).increment(1);
            }
        }
        result
    }

    async fn try_embed(&self, request: EmbedRequest) -> Result<EmbedReply, WireError> {
        request.validate()?;
        self.engine(request.model)?.embed(request).await
    }

    fn engine(&self, model: ModelFingerprint) -> Result<&Engine, WireError> {
        self.engines.iter().find(|engine| engine.fingerprint() == model).ok_or_else(|| {
            let known: Vec<String> = self
                .engines
                .iter()
                .map(|engine| format!("{} ({})", engine.card().name, engine.fingerprint()))
                .collect();
            let message = format!("this embed-node has no model {model}; it has {}", known.join(", "));
            WireError::new(ErrorCode::NotFound, message)
        })
    }

    /// The routes, each with the roles that may use it. Clients embed by themselves, so that no server in between sees
    /// their text.
    pub fn routes(self: &Arc<Self>) -> Routes {
        let (embedder, models) = (Arc::clone(self), Arc::clone(self));
        Routes::new()
            .on::<EmbedRequest, _, _>(&[Role::Client, Role::Ci], move |_, request| {
                let service = Arc::clone(&embedder);
                async move { service.embed(request).await }
            })
            .on::<ModelsRequest, _, _>(&[Role::Client, Role::Ci, Role::Coordinator], move |_, _| {
                let models = models.models();
                async move { Ok(models) }
            })
    }

    /// The node's models.
    pub fn models(&self) -> ModelsReply {
        ModelsReply { models: self.engines.iter().map(Engine::card).collect() }
    }
}

fn open_engine(folder: &Path, settings: &NodeSettings) -> Result<Engine, EmbedError> {
    let config = ModelConfig::load(folder)?;
    let fingerprint = fingerprint(&config)?;
    if settings.policy().max_texts > 1 && scales_over_batch(&config.onnx)? {
        return Err(EmbedError::Model {
            file: config.onnx.clone(),
            device: settings.device.to_string(),
            reason: "it quantises activations over the whole batch, so a text's code would depend on what travels with \
                     it; set max_batch_texts = 1, or take a float model"
                .into(),
        });
    }
    let tokenizer = TextTokenizer::open(&config)?;
    let mut backends: Vec<Box<dyn Backend>> = Vec::new();
    for _ in 0..settings.session_count() {
        backends.push(Box::new(OrtBackend::open(&config, settings)?));
    }
    if let Some(backend) = backends.first_mut() {
        probe(backend.as_mut(), &tokenizer, &config, settings)?;
    }
    let (policy, bounds) = (settings.policy(), settings.bounds());
    tracing::info!(model = %config.name, %fingerprint, device = %settings.device, sessions = backends.len(), "model ready");
    Engine::start(EngineParts { config, fingerprint, tokenizer, backends, policy, bounds })
}

/// Whether the graph holds dynamic int8 operators. Operator names stand in the file as they are.
fn scales_over_batch(onnx: &Path) -> Result<bool, EmbedError> {
    const OPERATOR: &[u8] = b"DynamicQuantizeLinear";
    let bytes = std::fs::read(onnx).map_err(|source| EmbedError::Read { file: onnx.to_owned(), source })?;
    Ok(bytes.windows(OPERATOR.len()).any(|window| window == OPERATOR))
}

/// Runs two words, so that a graph that does not fit its `model.toml` is found at the start.
fn probe(
    backend: &mut dyn Backend,
    tokenizer: &TextTokenizer,
    config: &ModelConfig,
    settings: &NodeSettings,
) -> Result<(), EmbedError> {
    let ids = tokenizer.encode("", "two words", 0)?.ids;
    let tried = backend
        .run(Batch { rows: &[&ids], pad_id: tokenizer.pad_id() })
        .and_then(|output| pool(&output, &[ids.len()], config));
    tried.map(drop).map_err(|error| EmbedError::Model {
        file: config.onnx.clone(),
        device: settings.device.to_string(),
        reason: error.to_string(),
    })
}
