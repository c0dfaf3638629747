//! Whatever happens to the files, and however the news of it comes, the index answers as the files say: as a model in
//! memory of what is where does, and as an index made from nothing.
//!
//! The real watcher names what changed, and the test hands that to the indexer: late, twice, in any order, or never, and
//! then a rescan has to find it.

mod engine;
mod op;
mod property;
mod regressions;
mod text;
mod tree;
