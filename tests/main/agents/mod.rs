//! What agents see, and that it is all.

mod managing;
mod rules;
mod table;
mod world;
