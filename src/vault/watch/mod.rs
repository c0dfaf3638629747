//! Notices changes on disk: the file system's events, and where those cannot be had, word that polling must do.

mod cookies;
mod events;
mod limits;
mod watcher;

pub use cookies::CookieFolder;
pub use events::Signal;
pub use watcher::{WatchedBy, Watcher};
