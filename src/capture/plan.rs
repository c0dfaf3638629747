//! What is being written right now: enough to know after a kill which events are in their files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::path::VaultPath;
use crate::state::{EventReader, StateError};

/// A file that is about to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) path: VaultPath,
    /// BLAKE3 of what it has before and after, in hexadecimal; none before, when it is made.
    pub(super) before: Option<String>,
    pub(super) after: String,
    /// The events, and the text of each.
    pub(super) added: Vec<(u64, String)>,
}

impl Planned {
    /// Which of its events are in the file that has this text now. While nobody else writes it is all or none, and the hash
    /// tells; where somebody edited the file after the kill, the texts do.
    pub(super) fn applied(&self, now: Option<&str>) -> Vec<u64> {
        let hash = now.map(|text| blake3::hash(text.as_bytes()).to_hex().to_string());
        let all = || self.added.iter().map(|(number, _)| *number);
        match (hash, now) {
            (hash, _) if hash == self.before => Vec::new(),
            (Some(hash), _) if hash == self.after => all().collect(),
            // Made, and then removed: whoever removed it has seen it.
            (None, _) => Vec::new(),
            (_, Some(text)) => {
                let has = |(_, added): &&(u64, String)| text.contains(added.as_str());
                self.added.iter().filter(has).map(|(number, _)| *number).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A plan as it is kept; empty when nothing is being written.
pub(super) fn encode(plan: &[Planned]) -> Result<String, serde_json::Error> {
    if plan.is_empty() { Ok(String::new()) } else { serde_json::to_string(plan) }
}

/// The plan that was kept; none of it, when it cannot be read.
pub(super) fn decode(plan: Option<&str>) -> Vec<Planned> {
    let plan = plan.filter(|plan| !plan.is_empty()).map(serde_json::from_str);
    plan.transpose().map(Option::unwrap_or_default).unwrap_or_else(|error| {
        tracing::warn!("what was being written is not known: {error}; events may be written twice");
        Vec::new()
    })
}

/// How far the queue has got into the files.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Events that are in their files, and of which the queue does not know yet.
    finished: BTreeSet<u64>,
    /// What is about to be written.
    pub(super) plan: Vec<Planned>,
    /// Whether the queue knows of something that is about to be written.
    recorded: bool,
}

impl Progress {
    /// What was recorded last.
    pub(super) fn load(events: &EventReader) -> Result<Self, StateError> {
        let plan = events.plan()?;
        let recorded = plan.is_some();
        Ok(Self { plan: decode(plan.as_deref()), recorded, finished: BTreeSet::new() })
    }

    /// Whether an event is in its file.
    pub(super) fn has(&self, number: u64) -> bool {
        self.finished.contains(&number)
    }

    /// Notes that events are in their files.
    pub(super) fn finish(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.finished.extend(numbers);
    }

    /// What the queue is to know, if it is more than it does: the plan, and which events are in their files.
    pub(super) fn news(&self) -> Result<Option<(String, Vec<u64>)>, serde_json::Error> {
        if self.finished.is_empty() && self.plan.is_empty() && !self.recorded {
            return Ok(None);
        }
        Ok(Some((encode(&self.plan)?, self.finished.iter().copied().collect())))
    }

    /// Notes that the queue knows it.
    pub(super) fn recorded(&mut self) {
        self.finished.clear();
        self.recorded = !self.plan.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_file_is_known_after_a_kill() {
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
        let planned = Planned {
            path: VaultPath::new("a.md").unwrap(),
            before: Some(hash("one\n")),
            after: hash("one\ntwo\nthree\n"),
            added: vec![(7, "two".into()), (8, "three".into())],
        };
        let applied = |now| planned.applied(now);
        assert_eq!(applied(Some("one\n")), [0; 0]);
        assert_eq!(applied(Some("one\ntwo\nthree\n")), [7, 8]);
        assert_eq!(applied(Some("one, edited\ntwo\nthree\n")), [7, 8]);
        assert_eq!(applied(Some("one, edited\n")), [0; 0]);
        assert_eq!(applied(None), [0; 0]);
        let made = Planned { before: None, ..planned.clone() };
        assert_eq!(made.applied(None), [0; 0]);
        let plan = vec![planned, made];
        assert_eq!(decode(Some(&encode(&plan).unwrap())), plan);
        assert_eq!((encode(&[]).unwrap().as_str(), decode(Some("")), decode(Some("{"))), ("", vec![], vec![]));
    }

    #[test]
    fn the_queue_is_told_what_it_does_not_know() {
        let mut progress = Progress::default();
        assert!(progress.news().unwrap().is_none());
        progress.plan.push(Planned {
            path: VaultPath::new("a.md").unwrap(),
            before: None,
            after: "x".into(),
            added: vec![],
        });
        assert!(progress.news().unwrap().is_some_and(|(plan, done)| !plan.is_empty() && done.is_empty()));
        progress.recorded();
        progress.plan.clear();
        progress.finish([4, 3]);
        assert_eq!(progress.news().unwrap(), Some((String::new(), vec![3, 4])));
        progress.recorded();
        assert!(progress.news().unwrap().is_none() && !progress.has(3));
    }
}
