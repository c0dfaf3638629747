//! From a query to hits with citations.
//!
//! Scope and filters become a set of files, once. Both sides, words and meaning, give their best chunks of those files;
//! every candidate is scored on both sides, the scores are fused, ties are broken by path and line, and the best are cut.

mod candidates;
mod filter;
mod fuse;
mod query;
mod run;
mod snippet;
mod visible;

pub use filter::Filter;
pub use query::ParsedQuery;
pub use run::{Degraded, Hit, Results, SearchError, SearchRequest, search};
pub use snippet::{Highlighter, snippet};
pub use visible::{Visible, subject};
