//! The relations of the notes that were read for one answer.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::super::source_trust::may_be_planted;
use super::super::{LinkTargets, ReadScope, RequestError, Viewer, read_seen};
use super::question::GraphQuestion;
use super::walk::{GraphStep, Walk};
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::serve::wire::{EdgeView, EntityView, FactState, citation};
use crate::text::derive::facts::FactPhase;
use crate::text::derive::words::fold;
use crate::text::derive::{Relation, relations, values_of};
use crate::text::note::{Note, aliases};

/// Maximum number of notes that are read for one answer.
const MAX_READ: usize = 2_000;
/// Maximum number of characters that are shown of a line.
const MAX_LINE_CHARS: usize = 300;

/// A relation that a question follows, and where it leads.
#[derive(Debug)]
pub(crate) struct ReadRelation<'a> {
    pub(crate) relation: Relation,
    /// The note that it leads to, of those that are seen.
    pub(crate) to: Option<&'a Arc<FileEntry>>,
    /// What is shown of its line.
    pub(crate) text: String,
}

/// What is read for one answer, each note once.
pub(crate) struct RelationCache<'a> {
    scope: &'a ReadScope,
    pub(crate) targets: &'a LinkTargets<'a>,
    pub(crate) question: &'a GraphQuestion,
    read: HashMap<u32, Rc<Vec<ReadRelation<'a>>>>,
}

impl<'a> RelationCache<'a> {
    pub(crate) fn new(scope: &'a ReadScope, targets: &'a LinkTargets<'a>, question: &'a GraphQuestion) -> Self {
        Self { scope, targets, question, read: HashMap::new() }
    }

    /// The relations of a note that the question follows, in the order of its lines; none of what cannot be read now. `None` where too much
    /// has been read already.
    ///
    /// # Errors
    /// When nobody waits any more.
    pub(crate) fn of(&mut self, file: &FileEntry) -> Result<Option<Rc<Vec<ReadRelation<'a>>>>, RequestError> {
        self.scope.go_on()?;
        if let Some(known) = self.read.get(&file.id) {
            return Ok(Some(Rc::clone(known)));
        }
        if self.read.len() >= MAX_READ {
            return Ok(None);
        }
        let found = Rc::new(self.read(file)?);
        self.read.insert(file.id, Rc::clone(&found));
        Ok(Some(found))
    }

    fn read(&self, file: &FileEntry) -> Result<Vec<ReadRelation<'a>>, RequestError> {
        let Ok((_, source)) = read_seen(self.scope, file.path.as_str()) else { return Ok(Vec::new()) };
        let note = Note::of(&file.path, &source.text);
        let mut known: HashMap<String, Option<&'a Arc<FileEntry>>> = HashMap::new();
        let mut found = Vec::new();
        for relation in relations(&note, &source.text).into_iter().filter(|relation| self.question.follows(relation)) {
            self.scope.go_on()?;
            let target = &relation.link.target;
            let to = match known.get(target) {
                Some(to) => *to,
                None => {
                    let to = self.targets.resolve(target, &file.path);
                    known.insert(target.clone(), to);
                    to
                }
            };
            let text = line_text(&source.text[note.lines.span(relation.link.line)]);
            found.push(ReadRelation { relation, to, text });
        }
        Ok(found)
    }
}

fn line_text(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

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
    let mut book = RelationCache::new(&scope, &targets, &question);
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

/// Maximum number of notes that a name means, and of those whose names begin so.
pub(crate) const MAX_MEANT: usize = 20;

/// The notes that are meant.
#[derive(Debug, Default)]
pub(crate) struct NoteMatches<'a> {
    /// Those that are called so, by path, file name, title or alias: one, or several of one name.
    pub(crate) called: Vec<&'a Arc<FileEntry>>,
    /// Else those whose title or file name begins so.
    pub(crate) near: Vec<&'a Arc<FileEntry>>,
    /// Whether there are more.
    pub(crate) cut: bool,
}

/// The notes that a name means, of those that are seen. Case and accents do not count. Where one name alone begins so, it is that one.
pub(crate) fn meant<'a>(scope: &'a ReadScope, targets: &LinkTargets<'a>, name: &str) -> NoteMatches<'a> {
    let name = name.trim().trim_start_matches("[[").trim_end_matches("]]").trim();
    if name.is_empty() {
        return NoteMatches::default();
    }
    if name.contains('/') || name.ends_with(".md") {
        let root = VaultPath::new("_.md").ok();
        let at_path = root.and_then(|root| targets.resolve(name, &root));
        return NoteMatches { called: at_path.into_iter().collect(), ..NoteMatches::default() };
    }
    let wanted = fold(name);
    let is_it = |text: &str| fold(text.trim()) == wanted;
    let mut called = targets.seen(name);
    // Those of that very name before those that it is an alias of.
    called.sort_by_cached_key(|file| {
        let own = is_it(&file.title) || is_it(file.path.stem());
        (!own, file.path.as_str().matches('/').count(), file.path.clone())
    });
    if !called.is_empty() {
        let cut = called.len() > MAX_MEANT;
        called.truncate(MAX_MEANT);
        return NoteMatches { called, cut, ..NoteMatches::default() };
    }
    let begins = |text: &str| fold(text.trim()).starts_with(&wanted);
    let mut near: Vec<&Arc<FileEntry>> =
        scope.files().filter(|file| begins(&file.title) || begins(file.path.stem())).collect();
    near.retain(|file| targets.has(file));
    near.sort_by(|one, other| (&one.title, &one.path).cmp(&(&other.title, &other.path)));
    if let [only] = near[..] {
        return NoteMatches { called: vec![only], ..NoteMatches::default() };
    }
    let cut = near.len() > MAX_MEANT;
    near.truncate(MAX_MEANT);
    NoteMatches { called: Vec::new(), near, cut }
}

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
    let written =
        |moment: &Option<crate::text::derive::facts::Moment>| moment.as_ref().map(|moment| moment.text.clone());
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
