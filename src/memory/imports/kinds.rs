//! The kinds of sources, and what a file seems to be by its first bytes: to say what to try where it is none of the kind.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::conversations::MAX_LINE_BYTES;
use super::json::parse;
use super::notes::{is_markdown, is_note};
use super::source::is_beside_session;

/// A kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// The export of ChatGPT.
    ChatGpt,
    /// The export of Claude.
    Claude,
    /// The transcripts of Claude Code.
    ClaudeCode,
    /// The rollouts of Codex.
    Codex,
    /// The sessions of OpenClaw.
    OpenClaw,
    /// The sessions of Moltis.
    Moltis,
    /// Bookmarks as browsers export them.
    Bookmarks,
    /// An Obsidian vault.
    Obsidian,
    /// A folder of Markdown.
    Folder,
    /// The Markdown export of Notion.
    Notion,
    /// A Logseq graph.
    Logseq,
    /// Moltis's memory.
    MoltisMemory,
    /// OpenClaw's memory.
    OpenClawMemory,
}

impl SourceKind {
    /// All of them.
    pub(crate) const ALL: [Self; 13] = [
        Self::ChatGpt,
        Self::Claude,
        Self::ClaudeCode,
        Self::Codex,
        Self::OpenClaw,
        Self::Moltis,
        Self::Bookmarks,
        Self::Obsidian,
        Self::Folder,
        Self::Notion,
        Self::Logseq,
        Self::MoltisMemory,
        Self::OpenClawMemory,
    ];

    /// What they are called, in the same order.
    const NAMES: [&str; 13] = [
        "chatgpt", "claude", "claude-code", "codex", "openclaw", "moltis", "bookmarks", "obsidian", "folder", "notion",
        "logseq", "moltis-memory", "openclaw-memory",
    ];

    /// What it is called on the command line, and what sessions of it begin with.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The kind of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether its files are notes.
    pub(super) fn is_of_notes(self) -> bool {
        use SourceKind::{Folder, Logseq, MoltisMemory, Notion, Obsidian, OpenClawMemory};
        matches!(self, Obsidian | Folder | Notion | Logseq | MoltisMemory | OpenClawMemory)
    }

    /// Whether it has what OpenClaw puts into conversations.
    pub(super) fn is_claw(self) -> bool {
        matches!(self, Self::OpenClaw | Self::OpenClawMemory | Self::Moltis | Self::MoltisMemory)
    }

    /// Why a file of a folder or an archive is not read, by its name; `None` where it is.
    pub(super) fn why_not(self, name: &str) -> Option<&'static str> {
        let file = name.rsplit('/').next().unwrap_or_default();
        let is_wanted = match self {
            Self::ChatGpt | Self::Claude => file.starts_with("conversations") && file.ends_with(".json"),
            Self::ClaudeCode | Self::OpenClaw | Self::Moltis | Self::Codex if is_beside_session(name) => {
                return Some(BESIDE);
            }
            Self::Codex => file.starts_with("rollout-") && file.ends_with(".jsonl"),
            Self::ClaudeCode | Self::OpenClaw | Self::Moltis => file.ends_with(".jsonl"),
            Self::Bookmarks => file.to_ascii_lowercase().ends_with(".html"),
            _ => is_note(self, name),
        };
        (!is_wanted).then_some(FILES)
    }

    /// Says of a file that begins so that it is of another kind; `None` where it seems to be of this one.
    pub(super) fn refusal(self, name: &str, head: &[u8]) -> Option<String> {
        // The sessions of OpenClaw and Moltis are written alike.
        let claw = |kind| matches!(kind, Self::OpenClaw | Self::Moltis);
        let seems = seems(name, head);
        if seems.is_some_and(|kind| kind == self || claw(kind) && claw(self)) {
            return None;
        }
        let tried = seems.map(|kind| format!(": try --from {}", kind.name())).unwrap_or_default();
        Some(format!("{name} is not for `{}`, which takes {}{tried}", self.name(), self.takes()))
    }

    /// What it takes.
    pub(super) fn takes(self) -> &'static str {
        match self {
            Self::ChatGpt | Self::Claude => "the downloaded zip, its folder, or conversations.json",
            Self::ClaudeCode => "~/.claude/projects, a folder of it, or a .jsonl of it",
            Self::Codex => "~/.codex/sessions, or a rollout-….jsonl of it",
            Self::OpenClaw | Self::Moltis => "a folder of sessions, or a .jsonl of it",
            Self::Bookmarks => "the .html that a browser exports",
            Self::Logseq => "a graph, with the folders pages and journals",
            Self::MoltisMemory | Self::OpenClawMemory => "a folder with MEMORY.md or memory/",
            Self::Obsidian | Self::Folder | Self::Notion => "a folder or zip of Markdown files",
        }
    }
}

