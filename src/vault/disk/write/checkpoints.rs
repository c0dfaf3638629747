//! What files were before they were changed, kept so that every change can be undone; and why a file was not changed.
//!
//! A checkpoint is two files: what is known of the change, and what the file had.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fmt, fs};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::base::fs::{Context, FsError, create_private_dir, remove_file, sync_folder, write_atomically};
use crate::base::path::VaultPath;

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
        Act { by: Some(agent), ..self.into() }
    }

    /// The action as one of several people asked for it.
    pub(crate) fn of_person(self, name: &str) -> Act<'_> {
        Act { person: Some(name), ..self.into() }
    }

    /// The action as the log of changes and the list of checkpoints name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Forget => "forget",
            Self::Trash => "trash",
            Self::Restore => "restore",
        }
    }

    /// The action as something else than the person or an agent does it: `program browser`, `retention`.
    pub fn done_by(self, what: &str) -> Act<'_> {
        Act { program: Some(what), ..self.into() }
    }
}

/// What is to be done to a file, and who asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    pub(super) action: Action,
    /// The agent; people and their programs have no name here.
    pub(super) by: Option<&'a str>,
    /// Who of several people it is.
    pub(super) person: Option<&'a str>,
    /// What does it, if neither the person nor an agent, as the log of changes says it.
    pub(super) program: Option<&'a str>,
    /// The id of the request.
    pub(super) request: Option<&'a str>,
    pub(super) written: u64,
    pub(super) quota: Option<Quota>,
    /// Whether it goes on with what was [typed](Act::typed) just before.
    pub(super) typed: bool,
}

impl From<Action> for Act<'_> {
    fn from(action: Action) -> Self {
        Self { action, by: None, person: None, program: None, request: None, written: 0, quota: None, typed: false }
    }
}

impl<'a> Act<'a> {
    /// The same as a person types it: what they type into a file within a few minutes is undone as one change.
    pub(crate) fn typed(self) -> Self {
        Self { typed: true, ..self }
    }

    /// The same as a request with an id asks for it, which may be sent again.
    pub(crate) fn requested(self, id: Option<&'a str>) -> Self {
        Self { request: id, ..self }
    }

    /// Who it is, as the log of changes says it.
    pub(super) fn who(&self) -> String {
        match (self.by, self.program, self.person) {
            (Some(agent), _, _) => format!("agent {agent}"),
            (None, Some(program), _) => program.to_owned(),
            (None, None, Some(name)) => format!("person {name}"),
            (None, None, None) => "owner".into(),
        }
    }

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
    /// When the change was made; of several in a row the first.
    pub at: Timestamp,
    /// When the last of several was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Timestamp>,
    /// The file.
    pub path: VaultPath,
    /// The change.
    pub action: Action,
    /// The agent that asked for it; `None` when it was the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The person who did, of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The id of the request, by which it is known when it is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
    /// How many bytes the file had; `None` when it was not there.
    pub bytes: Option<u64>,
    /// BLAKE3 of the file as it was, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    /// When the file was changed before, in milliseconds since 1970; `None` when it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changed_ms: Option<i64>,
    /// How many bytes an agent brought.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) written: u64,
    /// The file's permission bits.
    pub(super) mode: Option<u32>,
    /// BLAKE3 of the file after the change, in hexadecimal; `None` when it is gone.
    pub(super) after: Option<String>,
    /// Where it was moved to.
    pub(super) trashed: Option<VaultPath>,
    /// Whether the person typed it, so that what they type next can become a part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) typed: bool,
    /// BLAKE3 of the file before the last change that became a part of it: whoever is killed before that is made leaves this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) between: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Checkpoint {
    /// Whether it is of a file that was moved to the trash.
    pub(crate) fn is_of_trash(&self) -> bool {
        self.trashed.is_some()
    }

    /// When the change was made, or the last of several in a row.
    pub(crate) fn last_at(&self) -> Timestamp {
        self.until.unwrap_or(self.at)
    }

    /// Whether the file, as its hash says, is as the change left it; `None` where there is no file.
    pub(super) fn has_left(&self, now: Option<&blake3::Hash>) -> bool {
        let now = now.map(|now| now.to_hex().to_string());
        now == self.after || (now.is_some() && now == self.between)
    }

