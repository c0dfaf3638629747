//! What files were before they were changed, kept so that every change can be undone.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::checkpoint::{Act, Checkpoint, CheckpointId};
use super::contents::{Contents, id_of};
use super::error::WriteError;
use super::tally::QuotaTally;
use crate::base::fs::{Context, FsError, create_private_dir, write_atomically};
use crate::base::path::VaultPath;

/// Maximum age of a checkpoint.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum bytes of all checkpoints; the oldest go first.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of checkpoints in a row that hold only what came since the one before. What is damaged in one is missing
/// in all that go on with it.
const MAX_LINKS: usize = 32;

/// The checkpoints of one vault.
#[derive(Debug)]
pub(super) struct Checkpoints {
    contents: Contents,
    known: Mutex<KnownCheckpoints>,
}

/// What is remembered of the checkpoints that there are.
#[derive(Debug, Default)]
struct KnownCheckpoints {
    loaded: bool,
    latest: HashMap<VaultPath, Latest>,
    tally: QuotaTally,
}

/// The last checkpoint of a file, for the next one to go on with.
#[derive(Debug)]
struct Latest {
    checkpoint: Checkpoint,
    links: usize,
    /// Whether this process wrote what it has, or has read it whole.
    sound: bool,
}

impl KnownCheckpoints {
    fn add(&mut self, checkpoint: &Checkpoint, goes_on: bool, size: u64, sound: bool) {
        self.tally.add(checkpoint, size);
        let links = self.latest.get(&checkpoint.path).filter(|_| goes_on).map_or(0, |latest| latest.links + 1);
        if checkpoint.bytes.is_some_and(|bytes| bytes > 0) && checkpoint.before.is_some() {
            let latest = Latest { checkpoint: checkpoint.clone(), links, sound };
            self.latest.insert(checkpoint.path.clone(), latest);
        } else {
            self.latest.remove(&checkpoint.path);
        }
    }
}

