//! The files of checkpoints, two each: what is known of the change, and what the file had. Where the file began with all that
//! its checkpoint before had, only the rest is held, so that a file which grows is not copied for every line.

use std::fs;
use std::path::{Path, PathBuf};

use super::checkpoint::{Checkpoint, CheckpointId};
use super::error::WriteError;
use crate::base::fs::{Context, FsError, sync_folder, write_atomically};

/// Maximum length of a chain that is followed. Longer than any that is made.
const MAX_CHAIN: usize = 1024;

/// The folder of the checkpoints of one vault.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) folder: PathBuf,
}

impl Contents {
    pub(super) fn file(&self, id: &CheckpointId, extension: &str) -> PathBuf {
        self.folder.join(format!("{id}.{extension}"))
    }

    /// Bytes of a file; none when there is none.
    pub(super) fn size(&self, id: &CheckpointId, extension: &str) -> u64 {
        self.file(id, extension).symlink_metadata().map_or(0, |meta| meta.len())
    }

    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, FsError> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => Ok(entries.on("list", &self.folder)?.flatten().map(|entry| entry.path()).collect()),
        }
    }

    /// What is known of a change.
    pub(super) fn about(&self, id: &CheckpointId) -> Result<Checkpoint, WriteError> {
        let path = self.file(id, "json");
        let json = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(WriteError::NoCheckpoint(id.clone()));
            }
            json => json.on("read", &path)?,
        };
        Ok(serde_json::from_slice(&json).map_err(std::io::Error::other).on("read", &path)?)
    }

    /// Whether a checkpoint goes on with another one.
    pub(super) fn goes_on(&self, checkpoint: &Checkpoint) -> bool {
        checkpoint.base.is_some() && !checkpoint.is_whole(self.size(&checkpoint.id, "content"))
    }

    /// The checkpoints that hold what a file had: its own, then the one it goes on with, and so on.
    pub(super) fn chain(&self, checkpoint: &Checkpoint) -> Result<Vec<CheckpointId>, WriteError> {
        let (mut chain, mut at) = (vec![checkpoint.id.clone()], checkpoint.clone());
        while self.goes_on(&at)
            && let Some(base) = at.base
        {
            if chain.len() > MAX_CHAIN {
                return Err(self.damaged(checkpoint));
            }
            at = self.about(&base).map_err(|_| self.damaged(checkpoint))?;
            chain.push(base);
        }
        Ok(chain)
    }

    /// What a file had.
    pub(super) fn of(&self, checkpoint: &Checkpoint) -> Result<Vec<u8>, WriteError> {
        let mut content = Vec::new();
        for id in self.chain(checkpoint)?.iter().rev() {
            let path = self.file(id, "content");
            content.extend(fs::read(&path).on("read", &path)?);
        }
        match &checkpoint.before {
            Some(before) if blake3::hash(&content).to_hex().as_str() != before => Err(self.damaged(checkpoint)),
            _ => Ok(content),
        }
    }

    /// Has a checkpoint hold all that it goes on with.
    pub(super) fn make_whole(&self, checkpoint: &Checkpoint) -> Result<(), WriteError> {
        let content = self.of(checkpoint)?;
        Ok(write_atomically(&self.file(&checkpoint.id, "content"), &content, 0o600)?)
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

    /// Has the disk know which files there are.
    pub(super) fn sync(&self) -> Result<(), FsError> {
        sync_folder(&self.folder.join("any"))
    }

    fn damaged(&self, checkpoint: &Checkpoint) -> WriteError {
        let source = std::io::Error::other("the earlier part has changed");
        FsError { operation: "read", path: self.file(&checkpoint.id, "content"), source }.into()
    }
}

/// The checkpoint that a file in the folder is of.
pub(super) fn id_of(path: &Path) -> Option<CheckpointId> {
    path.file_stem()?.to_str()?.parse().ok()
}
