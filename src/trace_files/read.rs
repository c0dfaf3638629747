//! Finds events, the newest first.

use serde_json::Value;

use super::file::{TraceFile, event_of, files_of, lines};
use super::store::{TraceFiles, TraceFilesError};
use crate::fs::FsError;

/// Maximum bytes of events in an answer; one is always given.
const MAX_BYTES: usize = 16 << 20;
/// Interval at which it is asked whether anybody waits still, in lines.
const CHECK_LINES: usize = 1000;

/// Which events are looked for.
#[derive(Debug, Default)]
pub(crate) struct TraceQuestion {
    /// Of this kind.
    pub kind: Option<String>,
    /// Of this channel.
    pub channel_id: Option<String>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// Not before that, in seconds since 1970.
    pub since: Option<f64>,
    /// Not after that.
    pub until: Option<f64>,
    /// So many at most, but one at least.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct FoundTraces {
    /// The newest first.
    pub events: Vec<Value>,
    /// So many lines of the files that were read are damaged.
    pub damaged: usize,
    /// Whether older ones were left out because the answer would be too large.
    pub is_cut: bool,
}

/// An event that fits: its time, the number of its line, its length and itself.
type FoundEvent = (f64, usize, usize, Value);

impl TraceQuestion {
    fn fits(&self, event: &Value, at: f64) -> bool {
        let is = |asked: &Option<String>, field: &str| asked.as_deref().is_none_or(|asked| event[field] == *asked);
        is(&self.kind, "kind")
            && is(&self.channel_id, "channel_id")
            && is(&self.trace_id, "trace_id")
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at <= until)
    }
}

impl TraceFiles {
    /// Whether an agent has any.
    pub(crate) fn has(&self, agent: &str) -> bool {
        self.files_of(agent).is_ok_and(|files| !files.is_empty())
    }

    /// The files of an agent, the newest hour first.
    ///
    /// # Errors
    /// When its folder cannot be listed.
    pub(crate) fn files_of(&self, agent: &str) -> Result<Vec<TraceFile>, FsError> {
        files_of(&self.root, agent)
    }

    /// The events of a file in the order in which they came, without lines that are damaged. One that is gone has none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn events_of(file: &TraceFile) -> Result<impl Iterator<Item = Result<Value, FsError>>, FsError> {
        Ok(lines(&file.path)?.filter_map(|line| line.map(|line| event_of(&line)).transpose()))
    }

    /// The newest events of an agent that fit. A last line that is being written is not looked at.
    ///
    /// # Errors
    /// When a file cannot be read, or `go_on` says that nobody waits any more.
    pub(crate) fn newest(
        &self,
        agent: &str,
        question: &TraceQuestion,
        go_on: impl Fn() -> bool,
    ) -> Result<FoundTraces, TraceFilesError> {
        let limit = question.limit.max(1);
        let (mut found, mut bytes, mut number) = (FoundTraces::default(), 0, 0_usize);
        let files = files_of(&self.root, agent)?;
        for hour in files.chunk_by(|one, two| one.hour == two.hour) {
            if found.events.len() >= limit || found.is_cut {
                break;
            }
            let (most, mut fitting, mut held) = (limit - found.events.len(), Vec::new(), 0);
            // What came late is the newer of two of the same time.
            for file in hour.iter().rev().filter(|file| file.hour.meets(question.since, question.until)) {
                for line in lines(&file.path)? {
                    let line = line?;
                    number += 1;
                    if number.is_multiple_of(CHECK_LINES) && !go_on() {
                        return Err(TraceFilesError::GivenUp);
                    }
                    let Some(event) = event_of(&line) else {
                        found.damaged += usize::from(line.ends_with(b"\n"));
                        continue;
                    };
                    let at = event["created_at"].as_f64().unwrap_or_default();
                    if question.fits(&event, at) {
                        fitting.push((at, number, line.len(), event));
                        held += line.len();
                    }
                    if fitting.len() > 2 * most || held > 2 * MAX_BYTES {
                        found.is_cut |= keep_newest(&mut fitting, most, bytes);
                        held = fitting.iter().map(|(_, _, length, _)| length).sum();
                    }
                }
            }
            found.is_cut |= keep_newest(&mut fitting, most, bytes);
            bytes += fitting.iter().map(|(_, _, length, _)| length).sum::<usize>();
            found.events.extend(fitting.into_iter().map(|(.., event)| event));
        }
        Ok(found)
    }
}

/// Puts the newest first, and leaves so many of them, and no more bytes than an answer has beside those `before`; says whether some were left
/// out for that.
fn keep_newest(events: &mut Vec<FoundEvent>, most: usize, before: usize) -> bool {
    events.sort_by(|one, two| two.0.total_cmp(&one.0).then(two.1.cmp(&one.1)));
    events.truncate(most);
    let mut bytes = before;
    let is_too_much = |(_, _, length, _): &FoundEvent| {
        let is_first = bytes == 0;
        bytes += length;
        bytes > MAX_BYTES && !is_first
    };
    let cut = events.iter().position(is_too_much);
    events.truncate(cut.unwrap_or(events.len()));
    cut.is_some()
}
