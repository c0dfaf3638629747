//! The repository that a vault is in: whether it can take a commit now, what differs from the last one, and the commit; and the task that makes
//! one now and then, once the person has said that a repository's own programs are theirs.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::base::clock::{Clock, rfc3339};
use crate::base::fs::{FsError, UNFINISHED, create_private_dir, write_atomically};
use crate::base::tasks::{Task, TaskSignal};
use crate::serve::wire::{Backup, Skipped};
use crate::vault::disk::{BackupError, GIT_LOCK, Git, Home, UNDER_WAY, is_markdown};

/// The repository that a vault is in.
pub(crate) struct Repository {
    git: Git,
    top: PathBuf,
    git_dir: PathBuf,
    /// The vault's folder from the top, with a slash at its end; empty where they are the same.
    prefix: String,
}

/// What a backup came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct BackupReport {
    /// The commit; `None` when nothing had changed.
    pub commit: Option<BackupCommit>,
    /// The files and folders that were left out of it, why, and what to do about it.
    pub held_back: Vec<Skipped>,
    /// Where it was pushed to, when it was.
    pub pushed: Option<String>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BackupCommit {
    /// Its name.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// What it changes.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Makes a new vault a repository with a first commit, unless it is inside one; says whether it did.
///
/// # Errors
/// When git is not there or fails. The vault is none the worse.
pub(crate) fn init_repository(root: &Path) -> Result<bool, BackupError> {
    let signal = TaskSignal::default();
    match Repository::find(root, &signal) {
        Ok(_) => return Ok(false),
        Err(BackupError::NotARepository(_)) => {}
        Err(error) => return Err(error),
    }
    Git::at(root, &signal).run(&["init", "--quiet"])?.ok()?;
    Repository::open(root, None, &signal)?.commit(Some("A new vault"))?;
    Ok(true)
}

impl Repository {
    /// Finds the repository that the vault at `root` is in. A backup that nobody has asked for just now needs the `trust` of the person: a
    /// repository that was never backed up by hand may have hooks and settings by which git runs a program that came with it.
    ///
    /// # Errors
    /// When there is none, it leaves the vault out, or it was never backed up by hand and has to be.
    pub(crate) fn open(root: &Path, trust: Option<&Trust>, signal: &TaskSignal) -> Result<Self, BackupError> {
        let repository = Self::find(root, signal)?;
        if trust.is_some_and(|trust| !trust.is_given()) {
            let never = "this repository was never backed up by hand, and git may run a program that came with it. Run \
                         `vault backup` once; after that the daemon makes the backups";
            return Err(BackupError::Refused(never.into()));
        }
        let here = Git::at(root, signal);
        let ignored = !repository.prefix.is_empty()
            && here.run(&["check-ignore", "--quiet", "."])?.is_ok()
            && here.run(&["ls-files", "-z", "."])?.ok()?.stdout.is_empty();
        if ignored {
            return Err(BackupError::Refused(format!(
                "the repository {} ignores this vault, so nothing would be backed up. Run `git init` in the vault to give it \
                 its own repository",
                repository.top.display()
            )));
        }
        Ok(repository)
    }

    fn find(root: &Path, signal: &TaskSignal) -> Result<Self, BackupError> {
        if !root.is_dir() {
            return Err(BackupError::Refused(format!("{} does not exist", root.display())));
        }
        let ran =
            Git::at(root, signal).run(&["rev-parse", "--show-toplevel", "--absolute-git-dir", "--show-prefix"])?;
        if !ran.is_ok() && ran.stderr.contains("not a git repository") {
            return Err(BackupError::NotARepository(root.to_owned()));
        }
        let text = String::from_utf8_lossy(&ran.ok()?.stdout).into_owned();
        let [top, git_dir, prefix, ""] = text.split('\n').collect::<Vec<_>>()[..] else {
            return Err(BackupError::Refused(format!(
                "the path of the repository of {} has a line break",
                root.display()
            )));
        };
        let (top, git_dir, prefix) = (PathBuf::from(top), PathBuf::from(git_dir), prefix.to_owned());
        Ok(Self { git: Git::at(&top, signal), top, git_dir, prefix })
    }

    /// When the vault was last committed; `None` when it never was.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn last_commit(&self) -> Result<Option<(String, SystemTime)>, BackupError> {
        let ran = self.git.run(&["log", "-1", "--format=%H %ct", "--", &self.pathspec()])?;
        // It fails where there is no commit at all.
        let text = ran.text();
        Ok(text.split_once(' ').filter(|_| ran.is_ok()).and_then(|(id, seconds)| {
            let seconds = Duration::from_secs(seconds.parse().ok()?);
            Some((id.to_owned(), SystemTime::UNIX_EPOCH + seconds))
        }))
    }

    fn pathspec(&self) -> String {
        if self.prefix.is_empty() { ".".into() } else { format!(":(literal){}", self.prefix) }
    }

    /// Commits what has changed in the vault, and nothing else, with a message that says what.
    ///
    /// What the person has staged outside of the vault stays staged.
    ///
    /// # Errors
    /// When the repository cannot take a commit now, or git or one of its hooks refuses. All files are as they were.
    pub(crate) fn commit(&self, message: Option<&str>) -> Result<BackupReport, BackupError> {
        self.check_state()?;
        self.try_commit(message).map_err(|error| match error {
            // Another git is at work, or was killed.
            BackupError::Failed { said, .. } if said.contains(GIT_LOCK) => BackupError::Refused(format!(
                "another git is running: {} exists. Try again when it has finished; if none is running, one was killed, \
                 and you can remove that file",
                self.git_dir.join(GIT_LOCK).display()
            )),
            error => error,
        })
    }

    /// Says when the person is in the middle of something that a commit would disturb.
    fn check_state(&self) -> Result<(), BackupError> {
        if let Some((_, what, drop)) = UNDER_WAY.into_iter().find(|(name, ..)| self.git_dir.join(name).exists()) {
            return Err(BackupError::Refused(format!(
                "{what} is under way in {}. Finish it, or drop it with `{drop}`; then `vault backup` again",
                self.top.display()
            )));
        }
        self.branch().map(drop)
    }

    /// The branch that is checked out.
    pub(super) fn branch(&self) -> Result<String, BackupError> {
        let ran = self.git.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        if ran.is_ok() {
            return Ok(ran.text());
        }
        let head = self.git.run(&["rev-parse", "--short", "HEAD"])?.ok()?.text();
        Err(BackupError::Refused(format!(
            "no branch is checked out (HEAD is detached at {head}), so a commit could get lost. Make a branch with `git switch \
             -c NAME`, or return to one with `git switch NAME`; then `vault backup` again"
        )))
    }

    fn try_commit(&self, text: Option<&str>) -> Result<BackupReport, BackupError> {
        // What is changed within a repository in the vault is its own affair; to find out, git would run what is set there.
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
        let status = [&status[..], &["--ignore-submodules=dirty", "--"]].concat();
        let status = self.git.run(&[&status[..], &[&self.pathspec()]].concat())?.ok()?;
        let Changes { files, unmerged, repositories } = Changes::parse(&status.stdout, &self.prefix);
        if !unmerged.is_empty() {
            return Err(BackupError::Refused(format!(
                "there are conflicts to resolve in {}. Resolve them and `git add` these files; then `vault backup` again",
                unmerged.join(", ")
            )));
        }
        let inner = |path: &String| Skipped {
            path: path.strip_prefix(&self.prefix).unwrap_or(path).to_owned(),
            reason: "it is a git repository; back it up separately".into(),
        };
        let held_back = repositories.iter().map(inner).collect();
        let commit = if files.is_empty() { None } else { self.commit_files(&files, text)? };
        Ok(BackupReport { commit, held_back, pushed: None })
    }

    fn commit_files(&self, files: &[ChangedFile], text: Option<&str>) -> Result<Option<BackupCommit>, BackupError> {
        let list = |wanted: &dyn Fn(&&ChangedFile) -> bool| -> Vec<u8> {
            files.iter().filter(wanted).flat_map(|change| [&change.path[..], b"\0"].concat()).collect()
        };
        let from_stdin = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let unstaged = list(&|change| change.unstaged);
        if !unstaged.is_empty() {
            let add = [&["--literal-pathspecs", "add", "--all"], &from_stdin[..]].concat();
            self.git.run_with(&add, &unstaged)?.ok()?;
        }
        let staged = self.git.run(&["diff", "--cached", "--name-only", "--no-renames", "-z"])?.ok()?.stdout;
        let mut staged = staged.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let ours = |path: &[u8]| files.binary_search_by(|change| change.path[..].cmp(path)).is_ok();
        let alone = staged.all(ours);
        let message = text.map_or_else(|| message(files, &self.prefix), str::to_owned);
        let identity = self.identity()?;
        let commit = ["--literal-pathspecs", "commit", "--quiet", "--cleanup=whitespace", "-m", &message];
        let mut args: Vec<&str> = identity.iter().map(String::as_str).chain(commit).collect();
        let ran = if alone {
            self.git.run(&args)?
        } else {
            // What the person took out of the index and keeps on disk would be put back: it stays as it is until later.
            let is_there = |path: &[u8]| self.top.join(&*String::from_utf8_lossy(path)).symlink_metadata().is_ok();
            let paths = list(&|change| !(change.untracked && is_there(&change.path)));
            if paths.is_empty() {
                return Ok(None);
            }
            args.push("--only");
            args.extend(from_stdin);
            self.git.run_with(&args, &paths)?
        };
        let nothing = ["nothing to commit", "nothing added to commit", "no changes added to commit"];
        if !ran.is_ok() && nothing.iter().any(|words| ran.text().contains(words)) {
            return Ok(None);
        }
        ran.ok()?;
        let id = self.git.run(&["rev-parse", "HEAD"])?.ok()?.text();
        let subject = message.lines().next().unwrap_or_default().to_owned();
        Ok(Some(BackupCommit { id, subject, counts: Counts::of(files) }))
    }

    /// What the person has set.
    fn config(&self, key: &str) -> Result<Option<String>, BackupError> {
        Ok(Some(self.git.run(&["config", "--get", key])?.text()).filter(|value| !value.is_empty()))
    }

    /// Options that give the commit an author where the person has named none.
    fn identity(&self) -> Result<Vec<String>, BackupError> {
        let mut options = Vec::new();
        if self.config("user.name")?.is_none() {
            let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
            options.extend(["-c".into(), format!("user.name={}", user.as_deref().unwrap_or("vault"))]);
        }
        if self.config("user.email")?.is_none() && std::env::var_os("EMAIL").is_none_or(|email| email.is_empty()) {
            options.extend(["-c".into(), "user.email=vault@localhost".into()]);
        }
        Ok(options)
    }

    /// Pushes the branch to where it belongs; says where that is. Nothing is forced.
    ///
    /// # Errors
    /// When there is no remote, or it refuses.
    pub(crate) fn push(&self) -> Result<String, BackupError> {
        let branch = self.branch()?;
        let upstream = self.config(&format!("branch.{branch}.remote"))?;
        let chosen = self.config(&format!("branch.{branch}.pushRemote"))?;
        let chosen = chosen.or(self.config("remote.pushDefault")?).or_else(|| upstream.clone());
        let remotes = self.git.run(&["remote"])?.ok()?.text();
        let remotes: Vec<&str> = remotes.lines().collect();
        let remote = match (chosen, &remotes[..]) {
            (Some(chosen), _) => chosen,
            (None, []) => {
                let none = "there is no remote to push to. Add one with `git remote add origin URL`; then `vault backup --push` \
                            again";
                return Err(BackupError::Refused(none.into()));
            }
            (None, [only]) => (*only).to_owned(),
            (None, several) if several.contains(&"origin") => "origin".into(),
            (None, _) => {
                return Err(BackupError::Refused(format!(
                    "{branch} has no upstream, and there are several remotes. Choose one once with `git push --set-upstream \
                     REMOTE {branch}`"
                )));
            }
        };
        let merged = self.config(&format!("branch.{branch}.merge"))?.filter(|_| upstream.as_ref() == Some(&remote));
        let target = merged.unwrap_or_else(|| format!("refs/heads/{branch}"));
        let ran = self.git.run(&["push", "--quiet", "--", &remote, &format!("HEAD:{target}")])?;
        if !ran.is_ok() && ["non-fast-forward", "fetch first"].iter().any(|words| ran.stderr.contains(words)) {
            return Err(BackupError::Refused(format!(
                "the remote {remote} refused, because it has commits that are not here. Run `git pull --rebase`, then `vault \
                 backup --push` again. It said: {}",
                ran.said()
            )));
        }
        ran.ok()?;
        Ok(format!("{remote} {}", target.strip_prefix("refs/heads/").unwrap_or(&target)))
    }
}

