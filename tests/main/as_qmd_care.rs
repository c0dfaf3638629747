//! `qmd init`, `qmd pull` and `qmd cleanup`.

use crate::as_qmd::Workspace;
use crate::support::prelude::*;

fn workspace() -> Workspace {
    Workspace::with_memory()
}

/// The variables that name an index.
const VARIABLES: [&str; 3] = ["QMD_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"];

/// In a folder of a project, where nothing else names an index. The home folder is that of the workspace: what is above it does not count.
fn within(workspace: &Workspace, folder: &str, args: &[&str]) -> Ran {
    let mut command = workspace.command(args);
    command.current_dir(workspace.path(folder)).env("HOME", workspace.path(""));
    for name in VARIABLES {
        command.env_remove(name);
    }
    Ran::of(&mut command)
}

#[test]
fn a_project_has_an_index_of_its_own_which_counts_in_it_and_below() {
    let workspace = workspace();
    workspace.write("project/docs/deep/boat.md", "# Boat\n\nThe hull is oiled.\n");
    let run = |folder: &str, args: &[&str]| within(&workspace, folder, args);
    workspace.without_model_after(|| {
        let made = run("work/project", &["init"]).ok();
        assert_eq!((&*made.stdout, &*made.stderr), ("ready to go with new local index\n", ""));
    });
    // The usual one.
    workspace.without_model_after(|| drop(run("work", &["collection", "list"]).ok()));
    let own = workspace.path("work/project/.qmd");
    assert_eq!(fs::read_to_string(own.join("index.yml")).unwrap(), "collections: {}\n");
    assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "index.sqlite*\n");
    assert_eq!(own.join("index.sqlite").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let status = run("work/project", &["status", "--json"]).ok().json();
    assert_eq!(status["database"], own.join("index.sqlite").to_str().unwrap());
    assert!(status["collections"].as_array().unwrap().is_empty(), "nothing of the usual one: {status}");
    run("work/project/docs", &["collection", "add", ".", "--name", "docs"]).ok();
    for folder in ["work/project", "work/project/docs/deep"] {
        let found = run(folder, &["search", "hull", "--json"]).ok().json();
        assert_eq!(found[0]["file"], "qmd://docs/deep/boat.md", "{folder}");
    }
    // The server in the background is that of the project, too.
    let started = run("work/project/docs", &["mcp", "--http", "--daemon", "--port", "0"]).ok();
    assert!(started.stdout.contains("server started"), "{started:?}");
    assert_eq!(run("work", &["mcp", "stop"]).code, 1, "there is none of the usual index");
    run("work/project", &["mcp", "stop"]).ok();
    // Outside, or where another is named, it does not count.
    for (folder, args) in [("work", &[][..]), ("work/project", &["--index", "index"])] {
        assert_eq!(run(folder, &[args, &["search", "hull", "--json"]].concat()).ok().json(), Value::Array(vec![]));
    }
    let named = Ran::of(workspace.command(&["search", "target", "--json"]).current_dir(workspace.path("work/project")));
    assert_eq!(named.ok().json()[0]["file"], "qmd://memory/notes.md", "QMD_CONFIG_DIR names one");
    // Each variable alone does; OpenClaw opens the database in the cache folder itself.
    let usual = workspace.path(".cache/qmd/index.sqlite");
    let in_cache = workspace.path("cache/qmd/index.sqlite");
    for (name, database) in VARIABLES.into_iter().zip([&usual, &usual, &in_cache]) {
        let mut command = workspace.command(&["ls", "--json"]);
        command.current_dir(workspace.path("work/project")).env("HOME", workspace.path(""));
        for other in VARIABLES.into_iter().filter(|other| *other != name) {
            command.env_remove(other);
        }
        Ran::of(&mut command).ok();
        fs::remove_file(database).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    // Once more changes nothing.
    run("work/project", &["init"]).ok();
    assert_eq!(run("work/project", &["search", "hull", "--json"]).ok().json()[0]["title"], "Boat");
    // In the home folder there is none.
    let mut home = workspace.command(&["init"]);
    let refused = Ran::of(home.env("HOME", workspace.path("work")));
    assert!(
        refused.code == 1 && refused.stderr.contains("Refusing to initialize a local index in $HOME"),
        "{refused:?}"
    );
    assert!(!workspace.path("work/.qmd").exists());
}

#[test]
fn a_repository_s_configuration_names_no_folder_outside_of_it_and_runs_nothing() {
    let workspace = workspace();
    workspace.write("clone/docs/a.md", "# Theirs\n\nOf the project.\n");
    let own = workspace.path("work/clone/.qmd");
    fs::create_dir_all(&own).unwrap();
    let text = format!(
        "collections:\n  docs:\n    path: docs\n    update: touch {}\n  mine:\n    path: {}\n  up:\n    path: ../memory\n",
        workspace.path("trap").display(),
        workspace.path("work/memory").display()
    );
    fs::write(own.join("index.yaml"), &text).unwrap();
    let mut listed = None;
    workspace.without_model_after(|| {
        listed = Some(within(&workspace, "work/clone/docs", &["collection", "list", "--json"]).ok());
    });
    let listed = listed.unwrap();
    let named = listed.json();
    assert_eq!((named.as_array().unwrap().len(), &named[0]["name"]), (1, &"docs".into()), "{listed:?}");
    assert!(listed.stderr.contains("mine") && listed.stderr.contains("up"), "{listed:?}");
    within(&workspace, "work/clone", &["update"]).ok();
    assert!(!workspace.path("trap").exists());
    assert_eq!(fs::read_to_string(own.join("index.yaml")).unwrap(), text);
    // What is added is kept out of the repository, also where it came without saying so.
    assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "index.sqlite*\n");
    let memory = workspace.path("work/memory");
    within(&workspace, "work/clone", &["collection", "add", memory.to_str().unwrap()]).ok();
    let mut entries: Vec<_> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    entries.retain(|name| !name.to_str().unwrap().starts_with("index.sqlite"));
    entries.sort();
    assert_eq!(entries, [".gitignore", "index.yaml"]);
    // One that somebody put there as a link is none.
    let linked = workspace.path("work/linked");
    fs::create_dir_all(&linked).unwrap();
    std::os::unix::fs::symlink(&own, linked.join(".qmd")).unwrap();
    within(&workspace, "work/linked", &["ls"]).ok();
    assert!(workspace.path(".cache/qmd/index.sqlite").exists());
}

#[test]
fn there_is_nothing_to_fetch_and_nothing_to_clean_up() {
    let workspace = Workspace::new();
    for (args, said) in [
        (&["pull"][..], "Pulling models: none"),
        (&["pull", "--refresh", "--progress"], "Pulling models: none"),
        (&["pull", "--json"], "[]"),
        (&["cleanup"], "Removed 0 documents"),
        (&["cleanup", "-n"], "Would remove 0 documents"),
    ] {
        let ran = workspace.run(args).ok();
        assert!(ran.stdout.contains(said) && ran.stdout.lines().count() == 1, "{ran:?}");
    }
    assert!(workspace.indexes().is_empty() && !workspace.path("cache").exists());
}
