//! The traces of agents on disk: a line of JSON an event, in a file an hour of each agent, `traces/<agent>/YYYY-MM-DDTHH.jsonl`.
//!
//! A file is only ever appended to, under one lock, and an event is safe on disk before its sender hears of it. Two hours after its hour a file
//! is sealed, and what comes later is put beside it.

mod file;
mod store;

pub(crate) use file::{TraceFile, is_time};
pub(crate) use store::{
    FoundTraces, MatchedTraces, TraceFiles, TraceFilesError, TraceQuestion, TraceShare, change_texts,
};
