//! Files of a JSON object a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::elements::parse;
use super::sink::ImportSink;

/// Maximum length of a line: what tools answer may be long.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum length of a file, unpacked: its turns are held together. What is behind it counts as cut off.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The objects of a file that it may read, one after the other, to `each`, which says whether it understood it. What is no JSON is counted, and the last line, where it was cut short, said.
pub(super) fn objects(from: impl Read, name: &str, sink: &mut ImportSink<'_>, each: &mut dyn FnMut(&Value)) {
    let mut from = BufReader::new(from.take(MAX_FILE_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        match from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return sink.remark(format!("{name} cannot be read to its end: {error}")),
        }
        let is_whole = line.ends_with(b"\n");
        if line.len() as u64 == MAX_LINE_BYTES && !is_whole {
            sink.leave_out("lines of more than 64 MB");
            // The rest of it is no line.
            while let Ok(more) = from.fill_buf() {
                let end = more.iter().position(|byte| *byte == b'\n');
                let length = end.map_or(more.len(), |end| end + 1);
                from.consume(length);
                if length == 0 || end.is_some() {
                    break;
                }
            }
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(&line).filter(Value::is_object) {
            Some(value) => each(&value),
            None if is_whole => sink.leave_out("lines that are no JSON"),
            None => {
                sink.leave_out("lines that were cut short");
                sink.remark(format!("{name} was cut short: its last line is not whole"));
            }
        }
    }
}

/// How often something of a file was left out, by the reason: however often that is, a few numbers.
#[derive(Debug, Default)]
pub(super) struct LeftOutCounts(BTreeMap<&'static str, usize>);

impl LeftOutCounts {
    /// Counts what is left out.
    pub(super) fn add(&mut self, reason: &'static str) {
        self.add_times(reason, 1);
    }

    /// The same, so many times.
    pub(super) fn add_times(&mut self, reason: &'static str, times: usize) {
        *self.0.entry(reason).or_default() += times;
    }

    /// Has all of it counted.
    pub(super) fn tell(self, sink: &mut ImportSink<'_>) {
        self.0.into_iter().for_each(|(reason, times)| sink.leave_out_times(reason, times));
    }
}
