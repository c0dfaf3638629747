//! Summaries of conversations, and digests of days and weeks: the files in `summaries/`, the task that keeps them, and what is asked of them.
//!
//! A summary is made of its conversation alone, and a digest's file of the notes of its time alone: what else is in the vault moves no word
//! of theirs. Both name all that they were made of, and are seen where all of that is.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::{Map, Value};

use crate::access::request::{Budget, Owner, ReadScope, RequestError, Viewer, Workspace, limit, note_path, rfc3339};
use crate::base::clock::{Clock, day_named};
use crate::base::config::StemmerLanguage;
use crate::base::fs::FsError;
use crate::base::path::VaultPath;
use crate::base::tasks::{Task, TaskSignal};
use crate::index::engine::{FileEntry, Reader};
use crate::memory::generated_files::{
    FileMade, GeneratedError, GeneratedFile, MADE_BY, OF, READ, SummaryFiles, THROUGH, TURNS, day_of_file,
    is_forgotten, known_summaries, known_summary,
};
use crate::serve::wire::{
    DigestParams, DigestSection, DigestView, DigestWritten, Skipped, SummariesMade, SummariesParams, SummariesState,
    SummariesView, SummaryMakeParams, SummaryView,
};
use crate::text::derive::CONVERSATIONS;
use crate::text::derive::calendar::monday_of;
use crate::text::derive::generated::{GeneratedNote, TRUST, doubt_of, greater_doubt, is_generated, listed_bytes};
use crate::text::derive::summary::{
    CitedLine, DigestMaker, SUMMARIES, SummaryItem, SummarySections, summary_items, turns_of,
};
use crate::text::note::{Note, written};
use crate::vault::disk::{is_starter, read};

/// Summaries when nobody says how many.
const SUMMARIES_GIVEN: usize = 50;
const DAY_MS: i64 = 86_400_000;

/// Summaries of conversations, the newest first.
///
/// # Errors
/// When a parameter makes no sense, or the index is damaged.
pub(crate) fn list(viewer: &Viewer, params: &SummariesParams) -> Result<SummariesView, RequestError> {
    let limit = limit(params.limit, SUMMARIES_GIVEN)?;
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let days = viewer.workspace().config.memory.summary_retention_days as i64;
    let since = viewer.at().as_millisecond().saturating_sub(days.saturating_mul(DAY_MS));
    let is_asked = |file: &FileEntry| match params.of.as_deref() {
        Some(of) => file.sources.iter().any(|source| source == of),
        None => params.all == Some(true) || days == 0 || file.created_ms >= since,
    };
    let mut files: Vec<_> =
        scope.files().filter(|file| file.path.collection() == SUMMARIES && is_asked(file)).cloned().collect();
    files.sort_unstable_by(|one, other| other.created_ms.cmp(&one.created_ms).then_with(|| one.path.cmp(&other.path)));
    let mut view = SummariesView::default();
    let mut room = scope.room();
    for file in files {
        let Some(summary) = summary(&scope, &file, params.of.as_deref())? else { continue };
        let lines = summary.sections.iter().flat_map(|section| &section.lines);
        let chars = summary.title.chars().count() + lines.map(|line| line.text.chars().count()).sum::<usize>();
        if view.summaries.len() >= limit || !room.take(chars) {
            view.cut = true;
            break;
        }
        view.summaries.push(summary);
    }
    let given = view.summaries.iter().map(|summary| summary.path.clone()).collect();
    viewer.log("summaries", params.of.as_deref().unwrap_or_default(), given);
    Ok(view)
}

