//! The disk is full, or may not be written any more: searches go on, the status says what is wrong and where, and once there
//! is room again the index is what a full reindex makes.

use std::fs::{self, File};
use std::io::Write;

use crate::support::prelude::*;

const NO_MODEL: &str = "[embed]\nmodel = \"none\"\n";

/// Within this the daemon tries again to write its index.
const RETRIED: Duration = Duration::from_millis(3500);

/// A small file system in memory. Only root can have one.
pub struct Disk(tempfile::TempDir);

impl Disk {
    pub fn new(megabytes: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted = rustix::process::geteuid().is_root()
            && run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()));
        if !mounted {
            skipped("no file system can be mounted here");
        }
        mounted.then(|| Self(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all the room but some pages, or gives it back.
    pub fn fill(&self, pages_left: usize) {
        let mut ballast = File::create(self.ballast()).unwrap();
        while ballast.write_all(&[1; 4096]).is_ok() {}
        let length = ballast.metadata().unwrap().len() / 4096;
        ballast.set_len((length - pages_left as u64) * 4096).unwrap();
    }

    pub fn empty(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Makes a folder of it read-only for whoever opens a file there from now on. The file system itself cannot be made so
    /// while a file is open for writing.
    fn lock(&self, folder: &Path) {
        assert!(run(Command::new("mount").arg("--bind").args([folder, folder])));
        assert!(run(Command::new("mount").args(["-o", "remount,bind,ro"]).arg(folder)));
    }

    fn unlock(&self, folder: &Path) {
        assert!(run(Command::new("umount").arg("-l").arg(folder)));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run(Command::new("umount").arg("-l").arg(self.path()));
    }
}

fn run(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn note(at: usize, word: &str) -> String {
    format!("# Note {at}\n\n{word} of a river and a boat{at}, a letter in winter{at}\n")
}

fn fill_with_notes(vault: &mut Daemon) {
    for at in 0..20 {
        vault.write(&format!("notes/{at}.md"), note(at, "before"));
    }
}

/// What is wrong, once something is.
fn failure(vault: &Daemon) -> String {
    eventually("the status to say what is wrong", || vault.status()["failure"].as_str().map(str::to_owned))
}

fn heals(vault: &Daemon) {
    until("the index to be mended", || vault.status()["failure"] == Value::Null);
    vault.settle();
}

/// Holds the answers against those of an index made from nothing.
#[track_caller]
fn is_as_new(vault: &Daemon) {
    vault.settle();
    let found = Answers::of_daemon(vault, &QUERIES);
    vault.run(&["reindex", "--full"]).ok();
    vault.settle();
    assert_same(&found, &Answers::of_daemon(vault, &QUERIES));
}

/// A vault whose index is elsewhere.
fn indexed_in(place: &Path) -> Daemon {
    let config = format!("{NO_MODEL}[index]\ndir = {place:?}\n");
    let mut vault = Daemon::with_config(&config);
    fill_with_notes(&mut vault);
    vault
}

/// Edits every note while nothing can be written, sees that searches go on, and that all is well when `mend` has been called.
#[track_caller]
fn survives(vault: &mut Daemon, place: &Path, mend: impl FnOnce()) {
    survives_where(vault, place, true, mend);
}

/// The same, where searches go on or, as the index could not be opened at all, have to wait.
#[track_caller]
fn survives_where(vault: &mut Daemon, place: &Path, searches: bool, mend: impl FnOnce()) {
    for at in 0..19 {
        vault.write(&format!("notes/{at}.md"), note(at, "after"));
    }
    fs::remove_file(vault.path("notes/19.md")).unwrap();
    let reasons = ["full", "No space left", "disk I/O error", "unable to open", "Read-only", "readonly", "denied"];
    // tantivy may say first that a thread of its own was stopped; the next try tells why.
    let said = eventually("the reason", || {
        Some(failure(vault)).filter(|said| reasons.iter().any(|reason| said.contains(reason)))
    });
    println!("{said}");
    assert!(said.contains(place.to_str().unwrap()), "{said} does not name {place:?}");
    let until = Instant::now() + RETRIED;
    while Instant::now() < until {
        assert!(!searches || vault.find("before").len() == 10, "searches go on with what was");
        std::thread::sleep(Duration::from_millis(200));
    }
    mend();
    heals(vault);
    vault.finds("boat19", &[]).finds("boat3", &["notes/3.md"]);
    assert!(vault.find("before").is_empty());
    is_as_new(vault);
}

type Case = (&'static str, fn(Disk));

/// What may happen to a disk. Each takes some seconds, most of which are waited for the next try.
const CASES: [Case; 8] = [
    ("the disk of the index is full", |disk| {
        let place = disk.path().join("index");
        let mut vault = indexed_in(&place).started();
        disk.fill(0);
        survives(&mut vault, &place, || disk.empty());
    }),
    ("the disk of the index is full at the start", |disk| {
        let place = disk.path().join("index");
        let mut vault = indexed_in(&place);
        vault.start().terminate();
        disk.fill(0);
        vault.launch(None);
        survives_where(&mut vault, &place, false, || disk.empty());
    }),
    ("there is a little room for the index", |disk| {
        let mut vault = indexed_in(&disk.path().join("index"));
        for pages in [1, 4, 16, 64] {
            vault.start();
            disk.fill(pages);
            for at in 0..20 {
                vault.write(&format!("notes/{at}.md"), note(at, &format!("pages{pages}")));
            }
            // Either all of them fit, or it is told why they do not.
            let is_said = || vault.status()["failure"] != Value::Null;
            let is_read = || vault.find(&format!("boat19 pages{pages}")).first().is_some_and(|at| at == "notes/19.md");
            until("an end of the room, or of the notes", || is_said() || is_read());
            disk.empty();
            heals(&vault);
            vault.finds("boat3", &["notes/3.md"]);
            is_as_new(&vault);
            vault.kill();
        }
    }),
    ("the disk of the vault is full", |disk| {
        let mut vault = Daemon::below(disk.path(), NO_MODEL);
        fill_with_notes(&mut vault);
        vault.start();
        disk.fill(0);
        // A note that is saved takes the page that it had.
        let place = vault.path(".vault/index");
        survives(&mut vault, &place, || disk.empty());
    }),
    ("the disk of the vault is full at the start", |disk| {
        let mut vault = Daemon::below(disk.path(), NO_MODEL);
        fill_with_notes(&mut vault);
        vault.start().terminate();
        disk.fill(0);
        // Not even its address can be written.
        let refused = vault.run(&["serve", "--port", "0"]);
        assert!(refused.code != 0 && refused.stderr.contains("daemon.json"), "{}", refused.stderr);
        assert!(refused.stderr.contains("No space left"), "{}", refused.stderr);
        disk.empty();
        is_as_new(vault.start());
    }),
    ("the disk of the vault is full at the start after a kill", |disk| {
        let mut vault = Daemon::below(disk.path(), NO_MODEL);
        fill_with_notes(&mut vault);
        vault.start().kill();
        disk.fill(0);
        // The new address has the place of the old one.
        vault.launch(None);
        let place = vault.path(".vault/index");
        survives_where(&mut vault, &place, false, || disk.empty());
    }),
    ("the index becomes read-only", |disk| {
        let place = disk.path().join("index");
        let mut vault = indexed_in(&place).started();
        disk.lock(&place);
        survives(&mut vault, &place, || disk.unlock(&place));
    }),
    ("the index is read-only at the start", |disk| {
        let place = disk.path().join("index");
        let mut vault = indexed_in(&place);
        vault.start().terminate();
        disk.lock(&place);
        vault.launch(None);
        survives_where(&mut vault, &place, false, || disk.unlock(&place));
    }),
];

#[test]
fn a_disk_that_is_full_or_read_only() {
    std::thread::scope(|scope| {
        for (name, case) in CASES {
            let Some(disk) = Disk::new(8) else { return };
            std::thread::Builder::new().name(name.into()).spawn_scoped(scope, move || case(disk)).unwrap();
        }
    });
}

/// Asks for each kind of change, and sees that it is refused with the place and the reason, and that nothing was done.
#[track_caller]
fn refuses_to_write(vault: &Daemon, reason: &str) {
    let before = notes_of(&vault.path(""));
    let hash = vault.get("/api/user-memory/search?mode=keyword&q=boat3").json()["results"][0]["hash"].clone();
    let hash = hash.as_str().unwrap();
    let post = |target: &str, body: Value| Request::send("POST", target, &body);
    let text = "Some words. ".repeat(2000);
    for request in [
        Request::new("DELETE", &format!("/api/user-memory/chunk/{hash}")),
        post("/api/user-memory/forget", json!({"path": "notes/3.md"})),
        post("/api/user-memory/annotate", json!({"hash": hash, "note": text})),
        post("/api/user-memory/save", json!({"content": text})),
        post("/api/user-memory/save", json!({"content": text, "title": "Note 3", "collection": "notes"})),
    ] {
        let reply = vault.ask(request);
        let said = reply.error();
        assert_eq!(reply.status, 503, "{said}");
        assert!(said.contains(reason) && said.contains(vault.path("").to_str().unwrap()), "{said}");
        assert_eq!(notes_of(&vault.path("")), before, "{said}");
    }
    assert_eq!(vault.find("boat3"), ["notes/3.md"]);
    let unfinished = vault.path(".vault/state/unfinished");
    assert_eq!(fs::read_dir(unfinished).map_or(0, Iterator::count), 0);
}

#[test]
fn no_note_is_half_written_on_a_disk_that_is_full_or_read_only() {
    let Some(disk) = Disk::new(8) else { return };
    let mut vault = Daemon::below(disk.path(), NO_MODEL);
    fill_with_notes(&mut vault);
    vault.start().settle();
    disk.fill(0);
    refuses_to_write(&vault, "No space left");
    disk.empty();
    disk.lock(&vault.path(""));
    refuses_to_write(&vault, "Read-only");
    disk.unlock(&vault.path(""));
    vault.ask(Request::new("POST", "/api/user-memory/forget").json(r#"{"path": "notes/3.md"}"#)).ok();
    vault.finds("boat3", &[]).finds("boat4", &["notes/4.md"]);
}

#[test]
fn a_save_was_not_answered_for_twenty_seconds_as_there_was_no_room_for_the_index() {
    let Some(disk) = Disk::new(8) else { return };
    let vault = indexed_in(&disk.path().join("index")).settled();
    disk.fill(0);
    let began = Instant::now();
    let saved = vault.post("/api/user-memory/save", &json!({"content": "A quokka lives on the island."})).json();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(saved["searchable"], false, "{saved}");
    disk.empty();
    heals(&vault);
    vault.finds("quokka", &[saved["path"].as_str().unwrap()]);
}

#[test]
fn the_index_may_not_be_written_any_more() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        return skipped("nothing is refused to root");
    }
    let mut vault = Daemon::vault();
    fill_with_notes(&mut vault);
    vault.start();
    let index = vault.path(".vault/index");
    let set = |mode| {
        for folder in [&index, &index.join("tantivy")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o500);
    survives(&mut vault, &index, || set(0o700));
}
