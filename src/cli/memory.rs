//! `vault memory`: its entries, the review of what is proposed, the profile and the summaries; and `vault digest`.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{Args, Subcommand};

use super::backend::Backend;
use super::check::CheckCommand;
use super::status::since;
use super::terminal::{
    BAD, DIM, MATCH, Out, Outcome, PLAIN, TITLE, answer, bytes, count, is_in_json, remark, remark_end, remark_none,
    say, say_archived, say_undo, stdout, typed,
};
use crate::serve::api::endpoints;
use crate::serve::wire::{
    ClearParams, Cleared, DigestParams, DigestSection, EntriesParams, EntriesView, EntryAddParams, EntryAdded,
    EntryChanged, EntryEditParams, EntryRemoveParams, ProcessingView, ProfileView, ProposalView, RetryParams,
    ReviewDecision, ReviewDecisions, ReviewParams, Reviewed, SummariesMade, SummariesParams, SummaryMakeParams,
    UserSetParams,
};

#[derive(Debug, Subcommand)]
pub(super) enum MemoryCommand {
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
    Review(ReviewCommand),
    Check(CheckCommand),
    Profile(ProfileCommand),
    Summaries(SummariesCommand),
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
    /// Notes and conversations stay. `vault undo` with the printed IDs brings everything back.
    Clear(ClearParams),
}

impl MemoryCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        match self {
            Self::Review(review) => review.run(&mut backend),
            Self::Check(check) => check.run(&mut backend),
            Self::Profile(profile) => profile.run(&mut backend),
            Self::Summaries(summaries) => summaries.run(&mut backend),
            Self::List(asked) => {
                let found = backend.ask(&endpoints::entries::LIST_ENTRIES, &asked)?;
                answer(&found, !found.entries.is_empty(), |out| list(&found, out))
            }
            Self::Add(entry) => {
                let added = backend.ask(&endpoints::entries::ADD_ENTRY, &entry)?;
                answer(&added, true, |out| tell_added(&added, out))
            }
            Self::Edit(entry) => told(&backend.ask(&endpoints::entries::EDIT_ENTRY, &entry)?, "changed"),
            Self::Remove(entry) => {
                let what = if entry.archive == Some(true) { "archived" } else { "removed" };
                told(&backend.ask(&endpoints::entries::REMOVE_ENTRY, &entry)?, what)
            }
            Self::Sync => {
                let view = sync(&mut backend)?;
                answer(&view, true, |out| show(&view, out))
            }
            Self::Processing => {
                let view = backend.ask(&endpoints::processing::PROCESSING, &())?;
                answer(&view, true, |out| show(&view, out))
            }
            Self::Retry(which) => {
                let retried = backend.ask(&endpoints::processing::RETRY_PROCESSING, &which)?;
                answer(&retried, true, |out| writeln!(out, "retrying {}", count(retried.queued, "session")))
            }
            Self::Clear(how) => {
                let cleared = backend.ask(&endpoints::processing::CLEAR_MEMORY, &how)?;
                answer(&cleared, true, |out| show_cleared(&cleared, out))
            }
        }
    }
}

fn list(found: &EntriesView, out: &mut Out) {
    for entry in &found.entries {
        let times = [("from", &entry.from), ("until", &entry.until), ("superseded by", &entry.superseded_by)];
        let times = times.iter().filter_map(|(name, when)| Some(format!("{name} {}  ", when.as_ref()?)));
        let reason = entry.reason.iter().map(|reason| format!("rejected: {reason}  "));
        let trust = (entry.trust != "person").then(|| format!("by {}  ", entry.trust));
        let more: String = times.chain(reason).chain(trust).collect();
        let text = format!("[{}] {}", entry.kind.word(), entry.text);
        out.row(&[(TITLE, &entry.id), (PLAIN, &text), (DIM, &format!("{more}{}", entry.citation))]);
    }
    for problem in &found.problems {
        remark!("vault: {problem}");
    }
    remark_end(!found.entries.is_empty(), found.cut, "no such entries; `vault memory add` adds one");
}

fn tell_added(added: &EntryAdded, out: &mut Out) {
    match added.status.as_str() {
        "duplicate" => writeln!(out, "{} says it already; nothing was written", added.id),
        _ => writeln!(out, "added {}", added.id),
    }
    if let Some(id) = &added.supersedes {
        writeln!(out, "    it takes the place of {id}");
    }
    if let Some(id) = &added.contradicts {
        writeln!(out, "    {id} contradicts it; `vault memory remove {id} --archive` archives that one");
    }
    if added.redacted {
        writeln!(out, "    secrets were removed from it");
    }
    say_archived(&added.archived);
    if let Some(degraded) = &added.degraded {
        remark!("vault: {degraded}");
    }
    say_undo(&added.checkpoint_ids);
}

