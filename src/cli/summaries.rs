//! What is made of notes: `vault summaries`, `digest` and `profile`

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{DIM, Out, TITLE, answer, count, is_in_json, remark, remark_end, remark_none, say_undo};
use crate::serve::api::endpoints;
use crate::serve::wire::{
    DigestParams, DigestSection, ProfileView, SummariesMade, SummariesParams, SummaryMakeParams, SummaryView,
    UserSetParams,
};

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
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        if let Some(SummariesAction::Make(which)) = self.action {
            let made = backend.ask(&endpoints::summaries::MAKE_SUMMARIES, &which)?;
            return answer(&made, true, |out| tell_made(&made, out));
        }
        backend.warn_if_read_only();
        let of = self.which.of.as_ref();
        let all = self.which.all == Some(true);
        let asked = SummariesParams { all: Some(all || of.is_some()), ..self.which.clone() };
        let found = backend.ask(&endpoints::summaries::LIST_SUMMARIES, &asked)?;
        answer(&found, !found.summaries.is_empty(), |out| {
            for summary in &found.summaries {
                head(summary, out)?;
                if of.is_some() {
                    sections(&summary.sections, out)?;
                }
            }
            let none = if found.summaries.is_empty() { why_none(of, all, &mut backend)? } else { String::new() };
            remark_end(!found.summaries.is_empty(), found.cut, &none);
            Ok(())
        })
    }
}

/// Why there is none to show, and what would show one.
fn why_none(of: Option<&String>, all: bool, backend: &mut Backend) -> anyhow::Result<String> {
    if let Some(of) = of {
        return Ok(format!("there is no summary of `{of}`; `vault summaries` lists all"));
    }
    let every = SummariesParams { all: Some(true), ..SummariesParams::default() };
    let older = match all {
        true => 0,
        false => backend.ask(&endpoints::summaries::LIST_SUMMARIES, &every)?.summaries.len(),
    };
    let shown = if older == 1 { "an older one".to_owned() } else { format!("{older} older ones") };
    Ok(match older {
        0 => "there are no summaries; `vault summaries make` makes them now".into(),
        _ => format!("no summary is recent; `vault summaries --all` shows {shown}"),
    })
}

fn tell_made(made: &SummariesMade, out: &mut Out) -> anyhow::Result<()> {
    for path in &made.made {
        writeln!(out, "wrote {path}")?;
    }
    for kept in &made.kept {
        writeln!(out, "kept  {}: {}", kept.path, kept.reason)?;
    }
    if made.made.is_empty() && made.kept.is_empty() {
        remark!("vault: nothing to do: no conversation has gone on since it was summarised");
    }
    Ok(())
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
            return answer(&written, true, |out| {
                match &written.reason {
                    None => writeln!(out, "wrote {}", written.path)?,
                    Some(reason) => remark!("vault: {} is not written: {reason}", written.path),
                }
                Ok(())
            });
        }
        backend.warn_if_read_only();
        let digest = backend.ask(&endpoints::summaries::SHOW_DIGEST, &params)?;
        answer(&digest, !digest.sections.is_empty(), |out| {
            if digest.sections.is_empty() {
                remark!("vault: nothing was written or captured in {}", digest.name);
                return Ok(());
            }
            out.row(&[(TITLE, &digest.name)])?;
            sections(&digest.sections, out)
        })
    }
}

/// Show what your agents know about you; set it, or regenerate the profile page.
///
/// Only you edit profile/overrides.md; agents always get it first. USER.md has your name, time zone and place. vault writes
/// profile/profile.md from entries and facts that you stated or accepted, each sentence with its source.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault profile\n  vault profile set --name Maya --timezone Europe/Vienna --place Wien\n  vault profile make"
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
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::without_model(vault)?;
        match self.action {
            None => {
                let view = backend.ask(&endpoints::profile::SHOW, &())?;
                let said = if is_in_json() { Vec::new() } else { parts(&view) };
                answer(&view, is_in_json() || !said.is_empty(), |out| {
                    said.iter().try_for_each(|said| writeln!(out, "{said}"))?;
                    remark_none(
                        !said.is_empty(),
                        "the profile is empty; `vault profile set --name NAME` sets your name",
                    );
                    let state = &view.state;
                    if state.is_persons {
                        remark!("vault: you edited {}, so it is not overwritten", state.path);
                    } else if state.new > 0 {
                        remark!("vault: {} new since it was made; `vault profile make` adds them now", state.new);
                    }
                    Ok(())
                })
            }
            Some(ProfileAction::Set(user)) => {
                let set = backend.ask(&endpoints::profile::SET_USER, &user)?;
                answer(&set, true, |out| {
                    writeln!(out, "set in {}", set.path)?;
                    Ok(say_undo(set.checkpoint_id.as_slice())?)
                })
            }
            Some(ProfileAction::Make) => {
                let made = backend.ask(&endpoints::profile::REGENERATE, &())?;
                answer(&made, true, |out| {
                    writeln!(out, "{} has version {}", made.state.path, made.state.version)?;
                    Ok(say_undo(made.checkpoint_id.as_slice())?)
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
