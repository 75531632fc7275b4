//! Configuration of the client: flags over environment over file over defaults, checked before anything starts.
//!
//! Owns the defaults of the keys and what makes them valid. Must not know what the agent does with them, nor print.
//! The keys lie in `layer`, the words for what is wrong in `error`. A layer ([`RawConfig`]) may leave every key open;
//! a [`Config`] is all layers on each other, checked and valid.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use figment::Figment;
use figment::providers::Serialized;
use serde::{Deserialize, Serialize};

use sextant_proto::code::CodeWidth;

use crate::chunk::ChunkBudget;
pub use crate::config::error::ConfigError;
pub use crate::config::layer::RawConfig;
use crate::config::layer::parse;

mod error;
mod layer;

/// Files over this are left out of an index, bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// What `max_file_bytes` may be at most: offsets and memory are sized for files far below it.
const MAX_FILE_BYTES_CAP: u64 = 1 << 30;
/// Sizes of chunks that can be asked for. Less than a signature and more than any model reads make no sense.
const CHUNK_CHARS: std::ops::RangeInclusive<usize> = 100..=4_000;
/// Sessions over this are a slip of the pen: each holds the model in memory.
const MAX_EMBED_SESSIONS: usize = 1024;
/// Five minutes: somebody who works asks again sooner; what is opened again costs well below a second.
const REST_AFTER_S: u64 = 300;
/// Three hours: a resting daemon costs next to nothing, one that is forgotten should still go.
const EXIT_AFTER_S: u64 = 3 * 3600;
/// Folder of the model below the assets, and the library beside it.
const MODEL: &str = "models/all-MiniLM-L6-v2";
const ONNXRUNTIME: &str = "onnxruntime-1.32.0/libonnxruntime.so.1.32.0";

/// How much is logged to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What is doubtful too.
    #[default]
    Warn,
    /// What happened.
    Info,
    /// Details.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The level as a filter directive.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// What turns text into vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The model, by ONNX Runtime.
    #[default]
    Onnx,
    /// Vectors from hashes of words, for tests alone: it needs no model and finds little.
    Fake,
}

/// A valid configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file that was read; absent where there was none.
    pub file: Option<PathBuf>,
    /// Where indexes and certificates are kept. Absolute.
    pub data_dir: PathBuf,
    /// Where models and libraries lie. Absolute.
    pub assets_dir: PathBuf,
    /// Folder of the model.
    pub model: PathBuf,
    /// Shared library of ONNX Runtime.
    pub onnxruntime: PathBuf,
    /// Sessions of the model that run side by side; at least 1.
    pub embed_sessions: usize,
    /// Width of the codes, bits.
    pub code_bits: CodeWidth,
    /// Non-white-space characters that a chunk should not exceed.
    pub chunk_chars: usize,
    /// Files over this are left out, bytes.
    pub max_file_bytes: u64,
    /// How much is logged.
    pub log: LogLevel,
    /// Where metrics are served; nowhere if absent.
    pub metrics_addr: Option<SocketAddr>,
    /// What turns text into vectors.
    pub backend: Backend,
    /// After so long without work a daemon closes its stores and its model. Zero: never.
    pub rest_after: Duration,
    /// After so long without work it ends. Zero: never.
    pub exit_after: Duration,
    /// The user's home folder. Absolute.
    pub home: PathBuf,
}

/// What the configuration depends on outside of flags and file: taken once, so that the rest is a function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surroundings {
    /// Home folder, for `~/` in a file.
    pub home: PathBuf,
    /// Configuration folder of all programs.
    pub config_home: PathBuf,
    /// Data folder of all programs.
    pub data_home: PathBuf,
    /// Cache folder of all programs.
    pub cache_home: PathBuf,
    /// The folder that relative paths start from.
    pub current: PathBuf,
    /// Processors that may be used; at least 1.
    pub cores: usize,
    /// `SEXTANT_CONFIG`.
    pub config_file: Option<PathBuf>,
    /// `SEXTANT_DATA_DIR`.
    pub data_dir: Option<PathBuf>,
    /// `SEXTANT_ASSETS`.
    pub assets_dir: Option<PathBuf>,
    /// `SEXTANT_LOG`.
    pub log: Option<String>,
}

