//! What files were before they were changed, kept so that every change can be undone.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::WriteError;
use super::quota::{Quota, Tally};
use crate::fs::{Context, FsError, create_private_dir, write_atomically};
use crate::path::VaultPath;

/// So old a checkpoint is dropped.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// So many bytes are kept in all; the oldest go first.
const MAX_BYTES: u64 = 1 << 30;

/// So many checkpoints may hold only what came since the one before, until one holds the whole file again.
const MAX_LINKS: usize = 256;

/// The name of a checkpoint: when it was made, to the millisecond in UTC, and four digits that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckpointId(String);

/// A text that is not the name of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a checkpoint's name looks like 20260105T183000123-a1b2")]
pub struct CheckpointIdError;

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = CheckpointIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pattern = b"dddddddd\x54ddddddddd-xxxx";
        let fits = text.len() == pattern.len()
            && text.bytes().zip(pattern).all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
                other => byte == *other,
            });
        if fits { Ok(Self(text.to_owned())) } else { Err(CheckpointIdError) }
    }
}

impl TryFrom<String> for CheckpointId {
    type Error = CheckpointIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CheckpointId> for String {
    fn from(id: CheckpointId) -> Self {
        id.0
    }
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It was made.
    Create,
    /// Its text was changed.
    Edit,
    /// A part of it was removed.
    Forget,
    /// It was moved to `.trash/`.
    Trash,
    /// It was brought back.
    Restore,
}

impl Action {
    /// The action as an agent asked for it.
    pub fn by(self, agent: &str) -> Act<'_> {
        Act { action: self, by: Some(agent), written: 0, quota: None }
    }
}

/// What is to be done to a file, and who asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    pub(super) action: Action,
    /// The agent; the person and their programs have no name here.
    pub(super) by: Option<&'a str>,
    pub(super) written: u64,
    pub(super) quota: Option<Quota>,
}

impl From<Action> for Act<'_> {
    fn from(action: Action) -> Self {
        Self { action, by: None, written: 0, quota: None }
    }
}

impl Act<'_> {
    /// The same for an agent that brings `written` bytes and may have so much.
    #[must_use]
    pub fn within(self, quota: Quota, written: u64) -> Self {
        Self { written, quota: Some(quota), ..self }
    }
}

/// A file as it was before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its name.
    pub id: CheckpointId,
    /// When the change was made.
    pub at: Timestamp,
    /// The file.
    pub path: VaultPath,
    /// The change.
    pub action: Action,
    /// The agent that asked for it; `None` when it was the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How many bytes the file had; `None` when it was not there.
    pub bytes: Option<u64>,
    /// BLAKE3 of the file as it was, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    /// The checkpoint of the same file whose content comes before what this one holds; `None` where it holds all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<CheckpointId>,
    /// How many bytes an agent brought.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) written: u64,
    /// The file's permission bits.
    pub(super) mode: Option<u32>,
    /// BLAKE3 of the file after the change, in hexadecimal; `None` when it is gone.
    pub(super) after: Option<String>,
    /// Where it was moved to.
    pub(super) trashed: Option<VaultPath>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Checkpoint {
    /// Whether it holds all that the file had. One that goes on with another holds less, as that one has something.
    fn is_whole(&self, held: u64) -> bool {
        self.base.is_none() || self.bytes == Some(held)
    }
}

/// The checkpoints of one vault, each of two files: what the file had, and what is known of the change. Where the file began
/// with all that the checkpoint before had, only the rest is held, so that a file which grows is not copied for every line.
#[derive(Debug)]
pub(super) struct Checkpoints {
    folder: PathBuf,
    known: Mutex<Known>,
}

/// What is remembered of the checkpoints that there are.
#[derive(Debug, Default)]
struct Known {
    loaded: bool,
    latest: HashMap<VaultPath, Latest>,
    tally: Tally,
}

/// The last checkpoint of a file, for the next one to go on with.
#[derive(Debug)]
struct Latest {
    id: CheckpointId,
    bytes: usize,
    before: String,
    /// The length of what it holds itself: of one that was tampered with nothing goes on.
    held: u64,
    links: usize,
}

