//! From a query to hits with citations, in stages, each a value to the next:
//!
//! `query` (what was typed, by `lines` and with `operators`) → `respell` (words that nobody has) → `expand` (other words
//! for it, by a chat model) → `meaning` (its vectors) → `retrieve` (the best chunks of the allowed
//! files by words and by meaning, each scored on both) → `fuse` (one score, one order) → `late` (of a deep search: the best token by token) →
//! `weigh` (what counts less) → `named` (a note that is called so comes first) → `rerank` (the best, read by a chat
//! model) → `diversify` (no file takes all places) → `relevance` and the cut, in `run` → `window` (what stands around a hit) → `snippet`.
//!
//! Scope and filters become a set of files first, once. Ties are broken by path and line.

mod asked;
mod candidate;
mod diversify;
mod expand;
mod fuse;
mod late;
mod named;
mod operators;
mod query;
mod related;
mod relevance;
mod rerank;
mod respell;
mod retrieve;
mod run;
mod snippet;
#[cfg(test)]
mod tests;
mod visible;
mod weigh;
mod window;

pub(crate) use asked::Results;
pub use asked::{Degraded, SearchRequest};
pub(crate) use expand::{AskedOnce, Assistant, MaySend, Unassisted};
pub use operators::OPERATORS;
pub use query::ParsedQuery;
pub(crate) use query::condition_without_value;
pub(crate) use related::{Related, RelatedChunk, RelatedRequest, related};
pub(crate) use respell::{Correction, UnknownName, unknown_collection};
pub use run::search;
pub(crate) use run::{SearchHelp, assisted_search};
pub(crate) use snippet::snippet_around;
pub use snippet::{Highlighter, snippet};
pub(crate) use visible::has_by_itself;
pub use visible::{Visible, subject};
pub use window::HitWindow;
