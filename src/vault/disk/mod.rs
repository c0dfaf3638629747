//! The Markdown files on disk: where a vault is, what belongs to it, what it holds and what changes.
//!
//! The only module that touches a person's files. Events are hints; the disk is the truth.

mod debounce;
mod git;
mod home;
mod read;
mod rules;
mod scan;
mod watch;
mod write;

pub(crate) use crate::access::rules::Globs;
pub use debounce::Change;
pub(crate) use debounce::Debounce;
pub(crate) use git::{BackupError, GIT_LOCK, Git, UNDER_WAY, commits_of, committed_at, git_is_busy};
pub use home::Home;
pub(crate) use home::{DaemonInfo, HomeError, Identity, Lock, Stamp, adopt, init, is_starter, state_dir};
pub(crate) use read::{FileBytes, ReadError, Source, read, read_file, read_lines};
pub use rules::{NoteRules, globs};
pub(crate) use rules::{
    Outside, RulesError, SUGGESTIONS, below_home, conflict_copy, file_of, is_facts_history, is_markdown, is_suggestion,
    obsidian_settings,
};
pub use scan::scan;
pub(crate) use scan::{ElsewhereFile, FilesElsewhere, FoundNote, Scan, is_note, plain_file};
pub(crate) use watch::FoldersWatcher;
pub use watch::{CookieFolder, Signal, WatchedBy, Watcher};
pub(crate) use write::{
    Act, Action, Checkpoint, CheckpointId, Files, NoteEdit, Purged, Quota, WriteError, free_name, is_folder_name,
    is_numbered, note_names, numbered, slug, until_written,
};
