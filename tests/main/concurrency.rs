//! One writer and many readers: clients that search while files change, commands beside the daemon, and stops in the middle.

use rustix::process::Signal;

use crate::support::prelude::*;

/// The longest that a client may wait for an answer while everything changes, on a machine that is busy with other things.
const STALL: Duration = Duration::from_secs(10);

fn changing(at: usize, version: usize) -> String {
    let section = |part: usize| format!("## Part {part}\n\nalways of note{at} version{version}\n\n");
    format!("# Note {at}\n\n{}", (0..3).map(section).collect::<String>())
}

#[test]
fn eight_clients_search_while_two_thousand_files_change() {
    let mut daemon = Daemon::with_config("");
    for at in 0..2000 {
        daemon.write(&format!("notes/{}/{at}.md", at % 20), changing(at, 0));
    }
    daemon.start();
    until("the model", || daemon.status()["model"]["state"] == "ready");
    let targets = [
        "/api/user-memory/search?mode=keyword&q=always+note77&limit=20",
        "/api/user-memory/search?q=what+is+always+of+note77&limit=20",
        "/api/user-memory/browse?limit=50",
        "/status",
    ];
    let (over, times) = (Over::default(), Mutex::new(vec![Vec::new(); targets.len()]));
    std::thread::scope(|scope| {
        let _over = over.at_end();
        for client in 0..8 {
            let (daemon, over, times) = (&daemon, &over, &times);
            scope.spawn(move || {
                let mut connection = daemon.connection();
                let mut at = client;
                while !over.is() {
                    let target = targets[at % targets.len()];
                    let started = Instant::now();
                    let answer = connection.get(target);
                    let took = started.elapsed();
                    for list in ["results", "chunks"].map(|key| answer[key].as_array()).into_iter().flatten() {
                        assert!(!list.is_empty(), "{target}: nothing is found");
                        for passage in list {
                            let content = passage["content"].as_str().unwrap();
                            assert_eq!(content.matches("version").count(), 1, "{target}: {content:?}");
                        }
                    }
                    times.lock().unwrap()[at % targets.len()].push(took);
                    at += 1;
                }
            });
        }
        for version in 1..=2 {
            for at in 0..2000 {
                fs::write(daemon.path(&format!("notes/{}/{at}.md", at % 20)), changing(at, version)).unwrap();
            }
        }
        until("all changes to be read", || {
            let count = |word| daemon.get(&format!("/api/user-memory/search?mode=keyword&q={word}&limit=1")).json();
            let none = count("version1")["results"].as_array().unwrap().is_empty();
            none && daemon.status()["pending_files"] == 0
        });
    });
    for (target, times) in targets.iter().zip(times.into_inner().unwrap()) {
        assert!(times.iter().max() < Some(&STALL), "{target}: {times:?}");
    }
}

#[test]
fn commands_beside_the_daemon_and_beside_each_other() {
    let mut daemon = Daemon::vault();
    for at in 0..100 {
        daemon.write(&format!("notes/{at}.md"), changing(at, 0));
    }
    daemon.start();
    let commands: [&[&str]; 6] = [
        &["search", "note7", "--json"],
        &["get", "notes/7.md"],
        &["status", "--json"],
        &["collections"],
        &["reindex"],
        &["reindex", "--full"],
    ];
    for served in [true, false] {
        if !served {
            daemon.terminate();
        }
        std::thread::scope(|scope| {
            for args in commands.iter().chain(&commands) {
                let daemon = &daemon;
                scope.spawn(move || {
                    for _ in 0..2 {
                        let Ran { code, stdout, stderr } = daemon.run(args);
                        // Alone, one may find the others at work for long, and says so.
                        let said = format!("{stdout}{stderr}");
                        let refused = !served && code == 2 && said.contains("another vault command");
                        assert!(code == 0 || refused, "{args:?} ended with {code}: {stdout} {stderr}");
                        assert!(args[0] != "search" || refused || stdout.contains("notes/7.md"), "{stdout} {stderr}");
                    }
                });
            }
        });
    }
    daemon.start();
    daemon.finds("note7", &["notes/7.md"; 3]);
    assert_as_rebuilt(&daemon, &["note7", "always"]);
}

