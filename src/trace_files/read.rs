//! Finds events, the newest first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use super::error::TraceFilesError;
use super::file::{TraceFile, files_of, folder_of, open_whole};
use super::line::{TraceHead, event_of};
use super::write::TraceFiles;
use crate::fs::Context;

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

/// A line that fits. The greatest is the oldest: that which goes first.
struct FoundLine {
    at: f64,
    number: usize,
    line: Vec<u8>,
}

impl Ord for FoundLine {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for FoundLine {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FoundLine {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for FoundLine {}

impl TraceQuestion {
    fn fits(&self, head: &TraceHead<'_>) -> bool {
        let is = |asked: &Option<String>, said: Option<&str>| asked.as_deref().is_none_or(|asked| said == Some(asked));
        is(&self.kind, Some(&head.kind))
            && is(&self.channel_id, head.channel_id.as_deref())
            && is(&self.trace_id, head.trace_id.as_deref())
            && self.since.is_none_or(|since| head.created_at >= since)
            && self.until.is_none_or(|until| head.created_at <= until)
    }

    /// Whether an hour may have some.
    fn may_be_in(&self, file: &TraceFile) -> bool {
        self.since.is_none_or(|since| file.hour.end() > since)
            && self.until.is_none_or(|until| file.hour.start() <= until)
    }
}

/// The lines of one hour that fit, and what is known of all that was read.
#[derive(Default)]
struct TraceSearch {
    hour: BinaryHeap<FoundLine>,
    bytes: usize,
    lines: usize,
    found: FoundTraces,
}

impl TraceFiles {
    /// Whether an agent has any.
    pub(crate) fn has(&self, agent: &str) -> bool {
        folder_of(&self.root, agent).is_dir() && files_of(&self.root, agent).is_ok_and(|files| !files.is_empty())
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
        let files = files_of(&self.root, agent)?;
        let mut search = TraceSearch::default();
        for hour in files.chunk_by(|one, two| one.hour == two.hour) {
            if search.found.events.len() >= limit || search.found.is_cut {
                break;
            }
            // What came late is the newer of two of the same time.
            for file in hour.iter().rev().filter(|file| question.may_be_in(file)) {
                search.read(self, file, question, limit, &go_on)?;
            }
            search.take_hour();
        }
        Ok(search.found)
    }
}

impl TraceSearch {
    fn read(
        &mut self,
        traces: &TraceFiles,
        file: &TraceFile,
        question: &TraceQuestion,
        limit: usize,
        go_on: &impl Fn() -> bool,
    ) -> Result<(), TraceFilesError> {
        let path = file.path(&traces.root);
        let opened = match open_whole(&path, false) {
            // It was removed meanwhile.
            Err(error) if error.is_not_found() => return Ok(()),
            opened => opened?,
        };
        let (mut reader, mut line) = (BufReader::new(opened), Vec::new());
        while reader.read_until(b'\n', &mut line).on("read", &path)? > 0 && line.ends_with(b"\n") {
            self.lines += 1;
            if self.lines.is_multiple_of(CHECK_LINES) && !go_on() {
                return Err(TraceFilesError::GivenUp);
            }
            match TraceHead::of(&line).map(|head| (question.fits(&head), head.created_at)) {
                Some((true, at)) => self.add(at, &line, limit),
                Some((false, _)) => {}
                None => self.found.damaged += 1,
            }
            line.clear();
        }
        Ok(())
    }

    fn add(&mut self, at: f64, line: &[u8], limit: usize) {
        let most = limit - self.found.events.len();
        let number = self.lines;
        if self.hour.len() >= most && self.hour.peek().is_some_and(|oldest| oldest.at > at) {
            return;
        }
        self.bytes += line.len();
        self.hour.push(FoundLine { at, number, line: line.to_owned() });
        while self.hour.len() > most || (self.bytes > MAX_BYTES && self.hour.len() + self.found.events.len() > 1) {
            self.found.is_cut |= self.hour.len() <= most;
            let Some(oldest) = self.hour.pop() else { break };
            self.bytes -= oldest.line.len();
        }
    }

    fn take_hour(&mut self) {
        let hour = std::mem::take(&mut self.hour).into_sorted_vec();
        // The greatest is the oldest, and comes last.
        self.found.events.extend(hour.iter().filter_map(|found| event_of(&found.line)));
    }
}