impl Surroundings {
    /// Those of this process. A variable that is set to nothing counts as not set.
    pub fn of_process() -> Result<Self, ConfigError> {
        let xdg = Xdg::new().map_err(|_| ConfigError::NoHome)?;
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Ok(Self {
            home: xdg.home_dir().to_path_buf(),
            config_home: xdg.config_dir(),
            data_home: xdg.data_dir(),
            cache_home: xdg.cache_dir(),
            current: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            config_file: set("SEXTANT_CONFIG").map(PathBuf::from),
            data_dir: set("SEXTANT_DATA_DIR").map(PathBuf::from),
            assets_dir: set("SEXTANT_ASSETS").map(PathBuf::from),
            log: set("SEXTANT_LOG").map(|value| value.to_string_lossy().into_owned()),
        })
    }
}

impl Config {
    /// The configuration under `flags` (the uppermost layer). `named` is a file that the flags name; a file that is
    /// named, there or by `SEXTANT_CONFIG`, must exist, the one in the usual place need not.
    pub fn load(flags: RawConfig, named: Option<&Path>, around: &Surroundings) -> Result<Self, ConfigError> {
        let named = named.or(around.config_file.as_deref()).map(|file| around.current.join(file));
        let must_exist = named.is_some();
        let file = named.unwrap_or_else(|| around.config_home.join("sextant/config.toml"));
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text),
            Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => None,
            Err(source) => return Err(ConfigError::Unreadable { file, source }),
        };
        let from_file = match &text {
            Some(text) => parse(&file, text, around)?,
            None => RawConfig::default(),
        };
        let environment = RawConfig {
            data_dir: around.data_dir.clone(),
            assets_dir: around.assets_dir.clone(),
            log: around.log.clone(),
            ..RawConfig::default()
        };
        let merged: RawConfig = Figment::new()
            .merge(Serialized::defaults(from_file))
            .merge(Serialized::defaults(environment))
            .merge(Serialized::defaults(flags))
            .extract()
            .map_err(|error| ConfigError::Invalid {
                key: "the flags and the environment",
                problem: format!("cannot be put together: {error}"),
            })?;
        validate(merged, text.map(|_| file), around)
    }
}

