//! What the tests of others compare an engine with.

pub(crate) mod exact;

use serde_json::Value;

use super::{FileInfo, FileUpdate, NewChunk};
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::text::derive::words::Stemming;
use crate::text::derive::{Label, TextLanguage, chunk};
use crate::text::note::{Note, sources};
use crate::vault::disk::Stamp;

impl FileUpdate {
    /// What a note with a text brings, as if it had just been read.
    pub(crate) fn of_text(path: &str, text: &str, language: StemmerLanguage) -> Self {
        let path = VaultPath::new(path).expect("a path of a note");
        let note = Note::parse(text, path.stem());
        let mut stemming = Stemming::new(language);
        let chunks = chunk(&path, &note, text);
        let language = TextLanguage::of_note(&note, text);
        let chunks = NewChunk::all(chunks, &note, &path, language, &mut stemming);
        let speakers = chunks.iter().flat_map(|chunk| &chunk.speakers);
        let info = FileInfo {
            labels: Label::all(&note, path.stem(), text, language.map(TextLanguage::code), speakers),
            stamp: Stamp { mtime_ns: 0, ctime_ns: 0, size: text.len() as u64, inode: 0 },
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            read_ns: 0,
            private: note.is_private(),
            title: note.title,
            tags: note.tags,
            doubtful: note.doubtful,
            sources: sources(&note.metadata),
            created_ms: note.created.map_or(0, |time| time.as_millisecond()),
            updated_ms: note.updated.map_or(0, |time| time.as_millisecond()),
            path,
        };
        let metadata = Value::Object(note.metadata).to_string();
        Self { info, metadata, chunks, problems: Vec::new() }
    }
}
