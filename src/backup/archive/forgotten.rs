//! What of an archive was forgotten for good is not imported.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::error::ArchiveError;
use crate::config::Config;
use crate::derive::facts::{Fact, FactChange, full_name, without_changes, without_values};
use crate::derive::generated::GeneratedNote;
use crate::forgotten::{ForgottenLookup, ForgottenTexts, TombstoneScope, WithoutForgotten, folder_of};
use crate::fs::{Context, write_beside};
use crate::ledger::Ledger;
use crate::note::Note;
use crate::path::VaultPath;
use crate::state::{LeftOut, State, purge_brought_imports};
use crate::trace_files::{TraceFiles, TraceShare};
use crate::vault::{Files, Home, Outside};

/// Whose the texts are, by the list of what was left out.
const BY: &str = "import";
/// Folders below which the program writes pages.
const GENERATED: [&str; 2] = ["summaries", "profile"];
/// Where the program keeps what is not derived.
const STATE: &str = ".vault/state";
/// Where what was deleted lies.
const TRASH: &str = ".trash/";

/// Leaves out of what was unpacked into `root` what was forgotten for good: in the vault that the archive is of, as far as it says so, and
/// in the vault of a `state`, whose tombstones come along. Gives what was left out, and of which file each.
pub(super) fn leave_out(root: &Path, state: Option<&Arc<State>>) -> Result<Vec<(LeftOut, FileLeftOut)>, ArchiveError> {
    let folder = root.join(STATE);
    let asked = ForgottenLookup::brought(&folder, state)?;
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let config = Config::load(root).unwrap_or_default();
    let ledger = Ledger::new(root.to_owned(), config.memory_scopes, false, config.index.max_file_bytes);
    let unpacked = Unpacked { root, asked: &asked, ledger };
    let mut left_out = Vec::new();
    unpacked.leave_out_below("", &mut left_out)?;
    unpacked.leave_out_generated(&mut left_out)?;
    let changed: Vec<_> = left_out.iter().map(|(_, file)| (file.path.clone(), file.whole)).collect();
    purge_brought_imports(&folder, &changed)?;
    let swept = TraceFiles::new(root, 0).sweep(&asked, &|_| TraceShare::default())?;
    if swept > 0 {
        tracing::warn!("{swept} events of agents' traces said what was forgotten, and say it no more");
    }
    // What a note was before says it, too.
    if folder.join("checkpoints").is_dir() {
        let files = Files::new(root.to_owned(), &folder, Outside::default());
        let says = |path: &VaultPath, had: &[u8]| unpacked.without(path.as_str(), had).is_some();
        files.drop_checkpoints(|_| true, says)?;
    }
    Ok(left_out)
}

/// Lists what was left out in the vault that was made.
pub(super) fn list(vault: &Path, left_out: Vec<LeftOut>) {
    if left_out.is_empty() {
        return;
    }
    match Home::open(vault) {
        Ok(home) => {
            let forgotten = ForgottenTexts::new(&home.state());
            left_out.into_iter().for_each(|row| forgotten.note(row));
        }
        Err(error) => tracing::warn!("what was left out is not listed: {error}"),
    }
}

/// A vault that is being imported.
struct Unpacked<'a> {
    root: &'a Path,
    asked: &'a ForgottenLookup<'a>,
    ledger: Ledger,
}

/// A file of an archive of which something was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileLeftOut {
    /// Its path in the vault.
    pub path: String,
    /// Whether all of it was left out.
    pub whole: bool,
}

