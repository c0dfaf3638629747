//! From a path to what the index takes of the file. Needs no lock: any thread does it.

use std::path::Path;

use blake3::Hash;
use jiff::Timestamp;

use crate::access::rules::is_agents_elsewhere;
use crate::base::path::VaultPath;
use crate::index::engine::{FileEntry, FileInfo, FileUpdate, NewChunk};
use crate::text::derive::words::Stemming;
use crate::text::derive::{Bounds, Label, TextLanguage, chunk_within, cut_heading, note_sources};
use crate::text::note::{Note, Visibility};
use crate::vault::attachments::AttachmentReader;
use crate::vault::disk::{NoteRules, ReadError, Source, Stamp, open_file, read};

/// What reading a file came to.
#[derive(Debug)]
pub enum PreparedFile {
    /// It changed.
    Changed(Box<FileUpdate>),
    /// Its content is what the index has; only its stamp may differ. The number is when it was read.
    Unchanged(VaultPath, Stamp, i64),
    /// It is gone.
    Gone(VaultPath),
    /// It was being written: try again soon.
    Changing(VaultPath),
    /// It cannot be indexed, for the reason given.
    Unfit(VaultPath, String),
}

/// Where files are read from, and how.
pub struct FileReading<'a> {
    /// The vault's root.
    pub root: &'a Path,
    /// What belongs to the vault.
    pub rules: &'a NoteRules,
    /// Files over this size are not indexed.
    pub max_bytes: u64,
    /// Who reads what is no note.
    pub attachments: &'a AttachmentReader,
}

/// Reads a file `now` and, when it is not what the index has (`known`), parses it and cuts it into chunks.
pub fn prepare(
    from: &FileReading<'_>,
    path: VaultPath,
    known: Option<&FileEntry>,
    stemming: &mut Stemming,
    now: Timestamp,
) -> PreparedFile {
    let FileReading { root, rules, max_bytes, attachments } = *from;
    let read_ns = now.as_nanosecond() as i64;
    let (folder, within) = rules.outside().place(root, &path);
    let mut read = || -> Result<PreparedFile, ReadError> {
        let within = within.as_deref().ok_or(ReadError::Gone)?;
        let (source, problems) = if path.is_document() {
            let opened = open_file(folder, within, max_bytes)?;
            // Only what has changed is worth a process.
            if let Some(same) = as_known(known, &path, opened.stamp, opened.hash, read_ns) {
                return Ok(same);
            }
            attachments.read(&path, opened)?
        } else {
            let source = read(folder, within, max_bytes)?;
            if let Some(same) = as_known(known, &path, source.stamp, source.hash, read_ns) {
                return Ok(same);
            }
            (source, Vec::new())
        };
        let elsewhere = rules.outside().of(&path).map(|folder| (folder.name.clone(), within.clone()));
        let mut update = update(path.clone(), elsewhere, source, read_ns, stemming);
        update.problems.extend(problems);
        Ok(PreparedFile::Changed(Box::new(update)))
    };
    match read() {
        Ok(prepared) => prepared,
        Err(ReadError::Gone) => PreparedFile::Gone(path),
        Err(ReadError::Changing) => PreparedFile::Changing(path),
        Err(ReadError::Unfit(reason)) => PreparedFile::Unfit(path, reason),
    }
}

/// What there is to do for a file of which the index needs nothing new, or that is being written.
fn as_known(
    known: Option<&FileEntry>,
    path: &VaultPath,
    stamp: Stamp,
    hash: Hash,
    read_ns: i64,
) -> Option<PreparedFile> {
    let known = known?;
    let since = read_ns.saturating_sub(stamp.mtime_ns);
    if stamp.size == 0 && known.stamp.size > 0 && (0..EMPTIED_GRACE_NS).contains(&since) {
        return Some(PreparedFile::Changing(path.clone()));
    }
    let modified_ms = |stamp: &Stamp| stamp.mtime_ns / 1_000_000;
    let before = modified_ms(&known.stamp);
    // The times of a note whose frontmatter has none are the file's.
    let dated_by_file = known.created_ms == before || known.updated_ms == before;
    let is_same = known.hash == *hash.as_bytes() && known.path == *path;
    let is_dated = before == modified_ms(&stamp) || !dated_by_file;
    (is_same && is_dated).then(|| PreparedFile::Unchanged(path.clone(), stamp, read_ns))
}

/// Grace period until it is believed that a note is empty, in nanoseconds. An editor that writes in place empties the
/// file first.
const EMPTIED_GRACE_NS: i64 = 500_000_000;

/// What the index takes of a file. One `elsewhere` is of a collection, and has a path within that folder.
fn update(
    path: VaultPath,
    elsewhere: Option<(VaultPath, VaultPath)>,
    source: Source,
    read_ns: i64,
    stemming: &mut Stemming,
) -> FileUpdate {
    let mut note = Note::of(&path, &source.text);
    note.title = cut_heading(&note.title).to_owned();
    let language = TextLanguage::of_note(&note, &source.text);
    let cut = chunk_within(&path, &note, &source.text, Bounds::INDEX);
    let modified_ms = source.stamp.mtime_ns / 1_000_000;
    let ms = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
    let mut problems: Vec<String> = note
        .problems
        .iter()
        .map(|problem| match problem.line {
            Some(line) => format!("line {line}: {}", problem.message),
            None => problem.message.clone(),
        })
        .collect();
    if note.visibility == Visibility::BrokenFrontmatter {
        problems.push("only you see this note until its frontmatter is repaired".into());
    }
    if let Some(line) = cut.rest {
        problems.push(format!(
            "line {line}: the note has {} passages up to here, and the rest is not indexed; split it into several notes",
            cut.chunks.len()
        ));
    }
    let chunks = NewChunk::all(cut.chunks, &note, &path, language, stemming);
    let speakers = chunks.iter().flat_map(|chunk| &chunk.speakers);
    let within = elsewhere.as_ref().map_or(&path, |(_, within)| within);
    let sources = note_sources(&note, within, elsewhere.as_ref().map(|(folder, _)| folder), &source.text);
    let is_agents = elsewhere.is_some() && is_agents_elsewhere(within.as_str());
    let info = FileInfo {
        private: note.is_private() || is_agents,
        sources,
        stamp: source.stamp,
        hash: *source.hash.as_bytes(),
        read_ns,
        labels: Label::all(&note, path.stem(), &source.text, language.map(TextLanguage::code), speakers),
        title: note.title,
        tags: note.tags,
        doubtful: note.doubtful,
        created_ms: ms(note.created).unwrap_or(modified_ms),
        updated_ms: ms(note.updated).unwrap_or(modified_ms),
        path,
    };
    let metadata = serde_json::Value::Object(note.metadata).to_string();
    FileUpdate { info, metadata, problems, chunks }
}
