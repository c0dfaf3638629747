//! The contract on a PostgreSQL server, and what is there after pushes.

use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::{SearchRequest, Visible, search, without_private};
use super::contract::{LANGUAGE, local, play_with};
use super::steps::{Step, steps};
use crate::access::rules::{Scope, Turn};
use crate::base::chance::proptest_config;
use crate::base::config::{Mode, SearchConfig};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Filter, Reader, Writer};
use crate::index::local::keyword::FORMAT;
use crate::index::postgres::{Address, Backend, Copied, PostgresError, PushOptions, Pusher};

#[allow(unreachable_pub, reason = "the tests of the program have it as well")]
#[path = "../../../../tests/main/support/postgres.rs"]
mod server;

/// All of a state, for nobody.
fn all(reader: &dyn Reader) -> Copied<'_> {
    Copied { reader, files: None, principals: &[], is_now: true }
}

fn options(address: &str, writer: &str) -> PushOptions {
    PushOptions {
        address: Address::new(address, None, None).unwrap(),
        name: "vault".into(),
        writer: writer.into(),
        search: SearchConfig { stemmer: LANGUAGE, ..SearchConfig::default() },
        words_format: FORMAT,
    }
}

/// What a vault's tables have, but for how they came to it.
fn tables(address: &str) -> Vec<Vec<String>> {
    let tables = [
        "select file, info, passages, meaning, entry, chunks, embedded, metadata from file order by file",
        "select * from passage order by vault, \"row\"",
        "select * from words order by vault, \"row\"",
        "select * from meaning order by vault, \"row\"",
        "select * from term order by vault, key",
        "select name, generation, model, withheld, problems from vault",
    ];
    tables.iter().flat_map(|table| server::sql(address, table)).collect()
}

/// Which of the steps are asked after: all questions to a server take a while.
fn is_asked(at: usize, steps: &[Step]) -> bool {
    at % 5 == 1 || at + 1 == steps.len()
}

proptest! {
    #![proptest_config(proptest_config(1))]

    #[test]
    fn a_server_answers_as_the_exact_engine(steps in steps()) {
        let Some(address) = server::database() else { return Ok(()) };
        let exact = play_with(&ExactEngine::new(LANGUAGE), &steps, |at, reader| is_asked(at, &steps).then_some(reader));
        let (folder, backend) = (TempDir::new().unwrap(), Backend::new(Address::new(&address, None, None).unwrap()));
        let mut pusher = Pusher::new(options(&address, "here"));
        let there = play_with(&local(&folder), &steps, |at, reader| {
            pusher.push(&all(reader.as_ref()), |_, _| {}).unwrap();
            let open = || Arc::new(backend.open("vault").unwrap().expect("it was pushed").0) as Arc<dyn Reader>;
            is_asked(at, &steps).then(open)
        });
        for (at, (exact, there)) in exact.iter().zip(&there).enumerate() {
            for (exact, there) in exact.iter().zip(there) {
                prop_assert_eq!(exact, there, "the {}th time it is asked, of {:?}", at, steps);
            }
        }
    }
}

proptest! {
    #![proptest_config(proptest_config(6))]

    #[test]
    fn what_was_pushed_edit_by_edit_is_what_is_pushed_at_once(steps in steps(), reconnects in any::<u8>()) {
        let (Some(one), Some(other)) = (server::database(), server::database()) else { return Ok(()) };
        let folder = TempDir::new().unwrap();
        let (mut pusher, mut last) = (Pusher::new(options(&one, "here")), None);
        play_with(&local(&folder), &steps, |at, reader| {
            if reconnects >> (at % 8) & 1 == 1 {
                pusher.disconnect();
            }
            pusher.push(&all(reader.as_ref()), |_, _| {}).unwrap();
            if at + 1 == steps.len() {
                Pusher::new(options(&other, "here")).push(&all(reader.as_ref()), |_, _| {}).unwrap();
                last = Some(());
            }
            None
        });
        prop_assert_eq!(tables(&one), tables(&other), "after {:?}", steps);
    }
}

/// A vault of this process with notes, and its state.
fn published(folder: &TempDir, notes: &[(&str, &str)]) -> (Box<dyn Writer>, Arc<dyn Reader>) {
    let mut writer = local(folder).open().unwrap();
    let updates = notes.iter().map(|(path, text)| FileUpdate::of_text(path, text, LANGUAGE)).collect();
    writer.apply(updates, Vec::new()).unwrap();
    let reader = writer.publish().unwrap();
    (writer, reader)
}

