//! Where generated files go, and how they are written: never over what a person has edited.

use std::path::Path;

use blake3::Hash;
use serde_json::{Map, Value};

use crate::config::StemmerLanguage;
use crate::derive::generated::{FrontmatterTooLarge, GeneratedNote, compose_generated};
use crate::derive::summary::SUMMARIES;
use crate::derive::{CommonWords, TextLanguage};
use crate::fs::crash;
use crate::path::VaultPath;
use crate::state::StateError;
use crate::vault::{Action, Files, ReadError, WriteError};

/// Who makes them, as the log of changes says it.
const BY: &str = "summaries";
/// Names that are tried where a person has a file of that name.
const NAMES: usize = 20;

/// Why a file was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SummaryError {
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
    #[error("no name is free for {0}")]
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

/// A file that may be written.
pub(crate) struct SummaryPlace {
    /// Its path.
    pub(crate) path: VaultPath,
    /// What is there now, with the hash of its bytes.
    pub(crate) before: Option<(GeneratedNote, Hash)>,
}

/// Where the file goes that has `value` under `key`: where one is, else at the first free name.
///
/// # Errors
/// When a file cannot be read, or no name is free.
pub(crate) fn place(
    files: &Files,
    known: Option<&VaultPath>,
    name: &str,
    (key, value): (&str, &str),
) -> Result<SummaryPlace, SummaryError> {
    let numbered = (1..=NAMES).map(|number| match number {
        1 => format!("{SUMMARIES}/{name}.md"),
        number => format!("{SUMMARIES}/{name}-{number}.md"),
    });
    let names = known.cloned().into_iter().chain(numbered.filter_map(|name| VaultPath::new(name).ok()));
    for path in names {
        let Some((bytes, hash)) = files.read(&path)? else { return Ok(SummaryPlace { path, before: None }) };
        let there = std::str::from_utf8(&bytes).ok().and_then(GeneratedNote::read);
        if let Some(there) = there.filter(|there| there.text_of(key) == Some(value)) {
            return Ok(SummaryPlace { path, before: Some((there, hash)) });
        }
    }
    Err(SummaryError::Names(value.to_owned()))
}

/// Folders below which the program writes pages.
const FOLDERS: [&str; 2] = [SUMMARIES, "profile"];

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

/// Writes a file that nobody has edited.
///
/// # Errors
/// When it is not as it was any more, or the disk refuses.
pub(crate) fn put(
    files: &Files,
    place: SummaryPlace,
    own: &Map<String, Value>,
    sources: &[String],
    body: &str,
) -> Result<FileMade, SummaryError> {
    let text = compose_generated(own, sources, body, place.before.as_ref().map(|(before, _)| before))
        .map_err(|source| SummaryError::TooLarge { path: place.path.clone(), source })?;
    crash::point("summary-made");
    match place.before {
        Some((_, hash)) => files.replace(&place.path, hash, &text, Action::Edit.done_by(BY))?,
        None => files.create_for(&place.path, &text, Action::Create.done_by(BY))?,
    };
    crash::point("summary-written");
    Ok(FileMade::Written(place.path))
}

/// Moves a file to the trash, if nobody has edited it; says whether it went.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn take_away(files: &Files, path: &VaultPath) -> Result<bool, SummaryError> {
    let Some((bytes, hash)) = files.read(path)? else { return Ok(false) };
    let there = std::str::from_utf8(&bytes).ok().and_then(GeneratedNote::read);
    if there.is_none_or(|there| there.is_edited) {
        return Ok(false);
    }
    files.trash(path, hash)?;
    Ok(true)
}

/// The share of everyday texts that have a word, in the language of a text, else the usual one, and in English, which is mixed into many.
pub(crate) fn everyday(text: &str, usual: StemmerLanguage) -> impl Fn(&str) -> f64 + use<> {
    let language = TextLanguage::of_text(text).and_then(TextLanguage::stemmer).unwrap_or(usual);
    let (own, english) = (CommonWords::of(language), CommonWords::of(StemmerLanguage::English));
    move |word| own.share(word).max(english.share(word))
}