/// A file that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Its path from the repository's top, as git spells it.
    pub(super) path: Vec<u8>,
    pub(super) kind: ChangeKind,
    /// Whether the index does not have it as it is on disk.
    pub(super) unstaged: bool,
    /// Whether the index has it no more, although it is on disk: taken out by the person.
    pub(super) untracked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Changed,
    New,
    Removed,
}

/// What `git status` said of a vault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) files: Vec<ChangedFile>,
    /// Files with conflicts in the index.
    pub(super) unmerged: Vec<String>,
    /// Folders that are repositories of their own.
    pub(super) repositories: Vec<String>,
}

/// How many files a commit changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Files with other content.
    pub changed: usize,
    /// Files that were not there before.
    pub new: usize,
    /// Files that are there no more.
    pub removed: usize,
}

impl Changes {
    /// Reads `git status --porcelain=v1 -z --no-renames`. What is below `.vault` and `.trash` of the vault, whose folder is
    /// `prefix`, does not count.
    pub(super) fn parse(status: &[u8], prefix: &str) -> Self {
        let mut changes = Self::default();
        for entry in status.split(|byte| *byte == 0) {
            let Some(([index, disk, b' '], path)) = entry.split_first_chunk() else { continue };
            match (index, disk) {
                _ if is_own(path, prefix) => {}
                (b'?', _) => changes.untracked(path),
                (b'U', _) | (_, b'U') | (b'A', b'A') | (b'D', b'D') => {
                    changes.unmerged.push(String::from_utf8_lossy(path).into())
                }
                (index, disk) => {
                    let kind = match (index, disk) {
                        // Of one that HEAD does not have: staged, and deleted since.
                        (b'D', _) | (_, b'D') => ChangeKind::Removed,
                        (b'A', _) | (_, b'A') => ChangeKind::New,
                        _ => ChangeKind::Changed,
                    };
                    let (path, unstaged, untracked) = (path.to_owned(), *disk != b' ', *index == b'D');
                    changes.files.push(ChangedFile { path, kind, unstaged, untracked });
                }
            }
        }
        changes.files.sort_by(|one, two| one.path.cmp(&two.path));
        changes
    }

