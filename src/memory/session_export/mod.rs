//! The sessions of other programs, kept as Markdown for as long as the vault is served: read when a file comes or grows, rendered without
//! what is machinery, and written where nobody has edited what was written before.
//!
//! ```text
//! a file changes ─▶ look (all files of the globs) ─▶ read ─▶ cleaned turns ─▶ note ─▶ vault ─▶ marked
//! ```
//!
//! `look` compares files with what is known of them and does what their age and number ask for, with the sessions whose files are gone;
//! `note` says which notes a session goes on in, and which one has moved, makes their text and writes them, and `channel` tells from what kind of
//! channel it comes.

mod channel;
mod look;
mod note;

pub(crate) use look::keep_sessions;
