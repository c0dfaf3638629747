//! What files were before they were changed, kept so that every change can be undone.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::WriteError;
use crate::fs::{Context, FsError, create_private_dir, write_atomically};
use crate::path::VaultPath;

/// So old a checkpoint is dropped.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// So many bytes are kept in all; the oldest go first.
const MAX_BYTES: u64 = 1 << 30;

/// The name of a checkpoint: when it was made, to the millisecond in UTC, and four digits that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckpointId(String);

/// A text that is not the name of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a checkpoint's name looks like 20260105T183000123-a1b2")]
pub struct CheckpointIdError;

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = CheckpointIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pattern = b"dddddddd\x54ddddddddd-xxxx";
        let fits = text.len() == pattern.len()
            && text.bytes().zip(pattern).all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
                other => byte == *other,
            });
        if fits { Ok(Self(text.to_owned())) } else { Err(CheckpointIdError) }
    }
}

impl TryFrom<String> for CheckpointId {
    type Error = CheckpointIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CheckpointId> for String {
    fn from(id: CheckpointId) -> Self {
        id.0
    }
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It was made.
    Create,
    /// Its text was changed.
    Edit,
    /// A part of it was removed.
    Forget,
    /// It was moved to `.trash/`.
    Trash,
    /// It was brought back.
    Restore,
}

impl Action {
    /// The action as an agent asked for it.
    pub fn by(self, agent: &str) -> Act<'_> {
        Act { action: self, by: Some(agent) }
    }
}

/// What is to be done to a file, and who asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    pub(super) action: Action,
    /// The agent; the person and their programs have no name here.
    pub(super) by: Option<&'a str>,
}

impl From<Action> for Act<'_> {
    fn from(action: Action) -> Self {
        Self { action, by: None }
    }
}

/// A file as it was before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its name.
    pub id: CheckpointId,
    /// When the change was made.
    pub at: Timestamp,
    /// The file.
    pub path: VaultPath,
    /// The change.
    pub action: Action,
    /// The agent that asked for it; `None` when it was the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How many bytes the file had; `None` when it was not there.
    pub bytes: Option<u64>,
    /// The file's permission bits.
    pub(super) mode: Option<u32>,
    /// BLAKE3 of the file after the change, in hexadecimal; `None` when it is gone.
    pub(super) after: Option<String>,
    /// Where it was moved to.
    pub(super) trashed: Option<VaultPath>,
}

