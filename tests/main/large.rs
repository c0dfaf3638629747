//! Files that are much by themselves: what of them is indexed, in which parts, and that they are in nobody's way.

use memory_vault::index::engine::{ChangeBatch, FileUpdate, Reader, Writer};
use memory_vault::index::local::{Settings, Store};
use memory_vault::index::search::{Visible, search};
use memory_vault::index::sync::{FileReading, PreparedFile, prepare};
use memory_vault::models::{Embedder, EmbeddingSpace, HashEmbedder};
use memory_vault::text::derive::words::Stemming;
use memory_vault::vault::attachments::AttachmentReader;
use memory_vault::vault::disk::{NoteRules, globs};

use crate::support::prelude::*;

/// Passed after each part of a file.
pub const POINT: &str = "part-applied";

/// A file of so many sections, of which each is a passage.
fn sections(count: usize, word: &str) -> String {
    (0..count).map(|at| format!("# {word}{at}x\nsaid\n")).collect()
}

/// A store of its own, and what it reads.
struct Fixture {
    vault: tempfile::TempDir,
    store: Store,
    _index: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let (vault, index) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = Settings {
            place: String::new(),
            stemmer: Config::default().search.stemmer,
            graph_threshold: 100,
            private: globs("private", &[]).unwrap(),
        };
        let store = Store::open(index.path(), settings, false).unwrap();
        Self { vault, store, _index: index }
    }

    fn read(&self, path: &str, text: &str) -> FileUpdate {
        fs::write(self.vault.path().join(path), text).unwrap();
        let rules = NoteRules::new(self.vault.path(), &[]).unwrap();
        let mut stemming = Stemming::new(self.store.stemmer());
        let attachments = AttachmentReader::default();
        let from =
            FileReading { root: self.vault.path(), rules: &rules, max_bytes: 20_000_000, attachments: &attachments };
        let read = prepare(&from, VaultPath::new(path).unwrap(), None, &mut stemming, jiff::Timestamp::now());
        let PreparedFile::Changed(update) = read else { panic!("{read:?}") };
        *update
    }

    fn apply(&mut self, updates: Vec<FileUpdate>) {
        let generation = self.store.generation() + 1;
        self.store.apply(ChangeBatch { generation, updates, removed: Vec::new() }).unwrap();
    }

    /// What searches by words find, with scores and without row ids.
    fn answers(&mut self, queries: &[&str]) -> Vec<String> {
        let snapshot = self.store.snapshot().unwrap();
        let visible = Visible::of(&memory_vault::access::rules::Scope::Everything, snapshot.files());
        let found = |query: &&str| {
            let request = search_request(query, Mode::Keyword, 100);
            let found = search(snapshot.as_ref(), None, &visible, &Config::default().search, &request).unwrap();
            found.hits.iter().map(|hit| format!("{query}: {:?} {:?}", hit.chunk.id, hit.score)).collect::<Vec<_>>()
        };
        queries.iter().flat_map(found).collect()
    }
}

#[test]
fn parts_make_the_same_index_as_the_whole() {
    let text: String =
        (0..11).map(|at| format!("# Head{at}\n\nword{at} and common words {}\n\n", "more ".repeat(at))).collect();
    let queries = ["common", "more", "word3", "head7", "word10"];
    let (mut whole, mut parts) = (Fixture::new(), Fixture::new());
    for fixture in [&mut whole, &mut parts] {
        // Some of it is there before, and goes or stays.
        let before = fixture.read("a.md", &text.replace("word3", "other").replace("# Head5\n", ""));
        let others = fixture.read("b.md", "common and more");
        fixture.apply(vec![before, others]);
    }
    let update = whole.read("a.md", &text);
    let (count, hash) = (update.chunks.len(), update.hash);
    whole.apply(vec![update]);
    let mut update = parts.read("a.md", &text);
    let mut others = update.clone();
    drop(others.take_part(3));
    for start in (0..count).step_by(3) {
        let file = parts.store.file(&update.path).unwrap();
        assert_eq!(file.is_whole(), start == 0, "half of it counts as a file that has changed");
        let part = if start + 3 < count { update.take_part(3) } else { update.clone() };
        parts.apply(vec![part]);
        let shown = parts.store.file(&update.path).unwrap().chunks.len();
        assert_eq!(shown, count.min(start + 3));
    }
    assert_eq!(parts.store.file(&update.path).unwrap().hash, hash);
    let counted = |fixture: &Fixture| -> Vec<_> {
        fixture
            .store
            .file(&VaultPath::new("a.md").unwrap())
            .unwrap()
            .chunks
            .iter()
            .map(|chunk| (chunk.id, chunk.words))
            .collect()
    };
    assert_eq!(counted(&parts), counted(&whole));
    assert_eq!(parts.answers(&queries), whole.answers(&queries));
    let generation = parts.store.generation() + 1;
    let late = parts.store.apply(ChangeBatch { generation, updates: vec![others], removed: Vec::new() });
    assert!(late.unwrap_err().is_stale(), "the file is no longer as the part before has left it");
}

