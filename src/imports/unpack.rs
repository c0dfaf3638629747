//! The files of a source: one, those of a folder, or those of a zip archive, one after the other. What they are called there is a name and
//! no path.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use zip::ZipArchive;
use zip::read::read_zipfile_from_stream;

use super::error::ImportReadError;
use super::kind::SourceKind;
use super::sink::ImportSink;

/// Maximum number of folders within one another.
const MAX_DEPTH: usize = 32;

/// A file that was found.
pub(super) struct FoundFile<'f> {
    /// What it is called, with the folders that it is in, below the source.
    pub(super) name: String,
    /// When it was changed, in milliseconds since 1970.
    pub(super) at_ms: Option<i64>,
    pub(super) from: &'f mut dyn Read,
}

impl FoundFile<'_> {
    /// Its name without folders and what follows the last dot.
    pub(super) fn stem(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// What a session is called by its file. Moltis has it in the folders around `history.jsonl`, in hexadecimal.
    pub(super) fn session_stem(&self, kind: SourceKind) -> String {
        let in_folders = || {
            let folders = self.name.strip_suffix("/history.jsonl")?;
            let folders: Vec<&str> = folders.split('/').collect();
            let at = folders.iter().rposition(|name| name.starts_with('k'))?;
            from_hex(&folders[at..].concat()[1..])
        };
        let in_folders = (kind == SourceKind::Moltis).then(in_folders).flatten();
        in_folders.unwrap_or_else(|| self.stem().to_owned())
    }
}

/// A text of its bytes in hexadecimal.
fn from_hex(digits: &str) -> Option<String> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// What is done with a file.
pub(super) type EachFile<'e, 's> = dyn FnMut(FoundFile<'_>, &mut ImportSink<'s>) + 'e;

/// Counts what is read.
struct CountedSource<R> {
    from: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountedSource<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for CountedSource<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.from.seek(to)
    }
}

/// The bytes of a source, as far as files say so.
pub(crate) fn size(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    if !meta.is_dir() {
        return fs::metadata(path).map_or(0, |meta| meta.len());
    }
    files_below(path).iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Gives each file that is wanted by its name to `each`, and of a folder those alone for which `only` holds; `bytes` counts what was read. Says how many were wanted.
///
/// # Errors
/// When the source cannot be opened.
pub(super) fn each_file<'s>(
    path: &Path,
    wants: &dyn Fn(&str) -> bool,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> Result<usize, ImportReadError> {
    let failed = |source: io::Error| ImportReadError::Unreadable { path: path.to_owned(), source };
    let meta = fs::metadata(path).map_err(failed)?;
    if meta.is_dir() {
        return Ok(of_folder(path, wants, only, bytes, sink, each));
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut begin = [0; 4];
    let is_zip = match file.read_exact(&mut begin) {
        Ok(()) => begin == *b"PK\x03\x04",
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(failed(error)),
    };
    file.rewind().map_err(failed)?;
    let at_ms = changed(&meta);
    let mut counted = CountedSource { from: file, bytes: Rc::clone(bytes) };
    if is_zip {
        return Ok(of_zip(counted, path, at_ms, wants, sink, each));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    each(FoundFile { name, at_ms, from: &mut counted }, sink);
    Ok(1)
}

fn of_folder<'s>(
    path: &Path,
    wants: &dyn Fn(&str) -> bool,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> usize {
    let mut found = 0;
    for file in files_below(path) {
        if sink.is_over() {
            break;
        }
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        if !only(&name) {
            continue;
        }
        if !wants(&name) {
            sink.leave_out(unwanted(&name));
            continue;
        }
        found += 1;
        match File::open(&file) {
            Ok(opened) => {
                let at_ms = opened.metadata().ok().as_ref().and_then(changed);
                let mut counted = CountedSource { from: opened, bytes: Rc::clone(bytes) };
                each(FoundFile { name, at_ms, from: &mut counted }, sink);
            }
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("{name} cannot be read: {error}"));
            }
        }
    }
    found
}

fn of_zip<'s>(
    mut from: CountedSource<File>,
    path: &Path,
    at_ms: Option<i64>,
    wants: &dyn Fn(&str) -> bool,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> usize {
    let mut found = 0;
    let mut entry = |name: &str, from: &mut dyn Read, sink: &mut ImportSink<'s>| {
        if name.ends_with('/') {
            return;
        }
        if name.to_ascii_lowercase().ends_with(".zip") {
            sink.leave_out("archives within the archive");
            return sink
                .remark(format!("{name} is an archive within the archive: unpack it, and import what comes of it"));
        }
        if !wants(name) {
            return sink.leave_out(unwanted(name));
        }
        found += 1;
        each(FoundFile { name: name.to_owned(), at_ms, from }, sink);
    };
    match ZipArchive::new(&mut from) {
        Ok(mut archive) => {
            for at in 0..archive.len() {
                if sink.is_over() {
                    break;
                }
                match archive.by_index(at) {
                    Ok(mut file) => {
                        let name = file.name().to_owned();
                        entry(&name, &mut file, sink);
                    }
                    Err(error) => {
                        sink.leave_out("files that cannot be read");
                        sink.remark(format!("a file of {} cannot be read: {error}", path.display()));
                    }
                }
            }
        }
        // The list of its files stands at the end of it.
        Err(_) => {
            sink.remark(format!("{} was cut short: only what came before that could be read", path.display()));
            if from.rewind().is_err() {
                return 0;
            }
            while let Ok(Some(mut file)) = read_zipfile_from_stream(&mut from) {
                let name = file.name().to_owned();
                entry(&name, &mut file, sink);
                if sink.is_over() {
                    break;
                }
            }
        }
    }
    found
}

/// The files of a folder, in the order of their names: none that is hidden, and none by way of a link.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![(folder.to_owned(), 0)], Vec::new());
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => folders.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}

fn changed(meta: &fs::Metadata) -> Option<i64> {
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn unwanted(name: &str) -> &'static str {
    let media =
        ["png", "jpg", "jpeg", "gif", "webp", "svg", "heic", "pdf", "mp3", "mp4", "wav", "m4a", "webm", "mov", "dat"];
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    if media.contains(&extension.as_str()) {
        "images, sounds and other files"
    } else {
        "files that are none of what is imported"
    }
}