    fn untracked(&mut self, path: &[u8]) {
        if path.ends_with(b"/") {
            return self.repositories.push(String::from_utf8_lossy(path).into_owned());
        }
        // Taken out of the index and not ignored: it goes in again.
        match self.files.iter_mut().find(|change| change.untracked && change.path == path) {
            Some(change) => {
                (change.kind, change.unstaged, change.untracked) = (ChangeKind::Changed, true, false);
            }
            None => {
                let (path, kind) = (path.to_owned(), ChangeKind::New);
                self.files.push(ChangedFile { path, kind, unstaged: true, untracked: false });
            }
        }
    }
}

/// Whether a path is the program's own, finished or not, or in the bin, whatever `.gitignore` says.
fn is_own(path: &[u8], prefix: &str) -> bool {
    let below = path.strip_prefix(prefix.as_bytes()).unwrap_or(path);
    let top = below.split(|byte| *byte == b'/').next().unwrap_or_default();
    let name = below.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    top == b".vault" || top == b".trash" || name.starts_with(UNFINISHED.as_bytes())
}

impl Counts {
    pub(super) fn of(files: &[ChangedFile]) -> Self {
        let count = |kind| files.iter().filter(|change| change.kind == kind).count();
        Self { changed: count(ChangeKind::Changed), new: count(ChangeKind::New), removed: count(ChangeKind::Removed) }
    }
}

