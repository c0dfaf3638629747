//! The queue of proposals: what waits, beside what is known, and what is decided.

use super::read::view;
use super::write::{entry_text, holder_named, settle};
use crate::access::request::{MeaningAlike, Owner, RequestError, limit};
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::memory::items::{Acceptance, EntriesSnapshot, EntryWriter};
use crate::serve::wire::{EntryView, ProposalView, ReviewDecisions, ReviewParams, ReviewView, Reviewed, SourceQuote};
use crate::text::derive::entries::{EntryFileKind, EntryStatus, MemoryEntry, Verdict, source_path};
use crate::vault::disk::Action;
use crate::vault::forgotten::TombstoneScope;

/// Maximum length of what is quoted of a source, in characters.
const MAX_QUOTE_CHARS: usize = 1_000;
/// Maximum number of decisions at a time.
const MAX_DECISIONS: usize = 1_000;
/// Maximum length of a reason.
const MAX_REASON_CHARS: usize = 300;
/// Proposals that are given when nobody says how many.
const USUAL_PROPOSALS: usize = 100;

/// The proposals that wait, each beside what is known.
///
/// # Errors
/// When a parameter makes no sense, or a file cannot be read.
pub(crate) fn review(owner: &Owner, params: &ReviewParams) -> Result<ReviewView, RequestError> {
    let most = limit(params.limit, USUAL_PROPOSALS)?;
    let entry_store = owner.workspace().entry_store();
    let holders = match params.agent.as_deref() {
        Some(agent) => vec![holder_named(owner, Some(agent))?],
        None => entry_store.holders(),
    };
    let asked = owner.workspace().forgotten().look()?;
    let meaning = MeaningAlike::of(owner.workspace());
    let rules = meaning.rules(owner.workspace(), &asked, TombstoneScope::All);
    let mut found = ReviewView::default();
    for holder in &holders {
        let (known, pending) = (entry_store.entries(holder)?, entry_store.pending(holder)?);
        let active: Vec<&MemoryEntry> = known.active().collect();
        for entry in entry_store.waiting(holder)? {
            if params.source.as_deref().is_some_and(|source| !entry.source_paths().any(|path| path == source)) {
                continue;
            }
            if found.proposals.len() == most {
                found.more += 1;
                continue;
            }
            found.proposals.push(proposal(owner, holder, &entry, (&known, &pending), rules.verdict(&entry, &active)));
        }
    }
    found.degraded = meaning.degraded();
    Ok(found)
}

fn proposal(
    owner: &Owner,
    holder: &MemoryScope,
    entry: &MemoryEntry,
    (known, pending): (&EntriesSnapshot, &EntriesSnapshot),
    verdict: Verdict,
) -> ProposalView {
    let (word, id) = match verdict {
        Verdict::New => ("new", None),
        Verdict::Duplicate(id) => ("duplicate", Some(id)),
        Verdict::Contradicts(id) => ("contradicts", Some(id)),
        Verdict::Supersedes(id) => ("supersedes", Some(id)),
    };
    let other = id.and_then(|id| known.get(&id)).map(|entry| view(holder, known, entry));
    let entry_view = view(holder, pending, entry);
    let line = |entry: &EntryView| format!("[{}] {}", entry.kind.word(), entry.text);
    let diff = other.iter().map(|known| format!("- {}", line(known))).chain([format!("+ {}", line(&entry_view))]);
    ProposalView {
        verdict: word.to_owned(),
        diff: diff.collect(),
        quotes: entry.sources.iter().map(|source| quote(owner, source)).collect(),
        known: other,
        entry: entry_view,
    }
}

/// The lines that a source names.
fn quote(owner: &Owner, source: &str) -> SourceQuote {
    let lines = source.split_once('#').and_then(|(_, lines)| {
        let line = |text: &str| text.strip_prefix('L').unwrap_or(text).parse::<usize>().ok().filter(|line| *line > 0);
        match lines.split_once('-') {
            Some((first, last)) => line(first).zip(line(last)),
            None => line(lines).map(|line| (line, line)),
        }
    });
    let text = VaultPath::new(source_path(source)).ok().and_then(|path| owner.workspace().source(&path).ok());
    let text = text.and_then(|read| {
        let (first, last) = lines?;
        let lines: Vec<&str> = read.text.lines().skip(first - 1).take((last + 1).saturating_sub(first)).collect();
        (!lines.is_empty()).then(|| lines.join("\n").chars().take(MAX_QUOTE_CHARS).collect())
    });
    SourceQuote { citation: source.to_owned(), text }
}

