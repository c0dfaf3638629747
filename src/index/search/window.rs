//! The stage after the cut: what stands around a hit. In a conversation a question has its answer in the turns after it, which
//! often have none of its words. Hits whose windows overlap become one.

use std::collections::BTreeMap;

use super::retrieve::Retriever;
use crate::index::engine::{ChunkText, EngineError, FileEntry};
use crate::text::derive::{CONVERSATIONS, begins_turn};

/// Turns on either side of a hit in a conversation, when nobody says how many.
const TURNS: usize = 2;
/// Maximum number of characters that a window adds to a chunk, of what is after it rather than of what is before. A chunk that does not fit is
/// left out whole.
const MAX_CHARS: usize = 2_000;
/// Maximum number of chunks that are looked through, backwards, for the beginning of a turn.
const MAX_BACK: usize = 64;

/// The chunks around one that was found, by their places in the note.
#[derive(Debug, Clone, Default)]
pub struct HitWindow {
    own: usize,
    around: BTreeMap<usize, ChunkText>,
}

impl HitWindow {
    /// Whether it shows nothing but the chunk itself.
    pub fn is_empty(&self) -> bool {
        self.around.is_empty()
    }

    /// What stands before the chunk, and after it.
    pub fn texts(&self) -> (String, String) {
        (joined(self.around.range(..self.own)), joined(self.around.range(self.own..)))
    }

    /// The lines of all of it, given those of the chunk.
    pub fn lines(&self, own: (u32, u32)) -> (u32, u32) {
        let lines = self.around.values().map(|chunk| chunk.lines);
        lines.fold(own, |one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    fn ends(&self) -> (usize, usize) {
        let [first, last] = [self.around.first_key_value(), self.around.last_key_value()];
        let place = |found: Option<(&usize, _)>| found.map_or(self.own, |(at, _)| *at);
        (place(first).min(self.own), place(last).max(self.own))
    }

    /// Whether the chunk that another one is around is in this one.
    pub(super) fn shows(&self, other: &Self) -> bool {
        self.around.contains_key(&other.own)
    }

    /// Whether a chunk is in both. A window has no holes.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (one, other) = (self.ends(), other.ends());
        one.0 <= other.1 && other.0 <= one.1
    }

    /// Takes in another one, and the chunk that it is around.
    pub(super) fn merge(&mut self, other: Self, chunk: ChunkText) {
        self.around.extend(other.around);
        self.around.insert(other.own, chunk);
        self.around.remove(&self.own);
    }
}

/// Texts one after the other: on lines of their own, with a blank one between them where the note has one.
fn joined<'a>(chunks: impl Iterator<Item = (&'a usize, &'a ChunkText)>) -> String {
    let (mut text, mut end) = (String::new(), 0);
    for (_, chunk) in chunks {
        if !text.is_empty() {
            text.push_str(if chunk.lines.0 > end + 1 { "\n\n" } else { "\n" });
        }
        text.push_str(&chunk.text);
        end = chunk.lines.1;
    }
    text
}

/// Makes the windows of one search.
pub(super) struct HitWindows<'a> {
    pub(super) retriever: &'a Retriever<'a>,
    /// How many are asked for on either side.
    pub(super) context: Option<usize>,
    /// Why one could not be read.
    pub(super) damage: Option<String>,
}

impl HitWindows<'_> {
    /// What stands around a chunk of a note.
    pub(super) fn around(&mut self, file: &FileEntry, own: usize, chunk: &ChunkText) -> Result<HitWindow, EngineError> {
        let mut window = HitWindow { own, around: BTreeMap::new() };
        let collection = file.path.collection();
        let in_turns = collection == CONVERSATIONS;
        let most = self.context.unwrap_or(if in_turns { TURNS } else { 0 });
        if most == 0 {
            return Ok(window);
        }
        let begins = |chunk: &ChunkText| {
            let body = chunk.text.get(chunk.body_start..).unwrap_or_default();
            usize::from(!in_turns || body.lines().any(|line| begins_turn(collection, line)))
        };
        // Of a turn that is several chunks, what is before the one that was found is part of it.
        let Some(start) = self.start(file, own, chunk, begins)? else { return Ok(window) };
        let mut half = MAX_CHARS / 2;
        let mut first = own;
        while first > start {
            let Some(before) = self.read(file, first - 1, &mut half)? else { break };
            first -= 1;
            window.around.insert(first, before);
        }
        let mut room = MAX_CHARS / 2 + half;
        let mut turns = 0;
        for at in own + 1..file.chunks.len() {
            let Some(next) = self.read(file, at, &mut room)? else { break };
            turns += begins(&next);
            if turns > most {
                break;
            }
            window.around.insert(at, next);
        }
        let mut turns = 0;
        while first > 0 && first <= start && turns < most {
            let Some(before) = self.read(file, first - 1, &mut room)? else { break };
            first -= 1;
            turns += begins(&before);
            window.around.insert(first, before);
        }
        Ok(window)
    }

    /// Where the turn of a chunk begins; `None` where it is in none, as what stands among conversations and is no conversation.
    fn start(
        &mut self,
        file: &FileEntry,
        own: usize,
        chunk: &ChunkText,
        begins: impl Fn(&ChunkText) -> usize,
    ) -> Result<Option<usize>, EngineError> {
        if begins(chunk) > 0 {
            return Ok(Some(own));
        }
        for at in (0..own).rev().take(MAX_BACK) {
            let Some(before) = self.read(file, at, &mut { usize::MAX })? else { break };
            if begins(&before) > 0 {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// A chunk of a note, as far as there is room; `None` where it cannot be read.
    fn read(&mut self, file: &FileEntry, at: usize, room: &mut usize) -> Result<Option<ChunkText>, EngineError> {
        let Some(row) = file.chunks.get(at).map(|chunk| chunk.row) else { return Ok(None) };
        match self.retriever.reader.chunk(row) {
            Ok(Some(chunk)) => {
                let left = room.checked_sub(chunk.text.chars().count());
                *room = left.unwrap_or(0);
                Ok(left.map(|_| chunk))
            }
            Ok(None) => Ok(None),
            Err(error) if error.is_damage() => {
                self.damage = Some(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
