//! What is forgotten is gone, and nothing else is.

use memory_vault::access::request::{ErrorKind, RequestError};
use memory_vault::serve::wire::{Forgotten, RestoreParams, Restored};
use memory_vault::text::derive::{Chunk, RemoveError, chunk, without_chunk, without_lines};
use memory_vault::text::note::Note;
use proptest::prelude::*;

use crate::support::prelude::*;

fn cut(source: &str) -> (Note, Vec<Chunk>) {
    let path = VaultPath::new("notes/a.md").unwrap();
    let note = Note::parse(source, "a");
    let mut chunks = chunk(&path, &note, source);
    // What stands for a note without a text cannot be taken out of it.
    chunks.retain(|chunk| chunk.bytes.end > note.body.start);
    (note, chunks)
}

/// The note without a passage that is these words of it; `None` when the file goes.
#[track_caller]
fn without(source: &str, passage: &str) -> Option<String> {
    let (note, chunks) = cut(source);
    let start = source.find(passage).unwrap();
    let chunk = Chunk { bytes: start..start + passage.len(), ..chunks[0].clone() };
    without_chunk(&note, source, &chunk).unwrap().text
}

#[test]
fn what_stays_is_byte_for_byte_what_it_was() {
    for (source, passage, expected) in [
        ("one\n\ntwo\n\n\nthree\n", "two", Some("one\n\n\nthree\n")),
        ("---\nt: 1\n---\n\none\n\ntwo\n", "one", Some("---\nt: 1\n---\n\ntwo\n")),
        ("one\n\ntwo", "two", Some("one\n")),
        ("one\n\ntwo\n\n", "two", Some("one\n\n")),
        ("one\r\n\r\ntwo\r\n\r\nthree\r\n", "two", Some("one\r\n\r\nthree\r\n")),
        ("---\nt: 1\n---\n# T\n\none\n", "# T\n\none", None),
        ("\n# T\n\n", "# T", None),
        ("# A\n\none\n\n# B\n\ntwo\n", "# B\n\ntwo", Some("# A\n\none\n")),
        // Headings stay with those that stand under them.
        ("# A\n\none\n\ntwo\n", "# A\n\none", Some("# A\n\ntwo\n")),
        ("# A\n\n## B\n\none\n\n## C\n\ntwo\n", "# A\n\n## B\n\none", Some("# A\n\n## C\n\ntwo\n")),
        // What is no passage is no reason to keep less of it.
        ("%% mine %%\n\none\n", "one", Some("%% mine %%\n")),
        // Nothing but the code keeps the paragraphs apart.
        ("one\n```\ntwo\n```\nthree\n", "```\ntwo\n```", Some("one\n\nthree\n")),
        // What then would be frontmatter is none.
        ("one\n\n---\nt: 2\n---\n\nthree\n", "one", Some("\n---\nt: 2\n---\n\nthree\n")),
        ("- one\n- two\n- three\n", "- two", Some("- one\n- three\n")),
        ("One. Two. Three.\n", "Two.", Some("One. Three.\n")),
        ("One.\nTwo. Three.\n", "Two.", Some("One.\nThree.\n")),
        ("One. Two.\nThree.\n", "Two.", Some("One.\nThree.\n")),
        ("> one\n>\n> two\n>\n> three\n", "> two\n>", Some("> one\n>\n> three\n")),
    ] {
        assert_eq!(without(source, passage).as_deref(), expected, "{source:?} without {passage:?}");
    }
}

#[test]
fn a_part_of_a_long_block_goes_without_its_fences() {
    let lines = |word: &str| (0..60).map(|at| format!("{word}({at});\n")).collect::<String>();
    let source = format!("Before.\n\n```rust\n{}{}{}```\n\nAfter.\n", lines("one"), lines("two"), lines("three"));
    let (note, chunks) = cut(&source);
    assert!(chunks.len() > 3, "{}", chunks.len());
    for chunk in &chunks {
        let text = without_chunk(&note, &source, chunk).unwrap().text.unwrap();
        let (after, _) = cut(&text);
        assert_eq!(
            after.blocks.iter().filter(|block| block.kind == memory_vault::text::note::BlockKind::Code).count(),
            1
        );
        assert_eq!(text.matches("```").count(), 2, "{text}");
        assert!(text.contains("After.") || chunk.text.contains("After."), "{text}");
    }
}

