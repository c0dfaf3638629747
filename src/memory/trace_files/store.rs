//! Appends events, each once, finds the newest, seals and removes files as time passes, and takes out what was forgotten for good.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::file::{TraceFile, TraceHour, agents, event_of, files_of, folder_of, line_of, lines, mend, open, paths_of};
use crate::access::rules::Scope;
use crate::base::fs::{Context, FsError, crash, remove_unfinished, replace_with, sync_folder};
use crate::base::state::{Digest, digest_of};
use crate::text::derive::words::is_word;
use crate::text::derive::{is_a_sentence, parts_nothing, plain};
use crate::vault::disk::{Identity, Stamp};
use crate::vault::forgotten::{ForgottenLookup, TextPart};

/// The mode of a file that nothing more is written to.
const SEALED: u32 = 0o400;
/// Maximum bytes of events in an answer; one is always given.
const MAX_BYTES: usize = 16 << 20;
/// Interval at which it is asked whether anybody waits still, in lines.
const CHECK_LINES: usize = 1000;

/// The traces of a vault.
#[derive(Debug)]
pub(crate) struct TraceFiles {
    root: PathBuf,
    /// The ids of the hours of agents. Held by whoever changes a file.
    known: Mutex<HashMap<(String, TraceHour), HourIds>>,
}

/// The ids of an hour, by their digests, and what its two files were then.
#[derive(Debug, Default)]
struct HourIds {
    ids: HashSet<Digest>,
    stamps: [Option<Stamp>; 2],
}

/// Traces cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceFilesError {
    /// The vault's folder is away.
    #[error("the vault's folder does not exist")]
    Away,
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] FsError),
    /// Nobody waits for the answer any more.
    #[error("the request took too long")]
    GivenUp,
}

/// Which events are looked for.
#[derive(Debug, Default)]
pub(crate) struct TraceQuestion {
    /// Of this kind.
    pub kind: Option<String>,
    /// Of this channel.
    pub channel_id: Option<String>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// Not before that, in seconds since 1970.
    pub since: Option<f64>,
    /// Not after that.
    pub until: Option<f64>,
    /// So many at most, but one at least.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct FoundTraces {
    /// The newest first.
    pub events: Vec<Value>,
    /// So many lines of the files that were read are damaged.
    pub damaged: usize,
    /// Whether older ones were left out because the answer would be too large.
    pub is_cut: bool,
}

/// Events that say what goes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MatchedTraces {
    /// So many lines, of whatever file.
    pub events: usize,
    /// Whose they are, and what they are called; not of those whose lines were damaged.
    pub of: BTreeSet<(String, String)>,
}

/// What goes out of the traces of one agent: nothing that it could not read, or it would see by what is missing that it guessed right.
#[derive(Debug)]
pub(crate) struct TraceShare {
    /// What it may read.
    pub reach: Scope,
    /// What is forgotten now.
    pub parts: Vec<TextPart>,
}

/// A text without what goes; `None` where it has none of it.
type TraceWithout<'w> = &'w dyn Fn(&str) -> Option<String>;

