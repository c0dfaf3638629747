//! What agents tell of their work, event by event: checked, without secrets and what was forgotten, kept to the last; and read by the
//! agent itself and the person, by nobody else.

mod check;
mod keep;
mod list;
mod task;

pub(crate) use keep::keep;
pub(crate) use list::list;
pub(crate) use task::tidy_traces;
