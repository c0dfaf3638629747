//! What other programs have kept of conversations, pages and notes, read as it lies there: exports, transcripts, folders. Pure but for the
//! files that it reads; nothing is taken for a path that stands in them.
//!
//! `read` takes a source, `walk` finds its files, and a reader for each form (`exports`, `transcripts`, `notes`) gives conversations and notes, one
//! after the other, never more than one of them at a time. `sink` has them cleaned (`clean`), cuts them into events as programs send them, and
//! counts. What it leaves out is counted with the reason, and what cannot be read keeps nothing else from being read.

mod clean;
mod exports;
mod json;
mod kinds;
mod messages;
mod notes;
mod read;
mod sink;
mod transcripts;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use clean::{said, said_in_events, without_recalled};
pub(crate) use kinds::{SourceKind, session_kind};
pub(crate) use read::{SessionTranscript, SessionTurn, read, session, session_id};
pub(crate) use sink::{ImportItem, ImportRepeats, ImportSink, ImportTally};
pub(crate) use walk::{is_beside_session, size};
