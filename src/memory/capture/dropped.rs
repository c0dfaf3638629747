//! Takes a file that the owner drops on the page: a text becomes a note, a picture or PDF a file beside the notes, an export of another program
//! is imported.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use super::import::{import, note_key};
use super::intake::Capture;
use crate::access::request::{ErrorKind, Owner, RequestError};
use crate::base::path::{AttachmentKind, VaultPath};
use crate::memory::imports::{ImportItem, ImportSink, SourceKind, kind_of_file, read};
use crate::serve::wire::{DropKind, Dropped, ImportNote, ImportParams};
use crate::vault::disk::{Files, WriteError, numbered, obsidian_settings, slug};

/// Maximum length of a dropped file, in bytes.
pub(crate) const MAX_DROP_BYTES: u64 = 64 << 20;
/// Maximum length of a dropped note.
const MAX_NOTE_BYTES: usize = 512 << 10;
/// Maximum length of its name.
const MAX_NAME_BYTES: usize = 400;
/// The folder of pictures and PDFs where Obsidian has none.
const ATTACHMENTS: &str = "attachments";
/// Maximum number of names that are looked at for one of them.
const MAX_NAMES: usize = 1000;
/// Events and notes that are handed over at a time.
const BATCH: usize = 500;
/// What a dropped file may be.
const TAKES: &str =
    "a note (.md, .txt), a picture, a PDF, or what another program exports (`vault import --help` lists them)";

/// Takes a file. What is imported is safe on disk when this returns.
///
/// # Errors
/// When it is too long or of no kind that is known, or the disk refuses.
pub(crate) fn dropped(
    capture: &Capture,
    owner: &Owner,
    name: &str,
    from: &mut dyn Read,
) -> Result<Dropped, RequestError> {
    let unknown = || RequestError::invalid(format!("{name:?} cannot be taken")).hint(format!("drop {TAKES}"));
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let (stem, end) = file.rsplit_once('.').ok_or_else(unknown)?;
    let (stem, end) = (stem.replace(char::is_control, " "), end.to_ascii_lowercase());
    if name.len() > MAX_NAME_BYTES || stem.trim().is_empty() || !end.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(unknown());
    }
    let files = owner.workspace().files()?;
    let scratch = files.scratch()?;
    let path = scratch.path().join(format!("{}.{end}", slug(&stem)));
    let failed = |error: io::Error| RequestError::unavailable(format!("{name:?}: {error}"), "drop it again");
    let length = File::create_new(&path).and_then(|mut file| io::copy(&mut from.take(MAX_DROP_BYTES + 1), &mut file));
    match length.map_err(failed)? {
        0 => return Err(RequestError::invalid(format!("{name:?} is empty"))),
        length if length > MAX_DROP_BYTES => {
            let hint = "`vault import` takes larger exports; copy other files into the vault's folder";
            return Err(RequestError::invalid(format!("{name:?} has more than 64 MB")).hint(hint));
        }
        _ => {}
    }
    let whole = || fs::read(&path).map_err(failed);
    if let Some(AttachmentKind::Image | AttachmentKind::Pdf) = AttachmentKind::of(file) {
        let bytes = whole()?;
        if !is_what_it_says(&end, &bytes) {
            return Err(
                RequestError::invalid(format!("{name:?} is not what its name says")).hint(format!("drop {TAKES}"))
            );
        }
        return attached(files, owner.workspace().home.root(), &stem, &end, &bytes);
    }
    if matches!(end.as_str(), "md" | "markdown" | "txt") {
        let text = String::from_utf8(whole()?).ok().filter(|text| text.len() <= MAX_NOTE_BYTES && !text.contains('\0'));
        let text = text.ok_or_else(|| RequestError::invalid(format!("{name:?} is not UTF-8 text of up to 512 kB")))?;
        return noted(capture, owner, stem.trim(), text);
    }
    let kind = kind_of_file(&path).ok_or_else(unknown)?;
    imported(capture, owner, kind, &path, file)
}

/// Whether a picture or PDF begins as one: a browser is going to show it.
fn is_what_it_says(end: &str, bytes: &[u8]) -> bool {
    let starts = |head: &[u8]| bytes.starts_with(head);
    match end {
        "png" => starts(b"\x89PNG\r\n\x1a\n"),
        "jpg" | "jpeg" => starts(b"\xff\xd8\xff"),
        "gif" => starts(b"GIF8"),
        "webp" => bytes.get(8..12) == Some(b"WEBP"),
        "avif" | "heic" => bytes.get(4..8) == Some(b"ftyp"),
        "bmp" => starts(b"BM"),
        "tif" | "tiff" => starts(b"II*\0") || starts(b"MM\0*"),
        "svg" => std::str::from_utf8(bytes).is_ok_and(|text| text.contains("<svg")),
        _ => starts(b"%PDF-"),
    }
}

