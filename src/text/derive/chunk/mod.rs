//! Cuts a note into chunks: what is embedded, searched and cited. Pure.
//!
//! A chunk stays within one heading's section and is made of whole blocks where they fit. Its boundaries depend on the
//! text near them alone, so that an edit changes the chunks around it and no others; `cuts` shows why.

mod chunker;
mod id;
mod remove;
mod split;
mod turn;

pub use chunker::{Bounds, Chunk, chunk, chunk_within, cut_heading};
pub(crate) use id::ChunkId;
pub use id::token_estimate;
pub(crate) use remove::Remainder;
pub use remove::{RemoveError, without_chunk, without_lines};
pub(crate) use turn::{
    CONVERSATIONS, Speakers, begins as begins_turn, goes_on_and_begins, is_said, mark as turn_mark, speaker_term,
    turn_start,
};
