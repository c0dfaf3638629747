//! Over every engine.

mod contract;
