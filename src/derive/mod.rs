//! What is derived of a note: chunks, and the words of a text as every engine counts them. Pure.

mod chunk;
pub mod words;

pub use chunk::{
    Bounds, Chunk, RemoveError, chunk, chunk_within, cut_heading, token_estimate, without_chunk, without_lines,
};
pub(crate) use chunk::{ChunkId, Remainder};
