//! A TOML file as a typed value. Unknown keys are refused, whether or not the type says so itself.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::DaemonError;

/// Reads `path`. Errors name the file, and the key or line.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, DaemonError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| DaemonError::ConfigFile { path: path.into(), source })?;
    parse(&text, path)
}

/// As [`load`], for a text that `path` stands for in errors.
pub fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, DaemonError> {
    let wrong = |error: toml::de::Error| DaemonError::ConfigValue {
        path: path.into(),
        reason: error.to_string().trim_end().to_owned(),
    };
    let mut keys = Vec::new();
    let document = toml::Deserializer::parse(text).map_err(wrong)?;
    let value = serde_ignored::deserialize(document, |key| keys.push(key.to_string())).map_err(wrong)?;
    if keys.is_empty() { Ok(value) } else { Err(DaemonError::ConfigKeys { path: path.into(), keys }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Server {
        port: u16,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Config {
        server: Server,
        #[serde(default)]
        names: Vec<String>,
    }

    fn read(text: &str) -> Result<Config, String> {
        parse(text, Path::new("sextant.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_file_is_read() {
        let config = read("names = ['a']\n[server]\nport = 7\n");
        assert_eq!(config, Ok(Config { server: Server { port: 7 }, names: vec!["a".into()] }));
    }

    #[test]
    fn errors_name_file_and_key() {
        for (text, words) in [
            ("[server]\nport = 7\nprot = 8\n", ["sextant.toml", "server.prot"]),
            ("color = 1\n[server]\nport = 7\n", ["sextant.toml", "color"]),
            ("[server]\nport = 'seven'\n", ["sextant.toml", "port"]),
            ("[server]\nport = 70000\n", ["sextant.toml", "port"]),
            ("[server]\n", ["sextant.toml", "port"]),
            ("[server\n", ["sextant.toml", "line 1"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{text:?}: {error}");
        }
        let error = load::<Config>(Path::new("/nowhere/sextant.toml")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/sextant.toml"), "{error}");
    }
}
