//! tantivy's schema and how an index is opened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexSettings, TantivyError};

use super::directory::UnsyncedDirectory;
use super::tokenizer::SpaceTokenizer;
use crate::base::fs::crash;
use crate::index::engine;

/// The keyword index failed.
#[derive(Debug, thiserror::Error)]
#[error("the keyword index: {}", reason(.0))]
pub struct KeywordError(#[from] pub(super) TantivyError);

/// What tantivy says of a lock or a file that it does not get is about itself.
fn reason(error: &TantivyError) -> String {
    match error {
        TantivyError::LockFailure(LockError::IoError(error), _) => error.to_string(),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
            format!("{}: {io_error}", filepath.display())
        }
        TantivyError::LockFailure(LockError::LockBusy, _) => "another process writes to it".into(),
        error => error.to_string(),
    }
}

impl KeywordError {
    /// The index cannot be read, for the reason given.
    pub fn damaged(reason: impl Into<String>) -> Self {
        Self(TantivyError::InternalError(reason.into()))
    }

    /// Whether the index's content is at fault, and not the disk, rights or another process.
    pub fn is_damage(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};
        // What tantivy says of a file that is not what it should be.
        let kinds = [InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof];
        let of_content = |error: &std::io::Error| kinds.contains(&error.kind());
        match &self.0 {
            TantivyError::IoError(error) => of_content(error),
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => of_content(io_error),
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
}

/// Reads what tantivy has written. It panics on what it does not expect in its files: that is taken for damage, and a check says whether
/// it is. A panic elsewhere in a search says nothing of the index.
pub(in crate::index::local) fn reading<T>(read: impl FnOnce() -> Result<T, KeywordError>) -> Result<T, KeywordError> {
    let panicked = |_| Err(KeywordError::damaged("reading it failed unexpectedly"));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

impl From<OpenDirectoryError> for KeywordError {
    fn from(error: OpenDirectoryError) -> Self {
        Self(error.into())
    }
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
pub(super) const MANAGED: &str = ".managed.json";

/// Opens the index in a folder, or makes a new one when there is none.
pub(super) fn open(folder: &Path) -> Result<(Index, ChunkFields), KeywordError> {
    // Without this list nothing is ever removed.
    if folder.join(META).exists() && !folder.join(MANAGED).is_file() {
        return Err(KeywordError::damaged(format!("{MANAGED} is missing")));
    }
    let (schema, fields) = schema();
    let directory = UnsyncedDirectory::open(folder)?;
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
