//! `vault init` and `vault backup`, where all is well.

use std::os::unix::ffi::OsStrExt;

use super::{empty, repository};
use crate::support::prelude::*;

#[test]
fn a_new_vault_is_a_repository_with_a_first_commit() {
    let folder = tempfile::tempdir().unwrap();
    let init = |args: &[&str]| Ran::of(vault_command().current_dir(folder.path()).arg("init").args(args)).ok();
    init(&["mine"]);
    let mine = folder.path().join("mine");
    assert_eq!(git(&mine, &["status", "--porcelain"]), "");
    let files = git(&mine, &["ls-files"]);
    assert!(files.contains("memory.toml\n") && files.contains("notes/sourdough.md"), "{files}");
    assert!(!files.contains(".vault"), "{files}");
    assert_eq!(git(&mine, &["log", "--format=%s"]), "A new vault");
    // Not in a repository that is there already, not where it is not wanted, and never in a person's folder.
    git(folder.path(), &["init", "-q", "work"]);
    let said = init(&["work/inner"]);
    assert!(!folder.path().join("work/inner/.git").exists() && said.stderr.is_empty(), "{}", said.stderr);
    init(&["plain", "--no-git"]);
    assert!(!folder.path().join("plain/.git").exists());
    fs::create_dir(folder.path().join("old")).unwrap();
    init(&["old", "--adopt"]);
    assert!(!folder.path().join("old/.git").exists());
    let lone = Ran::of(vault_command().current_dir(folder.path()).args(["init", "lone"]).env("PATH", "/nonexistent"));
    assert_eq!(lone.ok().stderr, "", "a vault without git is a vault");
}

#[test]
fn a_backup_commits_what_changed_and_says_what() {
    let mut vault = repository().with(".gitignore", "*.log\n").with("noise.log", "x").with("notes/a.md", "# A\n");
    fs::remove_file(vault.path("notes/river.md")).unwrap();
    let done = vault.run(&["backup"]).ok().stdout;
    assert!(done.ends_with("  2 files new, 1 removed: .gitignore, notes/a.md, notes/river.md\n"), "{done}");
    assert_eq!(vault.git(&["ls-files"]), ".gitignore\nmemory.toml\nnotes/a.md\nnotes/bread.md");
    let again = vault.run(&["backup"]).ok();
    assert_eq!(again.stdout, "nothing has changed since the last commit\n");
    vault.write("notes/a.md", "# A\n\nMore.\n");
    let json = vault.run(&["backup", "--json", "-m", "Before the move"]).ok().json();
    let head = vault.git(&["rev-parse", "HEAD"]);
    assert_eq!((&json["commit"]["id"], &json["commit"]["changed"]), (&head.into(), &1.into()));
    assert_eq!(vault.git(&["log", "-1", "--format=%s"]), "Before the move");
    assert_eq!(vault.run(&["backup", "--json"]).ok().json()["commit"], Value::Null);
    assert_eq!(vault.run(&["backup", "-m", " "]).code, 2);
}

#[test]
fn the_person_s_name_is_taken_where_there_is_one() {
    let mut vault = repository();
    vault.git(&["config", "user.name", "Ada"]);
    vault.git(&["config", "user.email", "ada@example.org"]);
    vault.write("notes/a.md", "# A\n").run(&["backup"]).ok();
    let author = || vault.git(&["log", "-1", "--format=%an %ae %cn"]);
    assert_eq!(author(), "Ada ada@example.org Ada");
    vault.git(&["config", "--unset", "user.email"]);
    fs::write(vault.path("notes/b.md"), "# B\n").unwrap();
    vault.run(&["backup"]).ok();
    assert_eq!(author(), "Ada vault@localhost Ada");
    assert!(!vault.git(&["config", "--local", "--list"]).contains("localhost"), "for that commit only");
}

#[test]
fn neither_the_program_s_files_nor_the_bin_are_committed_whatever_gitignore_says() {
    let vault = repository().with(".trash/old.md", "# Old\n").with("notes/a.md", "# A\n");
    vault.run(&["status"]).ok();
    fs::remove_file(vault.path(".vault/.gitignore")).unwrap();
    fs::write(vault.path(".vault/owner-token"), "secret").unwrap();
    vault.run(&["backup"]).ok();
    assert_eq!(vault.git(&["ls-files"]), "memory.toml\nnotes/a.md\nnotes/bread.md\nnotes/river.md");
}

#[test]
fn any_name_is_committed() {
    let mut vault = repository();
    let names = ["-m.md", ":(top)x.md", "*.md", "a\nb.md", "ü 🌱.md", "\"quoted\".md", "[x].md", "#1.md"];
    for name in names {
        vault.write(&format!("odd/{name}"), "# Odd\n");
    }
    let raw = std::ffi::OsStr::from_bytes(b"odd/\xff.md");
    fs::write(vault.path("").join(raw), "# Raw\n").unwrap();
    vault.run(&["backup"]).ok();
    let files = vault.git(&["-c", "core.quotePath=false", "ls-files", "-z", "odd"]);
    assert_eq!(files.split('\0').filter(|name| !name.is_empty()).count(), names.len() + 1, "{files:?}");
    assert_eq!(vault.git(&["status", "--porcelain"]), "");
    fs::remove_dir_all(vault.path("odd")).unwrap();
    vault.run(&["backup"]).ok();
    assert_eq!(vault.git(&["ls-files", "odd"]), "");
}

