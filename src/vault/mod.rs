//! The Markdown files on disk: where a vault is, what belongs to it, what it holds and what changes.
//!
//! The only module that touches a person's files. Events are hints; the disk is the truth.

mod conflict;
mod debounce;
mod history;
mod home;
mod lock;
mod machine;
mod outside;
mod place;
mod read;
mod rules;
mod scan;
mod stamp;
mod template;
mod watch;
mod write;

pub use crate::access::Globs;
pub use conflict::conflict_copy;
pub use debounce::{Change, Debounce};
pub use history::commits_of;
pub use home::{DaemonInfo, Home, HomeError};
pub use lock::Lock;
pub use outside::{Outside, OutsideError, OutsideFolder};
pub use place::Identity;
pub use read::{ReadError, Source, read};
pub use rules::{NoteRules, RulesError, globs};
pub use scan::{FoundNote, Scan, SkippedPath, is_note, scan};
pub use stamp::Stamp;
pub use template::{InitError, adopt, init};
pub use watch::{Signal, WatchedBy, Watcher};
pub use write::{
    Act, Action, Checkpoint, CheckpointId, Files, Purged, Quota, WriteError, free_name, is_folder_name, note_names,
    slug,
};
