//! The contract of an engine: what keeps the derived stores of a vault and finds chunks in them.
//!
//! An [`Engine`] opens the stores; a [`Writer`] brings changes in, each [`ChangeBatch`] making the next generation, and publishes them,
//! with [`Upkeep`] for what keeps its stores sound; a [`Reader`] answers for one generation, which nothing changes any more. What decides
//! about an answer is here and not in an engine: which words a query has and in which order their parts of a score are added
//! ([`QueryTerms`]), the scores themselves in 64-bit floats over live chunks ([`Statistics`], [`TermWeight`]), how vectors are rounded
//! ([`rounded`]) and compared ([`QueryVector`]). So every engine gives the same hits, order and scores; `tests` hold `engine_local`
//! against an exact one in memory.
//!
//! What is handed over is data, so that an engine may be on another machine: changes; a [`Filter`], which an engine [resolves](Reader::resolve); what [candidates](CandidateQuery) are asked for, in one call. No type of a
//! store crosses the contract. What is written is named by paths and by [`ContentHash`], which mean the same elsewhere. Row ids are an engine's own: a reader gives them and is asked by them, no other engine knows them, and no answer shows
//! them.

mod bm25;
mod candidates;
mod cosine;
mod entry;
mod error;
mod facets;
mod file_set;
mod filter;
mod query_terms;
mod reader;
#[cfg(test)]
pub(crate) mod tests;
mod update;
mod writer;

#[cfg(test)]
pub(crate) use bm25::FIELDS;
pub(crate) use bm25::{Statistics, TermWeight};
pub use candidates::{CandidateChunk, CandidateQuery, Candidates};
pub(crate) use candidates::{cut, sort_found};
pub use cosine::{Like, LikeWord, QueryVector, unpack};
pub(crate) use cosine::{pack, packed_bytes, rounded};
pub use entry::FileInfo;
pub(crate) use entry::{ChunkEntry, FileEntry};
pub use error::EngineError;
pub(crate) use error::{Damage, unless_damaged};
pub use file_set::FileSet;
pub(crate) use file_set::{FileTable, ones};
pub(crate) use filter::is_at_or_below;
pub use filter::{Condition, Filter, Predicate};
pub use query_terms::Field;
#[cfg(test)]
pub(crate) use query_terms::WeighedTerm;
pub(crate) use query_terms::{PreparedWords, QueryTerms, ScoredChunk, WeighedTerms, WordQuery};
pub(crate) use reader::ChunkText;
pub use reader::Reader;
pub use update::{FileUpdate, embedded_context};
pub(crate) use update::{NewChunk, first_heading};
pub use writer::{ChangeBatch, Check, Upkeep, Writer};
pub(crate) use writer::{Engine, Findings, PendingText};

#[cfg(test)]
pub(crate) use tests::rounded_length;

pub(crate) use crate::models::ContentHash;