    /// Whether a request with an id made the change.
    pub(crate) fn is_of(&self, request: &str) -> bool {
        self.request.as_deref() == Some(request)
    }

    /// Whether the file, as its hash says, is what it was before the change.
    pub(crate) fn is_undone_by(&self, now: &blake3::Hash) -> bool {
        self.before.as_deref() == Some(now.to_hex().as_str())
    }
}

/// The name of a checkpoint: when it was made, to the millisecond in UTC, and four digits that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct CheckpointId(String);

impl CheckpointId {
    pub(super) fn new(at: Timestamp, salt: blake3::Hash) -> Self {
        Self(format!("{}-{}", at.strftime("%Y%m%dT%H%M%S%3f"), &salt.to_hex()[..4]))
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pattern = b"dddddddd\x54ddddddddd-xxxx";
        let fits = text.len() == pattern.len()
            && text.bytes().zip(pattern).all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
                other => byte == *other,
            });
        if fits { Ok(Self(text.to_owned())) } else { Err("a checkpoint's name looks like 20260105T183000123-a1b2") }
    }
}

/// How much one agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Checkpoints. When there are more, its oldest go.
    pub checkpoints: usize,
    /// Their bytes on disk, likewise.
    pub checkpoint_bytes: u64,
    /// Bytes that it writes within 24 hours.
    pub written_bytes_per_day: u64,
}

/// Why a note was not written. Whatever it is, the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No note may be there.
    #[error("`{path}` cannot be written: {reason}")]
    Refused {
        /// Where.
        path: String,
        /// Why, as the end of a sentence.
        reason: &'static str,
    },
    /// There is something already.
    #[error("`{0}` already exists")]
    Exists(VaultPath),
    /// There is nothing.
    #[error("there is no note `{0}`")]
    Gone(VaultPath),
    /// Somebody else has changed it since it was read.
    #[error("`{0}` has changed since; nothing was written")]
    Changed(VaultPath),
    /// No checkpoint has this name.
    #[error("there is no checkpoint {0}; `vault undo --list` lists them all")]
    NoCheckpoint(CheckpointId),
    /// An agent has written as much as it may.
    #[error("the limit of {0} bytes per day is reached; nothing was written")]
    TooMuch(u64),
    /// The disk refused.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// Maximum time since the first of several changes that the person types into a file and that are undone as one.
const TYPING: SignedDuration = SignedDuration::from_mins(5);
/// Maximum age of a checkpoint.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum bytes of all checkpoints; the oldest go first.
pub(super) const MAX_BYTES: u64 = 1 << 30;
/// A day, as quotas count it: back from now.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The checkpoints of one vault.
#[derive(Debug)]
pub(super) struct Checkpoints {
    folder: PathBuf,
    known: Mutex<KnownCheckpoints>,
}

/// What is remembered of the checkpoints of agents.
#[derive(Debug, Default)]
struct KnownCheckpoints {
    loaded: bool,
    /// What each agent has had of its quota.
    agents: HashMap<String, BTreeMap<CheckpointId, AgentChange>>,
}

/// A change that an agent made.
#[derive(Debug)]
struct AgentChange {
    at: Timestamp,
    /// Bytes that it brought. What was written today was written, whether or not it can be undone still.
    written: u64,
    /// Bytes of its checkpoint; `None` where that is gone, or is of a note of the person: what undoes that is not dropped for the next.
    kept: Option<u64>,
}

impl KnownCheckpoints {
    fn add(&mut self, checkpoint: &Checkpoint, size: u64) {
        if let Some(by) = &checkpoint.by {
            let is_own = checkpoint.path.as_str().starts_with(&format!("agents/{by}/"));
            let kept = is_own.then_some(size);
            let change = AgentChange { at: checkpoint.at, written: checkpoint.written, kept };
            self.agents.entry(by.clone()).or_default().insert(checkpoint.id.clone(), change);
        }
    }

    /// Begins anew with what there is.
    fn forget_kept(&mut self) {
        self.loaded = false;
        self.agents.values_mut().flat_map(BTreeMap::values_mut).for_each(|change| change.kept = None);
    }

