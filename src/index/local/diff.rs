//! How a file's chunks changed, and what that means for each store.

use std::collections::HashMap;
use std::sync::Arc;

use super::keyword::WordDocument;
use super::store::Store;
use crate::index::engine::{ChunkEntry, FileEntry, FileUpdate, Writer};
use crate::text::derive::words::Words;
use crate::text::derive::{CONVERSATIONS, TextLanguage, goes_on_and_begins};

/// How a file's chunks changed.
pub(super) struct Diff<'a> {
    pub(super) update: &'a FileUpdate,
    /// The file as it was, and as it is.
    pub(super) old: Option<Arc<FileEntry>>,
    pub(super) entry: FileEntry,
    /// Rows of chunks that are gone.
    pub(super) gone: Vec<u64>,
    /// Which chunks were not there before.
    pub(super) new: Vec<bool>,
    /// Which chunks the keyword index must take anew.
    pub(super) reword: Vec<bool>,
}

impl Store {
    /// Matches the chunks of a file with those it had, so that what stays keeps its row.
    pub(super) fn diff<'a>(&mut self, update: &'a FileUpdate) -> Diff<'a> {
        let old = self.file(&update.path).cloned();
        let mut rows: HashMap<_, _> =
            old.iter().flat_map(|old| &old.chunks).map(|chunk| (chunk.id, chunk.row)).collect();
        let (mut new, mut chunks) = (Vec::new(), Vec::with_capacity(update.chunks.len()));
        for (at, chunk) in update.chunks.iter().enumerate() {
            let near = update.chunks[neighbours(at, update.chunks.len())].iter().map(|near| near.own.count).sum();
            let row = rows.remove(&chunk.chunk.id);
            new.push(row.is_none());
            chunks.push(ChunkEntry {
                row: row.unwrap_or_else(|| self.catalog.new_chunk_id()),
                id: chunk.chunk.id,
                line: chunk.chunk.lines.0 as u32,
                content: chunk.content,
                words: [near, chunk.heading.count, chunk.own.count],
            });
        }
        let reword = reworded(old.as_deref(), update, &chunks, &new);
        let id = old.as_ref().map_or_else(|| self.catalog.new_file_id(), |old| old.id);
        let entry = FileEntry { id, info: update.info.clone(), chunks };
        Diff { update, gone: rows.into_values().collect(), old, entry, new, reword }
    }
}

/// Which chunks need new words: the new ones, those whose neighbours changed, the first when what else names the note did, and all
/// when the title or the language did.
fn reworded(old: Option<&FileEntry>, update: &FileUpdate, chunks: &[ChunkEntry], new: &[bool]) -> Vec<bool> {
    let is_same =
        |old: &&FileEntry| old.title == update.title && old.language() == TextLanguage::of_labels(&update.labels);
    let Some(old) = old.filter(is_same) else { return vec![true; chunks.len()] };
    let around = |chunks: &[ChunkEntry], at: usize| -> [Option<u64>; 2] {
        let row = |at: Option<usize>| at.and_then(|at| chunks.get(at)).map(|chunk| chunk.row);
        [row(at.checked_sub(1)), row(at.checked_add(1))]
    };
    let before: HashMap<u64, [Option<u64>; 2]> =
        (0..old.chunks.len()).map(|at| (old.chunks[at].row, around(&old.chunks, at))).collect();
    let renamed = old.labels != update.labels || old.tags != update.tags;
    let mut reword: Vec<bool> = (0..chunks.len())
        .map(|at| new[at] || (at == 0 && renamed) || before.get(&chunks[at].row) != Some(&around(chunks, at)))
        .collect();
    if update.path.collection() == CONVERSATIONS {
        // Whether another may have spoken last before the chunk: who speaks is said where the turn begins.
        let mut other_before = false;
        for at in 0..chunks.len() {
            let (goes_on, begins) = goes_on_and_begins(update.chunks[at].chunk.body());
            other_before |= reword[at];
            reword[at] |= other_before && goes_on;
            other_before = new[at] || (other_before && !begins);
        }
    }
    reword
}

/// A chunk and its neighbours on either side.
fn neighbours(at: usize, count: usize) -> std::ops::Range<usize> {
    at.saturating_sub(1)..(at + 2).min(count)
}

/// What the keyword index takes of the chunk `at` of a file.
pub(super) fn document<'a>(
    file: &FileEntry,
    at: usize,
    words: impl Fn(usize) -> (&'a Words, &'a Words, &'a [String]),
) -> WordDocument {
    let (own, heading, speakers) = words(at);
    let near: Vec<&str> = neighbours(at, file.chunks.len())
        .map(|near| words(near).0.stemmed.as_str())
        .filter(|words| !words.is_empty())
        .collect();
    WordDocument {
        chunk: file.chunks[at].row,
        file: file.id,
        body: near.join(" "),
        heading: heading.stemmed.clone(),
        own: own.plain.clone(),
        speakers: speakers.to_vec(),
    }
}
