//! The contract of an engine: what keeps the derived stores of a vault and finds chunks in them.
//!
//! An [`Engine`] opens the stores; a [`Writer`] brings changes in, each call making the next generation, and publishes them,
//! with [`Upkeep`] for what keeps its stores sound; a [`Reader`] answers for one generation, which nothing changes any more. What decides
//! about an answer is here and not in an engine: which words a query has and in which order their parts of a score are added
//! ([`QueryTerms`]), the scores themselves in 64-bit floats over live chunks ([`Statistics`], [`TermWeight`]), how vectors are rounded
//! ([`rounded`]) and compared ([`QueryVector`]). So every engine gives the same hits, order and scores; `tests` hold `index/local`
//! against an exact one in memory.
//!
//! What is handed over is data, so that an engine may be on another machine: changes; a [`Filter`], which an engine [resolves](Reader::resolve). No type of a
//! store crosses the contract. What is written is named by paths and by [`ContentHash`], which mean the same elsewhere. Row ids are an engine's own: a reader gives them and is asked by them, no other engine knows them, and no answer shows
//! them.

mod bm25;
mod cosine;
mod error;
mod file;
mod file_set;
mod filter;
mod names;
mod reader;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub use bm25::Field;
pub(crate) use bm25::{
    FIELDS, PreparedWords, QueryTerms, ScoredChunk, Statistics, TermWeight, WeighedTerm, WeighedTerms, WordQuery,
    rounded_length,
};
pub use cosine::{Like, LikeWord, QueryVector, unpack};
pub(crate) use cosine::{pack, packed_bytes, rounded};
pub use error::EngineError;
pub(crate) use error::{Damage, unless_damaged};
pub(crate) use file::{ChunkEntry, ChunkWords, FileEntry, NewChunk, neighbours, words_of_file};
pub use file::{FileInfo, FileUpdate, embedded_context};
pub use file_set::FileSet;
pub(crate) use file_set::{FileTable, ones};
pub(crate) use filter::is_at_or_below;
pub use filter::{Condition, Filter, Predicate};
pub(crate) use names::Name;
pub(crate) use reader::ChunkText;
pub use reader::Reader;
pub use writer::{Check, Upkeep, Writer};
pub(crate) use writer::{Engine, Findings, PendingText};

pub(crate) use crate::models::ContentHash;
