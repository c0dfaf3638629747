//! What was made of a note and goes with it: how a purge that is cut short knows of it, and what of it stays elsewhere.

use std::collections::{HashMap, HashSet};

use blake3::Hash;
use serde::{Deserialize, Serialize};

use super::purge::{TellingWords, whole_texts};
use super::purge_facts::FactTarget;
use super::staying::{StayingTexts, parts_of};
use crate::derive::entries::shelf_of;
use crate::derive::facts::FactsFile;
use crate::derive::{ChunkId, readings};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, note_path};
use crate::wire::{DerivedNote, ForgetParams};

/// What goes with a note, as it is written down before anything does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GoingWith {
    pub(super) derived: DerivedNote,
    /// Of a copy, of which the same lines go: its name as it was then.
    pub(super) copy: Option<String>,
}

impl GoingWith {
    /// All of it, as a purge that is begun has it.
    ///
    /// # Errors
    /// Never: it is made of texts and switches alone.
    pub(super) fn written(all: &[Self]) -> Result<String, RequestError> {
        serde_json::to_string(all).map_err(|error| RequestError::internal(error.to_string()))
    }

    /// Something as it is listed; `hash` is that of a copy's bytes.
    pub(super) fn of(derived: &DerivedNote, hash: Option<Hash>) -> Self {
        let named = hash.zip(note_path(&derived.path).ok());
        let copy = named.map(|(hash, path)| ChunkId::of_note(&path, hash.as_bytes()).to_string());
        Self { derived: derived.clone(), copy }
    }
}

/// Why an entry stays that names lines which say nothing of it.
const OTHER_LINES: &str = "the lines that it names may be others by now; look at it, and remove it yourself";

/// Keeps the entries of memory that say nothing of what is removed: the lines that they cite may be others by now.
pub(super) fn keep_of_other_lines(owner: &Owner, removed: &[String], derived: &mut [DerivedNote]) {
    let tells = TellingWords::of(removed);
    for derived in derived {
        if entry_says(owner, &derived.path).is_some_and(|said| !tells.are_in(&said)) {
            derived.kept_because = Some(OTHER_LINES.into());
        }
    }
}

/// What an entry of memory says; `None` of what is none.
fn entry_says(owner: &Owner, place: &str) -> Option<String> {
    let (path, id) = place.split_once("#^")?;
    let (holder, shelf) = shelf_of(&note_path(path).ok()?)?;
    owner.workspace().layers().book(&holder, shelf).ok()?.get(id).map(|entry| entry.text.clone())
}

/// What goes of a file: lines, or all of it; and what else it is known by.
struct GoingPart {
    path: VaultPath,
    lines: Option<(usize, usize)>,
    values: Vec<String>,
}

impl GoingPart {
    fn of(owner: &Owner, derived: &DerivedNote) -> Option<Self> {
        let workspace = owner.workspace();
        if let Some((path, id)) = derived.path.split_once("#^") {
            let path = note_path(path).ok()?;
            let (holder, shelf) = shelf_of(&path)?;
            let book = workspace.layers().book(&holder, shelf).ok()?;
            let lines = book.get(id).map(|entry| (entry.line_start, entry.line_end))?;
            return Some(Self { path, lines: Some(lines), values: Vec::new() });
        }
        let path = note_path(&derived.path).ok()?;
        let Some(name) = &derived.fact else { return Some(Self { path, lines: None, values: Vec::new() }) };
        let scope = workspace.ledger().scope_of(&path).map(|scope| scope.to_string());
        let fact = FactTarget::of(owner, &ForgetParams { scope, purge: true, ..ForgetParams::default() }, name).ok()?;
        // Without lines there is nothing of it in the file.
        Some(Self { path, lines: Some(fact.lines.unwrap_or((0, 0))), values: fact.gone.values() })
    }

    fn texts(&self, owner: &Owner) -> Vec<String> {
        let text = owner.workspace().source(&self.path).map(|source| source.text).unwrap_or_default();
        let mut texts = match self.lines {
            None => whole_texts(&self.path, &text),
            Some(_) => vec![lines_of(&text, |line| self.has(line))],
        };
        texts.extend(self.values.iter().cloned());
        texts
    }

    fn has(&self, line: usize) -> bool {
        self.lines.is_none_or(|(first, last)| (first..=last).contains(&line))
    }
}

fn lines_of(text: &str, takes: impl Fn(usize) -> bool) -> String {
    text.split_inclusive('\n').enumerate().filter(|(at, _)| takes(at + 1)).map(|(_, line)| line).collect()
}

/// Notes what of that which goes is said by what stays. Every note is read: of what stays nothing may be taken for forgotten.
///
/// # Errors
/// When the index is damaged.
pub(super) fn note_staying<'a>(
    owner: &Owner,
    going: impl Iterator<Item = &'a DerivedNote>,
    staying: &mut StayingTexts,
) -> Result<(), RequestError> {
    let mut wanted: HashSet<String> = HashSet::new();
    let mut of_files: HashMap<VaultPath, Vec<GoingPart>> = HashMap::new();
    for part in going.filter_map(|derived| GoingPart::of(owner, derived)) {
        let texts = part.texts(owner);
        wanted.extend(texts.iter().flat_map(|text| readings(text)).flat_map(parts_of));
        of_files.entry(part.path.clone()).or_default().push(part);
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let workspace = owner.workspace();
    for file in owner.now()?.files() {
        let parts = of_files.get(&file.path).map_or(&[][..], Vec::as_slice);
        // One that is not there stays with nobody.
        let Ok(source) = workspace.source(&file.path) else { continue };
        let left = match parts {
            [] => source.text,
            parts => lines_of(&source.text, |line| !parts.iter().any(|part| part.has(line))),
        };
        let mut texts = whole_texts(&file.path, &left);
        if workspace.ledger().scope_of(&file.path).is_some() {
            texts.extend(FactsFile::read(&left).facts().map(|fact| fact.text.clone()));
        }
        let said = texts.iter().flat_map(|text| readings(text)).flat_map(parts_of);
        staying.extend(said.filter(|part| wanted.contains(part)));
    }
    Ok(())
}
