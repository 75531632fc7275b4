//! The fingerprint of a model: a hash over everything that changes its output. Two nodes with equal fingerprints make
//! vectors that can be compared. The name and the licence are not part of it. Reads files, runs nothing.

use std::fs::File;
use std::path::{Path, PathBuf};

use sextant_proto::ids::ModelFingerprint;

use crate::config::{ModelConfig, Pooling};
use crate::error::EmbedError;

const DOMAIN: &str = "sextant embed-node model fingerprint 1";

/// Hashes the graph (with weights that lie beside it), the tokenizer and the settings of `config`. Cost: one pass over
/// the files.
pub fn fingerprint(config: &ModelConfig) -> Result<ModelFingerprint, EmbedError> {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hash_settings(&mut hasher, config);
    hash_file(&mut hasher, &config.tokenizer)?;
    hash_file(&mut hasher, &config.onnx)?;
    for file in weights_beside(&config.onnx)? {
        hash_file(&mut hasher, &file)?;
    }
    Ok(ModelFingerprint(*hasher.finalize().as_bytes()))
}

/// The fingerprint of a model without files: the settings and `marker`.
pub fn without_files(config: &ModelConfig, marker: &str) -> ModelFingerprint {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hash_settings(&mut hasher, config);
    hash_bytes(&mut hasher, marker.as_bytes());
    ModelFingerprint(*hasher.finalize().as_bytes())
}

/// Every field carries its length, so no two lists of fields share their bytes.
fn hash_settings(hasher: &mut blake3::Hasher, config: &ModelConfig) {
    // The names are frozen apart from the enum, which may be renamed.
    let pooling = match config.pooling {
        Pooling::Mean => "mean",
        Pooling::Last => "last",
        Pooling::Cls => "cls",
        Pooling::Graph => "graph",
    };
    for number in [config.dims, config.max_tokens, usize::from(config.normalize), config.matryoshka.len()] {
        hasher.update(&(number as u64).to_le_bytes());
    }
    for cut in &config.matryoshka {
        hasher.update(&(*cut as u64).to_le_bytes());
    }
    for text in [pooling, &config.query_prefix, &config.document_prefix] {
        hash_bytes(hasher, text.as_bytes());
    }
}

fn hash_bytes(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn hash_file(hasher: &mut blake3::Hasher, file: &Path) -> Result<(), EmbedError> {
    let failed = |source| EmbedError::Read { file: file.to_owned(), source };
    let open = File::open(file).map_err(failed)?;
    // The file's own hash has a fixed length, so a file that grows meanwhile cannot run into the next field.
    let mut own = blake3::Hasher::new();
    own.update_reader(open).map_err(failed)?;
    hasher.update(own.finalize().as_bytes());
    Ok(())
}

/// Large graphs keep their weights in files whose names begin with the graph's (`model.onnx_data`, `model.onnx.data`).
fn weights_beside(onnx: &Path) -> Result<Vec<PathBuf>, EmbedError> {
    let (Some(folder), Some(stem)) = (onnx.parent(), onnx.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let failed = |source| EmbedError::Read { file: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name.to_str().is_some_and(|name| name.len() > stem.len() && name.starts_with(stem)) {
            files.push(folder.join(name));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path) -> ModelConfig {
        let text = "name = 'm'\ndims = 64\nmax_tokens = 16\npooling = 'mean'\nlicense = 'MIT'\n\
                    matryoshka = [32]\nonnx = 'm.onnx'\ntokenizer = 't.json'\n";
        ModelConfig::parse(text, folder).unwrap()
    }

    #[test]
    fn what_changes_the_output_changes_the_fingerprint_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &str| std::fs::write(folder.path().join(name), bytes).unwrap();
        put("m.onnx", "graph");
        put("t.json", "words");
        let base = config(folder.path());
        let first = fingerprint(&base).unwrap();
        let changed = |change: fn(&mut ModelConfig)| {
            let mut config = base.clone();
            change(&mut config);
            fingerprint(&config).unwrap()
        };
        assert_eq!(changed(|c| c.name = "other".into()), first);
        assert_eq!(changed(|c| c.license = "other".into()), first);
        let mut seen = vec![
            first,
            changed(|c| c.dims = 65),
            changed(|c| c.max_tokens = 17),
            changed(|c| c.pooling = Pooling::Last),
            changed(|c| c.normalize = false),
            changed(|c| c.query_prefix = "p".into()),
            changed(|c| c.document_prefix = "p".into()),
            changed(|c| c.matryoshka = Vec::new()),
        ];
        put("m.onnx_data", "weights");
        seen.push(fingerprint(&base).unwrap());
        put("t.json", "other words");
        seen.push(fingerprint(&base).unwrap());
        put("m.onnx", "other graph");
        seen.push(fingerprint(&base).unwrap());
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn a_missing_file_is_named_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let error = fingerprint(&config(folder.path())).unwrap_err().to_string();
        assert!(error.contains("t.json") && error.contains("deploy/setup.sh"), "{error}");
    }
}
