//! Facts, which have one right answer: look them up, as of any day, and set them.

mod read;
mod task;
mod write;

pub(crate) use read::facts;
pub(crate) use task::keep_facts;
pub(crate) use write::{retract, set, unset};
