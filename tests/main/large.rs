//! Files that are much by themselves: what of them is indexed, and that they are in nobody's way.

use crate::support::prelude::*;

/// A file of so many sections, of which each is a passage.
fn sections(count: usize, word: &str) -> String {
    (0..count).map(|at| format!("# {word}{at}x\nsaid\n")).collect()
}

#[test]
fn the_texts_of_a_huge_file_wait_behind_those_of_a_note() {
    let endpoint = Endpoint::start();
    let vault = Daemon::with_config("").with("note.md", "# Note\n\nsmalltext").with("huge.md", sections(1000, "a"));
    // The huge one was written last, which comes first otherwise.
    set_time(vault.path("note.md"), SystemTime::now() - Duration::from_secs(60));
    let text = format!("[embed]\nendpoint = \"{}\"\nmodel = \"hashed\"\n", endpoint.address());
    let app = serve(&vault, Config::parse(&text, Path::new("memory.toml")).unwrap());
    embedded(&app, 1001);
    let before = endpoint
        .asked()
        .iter()
        .flat_map(|asked| asked.texts.clone())
        .take_while(|text| !text.contains("smalltext"))
        .count();
    // Some requests are under way at a time.
    assert!(before < 200, "{before}");
}

#[test]
fn a_huge_file_that_goes_or_changes_while_it_is_brought_in() {
    let mut daemon = Daemon::vault().with("notes/a.md", "aardvark").started();
    daemon.write("huge.md", sections(20_000, "gone"));
    until("the huge file", || !daemon.find("gone7x").is_empty());
    fs::remove_file(daemon.path("huge.md")).unwrap();
    daemon.finds("gone7x", &[]).settle();
    daemon.write("huge.md", sections(20_000, "old"));
    until("the huge file", || !daemon.find("old7x").is_empty());
    daemon.write("huge.md", sections(9_000, "new"));
    daemon.finds("new8999x", &["huge.md"]).finds("old7x", &[]).settle();
    assert!(daemon.find("gone19999x").is_empty() && daemon.find("old19999x").is_empty());
    // One section more: what is there stays.
    daemon.write("huge.md", format!("{}# newest\nsaid\n", sections(9_000, "new")));
    daemon.finds("newest", &["huge.md"]);
    assert_as_rebuilt(&daemon, &["new8999x", "newest", "new4000x", "old7x", "aardvark"]);
}

#[test]
fn one_file_makes_no_million_passages() {
    let mut daemon = Daemon::vault().with("huge.md", sections(100_010, "big")).with("notes/a.md", "aardvark").started();
    let problem = |daemon: &Daemon| {
        let problems = daemon.status()["problems"].as_array().unwrap().clone();
        problems.iter().find(|problem| problem["path"] == "huge.md").map(|problem| problem["reason"].to_string())
    };
    let said = problem(&daemon).unwrap();
    assert!(said.contains("line 200001:") && said.contains("100000 passages"), "{said}");
    assert_eq!(daemon.status()["chunks"], 100_001);
    daemon.finds("big99999x", &["huge.md"]).finds("big100000x", &[]).finds("aardvark", &["notes/a.md"]);
    // What comes in before takes the place of what was last.
    daemon.write("huge.md", sections(100_010, "big").replace("# big7x\n", "# big7x\nsaid\n# inserted\n"));
    until("the section", || !daemon.find("inserted").is_empty());
    daemon.finds("big99998x", &["huge.md"]).finds("big99999x", &[]);
    daemon.write("huge.md", sections(10, "big"));
    daemon.finds("big99997x", &[]).settle();
    assert_eq!(problem(&daemon), None);
}
