//! `vault memory`, and `vault review` for what is proposed to it

use std::io;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{
    BAD, DIM, MATCH, Out, TITLE, answer, bytes, count, is_in_json, remark, remark_end, say, say_archived, say_undo,
    stdout,
};
use crate::base::clock::local;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    ClearParams, Cleared, EntriesParams, EntriesView, EntryAddParams, EntryAdded, EntryChanged, EntryEditParams,
    EntryRemoveParams, ProcessingView, ProposalView, RetryParams, ReviewDecision, ReviewDecisions, ReviewParams,
    Reviewed,
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

/// Review proposals of agents and models: accept, edit or reject each.
///
/// A proposal has no effect until you accept it. Rejected proposals are remembered, so that they are not proposed again. Without a
/// subcommand, in a terminal, asks about one after the other.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  vault review\n  vault review --list --json\n  vault review accept e-7f3a2b9c e-19c04d5e\n  \
    vault review accept --all-of conversations/2026-03-02.md\n  vault review reject e-7f3a2b9c --reason \"a joke\"\n  \
    vault review edit e-7f3a2b9c \"Prefers tabs in Go\""
)]
pub(super) struct ReviewCommand {
    #[command(subcommand)]
    action: Option<ReviewAction>,
    /// List the proposals, and ask nothing.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    which: ReviewParams,
}

