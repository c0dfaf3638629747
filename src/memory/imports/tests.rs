//! Readers, on the files of `tests/data/imports`, whole and broken.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::conversations::TOOLS;
use super::sink::{ReadConversation, ReadTurn};
use super::source::{FoundFile, one};
use super::{ImportItem, ImportSink, ImportTally, SourceKind, kind_of_file, read};
use crate::base::chance::proptest_config;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/imports").join(name)
}

/// What a source gives; nothing where it has nothing of the kind.
fn found(kind: SourceKind, path: &Path) -> (Vec<ImportItem>, ImportTally) {
    let mut items = Vec::new();
    let mut take = |item| {
        items.push(item);
        ControlFlow::Continue(())
    };
    let mut sink = ImportSink::new(&mut take);
    let _ = read(kind, path, &|_| true, &mut sink);
    let tally = std::mem::take(&mut sink.tally);
    (items, tally)
}

/// Who said what, when, of all conversations.
fn said(items: &[ImportItem]) -> Vec<String> {
    let events = items.iter().map(|item| match item {
        ImportItem::Event(event) => event,
        ImportItem::Note(note) => panic!("{note:?}"),
    });
    events
        .map(|event| {
            format!(
                "{} {}: {}",
                event["time"].as_str().unwrap_or("-"),
                event["role"].as_str().unwrap(),
                event["text"].as_str().unwrap()
            )
        })
        .collect()
}

fn ids(items: &[ImportItem]) -> BTreeSet<String> {
    let of = |event: &Value| format!("{} {}", event["session"], event["id"]);
    items
        .iter()
        .map(|item| match item {
            ImportItem::Event(event) => of(event),
            ImportItem::Note(note) => note.id.clone(),
        })
        .collect()
}

fn left_out(tally: &ImportTally) -> usize {
    tally.left_out.values().sum()
}

#[test]
fn a_thought_that_is_kept_in_parts_is_left_out_and_counted() {
    let mut items = Vec::new();
    let mut take = |item| {
        items.push(item);
        ControlFlow::Continue(())
    };
    let mut sink = ImportSink::new(&mut take);
    let turn = |role: &str, text: &str| ReadTurn { role: role.into(), text: text.into(), ..ReadTurn::default() };
    let turns = vec![
        turn("user", "What about `</think>`?"),
        turn("assistant", "<think>one"),
        turn("assistant", "two"),
        turn("assistant", "three</think>Four"),
        turn("assistant", "Five `<think>` six"),
        turn("assistant", "Seven `</think>` eight"),
    ];
    sink.conversation(
        SourceKind::ChatGpt,
        ReadConversation { session: Some("s".into()), title: None, at_ms: None, turns },
    );
    let thought = sink.tally.left_out.iter().find(|(reason, _)| reason.contains("thought")).map(|(_, times)| *times);
    assert_eq!(thought, Some(3));
    assert_eq!(
        said(&items),
        [
            "- user: What about `</think>`?", "- assistant: Four", "- assistant: Five `<think>` six",
            "- assistant: Seven `</think>` eight"
        ]
    );
}

#[test]
fn the_branch_of_chatgpt_that_was_shown_is_followed() {
    let (items, tally) = found(SourceKind::ChatGpt, &data("chatgpt/conversations.json"));
    assert_eq!(
        said(&items),
        [
            "2024-05-01T07:53:21.25Z user: How long does a sourdough rise at 18 degrees?",
            "2024-05-01T07:53:26.5Z assistant: Plan for ten to twelve hours at 18 degrees.",
            "2024-05-01T07:53:27Z tool: search result: hydration table",
            "2024-05-01T07:54:20Z user: Is this crumb fine?",
            "2024-05-01T07:54:30Z assistant: The crumb looks even and open.",
            "2024-05-02T07:53:20Z user: Which week in Rome is quiet? My key is AKIAIOSFODNN7EXAMPLE",
            "2024-05-02T07:53:30Z assistant: The second week of November, mostly.",
        ]
    );
    assert_eq!((tally.conversations, tally.turns, left_out(&tally)), (2, 7, 4), "{tally:?}");
    let newer = found(SourceKind::ChatGpt, &data("chatgpt/newer.json")).0;
    assert_eq!(ids(&newer).difference(&ids(&items)).count(), 1, "a newer export has the same names");
    let (older, tally) = found(SourceKind::ChatGpt, &data("chatgpt/older.json"));
    assert_eq!(said(&older).len(), 2, "{older:?}");
    assert_eq!(tally.left_out.len(), 1, "{tally:?}");
    let other = found(SourceKind::ChatGpt, &data("claude/conversations.json")).1;
    assert!(other.conversations == 0 && other.remarks.len() == 1, "{other:?}");
    assert!(other.remarks[0].ends_with(": try --from claude"), "{other:?}");
}

