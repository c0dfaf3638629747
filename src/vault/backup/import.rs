//! Reads a vault out of an archive, whole or not at all, but for what of it was forgotten for good.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::Serialize;
use tar::{Archive, Entry, EntryType};
use walkdir::{DirEntry, WalkDir};

use super::contents::{
    ArchiveError, EntryKind, FORMAT, Manifest, PATH, PathOutcome, Summed, Summing, fate, stays_inside,
};
use crate::access::rules::Scope;
use crate::base::config::{Config, FILE_NAME};
use crate::base::fs::{Context, create_dir, replace_with};
use crate::base::path::VaultPath;
use crate::base::state::{SessionTable, State};
use crate::memory::generated_files::{generated_of, generated_pages};
use crate::memory::items::FactStore;
use crate::memory::trace_files::{TraceFiles, TraceShare};
use crate::text::derive::facts::{FactChange, without_changes};
use crate::text::note::Note;
use crate::vault::disk::{Files, Home, Outside, is_markdown};
use crate::vault::forgotten::{ANY_SCOPE, FactToWrite, ForgottenLookup, ForgottenTexts, WithoutForgotten, folder_of};

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Imported {
    /// The vault's folder.
    pub vault: PathBuf,
    /// Files of the archive.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What of the archive was not imported, and why.
    pub left_out: Vec<String>,
    /// In how many files something was left out that was forgotten for good.
    pub forgotten: usize,
    /// Those files.
    pub forgotten_of: Vec<FileLeftOut>,
}

/// Maximum size of the manifest, in bytes; it has some hundred.
const MAX_MANIFEST: u64 = 64 * 1024;

/// Unpacks an archive beside `dir`, checks it whole, and puts it there in one step. What was forgotten for good is left out, as the archive says of
/// itself and as `forgotten_in` a vault is known.
///
/// # Errors
/// When there is anything in `dir`, or the archive is cut short, damaged, or has what no export writes. Then nothing is there
/// that was not there before.
pub(crate) fn import(
    archive: impl Read,
    dir: &Path,
    forgotten_in: Option<&Arc<State>>,
) -> Result<Imported, ArchiveError> {
    let dir = std::path::absolute(dir).on("find", dir)?;
    let dir = dir.canonicalize().unwrap_or(dir);
    let free = match fs::read_dir(&dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == ErrorKind::NotFound && dir.symlink_metadata().is_err(),
    };
    let (true, Some(parent)) = (free, dir.parent()) else {
        return Err(ArchiveError::Refused(format!(
            "{} is not an empty folder, and was not changed. Name an empty folder, or one that does not exist yet",
            dir.display()
        )));
    };
    create_dir(parent)?;
    let beside = tempfile::Builder::new().prefix(".tmp-").tempdir_in(parent).on("write to", parent)?;
    let (seen, folders, links) = (HashSet::new(), Vec::new(), Vec::new());
    let (summing, left_out) = (Summing::default(), BTreeSet::new());
    let mut unpacking = Unpacking { into: beside.path(), summing, seen, folders, links, manifest: None, left_out };
    let mut decoder = zstd::Decoder::new(archive).map_err(broken)?;
    let mut entries = Archive::new(&mut decoder);
    for entry in entries.entries().map_err(broken)? {
        unpacking.take(entry.map_err(broken)?)?;
    }
    // What comes after the last entry carries the checksum of the whole.
    io::copy(&mut decoder, &mut io::sink()).map_err(broken)?;
    let manifest = unpacking.check()?;
    let forgotten_of = leave_out(beside.path(), forgotten_in)?;
    let left_out = unpacking.finish(&manifest)?;
    sync(beside.path()).on("write to", &dir)?;
    let beside = beside.keep();
    if let Err(error) = fs::rename(&beside, &dir) {
        let _ = fs::remove_dir_all(&beside);
        return Err(error).on("put the vault at", &dir)?;
    }
    File::open(parent).and_then(|parent| parent.sync_all()).on("write to", parent)?;
    let (files, bytes) = (manifest.sum.files, manifest.sum.bytes);
    list(&dir, &forgotten_of);
    let count = forgotten_of.len();
    Ok(Imported { vault: dir, files, bytes, left_out, forgotten: count, forgotten_of })
}

struct Unpacking<'a> {
    into: &'a Path,
    summing: Summing,
    seen: HashSet<PathBuf>,
    folders: Vec<(PathBuf, u32, SystemTime)>,
    links: Vec<(PathBuf, PathBuf)>,
    manifest: Option<Manifest>,
    left_out: BTreeSet<String>,
}

