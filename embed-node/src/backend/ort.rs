//! ONNX Runtime. The only file that names the crate `ort`.
//!
//! The library is loaded at run time, so one binary serves every machine: a GPU host is given a library with the CUDA or
//! TensorRT provider. A device that was asked for and does not come up is an error, never a silent CPU.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::ep;
use ort::logging::LogLevel;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{Tensor, ValueType};

use super::{Backend, Batch, Output};
use crate::config::{ModelConfig, Pooling};
use crate::error::EmbedError;
use crate::settings::{Device, NodeSettings};

/// A process may make one environment only; it lives until the process ends.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// One session on one model.
pub struct OrtBackend {
    session: Session,
    inputs: Vec<Input>,
    output: String,
}

/// Inputs that this room can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Ids,
    Mask,
    /// All zero: one text a row, no pairs.
    TokenTypes,
    Positions,
}

impl Input {
    const ALL: [Self; 4] = [Self::Ids, Self::Mask, Self::TokenTypes, Self::Positions];

    const fn name(self) -> &'static str {
        match self {
            Self::Ids => "input_ids",
            Self::Mask => "attention_mask",
            Self::TokenTypes => "token_type_ids",
            Self::Positions => "position_ids",
        }
    }

    fn fill(self, batch: Batch<'_>) -> Vec<i64> {
        let longest = batch.longest();
        let mut values = Vec::with_capacity(batch.rows.len() * longest);
        for row in batch.rows {
            let padding = longest - row.len();
            match self {
                Self::Ids => {
                    values.extend(row.iter().map(|id| i64::from(*id)));
                    values.extend(std::iter::repeat_n(i64::from(batch.pad_id), padding));
                }
                Self::Mask => {
                    values.extend(std::iter::repeat_n(1, row.len()));
                    values.extend(std::iter::repeat_n(0, padding));
                }
                Self::TokenTypes => values.extend(std::iter::repeat_n(0, longest)),
                Self::Positions => values.extend(0..longest as i64),
            }
        }
        values
    }
}

impl OrtBackend {
    /// Opens a session of `config` on the device of `settings`: one thread on a CPU, without spinning, so that idle
    /// sessions cost nothing.
    pub fn open(config: &ModelConfig, settings: &NodeSettings) -> Result<Self, EmbedError> {
        let environment = environment(&settings.library)?;
        let refuse = |reason: String| EmbedError::Model {
            file: config.onnx.clone(),
            device: settings.device.to_string(),
            reason,
        };
        let session =
            open_session(&environment, &config.onnx, settings).map_err(|error| refuse(error.to_string()))?;
        let mut inputs = Vec::new();
        for outlet in session.inputs() {
            let known = Input::ALL.into_iter().find(|input| input.name() == outlet.name());
            inputs.push(known.ok_or_else(|| {
                refuse(format!("its input {:?} is not one that an encoder has", outlet.name()))
            })?);
        }
        let output = choose_output(&session, config).map_err(refuse)?;
        Ok(Self { session, inputs, output })
    }
}

/// The output that holds what `config.pooling` asks for: named as sentence-transformers names it, else the first of the
/// right rank.
fn choose_output(session: &Session, config: &ModelConfig) -> Result<String, String> {
    let (rank, names) = match config.pooling {
        Pooling::Graph => (2, ["sentence_embedding", "text_embeds"]),
        Pooling::Mean | Pooling::Last | Pooling::Cls => (3, ["last_hidden_state", "token_embeddings"]),
    };
    let fits: Vec<&str> = session
        .outputs()
        .iter()
        .filter(|outlet| matches!(outlet.dtype(), ValueType::Tensor { shape, .. } if shape.len() == rank))
        .map(ort::value::Outlet::name)
        .collect();
    let named = names.into_iter().find(|name| fits.contains(name));
    named.or_else(|| fits.first().copied()).map(str::to_owned).ok_or_else(|| {
        let all: Vec<&str> = session.outputs().iter().map(ort::value::Outlet::name).collect();
        format!(
            "pooling = {:?} needs an output of rank {rank}, and the graph has only {all:?}; correct `pooling` in model.toml",
            config.pooling
        )
    })
}

fn open_session(environment: &Environment, onnx: &Path, settings: &NodeSettings) -> ort::Result<Session> {
    let id = settings.device_id;
    let providers = match settings.device {
        Device::Cpu => vec![ep::CPU::default().build()],
        Device::Cuda => vec![ep::CUDA::default().with_device_id(id).build().error_on_failure()],
        // What TensorRT leaves over runs on CUDA.
        Device::TensorRt => vec![
            ep::TensorRT::default().with_device_id(id).build().error_on_failure(),
            ep::CUDA::default().with_device_id(id).build().error_on_failure(),
        ],
    };
    Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(1)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        .with_inter_op_spinning(false)?
        // Texts have hundreds of lengths; a remembered memory plan for each would only grow.
        .with_memory_pattern(false)?
        .with_execution_providers(providers)?
        .commit_from_file(onnx)
}

/// The process's environment, made from `library` on the first call; later calls must not hope for another library.
fn environment(library: &Path) -> Result<Environment, EmbedError> {
    let mut made = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = made.as_ref() {
        return Ok(environment.clone());
    }
    let refuse = |reason: String| EmbedError::Library { file: library.to_owned(), reason };
    if !library.is_file() {
        return Err(refuse("there is no such file".into()));
    }
    let environment = ort::init_from(library)
        .map_err(|error| refuse(error.to_string()))?
        .with_name("sextant")
        .with_telemetry(false)
        .build()
        .map_err(|error| refuse(error.to_string()))?;
    environment.set_log_level(LogLevel::Warning);
    *made = Some(environment.clone());
    Ok(environment)
}

impl Backend for OrtBackend {
    fn run(&mut self, batch: Batch<'_>) -> Result<Output, EmbedError> {
        let failed = |error: ort::Error| EmbedError::Inference(error.to_string());
        let shape = [batch.rows.len(), batch.longest()];
        let mut values = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let tensor = Tensor::from_array((shape, input.fill(batch))).map_err(failed)?;
            values.push((input.name(), tensor));
        }
        let outputs = self.session.run(values).map_err(failed)?;
        let output = outputs
            .get(&self.output)
            .ok_or_else(|| EmbedError::Inference(format!("the run gave no output {:?}", self.output)))?;
        let (shape, values) = output.try_extract_tensor::<f32>().map_err(failed)?;
        match shape[..] {
            [_, dims] => Ok(Output::Pooled { dims: dims as usize, values: values.to_vec() }),
            [_, length, dims] => {
                Ok(Output::Tokens { length: length as usize, dims: dims as usize, values: values.to_vec() })
            }
            _ => Err(EmbedError::Inference(format!("an output of shape {shape:?} is no vector"))),
        }
    }
}
