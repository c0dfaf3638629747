//! Events that wait, as files: as earlier versions kept them, and as archives carry them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::Captured;
use super::plan::{Planned, decode, encode};
use crate::fs::{Context, FsError};
use crate::state::{EventQueue, EventReader, NewEvent, State, StateError};

/// The folder in the vault's state.
const FOLDER: &str = "pending";
/// What it is called when it was taken over, and is about to be removed.
const TAKEN: &str = "pending.taken-over";
/// Files of records end so; their names are the numbers of their first events.
const SUFFIX: &str = ".events";
/// How far the records have got into the vault's files.
const PROGRESS: &str = "progress.json";
/// The keys of the last events.
const SEEN: &str = "seen";

/// Length, count and first number, then the checksum of these and of what follows.
const HEADER: usize = 4 + 4 + 8 + 32;
/// Maximum number of events in a record.
const RECORD_EVENTS: usize = 1000;
/// Target size of a record, in bytes.
const RECORD_BYTES: usize = 4 << 20;
/// Target size of a file, in bytes.
const FILE_BYTES: usize = 8 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
struct FormerProgress {
    /// The number of the first event that may not be in its file.
    next: u64,
    /// Later events that are.
    #[serde(default)]
    done: BTreeSet<u64>,
    #[serde(default)]
    plan: Vec<Planned>,
}

/// What a folder has.
#[derive(Debug, Default)]
struct Former {
    /// Tells what it has from everything else.
    hash: String,
    /// Events that wait.
    events: Vec<(u64, Captured)>,
    /// The keys of those that do not.
    seen: Vec<u64>,
    plan: Vec<Planned>,
}

/// Takes over what there is, once. What is left by a kill is whole, or was taken over.
pub(super) fn take_over(state: &State, queue: &mut EventQueue) -> Result<(), StateError> {
    let (folder, taken) = (state.former().join(FOLDER), state.former().join(TAKEN));
    if taken.exists() {
        std::fs::remove_dir_all(&taken).on("remove", &taken)?;
    }
    let Some(Former { hash, events, seen, plan }) = read(&folder)? else { return Ok(()) };
    let numbers: BTreeMap<u64, u64> = (0..).zip(&events).map(|(at, (number, _))| (*number, at)).collect();
    let mut whole: Vec<NewEvent> = Vec::with_capacity(events.len());
    for (_, event) in &events {
        whole.push(event.encoded().map_err(std::io::Error::other).on("encode what is in", &folder)?);
    }
    let new = queue.take_over((FOLDER, &hash), &whole, &seen, |first, before| {
        let mut plan = renumbered(&plan, |number| numbers.get(&number).map(|at| first + at));
        plan.extend(decode(before.as_deref()));
        encode(&plan).unwrap_or_default()
    })?;
    if new && !whole.is_empty() {
        tracing::info!("{} captured events were taken over from {}", whole.len(), folder.display());
    }
    std::fs::rename(&folder, &taken).on("rename", &folder)?;
    std::fs::remove_dir_all(&taken).on("remove", &taken)?;
    Ok(())
}

/// How many events of a vault are in no file, whoever writes them at the moment.
pub(super) fn waiting(state: &Arc<State>) -> u64 {
    let former = read(&state.former().join(FOLDER)).ok().flatten().map_or(0, |former| former.events.len() as u64);
    former + EventReader::new(state).count().unwrap_or(0)
}

/// All that waits, and the keys of what does not, as files below the vault's state.
pub(super) fn files(state: &Arc<State>) -> Result<Vec<(PathBuf, Vec<u8>)>, StateError> {
    let reader = EventReader::new(state);
    let (mut files, mut file, mut numbers) = (Vec::new(), Vec::new(), BTreeMap::new());
    let (mut from, mut next, mut first) = (0, 1, 1);
    loop {
        let events = reader.read(from, u64::MAX, RECORD_EVENTS, RECORD_BYTES)?;
        let Some(last) = events.last() else { break };
        from = last.number + 1;
        let whole: Vec<&str> = events.iter().filter_map(|event| event.body.as_deref()).collect();
        let places = events.iter().filter(|event| event.body.is_some()).map(|event| event.number);
        numbers.extend(places.zip(next..));
        file.extend(record(next, &whole));
        next += whole.len() as u64;
        if file.len() >= FILE_BYTES {
            files.push((name(first), std::mem::take(&mut file)));
            first = next;
        }
    }
    if !file.is_empty() {
        files.push((name(first), file));
    }
    let seen = reader.seen()?;
    if files.is_empty() && seen.is_empty() {
        return Ok(files);
    }
    let plan = renumbered(&decode(reader.plan()?.as_deref()), |number| numbers.get(&number).copied());
    let progress = serde_json::to_vec(&FormerProgress { next: 1, done: BTreeSet::new(), plan });
    files.push((
        PathBuf::from(FOLDER).join(PROGRESS),
        progress.map_err(std::io::Error::other).on("encode", state.file())?,
    ));
    files.push((PathBuf::from(FOLDER).join(SEEN), seen.iter().flat_map(|key| key.to_le_bytes()).collect()));
    Ok(files)
}

