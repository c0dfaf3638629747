//! One session of another program, read as a whole: who said what, and when, without what is machinery.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use super::elements::parse;
use super::kind::SourceKind;
use super::read::one;
use super::sink::{ImportItem, ImportSink};
use super::unpack::FoundFile;

/// Length of the head of a file that is looked at to tell what it is, in bytes.
const HEAD_BYTES: u64 = 256 << 10;

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionTurn {
    /// Who speaks.
    pub(crate) role: String,
    /// When; where the session does not say it, when its file was changed.
    pub(crate) at: Option<Timestamp>,
    /// What was said.
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
        let mut hasher = blake3::Hasher::new();
        for turn in self.turns.iter().take(turns) {
            for part in [&turn.role, &turn.text] {
                hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
            }
        }
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        digest
    }
}

/// Reads the session of the file at `path`, which was changed at `at_ms`, in milliseconds since 1970. Of one that has those before it
/// too, its own.
pub(crate) fn session(kind: SourceKind, path: &Path, at_ms: Option<i64>, from: &mut dyn Read) -> SessionTranscript {
    // In the order of their turns, each with what it is called.
    let mut found: Vec<(String, Option<String>, Vec<SessionTurn>)> = Vec::new();
    let mut take = |item: ImportItem| {
        let ImportItem::Event(event) = item else { return ControlFlow::Continue(()) };
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        let session = text("session").unwrap_or_default();
        let at = event["time"].as_str().and_then(|time| time.parse().ok());
        let turn = SessionTurn { role: text("role").unwrap_or_default(), at, text: text("text").unwrap_or_default() };
        match found.iter_mut().find(|(name, ..)| *name == session) {
            Some((.., turns)) => turns.push(turn),
            None => found.push((session, text("title"), vec![turn])),
        }
        ControlFlow::Continue(())
    };
    let mut sink = ImportSink::new(&mut take);
    let name = path.to_string_lossy().into_owned();
    let file = FoundFile { name, at_ms, from };
    let stem = file.session_stem(kind);
    one(kind, "", file, &mut sink);
    let remarks = std::mem::take(&mut sink.tally.remarks);
    let own_name =
        |session: &str| session.strip_prefix(kind.name()).and_then(|id| id.strip_prefix('/')).map(str::to_owned);
    let own = found.iter().position(|(session, ..)| own_name(session).as_ref().unwrap_or(session) == &stem);
    let most = (0..found.len()).max_by_key(|at| found[*at].2.len());
    let Some((session, title, turns)) = own.or(most).map(|at| found.swap_remove(at)) else {
        return SessionTranscript { kind, id: stem, title: None, turns: Vec::new(), remarks };
    };
    SessionTranscript { kind, id: own_name(&session).unwrap_or(session), title, turns, remarks }
}

/// Which program wrote a file of a session, by its name and its first records; `None` where they are of none that is known.
pub(crate) fn session_kind(path: &Path, from: impl Read) -> Option<SourceKind> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("rollout-") {
        return Some(SourceKind::Codex);
    }
    let mut head = Vec::new();
    from.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    head.split(|byte| *byte == b'\n').filter_map(parse).find_map(|record| kind_of(&record))
}

fn kind_of(record: &Value) -> Option<SourceKind> {
    let kind = record["type"].as_str();
    match kind {
        Some("session_meta" | "response_item" | "event_msg" | "turn_context") => Some(SourceKind::Codex),
        Some("user" | "assistant" | "summary")
            if record["sessionId"].is_string() || record["uuid"].is_string() || record["leafUuid"].is_string() =>
        {
            Some(SourceKind::ClaudeCode)
        }
        Some(_) if record["sessionId"].is_string() && record["uuid"].is_string() => Some(SourceKind::ClaudeCode),
        Some("session") => Some(SourceKind::OpenClaw),
        Some("message") if record["message"].is_object() => Some(SourceKind::OpenClaw),
        None if record["role"].is_string() => Some(SourceKind::Moltis),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_program_is_told_from_the_first_records() {
        let told = |name: &str, lines: &[Value]| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            session_kind(Path::new(name), text.as_bytes())
        };
        assert_eq!(told("rollout-x.jsonl", &[]), Some(SourceKind::Codex));
        assert_eq!(told("a.jsonl", &[json!({ "type": "session", "id": "x" })]), Some(SourceKind::OpenClaw));
        assert_eq!(told("a.jsonl", &[json!({ "x": 1 }), json!({ "role": "user" })]), Some(SourceKind::Moltis));
        let claude = json!({ "type": "file-history-snapshot", "sessionId": "s", "uuid": "u" });
        assert_eq!(told("a.jsonl", &[claude]), Some(SourceKind::ClaudeCode));
        assert_eq!(told("a.jsonl", &[json!({ "x": 1 })]), None);
        assert_eq!(session_kind(Path::new("a.jsonl"), &b"\xff\xfe{}\n{\"role\""[..]), None);
    }

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
        assert!(read("").turns.is_empty());
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
