//! `vault links`

use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::meant;
use super::terminal::{DIM, Out, TITLE, remark, stdout};
use crate::api::endpoints;
use crate::wire::{LinkView, LinksParams, UnresolvedParams, citation};

/// Show where a note's links lead, which notes link to it, and which of its links lead nowhere; or all that lead nowhere.
///
/// A link names a note as in Obsidian: by its path, the end of it, its name, or an alias. Links in properties count; those in code and in
/// comments do not.
#[derive(Debug, Args)]
pub(super) struct LinksCommand {
    /// The note's path, its name, or a [[LINK]] to it.
    #[arg(required_unless_present = "unresolved")]
    note: Option<String>,
    /// Instead: the links of all notes that lead nowhere.
    #[arg(long, conflicts_with = "note")]
    unresolved: bool,
    /// Links of each kind at most.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl LinksCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let Some(note) = &self.note else { return self.unresolved(&mut backend) };
        let (path, _) = meant(note, &home(vault)?, &mut backend)?;
        let links = backend.ask(&endpoints::links::LINKS, &LinksParams { path, limit: self.limit })?;
        let is_empty = links.outgoing.is_empty() && links.incoming.is_empty() && links.unresolved.is_empty();
        let outcome = if is_empty { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&links)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        let path = &links.path;
        section("links to", &links.outgoing, &mut out, |link| {
            let shown = link.path.clone().unwrap_or_default();
            (format!("{shown}{}", part(link)), line(path, link.line), &link.text)
        })?;
        section("linked from", &links.incoming, &mut out, |link| (link.citation.clone(), String::new(), &link.text))?;
        section("leads nowhere", &links.unresolved, &mut out, |link| {
            (format!("{}{}", link.target, part(link)), line(path, link.line), &link.text)
        })?;
        match (is_empty, links.cut) {
            (true, _) => remark!("vault: {path} has no links, and no note links to it"),
            (false, true) => remark!("vault: there are more; --limit shows them"),
            (false, false) => {}
        }
        Ok(outcome)
    }

    /// Prints the links of all notes that lead nowhere.
    fn unresolved(&self, backend: &mut Backend) -> anyhow::Result<Outcome> {
        let found = backend.ask(&endpoints::links::UNRESOLVED_LINKS, &UnresolvedParams { limit: self.limit })?;
        let outcome = if found.links.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for link in &found.links {
            out.paint(TITLE, &link.citation)?;
            writeln!(out, "  {}", link.target)?;
            out.paint(DIM, &format!("    {}", link.text))?;
            writeln!(out)?;
        }
        match found.total - found.links.len().min(found.total) {
            _ if found.links.is_empty() => remark!("vault: every link leads to a note"),
            0 => {}
            more => remark!("vault: {more} more; --limit shows them"),
        }
        Ok(outcome)
    }
}

fn line(path: &str, line: usize) -> String {
    citation(path, line as u32, line as u32)
}

/// The heading or block that a link leads to.
fn part(link: &LinkView) -> String {
    let block = link.block.as_ref().map(|block| format!("#^{block}"));
    block.or_else(|| link.heading.as_ref().map(|heading| format!("#{heading}"))).unwrap_or_default()
}

/// Prints links under a name: of each what it leads to or where it stands, where that is, and its line.
fn section<'a, T>(
    name: &str,
    links: &'a [T],
    out: &mut Out,
    shown: impl Fn(&'a T) -> (String, String, &'a String),
) -> io::Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    writeln!(out, "{name}")?;
    for link in links {
        let (what, place, text) = shown(link);
        write!(out, "  ")?;
        out.paint(TITLE, &what)?;
        if !place.is_empty() {
            write!(out, "  ")?;
            out.paint(DIM, &place)?;
        }
        writeln!(out, "\n    {text}")?;
    }
    Ok(())
}
