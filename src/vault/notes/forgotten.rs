//! What stays forgotten, and the log of changes, as the person sees them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::access::request::{Edge, Owner, RequestError, parse, rfc3339, within};
use crate::access::rules::Scope;
use crate::base::path::VaultPath;
use crate::base::state::{ChangeFilter, ChangeLine, Digest, ForgottenKind, Tombstone};
use crate::serve::wire::{BackAgain, ChangeView, ChangesParams, ChangesView, ForgottenView, LiftedView, TombstoneView};
use crate::text::derive::facts::FactsFile;
use crate::vault::forgotten::{FactToWrite, ForgottenLookup};

/// Maximum number of things left out that are shown.
const MAX_LEFT_OUT: usize = 1000;
/// Time limit of the scan of the notes for what is back.
const SCAN_LIMIT: Duration = Duration::from_secs(10);
/// Default number of changes that are shown.
const CHANGES: usize = 100;
/// Maximum number of changes that are shown.
const MAX_CHANGES: usize = 10_000;

/// What was forgotten for good, what was left out because of it, and what is back.
///
/// # Errors
/// When the state cannot be read.
pub(crate) fn forgotten(owner: &Owner) -> Result<ForgottenView, RequestError> {
    let forgotten = owner.workspace().forgotten();
    let (back, complete) = forgotten_back(owner, SCAN_LIMIT)?;
    Ok(ForgottenView {
        forgotten: forgotten.all()?.all.iter().map(tombstone).collect(),
        left_out: forgotten.left_out(MAX_LEFT_OUT)?,
        back,
        complete,
    })
}

/// Lets come back what was forgotten. What was left out meanwhile stays so.
///
/// # Errors
/// When nothing of that name was forgotten, or the state cannot be written.
pub(crate) fn lift(owner: &Owner, id: i64) -> Result<LiftedView, RequestError> {
    if owner.workspace().forgotten().lift(id)? {
        return Ok(LiftedView { ok: true });
    }
    Err(RequestError::not_found(format!("no purged text has the number {id}")))
}

/// What was forgotten and stands in notes again, as far as they could be looked over within `patience`, and whether all were. The person
/// may write anything again; it is pointed out.
///
/// # Errors
/// When the state or the index cannot be read.
pub(crate) fn forgotten_back(owner: &Owner, patience: Duration) -> Result<(Vec<BackAgain>, bool), RequestError> {
    let (workspace, until) = (owner.workspace(), Instant::now() + patience);
    let forgotten = workspace.forgotten();
    let known = forgotten.look()?;
    if known.is_empty() {
        return Ok((Vec::new(), true));
    }
    let scope = owner.now()?;
    let (mut back, mut complete) = (Vec::new(), true);
    for file in scope.files() {
        let in_time = Instant::now() < until;
        let find = || match workspace.source(&file.path) {
            Ok(source) => lines_back(owner, &known, &file.path, &source.text),
            Err(_) => Vec::new(),
        };
        let Some(lines) = forgotten.lines_of(&known, &file.path, &file.hash, in_time, find) else {
            complete = false;
            continue;
        };
        let found = |(line, tombstone)| BackAgain { path: file.path.to_string(), line, tombstone };
        back.extend(lines.into_iter().map(found));
    }
    back.sort_by(|one, two| (&one.path, one.line).cmp(&(&two.path, two.line)));
    Ok((back, complete))
}

/// The lines of a note that were forgotten. A fact is known by its name and value, however short that is.
pub(super) fn lines_back(
    owner: &Owner,
    known: &ForgottenLookup<'_>,
    path: &VaultPath,
    text: &str,
) -> Vec<(usize, i64)> {
    let mut lines = known.lines(text);
    if let Some(scope) = owner.workspace().fact_store().scope_of(path).map(|scope| scope.to_string()) {
        for fact in FactsFile::read(text).facts() {
            let to_write = |value| FactToWrite { namespace: &fact.namespace, key: &fact.key, value };
            let mut values = fact.retracted.iter().chain([&fact.text]).filter(|value| !value.is_empty());
            let found = values.find_map(|value| known.in_fact(&scope, to_write(value), &Scope::Everything));
            lines.extend(found.map(|tombstone| (fact.line, tombstone)));
        }
        lines.sort_unstable();
        lines.dedup_by_key(|(line, _)| *line);
    }
    lines
}

fn tombstone(tombstone: &Tombstone) -> TombstoneView {
    let count = |kind: ForgottenKind| tombstone.digests.iter().filter(|(of, _)| *of == kind).count();
    TombstoneView {
        id: tombstone.id,
        at: rfc3339(tombstone.at.as_millisecond()),
        place: tombstone.place.clone(),
        texts: count(ForgottenKind::Text),
        sentences: count(ForgottenKind::Sentence),
        facts: count(ForgottenKind::Fact),
    }
}

/// What the program changed, newest first.
///
/// # Errors
/// When a parameter makes no sense, or the state cannot be read.
pub(crate) fn changes(owner: &Owner, params: &ChangesParams) -> Result<ChangesView, RequestError> {
    let limit = within("limit", params.limit, 1..=MAX_CHANGES)?.unwrap_or(CHANGES);
    let since = params.since.as_deref().map(|since| parse("since", since, Edge::Start, owner.at())).transpose()?;
    let since = since.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let filter = ChangeFilter { path: params.path.clone(), since, limit };
    let workspace = owner.workspace();
    let lines = workspace.changes().newest(&filter)?;
    let undoable: HashSet<String> = match workspace.files() {
        Ok(files) => files.checkpoints()?.into_iter().map(|checkpoint| checkpoint.id.to_string()).collect(),
        // Another process has them.
        Err(_) => HashSet::new(),
    };
    Ok(ChangesView { changes: lines.into_iter().map(|line| change(line, &undoable)).collect() })
}

fn change(line: ChangeLine, undoable: &HashSet<String>) -> ChangeView {
    let hex = |digest: Digest| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    ChangeView {
        at: rfc3339(line.at.as_millisecond()),
        by: line.by,
        what: line.what,
        path: line.path,
        line_start: line.lines.map(|(first, _)| first),
        line_end: line.lines.map(|(_, last)| last),
        before: line.before.map(hex),
        after: line.after.map(hex),
        checkpoint_id: line.checkpoint.filter(|id| undoable.contains(id)),
    }
}
