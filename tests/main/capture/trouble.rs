//! The disk is full, the folder is away, what is kept was damaged: nothing that was accepted is lost.

use std::io::Write;

use super::{EVENTS, message};
use crate::disk::Disk;
use crate::support::prelude::*;

fn turns(vault: &Daemon) -> Vec<String> {
    let files = vault.notes_in("conversations");
    let turns = files.iter().flat_map(|(_, text)| text.lines().filter_map(|line| line.split_once(":** ")));
    turns.map(|(_, said)| said.to_owned()).collect()
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let Some(disk) = Disk::new(8) else { return };
    let vault = Daemon::below(disk.path(), "[embed]\nmodel = \"none\"\n").started();
    vault.written(message("s", "user", "before"));
    let (mut accepted, mut refused) = (vec!["before".to_owned()], 0);
    // Room for the journal, and hardly any for files.
    disk.fill(12);
    for at in 0..40 {
        let said = format!("said{at}");
        // More than a page, so that the disk is soon full.
        let reply = vault.post(EVENTS, &json!([message("s", "user", &said), message("t", "user", &"x ".repeat(2000))]));
        match reply.status {
            202 => accepted.push(said),
            503 => {
                refused += 1;
                assert!(reply.error().contains("No space left"), "{}", reply.error());
            }
            status => panic!("{status}: {}", reply.json()),
        }
    }
    assert!(refused > 0, "the disk was full");
    disk.empty();
    vault.capture(message("s", "user", "after"));
    accepted.push("after".into());
    vault.captured();
    let said: Vec<String> = turns(&vault).into_iter().filter(|said| !said.starts_with("x ")).collect();
    assert_eq!(said, accepted);
}

#[test]
fn a_vault_that_is_away_refuses_and_goes_on_when_it_is_back() {
    let vault = Daemon::vault().started();
    vault.written(message("s", "user", "one"));
    let (there, away) = (vault.path(""), vault.path("").with_extension("away"));
    fs::rename(&there, &away).unwrap();
    let refused = vault.post(EVENTS, &message("s", "user", "two"));
    assert_eq!((refused.status, refused.error().as_str()), (503, "the vault's folder does not exist"));
    assert!(!there.exists(), "nothing is made in its place");
    fs::rename(&away, &there).unwrap();
    vault.capture(message("s", "user", "three"));
    until("the event to be written", || turns(&vault) == ["one", "three"]);
}

#[test]
fn a_journal_that_is_deleted_under_the_daemon_is_made_anew() {
    let vault = Daemon::vault().started();
    for at in 0..3 {
        vault.written(message("s", "user", &format!("said{at}")));
        fs::remove_dir_all(vault.path(".vault/state")).unwrap();
    }
    vault.capture(message("s", "user", "last"));
    until("all to be written", || turns(&vault) == ["said0", "said1", "said2", "last"]);
}

#[test]
fn a_cut_or_damaged_tail_is_dropped_and_what_is_before_it_stays() {
    let mut vault = Daemon::vault();
    // Nothing can be written into files, so all stays in the journal.
    vault.start();
    let in_its_place = vault.path("conversations/2026-01-05-s.md");
    fs::create_dir_all(&in_its_place).unwrap();
    vault.capture(message("s", "user", "one"));
    vault.capture(message("s", "user", "two"));
    vault.kill();
    let log = vault.path(".vault/state/state.db-wal");
    let whole = fs::read(&log).unwrap();
    let mut file = fs::File::options().append(true).open(&log).unwrap();
    // The header of the last page with another page, and some of it.
    file.write_all(&whole[whole.len() - 4120..whole.len() - 2000]).unwrap();
    fs::remove_dir(in_its_place).unwrap();
    vault.start();
    vault.captured();
    assert_eq!(turns(&vault), ["one", "two"]);
    vault.written(message("s", "user", "three"));
    vault.restart();
    vault.captured();
    assert_eq!(turns(&vault), ["one", "two", "three"]);
}

