//! What the person does with git just now, by what lies in its folder, and what git keeps of a note, by the word of the person's own git.
//! Changes nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::base::path::VaultPath;

/// What is under way while a file or folder is there: its name in git's folder, what it is called, and what drops it.
pub(crate) const UNDER_WAY: [(&str, &str, &str); 6] = [
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply", "a rebase", "git rebase --abort"),
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
];
/// There while a git writes.
pub(crate) const GIT_LOCK: &str = "index.lock";

/// Whether git is at work in the repository that a vault is in, if it is in one: what files say, and which there are, may be so for the
/// moment.
pub(crate) fn git_is_busy(root: &Path) -> bool {
    let folder = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.symlink_metadata().is_ok());
    let Some(folder) = folder.map(folder_of) else { return false };
    let names = UNDER_WAY.iter().map(|(name, ..)| *name).chain([GIT_LOCK]);
    names.into_iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Git's folder; a file names that of a worktree or a submodule.
fn folder_of(git: PathBuf) -> PathBuf {
    let named = std::fs::read_to_string(&git).ok();
    let named = named.as_deref().and_then(|text| text.strip_prefix("gitdir:")).map(str::trim);
    match (named, git.parent()) {
        (Some(named), Some(parent)) => parent.join(named),
        _ => git,
    }
}

/// How many commits, of whatever branch, have changed a note. `None` where there is no git or no repository.
pub(crate) fn commits_of(root: &Path, path: &VaultPath) -> Option<usize> {
    git(root, &["rev-list", "--all", "--count", "--", path.as_str()])?.trim().parse().ok()
}

/// When the newest commit that changed a note was made, in milliseconds since 1970, where the note is as that commit has it, or is not
/// there and that commit took it away. `None` where it is otherwise, or where there is no git or no repository.
pub(crate) fn committed_at(root: &Path, path: &VaultPath) -> Option<i64> {
    // Most vaults are no repository, and no program is begun for them.
    root.ancestors().find(|folder| folder.join(".git").exists())?;
    // Filters of the repository would be programs.
    let committed = git(root, &["rev-parse", "--verify", "--quiet", &format!("HEAD:./{path}")]);
    let is_as_committed = match path.on_disk(root).symlink_metadata() {
        Ok(_) => committed? == git(root, &["hash-object", "--no-filters", "--", path.as_str()])?,
        Err(_) => committed.is_none(),
    };
    let newest =
        git(root, &["rev-list", "-1", "--timestamp", "HEAD", "--", path.as_str()]).filter(|_| is_as_committed)?;
    let seconds: i64 = newest.split_whitespace().next()?.parse().ok()?;
    seconds.checked_mul(1000)
}

/// What the person's own git says; `None` where it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        // Neither does a repository's own configuration run programs here, nor is a name a pattern. What a repository has left
        // with another is not fetched: how, its configuration would say.
        .args(["-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"])
        .args(["--literal-pathspecs", "--no-optional-locks"])
        .args(arguments)
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_at_work_is_seen_in_a_repository_and_in_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let (root, git) = (folder.path().join("sub/vault"), folder.path().join("git"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(git.join("rebase-merge")).unwrap();
        assert!(!git_is_busy(&root));
        std::fs::write(folder.path().join("sub/.git"), "gitdir: ../git\n").unwrap();
        assert!(git_is_busy(&root));
        std::fs::remove_dir(git.join("rebase-merge")).unwrap();
        assert!(!git_is_busy(&root));
        std::fs::write(git.join("index.lock"), "").unwrap();
        assert!(git_is_busy(&root));
    }
}

#[cfg(test)]
mod tests_of_history {
    use std::fs;

    use super::*;

    #[test]
    fn a_repository_that_left_something_with_another_does_not_say_how_it_is_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let (root, pwned) = (folder.path(), folder.path().join("pwned"));
        let git = |args: &[&str]| {
            let names = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
            let output = Command::new("git").arg("-C").arg(root).args(names).args(args).output().unwrap();
            assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "--quiet"]);
        fs::create_dir(root.join("notes")).unwrap();
        for text in ["one", "two"] {
            fs::write(root.join("notes/a.md"), text).unwrap();
            git(&["add", "notes"]);
            git(&["commit", "--quiet", "-m", text]);
        }
        let path = VaultPath::new("notes/a.md").unwrap();
        assert_eq!(commits_of(root, &path), Some(2));
        let tree = git(&["rev-parse", "HEAD^:notes"]);
        let touch = format!("ext::touch {}", pwned.display());
        for (key, value) in [
            ("core.repositoryformatversion", "1"),
            ("core.fsmonitor", "touch pwned"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", &touch),
            ("protocol.ext.allow", "always"),
        ] {
            git(&["config", key, value]);
        }
        fs::remove_file(root.join(".git/objects").join(&tree[..2]).join(&tree[2..])).unwrap();
        assert_eq!(commits_of(root, &path), None);
        assert!(!pwned.exists());
    }
}
