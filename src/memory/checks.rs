//! Still true? The entries and facts whose day has come to ask, or that have aged by their kind, and what the person says of them.
//!
//! Nothing but an answer counts: that something is read or searched for confirms nothing, and no model decides.

use serde_json::Value;

use super::entries::{entry_text, settle};
use super::facts::{self, one};
use crate::access::request::{Owner, RequestError};
use crate::base::clock::{local_day, rfc3339};
use crate::base::config::{MemoryKind, MemoryScope};
use crate::memory::items::{EntryWriter, due_of};
use crate::serve::wire::{
    CheckAnswer, CheckAnswerParams, CheckAnswered, CheckView, EntryEditParams, FactNameParams, FactSetParams, citation,
};
use crate::text::derive::entries::{EntryEdit, EntryFileKind, EntryStatus, MemoryEntry};
use crate::text::derive::facts::{Moment, Validity, full_name, read_value, split_name};
use crate::vault::disk::Action;

/// Maximum number of questions at once: those that have been due for longest.
const MAX_CHECKS: usize = 100;

/// What is to be asked, the longest due first.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn due(owner: &Owner) -> Result<Vec<CheckView>, RequestError> {
    let (workspace, now) = (owner.workspace(), owner.at().as_millisecond());
    let scope = owner.read_scope()?;
    let files = scope.reader().files();
    let mut found: Vec<(i64, CheckView)> = Vec::new();
    let mut add = |id: String, scope: &MemoryScope, kind, text: &str, citation, (due, since), window: &Validity| {
        let confirmed = window.confirmed.as_ref().map(|confirmed| confirmed.text.clone());
        let (scope, text, since) = (scope.to_string(), text.to_owned(), Option::<i64>::map(since, day));
        found.push((due, CheckView { id, scope, kind, text, citation, due: day(due), since, confirmed }));
    };
    // What cannot be read is told by the index.
    for holder in workspace.entry_store.holders() {
        let Ok(book) = workspace.entry_store.entries(&holder) else { continue };
        for entry in book.entries.iter().filter(|entry| entry.counts_at(now)) {
            let Some(due) = due_of(entry, files).filter(|(due, _)| *due <= now) else { continue };
            let citation = citation(book.path.as_str(), entry.line_start as u32, entry.line_end as u32);
            add(entry.id.clone(), &holder, entry.kind, &entry.text, citation, due, &entry.window);
        }
    }
    for holder in workspace.fact_store.scopes() {
        let Ok(book) = workspace.fact_store.book(&holder) else { continue };
        for (fact, value) in book.true_at(now) {
            // A value that is still to begin is asked about when it has.
            if value != fact.text {
                continue;
            }
            let learned = book.history.last_said(&fact.namespace, &fact.key).map(|change| change.learned);
            let due = fact.window.due(learned, MemoryKind::Fact.months());
            let Some(due) = due.filter(|(due, _)| *due <= now) else { continue };
            let citation = citation(book.path.as_str(), fact.line as u32, fact.last_line as u32);
            let id = full_name(&fact.namespace, &fact.key);
            add(id, &holder, MemoryKind::Fact, value, citation, due, &fact.window);
        }
    }
    found.sort_by_key(|(due, _)| *due);
    Ok(found.into_iter().take(MAX_CHECKS).map(|(_, view)| view).collect())
}

/// The day of a moment, in milliseconds since 1970, as it is written.
fn day(ms: i64) -> String {
    local_day(&rfc3339(ms))
}

/// Writes what the person says of an entry or a fact. What is no more stays in its file or its history.
///
/// # Errors
/// When there is none of that name, `text` is not there for what has changed, or the file cannot be changed so.
pub(crate) fn answer(owner: &Owner, params: &CheckAnswerParams) -> Result<CheckAnswered, RequestError> {
    let text = params.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if (params.answer == CheckAnswer::Changed) != text.is_some() {
        return Err(RequestError::invalid("`text` says what is true now, and stands with `changed` alone"));
    }
    let holder = params.scope.as_deref().map(one).transpose()?.unwrap_or(MemoryScope::User);
    let entry = match holder {
        MemoryScope::User | MemoryScope::Agent(_) => {
            owner.workspace().entry_store.entries(&holder)?.get(&params.id).cloned()
        }
        _ => None,
    };
    let now = owner.at().as_millisecond();
    let checkpoint_ids = match entry.filter(|entry| entry.counts_at(now)) {
        Some(entry) => of_entry(owner, &holder, entry, params.answer, text)?,
        None => of_fact(owner, &holder, &params.id, params.answer, text)?.into_iter().collect(),
    };
    Ok(CheckAnswered { ok: true, checkpoint_ids })
}

