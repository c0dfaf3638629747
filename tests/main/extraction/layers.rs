//! Clearing the derived layers.

use super::{conversation, pending, reading, sync};
use crate::support::prelude::*;

const SUMMARY: &str = "---\ngenerated: true\nsources: [conversations/tea.md]\ndigest: 0\n---\n\n- Tea\n";

/// Undoes a clearing.
fn undo(vault: &Daemon, cleared: &Value) -> String {
    let files = cleared["files"].as_array().unwrap().iter();
    let ids = files.map(|file| file["checkpoint_id"].as_str().unwrap());
    vault.run(&["undo"].into_iter().chain(ids).collect::<Vec<_>>()).ok().stdout
}

#[test]
fn what_was_derived_is_cleared_and_comes_back_and_notes_stay() {
    let (_endpoint, vault) = reading("");
    let mut vault = vault
        .with("conversations/tea.md", conversation(&[("user", "I like green tea.")]))
        .with("notes/own.md", "# Own\n\nMine.\n")
        .with("memories/user.md", "# Entries\n\n- [fact] Lives in Bonn\n")
        .with("agents/ada/entries.md", "- Prefers tabs\n")
        .with("summaries/mine.md", "# Mine\n\nNo program made it.\n")
        .with("summaries/edited.md", SUMMARY);
    sync(&vault);
    let before = pending(&vault);
    vault.start();
    let cleared = vault.run(&["memory", "clear", "--json"]).ok().json();
    let paths = cleared["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap());
    // The profile is made by itself, in its own time.
    let paths: Vec<&str> = paths.filter(|path| !path.starts_with("profile/")).collect();
    assert_eq!(
        paths,
        ["agents/ada/entries.md", "memories/pending.md", "memories/user.md", "summaries/tea.md"],
        "{cleared}"
    );
    assert_eq!(cleared["kept"], json!(["summaries/edited.md"]), "a person has edited it");
    for path in ["conversations/tea.md", "notes/own.md", "summaries/mine.md", "summaries/edited.md"] {
        assert!(vault.path(path).exists(), "{path}");
    }
    assert_eq!(sync(&vault)["calls"], 1, "what was cleared is not read again");
    assert!(pending(&vault).is_empty());
    undo(&vault, &cleared);
    assert_eq!(pending(&vault), before);
    assert!(vault.read("memories/user.md").contains("Lives in Bonn"));
    let purged = vault.run(&["memory", "clear", "--purge", "--json"]).ok().json();
    assert!(purged["files"][0]["checkpoint_id"].is_null(), "{purged}");
    for text in ["green tea", "s in Bonn\n"] {
        assert_eq!(files_with(&vault.path(".vault/state/checkpoints"), text), [""; 0]);
    }
    assert!(!vault.path(".trash/memories/user.md").exists());
    // What an earlier clearing has left in the trash goes, too.
    vault.write("agents/ada/entries.md", "- Prefers quokkas\n");
    vault.run(&["memory", "clear"]).ok();
    assert!(vault.path(".trash/agents/ada/entries.md").exists());
    let again = vault.run(&["memory", "clear", "--purge", "--json"]).ok().json();
    assert!(again["files"].as_array().unwrap().iter().any(|file| file["path"] == "agents/ada/entries.md"), "{again}");
    assert!(!vault.path(".trash/agents/ada/entries.md").exists());
    let left = vault.run(&["memory", "clear", "--json"]).ok().json();
    let left = left["files"].as_array().unwrap();
    assert!(left.iter().all(|file| file["path"] == "profile/profile.md"), "{left:?}");
}

/// A vault that sees what others write an hour later.
fn slow_vault() -> Daemon {
    Daemon::without_model("[index]\nwatch = \"poll\"\npoll_seconds = 3600\n")
}

fn profile(vault: &Daemon, word: &str) -> String {
    eventually(word, || {
        fs::read_to_string(vault.path("profile/profile.md")).ok().filter(|profile| profile.contains(word))
    })
}

#[test]
fn a_purge_takes_the_profile_that_was_made_a_moment_ago_and_what_is_kept_of_it() {
    let mut vault = slow_vault().settled();
    vault.run(&["memory", "add", "--kind", "fact", "Owns a yacht named Zorilla"]).ok();
    profile(&vault, "Zorilla");
    vault.run(&["memory", "clear", "--purge"]).ok();
    let places = ["profile", ".trash", ".vault/state/checkpoints"];
    assert_eq!(places.map(|place| !files_with(&vault.path(place), "Zorilla").is_empty()), [false; 3]);
    // Of one that is the person's by now what is kept of the former ones goes, too.
    for entry in ["Owns a boat named Quagga", "Rides a bicycle to work", "Sings in a choir on Mondays"] {
        vault.run(&["memory", "add", "--kind", "fact", entry]).ok();
        vault.run(&["memory", "profile", "make"]).ok();
    }
    let mine = profile(&vault, "Mondays").replace("Owns a boat named Quagga", "Has a boat") + "\n- I love rain.\n";
    assert!(!files_with(&vault.path(".vault/state/checkpoints"), "Quagga").is_empty());
    vault.write("profile/profile.md", &mine);
    let cleared = vault.run(&["memory", "clear", "--purge", "--json"]).ok().json();
    assert_eq!(cleared["kept"], json!(["profile/profile.md"]));
    assert_eq!(vault.read("profile/profile.md"), mine);
    assert_eq!(places.map(|place| !files_with(&vault.path(place), "Quagga").is_empty()), [false; 3]);
}

#[test]
fn what_undoes_a_clearing_does_so_though_the_profile_was_made_anew() {
    let mut vault = Daemon::vault()
        .with("memories/user.md", "- [fact] Keeps a newt ^e-1\n")
        .with("facts.md", "# Facts\n\n## Profile\n\n- city: Wien\n")
        .settled();
    let before = profile(&vault, "newt");
    let cleared = vault.run(&["memory", "clear", "--json"]).ok().json();
    let anew = profile(&vault, "Wien");
    assert!(!anew.contains("newt"), "{anew}");
    let restored = undo(&vault, &cleared);
    assert!(vault.read("memories/user.md").contains("Keeps a newt"), "{restored}");
    assert_eq!(vault.read("profile/profile.md"), before);
    // What a person wrote in its place is not written over.
    let cleared = vault.run(&["memory", "clear", "--json"]).ok().json();
    profile(&vault, "Wien");
    let files = cleared["files"].as_array().unwrap();
    let page = files.iter().find(|file| file["path"] == "profile/profile.md").unwrap();
    vault.write("profile/profile.md", "I am me.\n");
    assert!(vault.run(&["undo", page["checkpoint_id"].as_str().unwrap()]).stderr.contains("has changed since"));
}
