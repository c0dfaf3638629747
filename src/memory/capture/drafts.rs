//! Which files a batch of events changes, and what each has then.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use blake3::Hash;

use super::event::CONVERSATIONS;
use super::pages::Pages;
use super::queue::Planned;
use crate::base::path::VaultPath;
use crate::base::state::{ImportTable, ImportedFile, hash_of};
use crate::vault::disk::{Action, Files, WriteError, is_numbered};

/// Maximum length of a file, in bytes; a longer one is followed by another, because each event rewrites the last one.
const MAX_FILE_BYTES: usize = 2 << 20;

/// A file as it is, and as it is to be.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: VaultPath,
    before: Option<Hash>,
    /// What it has now.
    had: String,
    /// What it is to have.
    pub(super) text: String,
    added: Vec<(u64, String)>,
    /// Who sent what is added.
    senders: BTreeSet<String>,
}

impl Draft {
    pub(super) fn exists(&self) -> bool {
        !self.text.is_empty() || self.before.is_some()
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() > MAX_FILE_BYTES
    }

    /// Appends a paragraph.
    pub(super) fn append_block(&mut self, block: &str) {
        self.end_line();
        self.text.push('\n');
        self.text.push_str(block);
        self.text.push('\n');
    }

    /// Appends an item to the list at the end.
    pub(super) fn append_item(&mut self, item: &str) {
        self.end_line();
        if !self.text.trim_end().lines().next_back().is_some_and(|last| last.starts_with("- ")) {
            self.text.push('\n');
        }
        self.text.push_str(item);
        self.text.push('\n');
    }

    fn end_line(&mut self) {
        let length = self.text.trim_end_matches([' ', '\t', '\r', '\n']).len();
        // What the person left at the end stays, but for a line end that is missing.
        if length == self.text.len() && length > 0 {
            self.text.push('\n');
        }
    }

    /// Notes what an event has added.
    pub(super) fn note(&mut self, number: u64, added: String, sender: String) {
        self.added.push((number, added));
        self.senders.insert(sender);
    }

    fn planned(&self) -> Planned {
        Planned {
            path: self.path.clone(),
            before: self.before.map(|hash| hash.to_hex().to_string()),
            after: blake3::hash(self.text.as_bytes()).to_hex().to_string(),
            added: self.added.clone(),
        }
    }

    fn write(&self, files: &Files) -> Result<(), WriteError> {
        let senders = self.senders.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let act = Action::Edit.done_by(&senders);
        match self.before {
            Some(before) if !self.text.starts_with(&self.had) => {
                files.replace(&self.path, before, &self.text, act).map(drop)
            }
            before => files.extend(&self.path, before, &self.text, act).map(drop),
        }
    }
}

/// Maximum number of files that have names that differ in their numbers only.
const MAX_NUMBER: usize = 100_000;

fn numbered(base: &str, at: usize) -> Result<VaultPath, WriteError> {
    let path = if at == 1 { format!("{base}.md") } else { format!("{base}-{at}.md") };
    let refused = |_| WriteError::Refused { path: path.clone(), reason: "it cannot be the name of a note" };
    VaultPath::new(path.clone()).map_err(refused)
}

fn taken(base: &str) -> WriteError {
    WriteError::Refused { path: base.to_owned(), reason: "all similar names are taken" }
}

/// The files of a batch.
pub(super) struct Drafts<'a> {
    pub(super) files: &'a Files,
    pub(super) root: &'a Path,
    drafts: BTreeMap<VaultPath, Draft>,
    /// The names of the files of conversations, listed when they are first asked for.
    names: OnceCell<Vec<String>>,
    /// The import that all of the batch is of, and where it is noted which files it changes.
    import: Option<(i64, &'a ImportTable)>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The events that are in their files.
    pub(super) numbers: Vec<u64>,
    /// Those of which it is not known.
    pub(super) unsure: Vec<Planned>,
    pub(super) failure: Option<WriteError>,
}

