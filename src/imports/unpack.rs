//! The files of a source: one, those of a folder, or those of a zip archive, one after the other. What they are called there is a name and
//! no path.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::found::{EachFile, FoundFile, NOT_IMPORTED, SourceFiles, WhyNot, is_hidden};
use super::item::ImportReadError;
use super::parts::of_zip;
use super::seems::{HEAD_BYTES, Seeming, seems};
use super::sink::ImportSink;

/// Maximum number of folders within one another.
const MAX_DEPTH: usize = 32;
/// The folder that every vault has.
const VAULT_DIR: &str = ".vault";
/// Why a folder below a source is left out that is a vault.
const A_VAULT: &str = "a vault: this one itself or another";
/// Why what a link leads to is left out.
const A_LINK: &str = "links, which are not followed";
/// Why a folder is left out that lies deeper than folders are looked into.
const TOO_DEEP: &str = "folders within more than 32 others";

/// Whether a file is taken that was named itself, and seems to be that.
type TakesAlone<'t> = dyn Fn(&str, Option<Seeming>) -> Result<(), ImportReadError> + 't;

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
    below(path).files.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Gives each file to `each` of which `why_not` gives no reason against it, by its name, and of a folder those alone for which `only` holds; `bytes` counts what was read.
/// `takes` says of a file that was named itself whether it is taken.
///
/// # Errors
/// When the source cannot be opened, is neither a file nor a folder, or a file that is not taken.
pub(super) fn each_file<'s>(
    path: &Path,
    why_not: &WhyNot<'_>,
    takes: &TakesAlone<'_>,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> Result<SourceFiles, ImportReadError> {
    let failed = |source: io::Error| ImportReadError::Unreadable { path: path.to_owned(), source };
    let meta = fs::metadata(path).map_err(failed)?;
    // By whatever way it was named.
    let place = path.canonicalize().map_err(failed)?;
    if meta.is_dir() {
        fs::read_dir(&place).map_err(failed)?;
        return Ok(of_folder(&place, why_not, only, bytes, sink, each));
    }
    // A pipe would be waited for.
    if !meta.is_file() {
        return Err(ImportReadError::NoFile { path: path.to_owned() });
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let at_ms = changed(&meta);
    let mut counted = CountedSource { from: file, bytes: Rc::clone(bytes) };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if head.starts_with(b"PK\x03\x04") {
        let mut files = Ok(SourceFiles::default());
        sink.of_file(&name, |sink| files = of_zip(counted, &place, at_ms, why_not, sink, each));
        return files;
    }
    takes(&name, seems(&name, &head))?;
    let place = place.to_string_lossy().into_owned();
    let found = FoundFile { name: name.clone(), place, at_ms, from: &mut counted };
    sink.of_file(&name, |sink| each(found, sink));
    Ok(SourceFiles { wanted: 1, ..SourceFiles::default() })
}

fn of_folder<'s>(
    path: &Path,
    why_not: &WhyNot<'_>,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> SourceFiles {
    let mut files = SourceFiles::default();
    let name_of = |file: &Path| file.strip_prefix(path).unwrap_or(file).to_string_lossy().into_owned();
    let FilesBelow { files: paths, left_out, unreadable } = below(path);
    for (left, reason) in left_out {
        let name = name_of(&left);
        if !only(&name) {
            continue;
        }
        sink.leave_out(reason);
        match reason {
            A_VAULT => _ = files.vault.get_or_insert(name),
            _ => files.unwanted += 1,
        }
    }
    for (folder, error) in unreadable {
        let name = name_of(&folder);
        if only(&name) {
            sink.leave_out("folders that cannot be read");
            sink.remark(format!("{name} cannot be read: {error}"));
        }
    }
    for file in paths {
        if sink.is_over() {
            break;
        }
        let name = name_of(&file);
        if !only(&name) {
            continue;
        }
        if let Some(reason) = why_not(&name) {
            files.note_unwanted(&name, reason);
            sink.of_file(&name, |sink| sink.leave_out(reason));
            continue;
        }
        files.wanted += 1;
        sink.of_file(&name, |sink| match File::open(&file) {
            Ok(opened) => {
                let at_ms = opened.metadata().ok().as_ref().and_then(changed);
                let mut counted = CountedSource { from: opened, bytes: Rc::clone(bytes) };
                let place = file.to_string_lossy().into_owned();
                each(FoundFile { name: name.clone(), place, at_ms, from: &mut counted }, sink);
            }
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("{name} cannot be read: {error}"));
            }
        });
    }
    files
}

/// What is below a folder.
#[derive(Default)]
struct FilesBelow {
    /// Files, in the order of their names.
    files: Vec<PathBuf>,
    /// What else there is, but for what is hidden, each with the reason why it is left out.
    left_out: Vec<(PathBuf, &'static str)>,
    /// Folders that cannot be listed, and why.
    unreadable: Vec<(PathBuf, io::Error)>,
}

/// The files of a folder: none that is hidden, none by way of a link, and none of a vault below it: what comes into that would be imported
/// again, without an end.
fn below(folder: &Path) -> FilesBelow {
    let (mut folders, mut found) = (vec![(folder.to_owned(), 0)], FilesBelow::default());
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                found.unreadable.push((folder, error));
                continue;
            }
        };
        for entry in entries.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let reason = if is_hidden(&entry.file_name().to_string_lossy()) {
                continue;
            } else if kind.is_dir() && path.join(VAULT_DIR).is_dir() {
                A_VAULT
            } else if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
                continue;
            } else if kind.is_dir() {
                TOO_DEEP
            } else if kind.is_file() {
                found.files.push(path);
                continue;
            } else if kind.is_symlink() {
                A_LINK
            } else {
                NOT_IMPORTED
            };
            found.left_out.push((path, reason));
        }
    }
    found.files.sort_unstable();
    found.left_out.sort_unstable();
    found
}

fn changed(meta: &fs::Metadata) -> Option<i64> {
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}
