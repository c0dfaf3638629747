//! Reading a note: all of it, its links and where they lead, which other notes lead to it, and the notes near it.

use std::sync::Arc;

use serde_json::Value;

use super::annotations::{annotations, chars_of};
use super::media::FileTargets;
use crate::access::request::{
    Budget, LinkTargets, Owner, ReadScope, RequestError, Viewer, frontmatter_chars, limit, line_text, read_seen,
    rfc3339,
};
use crate::base::config::Mode;
use crate::index::engine::FileEntry;
use crate::index::search::{Highlighter, Related, RelatedChunk, RelatedRequest, snippet};
use crate::index::sync::ModelStatus;
use crate::serve::wire::{
    Backlink, LinkView, Linked, LinksParams, LinksView, NoteParams, NoteView, PassageSpan, RelatedNote, RelatedParams,
    RelatedView, UnresolvedLink, UnresolvedParams, UnresolvedView, citation, passage_citation,
};
use crate::text::derive::{ChunkId, note_links};
use crate::text::note::{Link, LinkKind, Node, Note};
use crate::vault::attachments::page_of;
use crate::vault::disk::Source;

/// A whole note, as it is on disk, for who gives parts of it.
///
/// # Errors
/// When no note that is seen has the path, or it cannot be read.
pub(crate) fn whole_note(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    logged(viewer, params, note_of(viewer, params))
}

/// The same, of which an agent gets as much as one answer gives.
///
/// # Errors
/// As [`whole_note`].
pub fn note(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    let mut found = note_of(viewer, params);
    found.iter_mut().for_each(|note| fit(note, Budget::of(viewer.limits(), 1)));
    logged(viewer, params, found)
}

fn logged(
    viewer: &Viewer,
    params: &NoteParams,
    found: Result<NoteView, RequestError>,
) -> Result<NoteView, RequestError> {
    viewer.logged("note", &params.path, found, |note| {
        let remarks = note.annotations.iter().map(|remark| remark.path.clone());
        std::iter::once(note.path.clone()).chain(remarks).collect()
    })
}

fn note_of(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    let around = params.line.unwrap_or(1);
    if around == 0 {
        return Err(RequestError::invalid("`line` is 0; lines are counted from 1"));
    }
    let scope = viewer.read_scope()?;
    let (file, source) = read_seen(&scope, &params.path)?;
    let note = Note::of(&file.path, &source.text);
    let targets = LinkTargets::of(&scope);
    let tree = match file.path.is_document() {
        true => note.plain_tree(&source.text, around),
        // A link to a note that may have become private leads nowhere.
        false => {
            let files = FileTargets::of(scope.workspace(), &targets, file, !scope.is_agents());
            note.tree(&source.text, around, |target| files.resolve(target))
        }
    };
    Ok(NoteView {
        path: file.path.to_string(),
        collection: file.path.collection().to_owned(),
        hash: ChunkId::of_note(&file.path, source.hash.as_bytes()).to_string(),
        tags: note.tags,
        metadata: Value::Object(note.metadata),
        created_at: rfc3339(note.created.map_or(file.created_ms, |time| time.as_millisecond())),
        updated_at: rfc3339(note.updated.map_or(file.updated_ms, |time| time.as_millisecond())),
        obsidian_url: scope.obsidian_url(&file.path),
        body: tree.nodes,
        cut: tree.cut,
        chunks: spans(&scope, file)?,
        annotations: annotations(&scope, file.path.as_str())?,
        title: note.title,
        text: source.text,
    })
}

/// Leaves out of a note what an answer has no room for: frontmatter, the end of the text, the body, which is the text once more,
/// and remarks.
fn fit(note: &mut NoteView, mut room: Budget) {
    let names: usize = note.tags.iter().chain([&note.title]).map(|name| name.chars().count()).sum();
    let _ = room.take(names);
    if !room.try_take(frontmatter_chars(&note.metadata)) {
        note.metadata = Value::Object(serde_json::Map::new());
    }
    if room.cut(&mut note.text) || !room.try_take(note.body.iter().map(chars_of_node).sum()) {
        note.body.clear();
        note.cut = true;
    }
    note.chunks.retain(|chunk| room.take(chunk.heading_path.iter().map(|heading| heading.chars().count()).sum()));
    note.annotations.retain(|remark| room.take(chars_of(remark)));
}

fn chars_of_node(node: &Node) -> usize {
    match node {
        Node::Text(text) => text.chars().count(),
        Node::Element(element) => element.children.iter().map(chars_of_node).sum(),
    }
}

