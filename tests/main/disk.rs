//! The disk is full, or may not be written any more: searches go on, the status says what is wrong and where, and once there
//! is room again the index is what a full reindex makes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Answers, Daemon, QUERIES, assert_same, eventually, skipped};

/// A small file system in memory. Only root can have one.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new(megabytes: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted = rustix::process::geteuid().is_root()
            && run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()));
        if !mounted {
            skipped("no file system can be mounted here");
        }
        mounted.then(|| Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all the room but some pages, or gives it back.
    fn fill(&self, pages_left: usize) {
        let mut ballast = File::create(self.ballast()).unwrap();
        while ballast.write_all(&[1; 4096]).is_ok() {}
        let length = ballast.metadata().unwrap().len() / 4096;
        ballast.set_len((length - pages_left as u64) * 4096).unwrap();
    }

    fn empty(&self) {
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
    eventually("the index to be mended", || (vault.status()["failure"] == Value::Null).then_some(()));
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
    let config = format!("[embed]\nmodel = \"none\"\n[index]\ndir = {:?}\n", place);
    let mut vault = Daemon::with_config(&config);
    fill_with_notes(&mut vault);
    vault
}

/// Edits every note while nothing can be written, sees that searches go on, and that all is well when `mend` has been called.
#[track_caller]
fn survives(vault: &mut Daemon, place: &Path, mend: impl FnOnce()) {
    for at in 0..19 {
        vault.write(&format!("notes/{at}.md"), note(at, "after"));
    }
    fs::remove_file(vault.path("notes/19.md")).unwrap();
    let said = failure(vault);
    println!("{said}");
    assert!(said.contains(place.to_str().unwrap()), "{said} does not name {place:?}");
    let reasons = ["full", "No space left", "Read-only", "readonly", "denied"];
    assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}");
    for _ in 0..3 {
        assert_eq!(vault.find("before").len(), 10, "searches go on with what was");
        std::thread::sleep(std::time::Duration::from_millis(1500));
    }
    mend();
    heals(vault);
    vault.finds("boat19", &[]).finds("boat3", &["notes/3.md"]);
    assert!(vault.find("before").is_empty());
    is_as_new(vault);
}

#[test]
fn the_disk_of_the_index_is_full() {
    let Some(disk) = Disk::new(8) else { return };
    let place = disk.path().join("index");
    let mut vault = indexed_in(&place);
    vault.start();
    disk.fill(0);
    survives(&mut vault, &place, || disk.empty());
}

#[test]
fn the_disk_of_the_index_is_nearly_full() {
    let Some(disk) = Disk::new(8) else { return };
    let place = disk.path().join("index");
    let mut vault = indexed_in(&place);
    for pages in [1, 2, 4, 8, 16, 32, 64] {
        vault.start();
        disk.fill(pages);
        for at in 0..20 {
            vault.write(&format!("notes/{at}.md"), note(at, &format!("pages{pages}")));
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        disk.empty();
        heals(&vault);
        vault.finds("boat3", &["notes/3.md"]);
        is_as_new(&vault);
        vault.kill();
    }
}

#[test]
fn the_disk_of_the_index_is_full_at_the_start() {
    let Some(disk) = Disk::new(8) else { return };
    let place = disk.path().join("index");
    let mut vault = indexed_in(&place);
    vault.start().terminate();
    disk.fill(0);
    vault.launch(None);
    survives(&mut vault, &place, || disk.empty());
}

#[test]
fn the_disk_of_the_vault_is_full() {
    let Some(disk) = Disk::new(8) else { return };
    let mut vault = Daemon::below(disk.path(), "[embed]\nmodel = \"none\"\n");
    fill_with_notes(&mut vault);
    vault.start();
    disk.fill(0);
    // A note takes the page that it had.
    let place = vault.path(".vault/index");
    survives(&mut vault, &place, || disk.empty());
}

#[test]
fn the_index_becomes_read_only() {
    let Some(disk) = Disk::new(8) else { return };
    let place = disk.path().join("index");
    let mut vault = indexed_in(&place);
    vault.start();
    disk.lock(&place);
    survives(&mut vault, &place, || disk.unlock(&place));
}

#[test]
fn the_index_is_read_only_at_the_start() {
    let Some(disk) = Disk::new(8) else { return };
    let place = disk.path().join("index");
    let mut vault = indexed_in(&place);
    vault.start().terminate();
    disk.lock(&place);
    vault.launch(None);
    survives(&mut vault, &place, || disk.unlock(&place));
}