/// The length up to which git's own lists show a subject whole.
const SUBJECT: usize = 72;

/// A message that says what a commit changes: the numbers and some names, in a line. `git log --stat` lists all.
pub(super) fn message(files: &[ChangedFile], prefix: &str) -> String {
    let Counts { changed, new, removed } = Counts::of(files);
    let notes = files.iter().all(|change| is_markdown(&String::from_utf8_lossy(&change.path)));
    let thing = if notes { "note" } else { "file" };
    let counts = [(changed, "changed"), (new, "new"), (removed, "removed")].into_iter().filter(|(count, _)| *count > 0);
    let part = |(at, (count, what))| match (at, count) {
        (0, 1) => format!("1 {thing} {what}"),
        (0, _) => format!("{count} {thing}s {what}"),
        _ => format!("{count} {what}"),
    };
    let parts: Vec<String> = counts.enumerate().map(part).collect();
    let name = |change: &ChangedFile| {
        let path = String::from_utf8_lossy(change.path.strip_prefix(prefix.as_bytes()).unwrap_or(&change.path));
        path.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect::<String>()
    };
    let mut message = format!("{}: ", parts.join(", "));
    for (at, change) in files.iter().enumerate() {
        let (name, comma) = (name(change), if at == 0 { "" } else { ", " });
        let left = if at + 1 < files.len() { ", …".len() } else { 0 };
        if at > 0 && message.chars().count() + name.chars().count() + comma.len() + left > SUBJECT {
            message.push_str(", …");
            break;
        }
        message.push_str(comma);
        message.push_str(&name);
    }
    message
}

