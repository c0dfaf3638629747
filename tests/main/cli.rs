//! The commands as a person or a script runs them, with a daemon and without.

use crate::support::prelude::*;

/// Two notes, and nothing running.
fn vault() -> Daemon {
    Daemon::vault()
        .with("notes/bread.md", "---\ntags: [food]\n---\n# Bread\n\nThe dough rests overnight.\n\nBake it hot.\n")
        .with("journal/day.md", "# Day\n\nI walked by the river, and ate bread.\n")
}

fn run(args: &[&str]) -> Ran {
    Ran::of(vault_command().args(args))
}

#[test]
fn what_is_no_note_is_neither_printed_nor_forgotten() {
    let vault = vault();
    vault.run(&["status"]).ok();
    write_file(vault.path(".vault/owner-token"), "top secret");
    let absolute = vault.path(".vault/owner-token");
    for what in [".vault/owner-token", "notes/../.vault/owner-token", absolute.to_str().unwrap(), "memory.toml"] {
        let ran = vault.run(&["get", what]);
        assert!(ran.code > 0 && ran.stdout.is_empty(), "{what}: {} {}", ran.code, ran.stdout);
    }
    for what in ["nothash", "notes"] {
        let ran = vault.run(&["forget", what, "--yes"]);
        let said = format!("there is no note `{what}`");
        assert!(ran.code == 1 && ran.stderr.contains(&said), "{}", ran.stderr);
    }
}

#[test]
fn init_makes_a_vault_and_touches_none_of_the_files_that_are_there() {
    // `init` makes a vault from the template that can be searched.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new vault");
    let name = root.to_str().unwrap();
    let made = run(&["init", name]).ok();
    assert!(made.stdout.contains("vault serve --vault '"), "{}", made.stdout);
    let found = run(&["search", "--vault", name, "--mode", "keyword", "sourdough"]).ok();
    assert!(found.stdout.starts_with("notes/sourdough.md#L"), "{}", found.stdout);
    let status = run(&["status", "--json", "--vault", name]).ok().json();
    assert_eq!(status["problems"].as_array().unwrap().len(), 0, "{status}");
    assert!(root.join(".git").is_dir());
    assert_eq!(run(&["init", name]).code, 2, "it is a vault already");
    // `init` refuses a folder with files, and `--adopt` touches none of them.
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in
        [("a.md", "# Mine"), ("deep/b.md", "words\r\n"), (".obsidian/app.json", "{}"), (".gitignore", "x\n")]
    {
        write_file(folder.path().join(path), text);
    }
    let before = contents(folder.path());
    let name = folder.path().to_str().unwrap();
    let refused = run(&["init", name]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("not empty") && refused.stderr.contains("--adopt"), "{}", refused.stderr);
    assert_eq!(contents(folder.path()), before);
    run(&["init", "--adopt", name]).ok();
    run(&["search", "--vault", name, "--mode", "keyword", "mine"]).ok();
    let own = |path: &Path| path.ends_with("memory.toml") || path.starts_with(folder.path().join(".vault"));
    let after: Vec<_> = contents(folder.path()).into_iter().filter(|(path, _)| !own(path)).collect();
    assert_eq!(after, before);
    assert!(folder.path().join("memory.toml").is_file());
}

#[test]
fn search_answers_alike_with_a_daemon_and_without() {
    let mut vault = vault();
    let searches: [&[&str]; 4] = [
        &["search", "bread"],
        &["search", "dough", "--full", "--tag", "food"],
        &["search", "--json", "river", "--path", "journal/", "-n", "1"],
        &["search", "bread", "--collection", "notes", "--since", "2020-01-01", "--until", "2090-01-01"],
    ];
    let without_time = |ran: Ran| -> Vec<String> {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        // On a busy machine a daemon may not be sure in time that it has all that was saved.
        let alike = |line: &&str| !line.contains("took_ms") && !line.contains("\"fresh\"");
        ran.stdout.lines().filter(alike).map(str::to_owned).collect()
    };
    let alone: Vec<_> = searches.iter().map(|args| without_time(vault.run(args))).collect();
    vault.start();
    let served: Vec<_> = searches.iter().map(|args| without_time(vault.run(args))).collect();
    assert_eq!(alone, served);
}