/// What is decided about the proposals of one memory.
#[derive(Default)]
struct Decided {
    accepts: Vec<Acceptance>,
    rejects: Vec<(String, Vec<String>)>,
}

/// Accepts and rejects proposals. What makes no sense is refused before anything is written.
///
/// # Errors
/// When a decision makes no sense, or a file cannot be changed.
pub(crate) fn decide(owner: &Owner, params: &ReviewDecisions) -> Result<Reviewed, RequestError> {
    if params.decisions.is_empty() || params.decisions.len() > MAX_DECISIONS {
        let message = format!("`decisions` has {}; it takes 1 to {MAX_DECISIONS}", params.decisions.len());
        return Err(RequestError::invalid(message));
    }
    let (workspace, entry_store) = (owner.workspace(), owner.workspace().entry_store());
    let mut done = Reviewed { ok: true, ..Reviewed::default() };
    let mut all: Vec<(MemoryScope, Decided)> = Vec::new();
    for decision in &params.decisions {
        let holder = holder_named(owner, decision.agent.as_deref())?;
        let waiting = entry_store.waiting(&holder)?;
        let ids: Vec<String> = match (&decision.id, &decision.all_of) {
            (Some(id), None) if waiting.iter().any(|entry| entry.id == *id) => vec![id.clone()],
            (Some(id), None) => {
                done.absent.push(id.clone());
                Vec::new()
            }
            (None, Some(source)) => {
                let of = waiting.iter().filter(|entry| entry.source_paths().any(|path| path == source_path(source)));
                of.map(|entry| entry.id.clone()).collect()
            }
            _ => return Err(RequestError::invalid("a decision takes `id`, or `all_of`")),
        };
        let reason = decision.reason.as_deref().unwrap_or_default();
        if reason.chars().count() > MAX_REASON_CHARS {
            return Err(RequestError::invalid(format!("`reason` takes up to {MAX_REASON_CHARS} characters")));
        }
        if (decision.text.is_some() || decision.supersedes.is_some()) && (decision.id.is_none() || !decision.accept) {
            return Err(RequestError::invalid("`text` and `supersedes` need a single accepted proposal"));
        }
        if let Some(id) = &decision.supersedes
            && entry_store.entries(&holder)?.get(id).is_none_or(|entry| entry.status != EntryStatus::Active)
        {
            return Err(RequestError::not_found(format!("there is no active entry `{id}`")));
        }
        let text = decision.text.as_deref().map(|text| entry_text(owner, text)).transpose()?.map(|(text, _)| text);
        let at = all.iter().position(|(known, _)| *known == holder).unwrap_or_else(|| {
            all.push((holder, Decided::default()));
            all.len() - 1
        });
        let decided = &mut all[at].1;
        if decision.accept {
            decided.accepts.extend(ids.into_iter().map(|id| Acceptance {
                id,
                text: text.clone(),
                supersedes: decision.supersedes.clone(),
            }));
        } else {
            decided.rejects.push((reason.to_owned(), ids));
        }
    }
    let asked = workspace.forgotten().look()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, TombstoneScope::All);
    let writer = EntryWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    for (holder, decided) in &all {
        let mut undo = Vec::new();
        if !decided.accepts.is_empty() {
            undo = entry_store.accept(&writer, holder, &decided.accepts, &rules)?;
            let accepted: Vec<String> = decided.accepts.iter().map(|choice| choice.id.clone()).collect();
            let (max, usage) = (workspace.config().memory.max_entries, workspace.usage());
            let (archived, more) = entry_store.keep_to_cap(writer.files, holder, &accepted, max, usage)?;
            done.accepted.extend(accepted);
            done.archived.extend(archived);
            undo.splice(0..0, more);
        }
        for (reason, ids) in decided.rejects.iter().filter(|(_, ids)| !ids.is_empty()) {
            let reason = if reason.is_empty() { "not wanted" } else { reason };
            undo.splice(0..0, entry_store.set_aside(&writer, holder, EntryFileKind::Pending, ids, Some(reason))?);
            done.rejected.extend(ids.iter().cloned());
        }
        done.checkpoint_ids.splice(0..0, undo.iter().map(ToString::to_string));
        settle(workspace, holder, EntryFileKind::Known);
    }
    Ok(done)
}
