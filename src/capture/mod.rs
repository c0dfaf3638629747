//! What programs tell of the person's day: conversations, files, searches, pages. From events to Markdown.
//!
//! An event is checked, secrets are taken out, and it is safe in a queue before its sender hears of it. A thread of its own
//! brings it from there into its file, exactly once, whatever happens in between.

mod check;
mod commit;
mod drafts;
mod event;
mod events;
mod former;
mod frontmatter;
mod intake;
mod kept;
mod markdown;
mod names;
mod pages;
mod plan;
mod retention;
mod tokens;
mod writer;

pub use check::EventError;
pub use event::{
    AgentActivityEvent, BookmarkEvent, ClipboardEvent, Event, FileEvent, MessageEvent, NoteEvent, SearchEvent,
};
pub use events::{AtRest, accept, set_settings, settings, state};
pub use intake::{Accepted, Capture, CaptureError, CaptureStatus, Options};
pub use kept::FindPrivate;
pub use pages::FindNote;
pub use tokens::{CaptureToken, CaptureTokens, TokensError};
