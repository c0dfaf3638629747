//! Damage under the running indexer: a check finds it, or the search that meets it has one made.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memory_vault::config::Mode;

use super::Noticed::{Perhaps, Said};
use super::{Fixture, find, flip, length, remove, replace, segment_files};
use crate::support::{Daemon, eventually};

#[test]
fn a_check_finds_what_is_damaged_and_has_it_mended() {
    let mut fixture = Fixture::new();
    fixture.heals_running("a passage", Said, |index| garble(index, "A river and a boat5"));
    fixture.heals_running("a title", Said, |index| garble(index, "Note 5"));
    let row = fixture.records[3].clone();
    fixture.heals_running("an embedding", Said, |index| {
        let path = index.join("catalog.db");
        let start = find(&fs::read(&path).unwrap(), &row).unwrap();
        flip(&path, start + row.len() - 1);
    });
    for page in 1..6 {
        fixture.heals_running(&format!("page {page}"), Perhaps, |index| flip(&index.join("catalog.db"), page * 8192));
    }
    for kind in 0..6 {
        fixture.heals_running(&format!("file {kind} of a segment"), Said, |index| {
            let path = &segment_files(index)[kind];
            flip(path, length(path) / 3);
        });
        fixture.heals_running(&format!("file {kind} of a segment missing"), Said, |index| {
            remove(&segment_files(index)[kind]);
        });
    }
    for name in ["tantivy/meta.json", "tantivy/.managed.json", "graph/vectors.graph"] {
        fixture.heals_running(&format!("the middle of {name}"), Said, |index| {
            flip(&index.join(name), length(&index.join(name)) / 2);
        });
    }
    for name in ["catalog.db", "tantivy/meta.json", "tantivy/.managed.json", "tantivy"] {
        fixture.heals_running(&format!("{name} missing"), Said, |index| remove(&index.join(name)));
        fixture.heals_running(&format!("{name} replaced"), Said, |index| replace(&index.join(name)));
    }
}

/// Changes a text where it stands.
fn garble(index: &Path, text: &str) {
    let path = index.join("catalog.db");
    let bytes = fs::read(&path).unwrap();
    let at = bytes.windows(text.len()).rposition(|part| part == text.as_bytes()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at("X".repeat(text.len()).as_bytes(), at as u64).unwrap();
}

#[test]
fn a_damaged_passage_is_never_shown_and_meeting_it_has_it_mended() {
    let mut fixture = Fixture::new();
    let vault = &mut fixture.vault;
    garble(&vault.index_dir(), "subject7 of it");
    vault.sync();
    let found = vault.words("subject7").0;
    assert!(found.degraded.as_ref().unwrap().contains("checksum"), "{:?}", found.degraded);
    assert!(found.results.iter().all(|hit| !hit.chunk.content.contains("XXX")));
    let whole = eventually("the passage to be mended", || {
        Some(vault.words("subject7").0).filter(|found| found.degraded.is_none() && !found.results.is_empty())
    });
    assert!(whole.results.iter().all(|hit| !hit.chunk.content.contains("XXX")));
    assert!(vault.status().rebuilt.unwrap().contains("fails its checksum"));
    vault.verify();
    crate::support::assert_same(&vault.answers(&super::QUERIES), &fixture.expected);
}

#[test]
fn while_the_words_are_built_anew_the_meaning_answers() {
    let mut fixture = Fixture::new();
    fixture.vault.sync();
    let snapshot = fixture.vault.service().shared().snapshot().unwrap();
    let words = segment_files(&fixture.vault.index_dir()).remove(1);
    flip(&words, length(&words) / 2);
    fixture.vault.verify();
    drop(snapshot);
    assert!(fixture.vault.status().rebuilt.unwrap().contains("built anew from the catalog"));
    assert!(!fixture.vault.search_by(Mode::Keyword, "subject7").paths().is_empty());
}

#[test]
fn embeddings_that_nothing_uses_are_kept_for_an_undo_and_pruned_beyond_that() {
    let mut fixture = Fixture::new();
    let vault = &mut fixture.vault;
    let many: String = (0..1300).map(|at| format!("## Heading {at}\n\nword{at}\n\n")).collect();
    let stored = |vault: &crate::support::TestVault| {
        let connection = rusqlite::Connection::open(vault.index_dir().join("catalog.db")).unwrap();
        connection.query_row("SELECT count(*) FROM vectors", [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    let live = fixture.records.len();
    let unused_before = stored(vault.sync()) - live;
    vault.write("notes/many.md", &many).sync().remove("notes/many.md").restart();
    let unused = stored(vault) - live;
    assert!(unused > 1200, "{unused}");
    vault.verify();
    eventually("the oldest to be dropped", || (stored(vault) == live + 1000).then_some(()));
    assert_eq!(vault.verify().damage, Vec::<String>::new());
    vault.write("notes/many.md", &many);
    let before = vault.embedder.documents_embedded();
    vault.restart();
    let again = vault.embedder.documents_embedded() - before;
    assert_eq!(again, unused - 1000 - unused_before, "the oldest alone");
}

#[test]
fn the_command_finds_damage_once_and_the_daemon_says_it_once() {
    let mut daemon = Daemon::vault();
    for at in 0..6 {
        daemon.write(&format!("notes/{at}.md"), format!("# Note {at}\n\nA plain passage{at}.\n"));
    }
    daemon.start();
    let whole = daemon.run(&["verify"]).ok().stdout;
    assert!(whole.contains("6 notes, 6 passages"), "{whole}");
    let index = daemon.path(".vault/index");
    let words = super::contents(&index.join("tantivy"))
        .into_iter()
        .find(|(path, _)| path.extension().is_some_and(|kind| kind == "pos"));
    flip(&words.unwrap().0, 1);
    let found = daemon.run(&["verify"]);
    assert_eq!(found.code, 1, "{}", found.stderr);
    assert!(
        found.stdout.contains("damaged: the keyword index") && found.stdout.ends_with("mended\n"),
        "{}",
        found.stdout
    );
    assert!(daemon.status()["verified"]["damage"][0].as_str().unwrap().contains("fails its checksum"));
    daemon.finds("passage3", &["notes/3.md"]);
    assert_eq!(daemon.run(&["verify", "--json"]).ok().json()["damage"], serde_json::json!([]));
    let log = daemon.log();
    assert_eq!(log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count(), 1, "{log}");
    assert!(daemon.run(&["status"]).ok().stdout.contains("rebuilt     the keyword index"));

    daemon.terminate();
    garble(&index, "A plain passage2");
    let alone = daemon.run(&["verify"]);
    assert_eq!(
        (alone.code, alone.stdout.lines().filter(|line| line.starts_with("damaged: ")).count()),
        (1, 1),
        "{} {}",
        alone.stdout,
        alone.stderr
    );
    assert_eq!(alone.stderr.matches("WARN").count(), 1, "{}", alone.stderr);
    daemon.run(&["verify"]).ok();
    fs::write(index.join("catalog.db"), "garbage ".repeat(5000)).unwrap();
    daemon.start();
    let log = daemon.log();
    assert_eq!(log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count(), 1, "{log}");
    daemon.finds("passage2", &["notes/2.md"]);
}
