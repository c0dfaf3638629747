//! `vault graph`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::note_named::without_brackets;
use super::terminal::{DIM, Out, TITLE, remark, stdout};
use crate::api::endpoints;
use crate::request::RequestError;
use crate::wire::{EdgeView, EntityView, FactState, GraphParams, GraphView};

/// Show how notes are related: what is around a note, the relations of a name, or the notes of a type.
///
/// A note is related to those that it links to. A property (author: "[[Ridley Scott]]"), a line or brackets in the text (manages:: [[Alice]]) or
/// an item of a list (- works_at [[Acme]]) gives the relation a name; behind the link may stand when it is true (from 2026-03-09, until
/// 2026-06-01), in round brackets, and how sure it is: confidence 0.8.
///
/// Without a name it lists the relations of --relation, or the notes of --type, or those with any `type`. When nothing is found the exit code
/// is 1.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault graph \"Ann Lee\"\n  vault graph acme --depth 1 --relation works_at\n  vault graph acme --type person --as-of 2026-03-15\n  \
    vault graph --type project\n  vault graph --relation manages --expired"
)]
pub(super) struct GraphCommand {
    /// The note's title, its file's name, an alias, or its path.
    name: Option<String>,
    /// How many steps away from it, 1 to 5; else 2.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Only relations of this name.
    #[arg(long)]
    relation: Option<String>,
    /// Only notes with this `type`: person, company, place, project, tool, concept, event, or any other.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// What was true then: a date or a time.
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Also relations whose time is over or has not come.
    #[arg(long)]
    expired: bool,
    /// Relations at most, up to 1,000; else 200.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl GraphCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { name, depth, relation, kind, as_of, expired, limit, json } = self;
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let expired = expired.then_some(true);
        let name = name.map(|name| match without_brackets(&name) {
            bare if bare == name => name,
            link => link.split('#').next().unwrap_or_default().to_owned(),
        });
        let params = GraphParams { name, relation, kind, depth, as_of, expired, limit };
        let found = backend.ask(&endpoints::graph::NOTES_AROUND, &params)?;
        let is_nothing = match params.name.is_none() && params.relation.is_some() {
            true => found.edges.is_empty(),
            false => found.entities.is_empty(),
        };
        let outcome = if is_nothing { Outcome::NothingFound } else { Outcome::Done };
        if json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        print(&found, &mut stdout())?;
        match (is_nothing, found.cut) {
            (true, _) => remark!("vault: {}", absent(&params, &found)),
            (false, true) => remark!("vault: there is more; --limit shows it"),
            (false, false) => {}
        }
        Ok(outcome)
    }
}

fn print(found: &GraphView, out: &mut Out) -> std::io::Result<()> {
    for entity in found.entities.iter().filter(|entity| entity.distance == 0) {
        note(entity, out)?;
    }
    for edge in &found.edges {
        write!(out, "  ")?;
        out.paint(TITLE, &edge.line())?;
        out.paint(DIM, &format!("{}  {}", said(edge), edge.citation))?;
        writeln!(out)?;
    }
    Ok(())
}

fn note(entity: &EntityView, out: &mut Out) -> std::io::Result<()> {
    out.paint(TITLE, &entity.title)?;
    if !entity.types.is_empty() {
        write!(out, "  {}", entity.types.join(", "))?;
    }
    write!(out, "  ")?;
    out.paint(DIM, &entity.path)?;
    writeln!(out)
}

/// What else is said of a relation.
fn said(edge: &EdgeView) -> String {
    let sure = edge.confidence.map(|share| format!("  confidence {share}"));
    let state = match edge.state {
        FactState::Expired => "  expired",
        FactState::Future => "  not yet",
        FactState::Current | FactState::Retracted | FactState::Unset => "",
    };
    format!("{state}{}", sure.unwrap_or_default())
}

fn absent(params: &GraphParams, found: &GraphView) -> String {
    let near: Vec<&str> = found.near.iter().map(|near| near.title.as_str()).collect();
    match (&params.name, &params.relation, &params.kind) {
        (Some(name), ..) if near.is_empty() => RequestError::no_note(name).to_string(),
        (Some(name), ..) => format!("{}; these begin so: {}", RequestError::no_note(name), near.join(", ")),
        (None, Some(relation), _) => format!("no note has a relation `{relation}` that is true then"),
        (None, None, Some(kind)) => format!("no note has the type `{kind}`"),
        (None, None, None) => "no note has a `type`".to_owned(),
    }
}
