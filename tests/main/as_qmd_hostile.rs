//! `qmd` with names, numbers and files as nobody should give them.

use std::io::Read;

use crate::as_qmd::Workspace;
use crate::support::prelude::*;

const NAMES: [&str; 9] = [
    "plain.md", "a \"b\", c.md", "new\nline.md", "100%25 sure.md", "#123456.md", "a:12.md", "[x]{y}*.md",
    "cafe\u{301}.md", "deep/-5 & <b>.md",
];

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.without_model(&[]);
    for (at, name) in NAMES.iter().enumerate() {
        workspace.write(&format!("odd/{name}"), &format!("# Title {at}\n\nquince number{at}\n"));
    }
    let odd = workspace.path("work/odd");
    workspace.run(&["collection", "add", odd.to_str().unwrap(), "--name", "odd"]).ok();
    workspace
}

#[test]
fn files_numbers_and_queries_as_nobody_should_give_them_are_answered_and_forge_no_line() {
    let workspace = workspace();
    for (at, name) in NAMES.iter().enumerate() {
        let found = workspace.run(&["search", &format!("number{at}"), "--json"]).ok().json();
        let file = format!("qmd://odd/{name}");
        assert_eq!(found[0]["file"], file, "{found}");
        let says = format!("number{at}");
        for what in [&file, &format!("odd/{name}"), found[0]["docid"].as_str().unwrap()] {
            assert!(workspace.run(&["get", what]).ok().stdout.contains(&says), "{what}");
            let all = workspace.run(&["multi-get", what, "--json"]).ok().json();
            let named = all[0]["file"].as_str().unwrap();
            assert!(all.as_array().unwrap().len() == 1 && (named == file || named == *name), "{what}: {all}");
        }
        let third = workspace.run(&["get", &format!("odd/{name}:3:1")]).ok();
        assert!(third.stdout.ends_with(&format!("---\n\n3: quince number{at}\n")), "{third:?}");
    }
    // As people type it.
    assert!(workspace.run(&["get", "odd/café.md"]).ok().stdout.contains("number7"));
    assert!(workspace.run(&["get", "café.md"]).ok().stdout.contains("number7"));
    let files = workspace.run(&["search", "quince", "--files", "-n", "50"]).ok().stdout;
    assert!(files.contains(",\"qmd://odd/a \"\"b\"\", c.md\"\n"), "{files}");
    assert_eq!(files.matches("\n#").count(), NAMES.len() - 1, "{files}");
    let listed = workspace.run(&["ls", "odd"]).ok().stdout;
    assert_eq!(listed.lines().count(), NAMES.len(), "{listed}");
    // Numbers and queries out of range are taken or refused clearly.
    let count = |args: &[&str]| {
        let ran = workspace.run(&[&["search", "quince", "--json"], args].concat()).ok();
        ran.json().as_array().unwrap().len()
    };
    for args in [&["-n", "0"][..], &["-n", "999999"], &["--min-score", "-1"], &["--all"]] {
        assert_eq!(count(args), NAMES.len(), "{args:?}");
    }
    assert_eq!((count(&["-n", "1"]), count(&["--min-score", "2"])), (1, 0));
    for share in ["nan", "inf", "x", ""] {
        let refused = workspace.run(&["search", "quince", "--min-score", share]);
        assert!(refused.code == 1 && refused.stderr.contains("a number from 0 to 1"), "{share}: {refused:?}");
    }
    for query in ["quince ".repeat(15_000), "𝄞".repeat(25_000), "x".repeat(120_000), "\" AND ( OR * NOT".to_owned()]
    {
        let ran = workspace.run(&["search", &query, "--json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json();
    }
    // Whoever closes the pipe early is told nothing.
    for args in [&["search", "quince", "--all", "--full"][..], &["multi-get", "odd/*", "--json"], &["ls", "odd"]] {
        let mut child = workspace.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success() && said.is_empty(), "{args:?}: {said}");
    }
    // What goes or is another between a search and `get` is not given as it was.
    workspace.write("odd/twin.md", "# Title 0\n\nquince number0\n");
    workspace.run(&["update"]).ok();
    let hit = |query: &str| workspace.run(&["search", query, "--json"]).ok().json()[0].clone();
    let docid = hit("number0")["docid"].as_str().unwrap().to_owned();
    // Of two that say the same one goes: the other is meant.
    fs::remove_file(workspace.path("work/odd/plain.md")).unwrap();
    assert!(workspace.run(&["get", &docid]).ok().stdout.contains("number0"));
    workspace.write("odd/twin.md", "# Other\n\nrhubarb\n");
    let gone = workspace.run(&["get", &docid]);
    assert!(gone.code == 1 && !gone.stdout.contains("rhubarb"), "{gone:?}");
    let given = workspace.run(&["multi-get", &format!("odd/twin.md,odd/plain.md,{docid}"), "--json"]);
    assert_eq!(given.ok().json().as_array().unwrap().len(), 1);
}

#[test]
fn collections_of_odd_names_are_searched_renamed_and_removed() {
    let workspace = workspace();
    let folder = workspace.path("work/memory");
    for name in [" ", "*", "🦀", "a?b#c", "%2e%2e", "a\"b'", "agents", "Vault", "_x"] {
        workspace.run(&["collection", "add", folder.to_str().unwrap(), "--name", name]).ok();
        let found = workspace.run(&["search", "target", "--json", "-c", name]).ok().json();
        assert_eq!(found[0]["file"], format!("qmd://{name}/notes.md"), "{found}");
        assert!(workspace.run(&["get", &format!("qmd://{name}/notes.md")]).ok().stdout.contains("target"));
        workspace.run(&["collection", "rename", name, "other"]).ok();
        assert_eq!(workspace.run(&["ls", "other", "--json"]).ok().json().as_array().unwrap().len(), 2);
        workspace.run(&["collection", "remove", "other"]).ok();
    }
    for name in ["..", ".x", "a/b", "a\\b", "x:y", "", "a\nb"] {
        let refused = workspace.run(&["collection", "add", folder.to_str().unwrap(), "--name", name]);
        assert!(refused.code == 1 && refused.stderr.contains("is no name of a collection"), "{name:?}: {refused:?}");
    }
}

#[test]
fn a_thousand_collections_and_a_configuration_that_cannot_be_read() {
    let workspace = Workspace::new();
    let mut text = "collections:\n".to_owned();
    for at in 0..1000 {
        fs::create_dir_all(workspace.path(&format!("work/many/a-folder-with-a-long-name-{at}"))).unwrap();
        let folder = workspace.path(&format!("work/many/a-folder-with-a-long-name-{at}"));
        text += &format!("  collection-{at}:\n    path: {}\n", folder.display());
    }
    workspace.write("many/a-folder-with-a-long-name-977/a.md", "# A\n\nquince\n");
    write_file(workspace.path("config/qmd/index.yml"), &text);
    fs::write(workspace.path("config/qmd/bad.yml"), "collections:\n\tx: [\n").unwrap();
    workspace.without_model(&[]);
    let listed = workspace.run(&["collection", "list", "--json"]).ok().json();
    assert_eq!(listed.as_array().unwrap().len(), 1000);
    let found = workspace.run(&["search", "quince", "--json"]).ok().json();
    assert_eq!(found[0]["file"], "qmd://collection-977/a.md");
    let bad = workspace.run(&["--index", "bad", "collection", "list", "--json"]).ok();
    assert!(bad.stderr.contains("none of it can be read"), "{bad:?}");
    assert_eq!(bad.json(), Value::Array(vec![]));
}

#[test]
fn without_a_home_that_makes_sense_everything_is_below_an_absolute_path_or_refused() {
    let workspace = Workspace::new();
    let mut command = workspace.command(&["pull", "--json"]);
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "QMD_CONFIG_DIR"] {
        command.env_remove(name);
    }
    command.args(["--index", "x"]).env("HOME", "relative");
    let ran = Ran::of(&mut command);
    assert!(ran.code == 0 || ran.stderr.contains("home folder"), "{ran:?}");
    assert!(!workspace.path("work/relative").exists());
}
