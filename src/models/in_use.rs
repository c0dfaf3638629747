//! Which model's vectors serve, written beside them, so that they go on serving while another model's are made.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Fingerprint, ModelConfig};
use crate::base::fs::{FsError, write_atomically};

/// The record of the model in use, in the folder of the index.
#[derive(Debug, Clone)]
pub(crate) struct ModelInUse {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct InUseRecord {
    fingerprint: String,
    #[serde(flatten)]
    config: ModelConfig,
}

impl ModelInUse {
    /// The record of the index in a folder.
    pub(crate) fn of(index: &Path) -> Self {
        Self { path: index.join("model-in-use.json") }
    }

    /// Says that the vectors of a model serve, and how it is opened.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(&self, fingerprint: &Fingerprint, config: &ModelConfig) -> Result<(), FsError> {
        let record = InUseRecord { fingerprint: fingerprint.to_string(), config: config.clone() };
        let json = serde_json::to_vec_pretty(&record).unwrap_or_default();
        if std::fs::read(&self.path).is_ok_and(|before| before == json) {
            return Ok(());
        }
        write_atomically(&self.path, &json, 0o600)
    }

    /// Whether nothing is written yet.
    pub(crate) fn is_absent(&self) -> bool {
        !self.path.exists()
    }

    /// What served last, and how it is opened; `None` where that is not known.
    pub(super) fn read(&self) -> Option<(Fingerprint, ModelConfig)> {
        let record: InUseRecord = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
        Some((record.fingerprint.parse().ok()?, record.config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::EmbedConfig;

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let record = ModelInUse::of(folder.path());
        assert_eq!(record.read(), None);
        let embed = EmbedConfig { threads: 3, ..EmbedConfig::default() };
        let (fingerprint, config) = (Fingerprint::of(&[b"a"]), ModelConfig { embed });
        record.write(&fingerprint, &config).unwrap();
        assert_eq!(record.read(), Some((fingerprint, config)));
        for bad in ["", "{", "[]", r#"{"fingerprint":"x","embed":{}}"#, r#"{"fingerprint":"0","embed":{"of_later":1}}"#]
        {
            std::fs::write(folder.path().join("model-in-use.json"), bad).unwrap();
            assert_eq!(record.read(), None, "{bad}");
        }
    }
}
