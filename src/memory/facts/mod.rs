//! Facts, which have one right answer: look them up, as of any day, and set them.

mod read;
mod write;

pub(in crate::memory) use read::one;
pub(crate) use read::{facts, keep_facts};
pub(crate) use write::{retract, set, set_window, unset};
