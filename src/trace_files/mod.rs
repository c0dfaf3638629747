//! The traces of agents on disk: a line of JSON an event, in a file an hour of each agent, `traces/<agent>/YYYY-MM-DDTHH.jsonl`.
//!
//! A file is only ever appended to, and an event is safe on disk before its sender hears of it; events that come at the same time are
//! made safe together. Two hours after its hour a file is sealed, and what comes later is put beside it. Each line ends with a checksum.

mod error;
mod file;
mod hour;
mod hours;
mod ids;
mod known;
mod line;
mod needles;
mod read;
mod sweep;
mod text;
mod tidy;
mod write;

pub(crate) use error::TraceFilesError;
pub(crate) use hour::TraceHour;
pub(crate) use hours::TraceHourFile;
pub(crate) use known::without_known;
pub(crate) use read::{FoundTraces, TraceQuestion};
pub(crate) use sweep::{ToldTraces, TraceShare};
pub(crate) use text::change_texts;
pub(crate) use write::{NewTrace, TraceFiles};
