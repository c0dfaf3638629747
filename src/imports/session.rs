//! One session of another program, read as a whole: who said what, and when, without what is machinery.

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;

use super::elements::parse;
use super::found::FoundFile;
use super::item::{ImportItem, SourceKind};
use super::lines::{BEHIND, BYTE_ORDER_MARK, NO_JSON, TOO_LONG};
use super::read::{Unnamed, one};
use super::said::is_program;
use super::sink::{CUT_TURNS, ImportSink};

/// What is left out of a session although somebody may have said it: that is told.
const LOST: [&str; 4] = [TOO_LONG, NO_JSON, BEHIND, CUT_TURNS];
/// Maximum length of the record that names a session, in bytes.
const MAX_NAME_RECORD_BYTES: u64 = 64 << 10;

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionTurn {
    /// Who speaks.
    pub(crate) role: String,
    /// When; where the session does not say it, when its file was changed.
    pub(crate) at: Option<Timestamp>,
    /// What was said; empty where it turned out to be a thought.
    pub(crate) text: String,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionTranscript {
    /// Whose it is.
    pub(crate) kind: SourceKind,
    /// What the program calls it.
    pub(crate) id: String,
    /// Its title, where it has one.
    pub(crate) title: Option<String>,
    /// Its turns, in their order.
    pub(crate) turns: Vec<SessionTurn>,
    /// What was not understood of it, as sentences.
    pub(crate) remarks: Vec<String>,
}

impl SessionTranscript {
    /// Its name among the sessions of all programs.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.kind.name(), self.id)
    }

    /// Tells the first so many turns again, whenever they were said.
    pub(crate) fn digest(&self, turns: usize) -> [u8; 16] {
        let turns = turns.min(self.turns.len());
        self.digests(&BTreeSet::from([turns])).pop().map_or_else(Default::default, |(_, digest)| digest)
    }

    /// The same of the first so many turns, for each of these numbers that is not beyond them, the smallest first.
    pub(crate) fn digests(&self, counts: &BTreeSet<usize>) -> Vec<(usize, [u8; 16])> {
        let (mut hasher, mut at, mut digests) = (blake3::Hasher::new(), 0, Vec::new());
        for count in counts.range(..=self.turns.len()) {
            for turn in &self.turns[at..*count] {
                for part in [&turn.role, &turn.text] {
                    hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
                }
            }
            at = *count;
            let mut digest = [0; 16];
            hasher.finalize_xof().fill(&mut digest);
            digests.push((at, digest));
        }
        digests
    }
}

/// What a session of OpenClaw is called, by the first record of its file, else by the file at `path`.
pub(crate) fn session_id(path: &Path, from: impl Read) -> String {
    let mut record = Vec::new();
    let _ = BufReader::new(from.take(MAX_NAME_RECORD_BYTES)).read_until(b'\n', &mut record);
    let record = parse(record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&record)).unwrap_or_default();
    let said = record["id"].as_str().filter(|_| record["type"] == "session");
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    said.map_or_else(stem, str::to_owned)
}

