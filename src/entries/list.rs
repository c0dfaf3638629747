//! Looking entries up.

use super::input::holder_named;
use super::view::{book, over_the_cap, state_of, view};
use crate::derive::entries::{EntryShelf, MemoryHolder};
use crate::path::folded;
use crate::request::{RequestError, Viewer, Visibility, limit};
use crate::wire::{EntriesParams, EntriesView, EntryState};

/// Entries when nobody says how many.
const ENTRIES: usize = 200;

/// The entries that are asked for, as far as they are seen.
///
/// # Errors
/// When a parameter makes no sense, or a file cannot be read.
pub(crate) fn entries(viewer: &Viewer, params: &EntriesParams) -> Result<EntriesView, RequestError> {
    let found = found(viewer, params);
    let given = found.as_ref().map(|found| found.entries.iter().map(|entry| entry.citation.clone()).collect());
    viewer.log("entries", params.tag.as_deref().unwrap_or_default(), given.unwrap_or_default());
    found
}

fn found(viewer: &Viewer, params: &EntriesParams) -> Result<EntriesView, RequestError> {
    let limit = limit(params.limit, ENTRIES)?;
    let status = params.status.unwrap_or(EntryState::Active);
    let shelf = match status {
        EntryState::Active | EntryState::Superseded => EntryShelf::Known,
        EntryState::Pending => EntryShelf::Pending,
        EntryState::Rejected | EntryState::Archived => EntryShelf::Archive,
    };
    let mut holders = Vec::new();
    match (params.agent.as_deref(), viewer.agent()) {
        (Some(named), Some(own)) if named != own => {}
        (Some(named), _) => holders.push(holder_named(viewer, Some(named))?),
        (None, Some(own)) => holders.extend([MemoryHolder::Agent(own.to_owned()), MemoryHolder::Person]),
        (None, None) => holders.push(MemoryHolder::Person),
    }
    let visibility = Visibility::of(viewer)?;
    let limit = visibility.given().results(limit);
    let mut room = visibility.given().room();
    let mut found = EntriesView::default();
    let now = viewer.at().as_millisecond();
    'holders: for holder in &holders {
        // What waits is inert: nobody but the person sees it.
        if visibility.is_agents() && shelf != EntryShelf::Known {
            continue;
        }
        let Some(book) = book(&visibility, holder, shelf)? else { continue };
        if !visibility.is_agents() {
            let path = book.path.as_ref().map(ToString::to_string).unwrap_or_default();
            found.problems.extend(book.file.problems.iter().map(|problem| {
                let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{path}{line}: {}", problem.message)
            }));
            let over = (shelf == EntryShelf::Known).then(|| over_the_cap(viewer.workspace(), &book)).flatten();
            found.problems.extend(over.map(|over| format!("{path}: {over}")));
        }
        let waiting = match shelf {
            EntryShelf::Pending => viewer.workspace().layers().waiting(holder)?,
            EntryShelf::Known | EntryShelf::Archive => Vec::new(),
        };
        let all = if shelf == EntryShelf::Pending { waiting.as_slice() } else { book.entries() };
        for entry in all {
            visibility.given().go_on()?;
            let is_meant = state_of(&entry.status) == status
                && params.kind.is_none_or(|kind| kind == entry.kind)
                && params.tag.as_deref().is_none_or(|tag| has_tag(&entry.tags, tag));
            // What is over is of no use to an agent.
            let is_over = visibility.is_agents() && status == EntryState::Active && !entry.counts_at(now);
            if !is_meant || is_over || !visibility.sees_derived(&entry.sources) {
                continue;
            }
            let said = entry.tags.iter().chain(&entry.sources).chain([&entry.text]);
            let chars = said.map(|text| text.chars().count()).sum::<usize>();
            if found.entries.len() >= limit || !room.take(chars) {
                found.cut = true;
                break 'holders;
            }
            let mut view = view(holder, &book, entry);
            if visibility.is_agents()
                && view
                    .superseded_by
                    .as_ref()
                    .is_some_and(|id| !book.get(id).is_some_and(|winner| visibility.sees_derived(&winner.sources)))
            {
                view.superseded_by = None;
            }
            found.entries.push(view);
        }
    }
    if !visibility.is_agents() {
        let holders = viewer.workspace().layers().holders().into_iter();
        found.agents = holders
            .filter_map(|holder| match holder {
                MemoryHolder::Person => None,
                MemoryHolder::Agent(slug) => Some(slug),
            })
            .collect();
    }
    Ok(found)
}

/// How many entries of an agent's count now, as far as they are seen.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn count(viewer: &Viewer, slug: &str) -> Result<usize, RequestError> {
    let visibility = Visibility::of(viewer)?;
    let Some(book) = book(&visibility, &MemoryHolder::Agent(slug.to_owned()), EntryShelf::Known)? else { return Ok(0) };
    let now = viewer.at().as_millisecond();
    Ok(book.entries().iter().filter(|entry| entry.counts_at(now) && visibility.sees_derived(&entry.sources)).count())
}

fn has_tag(tags: &[String], wanted: &str) -> bool {
    let wanted = folded(wanted.trim_start_matches('#'));
    tags.iter().any(|tag| {
        let tag = folded(tag);
        tag == wanted || tag.strip_prefix(&wanted).is_some_and(|below| below.starts_with('/'))
    })
}
