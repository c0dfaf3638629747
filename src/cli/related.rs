//! `vault search --related`

use std::io::Write;
use std::path::Path;

use super::backend::{Backend, home};
use super::note_named::meant;
use super::outcome::Outcome;
use super::terminal::{DIM, TITLE, remark, stdout};
use crate::wire::{Linked, RelatedParams};

/// Prints the notes near one.
pub(super) fn related(what: &str, limit: Option<usize>, json: bool, vault: Option<&Path>) -> anyhow::Result<Outcome> {
    let mut backend = Backend::open(vault, |_| {})?;
    backend.catch_up(true)?;
    let (path, line) = meant(what, &home(vault)?, &mut backend)?;
    let found = backend.related(&RelatedParams { path, line, limit })?;
    let outcome = if found.results.is_empty() { Outcome::NothingFound } else { Outcome::Done };
    if json {
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