fn told(changed: &EntryChanged, what: &str) -> anyhow::Result<Outcome> {
    answer(changed, true, |out| {
        writeln!(out, "{what} {}", changed.id);
        say_undo(&changed.checkpoint_ids);
    })
}

/// How often it is looked how far a daemon is.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Timeout of waiting for one and the same reason. What failed is tried again after some seconds.
const STUCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Has it begun, and waits until nothing is left to do, or nothing can be done now.
fn sync(backend: &mut Backend) -> anyhow::Result<ProcessingView> {
    let mut view = backend.ask(&endpoints::processing::SYNC_MEMORY, &())?;
    let mut since = Instant::now();
    let waits = |view: &ProcessingView| view.now.state == "waiting" && view.now.queued > 0;
    while backend.is_served() && (view.now.state == "working" || waits(&view) && since.elapsed() < STUCK_TIMEOUT) {
        std::thread::sleep(LOOK_EVERY);
        let next = backend.ask(&endpoints::processing::PROCESSING, &())?;
        if next.now.state != "waiting" || next.now.reason != view.now.reason {
            since = Instant::now();
        }
        view = next;
    }
    Ok(view)
}

fn show(view: &ProcessingView, out: &mut Out) {
    let mut line = |name: &str, value: &str| out.field(name, value);
    line("model", view.now.model.as_deref().unwrap_or("none; `[memory] model` names one"));
    let reason = view.now.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    line("state", &format!("{}{reason}", view.now.state));
    line("waiting", &count(view.now.queued, "session"));
    if view.now.withheld > 0 {
        line("withheld", &format!("{}, private and not sent to another machine", count(view.now.withheld, "session")));
    }
    let calls = count(view.now.calls as usize, "call");
    line("asked", &format!("{calls}, {} sent, {}", bytes(view.now.bytes_sent), since(&view.now)));
    line("tokens", &format!("{} read, {} written, as counted by the service", view.prompt_tokens, view.answer_tokens));
    let day = &view.day;
    let calls = format!("{} of {} calls", day.calls, day.calls_limit);
    line("24 hours", &format!("{calls}, {} of {} tokens", day.tokens, day.tokens_limit));
    if let Some(((success, p50), p95)) = view.success.zip(view.p50_ms).zip(view.p95_ms) {
        line("answered", &format!("{:.0} %, half within {p50} ms, 95 % within {p95} ms", success * 100.0));
    }
    for outcome in &view.outcomes {
        line("", &format!("{}: {}", outcome.outcome, outcome.calls));
    }
    let stores = &view.stores;
    let [notes, layers, index, state] = [stores.notes, stores.layers, stores.index, stores.state].map(bytes);
    line("stores", &format!("notes {notes}, of these layers {layers}, index {index}, state {state}"));
    for dead in &view.dead_letters {
        let path = dead.path.as_deref().unwrap_or("a deleted conversation");
        let reason = format!("{}; `vault memory retry {}` retries it", dead.reason, dead.id);
        out.row(&[(BAD, "set aside"), (TITLE, path), (PLAIN, &reason)]);
    }
}

fn show_cleared(cleared: &Cleared, out: &mut Out) {
    if cleared.files.is_empty() {
        remark!("vault: there was nothing to clear");
    }
    let ids: Vec<&str> = cleared.files.iter().filter_map(|file| file.checkpoint_id.as_deref()).collect();
    for file in &cleared.files {
        writeln!(out, "{} is cleared", file.path);
    }
    for path in &cleared.kept {
        writeln!(out, "{path} stays: you have edited it");
    }
    if !ids.is_empty() {
        writeln!(out, "to undo: vault undo {}", ids.join(" "));
    }
}