impl<'a> Drafts<'a> {
    pub(super) fn new(files: &'a Files, root: &'a Path, import: Option<(i64, &'a ImportTable)>) -> Self {
        Self { files, root, drafts: BTreeMap::new(), names: OnceCell::new(), import }
    }

    /// The conversations that had a name between their date and their number before the batch, the last first; those that the batch makes are
    /// opened by their paths.
    pub(super) fn conversations(&self, name: &str) -> Vec<VaultPath> {
        let names = self.names.get_or_init(|| names_in(&self.root.join(CONVERSATIONS)));
        dated(names, name)
            .into_iter()
            .filter_map(|name| VaultPath::new(format!("{CONVERSATIONS}/{name}")).ok())
            .collect()
    }

    /// The file at a path, as the batch has it so far; `None` when it is not one that text can be added to.
    pub(super) fn open(&mut self, path: &VaultPath) -> Result<Option<&mut Draft>, WriteError> {
        if !self.drafts.contains_key(path) {
            let (had, before) = match self.files.read(path)? {
                None => (String::new(), None),
                Some((bytes, hash)) => match String::from_utf8(bytes) {
                    Ok(text) => (text, Some(hash)),
                    Err(_) => return Ok(None),
                },
            };
            let (text, added, senders) = (had.clone(), Vec::new(), BTreeSet::new());
            self.drafts.insert(path.clone(), Draft { path: path.clone(), before, had, text, added, senders });
        }
        Ok(self.drafts.get_mut(path))
    }

    /// The first of `base.md`, `base-2.md`, … that does not exist, or that `fits`.
    pub(super) fn first(&mut self, base: &str, fits: impl Fn(&Draft) -> bool) -> Result<VaultPath, WriteError> {
        for at in 1..=MAX_NUMBER {
            let path = numbered(base, at)?;
            if self.open(&path)?.is_some_and(|draft| !draft.exists() || fits(draft)) {
                return Ok(path);
            }
        }
        Err(taken(base))
    }

    /// As [`Drafts::first`] for the file that has a key, without a look at every file each time: what they have is remembered.
    /// Says whether one of those passed by `hides` the new one.
    pub(super) fn keyed(
        &mut self,
        names: &mut Names,
        base: &str,
        key: &str,
        keys_of: impl Fn(&Draft) -> Vec<String>,
        hides: impl Fn(&VaultPath, Option<&str>) -> bool,
    ) -> Result<(VaultPath, bool), WriteError> {
        let mut hidden = false;
        let (files, hashed) = (names.entry(base.to_owned()).or_default(), hash(key));
        let found = files.iter().rposition(|keys| keys.contains(&hashed)).map(|at| at + 1);
        if let Some(at) = found {
            let path = numbered(base, at)?;
            if self.open(&path)?.is_some_and(|draft| !draft.exists() || keys_of(draft).iter().any(|has| has == key)) {
                return Ok((path, false));
            }
        }
        // The one that had the key when it was looked at, and those without one, of which it is not known whose they are.
        let keyless = (1..).zip(&*files).filter(|(_, keys)| keys.is_empty()).map(|(at, _)| at);
        for at in found.into_iter().chain(keyless) {
            let path = numbered(base, at)?;
            hidden = hidden || self.says(&path)?.is_some_and(|text| hides(&path, text.as_deref()));
        }
        for at in files.len() + 1..=MAX_NUMBER {
            let path = numbered(base, at)?;
            let before = self.drafts.len();
            let (free, keys) = match self.open(&path)? {
                None => {
                    hidden |= hides(&path, None);
                    (false, Vec::new())
                }
                Some(draft) if draft.exists() => {
                    let keys = keys_of(draft);
                    hidden |= !keys.iter().any(|has| has == key) && hides(&path, Some(&draft.text));
                    (false, keys)
                }
                Some(_) => (true, vec![key.to_owned()]),
            };
            let is_it = keys.iter().any(|has| has == key);
            files.push(keys.iter().map(|key| hash(key)).collect());
            if free || is_it {
                return Ok((path, hidden));
            }
            // Nothing is done with it: a batch need not hold all files of a name.
            if self.drafts.len() > before {
                self.drafts.remove(&path);
            }
        }
        Err(taken(base))
    }

    /// What a file says, as the batch has it so far: `None` when it is not there, `Some(None)` when that is no text.
    pub(super) fn says(&self, path: &VaultPath) -> Result<Option<Option<String>>, WriteError> {
        if let Some(draft) = self.drafts.get(path) {
            return Ok(draft.exists().then(|| Some(draft.text.clone())));
        }
        Ok(self.files.read(path)?.map(|(bytes, _)| String::from_utf8(bytes).ok()))
    }

    /// Whether one of `base.md`, `base-2.md`, … that are there `hides` what goes on with it.
    pub(super) fn any(&self, base: &str, hides: impl Fn(&VaultPath, Option<&str>) -> bool) -> Result<bool, WriteError> {
        for at in 1..=MAX_NUMBER {
            let path = numbered(base, at)?;
            match self.says(&path)? {
                None => break,
                Some(text) if hides(&path, text.as_deref()) => return Ok(true),
                Some(_) => {}
            }
        }
        Ok(false)
    }

    pub(super) fn plan(&self) -> Vec<Planned> {
        self.changed().map(Draft::planned).collect()
    }

    fn changed(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.values().filter(|draft| !draft.added.is_empty())
    }

    /// Notes what an import is about to leave in a file, and keeps what that was before.
    fn note_import(&self, draft: &Draft) -> Result<(), WriteError> {
        let Some((import, imports)) = self.import else { return Ok(()) };
        let refused = |_| WriteError::Refused {
            path: draft.path.to_string(),
            reason: "the import cannot be recorded: the state cannot be written",
        };
        let known = imports.file(import, draft.path.as_str()).map_err(refused)?;
        let before = draft.before.map(|before| before.to_hex().to_string());
        if known.as_ref().is_some_and(|known| before.as_ref() != Some(&known.after)) {
            // Somebody else came between: the undo is to find what it does not know, and to ask.
            return Ok(());
        }
        let checkpoint = match draft.before {
            Some(before) if known.is_none() => {
                Some(self.files.leave(&draft.path, Some(before), Action::Edit.into())?.to_string())
            }
            _ => None,
        };
        let after = blake3::hash(draft.text.as_bytes()).to_hex().to_string();
        let file = ImportedFile { path: draft.path.to_string(), checkpoint, after };
        imports.note_file(import, &file).map_err(refused)
    }

    /// Writes all files. What somebody else has changed in between is left for the next batch; the first failure of the disk
    /// is told.
    pub(super) fn write(&self, pages: &mut Pages) -> Written {
        let mut written = Written::default();
        for draft in self.changed() {
            let result = match draft.text == draft.had {
                true => Ok(()),
                false => self.note_import(draft).and_then(|()| draft.write(self.files)),
            };
            match result {
                Ok(()) => written.numbers.extend(draft.added.iter().map(|(number, _)| *number)),
                Err(error) => {
                    pages.forget(&draft.path);
                    match error {
                        WriteError::Changed(_) | WriteError::Exists(_) | WriteError::Gone(_) => {}
                        error => {
                            written.unsure.push(draft.planned());
                            written.failure.get_or_insert(error);
                        }
                    }
                }
            }
            crate::base::fs::crash::point("captured-file-written");
        }
        written
    }
}

/// Of which keys the files `base.md`, `base-2.md`, … are, by their hashes, as far as they were looked at: whoever asks looks whether it is so.
pub(super) type Names = HashMap<String, Vec<Vec<u64>>>;

fn hash(key: &str) -> u64 {
    hash_of(&[key.as_bytes()])
}

/// The names of the files of a folder; none where it is not there.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Those names that are `name` between their date and their number, the last first.
fn dated<'n>(names: &'n [String], name: &str) -> Vec<&'n str> {
    let is_it = |found: &&str| {
        let stem = found.get(11..).and_then(|rest| rest.strip_suffix(".md"));
        stem.is_some_and(|stem| is_numbered(stem, name))
    };
    let mut found: Vec<&str> = names.iter().map(String::as_str).filter(is_it).collect();
    found.sort_unstable_by_key(|name| Reverse((name.get(..10), name.len(), *name)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_conversation_are_found_by_its_name_the_last_first() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ["2026-01-05-a.md", "2026-01-05-a-2.md", "2026-01-05-a-10.md", "2026-01-06-a-2.md", "2026-01-05-a-b.md"];
        for name in files.iter().chain(&["a.md", "2026-01-05-a.txt", "2026-01-05-ä.md"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let all = names_in(folder.path());
        let with = |name: &str| dated(&all, name);
        assert_eq!(with("a"), ["2026-01-06-a-2.md", "2026-01-05-a-10.md", "2026-01-05-a-2.md", "2026-01-05-a.md"]);
        assert_eq!(with("a-2"), ["2026-01-06-a-2.md", "2026-01-05-a-2.md"], "it may be called so itself");
        assert_eq!((with("a-b"), with("b")), (vec!["2026-01-05-a-b.md"], vec![]));
        assert!(names_in(&folder.path().join("nowhere")).is_empty());
    }
}
