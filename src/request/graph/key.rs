//! What is most worth saying about some notes: how they are related, a line each.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::super::source_trust::may_be_planted;
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

/// Relations that may be given to who did not ask for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyRelations {
    /// They.
    pub given: Vec<KeyRelation>,
    /// How many are left out, as they are of the web, of tools, or of what was captured.
    pub withheld: usize,
}

/// The relations with a name that are true now, of the notes that these names mean and of no others: those of the first name first, of each the
/// newest first. At most 30, and as many as `limit`. Those that a note says, or leads to, which may have been planted are counted alone. It is
/// not logged: who asks for it gives it on, and logs that.
///
/// # Errors
/// When the index is not open yet, or nobody waits any more.
pub fn key_relations(viewer: &Viewer, names: &[String], limit: usize) -> Result<KeyRelations, RequestError> {
    let limit = limit.min(MAX_LINES);
    let question = GraphQuestion::key(viewer.at(), MAX_LOOKED_AT);
    let scope = viewer.read_scope()?;
    let targets = LinkTargets::settling(&scope);
    let mut book = RelationsBook::new(&scope, &targets, &question);
    let files = scope.reader().files();
    let mut found: Vec<KeyRelation> = Vec::new();
    let mut withheld = HashSet::new();
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
            if std::iter::once(step.from).chain(step.said().to).any(|file| may_be_planted(files, file)) {
                withheld.insert((relation.line, relation.citation));
                continue;
            }
            let is_same = |known: &KeyRelation| (&known.line, &known.citation) == (&relation.line, &relation.citation);
            if found.len() < limit && !found.iter().any(is_same) {
                found.push(relation);
            }
        }
    }
    Ok(KeyRelations { given: found, withheld: withheld.len() })
}