impl Checkpoints {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { contents: Contents { folder }, known: Mutex::default() }
    }

    /// What there is, looked up once.
    fn known(&self) -> Result<MutexGuard<'_, KnownCheckpoints>, FsError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.loaded {
            for checkpoint in self.list()?.iter().rev() {
                known.add(checkpoint, self.contents.goes_on(checkpoint), self.size(&checkpoint.id), false);
            }
            known.loaded = true;
        }
        Ok(known)
    }

    /// Bytes of both files of a checkpoint.
    fn size(&self, id: &CheckpointId) -> u64 {
        self.contents.size(id, "json") + self.contents.size(id, "content")
    }

    /// Says whether an agent may make a change.
    pub(super) fn admit(&self, act: &Act<'_>) -> Result<(), WriteError> {
        let (Some(by), Some(quota)) = (act.by, &act.quota) else { return Ok(()) };
        self.known()?.tally.admit(by, act.written, quota, Timestamp::now())
    }

    /// Drops what an agent has too much of: its own, and nobody else's.
    pub(super) fn trim(&self, act: &Act<'_>) -> Result<(), WriteError> {
        let (Some(by), Some(quota)) = (act.by, &act.quota) else { return Ok(()) };
        let excess = self.known()?.tally.excess(by, quota);
        self.remove_all(excess.into_iter().collect())
    }

    /// A name that no checkpoint has.
    pub(super) fn name(&self, path: &VaultPath, at: Timestamp) -> CheckpointId {
        let mut salt = blake3::Hasher::new();
        salt.update(path.as_str().as_bytes()).update(&at.as_nanosecond().to_le_bytes());
        loop {
            let id = CheckpointId::new(at, salt.finalize());
            if !self.contents.file(&id, "json").exists() {
                return id;
            }
            salt.update(b"+");
        }
    }

    /// Keeps what a file had. Durable when this returns, and only then may the file be changed.
    pub(super) fn keep(&self, checkpoint: &mut Checkpoint, content: Option<&[u8]>) -> Result<(), FsError> {
        create_private_dir(&self.contents.folder)?;
        let mut known = self.known()?;
        let mut held = content.unwrap_or_default();
        checkpoint.before = content.map(|content| blake3::hash(content).to_hex().to_string());
        if let Some(latest) = known.latest.get_mut(&checkpoint.path)
            && let Some((base, rest)) = self.rest_after(latest, held)
        {
            (checkpoint.base, held) = (Some(base), rest);
        }
        if content.is_some() {
            write_atomically(&self.contents.file(&checkpoint.id, "content"), held, 0o600)?;
        }
        let path = self.contents.file(&checkpoint.id, "json");
        let json = serde_json::to_vec_pretty(checkpoint).map_err(std::io::Error::other).on("encode", &path)?;
        write_atomically(&path, &json, 0o600)?;
        known.add(checkpoint, checkpoint.base.is_some(), (held.len() + json.len()) as u64, true);
        Ok(())
    }

    /// What a file has grown by since its last checkpoint, where it begins with all that it had and that is sure to be kept.
    fn rest_after<'a>(&self, latest: &mut Latest, content: &'a [u8]) -> Option<(CheckpointId, &'a [u8])> {
        let base = &latest.checkpoint;
        let (had, rest) = content.split_at_checked(base.bytes? as usize)?;
        let same = || base.before.as_deref() == Some(blake3::hash(had).to_hex().as_str());
        if latest.links >= MAX_LINKS || !self.contents.file(&base.id, "json").exists() || !same() {
            return None;
        }
        latest.sound = latest.sound || self.contents.of(base).is_ok_and(|kept| kept == had);
        latest.sound.then(|| (base.id.clone(), rest))
    }

    /// The checkpoint with a name, and what the file had.
    pub(super) fn get(&self, id: &CheckpointId) -> Result<(Checkpoint, Option<Vec<u8>>), WriteError> {
        let checkpoint = self.about(id)?;
        let content = checkpoint.bytes.map(|_| self.contents.of(&checkpoint)).transpose()?;
        Ok((checkpoint, content))
    }

    /// What is known of a change.
    pub(super) fn about(&self, id: &CheckpointId) -> Result<Checkpoint, WriteError> {
        self.contents.about(id)
    }

    /// All of them, newest first. One that cannot be read is left out.
    pub(super) fn list(&self) -> Result<Vec<Checkpoint>, FsError> {
        let paths = self.contents.paths()?;
        let told = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut found: Vec<Checkpoint> =
            told.filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect();
        found.sort_by(|one, two| two.id.cmp(&one.id));
        Ok(found)
    }

    /// Those of a file from a moment on, oldest first.
    pub(super) fn since(&self, file: &VaultPath, at_ms: i64) -> Result<Vec<Checkpoint>, FsError> {
        let from = Timestamp::from_millisecond(at_ms).unwrap_or_default();
        let first = CheckpointId::new(from, blake3::Hash::from_bytes([0; 32]));
        let is_later = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "json") && id_of(path).is_some_and(|id| id >= first)
        };
        let paths = self.contents.paths()?.into_iter().filter(is_later);
        let read = paths.filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok());
        let mut found: Vec<Checkpoint> = read.filter(|checkpoint: &Checkpoint| checkpoint.path == *file).collect();
        found.sort_by(|one, two| one.id.cmp(&two.id));
        Ok(found)
    }

    /// Removes the checkpoint of a change that was not made after all.
    pub(super) fn take_back(&self, id: &CheckpointId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tally.remove(id, true);
        known.latest.retain(|_, latest| latest.checkpoint.id != *id);
        drop(known);
        let _ = self.contents.remove(id);
    }

    /// Removes checkpoints. Those that stay and go on with one of them are made whole first; where one cannot be, as it is
    /// damaged or the disk is full, what it goes on with stays as well.
    pub(super) fn remove_all(&self, mut gone: BTreeSet<CheckpointId>) -> Result<(), WriteError> {
        if gone.is_empty() {
            return Ok(());
        }
        let all = self.list()?;
        let leans = |kept: &&Checkpoint| {
            !gone.contains(&kept.id)
                && kept.base.as_ref().is_some_and(|base| gone.contains(base))
                && self.contents.goes_on(kept)
        };
        let leaning: Vec<&Checkpoint> = all.iter().filter(leans).collect();
        // Where that cannot be told, all of the file.
        let chain = |kept: &Checkpoint| -> Vec<CheckpointId> {
            let same_file = || all.iter().filter(|other| other.path == kept.path).map(|other| other.id.clone());
            self.contents.chain(kept).unwrap_or_else(|_| same_file().collect())
        };
        let needed: BTreeSet<CheckpointId> = leaning.iter().flat_map(|kept| chain(kept)).collect();
        // A disk that is full has room for the rest then. The newest first: should the process be killed, each that is left has
        // what it goes on with.
        let result = gone.iter().rev().filter(|id| !needed.contains(id)).try_for_each(|id| self.contents.remove(id));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.loaded = false;
        known.latest.clear();
        known.tally.forget_kept();
        drop(known);
        result?;
        gone.retain(|id| needed.contains(id));
        for kept in leaning {
            if let Err(error) = self.contents.make_whole(kept) {
                tracing::warn!("a checkpoint of `{}` keeps those before it: {error}", kept.path);
                let chain = chain(kept);
                gone.retain(|id| !chain.contains(id));
            }
        }
        gone.iter().rev().try_for_each(|id| self.contents.remove(id))?;
        // A power failure brings none of them back.
        Ok(self.contents.sync()?)
    }

    /// Drops what a killed process left: files that were not whole, and what a file had that no checkpoint tells of.
    pub(super) fn clear_unfinished(&self) -> Result<(), FsError> {
        for path in self.contents.paths()? {
            let told = id_of(&path).is_some_and(|id| self.contents.file(&id, "json").exists());
            if !told && !path.is_dir() {
                fs::remove_file(&path).on("remove", &path)?;
            }
        }
        Ok(())
    }

    /// Drops what is too old, the oldest of what is too much, and what a killed process left half written.
    pub(super) fn prune(&self, now: SystemTime) -> Result<(), WriteError> {
        self.prune_to(now, MAX_BYTES)
    }

    fn prune_to(&self, now: SystemTime, max_bytes: u64) -> Result<(), WriteError> {
        self.clear_unfinished()?;
        let mut names: Vec<CheckpointId> = self.contents.paths()?.iter().filter_map(|path| id_of(path)).collect();
        // They begin with their times.
        names.sort_unstable_by(|one, two| two.cmp(one));
        names.dedup();
        let mut sum = 0;
        let mut gone = BTreeSet::new();
        for id in names {
            let Ok(meta) = self.contents.file(&id, "json").symlink_metadata() else { continue };
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use jiff::SignedDuration;

    use super::super::checkpoint::{Action, Quota};
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
        let mut checkpoint = Checkpoint {
            id: id.clone(),
            at,
            path,
            action: Action::Edit,
            by: agent.map(Into::into),
            bytes: Some(content.len() as u64),
            before: None,
            base: None,
            changed_ms: None,
            written,
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
            made.push((kept(&checkpoints, "a.md", &text), text.clone()));
            text.extend(format!("line {at}\n").bytes());
        }
        // One of 33 holds all.
        assert!(bytes() < 250_000, "{}", bytes());
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
        assert!(bytes() < 450_000, "{}", bytes());
        all_there(&checkpoints, &made);
        // Those that stay need nothing of those that go.
        let gone: BTreeSet<CheckpointId> = made.drain(..20).map(|(id, _)| id).collect();
        checkpoints.remove_all(gone.clone()).unwrap();
        assert!(matches!(checkpoints.get(gone.first().unwrap()), Err(WriteError::NoCheckpoint(_))));
        all_there(&checkpoints, &made);
        made.push((kept(&checkpoints, "a.md", &text), text.clone()));
        all_there(&checkpoints, &made);
        assert!(bytes() < 550_000, "{}", bytes());
        // What is damaged is not taken for what it was.
        let (id, had) = made.swap_remove(3);
        fs::write(checkpoints.contents.file(&id, "content"), "other").unwrap();
        assert!(checkpoints.get(&id).is_err(), "{}", had.len());
    }

    #[test]
    fn what_is_damaged_costs_no_other_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let content = |id: &CheckpointId| checkpoints.get(id).ok().and_then(|(_, content)| content);
        let texts = ["one\n", "one\ntwo\n", "one\ntwo\nthree\n"];
        let ids = texts.map(|text| kept(&checkpoints, "a.md", text.as_bytes()));
        let second = checkpoints.contents.file(&ids[1], "content");
        assert_eq!(fs::read(&second).unwrap(), b"two\n");
        // What goes on with the first cannot be read: the first stays, and all is there when that can be mended.
        fs::write(&second, "tWo\n").unwrap();
        checkpoints.remove_all(BTreeSet::from([ids[0].clone()])).unwrap();
        assert!(content(&ids[0]).is_some() && content(&ids[1]).is_none() && content(&ids[2]).is_none());
        fs::write(&second, "two\n").unwrap();
        assert_eq!(content(&ids[2]).unwrap(), texts[2].as_bytes());
        // Nothing goes on with what this process has not read whole.
        fs::write(&second, "tWo\n").unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned());
        let next = kept(&checkpoints, "a.md", b"one\ntwo\nthree\nfour\n");
        assert_eq!(checkpoints.get(&next).unwrap().1.unwrap(), b"one\ntwo\nthree\nfour\n");
        // And what is to go for good goes, damaged or not.
        checkpoints.remove_all(checkpoints.list().unwrap().into_iter().map(|kept| kept.id).collect()).unwrap();
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
