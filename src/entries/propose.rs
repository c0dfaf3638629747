//! Adding entries: the person's count at once, an agent's wait.

use super::input::{confidence, entry_text, holder_named, sources, window};
use crate::config::MemoryKind;
use crate::derive::entries::{EntryShelf, EntryStatus, MemoryEntry, MemoryHolder, TrustLevel, Verdict, made_id};
use crate::forgotten::TombstoneScope;
use crate::items::{EntryEdit, EntryProposal, Evidence, LayerWriter, Proposed, entries_path};
use crate::request::{MeaningAlike, MemoryWriter, RequestError, Viewer, tags, trust_of_place};
use crate::vault::{Action, WriteError};
use crate::wire::{EntryAddParams, EntryAdded};

/// How sure an agent's proposal is when it does not say.
const AGENTS_CONFIDENCE: f64 = 0.8;

/// Adds an entry of the person's; proposes one of an agent's.
///
/// What was forgotten for good is left out of what an agent brings, and so is what the person rejected and what is known: it hears the same
/// in any case.
///
/// # Errors
/// When a parameter makes no sense, who asks may not write there, the vault keeps none of agents, or the disk refuses.
pub(crate) fn add(viewer: &Viewer, params: &EntryAddParams) -> Result<EntryAdded, RequestError> {
    if viewer.agent().is_some() && !viewer.workspace().config().memory.enabled {
        let hint = Some("`[memory] enabled` in memory.toml".into());
        return Err(RequestError { hint, ..RequestError::forbidden("no entries are kept in this vault") });
    }
    let (text, redacted) = entry_text(viewer, &params.text)?;
    let mut entry = MemoryEntry::new(params.kind.unwrap_or(MemoryKind::Fact), &text);
    entry.tags = params.tags.as_deref().map(tags).transpose()?.unwrap_or_default();
    entry.window = window(params.from.as_deref(), params.until.as_deref())?;
    entry.sources = params.sources.as_deref().map(sources).transpose()?.unwrap_or_default();
    let confidence = confidence(params.confidence)?;
    let added = match viewer.agent() {
        None => {
            entry.confidence = confidence.unwrap_or(1.0);
            // Written down, as nobody knows what a source was once it is moved or gone.
            entry.trust = trust_at_most(viewer, &entry, TrustLevel::Person)?;
            add_as_person(viewer, params, entry)?
        }
        Some(slug) => {
            let named = holder_named(viewer, params.agent.as_deref().or(Some(slug)))?;
            entry.confidence = confidence.unwrap_or(AGENTS_CONFIDENCE);
            entry.trust = trust_at_most(viewer, &entry, TrustLevel::Agent)?;
            propose_as_agent(&viewer.memory_writer()?, &named, entry)?
        }
    };
    Ok(EntryAdded { redacted, ..added })
}

/// How far an entry is trusted of somebody's: no more than what it was learned from.
fn trust_at_most(viewer: &Viewer, entry: &MemoryEntry, own: TrustLevel) -> Result<TrustLevel, RequestError> {
    if entry.sources.is_empty() {
        return Ok(own);
    }
    let scope = viewer.read_scope()?;
    let files = scope.reader().files();
    Ok(entry.sources.iter().map(|place| trust_of_place(files, place)).fold(own, Ord::min))
}

