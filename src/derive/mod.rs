//! What is derived of a note: chunks, properties, links, the labels by which it is asked for, and the words of a text as every engine counts
//! them, with those that say nothing. Pure.

mod chunk;
mod common;
mod labels;
mod links;
mod properties;
pub(crate) mod stop_words;
pub mod words;

pub use chunk::{
    Bounds, Chunk, RemoveError, chunk, chunk_within, cut_heading, token_estimate, without_chunk, without_lines,
};
pub(crate) use chunk::{CONVERSATIONS, ChunkId, Remainder, begins_turn};
pub(crate) use common::CommonWords;
pub use labels::Label;
pub(crate) use links::{NoteLink, note_links, target_name, without_extension};
pub(crate) use properties::{other_names, property_names, values_of};
