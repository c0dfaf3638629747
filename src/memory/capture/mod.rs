//! What programs tell of the person's day: conversations, files, searches, pages. From events to Markdown.
//!
//! An event is checked, secrets are taken out, and it is safe in a queue before its sender hears of it. A thread of its own
//! brings it from there into its file, exactly once, whatever happens in between.

mod drafts;
mod dropped;
mod event;
mod import;
mod intake;
mod pages;
mod private;
mod queue;

pub(crate) use dropped::{MAX_DROP_BYTES, dropped};
pub(crate) use event::{Event, turns};
pub(crate) use import::import;
pub(crate) use intake::{Capture, CaptureTokens, accept, pending, set_settings, settings};
