//! `vault tags`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{DIM, TITLE, count, remark, stdout};
use crate::api::endpoints;

/// List the tags, with how many notes have each.
///
/// As a tree: a tag counts the notes with it or one below it.
#[derive(Debug, Args)]
pub(super) struct TagsCommand {
    /// One line a tag, the most frequent first, each counted alone.
    #[arg(long)]
    flat: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl TagsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let mut tags = backend.ask(&endpoints::links::TAGS, &())?;
        let outcome = if tags.tags.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.flat {
            tags.tags.retain(|tag| tag.notes > 0);
            // Sorting keeps the alphabet among those that are as frequent.
            tags.tags.sort_by_key(|tag| std::cmp::Reverse(tag.notes));
        }
        if self.json {
            stdout().json(&tags)?;
            return Ok(outcome);
        }
        let shown = |tag: &str| match tag.rsplit_once('/').filter(|_| !self.flat) {
            Some((above, name)) => format!("{}{name}", "  ".repeat(above.matches('/').count() + 1)),
            None => tag.to_owned(),
        };
        let width = tags.tags.iter().map(|tag| shown(&tag.tag).chars().count()).max().unwrap_or(0);
        let mut out = stdout();
        for tag in &tags.tags {
            let notes = if self.flat { tag.notes } else { tag.with_below };
            out.paint(TITLE, &format!("{:width$}", shown(&tag.tag)))?;
            write!(out, "  ")?;
            out.paint(DIM, &count(notes, "note"))?;
            writeln!(out)?;
        }
        if tags.tags.is_empty() {
            remark!("vault: no note has a tag");
        }
        Ok(outcome)
    }
}
