//! `vault memory`

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{BAD, DIM, TITLE, bytes, count, remark, say, say_archived, say_undo, stdout};
use crate::base::clock::local;
use crate::base::config::MemoryKind;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    ClearParams, Cleared, EntriesParams, EntriesView, EntryAddParams, EntryChanged, EntryEditParams, EntryRemoveParams,
    EntryState, ProcessingView, RetryParams,
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
    List(ListEntries),
    /// Add an entry, active at once. If an entry says the same already, nothing is added.
    Add(AddEntry),
    /// Edit an entry.
    Edit(EditEntry),
    /// Remove an entry; the entry it superseded becomes active again.
    Remove(RemoveEntry),
    /// Process the waiting conversations now.
    ///
    /// The chat model named in `[memory]` reads each conversation once it is quiet, and proposes entries, which wait until you accept them.
    /// Without a model, nothing is sent.
    Sync(SyncMemory),
    /// Show the use of the memory's chat model: calls, outcomes, tokens, durations, and conversations set aside.
    Processing(ShowProcessing),
    /// Retry conversations that were set aside.
    Retry(RetryProcessing),
    /// Clear the derived layers: entries, proposals, archives, the profile, and summaries that you have not edited.
    ///
    /// Notes and conversations stay. `vault restore` with the printed IDs brings everything back.
    Clear(ClearMemory),
}

impl MemoryCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.action {
            MemoryAction::List(command) => command.run(vault),
            MemoryAction::Add(command) => command.run(vault),
            MemoryAction::Edit(command) => command.run(vault),
            MemoryAction::Remove(command) => command.run(vault),
            MemoryAction::Sync(command) => command.run(vault),
            MemoryAction::Processing(command) => command.run(vault),
            MemoryAction::Retry(command) => command.run(vault),
            MemoryAction::Clear(command) => command.run(vault),
        }
    }
}

fn kind(text: &str) -> Result<MemoryKind, String> {
    let known: Vec<&str> = MemoryKind::ALL.into_iter().map(MemoryKind::word).collect();
    MemoryKind::of(text).ok_or_else(|| format!("use one of {}", known.join(", ")))
}

fn state(text: &str) -> Result<EntryState, String> {
    serde_json::from_value(text.into()).map_err(|_| "use one of active, superseded, pending, rejected, archived".into())
}

/// Opens a vault for what needs no model, and waits until the index has caught up.
pub(super) fn open(vault: Option<&Path>) -> anyhow::Result<Backend> {
    let backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
    backend.catch_up(false)?;
    Ok(backend)
}

#[derive(Debug, Args)]
struct ListEntries {
    /// The agent whose memory it is; default: yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Filter by status: active (default), superseded, pending, rejected, archived.
    #[arg(long, value_parser = state)]
    status: Option<EntryState>,
    /// Filter by kind: fact, preference, decision, correction, commitment, relationship, skill.
    #[arg(long, value_parser = kind)]
    kind: Option<MemoryKind>,
    /// Filter by tag.
    #[arg(long)]
    tag: Option<String>,
    /// Maximum number of entries, up to 1,000; default 200.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ListEntries {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { agent, status, kind, tag, limit, json } = self;
        let found =
            open(vault)?.ask(&endpoints::entries::LIST_ENTRIES, &EntriesParams { agent, status, kind, tag, limit })?;
        if json {
            stdout().json(&found)?
        } else {
            list(&found)?
        }
        Ok(if found.entries.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }
}

fn list(found: &EntriesView) -> anyhow::Result<()> {
    let mut out = stdout();
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
    match (found.entries.is_empty(), found.cut) {
        (true, _) => remark!("vault: no such entries; `vault memory add` adds one"),
        (false, true) => remark!("vault: there are more; --limit shows them"),
        (false, false) => {}
    }
    Ok(())
}

#[derive(Debug, Args)]
struct AddEntry {
    /// What it says, on one line.
    text: String,
    /// The agent whose memory gets it; default: yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Its kind: fact, preference, decision, correction, commitment, relationship, skill.
    #[arg(long, value_parser = kind)]
    kind: Option<MemoryKind>,
    /// Its confidence, 0 to 1.
    #[arg(long, value_name = "N")]
    confidence: Option<f64>,
    /// A tag; may be given more than once.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// When it becomes true: a date or a time.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// When it ends, exclusive.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Where it was learned: notes/api.md#L12; may be given more than once.
    #[arg(long = "source", value_name = "PLACE")]
    sources: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl AddEntry {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { text, agent, kind, confidence, tags, from, until, sources, json } = self;
        let some = |list: Vec<String>| Some(list).filter(|list| !list.is_empty());
        let (tags, sources) = (some(tags), some(sources));
        let params = EntryAddParams { agent, kind, text, confidence, tags, from, until, sources };
        let added = open(vault)?.ask(&endpoints::entries::ADD_ENTRY, &params)?;
        if json {
            stdout().json(&added)?;
            return Ok(Outcome::Done);
        }
        match added.status.as_str() {
            "duplicate" => say!("{} says it already; nothing was written", added.id)?,
            _ => say!("added {}", added.id)?,
        }
        if let Some(id) = &added.supersedes {
            say!("    it takes the place of {id}")?;
        }
        if let Some(id) = &added.contradicts {
            say!("    {id} contradicts it; `vault memory remove {id} --archive` archives that one")?;
        }
        if added.redacted {
            say!("    secrets were removed from it")?;
        }
        say_archived(&added.archived)?;
        if let Some(degraded) = &added.degraded {
            remark!("vault: {degraded}");
        }
        say_undo(&added.checkpoint_ids)?;
        Ok(Outcome::Done)
    }
}