/// The checkpoints of one vault, each of two files: what the file had, and what is known of the change.
#[derive(Debug)]
pub(super) struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn file(&self, id: &CheckpointId, extension: &str) -> PathBuf {
        self.folder.join(format!("{id}.{extension}"))
    }

    /// A name that no checkpoint has.
    pub(super) fn name(&self, path: &VaultPath) -> CheckpointId {
        let now = Timestamp::now();
        let mut salt = blake3::Hasher::new();
        salt.update(path.as_str().as_bytes()).update(&now.as_nanosecond().to_le_bytes());
        loop {
            let digits = salt.finalize().to_hex();
            let id = CheckpointId(format!("{}-{}", now.strftime("%Y%m%dT%H%M%S%3f"), &digits[..4]));
            if !self.file(&id, "json").exists() {
                return id;
            }
            salt.update(b"+");
        }
    }

    /// Keeps what a file had. Durable when this returns, and only then may the file be changed.
    pub(super) fn keep(&self, checkpoint: &Checkpoint, content: Option<&[u8]>) -> Result<(), FsError> {
        create_private_dir(&self.folder)?;
        if let Some(content) = content {
            write_atomically(&self.file(&checkpoint.id, "content"), content, 0o600)?;
        }
        let path = self.file(&checkpoint.id, "json");
        let json = serde_json::to_vec_pretty(checkpoint).map_err(std::io::Error::other).on("encode", &path)?;
        write_atomically(&path, &json, 0o600)
    }

    /// The checkpoint with a name, and what the file had.
    pub(super) fn get(&self, id: &CheckpointId) -> Result<(Checkpoint, Option<Vec<u8>>), WriteError> {
        let path = self.file(id, "json");
        let json = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(WriteError::NoCheckpoint(id.clone()));
            }
            json => json.on("read", &path)?,
        };
        let checkpoint: Checkpoint = serde_json::from_slice(&json).map_err(std::io::Error::other).on("read", &path)?;
        let content = self.file(id, "content");
        let content = match checkpoint.bytes {
            Some(_) => Some(fs::read(&content).on("read", &content)?),
            None => None,
        };
        Ok((checkpoint, content))
    }

    /// All of them, newest first. One that cannot be read is left out.
    pub(super) fn list(&self) -> Result<Vec<Checkpoint>, FsError> {
        let mut found: Vec<Checkpoint> = self
            .names()?
            .iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            .collect();
        found.sort_by(|one, two| two.id.cmp(&one.id));
        Ok(found)
    }

    fn names(&self) -> Result<Vec<PathBuf>, FsError> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => Ok(entries.on("list", &self.folder)?.flatten().map(|entry| entry.path()).collect()),
        }
    }

    pub(super) fn remove(&self, id: &CheckpointId) -> Result<(), FsError> {
        // What names it goes first: content without a name is nothing.
        for extension in ["json", "content"] {
            let path = self.file(id, extension);
            match fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.on("remove", &path)?,
            }
        }
        Ok(())
    }

    /// Drops what a killed process left: files that were not whole, and what a file had that no checkpoint tells of.
    pub(super) fn clear_unfinished(&self) -> Result<(), FsError> {
        for path in self.names()? {
            let name = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            let told = name.is_some_and(|id: CheckpointId| self.file(&id, "json").exists());
            if !told && !path.is_dir() {
                fs::remove_file(&path).on("remove", &path)?;
            }
        }
        Ok(())
    }

    /// Drops what is too old, the oldest of what is too much, and what a killed process left half written.
    pub(super) fn prune(&self, now: SystemTime) -> Result<(), FsError> {
        self.prune_to(now, MAX_BYTES)
    }

    fn prune_to(&self, now: SystemTime, max_bytes: u64) -> Result<(), FsError> {
        self.clear_unfinished()?;
        let mut names = self.names()?;
        // Their names begin with their times.
        names.sort_unstable_by(|one, two| two.cmp(one));
        let mut sum = 0;
        for path in names {
            let Ok(meta) = path.symlink_metadata() else { continue };
            let age = meta.modified().ok().and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default();
            sum += meta.len();
            let name = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            if let Some(id) = name.filter(|_| age > MAX_AGE || sum > max_bytes) {
                self.remove(&id)?;
            }
        }
        Ok(())
    }
}

/// The permission bits of a file, where there is one and the system has them.
pub(super) fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.symlink_metadata().ok().map(|meta| meta.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(checkpoints: &Checkpoints, path: &str, content: &[u8]) -> CheckpointId {
        let path = VaultPath::new(path).unwrap();
        let id = checkpoints.name(&path);
        let checkpoint = Checkpoint {
            id: id.clone(),
            at: Timestamp::now(),
            path,
            action: Action::Edit,
            by: None,
            bytes: Some(content.len() as u64),
            mode: Some(0o644),
            after: None,
            trashed: None,
        };
        checkpoints.keep(&checkpoint, Some(content)).unwrap();
        id
    }

    #[test]
    fn names_are_what_they_look_like() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().join("checkpoints"));
        let id = kept(&checkpoints, "a.md", b"text");
        assert_eq!(id.to_string().parse::<CheckpointId>().unwrap(), id);
        for bad in ["", "../../etc/passwd", "20260105T183000123-A1B2", "20260105T183000123-a1b2/", "2026"] {
            assert!(bad.parse::<CheckpointId>().is_err(), "{bad}");
        }
        assert_eq!(checkpoints.get(&id).unwrap().1.unwrap(), b"text");
    }

    #[test]
    fn what_is_old_or_too_much_goes() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let old = kept(&checkpoints, "a.md", &[b'a'; 5000]);
        std::thread::sleep(Duration::from_millis(2));
        let new = kept(&checkpoints, "a.md", &[b'b'; 5000]);
        fs::write(folder.path().join(".vault-tmp-abc"), "half").unwrap();
        fs::write(folder.path().join("20260105T183000123-a1b2.content"), "of no checkpoint").unwrap();
        checkpoints.prune_to(SystemTime::now(), 8000).unwrap();
        assert!(matches!(checkpoints.get(&old), Err(WriteError::NoCheckpoint(_))));
        assert_eq!(checkpoints.get(&new).unwrap().1.unwrap().len(), 5000);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        checkpoints.prune(SystemTime::now() + MAX_AGE + Duration::from_secs(60)).unwrap();
        assert_eq!(checkpoints.list().unwrap(), []);
    }
}
