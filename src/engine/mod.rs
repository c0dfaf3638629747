//! The contract of an engine: what keeps the derived stores of a vault and finds chunks in them.
//!
//! An [`Engine`] opens the stores; a [`Writer`] brings changed files in and publishes generations, with [`Upkeep`] for what keeps
//! its stores sound; a [`Reader`] answers for one generation, which nothing changes any more. What decides about an answer is here and not in an engine: which words a query has and in which order
//! their parts of a score are added ([`QueryTerms`]), the scores themselves in 64-bit floats over live chunks
//! ([`Statistics`], [`TermWeight`]), how vectors are rounded ([`rounded`]) and compared ([`QueryVector`]). So every engine gives the
//! same hits, order and scores; `tests` hold `engine_local` against an exact one in memory.
//!
//! No type of a store crosses it. Row ids are an engine's own: no other engine knows them, and no answer shows them.

mod bm25;
mod condition;
mod cosine;
mod damage;
mod entry;
mod error;
mod facets;
mod file_set;
mod files;
mod filter;
mod label_index;
mod like;
mod open;
mod packed;
mod reader;
mod terms;
#[cfg(test)]
pub(crate) mod tests;
mod update;
mod upkeep;
mod writer;

pub(crate) use bm25::{B, BACKGROUND, K1, WEIGHTS, background_count};
#[cfg(test)]
pub(crate) use bm25::{FIELDS, rounded_length};
pub(crate) use bm25::{Statistics, TermWeight};
pub(crate) use condition::is_at_or_below;
pub use condition::{Condition, Wanted};
pub(crate) use cosine::{QueryVector, QueryVectorError};
pub(crate) use damage::Damage;
pub(crate) use entry::{ChunkEntry, FileEntry};
pub use error::EngineError;
pub use file_set::FileSet;
pub(crate) use files::FileTable;
pub use filter::Filter;
pub use like::{Like, LikeWord};
pub(crate) use open::Engine;
pub(crate) use packed::pack;
pub(crate) use packed::rounded;
pub use packed::unpack;
pub use reader::Reader;
pub(crate) use reader::{ChunkText, PreparedWords, ScoredChunk};
pub use terms::Field;
pub(crate) use terms::{QueryTerms, WordQuery};
pub(crate) use update::NewChunk;
pub use update::{FileUpdate, embedded_context};
pub(crate) use update::{UpdatePart, first_heading};
pub(crate) use upkeep::{Build, Built, Check, Findings, Upkeep};
pub(crate) use writer::{PendingText, Writer};

pub(crate) use crate::models::ContentHash;