impl Known {
    fn add(&mut self, checkpoint: &Checkpoint, held: u64, size: u64) {
        self.tally.add(checkpoint, size);
        let links = match (&checkpoint.base, self.latest.get(&checkpoint.path)) {
            (Some(_), Some(latest)) if !checkpoint.is_whole(held) => latest.links + 1,
            _ => 0,
        };
        match (checkpoint.bytes, &checkpoint.before) {
            (Some(bytes @ 1..), Some(before)) => {
                let (id, before) = (checkpoint.id.clone(), before.clone());
                let latest = Latest { id, bytes: bytes as usize, before, held, links };
                self.latest.insert(checkpoint.path.clone(), latest);
            }
            _ => drop(self.latest.remove(&checkpoint.path)),
        }
    }
}

impl Checkpoints {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// What there is, looked up once.
    fn known(&self) -> Result<MutexGuard<'_, Known>, FsError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.loaded {
            for checkpoint in self.list()?.iter().rev() {
                let held = self.size(&checkpoint.id, "content");
                known.add(checkpoint, held, held + self.size(&checkpoint.id, "json"));
            }
            known.loaded = true;
        }
        Ok(known)
    }

    fn size(&self, id: &CheckpointId, extension: &str) -> u64 {
        self.file(id, extension).symlink_metadata().map_or(0, |meta| meta.len())
    }

    /// Says whether an agent may make a change.
    pub(super) fn admit(&self, act: &Act<'_>) -> Result<(), WriteError> {
        let (Some(by), Some(quota)) = (act.by, &act.quota) else { return Ok(()) };
        self.known()?.tally.admit(by, act.written, quota, Timestamp::now())
    }

    /// Drops what an agent has too much of: its own, and nobody else's.
    pub(super) fn trim(&self, act: &Act<'_>) -> Result<(), FsError> {
        let (Some(by), Some(quota)) = (act.by, &act.quota) else { return Ok(()) };
        let excess = self.known()?.tally.excess(by, quota);
        self.remove_all(&excess.into_iter().collect())
    }

    fn file(&self, id: &CheckpointId, extension: &str) -> PathBuf {
        self.folder.join(format!("{id}.{extension}"))
    }

    /// A name that no checkpoint has.
    pub(super) fn name(&self, path: &VaultPath) -> CheckpointId {
        let now = Timestamp::now();
        let mut salt = blake3::Hasher::new();
        salt.update(path.as_str().as_bytes()).update(&now.as_nanosecond().to_le_bytes());
        loop {
            let digits = salt.finalize().to_hex();
            let id = CheckpointId(format!("{}-{}", now.strftime("%Y%m%dT%H%M%S%3f"), &digits[..4]));
            if !self.file(&id, "json").exists() {
                return id;
            }
            salt.update(b"+");
        }
    }

    /// Keeps what a file had. Durable when this returns, and only then may the file be changed.
    pub(super) fn keep(&self, checkpoint: &mut Checkpoint, content: Option<&[u8]>) -> Result<(), FsError> {
        create_private_dir(&self.folder)?;
        let mut known = self.known()?;
        let mut held = content.unwrap_or_default();
        checkpoint.before = content.map(|content| blake3::hash(content).to_hex().to_string());
        let latest = known.latest.get(&checkpoint.path).filter(|latest| latest.links < MAX_LINKS);
        let is_there = |latest: &&Latest| {
            self.file(&latest.id, "json").exists() && self.size(&latest.id, "content") == latest.held
        };
        if let Some(latest) = latest.filter(is_there)
            && let Some((had, rest)) = held.split_at_checked(latest.bytes)
            && blake3::hash(had).to_hex().as_str() == latest.before
        {
            checkpoint.base = Some(latest.id.clone());
            held = rest;
        }
        if content.is_some() {
            write_atomically(&self.file(&checkpoint.id, "content"), held, 0o600)?;
        }
        let path = self.file(&checkpoint.id, "json");
        let json = serde_json::to_vec_pretty(checkpoint).map_err(std::io::Error::other).on("encode", &path)?;
        write_atomically(&path, &json, 0o600)?;
        known.add(checkpoint, held.len() as u64, (held.len() + json.len()) as u64);
        Ok(())
    }

    /// The checkpoint with a name, and what the file had.
    pub(super) fn get(&self, id: &CheckpointId) -> Result<(Checkpoint, Option<Vec<u8>>), WriteError> {
        let checkpoint = self.about(id)?;
        let content = checkpoint.bytes.map(|_| self.content(&checkpoint)).transpose()?;
        Ok((checkpoint, content))
    }

    /// What is known of a change.
    pub(super) fn about(&self, id: &CheckpointId) -> Result<Checkpoint, WriteError> {
        let path = self.file(id, "json");
        let json = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(WriteError::NoCheckpoint(id.clone()));
            }
            json => json.on("read", &path)?,
        };
        Ok(serde_json::from_slice(&json).map_err(std::io::Error::other).on("read", &path)?)
    }

    /// What a file had: what its checkpoint holds, behind what those hold that it goes on with.
    fn content(&self, checkpoint: &Checkpoint) -> Result<Vec<u8>, WriteError> {
        let damaged = || std::io::Error::other("what it goes on with is not what it was");
        let path = self.file(&checkpoint.id, "content");
        let mut parts = Vec::new();
        let mut at = checkpoint.clone();
        loop {
            let held = self.file(&at.id, "content");
            let held = fs::read(&held).on("read", &held)?;
            let whole = at.is_whole(held.len() as u64);
            parts.push(held);
            let Some(base) = at.base.filter(|_| !whole) else { break };
            if parts.len() > MAX_LINKS + 1 {
                return Err(damaged()).on("read", &path)?;
            }
            at = self.about(&base).map_err(|_| damaged()).on("read", &path)?;
        }
        parts.reverse();
        let content = parts.concat();
        match &checkpoint.before {
            Some(before) if blake3::hash(&content).to_hex().as_str() != before => Err(damaged()).on("read", &path)?,
            _ => Ok(content),
        }
    }

    /// All of them, newest first. One that cannot be read is left out.
    pub(super) fn list(&self) -> Result<Vec<Checkpoint>, FsError> {
        let mut found: Vec<Checkpoint> = self
            .names()?
            .iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            .collect();
        found.sort_by(|one, two| two.id.cmp(&one.id));
        Ok(found)
    }

    fn names(&self) -> Result<Vec<PathBuf>, FsError> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => Ok(entries.on("list", &self.folder)?.flatten().map(|entry| entry.path()).collect()),
        }
    }

    /// Removes the checkpoint of a change that was not made after all.
    pub(super) fn take_back(&self, id: &CheckpointId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tally.remove(id, true);
        known.latest.retain(|_, latest| latest.id != *id);
        drop(known);
        let _ = self.remove(id);
    }

    /// Removes checkpoints, whose content those that stay need no more then.
    pub(super) fn remove_all(&self, gone: &BTreeSet<CheckpointId>) -> Result<(), FsError> {
        if gone.is_empty() {
            return Ok(());
        }
        let goes = |id: &Option<CheckpointId>| id.as_ref().is_some_and(|id| gone.contains(id));
        for checkpoint in self.list()?.iter().filter(|kept| !gone.contains(&kept.id) && goes(&kept.base)) {
            let path = self.file(&checkpoint.id, "content");
            if checkpoint.is_whole(self.size(&checkpoint.id, "content")) {
                continue;
            }
            match self.content(checkpoint) {
                Ok(content) => write_atomically(&path, &content, 0o600)?,
                Err(error) => tracing::warn!("{error}"),
            }
        }
        // The newest first: should the process be killed, each that is left has what it goes on with.
        for id in gone.iter().rev() {
            self.remove(id)?;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.loaded = false;
        known.latest.clear();
        known.tally.forget_kept();
        Ok(())
    }

    fn remove(&self, id: &CheckpointId) -> Result<(), FsError> {
        // What names it goes first: content without a name is nothing.
        for extension in ["json", "content"] {
            let path = self.file(id, extension);
            match fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.on("remove", &path)?,
            }
        }
        Ok(())
    }

    /// Drops what a killed process left: files that were not whole, and what a file had that no checkpoint tells of.
    pub(super) fn clear_unfinished(&self) -> Result<(), FsError> {
        for path in self.names()? {
            let told = named(&path).is_some_and(|id| self.file(&id, "json").exists());
            if !told && !path.is_dir() {
                fs::remove_file(&path).on("remove", &path)?;
            }
        }
        Ok(())
    }

    /// Drops what is too old, the oldest of what is too much, and what a killed process left half written.
    pub(super) fn prune(&self, now: SystemTime) -> Result<(), FsError> {
        self.prune_to(now, MAX_BYTES)
    }

    fn prune_to(&self, now: SystemTime, max_bytes: u64) -> Result<(), FsError> {
        self.clear_unfinished()?;
        let mut names: Vec<CheckpointId> = self.names()?.iter().filter_map(|path| named(path)).collect();
        // They begin with their times.
        names.sort_unstable_by(|one, two| two.cmp(one));
        names.dedup();
        let mut sum = 0;
        let mut gone = BTreeSet::new();
        for id in names {
            let Ok(meta) = self.file(&id, "json").symlink_metadata() else { continue };
            let age = meta.modified().ok().and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default();
            sum += meta.len() + self.size(&id, "content");
            if age > MAX_AGE || sum > max_bytes {
                gone.insert(id);
            }
        }
        self.remove_all(&gone)
    }
}

