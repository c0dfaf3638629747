//! Files that are much by themselves: what of them is indexed, and that they are in nobody's way.

use memory_vault::index::engine::{ChangeBatch, FileUpdate, Writer};
use memory_vault::index::local::{Settings, Store};
use memory_vault::index::sync::{FileReading, PreparedFile, prepare};
use memory_vault::models::{Embedder, EmbeddingSpace, HashEmbedder};
use memory_vault::text::derive::words::Stemming;
use memory_vault::vault::attachments::AttachmentReader;
use memory_vault::vault::disk::{NoteRules, globs};

use crate::support::prelude::*;

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
fn a_huge_file_that_goes_or_changes_while_it_is_brought_in() {
    let mut daemon = Daemon::vault().with("notes/a.md", "aardvark").started();
    daemon.write("huge.md", sections(20_000, "gone"));
    until("the huge file", || !daemon.find("gone7x").is_empty());
    fs::remove_file(daemon.path("huge.md")).unwrap();
    daemon.finds("gone7x", &[]).settle();
    daemon.write("huge.md", sections(20_000, "old"));
    until("the huge file", || !daemon.find("old7x").is_empty());
    daemon.write("huge.md", sections(9_000, "new"));
    daemon.finds("new8999x", &["huge.md"]).finds("old7x", &[]).settle();
    assert!(daemon.find("gone19999x").is_empty() && daemon.find("old19999x").is_empty());
    // One section more: what is there stays.
    daemon.write("huge.md", format!("{}# newest\nsaid\n", sections(9_000, "new")));
    daemon.finds("newest", &["huge.md"]);
    assert_as_rebuilt(&daemon, &["new8999x", "newest", "new4000x", "old7x", "aardvark"]);
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
