//! `vault memory`

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{BAD, DIM, Out, TITLE, answer, bytes, count, remark, remark_end, say_archived, say_undo};
use crate::base::clock::local;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    ClearParams, Cleared, EntriesParams, EntriesView, EntryAddParams, EntryAdded, EntryChanged, EntryEditParams,
    EntryRemoveParams, ProcessingView, RetryParams,
};

/// List, add, edit and remove memory entries: preferences, decisions, commitments, facts, one line each.
///
/// Entries are list items in `memories/user.md`, an agent's in `agents/<name>/entries.md`: you may edit them in any editor. Proposals of
/// agents and models wait in `pending.md` beside them; `vault review` goes through them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault memory add --kind preference \"Prefers tabs over spaces\"\n  vault memory list\n  \
    vault memory list --agent ada --status archived\n  vault memory edit e-7f3a2b9c \"Prefers tabs, width 4\"\n  \
    vault memory remove e-7f3a2b9c --archive"
)]
pub(super) struct MemoryCommand {
    #[command(subcommand)]
    action: MemoryAction,
}

#[derive(Debug, Subcommand)]
enum MemoryAction {
    /// List entries.
    ///
    /// Exit code 1: no entries.
    List(EntriesParams),
    /// Add an entry, active at once. If an entry says the same already, nothing is added.
    Add(EntryAddParams),
    /// Edit an entry.
    Edit(EntryEditParams),
    /// Remove an entry; the entry it superseded becomes active again.
    Remove(EntryRemoveParams),
    /// Process the waiting conversations now.
    ///
    /// The chat model named in `[memory]` reads each conversation once it is quiet, and proposes entries, which wait until you accept them.
    /// Without a model, nothing is sent.
    Sync,
    /// Show the use of the memory's chat model: calls, outcomes, tokens, durations, and conversations set aside.
    Processing,
    /// Retry conversations that were set aside.
    Retry(RetryParams),
    /// Clear the derived layers: entries, proposals, archives, the profile, and summaries that you have not edited.
    ///
    /// Notes and conversations stay. `vault restore` with the printed IDs brings everything back.
    Clear(ClearParams),
}

impl MemoryCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        match self.action {
            MemoryAction::List(asked) => {
                let found = backend.ask(&endpoints::entries::LIST_ENTRIES, &asked)?;
                answer(&found, !found.entries.is_empty(), |out| list(&found, out))
            }
            MemoryAction::Add(entry) => {
                let added = backend.ask(&endpoints::entries::ADD_ENTRY, &entry)?;
                answer(&added, true, |out| tell_added(&added, out))
            }
            MemoryAction::Edit(entry) => told(&backend.ask(&endpoints::entries::EDIT_ENTRY, &entry)?, "changed"),
            MemoryAction::Remove(entry) => {
                let what = if entry.archive == Some(true) { "archived" } else { "removed" };
                told(&backend.ask(&endpoints::entries::REMOVE_ENTRY, &entry)?, what)
            }
            MemoryAction::Sync => {
                let view = sync(&mut backend)?;
                answer(&view, true, |out| Ok(show(&view, out)?))
            }
            MemoryAction::Processing => {
                let view = backend.ask(&endpoints::processing::PROCESSING, &())?;
                answer(&view, true, |out| Ok(show(&view, out)?))
            }
            MemoryAction::Retry(which) => {
                let retried = backend.ask(&endpoints::processing::RETRY_PROCESSING, &which)?;
                answer(&retried, true, |out| Ok(writeln!(out, "retrying {}", count(retried.queued, "session"))?))
            }
            MemoryAction::Clear(how) => {
                let cleared = backend.ask(&endpoints::processing::CLEAR_MEMORY, &how)?;
                answer(&cleared, true, |out| Ok(show_cleared(&cleared, out)?))
            }
        }
    }
}

fn list(found: &EntriesView, out: &mut Out) -> anyhow::Result<()> {
    for entry in &found.entries {
        out.paint(TITLE, &entry.id)?;
        write!(out, "  [{}] {}  ", entry.kind.word(), entry.text)?;
        let times = [("from", &entry.from), ("until", &entry.until), ("superseded by", &entry.superseded_by)];
        let times = times.iter().filter_map(|(name, when)| Some(format!("{name} {}  ", when.as_ref()?)));
        let reason = entry.reason.iter().map(|reason| format!("rejected: {reason}  "));
        let trust = (entry.trust != "person").then(|| format!("by {}  ", entry.trust));
        let more: String = times.chain(reason).chain(trust).collect();
        out.paint(DIM, &format!("{more}{}", entry.citation))?;
        writeln!(out)?;
    }
    for problem in &found.problems {
        remark!("vault: {problem}");
    }
    remark_end(!found.entries.is_empty(), found.cut, "no such entries; `vault memory add` adds one");
    Ok(())
}

