//! What programs tell of the person's day: conversations, files, searches, pages. From events to Markdown.
//!
//! An event is checked, secrets are taken out, and it is safe in a queue before its sender hears of it. A thread of its own
//! brings it from there into its file, exactly once, whatever happens in between.

mod check;
mod drafts;
mod event;
mod events;
mod forgotten;
mod frontmatter;
mod import;
mod imported_notes;
mod ingest;
mod intake;
mod kept;
mod markdown;
mod names;
mod pages;
mod plan;
mod queue;
mod retention;
mod tokens;
mod writer;

pub(crate) use event::Event;
pub(crate) use events::{AtRest, accept, set_settings, settings, state};
pub(crate) use import::import;
pub(crate) use ingest::events as turns;
pub(crate) use intake::{Capture, Options};
pub(crate) use tokens::CaptureTokens;
