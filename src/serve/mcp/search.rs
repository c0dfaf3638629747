//! `search`: passages with their citations, and `related`: the notes near a note, and its links.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::get::{Reference, uri_of};
use super::tool::{DATA, Render, ToolEntry, hit};
use crate::access::request::{Budget, MAY_LACK_THE_NEWEST, RequestError, Viewer};
use crate::base::config::{Citations, Mode, SearchConfig, StemmerLanguage};
use crate::index::search::Highlighter;
use crate::serve::app::App;
use crate::serve::wire::{
    HitView, Linked, LinksParams, LinksView, RelatedNote, RelatedParams, RelatedView, SearchQuery, SearchResponse,
    named, source_line,
};
use crate::text::derive::TextLanguage;
use crate::vault::notes;

/// Hits when nobody says how many: what a model reads costs it room.
const HITS: usize = 6;

/// What to look for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// A question, or words, "phrases", -word, has:task, property:value.
    #[schema(min_length = 1)]
    query: String,
    /// Default hybrid.
    #[schema(inline)]
    mode: Option<Mode>,
    /// Default 6.
    #[schema(minimum = 1, maximum = 50)]
    limit: Option<usize>,
    /// Folder.
    collection: Option<String>,
    /// Tag.
    tag: Option<String>,
    /// Path prefix.
    path: Option<String>,
    /// Date or 7d.
    since: Option<String>,
    /// Date.
    until: Option<String>,
    // What is said of these costs every conversation; their ranges are told to whoever misses them.
    /// Turns of context.
    #[schema(value_type = Option<i64>)]
    context: Option<usize>,
    /// Time limit.
    #[schema(value_type = Option<i64>)]
    timeout_ms: Option<u64>,
}

/// What was found.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Hits {
    /// What was asked.
    query: String,
    /// How it was looked for: keyword, semantic or hybrid.
    mode: Mode,
    /// The passages, the best first.
    #[serde(serialize_with = "hits_as_json")]
    results: Vec<HitView>,
    /// How many less likely ones are left out.
    left_out: Option<usize>,
    /// Why the answer is less than it could be, when it is.
    degraded: Option<String>,
    /// Whether the text says where each passage is.
    #[serde(skip)]
    citations: Citations,
    /// Whose word forms are looked for where a passage is cut.
    #[serde(skip)]
    stemmer: StemmerLanguage,
}

/// The passages as programs read them. `id`, `title` and `url` are what ChatGPT looks for; `id` is the citation, which `fetch` and `get` take.
fn hits_as_json<S: Serializer>(hits: &[HitView], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hits.iter().map(|HitView { chunk, snippet, score, relevance, .. }| {
        let mut hit = json!({
            "id": chunk.citation, "title": chunk.title, "url": uri_of(&chunk.path), "citation": chunk.citation,
            "hash": chunk.hash, "path": chunk.path, "heading_path": chunk.heading_path, "snippet": snippet,
            "line_start": chunk.line_start, "line_end": chunk.line_end, "collection": chunk.collection,
            "tags": chunk.tags, "updated_at": chunk.updated_at, "score": score,
        });
        if let Some(relevance) = relevance {
            hit["relevance"] = json!(relevance);
        }
        hit
    }))
}

impl Hits {
    pub(super) fn of(found: SearchResponse, config: &SearchConfig) -> Self {
        let is_old = found.fresh == Some(false);
        let lacks: Vec<String> = found.degraded.into_iter().chain(is_old.then(|| MAY_LACK_THE_NEWEST.into())).collect();
        Self {
            query: found.query,
            mode: found.mode,
            results: found.results,
            left_out: (found.left_out > 0).then_some(found.left_out),
            degraded: (!lacks.is_empty()).then(|| lacks.join("; ")),
            citations: config.citations,
            stemmer: config.stemmer,
        }
    }
}

impl Render for Hits {
    fn text(&self) -> String {
        // In one line, whatever was asked.
        let query = self.query.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = match self.results.len() {
            0 => format!("Nothing found for `{query}`.\n"),
            1 => format!("1 passage for `{query}`. {DATA}\n"),
            found => format!("{found} passages for `{query}`, best first. {DATA}\n"),
        };
        if let Some(left) = self.left_out {
            text += &format!("{left} less likely passages are left out.\n");
        }
        if let Some(degraded) = &self.degraded {
            text += &format!("Note: {degraded}.\n");
        }
        let mut words = Highlighter::new(&self.query, self.stemmer);
        for HitView { chunk: found, snippet, relevance, .. } in &self.results {
            let (place, mut remark) = match self.citations {
                Citations::Off => (String::new(), format!(" hash {}", found.hash)),
                Citations::Auto | Citations::On => (format!("[{}] ", found.citation), String::new()),
            };
            let day = found.updated_at.split('T').next().unwrap_or_default();
            remark += &match relevance {
                Some(relevance) => format!(" ({relevance:.2}, {day})"),
                None => format!(" ({day})"),
            };
            let names: Vec<&str> =
                std::iter::once(&found.title).chain(&found.heading_path).map(String::as_str).collect();
            words.turn_to(TextLanguage::of_text(snippet));
            text += &format!("\n{}", hit(&place, &names, &remark, snippet, &mut words));
            if self.citations == Citations::On {
                text += &format!("{}\n", source_line(&found.path, found.line_start));
            }
        }
        text
    }
}

pub(super) fn search_tool() -> ToolEntry {
    let description = "Finds passages in the user's notes and conversations, by words and meaning, with citations. Look here first for \
            what was decided, planned, written or said. `mode` keyword for names and exact words.";
    ToolEntry::reader("search", "Search notes", description, |_, viewer: &Viewer, args| find(viewer, args))
}

fn find(viewer: &Viewer, args: SearchArgs) -> Result<Hits, RequestError> {
    let params = SearchQuery {
        q: args.query,
        mode: args.mode,
        collection: args.collection,
        tag: args.tag,
        path: args.path,
        since: args.since,
        until: args.until,
        limit: Some(args.limit.unwrap_or(HITS)),
        context: args.context,
        timeout_ms: args.timeout_ms,
        fresh: Some(true),
        ..SearchQuery::default()
    };
    let found = notes::search(viewer, &params)?;
    // A model that guessed at a collection learns nothing from an empty answer.
    if let (Some(there), Some(collection)) = (&found.no_such_collection, &params.collection) {
        let hint = named(there).map(|there| format!("the collections are {there}"));
        return Err(RequestError { hint, ..RequestError::invalid(format!("there is no collection `{collection}`")) });
    }
    Ok(Hits::of(found, &viewer.workspace().config.search))
}

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
    /// Default 6.
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
        let mut text = format!("{} notes related to [{}], nearest first. {DATA}\n", self.results.len(), self.path);
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
    fn new(related: RelatedView, links: LinksView, mut room: Budget) -> Self {
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

pub(super) fn related_tool() -> ToolEntry {
    let description = "Returns the notes similar to a note or passage, those it links to, and those that link to it.";
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
    ToolEntry::reader("related", "Near a note", description, run)
}

fn near(viewer: &Viewer, path: String, line: Option<usize>, limit: Option<usize>) -> Result<NearNotes, RequestError> {
    let params = RelatedParams { path: path.clone(), line, limit: Some(limit.unwrap_or(NOTES)) };
    let related = notes::related(viewer, &params)?;
    let links = notes::links(viewer, &LinksParams { path, limit: Some(LINKS) })?;
    Ok(NearNotes::new(related, links, viewer.read_scope()?.room()))
}