#[test]
fn the_texts_of_claude_are_read_and_what_it_thought_is_not() {
    let (items, tally) = found(SourceKind::Claude, &data("claude/conversations.json"));
    let expected = [
        "2024-06-01T08:00:00.123Z user: How high should a trellis for tomatoes be?",
        "2024-06-01T08:00:09Z assistant: At least 180 centimetres.",
    ];
    assert_eq!(said(&items), expected);
    assert_eq!(tally.conversations, 1);
    let branches = said(&found(SourceKind::Claude, &data("claude/branches.json")).0);
    assert!(branches.len() == 2 && branches[1].ends_with("Hornbeam."), "{branches:?}");
    assert_eq!(said(&found(SourceKind::Claude, &data("claude/older.json")).0).len(), 1);
}

#[test]
fn transcripts_of_claude_code_are_called_as_its_hook_calls_them() {
    let (items, tally) = found(SourceKind::ClaudeCode, &data("claude-code"));
    assert_eq!(
        said(&items),
        [
            "2025-03-01T09:00:01Z user: Write a scheduler for the three ovens.",
            "2025-03-01T09:00:03Z tool: Bash: oven.rs …",
            "2025-03-01T09:00:04Z assistant: The scheduler is in oven.rs now.",
            "2025-03-02T09:00:01Z user: What did the other agent do?",
            "2025-03-02T09:00:03Z user: Thanks, the timetable holds.",
            "2025-03-03T09:00:01Z user: The till rounds wrongly.",
            "2025-03-04T09:00:01Z user: Pourquoi la caisse arrondit-elle mal ?",
            "2025-03-04T09:00:02Z assistant: Je regarde.",
            "2025-03-04T09:00:03Z tool: Read: 1→fn round(cents: i64) -> i64 { …",
            "2025-03-05T09:00:05Z assistant: Elle arrondit vers le bas ; je corrige.",
        ]
    );
    let ImportItem::Event(first) = &items[0] else { panic!() };
    assert_eq!((&first["session"], &first["id"]), (&"5e550000-0000-4000-8000-000000000001".into(), &"k1".into()));
    assert_eq!(first["title"], "Ovens and their schedules");
    assert!(tally.remarks[0].contains("is incomplete"), "{tally:?}");
}

#[test]
fn turns_of_a_resumed_session_came_in_the_order_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let line = |session: &str, text: &str| {
        let message = json!({ "role": "user", "content": text });
        json!({ "type": "user", "sessionId": session, "uuid": text, "timestamp": "2025-03-01T09:00:01Z", "message": message })
            .to_string()
            + "\n"
    };
    let path = folder.path().join("a.jsonl");
    fs::write(&path, line("b", "first") + &line("a", "then")).unwrap();
    assert_eq!(
        said(&found(SourceKind::ClaudeCode, &path).0),
        ["2025-03-01T09:00:01Z user: first", "2025-03-01T09:00:01Z user: then"]
    );
}

#[test]
fn rollouts_of_codex_are_read_with_envelopes_and_without() {
    let (items, _) = found(SourceKind::Codex, &data("codex"));
    let said = said(&items);
    assert_eq!(said.len(), 10, "{said:?}");
    assert!(
        said.iter().any(|turn| turn.ends_with(" tool: apply_patch: Success. Updated the following files: …")),
        "{said:?}"
    );
    assert!(said.iter().any(|turn| turn.ends_with(" tool: shell: ok")), "{said:?}");
    assert!(said.iter().any(|turn| turn.ends_with("It slices bytes; it slices characters now.")));
    assert_eq!(ids(&items).len(), 10, "who says yes twice has said it twice");
}

#[test]
fn sessions_of_openclaw_and_moltis_are_without_their_machinery() {
    let (items, tally) = found(SourceKind::OpenClaw, &data("openclaw"));
    let texts: Vec<String> =
        said(&items).iter().map(|turn| turn.split_once(": ").unwrap().1.trim().to_owned()).collect();
    assert_eq!(
        texts,
        [
            "Remind me of the dentist on Friday.", "The dentist is on Friday at ten.", "write: file written",
            "No line names this session.", "東京の天気は？", "晴れです。"
        ]
    );
    assert!(tally.left_out.len() >= 4, "{tally:?}");
    let (items, _) = found(SourceKind::Moltis, &data("moltis"));
    let said = said(&items);
    assert_eq!(said[0], "2025-10-09T08:53:20Z user: Where is the spare key?");
    assert!(said.contains(&"2025-10-09T08:53:22Z tool: exec: pots.txt …".to_owned()), "{said:?}");
    assert_eq!((said.len(), ids(&items).len()), (7, 7), "{said:?}");
}

