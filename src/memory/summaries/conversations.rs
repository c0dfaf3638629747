//! Summaries of conversations: those that are seen, making them when the person asks for it; and the task that makes them when conversations have
//! come to rest, and the digest of a day when it is over.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::digest::{DigestSpan, has_file, page_of, write_file};
use crate::access::request::{Owner, ReadScope, RequestError, Viewer, Workspace, limit, note_path, rfc3339};
use crate::base::clock::Clock;
use crate::base::fs::FsError;
use crate::base::path::VaultPath;
use crate::base::tasks::{Task, TaskSignal};
use crate::index::engine::{FileEntry, Reader};
use crate::memory::generated_files::{
    FileMade, GeneratedError, GeneratedFile, MADE_BY, OF, READ, SummaryFiles, THROUGH, TURNS, known_summaries,
    known_summary,
};
use crate::serve::wire::{
    DigestSection, Skipped, SummariesMade, SummariesParams, SummariesState, SummariesView, SummaryMakeParams,
    SummaryView,
};
use crate::text::derive::CONVERSATIONS;
use crate::text::derive::summary::SUMMARIES;

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
        for span in spans.into_iter().flatten().filter(|span| !has_file(maker.root, span)) {
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
