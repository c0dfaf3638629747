//! What is known of a file and a chunk without asking a store.

use std::ops::Deref;

use super::bm25::{FIELDS, Statistics};
use crate::base::path::VaultPath;
use crate::models::ContentHash;
use crate::text::derive::{ChunkId, Label, TextLanguage, is_said};
use crate::vault::disk::Stamp;

/// What is known of a file beside its chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct FileInfo {
    /// Where it is.
    pub path: VaultPath,
    /// What the file system said of it when it was read.
    pub stamp: Stamp,
    /// BLAKE3 of its bytes.
    pub hash: [u8; 32],
    /// When it was read, in nanoseconds since 1970. A file changed within two seconds before may have changed again
    /// within the same tick of the file system's clock.
    pub read_ns: i64,
    /// The note's title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// What may be meant as tags where none counts. They only hide.
    pub doubtful: Vec<String>,
    /// Whether only the owner sees it.
    pub private: bool,
    /// The paths of the notes that it was made of, as its frontmatter names them.
    pub sources: Vec<String>,
    /// What it may be asked for by, sorted: its names, its properties, its language and who speaks in it.
    pub labels: Box<[Label]>,
    /// Milliseconds since 1970, from the frontmatter; of the last change on disk when it does not say.
    pub created_ms: i64,
    /// Milliseconds since 1970, likewise.
    pub updated_ms: i64,
}

/// A file as indexed.
#[derive(Debug, Clone, PartialEq)]
pub struct FileEntry {
    /// Row id, never given to another file.
    pub id: u32,
    /// What is known of it.
    pub info: FileInfo,
    /// Its chunks, in the order of the text.
    pub chunks: Vec<ChunkEntry>,
}

impl Deref for FileEntry {
    type Target = FileInfo;

    fn deref(&self) -> &FileInfo {
        &self.info
    }
}

impl FileEntry {
    /// Whether it is a conversation, so that its chunks are what somebody said; else they are prose.
    pub(crate) fn is_conversation(&self) -> bool {
        is_said(self.path.collection())
    }

    /// Whether it has a label.
    pub(crate) fn is_labelled(&self, label: Label) -> bool {
        self.labels.binary_search(&label).is_ok()
    }

    /// What the file adds to the statistics of a scope.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.chunks.iter().for_each(|chunk| statistics.add(chunk.words));
        statistics
    }

    /// The language that it is in, where that is sure.
    pub fn language(&self) -> Option<TextLanguage> {
        TextLanguage::of_labels(&self.labels)
    }

    /// The place of a chunk in the order of the text, given its row id.
    pub fn ordinal(&self, row: u64) -> Option<usize> {
        self.chunks.iter().position(|chunk| chunk.row == row)
    }
}

/// A chunk as indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkEntry {
    /// Row id, never given to another chunk.
    pub row: u64,
    /// Its name.
    pub id: ChunkId,
    /// Its first line, from 1.
    pub line: u32,
    /// The name of its embedding; `None` where there is nothing to embed.
    pub content: Option<ContentHash>,
    /// Words in body, heading and own text.
    pub words: [u32; FIELDS],
}
