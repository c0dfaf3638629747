//! What other programs have kept of conversations, pages and notes, read as it lies there: exports, transcripts, folders. Pure but for the
//! files that it reads; nothing is taken for a path that stands in them.
//!
//! A reader gives events, as programs send them, and notes, one after the other, and never holds more than a conversation of them. What
//! it leaves out is counted with the reason, and what cannot be read keeps nothing else from being read.

mod bookmarks;
mod chat_lines;
mod chatgpt;
mod claude;
mod claude_code;
mod claw;
mod codex;
mod elements;
mod found;
mod held;
mod item;
mod lines;
mod markdown;
mod moments;
mod parts;
mod read;
mod repeats;
mod said;
mod seems;
mod session;
mod sink;
mod tags;
mod tools;
mod unpack;

#[cfg(test)]
mod tests;

pub(crate) use item::{ImportItem, SourceKind, session_kind};
pub(crate) use parts::is_beside_session;
pub(crate) use read::{ImportTally, read, read_some};
pub(crate) use repeats::ImportRepeats;
pub(crate) use session::{SessionTranscript, SessionTurn, session, session_id};
pub(crate) use sink::ImportSink;
pub(crate) use unpack::size;