fn spans(scope: &ReadScope, file: &FileEntry) -> Result<Vec<PassageSpan>, RequestError> {
    let mut passages = Vec::with_capacity(file.chunks.len());
    for entry in &file.chunks {
        match scope.reader().chunk(entry.row) {
            Ok(chunk) => passages.extend(chunk.map(|chunk| PassageSpan {
                hash: chunk.id.to_string(),
                line_start: chunk.lines.0,
                line_end: chunk.lines.1,
                heading_path: chunk.heading_path,
            })),
            // The note can be read all the same.
            Err(error) if error.is_damage() => drop(scope.workspace().damaged(error)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(passages)
}

/// Links of each kind, when nobody says how many.
const LINKS: usize = 200;
/// The links of a note.
///
/// # Errors
/// When no note that is seen has the path, or it cannot be read.
pub fn links(viewer: &Viewer, params: &LinksParams) -> Result<LinksView, RequestError> {
    viewer.logged("links", &params.path, links_of(viewer, params), |links| {
        let outgoing = links.outgoing.iter().filter_map(|link| link.path.clone());
        let mut given: Vec<String> = std::iter::once(links.path.clone()).chain(outgoing).collect();
        given.extend(links.incoming.iter().map(|link| link.path.clone()));
        given.dedup();
        given
    })
}

fn links_of(viewer: &Viewer, params: &LinksParams) -> Result<LinksView, RequestError> {
    let limit = limit(params.limit, LINKS)?;
    // Nothing that has changed since it was indexed is named: it may have become private.
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let (file, source) = read_seen(&scope, &params.path)?;
    let targets = LinkTargets::of(&scope);
    let mut room = scope.room();
    let mut title = file.title.clone();
    let mut view = LinksView {
        path: file.path.to_string(),
        cut: room.cut(&mut title),
        title,
        outgoing: Vec::new(),
        incoming: Vec::new(),
        unresolved: Vec::new(),
    };
    let lines = LinkLines::of(&source, file);
    for link in &lines.links {
        scope.go_on()?;
        let to = targets.resolve(&link.target, &file.path);
        let kind = if to.is_some() { &mut view.outgoing } else { &mut view.unresolved };
        let link = link_view(link, to, lines.text(link.line));
        let LinkView { text, target, title, alias, heading, block, .. } = &link;
        let optional = [title, alias, heading, block].into_iter().flatten();
        if kind.len() < limit && takes(&mut room, [text, target].into_iter().chain(optional)) {
            kind.push(link);
        } else {
            view.cut = true;
        }
    }
    for from in targets.linking_to(&targets.names(file)).into_iter().filter(|from| from.id != file.id) {
        if view.incoming.len() >= limit {
            view.cut = true;
            break;
        }
        for link in links_between(&scope, &targets, from, file)? {
            let optional = link.heading.iter().chain(&link.block);
            if view.incoming.len() < limit && takes(&mut room, [&link.text, &link.title].into_iter().chain(optional)) {
                view.incoming.push(link);
            } else {
                view.cut = true;
            }
        }
    }
    Ok(view)
}

/// The links of the whole vault that lead to no note.
///
/// # Errors
/// When the limit makes no sense, or the index is not open yet.
pub(crate) fn unresolved(owner: &Owner, params: &UnresolvedParams) -> Result<UnresolvedView, RequestError> {
    let limit = limit(params.limit, LINKS)?;
    let scope = owner.settled_scope()?;
    let targets = LinkTargets::of(&scope);
    let mut files: Vec<&Arc<FileEntry>> = scope.files().collect();
    files.sort_by(|one, two| one.path.cmp(&two.path));
    let mut view = UnresolvedView { links: Vec::new(), total: 0 };
    for file in files {
        scope.go_on()?;
        // What cannot be read now is a problem of its own, which the status has.
        let Ok((_, source)) = read_seen(&scope, file.path.as_str()) else { continue };
        let lines = LinkLines::of(&source, file);
        for link in lines.links.iter().filter(|link| targets.resolve(&link.target, &file.path).is_none()) {
            view.total += 1;
            if view.links.len() < limit {
                let line = link.line as u32;
                view.links.push(UnresolvedLink {
                    target: link.target.clone(),
                    path: file.path.to_string(),
                    line: link.line,
                    text: lines.text(link.line),
                    citation: citation(file.path.as_str(), line, line),
                });
            }
        }
    }
    Ok(view)
}

fn takes<'t>(room: &mut Budget, texts: impl Iterator<Item = &'t String>) -> bool {
    room.take(texts.map(|text| text.chars().count()).sum())
}

fn link_view(link: &Link, to: Option<&Arc<FileEntry>>, text: String) -> LinkView {
    LinkView {
        path: to.map(|file| file.path.to_string()),
        title: to.map(|file| file.title.clone()),
        target: link.target.clone(),
        heading: link.heading.clone(),
        block: link.block.clone(),
        alias: link.text.clone(),
        embeds: link.kind == LinkKind::Embed,
        line: link.line,
        text,
    }
}

/// The links of one note that lead to another; none of what cannot be read now.
fn links_between(
    scope: &ReadScope,
    targets: &LinkTargets<'_>,
    from: &FileEntry,
    to: &FileEntry,
) -> Result<Vec<Backlink>, RequestError> {
    scope.go_on()?;
    let Ok((_, source)) = read_seen(scope, from.path.as_str()) else { return Ok(Vec::new()) };
    let lines = LinkLines::of(&source, from);
    let leads = |link: &&Link| targets.resolve(&link.target, &from.path).is_some_and(|file| file.id == to.id);
    let backlink = |link: &Link| Backlink {
        path: from.path.to_string(),
        title: from.title.clone(),
        heading: link.heading.clone(),
        block: link.block.clone(),
        line: link.line,
        text: lines.text(link.line),
        citation: citation(from.path.as_str(), link.line as u32, link.line as u32),
    };
    Ok(lines.links.iter().filter(leads).map(backlink).collect())
}

/// A note's links, and its lines.
struct LinkLines<'a> {
    links: Vec<Link>,
    note: Note,
    source: &'a str,
}

impl<'a> LinkLines<'a> {
    fn of(source: &'a Source, file: &FileEntry) -> Self {
        let note = Note::of(&file.path, &source.text);
        Self { links: note_links(&note, &source.text), note, source: &source.text }
    }

    /// What is shown of a line.
    fn text(&self, line: usize) -> String {
        line_text(&self.source[self.note.lines.span(line)])
    }
}

/// The notes near a note, of those that are seen; that note itself is none.
///
/// # Errors
/// When no note that is seen has the path, it has no such line, or the index cannot be read.
pub fn related(viewer: &Viewer, params: &RelatedParams) -> Result<RelatedView, RequestError> {
    let given = |found: &RelatedView| found.results.iter().map(|note| note.citation.clone()).collect();
    viewer.logged("related", &params.path, related_to(viewer, params), given)
}

fn related_to(viewer: &Viewer, params: &RelatedParams) -> Result<RelatedView, RequestError> {
    let config = &viewer.workspace().config.search;
    let limit = limit(params.limit, config.limit)?;
    // What has changed since it was indexed is hidden before anything is compared.
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let (file, source) = read_seen(&scope, &params.path)?;
    if params.line == Some(0) {
        return Err(RequestError::invalid("`line` is 0; lines are counted from 1"));
    }
    let request = RelatedRequest { file, line: params.line, limit };
    let found = scope.related(&request)?;
    let targets = LinkTargets::of(&scope);
    let links = LinkLines::of(&source, file).links;
    let out: Vec<_> = links.iter().filter_map(|link| targets.resolve(&link.target, &file.path)).collect();
    let linking = targets.linking_to(&targets.names(file));
    let mut highlighter = Highlighter::new("", config.stemmer);
    let chars = scope.snippet_chars(config.max_snippet_chars);
    let mut room = scope.room();
    let mut results = Vec::with_capacity(found.notes.len());
    for RelatedChunk { file: near, chunk, score } in &found.notes {
        let leads = out.iter().any(|file| file.id == near.id);
        let is_led =
            linking.iter().any(|file| file.id == near.id) && !links_between(&scope, &targets, near, file)?.is_empty();
        let body = chunk.text.get(chunk.body_start..).map(str::trim).filter(|body| !body.is_empty());
        let snippet = snippet(body.unwrap_or(&chunk.text), &mut highlighter, chars);
        if !takes(&mut room, chunk.heading_path.iter().chain([&near.title, &snippet])) {
            break;
        }
        let page = page_of(near.path.as_str(), &chunk.heading_path);
        results.push(RelatedNote {
            path: near.path.to_string(),
            title: near.title.clone(),
            heading_path: chunk.heading_path.clone(),
            snippet,
            line_start: chunk.lines.0,
            line_end: chunk.lines.1,
            citation: passage_citation(near.path.as_str(), page, chunk.lines.0, chunk.lines.1),
            updated_at: rfc3339(near.updated_ms),
            score: (score * 1000.0).round() / 1000.0,
            linked: match (leads, is_led) {
                (true, true) => Some(Linked::Both),
                (true, false) => Some(Linked::Out),
                (false, true) => Some(Linked::In),
                (false, false) => None,
            },
        });
    }
    let degraded = lacks(&scope, &found);
    Ok(RelatedView { path: file.path.to_string(), mode: found.mode, results, degraded })
}

/// Why the answer is less than it could be. To an agent no more than that.
fn lacks(scope: &ReadScope, found: &Related) -> Option<String> {
    if let Some(reason) = &found.damage {
        return Some(match scope.is_agents() {
            true => "some passages cannot be shown now".into(),
            false => format!("some passages cannot be shown ({reason}); the index is being checked and repaired"),
        });
    }
    let (embedded, of) = scope.embedded();
    match found.mode {
        Mode::Keyword if scope.is_agents() => Some("compared by words alone".into()),
        Mode::Keyword => Some(match scope.workspace().shared.progress().model {
            ModelStatus::Off => "compared by words alone: `embed.model` is \"none\"".into(),
            ModelStatus::Failed(reason) => format!("compared by words alone: {reason}"),
            ModelStatus::Loading => "compared by words alone: the model is loading".into(),
            ModelStatus::Ready { .. } => "compared by words alone: it or all others are not embedded yet".into(),
        }),
        Mode::Semantic | Mode::Hybrid | Mode::Deep if embedded < of => Some(match scope.is_agents() {
            true => "some notes are not compared yet".into(),
            false => format!("{embedded} of {of} passages are embedded so far; the others are not compared"),
        }),
        Mode::Semantic | Mode::Hybrid | Mode::Deep => None,
    }
}