const NOTES: [(&str, &str); 3] = [
    ("notes/a.md", "# River\n\nA boat on the water.\n"),
    ("notes/b.md", "# Garden\n\nA green apple.\n"),
    ("notes/secret.md", "---\nprivate: true\n---\n# Key\n\nUnder the mat.\n"),
];

#[test]
fn private_notes_are_in_no_table_and_leave_when_they_become_private() {
    let Some(address) = server::database() else { return };
    let folder = TempDir::new().unwrap();
    let (mut writer, reader) = published(&folder, &NOTES);
    let mut pusher = Pusher::new(options(&address, "here"));
    let mut push = |reader: &dyn Reader| {
        let files = without_private(reader.files());
        pusher.push(&Copied { files: Some(&files), ..all(reader) }, |_, _| {}).unwrap();
    };
    push(reader.as_ref());
    let has = |text: &str| {
        let tables = ["file", "passage", "words", "meaning", "term", "vault"];
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        let rows = tables.iter().flat_map(|table| server::sql(&address, &format!("select t::text from {table} t")));
        rows.flatten().any(|row| row.contains(text) || row.contains(&hex))
    };
    assert!(has("boat") && has("notes/a.md"));
    assert!(!has("mat") && !has("secret"), "not a word of it, nor its name");
    let hidden =
        FileUpdate::of_text("notes/a.md", "---\nprivate: true\n---\n# River\n\nA boat on the water.\n", LANGUAGE);
    writer.apply(vec![hidden], Vec::new()).unwrap();
    push(writer.publish().unwrap().as_ref());
    assert!(!has("boat") && !has("notes/a.md") && has("apple"));
}

#[test]
fn a_second_writer_is_refused_and_told_of_the_first() {
    let Some(address) = server::database() else { return };
    let folder = TempDir::new().unwrap();
    let (_writer, reader) = published(&folder, &NOTES);
    Pusher::new(options(&address, "/home/maya/vault")).push(&all(reader.as_ref()), |_, _| {}).unwrap();
    let before = tables(&address);
    let refused =
        Pusher::new(options(&address, "/home/copy/vault")).push(&all(reader.as_ref()), |_, _| {}).unwrap_err();
    assert!(matches!(&refused, PostgresError::Refused(why) if why.contains("/home/maya/vault")), "{refused}");
    assert_eq!(tables(&address), before);
}

#[test]
fn a_restored_backup_and_a_rebuilt_catalog_end_as_a_first_push() {
    let (Some(address), Some(fresh)) = (server::database(), server::database()) else { return };
    let (folder, anew) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (mut writer, reader) = published(&folder, &NOTES);
    let mut pusher = Pusher::new(options(&address, "here"));
    pusher.push(&all(reader.as_ref()), |_, _| {}).unwrap();
    // What a backup of the time before has: a note less, and an older state of another.
    server::sql(
        &address,
        "delete from file where file = 1; delete from passage where file = 1; \
        update term set n = term.n - d.n from (select key, count(*)::int n from words, unnest(keys) key where file = 1 group by key) d \
        where term.key = d.key; delete from term where n = 0; delete from words where file = 1; \
        update vault set seq = 0",
    );
    let changed = FileUpdate::of_text("notes/b.md", "# Garden\n\nA red apple.\n", LANGUAGE);
    writer.apply(vec![changed], Vec::new()).unwrap();
    let reader = writer.publish().unwrap();
    assert!(pusher.push(&all(reader.as_ref()), |_, _| {}).is_err(), "what is there is not what was left there");
    pusher.push(&all(reader.as_ref()), |_, _| {}).unwrap();
    Pusher::new(options(&fresh, "here")).push(&all(reader.as_ref()), |_, _| {}).unwrap();
    assert_eq!(tables(&address), tables(&fresh));
    // Rows begin anew in another catalog, in another order.
    let notes: Vec<_> = NOTES.into_iter().rev().collect();
    let (_writer, rebuilt) = published(&anew, &notes);
    pusher.push(&all(rebuilt.as_ref()), |_, _| {}).unwrap();
    let fresh = server::database().unwrap();
    Pusher::new(options(&fresh, "here")).push(&all(rebuilt.as_ref()), |_, _| {}).unwrap();
    assert_eq!(tables(&address), tables(&fresh));
}

