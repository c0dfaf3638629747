//! The links of a note: where they lead, and which other notes lead to it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::access::request::{Budget, LinkTargets, Owner, ReadScope, RequestError, Viewer, limit, read_seen};
use crate::index::engine::FileEntry;
use crate::serve::wire::{
    Backlink, LinkView, LinksParams, LinksView, UnresolvedLink, UnresolvedParams, UnresolvedView, citation,
};
use crate::text::derive::{NoteLink, note_links};
use crate::text::note::Note;
use crate::vault::disk::Source;

/// Links of each kind, when nobody says how many.
const LINKS: usize = 200;
/// Maximum number of characters that are shown of a link's line.
const MAX_LINE_CHARS: usize = 300;

/// The links of a note.
///
/// # Errors
/// When no note that is seen has the path, or it cannot be read.
pub fn links(viewer: &Viewer, params: &LinksParams) -> Result<LinksView, RequestError> {
    let found = links_of(viewer, params);
    let given = found.as_ref().map(|links| {
        let outgoing = links.outgoing.iter().filter_map(|link| link.path.clone());
        let mut given: Vec<String> = std::iter::once(links.path.clone()).chain(outgoing).collect();
        given.extend(links.incoming.iter().map(|link| link.path.clone()));
        given.dedup();
        given
    });
    viewer.log("links", &params.path, given.unwrap_or_default());
    found
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
        if kind.len() < limit
            && takes(
                &mut room,
                [
                    Some(&link.text),
                    Some(&link.target),
                    link.title.as_ref(),
                    link.alias.as_ref(),
                    link.heading.as_ref(),
                    link.block.as_ref(),
                ],
            )
        {
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
            if view.incoming.len() < limit
                && takes(&mut room, [Some(&link.text), Some(&link.title), link.heading.as_ref(), link.block.as_ref()])
            {
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

fn takes<const N: usize>(room: &mut Budget, texts: [Option<&String>; N]) -> bool {
    room.take(texts.into_iter().flatten().map(|text| text.chars().count()).sum())
}

fn link_view(link: &NoteLink, to: Option<&Arc<FileEntry>>, text: String) -> LinkView {
    LinkView {
        path: to.map(|file| file.path.to_string()),
        title: to.map(|file| file.title.clone()),
        target: link.target.clone(),
        heading: link.heading.clone(),
        block: link.block.clone(),
        alias: link.text.clone(),
        embeds: link.embeds,
        line: link.line,
        text,
    }
}

/// The links of one note that lead to another; none of what cannot be read now.
pub(super) fn links_between(
    scope: &ReadScope,
    targets: &LinkTargets<'_>,
    from: &FileEntry,
    to: &FileEntry,
) -> Result<Vec<Backlink>, RequestError> {
    scope.go_on()?;
    let Ok((_, source)) = read_seen(scope, from.path.as_str()) else { return Ok(Vec::new()) };
    let lines = LinkLines::of(&source, from);
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut leads = |link: &NoteLink| match known.get(&link.target) {
        Some(leads) => *leads,
        None => {
            let leads = targets.resolve(&link.target, &from.path).is_some_and(|file| file.id == to.id);
            known.insert(link.target.clone(), leads);
            leads
        }
    };
    let backlink = |link: &NoteLink| Backlink {
        path: from.path.to_string(),
        title: from.title.clone(),
        heading: link.heading.clone(),
        block: link.block.clone(),
        line: link.line,
        text: lines.text(link.line),
        citation: citation(from.path.as_str(), link.line as u32, link.line as u32),
    };
    let leading: Vec<&NoteLink> = lines.links.iter().filter(|link| leads(link)).collect();
    Ok(leading.into_iter().map(backlink).collect())
}

/// The notes that a note's links lead to.
pub(super) fn led_to<'a>(targets: &LinkTargets<'a>, file: &FileEntry, source: &Source) -> Vec<&'a Arc<FileEntry>> {
    let links = LinkLines::of(source, file).links;
    links.iter().filter_map(|link| targets.resolve(&link.target, &file.path)).collect()
}

/// A note's links, and its lines.
struct LinkLines<'a> {
    links: Vec<NoteLink>,
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
        let text = self.source[self.note.lines.span(line)].trim();
        match text.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => format!("{}…", text[..end].trim_end()),
            None => text.to_owned(),
        }
    }
}
