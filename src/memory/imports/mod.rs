//! What other programs have kept of conversations, pages and notes, read as it lies there: exports, transcripts, folders. Pure but for the
//! files that it reads; nothing is taken for a path that stands in them.
//!
//! `source` takes a source and finds its files, and a reader for each form (`conversations`, `kinds`) gives conversations and notes, one after
//! the other, never more than one of them at a time. `sink` has them cleaned (`clean`), cuts them into events as programs send them, and
//! counts. What it leaves out is counted with the reason, and what cannot be read keeps nothing else from being read.

mod clean;
mod conversations;
mod json;
mod kinds;
mod sink;
mod source;

#[cfg(test)]
mod tests;

pub(crate) use clean::{said_in_events, without_recalled};
pub(crate) use kinds::{SourceKind, session_kind};
pub(crate) use sink::{ImportItem, ImportRepeats, ImportSink, ImportTally, is_address};
pub(crate) use source::{SessionTranscript, SessionTurn, is_beside_session, kind_of_file, read, session};