/// Reads the session of the file at `path`, which was changed at `at_ms`, in milliseconds since 1970. Of one that has those before it
/// too, its own.
pub(crate) fn session(kind: SourceKind, path: &Path, at_ms: Option<i64>, from: &mut dyn Read) -> SessionTranscript {
    // In the order of their turns, each with what it is called. A record that was written twice is one, as with an import.
    let mut found: Vec<(String, Option<String>, Vec<SessionTurn>)> = Vec::new();
    let mut ids = HashSet::new();
    let mut take = |item: ImportItem| {
        let ImportItem::Event(event) = item else { return ControlFlow::Continue(()) };
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        let session = text("session").unwrap_or_default();
        if !ids.insert((session.clone(), text("id"))) {
            return ControlFlow::Continue(());
        }
        let at = event["time"].as_str().and_then(|time| time.parse().ok());
        let turn = SessionTurn { role: text("role").unwrap_or_default(), at, text: text("text").unwrap_or_default() };
        match found.iter_mut().find(|(name, ..)| *name == session) {
            Some((.., turns)) => turns.push(turn),
            None => found.push((session, text("title"), vec![turn])),
        }
        ControlFlow::Continue(())
    };
    let mut sink = ImportSink::new(&mut take);
    sink.keeps_places = true;
    let name = path.to_string_lossy().into_owned();
    let file = FoundFile { place: name.clone(), name, at_ms, from };
    let stem = file.session_stem(kind);
    one(kind, Unnamed::ByFile, file, &mut sink);
    let mut remarks = std::mem::take(&mut sink.tally.remarks);
    let lost = LOST.iter().filter_map(|reason| sink.tally.left_out.get(*reason).map(|times| (times, reason)));
    remarks.extend(lost.map(|(times, reason)| format!("left out: {times} × {reason}")));
    let own_name =
        |session: &str| session.strip_prefix(kind.name()).and_then(|id| id.strip_prefix('/')).map(str::to_owned);
    let own = found.iter().position(|(session, ..)| own_name(session).as_ref().unwrap_or(session) == &stem);
    let most = (0..found.len()).max_by_key(|at| found[*at].2.len());
    let Some((session, title, mut turns)) = own.or(most).map(|at| found.swap_remove(at)) else {
        return SessionTranscript { kind, id: stem, title: None, turns: Vec::new(), remarks };
    };
    if !turns.iter().any(|turn| !turn.text.is_empty() && !is_program(&turn.role)) {
        turns.clear();
    }
    SessionTranscript { kind, id: own_name(&session).unwrap_or(session), title, turns, remarks }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_read_as_one() {
        let lines = "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2025-10-01T10:00:00Z\"}\n\
             {\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"Grüß dich \u{1f44b}\"}}\n\
             {\"type\":\"message\",\"id\":\"b\",\"message\":{\"role\":\"system\",\"content\":\"x\"}}\n\
             {\"type\":\"message\",\"id\":\"c\",\"message\":{\"role\":\"assistant\",\"content\":\"NO_RE";
        let read = |text: &str| session(SourceKind::OpenClaw, Path::new("/x/s1.jsonl"), None, &mut text.as_bytes());
        let found = read(lines);
        assert_eq!((found.name().as_str(), found.turns.len()), ("openclaw/s1", 1));
        assert_eq!(found.turns[0].text, "Grüß dich \u{1f44b}");
        let grown = read(&format!(
            "{lines}PLY\"}}}}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"no\"}}}}\n"
        ));
        assert_eq!(grown.turns.len(), 2);
        assert_eq!((grown.digest(1), found.digest(9)), (found.digest(1), found.digest(1)));
        assert_ne!(grown.digest(2), found.digest(2));
        let digests = grown.digests(&BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(digests, [0, 1, 2].map(|turns| (turns, grown.digest(turns))));
        let id = |path: &str| session_id(Path::new(path), lines.as_bytes());
        assert_eq!((id("/x/y.jsonl"), session_id(Path::new("/x/y.jsonl"), &b"{}\n"[..])), ("s1".into(), "y".into()));
        assert!(read("").turns.is_empty());
    }

    #[test]
    fn a_record_that_was_written_twice_is_one_turn() {
        let line = |id: &str| {
            json!({"type": "message", "id": id, "message": {"role": "user", "content": "yes"}}).to_string() + "\n"
        };
        let text = line("a") + &line("b") + &line("a");
        let found = session(SourceKind::OpenClaw, Path::new("/x/s1.jsonl"), None, &mut text.as_bytes());
        assert_eq!(found.turns.len(), 2);
    }

    #[test]
    fn of_one_that_goes_on_with_another_its_own_turns_count() {
        let line = |session: &str, text: &str| {
            format!(
                "{}\n",
                json!({ "type": "user", "sessionId": session, "uuid": text, "message": { "role": "user", "content": text } })
            )
        };
        let text = line("one", "before") + &line("one", "before that") + &line("two", "now");
        let found = session(SourceKind::ClaudeCode, Path::new("/x/two.jsonl"), None, &mut text.as_bytes());
        assert_eq!((found.id.as_str(), found.turns.len()), ("two", 1));
    }

    #[test]
    fn moltis_has_the_name_of_a_session_in_its_folder() {
        let text = "{\"role\":\"user\",\"content\":\"hi\"}\n";
        let of = |path: &str| session(SourceKind::Moltis, Path::new(path), None, &mut text.as_bytes()).id;
        assert_eq!(of("/s/v1/k73657373696f6e3a61/history.jsonl"), "session:a");
        assert_eq!(of("/s/v1/k73657373/696f6e3a61/history.jsonl"), "session:a");
        assert_eq!(of("/s/main.jsonl"), "main");
    }
}
