//! The repository that a vault is in: whether it can take a commit now, and the commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::changes::{ChangedFile, Changes, Counts, message};
use super::error::BackupError;
use super::git::{Cancel, Git, is_set};
use super::trust::Trust;
use crate::base::fs::{Context, FsError};
use crate::text::note::has_conflict;
use crate::vault::disk::{GIT_LOCK, UNDER_WAY};

/// Maximum time that another git is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// Maximum size of a file that is searched for conflict markers, in bytes: no note is as long.
const MAX_MARKED: u64 = 20_000_000;

/// The repository that a vault is in.
#[derive(Debug)]
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
    /// What was left out of it, and why.
    pub held_back: Vec<HeldBack>,
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

/// A file or folder that was left out of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HeldBack {
    /// Where it is in the vault.
    pub path: String,
    /// Why, and what to do about it.
    pub reason: String,
}

/// What became of a new vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Initialized {
    /// It is a repository now.
    Made,
    /// It is inside one already, which is left as it is.
    Inside(PathBuf),
}

/// Makes a new vault a repository with a first commit, unless it is inside one.
///
/// # Errors
/// When git is not there or fails. The vault is none the worse.
pub(crate) fn init_repository(root: &Path) -> Result<Initialized, BackupError> {
    let cancel = Cancel::default();
    match Repository::find(root, &cancel) {
        Ok(repository) => return Ok(Initialized::Inside(repository.top)),
        Err(BackupError::NotARepository(_)) => {}
        Err(error) => return Err(error),
    }
    Git::at(root, &cancel).run(&["init", "--quiet"])?.ok()?;
    Repository::open(root, &cancel)?.commit(Some("A new vault"))?;
    Ok(Initialized::Made)
}

impl Repository {
    /// Finds the repository that the vault at `root` is in.
    ///
    /// # Errors
    /// When there is none, or it leaves the vault out.
    pub(crate) fn open(root: &Path, cancel: &Cancel) -> Result<Self, BackupError> {
        Self::find(root, cancel)?.unless_ignored(root, cancel)
    }

    /// The same for a backup that nobody has asked for just now: a repository that was never backed up by hand may have hooks and settings
    /// by which git runs a program that came with it.
    ///
    /// # Errors
    /// As [`Repository::open`], and when it was never backed up by hand.
    pub(crate) fn open_unasked(root: &Path, trust: &Trust, cancel: &Cancel) -> Result<Self, BackupError> {
        let repository = Self::find(root, cancel)?;
        if !trust.is_given() {
            return Err(BackupError::NeverByHand);
        }
        repository.unless_ignored(root, cancel)
    }

    fn unless_ignored(self, root: &Path, cancel: &Cancel) -> Result<Self, BackupError> {
        let ignored = !self.prefix.is_empty()
            && Git::at(root, cancel).run(&["check-ignore", "--quiet", "."])?.is_ok()
            && Git::at(root, cancel).run(&["ls-files", "-z", "."])?.ok()?.stdout.is_empty();
        if ignored { Err(BackupError::Ignored(self.top)) } else { Ok(self) }
    }