#[test]
fn tables_of_a_later_version_are_left_alone() {
    let Some(address) = server::database() else { return };
    let folder = TempDir::new().unwrap();
    let (_writer, reader) = published(&folder, &NOTES);
    Pusher::new(options(&address, "here")).push(&all(reader.as_ref()), |_, _| {}).unwrap();
    server::sql(&address, "insert into format values (999)");
    let before = tables(&address);
    let refused = Pusher::new(options(&address, "here")).push(&all(reader.as_ref()), |_, _| {}).unwrap_err();
    assert!(matches!(&refused, PostgresError::Refused(why) if why.contains("999")), "{refused}");
    assert_eq!(tables(&address), before);
}

#[test]
fn no_reader_sees_half_an_update() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let Some(address) = server::database() else { return };
    let folder = TempDir::new().unwrap();
    // Two sections of one note, which always say the same.
    let note = |word: &str| format!("# One\n\nThe {word} of the first.\n\n# Two\n\nThe {word} of the second.\n");
    let (mut writer, reader) = published(&folder, &[("notes/a.md", &note("river"))]);
    let mut pusher = Pusher::new(options(&address, "here"));
    pusher.push(&all(reader.as_ref()), |_, _| {}).unwrap();
    let (backend, over) = (Backend::new(Address::new(&address, None, None).unwrap()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let look = || {
            let mut seen = [0, 0];
            while !over.load(Ordering::Relaxed) || seen.contains(&0) {
                let (reader, _) = backend.open("vault").unwrap().unwrap();
                let rows: Vec<u64> =
                    reader.files().iter().flat_map(|file| &file.chunks).map(|chunk| chunk.row).collect();
                let texts: Vec<String> = rows.iter().map(|row| reader.chunk(*row).unwrap().unwrap().text).collect();
                let of = ["river", "garden"].map(|word| texts.iter().filter(|text| text.contains(word)).count());
                assert!(of.contains(&0) && of.contains(&texts.len()), "{texts:?}");
                seen[usize::from(of[0] == 0)] += 1;
            }
        };
        let readers = [scope.spawn(look), scope.spawn(look)];
        let mut turn = 0;
        // Until both have seen both, and for some more.
        while turn < 12 || readers.iter().any(|reader| !reader.is_finished()) {
            turn += 1;
            let text = note(["river", "garden"][turn % 2]);
            writer.apply(vec![FileUpdate::of_text("notes/a.md", &text, LANGUAGE)], Vec::new()).unwrap();
            pusher.push(&all(writer.publish().unwrap().as_ref()), |_, _| {}).unwrap();
            over.store(turn >= 12, Ordering::Relaxed);
        }
    });
}

#[test]
fn a_server_that_is_killed_at_any_step_of_a_push_ends_as_a_first_push() {
    // Killing one of its processes has it end all others, and recover from its log.
    let Some(own) = server::own(&[]) else { return };
    let folder = TempDir::new().unwrap();
    let (mut writer, reader) = published(&folder, &NOTES);
    let mut pusher = Pusher::new(options(&own.address, "here"));
    pusher.push(&all(reader.as_ref()), |_, _| {}).unwrap();
    for (round, table) in ["vault", "passage", "words", "term", "meaning", "file", "gone"].into_iter().enumerate() {
        let text = format!("# Note\n\nA garden of round {round}.\n\n# Other\n\nRiver {round}.\n");
        let other = format!("notes/{round}.md");
        let changed = [("notes/a.md", text.as_str()), (other.as_str(), "A boat.")];
        let changed = changed.map(|(path, text)| FileUpdate::of_text(path, text, LANGUAGE)).to_vec();
        writer.apply(changed, Vec::new()).unwrap();
        let published = writer.publish().unwrap();
        // The push comes as far as this table, and waits there.
        let hold = format!("begin; lock table {table} in access exclusive mode; select pg_sleep(600)");
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| server::ask(&own.address, &hold));
            let is_held = format!(
                "select from pg_locks where granted and relation = '{table}'::regclass and mode = 'AccessExclusiveLock'"
            );
            while server::sql(&own.address, &is_held).is_empty() {
                std::thread::yield_now();
            }
            let push = scope.spawn(|| pusher.push(&all(published.as_ref()), |_, _| {}));
            let waits =
                "select pid from pg_stat_activity where application_name = 'vault' and wait_event_type = 'Lock'";
            let pid = loop {
                if let Some(row) = server::sql(&own.address, waits).pop() {
                    break row.concat();
                }
                assert!(!push.is_finished(), "the push does not come by {table}");
            };
            assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
            assert!(push.join().unwrap().is_err(), "killed at {table}");
            assert!(holder.join().unwrap().is_err());
        });
        // It may be recovering for a moment.
        while pusher.push(&all(published.as_ref()), |_, _| {}).is_err() {
            std::thread::yield_now();
        }
        let fresh = server::database().unwrap();
        Pusher::new(options(&fresh, "here")).push(&all(published.as_ref()), |_, _| {}).unwrap();
        assert_eq!(tables(&own.address), tables(&fresh), "killed at {table}");
    }
}

