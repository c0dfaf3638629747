//! Over every engine.

mod contract;
mod partial;
