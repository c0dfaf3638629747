//! What is most worth saying about some notes: how they are related, a line each.

use std::cmp::Reverse;

use super::super::{LinkTargets, RequestError, Viewer};
use super::book::RelationsBook;
use super::names::meant;
use super::question::GraphQuestion;
use super::view::edge;
use super::walk::Walk;

/// Maximum number of lines, however many are asked for.
const MAX_LINES: usize = 30;
/// Maximum number of relations of one note that are looked at.
const MAX_LOOKED_AT: usize = 200;

/// A relation with a name, as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRelation {
    /// What it says: `Ann —manages→ Bob (from 2026-03-09)`.
    pub line: String,
    /// The path of the note that says so.
    pub path: String,
    /// The path of the note that it leads to, where there is one.
    pub to: Option<String>,
    /// Where it stands: `people/ann.md#L3`.
    pub citation: String,
}

/// The relations with a name that are true now, of the notes that these names mean and of no others: those of the first name first, of each the
/// newest first. At most 30, and as many as `limit`. It is not logged: who asks for it gives it on, and logs that.
///
/// # Errors
/// When the index is not open yet, or nobody waits any more.
pub fn key_relations(viewer: &Viewer, names: &[String], limit: usize) -> Result<Vec<KeyRelation>, RequestError> {
    let limit = limit.min(MAX_LINES);
    let question = GraphQuestion::key(viewer.at(), MAX_LOOKED_AT);
    let scope = viewer.read_scope()?;
    let targets = LinkTargets::settling(&scope);
    let mut book = RelationsBook::new(&scope, &targets, &question);
    let mut found: Vec<KeyRelation> = Vec::new();
    for name in names {
        if found.len() >= limit {
            break;
        }
        let mut steps = Walk::around(&meant(&scope, &targets, name).called, &mut book)?.steps;
        steps.sort_by_cached_key(|step| {
            let edge = edge(&question, step);
            (Reverse(step.from.updated_ms), edge.from, step.said().relation.link.line)
        });
        for step in &steps {
            let edge = edge(&question, step);
            let relation = KeyRelation { line: edge.line(), path: edge.from, to: edge.to, citation: edge.citation };
            let is_same = |known: &KeyRelation| (&known.line, &known.citation) == (&relation.line, &relation.citation);
            if found.len() < limit && !found.iter().any(is_same) {
                found.push(relation);
            }
        }
    }
    Ok(found)
}