#[test]
fn odd_texts_are_found_as_by_the_engine_of_this_process() {
    let Some(address) = server::database() else { return };
    let long = (0..400).map(|at| format!("# H{at}\n\nboat {at} {}\n\n", "river ".repeat(at % 7))).collect::<String>();
    let many = "boat ".repeat(70_000);
    let notes = [
        ("notes/empty.md", ""),
        ("notes/zero.md", "---\ntitle: \"a\\0b\"\n---\nA boat\u{0} with a zero.\n"),
        ("notes/many.md", many.as_str()),
        ("notes/long.md", long.as_str()),
        ("conversations/x.md", "**18:32 · A\u{0}nn:** a boat 東京タワー Flüsse café 👩‍👩‍👧 e\u{301}\n"),
    ];
    let folder = TempDir::new().unwrap();
    let (_writer, here) = published(&folder, &notes);
    Pusher::new(options(&address, "here")).push(&all(here.as_ref()), |_, _| {}).unwrap();
    let backend = Backend::new(Address::new(&address, None, None).unwrap());
    let there = backend.open("vault").unwrap().unwrap().0;
    let sixty_four: String = (0..64).map(|at| format!("{at} ")).collect();
    let queries = ["boat", "\"boat 7\"", "river -boat", "東京", "café", "\"river river\" boat", "flüsse", &sixty_four];
    for query in queries {
        let found = |reader: &dyn Reader| {
            let request = SearchRequest {
                parts: Vec::new(),
                text: query.into(),
                mode: Mode::Keyword,
                limit: 1000,
                filter: Filter::default(),
                at: jiff::Timestamp::UNIX_EPOCH,
                min_relevance: None,
                context: None,
                turn: Turn::default(),
            };
            let visible = Visible::of(&Scope::Everything, reader.files());
            let config = SearchConfig { per_file: 0, stemmer: LANGUAGE, ..SearchConfig::default() };
            let found = search(reader, None, &visible, &config, &request).unwrap();
            let hits = found.hits.iter();
            hits.map(|hit| (hit.file.path.to_string(), hit.chunk.clone(), hit.score.to_bits())).collect::<Vec<_>>()
        };
        assert_eq!(found(here.as_ref()), found(&there), "{query}");
    }
}

#[test]
fn plans_use_the_indexes_meant() {
    let Some(address) = server::database() else { return };
    let folder = TempDir::new().unwrap();
    let notes: Vec<(String, String)> = (0..300)
        .map(|at| (format!("notes/{at}.md"), format!("# Note {at}\n\nA boat on river {at}, word{at} and other{at}.\n")))
        .collect();
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (_writer, reader) = published(&folder, &notes);
    Pusher::new(options(&address, "here")).push(&all(reader.as_ref()), |_, _| {}).unwrap();
    server::sql(&address, "analyze");
    let plan = |sql: &str| server::sql(&address, &format!("explain {sql}")).concat().join("\n");
    let rare = "(select keys[1:1] from words where \"row\" = (select min(\"row\") from words))";
    let found = server::sql(&address, &format!("select {rare}")).concat().remove(0);
    let best = plan(&format!("select \"row\" from words where vault = 1 and keys && '{found}'::bigint[]"));
    assert!(best.contains("words_keys"), "{best}");
    let counted = plan(&format!("select count(*) from words where vault = 1 and keys @> '{found}'::bigint[]"));
    assert!(counted.contains("words_keys"), "{counted}");
    let since = plan("select file from file where vault = 1 and seq > 1000000");
    assert!(since.contains("file_seq"), "{since}");
}