#[test]
fn a_queue_that_cannot_be_read_is_put_aside_and_what_is_whole_in_it_is_written() {
    let mut vault = Daemon::vault().started();
    let in_its_place = vault.path("conversations/2026-01-05-s.md");
    fs::create_dir_all(&in_its_place).unwrap();
    for at in 0..60 {
        vault.capture(message("s", "user", &format!("said{at} {}", "x".repeat(900))));
    }
    let token = vault.run(&["token", "add", "--capture", "browser"]).ok().stdout;
    vault.terminate();
    let state = vault.path(".vault/state/state.db");
    let mut bytes = fs::read(&state).unwrap();
    // A page in the middle of the events: one that has two of them.
    let page = bytes.chunks(4096).position(|page| page.windows(7).any(|text| text == b"said30 ")).unwrap();
    bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
    fs::write(&state, bytes).unwrap();
    fs::remove_dir(in_its_place).unwrap();
    vault.start();
    vault.captured();
    let turns: Vec<String> = turns(&vault).iter().map(|turn| turn.split(' ').next().unwrap().to_owned()).collect();
    let expected: Vec<String> = (0..60).map(|at| format!("said{at}")).filter(|said| turns.contains(said)).collect();
    assert_eq!(turns, expected, "in order, each once");
    assert!(turns.len() >= 50 && turns.contains(&"said0".into()) && turns.contains(&"said59".into()), "{turns:?}");
    let aside = vault.path(".vault/state/state.db.damaged");
    assert!(aside.exists() && vault.log().contains("state.db.damaged"), "{}", vault.log());
    let failure = vault.status()["failure"].as_str().unwrap().to_owned();
    assert!(failure.contains("state.db.damaged") && failure.contains("vault token add"), "{failure}");
    // Nobody is let in by what is damaged, and the person is not kept out.
    let event = Request::send("POST", EVENTS, &message("s", "user", "x"));
    let with = |token: &str| event.clone().bearer(token.trim());
    assert_eq!(vault.send(&with(&token)).status, 401);
    let token = vault.run(&["token", "add", "--capture", "browser"]).ok().stdout;
    assert_eq!(vault.send(&with(&token)).status, 202);
}

#[test]
fn a_folder_that_cannot_be_written_refuses_its_events_and_keeps_no_others() {
    let vault = Daemon::vault().started();
    let page = |at: usize| json!({"type": "bookmark", "url": format!("https://x.example/{at}"), "title": "Page"});
    // Each name that these would have is a folder.
    fs::create_dir_all(vault.path("bookmarks/page.md")).unwrap();
    let pages: Vec<Value> = (0..1100).map(page).collect();
    assert_eq!(vault.capture(pages.into()), (1100, 0));
    vault.capture(message("s", "user", "said"));
    until("what can be written to be", || turns(&vault) == ["said"]);
    assert_eq!(vault.status()["capture"]["pending"], 1101, "the first is not written, so none counts");
    fs::remove_dir(vault.path("bookmarks/page.md")).unwrap();
    vault.captured();
    assert_eq!(vault.notes_in("bookmarks").len(), 1100);

    #[cfg(unix)]
    {
        fs::remove_dir_all(vault.path("bookmarks")).unwrap();
        std::os::unix::fs::symlink(vault.path("conversations"), vault.path("bookmarks")).unwrap();
        let refused = vault.post(EVENTS, &json!([message("s", "user", "no"), page(0)]));
        assert_eq!(refused.status, 503);
        assert!(refused.error().contains("`bookmarks`: it is, or lies below, a symbolic link"), "{}", refused.error());
        assert_eq!(vault.capture(message("s", "user", "yes")), (1, 0));
        vault.captured();
        assert_eq!(turns(&vault), ["said", "yes"]);
    }
}

#[test]
fn many_of_one_name_keep_nothing_else() {
    let vault = Daemon::vault().started();
    for part in 0..3 {
        let clip = |at: usize| json!({"type": "clipboard", "content": format!("import React\nn{}", part * 700 + at)});
        vault.capture((0..700).map(clip).collect());
    }
    vault.capture(message("s", "user", "said"));
    until("the message to be written", || turns(&vault) == ["said"]);
    vault.captured();
    assert_eq!(vault.notes_in("snippets").len(), 2100);
    assert_eq!(vault.capture(json!({"type": "clipboard", "content": "import React\nn1234"})), (1, 0));
    vault.captured();
    assert_eq!(vault.notes_in("snippets").len(), 2100, "the same again is recognised");
}
