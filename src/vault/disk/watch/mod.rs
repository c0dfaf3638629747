//! Notices changes on disk: the file system's events, and where those cannot be had, word that polling must do.

mod events;
mod limits;
mod watcher;

pub(crate) use events::FoldersWatcher;
pub use events::{CookieFolder, Signal};
pub use watcher::{WatchedBy, Watcher};
