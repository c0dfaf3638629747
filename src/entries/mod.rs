//! Entries, the working memory: look them up, add and change them, propose, and decide about proposals.

mod change;
mod input;
mod list;
mod propose;
mod review;
mod view;

pub(crate) use change::{edit, remove, rewrite};
pub(crate) use list::{count, entries};
pub(crate) use propose::add;
pub(crate) use review::{decide, review};
pub(crate) use view::problems;
