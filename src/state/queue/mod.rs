//! Events that are accepted and not yet in their files, in the order they came, with what was there before and what is being
//! written right now.
//!
//! What is deleted is overwritten, and more than that: SQLite moves rows between pages, and where a row was there may be a copy
//! of it after it is deleted. An empty table has no such places, and [`EventQueue::clear`] makes the file anew without them.

mod batch;
mod reader;
mod seen;
#[cfg(test)]
mod tests;
mod writer;

pub use batch::{Appended, Batch, Extent, NewEvent, WaitingEvent};
pub use reader::EventReader;
pub(super) use reader::event_checksum;
pub use writer::EventQueue;