impl TraceFiles {
    /// Those of the vault at `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), known: Mutex::default() }
    }

    /// Whoever has it is the only one that changes a file.
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, TraceHour), HourIds>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event of an agent, which has an `id` and a `created_at`. When it returns the event is safe on disk; false when one of its id
    /// was there already, in its hour or in one that is not sealed.
    ///
    /// # Errors
    /// When the disk refuses, or the vault's folder is away.
    pub(crate) fn append(&self, agent: &str, event: &Value, now: Timestamp) -> Result<bool, TraceFilesError> {
        if Identity::of_vault(&self.root).is_none() {
            // An empty mount point has no memory.toml: nothing is made there.
            return Err(TraceFilesError::Away);
        }
        let id = digest(event);
        let hour = event["created_at"].as_f64().and_then(TraceHour::of).unwrap_or(TraceHour::at(now));
        let mut known = self.lock();
        for hour in TraceHour::open(now).chain([hour]) {
            if known.entry((agent.to_owned(), hour)).or_default().bring_up(&self.root, agent, hour)?.contains(&id) {
                return Ok(false);
            }
        }
        let file = TraceFile::new(&self.root, agent, hour, false);
        let late = hour.is_sealed(now) || file.is_read_only();
        let file = if late { TraceFile::new(&self.root, agent, hour, true) } else { file };
        file.append(&self.root, &line_of(event))?;
        let hour = known.entry((agent.to_owned(), hour)).or_default();
        hour.ids.insert(id);
        hour.stamps[usize::from(late)] = file.stamp();
        Ok(true)
    }

    /// Mends the files that a kill has torn, seals those of hours that are over, and removes those that are older than so many days
    /// (0 keeps all). A file that refuses keeps nothing from the others.
    pub(crate) fn tidy(&self, now: Timestamp, retention_days: u64) {
        for agent in agents(&self.root) {
            // One agent at a time: whoever sends events waits that long alone.
            let mut known = self.lock();
            known.retain(|(_, hour), _| !hour.is_sealed(now));
            remove_unfinished(&folder_of(&self.root, &agent), std::time::Duration::ZERO);
            let files = files_of(&self.root, &agent);
            let tidy = |file: &TraceFile| tidy_file(file, now, retention_days).err();
            let errors = files.map_or_else(|error| vec![error], |files| files.iter().filter_map(tidy).collect());
            for error in errors {
                tracing::warn!("traces are not sealed or removed: {error}");
            }
        }
    }

    /// Whether an agent has any.
    pub(crate) fn has(&self, agent: &str) -> bool {
        self.files_of(agent).is_ok_and(|files| !files.is_empty())
    }

    /// The files of an agent, the newest hour first.
    ///
    /// # Errors
    /// When its folder cannot be listed.
    pub(crate) fn files_of(&self, agent: &str) -> Result<Vec<TraceFile>, FsError> {
        files_of(&self.root, agent)
    }

    /// The events of a file in the order in which they came, without lines that are damaged. One that is gone has none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn events_of(file: &TraceFile) -> Result<impl Iterator<Item = Result<Value, FsError>>, FsError> {
        Ok(lines(&file.path)?.filter_map(|line| line.map(|line| event_of(&line)).transpose()))
    }

    /// The newest events of an agent that fit. A last line that is being written is not looked at.
    ///
    /// # Errors
    /// When a file cannot be read, or `go_on` says that nobody waits any more.
    pub(crate) fn newest(
        &self,
        agent: &str,
        question: &TraceQuestion,
        go_on: impl Fn() -> bool,
    ) -> Result<FoundTraces, TraceFilesError> {
        let limit = question.limit.max(1);
        let (mut found, mut number) = (FoundTraces::default(), 0_usize);
        // By their times and, of the same time, by their places: what came late is the newer.
        let (mut newest, mut bytes, mut left_out) = (BTreeMap::new(), 0, None);
        for hour in files_of(&self.root, agent)?.chunk_by(|one, two| one.hour == two.hour) {
            if newest.len() >= limit || found.is_cut {
                break;
            }
            for file in hour.iter().rev().filter(|file| file.hour.meets(question.since, question.until)) {
                for line in lines(&file.path)? {
                    let line = line?;
                    number += 1;
                    if number.is_multiple_of(CHECK_LINES) && !go_on() {
                        return Err(TraceFilesError::GivenUp);
                    }
                    let Some(event) = event_of(&line) else {
                        found.damaged += usize::from(line.ends_with(b"\n"));
                        continue;
                    };
                    let at = event["created_at"].as_f64().unwrap_or_default();
                    // The bits of numbers that are not negative have their order.
                    let key = (at.max(0.0).to_bits(), number);
                    if !question.fits(&event, at) || left_out.is_some_and(|left_out| key < left_out) {
                        continue;
                    }
                    bytes += line.len();
                    newest.insert(key, (line.len(), event));
                    while newest.len() > limit || bytes > MAX_BYTES && newest.len() > 1 {
                        found.is_cut |= newest.len() <= limit;
                        let Some((key, (length, _))) = newest.pop_first() else { break };
                        (bytes, left_out) = (bytes - length, Some(key));
                    }
                }
            }
        }
        found.events = newest.into_values().rev().map(|(_, event)| event).collect();
        Ok(found)
    }

    /// Finds in every agent's traces its share of what is `known` as forgotten, and of texts that are forgotten now, wherever in a text they
    /// stand, and takes it out where this `writes`; gives which events there were. A person's deletion goes before the promise that no event
    /// is lost: the event stays, and what it said of this goes.
    ///
    /// # Errors
    /// When a file cannot be read or written; those before it are done.
    pub(crate) fn sweep(
        &self,
        known: &ForgottenLookup<'_>,
        share_of: &dyn Fn(&str) -> TraceShare,
        writes: bool,
    ) -> Result<MatchedTraces, TraceFilesError> {
        let mut told = MatchedTraces::default();
        for agent in agents(&self.root) {
            let TraceShare { reach, parts } = share_of(&agent);
            let needles = TraceNeedles::of(&parts);
            if known.is_empty() && needles.is_empty() {
                continue;
            }
            let without = |text: &str| {
                let left = known.without(text, &reach).map(|left| left.text.unwrap_or_default());
                needles.without(left.as_deref().unwrap_or(text)).or(left)
            };
            for path in paths_of(&self.root, &agent)? {
                let before = told.events;
                for line in lines(&path)? {
                    if let Some(left) = changed(&line?, &without) {
                        told.events += 1;
                        let id = event_of(&left).and_then(|event| event["id"].as_str().map(str::to_owned));
                        told.of.extend(id.map(|id| (agent.clone(), id)));
                    }
                }
                if writes && told.events > before {
                    self.rewrite(&path, &without)?;
                }
            }
        }
        Ok(told)
    }

    /// Writes a file anew without what is to go, in one step. Events that come meanwhile wait.
    fn rewrite(&self, path: &Path, without: TraceWithout<'_>) -> Result<(), FsError> {
        let _one = self.lock();
        let mode = path.symlink_metadata().on("look at", path)?.permissions().mode() & 0o777;
        replace_with(path, mode, |out| {
            let mut out = BufWriter::new(out);
            for line in lines(path).map_err(io::Error::other)? {
                let line = line.map_err(io::Error::other)?;
                out.write_all(&changed(&line, without).unwrap_or(line))?;
            }
            out.flush()?;
            crash::point("trace-swept");
            Ok(())
        })
    }
}

