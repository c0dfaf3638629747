//! Why a backup was not made.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a backup by git was not made, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// There is no `git` on the path.
    #[error("git is not installed: install it, or back up with `vault export FILE.tar.zst`")]
    NoGit,
    /// git could not be started or listened to.
    #[error("git cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The vault's folder is away.
    #[error("{} does not exist", .0.display())]
    NotThere(PathBuf),
    /// The vault is in no repository.
    #[error("{} is not in a git repository. Run `git init` in that folder, then `vault backup` again", .0.display())]
    NotARepository(PathBuf),
    /// The repository around the vault leaves it out.
    #[error(
        "the repository {} ignores this vault, so nothing would be backed up. Run `git init` in the vault to give it its \
         own repository", .0.display()
    )]
    Ignored(PathBuf),
    /// Nobody has said that what git would run is the person's.
    #[error(
        "this repository was never backed up by hand, and git may run a program that came with it. Run `vault backup` \
         once; after that the daemon makes the backups"
    )]
    NeverByHand,
    /// The person is in the middle of something.
    #[error("{what} is under way in {}. Finish it, or drop it with `{drop}`; then `vault backup` again", repository.display())]
    UnderWay {
        /// The working tree.
        repository: PathBuf,
        /// "a merge", …
        what: &'static str,
        /// The command that drops it.
        drop: &'static str,
    },
    /// The index has conflicts.
    #[error("there are conflicts to resolve in {}. Resolve them and `git add` these files; then `vault backup` again", .0.join(", "))]
    Unmerged(Vec<String>),
    /// No branch would hold the commit.
    #[error(
        "no branch is checked out (HEAD is detached at {0}), so a commit could get lost. Make a branch with \
         `git switch -c NAME`, or return to one with `git switch NAME`; then `vault backup` again"
    )]
    Detached(String),
    /// Another git is at work, or was killed.
    #[error(
        "another git is running: {} exists. Try again when it has finished; if none is running, one was killed, and you \
         can remove that file", .0.display()
    )]
    Locked(PathBuf),
    /// git took too long.
    #[error(
        "`git {what}` was stopped: not finished in {after:?}. Look for a hook, a prompt, or a slow disk or network"
    )]
    TooSlow {
        /// What was asked of it.
        what: String,
        /// For so long.
        after: Duration,
    },
    /// The program stops.
    #[error("the backup was cancelled because the program is stopping")]
    Cancelled,
    /// There is nowhere to push to.
    #[error(
        "there is no remote to push to. Add one with `git remote add origin URL`; then `vault backup --push` again"
    )]
    NoRemote,
    /// There are several places to push to, and none was chosen.
    #[error(
        "{0} has no upstream, and there are several remotes. Choose one once with `git push --set-upstream REMOTE {0}`"
    )]
    WhichRemote(String),
    /// The remote has what is not here.
    #[error(
        "the remote {remote} refused, because it has commits that are not here. Run `git pull --rebase`, then \
         `vault backup --push` again. It said: {said}"
    )]
    Behind {
        /// Its name.
        remote: String,
        /// Its words.
        said: String,
    },
    /// git failed otherwise.
    #[error("`git {what}` failed: {said}")]
    Failed {
        /// What was asked of it.
        what: String,
        /// Its words.
        said: String,
    },
    /// The vault keeps changing.
    #[error("files appeared and disappeared during the backup; try again when the vault is quiet")]
    Restless,
}