/// Puts a picture or PDF where Obsidian has attachments in this vault; the same again is recognised.
fn attached(files: &Files, root: &Path, stem: &str, end: &str, bytes: &[u8]) -> Result<Dropped, RequestError> {
    let set = obsidian_settings(root, "app.json");
    let set = set.as_ref().and_then(|set| set["attachmentFolderPath"].as_str()).unwrap_or_default();
    // `/` and `./` mean the vault itself and the note's own folder.
    let folder = if set.starts_with('.') || VaultPath::new(set.trim_matches('/')).is_err() {
        ATTACHMENTS
    } else {
        set.trim_matches('/')
    };
    let dropped = Dropped { ok: true, kind: DropKind::File, ..Dropped::default() };
    for path in numbered(&format!("{folder}/{}.{end}", slug(stem)), '-').take(MAX_NAMES) {
        match files.add_attachment(&path, bytes) {
            Ok(undo) => {
                return Ok(Dropped { path: Some(path.to_string()), added: 1, undo: Some(undo.to_string()), ..dropped });
            }
            Err(WriteError::Exists(path)) => {
                if files.read(&path)?.is_some_and(|(there, _)| there == bytes) {
                    return Ok(Dropped { path: Some(path.to_string()), existing: 1, ..dropped });
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(RequestError::invalid(format!("all names like `{folder}/{}.{end}` are taken", slug(stem))))
}

/// Makes a note of a text, as an import does: the same again is recognised.
fn noted(capture: &Capture, owner: &Owner, title: &str, text: String) -> Result<Dropped, RequestError> {
    let kind = SourceKind::Folder.name();
    // Another text of the same name is another note.
    let id = format!("dropped/{title}/{}", blake3::hash(text.as_bytes()).to_hex());
    let notes = vec![ImportNote { id: id.clone(), title: title.to_owned(), text }];
    let source = format!("dropped/{title}");
    let params = ImportParams { kind: kind.into(), source, notes, done: true, ..ImportParams::default() };
    let taken = import(capture, owner, params)?;
    if taken.forgotten > 0 {
        let message = format!("what {title:?} says was permanently forgotten, so it was left out");
        return Err(RequestError::conflict(message).hint("`vault forgotten list` shows it; `lift` allows it again"));
    }
    let path = capture.queue.imports.note(note_key(kind, &id))?.map(|note| note.path);
    let path = path.filter(|path| VaultPath::new(path.clone()).is_ok());
    let undo = taken.import.filter(|_| taken.undoable).map(|import| format!("import-{import}"));
    let (kind, added, existing) = (DropKind::Note, taken.added, taken.existing + taken.edited);
    Ok(Dropped { ok: true, kind, path, notes: 1, added, existing, undo, ..Dropped::default() })
}

/// Imports an export, as `vault import` does.
fn imported(
    capture: &Capture,
    owner: &Owner,
    kind: SourceKind,
    path: &Path,
    name: &str,
) -> Result<Dropped, RequestError> {
    let from = Some(kind.name().to_owned());
    let mut dropped = Dropped { ok: true, kind: DropKind::Import, from, ..Dropped::default() };
    let (mut number, mut failed) = (None, None);
    let mut hand_over = |dropped: &mut Dropped, items: Vec<ImportItem>, done: bool| -> Result<(), RequestError> {
        let source = format!("dropped/{name}");
        let base = ImportParams { kind: kind.name().into(), source, done, ..ImportParams::default() };
        let piece = |items: &[ImportItem]| {
            let mut piece = base.clone();
            for item in items {
                match item.clone() {
                    ImportItem::Event(event) => piece.events.push(event),
                    ImportItem::Note(note) => piece.notes.push(note),
                }
            }
            piece
        };
        let mut ask = |items: &[ImportItem]| {
            let taken = import(capture, owner, ImportParams { import: number, ..piece(items) })?;
            number = taken.import;
            dropped.added += taken.added + taken.updated;
            dropped.existing += taken.existing;
            // Events are in their files in a moment; an undo waits for that.
            let is_undoable = taken.undoable || dropped.added > 0;
            dropped.undo = taken.import.filter(|_| is_undoable).map(|import| format!("import-{import}"));
            Ok::<_, RequestError>(())
        };
        let mut refused = 0;
        match ask(&items) {
            // What is refused keeps nothing else.
            Err(error) if error.kind == ErrorKind::Invalid && !items.is_empty() => {
                for item in &items {
                    match ask(std::slice::from_ref(item)) {
                        Err(error) if error.kind == ErrorKind::Invalid => refused += 1,
                        asked => asked?,
                    }
                }
            }
            asked => asked?,
        }
        dropped.refused += refused;
        Ok(())
    };
    let mut items = Vec::new();
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned();
    let mut take = |item| {
        items.push(match item {
            // Where it lies now says nothing.
            ImportItem::Note(note) => ImportItem::Note(ImportNote { id: note.id.replacen(&place, name, 1), ..note }),
            event @ ImportItem::Event(_) => event,
        });
        if items.len() < BATCH {
            return ControlFlow::Continue(());
        }
        match hand_over(&mut dropped, std::mem::take(&mut items), false) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let mut sink = ImportSink::new(&mut take);
    let was_read = read(kind, path, &|_| true, &mut sink);
    let tally = std::mem::take(&mut sink.tally);
    if let Some(error) = failed {
        return Err(error);
    }
    was_read.map_err(|why| RequestError::invalid(why.replace(&path.display().to_string(), name)))?;
    hand_over(&mut dropped, items, true)?;
    (dropped.conversations, dropped.bookmarks, dropped.notes) = (tally.conversations, tally.bookmarks, tally.notes);
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use super::is_what_it_says;

    #[test]
    fn a_picture_begins_as_one() {
        assert!(is_what_it_says("png", b"\x89PNG\r\n\x1a\n....") && is_what_it_says("pdf", b"%PDF-1.7"));
        assert!(is_what_it_says("webp", b"RIFF\0\0\0\0WEBP") && is_what_it_says("svg", b"<?xml?><svg/>"));
        for (end, bytes) in
            [("png", &b"<html>"[..]), ("jpg", b""), ("pdf", b"MZ"), ("svg", b"\xff<svg"), ("webp", b"x")]
        {
            assert!(!is_what_it_says(end, bytes), "{end}");
        }
    }
}