fn name(first: u64) -> PathBuf {
    PathBuf::from(FOLDER).join(format!("{first:016x}{SUFFIX}"))
}

/// A plan with other numbers, less the events that have none.
fn renumbered(plan: &[Planned], number: impl Fn(u64) -> Option<u64>) -> Vec<Planned> {
    let planned = plan.iter().cloned().map(|mut planned| {
        planned.added = planned.added.into_iter().filter_map(|(at, text)| Some((number(at)?, text))).collect();
        planned
    });
    planned.filter(|planned| !planned.added.is_empty()).collect()
}

/// Events as bytes: all of them or none.
fn record(first: u64, events: &[&str]) -> Vec<u8> {
    let payload = format!("[{}]", events.join(","));
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend((events.len() as u32).to_le_bytes());
    bytes.extend(first.to_le_bytes());
    let checksum = blake3::Hasher::new().update(&bytes).update(payload.as_bytes()).finalize();
    bytes.extend(checksum.as_bytes());
    bytes.extend(payload.as_bytes());
    bytes
}

/// The record that bytes begin with, if it is as it was written: the number of its first event, its events, of which some may
/// have been taken out, and its length.
fn first_record(bytes: &[u8]) -> Option<(u64, Vec<Option<Captured>>, usize)> {
    let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
    let (told, checksum) = header.split_at(16);
    let length = u32::from_le_bytes(told[..4].try_into().ok()?) as usize;
    let payload = rest.get(..length)?;
    let found = blake3::Hasher::new().update(told).update(payload).finalize();
    let first = u64::from_le_bytes(told[8..].try_into().ok()?);
    let events = (found.as_bytes() == checksum).then(|| serde_json::from_slice(payload).ok())??;
    Some((first, events, HEADER + length))
}

