//! What is captured, as `memory.toml` says at this moment.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::{CaptureConfig, Config, ConfigError, EmbedConfig, FILE_NAME, RetentionConfig};

/// The sections of `memory.toml` that count at once. They are read again when the file's stamp has changed; while it cannot
/// be read, what it said before still holds.
pub struct Switches {
    root: PathBuf,
    now: Mutex<Now>,
}

struct Now {
    stamp: Option<ConfigStamp>,
    capture: CaptureConfig,
    retention: RetentionConfig,
    /// What the file said at first, where it could be read, with what of it has counted since.
    first: Option<Config>,
    /// What it says now, where it was read anew.
    latest: Option<Config>,
    failure: Option<String>,
}

/// Size, time of change, and the file's number, as an editor may put a new file in its place.
type ConfigStamp = (u64, Option<SystemTime>, u64);

impl Switches {
    /// Begins with a configuration that was read, for the vault at `root`.
    pub fn new(root: &Path, config: &Config) -> Self {
        // Not that configuration, in which a command may have put its own words.
        let first = Config::load(root).ok();
        let (capture, retention) = (config.capture.clone(), config.retention.clone());
        let now = Now { stamp: None, capture, retention, first, latest: None, failure: None };
        Self { root: root.to_owned(), now: Mutex::new(now) }
    }

    /// What is captured.
    pub fn capture(&self) -> CaptureConfig {
        self.look().capture.clone()
    }

    /// How long it is kept.
    pub fn retention(&self) -> RetentionConfig {
        self.look().retention.clone()
    }

    /// Why `memory.toml` cannot be read, while it cannot, in one line.
    pub fn failure(&self) -> Option<String> {
        self.look().failure.clone()
    }

    /// Whether `memory.toml` says something that counts after a restart alone. While it cannot be read, as before.
    pub fn wait_for_a_restart(&self) -> bool {
        let now = self.look();
        now.first.as_ref().zip(now.latest.as_ref()).is_some_and(|(first, latest)| {
            let (capture, retention) = (latest.capture.clone(), latest.retention.clone());
            Config { capture, retention, ..first.clone() } != *latest
        })
    }

    /// Says that another model is taken without a restart, as that section names it.
    pub fn took_model(&self, embed: &EmbedConfig) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.first.iter_mut().for_each(|first| first.embed = embed.clone());
    }

    /// Turns switches of `[capture]` on or off, in the file and from now on.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is not right as it is.
    pub fn set(&self, switches: &[(&str, bool)]) -> Result<CaptureConfig, ConfigError> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let config = Config::set_switches(&self.root, "capture", switches)?;
        now.stamp = stamp(&self.root);
        (now.capture, now.retention) = (config.capture.clone(), config.retention.clone());
        (now.latest, now.failure) = (Some(config), None);
        Ok(now.capture.clone())
    }

    fn look(&self) -> MutexGuard<'_, Now> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.root);
        // A file that is away, with all of the vault, says nothing new.
        if stamp.is_some() && stamp != now.stamp {
            now.stamp = stamp;
            match Config::load(&self.root) {
                Ok(config) => {
                    (now.capture, now.retention) = (config.capture.clone(), config.retention.clone());
                    (now.latest, now.failure) = (Some(config), None);
                }
                Err(error) => {
                    tracing::warn!("{error}; what was captured before still is");
                    now.failure = Some(error.reason());
                }
            }
        }
        now
    }
}

fn stamp(root: &Path) -> Option<ConfigStamp> {
    let meta = root.join(FILE_NAME).metadata().ok()?;
    let number = std::os::unix::fs::MetadataExt::ino(&meta);
    Some((meta.len(), meta.modified().ok(), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_edited_file_counts_at_once_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::write(&path, "").unwrap();
        let switches = Switches::new(folder.path(), &Config::default());
        assert!(switches.capture().files && !switches.capture().searches);
        fs::write(&path, "[capture]\nsearches = true\n").unwrap();
        assert!(switches.capture().searches);
        fs::write(&path, "[capture]\nsearches = perhaps\n").unwrap();
        assert!(switches.capture().searches && switches.failure().is_some());
        assert!(switches.set(&[("files", false)]).is_err());
        fs::write(&path, "[capture]\nsearches = true # yes\n").unwrap();
        assert!(!switches.set(&[("files", false)]).unwrap().files);
        assert_eq!(fs::read_to_string(&path).unwrap(), "[capture]\nsearches = true # yes\nfiles = false\n");
        assert!(switches.failure().is_none() && switches.capture().searches);
        assert!(!switches.wait_for_a_restart(), "all of that counts");
        fs::write(&path, "[search]\nlimit = 3\n").unwrap();
        assert!(switches.wait_for_a_restart());
        let usual = Config::default().search.limit;
        fs::write(&path, format!("[search]\nlimit = {usual} # as it is anyway\n")).unwrap();
        assert!(!switches.wait_for_a_restart());
        fs::write(&path, "[embed]\nmodel = \"none\"\n").unwrap();
        assert!(switches.wait_for_a_restart());
        switches.took_model(&Config::load(folder.path()).unwrap().embed);
        assert!(!switches.wait_for_a_restart(), "that model is in use");
    }
}