fn named(path: &Path) -> Option<CheckpointId> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// The permission bits of a file, where there is one and the system has them.
pub(super) fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.symlink_metadata().ok().map(|meta| meta.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(checkpoints: &Checkpoints, path: &str, content: &[u8]) -> CheckpointId {
        let path = VaultPath::new(path).unwrap();
        let id = checkpoints.name(&path);
        let mut checkpoint = Checkpoint {
            id: id.clone(),
            at: Timestamp::now(),
            path,
            action: Action::Edit,
            by: None,
            bytes: Some(content.len() as u64),
            before: None,
            base: None,
            written: 0,
            mode: Some(0o644),
            after: None,
            trashed: None,
        };
        checkpoints.keep(&mut checkpoint, Some(content)).unwrap();
        id
    }

    #[test]
    fn names_are_what_they_look_like() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().join("checkpoints"));
        let id = kept(&checkpoints, "a.md", b"text");
        assert_eq!(id.to_string().parse::<CheckpointId>().unwrap(), id);
        for bad in ["", "../../etc/passwd", "20260105T183000123-A1B2", "20260105T183000123-a1b2/", "2026"] {
            assert!(bad.parse::<CheckpointId>().is_err(), "{bad}");
        }
        assert_eq!(checkpoints.get(&id).unwrap().1.unwrap(), b"text");
    }

    #[test]
    fn what_is_old_or_too_much_goes() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let old = kept(&checkpoints, "a.md", &[b'a'; 5000]);
        std::thread::sleep(Duration::from_millis(2));
        let new = kept(&checkpoints, "a.md", &[b'b'; 5000]);
        fs::write(folder.path().join(".vault-tmp-abc"), "half").unwrap();
        fs::write(folder.path().join("20260105T183000123-a1b2.content"), "of no checkpoint").unwrap();
        checkpoints.prune_to(SystemTime::now(), 8000).unwrap();
        assert!(matches!(checkpoints.get(&old), Err(WriteError::NoCheckpoint(_))));
        assert_eq!(checkpoints.get(&new).unwrap().1.unwrap().len(), 5000);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        checkpoints.prune(SystemTime::now() + MAX_AGE + Duration::from_secs(60)).unwrap();
        assert_eq!(checkpoints.list().unwrap(), []);
    }

    #[test]
    fn what_a_file_grew_by_is_kept_and_not_the_file_again() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let mut text = vec![b'x'; 100_000];
        let mut made: Vec<(CheckpointId, Vec<u8>)> = Vec::new();
        let bytes = || -> u64 {
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
        };
        for at in 0..40 {
            std::thread::sleep(Duration::from_millis(2));
            made.push((kept(&checkpoints, "a.md", &text), text.clone()));
            text.extend(format!("line {at}\n").bytes());
        }
        assert!(bytes() < 150_000, "{}", bytes());
        let all_there = |checkpoints: &Checkpoints, made: &[(CheckpointId, Vec<u8>)]| {
            made.iter().for_each(|(id, had)| assert_eq!(checkpoints.get(id).unwrap().1.as_ref(), Some(had)));
        };
        all_there(&checkpoints, &made);
        // So it is after a start, and where another file and another beginning come in between.
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        kept(&checkpoints, "b.md", &text);
        made.push((kept(&checkpoints, "a.md", &text), text.clone()));
        text[0] = b'y';
        made.push((kept(&checkpoints, "a.md", &text), text.clone()));
        assert!(bytes() < 350_000, "{}", bytes());
        all_there(&checkpoints, &made);
        // Those that stay need nothing of those that go.
        let gone: BTreeSet<CheckpointId> = made.drain(..20).map(|(id, _)| id).collect();
        checkpoints.remove_all(&gone).unwrap();
        assert!(matches!(checkpoints.get(gone.first().unwrap()), Err(WriteError::NoCheckpoint(_))));
        all_there(&checkpoints, &made);
        made.push((kept(&checkpoints, "a.md", &text), text.clone()));
        all_there(&checkpoints, &made);
        assert!(bytes() < 500_000, "{}", bytes());
        // What is damaged is not taken for what it was.
        let (id, had) = made.swap_remove(3);
        fs::write(checkpoints.file(&id, "content"), "other").unwrap();
        assert!(checkpoints.get(&id).is_err(), "{}", had.len());
    }

    #[test]
    fn an_agent_has_so_much_and_drops_only_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let mine = kept(&checkpoints, "notes/mine.md", &[b'm'; 9000]);
        let quota = Quota { checkpoints: 8, checkpoint_bytes: 50_000, written_bytes_per_day: 1000 };
        let by = |agent: &'static str, bytes: usize| {
            std::thread::sleep(Duration::from_millis(2));
            let act = Action::Edit.by(agent).within(quota, 50);
            checkpoints.admit(&act)?;
            let path = VaultPath::new(format!("agents/{agent}/MEMORY.md")).unwrap();
            let id = checkpoints.name(&path);
            let mut checkpoint = Checkpoint {
                id: id.clone(),
                at: Timestamp::now(),
                path,
                action: Action::Edit,
                by: Some(agent.into()),
                bytes: Some(bytes as u64),
                before: None,
                base: None,
                written: act.written,
                mode: None,
                after: None,
                trashed: None,
            };
            checkpoints.keep(&mut checkpoint, Some(&vec![b'a'; bytes])).unwrap();
            checkpoints.trim(&act).unwrap();
            Ok::<_, WriteError>(id)
        };
        let of = |agent: &str| {
            let all = checkpoints.list().unwrap();
            all.into_iter().filter(|kept| kept.by.as_deref() == Some(agent)).map(|kept| kept.id).collect::<Vec<_>>()
        };
        let theirs = by("bob", 10).unwrap();
        let made: Vec<CheckpointId> = (0..20).map(|at| by("ada", 100 + at).unwrap()).collect();
        let left = of("ada");
        assert!(left.len() <= 8 && left.first() == made.last(), "{left:?}");
        assert_eq!(checkpoints.get(made.last().unwrap()).unwrap().1.unwrap().len(), 119);
        assert!(checkpoints.get(&mine).is_ok() && checkpoints.get(&theirs).is_ok());
        // The 21st of 50 bytes is too much for a day, whatever was dropped; for another it is not, nor what was never made.
        assert!(matches!(by("ada", 200), Err(WriteError::TooMuch(1000))));
        checkpoints.take_back(&by("bob", 20).unwrap());
        assert_eq!(of("bob"), [theirs]);
        checkpoints.take_back(made.last().unwrap());
        assert!(by("ada", 200).is_ok());
        // By their bytes as well; what undoes the last change stays.
        let last = by("cat", 60_000).unwrap();
        assert_eq!(of("cat"), std::slice::from_ref(&last));
        let next = by("cat", 10).unwrap();
        assert_eq!(of("cat"), [next]);
    }
}