impl Unpacking<'_> {
    fn take(&mut self, mut entry: Entry<'_, impl Read>) -> Result<(), ArchiveError> {
        let path = entry.path().map_err(broken)?.into_owned();
        let refused = |why| {
            let path = path.display();
            ArchiveError::Refused(format!(
                "the archive has {path}, {why}, which no `vault export` writes. Nothing was imported"
            ))
        };
        let plain = path.components().all(|part| matches!(part, Component::Normal(_))) && path.iter().next().is_some();
        if !plain {
            return Err(refused("a path that is absolute or has `..`"));
        }
        if self.manifest.is_some() {
            return Err(refused("an entry after its end"));
        }
        if path == Path::new(PATH) {
            let mut json = Vec::new();
            entry.take(MAX_MANIFEST).read_to_end(&mut json).map_err(broken)?;
            self.manifest = Some(manifest(&json)?);
            return Ok(());
        }
        let kind = match entry.header().entry_type() {
            EntryType::Directory => EntryKind::Folder,
            EntryType::Symlink => EntryKind::Link,
            EntryType::Regular => EntryKind::File,
            _ => return Err(refused("neither a file, a folder nor a symbolic link")),
        };
        if !self.seen.insert(path.clone()) {
            return Err(refused("the same path twice"));
        }
        let wanted = match fate(&path, kind) {
            PathOutcome::Kept => true,
            PathOutcome::Dropped { what, why } => {
                self.left_out.insert(format!("{}: {why}", what.display()));
                false
            }
            PathOutcome::Refused(why) => return Err(refused(why)),
        };
        // No bits that lend a program its owner's rights; and what is the program's own is for its owner alone.
        let own = if path.starts_with(".vault") { 0o700 } else { 0o777 };
        let mode = entry.header().mode().map_err(broken)? & own;
        let time = modified(&mut entry).map_err(broken)?;
        match kind {
            EntryKind::Folder => {
                self.summing.entry(b'd', &path, 0);
                if wanted {
                    create_dir(&self.into.join(&path))?;
                    self.folders.push((path, mode, time));
                }
                Ok(())
            }
            EntryKind::Link => {
                let target =
                    entry.link_name().map_err(broken)?.ok_or_else(|| refused("a link to nowhere"))?.into_owned();
                if !stays_inside(&path, &target) {
                    return Err(refused("a link that leads out of the vault"));
                }
                self.summing.entry(b'l', &path, target.as_os_str().len() as u64);
                self.summing.content(target.as_os_str().as_encoded_bytes());
                if wanted {
                    self.links.push((path, target));
                }
                Ok(())
            }
            EntryKind::File => {
                self.summing.entry(b'f', &path, entry.size());
                let mut content = Summed { from: &mut entry, summing: &mut self.summing, failed: false };
                if !wanted {
                    return io::copy(&mut content, &mut io::sink()).map(drop).map_err(broken);
                }
                let at = self.into.join(&path);
                create_dir(at.parent().unwrap_or(self.into))?;
                let mut file = File::options().write(true).create_new(true).open(&at).on("write", &at)?;
                match io::copy(&mut content, &mut file) {
                    Err(error) if content.failed => return Err(broken(error)),
                    copied => copied.on("write", &at)?,
                };
                file.set_permissions(Permissions::from_mode(mode)).on("write", &at)?;
                Ok(file.set_modified(time).on("write", &at)?)
            }
        }
    }

    /// Checks the whole.
    fn check(&mut self) -> Result<Manifest, ArchiveError> {
        let manifest = match self.manifest.take() {
            Some(manifest) => manifest,
            None if self.seen.is_empty() => return Err(no_archive("it is empty")),
            None => return Err(cut_short()),
        };
        if self.summing.sum() != manifest.sum {
            return Err(ArchiveError::damaged("its contents are not those that were exported"));
        }
        if !self.into.join(FILE_NAME).is_file() {
            let none = format!("the archive contains no vault: it has no {FILE_NAME}. Nothing was imported");
            return Err(ArchiveError::Refused(none));
        }
        Ok(manifest)
    }

    /// Makes links and gives folders their times: nothing is written through a link, and nothing below a folder after that.
    fn finish(self, manifest: &Manifest) -> Result<Vec<String>, ArchiveError> {
        for (path, target) in &self.links {
            let path = self.into.join(path);
            create_dir(path.parent().unwrap_or(self.into))?;
            symlink(target, &path).on("make the link", &path)?;
        }
        for (path, mode, time) in self.folders.iter().rev() {
            let path = self.into.join(path);
            File::open(&path).and_then(|folder| folder.set_modified(*time)).on("write", &path)?;
            fs::set_permissions(&path, Permissions::from_mode(*mode)).on("write", &path)?;
        }
        let mode = Permissions::from_mode(manifest.mode & 0o777 | 0o700);
        fs::set_permissions(self.into, mode).on("write", self.into)?;
        let own = self.into.join(".vault");
        if own.is_dir() {
            fs::set_permissions(&own, Permissions::from_mode(0o700)).on("write", &own)?;
        }
        Ok(self.left_out.into_iter().collect())
    }
}