/// Checks what the layers gave and fills in the defaults.
fn validate(raw: RawConfig, file: Option<PathBuf>, around: &Surroundings) -> Result<Config, ConfigError> {
    let absolute = |path: Option<PathBuf>, default: PathBuf| match path {
        Some(path) => around.current.join(path),
        None => default,
    };
    let assets_dir = absolute(raw.assets_dir, around.cache_home.join("sextant"));
    let embed_sessions = raw.embed_sessions.unwrap_or(around.cores.clamp(1, MAX_EMBED_SESSIONS));
    if !(1..=MAX_EMBED_SESSIONS).contains(&embed_sessions) {
        return Err(invalid("embed_sessions", format!("is {embed_sessions}, not 1 to {MAX_EMBED_SESSIONS}")));
    }
    let code_bits = match raw.code_bits {
        Some(bits) => {
            CodeWidth::new(bits).map_err(|error| invalid("code_bits", format!("is wrong: {error}")))?
        }
        None => CodeWidth::DEFAULT,
    };
    let chunk_chars = raw.chunk_chars.unwrap_or(ChunkBudget::default().preferred);
    if !CHUNK_CHARS.contains(&chunk_chars) {
        let (least, most) = (CHUNK_CHARS.start(), CHUNK_CHARS.end());
        return Err(invalid("chunk_chars", format!("is {chunk_chars}, not {least} to {most}")));
    }
    let max_file_bytes = raw.max_file_bytes.unwrap_or(MAX_FILE_BYTES);
    if !(1..=MAX_FILE_BYTES_CAP).contains(&max_file_bytes) {
        return Err(invalid("max_file_bytes", format!("is {max_file_bytes}, not 1 to {MAX_FILE_BYTES_CAP}")));
    }
    let log = match raw.log {
        Some(text) => LogLevel::from_str(&text, true).map_err(|_| {
            invalid("log", format!("is `{text}`, not one of off, error, warn, info, debug, trace"))
        })?,
        None => LogLevel::default(),
    };
    let metrics_addr = match raw.metrics_addr {
        Some(text) => Some(text.parse().map_err(|_| {
            invalid("metrics_addr", format!("is `{text}`, not an address with a port such as 127.0.0.1:9464"))
        })?),
        None => None,
    };
    let backend = match raw.backend.as_deref() {
        None | Some("onnx") => Backend::Onnx,
        Some("fake") => Backend::Fake,
        Some(other) => return Err(invalid("backend", format!("is `{other}`, not onnx or fake"))),
    };
    Ok(Config {
        file,
        data_dir: absolute(raw.data_dir, around.data_home.join("sextant")),
        model: absolute(raw.model, assets_dir.join(MODEL)),
        onnxruntime: absolute(raw.onnxruntime, assets_dir.join(ONNXRUNTIME)),
        assets_dir,
        embed_sessions,
        code_bits,
        chunk_chars,
        max_file_bytes,
        log,
        metrics_addr,
        backend,
        rest_after: Duration::from_secs(raw.rest_after_s.unwrap_or(REST_AFTER_S)),
        exit_after: Duration::from_secs(raw.exit_after_s.unwrap_or(EXIT_AFTER_S)),
        home: around.home.clone(),
    })
}

