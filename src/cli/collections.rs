//! `vault collections`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{DIM, TITLE, bytes, count, remark, stdout};
use crate::api::endpoints;
use crate::clock::local_day;

/// A number of things in a column: `1 note ` has a blank for the `s`, so that numbers stand below each other.
fn column(number: usize, thing: &str) -> String {
    format!("{}{}", count(number, thing), if number == 1 { " " } else { "" })
}

/// List the collections, with their notes and passages.
#[derive(Debug, Args)]
pub(super) struct CollectionsCommand {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl CollectionsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let stats = backend.ask(&endpoints::routes::STATS, &())?;
        if self.json {
            stdout().json(&stats.details)?;
            return Ok(Outcome::Done);
        }
        let width = stats.details.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut out = stdout();
        for (name, collection) in &stats.details {
            let (notes, passages) = (column(collection.files, "note"), column(collection.chunks, "passage"));
            out.paint(TITLE, &format!("{name:width$}"))?;
            write!(out, "  {notes:>12} {passages:>16} {:>9}  ", bytes(collection.bytes))?;
            out.paint(DIM, &local_day(&collection.updated_at))?;
            writeln!(out)?;
        }
        if stats.details.is_empty() {
            remark!("vault: there are no notes yet");
        }
        Ok(Outcome::Done)
    }
}