#[test]
fn what_is_joined_to_a_passage_goes_with_it_and_headings_of_others_stay() {
    let long = |word: &str| format!("{word} {}", "some more words of it and then some ".repeat(25).trim_end());
    let source = format!(
        "# T\n\n## Empty\n\n[a]: x.md\n\n## B\n\n{}\n\n{}\n\n## C\n\nsee\n\n## Last\n",
        long("one"),
        long("two")
    );
    let (note, chunks) = cut(&source);
    assert!(chunks.len() > 2 && chunks[0].text.contains("## Empty") && chunks[0].text.contains("one"), "{chunks:#?}");
    let text = without_chunk(&note, &source, &chunks[0]).unwrap().text.unwrap();
    assert!(!text.contains("Empty") && !text.contains("[a]") && !text.contains("one"), "{text}");
    assert!(text.starts_with("# T\n\n## B\n\n"), "others stand under it: {text}");
    let last = chunks.last().unwrap();
    assert!(last.text.contains("see") && last.text.ends_with("## Last"));
    let text = without_chunk(&note, &source, last).unwrap().text.unwrap();
    assert!(text.trim_end().ends_with("of it and then some"), "{text}");
}

#[test]
fn lines_go_exactly_and_what_is_private_stays_so() {
    // Lines go exactly, and frontmatter does not.
    let source = "---\nprivate: true\n---\n# T\n\none\ntwo\n\nthree\n";
    let (note, _) = cut(source);
    let without = |first, last| without_lines(&note, source, first, last).map(|left| left.text);
    assert_eq!(without(6, 6).unwrap().unwrap(), "---\nprivate: true\n---\n# T\n\ntwo\n\nthree\n");
    assert_eq!(without(6, 7).unwrap().unwrap(), "---\nprivate: true\n---\n# T\n\nthree\n");
    assert_eq!(without(4, 9).unwrap(), None);
    assert_eq!(without(5, 5), Err(RemoveError::Nothing));
    for (first, last) in [(0, 1), (2, 2), (3, 6), (7, 6), (9, 99)] {
        assert_eq!(without(first, last), Err(RemoveError::Outside), "{first}-{last}");
    }
    // A note that is private stays so.
    let source = format!("{}\n\nA secret. #private\n", "alpha ".repeat(130));
    let (note, chunks) = cut(&source);
    let last = chunks.last().unwrap();
    assert_eq!(without_chunk(&note, &source, last), Err(RemoveError::KeepsPrivate));
    assert_eq!(without_lines(&note, &source, 3, 3), Err(RemoveError::KeepsPrivate));
    assert!(without_chunk(&note, &source, &chunks[0]).is_ok());
}

fn block() -> impl Strategy<Value = String> {
    let words = |most: usize| prop::collection::vec("[a-z]{3,9}", 1..most).prop_map(|words| words.join(" "));
    prop_oneof![
        4 => words(160),
        2 => (1..4usize, words(4)).prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        2 => prop::collection::vec(words(60), 1..4).prop_map(|items| {
            items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
        }),
        1 => (words(30), words(90)).prop_map(|(one, two)| format!("1. {one}\n   - {two}\n2. {one}")),
        1 => words(400).prop_map(|text| format!("```\n{}\n```", text.replace(" ", "\n"))),
        1 => words(60).prop_map(|text| format!("> {text}\n>\n> {text}")),
        1 => words(6).prop_map(|text| format!("| a | b |\n|---|---|\n| {text} | x |\n| y | {text} |")),
        1 => words(6).prop_map(|text| format!("%% {text} %%")),
        1 => Just("---".to_owned()),
        1 => words(60).prop_map(|text| format!("{text}. {text}! {text}?")),
    ]
}

fn source() -> impl Strategy<Value = String> {
    let gap = prop_oneof![6 => Just("\n\n"), 2 => Just("\n"), 1 => Just("\n\n\n")];
    let front = prop_oneof![Just(""), Just("---\ntitle: T\n---\n"), Just("---\ntags: [a]\n---\n\n")];
    let end = prop_oneof![Just("\n"), Just(""), Just("\n\n")];
    (front, prop::collection::vec((block(), gap), 1..8), end, any::<bool>()).prop_map(
        |(front, blocks, end, windows)| {
            let mut text = front.to_owned();
            let last = blocks.len() - 1;
            for (at, (block, gap)) in blocks.into_iter().enumerate() {
                text.push_str(&block);
                text.push_str(if at == last { end } else { gap });
            }
            if windows { text.replace('\n', "\r\n") } else { text }
        },
    )
}

/// What can be read in a text, apart from blank space and headings.
fn bodies(chunks: &[Chunk]) -> String {
    // The first of a note brings along the headings above it that have nothing else.
    let lines = chunks.iter().map(Chunk::body).flat_map(str::lines).filter(|line| !line.starts_with('#'));
    lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
}

