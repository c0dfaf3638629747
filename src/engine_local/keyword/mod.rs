//! The keyword index: tantivy, holding for each chunk its row id, its file and its words, and nothing else.
//!
//! A chunk is three fields. `body` has the stems of its text and of its neighbours on either side, `heading` the stems of
//! title and heading path, `own` the unstemmed words of its text with positions, for phrases and so that the chunk
//! that holds a word comes before its neighbours.

mod bm25;
mod check;
mod directory;
mod merges;
mod schema;
mod searcher;
mod segments;
#[cfg(test)]
mod tests;
mod tokenizer;
mod writer;

pub use check::KeywordCheck;
pub use schema::KeywordError;
pub use searcher::{KeywordSearcher, Prepared};
pub use writer::{FORMAT, KeywordWriter, Payload, WordDocument, has_words, open_searcher};
