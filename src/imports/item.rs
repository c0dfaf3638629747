//! What a reader gives.

use std::io;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::elements::parse;
use super::lines::{BYTE_ORDER_MARK, MAX_LINE_BYTES};
use crate::wire::ImportNote;

/// What is handed over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ImportItem {
    /// An event, as programs send them.
    Event(Value),
    /// A note.
    Note(ImportNote),
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportReadError {
    /// It cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a pipe, or the like.
    #[error("{} is neither a file nor a folder", path.display())]
    NoFile {
        /// What.
        path: PathBuf,
    },
    /// There is nothing of the kind in it.
    #[error("there is nothing of `{kind}` in {}: it takes {takes}{seems}", path.display())]
    Nothing {
        /// The kind.
        kind: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What it should have been.
        takes: &'static str,
        /// What else is in it: the end of a sentence, or nothing.
        seems: String,
    },
    /// It is a zip archive without the list of its files, which stands at its end.
    #[error("{} was cut short: download it again", path.display())]
    CutShort {
        /// What.
        path: PathBuf,
    },
    /// It is a file of another kind.
    #[error("{} {seems}, and nothing of `{kind}`, which takes {takes}", path.display())]
    OtherKind {
        /// The kind.
        kind: &'static str,
        /// What.
        path: PathBuf,
        /// What it should have been.
        takes: &'static str,
        /// What it is: `seems to be a picture`.
        seems: String,
    },
}

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

    /// What it is called on the command line, and what sessions of it begin with.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ChatGpt => "chatgpt",
            Self::Claude => "claude",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenClaw => "openclaw",
            Self::Moltis => "moltis",
            Self::Bookmarks => "bookmarks",
            Self::Obsidian => "obsidian",
            Self::Folder => "folder",
            Self::Notion => "notion",
            Self::Logseq => "logseq",
            Self::MoltisMemory => "moltis-memory",
            Self::OpenClawMemory => "openclaw-memory",
        }
    }

    /// The kind of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Length of the head of a file that is looked at to tell what it is, in bytes. A record that begins in it is read to its end: the first may
/// have a picture in it.
const HEAD_BYTES: usize = 256 << 10;

/// Which program wrote a file of a session, by its name and its first records; `None` where they are of none that is known.
pub(crate) fn session_kind(path: &Path, from: impl Read) -> Option<SourceKind> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("rollout-") {
        return Some(SourceKind::Codex);
    }
    let (mut from, mut record, mut length) = (BufReader::new(from), Vec::new(), 0);
    while length < HEAD_BYTES {
        record.clear();
        match from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut record).ok()? {
            0 => return None,
            read => length += read,
        }
        let record = record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&record);
        if let Some(kind) = parse(record).ok().and_then(|record| kind_of(&record)) {
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
}