/// Interval at which the clock is checked: a machine that slept, or was set to another time, is not late by more.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Starts to back up the vault at `root`: at once where the last commit is older than `every`.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn back_up(root: PathBuf, trust: Trust, every: Duration) -> Result<Task<Backup>, FsError> {
    let (mut logged, mut before) = (HashSet::new(), None);
    Task::start("backup", TaskSignal::default(), move |signal, state: &Mutex<Backup>| {
        let repository = || Repository::open(&root, Some(&trust), signal);
        let before = before.get_or_insert_with(|| {
            let last = repository().and_then(|repository| repository.last_commit()).ok().flatten();
            lock(state).last_commit = last.as_ref().map(|(id, _)| id.clone());
            last.map(|(_, at)| at)
        });
        // A commit of the future was made by another clock: it counts as made just now.
        let since = before.map_or(every, |before| before.elapsed().unwrap_or_default());
        if let Some(left) = every.checked_sub(since).filter(|left| !left.is_zero()) {
            return Some(left.min(CHECK_INTERVAL));
        }
        let result = repository().and_then(|repository| repository.commit(None));
        if result.is_ok() {
            *before = Some(SystemTime::now());
        }
        if let Some(failure) = tell(&mut lock(state), result)
            && logged.insert(failure.clone())
        {
            tracing::warn!("backup: {failure}");
        }
        Some(every.min(CHECK_INTERVAL))
    })
}

/// Keeps what a backup came to; gives what is wrong.
fn tell(state: &mut Backup, result: Result<BackupReport, BackupError>) -> Option<String> {
    state.failure = match result {
        Ok(report) => {
            state.last_at = Some(rfc3339(Clock::default().now().as_millisecond()));
            if let Some(commit) = report.commit {
                tracing::info!("backup: {}", commit.subject);
                state.last_commit = Some(commit.id);
            }
            let held: Vec<String> =
                report.held_back.iter().map(|held| format!("{}: {}", held.path, held.reason)).collect();
            (!held.is_empty()).then(|| format!("left out: {}", held.join("; ")))
        }
        Err(BackupError::Cancelled) => return None,
        Err(error) => Some(error.to_string()),
    };
    state.failure.clone()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The word of the person for the vault at this place of this machine. It does not come along with a copy.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    file: PathBuf,
    place: String,
}