fn invalid(key: &'static str, problem: String) -> ConfigError {
    ConfigError::Invalid { key, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around() -> Surroundings {
        Surroundings {
            home: "/home/u".into(),
            config_home: "/none/config".into(),
            data_home: "/home/u/.local/share".into(),
            cache_home: "/home/u/.cache".into(),
            current: "/src/x".into(),
            cores: 3,
            ..Surroundings::default()
        }
    }

    fn load(text: &str, around: &Surroundings, flags: RawConfig) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().expect("temporary folder");
        let file = folder.path().join("sextant.toml");
        std::fs::write(&file, text).expect("write");
        Config::load(flags, Some(&file), around)
    }

    fn refusal(text: &str) -> String {
        load(text, &around(), RawConfig::default()).expect_err("must be refused").to_string()
    }

    #[test]
    fn nothing_said_gives_the_defaults() {
        let config = Config::load(RawConfig::default(), None, &around()).expect("defaults");
        assert_eq!(config.file, None);
        assert_eq!(config.data_dir, Path::new("/home/u/.local/share/sextant"));
        assert_eq!(config.model, Path::new("/home/u/.cache/sextant/models/all-MiniLM-L6-v2"));
        assert_eq!(
            config.onnxruntime,
            Path::new("/home/u/.cache/sextant/onnxruntime-1.32.0/libonnxruntime.so.1.32.0")
        );
        assert_eq!((config.embed_sessions, config.code_bits.bits()), (3, 2048));
        assert_eq!(
            (config.max_file_bytes, config.log, config.backend),
            (1 << 20, LogLevel::Warn, Backend::Onnx)
        );
    }

    #[test]
    fn flags_win_over_the_environment_over_the_file() {
        let text = "data_dir = \"/file\"\nlog = \"info\"\ncode_bits = 384";
        let mut around = around();
        let dir = |config: Result<Config, _>| config.map(|c: Config| (c.data_dir, c.log)).expect("valid");
        let flags = || RawConfig { data_dir: Some("flag".into()), ..RawConfig::default() };
        assert_eq!(dir(load(text, &around, RawConfig::default())), ("/file".into(), LogLevel::Info));
        around.data_dir = Some("env".into());
        around.log = Some("DEBUG".into());
        assert_eq!(dir(load(text, &around, RawConfig::default())), ("/src/x/env".into(), LogLevel::Debug));
        assert_eq!(dir(load(text, &around, flags())), ("/src/x/flag".into(), LogLevel::Debug));
        assert_eq!(load(text, &around, flags()).expect("valid").code_bits.bits(), 384);
    }

    #[test]
    fn the_assets_folder_moves_model_and_library() {
        let mut around = around();
        around.assets_dir = Some("/assets".into());
        let config = load("model = \"~/m\"", &around, RawConfig::default()).expect("valid");
        assert_eq!(config.model, Path::new("/home/u/m"));
        assert!(config.onnxruntime.starts_with("/assets/onnxruntime-1.32.0"));
    }

    #[test]
    fn paths_of_a_file_start_from_its_folder() {
        let config = load("data_dir = \"here\"", &around(), RawConfig::default()).expect("valid");
        let file = config.file.expect("a file was read");
        assert_eq!(config.data_dir, file.parent().expect("has a folder").join("here"));
    }

    #[test]
    fn unknown_keys_are_refused_with_file_and_nearest_key() {
        for (text, key, nearest) in [
            ("datadir = \"/x\"", "datadir", Some("data_dir")),
            ("code-bits = 64", "code-bits", Some("code_bits")),
            ("embed_session = 1", "embed_session", Some("embed_sessions")),
            ("colour = true", "colour", None),
            ("[server]\nport = 1", "server", None),
        ] {
            let error = load(text, &around(), RawConfig::default()).expect_err("must be refused");
            assert!(error.to_string().contains("sextant.toml: there is no key"), "{error}");
            let ConfigError::UnknownKey { key: found, nearest: meant, .. } = error else {
                panic!("{text}: {error}")
            };
            assert_eq!((found.as_str(), meant), (key, nearest));
        }
    }

    #[test]
    fn every_key_is_known_by_its_name() {
        let full = RawConfig {
            data_dir: Some("a".into()),
            assets_dir: Some("a".into()),
            model: Some("a".into()),
            onnxruntime: Some("a".into()),
            embed_sessions: Some(1),
            code_bits: Some(64),
            chunk_chars: Some(100),
            max_file_bytes: Some(1),
            log: Some("off".into()),
            metrics_addr: Some("[::1]:1".into()),
            backend: Some("fake".into()),
            rest_after_s: Some(1),
            exit_after_s: Some(1),
        };
        let value = serde_json::to_value(full).expect("serialise");
        let mut names: Vec<&str> = value.as_object().expect("object").keys().map(String::as_str).collect();
        let mut keys = layer::KEYS;
        names.sort_unstable();
        keys.sort_unstable();
        assert_eq!(names, keys);
    }

    #[test]
    fn wrong_values_are_refused_and_named() {
        for (text, part) in [
            ("code_bits = 100", "`code_bits` is wrong: a code cannot have 100 bits"),
            ("chunk_chars = 99", "`chunk_chars` is 99, not 100 to 4000"),
            ("embed_sessions = 0", "`embed_sessions` is 0, not 1 to"),
            ("max_file_bytes = 0", "`max_file_bytes` is 0"),
            ("max_file_bytes = -1", "`max_file_bytes`"),
            ("code_bits = \"many\"", "`code_bits`"),
            ("log = \"loud\"", "`log` is `loud`"),
            ("metrics_addr = \"9464\"", "`metrics_addr` is `9464`"),
            ("backend = \"gpu\"", "`backend` is `gpu`, not onnx or fake"),
            ("data_dir = ", "sextant.toml"),
        ] {
            let message = refusal(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn a_file_that_was_named_must_exist() {
        let mut around = around();
        around.config_file = Some("none.toml".into());
        let error = Config::load(RawConfig::default(), None, &around).expect_err("must be refused");
        assert!(error.to_string().contains("/src/x/none.toml"), "{error}");
    }
}
