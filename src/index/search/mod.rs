//! From a query to hits with citations, in stages, each a value to the next:
//!
//! `query` (what was typed) → `respell` (words that nobody has) → `retrieve` (its vectors,
//! and the best chunks of the allowed files by words and by meaning, each scored on both; what was said token by token) → `fuse` (one score,
//! one order) → `rank` (what counts less; a note that is called so comes first) → the best, read by a model, in `assist` → `rank` again
//! (no file takes all places; how likely each answers) → the cut, in `run` → `window` (what stands around a hit) → `snippet`.
//!
//! Scope and filters become a set of files first, once. Ties are broken by path and line.

mod assist;
mod fuse;
mod query;
mod rank;
mod related;
mod respell;
mod retrieve;
mod run;
mod snippet;
#[cfg(test)]
mod tests;
mod visible;
mod window;

pub(crate) use assist::{Assistant, MaySend, Unassisted};
pub(crate) use query::condition_without_value;
pub use query::{OPERATORS, ParsedQuery};
pub(crate) use related::{Related, RelatedChunk, RelatedRequest, related};
pub(crate) use respell::{Correction, UnknownName, unknown_collection};
pub use run::{Degraded, Hit, SearchRequest, search};
pub(crate) use run::{Results, SearchHelp, assisted_search};
pub(crate) use snippet::snippet_around;
pub use snippet::{Highlighter, snippet};
pub(crate) use visible::has_by_itself;
#[cfg(feature = "postgres")]
pub(crate) use visible::without_private;
pub use visible::{Visible, subject};
pub use window::HitWindow;