/// The summary that a file is, if it is one of a conversation.
fn summary(scope: &ReadScope, file: &FileEntry, of: Option<&str>) -> Result<Option<SummaryView>, RequestError> {
    let Some((generated, items)) = page_of(scope, file)? else { return Ok(None) };
    let text = |key: &str| generated.text_of(key).map(str::to_owned);
    let Some(conversation) = text(OF).filter(|found| of.is_none_or(|of| of == found)) else { return Ok(None) };
    let mut sections: Vec<DigestSection> = Vec::new();
    for item in items {
        match sections.last_mut().filter(|section| section.heading == item.section) {
            Some(section) => section.lines.push(item.said),
            None => sections.push(DigestSection { heading: item.section, lines: vec![item.said] }),
        }
    }
    let is_old = scope.file(&conversation).is_none_or(|file| {
        let read = text("read");
        read.is_none_or(|read| read != blake3::Hash::from_bytes(file.hash).to_hex().as_str())
    });
    Ok(Some(SummaryView {
        path: file.path.to_string(),
        of: conversation,
        title: file.title.clone(),
        at: rfc3339(file.created_ms),
        through: text(THROUGH).unwrap_or_default(),
        turns: generated.metadata.get(TURNS).and_then(Value::as_u64).unwrap_or_default(),
        made_by: text(MADE_BY).unwrap_or_default(),
        edited: generated.is_edited,
        old: is_old,
        sections,
    }))
}

