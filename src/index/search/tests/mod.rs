//! Over every engine.

mod assist;
mod contract;
mod foreign;
mod named;
#[cfg(feature = "postgres")]
mod on_postgres;
mod partial;
mod ranking;
mod steps;
mod tokens;
