//! A file and its chunks: what is known of them without asking a store, and what a changed one brings to the index.

use std::ops::{Deref, Range};

use serde_json::{Map, Value};

use super::bm25::{FIELDS, Statistics};
use super::reader::ChunkText;
use crate::access::rules::is_agents;
use crate::base::path::VaultPath;
use crate::models::{ContentHash, Document};
use crate::text::derive::generated::is_generated;
use crate::text::derive::words::{Stemming, Words};
use crate::text::derive::{Chunk, ChunkId, Label, Speakers, TextLanguage, is_said, other_names};
use crate::text::note::Note;
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

/// A file as read anew.
#[derive(Debug, Clone)]
pub struct FileUpdate {
    /// What is known of it.
    pub info: FileInfo,
    /// The frontmatter as JSON.
    pub metadata: String,
    /// What could not be read in it.
    pub problems: Vec<String>,
    /// Its chunks, in the order of the text.
    pub chunks: Vec<NewChunk>,
}

impl Deref for FileUpdate {
    type Target = FileInfo;

    fn deref(&self) -> &FileInfo {
        &self.info
    }
}

/// A chunk with its words.
#[derive(Debug, Clone)]
pub struct NewChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// The words of its text.
    pub own: Words,
    /// The words of title and heading path; of a note's first chunk those of its other names, too.
    pub heading: Words,
    /// Who speak in it, in a conversation.
    pub speakers: Vec<String>,
    /// The name of its embedding; `None` where there is nothing to embed.
    pub content: Option<ContentHash>,
}

impl NewChunk {
    /// Takes the words out of a chunk of the note with the given title, whose vectors are those of the file `within` alone. Of a
    /// conversation's chunk the tokens are kept.
    fn new(chunk: Chunk, title: &str, within: Option<&str>, keeps_tokens: bool, stemming: &mut Stemming) -> Self {
        let context = embedded_context(title, &chunk.heading_path);
        let own = stemming.words(chunk.body());
        let heading = stemming.words(&context);
        let content = (own.count + heading.count > 0).then(|| {
            let document = Document { context, text: chunk.prose().to_owned(), keeps_tokens };
            within.map_or_else(|| ContentHash::of(&document), |path| ContentHash::within(path, &document))
        });
        Self { own, heading, speakers: Vec::new(), content, chunk }
    }

    /// The chunks of a note with the words that they are found by, in the stems of its language.
    pub(crate) fn all(
        chunks: Vec<Chunk>,
        note: &Note,
        path: &VaultPath,
        language: Option<TextLanguage>,
        stemming: &mut Stemming,
    ) -> Vec<Self> {
        stemming.turn_to(language.and_then(TextLanguage::stemmer));
        let within = is_of_others(path, &note.metadata).then_some(path.as_str());
        let keeps_tokens = is_said(path.collection());
        let new = |chunk| Self::new(chunk, &note.title, within, keeps_tokens, stemming);
        let mut chunks: Vec<Self> = chunks.into_iter().map(new).collect();
        let mut speakers = Speakers::of(path.collection());
        for new in &mut chunks {
            new.speakers = speakers.next(new.chunk.body());
        }
        if let Some(first) = chunks.first_mut() {
            let others = other_names(&note.title, path.stem(), &note.tags, &note.metadata);
            first.heading = stemming.words(&first_heading(&note.title, &first.chunk.heading_path, &others));
        }
        chunks
    }
}

/// Whether somebody else than the person may have chosen what a file says: an agent, a program that sends events, who wrote a page that
/// was clipped. If such a text had the vector of the same text elsewhere, whoever searches it at once would learn by its score that a
/// hidden note says just that.
fn is_of_others(path: &VaultPath, metadata: &Map<String, Value>) -> bool {
    is_agents(path.as_str()) || metadata.contains_key("source") || is_generated(metadata)
}

/// The words that a chunk is found by.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkWords {
    /// The words of its text.
    pub(crate) own: Words,
    /// Those of where it stands; of a note's first chunk those of its other names, too.
    pub(crate) heading: Words,
    /// Who speak in it.
    pub(crate) speakers: Vec<String>,
}

/// The words of a file's chunks anew, from what a store keeps of them, in their order. A text that is missing has none.
pub(crate) fn words_of_file<'t>(
    file: &FileEntry,
    metadata: &Map<String, Value>,
    texts: impl Iterator<Item = Option<&'t ChunkText>>,
    stemming: &mut Stemming,
) -> Vec<ChunkWords> {
    let mut speakers = Speakers::of(file.path.collection());
    let words = texts.enumerate().map(|(at, text)| {
        let Some(text) = text else { return ChunkWords::default() };
        let others = || other_names(&file.title, file.path.stem(), &file.tags, metadata);
        let heading = match at {
            0 => first_heading(&file.title, &text.heading_path, &others()),
            _ => embedded_context(&file.title, &text.heading_path),
        };
        let body = text.text.get(text.body_start..).unwrap_or_default();
        ChunkWords { own: stemming.words(body), heading: stemming.words(&heading), speakers: speakers.next(body) }
    });
    words.collect()
}

/// A chunk and its neighbours on either side, whose words its body has.
pub(crate) fn neighbours(at: usize, count: usize) -> Range<usize> {
    at.saturating_sub(1)..(at + 2).min(count)
}

/// What the heading field of a note's first chunk holds: where it stands, and the note's [other names](other_names).
pub(crate) fn first_heading(title: &str, heading_path: &[String], others: &str) -> String {
    format!("{}\n{others}", embedded_context(title, heading_path))
}

/// Where a chunk stands, as the model reads it and the heading field holds it: `title > heading > heading`. A first
/// heading that is the title is not said twice.
pub fn embedded_context(title: &str, heading_path: &[String]) -> String {
    let headings = match heading_path.split_first() {
        Some((first, rest)) if first == title => rest,
        _ => heading_path,
    };
    let parts: Vec<&str> = std::iter::once(title).chain(headings.iter().map(String::as_str)).collect();
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" > ")
}
