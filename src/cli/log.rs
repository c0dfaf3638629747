//! `vault log`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::path_named;
use super::terminal::{DIM, TITLE, remark, stdout};
use crate::api::endpoints;
use crate::clock::local;
use crate::wire::ChangesParams;

/// List what this program changed of your notes, newest first.
///
/// A line a change: when, who (you, an agent, a program that sends events, retention), what, and where. It holds no text, so it outlives
/// what was forgotten; of a note that was purged it names the folder alone. The last 100,000 changes are kept. What you change with
/// an editor is not in it.
#[derive(Debug, Args)]
pub(super) struct LogCommand {
    /// Maximum number of changes.
    #[arg(long, short = 'n', default_value_t = 100)]
    limit: usize,
    /// Only those of this note, or of a folder that ends in `/`.
    #[arg(long)]
    path: Option<String>,
    /// Only those from then on: a date (2026-01-05), yesterday, a time or how long ago (7d).
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl LogCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let path = match self.path {
            Some(path) if !path.ends_with('/') => Some(path_named(&path, &home(vault)?)?),
            path => path,
        };
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        let found = backend
            .ask(&endpoints::forgotten::CHANGES, &ChangesParams { limit: Some(self.limit), path, since: self.since })?;
        let outcome = if found.changes.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for change in &found.changes {
            let lines = match (change.line_start, change.line_end) {
                (Some(first), Some(last)) if first == last => format!(":{first}"),
                (Some(first), Some(last)) => format!(":{first}-{last}"),
                _ => String::new(),
            };
            write!(out, "{}  {:<7}  ", local(&change.at), change.what)?;
            out.paint(TITLE, &format!("{}{lines}", change.path))?;
            write!(out, "  by {}", change.by)?;
            if let Some(id) = &change.checkpoint_id {
                out.paint(DIM, &format!("  vault restore {id}"))?;
            }
            writeln!(out)?;
        }
        if outcome == Outcome::NothingFound {
            remark!("vault: nothing was changed");
        }
        Ok(outcome)
    }
}
