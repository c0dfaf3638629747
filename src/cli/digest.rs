//! `vault digest`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::summaries::sections;
use super::terminal::{TITLE, remark, stdout};
use crate::api::endpoints;
use crate::wire::DigestParams;

/// Show what was written, captured and decided on a day or in a week.
///
/// Each line names what it was made of. The daemon writes the file of a day, `summaries/days/2026-11-21.md`, when the day is over, and that of a
/// week, `summaries/weeks/2026-W47.md`; --write writes it now. A file that you have edited stays as it is.
#[derive(Debug, Args)]
pub(super) struct DigestCommand {
    /// The day: 2026-11-21, or yesterday; today when none is named.
    day: Option<String>,
    /// The week of that day. A week can be named, too: 2026-W47.
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
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
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
