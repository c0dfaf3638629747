//! `vault related`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::meant;
use super::terminal::{DIM, TITLE, remark, stdout};
use crate::api::endpoints;
use crate::wire::{Linked, RelatedParams};

/// Show the notes near one.
///
/// By the embeddings of its passages or, where it has none yet, by the words that it has often and others rarely. Each comes with the
/// passage that is nearest, and whether the two link to one another.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault related sourdough\n  vault related notes/sourdough.md:12")]
pub(super) struct RelatedCommand {
    /// The note's path, its name, or a [[LINK]] to it; with :LINE, its passage on that line.
    note: String,
    /// Notes at most.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl RelatedCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(true)?;
        let (path, line) = meant(&self.note, &home(vault)?, &mut backend)?;
        let found = backend.ask(&endpoints::links::RELATED, &RelatedParams { path, line, limit: self.limit })?;
        let outcome = if found.results.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        match &found.degraded {
            Some(degraded) => remark!("vault: {degraded}"),
            None => backend.warn_if_read_only(),
        }
        let mut out = stdout();
        for (at, note) in found.results.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            out.paint(TITLE, &note.citation)?;
            let linked = match note.linked {
                Some(Linked::Out) => "  linked: out",
                Some(Linked::In) => "  linked: in",
                Some(Linked::Both) => "  linked: both",
                None => "",
            };
            let mut place: Vec<&str> = vec![&note.title];
            place.extend(note.heading_path.iter().map(String::as_str).filter(|heading| *heading != note.title));
            write!(out, "  ")?;
            out.paint(DIM, &format!("{:.2}{linked}  {}", note.score, place.join(" > ")))?;
            writeln!(out)?;
            for line in note.snippet.lines() {
                writeln!(out, "    {line}")?;
            }
        }
        if found.results.is_empty() {
            remark!("vault: no note is near {}", found.path);
        }
        Ok(outcome)
    }
}
