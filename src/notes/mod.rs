//! The person's notes: finding and reading them, saving, forgetting, remarks, and undoing it.

mod annotate;
mod annotations;
mod browse;
mod forget;
mod listing;
mod note;
mod save;
mod search;
mod stats;
mod undo;

pub use annotate::annotate;
pub use annotations::{annotations, passage};
pub use browse::{browse, chunk, collections};
pub use forget::forget;
pub use listing::{listing, paths};
pub use note::{note, note_in_room};
pub use save::save;
pub use search::{search, search_for_both_shapes};
pub use stats::{agent_status, stats};
pub use undo::{checkpoints, restore};