#[test]
fn bookmarks_are_read_with_their_folders_and_times() {
    let (items, tally) = found(SourceKind::Bookmarks, &data("bookmarks"));
    let events: Vec<&Value> = items
        .iter()
        .map(|item| match item {
            ImportItem::Event(event) => event,
            ImportItem::Note(_) => panic!(),
        })
        .collect();
    let of = |url: &str| *events.iter().find(|event| event["url"] == url).unwrap();
    assert_eq!(of("https://example.org/rye?a=1&b=2")["title"], "Rye & spelt");
    assert_eq!(of("https://example.org/oven")["note"], "In Bookmarks bar / Ovens");
    assert_eq!(of("https://example.org/oven")["time"], "2023-11-14T22:13:22Z");
    assert_eq!(of("https://example.org/mill")["note"], "Where the flour comes from");
    assert_eq!(of("https://example.org/safari")["title"], "Ohne Datum über 東");
    assert_eq!(of("https://example.org/%D1%80%D0%B6%D1%8C")["title"], "Ржаная закваска");
    assert_eq!(of("https://example.org/%D1%80%D0%B6%D1%8C")["time"], "2023-11-14T22:13:20.123Z");
    assert_eq!(of("https://example.org/plain")["note"], "In Хлеб");
    assert_eq!((events.len(), left_out(&tally)), (6, 2));
}

#[test]
fn notes_are_called_as_they_were_and_named_by_their_place() {
    let titles = |kind, name: &str| {
        let (items, _) = found(kind, &data(name));
        let mut titles: Vec<String> = items
            .into_iter()
            .map(|item| match item {
                ImportItem::Note(note) => note.title,
                ImportItem::Event(_) => panic!(),
            })
            .collect();
        titles.sort();
        titles
    };
    assert_eq!(titles(SourceKind::Obsidian, "obsidian"), ["Bread", "Diary", "Rye starter"]);
    assert_eq!(titles(SourceKind::Folder, "obsidian").len(), 3);
    assert_eq!(titles(SourceKind::Notion, "notion"), ["Bakery", "Ovens", "Staff"]);
    assert_eq!(titles(SourceKind::Logseq, "logseq"), ["2026-01-05", "Suppliers/Mill", "Yeast"]);
    assert_eq!(titles(SourceKind::OpenClawMemory, "openclaw-memory").len(), 4);
    assert_eq!(titles(SourceKind::Folder, "folder"), ["Latin", "windows", "日本"]);
    assert_eq!(titles(SourceKind::MoltisMemory, "moltis-memory")[0], "Moltis memory 2025-10-01");
}

#[test]
fn exports_of_another_account_in_another_script_are_read_and_what_was_cut_is_said() {
    let (items, tally) = found(SourceKind::ChatGpt, &data("chatgpt/other-account.json"));
    assert_eq!(
        said(&items),
        [
            "2025-02-03T10:00:01Z user: كم سعر كيس الدقيق هذا الأسبوع؟",
            "2025-02-03T10:00:06Z tool: python: 23.5 …",
            "2025-02-03T10:00:09Z assistant: متوسط السعر ٢٣٫٥ يورو.",
            "2025-02-03T10:00:15.123Z user: وماذا عن الجاودار؟",
            "2025-02-03T10:00:16.5Z tool: browser: L1: Rye, 25 kg …",
            "2025-02-03T10:00:20Z assistant: الجاودار ٣١ يورو.",
        ]
    );
    assert_eq!(tally.left_out[TOOLS], 2, "{tally:?}");
    let (cut, tally) = found(SourceKind::ChatGpt, &data("chatgpt/cut.json"));
    assert!(said(&cut) == said(&items) && tally.remarks[0].contains("is incomplete"), "{tally:?}");
    let (items, _) = found(SourceKind::Claude, &data("claude/other-account.json"));
    assert_eq!(
        said(&items),
        [
            "2025-03-01T08:00:00Z user: 哪家磨坊星期二送货？",
            "2025-03-01T08:00:20Z tool: web_search: Mühle Huber – Lieferung dienstags …",
            "2025-03-01T08:00:20Z assistant: 我查一下。\n\n胡贝尔磨坊。",
            "2025-03-01T08:00:30Z tool: repl: nothing but a line",
        ]
    );
}