fn tell_added(added: &EntryAdded, out: &mut Out) -> anyhow::Result<()> {
    match added.status.as_str() {
        "duplicate" => writeln!(out, "{} says it already; nothing was written", added.id)?,
        _ => writeln!(out, "added {}", added.id)?,
    }
    if let Some(id) = &added.supersedes {
        writeln!(out, "    it takes the place of {id}")?;
    }
    if let Some(id) = &added.contradicts {
        writeln!(out, "    {id} contradicts it; `vault memory remove {id} --archive` archives that one")?;
    }
    if added.redacted {
        writeln!(out, "    secrets were removed from it")?;
    }
    say_archived(&added.archived)?;
    if let Some(degraded) = &added.degraded {
        remark!("vault: {degraded}");
    }
    Ok(say_undo(&added.checkpoint_ids)?)
}

fn told(changed: &EntryChanged, what: &str) -> anyhow::Result<Outcome> {
    answer(changed, true, |out| {
        writeln!(out, "{what} {}", changed.id)?;
        Ok(say_undo(&changed.checkpoint_ids)?)
    })
}

/// How often it is looked how far a daemon is, and for how long at most.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(3_600);
/// Timeout of waiting for one and the same reason.
const STUCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Has it begun, and waits until nothing is left to do, or nothing can be done now.
fn sync(backend: &mut Backend) -> anyhow::Result<ProcessingView> {
    let mut view = backend.ask(&endpoints::processing::SYNC_MEMORY, &())?;
    let deadline = Instant::now() + PATIENCE;
    let mut stuck: Option<(Option<String>, Instant)> = None;
    while backend.is_served() && Instant::now() < deadline {
        let is_at_work = view.now.state == "working" || (view.now.state == "waiting" && view.now.queued > 0);
        if !is_at_work {
            break;
        }
        // What failed is tried again after some seconds. What waits for longer waits for something else.
        match &stuck {
            Some((reason, since)) if *reason == view.now.reason && view.now.state == "waiting" => {
                if since.elapsed() > STUCK_TIMEOUT {
                    break;
                }
            }
            _ => stuck = Some((view.now.reason.clone(), Instant::now())),
        }
        std::thread::sleep(LOOK_EVERY);
        view = backend.ask(&endpoints::processing::PROCESSING, &())?;
    }
    Ok(view)
}

fn show(view: &ProcessingView, out: &mut Out) -> io::Result<()> {
    let mut line = |name: &str, value: &str| out.field(name, value);
    line("model", view.now.model.as_deref().unwrap_or("none; `[memory] model` names one"))?;
    let reason = view.now.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    line("state", &format!("{}{reason}", view.now.state))?;
    line("waiting", &count(view.now.queued, "session"))?;
    if view.now.withheld > 0 {
        line("withheld", &format!("{}, private and not sent to another machine", count(view.now.withheld, "session")))?;
    }
    let since =
        view.now.since.as_ref().map_or("since the vault was made".into(), |since| format!("since {}", local(since)));
    let calls = count(view.now.calls as usize, "call");
    line("asked", &format!("{calls}, {} sent, {since}", bytes(view.now.bytes_sent)))?;
    line("tokens", &format!("{} read, {} written, as counted by the service", view.prompt_tokens, view.answer_tokens))?;
    let day = &view.day;
    let (calls, tokens) = (
        format!("{} of {} calls", day.calls, day.calls_limit),
        format!("{} of {} tokens", day.tokens, day.tokens_limit),
    );
    line("24 hours", &format!("{calls}, {tokens}"))?;
    if let Some(((success, p50), p95)) = view.success.zip(view.p50_ms).zip(view.p95_ms) {
        line("answered", &format!("{:.0} %, half within {p50} ms, 95 % within {p95} ms", success * 100.0))?;
    }
    for outcome in &view.outcomes {
        line("", &format!("{}: {}", outcome.outcome, outcome.calls))?;
    }
    let stores = &view.stores;
    line(
        "stores",
        &format!(
            "notes {}, of these layers {}, index {}, state {}",
            bytes(stores.notes),
            bytes(stores.layers),
            bytes(stores.index),
            bytes(stores.state)
        ),
    )?;
    for dead in &view.dead_letters {
        out.paint(BAD, "set aside")?;
        write!(out, "  ")?;
        out.paint(TITLE, dead.path.as_deref().unwrap_or("a deleted conversation"))?;
        writeln!(out, "  {}; `vault memory retry {}` retries it", dead.reason, dead.id)?;
    }
    Ok(())
}

fn show_cleared(cleared: &Cleared, out: &mut Out) -> io::Result<()> {
    if cleared.files.is_empty() {
        remark!("vault: there was nothing to clear");
    }
    let ids: Vec<&str> = cleared.files.iter().filter_map(|file| file.checkpoint_id.as_deref()).collect();
    for file in &cleared.files {
        writeln!(out, "{} is cleared", file.path)?;
    }
    for path in &cleared.kept {
        writeln!(out, "{path} stays: you have edited it")?;
    }
    if !ids.is_empty() {
        writeln!(out, "to undo: vault restore {}", ids.join(" "))?;
    }
    Ok(())
}