impl Unpacked<'_> {
    /// Looks through a folder, named from the root with `/` at its end; empty for the root.
    fn leave_out_below(&self, folder: &str, left_out: &mut Vec<(LeftOut, FileLeftOut)>) -> Result<(), ArchiveError> {
        let on_disk = self.root.join(folder);
        for entry in fs::read_dir(&on_disk).on("list", &on_disk)? {
            let entry = entry.on("list", &on_disk)?;
            let kind = entry.file_type().on("look at", &entry.path())?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}{name}");
            if kind.is_dir() && name != ".git" && name != ".vault" {
                self.leave_out_below(&format!("{path}/"), left_out)?;
            } else if kind.is_file() && is_markdown(&name) {
                left_out.extend(self.leave_out_of(&path)?);
            }
        }
        Ok(())
    }

    /// Leaves out the pages that were generated of what is left out now, and that nobody has edited: they cite it line by line, and are made
    /// anew of what is left.
    fn leave_out_generated(&self, left_out: &mut Vec<(LeftOut, FileLeftOut)>) -> Result<(), ArchiveError> {
        let mut at = 0;
        while let Some((row, of)) = left_out.get(at).cloned() {
            at += 1;
            let Ok(of) = VaultPath::new(of.path) else { continue };
            for folder in GENERATED {
                for path in self.generated_of(folder, &of)? {
                    let on_disk = self.root.join(&path);
                    fs::remove_file(&on_disk).on("remove", &on_disk)?;
                    let into = VaultPath::new(path.as_str()).map_or(path.clone(), |path| folder_of(&path));
                    let row = (LeftOut { into, whole: true, ..row.clone() }, FileLeftOut { path, whole: true });
                    match left_out.iter_mut().find(|(_, file)| file.path == row.1.path) {
                        Some(part) => *part = row,
                        None => left_out.push(row),
                    }
                }
            }
        }
        Ok(())
    }

    /// The unedited pages below a folder that name a file as one of their sources.
    fn generated_of(&self, folder: &str, of: &VaultPath) -> Result<Vec<String>, ArchiveError> {
        let on_disk = self.root.join(folder);
        let mut found = Vec::new();
        for entry in fs::read_dir(&on_disk).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.extend(self.generated_of(&path, of)?);
            } else if is_markdown(&name) {
                let bytes = fs::read(entry.path()).on("read", &entry.path())?;
                let made =
                    std::str::from_utf8(&bytes).ok().and_then(GeneratedNote::read).filter(|made| !made.is_edited);
                found.extend(made.filter(|made| made.sources().iter().any(|source| of.same_as(source))).map(|_| path));
            }
        }
        Ok(found)
    }

    fn leave_out_of(&self, path: &str) -> Result<Option<(LeftOut, FileLeftOut)>, ArchiveError> {
        let on_disk = self.root.join(path);
        let bytes = fs::read(&on_disk).on("read", &on_disk)?;
        let Some(WithoutForgotten { text, tombstone }) = self.without(path, &bytes) else { return Ok(None) };
        let whole = text.is_none();
        match text {
            None => fs::remove_file(&on_disk).on("remove", &on_disk)?,
            Some(text) => {
                use std::os::unix::fs::PermissionsExt;
                let meta = on_disk.metadata().on("look at", &on_disk)?;
                let changed = meta.modified().on("look at", &on_disk)?;
                let mode = meta.permissions().mode() & 0o777;
                let beside = write_beside(on_disk.parent().unwrap_or(self.root), text.as_bytes(), Some(mode))?;
                File::open(&beside).and_then(|file| file.set_modified(changed)).on("write", &on_disk)?;
                fs::rename(&beside, &on_disk).on("write", &on_disk)?;
            }
        }
        let into = match VaultPath::new(path) {
            Ok(path) if whole => folder_of(&path),
            _ => path.to_owned(),
        };
        let file = FileLeftOut { path: path.to_owned(), whole };
        Ok(Some((LeftOut { at: Timestamp::now(), by: BY.into(), into, whole, tombstone }, file)))
    }

    /// What stays of a file; `None` where nothing of it was forgotten, or it is no text.
    fn without(&self, path: &str, bytes: &[u8]) -> Option<WithoutForgotten> {
        let source = std::str::from_utf8(bytes).ok()?;
        let path = VaultPath::new(path.strip_prefix(TRASH).unwrap_or(path)).ok()?;
        if let Some(facts) = self.ledger.facts_of_history(&path) {
            return self.without_changes(&facts, source);
        }
        let facts = self.without_facts(&path, source);
        let text = facts.as_ref().and_then(|left| left.text.as_deref()).unwrap_or(source);
        let note = Note::parse(text, path.stem());
        let left = self.asked.without_in_note(&note, text, TombstoneScope::All, |_| false).or(facts)?;
        // What made it private may have been in what went.
        let was_private = Note::parse(source, path.stem()).is_private();
        let kept = left.text.and_then(|left| if was_private { still_private(&path, left) } else { Some(left) });
        Some(WithoutForgotten { text: kept, ..left })
    }

    /// Which tombstone is of a value of a fact.
    fn of_value(&self, facts: &VaultPath, namespace: &str, key: &str, value: &str) -> Option<i64> {
        let scope = self.ledger.scope_of(facts)?.to_string();
        let fact = self.asked.has_fact(&scope, &full_name(namespace, key), value, TombstoneScope::All);
        let text = || self.asked.without(value, TombstoneScope::All).filter(|left| left.text.is_none());
        let parts = || self.asked.in_parts(key, value, TombstoneScope::All);
        fact.or_else(|| text().map(|left| left.tombstone)).or_else(parts)
    }

    fn without_facts(&self, path: &VaultPath, source: &str) -> Option<WithoutForgotten> {
        self.ledger.scope_of(path)?;
        let met = std::cell::Cell::new(None);
        let text = without_values(source, |fact: &Fact, value| {
            let found = self.of_value(path, &fact.namespace, &fact.key, value);
            met.set(met.get().or(found));
            found.is_some()
        });
        Some(WithoutForgotten { text: Some(text), tombstone: met.get()? })
    }

    fn without_changes(&self, facts: &VaultPath, source: &str) -> Option<WithoutForgotten> {
        let mut met = None;
        let text = without_changes(source, |change: &FactChange, value: &str| {
            let found = self.of_value(facts, &change.namespace, &change.key, value);
            met = met.or(found);
            found.is_some()
        });
        Some(WithoutForgotten { text: Some(text), tombstone: met? })
    }
}

