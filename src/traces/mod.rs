//! What agents tell of their work, event by event: checked, without secrets and what was forgotten, kept to the last; and read by the
//! agent itself and the person, by nobody else.

mod check;
mod keep;
mod keeper;
mod list;

pub(crate) use keep::keep;
pub(crate) use keeper::TracesKeeper;
pub(crate) use list::list;
