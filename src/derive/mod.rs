//! What is derived of a note: chunks, and the words of a text as every engine counts them, and which of them say nothing. Pure.

mod chunk;
pub(crate) mod stop_words;
pub mod words;

pub use chunk::{
    Bounds, Chunk, RemoveError, chunk, chunk_within, cut_heading, token_estimate, without_chunk, without_lines,
};
pub(crate) use chunk::{CONVERSATIONS, ChunkId, Remainder, begins_turn};