/// Review proposals of agents and models: accept, edit or reject each.
///
/// A proposal has no effect until you accept it. Rejected proposals are remembered, so that they are not proposed again. Without a
/// subcommand, in a terminal, asks about one after the other.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  vault memory review\n  vault memory review --list --json\n  vault memory review accept e-7f3a2b9c e-19c04d5e\n  \
    vault memory review accept --all-of conversations/2026-03-02.md\n  vault memory review reject e-7f3a2b9c --reason \"a joke\"\n  \
    vault memory review edit e-7f3a2b9c \"Prefers tabs in Go\""
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
    fn run(self, backend: &mut Backend) -> anyhow::Result<Outcome> {
        let decisions = match self.action {
            Some(ReviewAction::Accept { which, supersedes }) => {
                which.decisions(&ReviewDecision { accept: true, supersedes, ..ReviewDecision::default() })
            }
            Some(ReviewAction::Reject { which, reason }) => {
                which.decisions(&ReviewDecision { reason, ..ReviewDecision::default() })
            }
            Some(ReviewAction::Edit { id, text, agent }) => {
                let (id, text) = (Some(id), Some(text));
                vec![ReviewDecision { id, agent, accept: true, text, ..ReviewDecision::default() }]
            }
            None => return review(backend, &ReviewParams { limit: Some(MOST_SHOWN), ..self.which }, self.list),
        };
        let done = backend.ask(&endpoints::entries::DECIDE_PROPOSALS, &ReviewDecisions { decisions })?;
        answer(&done, !(done.accepted.is_empty() && done.rejected.is_empty()), |_| tell_reviewed(&done))
    }
}

