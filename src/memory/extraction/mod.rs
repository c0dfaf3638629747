//! What a chat model finds in conversations: entries, which wait for the person, and summaries.
//!
//! ```text
//! a conversation, quiet for a while ─▶ job ─▶ one question ─▶ answer ─▶ checked against its lines ─▶ proposals, summary ─▶ marked as done
//! ```
//!
//! `lane` finds what waits and goes through that, a job at a time; `ask` asks, within the limits of a day, and says what becomes of the job where
//! it could not; `keep` writes. A job is taken, asked about, written and marked, in this order: who is killed in
//! between asks once more at most, and writes nothing twice, as what is proposed again is known. What agents tell of their work goes the same way,
//! for the memory of each, in parts (`librarian`). The use cases of the person are in `processing`.

mod ask;
mod keep;
mod lane;
mod librarian;
mod processing;

pub(crate) use lane::{Extraction, extract};
pub(crate) use processing::clear;
