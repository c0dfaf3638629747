//! The real watcher under the real daemon, with the ways in which editors and tools save.

use std::fs::{self, File};
use std::io::Write;

use crate::support::prelude::*;

/// A daemon over a vault in which every note holds `always`.
fn daemon() -> Daemon {
    let daemon = Daemon::vault().with("notes/a.md", "# A note\n\nalways, and first\n").started();
    assert_eq!(daemon.status()["watching"]["by"], "events");
    daemon.finds("first", &["notes/a.md"]);
    daemon
}

/// Saves a new word over the one before, again and again, while a search for a word of all versions goes on. No version may
/// be found by its old word afterwards, and with `whole` saves the note is never missing.
fn saves(daemon: &Daemon, editor: &str, save: fn(&Path, &str), whole: bool) {
    let path = daemon.path("notes/a.md");
    let mut before = format!("{editor}first");
    fs::write(&path, format!("# A note\n\nalways, and {before}\n")).unwrap();
    daemon.finds(&before, &["notes/a.md"]);
    let (over, searches, missed) = (Over::default(), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = over.at_end();
        scope.spawn(|| {
            while !over.is() {
                let found = daemon.find("always");
                searches.fetch_add(1, Ordering::Relaxed);
                missed.fetch_add(usize::from(found != ["notes/a.md"]), Ordering::Relaxed);
            }
        });
        for at in 0..6 {
            let word = format!("{editor}version{at}");
            save(&path, &format!("# A note\n\nalways, and {word}\n"));
            daemon.finds(&word, &["notes/a.md"]).finds(&before, &[]);
            before = word;
        }
    });
    assert!(searches.into_inner() > 0, "{editor}");
    if whole {
        assert_eq!(missed.into_inner(), 0, "{editor}: the note was not found while it was saved");
    }
    let leftovers = daemon.find("leftover");
    assert!(leftovers.is_empty(), "{editor}: {leftovers:?}");
}

fn vscode_truncates_and_writes_in_steps(path: &Path, text: &str) {
    let mut file = File::options().write(true).truncate(true).open(path).unwrap();
    let (head, tail) = text.split_at(10);
    file.write_all(head.as_bytes()).unwrap();
    file.flush().unwrap();
    file.write_all(tail.as_bytes()).unwrap();
    file.sync_all().unwrap();
}

fn vim_moves_the_old_file_away_and_writes_a_new_one(path: &Path, text: &str) {
    let backup = path.with_extension("md~");
    fs::rename(path, &backup).unwrap();
    // A busy machine: the new file comes a while after the old one went.
    std::thread::sleep(Duration::from_millis(40));
    fs::write(path, text).unwrap();
    fs::remove_file(backup).unwrap();
}

/// As Obsidian and others do.
fn written_beside_and_renamed(path: &Path, text: &str) {
    let beside = path.with_file_name(".a.md.tmp-leftover");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, path).unwrap();
}

fn sed_writes_a_name_of_its_own_and_renames(path: &Path, text: &str) {
    let beside = path.with_file_name("sedXlFtq3");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, path).unwrap();
}

#[test]
fn a_note_is_followed_however_an_editor_saves_it() {
    let daemon = daemon();
    saves(&daemon, "plain", |path, text| fs::write(path, text).unwrap(), false);
    saves(&daemon, "vscode", vscode_truncates_and_writes_in_steps, false);
    saves(&daemon, "vim", vim_moves_the_old_file_away_and_writes_a_new_one, true);
    saves(&daemon, "obsidian", written_beside_and_renamed, true);
    saves(&daemon, "sed", sed_writes_a_name_of_its_own_and_renames, true);
}

#[test]
fn files_and_folders_are_followed_wherever_they_go() {
    let daemon = daemon();
    // An editor that appends without closing is followed.
    let mut file = File::options().append(true).open(daemon.path("notes/a.md")).unwrap();
    for word in ["appended1", "appended2"] {
        writeln!(file, "\n{word}").unwrap();
        daemon.finds(word, &["notes/a.md"]);
    }
    // A new folder with files made at once.
    write_file(daemon.path("new/deep/deeper/b.md"), "kangaroo");
    fs::write(daemon.path("new/c.md"), "kangaroo").unwrap();
    daemon.finds("kangaroo", &["new/c.md", "new/deep/deeper/b.md"]);
    fs::write(daemon.path("new/deep/d.md"), "wombat").unwrap();
    daemon.finds("wombat", &["new/deep/d.md"]);
    // A folder named like a note is watched.
    write_file(daemon.path("v1.md/b.md"), "emu");
    daemon.finds("emu", &["v1.md/b.md"]);
    fs::write(daemon.path("v1.md/b.md"), "cassowary").unwrap();
    daemon.finds("cassowary", &["v1.md/b.md"]).finds("emu", &[]);
    // A link to a folder does not lead the watcher out of the vault.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("secret.md"), "zanzibar").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), daemon.path("linked")).unwrap();
    fs::write(daemon.path("b.md"), "baboon").unwrap();
    daemon.finds("baboon", &["b.md"]).finds("zanzibar", &[]);
    assert_eq!(daemon.status()["files"], 6);
    // Files move in and out and are deleted.
    let (inside, outside) = (daemon.path("notes/a.md"), daemon.path(".hidden.md"));
    fs::rename(&inside, &outside).unwrap();
    daemon.finds("always", &[]);
    fs::create_dir(daemon.path("journal")).unwrap();
    fs::rename(&outside, daemon.path("journal/b.md")).unwrap();
    daemon.finds("always", &["journal/b.md"]);
    fs::rename(daemon.path("journal/b.md"), daemon.path("notes/c.md")).unwrap();
    daemon.finds("always", &["notes/c.md"]);
    fs::remove_file(daemon.path("notes/c.md")).unwrap();
    daemon.finds("always", &[]);
}

#[test]
fn a_folder_is_renamed_filled_and_deleted() {
    let daemon = Daemon::vault().with("old/x/a.md", "koala").with("old/b.md", "koala").started();
    fs::rename(daemon.path("old"), daemon.path("new")).unwrap();
    daemon.finds("koala", &["new/b.md", "new/x/a.md"]);
    fs::write(daemon.path("new/x/c.md"), "platypus").unwrap();
    daemon.finds("platypus", &["new/x/c.md"]);
    fs::rename(daemon.path("new"), daemon.path("old")).unwrap();
    daemon.finds("koala", &["old/b.md", "old/x/a.md"]).finds("platypus", &["old/x/c.md"]);
    fs::write(daemon.path("old/x/a.md"), "dingo").unwrap();
    daemon.finds("dingo", &["old/x/a.md"]);
    fs::remove_dir_all(daemon.path("old")).unwrap();
    daemon.finds("koala", &[]).finds("dingo", &[]).finds("platypus", &[]);
    assert_eq!(daemon.status()["files"], 0);
}

#[test]
fn polling_finds_changes_where_there_are_no_events() {
    let mut daemon = Daemon::without_model("[index]\nwatch = \"poll\"\npoll_seconds = 1\n");
    daemon.write("a.md", "before").start();
    let watching = daemon.status()["watching"].clone();
    assert_eq!((&watching["by"], &watching["reason"]), (&"polling".into(), &"set by `index.watch`".into()));
    fs::write(daemon.path("a.md"), "after").unwrap();
    write_file(daemon.path("new/b.md"), "new");
    daemon.finds("after", &["a.md"]).finds("before", &[]).finds("new", &["new/b.md"]);
    fs::remove_dir_all(daemon.path("new")).unwrap();
    daemon.finds("new", &[]);
}
