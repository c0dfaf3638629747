//! Entries, the working memory: look them up, add and change them, propose, and decide about proposals.

mod read;
mod write;

pub(crate) use read::{count, entries, problems};
pub(crate) use write::{add, decide, edit, remove, review, rewrite};
