//! The person's own git. It asks nothing, does not hang, and minds no repository but the one it is pointed at. What it is at just now is told
//! by what lies in its folder.

use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::base::path::VaultPath;
use crate::base::tasks::TaskSignal;

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
    let git = Git { only_looks: true, ..Git::at(root, &TaskSignal::default()) };
    let ran = git.run(arguments).and_then(Ran::ok).ok()?;
    String::from_utf8(ran.stdout).ok()
}

/// Long enough for the first commit of a large vault, or to push it.
const LIMIT: Duration = Duration::from_secs(600);

/// git removes its lock files when it is asked to end; what runs below it may not listen.
const GRACE: Duration = Duration::from_millis(500);

/// As a hook or an alias of the person's, this program inherits what points git at another repository or index.
const MISLEADING: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR", "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS", "GIT_INDEX_FILE", "GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE", "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE",
];

/// A repository is what is in a `.git`: a folder of notes that has the files of one (`HEAD`, `objects`, `config`) is not.
const NOT_BY_CHANCE: [&str; 2] = ["-c", "safe.bareRepository=explicit"];

/// git in one folder. When it is stopped, what runs ends within a moment, and no other is started.
pub(crate) struct Git {
    folder: PathBuf,
    signal: TaskSignal,
    /// Whether it runs nothing that the repository's configuration names, and takes names as they are. What a repository has left with another
    /// is not fetched: how, its configuration would say.
    only_looks: bool,
}

/// What git came to.
#[derive(Debug)]
pub(crate) struct Ran {
    what: String,
    status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Git {
    pub(crate) fn at(folder: &Path, signal: &TaskSignal) -> Self {
        Self { folder: folder.to_owned(), signal: signal.clone(), only_looks: false }
    }

    /// Runs git with no input.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Ran, BackupError> {
        self.run_with(args, b"")
    }

    /// Runs git, and gives it `input` to read.
    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Result<Ran, BackupError> {
        // Files, not pipes: nothing that git leaves running in the background can hold their ends open.
        let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(NOT_BY_CHANCE);
        if self.only_looks {
            command.args(["-c", "core.fsmonitor=false", "--literal-pathspecs"]);
            command.envs([("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "")]);
        }
        command.args(args).stdin(stdin(input)?);
        command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        for name in MISLEADING {
            command.env_remove(name);
        }
        for (name, value) in [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GCM_INTERACTIVE", "never"),
            ("GIT_EDITOR", ":"),
            // What only looks takes no lock that the person's git could run into.
            ("GIT_OPTIONAL_LOCKS", "0"),
        ] {
            command.env(name, value);
        }
        if ["GIT_SSH", "GIT_SSH_COMMAND"].iter().all(|name| std::env::var_os(name).is_none()) && args[0] == "push" {
            command.env("GIT_SSH_COMMAND", self.ssh()?);
        }
        // A group of its own, so that what it runs can be ended with it.
        command.process_group(0);
        let what = args.iter().find(|arg| !arg.starts_with('-') && !arg.contains('=')).unwrap_or(&"");
        let child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => BackupError::NoGit,
            _ => error.into(),
        })?;
        let status = self.wait(child, what)?;
        Ok(Ran {
            what: (*what).to_owned(),
            status,
            stdout: read_back(&mut stdout)?,
            stderr: String::from_utf8_lossy(&read_back(&mut stderr)?).trim().to_owned(),
        })
    }

    /// The person's ssh, which is not to ask for a passphrase either.
    fn ssh(&self) -> Result<String, BackupError> {
        let configured = self.run(&["config", "--get", "core.sshCommand"])?;
        let command = configured.text();
        Ok(if command.is_empty() { "ssh -o BatchMode=yes".into() } else { command })
    }

    fn wait(&self, mut child: Child, what: &str) -> Result<ExitStatus, BackupError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let stopped = self.signal.is_stopped();
            if stopped || started.elapsed() > LIMIT {
                end(&mut child);
                return Err(match stopped {
                    true => BackupError::Cancelled,
                    false => BackupError::Refused(format!(
                        "`git {what}` was stopped: not finished in {LIMIT:?}. Look for a hook, a prompt, or a slow disk or network"
                    )),
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Ran {
    pub(crate) fn is_ok(&self) -> bool {
        self.status.success()
    }

    /// Standard output as one text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }

    /// Itself when git succeeded.
    pub(crate) fn ok(self) -> Result<Self, BackupError> {
        if self.is_ok() { Ok(self) } else { Err(BackupError::Failed { said: self.said(), what: self.what }) }
    }

    /// What git said, or what ran below it, in a line.
    pub(crate) fn said(&self) -> String {
        let said = if self.stderr.is_empty() { self.text() } else { self.stderr.clone() };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // The end tells what it came to; a hook may have printed pages before it.
        let last = lines[lines.len().saturating_sub(8)..].join(" / ");
        match last.is_empty() {
            true => format!("it ended with {}", self.status),
            false => last.chars().filter(|character| !character.is_control()).collect(),
        }
    }
}

fn stdin(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

fn read_back(file: &mut std::fs::File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Ends git and all that it runs.
fn end(child: &mut Child) {
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if matches!(child.try_wait(), Ok(Some(_))) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// Why a backup by git was not made, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// There is no `git` on the path.
    #[error("git is not installed: install it, or back up with `vault export FILE.tar.zst`")]
    NoGit,
    /// git could not be started or listened to.
    #[error("git cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The vault is in no repository.
    #[error("{} is not in a git repository. Run `git init` in that folder, then `vault backup` again", .0.display())]
    NotARepository(PathBuf),
    /// The program stops.
    #[error("the backup was cancelled because the program is stopping")]
    Cancelled,
    /// git failed otherwise.
    #[error("`git {what}` failed: {said}")]
    Failed {
        /// What was asked of it.
        what: String,
        /// Its words.
        said: String,
    },
    /// Something is in the way: what, and what to do about it.
    #[error("{0}")]
    Refused(String),
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