/// Why a file is left out: it is none of what is imported, or it lies beside a session.
pub(super) const FILES: &str = "images, sounds and other files";
pub(super) const BESIDE: &str = "copied and archived sessions (.checkpoint., .trajectory.jsonl, .deleted., .reset.)";

/// Length of the head of a file that is looked at to tell what it is, in bytes. A record that begins in it is read to its end: the first may
/// have a picture in it.
const RECORDS_BYTES: usize = 256 << 10;

/// Which program wrote a file of a session, by its name and its first records; `None` where they are of none that is known.
pub(crate) fn session_kind(path: &Path, from: impl Read) -> Option<SourceKind> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("rollout-") {
        return Some(SourceKind::Codex);
    }
    let (mut from, mut record, mut length) = (BufReader::new(from), Vec::new(), 0);
    while length < RECORDS_BYTES {
        record.clear();
        match from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut record).ok()? {
            0 => return None,
            read => length += read,
        }
        if let Some(kind) = parse(&record).and_then(|record| kind_of(&record)) {
            return Some(kind);
        }
    }
    None
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

/// Length of the head of a file that is looked at to tell what it is, in bytes.
pub(super) const HEAD_BYTES: u64 = 64 << 10;

/// What a file of this name seems to be that begins so; `None` where nothing tells it.
fn seems(name: &str, head: &[u8]) -> Option<SourceKind> {
    let text = String::from_utf8_lossy(head);
    if is_markdown(name) {
        Some(SourceKind::Folder)
    } else if text.contains("NETSCAPE-Bookmark-file-1") {
        Some(SourceKind::Bookmarks)
    } else if text.contains("\"chat_messages\"") {
        Some(SourceKind::Claude)
    } else if text.contains("\"mapping\"") {
        Some(SourceKind::ChatGpt)
    } else {
        session_kind(Path::new(name), head)
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
        // A first record with a picture in it, and a mark of the order of bytes.
        let picture =
            json!({ "type": "user", "sessionId": "s", "uuid": "u", "message": { "content": "x".repeat(1 << 20) } });
        assert_eq!(told("a.jsonl", &[picture]), Some(SourceKind::ClaudeCode));
        let marked = "\u{feff}{\"type\":\"session\",\"id\":\"x\"}\n";
        assert_eq!(session_kind(Path::new("a.jsonl"), marked.as_bytes()), Some(SourceKind::OpenClaw));
        assert_eq!(session_kind(Path::new("a.jsonl"), &b"\xff\xfe{}\n{\"role\""[..]), None);
    }

    #[test]
    fn what_to_try_is_said_of_a_file_of_another_kind() {
        for (name, head, kind) in [
            ("a.html", &b"\xef\xbb\xbf<!DOCTYPE NETSCAPE-Bookmark-file-1>"[..], Some(SourceKind::Bookmarks)),
            ("a.md", b"# Plan", Some(SourceKind::Folder)),
            ("a.json", b"[{\"uuid\":\"x\",\"chat_messages\":[", Some(SourceKind::Claude)),
            ("a.json", b"[{\"mapping\":{\"x\":{\"message\":", Some(SourceKind::ChatGpt)),
            ("a.jsonl", b"{\"type\":\"session\",\"id\":\"x\"}\n{", Some(SourceKind::OpenClaw)),
            ("a.html", b"%PDF-1.7", None),
            ("a", b"a\0b", None),
            ("a.txt", b"Plan", None),
            ("a.json", b"[1, 2", None),
            ("a.json", b"", None),
        ] {
            assert_eq!(seems(name, head), kind, "{name}");
            let said = SourceKind::Codex.refusal(name, head).unwrap();
            assert_eq!(said.split_once(": try --from ").and_then(|(_, kind)| SourceKind::of(kind)), kind, "{said}");
        }
        let moltis = |kind: SourceKind| kind.refusal("a.jsonl", b"{\"role\":\"user\"}\n");
        assert!(moltis(SourceKind::OpenClaw).is_none() && moltis(SourceKind::Codex).is_some());
    }
}