fn is_markdown(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(".md") || name.ends_with(".markdown")
}

/// A note that was private and is to stay so; `None` where that cannot be said in it.
fn still_private(path: &VaultPath, text: String) -> Option<String> {
    let is_private = |text: &str| Note::parse(text, path.stem()).is_private();
    if is_private(&text) {
        return Some(text);
    }
    let marked = match text.split_once('\n') {
        Some((mark, rest)) if mark.trim_end() == "---" => format!("{mark}\nprivate: true\n{rest}"),
        Some((mark, rest)) if mark.trim_end() == "+++" => format!("{mark}\nprivate = true\n{rest}"),
        _ => format!("---\nprivate: true\n---\n\n{text}"),
    };
    Some(marked).filter(|marked| is_private(marked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MemoryScopesConfig;
    use crate::forgotten::ForgottenPlace;

    #[test]
    fn facts_stay_private_without_the_line_that_made_them_so_and_keep_when_they_were_learned() {
        let folder = tempfile::tempdir().unwrap();
        let forgotten = ForgottenTexts::new(&State::in_folder(folder.path()));
        let path = VaultPath::new("facts.md").unwrap();
        let place = ForgottenPlace { path, tags: vec![], private: false, derived: false, readers: vec![], gone: false };
        forgotten.remember_with(&place, &[], "user", &[("code".into(), "47-11")]).unwrap();
        let asked = forgotten.ask().unwrap();
        let ledger = Ledger::new(folder.path().to_owned(), MemoryScopesConfig::default(), false, 1 << 20);
        let unpacked = Unpacked { root: folder.path(), asked: &asked, ledger };
        let left = |path: &str, text: &str| unpacked.without(path, text.as_bytes()).map(|left| left.text.unwrap());
        let kept = left("facts.md", "- code: 47-11 #private\n- other: stays\n").unwrap();
        assert_eq!(kept, "---\nprivate: true\n---\n\n- other: stays\n");
        assert_eq!(left("facts.md", "- code: 47-11\n- other: stays\n").unwrap(), "- other: stays\n");
        assert_eq!(left("facts.md", "- code: 47-12 #private\n"), None);
        let line = |at: u8, change: &str| format!("- 2026-01-0{at}T00:00:00.000Z `code`: {change} · by owner");
        let history = format!("{} ^a1\n{} · source `b.md` ^a2\n", line(1, "— → `47-11`"), line(2, "`47-11` → `x`"));
        let kept = left("facts.history.md", &history).unwrap();
        assert!(kept.starts_with(&format!("{} · source `b.md` ^", line(2, "— → `x`"))), "{kept}");
    }

    #[test]
    fn a_note_stays_private_without_what_made_it_so() {
        let path = VaultPath::new("a.md").unwrap();
        let marked = |text: &str| still_private(&path, text.to_owned()).unwrap();
        assert_eq!(marked("#private\n"), "#private\n");
        assert_eq!(marked("x\n"), "---\nprivate: true\n---\n\nx\n");
        assert_eq!(marked("---\na: 1\n---\nx\n"), "---\nprivate: true\na: 1\n---\nx\n");
        assert_eq!(marked("+++\na = 1\n+++\nx\n"), "+++\nprivate = true\na = 1\n+++\nx\n");
    }
}
