//! Over every engine.

mod assist;
mod contract;
mod foreign;
mod named;
mod partial;
mod ranking;
mod steps;
mod tokens;
