//! `docs/facts.md`: what it shows is what the program says, and its five questions have one answer in three ways.

use super::recorded::{assert_recorded, words};
use crate::support::prelude::*;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/facts.md")).unwrap()
}

/// A vault with the starter's facts, and a daemon.
fn vault() -> Daemon {
    let mut vault = Daemon::vault();
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("vault-template");
    for file in ["facts.md", "facts.history.md", "conversations/2026-01-05-tool-library-meeting.md"] {
        vault.write(file, fs::read(template.join(file)).unwrap());
    }
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\n---\n").start().settle();
    vault
}

/// Names, values and states.
fn answers(found: &Value) -> Vec<String> {
    let of = |fact: &Value| format!("{}/{} {} {}", fact["namespace"], fact["key"], fact["value"], fact["history"]);
    found["facts"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_page_of_facts_shows_what_the_program_says_in_three_ways() {
    let (vault, page) = (vault(), page());
    // Five questions have one answer in three ways.
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("| `vault fact ")).collect();
    assert_eq!(rows.len(), 5, "get, list, as of, history, by tag");
    for row in rows {
        let cells: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [command, query, call] = cells[..] else { panic!("{row}") };
        let words: Vec<String> = words(command).split_off(1);
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--json"]).collect();
        let by_command = answers(&vault.run(&args).ok().json());
        let by_http = answers(&vault.get(&format!("/api/facts?{query}")).json());
        let (tool, arguments) = call.split_once(' ').unwrap();
        let by_mcp = answers(&mcp.tool(tool, serde_json::from_str(arguments).unwrap()));
        assert!(!by_command.is_empty(), "{row}");
        assert_eq!((&by_http, &by_mcp), (&by_command, &by_command), "{row}");
    }
    mcp.finish();
    // The page of facts shows what the program says.
    let recorded = assert_recorded(&vault, &page);
    assert!(recorded > 20, "{recorded}");
    let shown = page.split("```markdown\n").nth(1).unwrap().split("```").next().unwrap();
    let template = include_str!("../../../vault-template/facts.md");
    assert!(template.contains(shown), "the page shows what the starter's file has");
}

/// A new vault answers about its past at once, without a daemon; a folder that was adopted gets no history unasked.
#[test]
fn a_new_vault_has_a_past_and_an_adopted_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str], vault: &Path| {
        let mut command = vault_command();
        Ran::of(command.args(args).arg("--vault").arg(vault))
    };
    let new = folder.path().join("new");
    assert!(vault_command().args(["init", "--no-git"]).arg(&new).output().unwrap().status.success());
    let history = fs::read_to_string(new.join("facts.history.md")).unwrap();
    assert_eq!(run(&["fact", "get", "tools/loan_record", "--as-of", "2026-01-04"], &new).ok().stdout, "paper cards\n");
    assert_eq!(run(&["fact", "get", "tools/loan_record"], &new).ok().stdout, "loans-2026.ods\n");
    assert_eq!(fs::read_to_string(new.join("facts.history.md")).unwrap(), history, "nothing is noted anew");

    let adopted = folder.path().join("adopted");
    fs::create_dir(&adopted).unwrap();
    fs::write(adopted.join("facts.md"), "- color: blue (from 2026-01-01)\n").unwrap();
    assert!(vault_command().args(["init", "--adopt"]).arg(&adopted).output().unwrap().status.success());
    assert_eq!(run(&["fact", "get", "color"], &adopted).ok().stdout, "blue\n");
    run(&["fact", "set", "color", "green"], &adopted).ok();
    assert_eq!(fs::read_to_string(adopted.join("facts.md")).unwrap(), "- color: green\n");
    assert!(!adopted.join("facts.history.md").exists(), "the history is not written unasked");
}