    /// Which of an agent's checkpoints are too many: the oldest, so many that not every further change drops one.
    fn excess(&self, by: &str, quota: &Quota) -> BTreeSet<CheckpointId> {
        let changes = self.agents.get(by).into_iter().flatten();
        let kept: Vec<(&CheckpointId, u64)> = changes.filter_map(|(id, change)| Some((id, change.kept?))).collect();
        let (mut count, mut bytes) = (kept.len(), kept.iter().map(|(_, size)| size).sum::<u64>());
        if count <= quota.checkpoints && bytes <= quota.checkpoint_bytes {
            return BTreeSet::new();
        }
        let (most, most_bytes) = (quota.checkpoints / 4 * 3, quota.checkpoint_bytes / 4 * 3);
        // What undoes the last change stays in any case.
        let older = kept.iter().take(kept.len() - 1);
        let excess = older.take_while(|(_, size)| {
            let goes = count > most || bytes > most_bytes;
            count -= 1;
            bytes -= size;
            goes
        });
        excess.map(|(id, _)| (*id).clone()).collect()
    }
}

impl Checkpoints {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, KnownCheckpoints> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is, looked up once.
    fn known(&self) -> Result<MutexGuard<'_, KnownCheckpoints>, FsError> {
        let mut known = self.lock();
        if !known.loaded {
            self.list()?.iter().for_each(|checkpoint| known.add(checkpoint, self.size(&checkpoint.id)));
            known.loaded = true;
        }
        Ok(known)
    }

    fn file(&self, id: &CheckpointId, extension: &str) -> PathBuf {
        self.folder.join(format!("{id}.{extension}"))
    }

    /// Bytes of both files of a checkpoint.
    fn size(&self, id: &CheckpointId) -> u64 {
        let bytes = |extension| self.file(id, extension).symlink_metadata().map_or(0, |meta| meta.len());
        bytes("json") + bytes("content")
    }

    fn paths(&self) -> Result<Vec<PathBuf>, FsError> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => Ok(entries.on("list", &self.folder)?.flatten().map(|entry| entry.path()).collect()),
        }
    }

    /// Says whether an agent may make a change.
    pub(super) fn admit(&self, act: &Act<'_>) -> Result<(), WriteError> {
        let (Some(by), Some(quota)) = (act.by, &act.quota) else { return Ok(()) };
        let (mut known, now) = (self.known()?, Timestamp::now());
        let is_of_today = |change: &AgentChange| now.duration_since(change.at) < DAY;
        let changes = known.agents.entry(by.to_owned()).or_default();
        changes.retain(|_, change| change.kept.is_some() || is_of_today(change));
        let today = changes.values().filter(|change| is_of_today(change));
        let sum = act.written + today.map(|change| change.written).sum::<u64>();
        if act.written > 0 && sum > quota.written_bytes_per_day {
            return Err(WriteError::TooMuch(quota.written_bytes_per_day));
        }
        Ok(())
    }

    /// Drops what an agent has too much of: its own, and nobody else's.
    pub(super) fn trim(&self, act: &Act<'_>) -> Result<(), WriteError> {
        let (Some(by), Some(quota)) = (act.by, &act.quota) else { return Ok(()) };
        let excess = self.known()?.excess(by, quota);
        self.remove_all(excess)
    }

    /// A name that no checkpoint has.
    pub(super) fn name(&self, path: &VaultPath, at: Timestamp) -> CheckpointId {
        let mut salt = blake3::Hasher::new();
        salt.update(path.as_str().as_bytes()).update(&at.as_nanosecond().to_le_bytes());
        loop {
            let id = CheckpointId::new(at, salt.finalize());
            if !self.file(&id, "json").exists() {
                return id;
            }
            salt.update(b"+");
        }
    }

    /// Keeps what a file had. Durable when this returns, and only then may the file be changed.
    pub(super) fn keep(&self, checkpoint: &Checkpoint, content: Option<&[u8]>) -> Result<(), FsError> {
        create_private_dir(&self.folder)?;
        if let Some(content) = content {
            write_atomically(&self.file(&checkpoint.id, "content"), content, 0o600)?;
        }
        self.tell(checkpoint)?;
        if checkpoint.by.is_some() {
            self.known()?.add(checkpoint, self.size(&checkpoint.id));
        }
        Ok(())
    }

    /// Writes what is known of a change.
    fn tell(&self, checkpoint: &Checkpoint) -> Result<(), FsError> {
        let path = self.file(&checkpoint.id, "json");
        let json = serde_json::to_vec_pretty(checkpoint).map_err(std::io::Error::other).on("encode", &path)?;
        write_atomically(&path, &json, 0o600)
    }

    /// Has the checkpoint of what the person typed into a file just before, if they did and nobody has changed the file since, undo one more
    /// change: the one that makes of `had` what has the hash `after`. Durable when this returns, and only then may the file be changed.
    pub(super) fn go_on(
        &self,
        path: &VaultPath,
        person: Option<&str>,
        had: &[u8],
        after: blake3::Hash,
    ) -> Result<Option<CheckpointId>, FsError> {
        let last = self.since(Timestamp::now() - TYPING)?.into_iter().find(|last| last.path == *path);
        let had = blake3::hash(had);
        let Some(last) =
            last.filter(|last| last.typed && last.person.as_deref() == person && last.has_left(Some(&had)))
        else {
            return Ok(None);
        };
        let [between, after] = [had, after].map(|hash| Some(hash.to_hex().to_string()));
        let last = Checkpoint { between, after, until: Some(Timestamp::now()), ..last };
        self.tell(&last)?;
        Ok(Some(last.id))
    }

    /// The checkpoint with a name, and what the file had.
    pub(super) fn get(&self, id: &CheckpointId) -> Result<(Checkpoint, Option<Vec<u8>>), WriteError> {
        let checkpoint = self.about(id)?;
        if checkpoint.bytes.is_none() {
            return Ok((checkpoint, None));
        }
        let path = self.file(id, "content");
        let content = fs::read(&path).on("read", &path)?;
        if checkpoint.before.as_ref().is_some_and(|before| blake3::hash(&content).to_hex().as_str() != before) {
            return Err(std::io::Error::other("it is damaged")).on("read", &path)?;
        }
        Ok((checkpoint, Some(content)))
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

    /// All of them, newest first. One that cannot be read is left out.
    pub(super) fn list(&self) -> Result<Vec<Checkpoint>, FsError> {
        self.since(Timestamp::UNIX_EPOCH)
    }

    /// Those from a moment on, newest first.
    pub(super) fn since(&self, at: Timestamp) -> Result<Vec<Checkpoint>, FsError> {
        let first = CheckpointId::new(at, blake3::Hash::from_bytes([0; 32]));
        let mut paths = self.paths()?;
        paths.retain(|path| {
            path.extension().is_some_and(|end| end == "json") && id_of(path).is_some_and(|id| id >= first)
        });
        let mut found: Vec<Checkpoint> =
            paths.iter().filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect();
        found.sort_by(|one, two| (two.last_at(), &two.id).cmp(&(one.last_at(), &one.id)));
        Ok(found)
    }

    fn remove(&self, id: &CheckpointId) -> Result<(), FsError> {
        // What names it goes first: content without a name is nothing.
        ["json", "content"].into_iter().try_for_each(|extension| remove_file(&self.file(id, extension)))
    }

    /// Removes the checkpoint of a change that was not made after all.
    pub(super) fn take_back(&self, id: &CheckpointId) {
        self.lock().agents.values_mut().for_each(|changes| _ = changes.remove(id));
        let _ = self.remove(id);
    }

    /// Removes checkpoints.
    pub(super) fn remove_all(&self, gone: BTreeSet<CheckpointId>) -> Result<(), WriteError> {
        if gone.is_empty() {
            return Ok(());
        }
        let result = gone.iter().try_for_each(|id| self.remove(id));
        self.lock().forget_kept();
        result?;
        // A power failure brings none of them back.
        Ok(sync_folder(&self.folder.join("any"))?)
    }

    /// Drops what a killed process left: files that were not whole, and what a file had that no checkpoint tells of.
    pub(super) fn clear_unfinished(&self) -> Result<(), FsError> {
        for path in self.paths()? {
            let told = id_of(&path).is_some_and(|id| self.file(&id, "json").exists());
            if !told && !path.is_dir() {
                fs::remove_file(&path).on("remove", &path)?;
            }
        }
        Ok(())
    }

    /// Drops what is too old, the oldest of what is too much, and what a killed process left half written.
    pub(super) fn prune(&self, now: SystemTime, max_bytes: u64) -> Result<(), WriteError> {
        self.clear_unfinished()?;
        // They begin with their times.
        let names: BTreeSet<CheckpointId> = self.paths()?.iter().filter_map(|path| id_of(path)).collect();
        let mut sum = 0;
        let mut gone = BTreeSet::new();
        for id in names.into_iter().rev() {
            let Ok(meta) = self.file(&id, "json").symlink_metadata() else { continue };
            let age = meta.modified().ok().and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default();
            sum += self.size(&id);
            if age > MAX_AGE || sum > max_bytes {
                gone.insert(id);
            }
        }
        self.remove_all(gone)
    }
}

