//! Texts that would break the file they are in.

use memory_vault::text::derive::chunk;
use memory_vault::text::note::{BlockKind, Note};

use super::message;
use crate::support::prelude::*;

const HOSTILE: [&str; 32] = [
    "# A heading", "Title\n=====", "text\n---\nmore", "---\ntitle: x\nprivate: true\n---\na",
    "+++\nprivate = true\n+++", "```\nan open fence", "~~~~\n# a\n**10:00 · Maya:** b\n~~~~", "one ``` two", "%%",
    "%% a comment %%", "before %%\nopen\n\nstill open", "%\\% and %\\\\% and %%%%", "<!--", "<!-- hidden -->", "-->",
    "<!-- open\n\n# still\n", "<div>\n\n<script>a</script>\n\n</div", "<pre>\n\nopen",
    "**12:00 · Maya:** I never said this", "**12:00 · M:** b\n\n**12:01 · J:** c", "> **12:00 · Maya:** quoted",
    "> [!note]- folded\n> text", "- a\n  - b\n\n      code\n1. one", "    indented code", "\tcode by a tab",
    "| a | b |\n|---|---|\n| c | d |", "[a]: //x.org\n[^1]: a note\n\n# h", "[[#Heading]] ![[other]] [open](",
    "$$\nopen math", "a line \\\n\\", "* * *\n___\n***", "\u{feff}---\nprivate: true\n---",
];

/// The text of a turn as it was sent.
fn sent(block: &str) -> String {
    let (_, said) = block.split_once(":**").unwrap();
    let said = match said.strip_prefix('\n') {
        Some(quoted) => {
            let line = |line: &str| line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap().to_owned();
            quoted.lines().map(line).collect::<Vec<_>>().join("\n")
        }
        None => said.strip_prefix(' ').unwrap().to_owned(),
    };
    unguarded(&said, '%', "%")
}

/// Takes one backslash out of each run of them between two texts.
fn unguarded(text: &str, first: char, then: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        found.push(character);
        rest = &rest[character.len_utf8()..];
        if character == first && rest.starts_with('\\') && rest.trim_start_matches('\\').starts_with(then) {
            rest = &rest[1..];
        }
    }
    found
}

#[test]
fn a_turn_stays_one_turn_whatever_it_says() {
    let vault = Daemon::vault().started();
    let mut dice = Random::new(11);
    let mut texts: Vec<String> = HOSTILE.map(str::to_owned).to_vec();
    for _ in 0..80 {
        let parts: Vec<&str> = (0..=dice.below(3)).map(|_| HOSTILE[dice.below(HOSTILE.len())]).collect();
        texts.push(parts.join(["\n", "\n\n", " ", "\n> "][dice.below(4)]));
    }
    let events: Vec<Value> = texts.iter().map(|text| message("hostile", "user", text)).collect();
    assert_eq!(vault.capture(events.into()), (texts.len() as u64, 0));
    vault.captured();
    let path = VaultPath::new("conversations/2026-01-05-hostile.md").unwrap();
    let source = vault.read(path.as_str());
    let note = Note::parse(&source, path.stem());
    assert!(note.headings.is_empty() && note.comments.is_empty() && !note.is_private(), "{:?}", note.headings);
    assert_eq!(note.problems, []);
    assert_eq!(note.metadata["title"], "A heading");

    let starts = |text: &str| text.starts_with("**") && text.contains(" · user:**");
    let chunks = chunk(&path, &note, &source);
    let turns = chunks.iter().filter(|chunk| starts(&chunk.text)).count();
    assert_eq!((turns, chunks.len()), (texts.len(), texts.len()), "a turn is a passage");
    for (chunk, text) in chunks.iter().zip(&texts) {
        let written = &source[chunk.bytes.clone()];
        let found = unguarded(&sent(written), '<', "!--");
        // Blank lines at the ends go, and so do blanks on a blank line.
        let plain =
            |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned();
        assert_eq!(plain(&found), plain(text), "{written}");
    }
    let turn_blocks = note.blocks.iter().filter(|block| block.kind == BlockKind::Paragraph).count();
    assert_eq!(turn_blocks, texts.len());
}

#[test]
fn a_line_stays_one_line_whatever_it_says() {
    let vault = Daemon::vault().started();
    let time = "2026-01-05T12:00:00Z";
    let events = HOSTILE.map(|text| {
        let path = text.replace(['\n', '\t'], "/");
        [
            json!({"type": "agent_activity", "agent": "a", "summary": text, "time": time}),
            json!({"type": "file", "path": path, "action": "opened", "time": time}),
        ]
    });
    vault.written(events.concat().into());
    for path in ["agent-activity/2026-01-05.md", "files/2026-01-05.md"] {
        let source = vault.read(path);
        let note = Note::parse(&source, "x");
        assert_eq!(note.blocks.iter().filter(|block| block.kind == BlockKind::ListItem).count(), HOSTILE.len());
        assert_eq!(note.blocks.len(), HOSTILE.len(), "{source}");
        assert!(note.comments.is_empty() && note.headings.is_empty() && !note.is_private());
    }
}

#[test]
fn titles_and_names_cannot_leave_the_frontmatter() {
    let vault = Daemon::vault().started();
    let names = ["../../etc/passwd", "private: true", "- a", "\"", "#tag", "---", "'", "null", "a\\b", "2026-01-05"];
    let events = names.map(|name| {
        let title = format!("{name} t");
        [
            json!({"type": "message", "session": name, "role": name, "text": "x"}),
            json!({"type": "note", "title": title, "content": "---\nprivate: true\n---\nx", "tags": ["#a b"]}),
            json!({"type": "bookmark", "url": format!("https://x.example/{}", title.len()), "title": title}),
        ]
    });
    vault.written(events.concat().into());
    let files = [vault.notes_in("conversations"), vault.notes_in("notes")].concat();
    assert_eq!(files.len(), 2 * names.len());
    for (name, text) in &files {
        let note = Note::parse(text, "x");
        assert!(!note.is_private() && note.problems.is_empty(), "{name}: {text}");
        assert_eq!(note.metadata["source"], "capture");
    }
    let conversations = vault.notes_in("conversations");
    let session = |text: &str| Note::parse(text, "x").metadata["session"].as_str().unwrap().to_owned();
    let sessions: BTreeSet<String> = conversations.iter().map(|(_, text)| session(text)).collect();
    assert_eq!(sessions, BTreeSet::from(names.map(str::to_owned)));
}
