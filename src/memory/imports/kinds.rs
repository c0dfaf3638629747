//! The kinds of sources, and what a file seems to be by its first bytes: to say that where it is none of what it was called.

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
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
        let is_media = MEDIA.contains(&extension.as_str());
        (!is_wanted).then_some(if is_media { FILES } else { NOT_IMPORTED })
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

/// Why a file is left out: it is none of what is imported, it is a picture or the like, or it lies beside a session.
pub(super) const NOT_IMPORTED: &str = "files of other kinds";
pub(super) const FILES: &str = "images, sounds and other files";
pub(super) const BESIDE: &str = "copied and archived sessions (.checkpoint., .trajectory.jsonl, .deleted., .reset.)";
const MEDIA: [&str; 15] =
    ["png", "jpg", "jpeg", "gif", "webp", "svg", "heic", "pdf", "mp3", "mp4", "wav", "m4a", "webm", "mov", "dat"];

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
        if let Some(kind) = parse(&record).ok().and_then(|record| kind_of(&record)) {
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

/// What a file seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seeming {
    /// As a sentence says it.
    pub(super) what: &'static str,
    /// What it is imported as, where it can be.
    pub(super) kind: Option<SourceKind>,
}

impl Seeming {
    /// As a sentence says it, with what to try.
    pub(super) fn said(self) -> String {
        match self.kind {
            Some(kind) => format!("{}: try --from {}", self.what, kind.name()),
            None => self.what.to_owned(),
        }
    }

    /// Whether it seems to be of a kind of source. The sessions of OpenClaw and Moltis are written alike.
    pub(super) fn is_of(self, kind: SourceKind) -> bool {
        let claw = |kind| matches!(kind, SourceKind::OpenClaw | SourceKind::Moltis);
        self.kind.is_some_and(|known| known == kind || claw(known) && claw(kind))
    }
}

/// What files begin with that are no texts, or are texts of a kind.
const BEGINNINGS: [(&[u8], &str); 16] = [
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive"),
    (b"PK\x05\x06", "an empty archive"),
    (b"\x1f\x8b", "a packed file (gzip): unpack it"),
    (b"\x28\xb5\x2f\xfd", "a packed file (zstd): unpack it"),
    (b"7z\xbc\xaf", "an archive (7z): unpack it"),
    (b"Rar!", "an archive (RAR): unpack it"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an Office document"),
    (b"\x7fELF", "a program"),
    (b"<?xml", "XML"),
    (b"{\\rtf", "a document (RTF)"),
    (b"From ", "a mailbox"),
];

/// What a file of this name seems to be that begins so; `None` where nothing tells it.
pub(super) fn seems(name: &str, head: &[u8]) -> Option<Seeming> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if let Some((_, what)) = BEGINNINGS.iter().find(|(begin, _)| head.starts_with(begin)) {
        return Some(Seeming { what, kind: None });
    }
    if head.contains(&0) {
        return Some(Seeming { what: "a binary file", kind: None });
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start();
    let has = |what: &str| text.contains(what);
    let of = |what, kind| Some(Seeming { what, kind: Some(kind) });
    if has("NETSCAPE-Bookmark-file-1") {
        return of("bookmarks of a browser", SourceKind::Bookmarks);
    }
    if ["<!doctype html", "<html"].iter().any(|begin| begins(text, begin)) {
        return Some(Seeming { what: "a web page", kind: None });
    }
    if !text.starts_with(['{', '[']) {
        let is_note = is_markdown(name);
        return is_note.then_some(Seeming { what: "a note", kind: Some(SourceKind::Folder) });
    }
    if has("\"chat_messages\"") {
        return of("a Claude export", SourceKind::Claude);
    }
    if has("\"mapping\"") && (has("\"message\"") || has("\"current_node\"") || has("\"create_time\"")) {
        return of("a ChatGPT export", SourceKind::ChatGpt);
    }
    if has("\"roots\"") && has("\"bookmark_bar\"") {
        return Some(Seeming { what: "Chrome's bookmarks file: export bookmarks as HTML", kind: None });
    }
    let kind = session_kind(Path::new(name), head)?;
    let what = match kind {
        SourceKind::ClaudeCode => "a Claude Code transcript",
        SourceKind::Codex => "a Codex rollout",
        SourceKind::Moltis => "a Moltis session",
        _ => "an OpenClaw session",
    };
    of(what, kind)
}

fn begins(text: &str, begin: &str) -> bool {
    text.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin))
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
    fn what_a_file_seems_to_be_is_said_with_what_to_try() {
        for (name, head, said) in [
            ("a.html", &b"%PDF-1.7"[..], Some("a PDF")),
            ("a", b"a\0b", Some("a binary file")),
            (
                "a.html",
                b"\xef\xbb\xbf<!DOCTYPE NETSCAPE-Bookmark-file-1>",
                Some("bookmarks of a browser: try --from bookmarks"),
            ),
            ("a.html", b" <!doctype HTML><p>", Some("a web page")),
            ("a.md", b"# Plan", Some("a note: try --from folder")),
            ("a.json", b"[{\"uuid\":\"x\",\"chat_messages\":[", Some("a Claude export: try --from claude")),
            ("a.json", b"[{\"mapping\":{\"x\":{\"message\":", Some("a ChatGPT export: try --from chatgpt")),
            ("a.jsonl", b"{\"type\":\"session\",\"id\":\"x\"}\n{", Some("an OpenClaw session: try --from openclaw")),
            ("a.txt", b"Plan", None),
            ("a.json", b"[1, 2", None),
            ("a.json", b"", None),
        ] {
            assert_eq!(seems(name, head).map(Seeming::said).as_deref(), said, "{name}");
        }
        let moltis = seems("a.jsonl", b"{\"role\":\"user\"}\n").unwrap();
        assert!(moltis.is_of(SourceKind::OpenClaw) && !moltis.is_of(SourceKind::Codex));
    }
}