/// The permission bits of a file, where there is one and the system has them.
pub(super) fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    path.symlink_metadata().ok().map(|meta| meta.permissions().mode() & 0o777)
}

/// The checkpoint that a file in the folder is of.
fn id_of(path: &Path) -> Option<CheckpointId> {
    path.file_stem()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// Each time a millisecond later at least, so that checkpoints have an order.
    fn later() -> Timestamp {
        static LATER: AtomicI64 = AtomicI64::new(0);
        Timestamp::now() + SignedDuration::from_millis(LATER.fetch_add(1, Ordering::Relaxed))
    }

    fn kept(checkpoints: &Checkpoints, path: &str, content: &[u8]) -> CheckpointId {
        kept_by(checkpoints, path, content, None, 0)
    }

    /// Kept by an agent, if any, that has written so much with it.
    fn kept_by(
        checkpoints: &Checkpoints,
        path: &str,
        content: &[u8],
        agent: Option<&str>,
        written: u64,
    ) -> CheckpointId {
        let path = VaultPath::new(path).unwrap();
        let at = later();
        let id = checkpoints.name(&path, at);
        let checkpoint = Checkpoint {
            id: id.clone(),
            at,
            until: None,
            path,
            action: Action::Edit,
            by: agent.map(Into::into),
            person: None,
            request: None,
            bytes: Some(content.len() as u64),
            before: Some(blake3::hash(content).to_hex().to_string()),
            changed_ms: None,
            written,
            mode: Some(0o644),
            after: None,
            trashed: None,
            typed: false,
            between: None,
        };
        checkpoints.keep(&checkpoint, Some(content)).unwrap();
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
        let new = kept(&checkpoints, "a.md", &[b'b'; 5000]);
        fs::write(folder.path().join(".vault-tmp-abc"), "half").unwrap();
        fs::write(folder.path().join("20260105T183000123-a1b2.content"), "of no checkpoint").unwrap();
        checkpoints.prune(SystemTime::now(), 8000).unwrap();
        assert!(matches!(checkpoints.get(&old), Err(WriteError::NoCheckpoint(_))));
        assert_eq!(checkpoints.get(&new).unwrap().1.unwrap().len(), 5000);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        checkpoints.prune(SystemTime::now() + MAX_AGE + Duration::from_secs(60), MAX_BYTES).unwrap();
        assert_eq!(checkpoints.list().unwrap(), []);
    }

    #[test]
    fn what_is_damaged_is_not_taken_for_what_it_was_and_goes_like_others() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let id = kept(&checkpoints, "a.md", b"two\n");
        fs::write(checkpoints.file(&id, "content"), "tWo\n").unwrap();
        assert!(matches!(checkpoints.get(&id), Err(WriteError::Fs(_))));
        checkpoints.remove_all(BTreeSet::from([id])).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_agent_has_so_much_and_drops_only_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let mine = kept(&checkpoints, "notes/mine.md", &[b'm'; 9000]);
        let quota = Quota { checkpoints: 8, checkpoint_bytes: 50_000, written_bytes_per_day: 1000 };
        let by = |agent: &'static str, bytes: usize| {
            let act = Action::Edit.by(agent).within(quota, 50);
            checkpoints.admit(&act)?;
            let path = format!("agents/{agent}/MEMORY.md");
            let id = kept_by(&checkpoints, &path, &vec![b'a'; bytes], Some(agent), act.written);
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
