//! Notes and relations as they are answered.

use std::sync::Arc;

use super::super::LinkTargets;
use super::question::GraphQuestion;
use super::walk::GraphStep;
use crate::derive::facts::FactPhase;
use crate::derive::values_of;
use crate::engine::FileEntry;
use crate::note::aliases;
use crate::wire::{EdgeView, EntityView, FactState, citation};

/// Maximum number of types, and of other names, that are shown of a note.
const MAX_NAMES: usize = 20;

/// A note, so many steps away.
pub(crate) fn entity(targets: &LinkTargets<'_>, file: &FileEntry, distance: usize) -> EntityView {
    let metadata = targets.metadata(file);
    let (mut types, mut aliases) = (values_of(&metadata, "type"), aliases(&metadata));
    types.truncate(MAX_NAMES);
    aliases.truncate(MAX_NAMES);
    EntityView { path: file.path.to_string(), title: file.title.clone(), types, aliases, distance }
}

/// Characters of what a note says of itself.
pub(crate) fn entity_chars(entity: &EntityView) -> usize {
    let names = entity.types.iter().chain(&entity.aliases).chain([&entity.title]);
    names.map(|name| name.chars().count()).sum()
}

/// A relation that was followed.
pub(crate) fn edge(question: &GraphQuestion, step: &GraphStep<'_>) -> EdgeView {
    let (said, from) = (step.said(), step.from);
    let (relation, line) = (&said.relation, said.relation.link.line as u32);
    let state = match question.phase(relation) {
        FactPhase::Current => FactState::Current,
        FactPhase::Expired => FactState::Expired,
        FactPhase::Future => FactState::Future,
    };
    let written = |moment: &Option<crate::derive::facts::Moment>| moment.as_ref().map(|moment| moment.text.clone());
    EdgeView {
        from: from.path.to_string(),
        from_title: from.title.clone(),
        relation: relation.name.clone(),
        to: said.to.map(|to| to.path.to_string()),
        to_title: said.to.map_or_else(|| relation.link.target.clone(), |to: &Arc<FileEntry>| to.title.clone()),
        distance: step.distance,
        state,
        valid_from: written(&relation.window.from),
        valid_to: written(&relation.window.until),
        confidence: relation.confidence,
        text: said.text.clone(),
        citation: citation(from.path.as_str(), line, line),
    }
}

/// Characters of what a relation gives of notes.
pub(crate) fn edge_chars(edge: &EdgeView) -> usize {
    let texts = [&edge.from_title, &edge.to_title, &edge.text].into_iter().chain(&edge.relation);
    texts.map(|text| text.chars().count()).sum()
}