#[derive(Debug, Subcommand)]
enum ReviewAction {
    /// Accept proposals.
    Accept {
        #[command(flatten)]
        which: ReviewWhich,
        /// The entry it replaces.
        #[arg(long, value_name = "ID", conflicts_with = "all_of")]
        supersedes: Option<String>,
    },
    /// Reject proposals.
    Reject {
        #[command(flatten)]
        which: ReviewWhich,
        /// Why.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Accept a proposal with another text.
    Edit {
        /// Its ID.
        id: String,
        /// The new text.
        text: String,
        /// The agent whose memory it is for; default: yours.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
}

/// As many proposals as are asked for at once.
const MOST_SHOWN: usize = 1_000;

#[derive(Debug, Args)]
struct ReviewWhich {
    /// Their IDs.
    #[arg(required_unless_present = "all_of", value_name = "ID")]
    ids: Vec<String>,
    /// All proposals from this note.
    #[arg(long, value_name = "PATH", conflicts_with = "ids")]
    all_of: Option<String>,
    /// The agent whose memory it is for; default: yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

impl ReviewWhich {
    fn decisions(&self, decision: &ReviewDecision) -> Vec<ReviewDecision> {
        let agent = self.agent.clone();
        let of = |id, all_of| ReviewDecision { id, all_of, agent: agent.clone(), ..decision.clone() };
        match &self.all_of {
            Some(all_of) => vec![of(None, Some(all_of.clone()))],
            None => self.ids.iter().map(|id| of(Some(id.clone()), None)).collect(),
        }
    }
}

impl ReviewCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        let decided = |backend: &mut Backend, decisions| {
            let done = backend.ask(&endpoints::entries::DECIDE_PROPOSALS, &ReviewDecisions { decisions })?;
            answer(&done, !(done.accepted.is_empty() && done.rejected.is_empty()), |_| tell_reviewed(&done))
        };
        match self.action {
            Some(ReviewAction::Accept { which, supersedes }) => {
                let accepted = ReviewDecision { accept: true, supersedes, ..ReviewDecision::default() };
                decided(&mut backend, which.decisions(&accepted))
            }
            Some(ReviewAction::Reject { which, reason }) => {
                let rejected = ReviewDecision { reason, ..ReviewDecision::default() };
                decided(&mut backend, which.decisions(&rejected))
            }
            Some(ReviewAction::Edit { id, text, agent }) => {
                let edited =
                    ReviewDecision { id: Some(id), agent, accept: true, text: Some(text), ..ReviewDecision::default() };
                decided(&mut backend, vec![edited])
            }
            None => {
                let asked_for = ReviewParams { limit: Some(MOST_SHOWN), ..self.which };
                let found = backend.ask(&endpoints::entries::LIST_PROPOSALS, &asked_for)?;
                if is_in_json() {
                    stdout().json(&found)?;
                } else if self.list {
                    found.proposals.iter().try_for_each(|proposal| show_proposal(proposal, &mut stdout()))?;
                }
                if found.more > 0 {
                    remark!("vault: {} more wait; decide on some of these first", found.more);
                }
                if found.proposals.is_empty() {
                    remark!("vault: there are no proposals");
                    return Ok(Outcome::NothingFound);
                }
                if let Some(degraded) = &found.degraded {
                    remark!("vault: {degraded}");
                }
                if self.list || is_in_json() {
                    return Ok(Outcome::Done);
                }
                if !std::io::stdin().is_terminal() {
                    bail!("this needs a terminal; `--list` lists the proposals, `vault review accept` decides");
                }
                ask(&mut backend, &asked_for, &found.proposals)
            }
        }
    }
}

/// Asks about one proposal after the other. Each answer counts at once.
fn ask(backend: &mut Backend, asked_for: &ReviewParams, proposals: &[ProposalView]) -> anyhow::Result<Outcome> {
    let mut decided = std::collections::HashSet::new();
    for (at, proposal) in proposals.iter().enumerate() {
        let entry = &proposal.entry;
        if decided.contains(&(entry.agent.clone(), entry.id.clone())) {
            continue;
        }
        say!("{} of {}", at + 1, proposals.len())?;
        show_proposal(proposal, &mut stdout())?;
        let mut decision =
            ReviewDecision { id: Some(entry.id.clone()), agent: entry.agent.clone(), ..ReviewDecision::default() };
        match asked(QUESTION, "aerARsq")? {
            Some('a') => decision.accept = true,
            Some('e') => {
                let Some(text) = line("new text: ")?.filter(|text| !text.is_empty()) else { continue };
                (decision.accept, decision.text) = (true, Some(text));
            }
            Some('r') => decision.reason = line("why? ")?.filter(|reason| !reason.is_empty()),
            Some(all @ ('A' | 'R')) => {
                let Some(source) = entry.sources.first().map(|source| path_of(source)) else {
                    remark!("vault: it has no source");
                    continue;
                };
                decision.accept = all == 'A';
                if !decision.accept {
                    decision.reason = line("why? ")?.filter(|reason| !reason.is_empty());
                }
                (decision.id, decision.all_of) = (None, Some(source));
            }
            Some('s') => continue,
            _ => break,
        }
        let done =
            backend.ask(&endpoints::entries::DECIDE_PROPOSALS, &ReviewDecisions { decisions: vec![decision] })?;
        decided.extend(done.accepted.iter().chain(&done.rejected).map(|id| (entry.agent.clone(), id.clone())));
        tell_reviewed(&done)?;
    }
    let left =
        backend.ask(&endpoints::entries::LIST_PROPOSALS, &ReviewParams { limit: Some(1), ..asked_for.clone() })?;
    match left.proposals.len() + left.more {
        0 => remark!("vault: no proposals are left"),
        1 => remark!("vault: 1 proposal still waits"),
        more => remark!("vault: {} still wait", count(more, "proposal")),
    }
    Ok(Outcome::Done)
}

/// The keys of a proposal.
const QUESTION: &str = "[a]ccept, [e]dit, [r]eject, [A]ll of its source, [R]eject all of it, [s]kip, [q]uit: ";

/// One of the keys, asked for until it is one; the empty line skips. `None` at the end of the input.
fn asked(question: &str, keys: &str) -> anyhow::Result<Option<char>> {
    while let Some(typed) = line(question)? {
        let mut characters = typed.chars();
        match (characters.next(), characters.next()) {
            (None, _) => return Ok(Some('s')),
            (Some(key), None) if keys.contains(key) => return Ok(Some(key)),
            _ => remark!("vault: `{typed}` is not one of these keys"),
        }
    }
    Ok(None)
}

fn path_of(source: &str) -> String {
    source.split('#').next().unwrap_or_default().to_owned()
}

/// What is typed; `None` at the end of the input.
fn line(question: &str) -> anyhow::Result<Option<String>> {
    let mut out = stdout();
    write!(out, "{question}")?;
    out.flush()?;
    let mut answer = String::new();
    Ok((std::io::stdin().read_line(&mut answer)? > 0).then(|| answer.trim().to_owned()))
}

fn show_proposal(proposal: &ProposalView, out: &mut Out) -> anyhow::Result<()> {
    let entry = &proposal.entry;
    out.paint(TITLE, &entry.id)?;
    let agent = entry.agent.as_ref().map(|agent| format!(" for {agent}")).unwrap_or_default();
    let trust = if entry.trust == "person" { String::new() } else { format!(", by {}", entry.trust) };
    let known = proposal.known.as_ref().map(|known| format!(" {}", known.id)).unwrap_or_default();
    out.paint(DIM, &format!("  {}{known}{agent}, confidence {}{trust}", proposal.verdict, entry.confidence))?;
    writeln!(out)?;
    for line in &proposal.diff {
        out.paint(if line.starts_with('-') { BAD } else { MATCH }, &format!("  {line}"))?;
        writeln!(out)?;
    }
    for quote in &proposal.quotes {
        out.paint(DIM, &format!("  {}", quote.citation))?;
        writeln!(out)?;
        match &quote.text {
            Some(text) => text.lines().try_for_each(|line| writeln!(out, "  > {line}"))?,
            None => writeln!(out, "  (these lines no longer exist)")?,
        }
    }
    Ok(())
}

fn tell_reviewed(done: &Reviewed) -> anyhow::Result<()> {
    for id in &done.accepted {
        say!("accepted {id}")?;
    }
    for id in &done.rejected {
        say!("rejected {id}")?;
    }
    say_archived(&done.archived)?;
    for id in &done.absent {
        remark!("vault: there is no proposal {id}");
    }
    Ok(say_undo(&done.checkpoint_ids)?)
}
