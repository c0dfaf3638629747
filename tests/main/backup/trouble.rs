//! `vault backup` where it cannot be done: it is said, with what to do next, and nothing is broken.

use super::{empty, hook, inner, repository};
use crate::support::prelude::*;

/// Backs up, which is refused with these words, and nothing has changed.
#[track_caller]
fn refused(vault: &Daemon, args: &[&str], words: &[&str]) {
    let commits = || vault.git(&["rev-list", "--all", "--count"]);
    let (before, count) = (contents(&vault.path("notes")), commits());
    let refused = vault.run(args);
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    for word in words {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    assert_eq!((contents(&vault.path("notes")), commits()), (before, count));
}

/// Two branches that change the same line.
fn torn() -> Daemon {
    let mut vault = repository();
    vault.git(&["switch", "--quiet", "-c", "other"]);
    vault.write("notes/bread.md", "# Bread\n\nThe other way.\n").git(&["commit", "--quiet", "-a", "-m", "other"]);
    vault.git(&["switch", "--quiet", "main"]);
    vault.write("notes/bread.md", "# Bread\n\nMy way.\n").git(&["commit", "--quiet", "-a", "-m", "mine"]);
    vault
}

#[test]
fn in_the_middle_of_something_nothing_is_done() {
    for (start, what, state) in [
        (&["merge", "other"][..], "a merge is under way", "MERGE_HEAD"),
        (&["rebase", "other"], "a rebase is under way", "rebase-merge"),
        (&["cherry-pick", "other"], "a cherry-pick is under way", "CHERRY_PICK_HEAD"),
    ] {
        let vault = torn();
        assert!(!git_command(&vault.path(""), start).output().unwrap().status.success(), "it conflicts");
        refused(&vault, &["backup"], &[what, "--abort"]);
        assert!(vault.path(".git").join(state).exists());
        assert!(vault.git(&["status", "--porcelain"]).starts_with("UU"));
    }
}

#[test]
fn conflicts_without_a_merge_are_named() {
    let vault = torn().with("notes/bread.md", "# Bread\n\nA third way.\n");
    vault.git(&["stash", "--quiet"]);
    vault.git(&["reset", "--quiet", "--hard", "other"]);
    assert!(!git_command(&vault.path(""), &["stash", "pop"]).output().unwrap().status.success());
    refused(&vault, &["backup"], &["conflicts to resolve in notes/bread.md", "git add"]);
}

#[test]
fn a_detached_head_a_locked_index_and_no_repository_are_said() {
    let mut vault = repository().with("notes/a.md", "# A\n");
    vault.git(&["checkout", "--quiet", "--detach"]);
    refused(&vault, &["backup"], &["no branch is checked out", "git switch -c NAME"]);
    vault.git(&["switch", "--quiet", "main"]);
    vault.write(".git/index.lock", "");
    refused(&vault, &["backup"], &["another git is running", ".git/index.lock"]);
    assert!(vault.path(".git/index.lock").exists());
    fs::remove_file(vault.path(".git/index.lock")).unwrap();
    let gone = Ran::of(vault.command(&["backup"]).env("PATH", "/nonexistent"));
    assert!(gone.code == 2 && gone.stderr.contains("git is not installed: install it"), "{}", gone.stderr);
    vault.run(&["backup"]).ok();
    let plain = Daemon::vault();
    let refused = plain.run(&["backup"]);
    assert!(refused.code == 2 && refused.stderr.contains("`git init`"), "{}", refused.stderr);
    assert!(!plain.path(".git").exists());
}

#[test]
fn a_vault_that_the_repository_around_it_ignores_is_not_taken_for_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    fs::write(folder.path().join(".gitignore"), "*\n").unwrap();
    let vault = Daemon::below(folder.path(), "");
    let refused = vault.run(&["backup"]);
    assert!(refused.code == 2 && refused.stderr.contains("ignores this vault"), "{}", refused.stderr);
}

#[test]
fn a_repository_in_the_vault_is_left_to_itself() {
    let mut vault = repository().with("notes/a.md", "# A\n");
    inner(&mut vault, "project");
    let part = vault.run(&["backup"]);
    assert!(part.code == 2 && part.stderr.contains("project/ was left out: it is a git repository"), "{}", part.stderr);
    assert!(!vault.git(&["ls-files"]).contains("project"));
}

