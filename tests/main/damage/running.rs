//! Damage under the running indexer: a check finds it, or the search that meets it has one made.

use std::os::unix::fs::FileExt;

use super::Noticed::{Perhaps, Said};
use super::{Fixture, find_all, flip, length, remove, replace, segment_files};
use crate::support::prelude::*;

#[test]
fn a_check_finds_what_is_damaged_and_has_it_mended() {
    let mut fixture = Fixture::new();
    fixture.heals_running("a passage", Said, |index| garble(index, "A river and a boat5"));
    fixture.heals_running("a title", Said, |index| garble(index, "Note 5"));
    let row = fixture.records[3].clone();
    fixture.heals_running("an embedding", Said, |index| {
        let path = index.join("catalog.db");
        find_all(&fs::read(&path).unwrap(), &row).for_each(|start| flip(&path, start + row.len() - 1));
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
    for name in ["tantivy/meta.json", "tantivy/.managed.json"] {
        fixture.heals_running(&format!("the middle of {name}"), Said, |index| {
            flip(&index.join(name), length(&index.join(name)) / 2);
        });
    }
    for name in ["catalog.db", "tantivy/meta.json", "tantivy/.managed.json", "tantivy"] {
        fixture.heals_running(&format!("{name} missing"), Said, |index| remove(&index.join(name)));
        fixture.heals_running(&format!("{name} replaced"), Said, |index| replace(&index.join(name)));
    }
}

/// Changes a text wherever it stands: SQLite leaves copies of what it has moved.
fn garble(index: &Path, text: &str) {
    let path = index.join("catalog.db");
    let bytes = fs::read(&path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let starts: Vec<usize> = find_all(&bytes, text.as_bytes()).collect();
    assert!(!starts.is_empty(), "{text:?} is nowhere");
    starts.iter().for_each(|at| file.write_all_at("X".repeat(text.len()).as_bytes(), *at as u64).unwrap());
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
    assert_same(&vault.answers(&super::QUERIES), &fixture.expected);
}

#[test]
fn while_the_words_are_built_anew_searches_answer_or_say_why_not() {
    let mut fixture = Fixture::new();
    let vault = fixture.vault.sync();
    let words = segment_files(&vault.index_dir()).remove(1);
    flip(&words, length(&words) / 2);
    let over = Over::default();
    std::thread::scope(|scope| {
        let _over = over.at_end();
        scope.spawn(|| {
            let params = SearchQuery { q: "subject7".into(), ..SearchQuery::default() };
            while !over.is() {
                match notes::search(&vault.owner(), &params) {
                    Ok(found) => assert!(!found.results.is_empty() || found.degraded.is_some(), "{found:?}"),
                    Err(error) => assert!(error.hint.is_some(), "{error}"),
                }
            }
        });
        vault.verify();
    });
    // Whether this check has found it, or one that a search asked for.
    let said = vault.status().rebuilt.unwrap();
    assert!(said.contains("rebuilt from the catalog"), "{said}");
    assert_eq!(vault.words("subject7").paths(), ["notes/7.md"; 3]);
}

#[test]
fn embeddings_that_nothing_uses_are_kept_for_an_undo_and_pruned_beyond_that() {
    let mut fixture = Fixture::new();
    let vault = &mut fixture.vault;
    let many: String = (0..1300).map(|at| format!("## Heading {at}\n\nword{at}\n\n")).collect();
    let stored = |vault: &TestVault| {
        let connection = rusqlite::Connection::open(vault.index_dir().join("catalog.db")).unwrap();
        connection.query_row("SELECT count(*) FROM vectors", [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    let live = fixture.records.len();
    vault.sync().write("notes/many.md", &many).sync().remove("notes/many.md").restart();
    let unused = stored(vault) - live;
    assert!(unused > 1200, "{unused}");
    vault.verify();
    until("the oldest to be dropped", || stored(vault) == live + 1000);
    assert_eq!(vault.verify().damage, Vec::<String>::new());
    vault.write("notes/many.md", &many);
    let before = vault.embedder.documents_embedded();
    vault.restart();
    assert_eq!(vault.embedder.documents_embedded() - before, unused - 1000, "the oldest alone");
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
    let mut words = contents(&index.join("tantivy")).into_iter().map(|(path, _)| path);
    flip(&words.find(|path| path.extension().is_some_and(|kind| kind == "pos")).unwrap(), 1);
    let Ran { code, stdout, .. } = daemon.run(&["verify"]);
    assert!(code == 1 && stdout.contains("damaged: the keyword index") && stdout.ends_with("mended\n"), "{stdout}");
    assert!(daemon.status()["verified"]["damage"][0].as_str().unwrap().contains("fails its checksum"));
    daemon.finds("passage3", &["notes/3.md"]);
    assert_eq!(daemon.run(&["verify", "--json"]).ok().json()["damage"], json!([]));
    let said_once = |daemon: &Daemon| {
        let log = daemon.log();
        assert_eq!(log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count(), 1, "{log}");
    };
    said_once(&daemon);
    assert!(daemon.run(&["status"]).ok().stdout.contains("rebuilt     the keyword index"));

    daemon.terminate();
    garble(&index, "A plain passage2");
    let alone = daemon.run(&["verify"]);
    let said = alone.stdout.lines().filter(|line| line.starts_with("damaged: ")).count();
    assert_eq!((alone.code, said), (1, 1), "{alone:?}");
    assert_eq!(alone.stderr.matches("WARN").count(), 1, "{}", alone.stderr);
    daemon.run(&["verify"]).ok();
    fs::write(index.join("catalog.db"), "garbage ".repeat(5000)).unwrap();
    daemon.start();
    said_once(&daemon);
    daemon.finds("passage2", &["notes/2.md"]);
}
