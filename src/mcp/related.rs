//! `related`: the notes near a note, and its links.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::refs::Reference;
use super::search::DATA;
use super::tool::{About, Effect, Told, ToolEntry};
use crate::notes;
use crate::request::{RequestError, Viewer};
use crate::wire::{Linked, LinksParams, LinksView, RelatedNote, RelatedParams, RelatedView};

/// Notes when nobody says how many.
const NOTES: usize = 6;
/// Links of each kind.
const LINKS: usize = 50;

/// Of what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RelatedTo {
    /// A hash, `notes/api.md` or `notes/api.md:42`.
    #[schema(min_length = 1)]
    what: String,
    /// Else 6.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 50)]
    limit: Option<usize>,
}

/// What is near a note, and what it is linked with.
#[derive(Debug, Serialize, ToSchema)]
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

impl Told for NearNotes {
    fn text(&self) -> String {
        let mut text = format!("{} notes near [{}], the nearest first. {DATA}\n", self.results.len(), self.path);
        if let Some(degraded) = &self.degraded {
            text += &format!("Note: {degraded}.\n");
        }
        for note in &self.results {
            let headings: String = note.heading_path.iter().map(|heading| format!(" > {heading}")).collect();
            let linked = match note.linked {
                Some(Linked::Out) => " (linked to)",
                Some(Linked::In) => " (links here)",
                Some(Linked::Both) => " (linked both ways)",
                None => "",
            };
            text += &format!("\n[{}] {}{headings}{linked}\n{}\n", note.citation, note.title, note.snippet.trim_end());
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
    fn new(related: RelatedView, links: LinksView) -> Self {
        let mut links_to: Vec<String> = links.outgoing.into_iter().filter_map(|link| link.path).collect();
        let mut unresolved: Vec<String> = links.unresolved.into_iter().map(|link| link.target).collect();
        for list in [&mut links_to, &mut unresolved] {
            list.sort();
            list.dedup();
        }
        Self {
            path: related.path,
            results: related.results,
            degraded: related.degraded,
            links_to,
            linked_from: links.incoming.into_iter().map(|link| link.citation).collect(),
            unresolved,
        }
    }
}

pub(super) fn tool() -> ToolEntry {
    ToolEntry::new(
        About {
            name: "related",
            title: "What is near a note",
            description: "Finds the notes near a note or a passage, and those that it links to or that link to it (`linked`: out, in, \
                both). Use it to see what else belongs to what you found.",
            effect: Effect::Reads,
        },
        |_, viewer: &Viewer, params: RelatedTo| {
            let (path, line) = match Reference::parse(&params.what)? {
                Reference::Hash(hash) => {
                    let chunk = notes::chunk(viewer, &hash)?;
                    (chunk.path, Some(chunk.line_start as usize))
                }
                Reference::Note(path, lines) => (path, lines.map(|(first, _)| first)),
            };
            near(viewer, path, line, params.limit)
        },
    )
}

fn near(viewer: &Viewer, path: String, line: Option<usize>, limit: Option<usize>) -> Result<NearNotes, RequestError> {
    let params = RelatedParams { path: path.clone(), line, limit: Some(limit.unwrap_or(NOTES)) };
    let related = notes::related(viewer, &params)?;
    let links = notes::links(viewer, &LinksParams { path, limit: Some(LINKS) })?;
    Ok(NearNotes::new(related, links))
}
