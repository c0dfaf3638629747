//! Files of a JSON object a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::elements::parse;
use super::held::NotHeld;
use super::sink::{ImportSink, ReadTurn};

/// Maximum length of a line: what tools answer may be long.
pub(super) const MAX_LINE_BYTES: u64 = 64 << 20;
/// What a text may begin with, and is none of it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Maximum memory for the turns of a file, in bytes: they are held together.
const MAX_TURNS_BYTES: usize = 256 << 20;
/// What a turn takes besides its text, at most.
const TURN_BYTES: usize = 400;
/// Why a line is left out that is too long, and one that is broken.
pub(super) const TOO_LONG: &str = "lines of more than 64 MB, or that would take more than 256 MB of memory";
pub(super) const NO_JSON: &str = "lines that are no JSON";
/// Why the last turns of a long transcript are left out.
pub(super) const BEHIND: &str = "turns of a transcript behind the first 256 MB of what is said in it";

/// The objects of a file that it may read, one after the other, to `each`, which says whether it understood it. What is no JSON is counted, and the last line, where it was cut short, said.
pub(super) fn objects(from: impl Read, name: &str, sink: &mut ImportSink<'_>, each: &mut dyn FnMut(&Value)) {
    let mut from = BufReader::new(from);
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
            sink.leave_out(TOO_LONG);
            // The rest of it is no line.
            match from.skip_until(b'\n') {
                Ok(_) => continue,
                Err(error) => return sink.remark(format!("{name} cannot be read to its end: {error}")),
            }
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        // A mark of the order of bytes, which some programs put at the beginning.
        match parse(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line)) {
            Ok(value) if value.is_object() => each(&value),
            Err(NotHeld::TooLarge) => sink.leave_out(TOO_LONG),
            _ if is_whole => sink.leave_out(NO_JSON),
            _ => {
                sink.leave_out("lines that were cut short");
                sink.remark(format!("{name} was cut short: its last line is not whole"));
            }
        }
    }
}

/// How often something of a file was left out, by the reason: however often that is, a few numbers.
#[derive(Debug, Default)]
pub(super) struct LeftOutCounts {
    counts: BTreeMap<&'static str, usize>,
    /// What the turns take that are held, in bytes.
    held: usize,
}

impl LeftOutCounts {
    /// Counts what is left out.
    pub(super) fn add(&mut self, reason: &'static str) {
        self.add_times(reason, 1);
    }

    /// The same, so many times.
    pub(super) fn add_times(&mut self, reason: &'static str, times: usize) {
        *self.counts.entry(reason).or_default() += times;
    }

    /// Whether there is room for one more turn; counts it where there is none.
    pub(super) fn has_room_for(&mut self, turn: &ReadTurn) -> bool {
        self.held = self.held.saturating_add(turn.text.len() + TURN_BYTES);
        if self.held > MAX_TURNS_BYTES {
            self.add(BEHIND);
        }
        self.held <= MAX_TURNS_BYTES
    }

    /// Has all of it counted.
    pub(super) fn tell(self, sink: &mut ImportSink<'_>) {
        self.counts.into_iter().for_each(|(reason, times)| sink.leave_out_times(reason, times));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn what_is_behind_very_many_turns_is_counted() {
        let mut left_out = LeftOutCounts::default();
        let turn = ReadTurn { text: "x".repeat(100 << 20), ..ReadTurn::default() };
        assert_eq!([(); 4].map(|()| left_out.has_room_for(&turn)), [true, true, false, false]);
        assert_eq!(left_out.counts.into_values().collect::<Vec<_>>(), [2]);
    }

    /// More than a gigabyte of it was once called cut short.
    #[test]
    fn a_long_file_is_read_to_its_end() {
        let long = io::repeat(0).take(1200 << 20).chain(&b"\n{\"a\":1}\n"[..]);
        let mut take = |_| ControlFlow::Continue(());
        let (mut sink, mut found) = (ImportSink::new(&mut take), Vec::new());
        objects(long, "long.jsonl", &mut sink, &mut |value| found.push(value.to_string()));
        assert_eq!(found, ["{\"a\":1}"]);
        assert_eq!((sink.tally.left_out[TOO_LONG], sink.tally.remarks.len()), (1, 0));
    }
}
