//! The keyword index: tantivy, holding for each chunk its row id, its file and its words, and nothing else.
//!
//! A chunk is three fields. `body` has the stems of its text and of its neighbours on either side, `heading` the stems of
//! title and heading path, `own` the unstemmed words of its text with positions, for phrases and so that the chunk
//! that holds a word comes before its neighbours. Stems are those of the note's language, marked with it where that is not the
//! configured one. Beside them `speaker` names who speak, in a conversation; no score counts it.

mod schema;
mod searcher;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use schema::{check, damaged, reading};
pub(crate) use searcher::KeywordSearcher;
pub use writer::{FORMAT, open_searcher};
pub(crate) use writer::{KeywordWriter, Payload, WordDocument};
