//! What a chat model finds in conversations: entries, which wait for the person, and summaries; and the short texts of digests.
//!
//! ```text
//! a conversation, quiet for a while ─▶ job ─▶ one question ─▶ answer ─▶ checked against its lines ─▶ proposals, summary ─▶ marked as done
//! ```
//!
//! `lane` goes through that, a job at a time; `sessions` finds the conversations that wait; `ask` asks, within the limits of a day, and says
//! why it could not; `unanswered` says what becomes of the job then; `keep` and `summary` write. A job is taken, asked about, written and marked, in this order: who is killed in
//! between asks once more at most, and writes nothing twice, as what is proposed again is known. `digest` goes the same way with the pages of
//! days and weeks, `librarian` goes the same way with what
//! agents tell of their work, for the memory of each, in the parts that `trace_parts` makes. The use cases of the person
//! are in `processing` and `clear`.

mod ask;
mod clear;
mod digest;
mod keep;
mod lane;
mod librarian;
mod librarian_view;
mod processing;
mod sessions;
mod summary;
mod task;
mod trace_parts;
mod unanswered;

pub(crate) use clear::clear;
pub(crate) use lane::Extraction;
pub(crate) use task::extract;