fn manifest(json: &[u8]) -> Result<Manifest, ArchiveError> {
    let format: serde_json::Value = serde_json::from_slice(json).unwrap_or_default();
    match format["format"].as_u64().and_then(|format| u32::try_from(format).ok()) {
        Some(newer) if newer > FORMAT => Err(ArchiveError::Refused(format!(
            "the archive has format {newer}, which this version does not know; use a newer `vault`"
        ))),
        _ => serde_json::from_slice(json).map_err(|error| ArchiveError::damaged(format!("its manifest: {error}"))),
    }
}

/// When a file was last changed, to the nanosecond where the archive says so.
fn modified(entry: &mut Entry<'_, impl Read>) -> io::Result<SystemTime> {
    let mut exact = None;
    for extension in entry.pax_extensions()?.into_iter().flatten() {
        let extension = extension?;
        if extension.key() == Ok("mtime") {
            exact = extension.value().ok().and_then(|value| {
                let (seconds, nanos) = value.split_once('.')?;
                Timestamp::new(seconds.parse().ok()?, format!("{nanos:0<9.9}").parse().ok()?).ok()
            });
        }
    }
    let whole = || Timestamp::from_second(entry.header().mtime().ok()?.try_into().ok()?).ok();
    Ok(exact.or_else(whole).unwrap_or_default().into())
}

fn no_archive(why: &str) -> ArchiveError {
    ArchiveError::Refused(format!("this is not an archive of a vault: {why}"))
}

fn cut_short() -> ArchiveError {
    ArchiveError::Refused("the archive is cut short: its end is missing. Nothing was imported".into())
}

/// What a failure to read the archive says of it.
fn broken(error: io::Error) -> ArchiveError {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::UnexpectedEof => cut_short(),
        _ if text.contains("incomplete frame") => cut_short(),
        _ if text.contains("nknown frame descriptor") => no_archive("it is not compressed with zstd"),
        _ if error.raw_os_error().is_some() => ArchiveError::Refused(format!("the archive cannot be read: {text}")),
        _ => ArchiveError::damaged(text),
    }
}

#[cfg(target_os = "linux")]
fn sync(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync(_folder: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Whose the texts are, by the list of what was left out.
const BY: &str = "import";
/// Where the program keeps what is not derived.
const STATE: &str = ".vault/state";
/// Where what was deleted lies.
const TRASH: &str = ".trash/";

/// Leaves out of what was unpacked into `root` what was forgotten for good: in the vault that the archive is of, as far as it says so, and
/// in the vault of a state, whose tombstones come along. Gives what was left out, and of which file each.
fn leave_out(root: &Path, by: Option<&Arc<State>>) -> Result<Vec<FileLeftOut>, ArchiveError> {
    let state = State::of_archive(&root.join(STATE))?;
    let left_out = leave_out_of(root, &state, by)?;
    state.leave_as_archive()?;
    Ok(left_out)
}

fn leave_out_of(root: &Path, state: &Arc<State>, by: Option<&Arc<State>>) -> Result<Vec<FileLeftOut>, ArchiveError> {
    let forgotten = ForgottenTexts::new(state);
    by.map_or(Ok(()), |by| forgotten.tombstones.join(by))?;
    let asked = forgotten.look()?;
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let config = Config::load(root).unwrap_or_default();
    let fact_store = FactStore::new(root.to_owned(), false, config.index.max_file_bytes, None);
    let unpacked = Unpacked { root, asked: &asked, fact_store };
    let mut left_out = Vec::new();
    unpacked.leave_out_of_notes(&mut left_out)?;
    unpacked.leave_out_generated(&mut left_out)?;
    // Their digests could confirm a guess.
    let imports = SessionTable::new(state);
    left_out.iter().try_for_each(|file| imports.purge_file(&file.path, file.whole))?;
    let swept = TraceFiles::new(root)
        .sweep(&asked, &|_| TraceShare { reach: Scope::Everything, parts: Vec::new() }, true)?
        .events;
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
fn list(vault: &Path, left_out: &[FileLeftOut]) {
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
    /// Looks through the notes, those in the trash among them.
    fn leave_out_of_notes(&self, left_out: &mut Vec<FileLeftOut>) -> Result<(), ArchiveError> {
        let is_entered = |entry: &DirEntry| ![".git", ".vault"].iter().any(|own| entry.file_name() == *own);
        for entry in WalkDir::new(self.root).min_depth(1).into_iter().filter_entry(is_entered) {
            let entry = entry.map_err(std::io::Error::from).on("list", self.root)?;
            let path = entry.path().strip_prefix(self.root).ok().and_then(Path::to_str);
            if let Some(path) = path.filter(|path| entry.file_type().is_file() && is_markdown(path)) {
                left_out.extend(self.leave_out_of(path)?);
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
        let left = self.asked.without_in_file(source, of_facts, &Scope::Everything, &|_, _| false)?;
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
            let found = self.asked.in_fact(ANY_SCOPE, fact, &Scope::Everything);
            met = met.or(found);
            found.is_some()
        });
        Some(WithoutForgotten { text: Some(text), tombstone: met? })
    }
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
mod tests_of_forgotten {
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