#[test]
fn of_a_larger_repository_only_the_vault_is_committed_and_what_is_staged_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    git(top, &["init", "--quiet", "--initial-branch=main"]);
    let vault = Daemon::below(top, "[embed]\nmodel = \"none\"\n");
    let name = vault.path("").file_name().unwrap().to_str().unwrap().to_owned();
    fs::write(top.join("code.rs"), "fn main() {}\n").unwrap();
    fs::write(vault.path("a.md"), "# A\n").unwrap();
    fs::write(vault.path("keep.md"), "# Keep\n").unwrap();
    git(top, &["add", "--all"]);
    git(top, &["commit", "--quiet", "-m", "first"]);
    fs::write(top.join("code.rs"), "fn main() { staged() }\n").unwrap();
    git(top, &["add", "code.rs"]);
    fs::write(top.join("code.rs"), "fn main() { not_staged() }\n").unwrap();
    fs::write(top.join("untracked.rs"), "").unwrap();
    fs::write(vault.path("a.md"), "# A\n\nStaged.\n").unwrap();
    git(top, &["add", &format!("{name}/a.md")]);
    fs::write(vault.path("a.md"), "# A\n\nOn disk.\n").unwrap();
    fs::write(vault.path("new.md"), "# New\n").unwrap();
    // Taken out of the repository on purpose, and still on disk.
    fs::write(vault.path(".gitignore"), "keep.md\n").unwrap();
    git(top, &["rm", "--quiet", "--cached", &format!("{name}/keep.md")]);
    vault.run(&["backup"]).ok();
    let shown = git(top, &["show", "--name-status", "--format=", "HEAD"]);
    assert_eq!(shown, format!("A\t{name}/.gitignore\nM\t{name}/a.md\nA\t{name}/new.md"));
    assert_eq!(git(top, &["show", &format!("HEAD:{name}/a.md")]), "# A\n\nOn disk.");
    let status = git(top, &["status", "--porcelain"]);
    assert_eq!(status, format!("MM code.rs\nD  {name}/keep.md\n?? untracked.rs"));
    assert_eq!(git(top, &["show", ":code.rs"]), "fn main() { staged() }");
    // Once nothing else is staged, what was taken out is.
    git(top, &["commit", "--quiet", "-m", "code", "code.rs"]);
    vault.run(&["backup"]).ok();
    assert!(!git(top, &["ls-tree", "-r", "--name-only", "HEAD"]).contains("keep.md"));
    assert!(vault.path("keep.md").exists());
}

#[test]
fn a_push_goes_to_the_only_remote_or_the_upstream() {
    let (mut vault, remote) = (repository(), empty());
    git(remote.path(), &["init", "--quiet", "--bare"]);
    vault.git(&["remote", "add", "far", remote.path().to_str().unwrap()]);
    vault.write("notes/a.md", "# A\n");
    let pushed = vault.run(&["backup", "--push"]).ok().stdout;
    assert!(pushed.ends_with("\npushed to far main\n"), "{pushed}");
    let head = || vault.git(&["rev-parse", "HEAD"]);
    assert_eq!(git(remote.path(), &["rev-parse", "refs/heads/main"]), head());
    vault.git(&["push", "--quiet", "--set-upstream", "far", "main:elsewhere"]);
    fs::write(vault.path("notes/a.md"), "# B\n").unwrap();
    assert_eq!(vault.run(&["backup", "--push", "--json"]).ok().json()["pushed"], "far elsewhere");
    assert_eq!(git(remote.path(), &["rev-parse", "refs/heads/elsewhere"]), head());
    // Nothing new is no reason not to push what is there.
    git(remote.path(), &["update-ref", "-d", "refs/heads/elsewhere"]);
    vault.run(&["backup", "--push"]).ok();
    assert_eq!(git(remote.path(), &["rev-parse", "refs/heads/elsewhere"]), head());
}

#[test]
fn a_backup_from_a_hook_minds_its_own_repository() {
    let (mut vault, other) = (repository(), repository());
    vault.write("notes/a.md", "# A\n");
    let before = contents(&other.path(""));
    let mut command = vault.command(&["backup"]);
    command.env("GIT_DIR", other.path(".git")).env("GIT_INDEX_FILE", other.path(".git/index"));
    Ran::of(command.env("GIT_WORK_TREE", other.path(""))).ok();
    assert_eq!(contents(&other.path("")), before);
    assert!(vault.git(&["ls-files"]).contains("notes/a.md"));
}
