//! What of an archive was forgotten for good is not imported.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::error::ArchiveError;
use crate::base::config::Config;
use crate::base::fs::{Context, replace_with};
use crate::base::path::VaultPath;
use crate::base::state::{ImportTable, State, UsageTable};
use crate::memory::generated_files::{generated_of, generated_pages};
use crate::memory::items::FactStore;
use crate::memory::trace_files::{TraceFiles, TraceShare};
use crate::text::derive::facts::{FactChange, without_changes};
use crate::text::note::Note;
use crate::vault::disk::{Files, Home, Outside};
use crate::vault::forgotten::{
    ANY_SCOPE, FactToWrite, ForgottenLookup, ForgottenTexts, TombstoneScope, WithoutForgotten, folder_of,
};

/// Whose the texts are, by the list of what was left out.
const BY: &str = "import";
/// Where the program keeps what is not derived.
const STATE: &str = ".vault/state";
/// Where what was deleted lies.
const TRASH: &str = ".trash/";

/// Leaves out of what was unpacked into `root` what was forgotten for good: in the vault that the archive is of, as far as it says so, and
/// in the vault of a state, whose tombstones come along. Gives what was left out, and of which file each.
pub(super) fn leave_out(root: &Path, by: Option<&Arc<State>>) -> Result<Vec<FileLeftOut>, ArchiveError> {
    let state = State::of_archive(&root.join(STATE))?;
    let left_out = leave_out_of(root, &state, by)?;
    state.leave_as_archive()?;
    Ok(left_out)
}

fn leave_out_of(root: &Path, state: &Arc<State>, by: Option<&Arc<State>>) -> Result<Vec<FileLeftOut>, ArchiveError> {
    let forgotten = ForgottenTexts::new(state);
    by.map_or(Ok(()), |by| forgotten.join(by))?;
    let asked = forgotten.look()?;
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let config = Config::load(root).unwrap_or_default();
    let fact_store = FactStore::new(root.to_owned(), false, config.index.max_file_bytes, None);
    let unpacked = Unpacked { root, asked: &asked, fact_store };
    let mut left_out = Vec::new();
    unpacked.leave_out_below("", &mut left_out)?;
    unpacked.leave_out_generated(&mut left_out)?;
    // Their digests could confirm a guess.
    let imports = ImportTable::new(state);
    left_out.iter().try_for_each(|file| imports.purge_file(&file.path, file.whole))?;
    if !left_out.is_empty() {
        UsageTable::new(state).keep(|_| false)?;
    }
    let swept = TraceFiles::new(root, 0).sweep(&asked, &|_| TraceShare::default(), true)?.events;
    if swept > 0 {
        tracing::warn!("{swept} events of agents' traces said what was forgotten, and say it no more");
    }
    // What a note was before says it, too.
    let folder = root.join(STATE);
    if folder.join("checkpoints").is_dir() {
        let files = Files::new(root.to_owned(), &folder, Outside::default());
        let says = |path: &VaultPath, had: &[u8]| unpacked.without(path.as_str(), had).is_some();
        files.drop_checkpoints(|_| true, says)?;
    }
    Ok(left_out)
}

/// Lists what was left out in the vault that was made.
pub(super) fn list(vault: &Path, left_out: &[FileLeftOut]) {
    if left_out.is_empty() {
        return;
    }
    match Home::open(vault) {
        Ok(home) => {
            let forgotten = ForgottenTexts::new(&home.state());
            for FileLeftOut { path, whole, tombstone } in left_out {
                let folder = VaultPath::new(path.as_str()).ok().filter(|_| *whole).map(|path| folder_of(&path));
                forgotten.note(BY, folder.as_ref().unwrap_or(path), *whole, *tombstone);
            }
        }
        Err(error) => tracing::warn!("what was left out is not listed: {error}"),
    }
}

/// A vault that is being imported.
struct Unpacked<'a> {
    root: &'a Path,
    asked: &'a ForgottenLookup<'a>,
    fact_store: FactStore,
}

/// A file of an archive of which something was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileLeftOut {
    /// Its path in the vault.
    pub path: String,
    /// Whether all of it was left out.
    pub whole: bool,
    /// Which tombstone it is of.
    #[serde(skip)]
    tombstone: i64,
}