#[test]
fn a_search_shows_passages_as_it_is_asked_to() {
    let vault = vault();
    // A word with a hyphen is left out and is no option.
    let found = vault.run(&["search", "bread", "-river", "-n", "3", "--mode", "keyword"]).ok();
    assert!(found.stdout.starts_with("notes/bread.md#") && !found.stdout.contains("journal/"), "{}", found.stdout);
    for word in ["-temporary", "-cats", "-paths", "-nuts", "-hot"] {
        let found = vault.run(&["search", word, "river", "--json"]).ok().json();
        assert_eq!(found["results"][0]["path"], "journal/day.md", "{word}");
    }
    // A pipe gets plain text with citations.
    let found = vault.run(&["search", "dough"]).ok();
    assert!(found.stdout.starts_with("notes/bread.md#L4-L8  "), "{}", found.stdout);
    assert!(found.stdout.contains("    The dough rests overnight.\n"), "{}", found.stdout);
    assert!(!found.stdout.contains('\u{1b}'));
    assert_eq!(found.stderr, "");
    // What was only narrowed has no score.
    let listed = vault.run(&["search", "tag:food"]).ok().stdout;
    assert!(listed.starts_with("notes/bread.md#L4-L8  Bread\n"), "{listed}");
    let scored = vault.run(&["search", "tag:food", "dough"]).ok().stdout;
    let score = scored.lines().next().and_then(|line| line.split("  ").nth(1)?.parse::<f64>().ok());
    assert!(score.is_some_and(|score| score > 0.0), "{scored}");
    // The number that is shown says the same of every question.
    let mut seen = Vec::new();
    for query in ["dough rests overnight", "walked xylophones zebras quantum finance"] {
        let json = vault.run(&["search", query, "--json", "-n", "1"]).ok().json();
        let hit = &json["results"][0];
        let (relevance, perhaps) = (hit["relevance"].as_f64().unwrap(), hit["perhaps"] == true);
        let shown = vault.run(&["search", query, "-n", "1"]).ok().stdout;
        let number = shown.split("  ").nth(1).unwrap();
        assert_eq!(number, format!("{relevance:.2}{}", if perhaps { " perhaps" } else { "" }), "{shown}");
        assert_eq!(perhaps, relevance < 0.1);
        seen.push(perhaps);
        let explained = vault.run(&["search", query, "-n", "1", "--explain"]).ok().stdout;
        assert!(
            explained.contains(&format!(", score {:.3}, relevance {relevance:.3}", hit["score"].as_f64().unwrap())),
            "{explained}"
        );
    }
    assert_eq!(seen, [false, true]);
    // A search as JSON has the API's shape.
    let found = vault.run(&["search", "dough", "--json"]).ok().json();
    assert_eq!((&found["query"], &found["mode"]), (&"dough".into(), &"keyword".into()));
    let hit = &found["results"][0];
    for (key, value) in [("path", "notes/bread.md"), ("title", "Bread"), ("citation", "notes/bread.md#L4-L8")] {
        assert_eq!(hit[key], value);
    }
    assert!(hit["score"].is_f64() && hit["snippet"].is_string());
    // The vault is found upward by name and by the environment.
    let (root, below) = (vault.path(""), vault.path("notes"));
    let elsewhere = tempfile::tempdir().unwrap();
    let from = |folder: &Path| {
        let mut command = vault_command();
        command.args(["search", "dough"]).current_dir(folder);
        command
    };
    Ran::of(&mut from(&below)).ok();
    Ran::of(from(elsewhere.path()).env("VAULT_DIR", &root)).ok();
    Ran::of(from(elsewhere.path()).arg("--vault").arg(&root)).ok();
    Ran::of(from(elsewhere.path()).arg("--vault").arg(&root).env("VAULT_DIR", "/nonexistent")).ok();
    let lost = Ran::of(&mut from(elsewhere.path()));
    assert_eq!(lost.code, 2);
    assert!(lost.stderr.contains("no vault here") && lost.stderr.contains("vault init"), "{}", lost.stderr);
    let none = Ran::of(from(&below).arg("--vault").arg(elsewhere.path()));
    assert!(none.code == 2 && none.stderr.contains("is not a vault"), "{}", none.stderr);
}

