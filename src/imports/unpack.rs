//! The files of a source: one, those of a folder, or those of a zip archive, one after the other. What they are called there is a name and
//! no path.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::error::ImportReadError;
use super::found::{EachFile, FoundFile, SourceFiles, is_hidden, unwanted};
use super::seems::{HEAD_BYTES, Seeming, seems};
use super::sink::ImportSink;
use super::zipped::of_zip;

/// Maximum number of folders within one another.
const MAX_DEPTH: usize = 32;

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
    files_below(path).iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Gives each file that is wanted by its name to `each`, and of a folder those alone for which `only` holds; `bytes` counts what was read.
/// `takes` says of a file that was named itself whether it is taken.
///
/// # Errors
/// When the source cannot be opened, is neither a file nor a folder, or a file that is not taken.
pub(super) fn each_file<'s>(
    path: &Path,
    wants: &dyn Fn(&str) -> bool,
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
        return Ok(of_folder(&place, wants, only, bytes, sink, each));
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
    if head.starts_with(b"PK\x03\x04") {
        return Ok(of_zip(counted, &place, at_ms, wants, sink, each));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    takes(&name, seems(&name, &head))?;
    let place = place.to_string_lossy().into_owned();
    each(FoundFile { name, place, at_ms, from: &mut counted }, sink);
    Ok(SourceFiles { wanted: 1, ..SourceFiles::default() })
}

fn of_folder<'s>(
    path: &Path,
    wants: &dyn Fn(&str) -> bool,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> SourceFiles {
    let mut files = SourceFiles::default();
    for file in files_below(path) {
        if sink.is_over() {
            break;
        }
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        if !only(&name) {
            continue;
        }
        if !wants(&name) {
            files.note_other(&name);
            sink.leave_out(unwanted(&name));
            continue;
        }
        files.wanted += 1;
        match File::open(&file) {
            Ok(opened) => {
                let at_ms = opened.metadata().ok().as_ref().and_then(changed);
                let mut counted = CountedSource { from: opened, bytes: Rc::clone(bytes) };
                let place = file.to_string_lossy().into_owned();
                each(FoundFile { name, place, at_ms, from: &mut counted }, sink);
            }
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("{name} cannot be read: {error}"));
            }
        }
    }
    files
}

/// The files of a folder, in the order of their names: none that is hidden, and none by way of a link.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![(folder.to_owned(), 0)], Vec::new());
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if is_hidden(&entry.file_name().to_string_lossy()) {
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
