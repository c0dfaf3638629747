//! What the person does with git just now, by what lies in its folder. No program is run.

use std::path::{Path, PathBuf};

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
