//! One layer of configuration, and how a file becomes one.
//!
//! Owns the names of the keys. Must not know their defaults, nor what makes a value valid.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::error::Kind;
use figment::providers::{Format, Toml};
use serde::{Deserialize, Serialize};

use crate::config::Surroundings;
use crate::config::error::ConfigError;

/// One layer of configuration: every key may be left open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawConfig {
    /// See [`Config::data_dir`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
    /// See [`Config::assets_dir`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assets_dir: Option<PathBuf>,
    /// See [`Config::model`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// See [`Config::onnxruntime`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onnxruntime: Option<PathBuf>,
    /// See [`Config::embed_sessions`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embed_sessions: Option<usize>,
    /// See [`Config::code_bits`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_bits: Option<u32>,
    /// See [`Config::chunk_chars`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_chars: Option<usize>,
    /// See [`Config::max_file_bytes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<u64>,
    /// See [`Config::log`]; the environment and the file give it as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// See [`Config::metrics_addr`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_addr: Option<String>,
    /// See [`Config::backend`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// See [`Config::rest_after`], seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_after_s: Option<u64>,
    /// See [`Config::exit_after`], seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_after_s: Option<u64>,
}

/// The keys of a file, as [`RawConfig`] has them.
pub(in crate::config) const KEYS: [&str; 13] = [
    "data_dir",
    "assets_dir",
    "model",
    "onnxruntime",
    "embed_sessions",
    "code_bits",
    "chunk_chars",
    "max_file_bytes",
    "log",
    "metrics_addr",
    "backend",
    "rest_after_s",
    "exit_after_s",
];

/// The layer that `text` of `file` holds, its paths made absolute: they start from the file's folder, and `~/` is home.
pub(in crate::config) fn parse(
    file: &Path,
    text: &str,
    around: &Surroundings,
) -> Result<RawConfig, ConfigError> {
    let mut raw: RawConfig =
        Figment::from(Toml::string(text)).extract().map_err(|error| describe(file, error))?;
    let folder = file.parent().unwrap_or(&around.current);
    let paths = [&mut raw.data_dir, &mut raw.assets_dir, &mut raw.model, &mut raw.onnxruntime];
    for path in paths.into_iter().flatten() {
        *path = match path.strip_prefix("~") {
            Ok(rest) => around.home.join(rest),
            Err(_) => folder.join(&*path),
        };
    }
    Ok(raw)
}

/// The first problem of a file: an unknown key before others, for it explains them.
fn describe(file: &Path, error: figment::Error) -> ConfigError {
    let mut first = None;
    for error in error {
        if let Kind::UnknownField(key, _) = &error.kind {
            let nearest = nearest_key(key);
            return ConfigError::UnknownKey { file: file.to_path_buf(), key: key.clone(), nearest };
        }
        let path = error.path.join(".");
        let problem =
            if path.is_empty() { error.kind.to_string() } else { format!("`{path}`: {}", error.kind) };
        first.get_or_insert(problem);
    }
    let problem = first.unwrap_or_else(|| "it is not valid".to_owned());
    ConfigError::Malformed { file: file.to_path_buf(), problem }
}

/// The key that `key` was perhaps meant to be.
fn nearest_key(key: &str) -> Option<&'static str> {
    let plain = key.to_lowercase().replace('-', "_");
    KEYS.into_iter()
        .map(|known| (strsim::jaro_winkler(&plain, known), known))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
