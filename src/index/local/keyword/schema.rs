//! tantivy's schema and its words, how an index is opened and its files checked, what its errors say, and its files, which are written
//! without a sync to disk at every commit.
//!
//! A commit of tantivy makes about 19 fsyncs, which is most of what saving a note would cost. The index is derived, and a
//! start after an unclean stop of the machine rebuilds it, so nothing is gained by them. A killed process loses nothing:
//! what it wrote is in the system's cache.
//!
//! tantivy gives each file of a segment a checksum, but not the files that name the segments. Those get theirs here.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexSettings, TantivyError};

use crate::base::fs::crash;
use crate::index::engine::{self, Damage, EngineError};
use crate::text::derive::words::BESIDE;

/// The index cannot be read, for the reason given.
pub(in crate::index::local) fn damaged(reason: impl Into<String>) -> EngineError {
    TantivyError::InternalError(reason.into()).into()
}

impl From<TantivyError> for EngineError {
    fn from(error: TantivyError) -> Self {
        // What tantivy says of a lock or a file that it does not get is about itself.
        let reason = match &error {
            TantivyError::LockFailure(LockError::IoError(error), _) => error.to_string(),
            TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
                format!("{}: {io_error}", filepath.display())
            }
            TantivyError::LockFailure(LockError::LockBusy, _) => "another process writes to it".into(),
            error => error.to_string(),
        };
        let reason = format!("the keyword index: {reason}");
        match is_damage(&error) {
            true => Self::damaged(reason.clone(), Damage::Words(reason)),
            false => Self::other(reason),
        }
    }
}

/// Whether the index's content is at fault, and not the disk, rights or another process.
fn is_damage(error: &TantivyError) -> bool {
    use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};
    // What tantivy says of a file that is not what it should be.
    let kinds = [InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof];
    match error {
        TantivyError::IoError(error) => kinds.contains(&error.kind()),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => kinds.contains(&io_error.kind()),
        TantivyError::OpenReadError(_)
        | TantivyError::DataCorruption(_)
        | TantivyError::DeserializeError(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::SchemaError(_)
        | TantivyError::FieldNotFound(_)
        | TantivyError::InternalError(_) => true,
        _ => false,
    }
}

/// Reads what tantivy has written. It panics on what it does not expect in its files: that is taken for damage, and a check says whether
/// it is. A panic elsewhere in a search says nothing of the index.
pub(in crate::index::local) fn reading<T>(read: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    let panicked = |_| Err(damaged("reading it failed unexpectedly"));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

/// The name under which [`SpaceTokenizer`] is registered.
const TOKENIZER: &str = "words";

/// The fields of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkFields {
    /// The chunk's row id.
    pub chunk: Field,
    /// Its file's row id.
    pub file: Field,
    /// Stems of the chunk and its neighbours.
    pub body: Field,
    /// Stems of title and heading path.
    pub heading: Field,
    /// Words of the chunk, with positions.
    pub own: Field,
    /// Who speak in the chunk, in a conversation. No score counts it.
    pub speaker: Field,
}

impl ChunkFields {
    pub(super) fn of(&self, field: engine::Field) -> Field {
        match field {
            engine::Field::Body => self.body,
            engine::Field::Heading => self.heading,
            engine::Field::Own => self.own,
        }
    }
}

fn schema() -> (Schema, ChunkFields) {
    let mut builder = Schema::builder();
    let text = |record| {
        let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(record);
        TextOptions::default().set_indexing_options(indexing)
    };
    let number: NumericOptions = (FAST | INDEXED).into();
    let fields = ChunkFields {
        chunk: builder.add_u64_field("chunk", number.clone()),
        file: builder.add_u64_field("file", number),
        body: builder.add_text_field("body", text(IndexRecordOption::WithFreqs)),
        heading: builder.add_text_field("heading", text(IndexRecordOption::WithFreqs)),
        own: builder.add_text_field("own", text(IndexRecordOption::WithFreqsAndPositions)),
        speaker: builder.add_text_field("speaker", text(IndexRecordOption::Basic)),
    };
    (builder.build(), fields)
}

/// tantivy's lists of the segments, and of all files.
const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";

