//! Reads one file, whole or not at all.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::home::Stamp;
use crate::base::path::VaultPath;

/// A note as read.
#[derive(Debug)]
pub struct Source {
    /// Its text.
    pub text: String,
    /// What the file system said of the file before and after it was read.
    pub stamp: Stamp,
    /// BLAKE3 of its bytes.
    pub hash: blake3::Hash,
}

/// Why a note was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not there (any more).
    #[error("the file no longer exists")]
    Gone,
    /// It changed while it was read: read it again a little later.
    #[error("the file changed while it was read")]
    Changing,
    /// It is something else than a file, or too large, or not text, or may not be read. The sentence says which.
    #[error("{0}")]
    Unfit(String),
}

/// A file as read, whatever it is.
#[derive(Debug)]
pub(crate) struct FileBytes {
    on_disk: PathBuf,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// What the file system said of the file before and after it was read.
    pub(crate) stamp: Stamp,
    /// BLAKE3 of its bytes.
    pub(crate) hash: blake3::Hash,
}

impl FileBytes {
    /// Whether the file is still as it was read.
    pub(crate) fn is_as_read(&self) -> bool {
        self.on_disk.symlink_metadata().is_ok_and(|meta| Stamp::of(&meta) == self.stamp)
    }

    /// The file as a text.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn text(self) -> Result<Source, ReadError> {
        let Self { bytes, stamp, hash, .. } = self;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            ReadError::Unfit(format!("not UTF-8 text (byte {at})"))
        })?;
        Ok(Source { text, stamp, hash })
    }
}

fn failed(error: std::io::Error) -> ReadError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ReadError::Gone,
        _ => ReadError::Unfit(format!("cannot be read: {error}")),
    }
}

/// Reads the file at `path`; never waits for a FIFO, never follows a symbolic link.
///
/// # Errors
/// When the file no longer exists, is being written, or is not fit to be read.
pub(crate) fn read_file(root: &Path, path: &VaultPath, max_bytes: u64) -> Result<FileBytes, ReadError> {
    let on_disk = path.on_disk(root);
    let meta = on_disk.symlink_metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(if meta.is_dir() { ReadError::Gone } else { ReadError::Unfit("not a regular file".into()) });
    }
    if meta.len() > max_bytes {
        let message = format!("{} bytes; at most {max_bytes} are indexed", meta.len());
        return Err(ReadError::Unfit(message));
    }
    let mut file = open(&on_disk).map_err(failed)?;
    let stamp = Stamp::of(&file.metadata().map_err(failed)?);
    let mut bytes = Vec::with_capacity(stamp.size as usize + 1);
    (&mut file).take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if Stamp::of(&file.metadata().map_err(failed)?) != stamp || bytes.len() as u64 != stamp.size {
        return Err(ReadError::Changing);
    }
    let hash = blake3::hash(&bytes);
    Ok(FileBytes { on_disk, bytes, stamp, hash })
}

/// Reads the note at `path`, as [`read_file`] does.
///
/// # Errors
/// As [`read_file`], and when it is no text.
pub(crate) fn read(root: &Path, path: &VaultPath, max_bytes: u64) -> Result<Source, ReadError> {
    read_file(root, path, max_bytes)?.text()
}

/// The same, of a file of which each line stands for itself: lines that are no UTF-8 are empty in the text. Gives them, too, from 1.
///
/// # Errors
/// As [`read_file`].
pub(crate) fn read_lines(root: &Path, path: &VaultPath, max_bytes: u64) -> Result<(Source, Vec<usize>), ReadError> {
    let FileBytes { bytes, stamp, hash, .. } = read_file(root, path, max_bytes)?;
    let (text, bad) = text_lines(bytes);
    Ok((Source { text, stamp, hash }, bad))
}

/// The text of lines, and those that are no UTF-8, from 1: they are empty in it.
fn text_lines(bytes: Vec<u8>) -> (String, Vec<usize>) {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return (text, Vec::new()),
        Err(error) => error.into_bytes(),
    };
    let (mut text, mut bad) = (String::with_capacity(bytes.len()), Vec::new());
    for (line, at) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        match std::str::from_utf8(line) {
            Ok(line) => text += line,
            Err(_) => {
                bad.push(at);
                text += if line.ends_with(b"\n") { "\n" } else { "" };
            }
        }
    }
    (text, bad)
}

/// The bytes of a file, whatever they are; never waits for a FIFO, never follows a symbolic link.
pub(super) fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    bytes_of(open(path)?, u64::MAX)
}

/// The bytes of a file of up to so many; never waits for a FIFO.
pub(super) fn read_short(path: &Path, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    bytes_of(open_with(path, rustix::fs::OFlags::NONBLOCK)?, max_bytes)
}

fn bytes_of(mut file: File, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > max_bytes {
        return Err(std::io::Error::other("not a regular file, or too large"));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    (&mut file).take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open(path: &Path) -> std::io::Result<File> {
    // A FIFO put in the file's place since it was looked at must not stop the reader, nor a link lead it away.
    open_with(path, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW)
}

fn open_with(path: &Path, flags: rustix::fs::OFlags) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read_in(root: &Path, name: &str) -> Result<Source, ReadError> {
        read(root, &VaultPath::new(name).unwrap(), 2000)
    }

    #[test]
    fn reads_text_and_says_why_it_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("a.md"), "héllo").unwrap();
        fs::write(root.join("bytes.md"), [b'a', 0xff]).unwrap();
        fs::write(root.join("big.md"), vec![b'a'; 3000]).unwrap();
        fs::create_dir(root.join("folder.md")).unwrap();
        assert_eq!(read_in(root, "a.md").unwrap().text, "héllo");
        let reason = |name: &str| read_in(root, name).unwrap_err().to_string();
        assert_eq!(reason("bytes.md"), "not UTF-8 text (byte 1)");
        assert_eq!(reason("big.md"), "3000 bytes; at most 2000 are indexed");
        assert!(matches!(read_in(root, "gone.md"), Err(ReadError::Gone)));
        assert!(matches!(read_in(root, "a.md/b.md"), Err(ReadError::Gone)));
        assert!(matches!(read_in(root, "folder.md"), Err(ReadError::Gone)));
        std::os::unix::fs::symlink("a.md", root.join("link.md")).unwrap();
        assert_eq!(reason("link.md"), "not a regular file");
        let fifo = root.join("fifo.md");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(reason("fifo.md"), "not a regular file");
    }
}