/// Lists the proposals, or asks about one after the other. Each answer counts at once.
fn review(backend: &mut Backend, asked_for: &ReviewParams, list: bool) -> anyhow::Result<Outcome> {
    let found = backend.ask(&endpoints::entries::LIST_PROPOSALS, asked_for)?;
    if is_in_json() {
        stdout().json(&found);
    } else if list {
        found.proposals.iter().for_each(|proposal| show_proposal(proposal, &mut stdout()));
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
    if list || is_in_json() {
        return Ok(Outcome::Done);
    }
    if !std::io::stdin().is_terminal() {
        bail!("this needs a terminal; `--list` lists the proposals, `vault memory review accept` decides");
    }
    let proposals = &found.proposals;
    let mut decided = std::collections::HashSet::new();
    for (at, proposal) in proposals.iter().enumerate() {
        let entry = &proposal.entry;
        if decided.contains(&(entry.agent.clone(), entry.id.clone())) {
            continue;
        }
        say!("{} of {}", at + 1, proposals.len());
        show_proposal(proposal, &mut stdout());
        let mut decision =
            ReviewDecision { id: Some(entry.id.clone()), agent: entry.agent.clone(), ..ReviewDecision::default() };
        match asked(QUESTION, "aerARsq")? {
            Some('a') => decision.accept = true,
            Some('e') => {
                let Some(text) = typed(&mut stdout(), "new text: ")?.filter(|text| !text.is_empty()) else { continue };
                (decision.accept, decision.text) = (true, Some(text));
            }
            Some('r') => decision.reason = typed(&mut stdout(), "why? ")?.filter(|reason| !reason.is_empty()),
            Some(all @ ('A' | 'R')) => {
                let path_of = |source: &String| source.split('#').next().unwrap_or_default().to_owned();
                let Some(source) = entry.sources.first().map(path_of) else {
                    remark!("vault: it has no source");
                    continue;
                };
                decision.accept = all == 'A';
                if !decision.accept {
                    decision.reason = typed(&mut stdout(), "why? ")?.filter(|reason| !reason.is_empty());
                }
                (decision.id, decision.all_of) = (None, Some(source));
            }
            Some('s') => continue,
            _ => break,
        }
        let done =
            backend.ask(&endpoints::entries::DECIDE_PROPOSALS, &ReviewDecisions { decisions: vec![decision] })?;
        decided.extend(done.accepted.iter().chain(&done.rejected).map(|id| (entry.agent.clone(), id.clone())));
        tell_reviewed(&done);
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
pub(super) fn asked(question: &str, keys: &str) -> anyhow::Result<Option<char>> {
    while let Some(typed) = typed(&mut stdout(), question)? {
        let mut characters = typed.chars();
        match (characters.next(), characters.next()) {
            (None, _) => return Ok(Some('s')),
            (Some(key), None) if keys.contains(key) => return Ok(Some(key)),
            _ => remark!("vault: `{typed}` is not one of these keys"),
        }
    }
    Ok(None)
}

fn show_proposal(proposal: &ProposalView, out: &mut Out) {
    let entry = &proposal.entry;
    let agent = entry.agent.as_ref().map(|agent| format!(" for {agent}")).unwrap_or_default();
    let trust = if entry.trust == "person" { String::new() } else { format!(", by {}", entry.trust) };
    let known = proposal.known.as_ref().map(|known| format!(" {}", known.id)).unwrap_or_default();
    let about = format!("{}{known}{agent}, confidence {}{trust}", proposal.verdict, entry.confidence);
    out.row(&[(TITLE, &entry.id), (DIM, &about)]);
    for line in &proposal.diff {
        out.row(&[(if line.starts_with('-') { BAD } else { MATCH }, &format!("  {line}"))]);
    }
    for quote in &proposal.quotes {
        out.row(&[(DIM, &format!("  {}", quote.citation))]);
        match &quote.text {
            Some(text) => text.lines().for_each(|line| writeln!(out, "  > {line}")),
            None => writeln!(out, "  (these lines no longer exist)"),
        }
    }
}

fn tell_reviewed(done: &Reviewed) {
    for id in &done.accepted {
        say!("accepted {id}");
    }
    for id in &done.rejected {
        say!("rejected {id}");
    }
    say_archived(&done.archived);
    for id in &done.absent {
        remark!("vault: there is no proposal {id}");
    }
    say_undo(&done.checkpoint_ids);
}

/// Show summaries of conversations, or make them now.
///
/// A summary lists topics, decisions, dates and tasks of a conversation; each line cites the turns it comes from. The daemon writes it to
/// `summaries/` when a conversation has been quiet for `memory.summary_debounce_seconds`. A summary that you edit is yours: vault does not
/// overwrite it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct SummariesCommand {
    #[command(subcommand)]
    action: Option<SummariesAction>,
    #[command(flatten)]
    which: SummariesParams,
}

#[derive(Debug, Subcommand)]
enum SummariesAction {
    /// Make summaries now: of one conversation, or of all with new turns.
    Make(SummaryMakeParams),
}

impl SummariesCommand {
    fn run(self, backend: &mut Backend) -> anyhow::Result<Outcome> {
        if let Some(SummariesAction::Make(which)) = self.action {
            let made = backend.ask(&endpoints::summaries::MAKE_SUMMARIES, &which)?;
            return answer(&made, true, |out| tell_made(&made, out));
        }
        let of = self.which.of.as_ref();
        let all = self.which.all == Some(true);
        let asked = SummariesParams { all: Some(all || of.is_some()), ..self.which.clone() };
        let found = backend.ask(&endpoints::summaries::LIST_SUMMARIES, &asked)?;
        let none = if found.summaries.is_empty() { why_none(of, all, backend)? } else { String::new() };
        answer(&found, !found.summaries.is_empty(), |out| {
            for summary in &found.summaries {
                let state = [(summary.edited, "  edited by you"), (summary.old, "  old")];
                let state: String = state.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| *what).collect();
                let about = format!("{}, {}{state}", summary.at, count(summary.turns as usize, "turn"));
                out.row(&[(TITLE, &summary.path), (DIM, &about)]);
                if of.is_some() {
                    sections(&summary.sections, out);
                }
            }
            remark_end(!found.summaries.is_empty(), found.cut, &none);
        })
    }
}

/// Why there is none to show, and what would show one.
fn why_none(of: Option<&String>, all: bool, backend: &mut Backend) -> anyhow::Result<String> {
    if let Some(of) = of {
        return Ok(format!("there is no summary of `{of}`; `vault memory summaries` lists all"));
    }
    let every = SummariesParams { all: Some(true), ..SummariesParams::default() };
    let older = match all {
        true => 0,
        false => backend.ask(&endpoints::summaries::LIST_SUMMARIES, &every)?.summaries.len(),
    };
    let shown = if older == 1 { "an older one".to_owned() } else { format!("{older} older ones") };
    Ok(match older {
        0 => "there are no summaries; `vault memory summaries make` makes them now".into(),
        _ => format!("no summary is recent; `vault memory summaries --all` shows {shown}"),
    })
}

fn tell_made(made: &SummariesMade, out: &mut Out) {
    for path in &made.made {
        writeln!(out, "wrote {path}");
    }
    for kept in &made.kept {
        writeln!(out, "kept  {}: {}", kept.path, kept.reason);
    }
    if made.made.is_empty() && made.kept.is_empty() {
        remark!("vault: nothing to do: no conversation has gone on since it was summarised");
    }
}

/// Prints the parts of a summary or a digest.
fn sections(sections: &[DigestSection], out: &mut Out) {
    for section in sections {
        writeln!(out, "\n{}", section.heading);
        for line in &section.lines {
            out.row(&[(PLAIN, &format!("  {}", line.text)), (DIM, &line.citations.join(" "))]);
        }
    }
}

/// Show what was written, captured and decided on a day or in a week.
///
/// Each line cites its sources. When a day or a week is over, the daemon writes it to a file, `summaries/days/2026-11-21.md` or
/// `summaries/weeks/2026-W47.md`; --write writes it now. A file that you have edited stays as it is.
#[derive(Debug, Args)]
pub(super) struct DigestCommand {
    /// The day: 2026-11-21, or yesterday; default: today.
    day: Option<String>,
    /// The week of that day. You can also name a week: 2026-W47.
    #[arg(long)]
    week: bool,
    /// Write the file.
    #[arg(long)]
    write: bool,
}

impl DigestCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        let is_week = self.week || self.day.as_deref().is_some_and(|day| day.contains(['W', 'w']));
        let params = match is_week {
            true => DigestParams { week: Some(self.day.unwrap_or_else(|| "now".to_owned())), day: None },
            false => DigestParams { day: self.day, week: None },
        };
        if self.write {
            let written = backend.ask(&endpoints::summaries::WRITE_DIGEST, &params)?;
            return answer(&written, true, |out| match &written.reason {
                None => writeln!(out, "wrote {}", written.path),
                Some(reason) => remark!("vault: {} is not written: {reason}", written.path),
            });
        }
        let digest = backend.ask(&endpoints::summaries::SHOW_DIGEST, &params)?;
        answer(&digest, !digest.sections.is_empty(), |out| {
            if digest.sections.is_empty() {
                return remark!("vault: nothing was written or captured in {}", digest.name);
            }
            out.row(&[(TITLE, &digest.name)]);
            sections(&digest.sections, out);
        })
    }
}

