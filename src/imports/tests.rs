//! Readers, on the files of `tests/data/imports`, whole and broken.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::Value;

use super::{ImportItem, ImportSink, ImportTally, SourceKind, read};

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
    let _ = read(kind, path, &Rc::new(Cell::new(0)), &mut sink);
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
    assert!(other.conversations == 0 && other.remarks[0].contains("--from claude"), "{other:?}");
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
        ]
    );
    let ImportItem::Event(first) = &items[0] else { panic!() };
    assert_eq!((&first["session"], &first["id"]), (&"5e550000-0000-4000-8000-000000000001".into(), &"k1".into()));
    assert_eq!(first["title"], "Ovens and their schedules");
    assert!(tally.remarks[0].contains("cut short"), "{tally:?}");
}

#[test]
fn rollouts_of_codex_are_read_with_envelopes_and_without() {
    let (items, _) = found(SourceKind::Codex, &data("codex"));
    let said = said(&items);
    assert_eq!(said.len(), 7, "{said:?}");
    assert!(said.iter().any(|turn| turn.ends_with(" tool: shell: ok")), "{said:?}");
    assert!(said.iter().any(|turn| turn.ends_with("It slices bytes; it slices characters now.")));
    assert_eq!(ids(&items).len(), 7, "who says yes twice has said it twice");
}

#[test]
fn sessions_of_openclaw_and_moltis_are_without_their_machinery() {
    let (items, tally) = found(SourceKind::OpenClaw, &data("openclaw"));
    let texts: Vec<String> =
        said(&items).iter().map(|turn| turn.split_once(": ").unwrap().1.trim().to_owned()).collect();
    assert_eq!(
        texts,
        [
            "Remind me of the dentist on Friday.",
            "The dentist is on Friday at ten.",
            "write: file written",
            "No line names this session.",
            "東京の天気は？",
            "晴れです。"
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
    assert_eq!((events.len(), left_out(&tally)), (4, 2));
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
    assert_eq!(titles(SourceKind::OpenClawMemory, "memory").len(), 3);
    assert_eq!(titles(SourceKind::MoltisMemory, "memory")[0], "Moltis memory 2025-10-01");
}

/// Every file of the data, with its kind.
fn files() -> Vec<(SourceKind, PathBuf)> {
    let kinds = [
        "chatgpt",
        "claude",
        "claude-code",
        "codex",
        "openclaw",
        "moltis",
        "bookmarks",
        "obsidian",
        "notion",
        "logseq",
    ];
    let mut files = Vec::new();
    for kind in kinds {
        let mut folders = vec![data(kind)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push((SourceKind::of(kind).unwrap(), entry.path())),
                }
            }
        }
    }
    files
}

#[test]
fn a_file_that_was_cut_anywhere_gives_what_was_whole_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, file) in files() {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read(kind in 0..SourceKind::ALL.len(), at in any::<prop::sample::Index>(), noise in prop::collection::vec(any::<u8>(), 0..200), place in any::<prop::sample::Index>()) {
        let folder = tempfile::tempdir().unwrap();
        let files = files();
        let (own, file) = at.get(&files);
        let mut bytes = fs::read(file).unwrap();
        let start = place.index(bytes.len() + 1);
        let end = (start + noise.len()).min(bytes.len());
        bytes.splice(start..end, noise);
        let broken = folder.path().join("broken.md");
        fs::write(&broken, &bytes).unwrap();
        let _ = found(*own, &broken);
        let _ = found(SourceKind::ALL[kind], &broken);
    }
}
