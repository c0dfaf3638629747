//! Where generated files go, and how they are written: never over what a person has edited.

use std::path::Path;

use blake3::Hash;
use serde_json::{Map, Value};

use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::state::StateError;
use crate::text::derive::generated::{FrontmatterTooLarge, GeneratedNote, compose_generated};
use crate::text::derive::summary::SUMMARIES;
use crate::vault::disk::{Action, CheckpointId, Files, ReadError, WriteError};

/// Names that are tried where a person has a file of that name.
const NAMES: usize = 20;
/// Folders below which the program writes pages.
const FOLDERS: [&str; 2] = [SUMMARIES, "profile"];

/// Who generates a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generator {
    /// Of summaries and digests.
    Summaries,
    /// Of the profile.
    Profile,
}

impl Generator {
    /// As the log of changes says it.
    fn word(self) -> &'static str {
        match self {
            Self::Summaries => "summaries",
            Self::Profile => "profile",
        }
    }
}

/// Why a file was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GeneratedError {
    /// What it is made of cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// That note.
        path: VaultPath,
        /// Why.
        source: ReadError,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The digest of a day or a week cannot be made.
    #[error("{name}: {reason}")]
    Digest {
        /// The day or the week.
        name: String,
        /// Why.
        reason: String,
    },
    /// What was forgotten for good cannot be read: then nothing is written.
    #[error(transparent)]
    State(#[from] StateError),
    /// It would not be read again.
    #[error("{path}: {source}")]
    TooLarge {
        /// The file.
        path: VaultPath,
        /// Why.
        source: FrontmatterTooLarge,
    },
    /// Every name is taken.
    #[error("no free file name for {0}")]
    Names(String),
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileMade {
    /// It was written.
    Written(VaultPath),
    /// It says already what it would.
    Same,
    /// There is nothing to say.
    Nothing,
    /// A person has edited it, and it stays as it is.
    Kept(VaultPath),
}

/// A file that may be written: it is not there, or it was generated.
pub(crate) struct GeneratedFile {
    /// Its path.
    pub(crate) path: VaultPath,
    /// What is there now, with the hash of its bytes.
    before: Option<(GeneratedNote, Hash)>,
}

impl GeneratedFile {
    /// The file at a path that has these bytes; `None` where a person has written it.
    pub(crate) fn of(path: VaultPath, there: Option<(Vec<u8>, Hash)>) -> Option<Self> {
        let Some((bytes, hash)) = there else { return Some(Self { path, before: None }) };
        let note = std::str::from_utf8(&bytes).ok().and_then(GeneratedNote::read)?;
        Some(Self { path, before: Some((note, hash)) })
    }

    /// Where the file below `summaries/` goes that has `value` under `key`: where one is, else at the first free name.
    ///
    /// # Errors
    /// When a file cannot be read, or no name is free.
    pub(crate) fn called(
        files: &Files,
        known: Option<&VaultPath>,
        name: &str,
        (key, value): (&str, &str),
    ) -> Result<Self, GeneratedError> {
        let numbered = (1..=NAMES).map(|number| match number {
            1 => format!("{SUMMARIES}/{name}.md"),
            number => format!("{SUMMARIES}/{name}-{number}.md"),
        });
        for path in known.cloned().into_iter().chain(numbered.filter_map(|name| VaultPath::new(name).ok())) {
            let there = files.read(&path)?;
            let is_it = |file: &Self| file.note().is_none_or(|note| note.text_of(key) == Some(value));
            if let Some(file) = Self::of(path, there).filter(is_it) {
                return Ok(file);
            }
        }
        Err(GeneratedError::Names(value.to_owned()))
    }

    /// What is there now.
    pub(crate) fn note(&self) -> Option<&GeneratedNote> {
        self.before.as_ref().map(|(note, _)| note)
    }

    /// The hash of the bytes that are there now.
    pub(crate) fn hash(&self) -> Option<Hash> {
        self.before.as_ref().map(|(_, hash)| *hash)
    }

    /// Whether a person has edited what is there, so that it stays.
    pub(crate) fn is_edited(&self) -> bool {
        self.note().is_some_and(|note| note.is_edited)
    }

    /// Writes it, where nobody has edited it; what a person has put into its frontmatter stays.
    ///
    /// # Errors
    /// When it is not as it was any more, it would not be read again, or the disk refuses.
    pub(crate) fn write(
        &self,
        files: &Files,
        by: Generator,
        own: &Map<String, Value>,
        sources: &[String],
        body: &str,
    ) -> Result<CheckpointId, GeneratedError> {
        let text = compose_generated(own, sources, body, self.note())
            .map_err(|source| GeneratedError::TooLarge { path: self.path.clone(), source })?;
        match by {
            Generator::Summaries => crash::point("summary-made"),
            Generator::Profile => crash::point("profile-made"),
        }
        let action = if self.before.is_some() { Action::Edit } else { Action::Create };
        let id = files.replace(&self.path, self.hash(), &text, action.done_by(by.word()))?;
        crash::point("summary-written");
        Ok(id)
    }

    /// Moves it to the trash, if nobody has edited it; says whether it went.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn take_away(&self, files: &Files) -> Result<bool, GeneratedError> {
        let Some(hash) = self.hash().filter(|_| !self.is_edited()) else { return Ok(false) };
        files.trash(&self.path, hash, Action::Trash)?;
        Ok(true)
    }
}

/// The notes in the folders that the program generates pages in, as they are on disk.
pub(crate) fn generated_pages(root: &Path) -> Vec<VaultPath> {
    let (mut folders, mut found) = (FOLDERS.map(str::to_owned).to_vec(), Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(path),
                false => found.extend(VaultPath::new(path)),
            }
        }
    }
    found
}

/// Whether a page was generated of a note, and nobody has edited it.
pub(crate) fn generated_of(page: &[u8], of: &VaultPath) -> bool {
    let made = std::str::from_utf8(page).ok().and_then(GeneratedNote::read).filter(|made| !made.is_edited);
    made.is_some_and(|made| made.sources().iter().any(|source| of.same_as(source)))
}
