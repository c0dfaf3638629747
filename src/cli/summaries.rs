//! `vault summaries`, `vault digest`

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::memory::open;
use super::terminal::{DIM, Out, TITLE, count, remark, stdout};
use crate::serve::api::endpoints;
use crate::serve::wire::{DigestParams, DigestSection, SummariesMade, SummariesParams, SummaryMakeParams, SummaryView};

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
    /// Only the summary of this conversation.
    #[arg(long, value_name = "CONVERSATION")]
    of: Option<String>,
    /// Include summaries older than `memory.summary_retention_days`.
    #[arg(long)]
    all: bool,
    /// Maximum number of summaries.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum SummariesAction {
    /// Make summaries now: of one conversation, or of all with new turns.
    Make {
        /// The conversation's path.
        conversation: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

impl SummariesCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = open(vault)?;
        if let Some(SummariesAction::Make { conversation, json }) = self.action {
            let made = backend.ask(&endpoints::summaries::MAKE_SUMMARIES, &SummaryMakeParams { of: conversation })?;
            return tell_made(&made, json);
        }
        backend.warn_if_read_only();
        let all = (self.all || self.of.is_some()).then_some(true);
        let found = backend.ask(
            &endpoints::summaries::LIST_SUMMARIES,
            &SummariesParams { of: self.of.clone(), all, limit: self.limit },
        )?;
        let outcome = if found.summaries.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for summary in &found.summaries {
            head(summary, &mut out)?;
            if self.of.is_some() {
                sections(&summary.sections, &mut out)?;
            }
        }
        match (found.summaries.is_empty(), found.cut) {
            (true, _) => remark!("vault: {}", self.why_none(&mut backend)?),
            (false, true) => remark!("vault: there are more; --limit shows them"),
            (false, false) => {}
        }
        Ok(outcome)
    }
}

impl SummariesCommand {
    /// Why there is none to show, and what would show one.
    fn why_none(&self, backend: &mut Backend) -> anyhow::Result<String> {
        if let Some(of) = &self.of {
            return Ok(format!("there is no summary of `{of}`; `vault summaries` lists all"));
        }
        let older = match self.all {
            true => 0,
            false => backend
                .ask(
                    &endpoints::summaries::LIST_SUMMARIES,
                    &SummariesParams { all: Some(true), ..SummariesParams::default() },
                )?
                .summaries
                .len(),
        };
        let shown_of = |older| if older == 1 { "an older one".to_owned() } else { format!("{older} older ones") };
        Ok(match older {
            0 => "there are no summaries; `vault summaries make` makes them now".into(),
            older => format!("no summary is recent; `vault summaries --all` shows {}", shown_of(older)),
        })
    }
}

fn tell_made(made: &SummariesMade, json: bool) -> anyhow::Result<Outcome> {
    if json {
        stdout().json(made)?;
        return Ok(Outcome::Done);
    }
    let mut out = stdout();
    for path in &made.made {
        writeln!(out, "wrote {path}")?;
    }
    for kept in &made.kept {
        writeln!(out, "kept  {}: {}", kept.path, kept.reason)?;
    }
    if made.made.is_empty() && made.kept.is_empty() {
        remark!("vault: nothing to do: no conversation has gone on since it was summarised");
    }
    Ok(Outcome::Done)
}

fn head(summary: &SummaryView, out: &mut Out) -> anyhow::Result<()> {
    out.paint(TITLE, &summary.path)?;
    let state = [(summary.edited, "edited by you"), (summary.old, "old")];
    let state: String = state.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!("  {what}")).collect();
    write!(out, "  ")?;
    out.paint(DIM, &format!("{}, {}{state}", summary.at, count(summary.turns as usize, "turn")))?;
    writeln!(out)?;
    Ok(())
}

/// Prints the parts of a summary or a digest.
pub(super) fn sections(sections: &[DigestSection], out: &mut Out) -> anyhow::Result<()> {
    for section in sections {
        writeln!(out, "\n{}", section.heading)?;
        for line in &section.lines {
            write!(out, "  {}  ", line.text)?;
            out.paint(DIM, &line.citations.join(" "))?;
            writeln!(out)?;
        }
    }
    Ok(())
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
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl DigestCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = open(vault)?;
        let is_week = self.week || self.day.as_deref().is_some_and(|day| day.contains(['W', 'w']));
        let params = match is_week {
            true => DigestParams { week: Some(self.day.unwrap_or_else(|| "now".to_owned())), day: None },
            false => DigestParams { day: self.day, week: None },
        };
        if self.write {
            let written = backend.ask(&endpoints::summaries::WRITE_DIGEST, &params)?;
            match (self.json, &written.reason) {
                (true, _) => stdout().json(&written)?,
                (false, None) => writeln!(stdout(), "wrote {}", written.path)?,
                (false, Some(reason)) => remark!("vault: {} is not written: {reason}", written.path),
            }
            return Ok(Outcome::Done);
        }
        backend.warn_if_read_only();
        let digest = backend.ask(&endpoints::summaries::SHOW_DIGEST, &params)?;
        let outcome = if digest.sections.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&digest)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        match digest.sections.is_empty() {
            true => remark!("vault: nothing was written or captured in {}", digest.name),
            false => {
                out.paint(TITLE, &digest.name)?;
                writeln!(out)?;
                sections(&digest.sections, &mut out)?;
            }
        }
        Ok(outcome)
    }
}