/// Reads a folder; `None` where there is none. A tail that was cut by a kill is passed over: nobody was told that it is safe.
fn read(folder: &Path) -> Result<Option<Former>, FsError> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        entries => entries.on("list", folder)?,
    };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name == SEEN || name == PROGRESS || name.ends_with(SUFFIX));
    // What tells how far the events have got comes before them: digits and `progress.json` do not sort so by themselves.
    names.sort_unstable_by_key(|name| (name.ends_with(SUFFIX), name.clone()));
    let (mut former, mut progress, mut hasher) = (Former::default(), FormerProgress::default(), blake3::Hasher::new());
    for name in names {
        let path = folder.join(&name);
        let bytes = std::fs::read(&path).on("read", &path)?;
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
        match &*name {
            SEEN => former.seen.extend(bytes.as_chunks::<8>().0.iter().map(|key| u64::from_le_bytes(*key))),
            PROGRESS => {
                progress = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                    tracing::warn!("{} is damaged: {error}; events may be written twice", path.display());
                    FormerProgress::default()
                });
            }
            _ => {
                let mut rest = &bytes[..];
                while let Some((first, events, length)) = first_record(rest) {
                    for (number, event) in (first..).zip(events) {
                        let Some(event) = event else { continue };
                        if number < progress.next || progress.done.contains(&number) {
                            former.seen.extend(event.key);
                        } else {
                            former.events.push((number, event));
                        }
                    }
                    rest = &rest[length..];
                }
                if !rest.is_empty() {
                    tracing::warn!("{} bytes at the end of {} are not whole", rest.len(), path.display());
                }
            }
        }
    }
    former.plan = progress.plan;
    former.hash = hasher.finalize().to_hex().to_string();
    Ok(Some(former))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::event::{Event, SearchEvent};
    use crate::path::VaultPath;
    use crate::state::Batch;

    fn event(key: Option<u64>, query: &str) -> String {
        let search = SearchEvent { query: query.into(), place: None, results: None, id: None, time: None };
        serde_json::to_string(&Captured {
            at_ms: 7,
            key,
            import: None,
            sender: String::new(),
            event: Event::Search(search),
        })
        .unwrap()
    }

    fn queries(state: &Arc<State>) -> Vec<String> {
        let events = EventReader::new(state).read(0, u64::MAX, 99, usize::MAX).unwrap();
        let query = |body: String| match serde_json::from_str::<Captured>(&body).unwrap().event {
            Event::Search(search) => search.query,
            _ => panic!("{body}"),
        };
        events.into_iter().map(|event| query(event.body.unwrap())).collect()
    }

    /// A folder as the earlier versions left it: two events are in their files, one was switched off, two wait, and the last
    /// was cut.
    fn left(state: &Path) {
        let folder = state.join(FOLDER);
        std::fs::create_dir_all(&folder).unwrap();
        let some = [event(Some(1), "zero"), "null".into(), event(Some(2), "two")];
        let mut bytes = record(10, &some.each_ref().map(String::as_str));
        bytes.extend(record(13, &[&event(None, "three"), &event(Some(4), "four")]));
        bytes.extend(&record(15, &[&event(None, "cut")])[..70]);
        std::fs::write(folder.join(format!("{:016x}{SUFFIX}", 10)), bytes).unwrap();
        let added = vec![(13, "3".into()), (99, "x".into())];
        let plan = vec![Planned { path: VaultPath::new("a.md").unwrap(), before: None, after: "h".into(), added }];
        let progress = FormerProgress { next: 11, done: [14].into(), plan };
        std::fs::write(folder.join(PROGRESS), serde_json::to_vec(&progress).unwrap()).unwrap();
        std::fs::write(folder.join(SEEN), 77_u64.to_le_bytes()).unwrap();
    }

    #[test]
    fn what_an_earlier_version_left_is_taken_over_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        left(folder.path());
        assert_eq!(waiting(&state), 2);
        let mut queue = EventQueue::new(&state);
        let key = |key| NewEvent { key: Some(key), import: None, kind: "searches", body: event(Some(key), "before") };
        queue.commit(&Batch { requests: vec![vec![key(50)]], ..Batch::default() }).unwrap();
        take_over(&state, &mut queue).unwrap();
        assert_eq!(queries(&state), ["before", "two", "three"]);
        let plan = decode(EventReader::new(&state).plan().unwrap().as_deref());
        assert_eq!(plan.iter().map(|planned| planned.added.clone()).collect::<Vec<_>>(), [[(3, "3".to_owned())]]);
        let doubles = [1, 2, 4, 77, 50].map(key).to_vec();
        let appended = queue.commit(&Batch { requests: vec![doubles], ..Batch::default() }).unwrap();
        assert_eq!(appended[0].accepted, 0, "all of them were there before");
        assert!(!folder.path().join(FOLDER).exists() && !folder.path().join(TAKEN).exists());
        // As after a kill right after it was taken over, and in the middle of its removal.
        left(folder.path());
        std::fs::create_dir(folder.path().join(TAKEN)).unwrap();
        take_over(&state, &mut EventQueue::new(&state)).unwrap();
        assert_eq!((queries(&state).len(), waiting(&state)), (3, 3));
        assert!(!folder.path().join(FOLDER).exists() && !folder.path().join(TAKEN).exists());
    }

    #[test]
    fn what_is_written_as_files_is_read_back() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = State::in_folder(folder.path());
        assert!(files(&state).unwrap().is_empty() && !state.file().exists());
        left(folder.path());
        take_over(&state, &mut EventQueue::new(&state)).unwrap();
        for (path, bytes) in files(&state).unwrap() {
            std::fs::create_dir_all(other.path().join(&path).parent().unwrap()).unwrap();
            std::fs::write(other.path().join(path), bytes).unwrap();
        }
        let copy = State::in_folder(other.path());
        assert_eq!(waiting(&copy), 2);
        take_over(&copy, &mut EventQueue::new(&copy)).unwrap();
        assert_eq!(queries(&copy), queries(&state));
        let plan = |state| decode(EventReader::new(state).plan().unwrap().as_deref());
        assert_eq!(plan(&copy), plan(&state));
        let mut seen = EventReader::new(&copy).seen().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [1, 4, 77]);
    }
}
