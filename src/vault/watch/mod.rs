//! Notices changes on disk: the file system's events, and where those cannot be had, word that polling must do.

mod cookies;
mod events;
mod folders;
mod limits;
mod watcher;

pub use cookies::CookieFolder;
pub use events::Signal;
pub(crate) use folders::FoldersWatcher;
pub use watcher::{WatchedBy, Watcher};
