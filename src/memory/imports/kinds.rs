//! The kinds of sources: what each is called and takes, what a file seems to be by its first bytes, to say what to try where it is none of the
//! kind, and what notes are called there. And bookmarks as all browsers export them: Netscape's HTML.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use html5gum::{Token, Tokenizer};
use jiff::civil::Date;
use serde_json::Value;

use super::clean::said;
use super::conversations::{MAX_LINE_BYTES, moment};
use super::json::parse;
use super::sink::ImportSink;
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
pub(super) fn seems(name: &str, head: &[u8]) -> Option<SourceKind> {
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

/// Of which program the notes with these names are; `None` where none is a note.
pub(super) fn notes_in(names: &[String]) -> Option<SourceKind> {
    let mut notes = names.iter().filter(|name| is_markdown(name)).peekable();
    notes.peek()?;
    Some(if names.iter().any(|name| name.split('/').any(|part| part == ".obsidian")) {
        SourceKind::Obsidian
    } else if names.iter().any(|name| name.split('/').any(|part| part == "journals")) {
        SourceKind::Logseq
    } else if notes.all(|name| digits(stem(name)).is_some()) {
        SourceKind::Notion
    } else {
        SourceKind::Folder
    })
}

/// Whether a file is a note of a kind of source.
pub(super) fn is_note(kind: SourceKind, name: &str) -> bool {
    if !is_markdown(name) {
        return false;
    }
    let folders: Vec<&str> = name.split('/').rev().skip(1).collect();
    match kind {
        SourceKind::Logseq => {
            folders.iter().any(|folder| matches!(*folder, "pages" | "journals")) && !folders.contains(&"bak")
        }
        SourceKind::MoltisMemory | SourceKind::OpenClawMemory => {
            let file = name.rsplit('/').next().unwrap_or_default();
            file.eq_ignore_ascii_case("memory.md") || folders.contains(&"memory")
        }
        _ => true,
    }
}

/// Whether a file is one of Markdown, wherever it is.
pub(super) fn is_markdown(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".md") || lower.ends_with(".markdown")
}

/// Hands a note over. `place` tells it from all others: where it is.
pub(super) fn note(kind: SourceKind, place: &str, name: &str, bytes: &[u8], sink: &mut ImportSink<'_>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            sink.remark(format!("{name} is not UTF-8: invalid bytes were replaced"));
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let is_memory = matches!(kind, SourceKind::MoltisMemory | SourceKind::OpenClawMemory);
    let text = if is_memory {
        let (left, rules) = said(Some(kind), "assistant", &text);
        rules.iter().for_each(|rule| sink.leave_out(rule));
        if left.trim().is_empty() && !rules.is_empty() {
            return;
        }
        left
    } else {
        text
    };
    // Each download of Notion's is called otherwise; a page keeps its digits, wherever it is, and whatever its title.
    let page = (kind == SourceKind::Notion).then(|| digits(stem(name))).flatten();
    let id = page.map_or_else(|| place.to_owned(), |(_, digits)| format!("notion:{}", digits.to_ascii_lowercase()));
    sink.note(&id, &title(kind, name), text);
}

/// What a note is called, by its file.
fn title(kind: SourceKind, name: &str) -> String {
    let stem = stem(name);
    match kind {
        SourceKind::Notion => digits(stem).map_or(stem, |(title, _)| title).to_owned(),
        SourceKind::Logseq => {
            let day = stem.replace('_', "-");
            if day.parse::<Date>().is_ok() { day } else { stem.replace("___", "/").replace("%2F", "/") }
        }
        SourceKind::MoltisMemory => format!("Moltis memory {stem}"),
        SourceKind::OpenClawMemory => format!("OpenClaw memory {stem}"),
        _ => stem.to_owned(),
    }
}

/// A name without its folders and what follows the last dot.
pub(super) fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// A name, and the digits that Notion puts behind it.
fn digits(stem: &str) -> Option<(&str, &str)> {
    let (title, digits) = stem.rsplit_once(' ')?;
    let are_digits = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then_some((title, digits))
}

/// Maximum number of folders within one another that are said of a page.
const MAX_FOLDERS: usize = 64;
/// Maximum length of the name of a folder, in characters.
const MAX_FOLDER_CHARS: usize = 200;
/// The tags, in lower case, that end a title: its own, and those that begin an entry or end a folder where its own is missing.
const ENTRIES: [&str; 8] = ["a", "/a", "dd", "dl", "/dl", "dt", "h3", "/h3"];

