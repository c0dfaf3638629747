//! Why a backup was not made.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a backup by git was not made, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// There is no `git` on the path.
    #[error("git is not there: install it, or back up with `vault export FILE.tar.zst`")]
    NoGit,
    /// git could not be started or listened to.
    #[error("git cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The vault's folder is away.
    #[error("{} is not there", .0.display())]
    NotThere(PathBuf),
    /// The vault is in no repository.
    #[error("{} is in no git repository. `git init` in that folder makes it one, then `vault backup` again", .0.display())]
    NotARepository(PathBuf),
    /// The repository around the vault leaves it out.
    #[error(
        "the repository {} ignores this vault, so nothing of it would be backed up. `git init` in the vault gives it a \
         repository of its own", .0.display()
    )]
    Ignored(PathBuf),
    /// Nobody has said that what git would run is the person's.
    #[error(
        "the repository was never backed up by hand, and git may run a program that came with it. Run `vault backup` by hand \
         once; from then on the daemon backs up by itself"
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
        "no branch is checked out (the head is detached at {0}), so a commit could get lost. `git switch -c NAME` makes \
         a branch of it, `git switch NAME` goes back to one; then `vault backup` again"
    )]
    Detached(String),
    /// Another git is at work, or was killed.
    #[error(
        "another git is at work: {} is there. Try again when it has finished; if none runs, one was killed, and that \
         file may be removed", .0.display()
    )]
    Locked(PathBuf),
    /// git took too long.
    #[error("`git {what}` was ended as it had not finished in {after:?}: a hook, a prompt or a slow disk or network")]
    TooSlow {
        /// What was asked of it.
        what: String,
        /// For so long.
        after: Duration,
    },
    /// The program stops.
    #[error("the backup was called off, as the program stops")]
    Cancelled,
    /// There is nowhere to push to.
    #[error("there is no remote to push to. `git remote add origin URL` names one; then `vault backup --push` again")]
    NoRemote,
    /// There are several places to push to, and none was chosen.
    #[error(
        "{0} has no upstream, and there are several remotes. `git push --set-upstream REMOTE {0}` chooses one, once"
    )]
    WhichRemote(String),
    /// The remote has what is not here.
    #[error(
        "the remote {remote} has commits that are not here, so it refused. `git pull --rebase`, then \
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
    #[error("files came and went while they were being backed up; try again when that has calmed down")]
    Restless,
}
