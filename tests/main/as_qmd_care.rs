//! `qmd init`, `qmd doctor`, `qmd pull` and `qmd cleanup`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::as_qmd::Workspace;
use crate::support::Ran;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.without_model(&[]);
    let memory = workspace.path("work/memory");
    workspace.run(&["collection", "add", memory.to_str().unwrap(), "--name", "memory"]).ok();
    workspace
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
        let mut command = workspace.command(&["doctor", "--json"]);
        command.current_dir(workspace.path("work/project")).env("HOME", workspace.path(""));
        for other in VARIABLES.into_iter().filter(|other| *other != name) {
            command.env_remove(other);
        }
        assert_eq!(Ran::of(&mut command).json()["database"], database.to_str().unwrap(), "{name}");
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
    let looked = within(&workspace, "work/linked", &["doctor", "--json"]).ok().json();
    assert_eq!(looked["database"], workspace.path(".cache/qmd/index.sqlite").to_str().unwrap());
}

#[test]
fn the_doctor_finds_what_is_wrong_and_says_what_to_do() {
    let workspace = Workspace::new();
    // Before there is any, nothing is wrong, and nothing is made.
    let fresh = workspace.run(&["doctor"]).ok();
    assert!(fresh.stdout.starts_with("QMD Doctor\n\nIndex: ") && fresh.stdout.contains("none yet"), "{}", fresh.stdout);
    assert!(workspace.indexes().is_empty() && !workspace.path("cache").exists());
    workspace.without_model(&[]);
    let memory = workspace.path("work/memory");
    workspace.run(&["collection", "add", memory.to_str().unwrap(), "--name", "memory"]).ok();
    let healthy = workspace.run(&["doctor"]).ok().stdout;
    for said in [
        "✓ index:",
        "✓ database: ours and whole, with 2 documents",
        "✓ model: none",
        "✓ collection memory: ",
        "✓ process: answers",
    ] {
        assert!(healthy.contains(said), "{said}: {healthy}");
    }
    assert!(!healthy.contains("Next steps") && !healthy.contains('✗'), "{healthy}");
    let asked = |label: &str| {
        let ran = workspace.run(&["doctor", "--json"]);
        let said = ran.json();
        let check = said["checks"].as_array().unwrap().iter().find(|check| check["label"] == label).unwrap().clone();
        assert_eq!((ran.code, &said["ok"]), (1, &false.into()), "{said}");
        assert_eq!(check["ok"], false, "{said}");
        assert!(check["next"].as_str().is_some_and(|next| !next.is_empty()), "{check}");
        check["details"].as_str().unwrap().to_owned()
    };
    let folder = &workspace.indexes()[0];
    let database = workspace.path("cache/qmd/index.sqlite");
    let away = workspace.path("away");
    fs::rename(&memory, &away).unwrap();
    assert!(asked("collection memory").contains("No such file"));
    fs::rename(&away, &memory).unwrap();
    for (path, label) in [(folder, "index"), (&database, "database")] {
        let before = path.metadata().unwrap().permissions();
        fs::set_permissions(path, Permissions::from_mode(before.mode() | 0o044)).unwrap();
        assert!(asked(label).contains("others may read it"));
        fs::set_permissions(path, before).unwrap();
    }
    let settings = folder.join("memory.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("nonsense = 1\n{text}")).unwrap();
    assert!(asked("settings").contains("nonsense"));
    fs::write(&settings, text.replace("\"none\"", "\"gone.gguf\"")).unwrap();
    assert!(asked("model").contains("gone.gguf"));
    fs::write(&settings, text).unwrap();
    // The doctor and a dry run alone look at it: the process would make it anew.
    workspace.end_process();
    let kept = fs::read(&database).unwrap();
    let theirs: &[u8] = b"no database at all, and longer than the header of one, so that SQLite has to look at it";
    for (bytes, said) in [
        (theirs, "another program's"),
        (&kept[..kept.len() - 1000], "damaged"),
        (&kept[..kept.len() / 2 + 7], "damaged"),
    ] {
        fs::write(&database, bytes).unwrap();
        assert!(asked("database").contains(said), "{said}");
        let dry = workspace.run(&["cleanup", "--dry-run"]).ok().stdout;
        assert!(dry.starts_with("Dry run — no changes made.") && dry.contains(said), "{dry}");
        assert_eq!(fs::read(&database).unwrap(), bytes, "{said}");
        let entries: Vec<_> =
            fs::read_dir(database.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(entries, ["index.sqlite"]);
    }
    workspace.run(&["update"]).ok();
    let mended = workspace.run(&["doctor"]);
    assert_eq!(mended.code, 0, "{mended:?}");
}

#[test]
fn pull_says_which_model_there_is_and_fetches_none() {
    let workspace = Workspace::new();
    let bundled = workspace.run(&["pull"]).ok();
    assert!(bundled.stdout.contains("- bundled -> all-MiniLM-L6-v2"), "{bundled:?}");
    assert!(workspace.indexes().is_empty());
    workspace.without_model(&[]);
    let none = workspace.run(&["pull", "--refresh", "--progress", "--json"]).ok().json();
    assert_eq!((&none["model"], &none["is_there"]), (&"none".into(), &true.into()));
    let settings = workspace.indexes()[0].join("memory.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("\"none\"", "\"gone.gguf\"")).unwrap();
    let missing = workspace.run(&["pull"]);
    assert!(missing.code == 1 && missing.stderr.contains("vault model pull"), "{missing:?}");
    fs::write(&settings, text.replace("model = \"none\"", "model = \"m\"\nendpoint = \"http://127.0.0.1:9\"")).unwrap();
    assert!(workspace.run(&["pull"]).ok().stdout.contains("asked at http://127.0.0.1:9"));
}

#[test]
fn cleanup_says_what_it_would_drop_and_then_drops_that() {
    let workspace = workspace();
    // It would drop all of it by itself.
    workspace.end_process();
    let database = rusqlite::Connection::open(workspace.path("cache/qmd/index.sqlite")).unwrap();
    let rows = || database.query_row("SELECT COUNT(*) FROM documents", [], |row| row.get::<_, i64>(0)).unwrap();
    // What is left of a collection and of an index that there are no more.
    database
        .execute_batch(
            "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, owner)
             SELECT 'gone', path, title, hash, created_at, modified_at, owner FROM documents;
             INSERT INTO documents(collection, path, title, hash, created_at, modified_at, owner)
             SELECT collection, path, title, hash, created_at, modified_at, '/nowhere' FROM documents WHERE collection = 'memory';",
        )
        .unwrap();
    assert_eq!(rows(), 6);
    let dry = workspace.run(&["cleanup", "--dry-run"]).ok().stdout;
    assert!(dry.starts_with("Dry run — no changes made.") && dry.contains("Would remove 4 documents"), "{dry}");
    assert_eq!(rows(), 6);
    let done = workspace.run(&["cleanup"]).ok().stdout;
    assert!(done.contains("Removed 4 documents"), "{done}");
    assert_eq!(rows(), 2);
    assert!(workspace.run(&["cleanup", "-n"]).ok().stdout.contains("Would remove 0 documents"));
}
