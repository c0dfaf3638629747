//! A context, from what is asked to what is given.

use jiff::tz::TimeZone;

use super::block::{BlockSection, BudgetLeft, block};
use super::gate::{Gate, Gated, gate};
use super::lines::{NoteLines, named};
use super::passages::telling;
use super::sections::{EntrySelection, Sections};
use crate::access::request::{Edge, RequestError, Viewer, parse, within};
use crate::access::rules::{Principal, PromptMemoryMode};
use crate::serve::wire::{ContextMode, ContextParams, ContextPart, ContextView};
use crate::text::derive::said_text;

/// Tokens that can be asked for.
const BUDGETS: std::ops::RangeInclusive<usize> = 50..=100_000;
/// Maximum length of a question, in bytes. Who looks for it cuts it shorter; this keeps what is held small.
pub(super) const MAX_QUERY_BYTES: usize = 1 << 20;

/// What a model should know for a question, or in any case.
///
/// # Errors
/// When a parameter makes no sense, who asks is not the agent that it names, or the index is not open yet.
pub(crate) fn context(viewer: &Viewer, params: &ContextParams) -> Result<ContextView, RequestError> {
    let viewer = &asker(viewer, params.agent.as_deref())?;
    within("budget", params.budget, BUDGETS)?;
    if let Some(query) = params.query.as_ref().filter(|query| query.len() > MAX_QUERY_BYTES) {
        return Err(RequestError::invalid(format!("`query` has {} bytes; it takes {MAX_QUERY_BYTES}", query.len())));
    }
    // When the session began, where that is as of when memory is to be.
    let began = params.session_start.as_deref().filter(|_| is_frozen(viewer));
    let as_of = began.map(|text| parse("session_start", text, Edge::End, viewer.at())).transpose()?;
    let notes = NoteLines::of(viewer, as_of)?;
    let config = &viewer.workspace().config.memory;
    let query = params.query.as_deref().map(str::trim).unwrap_or_default();
    // What a program puts before a question is none of it.
    let typed = said_text(query);
    let is_behind = !typed.trim().is_empty() && query.ends_with(typed.trim());
    let query = if is_behind { typed.trim() } else { query };
    let now = viewer.at().to_zoned(TimeZone::system());
    let mut sections = Sections::new(viewer, &notes);
    let named = named(query, &notes);
    let named = named.as_deref();
    let mut gated = match (&params.sections, params.mode) {
        _ if viewer.agent().is_some() && !config.enabled => {
            Gated::of(Gate::Nothing, "`[memory] enabled` is false", query)
        }
        _ if is_unwanted(viewer, params) => {
            Gated::of(Gate::Nothing, "`style` on the agent's page excludes memory from prompts", query)
        }
        (Some(_), _) => Gated::of(Gate::Asked, "these sections were requested", query),
        (None, Some(ContextMode::Full)) => Gated::of(Gate::Full, "all layers were requested", query),
        (None, None) if query.is_empty() => Gated::of(Gate::Full, "no question was asked", query),
        _ => gate(query, named, now.date(), viewer.workspace().config.search.stemmer),
    };
    let mut given = of_gate(&mut sections, &gated, params, (query, named))?;
    let is_one = matches!(gated.gate, Gate::Profile | Gate::Transcript | Gate::Summaries | Gate::Entries);
    let is_empty = |given: &[BlockSection]| given.iter().all(|section| section.lines.is_empty());
    if is_one && is_empty(&given) && gated.span.is_some() && gated.gate != Gate::Summaries {
        gated.why += "; nothing was found, so summaries of that time are returned";
        gated.gate = Gate::Summaries;
        given = of_gate(&mut sections, &gated, params, (query, named))?;
    }
    if is_one && is_empty(&given) {
        gated.why += "; nothing was found, so notes and conversations were searched";
        // Who the person is may stand in a note.
        let asked = if gated.gate == Gate::Profile { query.to_owned() } else { gated.rest };
        gated = Gated { gate: Gate::Search, rest: asked, ..gated };
        given = of_gate(&mut sections, &gated, params, (query, named))?;
    }
    if given.iter().any(|section| !section.lines.is_empty()) || matches!(gated.gate, Gate::Full | Gate::Asked) {
        given.insert(0, sections.overrides());
    }
    let usual = (gated.gate != Gate::Full || params.mode.is_none()).then_some(config.context_tokens);
    let chars = viewer.limits().map(|limits| limits.max_injected_chars);
    let size = BudgetLeft { tokens: params.budget.or(usual), chars };
    let date = format!("Today is {}.", now.strftime("%A, %Y-%m-%d"));
    let (text, receipt) = block(given, &date, size, (gated.gate, gated.why));
    let told = format!("{}; tokens={}; receipt={}", receipt.gate, receipt.tokens, receipt.id);
    viewer.log_receipt("context", params.query.as_deref().unwrap_or_default(), receipt.places(), told);
    Ok(ContextView { text, receipt })
}

