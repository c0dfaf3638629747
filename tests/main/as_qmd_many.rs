//! Many indexes of `qmd`, each with a process of its own that ends by itself.

use rustix::process::{Pid, Signal};

use crate::as_qmd::{Workspace, end, ends, process_of};
use crate::support::prelude::*;

const INDEXES: [&str; 2] = ["one", "two"];

/// A workspace with the same collection in two indexes.
fn two_indexes(with_model: bool) -> Workspace {
    let workspace = Workspace::new();
    for name in INDEXES {
        if !with_model {
            workspace.without_model(&["--index", name]);
        }
        let memory = workspace.path("work/memory");
        of(&workspace, name, &["collection", "add", memory.to_str().unwrap(), "--name", "memory"]).ok();
    }
    workspace
}

fn of(workspace: &Workspace, index: &str, args: &[&str]) -> Ran {
    workspace.run(&[&["--index", index], args].concat())
}

#[track_caller]
fn finds(workspace: &Workspace, index: &str) {
    let found = of(workspace, index, &["search", "keyword target", "--json"]).ok().json();
    assert_eq!(found[0]["file"], format!("qmd://memory/notes.md?index={index}"), "{index}: {found}");
}

/// The folder of an index.
fn folder(workspace: &Workspace, index: &str) -> PathBuf {
    let is_it = |folder: &PathBuf| {
        let place: Value = serde_json::from_slice(&fs::read(folder.join("place.json")).unwrap()).unwrap();
        place["name"] == index
    };
    workspace.indexes().into_iter().find(is_it).unwrap()
}

/// The process that answers for an index.
fn pid(workspace: &Workspace, index: &str) -> Option<Pid> {
    process_of(&folder(workspace, index))
}

/// Makes it so that nobody has asked an index for eleven minutes.
fn let_time_pass(workspace: &Workspace, index: &str) {
    set_time(folder(workspace, index).join("asked"), SystemTime::now() - Duration::from_secs(660));
}

#[test]
fn each_index_has_a_process_of_its_own_that_ends_alone() {
    let workspace = two_indexes(true);
    for name in INDEXES {
        of(&workspace, name, &["embed"]).ok();
        let found = of(&workspace, name, &["vsearch", "what stands here", "--json"]).ok().json();
        assert!(found[0]["docid"].is_string(), "{found}");
    }
    let [one, two] = INDEXES.map(|name| pid(&workspace, name).unwrap());
    assert_ne!(one, two);
    let place = workspace.path("state/memory-vault/qmd");
    assert_eq!(place.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    // One ends when nobody asks it; the other answers all the while.
    let_time_pass(&workspace, "one");
    until("the idle one to be closed", || {
        finds(&workspace, "two");
        pid(&workspace, "one").is_none()
    });
    ends(one);
    finds(&workspace, "one");
    of(&workspace, "one", &["embed"]).ok();
    // A change of a collection closes that index alone, too.
    let memory = workspace.path("work");
    of(&workspace, "one", &["collection", "add", memory.to_str().unwrap(), "--name", "more", "--mask", "*.md"]).ok();
    finds(&workspace, "two");
    assert_eq!(pid(&workspace, "two"), Some(two));
    let_time_pass(&workspace, "two");
    ends(two);
}

#[test]
fn first_commands_at_the_same_instant_start_one_process_for_each() {
    let workspace = two_indexes(false);
    let first = pid(&workspace, "one").unwrap();
    for name in INDEXES {
        end(pid(&workspace, name).unwrap(), Signal::KILL);
    }
    std::thread::scope(|scope| {
        for at in 0..6 {
            let workspace = &workspace;
            scope.spawn(move || finds(workspace, INDEXES[at % 2]));
        }
    });
    let second = pid(&workspace, "one").unwrap();
    assert_ne!(first, second, "a process that was killed is followed by another");
    // Told to stop, it closes its index in order.
    end(second, Signal::TERM);
    assert_eq!(pid(&workspace, "one"), None);
    finds(&workspace, "two");
}

#[test]
fn an_index_that_cannot_be_opened_says_why_and_harms_no_other() {
    let workspace = two_indexes(false);
    let process = pid(&workspace, "two").unwrap();
    let settings = folder(&workspace, "one").join("memory.toml");
    let before = fs::read_to_string(&settings).unwrap();
    let_time_pass(&workspace, "one");
    until("it to be closed", || pid(&workspace, "one").is_none());
    fs::write(&settings, format!("nonsense = 1\n{before}")).unwrap();
    let refused = of(&workspace, "one", &["search", "target", "--json"]);
    assert!(refused.code != 0 && refused.stderr.contains("nonsense"), "{refused:?}");
    finds(&workspace, "two");
    assert_eq!(pid(&workspace, "two"), Some(process));
    fs::write(&settings, before).unwrap();
    finds(&workspace, "one");
    // One whose folder is gone is closed, and the other goes on.
    let one = pid(&workspace, "one").unwrap();
    fs::remove_dir_all(folder(&workspace, "one")).unwrap();
    ends(one);
    finds(&workspace, "two");
}

#[test]
fn notes_that_become_private_or_go_leave_the_database_without_a_command() {
    let workspace = Workspace::with_memory();
    // It may be another's in this moment, or none.
    let paths = || Some(workspace.seen_documents().ok()?.into_iter().map(|(_, path)| path).collect::<Vec<_>>());
    let are = |what: &str, expected: &[&str]| until(what, || paths().is_some_and(|paths| paths == expected));
    assert_eq!(paths().unwrap(), ["2026-01-05.md", "notes.md"]);
    workspace.write("memory/new.md", "# New\n\nQuinoa.\n");
    are("a new one", &["2026-01-05.md", "new.md", "notes.md"]);
    let (database, copy) = (workspace.path("cache/qmd/index.sqlite"), workspace.path("copy.sqlite"));
    fs::copy(&database, &copy).unwrap();
    workspace.write("memory/new.md", "---\nprivate: true\n---\n# New secret\n");
    are("it to leave", &["2026-01-05.md", "notes.md"]);
    // A copy of before, in which it still is.
    fs::rename(&copy, &database).unwrap();
    are("it to leave the other", &["2026-01-05.md", "notes.md"]);
    fs::remove_file(workspace.path("work/memory/notes.md")).unwrap();
    are("the other to leave", &["2026-01-05.md"]);
    let bytes = fs::read(database).unwrap();
    assert!(!["secret", "Target", "Quinoa"].iter().any(|title| has_text(&bytes, title)), "nor are their titles in it");
}

#[test]
fn a_look_at_the_documents_that_fails_is_tried_again() {
    let workspace = Workspace::with_memory();
    let [index] = &workspace.indexes()[..] else { panic!("one index") };
    let settings = index.join("memory.toml");
    let before = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("nonsense = 1\n{before}")).unwrap();
    workspace.write("memory/notes.md", "---\nprivate: true\n---\n# Target\n");
    let log = workspace.path("state/memory-vault/qmd/qmd.log");
    until("it to fail", || fs::read_to_string(&log).unwrap_or_default().contains("nonsense"));
    assert!(workspace.documents().iter().any(|(_, path)| path == "notes.md"), "nobody has looked");
    fs::write(&settings, before).unwrap();
    until("it to leave", || workspace.documents().iter().all(|(_, path)| path != "notes.md"));
}