impl Trust {
    /// That of a vault.
    pub(crate) fn of(home: &Home) -> Self {
        Self { file: home.state_dir().join("backed-up-by-hand"), place: home.place() }
    }

    /// Whether it was given.
    pub(crate) fn is_given(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|place| place.trim() == self.place)
    }

    /// Gives it.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub(crate) fn give(&self) -> Result<(), FsError> {
        if self.is_given() {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            create_private_dir(folder)?;
        }
        write_atomically(&self.file, format!("{}\n", self.place).as_bytes(), 0o600)
    }
}

#[cfg(test)]
mod tests_of_changes {
    use super::*;

    #[test]
    fn reads_what_git_says() {
        let status = " M vault/a b.md\0D  vault/secret.md\0D  vault/back.md\0 D vault/gone.md\0 M vault/.trash/old.md\0\
                      UU vault/torn.md\0?? vault/back.md\0?? vault/new.md\0?? vault/.vault/x\0?? vault/.vault-tmp-1a2b\0\
                      ?? vault/a/.vault-tmp-1a2b\0?? vault/nested/\0";
        let changes = Changes::parse(status.as_bytes(), "vault/");
        let told: Vec<_> = changes
            .files
            .iter()
            .map(|change| (std::str::from_utf8(&change.path).unwrap(), change.kind, change.unstaged, change.untracked))
            .collect();
        assert_eq!(
            told,
            [
                ("vault/a b.md", ChangeKind::Changed, true, false),
                ("vault/back.md", ChangeKind::Changed, true, false),
                ("vault/gone.md", ChangeKind::Removed, true, false),
                ("vault/new.md", ChangeKind::New, true, false),
                ("vault/secret.md", ChangeKind::Removed, false, true),
            ]
        );
        assert_eq!(
            (changes.unmerged, changes.repositories),
            (vec!["vault/torn.md".into()], vec!["vault/nested/".into()])
        );
    }

    #[test]
    fn a_message_says_what_happened_and_fits_a_line() {
        let change = |path: &str, kind| ChangedFile { path: path.into(), kind, unstaged: true, untracked: false };
        let one = [change("v/notes/a.md", ChangeKind::Changed)];
        assert_eq!(message(&one, "v/"), "1 note changed: notes/a.md");
        let three = [
            change("a.md", ChangeKind::Changed),
            change("b\nc.md", ChangeKind::New),
            change("d.png", ChangeKind::Removed),
        ];
        let told = message(&three, "");
        assert_eq!(told, "1 file changed, 1 new, 1 removed: a.md, b\u{fffd}c.md, d.png");
        let many: Vec<ChangedFile> = (0..300).map(|at| change(&format!("notes/{at}.md"), ChangeKind::New)).collect();
        let told = message(&many, "");
        assert!(told.starts_with("300 notes new: notes/0.md, ") && told.ends_with(", …"), "{told}");
        assert!(told.chars().count() <= SUBJECT, "{told}");
    }
}

#[cfg(test)]
mod tests_of_trust {
    use super::*;

    #[test]
    fn it_does_not_come_along_with_a_copy() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let trust = |folder: &tempfile::TempDir| {
            fs::write(folder.path().join("memory.toml"), "").unwrap();
            Trust::of(&Home::open(folder.path()).unwrap())
        };
        let (mine, copy) = (trust(&one), trust(&other));
        assert!(!mine.is_given());
        mine.give().unwrap();
        assert!(mine.is_given());
        fs::create_dir_all(copy.file.parent().unwrap()).unwrap();
        fs::copy(&mine.file, &copy.file).unwrap();
        assert!(!copy.is_given());
    }
}