#[test]
fn bookmarks_that_mean_ill_are_read_as_fast_as_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ill.html");
    for pattern in
        ["<a\t>", "<A HREF=x><b>", "<<", "<h3>x", "<dd>&amp", "<a href href href>", "<dl>", "<dl><a href=javascript:x>"]
    {
        let end = "<DT><A HREF=\"https://example.org/end\">The end</A>\n";
        fs::write(&file, pattern.repeat((2 << 20) / pattern.len()) + ">\n" + end).unwrap();
        let (items, _) = found(SourceKind::Bookmarks, &file);
        assert_eq!(items.len(), 1, "{pattern}");
    }
}

/// A gigabyte of a note was once held, to say that it has more than 512 kB.
#[test]
fn of_a_note_no_more_is_held_than_one_may_have() {
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0 += into.len() as u64;
            assert!(self.0 < 4 << 20, "it is read on and on");
            into.fill(b'x');
            Ok(into.len())
        }
    }
    let mut take = |_| ControlFlow::Continue(());
    let mut sink = ImportSink::new(&mut take);
    let file = FoundFile { name: "a.md".into(), place: "/a.md".into(), at_ms: None, from: &mut Endless(0) };
    one(SourceKind::Folder, file, &mut sink);
    assert_eq!(sink.tally.left_out["notes of more than 512 kB"], 1);
}

/// The files of the data of a kind.
fn files(kind: SourceKind) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![data(kind.name())], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    files
}

#[test]
fn there_are_three_files_of_each_kind_that_give_something_of_it_alone() {
    for kind in SourceKind::ALL {
        let giving = files(kind).into_iter().filter(|file| !found(kind, file).0.is_empty()).count();
        assert!(giving >= 3, "{kind:?} {giving}");
    }
}

#[test]
fn a_file_that_was_cut_anywhere_gives_what_was_whole_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, file) in
        SourceKind::ALL.into_iter().flat_map(|kind| files(kind).into_iter().map(move |file| (kind, file)))
    {
        let bytes = fs::read(&file).unwrap();
        let whole = found(kind, &file).0.len();
        let cut = folder.path().join(file.file_name().unwrap());
        let mut most = 0;
        for length in (0..bytes.len()).step_by(37) {
            fs::write(&cut, &bytes[..length]).unwrap();
            let items = found(kind, &cut).0.len();
            assert!(items <= whole + 1, "{kind:?} {length}");
            // Where a line or an element ends, no more is lost than what comes after.
            assert!(items + 1 >= most || kind == SourceKind::Bookmarks, "{kind:?} {length}");
            most = most.max(items);
        }
    }
}

/// A change to a file, at a place of it.
#[derive(Debug, Clone)]
enum Damage {
    Noise(Vec<u8>),
    Sign(char),
    Gone(usize),
    Twice(usize),
    Cut,
}

fn damages() -> impl Strategy<Value = Vec<(prop::sample::Index, Damage)>> {
    let damage = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60).prop_map(Damage::Noise),
        prop::sample::select(vec!['{', '}', '[', ']', '"', '\\', '<', '>', '\n', '\0', '9', '-', '`', '/'])
            .prop_map(Damage::Sign),
        (1..400_usize).prop_map(Damage::Gone),
        (1..400_usize).prop_map(Damage::Twice),
        Just(Damage::Cut),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), damage), 1..5)
}

