//! Writes notes: only where notes belong, in one step, only over what the writer has seen, and so that it can be undone.

mod checkpoints;
mod error;
mod files;
mod leftovers;
mod names;
mod undo;

pub use checkpoints::{Action, Checkpoint, CheckpointId};
pub use error::WriteError;
pub use files::Files;
pub use names::{free_name, is_folder_name, slug};
pub use undo::Purged;