#[test]
fn who_is_refused_makes_no_file() {
    let vault = Daemon::vault();
    write_file(vault.path("notes/a.md"), "aardvark");
    let home = memory_vault::vault::disk::Home::open(&vault.path("")).unwrap();
    let lock = home.lock().unwrap();
    // The process that writes has only begun: there is no index, or its folders alone.
    for folders in ["", ".vault/index", ".vault/index/tantivy"] {
        fs::create_dir_all(vault.path(folders)).unwrap();
        let before = contents(&vault.path(".vault"));
        // Each waits for the lock for some seconds.
        std::thread::scope(|scope| {
            for args in [&["search", "aardvark"][..], &["status"], &["collections"]] {
                scope.spawn(|| {
                    let refused = vault.run(args);
                    assert!(refused.code == 2 && refused.stderr.contains("another vault command"), "{refused:?}");
                });
            }
        });
        assert_eq!(contents(&vault.path(".vault")), before, "with {folders:?}");
    }
    drop(lock);
    vault.run(&["search", "aardvark"]).ok();
}

/// A daemon with the real model and clients, in the middle of an import.
fn importing(notes: usize) -> (Daemon, Vec<Connection>) {
    let mut daemon = Daemon::with_config("").with("notes/a.md", "aardvark").started();
    let clients = (0..3).map(|_| {
        let mut client = Connection::open(daemon.address());
        client.send(&Request::get("/health")).unwrap();
        client
    });
    let clients = clients.collect();
    for at in 0..notes {
        daemon.write(
            &format!("import/{at}.md"),
            format!("# Import {at}\n\n{}\n", format!("word{at} and more ").repeat(90)),
        );
    }
    eventually("texts to be embedded", || (daemon.status()["embeddings_done"].as_u64()? > 1).then_some(()));
    assert!(daemon.status()["pending_embeddings"].as_u64().unwrap() > 0, "it is in the middle");
    (daemon, clients)
}

/// Starts it again and holds the index to what a rebuilt one answers.
fn is_healthy(daemon: &mut Daemon) {
    fs::write(daemon.path("memory.toml"), "[embed]\nmodel = \"none\"\n").unwrap();
    daemon.start();
    assert!(daemon.status()["rebuilt"].is_null(), "{}", daemon.status());
    daemon.finds("aardvark", &["notes/a.md"]);
    assert_as_rebuilt(daemon, &["aardvark", "word7"]);
}

#[test]
fn a_stop_in_an_import_drains_and_closes_the_stores() {
    for signal in [Signal::TERM, Signal::INT] {
        let (mut daemon, clients) = importing(300);
        daemon.get("/api/user-memory/search?q=and+more").ok();
        let stopped = daemon.stop_with(signal);
        eprintln!("{signal:?} in an import: stopped after {:?}", stopped.after);
        assert_eq!(stopped.status.code(), Some(0));
        // The promise is two seconds; the machine may be busy with other tests.
        assert!(stopped.after < Duration::from_secs(10), "{:?}", stopped.after);
        assert!(!daemon.path(".vault/index/open").exists(), "the stores were closed");
        assert!(!daemon.path(".vault/daemon.json").exists());
        drop(clients);
        is_healthy(&mut daemon);
    }
}

#[test]
fn a_second_interrupt_stops_at_once() {
    let (mut daemon, _clients) = importing(300);
    // A request that is never finished holds the drain up.
    let head = format!("POST /reindex HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n", daemon.token());
    let rest = "Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n";
    // It is said when the body is waited for.
    let (_slow, said) = send_raw(daemon.address(), &(head + rest));
    assert_eq!(said, "100");
    daemon.signal(Signal::INT);
    let is_closed = || std::net::TcpStream::connect(daemon.address()).is_err();
    until("that nobody is let in any more", is_closed);
    let stopped = daemon.stop_with(Signal::INT);
    eprintln!("the second SIGINT stopped it after {:?}", stopped.after);
    assert!(matches!(stopped.status.code(), Some(130)), "{:?}", stopped.status);
    is_healthy(&mut daemon);
}
