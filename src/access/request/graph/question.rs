//! What is asked of the graph, checked.

use jiff::Timestamp;

use super::super::{RequestError, limit, parse_last, query_text};
use crate::index::engine::FileEntry;
use crate::serve::wire::GraphParams;
use crate::text::derive::facts::FactPhase;
use crate::text::derive::words::fold;
use crate::text::derive::{Label, Relation};

/// Relations when nobody says how many.
const EDGES: usize = 200;
/// Default number of steps.
const DEPTH: usize = 2;
/// Maximum number of steps.
const MAX_DEPTH: usize = 5;

/// Which relations are followed, and how far.
#[derive(Debug, Clone)]
pub(crate) struct GraphQuestion {
    /// The name of the relation, folded.
    relation: Option<String>,
    /// The label of that name.
    pub(crate) relation_label: Option<Label>,
    /// The label of the type that notes are to have.
    pub(crate) kind: Option<Label>,
    pub(crate) depth: usize,
    /// The moment at which relations are to be true, in milliseconds since 1970.
    at: i64,
    /// Whether those of another time count as well.
    pub(crate) expired: bool,
    /// Whether links without a name count.
    pub(crate) plain: bool,
    pub(crate) limit: usize,
}

impl GraphQuestion {
    pub(crate) fn of(params: &GraphParams, now: Timestamp) -> Result<Self, RequestError> {
        let depth = params.depth.unwrap_or(DEPTH);
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(RequestError::invalid(format!("`depth` is {depth}; it takes 1 to {MAX_DEPTH}")));
        }
        let word = |name: &str, text: &Option<String>| -> Result<Option<String>, RequestError> {
            let text = text.as_deref().map(|text| query_text(name, text)).transpose()?;
            Ok(text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned))
        };
        let (relation, kind) = (word("relation", &params.relation)?, word("type", &params.kind)?);
        let at = params.as_of.as_deref().map(|text| parse_last("as_of", text, now)).transpose()?;
        Ok(Self {
            relation_label: relation.as_deref().map(|name| Label::of_relation(Some(name))),
            plain: relation.is_none(),
            relation: relation.map(|name| fold(&name)),
            kind: kind.map(|kind| Label::of_property("type", Some(&kind))),
            depth,
            at: at.unwrap_or(now.as_millisecond()),
            expired: params.expired == Some(true),
            limit: limit(params.limit, EDGES)?,
        })
    }

    /// The relations with a name that are true now, one step away.
    pub(crate) fn key(now: Timestamp, limit: usize) -> Self {
        Self {
            relation: None,
            relation_label: None,
            kind: None,
            depth: 1,
            at: now.as_millisecond(),
            expired: false,
            plain: false,
            limit,
        }
    }

    /// Whether a relation is followed.
    pub(crate) fn follows(&self, relation: &Relation) -> bool {
        let is_called = match (&relation.name, &self.relation) {
            (None, _) => self.plain,
            (Some(name), Some(wanted)) => fold(name.trim()) == *wanted,
            (Some(_), None) => true,
        };
        is_called && (self.expired || self.phase(relation) == FactPhase::Current)
    }

    /// Where a relation's time stands with the moment that is asked about.
    pub(crate) fn phase(&self, relation: &Relation) -> FactPhase {
        relation.window.phase(self.at)
    }

    /// Whether a note may be stepped to.
    pub(crate) fn takes(&self, file: &FileEntry) -> bool {
        self.kind.is_none_or(|kind| file.labels.binary_search(&kind).is_ok())
    }
}
