//! What agents tell of their work, event by event: checked, without secrets and what was forgotten, kept to the last; and read by the
//! agent itself and the person, by nobody else.

mod check;
mod events;

pub(crate) use events::{keep, list, tidy_traces};
