//! From a changed file to an answer: the engine and its contract, the sync that feeds it, the search that asks it.

pub mod engine;
pub mod local;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod search;
pub mod sync;