#[test]
fn what_a_search_or_a_hash_cannot_give_is_said_and_exit_codes_tell_with_a_daemon_and_without() {
    let mut vault = vault();
    for served in [false, true] {
        if served {
            vault.start();
        }
        // Who has chosen no model is told so where the meaning is asked.
        assert_eq!(vault.run(&["search", "dough"]).ok().stderr, "");
        assert_eq!(vault.run(&["search", "dough", "--mode", "hybrid"]).ok().stderr, "");
        for args in [&["search", "dough", "--mode", "semantic"][..], &["search", "vec: dough"]] {
            let said = vault.run(args).stderr;
            assert!(
                said.starts_with("vault: searched by keyword alone: `embed.model` is \"none\"\n"),
                "{args:?} {said}"
            );
        }
        // Exit codes tell found from not found from wrong.
        let nothing = vault.run(&["search", "xylophone"]);
        assert_eq!((nothing.code, nothing.stdout.as_str()), (1, ""));
        assert_eq!(vault.run(&["search", "--json", "xylophone"]).code, 1);
        for (args, said) in [
            (&["dough", "--since", "whenever"][..], "vault: `since` is `whenever`"),
            (&["dough", "-n", "0"], "vault: `limit` is 0; it takes 1 to 1000\n"),
            (&[], ""),
            (&["--no-such-option", "x"], ""),
        ] {
            let wrong = vault.run(&[&["search"], args].concat());
            assert!(wrong.code == 2 && wrong.stderr.starts_with(said), "{args:?}: {}", wrong.stderr);
        }
        // A query that is too long is told its limit.
        let refused = vault.run(&["search", &"x".repeat(100_000)]);
        assert_eq!(
            (refused.code, refused.stderr.as_str()),
            (2, "vault: the query has 100000 bytes; the limit is 16384\n")
        );
    }
    // A hash that is not there is not found by the daemon either.
    let missing = vault.run(&["get", "0123456789abcdef"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""), "{}", missing.stderr);
}

#[test]
fn get_takes_what_a_search_names_and_a_shell_completes() {
    let vault = vault();
    // `get` takes what a search names.
    let get = |what: &str| vault.run(&["get", what]);
    let whole = vault.read("notes/bread.md");
    assert_eq!(get("notes/bread.md").ok().stdout, whole);
    assert_eq!(get("./notes/bread.md").ok().stdout, whole);
    assert_eq!(get("notes/bread.md:6").ok().stdout, "The dough rests overnight.\n");
    assert_eq!(get("notes/bread.md:4-6").ok().stdout, "# Bread\n\nThe dough rests overnight.\n");
    assert_eq!(get("notes/bread.md#L8-L9").ok().stdout, "Bake it hot.\n");
    let hit = vault.run(&["search", "--json", "dough"]).ok().json()["results"][0].clone();
    assert_eq!(get(hit["citation"].as_str().unwrap()).ok().stdout.trim_end(), hit["content"].as_str().unwrap());
    let passage = get(hit["hash"].as_str().unwrap()).ok();
    assert_eq!(passage.stdout.trim_end(), hit["content"].as_str().unwrap());
    let json = vault.run(&["get", "--json", "notes/bread.md:6"]).ok().json();
    assert_eq!(json["citation"], "notes/bread.md#L6");
    for missing in ["nothing.md", "0123456789abcdef"] {
        let refused = get(missing);
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{missing}: {}", refused.stderr);
        assert!(refused.stderr.starts_with("vault: "), "{missing}: {}", refused.stderr);
    }
    for bad in ["notes/bread.md:99", "notes/bread.md:0", "notes/bread.md:5-2", "../x.md", "/etc/passwd", "", "notes"] {
        let refused = get(bad);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{bad}: {}", refused.stderr);
        assert!(refused.stderr.starts_with("vault: "), "{bad}: {}", refused.stderr);
    }
    // `get` takes what a shell completes.
    let whole = vault.read("notes/bread.md");
    let get = |what: &str| Ran::of(vault.command(&["get", what]).current_dir(vault.path("notes")));
    let absolute = vault.path("notes/bread.md");
    for what in ["bread.md", "./bread.md", "../notes/bread.md", "notes/bread.md", absolute.to_str().unwrap()] {
        assert_eq!(get(what).ok().stdout, whole, "{what}");
    }
    assert_eq!(get("bread.md:6").ok().stdout, "The dough rests overnight.\n");
    assert_eq!(get("../../bread.md").code, 2);
}

#[test]
fn status_and_reindex_work_alone_and_beside_the_daemon() {
    let mut vault = vault().with("bytes.md", b"\xff");
    for served in [false, true] {
        let status = vault.run(&["status", "--json"]).ok().json();
        assert_eq!((&status["pending_files"], &status["pending_embeddings"]), (&0.into(), &0.into()));
        assert_eq!((&status["files"], &status["model"]["state"]), (&2.into(), &"off".into()));
        assert_eq!(status["problems"][0]["path"], "bytes.md");
        let text = vault.run(&["status"]).ok().stdout;
        assert!(text.contains("bytes.md  not UTF-8 text (byte 0)"), "{text}");
        assert!(text.contains(if served { "daemon      running" } else { "daemon      not running" }), "{text}");
        for args in [&["reindex"][..], &["reindex", "--full"]] {
            assert_eq!(vault.run(args).ok().stdout, "2 notes, 2 passages, 0 embedded\n", "served: {served}");
            assert_eq!(vault.run(&["search", "dough"]).code, 0);
        }
        if !served {
            vault.start();
        }
    }
    vault.run(&["reindex", "--full", "--no-wait"]).ok();
    vault.finds("dough", &["notes/bread.md"]);
}

