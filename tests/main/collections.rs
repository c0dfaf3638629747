//! Folders elsewhere that are collections: `[[collections]]`.

use crate::support::prelude::*;

/// A vault with one note, and a folder elsewhere with others.
fn vault(pattern: &str) -> (Daemon, TempDir) {
    let elsewhere = tempfile::Builder::new().prefix("papers-").tempdir().unwrap();
    let folder = elsewhere.path().join("papers");
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::write(folder.join("moss.md"), "# Moss\n\nIt grows in the shade.\n").unwrap();
    fs::write(folder.join("deep/fern.md"), "---\ntags: [green]\n---\n# Fern\n\nIt unrolls in the shade.\n").unwrap();
    fs::write(folder.join("table.csv"), "shade").unwrap();
    let config = format!(
        "[embed]\nmodel = \"none\"\n[[collections]]\nname = \"papers\"\npath = \"{}\"\n{pattern}\n",
        folder.display()
    );
    let vault = Daemon::with_config(&config).with("notes/bread.md", "# Bread\n\nThe dough rests in the shade.\n");
    (vault, elsewhere)
}

fn problems(vault: &Daemon) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let status = vault.status();
    let problems = status["problems"].as_array().unwrap().iter();
    problems.map(|problem| (text(&problem["path"]), text(&problem["reason"]))).collect()
}

#[test]
fn a_note_elsewhere_is_found_cited_and_read_like_any_other() {
    let (mut vault, elsewhere) = vault("");
    let before = contents(elsewhere.path());
    for served in [false, true] {
        let found = vault.run(&["search", "--json", "unrolls"]).ok().json()["results"][0].clone();
        assert_eq!((&found["path"], &found["collection"]), (&"papers/deep/fern.md".into(), &"papers".into()));
        let on_disk = elsewhere.path().canonicalize().unwrap().join("papers/deep/fern.md");
        let url = found["obsidian_url"].as_str().unwrap();
        assert!(url.ends_with("papers%2Fdeep%2Ffern.md") && url.contains("papers-"), "{url}");
        let citation = found["citation"].as_str().unwrap();
        assert_eq!(vault.run(&["get", citation]).ok().stdout.trim_end(), found["content"].as_str().unwrap());
        let whole = fs::read_to_string(&on_disk).unwrap();
        assert_eq!(vault.run(&["get", "papers/deep/fern.md"]).ok().stdout, whole);
        assert_eq!(vault.run(&["get", on_disk.to_str().unwrap()]).ok().stdout, whole);
        assert_eq!(vault.run(&["get", "papers/nothing.md"]).code, 1);
        assert_eq!(vault.run(&["get", "papers"]).code, 2, "a folder is no note");
        assert_eq!(vault.run(&["get", "papers/../../etc/passwd"]).code, 2);
        let collections = vault.run(&["collections", "--json"]).ok().json();
        assert_eq!((&collections["papers"]["files"], &collections["notes"]["files"]), (&2.into(), &1.into()));
        let only = vault.run(&["search", "--json", "shade", "--collection", "papers"]).ok().json();
        assert_eq!(only["results"].as_array().unwrap().len(), 2);
        if !served {
            vault.start();
        }
    }
    assert_eq!(contents(elsewhere.path()), before, "it is only read");
}

#[test]
fn changes_elsewhere_are_noticed_at_once() {
    let (mut vault, elsewhere) = vault("");
    let folder = elsewhere.path().join("papers");
    vault.start();
    vault.finds("shade", &["notes/bread.md", "papers/deep/fern.md", "papers/moss.md"]);
    // The daemon may be held up by other work of the machine, once.
    let quickest = (0..5).map(|at| {
        let word = format!("probe{at}");
        let started = Instant::now();
        fs::write(folder.join("deep/probe.md"), &word).unwrap();
        vault.finds(&word, &["papers/deep/probe.md"]);
        started.elapsed()
    });
    let quickest = quickest.min().unwrap();
    assert!(quickest < Duration::from_secs(1), "{quickest:?}");
    write_file(folder.join("new/lichen.md"), "# Lichen\n");
    vault.finds("lichen", &["papers/new/lichen.md"]);
    fs::rename(folder.join("new"), folder.join("moved")).unwrap();
    vault.finds("lichen", &["papers/moved/lichen.md"]);
    fs::write(folder.join("moved/lichen.md"), "# Algae\n").unwrap();
    vault.finds("algae", &["papers/moved/lichen.md"]);
    fs::remove_file(folder.join("moss.md")).unwrap();
    fs::remove_dir_all(folder.join("deep")).unwrap();
    vault.finds("shade", &["notes/bread.md"]);
    assert_as_rebuilt(&vault, &["shade", "algae", "lichen"]);
}