/// Reads a damaged file of a kind as one of that kind and of another: whatever it gives is what capture takes.
fn holds(
    kind: SourceKind,
    other: prop::sample::Index,
    which: prop::sample::Index,
    damages: Vec<(prop::sample::Index, Damage)>,
) {
    let folder = tempfile::tempdir().unwrap();
    let files = files(kind);
    let file = which.get(&files);
    let mut bytes = fs::read(file).unwrap();
    for (at, damage) in damages {
        let at = at.index(bytes.len() + 1);
        let until = |length: usize| (at + length).min(bytes.len());
        match damage {
            Damage::Noise(noise) => drop(bytes.splice(at..until(noise.len()), noise)),
            Damage::Sign(sign) => drop(bytes.splice(at..until(1), sign.to_string().into_bytes())),
            Damage::Gone(length) => drop(bytes.drain(at..until(length))),
            Damage::Twice(length) => {
                let piece = bytes[at..until(length)].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            Damage::Cut => bytes.truncate(at),
        }
    }
    let broken = folder.path().join(file.file_name().unwrap());
    fs::write(&broken, &bytes).unwrap();
    for kind in [kind, *other.get(&SourceKind::ALL)] {
        for item in found(kind, &broken).0 {
            match item {
                ImportItem::Note(note) => {
                    assert!(note.text.len() <= 512 << 10 && note.title.len() <= 400 && note.id.len() <= 2000)
                }
                ImportItem::Event(event) => {
                    let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
                    assert!(matches!(text("type").as_str(), "message" | "bookmark"), "{event}");
                    assert!(text("text").len() + text("note").len() <= 50 << 10 && !text("id").is_empty(), "{event}");
                    assert!(["id", "session", "role", "title"].iter().all(|field| text(field).len() <= 500), "{event}");
                    let marks = |text: String| text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
                    assert!(
                        !["id", "session", "role", "title", "text", "note", "url"]
                            .into_iter()
                            .any(|field| marks(text(field))),
                        "{event}"
                    );
                }
            }
        }
    }
}

/// A test for each kind: files of it, changed anywhere.
macro_rules! damaged_files_are_read {
    ($($name:ident: $kind:ident,)*) => {
        proptest! {
            #![proptest_config(proptest_config(64))]
            $(
                #[test]
                fn $name(other in any::<prop::sample::Index>(), which in any::<prop::sample::Index>(), damages in damages()) {
                    holds(SourceKind::$kind, other, which, damages);
                }
            )*
        }
    };
}

damaged_files_are_read! {
    damaged_exports_of_chatgpt_are_read: ChatGpt,
    damaged_exports_of_claude_are_read: Claude,
    damaged_transcripts_of_claude_code_are_read: ClaudeCode,
    damaged_rollouts_of_codex_are_read: Codex,
    damaged_sessions_of_openclaw_are_read: OpenClaw,
    damaged_sessions_of_moltis_are_read: Moltis,
    damaged_bookmarks_are_read: Bookmarks,
    damaged_notes_of_obsidian_are_read: Obsidian,
    damaged_notes_of_a_folder_are_read: Folder,
    damaged_notes_of_notion_are_read: Notion,
    damaged_notes_of_logseq_are_read: Logseq,
    damaged_memory_of_moltis_is_read: MoltisMemory,
    damaged_memory_of_openclaw_is_read: OpenClawMemory,
}

#[test]
fn a_file_that_comes_without_a_kind_is_told_by_what_is_in_it() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let zipped = |name: &str, files: &[(&str, &str)]| {
        let path = folder.path().join(name);
        let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        for (name, text) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        path
    };
    let digits = "Plan 0123456789abcdef0123456789abcdef.md";
    for (name, files, kind) in [
        ("a.zip", [("x/conversations.json", r#"[{"mapping": {}}]"#), ("chat.html", "")], Some(SourceKind::ChatGpt)),
        ("b.zip", [("conversations.json", r#"[{"chat_messages": []}]"#), ("users.json", "")], Some(SourceKind::Claude)),
        ("c.zip", [("s.jsonl", r#"{"type": "user", "uuid": "1"}"#), ("x.txt", "")], Some(SourceKind::ClaudeCode)),
        ("d.zip", [(".obsidian/app.json", "{}"), ("a.md", "")], Some(SourceKind::Obsidian)),
        ("e.zip", [("g/journals/2026_01_05.md", ""), ("g/pages/a.md", "")], Some(SourceKind::Logseq)),
        ("f.zip", [(digits, ""), ("image.png", "")], Some(SourceKind::Notion)),
        ("g.zip", [("a.md", ""), ("b.txt", "")], Some(SourceKind::Folder)),
        ("h.docx", [("word/document.xml", ""), ("[Content_Types].xml", "")], None),
    ] {
        assert_eq!(kind_of_file(&zipped(name, &files)), kind, "{name}");
    }
    for (name, text) in [("a.zip", "PK\u{3}\u{4} cut"), ("a.json", "{}"), ("a.html", "<p>"), ("a.bin", "")] {
        fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(kind_of_file(&folder.path().join(name)), None, "{name}");
    }
    fs::write(folder.path().join("b.html"), "<!DOCTYPE NETSCAPE-Bookmark-file-1>").unwrap();
    assert_eq!(kind_of_file(&folder.path().join("b.html")), Some(SourceKind::Bookmarks));
}
