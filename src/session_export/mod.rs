//! The sessions of other programs, kept as Markdown for as long as the vault is served: read when a file comes or grows, rendered without
//! what is machinery, and written where nobody has edited what was written before.
//!
//! ```text
//! a file changes ─▶ look (all files of the globs) ─▶ read ─▶ cleaned turns ─▶ render ─▶ vault ─▶ marked
//! ```
//!
//! `task` says when, `look` compares files with what is known of them and does what their age and number ask for, with the `order` of
//! which stay, the sessions whose files are `gone` and the `trash`; `export` reads one session, `place` says which notes it goes on in and `part` writes
//! them, `channel` tells from what kind of channel it comes, and `render` is its text, pure.

mod channel;
mod export;
mod gone;
mod look;
mod order;
mod part;
mod place;
mod render;
mod task;
mod trash;

pub(crate) use task::keep_sessions;