/// Opens the index in a folder, or makes a new one when there is none.
pub(super) fn open(folder: &Path) -> Result<(Index, ChunkFields), EngineError> {
    // Without this list nothing is ever removed.
    if folder.join(META).exists() && !folder.join(MANAGED).is_file() {
        return Err(damaged(format!("{MANAGED} is missing")));
    }
    let (schema, fields) = schema();
    let directory = UnsyncedDirectory::open(folder).map_err(TantivyError::from)?;
    let index = if Index::exists(&directory).map_err(TantivyError::from)? {
        Index::open(directory)?
    } else {
        let made = Index::create(directory, schema.clone(), IndexSettings::default())?;
        crash::point("words-made");
        made
    };
    if index.schema() != schema {
        return Err(TantivyError::SchemaError("it was made by another version".into()).into());
    }
    index.tokenizers().register(TOKENIZER, SpaceTokenizer::default());
    Ok((index, fields))
}

/// Compares the files of an index with their checksums, one after the other. Gives nothing when `go_on`, which is called after each, says no.
///
/// # Errors
/// When a file is damaged or cannot be read.
pub(in crate::index::local) fn check(
    index: &Index,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<()>, EngineError> {
    index.directory().atomic_read(Path::new(MANAGED)).map_err(TantivyError::from)?;
    for path in current_files(index)? {
        // What is gone from the disk may be mapped still, and would be read from there.
        let found = match index.directory().exists(&path).map_err(TantivyError::from)? {
            true => index.directory().validate_checksum(&path),
            false => Err(OpenReadError::FileDoesNotExist(path.clone())),
        };
        let wrong = match found {
            Ok(true) => None,
            Ok(false) => Some("fails its checksum".to_owned()),
            // A merge or a commit may have replaced the segment meanwhile.
            Err(OpenReadError::FileDoesNotExist(_)) if !current_files(index)?.contains(&path) => None,
            Err(OpenReadError::FileDoesNotExist(_)) => Some("is missing".to_owned()),
            Err(OpenReadError::IoError { io_error, .. }) => Some(format!("cannot be read: {io_error}")),
            Err(error) => return Err(TantivyError::from(error).into()),
        };
        if let Some(wrong) = wrong {
            return Err(damaged(format!("{} {wrong}", path.display())));
        }
        if !go_on() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// The files of the last commit. tantivy's list of its segments names all that a segment can have, the list of all files
/// those that there are.
fn current_files(index: &Index) -> Result<HashSet<PathBuf>, EngineError> {
    let mut files = index.load_metas()?.list_segment_files();
    let managed = index.directory().list_managed_files();
    files.retain(|path| managed.contains(path));
    Ok(files)
}

/// Splits at spaces.
#[derive(Debug, Clone, Default)]
pub(super) struct SpaceTokenizer {
    token: Token,
}

pub(super) struct SpaceStream<'a> {
    rest: &'a str,
    next_position: usize,
    token: &'a mut Token,
}

impl Tokenizer for SpaceTokenizer {
    type TokenStream<'a> = SpaceStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SpaceStream<'a> {
        self.token.reset();
        SpaceStream { rest: text, next_position: 0, token: &mut self.token }
    }
}

impl TokenStream for SpaceStream<'_> {
    fn advance(&mut self) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        self.rest = rest;
        self.token.position = self.next_position;
        self.token.text.clear();
        match word.strip_prefix(BESIDE) {
            Some(whole) => self.token.text.push_str(whole),
            None => {
                self.token.text.push_str(word);
                self.next_position += 1;
            }
        }
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

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
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::text::derive::words::Stemming;

    #[test]
    fn positions_are_kept() {
        let words = Stemming::new(StemmerLanguage::English).words("Running serde_json runs");
        let mut tokenizer = SpaceTokenizer::default();
        let mut stream = tokenizer.token_stream(&words.plain);
        let mut positions = Vec::new();
        stream.process(&mut |token| positions.push((token.text.clone(), token.position)));
        let expected = [("running", 0), ("serde_json", 1), ("serde", 1), ("json", 2), ("runs", 3)];
        assert_eq!(positions, expected.map(|(word, position)| (word.to_owned(), position)));
    }
}

#[cfg(test)]
mod directory_tests {
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
