//! The summaries that there are, as the index knows them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::make::{OF, READ};
use crate::derive::generated::is_generated;
use crate::derive::summary::SUMMARIES;
use crate::engine::{EngineError, Reader};
use crate::path::VaultPath;

/// One summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownSummary {
    /// Its path.
    pub(crate) path: VaultPath,
    /// The hash of the conversation's file when it was read, in hexadecimal.
    pub(crate) read: String,
}

/// A file as it was looked at: its hash, and the summary that it is, with its conversation.
type SeenSummary = ([u8; 32], Option<(String, KnownSummary)>);

/// Those that there are, by the conversation that they are of.
#[derive(Debug, Default)]
pub(crate) struct KnownSummaries {
    files: HashMap<VaultPath, SeenSummary>,
    by_conversation: HashMap<String, VaultPath>,
}

impl KnownSummaries {
    /// Looks at the files that are others than they were.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub(crate) fn refresh(&mut self, reader: &dyn Reader) -> Result<(), EngineError> {
        let mut there = HashSet::new();
        for file in reader.files().iter().filter(|file| file.path.collection() == SUMMARIES) {
            there.insert(file.path.clone());
            if self.files.get(&file.path).is_some_and(|(hash, _)| *hash == file.hash) {
                continue;
            }
            let metadata = reader.metadata(file.id)?.and_then(|json| serde_json::from_str(&json).ok());
            let summary = metadata.and_then(|metadata: Map<String, Value>| summary_of(&file.path, &metadata));
            self.files.insert(file.path.clone(), (file.hash, summary));
        }
        self.files.retain(|path, _| there.contains(path));
        let mut found: Vec<(&String, &VaultPath)> =
            self.files.iter().filter_map(|(path, (_, summary))| Some((&summary.as_ref()?.0, path))).collect();
        // Of two the first by name.
        found.sort_unstable_by(|one, other| other.cmp(one));
        self.by_conversation = found.into_iter().map(|(of, path)| (of.clone(), path.clone())).collect();
        Ok(())
    }

    /// The summary of a conversation.
    pub(crate) fn of(&self, conversation: &VaultPath) -> Option<&KnownSummary> {
        let path = self.by_conversation.get(conversation.as_str())?;
        self.files.get(path)?.1.as_ref().map(|(_, summary)| summary)
    }

    /// All, each with its conversation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &KnownSummary)> {
        self.files.values().filter_map(|(_, summary)| summary.as_ref().map(|(of, summary)| (of.as_str(), summary)))
    }
}

fn summary_of(path: &VaultPath, metadata: &Map<String, Value>) -> Option<(String, KnownSummary)> {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let of = text(OF).filter(|_| is_generated(metadata))?;
    let read = text(READ).unwrap_or_default().to_owned();
    Some((of.to_owned(), KnownSummary { path: path.clone(), read }))
}
