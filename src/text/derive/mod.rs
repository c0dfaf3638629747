//! What is derived of a note: chunks, properties, links, its language, the labels by which it is asked for, and the words of a text as every engine counts
//! them, with those that say nothing. Pure.

pub(crate) mod calendar;
mod chunk;
pub(crate) mod code;
mod conversation;
pub(crate) mod entries;
pub(crate) mod extraction;
pub(crate) mod facts;
pub(crate) mod generated;
mod labels;
mod language;
mod links;
mod list_items;
mod machinery;
pub(crate) mod nearest;
mod properties;
mod relations;
mod said;
pub(crate) mod stop_words;
pub(crate) mod summary;
pub mod words;

pub use chunk::{
    Bounds, Chunk, RemoveError, chunk, chunk_within, cut_heading, token_estimate, without_chunk, without_lines,
};
pub(crate) use chunk::{
    CONVERSATIONS, ChunkId, Remainder, Speakers, begins_turn, goes_on_and_begins, is_said, speaker_term, turn_start,
};
pub(crate) use conversation::{lines_with_machinery, turns_of_thought};
pub(crate) use generated::{USER_FILE, UserPage, note_sources};
pub use labels::Label;
pub use language::TextLanguage;
pub(crate) use links::{note_links, target_name, without_extension};
pub(crate) use list_items::ItemEditError;
pub(crate) use machinery::{is_housekeeping, is_machine, is_silence, said_text, without_machinery};
pub(crate) use properties::{other_names, values_of, without_links};
pub(crate) use relations::{Relation, relations};
pub(crate) use said::{
    PlainText, TextBlock, TextPiece, is_a_sentence, is_a_text, parts_nothing, plain, readings, said, sentence_bounds,
};
pub(crate) use stop_words::CommonWords;
