//! Summaries of conversations, and digests of days and weeks: the files in `summaries/`, the task that keeps them, and what is asked of them.
//!
//! A summary is made of its conversation alone, and a digest's file of the notes of its time alone: what else is in the vault moves no word
//! of theirs. Both name all that they were made of, and are seen where all of that is.

mod conversations;
mod digest;

pub(crate) use conversations::{keep_summaries, list, make};
pub(crate) use digest::{digest, write_digest};