/// A page whose remark may follow.
struct BookmarkedPage {
    url: String,
    title: String,
    at_ms: Option<i64>,
}

/// Of what the text is that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextOf {
    Nothing,
    Folder,
    Title,
    Remark,
}

/// Reads a file of bookmarks.
pub(super) fn bookmarks(html: &str, sink: &mut ImportSink<'_>) {
    let (mut folders, mut folder, mut deeper) = (Vec::<String>::new(), None::<String>, 0_usize);
    let mut page: Option<BookmarkedPage> = None;
    let (mut of, mut text) = (TextOf::Nothing, String::new());
    let tokens = Tokenizer::new(html).map(|token| match token {
        Ok(token) => Some(token),
    });
    // The end of the file ends what was not closed.
    for token in tokens.chain(std::iter::once(None)) {
        let (name, attributes) = match token {
            Some(Token::String(more)) if of != TextOf::Nothing => {
                text.push_str(&String::from_utf8_lossy(&more));
                continue;
            }
            Some(Token::StartTag(tag)) => (lossy(&tag.name), tag.attributes),
            Some(Token::EndTag(tag)) => (format!("/{}", lossy(&tag.name)), BTreeMap::default()),
            Some(_) => continue,
            None => ("/dl".into(), BTreeMap::default()),
        };
        if sink.is_over() {
            return;
        }
        if of == TextOf::Remark || ENTRIES.contains(&&*name) {
            let text = std::mem::take(&mut text);
            match (of, &mut page) {
                (TextOf::Folder, _) => folder = Some(text.trim().chars().take(MAX_FOLDER_CHARS).collect()),
                (TextOf::Title, Some(page)) => page.title = text,
                (TextOf::Remark, _) => give(page.take(), &folders, text.trim(), sink),
                _ => {}
            }
            of = TextOf::Nothing;
        }
        if matches!(&*name, "a" | "h3" | "/dl") {
            give(page.take(), &folders, "", sink);
        }
        match &*name {
            "dl" if folders.len() < MAX_FOLDERS => folders.push(folder.take().unwrap_or_default()),
            "dl" => deeper += 1,
            "/dl" => match deeper.checked_sub(1) {
                Some(less) => deeper = less,
                None => drop(folders.pop()),
            },
            "h3" => of = TextOf::Folder,
            "dd" => of = TextOf::Remark,
            "a" => {
                let attribute = |name: &[u8]| attributes.get(name).map(|value| lossy(value));
                let at_ms = attribute(b"add_date").and_then(|at| moment(&at.into()));
                page =
                    Some(BookmarkedPage { url: attribute(b"href").unwrap_or_default(), title: String::new(), at_ms });
                of = TextOf::Title;
            }
            _ => {}
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn give(page: Option<BookmarkedPage>, folders: &[String], remark: &str, sink: &mut ImportSink<'_>) {
    let Some(page) = page else { return };
    let folders: Vec<&str> = folders.iter().map(String::as_str).filter(|folder| !folder.is_empty()).collect();
    let place = if folders.is_empty() { String::new() } else { format!("In {}", folders.join(" / ")) };
    let note = [remark, &place].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    sink.bookmark(&page.url, &page.title, &note, page.at_ms);
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

    #[test]
    fn notes_are_called_as_they_were_there() {
        for (kind, name, expected) in [
            (SourceKind::Notion, "a/My Page 0123456789abcdef0123456789abcdef.md", "My Page"),
            (SourceKind::Notion, "My Page 2.md", "My Page 2"),
            (SourceKind::Logseq, "journals/2026_01_05.md", "2026-01-05"),
            (SourceKind::Logseq, "pages/a___b.md", "a/b"),
            (SourceKind::Obsidian, "x/Über uns.md", "Über uns"),
            (SourceKind::OpenClawMemory, "memory/2026-01-05.md", "OpenClaw memory 2026-01-05"),
        ] {
            assert_eq!(title(kind, name), expected);
            assert!(is_note(kind, name));
        }
        assert!(
            !is_note(SourceKind::Logseq, "logseq/bak/pages/a.md") && !is_note(SourceKind::OpenClawMemory, "AGENTS.md")
        );
        assert!(!is_note(SourceKind::Folder, "a.png"));
    }
}