#[test]
fn a_folder_that_has_the_files_of_a_repository_is_none() {
    let mut vault = Daemon::vault();
    let (root, pwned) = (vault.path(""), vault.path(".vault/pwned"));
    git(&root, &["init", "--quiet", "--bare", "."]);
    let config = vault.read("config").replace("bare = true", "bare = false");
    let touch = format!("\tworktree = .\n\tfsmonitor = \"touch {}; false\"\n", pwned.display());
    vault.write("config", config + &touch).write("notes/a.md", "# A\n");
    let refused = vault.run(&["backup"]);
    assert!(refused.code == 2 && refused.stderr.contains("safe.bareRepository"), "{}", refused.stderr);
    assert!(!pwned.exists());
}

#[test]
fn what_is_set_in_a_repository_in_the_vault_is_not_run() {
    let mut vault = repository();
    let pwned = vault.path("pwned");
    inner(&mut vault, "inner");
    assert!(git_command(&vault.path(""), &["add", "inner"]).output().unwrap().status.success());
    vault.git(&["commit", "--quiet", "-m", "inner"]);
    let config = vault.read("inner/.git/config");
    vault.write("inner/.git/config", format!("{config}[core]\n\tfsmonitor = \"touch {}; false\"\n", pwned.display()));
    vault.write("inner/a.md", "# B\n").write("notes/a.md", "# A\n");
    vault.run(&["backup"]).ok();
    assert_eq!(vault.git(&["log", "-1", "--format=%s"]), "1 note new: notes/a.md");
    assert!(!pwned.exists());
}

#[test]
fn a_hook_that_refuses_is_quoted() {
    let mut vault = repository().with("notes/a.md", "# A\n");
    hook(&mut vault, ".git/hooks/pre-commit", "echo 'no more than a page' >&2\nexit 1");
    refused(&vault, &["backup"], &["`git commit` failed", "no more than a page"]);
    fs::remove_file(vault.path(".git/hooks/pre-commit")).unwrap();
    vault.run(&["backup"]).ok();
    assert_eq!(vault.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_push_without_a_remote_or_to_one_that_is_ahead_is_refused_and_the_commit_stays() {
    let (mut vault, remote, other) = (repository(), empty(), empty());
    vault.write("notes/a.md", "# A\n");
    let alone = vault.run(&["backup", "--push"]);
    assert!(alone.code == 2 && alone.stderr.contains("git remote add origin URL"), "{}", alone.stderr);
    assert_eq!(vault.git(&["status", "--porcelain"]), "");
    let bare = remote.path().to_str().unwrap();
    git(remote.path(), &["init", "--quiet", "--bare", "--initial-branch=main"]);
    vault.git(&["remote", "add", "origin", bare]);
    vault.run(&["backup", "--push"]).ok();
    git(other.path(), &["clone", "--quiet", bare, "."]);
    fs::write(other.path().join("theirs.md"), "# Theirs\n").unwrap();
    git(other.path(), &["add", "--all"]);
    git(other.path(), &["commit", "--quiet", "-m", "theirs"]);
    git(other.path(), &["push", "--quiet"]);
    let theirs = git(remote.path(), &["rev-parse", "main"]);
    vault.write("notes/a.md", "# B\n");
    let behind = vault.run(&["backup", "--push", "--json"]);
    assert!(behind.code == 2 && behind.stderr.contains("git pull --rebase"), "{}", behind.stderr);
    assert_eq!((&behind.json()["pushed"], behind.json()["push_failure"].is_string()), (&Value::Null, true));
    assert_eq!(git(remote.path(), &["rev-parse", "main"]), theirs, "nothing is forced");
    assert_eq!(vault.git(&["status", "--porcelain"]), "", "the commit was made");
    vault.git(&["remote", "set-url", "origin", "/nonexistent"]);
    let away = vault.run(&["backup", "--push"]);
    assert!(away.code == 2 && away.stderr.contains("`git push` failed"), "{}", away.stderr);
}