/// Show what your agents know about you; set it, or regenerate the profile page.
///
/// Only you edit profile/overrides.md; agents always get it first. USER.md has your name, time zone and place. vault writes
/// profile/profile.md from entries and facts that you stated or accepted, each sentence with its source.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault memory profile\n  vault memory profile set --name Maya --timezone Europe/Vienna --place Wien\n  vault memory profile make"
)]
pub(super) struct ProfileCommand {
    #[command(subcommand)]
    action: Option<ProfileAction>,
}

#[derive(Debug, Subcommand)]
enum ProfileAction {
    /// Write to USER.md. An empty text removes a field.
    Set(UserSetParams),
    /// Regenerate profile/profile.md. A page that you edited is not overwritten.
    Make,
}

impl ProfileCommand {
    fn run(self, backend: &mut Backend) -> anyhow::Result<Outcome> {
        match self.action {
            None => {
                let view = backend.ask(&endpoints::profile::SHOW, &())?;
                let said = if is_in_json() { Vec::new() } else { parts(&view) };
                answer(&view, is_in_json() || !said.is_empty(), |out| {
                    said.iter().for_each(|said| writeln!(out, "{said}"));
                    remark_none(
                        !said.is_empty(),
                        "the profile is empty; `vault memory profile set --name NAME` sets your name",
                    );
                    let state = &view.state;
                    if state.is_persons {
                        remark!("vault: you edited {}, so it is not overwritten", state.path);
                    } else if state.new > 0 {
                        remark!(
                            "vault: {} new since it was made; `vault memory profile make` adds them now",
                            state.new
                        );
                    }
                })
            }
            Some(ProfileAction::Set(user)) => {
                let set = backend.ask(&endpoints::profile::SET_USER, &user)?;
                answer(&set, true, |out| {
                    writeln!(out, "set in {}", set.path);
                    say_undo(set.checkpoint_id.as_slice());
                })
            }
            Some(ProfileAction::Make) => {
                let made = backend.ask(&endpoints::profile::REGENERATE, &())?;
                answer(&made, true, |out| {
                    writeln!(out, "{} has version {}", made.state.path, made.state.version);
                    say_undo(made.checkpoint_id.as_slice());
                })
            }
        }
    }
}

/// What there is of the profile, in its order.
fn parts(view: &ProfileView) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    if let Some(user) = &view.user {
        let named = [("name", &user.name), ("time zone", &user.timezone), ("place", &user.location_place)];
        said.extend(named.iter().filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?))));
        said.extend(Some(user.text.clone()).filter(|text| !text.is_empty()));
    }
    for (name, text) in [("profile/overrides.md", &view.overrides), ("profile/profile.md", &view.profile)] {
        let text = text.as_ref().filter(|text| !text.is_empty());
        said.extend(text.map(|text| format!("\n{name}\n\n{text}")));
    }
    said
}