impl Unpacked<'_> {
    /// Looks through a folder, named from the root with `/` at its end; empty for the root.
    fn leave_out_below(&self, folder: &str, left_out: &mut Vec<FileLeftOut>) -> Result<(), ArchiveError> {
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
    fn leave_out_generated(&self, left_out: &mut Vec<FileLeftOut>) -> Result<(), ArchiveError> {
        let mut at = 0;
        while let Some(FileLeftOut { path, tombstone, .. }) = left_out.get(at).cloned() {
            at += 1;
            let Ok(of) = VaultPath::new(path) else { continue };
            for page in generated_pages(self.root) {
                let (path, on_disk) = (page.to_string(), page.on_disk(self.root));
                if !is_markdown(&path) || !generated_of(&fs::read(&on_disk).on("read", &on_disk)?, &of) {
                    continue;
                }
                fs::remove_file(&on_disk).on("remove", &on_disk)?;
                match left_out.iter_mut().find(|file| file.path == path) {
                    Some(part) => part.whole = true,
                    None => left_out.push(FileLeftOut { path, whole: true, tombstone }),
                }
            }
        }
        Ok(())
    }

    fn leave_out_of(&self, path: &str) -> Result<Option<FileLeftOut>, ArchiveError> {
        let on_disk = self.root.join(path);
        let bytes = fs::read(&on_disk).on("read", &on_disk)?;
        let Some(WithoutForgotten { text, tombstone }) = self.without(path, &bytes) else { return Ok(None) };
        let whole = text.is_none();
        match text {
            None => fs::remove_file(&on_disk).on("remove", &on_disk)?,
            Some(text) => {
                let meta = on_disk.metadata().on("look at", &on_disk)?;
                let changed = meta.modified().on("look at", &on_disk)?;
                replace_with(&on_disk, meta.permissions().mode(), |file| {
                    file.write_all(text.as_bytes())?;
                    file.set_modified(changed)
                })?;
            }
        }
        Ok(Some(FileLeftOut { path: path.to_owned(), whole, tombstone }))
    }

    /// What stays of a file; `None` where nothing of it was forgotten, or it is no text.
    fn without(&self, path: &str, bytes: &[u8]) -> Option<WithoutForgotten> {
        let source = std::str::from_utf8(bytes).ok()?;
        let path = VaultPath::new(path.strip_prefix(TRASH).unwrap_or(path)).ok()?;
        if self.fact_store.facts_of_history(&path).is_some() {
            return self.without_changes(source);
        }
        let of_facts = self.fact_store.scope_of(&path).is_some();
        let left = self.asked.without_in_file(source, of_facts, TombstoneScope::All, &|_, _| false)?;
        // What made it private may have been in what went.
        let was_private = Note::parse(source, path.stem()).is_private();
        let kept = left.text.and_then(|left| if was_private { still_private(&path, left) } else { Some(left) });
        Some(WithoutForgotten { text: kept, ..left })
    }

    /// What stays of the history of facts.
    fn without_changes(&self, source: &str) -> Option<WithoutForgotten> {
        let mut met = None;
        let text = without_changes(source, |change: &FactChange, value: &str| {
            let fact = FactToWrite { namespace: &change.namespace, key: &change.key, value };
            let found = self.asked.in_fact(ANY_SCOPE, fact, TombstoneScope::All);
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
    use crate::vault::forgotten::ForgottenNote;

    #[test]
    fn facts_stay_private_without_the_line_that_made_them_so_and_keep_when_they_were_learned() {
        let folder = tempfile::tempdir().unwrap();
        let forgotten = ForgottenTexts::new(&State::in_folder(folder.path()));
        let path = VaultPath::new("facts.md").unwrap();
        let place = ForgottenNote { path, tags: vec![], private: false, derived: false, readers: vec![], gone: false };
        forgotten.remember(&place, &[], "user", &[("code".into(), "47-11")], None).unwrap();
        let asked = forgotten.ask().unwrap();
        let fact_store = FactStore::new(folder.path().to_owned(), false, 1 << 20, None);
        let unpacked = Unpacked { root: folder.path(), asked: &asked, fact_store };
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
