//! What a changed file brings to the index.

use std::ops::Deref;

use serde_json::{Map, Value};

use super::entry::FileInfo;
use crate::access::rules::is_agents;
use crate::base::path::VaultPath;
use crate::models::{ContentHash, Document};
use crate::text::derive::generated::is_generated;
use crate::text::derive::words::{Stemming, Words};
use crate::text::derive::{Chunk, Speakers, TextLanguage, is_said, other_names};
use crate::text::note::Note;

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
