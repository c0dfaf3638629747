//! `vault collections`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::Outcome;
use super::backend::Backend;
use super::output::{self, DIM, TITLE, Terminal, bytes, count, printable};

/// List the collections, with their notes and passages.
#[derive(Debug, Args)]
pub(super) struct Collections {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Collections {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let stats = backend.stats()?;
        if self.json {
            output::json(&stats.details)?;
            return Ok(Outcome::Done);
        }
        let terminal = Terminal::stdout();
        let width = stats.details.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut out = std::io::stdout().lock();
        for (name, collection) in &stats.details {
            let name = terminal.paint(TITLE, &format!("{:width$}", printable(name)));
            let size = {
                let (notes, passages) = (count(collection.files, "note"), count(collection.chunks, "passage"));
                format!("{notes:>12} {passages:>16} {:>9}", bytes(collection.bytes))
            };
            let updated = terminal.paint(DIM, collection.updated_at.get(..10).unwrap_or_default());
            writeln!(out, "{name}  {size}  {updated}")?;
        }
        Ok(Outcome::Done)
    }
}