/// Who it is for: for the person any agent, for an agent itself.
fn asker(viewer: &Viewer, named: Option<&str>) -> Result<Viewer, RequestError> {
    match (viewer.agent(), named.filter(|name| !name.is_empty())) {
        (None, None) => Ok(viewer.clone()),
        (Some(own), named) if named.is_none_or(|name| name == own) => Ok(viewer.clone()),
        (_, named) => viewer.as_agent(named),
    }
}

/// Whether a session of who asks keeps the memory that it began with.
fn is_frozen(viewer: &Viewer) -> bool {
    let frozen = PromptMemoryMode::FrozenAtSessionStart;
    matches!(viewer.principal(), Principal::Agent(caller) if caller.policy.prompt_memory_mode == frozen)
}

/// Whether nothing goes into the prompts of who asks, though nobody asked for it.
fn is_unwanted(viewer: &Viewer, params: &ContextParams) -> bool {
    let is_out = matches!(viewer.principal(), Principal::Agent(caller) if !caller.policy.style.is_in_prompts());
    params.unasked == Some(true) && is_out
}

/// The sections of a gate, in their order.
fn of_gate(
    sections: &mut Sections<'_>,
    gated: &Gated,
    params: &ContextParams,
    (query, named): (&str, Option<&str>),
) -> Result<Vec<BlockSection>, RequestError> {
    Ok(match gated.gate {
        Gate::Nothing => Vec::new(),
        Gate::Profile if telling(&gated.rest).is_empty() => {
            vec![sections.profile(), sections.entries(&gated.rest, EntrySelection::AnyLike)]
        }
        // It is about something of the person's, and a note may say more of that.
        Gate::Profile => {
            let entries = sections.entries(query, EntrySelection::AnyLike);
            vec![sections.profile_like(query), entries, sections.excerpts(&gated.rest)?.1]
        }
        Gate::Transcript => vec![sections.transcript(&telling(&gated.rest))?],
        Gate::Summaries => {
            let about = telling(&gated.rest);
            match gated.span {
                Some(span) => vec![sections.summaries(Some(span)), sections.found_summaries(&about, Some(span))?],
                None if about.is_empty() => vec![sections.summaries(None)],
                None => vec![sections.found_summaries(&about, None)?],
            }
        }
        Gate::Entries if named.is_some() => {
            let entries = sections.entries(&gated.rest, EntrySelection::AnyLike);
            vec![entries, sections.relations(named)?, sections.memories(query)?]
        }
        Gate::Entries => {
            vec![sections.entries(&gated.rest, EntrySelection::AnyLike), sections.memories(&gated.rest)?]
        }
        Gate::Search => {
            let (about, excerpts) = sections.excerpts(&gated.rest)?;
            let entries = sections.entries(&gated.rest, EntrySelection::MuchLike);
            vec![about, entries, excerpts, sections.memories(&gated.rest)?]
        }
        Gate::Full => {
            let mut all = vec![sections.profile(), sections.entries(query, EntrySelection::All)];
            all.extend([sections.summaries(None), sections.relations(named)?]);
            if !query.is_empty() {
                all.extend([
                    sections.excerpts(query)?.1,
                    sections.memories(query)?,
                    sections.found_summaries(query, None)?,
                ]);
            }
            all
        }
        Gate::Asked => {
            let mut asked = Vec::new();
            let parts = params.sections.iter().flatten();
            for (at, part) in parts.clone().enumerate() {
                // Each once, however often it is named.
                if parts.clone().take(at).any(|before| before == part) {
                    continue;
                }
                asked.push(match part {
                    ContextPart::Profile => sections.profile(),
                    ContextPart::Entries => sections.entries(query, EntrySelection::All),
                    ContextPart::Relations => sections.relations(named)?,
                    ContextPart::Transcript => sections.transcript(query)?,
                    ContextPart::Summaries if query.is_empty() => sections.summaries(None),
                    ContextPart::Summaries => sections.found_summaries(query, None)?,
                    ContextPart::Excerpts => sections.excerpts(query)?.1,
                    ContextPart::Memories => sections.memories(query)?,
                });
            }
            asked
        }
    })
}
