//! Over every engine.

mod contract;
mod deep;
mod named;
mod partial;
