//! What a file seems to be, by its first bytes: to say that where it is none of what it was called.

use std::path::Path;

use super::item::{SourceKind, session_kind};

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
    (b"SQLite format 3\0", "a database of SQLite"),
    (b"\xd0\xcf\x11\xe0", "a document of Office"),
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
        return Some(Seeming { what: "a file of bytes, and no text", kind: None });
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
        let is_note = super::markdown::is_markdown(name);
        return is_note.then_some(Seeming { what: "a note", kind: Some(SourceKind::Folder) });
    }
    if has("\"chat_messages\"") {
        return of("an export of Claude", SourceKind::Claude);
    }
    if has("\"mapping\"") && (has("\"message\"") || has("\"current_node\"") || has("\"create_time\"")) {
        return of("an export of ChatGPT", SourceKind::ChatGpt);
    }
    if has("\"roots\"") && has("\"bookmark_bar\"") {
        return Some(Seeming { what: "bookmarks as Chrome keeps them: export them as HTML", kind: None });
    }
    match session_kind(Path::new(name), head)? {
        SourceKind::ClaudeCode => of("a transcript of Claude Code", SourceKind::ClaudeCode),
        SourceKind::Codex => of("a rollout of Codex", SourceKind::Codex),
        SourceKind::OpenClaw => of("a session of OpenClaw", SourceKind::OpenClaw),
        SourceKind::Moltis => of("a session of Moltis", SourceKind::Moltis),
        _ => None,
    }
}

fn begins(text: &str, begin: &str) -> bool {
    text.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_seems_to_be_is_said_with_what_to_try() {
        for (name, head, said) in [
            ("a.html", &b"%PDF-1.7"[..], Some("a PDF")),
            ("a", b"a\0b", Some("a file of bytes, and no text")),
            (
                "a.html",
                b"\xef\xbb\xbf<!DOCTYPE NETSCAPE-Bookmark-file-1>",
                Some("bookmarks of a browser: try --from bookmarks"),
            ),
            ("a.html", b" <!doctype HTML><p>", Some("a web page")),
            ("a.md", b"# Plan", Some("a note: try --from folder")),
            ("a.json", b"[{\"uuid\":\"x\",\"chat_messages\":[", Some("an export of Claude: try --from claude")),
            ("a.json", b"[{\"mapping\":{\"x\":{\"message\":", Some("an export of ChatGPT: try --from chatgpt")),
            ("a.jsonl", b"{\"type\":\"session\",\"id\":\"x\"}\n{", Some("a session of OpenClaw: try --from openclaw")),
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
