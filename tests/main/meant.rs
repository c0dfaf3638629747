//! What the program answers to a command that is not quite one, and to each command on a vault that has just been made.

use crate::support::prelude::*;

fn run(args: &[&str]) -> Ran {
    Ran::of(vault_command().args(args))
}

#[test]
fn an_unknown_command_names_the_one_that_is_meant() {
    for (typed, meant) in [
        (&["find", "bread"][..], "search"),
        (&["delete", "notes/a.md"], "forget"),
        (&["rm"], "forget"),
        (&["list"], "ls"),
        (&["new", "note"], "save"),
        (&["restore"], "undo"),
        (&["proposals"], "memory"),
        (&["suggestions"], "review"),
        (&["settings"], "config"),
        (&["serach", "bread"], "search"),
        (&["--vault", "somewhere", "find"], "search"),
        (&["agent", "delete", "ada"], "remove"),
        (&["fact", "add"], "set"),
        (&["memory", "lst"], "list"),
    ] {
        let refused = run(typed);
        assert_eq!(refused.code, 2, "{typed:?}");
        let said = format!("similar subcommand exists: '{meant}'\n");
        assert!(refused.stderr.contains(&said), "{typed:?}: {}", refused.stderr);
    }
    let refused = run(&["zeppelin"]);
    assert!(refused.code == 2 && !refused.stderr.contains("similar"), "{}", refused.stderr);
}

#[test]
fn a_group_of_commands_by_itself_lists_what_there_is() {
    let vault = Daemon::vault();
    for group in ["agent", "fact", "memory", "model", "token", "forgotten"] {
        let (bare, listed) = (vault.run(&[group]), vault.run(&[group, "list"]));
        assert!(bare.code < 2, "{group}: {}", bare.stderr);
        assert_eq!((bare.code, &bare.stdout, &bare.stderr), (listed.code, &listed.stdout, &listed.stderr), "{group}");
        vault.run(&[group, "--json"]).json();
        let help = vault.run(&[group, "--help"]).ok().stdout;
        assert!(help.contains("Commands:"), "{help}");
    }
    for group in [&["conflicts"][..], &["memory", "review"], &["memory", "summaries"], &["memory", "profile"]] {
        let bare = vault.run(group);
        assert!(bare.code < 2 && !bare.stderr.is_empty(), "{group:?}: {} {}", bare.code, bare.stderr);
    }
    let bare = vault.run(&["service"]);
    assert_eq!(bare.stderr, vault.run(&["service", "status"]).stderr);
    assert_eq!(run(&[]).code, 2, "the program by itself shows its help");
}

#[test]
fn a_condition_without_a_value_is_an_error() {
    let mut vault = Daemon::vault();
    vault.write("notes/a.md", "---\nrating: 4\ntags: [tag]\n---\n# A tag\n\nA quokka with a tag.\n");
    for served in [false, true] {
        for (query, part) in [("[rating:>]", "[rating:>]"), ("tag:", "tag:"), ("quokka -before:", "before:")] {
            let refused = vault.run(&["search", query]);
            let said = format!("vault: `{part}` has no value. add one");
            assert!(refused.code == 2 && refused.stderr.starts_with(&said), "{query}: {}", refused.stderr);
        }
        assert_eq!(vault.run(&["search", "tag: quokka", "--mode", "keyword"]).code, 0);
        assert_eq!(vault.run(&["search", "\"tag:\"", "--mode", "keyword"]).code, 0);
        if !served {
            vault.start();
        }
    }
    assert_eq!(vault.get("/api/user-memory/search?q=tag%3A").status, 400);
}

