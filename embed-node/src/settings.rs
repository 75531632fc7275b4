//! Settings of the process: where it listens, which models on which device, how much may wait. Unknown keys are refused.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sextant_proto::ids::{OrgKeyId, ParseIdError};
use sextant_proto::limits::MAX_EMBED_TEXTS;
use sextant_transport::{Identity, TransportError};

use crate::batch::BatchPolicy;
use crate::error::EmbedError;
use crate::queue::LaneBounds;

/// Version of ONNX Runtime that the set-up script brings.
const RUNTIME_VERSION: &str = "1.32.0";
/// The model that the set-up script makes.
const DEFAULT_MODEL: &str = "all-MiniLM-L6-v2";
/// Most sessions of one model.
const MAX_SESSIONS: usize = 256;

/// What models run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// One single-thread session a core, one text a run.
    #[default]
    Cpu,
    /// NVIDIA's CUDA; token-budget batches.
    Cuda,
    /// NVIDIA's TensorRT over CUDA; token-budget batches.
    TensorRt,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::TensorRt => "tensorrt",
        })
    }
}

/// The settings file. Every key has a default that fits a machine on which the set-up script ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeSettings {
    /// Address of the server.
    pub listen: SocketAddr,
    /// Folder with the node's identity, as enrolment left it: `ca.crt`, `node.crt`, `node.key` (0600).
    pub identity: PathBuf,
    /// Id of the organisation key that clients must hold, 64 hexadecimal digits. Needed to serve; no secret.
    pub org_key: Option<String>,
    /// Address of the Prometheus exporter; none by default.
    pub metrics: Option<SocketAddr>,
    /// Folders of models, each with a `model.toml`.
    pub models: Vec<PathBuf>,
    /// ONNX Runtime's shared library.
    pub library: PathBuf,
    /// What the models run on.
    pub device: Device,
    /// Number of the accelerator.
    pub device_id: i32,
    /// Sessions of each model; default: one a core on a CPU, one on an accelerator.
    pub sessions: Option<usize>,
    /// Most texts a run; default by device.
    pub max_batch_texts: Option<usize>,
    /// Most tokens a run, padding counted; default by device.
    pub max_batch_tokens: Option<usize>,
    /// Texts of the index lane that may wait or run, per model.
    pub index_queue_texts: usize,
    /// Texts of the query lane that may wait or run, per model.
    pub query_queue_texts: usize,
}

impl Default for NodeSettings {
    fn default() -> Self {
        let assets = assets_folder();
        Self {
            listen: SocketAddr::from(([0, 0, 0, 0], 7402)),
            identity: PathBuf::from("/etc/sextant/identity"),
            org_key: None,
            metrics: None,
            models: vec![assets.join("models").join(DEFAULT_MODEL)],
            library: assets
                .join(format!("onnxruntime-{RUNTIME_VERSION}/libonnxruntime.so.{RUNTIME_VERSION}")),
            device: Device::Cpu,
            device_id: 0,
            sessions: None,
            max_batch_texts: None,
            max_batch_tokens: None,
            index_queue_texts: 8 * MAX_EMBED_TEXTS,
            query_queue_texts: MAX_EMBED_TEXTS,
        }
    }
}

