//! What an archive brings is taken over, whenever the daemon is killed.

use crate::support::prelude::*;

/// The points that a first start passes, and which passings of them.
const CASES: [(&str, usize); 2] = [("state-made", 1), ("state-taken-over", 1)];
const EXPORTED: &str = ".vault/state/export.db";

pub fn points() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(point, _)| *point)
}

fn turn(said: &str) -> Value {
    json!({"type": "message", "session": "s", "role": "user", "text": said})
}

/// A vault as an archive brings it: three events wait.
fn left() -> Daemon {
    let mut vault = Daemon::vault();
    fs::create_dir_all(vault.path("conversations/2026-01-05-s.md")).unwrap();
    vault.start();
    for said in ["zero", "one", "two"] {
        vault.capture(turn(said));
    }
    vault.kill();
    vault.run(&["token", "add", "--capture", "browser"]).ok();
    let (_elsewhere, copy) = vault.copy_by_archive();
    Daemon::vault().with("notes/a.md", "An aardvark.\n").with(EXPORTED, fs::read(copy.join(EXPORTED)).unwrap())
}

/// All of it is there, and once.
#[track_caller]
fn is_taken_over(vault: &Daemon, case: &str) {
    until("the events", || vault.status()["capture"]["pending"] == 0);
    let said = contents(&vault.path("conversations")).into_iter().flat_map(|(_, bytes)| {
        let text = String::from_utf8(bytes).unwrap();
        text.lines().filter_map(|line| Some(line.split_once(":** ")?.1.to_owned())).collect::<Vec<_>>()
    });
    assert_eq!(said.collect::<Vec<_>>(), ["zero", "one", "two"], "{case}");
    assert!(!vault.path(EXPORTED).exists(), "{case}");
}

#[test]
fn killed_while_what_an_archive_brought_is_taken_over() {
    for (point, passing) in CASES {
        let case = format!("{point}:{passing}");
        let mut vault = left();
        vault.dies_at(&case);
        for _ in 0..2 {
            vault.start();
            is_taken_over(&vault, &case);
            let mode = fs::metadata(vault.path(".vault/state/state.db")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{case}");
            vault.terminate();
        }
        assert_eq!(vault.run(&["token", "list"]).code, 1, "{case}: no token went along");
    }
}

#[test]
fn what_no_export_has_made_keeps_nobody_out() {
    let vault = Daemon::vault().with("notes/a.md", "An aardvark.\n").with(EXPORTED, "{".repeat(5000)).started();
    assert_eq!(vault.find("aardvark"), ["notes/a.md"]);
    vault.run(&["token", "add", "--capture", "browser"]).ok();
    let log = vault.log();
    assert!(log.contains("is not taken over") && log.contains("export.db.damaged"), "{log}");
}

#[test]
fn a_vault_that_a_sync_service_carries_has_its_state_where_its_index_is() {
    let mut vault = left();
    fs::create_dir(vault.path(".stfolder")).unwrap();
    vault.start();
    is_taken_over(&vault, "elsewhere");
    let token = vault.run(&["token", "add", "--capture", "notebook"]).ok().stdout;
    let sent = vault.post_as(token.trim(), "/api/user-memory/events", &turn("three"));
    assert_eq!(sent.status, 202, "the daemon and a command beside it have one place");
    vault.captured();
    assert!(fs::read_dir(vault.path(".vault/state")).unwrap().flatten().all(|entry| {
        let name = entry.file_name().into_string().unwrap();
        !name.starts_with("state.") && !name.starts_with("export.")
    }));
    vault.restart();
    assert_eq!(vault.run(&["token", "list"]).ok().stdout.lines().count(), 1, "and again at the next start");
}

#[test]
fn a_flipped_byte_costs_what_it_is_in_and_nothing_else() {
    let mut vault = Daemon::vault().started();
    let in_its_place = vault.path("conversations/2026-01-05-s.md");
    fs::create_dir_all(&in_its_place).unwrap();
    for said in ["before", "damaged", "after"] {
        vault.capture(turn(said));
    }
    let add = |name: &str| vault.run(&["token", "add", "--capture", name]).ok().stdout.trim().to_owned();
    let (one, other) = (add("browser"), add("editor"));
    vault.terminate();
    let state = vault.path(".vault/state/state.db");
    let mut bytes = fs::read(&state).unwrap();
    for text in ["damaged", "browser"] {
        let at = bytes.windows(7).position(|window| window == text.as_bytes()).unwrap();
        bytes[at] ^= 1;
    }
    fs::write(&state, bytes).unwrap();
    fs::remove_dir(in_its_place).unwrap();
    vault.start();
    vault.captured();
    let written: Vec<u8> = contents(&vault.path("conversations")).into_iter().flat_map(|(_, bytes)| bytes).collect();
    let written = String::from_utf8(written).unwrap();
    assert!(written.contains("before") && written.contains("after") && !written.contains("amaged"), "{written}");
    let status = |token: &str| vault.post_as(token, "/api/user-memory/events", &json!([])).status;
    assert_eq!((status(&one), status(&other)), (401, 202));
    let failure = vault.status()["failure"].as_str().unwrap().to_owned();
    assert!(
        failure.contains("1 token of a program is damaged") && failure.contains("left out (number 2)"),
        "{failure}"
    );
}