#[test]
fn what_changed_while_nothing_ran_is_found_and_a_collection_that_is_taken_off_is_gone() {
    let (mut vault, elsewhere) = vault("");
    let folder = elsewhere.path().join("papers");
    vault.start().terminate();
    fs::write(folder.join("moss.md"), "# Moss\n\nIt likes rain.\n").unwrap();
    fs::remove_file(folder.join("deep/fern.md")).unwrap();
    vault.start();
    vault.finds("rain", &["papers/moss.md"]).finds("shade", &["notes/bread.md"]);
    assert_as_rebuilt(&vault, &["shade", "rain"]);
    vault.terminate();
    vault.write("memory.toml", "[embed]\nmodel = \"none\"\n").start();
    vault.finds("rain", &[]).finds("shade", &["notes/bread.md"]);
}

#[test]
fn a_pattern_and_the_vault_s_own_rules_say_which_notes_count() {
    let (mut vault, elsewhere) = vault("pattern = \"{deep/**,top.md}\"\n[index]\nexclude = [\"papers/deep/draft*\"]");
    let folder = elsewhere.path().join("papers");
    vault.start();
    vault.finds("shade", &["notes/bread.md", "papers/deep/fern.md"]);
    for path in ["other.md", "top.md", "deep/draft.md", "deep/.hidden.md", "deep/more.md"] {
        fs::write(folder.join(path), "shade").unwrap();
    }
    let expected = ["notes/bread.md", "papers/deep/fern.md", "papers/deep/more.md", "papers/top.md"];
    vault.finds("shade", &expected);
    vault.run(&["reindex"]).ok();
    vault.finds("shade", &expected);
}

#[test]
fn while_a_folder_elsewhere_is_away_its_notes_are_as_last_known() {
    let (mut vault, elsewhere) = vault("");
    let (folder, away) = (elsewhere.path().join("papers"), elsewhere.path().join("away"));
    let all = ["notes/bread.md", "papers/deep/fern.md", "papers/moss.md"];
    vault.start();
    vault.finds("shade", &all);
    fs::rename(&folder, &away).unwrap();
    let reason = eventually("the problem", || problems(&vault).into_iter().find(|(path, _)| path == "papers"));
    assert!(reason.1.contains("is not there; its notes are as last known"), "{}", reason.1);
    vault.run(&["reindex"]).ok();
    vault.finds("shade", &all);
    // So they are after a start without it.
    vault.restart();
    vault.finds("shade", &all);
    fs::write(away.join("moss.md"), "# Moss\n\nIt was away.\n").unwrap();
    fs::rename(&away, &folder).unwrap();
    vault.finds("away", &["papers/moss.md"]).finds("shade", &["notes/bread.md", "papers/deep/fern.md"]);
    until("no problem", || problems(&vault).is_empty());
    // It is watched again.
    fs::write(folder.join("moss.md"), "# Moss\n\nIt is back.\n").unwrap();
    vault.finds("back", &["papers/moss.md"]);
    assert_as_rebuilt(&vault, &["shade", "back"]);
}

#[test]
fn a_folder_of_the_vault_with_a_collection_s_name_is_hidden_and_listed() {
    let (mut vault, _elsewhere) = vault("");
    vault.write("papers/own.md", "# Own\n\nIn the shade.\n").start();
    vault.finds("shade", &["notes/bread.md", "papers/deep/fern.md", "papers/moss.md"]);
    let listed = problems(&vault);
    assert!(listed.iter().any(|(path, reason)| path == "papers" && reason.contains("hidden")), "{listed:?}");
    vault.write("papers/own.md", "# Own\n\nStill in the shade.\n");
    vault.write("notes/last.md", "unmistakable").finds("unmistakable", &["notes/last.md"]);
    vault.finds("still", &[]);
}

/// Another vault, for one: what lies there was made of what lies there.
#[test]
fn what_was_made_of_a_private_note_elsewhere_is_not_shown_by_a_note_of_that_name_here() {
    let (mut vault, elsewhere) = vault("");
    let folder = elsewhere.path().join("papers");
    let write = |path: &str, text: &str| write_file(folder.join(path), text);
    write("notes/bread.md", "---\nprivate: true\n---\nThe mould grows in the shade.\n");
    write("made.md", "---\nsources: [notes/bread.md]\n---\nMould in the shade.\n");
    write("annotations/x.md", "---\nannotates: { path: notes/bread.md, quote: mould }\n---\nMould in the shade!\n");
    write("memories/user.md", "- [fact] Likes shade (source notes/bread.md#L4)\n");
    write("open.md", "---\nsources: [\"[[deep/fern]]\"]\n---\nFerns in the shade.\n");
    write("agents/bob/MEMORY.md", "Bob likes the shade.\n");
    write("agents/bob/agent.md", "---\ncan_read_user_memory: true\n---\nShade.\n");
    vault.start();
    let token = vault.run(&["agent", "add", "Ada", "--allow"]).ok().stdout.trim().to_owned();
    let mut agent = Connection::open(vault.address()).with_token(&token);
    let mut paths = column(&agent.get("/api/user-memory/search?q=shade&limit=100&mode=keyword")["results"], "path");
    paths.sort();
    assert_eq!(paths, ["notes/bread.md", "papers/deep/fern.md", "papers/moss.md", "papers/open.md"]);
    assert_eq!(vault.find("shade").len(), 10, "the person sees all");
}