/// Where the set-up script puts models and the runtime: `SEXTANT_ASSETS`, else `sextant` in the user's cache folder.
pub fn assets_folder() -> PathBuf {
    let named = |key: &str| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("SEXTANT_ASSETS").unwrap_or_else(|| {
        named("XDG_CACHE_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".cache")))
            .unwrap_or_default()
            .join("sextant")
    })
}

impl NodeSettings {
    /// Reads and checks the settings in `file`.
    pub fn load(file: &Path) -> Result<Self, EmbedError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| EmbedError::Read { file: file.to_owned(), source })?;
        let settings: Self =
            toml::from_str(&text).map_err(|error| EmbedError::config(file, error.message()))?;
        settings.validate().map_err(|reason| EmbedError::config(file, reason))?;
        Ok(settings)
    }

    /// Checks the bounds; the error names the key and what is allowed.
    pub fn validate(&self) -> Result<(), String> {
        if self.models.is_empty() {
            return Err("`models` names no folder; name at least one".into());
        }
        for (key, texts) in
            [("index_queue_texts", self.index_queue_texts), ("query_queue_texts", self.query_queue_texts)]
        {
            // A smaller lane could never take the largest request, and would refuse it for ever as overloaded.
            if texts < MAX_EMBED_TEXTS {
                return Err(format!("`{key}` is {texts}; the least is {MAX_EMBED_TEXTS}, one request"));
            }
        }
        if let Some(sessions) = self.sessions.filter(|sessions| !(1..=MAX_SESSIONS).contains(sessions)) {
            return Err(format!("`sessions` is {sessions}; allowed are 1 to {MAX_SESSIONS}"));
        }
        if self.max_batch_texts == Some(0) || self.max_batch_tokens == Some(0) {
            return Err("`max_batch_texts` and `max_batch_tokens` are at least 1".into());
        }
        Ok(())
    }

    /// The node's certificate and key.
    pub fn identity(&self) -> Result<Identity, TransportError> {
        let file = |name| self.identity.join(name);
        Identity::from_files(&file("ca.crt"), &file("node.crt"), &file("node.key"))
    }

    /// The organisation key's id.
    pub fn org_key(&self) -> Result<OrgKeyId, EmbedError> {
        let refuse = |reason| EmbedError::config(Path::new("the node's settings"), reason);
        let text = self.org_key.as_deref().ok_or_else(|| {
            refuse(
                "`org_key` is missing; write the id of the organisation key, as the client prints it".into(),
            )
        })?;
        text.parse().map_err(|error: ParseIdError| refuse(format!("`org_key`: {error}")))
    }

    /// Sessions of each model.
    pub fn session_count(&self) -> usize {
        self.sessions.unwrap_or_else(|| match self.device {
            Device::Cpu => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_SESSIONS),
            Device::Cuda | Device::TensorRt => 1,
        })
    }

    /// How texts are put together.
    pub fn policy(&self) -> BatchPolicy {
        let plain = match self.device {
            Device::Cpu => BatchPolicy::SINGLE,
            Device::Cuda | Device::TensorRt => BatchPolicy::ACCELERATOR,
        };
        let max_texts = self.max_batch_texts.unwrap_or(plain.max_texts);
        let roomy = if max_texts > 1 { BatchPolicy::ACCELERATOR.max_tokens } else { plain.max_tokens };
        BatchPolicy { max_texts, max_tokens: self.max_batch_tokens.unwrap_or(roomy) }
    }

    /// Bounds of the lanes.
    pub fn bounds(&self) -> LaneBounds {
        LaneBounds { index: self.index_queue_texts, query: self.query_queue_texts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<NodeSettings, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("embed.toml");
        std::fs::write(&file, text).unwrap();
        NodeSettings::load(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_is_a_cpu_node() {
        let settings = load("").unwrap();
        assert_eq!(settings.policy(), BatchPolicy::SINGLE);
        assert!(settings.session_count() >= 1);
    }

    #[test]
    fn an_accelerator_batches_by_tokens() {
        let settings = load("device = 'tensorrt'\nmax_batch_texts = 16").unwrap();
        assert_eq!(settings.policy(), BatchPolicy { max_texts: 16, max_tokens: 8192 });
        assert_eq!(settings.session_count(), 1);
    }

    #[test]
    fn a_node_serves_only_with_its_organisations_key() {
        let key = |text: &str| load(text).unwrap().org_key().map_err(|error| error.to_string());
        assert!(key("").unwrap_err().contains("org_key"));
        assert!(key("org_key = 'abc'").unwrap_err().contains("64 hexadecimal"));
        assert_eq!(key(&format!("org_key = '{}'", "0f".repeat(32))), Ok(OrgKeyId([15; 32])));
    }

    #[test]
    fn broken_rules_name_the_key_and_the_file() {
        for (text, word) in [
            ("devise = 'cpu'", "devise"),
            ("device = 'abacus'", "abacus"),
            ("models = []", "models"),
            ("sessions = 0", "sessions"),
            ("query_queue_texts = 5", "query_queue_texts"),
            ("max_batch_tokens = 0", "max_batch_tokens"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(word) && error.contains("embed.toml"), "{text}: {error}");
        }
    }
}