/// Makes summaries now: of one conversation, or of all whose turns are others than they were.
///
/// # Errors
/// When there is no such conversation, or the vault cannot be written.
pub(crate) fn make(owner: &Owner, params: &SummaryMakeParams) -> Result<SummariesMade, RequestError> {
    let workspace = owner.workspace();
    let scope = owner.now()?;
    let maker = workspace.summary_files()?;
    let mut conversations: Vec<VaultPath> = match params.of.as_deref() {
        Some(of) => {
            let path = note_path(of)?;
            if !is_conversation(&path) || scope.file(path.as_str()).is_none() {
                return Err(RequestError::not_found(format!("there is no conversation `{of}`")));
            }
            vec![path]
        }
        None => scope.files().filter(|file| is_conversation(&file.path)).map(|file| file.path.clone()).collect(),
    };
    conversations.sort_unstable();
    let mut done = SummariesMade::default();
    for of in conversations {
        scope.go_on()?;
        match maker.bring_up(&of, known_summary(scope.reader().files(), &of).map(|file| &file.path)) {
            Ok(FileMade::Written(path)) => done.made.push(path.to_string()),
            Ok(FileMade::Same) => done.same += 1,
            Ok(FileMade::Nothing) => done.nothing += 1,
            Ok(FileMade::Kept(path)) => {
                done.kept.push(Skipped { path: path.to_string(), reason: "you edited it".into() });
            }
            Err(error) if params.of.is_none() => {
                done.kept.push(Skipped { path: of.to_string(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(last) = done.made.last().and_then(|path| VaultPath::new(path.as_str()).ok()) {
        workspace.settled_in_time(&last);
    }
    Ok(done)
}

fn is_conversation(path: &VaultPath) -> bool {
    path.collection() == CONVERSATIONS && !path.is_document()
}

/// The longest time between two looks, where nothing is heard of a change.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The shortest: a conversation that cannot be summarised is not tried all the time.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// What was seen so far. Nothing of it has to outlive the process: what it says can be read from the files.
#[derive(Default)]
struct SeenSummaries {
    /// Conversations whose summary is as it should be, each with the hash of its file.
    done: HashMap<VaultPath, [u8; 32]>,
    /// Summaries that stay as a person has edited them, by conversation.
    edited: HashMap<VaultPath, VaultPath>,
    /// The day on which days that are over were looked at.
    day: Option<Date>,
    state: SummariesState,
    clock: Clock,
}

/// Starts the task.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn keep_summaries(workspace: &Arc<Workspace>, clock: Clock) -> Result<Task<SummariesState>, FsError> {
    let mut seen = SeenSummaries { clock, ..SeenSummaries::default() };
    let (vault, signal) = (Arc::clone(workspace), TaskSignal::default());
    workspace.shared.wakes(&signal);
    Task::start("summaries", signal, move |signal, shown| {
        let next = seen.look(&vault, &|| signal.is_stopped());
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = seen.state.clone();
        Some(next.clamp(LOOK_AT_MOST_EVERY, LOOK_EVERY))
    })
}

impl SeenSummaries {
    /// Does what is due; gives when something is next.
    fn look(&mut self, vault: &Workspace, is_over: &dyn Fn() -> bool) -> Duration {
        // A folder that is being read, or is gone for a while, says nothing of what is in it.
        let reader = vault.shared.snapshot().filter(|_| vault.shared.progress().caught_up);
        let (Some(reader), Ok(maker)) = (reader, vault.summary_files()) else { return LOOK_EVERY };
        let reader = reader.as_ref();
        let (mut failed, mut waiting, mut next) = (Vec::new(), 0, LOOK_EVERY);
        let conversations: Vec<&FileEntry> =
            reader.files().iter().map(AsRef::as_ref).filter(|file| is_conversation(&file.path)).collect();
        for file in &conversations {
            if is_over() {
                return next;
            }
            if self.done.get(&file.path) == Some(&file.hash) {
                continue;
            }
            let known = known_summary(reader.files(), &file.path);
            let read = known.and_then(|known| metadata_of(reader, known).get(READ)?.as_str().map(str::to_owned));
            if read.is_some_and(|read| read == blake3::Hash::from_bytes(file.hash).to_hex().as_str()) {
                self.done.insert(file.path.clone(), file.hash);
                self.edited.remove(&file.path);
                continue;
            }
            let wait = self.left_to_wait(vault, file);
            if !wait.is_zero() {
                waiting += 1;
                next = next.min(wait);
                continue;
            }
            match maker.bring_up(&file.path, known.map(|known| &known.path)) {
                Ok(made) => {
                    self.done.insert(file.path.clone(), file.hash);
                    match made {
                        FileMade::Kept(path) => drop(self.edited.insert(file.path.clone(), path)),
                        _ => drop(self.edited.remove(&file.path)),
                    }
                }
                Err(error) => failed.push(said_once(&self.state, file.path.as_str(), &error)),
            }
        }
        take_orphans_away(maker, reader, &self.state, &mut failed);
        if let Err(error) = self.end_days(maker, reader) {
            failed.push(said_once(&self.state, SUMMARIES, &error));
        }
        let there: HashSet<&VaultPath> = conversations.iter().map(|file| &file.path).collect();
        self.done.retain(|path, _| there.contains(path));
        self.edited.retain(|path, _| there.contains(path));
        let old = self.edited.iter().map(|(of, path)| Skipped {
            path: path.to_string(),
            reason: format!("you edited it, so it stays, although {of} has continued"),
        });
        failed.extend(old);
        failed.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        self.state = SummariesState { summaries: known_summaries(reader.files()).len(), waiting, kept: failed };
        next
    }

    /// How long a conversation has to be quiet yet. Whichever way a clock has jumped, it is no longer than that is set to.
    fn left_to_wait(&self, vault: &Workspace, file: &FileEntry) -> Duration {
        let now = i64::try_from(self.clock.now().as_nanosecond()).unwrap_or(i64::MAX);
        let quiet = Duration::from_nanos(now.abs_diff(file.stamp.mtime_ns));
        Duration::from_secs(vault.config.memory.summary_debounce_seconds).saturating_sub(quiet)
    }

    /// Writes the files of the day and the week that are over, once a day, where there are none.
    fn end_days(&mut self, maker: SummaryFiles<'_>, reader: &dyn Reader) -> Result<(), String> {
        let today = self.clock.now().to_zoned(TimeZone::system()).date();
        if self.day == Some(today) {
            return Ok(());
        }
        let spans = [
            today.checked_sub(1.day()).ok().and_then(DigestSpan::of_day),
            today.checked_sub(7.days()).ok().and_then(DigestSpan::of_week),
        ];
        let has_file = |span: &DigestSpan| maker.root.join(span.path()).symlink_metadata().is_ok();
        for span in spans.into_iter().flatten().filter(|span| !has_file(span)) {
            // Nobody waits for it, so it is never given up.
            let written = write_file(&maker, reader, &span, &|| Ok(()));
            written.map_err(|error| format!("{}: {}", span.name, error.message))?;
        }
        self.day = Some(today);
        Ok(())
    }
}

/// Moves the summaries of conversations that are not there any more to the trash, but for those that a person has edited.
fn take_orphans_away(
    SummaryFiles { root, files, .. }: SummaryFiles<'_>,
    reader: &dyn Reader,
    before: &SummariesState,
    failed: &mut Vec<Skipped>,
) {
    let is_gone = |of: &str| {
        let on_disk = VaultPath::new(of).ok().map(|of| of.on_disk(root));
        reader.files().at(of).is_none() && on_disk.is_some_and(|path| is_absent(&path))
    };
    for summary in known_summaries(reader.files()) {
        // A person may have named more sources.
        let metadata = metadata_of(reader, summary);
        let Some(of) = metadata.get(OF).and_then(Value::as_str).filter(|of| is_gone(of)) else { continue };
        // What somebody forgets for good meanwhile is not kept in a checkpoint of this.
        let _one = files.one_generation();
        let there = files.read(&summary.path).map_err(GeneratedError::from);
        let file = there.map(|there| there.and_then(|there| GeneratedFile::of(summary.path.clone(), Some(there))));
        match file.and_then(|file| file.map(|file| file.take_away(files)).transpose()) {
            Ok(None | Some(true)) => {}
            Ok(Some(false)) => failed.push(Skipped {
                path: summary.path.to_string(),
                reason: format!("{of} no longer exists; you edited this, so it stays"),
            }),
            Err(error) => failed.push(said_once(before, summary.path.as_str(), &error)),
        }
    }
}

fn metadata_of(reader: &dyn Reader, file: &FileEntry) -> Map<String, Value> {
    let metadata = reader.metadata(file.id).ok().flatten().and_then(|json| serde_json::from_str(&json).ok());
    metadata.unwrap_or_default()
}

fn is_absent(path: &std::path::Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// What could not be done; said in the log where it is new.
fn said_once(before: &SummariesState, path: &str, error: &dyn Display) -> Skipped {
    let failed = Skipped { path: path.to_owned(), reason: error.to_string() };
    if !before.kept.contains(&failed) {
        tracing::warn!("{path} is not summarised: {error}");
    }
    failed
}

/// Maximum number of notes that a digest is made of.
const MAX_NOTES: usize = 1_000;
/// Maximum bytes of their paths: a file names them all in its frontmatter, which is read up to 64 KiB.
const MAX_SOURCE_BYTES: usize = 48 << 10;
/// Collections that are derived, or an agent's own.
const NOT_THE_PERSONS: [&str; 4] = [SUMMARIES, "agents", "memories", "profile"];
/// Collections of what was captured of the web and of other programs: it is counted, and nothing that it says is told.
const TOLD_BY_OTHERS: [&str; 2] = ["bookmarks", "snippets"];

/// A digest, with the notes that it was made of.
struct MadeDigest {
    digest: SummarySections,
    sources: Vec<String>,
    /// What it says of its trust, where one of them is not to be trusted.
    doubt: Option<&'static str>,
}

/// Makes the digest of notes. `text` gives what a note says; `None` leaves it out.
fn made_of(
    files: Vec<&FileEntry>,
    span: &DigestSpan,
    language: StemmerLanguage,
    text: &mut dyn FnMut(&FileEntry) -> Result<Option<String>, RequestError>,
) -> Result<MadeDigest, RequestError> {
    let mut maker = DigestMaker::new(language);
    let (mut sources, mut doubt) = (Vec::new(), None);
    for file in files {
        let Some(source) = text(file)? else { continue };
        let note = Note::parse(&source, file.path.stem());
        if is_generated(&note.metadata) || is_starter(&file.path, &source) {
            continue;
        }
        let named = (file.path.collection(), file.path.as_str());
        let is_new = span.ms.contains(&file.created_ms);
        let is_captured = note.metadata.get("source").and_then(serde_json::Value::as_str) == Some("capture");
        let day = file.path.stem().get(..10).and_then(|day| day.parse().ok());
        if file.path.collection() == CONVERSATIONS {
            let usual_day = day_of_file(&file.path, note.created);
            let mut turns = turns_of(&note, &source);
            turns.retain(|turn| {
                let day = turn.date.and_then(|day| day.parse().ok()).or(usual_day);
                day.is_some_and(|day| span.has(day))
            });
            if turns.is_empty() {
                continue;
            }
            maker.add_turns(named, usual_day.is_some_and(|day| span.has(day)), &turns);
        } else if let Some(day) = day.filter(|_| is_captured && note.metadata.contains_key("date")) {
            if !span.has(day) {
                continue;
            }
            maker.add_list(named, &note, &source);
        } else if is_captured && TOLD_BY_OTHERS.contains(&named.0) {
            maker.count(named, is_new);
            sources.push(file.path.to_string());
            continue;
        } else {
            maker.add_note(named, is_new, &note, &source);
        }
        doubt = greater_doubt(doubt, doubt_of(&note.metadata));
        sources.push(file.path.to_string());
    }
    Ok(MadeDigest { digest: maker.finish(), sources, doubt })
}

/// The files that something may have been done with in a time, by path.
fn of_span<'f>(files: impl Iterator<Item = &'f FileEntry>, span: &DigestSpan) -> Vec<&'f FileEntry> {
    let is_of = |file: &FileEntry| {
        let touched = span.ms.contains(&file.created_ms) || span.ms.contains(&file.updated_ms);
        // Turns of that day may stand between the first and the last.
        touched
            || (file.path.collection() == CONVERSATIONS
                && file.created_ms < span.ms.end
                && file.updated_ms >= span.ms.start)
    };
    let is_persons = |file: &FileEntry| !NOT_THE_PERSONS.contains(&file.path.collection()) && !file.path.is_document();
    let mut found: Vec<&FileEntry> = files.filter(|file| is_persons(file) && is_of(file)).collect();
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    found.truncate(MAX_NOTES);
    let mut left = MAX_SOURCE_BYTES;
    let fits = |file: &&FileEntry| left.checked_sub(listed_bytes(file.path.as_str())).map(|less| left = less).is_some();
    found.into_iter().take_while(fits).collect()
}

/// What was written, captured and decided on a day or in a week, of what is seen.
///
/// # Errors
/// When a parameter makes no sense, or nobody waits any more.
pub(crate) fn digest(viewer: &Viewer, params: &DigestParams) -> Result<DigestView, RequestError> {
    let span = DigestSpan::asked(params.day.as_deref(), params.week.as_deref(), viewer.at())?;
    let scope = viewer.settled_scope()?;
    let files = of_span(scope.files().map(AsRef::as_ref), &span);
    let mut text = |file: &FileEntry| text_of(&scope, file);
    let made = made_of(files, &span, scope.workspace().config.search.stemmer, &mut text)?;
    let mut view = DigestView {
        name: span.name.clone(),
        first_day: span.first.to_string(),
        last_day: span.last.to_string(),
        sections: Vec::new(),
        cut: false,
        file: scope.file(&span.path()).map(|file| file.path.to_string()),
    };
    let mut room = scope.room();
    for (heading, lines) in made.digest.iter() {
        let lines = fitting(lines, &mut room, &mut view.cut);
        if !lines.is_empty() {
            view.sections.push(DigestSection { heading: heading.to_owned(), lines });
        }
    }
    let given = view.sections.iter().flat_map(|section| &section.lines).flat_map(|line| line.citations.clone());
    viewer.log("digest", &span.name, given.collect());
    Ok(view)
}

/// A page that was generated, and its lines; `None` where a file is none. Comments in it are a person's, and no part of what it says.
fn page_of(scope: &ReadScope, file: &FileEntry) -> Result<Option<(GeneratedNote, Vec<SummaryItem>)>, RequestError> {
    let Some(source) = text_of(scope, file)? else { return Ok(None) };
    let Some(page) = GeneratedNote::read(&source) else { return Ok(None) };
    let note = Note::of(&file.path, &source);
    let items = summary_items(&note.visible(&source, note.body.clone()), &page.sources());
    Ok(Some((page, items)))
}

fn fitting(lines: &[CitedLine], room: &mut Budget, cut: &mut bool) -> Vec<CitedLine> {
    let mut given = Vec::new();
    for line in lines {
        let chars = line.text.chars().count() + line.citations.iter().map(|cited| cited.chars().count()).sum::<usize>();
        if !room.take(chars) {
            *cut = true;
            break;
        }
        given.push(line.clone());
    }
    given
}

/// What a note says on disk; to an agent only what it said when it was indexed.
fn text_of(scope: &ReadScope, file: &FileEntry) -> Result<Option<String>, RequestError> {
    scope.go_on()?;
    let source = scope.workspace().source(&file.path).ok();
    Ok(source.filter(|source| !scope.is_agents() || *source.hash.as_bytes() == file.hash).map(|source| source.text))
}

/// Writes the file of a day or a week, as it is now. One that a person has edited stays.
///
/// # Errors
/// When a parameter makes no sense, or the vault cannot be written.
pub(crate) fn write_digest(owner: &Owner, params: &DigestParams) -> Result<DigestWritten, RequestError> {
    let span = DigestSpan::asked(params.day.as_deref(), params.week.as_deref(), owner.at())?;
    let workspace = owner.workspace();
    let maker = workspace.summary_files()?;
    let scope = owner.now()?;
    let made = write_file(&maker, scope.reader(), &span, &|| scope.go_on())?;
    let path = match &made {
        FileMade::Written(path) | FileMade::Kept(path) => path.to_string(),
        FileMade::Same | FileMade::Nothing => span.path(),
    };
    let written = matches!(made, FileMade::Written(_));
    let reason = match made {
        FileMade::Written(_) => None,
        FileMade::Same => Some("the file already has this text".to_owned()),
        FileMade::Nothing => Some("nothing happened in this time".to_owned()),
        FileMade::Kept(_) => Some("you edited the file".to_owned()),
    };
    if let FileMade::Written(path) = &made {
        workspace.settled_in_time(path);
    }
    Ok(DigestWritten { path, written, reason })
}

/// Writes the file of a day or a week.
fn write_file(
    maker: &SummaryFiles<'_>,
    reader: &dyn Reader,
    span: &DigestSpan,
    go_on: &dyn Fn() -> Result<(), RequestError>,
) -> Result<FileMade, RequestError> {
    let _one = maker.files.one_generation();
    let mut text = |file: &FileEntry| {
        go_on()?;
        Ok(read(maker.root, &file.path, maker.config.index.max_file_bytes).ok().map(|source| source.text))
    };
    let files = of_span(reader.files().iter().map(AsRef::as_ref), span);
    let mut made = made_of(files, span, maker.config.search.stemmer, &mut text)?;
    // Held until it is written.
    let asked = maker.forgotten.ask()?;
    made.digest.retain(|line| !is_forgotten(&asked, &line.text));
    if made.digest.is_empty() {
        return Ok(FileMade::Nothing);
    }
    let file = GeneratedFile::called(maker.files, None, &span.file(), (span.key(), &span.name))?;
    let body = made.digest.body();
    if let Some(before) = file.note() {
        if before.is_edited {
            return Ok(FileMade::Kept(file.path));
        }
        if before.body.trim_end() == body.trim_end()
            && before.sources() == made.sources
            && made.doubt.is_none_or(|doubt| before.text_of(TRUST) == Some(doubt))
        {
            return Ok(FileMade::Same);
        }
    }
    let mut own = Map::new();
    own.insert("title".into(), span.title().into());
    if let Ok(start) = span.first.to_zoned(TimeZone::system()) {
        own.insert("created".into(), written(&start).into());
    }
    if let Some(doubt) = made.doubt {
        own.insert(TRUST.into(), doubt.into());
    }
    own.insert(span.key().into(), span.name.as_str().into());
    Ok(maker.put(&file, &own, &made.sources, &body)?)
}

/// A day or a week.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DigestSpan {
    /// `2026-11-21`, or `2026-W47`.
    name: String,
    /// Its first day.
    first: Date,
    /// Its last day.
    last: Date,
    /// Whether it is a week.
    is_week: bool,
    /// Its milliseconds since 1970.
    ms: Range<i64>,
}

impl DigestSpan {
    /// The day or week that is asked for: today where nothing is. A week is named `2026-W47`, or by one of its days.
    fn asked(day: Option<&str>, week: Option<&str>, now: Timestamp) -> Result<Self, RequestError> {
        let invalid = |field: &str, text: &str, what: &str| {
            RequestError::invalid(format!("`{field}` is `{text}`; it takes {what}"))
        };
        let found = match (day, week) {
            (Some(_), Some(_)) => return Err(RequestError::invalid("give `day` or `week`")),
            (Some(day), None) => {
                let date = day.trim().parse().ok().or_else(|| day_named(day, now));
                Self::of_day(date.ok_or_else(|| invalid("day", day, "a date (2026-11-21), `today` or `yesterday`"))?)
            }
            (None, Some(week)) => {
                let date = match week.trim() {
                    "now" => Some(now.to_zoned(TimeZone::system()).date()),
                    week => week.parse().ok().or_else(|| monday_of(week)).or_else(|| day_named(week, now)),
                };
                let date = date.ok_or_else(|| invalid("week", week, "2026-W47, a date in it, or `now`"))?;
                Self::of_week(date)
            }
            (None, None) => Self::of_day(now.to_zoned(TimeZone::system()).date()),
        };
        found.ok_or_else(|| RequestError::invalid("no such day"))
    }

    /// A day; `None` for one that no calendar has.
    fn of_day(day: Date) -> Option<Self> {
        Some(Self { name: day.to_string(), first: day, last: day, is_week: false, ms: millis(day, day)? })
    }

    /// The week of a day.
    fn of_week(day: Date) -> Option<Self> {
        let week = day.iso_week_date();
        let first = ISOWeekDate::new(week.year(), week.week(), Weekday::Monday).ok()?.date();
        let last = first.checked_add(6.days()).ok()?;
        let name = format!("{:04}-W{:02}", week.year(), week.week());
        Some(Self { name, first, last, is_week: true, ms: millis(first, last)? })
    }

    /// Whether a day is in it.
    fn has(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// What it is called in frontmatter: `day` or `week`.
    fn key(&self) -> &'static str {
        if self.is_week { "week" } else { "day" }
    }

    /// Its file, below `summaries/`, without the extension.
    fn file(&self) -> String {
        format!("{}s/{}", self.key(), self.name)
    }

    /// Its file, if no other took the name.
    fn path(&self) -> String {
        format!("{SUMMARIES}/{}.md", self.file())
    }

    /// As people say it.
    fn title(&self) -> String {
        match self.is_week {
            true => format!("Week {} ({} to {})", self.name, self.first, self.last),
            false => self.first.strftime("%A, %-d %B %Y").to_string(),
        }
    }
}

fn millis(first: Date, last: Date) -> Option<Range<i64>> {
    let start = |day: Date| Some(day.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond());
    Some(start(first)?..start(last.checked_add(1.day()).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_weeks_are_those_of_the_calendar() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let span = |day, week| DigestSpan::asked(day, week, now).unwrap();
        assert_eq!(span(Some("2026-11-21"), None).path(), "summaries/days/2026-11-21.md");
        let week = span(None, Some("2026-W47"));
        assert_eq!(
            (week.first.to_string().as_str(), week.path().as_str()),
            ("2026-11-16", "summaries/weeks/2026-W47.md")
        );
        assert_eq!(span(None, Some("2026-11-21")), week);
        assert_eq!(span(None, Some("2021-01-01")).name, "2020-W53", "a week is of the year that has most of it");
        assert_eq!(span(Some("yesterday"), None).name, span(Some("2026-11-20"), None).name);
        assert!(week.has("2026-11-22".parse().unwrap()) && !week.has("2026-11-23".parse().unwrap()));
        for (day, week) in [(Some("tomorrow"), None), (None, Some("2026-W60")), (Some("2026-11-21"), Some("2026-W47"))]
        {
            assert!(DigestSpan::asked(day, week, now).is_err());
        }
    }
}
