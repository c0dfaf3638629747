//! How far the journal has got into the files, and what is being written right now: enough to know after a kill which events
//! are in their files.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fs::{FsError, write_atomically};
use crate::path::VaultPath;

const NAME: &str = "progress.json";

/// How far the journal has got.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The number of the first event that may not be in its file.
    pub(super) next: u64,
    /// Later events that are.
    #[serde(default)]
    pub(super) done: BTreeSet<u64>,
    /// What was about to be written when this was.
    #[serde(default)]
    pub(super) plan: Vec<Planned>,
}

/// A file that is about to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) path: VaultPath,
    /// BLAKE3 of what it has before and after, in hexadecimal; none before, when it is made.
    pub(super) before: Option<String>,
    pub(super) after: String,
    /// The events, and the text of each.
    pub(super) added: Vec<(u64, String)>,
}

impl Planned {
    /// Which of its events are in the file that has this text now. While nobody else writes it is all or none, and the hash
    /// tells; where somebody edited the file after the kill, the texts do.
    pub(super) fn applied(&self, now: Option<&str>) -> Vec<u64> {
        let hash = now.map(|text| blake3::hash(text.as_bytes()).to_hex().to_string());
        let all = || self.added.iter().map(|(number, _)| *number);
        match (hash, now) {
            (hash, _) if hash == self.before => Vec::new(),
            (Some(hash), _) if hash == self.after => all().collect(),
            // Made, and then removed: whoever removed it has seen it.
            (None, _) => Vec::new(),
            (_, Some(text)) => {
                let has = |(_, added): &&(u64, String)| text.contains(added.as_str());
                self.added.iter().filter(has).map(|(number, _)| *number).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Progress {
    /// What was written last; the beginning, when nothing was or it cannot be read.
    pub(super) fn load(folder: &Path) -> Self {
        let path = folder.join(NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound {
                    tracing::warn!("cannot read {}: {error}; events may be written twice", path.display());
                }
                return Self::default();
            }
        };
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!("{} is damaged: {error}; events may be written twice", path.display());
            Self::default()
        })
    }

    /// Makes it safe on disk.
    pub(super) fn save(&self, folder: &Path) -> Result<(), FsError> {
        let text = serde_json::to_vec(self).map_err(std::io::Error::other);
        let path = folder.join(NAME);
        let text = text.map_err(|source| FsError { operation: "encode", path: path.clone(), source })?;
        write_atomically(&path, &text, 0o600)
    }

    /// Whether an event is in its file.
    pub(super) fn has(&self, number: u64) -> bool {
        number < self.next || self.done.contains(&number)
    }

    /// Notes that events are in their files.
    pub(super) fn finish(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.done.extend(numbers);
        while self.done.remove(&self.next) {
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_file_is_known_after_a_kill() {
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
        let planned = Planned {
            path: VaultPath::new("a.md").unwrap(),
            before: Some(hash("one\n")),
            after: hash("one\ntwo\nthree\n"),
            added: vec![(7, "two".into()), (8, "three".into())],
        };
        let applied = |now| planned.applied(now);
        assert_eq!(applied(Some("one\n")), [0; 0]);
        assert_eq!(applied(Some("one\ntwo\nthree\n")), [7, 8]);
        assert_eq!(applied(Some("one, edited\ntwo\nthree\n")), [7, 8]);
        assert_eq!(applied(Some("one, edited\n")), [0; 0]);
        assert_eq!(applied(None), [0; 0]);
        let made = Planned { before: None, ..planned.clone() };
        assert_eq!(made.applied(None), [0; 0]);
    }

    #[test]
    fn it_goes_on_past_what_is_done() {
        let mut progress = Progress { next: 3, ..Progress::default() };
        progress.finish([5, 4]);
        assert_eq!((progress.next, progress.done.len()), (3, 2));
        progress.finish([3]);
        assert_eq!((progress.next, progress.done.len()), (6, 0));
        let folder = tempfile::tempdir().unwrap();
        progress.save(folder.path()).unwrap();
        assert_eq!(Progress::load(folder.path()), progress);
    }
}
