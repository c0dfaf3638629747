//! The files of a source: one, those of a folder, or those of a zip archive, one after the other. What they are called there is a name and
//! no path.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use zip::ZipArchive;

use super::kinds::{BESIDE, HEAD_BYTES, NOT_IMPORTED, SourceKind, seems};
use super::notes::is_markdown;
use super::read::{Unnamed, one};
use super::sink::ImportSink;

/// A file that was found.
pub(super) struct FoundFile<'f> {
    /// What it is called, with the folders that it is in, below the source.
    pub(super) name: String,
    /// Where it is: the path of the file, or that of the archive with the name in it.
    pub(super) place: String,
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

/// What files a source has.
#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    /// How many were wanted.
    pub(super) wanted: usize,
    /// How many were not.
    pub(super) unwanted: usize,
    /// One of those by which the source may be known.
    pub(super) other: Option<String>,
    /// Whether some lie beside sessions, and are none.
    pub(super) has_copies: bool,
    /// A folder of it that is a vault, by its name.
    pub(super) vault: Option<String>,
}

impl SourceFiles {
    /// Notes a file that was not wanted, and why.
    pub(super) fn note_unwanted(&mut self, name: &str, reason: &str) {
        self.unwanted += 1;
        self.has_copies |= reason == BESIDE;
        let file = name.rsplit('/').next().unwrap_or_default();
        let is_telling = [".json", ".jsonl", ".md", ".markdown"].iter().any(|end| file.ends_with(end));
        if self.other.is_none() && is_telling && reason != BESIDE {
            self.other = Some(file.to_owned());
        }
    }
}

/// Whether a file is in a folder, or has a name, that programs keep hidden: `.obsidian`, `.trash`, what macOS puts into archives.
pub(super) fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part == "__MACOSX" || (part.starts_with('.') && !matches!(part, "." | "..")))
}

/// Whether a file is a copy that OpenClaw lays beside a session, or a session that it has put away, by its name: with or without folders.
pub(crate) fn is_beside_session(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.ends_with(".trajectory.jsonl")
        || [".checkpoint.", ".deleted.", ".reset."].iter().any(|mark| name.contains(mark))
}

/// Maximum number of folders within one another.
const MAX_DEPTH: usize = 32;
/// The folder that every vault has.
const VAULT_DIR: &str = ".vault";
/// Why a folder below a source is left out that is a vault.
const A_VAULT: &str = "this vault or another one";
/// Why what a link leads to is left out.
const A_LINK: &str = "links, which are not followed";
/// Why a folder is left out that lies deeper than folders are looked into.
const TOO_DEEP: &str = "folders more than 32 levels deep";

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

/// Reads each file of a kind, of a folder those alone for which `only` holds; `bytes` counts what was read.
///
/// # Errors
/// When the source cannot be opened, is neither a file nor a folder, or a file that is none of the kind.
pub(super) fn each_file(
    kind: SourceKind,
    path: &Path,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'_>,
) -> Result<SourceFiles, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let meta = fs::metadata(path).map_err(failed)?;
    // By whatever way it was named.
    let place = path.canonicalize().map_err(failed)?;
    if meta.is_dir() {
        fs::read_dir(&place).map_err(failed)?;
        return Ok(of_folder(kind, &place, only, bytes, sink));
    }
    // A pipe would be waited for.
    if !meta.is_file() {
        return Err(format!("{} is neither a file nor a folder", path.display()));
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
        sink.of_file(&name, |sink| files = of_zip(kind, counted, &place, at_ms, sink));
        return files;
    }
    // What is in a file tells it, but for notes: any text could be one.
    if kind.is_of_notes() && !is_markdown(&name) {
        let seems = seems(&name, &head).map(|seeming| format!("seems to be {}", seeming.said()));
        let seems = seems.unwrap_or_else(|| "is no note".into());
        let (what, kind, takes) = (path.display(), kind.name(), kind.takes());
        return Err(format!("{what} {seems}, and is not for `{kind}`, which takes {takes}"));
    }
    let place = place.to_string_lossy().into_owned();
    let found = FoundFile { name: name.clone(), place, at_ms, from: &mut counted };
    sink.of_file(&name, |sink| one(kind, Unnamed::ByBeginning, found, sink));
    Ok(SourceFiles { wanted: 1, ..SourceFiles::default() })
}

fn of_folder(
    kind: SourceKind,
    path: &Path,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'_>,
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
        if let Some(reason) = kind.why_not(&name) {
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
                let file = FoundFile { name: name.clone(), place, at_ms, from: &mut counted };
                one(kind, Unnamed::ByBeginning, file, sink);
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

/// Reads every wanted file of an archive.
///
/// # Errors
/// When the list of its files, which stands at its end, cannot be read.
fn of_zip(
    kind: SourceKind,
    from: impl Read + Seek,
    path: &Path,
    at_ms: Option<i64>,
    sink: &mut ImportSink<'_>,
) -> Result<SourceFiles, String> {
    let mut archive =
        ZipArchive::new(from).map_err(|_| format!("{} is incomplete: download it again", path.display()))?;
    let mut files = SourceFiles::default();
    for at in 0..archive.len() {
        if sink.is_over() {
            break;
        }
        let mut file = match archive.by_index(at) {
            Ok(file) => file,
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("a file of {} cannot be read: {error}", path.display()));
                continue;
            }
        };
        let name = file.name().to_owned();
        let name = if name.contains('/') { name } else { name.replace('\\', "/") };
        // A folder, or what programs keep beside what is yours.
        if name.ends_with('/') || is_hidden(&name) {
            continue;
        }
        if name.to_ascii_lowercase().ends_with(".zip") {
            sink.leave_out("archives within the archive");
            let what = "is an archive within the archive: unpack it, and import its content";
            sink.remark(format!("{name} {what}"));
        } else if let Some(reason) = kind.why_not(&name) {
            files.note_unwanted(&name, reason);
            sink.leave_out(reason);
        } else {
            files.wanted += 1;
            // A name in an archive is none of a path, whatever it begins with.
            let place = format!("{}/{name}", path.display());
            one(kind, Unnamed::ByBeginning, FoundFile { name, place, at_ms, from: &mut file }, sink);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::is_beside_session;

    #[test]
    fn a_copy_is_told_by_its_name_and_not_by_its_folder() {
        for name in [
            "s.trajectory.jsonl",
            "a/b/s.checkpoint.7.jsonl",
            "s.jsonl.reset.2026-01-05T10-00-00.000Z",
            "s.jsonl.deleted.2026-01-05T10-00-00.000Z",
        ] {
            assert!(is_beside_session(name), "{name}");
        }
        for name in ["s.jsonl", "my.reset.folder/s.jsonl", "checkpoint.jsonl", "trajectory.jsonl", ""] {
            assert!(!is_beside_session(name), "{name}");
        }
    }
}
