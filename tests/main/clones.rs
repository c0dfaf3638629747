//! Facts that come and go with branches, clones, merges and sync services.

use crate::facts::{FACTS, facts, git, noted, notes_eventually, read, vault};
use crate::support::prelude::*;

#[test]
fn facts_that_were_deleted_while_nobody_looked_are_over_from_when_that_is_noticed() {
    let mut vault = vault().started();
    notes_eventually(&vault, "facts.history.md", "`project/version`: — → `3.10` · by edit");
    vault.terminate();
    let before = jiff::Timestamp::now();
    fs::remove_file(vault.path("facts.md")).unwrap();
    // Once, whoever looks first.
    for _ in 0..2 {
        assert_eq!(vault.run(&["fact", "get", "project/version"]).code, 1);
    }
    vault.start();
    let unset = "`project/version`: `3.10` → — · by edit";
    notes_eventually(&vault, "facts.history.md", unset);
    assert_eq!(noted(&vault, "facts.history.md").iter().filter(|line| *line == unset).count(), 1);
    let told = facts(&vault, "namespace=project&key=version&history=true");
    let learned: jiff::Timestamp = told[0]["history"][1]["learned"].as_str().unwrap().parse().unwrap();
    assert!(learned >= before && learned <= jiff::Timestamp::now(), "{told:?}");
    // As it was, it is true from when it came back.
    vault.terminate();
    vault.write("facts.md", FACTS).start();
    notes_eventually(&vault, "facts.history.md", "`project/version`: — → `3.10` · by edit");
    assert_eq!(noted(&vault, "facts.history.md").iter().filter(|line| line.contains("`project/version`")).count(), 3);
}

#[test]
fn what_never_was_here_or_is_away_was_not_deleted() {
    let source = vault();
    source.run(&["fact", "list"]).ok();
    let history = read(&source, "facts.history.md");
    assert!(history.contains("`project/version`"));
    // A clone that has the history alone, as before a sync service is done.
    let mut clone = Daemon::vault().with("facts.history.md", &history);
    assert_eq!(clone.run(&["fact", "get", "project/version"]).code, 1);
    clone.start().settle();
    assert_eq!(read(&clone, "facts.history.md"), history);
    clone.terminate();
    clone.write("facts.md", FACTS);
    assert_eq!(clone.run(&["fact", "get", "project/version"]).ok().stdout, "3.10\n");
    assert_eq!(read(&clone, "facts.history.md"), history);
    // A folder that is not mounted has no history either; what a cloud keeps elsewhere leaves its sign.
    let mut vault = Daemon::vault().with("projects/p/facts.md", "- a: 1\n").with("facts.md", FACTS);
    vault.run(&["fact", "list", "--scope", "*"]).ok();
    fs::rename(vault.path("projects/p"), vault.path("projects/.away")).unwrap();
    fs::rename(vault.path("facts.md"), vault.path(".facts.md.icloud")).unwrap();
    vault.start().settle();
    assert!(facts(&vault, "scope=*").is_empty());
    vault.terminate();
    fs::rename(vault.path("projects/.away"), vault.path("projects/p")).unwrap();
    fs::rename(vault.path(".facts.md.icloud"), vault.path("facts.md")).unwrap();
    vault.run(&["fact", "list", "--scope", "*"]).ok();
    assert_eq!(noted(&vault, "projects/p/facts.history.md"), ["`a`: — → `1` · by edit"]);
    assert_eq!(read(&vault, "facts.history.md").matches("→ —").count(), 0);
}

