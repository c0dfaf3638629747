//! The person's notes: finding and reading them, saving, forgetting, remarks, and undoing it.

mod annotations;
mod capture;
mod conflicts;
mod edit;
mod find;
mod forget;
mod history;
mod listing;
mod media;
mod mentions;
mod note;
mod purge;
mod removal;
mod save;
mod search;
mod versions;

pub use annotations::{annotate, annotations, passage};
pub use capture::capture;
pub(crate) use conflicts::{conflict, conflict_copies, conflicts, keep};
pub use edit::{make, note_text, tick, write};
pub use find::find;
pub use forget::forget;
pub use history::restore;
pub(crate) use history::{changes, checkpoints, forgotten, forgotten_back, lift};
pub(crate) use listing::{agent_status, attachments, chunk, listing};
pub use listing::{browse, collections, list, stats, tags};
pub(crate) use media::{SVG, media_file};
pub(crate) use mentions::mentions;
pub use note::{links, note, related};
pub(crate) use note::{unresolved, whole_note};
pub(crate) use purge::{finish_open_purges, finish_purges};
pub use save::save;
pub use search::search;
pub(crate) use search::search_times;
pub(crate) use versions::{version, versions};
