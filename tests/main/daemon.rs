//! The daemon's life: one at a time, a quick stop, and a start after anything. And the whole of it once with the real model.

use crate::support::prelude::*;

fn vault(notes: usize) -> Daemon {
    let mut vault = Daemon::vault();
    for at in 0..notes {
        vault.write(&format!("notes/{at}.md"), format!("# Note {at}\n\ncommonword and word{at}\n"));
    }
    vault
}

#[test]
fn a_daemon_has_its_vault_its_port_and_its_secrets_to_itself() {
    let vault = vault(1).started();
    let second = vault.run(&["serve", "--port", "0"]);
    assert_eq!(second.code, 2);
    let expected = format!("process {} on {}", vault.pid(), vault.address());
    assert!(second.stderr.contains(&expected), "{} does not name {expected}", second.stderr);
    assert!(second.stderr.contains("`vault serve`"), "{}", second.stderr);
    vault.finds("commonword", &["notes/0.md"]);
    // A port that is taken is named.
    let (other, port) = (self::vault(1), vault.address().rsplit(':').next().unwrap().to_owned());
    let refused = other.run(&["serve", "--port", &port]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", refused.stderr);
    assert!(!other.path(".vault/daemon.json").exists());
    assert_eq!(other.run(&["search", "commonword"]).code, 0);
    // Its secrets are the owner's alone.
    for name in ["owner-token", "daemon.sock", "daemon.json"] {
        let mode = fs::metadata(vault.path(".vault").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} has mode {mode:o}");
    }
    assert_eq!(vault.read(".vault/.gitignore"), "*\n");
}

#[test]
fn a_daemon_that_starts_while_the_one_before_it_ends_waits_for_the_vault() {
    let mut vault = vault(1);
    let home = memory_vault::vault::disk::Home::open(&vault.path("")).unwrap();
    let lock = home.lock().unwrap();
    vault.spawn(None);
    // It has looked for the lock once it is at work, and goes on.
    until("the daemon's threads", || {
        let threads = fs::read_dir(format!("/proc/{}/task", vault.pid())).map_or(usize::MAX, Iterator::count);
        threads > 2
    });
    assert!(vault.log().is_empty(), "{}", vault.log());
    drop(lock);
    let served = eventually("the daemon's word", || Some(vault.said()).filter(|said| said.contains("at http://")));
    assert!(served.contains("serving ") && vault.log().is_empty(), "{served} {}", vault.log());
    vault.terminate();
}

#[test]
fn sigterm_stops_within_two_seconds_and_cleans_up() {
    let mut vault = vault(50).started();
    let _idle = std::net::TcpStream::connect(vault.address()).unwrap();
    let mut kept = Connection::open(vault.address());
    kept.send(&Request::get("/health")).unwrap();
    let stopped = vault.terminate();
    assert_eq!(stopped.status.code(), Some(0));
    assert!(stopped.after.as_secs_f64() < 2.5, "{:?}", stopped.after);
    assert!(!vault.path(".vault/daemon.json").exists() && !vault.path(".vault/daemon.sock").exists());
    assert!(!vault.path(".vault/index/open").exists(), "the stores were closed");
    assert_eq!(vault.run(&["search", "commonword"]).code, 0);
}

/// The end of the process once took down what the thread that loads the model still used: one stop of sixty ended in a segfault.
#[test]
fn a_stop_while_the_model_is_being_loaded_is_a_clean_one() {
    let mut vault = Daemon::with_config("");
    for wait in 0..24 {
        vault.launch(None);
        // The moments around the load, which are the test and not what it waits for.
        std::thread::sleep(Duration::from_millis(wait * 2));
        let stopped = vault.terminate();
        assert_eq!(stopped.status.code(), Some(0), "stopped {} ms after its start: {}", wait * 2, stopped.status);
    }
}

/// The system takes connections for a process that is just being taken down, and resets them.
#[test]
fn the_first_command_after_a_kill_is_answered_without_a_daemon() {
    let mut vault = vault(5);
    for round in 0..3 {
        for args in [
            &["search", "word3", "--json"][..],
            &["status"],
            &["get", "notes/3.md"],
            &["ls"],
            &["save", "After the kill."],
            &["ls", "--json"],
        ] {
            vault.start();
            vault.signal(rustix::process::Signal::KILL);
            let ran = vault.run(args);
            assert_eq!(ran.code, 0, "{args:?}, round {round}: {ran:?}");
            until("its end", || vault.was_killed());
        }
    }
    // There is no page, and it is said.
    vault.start();
    vault.signal(rustix::process::Signal::KILL);
    let open = vault.run(&["open", "--print"]);
    assert!(open.code == 2 && open.stderr.contains("no daemon serves"), "{open:?}");
    until("its end", || vault.was_killed());
}

#[test]
fn notes_are_found_by_meaning_with_the_real_model() {
    let mut vault = Daemon::with_config("")
        .with("notes/cat.md", "# Whiskers\n\nMy cat sleeps on the sofa all afternoon and hunts mice at night.")
        .with("notes/car.md", "# Volvo\n\nThe mechanic replaced the brake pads and changed the engine oil.")
        .with("notes/loan.md", "# Mortgage\n\nThe bank lowered the interest rate of our house loan in March.")
        .with("notes/bread.md", "# Sourdough\n\nFeed the starter, knead, let it rise overnight and bake it hot.")
        .started();
    until("every passage to be embedded", || vault.status()["embedded"] == 4);
    for (query, path) in [
        ("a feline pet napping on furniture", "notes/cat.md"),
        ("vehicle repair", "notes/car.md"),
        ("how much do we pay for borrowing money", "notes/loan.md"),
        ("recipe for making dough", "notes/bread.md"),
    ] {
        let target = format!("/api/user-memory/search?mode=semantic&q={}", encode(query));
        let found = vault.get(&target).json();
        assert_eq!(found["results"][0]["path"], path, "{query}: {found}");
        assert!(found["degraded"].is_null(), "{found}");
    }
    let hybrid = vault.run(&["search", "--json", "fixing an automobile"]).ok().json();
    assert_eq!((&hybrid["mode"], &hybrid["results"][0]["path"]), (&"hybrid".into(), &"notes/car.md".into()));
    vault.terminate();
    let alone = vault.run(&["search", "--json", "fixing an automobile"]).ok().json();
    assert_eq!(alone["results"], hybrid["results"], "the command alone answers as the daemon does");
}

#[test]
fn searches_go_on_while_everything_is_built_anew() {
    let mut vault = vault(200).started();
    for _ in 0..5 {
        vault.run(&["reindex", "--full", "--no-wait"]).ok();
        // Each of these must be an answer, be it with fewer hits.
        (0..20).for_each(|_| drop(vault.find("commonword")));
    }
    assert_eq!(vault.status()["files"], 200);
    vault.write("notes/new.md", "afterword");
    vault.finds("afterword", &["notes/new.md"]).finds("word199", &["notes/199.md"]);
}

#[test]
fn a_command_beside_one_that_writes_the_index_says_so() {
    let vault = vault(2);
    assert_eq!(vault.run(&["search", "word1"]).code, 0);
    let home = memory_vault::vault::disk::Home::open(&vault.path("")).unwrap();
    let lock = home.lock().unwrap();
    for args in [&["search", "word1"][..], &["collections"], &["status"], &["reindex"]] {
        let refused = vault.run(args);
        let said = "another vault command is writing this vault's index";
        assert!(refused.code == 2 && refused.stderr.contains(said), "{args:?}: {refused:?}");
    }
    drop(lock);
    vault.run(&["reindex"]).ok();
}