impl TraceQuestion {
    fn fits(&self, event: &Value, at: f64) -> bool {
        let is = |asked: &Option<String>, field: &str| asked.as_deref().is_none_or(|asked| event[field] == *asked);
        is(&self.kind, "kind")
            && is(&self.channel_id, "channel_id")
            && is(&self.trace_id, "trace_id")
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at <= until)
    }
}

impl HourIds {
    /// The ids of an hour of an agent, as its files have them: what somebody has done to a file is seen. A damaged line has none, so that its
    /// event is taken again.
    fn bring_up(&mut self, root: &Path, agent: &str, hour: TraceHour) -> Result<&HashSet<Digest>, FsError> {
        let files = [false, true].map(|late| TraceFile::new(root, agent, hour, late));
        let stamps = files.each_ref().map(TraceFile::stamp);
        if self.stamps != stamps {
            *self = Self::default();
            for file in files.iter().filter(|file| file.stamp().is_some()) {
                // What a kill left unsynced is found here, and answered as kept.
                open(&file.path, false)?.sync_data().on("sync", &file.path)?;
                for line in lines(&file.path)? {
                    self.ids.extend(event_of(&line?).as_ref().map(digest));
                }
            }
            self.stamps = stamps;
        }
        Ok(&self.ids)
    }
}

/// What an event is known by.
fn digest(event: &Value) -> Digest {
    digest_of(event["id"].as_str().unwrap_or_default().as_bytes())
}

fn tidy_file(file: &TraceFile, now: Timestamp, retention_days: u64) -> Result<(), FsError> {
    let path = &file.path;
    if retention_days > 0 && file.hour.is_older_than(retention_days, now) {
        fs::remove_file(path).on("remove", path)?;
        return sync_folder(path);
    }
    if file.is_read_only() {
        return Ok(());
    }
    let opened = open(path, true)?;
    mend(&opened, path)?;
    if !file.late && file.hour.is_sealed(now) {
        opened.sync_all().on("sync", path)?;
        crash::point("trace-sealing");
        opened.set_permissions(Permissions::from_mode(SEALED)).on("seal", path)?;
    }
    Ok(())
}

/// A line without what is to go; `None` where it has none of it. Of a damaged line that has it nothing stays.
fn changed(line: &[u8], without: TraceWithout<'_>) -> Option<Vec<u8>> {
    match event_of(line) {
        Some(mut event) => change_texts(&mut event, &mut |_, text| without(text)).then(|| line_of(&event)),
        None => {
            let text = String::from_utf8_lossy(line);
            let plain = ["\\n", "\\r", "\\t"].iter().fold(text.into_owned(), |text, blank| text.replace(blank, " "));
            without(&plain).map(|_| Vec::new())
        }
    }
}

