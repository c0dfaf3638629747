//! A search sees the save before it.

use crate::support::prelude::*;

/// So often a search must have been sure that it sees the save before it; in a soak more often.
const ROUNDS: usize = 8;

fn daemon() -> Daemon {
    Daemon::vault().with("notes/a.md", "# A note\n\nAlways there.\n").started()
}

/// Makes a change and searches at once, until searches were sure to see it often enough. One that is sure must see it; on a busy
/// machine a second is not enough for each. The words looked for begin with `kind`; `search` gives the paths that were
/// found, and whether it was sure.
#[track_caller]
fn sees(
    daemon: &Daemon,
    kind: &str,
    change: impl Fn(&Path, &str),
    search: impl Fn(&str) -> (Vec<String>, bool),
    found: bool,
) {
    let deadline = Instant::now() + PATIENCE;
    let (mut sure, mut at) = (0, 0);
    while sure < soak_minutes().map_or(ROUNDS, |_| 5 * ROUNDS) {
        assert!(Instant::now() < deadline, "of {at} searches {sure} were sure");
        at += 1;
        let word = format!("{}{at}", kind.replace('_', ""));
        change(&daemon.path(""), &word);
        let (paths, is_sure) = search(&word);
        if is_sure {
            assert_eq!(!paths.is_empty(), found, "{word}: search {at}, {sure} were right before: {paths:?}");
            sure += 1;
        }
    }
    // Nothing is left of it.
    let cookies = daemon.path(".vault/index/cookies");
    assert_eq!(fs::read_dir(cookies).unwrap().count(), 0);
}

fn save(root: &Path, word: &str) {
    fs::write(root.join("notes/x.md"), format!("A {word} ate the sandwich.\n")).unwrap();
}

fn answered(answer: &Value) -> (Vec<String>, bool) {
    let fresh = answer["fresh"].as_bool().unwrap_or_else(|| panic!("it does not say: {answer}"));
    (column(&answer["results"], "path"), fresh)
}

/// Over HTTP.
fn ask(daemon: &Daemon, word: &str) -> (Vec<String>, bool) {
    answered(&daemon.get(&format!("/api/user-memory/search?fresh=true&q={word}")).json())
}

#[test]
fn where_there_are_no_events_the_vault_is_looked_over() {
    let mut daemon = Daemon::without_model("[index]\nwatch = \"poll\"\npoll_seconds = 3600\n");
    daemon.write("notes/a.md", "# A note\n\nAlways there.\n").start();
    fs::create_dir_all(daemon.path(".vault/index/cookies")).unwrap();
    sees(&daemon, "quokka", save, |word| ask(&daemon, word), true);
}

/// Another program may hold its file open and go on writing: what it has written by then is there.
#[test]
fn a_writer_that_goes_on_is_not_waited_for() {
    let daemon = Daemon::vault().with("notes/a.md", "# A note\n").started();
    let open = std::cell::RefCell::new(fs::File::create(daemon.path("notes/log.md")).unwrap());
    let write = |_: &Path, word: &str| {
        std::io::Write::write_all(&mut *open.borrow_mut(), format!("{word}\n").as_bytes()).unwrap()
    };
    sees(&daemon, "wren", write, |word| ask(&daemon, word), true);
}

/// What takes longer than a search waits is not waited for, and the answer says so.
#[test]
fn a_busy_vault_holds_no_search_up() {
    let daemon = daemon();
    let much: String = (0..120_000).map(|at| format!("Paragraph {at} of a long story about a wombat.\n\n")).collect();
    fs::write(daemon.path("notes/much.md"), much + "The end has a numbat.\n").unwrap();
    let began = Instant::now();
    let (paths, is_sure) = ask(&daemon, "numbat");
    let answered = began.elapsed();
    assert!(paths.is_empty() && !is_sure, "{paths:?} after {answered:?}");
    until("the end to be found", || !daemon.find("numbat").is_empty());
    assert!(answered < began.elapsed());
    let (paths, is_sure) =
        eventually("the daemon to come to rest", || Some(ask(&daemon, "numbat")).filter(|asked| asked.1));
    assert!(is_sure && paths[0] == "notes/much.md");
    println!("answered after {answered:?}, found after {:?}", began.elapsed());
}

