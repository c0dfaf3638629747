//! Many indexes of `qmd` in one process: one model, each closed by itself.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

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

/// What the process of all indexes says of itself.
fn status(workspace: &Workspace) -> Value {
    let mut stream = UnixStream::connect(workspace.path("state/memory-vault/qmd/host.sock")).unwrap();
    stream.write_all(b"\"status\"\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    said["status"].clone()
}

/// Makes it so that nobody has asked an index for eleven minutes.
fn let_time_pass(workspace: &Workspace, index: &str) {
    set_time(folder(workspace, index).join("asked"), SystemTime::now() - Duration::from_secs(660));
}

#[test]
fn two_indexes_share_a_process_and_a_model_and_are_closed_alone() {
    let workspace = two_indexes(true);
    for name in INDEXES {
        of(&workspace, name, &["embed"]).ok();
        let found = of(&workspace, name, &["vsearch", "what stands here", "--json"]).ok().json();
        assert!(found[0]["docid"].is_string(), "{found}");
    }
    let process = pid(&workspace, "one").unwrap();
    assert_eq!(pid(&workspace, "two"), Some(process));
    let said = status(&workspace);
    assert_eq!(said["pid"], process.as_raw_nonzero().get());
    assert_eq!((said["vaults"].as_array().unwrap().len(), &said["model_loads"]), (2, &1.into()), "{said}");
    let place = workspace.path("state/memory-vault/qmd");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&place.join("host.sock"))), (0o700, 0o600));
    // One is closed when nobody asks it; the other answers all the while.
    let_time_pass(&workspace, "one");
    until("the idle one to be closed", || {
        finds(&workspace, "two");
        pid(&workspace, "one").is_none()
    });
    until("it to be gone", || status(&workspace)["vaults"].as_array().unwrap().len() == 1);
    finds(&workspace, "one");
    of(&workspace, "one", &["embed"]).ok();
    assert_eq!(pid(&workspace, "one"), Some(process), "it is opened again by the same process");
    assert_eq!(status(&workspace)["model_loads"], 1);
    // A change of a collection closes that index alone, too.
    let memory = workspace.path("work");
    of(&workspace, "one", &["collection", "add", memory.to_str().unwrap(), "--name", "more", "--mask", "*.md"]).ok();
    finds(&workspace, "two");
    assert_eq!(pid(&workspace, "one"), Some(process));
    // The process ends with the last.
    for name in INDEXES {
        let_time_pass(&workspace, name);
    }
    ends(process);
    assert!(!place.join("host.sock").exists());
}

#[test]
fn first_commands_at_the_same_instant_start_one_process() {
    let workspace = two_indexes(false);
    let first = pid(&workspace, "one").unwrap();
    end(first, Signal::KILL);
    std::thread::scope(|scope| {
        for at in 0..6 {
            let workspace = &workspace;
            scope.spawn(move || finds(workspace, INDEXES[at % 2]));
        }
    });
    let second = pid(&workspace, "one").unwrap();
    assert_ne!(first, second, "a process that was killed is followed by another");
    assert_eq!(pid(&workspace, "two"), Some(second));
    assert_eq!(status(&workspace)["vaults"].as_array().unwrap().len(), 2);
    // Told to stop, it closes them in order.
    end(second, Signal::TERM);
    assert_eq!((pid(&workspace, "one"), pid(&workspace, "two")), (None, None));
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
    fs::remove_dir_all(folder(&workspace, "one")).unwrap();
    until("it to be closed", || status(&workspace)["vaults"].as_array().unwrap().len() == 1);
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
    let log = workspace.path("state/memory-vault/qmd/host.log");
    until("it to fail", || fs::read_to_string(&log).unwrap_or_default().contains("nonsense"));
    assert!(workspace.documents().iter().any(|(_, path)| path == "notes.md"), "nobody has looked");
    fs::write(&settings, before).unwrap();
    until("it to leave", || workspace.documents().iter().all(|(_, path)| path != "notes.md"));
}