#[derive(Debug, Args)]
struct EditEntry {
    /// Its ID: e-7f3a2b9c.
    id: String,
    /// Its new text.
    text: Option<String>,
    /// The agent whose memory it is in; default: yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Its kind.
    #[arg(long, value_parser = kind)]
    kind: Option<MemoryKind>,
    /// Its confidence, 0 to 1.
    #[arg(long, value_name = "N")]
    confidence: Option<f64>,
    /// When it becomes true; "" removes this.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// When it ends; "" removes this.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl EditEntry {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { id, text, agent, kind, confidence, from, until, json } = self;
        let params = EntryEditParams { id, agent, text, kind, confidence, tags: None, from, until };
        told(&open(vault)?.ask(&endpoints::entries::EDIT_ENTRY, &params)?, json, "changed")
    }
}

#[derive(Debug, Args)]
struct RemoveEntry {
    /// Its ID: e-7f3a2b9c.
    id: String,
    /// The agent whose memory it is in; default: yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Move it to the archive, with the entries it superseded.
    #[arg(long)]
    archive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl RemoveEntry {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { id, agent, archive, json } = self;
        let what = if archive { "archived" } else { "removed" };
        told(
            &open(vault)?.ask(
                &endpoints::entries::REMOVE_ENTRY,
                &EntryRemoveParams { id, agent, archive: archive.then_some(true) },
            )?,
            json,
            what,
        )
    }
}

fn told(changed: &EntryChanged, json: bool, what: &str) -> anyhow::Result<Outcome> {
    if json {
        stdout().json(changed)?;
        return Ok(Outcome::Done);
    }
    say!("{what} {}", changed.id)?;
    say_undo(&changed.checkpoint_ids)?;
    Ok(Outcome::Done)
}

#[derive(Debug, Args)]
struct SyncMemory {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowProcessing {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RetryProcessing {
    /// The session's ID, as in `vault memory processing`; default: all of them.
    id: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ClearMemory {
    /// Remove it permanently, beyond undo.
    #[arg(long)]
    purge: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How often it is looked how far a daemon is, and for how long at most.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(3_600);
/// Timeout of waiting for one and the same reason.
const STUCK_TIMEOUT: Duration = Duration::from_secs(10);

impl SyncMemory {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let view = sync(&mut open(vault)?)?;
        match self.json {
            true => stdout().json(&view)?,
            false => show(&view)?,
        }
        Ok(Outcome::Done)
    }
}

impl ShowProcessing {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let view = open(vault)?.ask(&endpoints::processing::PROCESSING, &())?;
        match self.json {
            true => stdout().json(&view)?,
            false => show(&view)?,
        }
        Ok(Outcome::Done)
    }
}

impl RetryProcessing {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let retried = open(vault)?.ask(&endpoints::processing::RETRY_PROCESSING, &RetryParams { id: self.id })?;
        match self.json {
            true => stdout().json(&retried)?,
            false => say!("retrying {}", count(retried.queued, "session"))?,
        }
        Ok(Outcome::Done)
    }
}

impl ClearMemory {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let cleared = open(vault)?.ask(&endpoints::processing::CLEAR_MEMORY, &ClearParams { purge: self.purge })?;
        match self.json {
            true => stdout().json(&cleared)?,
            false => show_cleared(&cleared)?,
        }
        Ok(Outcome::Done)
    }
}

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

fn show(view: &ProcessingView) -> io::Result<()> {
    let mut out = stdout();
    let mut line = |name: &str, value: &str| {
        out.paint(DIM, &format!("{name:11}"))?;
        writeln!(out, " {value}")
    };
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

fn show_cleared(cleared: &Cleared) -> io::Result<()> {
    if cleared.files.is_empty() {
        remark!("vault: there was nothing to clear");
    }
    let ids: Vec<&str> = cleared.files.iter().filter_map(|file| file.checkpoint_id.as_deref()).collect();
    for file in &cleared.files {
        say!("{} is cleared", file.path)?;
    }
    for path in &cleared.kept {
        say!("{path} stays: you have edited it")?;
    }
    if !ids.is_empty() {
        say!("to undo: vault restore {}", ids.join(" "))?;
    }
    Ok(())
}