#[test]
fn a_search_sees_the_save_before_it_by_every_way() {
    let mut daemon = daemon();
    // Many searches at once are all answered.
    let before = daemon.cpu();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut connection = Connection::open(daemon.address()).with_token(daemon.token());
                for _ in 0..100 {
                    let reply = connection.get("/api/user-memory/search?fresh=true&q=always");
                    assert_eq!(reply["results"].as_array().unwrap().len(), 1);
                }
            });
        }
    });
    println!("800 searches took {:?} of the processor", daemon.cpu() - before);
    // They are no news of the vault's.
    let (compared, done) = (daemon.status()["watching"]["compared_at"].clone(), daemon.status()["files_done"].clone());
    assert!(ask(&daemon, "always").0.len() == 1);
    let status = daemon.status();
    assert_eq!((&status["watching"]["compared_at"], &status["files_done"]), (&compared, &done));
    // Over HTTP it is seen where that is asked for.
    sees(&daemon, "quokka", save, |word| ask(&daemon, word), true);
    sees(&daemon, "quoll", save, |word| answered(&daemon.get(&format!("/query?fresh=true&q={word}")).json()), true);
    sees(
        &daemon,
        "quail",
        save,
        |word| answered(&daemon.post("/search", &json!({ "query": word, "fresh": true })).json()),
        true,
    );
    let plain = daemon.get("/api/user-memory/search?q=always").json();
    assert!(plain["fresh"].is_null(), "it was not asked for: {plain}");
    // A tool sees the save before it.
    for mode in ["keyword", "hybrid", "deep"] {
        let search = |word: &str| {
            let arguments = json!({ "mode": mode, "query": word });
            let reply = daemon.rpc("tools/call", json!({ "name": "search", "arguments": arguments })).json();
            let found = &reply["result"]["structuredContent"];
            let unsure = found["degraded"].as_str().is_some_and(|why| why.contains("the newest changes"));
            (column(&found["results"], "path"), !unsure)
        };
        sees(&daemon, mode, save, search, true);
    }
    // Whatever was done before is seen.
    let search = |word: &str| ask(&daemon, word);
    // In a folder that is new.
    let new_folder = |root: &Path, word: &str| {
        write_file(root.join(format!("notes/{word}/deep/x.md")), format!("A {word}."));
    };
    sees(&daemon, "newt", new_folder, search, true);
    // By a rename, as editors save.
    let beside = |root: &Path, word: &str| {
        fs::write(root.join("notes/.y"), format!("A {word}.")).unwrap();
        fs::rename(root.join("notes/.y"), root.join("notes/y.md")).unwrap();
    };
    sees(&daemon, "bear", beside, search, true);
    // What was found a moment ago, and is gone.
    let gone = |root: &Path, word: &str| {
        fs::write(root.join("notes/z.md"), format!("A {word}.")).unwrap();
        daemon.finds(word, &["notes/z.md"]);
        fs::remove_file(root.join("notes/z.md")).unwrap();
    };
    sees(&daemon, "gnu", gone, search, false);
    // Other commands see the save before them too.
    let asked: [(&str, &[&str]); 6] = [
        ("links", &["links", "notes/NAME.md"]),
        ("related", &["related", "notes/NAME.md"]),
        ("graph", &["graph", "NAME"]),
        ("ls", &["ls", "--json"]),
        ("tags", &["tags", "--json"]),
        ("annotate", &["annotate", "notes/NAME.md", "A remark."]),
    ];
    for (command, args) in asked {
        // On a busy machine a second is not enough for each; without the wait none would see it.
        let seen = (0..6).filter(|at| {
            let name = format!("{command}{at}");
            fs::write(daemon.path(&format!("notes/{name}.md")), format!("# {name}\n\nSaid once. #tag{name}\n"))
                .unwrap();
            let args: Vec<String> = args.iter().map(|arg| arg.replace("NAME", &name)).collect();
            let ran = daemon.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let is_missing =
                ["there is no note", "no note is called", "not indexed"].iter().any(|why| ran.stderr.contains(why));
            !is_missing && (!args.contains(&"--json".to_owned()) || ran.stdout.contains(&name))
        });
        let seen = seen.count();
        assert!(seen >= 3, "{command}: {seen} of 6");
    }
    // A command sees the save before it.
    sees(&daemon, "quokka", save, |word| answered(&daemon.run(&["search", word, "--json"]).json()), true);
    // Alone it reads all that was saved first, however long that takes.
    daemon.terminate();
    save(&daemon.path(""), "numbat");
    assert_eq!(answered(&daemon.run(&["search", "numbat", "--json"]).json()), (vec!["notes/x.md".into()], true));
}

/// A vault that a sync service carries has nothing of it.
#[test]
fn nothing_is_made_where_a_sync_service_looks() {
    let mut daemon = Daemon::vault();
    fs::create_dir(daemon.path(".stfolder")).unwrap();
    daemon.write("notes/a.md", "# A note\n").start();
    eventually("a search to be sure", || {
        save(&daemon.path(""), "numbat");
        let (paths, is_sure) = ask(&daemon, "numbat");
        is_sure.then_some(paths).filter(|paths| *paths == ["notes/x.md"])
    });
    assert!(!daemon.path(".vault/index").exists());
}

/// An agent is not told whether anything is under way: it may be hidden.
#[test]
fn an_agent_sees_the_save_and_is_not_told_of_others() {
    let daemon = daemon();
    let rules = json!({ "name": "Ada", "rules": { "can_read_user_memory": true } });
    let token = daemon.post("/api/agents", &rules).json()["token"].as_str().unwrap().to_owned();
    save(&daemon.path(""), "numbat");
    let answer = eventually("the agent to find it", || {
        let answer = daemon.get_as(&token, "/api/user-memory/search?fresh=true&mode=keyword&q=numbat").json();
        (answer["results"].as_array().unwrap().len() == 1).then_some(answer)
    });
    assert!(answer["fresh"].is_null() && answer["degraded"].is_null(), "{answer}");
}
