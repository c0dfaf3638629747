//! Runs the person's own `git`: it asks nothing, does not hang, and minds no repository but the one it is pointed at. And why a backup was not made.

use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::base::tasks::TaskSignal;

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
pub(super) struct Git {
    folder: PathBuf,
    signal: TaskSignal,
}

/// What git came to.
#[derive(Debug)]
pub(super) struct Ran {
    what: String,
    status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Git {
    pub(super) fn at(folder: &Path, signal: &TaskSignal) -> Self {
        Self { folder: folder.to_owned(), signal: signal.clone() }
    }

    /// Runs git with no input.
    pub(super) fn run(&self, args: &[&str]) -> Result<Ran, BackupError> {
        self.run_with(args, b"")
    }

    /// Runs git, and gives it `input` to read.
    pub(super) fn run_with(&self, args: &[&str], input: &[u8]) -> Result<Ran, BackupError> {
        // Files, not pipes: nothing that git leaves running in the background can hold their ends open.
        let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(NOT_BY_CHANCE).args(args).stdin(stdin(input)?);
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

    /// Waits a moment; says no when it is stopped.
    pub(super) fn pause(&self) -> bool {
        std::thread::sleep(Duration::from_millis(50));
        !self.signal.is_stopped()
    }
}

impl Ran {
    pub(super) fn is_ok(&self) -> bool {
        self.status.success()
    }

    /// Standard output as one text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }

    /// Itself when git succeeded.
    pub(super) fn ok(self) -> Result<Self, BackupError> {
        if self.is_ok() { Ok(self) } else { Err(self.failed()) }
    }

    pub(super) fn failed(&self) -> BackupError {
        BackupError::Failed { what: self.what.clone(), said: self.said() }
    }

    /// What git said, or what ran below it, in a line.
    pub(super) fn said(&self) -> String {
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