/// The fields of an event that may hold what somebody has said; the others are names and numbers.
const TEXTS: [&str; 4] = ["payload", "error", "backend_name", "model"];
/// Maximum depth to which JSON within a text of JSON is looked into.
const MAX_DEPTH: usize = 4;

/// What becomes of a text that a name may stand before; `None` where it stays.
type TextChange<'c> = dyn FnMut(Option<&str>, &str) -> Option<String> + 'c;

/// Changes every text of an event, names of fields and JSON within texts included; says whether any was changed.
pub(crate) fn change_texts(event: &mut Value, change: &mut TextChange<'_>) -> bool {
    let fields = TEXTS.iter();
    fields.fold(false, |any, field| event.get_mut(field).is_some_and(|value| walk(value, None, 0, change)) | any)
}

fn walk(value: &mut Value, name: Option<&str>, depth: usize, change: &mut TextChange<'_>) -> bool {
    match value {
        Value::String(text) => {
            let inner = within(text, depth, change);
            let changed = change(name, inner.as_deref().unwrap_or(text)).or(inner);
            let Some(changed) = changed else { return false };
            *text = changed;
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| walk(item, name, depth, change) | any),
        Value::Object(fields) => {
            let mut any = false;
            let changed = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                any |= walk(&mut field, Some(&name), depth, change);
                let renamed = change(None, &name);
                any |= renamed.is_some();
                (renamed.unwrap_or(name), field)
            });
            *fields = changed.collect::<Map<String, Value>>();
            any
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text that is JSON itself, changed; `None` where it is none, or stays.
fn within(text: &str, depth: usize, change: &mut TextChange<'_>) -> Option<String> {
    (depth < MAX_DEPTH && text.trim_start().starts_with(['{', '['])).then_some(())?;
    let mut value: Value = serde_json::from_str(text).ok()?;
    walk(&mut value, None, depth + 1, change).then(|| value.to_string())
}

/// The sentences and paragraphs that are looked for, by their first word.
#[derive(Debug, Default)]
struct TraceNeedles(HashMap<String, Vec<Vec<String>>>);

impl TraceNeedles {
    /// Of parts of texts that are to go. What says too little to be told from other texts is not looked for.
    fn of(parts: &[TextPart]) -> Self {
        let mut needles: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for part in parts.iter().filter(|part| is_a_sentence(&part.words)) {
            let words: Vec<String> = part.words.split(' ').map(str::to_owned).collect();
            needles.entry(words[0].clone()).or_default().push(words);
        }
        // The longest first: a paragraph goes before its sentences.
        needles.values_mut().for_each(|all| all.sort_by_key(|words| std::cmp::Reverse(words.len())));
        Self(needles)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text without them; `None` where it has none.
    fn without(&self, text: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let words = words(text);
        let (mut left, mut kept, mut at) = (String::new(), 0, 0);
        while at < words.len() {
            let found = self.0.get(&words[at].0).and_then(|all| {
                let fits = |parts: &&Vec<String>| {
                    let there = words.get(at..at + parts.len());
                    there.is_some_and(|there| there.iter().zip(*parts).all(|((word, _), part)| word == part))
                };
                all.iter().find(fits)
            });
            let Some(parts) = found else {
                at += 1;
                continue;
            };
            let (start, last) = (words[at].1.start, words[at + parts.len() - 1].1.end);
            left.push_str(&text[kept..start]);
            let marks = text[last..].chars().take_while(|mark| matches!(mark, '.' | '!' | '?' | '\u{3002}'));
            kept = last + marks.map(char::len_utf8).sum::<usize>();
            at += parts.len();
        }
        (kept > 0).then(|| left + &text[kept..])
    }
}

/// The words of a text as what is said has them, each with where it is.
fn words(text: &str) -> Vec<(String, Range<usize>)> {
    // Apostrophes and what is not seen part no words.
    let is_within = |character: char| is_word(character) || parts_nothing(character);
    let (mut words, mut at) = (Vec::new(), 0);
    for piece in text.split_inclusive(|character| !is_within(character)) {
        let word = piece.trim_end_matches(|character| !is_within(character));
        let span = at..at + word.len();
        at += piece.len();
        let parts = plain(word);
        let parts = parts.split(' ').filter(|part| !part.is_empty());
        words.extend(parts.map(|part| (part.to_owned(), span.clone())));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fs::write_new;
    use crate::base::state::State;
    use crate::vault::forgotten::{ForgottenTexts, parts_of};
    use serde_json::json;

    fn vault() -> (tempfile::TempDir, TraceFiles) {
        let folder = tempfile::tempdir().unwrap();
        write_new(&folder.path().join("memory.toml"), b"").unwrap();
        let files = TraceFiles::new(folder.path());
        (folder, files)
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn append(files: &TraceFiles, id: &str, time: &str, now: Timestamp) -> Result<bool, TraceFilesError> {
        let seconds = at(time).as_second() as f64;
        let event = json!({ "id": id, "kind": "error", "created_at": seconds, "payload": { "message": id } });
        files.append("ada", &event, now)
    }

    fn ids(files: &TraceFiles) -> Vec<String> {
        let question = TraceQuestion { limit: 1000, ..TraceQuestion::default() };
        let found = files.newest("ada", &question, || true).unwrap();
        assert_eq!(found.damaged, 0);
        found.events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn an_event_is_kept_once_in_its_hour_and_late_ones_beside_it() {
        let (folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        assert!(append(&files, "a", "2026-03-02T10:00:01Z", now).unwrap());
        assert!(!append(&files, "a", "2026-03-02T10:00:01Z", now).unwrap());
        assert!(!append(&files, "a", "2026-03-02T09:59:59Z", now).unwrap(), "an open hour has it");
        assert!(append(&files, "b", "2026-03-02T09:59:59Z", now).unwrap());
        let later = at("2026-03-02T13:00:00Z");
        let again = TraceFiles::new(folder.path());
        assert!(!append(&again, "a", "2026-03-02T10:00:01Z", later).unwrap());
        assert!(append(&again, "c", "2026-03-02T10:59:00Z", later).unwrap());
        assert!(!append(&again, "c", "2026-03-02T10:59:00Z", later).unwrap());
        assert_eq!(ids(&again), ["c", "a", "b"]);
        let mut names: Vec<_> = std::fs::read_dir(folder.path().join("traces/ada"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["2026-03-02T09.jsonl", "2026-03-02T10.jsonl", "2026-03-02T10.late.jsonl"]);
        again.tidy(later, 0);
        let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("traces"), mode("traces/ada")), (0o700, 0o700));
        assert_eq!(
            (mode("traces/ada/2026-03-02T10.jsonl"), mode("traces/ada/2026-03-02T10.late.jsonl")),
            (0o400, 0o600)
        );
        again.tidy(at("2026-03-03T11:00:00Z"), 1);
        assert!(ids(&again).is_empty());
    }

    #[test]
    fn a_torn_line_is_cut_off_and_what_is_damaged_is_taken_again() {
        let (folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        append(&files, "a", "2026-03-02T10:00:01Z", now).unwrap();
        let path = folder.path().join("traces/ada/2026-03-02T10.jsonl");
        let whole = std::fs::read(&path).unwrap();
        for torn in [&b"{\"id\":\"b"[..], &whole[..whole.len() - 1]] {
            std::fs::write(&path, [&whole, torn].concat()).unwrap();
            assert_eq!(ids(&files), ["a"]);
            files.tidy(now, 0);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        // The same where no start is in between.
        std::fs::write(&path, [&whole, &b"{"[..]].concat()).unwrap();
        assert!(append(&files, "b", "2026-03-02T10:00:02Z", now).unwrap());
        assert_eq!(ids(&files), ["b", "a"]);
        let damaged = std::fs::read_to_string(&path).unwrap().replacen("{\"id\":\"b\"", "\"id\":\"b\"", 1);
        std::fs::write(&path, damaged).unwrap();
        let question = TraceQuestion { limit: 10, ..TraceQuestion::default() };
        let found = files.newest("ada", &question, || true).unwrap();
        assert_eq!((found.events.len(), found.damaged), (1, 1));
        assert!(append(&files, "b", "2026-03-02T10:00:02Z", now).unwrap());
    }

    #[test]
    fn many_at_once_are_each_written_once() {
        let (_folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        let written = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for id in 0..100 {
                        let is_its = append(&files, &id.to_string(), "2026-03-02T10:00:01Z", now).unwrap();
                        written.fetch_add(usize::from(is_its), std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
        let found: HashSet<String> = ids(&files).into_iter().collect();
        assert_eq!((written.into_inner(), found.len(), ids(&files).len()), (100, 100, 100));
    }

    #[test]
    fn nothing_is_made_where_the_vault_is_away() {
        let now = at("2026-03-02T10:30:00Z");
        let empty = tempfile::tempdir().unwrap();
        let away = append(&TraceFiles::new(empty.path()), "a", "2026-03-02T10:00:01Z", now);
        assert!(matches!(away, Err(TraceFilesError::Away)));
        assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_goes_leaves_the_event_and_the_other_lines_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let forgotten = ForgottenTexts::new(&State::in_folder(folder.path()));
        let path = folder.path().join("traces/ada/2026-03-02T10.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let secret = "The key lies under the third pot of the garden.";
        let event = |id: &str, said: &str| json!({ "id": id, "kind": "message_in", "created_at": 1.0, "payload": { "text": said } });
        let other = line_of(&event("a", "Other"));
        let with = line_of(&event("b", &format!("Context: {secret} (notes/a.md#L1)")));
        fs::write(&path, [&other[..], &with, b"damaged: ", secret.as_bytes(), b"\n", &other].concat()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        // As a sync service names its copies, with a last line that is torn.
        let copy = path.with_file_name("2026-03-02T10.sync-conflict-20260302-101500-ABCDEFG.jsonl");
        fs::write(&copy, [&with, secret.as_bytes()].concat()).unwrap();
        let traces = TraceFiles::new(folder.path());
        let all = |_: &str| TraceShare { reach: Scope::Everything, parts: parts_of(&[secret]) };
        let sweep = |writes: bool| traces.sweep(&forgotten.look().unwrap(), &all, writes).unwrap();
        let told = sweep(false);
        assert_eq!((told.events, &told.of), (4, &BTreeSet::from([("ada".to_owned(), "b".to_owned())])));
        assert_eq!(sweep(true), told);
        let left = line_of(&event("b", "Context:  (notes/a.md#L1)"));
        assert_eq!(fs::read(&path).unwrap(), [&other[..], &left, &other].concat());
        assert_eq!(fs::read(&copy).unwrap(), left);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o400);
        assert_eq!((sweep(true), sweep(false)), (MatchedTraces::default(), MatchedTraces::default()));
    }

    #[test]
    fn every_text_is_reached_and_nothing_else_changes() {
        let mut value = json!({ "a": ["x", { "b": "y" }], "n": 1, "j": "{\"k\": \"x\", \"l\": [1.50]}", "x": null });
        let mut seen = Vec::new();
        let changed = walk(&mut value, None, 0, &mut |name, text| {
            seen.push((name.map(str::to_owned), text.to_owned()));
            (text == "x").then(|| "-".to_owned())
        });
        assert!(changed);
        assert_eq!(value, json!({ "a": ["-", { "b": "y" }], "n": 1, "j": "{\"k\":\"-\",\"l\":[1.5]}", "-": null }));
        assert!(seen.contains(&(Some("b".into()), "y".into())) && seen.contains(&(Some("k".into()), "x".into())));
        let mut same = json!({ "j": "{ \"k\": 1.50 }" });
        assert!(!walk(&mut same, None, 0, &mut |_, _| None));
        assert_eq!(same, json!({ "j": "{ \"k\": 1.50 }" }), "what stays stays as it was written");
    }

    #[test]
    fn a_sentence_is_found_between_others() {
        let note = "# Keys\n\nThe key lies under the *third* pot, dear. Bring it back.\n\n- PIN 4711\n- I like tea\n"
            .to_owned();
        let needles = TraceNeedles::of(&crate::vault::forgotten::parts_of(&[note]));
        let without = |text: &str| needles.without(text);
        assert_eq!(
            without("Known: the KEY lies under the third pot, dear. (notes/a.md#L3) Go on.").unwrap(),
            "Known:  (notes/a.md#L3) Go on."
        );
        assert_eq!(without("say pin 4711!").unwrap(), "say ");
        assert_eq!(without("The key lies under the third pot, dear. Bring it back. x").unwrap(), " x");
        for other in ["The key lies under the fourth pot, dear.", "Do you know that I like tea?", "", "PIN 47", "Keys"]
        {
            assert_eq!(without(other), None, "{other}");
        }
    }
}