#[test]
fn another_branch_says_what_it_says() {
    let vault = vault();
    let root = vault.path("");
    git(&root, &["init", "--quiet", "--initial-branch", "main"]);
    commit(&vault);
    vault.run(&["fact", "list"]).ok();
    commit(&vault);
    let history = read(&vault, "facts.history.md");
    // A branch that never had facts has no history of them: nothing was deleted.
    git(&root, &["checkout", "--quiet", "--orphan", "empty"]);
    git(&root, &["rm", "--quiet", "-rf", "--cached", "."]);
    for file in ["facts.md", "facts.history.md"] {
        fs::remove_file(vault.path(file)).unwrap();
    }
    vault.run(&["fact", "list"]);
    assert!(!vault.path("facts.history.md").exists());
    git(&root, &["checkout", "--quiet", "--force", "main"]);
    vault.run(&["fact", "list"]).ok();
    assert_eq!(read(&vault, "facts.history.md"), history);
    // One on which they were deleted says since when.
    git(&root, &["checkout", "--quiet", "-b", "without"]);
    git(&root, &["rm", "--quiet", "facts.md"]);
    git(&root, &["commit", "--quiet", "-m", "none"]);
    let told = vault.run(&["fact", "history", "project/version", "--json"]).ok().json();
    let last = told["facts"][0]["history"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((last["change"].as_str(), last["by"].as_str()), (Some("unset"), Some("git")), "{told}");
    assert_eq!(last["learned"], "2026-02-03T10:00:00Z");
}

#[test]
fn a_conflict_copy_of_a_history_is_told_and_in_no_search_and_what_is_purged_goes_out_of_it() {
    let mut here = vault();
    here.run(&["fact", "set", "project/extra", "zibeline"]).ok();
    let names = [
        "facts.history.sync-conflict-20260105-183012-ABC2DEF.md",
        "facts.history (Maya's conflicted copy 2026-01-05).md",
    ];
    for name in names {
        here.write(name, read(&here, "facts.history.md"));
    }
    here.start().settle();
    let told = here.run(&["fact", "list"]).ok().stderr;
    assert!(names.iter().all(|name| told.contains(name)), "{told}");
    let found = here.get("/api/user-memory/notes?limit=100").json().to_string();
    assert!(!found.contains("conflict"), "{found}");
    here.run(&["forget", "fact:project/extra", "--purge", "--yes"]).ok();
    for name in names {
        assert!(!fs::read_to_string(here.path(name)).unwrap().contains("zibeline"), "{name}");
    }
}

/// Whether git could do it: a merge stops where both sides say something else.
pub fn could(root: &Path, args: &[&str]) -> bool {
    git_command(root, args).env("GIT_COMMITTER_DATE", "2026-02-03T10:00:00Z").output().unwrap().status.success()
}

pub fn commit(vault: &Daemon) {
    let files: Vec<&str> =
        ["facts.md", "facts.history.md"].into_iter().filter(|file| vault.path(file).exists()).collect();
    git(&vault.path(""), &[&["add", "--all", "--"], &files[..]].concat());
    git(&vault.path(""), &["commit", "--quiet", "--allow-empty", "-m", "facts"]);
}

/// Another vault with what one has committed.
pub fn clone_of(vault: &Daemon) -> Daemon {
    let clone = Daemon::vault();
    git(&clone.path(""), &["init", "--quiet", "--initial-branch", "main"]);
    git(&clone.path(""), &["fetch", "--quiet", vault.path("").to_str().unwrap(), "main"]);
    git(&clone.path(""), &["checkout", "--quiet", "--force", "-B", "main", "FETCH_HEAD"]);
    clone
}

/// All that is answered, and what was noted meanwhile.
fn answers(vault: &Daemon) -> [Value; 3] {
    ["a", "b", "c"].map(|key| vault.run(&["fact", "history", &format!("n/{key}"), "--json"]).json())
}

/// The value that a history ends with. What one took back while the other replaced it ends no other value.
fn ends_with(history: &[Value]) -> Value {
    history.iter().fold(Value::Null, |stands, change| match change["change"].as_str() {
        Some("retracted") if change["old"] != stands => stands,
        _ => change["new"].clone(),
    })
}

/// A change by one of two people: over the program, or by hand, which a command notices.
pub fn change(vault: &mut Daemon, dice: &mut Random) {
    let name = ["n/a", "n/b", "n/c"][dice.below(3)];
    let value = ["1", "2", "[x, y]", "3.10"][dice.below(4)];
    match dice.below(6) {
        0 => drop(vault.run(&["fact", "unset", name])),
        1 => drop(vault.run(&["fact", "retract", name])),
        2 => {
            vault.run(&["fact", "set", name, value, "--from", "2026-03-29"]);
        }
        3 => {
            let text = read(vault, "facts.md").replace(": 1\n", ": 2\n") + "\n";
            vault.write("facts.md", text);
            vault.run(&["fact", "list"]);
        }
        _ => drop(vault.run(&["fact", "set", name, value])),
    }
}

/// Two who change facts, commit and merge get the same history, whichever way the merge went, and a clone notes nothing anew.
#[test]
fn what_two_clones_made_of_the_facts_is_the_same_after_a_merge() {
    let mut dice = Random::new(seed());
    for round in 0..cases(6) {
        // By lines of both sides, or with the marks of a conflict left in the history.
        let by_union = dice.below(2) == 0;
        let mut here = Daemon::vault().with("facts.md", "# Facts\n\n## N\n\n- a: 1\n- b: 1\n");
        let root = here.path("");
        git(&root, &["init", "--quiet", "--initial-branch", "main"]);
        if by_union {
            here.write(".gitattributes", "facts.history.md merge=union\n");
            git(&root, &["add", ".gitattributes"]);
        }
        here.run(&["fact", "list"]).ok();
        commit(&here);
        let mut there = clone_of(&here);
        for vault in [&mut here, &mut there] {
            for _ in 0..=dice.below(3) {
                change(vault, &mut dice);
            }
            commit(vault);
        }
        git(&root, &["fetch", "--quiet", there.path("").to_str().unwrap(), "main"]);
        if !could(&root, &["merge", "--quiet", "--no-edit", "FETCH_HEAD"]) {
            if read(&here, "facts.md").contains("<<<<<<<") {
                let before = read(&here, "facts.history.md");
                let said = here.run(&["fact", "list"]).stderr;
                assert!(said.contains("it has conflict markers"), "{round}: {said}");
                assert_ne!(here.run(&["fact", "set", "n/a", "9"]).code, 0);
                assert_eq!(read(&here, "facts.history.md"), before, "{round}: nothing is noted");
                let side = if dice.below(2) == 0 { "--ours" } else { "--theirs" };
                git(&root, &["checkout", "--quiet", side, "--", "facts.md"]);
            }
            assert!(!by_union || !read(&here, "facts.history.md").contains("<<<<<<<"));
        }
        // Nothing that either has noted is lost.
        let joined = noted(&here, "facts.history.md");
        assert!(noted(&there, "facts.history.md").iter().all(|line| joined.contains(line)), "{round}: {joined:?}");
        // What the merge took out of the file has gone once it is over.
        commit(&here);
        let text = read(&here, "facts.md");
        until(&format!("{round}: the history to end with what the file says\n{text}"), || {
            let told = answers(&here);
            let said = here.run(&["fact", "list", "n", "--expired", "--json"]).json();
            let is_so = |(key, told): (&&str, &Value)| {
                let new = told["facts"][0]["history"].as_array().map_or(Value::Null, |history| ends_with(history));
                // Where there is none, that is told by the code.
                let now = said["facts"].as_array().unwrap().iter().find(|fact| fact["key"] == **key).cloned();
                new == now.map_or(Value::Null, |fact| fact["value"].clone())
            };
            ["a", "b", "c"].iter().zip(&told).all(is_so)
        });
        let here_said = answers(&here);
        commit(&here);
        for copy in [&there, &clone_of(&here)] {
            git(&copy.path(""), &["fetch", "--quiet", root.to_str().unwrap(), "main"]);
            git(&copy.path(""), &["merge", "--quiet", "--ff-only", "FETCH_HEAD"]);
            assert_eq!(answers(copy), here_said, "{round}");
            assert_eq!(
                read(copy, "facts.history.md"),
                read(&here, "facts.history.md"),
                "{round}: nothing is noted anew"
            );
        }
    }
}