fn blank_runs(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for line in text.lines() {
        run = if line.trim().is_empty() { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

proptest! {
    #![proptest_config(proptest_config(96))]

    #[test]
    fn the_other_passages_stay(source in source()) {
        let (note, chunks) = cut(&source);
        for (at, one) in chunks.iter().enumerate() {
            let left = match without_chunk(&note, &source, one) {
                Ok(left) => left.text.unwrap_or_else(|| source[..note.body.start].to_owned()),
                // Nothing is done where it cannot be done well.
                Err(RemoveError::Entangled) => continue,
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            prop_assert!(left.starts_with(&source[..note.body.start]), "the frontmatter is untouched");
            let (_, after) = cut(&left);
            let expected: Vec<Chunk> =
                chunks.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, chunk)| chunk.clone()).collect();
            let fences = |text: String| text.replace("```", "");
            prop_assert_eq!(fences(bodies(&after)), fences(bodies(&expected)), "{:?}\n{:?}", one.text, left);
            prop_assert!(blank_runs(&left) <= blank_runs(&source).max(1), "{:?}", left);
            prop_assert!(left.len() < source.len());
        }
    }
}

const NOTE: &str = "---\ntags: [food]\n---\n# Bread\n\nFlour and water.\n\n# Soup\n\nAn aardvark in the pot.\n";

fn forget(vault: &TestVault, params: Value) -> Result<Forgotten, RequestError> {
    notes::forget(&vault.owner(), &serde_json::from_value(params).unwrap())
}

fn restore(vault: &TestVault, id: &str) -> Restored {
    notes::restore(&vault.owner(), id, RestoreParams::default()).unwrap()
}

/// The hash of the passage that a word finds.
fn passage(vault: &TestVault, word: &str) -> String {
    vault.words(word).0.results[0].chunk.hash.clone()
}

#[test]
fn a_passage_is_gone_at_once_and_comes_back() {
    let vault = TestVault::new().with("notes/a.md", NOTE).synced();
    let hash = passage(&vault, "aardvark");
    let would = forget(&vault, json!({"hash": hash, "dry_run": true})).unwrap();
    assert_eq!((would.content.as_str(), would.whole), ("# Soup\n\nAn aardvark in the pot.", false));
    assert_eq!(vault.read("notes/a.md"), NOTE);
    let forgotten = forget(&vault, json!({"hash": hash, "seen": would.seen})).unwrap();
    assert!(vault.words("aardvark").paths().is_empty());
    let left = "---\ntags: [food]\n---\n# Bread\n\nFlour and water.\n";
    assert_eq!(vault.read("notes/a.md"), left);
    // What is left is all there is.
    let last = forget(&vault, json!({"hash": passage(&vault, "flour")})).unwrap();
    assert!(last.whole && !vault.path("notes/a.md").exists());
    assert_eq!(vault.read(".trash/notes/a.md"), left);
    assert_eq!(vault.status().files, 0);
    restore(&vault, &last.checkpoint_id.unwrap());
    restore(&vault, &forgotten.checkpoint_id.unwrap());
    assert_eq!(vault.words("aardvark").paths()[0], "notes/a.md");
    assert_eq!(vault.read("notes/a.md"), NOTE);
    assert!(!vault.path(".trash/notes/a.md").exists());
}

#[test]
fn what_has_changed_since_is_refused() {
    let mut vault = TestVault::new().with("notes/a.md", NOTE).synced();
    let hash = passage(&vault, "aardvark");
    let seen = forget(&vault, json!({"path": "notes/a.md", "dry_run": true})).unwrap().seen;
    assert_eq!(seen.len(), 16);
    let edited = format!("{NOTE}\nMore.\n");
    vault.write("notes/a.md", &edited);
    for params in [json!({"hash": hash}), json!({"hash": seen}), json!({"path": "notes/a.md", "seen": seen})] {
        let error = forget(&vault, params).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
        assert!(error.message.contains("changed since"), "{error}");
    }
    assert_eq!(vault.read("notes/a.md"), edited);
    vault.sync();
    assert_eq!(forget(&vault, json!({"hash": seen})).unwrap_err().kind, ErrorKind::NotFound);
    vault.remove("notes/a.md");
    assert_eq!(forget(&vault, json!({"hash": hash})).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn lines_are_those_that_the_index_has_told_of() {
    let mut vault = TestVault::new().with("memory.toml", "[index]\nexclude = [\"left-out.md\"]\n");
    vault.config.index.exclude = vec!["left-out.md".into()];
    vault.write("notes/a.md", "one\ntwo\nthree\n").write("left-out.md", "one\ntwo\n").sync();
    let edited = "one\nnew\ntwo\nthree\n";
    vault.write("notes/a.md", edited);
    for path in ["notes/a.md", "left-out.md"] {
        let error = forget(&vault, json!({"path": path, "line_start": 2})).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    }
    assert_eq!(vault.read("notes/a.md"), edited);
    vault.sync();
    forget(&vault, json!({"path": "notes/a.md", "line_start": 2})).unwrap();
    assert_eq!(vault.read("notes/a.md"), "one\ntwo\nthree\n");
    let seen = forget(&vault, json!({"path": "left-out.md", "line_start": 2, "dry_run": true})).unwrap().seen;
    forget(&vault, json!({"path": "left-out.md", "line_start": 2, "seen": seen})).unwrap();
    assert_eq!(vault.read("left-out.md"), "one\n");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_field() {
    let vault = TestVault::new().with("notes/a.md", NOTE).with("notes/b.markdown", "text").synced();
    for (said, params) in [
        ("give `hash`", json!({})),
        ("give `hash`", json!({"hash": "0123456789abcdef", "path": "notes/a.md"})),
        ("is not a hash", json!({"hash": "nothing"})),
        ("`line_start`", json!({"path": "notes/a.md", "line_start": 0})),
        ("`line_start`", json!({"path": "notes/a.md", "line_start": 5, "line_end": 4})),
        ("`line_start`", json!({"path": "notes/a.md", "line_end": 4})),
        ("`path`", json!({"path": "../a.md"})),
        ("`path`", json!({"path": "/etc/passwd"})),
        (".vault/a.md", json!({"path": ".vault/a.md"})),
        ("memory.toml", json!({"path": "memory.toml"})),
        ("frontmatter", json!({"path": "notes/a.md", "line_start": 2})),
        ("past the end", json!({"path": "notes/a.md", "line_start": 99})),
    ] {
        let error = forget(&vault, params).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{said}: {error}");
        assert!(error.message.contains(said), "{said}: {error}");
    }
    assert_eq!(forget(&vault, json!({"path": "notes/none.md"})).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(vault.read("notes/a.md"), NOTE);
    assert!(!vault.path(".vault/state/checkpoints").exists());
}

#[test]
fn what_is_purged_leaves_nothing_behind() {
    let mut vault = TestVault::new().with("notes/a.md", NOTE).synced();
    // An undo embeds nothing.
    let embedded = vault.embedded_by(|vault| {
        let forgotten = forget(vault, json!({"hash": passage(vault, "aardvark")})).unwrap();
        restore(vault, &forgotten.checkpoint_id.unwrap());
    });
    assert_eq!(embedded, 0);
    write_file(vault.path(".trash/notes/a.md"), NOTE);
    let forgotten = forget(&vault, json!({"hash": passage(&vault, "aardvark"), "purge": true})).unwrap();
    assert_eq!(forgotten.checkpoint_id, None);
    let purged = forgotten.purged.unwrap();
    assert_eq!((purged.checkpoints, purged.trashed, purged.embeddings, purged.commits), (3, 1, 1, None));
    let state = contents(&vault.path(".vault/state"));
    let trash = contents(&vault.path(".trash"));
    for (path, bytes) in state.iter().chain(&trash) {
        assert!(!String::from_utf8_lossy(bytes).contains("aardvark"), "{path:?}");
    }
    assert_eq!(vault.embedded_by(|vault| _ = vault.write("notes/a.md", NOTE)), 1);
}

#[test]
fn git_is_asked_what_it_keeps_and_nothing_else() {
    let mut vault = TestVault::new().with("notes/a.md", NOTE);
    let root = vault.root();
    let git = |args: &[&str]| git(&root, args);
    git(&["init", "-q"]);
    git(&["add", "notes"]);
    git(&["commit", "-qm", "one"]);
    let before = git(&["log", "--format=%H"]);
    vault.sync();
    let purged = forget(&vault, json!({"hash": passage(&vault, "aardvark"), "purge": true})).unwrap().purged.unwrap();
    assert_eq!(purged.commits, Some(1));
    assert!(purged.remains[0].contains("git filter-repo"), "{:?}", purged.remains);
    assert_eq!(git(&["log", "--format=%H"]), before);
}

#[test]
fn from_the_command_line_with_a_daemon_and_without() {
    let mut vault = Daemon::vault().with("notes/a.md", NOTE).with("notes/b.md", "one\ntwo\nthree\n");
    let shown = vault.run(&["forget", "notes/b.md:2", "--dry-run"]).ok().stdout;
    assert!(shown.contains("this in notes/b.md") && shown.contains("    two\n"), "{shown}");
    let done = vault.run(&["forget", "notes/b.md:2"]).ok().stdout;
    assert_eq!(vault.read("notes/b.md"), "one\nthree\n");
    let id = done.trim().rsplit(' ').next().unwrap().to_owned();
    vault.run(&["undo", &id]).ok();
    assert_eq!(vault.read("notes/b.md"), "one\ntwo\nthree\n");
    vault.start();
    let hash = vault.run(&["search", "aardvark", "--json"]).ok().json()["results"][0]["hash"].clone();
    let forgotten = vault.run(&["forget", hash.as_str().unwrap(), "--json"]).ok().json();
    assert_eq!((forgotten["ok"].as_bool(), forgotten["path"].as_str()), (Some(true), Some("notes/a.md")));
    assert_eq!(vault.run(&["forget", hash.as_str().unwrap()]).code, 1, "it is not there any more");
    assert!(vault.find("aardvark").is_empty());
    // Nobody is there to be asked.
    let refused = vault.run(&["forget", "notes/a.md", "--purge"]);
    assert!(refused.code == 2 && refused.stderr.contains("--yes"), "{}", refused.stderr);
    let purged = vault.run(&["forget", "notes/a.md", "--purge", "--yes"]).ok().stdout;
    assert!(purged.contains("removed permanently") && !purged.contains("index"), "{purged}");
    assert_eq!(vault.run(&["undo", "--list", "notes/a.md"]).code, 1);
    assert!(!vault.path(".trash/notes/a.md").exists());
}

/// A command as somebody at a terminal gives it, who types `answer`.
fn at_a_terminal(vault: &Daemon, args: &[&str], answer: &'static str) -> String {
    let shown = at_terminal(At::Keyboard(answer), &mut vault.command(args));
    assert_eq!(shown.code, 0, "{shown:?}");
    shown.screen + &shown.piped
}

#[test]
fn somebody_at_a_terminal_is_asked() {
    let vault = Daemon::vault().with("notes/a.md", NOTE).with("notes/b.md", "one\ntwo\nthree\n");
    for no in ["n\n", "\n", "perhaps\n"] {
        let shown = at_a_terminal(&vault, &["forget", "notes/b.md:2"], no);
        assert!(shown.contains("this in notes/b.md") && shown.contains("    two"), "{shown}");
        assert!(shown.contains("Remove it? [y/N]") && shown.contains("nothing was changed"), "{shown}");
        assert_eq!(vault.read("notes/b.md"), "one\ntwo\nthree\n");
    }
    let shown = at_a_terminal(&vault, &["forget", "notes/b.md:2"], "Y\n");
    assert!(shown.contains("to undo: vault undo "), "{shown}");
    assert_eq!(vault.read("notes/b.md"), "one\nthree\n");
    let shown = at_a_terminal(&vault, &["forget", "notes/a.md", "--purge"], "no\n");
    assert!(shown.contains("Remove it permanently? [y/N]") && vault.path("notes/a.md").exists(), "{shown}");
    let shown = at_a_terminal(&vault, &["forget", "notes/a.md", "--purge"], "yes\n");
    assert!(shown.contains("removed permanently") && !vault.path("notes/a.md").exists(), "{shown}");
    let shown = at_a_terminal(&vault, &["forget", "notes/b.md", "--yes"], "");
    assert!(!shown.contains("[y/N]") && !vault.path("notes/b.md").exists(), "{shown}");
}

#[test]
fn a_turn_after_a_fence_that_was_left_open_goes_alone() {
    let turns = |texts: &[&str]| {
        let turns = texts.iter().map(|text| format!("\n**10:00 · Maya:** {text}\n")).collect::<String>();
        format!("---\ntitle: x\nsource: capture\nsession: s\n---\n\n```\nmine\n{turns}")
    };
    let source = turns(&["one", "two", "three"]);
    let path = VaultPath::new("conversations/a.md").unwrap();
    let note = Note::parse(&source, "a");
    let chunks = chunk(&path, &note, &source);
    assert_eq!(chunks.len(), 4, "{chunks:?}");
    for (at, left) in [(1, &["two", "three"]), (2, &["one", "three"]), (3, &["one", "two"])] {
        let text = without_chunk(&note, &source, &chunks[at]).unwrap().text.unwrap();
        assert_eq!(text, turns(left));
    }
}
