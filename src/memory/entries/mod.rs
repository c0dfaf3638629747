//! Entries, the working memory: look them up, add and change them, propose, and decide about proposals.

mod read;
mod review;
mod write;

pub(crate) use read::{count, entries, problems};
pub(crate) use review::{decide, review};
pub(crate) use write::{add, edit, remove, rewrite};
