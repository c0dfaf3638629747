//! `vault review`

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{
    BAD, DIM, MATCH, Out, TITLE, answer, count, is_in_json, remark, say, say_archived, say_undo, stdout,
};
use crate::serve::api::endpoints;
use crate::serve::wire::{ProposalView, ReviewDecision, ReviewDecisions, ReviewParams, Reviewed};

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
            answer(&done, !(done.accepted.is_empty() && done.rejected.is_empty()), |_| told(&done))
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
                    found.proposals.iter().try_for_each(|proposal| show(proposal, &mut stdout()))?;
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
        show(proposal, &mut stdout())?;
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
        told(&done)?;
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

fn show(proposal: &ProposalView, out: &mut Out) -> anyhow::Result<()> {
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

fn told(done: &Reviewed) -> anyhow::Result<()> {
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
