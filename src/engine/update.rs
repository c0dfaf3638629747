//! What a changed file brings to the index.

use std::ops::Range;

use super::entry::FileEntry;
use crate::derive::words::{Stemming, Words};
use crate::derive::{Chunk, Label, other_names};
use crate::models::{ContentHash, Document};
use crate::note::Note;
use crate::path::VaultPath;
use crate::vault::Stamp;

/// A file as read anew.
#[derive(Debug)]
pub struct FileUpdate {
    /// Where it is.
    pub path: VaultPath,
    /// What the file system said of it.
    pub stamp: Stamp,
    /// BLAKE3 of its bytes.
    pub hash: [u8; 32],
    /// When it was read, in nanoseconds since 1970.
    pub read_ns: i64,
    /// The note's title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// What may be meant as tags where none counts. They only hide.
    pub doubtful: Vec<String>,
    /// Whether only the owner sees it.
    pub private: bool,
    /// The paths of the notes that it was made of.
    pub sources: Vec<String>,
    /// What it may be asked for by, sorted: its names and its properties.
    pub labels: Box<[Label]>,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// Milliseconds since 1970.
    pub updated_ms: i64,
    /// The frontmatter as JSON.
    pub metadata: String,
    /// What could not be read in it.
    pub problems: Vec<String>,
    /// Its chunks, in the order of the text.
    pub chunks: Vec<NewChunk>,
}

/// Some chunks of a file, after those that the index has of it already.
#[derive(Debug, Clone)]
pub(crate) struct UpdatePart<'a> {
    pub(crate) update: &'a FileUpdate,
    pub(crate) chunks: Range<usize>,
}

impl<'a> UpdatePart<'a> {
    pub(crate) fn whole(update: &'a FileUpdate) -> Self {
        Self { update, chunks: 0..update.chunks.len() }
    }

    /// What the index says of the file's state. A file of which more is to come has no hash: it counts as one that has changed,
    /// whatever stops the next part from coming. It has its stamp, by which its other names are known.
    pub(crate) fn state(&self) -> (Stamp, [u8; 32]) {
        let whole = self.chunks.end == self.update.chunks.len();
        (self.update.stamp, if whole { self.update.hash } else { [0; 32] })
    }

    /// Whether the file is as the part before has left it; a first part follows whatever was there.
    pub(crate) fn follows(&self, file: Option<&FileEntry>) -> bool {
        let (update, start) = (self.update, self.chunks.start);
        let Some(last) = start.checked_sub(1) else { return true };
        file.is_some_and(|file| {
            let unfinished = !file.is_whole() && file.title == update.title;
            unfinished && file.chunks.len() == start && file.chunks[last].id == update.chunks[last].chunk.id
        })
    }

    /// The first chunk that is written: the last one before this part has a neighbour now.
    pub(crate) fn first_written(&self) -> usize {
        self.chunks.start.saturating_sub(1)
    }
}

/// A chunk with its words.
#[derive(Debug)]
pub struct NewChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// The words of its text.
    pub own: Words,
    /// The words of title and heading path; of a note's first chunk those of its other names, too.
    pub heading: Words,
    /// The name of its embedding; `None` where there is nothing to embed.
    pub content: Option<ContentHash>,
}

impl NewChunk {
    /// Takes the words out of a chunk of the note with the given title.
    pub fn new(chunk: Chunk, title: &str, stemming: &mut Stemming) -> Self {
        let context = embedded_context(title, &chunk.heading_path);
        let own = stemming.words(chunk.body());
        let heading = stemming.words(&context);
        let content = (own.count + heading.count > 0)
            .then(|| ContentHash::of(&Document { context, text: chunk.prose().to_owned() }));
        Self { own, heading, content, chunk }
    }

    /// The chunks of a note with the words that they are found by.
    pub(crate) fn all(chunks: Vec<Chunk>, note: &Note, stem: &str, stemming: &mut Stemming) -> Vec<Self> {
        let mut chunks: Vec<Self> = chunks.into_iter().map(|chunk| Self::new(chunk, &note.title, stemming)).collect();
        if let Some(first) = chunks.first_mut() {
            let others = other_names(&note.title, stem, &note.tags, &note.metadata);
            first.heading = stemming.words(&first_heading(&note.title, &first.chunk.heading_path, &others));
        }
        chunks
    }
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
impl FileUpdate {
    /// What a note with a text brings, as if it had just been read.
    pub(crate) fn of_text(path: &str, text: &str, language: crate::config::StemmerLanguage) -> Self {
        let path = VaultPath::new(path).expect("a path of a note");
        let note = Note::parse(text, path.stem());
        let mut stemming = Stemming::new(language);
        let chunks = crate::derive::chunk(&path, &note, text);
        let stamp = Stamp { mtime_ns: 0, ctime_ns: 0, size: text.len() as u64, inode: 0 };
        Self {
            chunks: NewChunk::all(chunks, &note, path.stem(), &mut stemming),
            labels: Label::all(&note, path.stem(), text),
            stamp,
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            read_ns: 0,
            private: note.is_private(),
            title: note.title,
            tags: note.tags,
            doubtful: note.doubtful,
            sources: crate::note::sources(&note.metadata),
            created_ms: note.created.map_or(0, |time| time.as_millisecond()),
            updated_ms: note.updated.map_or(0, |time| time.as_millisecond()),
            metadata: serde_json::Value::Object(note.metadata).to_string(),
            problems: Vec::new(),
            path,
        }
    }
}