fn add_as_person(viewer: &Viewer, params: &EntryAddParams, mut entry: MemoryEntry) -> Result<EntryAdded, RequestError> {
    let workspace = viewer.workspace();
    let holder = holder_named(viewer, params.agent.as_deref())?;
    if let MemoryHolder::Agent(slug) = &holder
        && workspace.agents().policy(slug).is_none()
    {
        return Err(RequestError::not_found(format!("there is no agent `{slug}`")));
    }
    let forgotten = workspace.forgotten();
    let asked = forgotten.look()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, TombstoneScope::All);
    let layers = workspace.layers();
    let known = layers.entries(&holder)?;
    let active: Vec<&MemoryEntry> =
        known.entries().iter().filter(|entry| entry.status == EntryStatus::Active).collect();
    let mut added = EntryAdded {
        ok: true,
        id: String::new(),
        status: "active".into(),
        contradicts: None,
        supersedes: None,
        redacted: false,
        archived: Vec::new(),
        checkpoint_ids: Vec::new(),
        degraded: None,
    };
    let mut edits = Vec::new();
    let archive = layers.archive(&holder)?;
    entry.id = made_id(&entry.text, |id| known.is_taken(id) || archive.is_taken(id));
    let verdict = rules.verdict(&entry, &active);
    added.degraded = meaning.degraded();
    match verdict {
        Verdict::Duplicate(id) => return Ok(EntryAdded { id, status: "duplicate".into(), ..added }),
        Verdict::Contradicts(id) => added.contradicts = Some(id),
        Verdict::Supersedes(id) | Verdict::Replaces(id) => {
            if let Some(loser) = known.get(&id) {
                let status = EntryStatus::Superseded(entry.id.clone());
                edits.push(EntryEdit::Change {
                    was: loser.clone(),
                    now: Box::new(MemoryEntry { status, ..loser.clone() }),
                });
            }
            added.supersedes = Some(id);
        }
        Verdict::New => {}
    }
    edits.insert(0, EntryEdit::Add(entry));
    let writer = LayerWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    let written = layers.change(&writer, &holder, EntryShelf::Known, &edits)?;
    added.id = written.added.into_iter().next().unwrap_or_default();
    let max = workspace.config().memory.max_entries;
    let new = [added.id.clone()];
    let (archived, undone) = layers.keep_to_cap(writer.files, &holder, &new, max, workspace.usage())?;
    added.archived = archived;
    added.checkpoint_ids = undone.iter().chain(&written.checkpoint).map(ToString::to_string).collect();
    if let Ok(path) = entries_path(&holder, EntryShelf::Known) {
        workspace.settled_in_time(&path);
    }
    Ok(added)
}

fn propose_as_agent(
    agent: &MemoryWriter,
    holder: &MemoryHolder,
    entry: MemoryEntry,
) -> Result<EntryAdded, RequestError> {
    let workspace = agent.workspace();
    agent.may_write_items("propose no entries")?;
    let path = entries_path(holder, EntryShelf::Pending)?;
    let forgotten = workspace.forgotten();
    let asked = forgotten.ask()?;
    let reach = agent.reach();
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, TombstoneScope::Agent(&reach));
    let act = agent.act(Action::Edit, entry.text.len());
    let writer = LayerWriter { files: workspace.files()?, act, is_program: true };
    agent.begin()?;
    // The name that it would have had is what it hears, whatever became of it.
    let id = made_id(&entry.text, |_| false);
    let proposals = vec![EntryProposal { entry, evidence: Evidence::Claimed }];
    let all = workspace.layers().propose(&writer, holder, proposals, &rules);
    agent.log_own("entry_propose", path.as_str(), Vec::new());
    let all = all.inspect_err(|_| agent.turn().rest())?;
    if let Some(Proposed::Forgotten(tombstone)) = all.outcomes.first() {
        forgotten.note(&format!("agent {}", agent.slug()), path.as_str(), true, *tombstone);
    }
    if all.checkpoints.is_empty() {
        // What is left out counts against what it may write as well, so that this tells nothing.
        let before = writer.files.read(&path)?.map(|(_, hash)| hash);
        if let Err(error @ WriteError::TooMuch(_)) = writer.files.leave(&path, before, act) {
            return Err(error.into());
        }
    }
    drop(rules);
    drop(asked);
    Ok(EntryAdded {
        ok: true,
        id,
        status: "pending".into(),
        contradicts: None,
        supersedes: None,
        redacted: false,
        archived: Vec::new(),
        checkpoint_ids: Vec::new(),
        degraded: None,
    })
}
