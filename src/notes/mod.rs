//! The person's notes: finding and reading them, saving, forgetting, remarks, and undoing it.

mod annotate;
mod annotations;
mod browse;
mod forget;
mod link_targets;
mod links;
mod listing;
mod note;
mod related;
mod save;
mod search;
mod stats;
mod tags;
mod undo;

pub use annotate::annotate;
pub use annotations::{annotations, passage};
pub(crate) use browse::chunk;
pub use browse::{browse, collections};
pub use forget::forget;
pub use links::links;
pub use listing::list;
pub(crate) use listing::{listing, paths};
pub use note::note;
pub(crate) use note::whole_note;
pub use related::related;
pub use save::save;
pub use search::search;
pub(crate) use search::search_for_both_shapes;
pub(crate) use stats::agent_status;
pub use stats::stats;
pub use tags::tags;
pub(crate) use undo::checkpoints;
pub use undo::restore;
