//! Clearing the derived layers.

use std::fs;

use serde_json::json;

use super::{config, conversation, good, pending, sync};
use crate::support::Daemon;

const SUMMARY: &str = "---\ngenerated: true\nsources: [conversations/tea.md]\ndigest: 0\n---\n\n- Tea\n";

#[test]
fn what_was_derived_is_cleared_and_comes_back_and_notes_stay() {
    let endpoint = good();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    vault
        .write("conversations/tea.md", conversation(&[("user", "I like green tea.")]))
        .write("notes/own.md", "# Own\n\nMine.\n")
        .write("memories/user.md", "# Entries\n\n- [fact] Lives in Bonn\n")
        .write("agents/ada/entries.md", "- Prefers tabs\n")
        .write("summaries/mine.md", "# Mine\n\nNo program made it.\n")
        .write("summaries/edited.md", SUMMARY);
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
    let mut restore = vec!["restore"];
    restore.extend(cleared["files"].as_array().unwrap().iter().map(|file| file["checkpoint_id"].as_str().unwrap()));
    vault.run(&restore).ok();
    assert_eq!(pending(&vault), before);
    assert!(fs::read_to_string(vault.path("memories/user.md")).unwrap().contains("Lives in Bonn"));
    let purged = vault.run(&["memory", "clear", "--purge", "--json"]).ok().json();
    assert!(purged["files"][0]["checkpoint_id"].is_null(), "{purged}");
    let state = fs::read_dir(vault.path(".vault/state/checkpoints")).unwrap();
    for file in state.map(|file| fs::read(file.unwrap().path()).unwrap()) {
        assert!(!file.windows(10).any(|part| part == b"green tea" || part == b"s in Bonn\n"));
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