    fn find(root: &Path, cancel: &Cancel) -> Result<Self, BackupError> {
        if !root.is_dir() {
            return Err(BackupError::NotThere(root.to_owned()));
        }
        let here = Git::at(root, cancel);
        let asked = |what: &str| -> Result<String, BackupError> {
            let ran = here.run(&["rev-parse", what])?;
            if !ran.is_ok() && ran.stderr.contains("not a git repository") {
                return Err(BackupError::NotARepository(root.to_owned()));
            }
            let ran = ran.ok()?;
            let text = String::from_utf8_lossy(&ran.stdout);
            Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
        };
        let top = PathBuf::from(asked("--show-toplevel")?);
        let git_dir = PathBuf::from(asked("--absolute-git-dir")?);
        let prefix = asked("--show-prefix")?;
        Ok(Self { git: Git::at(&top, cancel), top, git_dir, prefix })
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
    /// Notes with conflict markers are held back. What the person has staged outside of the vault stays staged.
    ///
    /// # Errors
    /// When the repository cannot take a commit now, or git or one of its hooks refuses. All files are as they were.
    pub(crate) fn commit(&self, message: Option<&str>) -> Result<BackupReport, BackupError> {
        self.check_state()?;
        for _ in 0..3 {
            match self.try_commit(message) {
                Err(BackupError::Failed { said, .. }) if said.contains("did not match any file") => {}
                Err(BackupError::Failed { said, .. }) if said.contains(GIT_LOCK) => {
                    return Err(BackupError::Locked(self.git_dir.join(GIT_LOCK)));
                }
                result => return result,
            }
        }
        Err(BackupError::Restless)
    }

    /// Says when the person is in the middle of something that a commit would disturb.
    fn check_state(&self) -> Result<(), BackupError> {
        if let Some((_, what, drop)) = UNDER_WAY.into_iter().find(|(name, ..)| self.git_dir.join(name).exists()) {
            return Err(BackupError::UnderWay { repository: self.top.clone(), what, drop });
        }
        self.branch()?;
        let lock = self.git_dir.join(GIT_LOCK);
        let started = Instant::now();
        while lock.exists() {
            if started.elapsed() > LOCK_PATIENCE {
                return Err(BackupError::Locked(lock));
            }
            if !self.git.pause() {
                return Err(BackupError::Cancelled);
            }
        }
        Ok(())
    }

    /// The branch that is checked out.
    pub(super) fn branch(&self) -> Result<String, BackupError> {
        let ran = self.git.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        if ran.is_ok() {
            return Ok(ran.text());
        }
        Err(BackupError::Detached(self.git.run(&["rev-parse", "--short", "HEAD"])?.ok()?.text()))
    }

    fn try_commit(&self, text: Option<&str>) -> Result<BackupReport, BackupError> {
        // What is changed within a repository in the vault is its own affair; to find out, git would run what is set there.
        let status = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"];
        let status = [&status[..], &["--ignore-submodules=dirty", "--"]].concat();
        let status = self.git.run(&[&status[..], &[&self.pathspec()]].concat())?.ok()?;
        let Changes { mut files, unmerged, repositories } = Changes::parse(&status.stdout, &self.prefix);
        if !unmerged.is_empty() {
            return Err(BackupError::Unmerged(unmerged));
        }
        let mut held_back = self.hold_back(&mut files);
        held_back.extend(repositories.iter().map(|path| HeldBack {
            path: self.in_vault(path),
            reason: "it is a git repository; back it up separately".into(),
        }));
        let commit = if files.is_empty() { None } else { self.commit_files(&files, text)? };
        Ok(BackupReport { commit, held_back, pushed: None })
    }

    fn in_vault(&self, path: &str) -> String {
        path.strip_prefix(&self.prefix).unwrap_or(path).to_owned()
    }

    /// Takes the notes with conflict markers out of what is to be committed.
    fn hold_back(&self, files: &mut Vec<ChangedFile>) -> Vec<HeldBack> {
        let mut held = Vec::new();
        files.retain(|change| {
            let path = String::from_utf8_lossy(&change.path).into_owned();
            let marked = [".md", ".markdown"].iter().any(|end| path.ends_with(end))
                && read_if_short(&self.top.join(&path)).is_ok_and(|text| has_conflict(&text));
            if marked {
                let reason = "it has conflict markers (`<<<<<<<`): resolve them, and back up again";
                held.push(HeldBack { path: self.in_vault(&path), reason: reason.into() });
            }
            !marked
        });
        held
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
            let paths = list(&|change| !(change.untracked && self.is_there(&change.path)));
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

    fn is_there(&self, path: &[u8]) -> bool {
        self.top.join(&*String::from_utf8_lossy(path)).symlink_metadata().is_ok()
    }

    /// Options that give the commit an author where the person has named none.
    fn identity(&self) -> Result<Vec<String>, BackupError> {
        let configured = |key: &str| Ok::<_, BackupError>(!self.git.run(&["config", "--get", key])?.text().is_empty());
        let mut options = Vec::new();
        if !configured("user.name")? {
            let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
            options.extend(["-c".into(), format!("user.name={}", user.as_deref().unwrap_or("vault"))]);
        }
        if !configured("user.email")? && !is_set("EMAIL") {
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
        let config = |key: &str| -> Result<Option<String>, BackupError> {
            Ok(Some(self.git.run(&["config", "--get", key])?.text()).filter(|value| !value.is_empty()))
        };
        let upstream = config(&format!("branch.{branch}.remote"))?;
        let chosen = match config(&format!("branch.{branch}.pushRemote"))? {
            None => config("remote.pushDefault")?.or_else(|| upstream.clone()),
            chosen => chosen,
        };
        let remotes = self.git.run(&["remote"])?.ok()?.text();
        let remotes: Vec<&str> = remotes.lines().collect();
        let remote = match (chosen, &remotes[..]) {
            (Some(chosen), _) => chosen,
            (None, []) => return Err(BackupError::NoRemote),
            (None, [only]) => (*only).to_owned(),
            (None, several) if several.contains(&"origin") => "origin".into(),
            (None, _) => return Err(BackupError::WhichRemote(branch)),
        };
        let merged = config(&format!("branch.{branch}.merge"))?.filter(|_| upstream.as_ref() == Some(&remote));
        let target = merged.unwrap_or_else(|| format!("refs/heads/{branch}"));
        let ran = self.git.run(&["push", "--quiet", "--", &remote, &format!("HEAD:{target}")])?;
        if !ran.is_ok() && ["non-fast-forward", "fetch first"].iter().any(|words| ran.stderr.contains(words)) {
            return Err(BackupError::Behind { remote, said: ran.said() });
        }
        ran.ok()?;
        Ok(format!("{remote} {}", target.strip_prefix("refs/heads/").unwrap_or(&target)))
    }
}

fn read_if_short(path: &Path) -> Result<String, FsError> {
    let meta = path.symlink_metadata().on("look at", path)?;
    if !meta.is_file() || meta.len() > MAX_MARKED {
        return Ok(String::new());
    }
    Ok(String::from_utf8_lossy(&fs::read(path).on("read", path)?).into_owned())
}