#[test]
fn a_new_vault_says_what_is_to_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("vault");
    let root = root.to_str().unwrap();
    let made = run(&["init", root, "--json"]).ok().json();
    let is_root = |value: &Value| fs::canonicalize(value.as_str().unwrap()).unwrap() == fs::canonicalize(root).unwrap();
    assert!(is_root(&made["vault"]) && made["adopted"] == false, "{made}");
    let indexed = run(&["reindex", "--json", "--vault", root]).ok().json();
    assert_eq!(indexed["pending_files"], 0, "{indexed}");
    assert!(indexed["files"].as_u64().unwrap() > 5, "{indexed}");
    let profile = run(&["memory", "profile", "--vault", root]);
    assert_eq!((profile.code, profile.stdout.as_str()), (1, ""));
    assert!(profile.stderr.contains("the profile is empty; `vault memory profile set"), "{}", profile.stderr);
    run(&["memory", "summaries", "make", "--vault", root]).ok();
    let summaries = run(&["memory", "summaries", "--vault", root]);
    assert_eq!(summaries.stderr, "vault: no summary is recent; `vault memory summaries --all` shows an older one\n");
    // What the vault was made with is no work of the person's, until it is edited.
    for day in ["2026-01-05", "2026-W02"] {
        let digest = run(&["digest", day, "--vault", root]);
        assert_eq!((digest.code, digest.stdout.as_str()), (1, ""), "{day}");
    }
    let note = Path::new(root).join("notes/loans-in-a-spreadsheet.md");
    fs::write(&note, fs::read_to_string(&note).unwrap() + "\nWe decided to bake after all.\n").unwrap();
    let digest = run(&["digest", "2026-01-05", "--vault", root]).ok().stdout;
    assert!(
        digest.contains("notes/loans-in-a-spreadsheet.md#L") && digest.contains("We decided to bake after all."),
        "{digest}"
    );
    assert!(!digest.contains("tool-library-meeting"), "{digest}");
    let status = run(&["status", "--vault", root]).ok().stdout;
    assert!(!status.contains("7833") && !status.contains("given"), "{status}");
}

#[test]
fn saving_and_remarks_can_be_undone_and_say_how() {
    let mut vault = Daemon::vault().with("notes/a.md", "# A\n\nA quokka.\n");
    for served in [false, true] {
        for args in [
            &["save", "A numbat.", "--collection", "notes"][..],
            &["save", "An emu."],
            &["annotate", "notes/a.md:3", "True."],
        ] {
            let done = vault.run(args).ok();
            let path = done.stdout.trim_end().to_owned();
            assert!(vault.path(&path).is_file(), "{path}");
            let undo = done
                .stderr
                .trim()
                .strip_prefix("to undo: vault ")
                .unwrap_or_else(|| panic!("{}", done.stderr))
                .to_owned();
            vault.run(&undo.split(' ').collect::<Vec<_>>()).ok();
            assert!(!vault.path(&path).exists(), "{path}");
            let json = vault.run(&[args, &["--json"]].concat()).ok().json();
            vault.run(&["undo", json["checkpoint_id"].as_str().unwrap()]).ok();
        }
        // Where the note says so already, there is nothing to undo.
        vault.run(&["save", "A wombat."]).ok();
        let again = vault.run(&["save", "A wombat."]).ok();
        assert!(again.stdout.ends_with("(was there before)\n") && again.stderr.is_empty(), "{}", again.stderr);
        if !served {
            vault.start();
        }
    }
    let opened = vault.run(&["open", "--print", "--json"]).ok().json();
    assert!(opened["address"].as_str().unwrap().contains("/#code=") && opened["opened"] == false, "{opened}");
}

#[test]
fn one_wording_says_that_a_note_is_not_there() {
    let vault = Daemon::vault();
    vault.run(&["agent", "add", "ada"]).ok();
    for args in [
        &["get", "notes/none.md"][..],
        &["forget", "notes/none.md", "--yes"],
        &["annotate", "notes/none.md", "x"],
        &["links", "notes/none.md"],
        &["related", "notes/none.md"],
        &["graph", "notes/none.md"],
        &["agent", "explain", "ada", "notes/none.md"],
    ] {
        let refused = vault.run(args);
        assert!(
            refused.code == 1 && refused.stderr.contains("there is no note `notes/none.md`"),
            "{args:?}: {}",
            refused.stderr
        );
    }
}
