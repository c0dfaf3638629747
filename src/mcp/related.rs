//! `related`: the notes near a note, and its links.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::refs::Reference;
use super::tool::{About, DATA, Effect, Render, ToolAction, ToolEntry, hit};
use crate::app::App;
use crate::config::StemmerLanguage;
use crate::notes;
use crate::request::{RequestError, Room, Viewer};
use crate::search::Highlighter;
use crate::wire::{Linked, LinksParams, LinksView, RelatedNote, RelatedParams, RelatedView};

/// Notes when nobody says how many.
const NOTES: usize = 6;
/// Links of each kind.
const LINKS: usize = 50;

/// Of what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RelatedArgs {
    /// Path, citation or hash.
    #[schema(min_length = 1)]
    what: String,
    /// Else 6.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 50)]
    limit: Option<usize>,
}

/// What is near a note, and what it is linked with.
#[derive(Debug, Serialize)]
struct NearNotes {
    /// The note's path.
    path: String,
    /// The notes near it, the nearest first.
    results: Vec<RelatedNote>,
    /// Why there may be less than there could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
    /// Paths of the notes that it links to.
    links_to: Vec<String>,
    /// Where other notes link to it.
    linked_from: Vec<String>,
    /// Links that lead to no note.
    unresolved: Vec<String>,
}

impl Render for NearNotes {
    fn text(&self) -> String {
        let mut text = format!("{} notes near [{}], the nearest first. {DATA}\n", self.results.len(), self.path);
        if let Some(degraded) = &self.degraded {
            text += &format!("Note: {degraded}.\n");
        }
        let mut no_words = Highlighter::new("", StemmerLanguage::English);
        for note in &self.results {
            let linked = match note.linked {
                Some(Linked::Out) => " (linked to)",
                Some(Linked::In) => " (links here)",
                Some(Linked::Both) => " (linked both ways)",
                None => "",
            };
            let names: Vec<&str> = std::iter::once(&note.title).chain(&note.heading_path).map(String::as_str).collect();
            text +=
                &format!("\n{}", hit(&format!("[{}] ", note.citation), &names, linked, &note.snippet, &mut no_words));
        }
        let lists =
            [("Links to", &self.links_to), ("Linked from", &self.linked_from), ("Leads nowhere", &self.unresolved)];
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            text += &format!("\n{name}: {}\n", list.join(", "));
        }
        text
    }
}

impl NearNotes {
    /// Both in one answer, of which an agent is given as much as of any: what is near first.
    fn new(related: RelatedView, links: LinksView, mut room: Room) -> Self {
        let mut links_to: Vec<String> = links.outgoing.into_iter().filter_map(|link| link.path).collect();
        let mut unresolved: Vec<String> = links.unresolved.into_iter().map(|link| link.target).collect();
        for list in [&mut links_to, &mut unresolved] {
            list.sort();
            list.dedup();
        }
        let chars = |note: &RelatedNote| {
            let names = note.heading_path.iter().chain([&note.title, &note.snippet]);
            names.map(|text| text.chars().count()).sum()
        };
        let results = related.results.into_iter().filter(|note| room.take(chars(note))).collect();
        unresolved.retain(|target| room.take(target.chars().count()));
        Self {
            path: related.path,
            results,
            degraded: related.degraded,
            links_to,
            linked_from: links.incoming.into_iter().map(|link| link.citation).collect(),
            unresolved,
        }
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "related",
        title: "Near a note",
        description: "Gives the notes similar to a note or passage, those it links to and those that link to it: what else belongs to what \
            you found.",
    };
    let run = |_: &App, viewer: &Viewer, args: RelatedArgs| {
        let (path, line) = match Reference::parse(&args.what)? {
            Reference::Hash(hash) => {
                let chunk = notes::chunk(viewer, &hash)?;
                (chunk.path, Some(chunk.line_start as usize))
            }
            Reference::Note(path, lines) => (path, lines.map(|(first, _)| first)),
        };
        near(viewer, path, line, args.limit)
    };
    ToolEntry::new(about, vec![ToolAction::only(Effect::Reads, run)])
}

fn near(viewer: &Viewer, path: String, line: Option<usize>, limit: Option<usize>) -> Result<NearNotes, RequestError> {
    let params = RelatedParams { path: path.clone(), line, limit: Some(limit.unwrap_or(NOTES)) };
    let related = notes::related(viewer, &params)?;
    let links = notes::links(viewer, &LinksParams { path, limit: Some(LINKS) })?;
    Ok(NearNotes::new(related, links, viewer.read_scope()?.room()))
}
