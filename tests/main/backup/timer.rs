//! The backups that the daemon makes.

use super::{hook, repository};
use crate::support::prelude::*;

const EVERY: &str = "[embed]\nmodel = \"none\"\n[backup]\nevery = \"1m\"\n";

/// A repository whose newest commit is old, and that was backed up by hand.
fn neglected() -> Daemon {
    let vault = unvouched();
    assert!(vault.run(&["backup"]).ok().stdout.contains("nothing has changed"));
    vault
}

/// One that was not.
fn unvouched() -> Daemon {
    let vault = repository().with("memory.toml", EVERY);
    vault.git(&["add", "--all"]);
    commit_long_ago(&vault, &["-m", "old"]);
    vault
}

fn commit_long_ago(vault: &Daemon, args: &[&str]) {
    let long_ago = "2020-01-01T00:00:00Z";
    let args = [&["commit", "--quiet", "--date", long_ago], args].concat();
    let mut commit = git_command(&vault.path(""), &args);
    assert!(commit.env("GIT_COMMITTER_DATE", long_ago).status().unwrap().success());
}

#[test]
fn the_daemon_commits_by_itself_and_says_so() {
    let vault = neglected().with("notes/a.md", "# A\n").started();
    let backup = eventually("a backup", || {
        let backup = vault.status()["backup"].clone();
        backup["last_at"].is_string().then_some(backup)
    });
    assert_eq!(vault.git(&["log", "-1", "--format=%s"]), "1 note new: notes/a.md");
    assert_eq!(backup["last_commit"], vault.git(&["rev-parse", "HEAD"]));
    assert_eq!(backup["failure"], Value::Null);
    let text = vault.run(&["status"]).ok().stdout;
    assert!(text.contains("\nbackup      ") && text.contains("up to date at"), "{text}");
}

#[test]
fn what_keeps_the_daemon_from_backing_up_is_logged_once_and_shown() {
    let mut vault = neglected();
    vault.git(&["checkout", "--quiet", "--detach"]);
    vault.start();
    let failure = eventually("a failure", || vault.status()["backup"]["failure"].as_str().map(str::to_owned));
    assert!(failure.starts_with("no branch is checked out"), "{failure}");
    until("the log", || vault.log().contains("backup: no branch"));
    assert_eq!(vault.log().matches("backup: ").count(), 1);
    vault.finds("dough", &["notes/bread.md"]);
    let text = vault.run(&["status"]).ok().stdout;
    assert!(text.contains("no branch is checked out"), "{text}");
}

#[test]
fn a_backup_that_hangs_does_not_keep_the_daemon_from_stopping() {
    let mut vault = neglected();
    let begun = vault.path(".git/begun");
    hook(&mut vault, ".git/hooks/pre-commit", "touch .git/begun\nsleep 600");
    vault.write("notes/a.md", "# A\n").start();
    until("the hook", || begun.exists());
    let stopped = vault.terminate();
    assert!(stopped.status.success() && stopped.after < Duration::from_secs(2), "{:?}", stopped.after);
    assert!(!vault.path(".git/index.lock").exists(), "git has taken its lock away");
    assert_eq!(vault.git(&["log", "-1", "--format=%s"]), "old");
}

#[test]
fn the_daemon_runs_nothing_of_a_repository_that_nobody_has_vouched_for() {
    for hostile in ["hook", "setting"] {
        let mut vault = unvouched();
        let pwned = vault.path(".git/pwned");
        let touch = format!("touch {}", pwned.display());
        if hostile == "hook" {
            hook(&mut vault, ".git/hooks/pre-commit", &touch);
        } else {
            let config = vault.read(".git/config");
            vault.write(".git/config", format!("{config}[core]\n\tfsmonitor = \"{touch}; false\"\n"));
        }
        vault.write("notes/a.md", "# A\n").start();
        let failure = eventually("a failure", || vault.status()["backup"]["failure"].as_str().map(str::to_owned));
        assert!(failure.contains("never backed up by hand"), "{failure}");
        assert!(!pwned.exists());
        // By hand it is the person's git, and from then on the daemon's too.
        vault.terminate();
        vault.run(&["backup"]).ok();
        assert!(pwned.exists());
        commit_long_ago(&vault, &["--amend", "--no-edit"]);
        vault.write("notes/b.md", "# B\n").start();
        until("a backup", || vault.status()["backup"]["last_at"].is_string());
        assert_eq!(vault.git(&["log", "-1", "--format=%s"]), "1 note new: notes/b.md");
    }
}

#[test]
fn without_an_interval_the_daemon_commits_nothing() {
    let vault = repository().with("notes/a.md", "# A\n").started();
    vault.finds("dough", &["notes/bread.md"]);
    assert_eq!(vault.status()["backup"], Value::Null);
    assert_eq!(vault.git(&["status", "--porcelain"]), "?? notes/a.md");
}
