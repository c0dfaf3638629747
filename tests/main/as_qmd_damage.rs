//! The database that OpenClaw opens, damaged or replaced in every way, while the process runs and while it does not.

use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};

use rustix::process::Signal;

use crate::as_qmd::{Workspace, end, process_of};
use crate::support::prelude::*;

/// So many documents that the table has many pages.
const DOCUMENTS: usize = 120;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.without_model(&[]);
    for at in 0..DOCUMENTS {
        workspace.write(&format!("many/{at:03}.md"), &format!("# Number {at}\n\nIt says word{at} and stands here.\n"));
    }
    workspace.write("many/private.md", "---\nprivate: true\n---\n# Hidden\n\nword7\n");
    let many = workspace.path("work/many");
    workspace.run(&["collection", "add", many.to_str().unwrap(), "--name", "many"]).ok();
    workspace
}

/// Something that may happen to the file.
type FileDamage = (&'static str, fn(&Path));

const DAMAGES: [FileDamage; 7] = [
    ("noise in the middle of a page", |file| write_at(file, |length| length / 2 - 2000, &[0xa5; 5000])),
    ("noise all over but for the header", |file| {
        let length = file.metadata().unwrap().len();
        write_at(file, |_| 100, &vec![0x5a; length as usize - 100]);
    }),
    ("truncated", |file| {
        let file = File::options().write(true).open(file).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2 + 7).unwrap();
    }),
    ("a folder", |file| {
        let beside = file.with_extension("folder");
        fs::create_dir_all(beside.join("within")).unwrap();
        // The process that runs may make another file where the first one was.
        eventually("a folder", || {
            drop(fs::remove_file(file));
            fs::rename(&beside, file).ok()
        });
    }),
    ("another program's tables", |file| {
        let beside = file.with_extension("theirs");
        let foreign = rusqlite::Connection::open(&beside).unwrap();
        foreign.execute_batch("CREATE TABLE content(x); INSERT INTO content VALUES (1)").unwrap();
        drop(foreign);
        fs::rename(beside, file).unwrap();
    }),
    ("our mark on other tables", |file| {
        let ours = rusqlite::Connection::open(file).unwrap();
        // At once: the process that runs looks at it, too.
        ours.execute_batch("BEGIN; DROP TABLE documents; CREATE TABLE documents(hash TEXT); COMMIT").unwrap();
    }),
    ("rows that say nothing", |file| {
        let ours = rusqlite::Connection::open(file).unwrap();
        ours.execute_batch("UPDATE documents SET hash = 'é', title = x'ff00', stamp = 7").unwrap();
    }),
];

fn write_at(file: &Path, at: impl Fn(u64) -> u64, bytes: &[u8]) {
    let length = file.metadata().unwrap().len();
    let mut file = File::options().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(at(length))).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn every_call_on_a_damaged_database_is_answered_and_it_is_whole_again() {
    let workspace = workspace();
    let database = workspace.path("cache/qmd/index.sqlite");
    let more = workspace.path("work/memory");
    // Calls that read and calls that change: what was done once is not done twice, and is not refused the second time.
    let calls: [(&[&str], &str); 7] = [
        (&["search", "word77", "--json"], "qmd://many/077.md"),
        (&["get", "many/078.md"], "word78"),
        (&["multi-get", "many/07*.md", "--files"], ",079.md"),
        (&["ls", "many"], "qmd://many/080.md"),
        (&["update"], "All collections updated"),
        (&["collection", "add", more.to_str().unwrap(), "--name", "more"], "created successfully"),
        (&["collection", "remove", "more"], "Removed collection"),
    ];
    let mut at = 0;
    for runs in [true, false] {
        for (what, damage) in DAMAGES {
            if !runs {
                workspace.run(&["status"]).ok();
                end(process_of(&workspace.indexes()[0]).unwrap(), Signal::TERM);
            }
            damage(&database);
            let (call, says) = calls[at % calls.len()];
            at += 1;
            let ran = workspace.run(call);
            assert!(ran.code == 0 && ran.stdout.contains(says), "{what}, {call:?}, runs: {runs}: {ran:?}");
            assert!(!ran.stdout.contains("private.md") && !ran.stdout.contains("Hidden"), "{what}: {ran:?}");
            let found = workspace.run(&["search", "word33", "--json"]).ok().json();
            assert_eq!(found.as_array().unwrap().len(), 1, "{what}: {found}");
            let given = workspace.run(&["get", found[0]["docid"].as_str().unwrap()]).ok().stdout;
            assert!(given.contains("word33"), "{what}: {given}");
            // As OpenClaw sees it.
            workspace.run(&["update"]).ok();
            let paths = workspace.documents().into_iter().filter(|(collection, _)| collection == "many").count();
            assert_eq!(paths, DOCUMENTS, "{what}");
            let whole = rusqlite::Connection::open(&database).unwrap();
            let whole = whole.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
            assert_eq!(whole.unwrap(), "ok", "{what}");
        }
        if runs {
            // Also without a command.
            for (what, damage) in [DAMAGES[3], DAMAGES[4]] {
                damage(&database);
                until(what, || workspace.seen_documents().is_ok_and(|all| all.len() >= DOCUMENTS));
            }
        }
    }
    assert_eq!(database.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_folder_in_which_no_database_can_be_made_is_named() {
    let workspace = Workspace::with_memory();
    // Where a file stands that is no folder, and where nothing can be written.
    let file = workspace.path("file");
    fs::write(&file, "").unwrap();
    let closed = workspace.path("closed");
    fs::create_dir_all(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o500)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    for cache in [Some(&file), Some(&closed).filter(|_| !is_root)].into_iter().flatten() {
        for call in [&["search", "target", "--json"][..], &["status"], &["update"]] {
            let refused = Ran::of(workspace.command(call).env("XDG_CACHE_HOME", cache));
            assert!(refused.code == 1 && refused.stderr.contains(cache.to_str().unwrap()), "{refused:?}");
        }
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
}