/// What is said of when something is true, once it was confirmed now.
fn confirmed(window: &Validity, owner: &Owner) -> Validity {
    let today = Moment::read(&day(owner.at().as_millisecond()));
    // That it is never to be asked is not answered by an answer.
    let check = window.check.clone().filter(|check| check.ms.is_none());
    Validity { check, confirmed: today, ..window.clone() }
}

fn of_entry(
    owner: &Owner,
    holder: &MemoryScope,
    was: MemoryEntry,
    answer: CheckAnswer,
    text: Option<&str>,
) -> Result<Vec<String>, RequestError> {
    let agent = if let MemoryScope::Agent(slug) = holder { Some(slug.clone()) } else { None };
    let edits = match (answer, text) {
        (CheckAnswer::Gone, _) => {
            let now = owner.at().as_millisecond();
            let today = day(now);
            // What began today ends at a time of it.
            let is_of_today = was.window.from.as_ref().is_some_and(|from| from.text.starts_with(&today));
            let until = Some(if is_of_today { rfc3339(now) } else { today });
            let params = EntryEditParams { id: was.id, agent, until, ..EntryEditParams::default() };
            return Ok(super::entries::edit(owner, &params)?.checkpoint_ids);
        }
        (CheckAnswer::Changed, Some(text)) if text != was.text => {
            // Who may not see where it was learned does not see what it has become.
            let (tags, sources) = (was.tags.clone(), was.sources.clone());
            let window = confirmed(&Validity::default(), owner);
            let text = entry_text(owner, text)?.0;
            let new = MemoryEntry { window, tags, sources, ..MemoryEntry::new(was.kind, &text) };
            let id = owner.workspace().entry_store.new_id(holder, &new.text)?;
            let status = EntryStatus::Superseded(id.clone());
            let now = Box::new(MemoryEntry { status, ..was.clone() });
            vec![EntryEdit::Add(MemoryEntry { id, ..new }), EntryEdit::Change { was, now }]
        }
        _ => {
            let now = Box::new(MemoryEntry { window: confirmed(&was.window, owner), ..was.clone() });
            vec![EntryEdit::Change { was, now }]
        }
    };
    let workspace = owner.workspace();
    let writer = EntryWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    let (written, _) = workspace.entry_store.change(&writer, holder, EntryFileKind::Known, &edits)?;
    settle(workspace, holder, EntryFileKind::Known);
    Ok(written.into_iter().map(|id| id.to_string()).collect())
}

fn of_fact(
    owner: &Owner,
    holder: &MemoryScope,
    name: &str,
    answer: CheckAnswer,
    text: Option<&str>,
) -> Result<Option<String>, RequestError> {
    let (namespace, key) = split_name(name);
    let book = owner.workspace().fact_store.book(holder)?;
    let Some(fact) = book.facts.get(namespace, key) else {
        return Err(RequestError::not_found(format!("there is no entry and no fact `{name}` that is true now")));
    };
    let (scope, namespace, key) = (Some(holder.to_string()), Some(namespace.to_owned()), key.to_owned());
    let written = match (answer, text) {
        (CheckAnswer::Gone, _) => facts::unset(owner, &FactNameParams { scope, namespace, key })?,
        (CheckAnswer::Changed, Some(text)) if text != fact.text => {
            let value = read_value(text).unwrap_or_else(|_| Value::String(text.to_owned()));
            facts::set(owner, &FactSetParams { scope, namespace, key, value, ..FactSetParams::default() })?
        }
        _ => facts::set_window(owner, &FactNameParams { scope, namespace, key }, confirmed(&fact.window, owner))?,
    };
    Ok(written.checkpoint_id)
}
