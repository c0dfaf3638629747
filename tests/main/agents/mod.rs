//! What agents see, and that it is all.

mod managing;
mod programs;
mod rules;
mod table;
mod world;

pub use table::{every_request, hidden_world};
