//! What a changed file brings to the index.

use std::ops::Deref;

use serde_json::{Map, Value};

use super::entry::{FileEntry, FileInfo};
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
    /// Its chunks, in the order of the text; of a part those that are new, after up to two that are there.
    pub chunks: Vec<NewChunk>,
    /// Which of its chunks these are.
    pub part: UpdatePart,
}

/// How many chunks before a part come with it: the last of those that are there has a neighbour now, so that its words are made anew, of
/// its other neighbour's too.
const BEFORE_PART: usize = 2;

/// Which of a file's chunks an update brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpdatePart {
    /// How many the engine has already, of parts before.
    pub(crate) kept: usize,
    /// Whether others come later.
    pub(crate) goes_on: bool,
}

impl Deref for FileUpdate {
    type Target = FileInfo;

    fn deref(&self) -> &FileInfo {
        &self.info
    }
}

impl FileUpdate {
    /// The place in the file of the first of `chunks`.
    fn first(&self) -> usize {
        self.part.kept.saturating_sub(BEFORE_PART)
    }

    /// How many chunks the file has once this is brought in.
    pub(crate) fn end(&self) -> usize {
        self.first() + self.chunks.len()
    }

    /// A chunk that comes with it, by its place in the file.
    pub(crate) fn chunk(&self, at: usize) -> &NewChunk {
        &self.chunks[at - self.first()]
    }

    /// Those that the engine does not have.
    pub(crate) fn new_chunks(&self) -> &[NewChunk] {
        &self.chunks[self.part.kept - self.first()..]
    }

    /// The first chunk that is written: the last one before a part has a neighbour now.
    pub(crate) fn first_written(&self) -> usize {
        self.part.kept.saturating_sub(1)
    }

    /// Takes out a part that brings so many of the new chunks. What is left follows on it.
    pub fn take_part(&mut self, chunks: usize) -> Self {
        let end = self.part.kept + chunks;
        let stay = end.saturating_sub(BEFORE_PART) - self.first();
        let left = self.chunks.split_off(stay);
        let mut chunks = std::mem::take(&mut self.chunks);
        chunks.extend_from_slice(&left[..end - self.first() - stay]);
        let part = Self { chunks, part: UpdatePart { goes_on: true, ..self.part }, ..self.clone() };
        (self.chunks, self.part.kept) = (left, end);
        part
    }

    /// What the index says of the file. One of which more is to come has no hash: it counts as one that has changed, whatever stops the
    /// next part from coming. It has its stamp, by which its other names are known.
    pub(crate) fn info_of_part(&self) -> FileInfo {
        let hash = if self.part.goes_on { [0; 32] } else { self.hash };
        FileInfo { hash, ..self.info.clone() }
    }

    /// Whether the file is as the part before has left it; a first part follows whatever was there.
    pub(crate) fn follows(&self, file: Option<&FileEntry>) -> bool {
        let kept = self.part.kept;
        if kept == 0 {
            return true;
        }
        file.is_some_and(|file| {
            let unfinished = !file.is_whole() && file.title == self.title && file.labels == self.labels;
            let before = || (self.first()..kept).all(|at| file.chunks[at].id == self.chunk(at).chunk.id);
            unfinished && file.chunks.len() == kept && before()
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;

    #[test]
    fn parts_have_each_chunk_and_those_beside_it() {
        let text: String = (0..9).map(|at| format!("# Head{at}\n\nword{at}\n\n")).collect();
        let whole = FileUpdate::of_text("a.md", &text, StemmerLanguage::English);
        for size in 1..whole.chunks.len() {
            let (mut left, mut seen) = (whole.clone(), Vec::new());
            while left.new_chunks().len() > size {
                let part = left.take_part(size);
                assert_eq!(
                    (part.part.kept, part.end(), part.info_of_part().hash),
                    (seen.len(), seen.len() + size, [0; 32])
                );
                seen.extend(part.new_chunks().iter().map(|new| new.chunk.id));
                for at in part.first_written().saturating_sub(1)..part.end() {
                    assert_eq!(part.chunk(at).chunk.id, whole.chunks[at].chunk.id);
                }
                assert!(part.chunks.len() <= size + BEFORE_PART, "what is there already is not sent");
            }
            seen.extend(left.new_chunks().iter().map(|new| new.chunk.id));
            assert_eq!(seen, whole.chunks.iter().map(|new| new.chunk.id).collect::<Vec<_>>());
            assert_eq!(left.info_of_part(), whole.info);
        }
    }
}