#[test]
fn the_texts_of_a_huge_file_wait_behind_those_of_a_note() {
    let mut fixture = Fixture::new();
    let embedder = HashEmbedder::default();
    fixture.store.use_model(&EmbeddingSpace::of(&embedder)).unwrap();
    let mut note = fixture.read("note.md", "# Note\n\nsmalltext");
    let mut huge = fixture.read("huge.md", &sections(1000, "a"));
    // The huge one was written last, which comes first otherwise.
    (note.info.stamp.mtime_ns, huge.info.stamp.mtime_ns) = (1, 2);
    fixture.apply(vec![note, huge]);
    let first = fixture.store.take_pending(embedder.fingerprint(), 1).unwrap();
    assert_eq!(first[0].document.text, "smalltext");
}

#[test]
fn a_save_waits_for_a_part_of_a_huge_file_and_not_for_all() {
    let daemon = Daemon::vault().with("notes/a.md", "aardvark").started().with("huge.md", sections(40_000, "big"));
    until("the first part", || !daemon.find("big7x").is_empty());
    daemon.found_after("notes/mine.md", "mineword");
    assert!(daemon.find("big39999x").is_empty(), "the note was found after all of the huge file");
    let status = daemon.status();
    assert!(status["pending_files"].as_u64() > Some(0), "{status}");
    daemon.finds("big39999x", &["huge.md"]);
}

#[test]
fn a_huge_file_that_goes_or_changes_while_it_is_brought_in() {
    let mut daemon = Daemon::vault().with("notes/a.md", "aardvark").started().with("huge.md", sections(20_000, "gone"));
    until("the first part", || !daemon.find("gone7x").is_empty());
    fs::remove_file(daemon.path("huge.md")).unwrap();
    daemon.finds("gone7x", &[]).settle();
    daemon.write("huge.md", sections(20_000, "old"));
    until("the first part", || !daemon.find("old7x").is_empty());
    daemon.write("huge.md", sections(9_000, "new"));
    daemon.finds("new8999x", &["huge.md"]).finds("old7x", &[]).settle();
    assert!(daemon.find("gone19999x").is_empty() && daemon.find("old19999x").is_empty());
    // One section more is brought in at once: what is there stays.
    daemon.write("huge.md", format!("{}# newest\nsaid\n", sections(9_000, "new")));
    daemon.finds("newest", &["huge.md"]);
    assert_as_rebuilt(&daemon, &["new8999x", "newest", "new4000x", "old7x", "aardvark"]);
}

#[test]
fn killed_between_two_parts_of_a_file() {
    for passing in [1, 2] {
        let mut daemon = Daemon::vault().with("huge.md", sections(9_000, "big")).with("notes/a.md", "aardvark");
        daemon.spawn(Some(&format!("{POINT}:{passing}")));
        until("the kill", || daemon.was_killed());
        daemon.start().finds("big8999x", &["huge.md"]);
        assert_as_rebuilt(&daemon, &["big8999x", "big4000x", "big3999x", "big0x", "aardvark"]);
    }
}

#[test]
fn one_file_makes_no_million_passages() {
    let mut daemon = Daemon::vault().with("huge.md", sections(100_010, "big")).with("notes/a.md", "aardvark").started();
    let problem = |daemon: &Daemon| {
        let problems = daemon.status()["problems"].as_array().unwrap().clone();
        problems.iter().find(|problem| problem["path"] == "huge.md").map(|problem| problem["reason"].to_string())
    };
    let said = problem(&daemon).unwrap();
    assert!(said.contains("line 200001:") && said.contains("100000 passages"), "{said}");
    assert_eq!(daemon.status()["chunks"], 100_001);
    daemon.finds("big99999x", &["huge.md"]).finds("big100000x", &[]).finds("aardvark", &["notes/a.md"]);
    // What comes in before takes the place of what was last.
    daemon.write("huge.md", sections(100_010, "big").replace("# big7x\n", "# big7x\nsaid\n# inserted\n"));
    until("the section", || !daemon.find("inserted").is_empty());
    daemon.finds("big99998x", &["huge.md"]).finds("big99999x", &[]);
    daemon.write("huge.md", sections(10, "big"));
    daemon.finds("big99997x", &[]).settle();
    assert_eq!(problem(&daemon), None);
}
