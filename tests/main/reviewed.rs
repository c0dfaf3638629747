//! What once went wrong, and must not again.

use memory_vault::serve::wire::BrowseParams;

use crate::support::prelude::*;

#[test]
fn a_long_file_keeps_the_others_out_of_the_results() {
    let mut vault = TestVault::new();
    let entry = |at: usize| format!("## Entry {at}\n\nThe wombat of day {at}.\n\n");
    vault.write("log.md", (0..300).map(entry).collect::<String>());
    for name in ["a.md", "b.md", "c.md", "d.md", "e.md"] {
        vault.write(name, format!("# Notes on {name}\n\nSomewhere among many other words stands wombat, once.\n"));
    }
    vault.sync();
    let found = vault.words("wombat");
    let mut paths = found.paths();
    paths.sort_unstable();
    assert_eq!(paths, ["a.md", "b.md", "c.md", "d.md", "e.md", "log.md", "log.md", "log.md"]);
}

#[test]
fn a_private_glob_does_not_reach_notes_that_are_indexed_already() {
    let mut vault = TestVault::new().with("journal/day.md", "dear diary").with("notes/a.md", "public").synced();
    let private = |vault: &TestVault| -> Vec<String> {
        let snapshot = vault.app().shared.snapshot().unwrap();
        snapshot.files().iter().filter(|file| file.private).map(|file| file.path.to_string()).collect()
    };
    assert!(private(&vault).is_empty());
    // A folder by its name alone, as in a .gitignore.
    vault.config.access.private = vec!["journal".into()];
    vault.restart();
    assert_eq!(private(&vault), ["journal/day.md"]);
    vault.config.access.private.clear();
    vault.restart();
    assert!(private(&vault).is_empty());
}

#[test]
fn rebuilding_removes_what_is_not_the_index() {
    for dir in ["shared", "."] {
        let config = |stemmer| {
            format!("[index]\ndir = \"{dir}\"\n[embed]\nmodel = \"none\"\n[search]\nstemmer = \"{stemmer}\"\n")
        };
        let mut daemon = Daemon::with_config(&config("english"));
        daemon.write("shared/precious.txt", "mine").write("notes/a.md", "a zebra");
        daemon.run(&["search", "zebra"]).ok();
        daemon.run(&["reindex", "--full"]).ok();
        fs::write(daemon.path("memory.toml"), config("german")).unwrap();
        daemon.run(&["search", "zebra"]).ok();
        assert_eq!(daemon.read("shared/precious.txt"), "mine", "dir = {dir}");
        assert_eq!(daemon.read("notes/a.md"), "a zebra", "dir = {dir}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_listed_at_the_next_scan_only() {
    let daemon = Daemon::vault().with("a.md", "aardvark").started();
    fs::write(daemon.path("bad.md"), b"a\xff").unwrap();
    eventually("the file to be listed", || {
        let status = daemon.status();
        status["problems"].as_array()?.iter().any(|problem| problem["path"] == "bad.md").then_some(())
    });
    fs::write(daemon.path("bad.md"), "mended").unwrap();
    daemon.finds("mended", &["bad.md"]);
    eventually("the file to be listed no more", || daemon.status()["problems"].as_array()?.is_empty().then_some(()));
}

#[test]
fn an_endless_heading_is_copied_into_every_passage() {
    let mut vault = TestVault::new();
    let paragraphs: String =
        (0..300).map(|at| format!("Paragraph {at} {}\n\n", "has words of its own ".repeat(12))).collect();
    vault.write("a.md", format!("# {}\n\n{paragraphs}", "heading ".repeat(20_000))).sync();
    let page = notes::browse(&vault.owner(), &BrowseParams { limit: Some(1000), ..Default::default() }).unwrap();
    assert!(page.total > 50);
    assert!(page.chunks.iter().all(|chunk| chunk.heading_path.iter().all(|heading| heading.chars().count() <= 200)));
    assert!(vault.status().index_bytes < 20_000_000);
}
