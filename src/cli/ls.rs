//! `vault ls`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::outcome::Outcome;
use super::terminal::{DIM, TITLE, remark, stdout};
use crate::clock::local_day;
use crate::wire::NotesParams;

/// List notes with their titles, the newest first.
#[derive(Debug, Args)]
pub(super) struct LsCommand {
    /// Only this collection, or this folder and those below it.
    folder: Option<String>,
    /// Only notes with this tag, or one below it.
    #[arg(long)]
    tag: Option<String>,
    /// Only notes updated then or later: 2026-01-05, yesterday, or 7d for the last seven days.
    #[arg(long)]
    since: Option<String>,
    /// Notes at most; 50 unless told.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl LsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let folder = self.folder.map(|folder| folder.trim_start_matches("./").to_owned());
        let is_narrow = self.tag.is_some() || self.since.is_some();
        let (tag, since) = (self.tag, self.since);
        let found = backend.notes(&NotesParams { folder, tag, since, limit: self.limit, offset: None })?;
        let outcome = if found.notes.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for note in &found.notes {
            out.paint(DIM, &local_day(&note.updated_at))?;
            write!(out, "  ")?;
            out.paint(TITLE, &note.path)?;
            write!(out, "  ")?;
            writeln!(out, "{}", note.title)?;
        }
        match found.total - found.notes.len().min(found.total) {
            _ if found.notes.is_empty() => {
                remark!(
                    "vault: {}",
                    found.degraded.as_deref().unwrap_or(if is_narrow {
                        "no note is so"
                    } else {
                        "there are no notes yet"
                    })
                );
            }
            0 => {}
            more => remark!("vault: {more} older; --limit shows more"),
        }
        Ok(outcome)
    }
}
