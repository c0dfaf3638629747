//! tantivy's files without a sync to disk at every commit.
//!
//! A commit of tantivy makes about 19 fsyncs, which is most of what saving a note would cost. The index is derived, and a
//! start after an unclean stop of the machine rebuilds it, so nothing is gained by them. A killed process loses nothing:
//! what it wrote is in the system's cache.
//!
//! tantivy gives each file of a segment a checksum, but not the files that name the segments. Those get theirs here.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use crate::base::fs::crash;

/// A folder, memory-mapped for reading, written without syncing.
#[derive(Debug, Clone)]
pub(super) struct UnsyncedDirectory {
    folder: PathBuf,
    mapped: MmapDirectory,
}

impl UnsyncedDirectory {
    pub(super) fn open(folder: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { folder: folder.to_owned(), mapped: MmapDirectory::open(folder)? })
    }
}

const SEAL_BYTES: usize = 17;

/// What ends a file that is written in one step: 16 hex digits of the BLAKE3 of what is before, and a new line.
fn seal(data: &[u8]) -> [u8; SEAL_BYTES] {
    let mut seal = [b'\n'; SEAL_BYTES];
    seal[..16].copy_from_slice(&blake3::hash(data).to_hex().as_bytes()[..16]);
    seal
}

/// A file that is whole once it is flushed.
struct UnsyncedFile(File);

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}

impl Directory for UnsyncedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        crash::point("words-file-deleting");
        self.mapped.delete(path)?;
        // tantivy 0.27 keeps the name of every file it has ever mapped, a kilobyte a commit; asked what it keeps, it first drops
        // those that are mapped no more.
        self.mapped.get_cache_info();
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let target = self.folder.join(path);
        let open = || File::options().write(true).create_new(true).open(&target);
        let opened = match open() {
            // No commit has it, or it would not be written: a process that was killed before its commit left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&target).and_then(|()| open())
            }
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(BufWriter::new(Box::new(UnsyncedFile(file)))),
            Err(error) => Err(OpenWriteError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let sealed = self.mapped.atomic_read(path)?;
        match sealed.split_last_chunk::<SEAL_BYTES>() {
            Some((data, found)) if seal(data) == *found => Ok(data.to_owned()),
            _ => Err(OpenReadError::wrap_io_error(
                io::Error::new(io::ErrorKind::InvalidData, "it fails its checksum"),
                path.to_owned(),
            )),
        }
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let target = self.folder.join(path);
        let beside = target.with_extension("new");
        fs::write(&beside, [data, &seal(data)].concat())?;
        crash::point("words-meta-written");
        fs::rename(beside, target)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        match self.mapped.acquire_lock(lock) {
            // A reader's lock keeps writers off, of which a read-only disk has none.
            Err(LockError::IoError(error))
                if lock.filepath == META_LOCK.filepath && error.kind() == io::ErrorKind::ReadOnlyFilesystem =>
            {
                Ok(DirectoryLock::from(Box::new(())))
            }
            locked => locked,
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::allocator;

    #[test]
    fn files_that_are_gone_leave_nothing_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let directory = UnsyncedDirectory::open(folder.path()).unwrap();
        let lives = |name: String| {
            let path = Path::new(&name);
            let mut file = directory.open_write(path).unwrap();
            file.write_all(b"words").unwrap();
            file.terminate().unwrap();
            let mapped = directory.get_file_handle(path).unwrap();
            directory.delete(path).unwrap();
            assert_eq!(mapped.read_bytes(0..5).unwrap().as_slice(), b"words");
        };
        // Tables grow at first.
        lives("first".into());
        let before = allocator::in_use();
        (0..500).for_each(|at| lives(format!("{at}.term")));
        let kept = allocator::in_use() - before;
        assert!(kept < 5_000, "{kept} bytes are kept of 500 files");
    }
}
