//! Asking the graph of notes: by name, relation and type, and what is around a note.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::access::request::{
    GraphQuestion, LinkTargets, NoteMatches, ReadScope, RelationCache, RequestError, Viewer, Walk, edge, edge_chars,
    entity, entity_chars, meant, query_text,
};
use crate::index::engine::FileEntry;
use crate::serve::wire::{EntityView, GraphParams, GraphView};
use crate::text::derive::Label;

/// A part of the graph, as far as it is seen: what is around a note, the relations of a name, or the notes of a type.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn graph(viewer: &Viewer, params: &GraphParams) -> Result<GraphView, RequestError> {
    let found = found(viewer, params);
    let given = found.as_ref().map(|view| {
        let notes = view.entities.iter().chain(&view.near).map(|note| note.path.clone());
        notes.chain(view.edges.iter().map(|edge| edge.citation.clone())).collect()
    });
    let said = [&params.name, &params.relation, &params.kind].into_iter().flatten().cloned().collect::<Vec<_>>();
    viewer.log("graph", &said.join(" "), given.unwrap_or_default());
    found
}

fn found(viewer: &Viewer, params: &GraphParams) -> Result<GraphView, RequestError> {
    let mut question = GraphQuestion::of(params, viewer.at())?;
    let scope = viewer.read_scope()?;
    question.limit = scope.results(question.limit);
    let targets = LinkTargets::settling(&scope);
    let name = params.name.as_deref().map(|name| query_text("name", name)).transpose()?;
    let name = name.filter(|name| !name.trim().is_empty());
    let mut book = RelationCache::new(&scope, &targets, &question);
    if let Some(name) = name {
        let NoteMatches { called, near, cut } = meant(&scope, &targets, name);
        let walk = Walk::around(&called, &mut book)?;
        let near = near.into_iter().map(|file| entity(&targets, file, 0)).collect();
        return view(&scope, &targets, &question, walk, GraphView { near, cut, ..GraphView::default() });
    }
    if let Some(label) = question.relation_label {
        let files = newest_first(targets.labelled(label));
        let walk = Walk::of_notes(&files, &mut book)?;
        return view(&scope, &targets, &question, walk, GraphView::default());
    }
    let kind = question.kind.unwrap_or_else(|| Label::of_property("type", None));
    let mut files = newest_first(targets.labelled(kind));
    let cut = files.len() > question.limit;
    files.truncate(question.limit);
    let walk = Walk::at(&files);
    view(&scope, &targets, &question, walk, GraphView { cut, ..GraphView::default() })
}

fn newest_first(mut files: Vec<&Arc<FileEntry>>) -> Vec<&Arc<FileEntry>> {
    files.sort_by(|one, other| (Reverse(one.updated_ms), &one.path).cmp(&(Reverse(other.updated_ms), &other.path)));
    files
}

/// A walk as it is answered, as much of it as there is room for: the relations, and the notes that they relate.
fn view(
    scope: &ReadScope,
    targets: &LinkTargets<'_>,
    question: &GraphQuestion,
    walk: Walk<'_>,
    mut view: GraphView,
) -> Result<GraphView, RequestError> {
    let mut room = scope.room();
    view.cut |= walk.cut;
    view.near.retain(|entity| room.take(entity_chars(entity)));
    let distances: HashMap<u32, usize> = walk.notes.iter().map(|(file, distance)| (file.id, *distance)).collect();
    let mut given: HashSet<u32> = HashSet::new();
    for (file, _) in walk.notes.iter().filter(|(_, distance)| *distance == 0) {
        scope.go_on()?;
        let entity = entity(targets, file, 0);
        if !room.take(entity_chars(&entity)) {
            return Ok(GraphView { cut: true, ..view });
        }
        given.insert(file.id);
        view.entities.push(entity);
    }
    for step in &walk.steps {
        scope.go_on()?;
        let edge = edge(question, step);
        let mut ends: Vec<&Arc<FileEntry>> = [Some(step.from), step.said().to].into_iter().flatten().collect();
        ends.retain(|end| !given.contains(&end.id));
        let new: Vec<EntityView> =
            ends.iter().map(|end| entity(targets, end, distances.get(&end.id).copied().unwrap_or_default())).collect();
        if !room.take(edge_chars(&edge) + new.iter().map(entity_chars).sum::<usize>()) {
            return Ok(GraphView { cut: true, ..view });
        }
        given.extend(ends.iter().map(|end| end.id));
        view.entities.extend(new);
        view.edges.push(edge);
    }
    Ok(view)
}