#[test]
fn collections_are_listed() {
    let vault = vault().with("journal/more.md", "# More\n\nA river.\n");
    let text = vault.run(&["collections"]).ok().stdout;
    let columns = |word: &str| text.lines().map(|line| line.find(word)).collect::<Vec<_>>();
    for word in [" note", " passage"] {
        let places = columns(word);
        assert!(places.iter().all(|at| at.is_some() && *at == places[0]), "{word}: {text}");
    }
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["journal", "notes"]);
    let json = vault.run(&["collections", "--json"]).ok().json();
    assert_eq!((&json["notes"]["files"], &json["notes"]["chunks"]), (&1.into(), &1.into()));
}

#[test]
fn a_wrong_configuration_is_named_and_stops_the_command() {
    let mut vault = Daemon::vault().with("notes/a.md", "# A\n");
    let collection =
        |name: &str, path: &str, more: &str| format!("[[collections]]\nname = '{name}'\npath = '{path}'\n{more}\n");
    for (config, named) in [
        ("[search]\nlimti = 3".to_owned(), "limti"),
        ("[serach]".to_owned(), "serach"),
        ("[search]\nlimit = 0".to_owned(), "`search.limit` is 0; it takes 1 to 1000"),
        ("[search]\nmode = \"psychic\"".to_owned(), "psychic"),
        ("[index]\nexclude = [\"[\"]".to_owned(), "index.exclude"),
        ("[access]\nprivate = [\"[\"]".to_owned(), "access.private"),
        ("not toml".to_owned(), "memory.toml"),
        ("[access]\nprivate = ['/notes/diary']".to_owned(), "`/notes/diary` is absolute"),
        (collection("papers", "notes", ""), "overlaps with the vault"),
        (collection(".git", "../x", ""), "`collections` has `.git`"),
        (collection("x", "../x", "pattern = '['"), "the pattern of the collection `x`"),
        (collection("x", "../x", "writable = true"), "writable"),
        (format!("x = {}", "[".repeat(200_000)), "memory.toml"),
        ("#".repeat(2 << 20), "the limit is 1048576"),
    ] {
        vault.write("memory.toml", format!("{config}\n"));
        for args in [&["search", "x"][..], &["status"], &["serve", "--port", "0"]] {
            let refused = vault.run(args);
            assert_eq!(refused.code, 2, "{config:.60}: {}", refused.stdout);
            // Of what is no TOML the line is shown.
            let is_short = refused.stderr.len() < 4000 || config.starts_with("x = ");
            assert!(refused.stderr.contains(named) && is_short, "{config:.60}: {:.1000}", refused.stderr);
        }
    }
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).ok().stdout;
        assert!(script.contains("reindex") && script.contains("collections"), "{shell}");
    }
    assert_eq!(run(&["completions", "teapot"]).code, 2);
    assert!(run(&["--version"]).ok().stdout.starts_with("vault "));
}

#[test]
fn the_end_of_a_pipe_is_no_failure() {
    let mut vault = vault();
    for at in 0..200 {
        vault.write(&format!("many/{at}.md"), format!("dough {}", "and more of it ".repeat(40)));
    }
    for args in [&["search", "dough", "-n", "1000", "--full"][..], &["completions", "bash"]] {
        let mut child = vault.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{args:?}: {ended:?}");
    }
}

#[test]
fn a_vault_within_another_is_warned_of() {
    let vault = vault();
    for (dir, more) in [("inner/one", &["--no-git"][..]), ("notes", &["--adopt"])] {
        let path = vault.path(dir);
        let made = run(&[&["init", path.to_str().unwrap()], more].concat()).ok();
        assert!(made.stderr.contains("this folder lies inside the vault "), "{dir}: {}", made.stderr);
    }
    let alone = tempfile::tempdir().unwrap();
    let made = run(&["init", alone.path().join("new").to_str().unwrap(), "--no-git"]).ok();
    assert_eq!(made.stderr, "");
}
