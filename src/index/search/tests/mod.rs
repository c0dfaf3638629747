//! Over every engine.

mod assist;
mod contract;
mod deep;
mod foreign;
mod named;
mod partial;
mod ranking;
mod steps;
