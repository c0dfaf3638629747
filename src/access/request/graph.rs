//! The graph of notes, of what a request sees: which are related, and how. A note is an entity by its title, its aliases and its `type`; its
//! links are the edges, with the name of a relation where the note gives one.
//!
//! ```text
//! question ─▶ names (which notes are meant) ─▶ walk (step by step, out of a book that reads each note once) ─▶ view
//! ```
//!
//! Nothing of it is stored but the labels of files: each note that a step leads to is looked up among those that who asks sees, and each
//! relation is read out of a note that is seen. So what is hidden is neither an end of a step nor on the way of one.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;

use super::visibility::may_be_planted;
use super::{LinkTargets, ReadScope, RequestError, Viewer, limit, parse_last, query_text, read_seen, within};
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::serve::wire::{EdgeView, EntityView, FactState, GraphParams, GraphView, citation};
use crate::text::derive::words::fold;
use crate::text::derive::{Label, Relation, relations, values_of};
use crate::text::note::{Note, aliases};

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
    let targets = LinkTargets::of(&scope);
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

/// Relations when nobody says how many.
const EDGES: usize = 200;
/// Default number of steps.
const DEPTH: usize = 2;
/// Maximum number of steps.
const MAX_DEPTH: usize = 5;

/// Which relations are followed, and how far.
#[derive(Debug, Clone)]
struct GraphQuestion {
    /// The name of the relation, folded.
    relation: Option<String>,
    /// The label of that name.
    relation_label: Option<Label>,
    /// The label of the type that notes are to have.
    kind: Option<Label>,
    depth: usize,
    /// The moment at which relations are to be true, in milliseconds since 1970.
    at: i64,
    /// Whether those of another time count as well.
    expired: bool,
    /// Whether links without a name count.
    plain: bool,
    limit: usize,
}

impl GraphQuestion {
    fn of(params: &GraphParams, now: Timestamp) -> Result<Self, RequestError> {
        let depth = within("depth", params.depth, 1..=MAX_DEPTH)?.unwrap_or(DEPTH);
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

    /// Whether a relation is followed.
    fn follows(&self, relation: &Relation) -> bool {
        let is_called = match (&relation.name, &self.relation) {
            (None, _) => self.plain,
            (Some(name), Some(wanted)) => fold(name.trim()) == *wanted,
            (Some(_), None) => true,
        };
        is_called && (self.expired || self.phase(relation) == FactState::Current)
    }

    /// Where a relation's time stands with the moment that is asked about.
    fn phase(&self, relation: &Relation) -> FactState {
        relation.window.phase(self.at)
    }

    /// Whether a note may be stepped to.
    fn takes(&self, file: &FileEntry) -> bool {
        self.kind.is_none_or(|kind| file.is_labelled(kind))
    }
}

/// One relation that was followed.
#[derive(Debug, Clone)]
struct GraphStep<'a> {
    /// The note that says so.
    from: &'a Arc<FileEntry>,
    relations: Rc<Vec<ReadRelation<'a>>>,
    at: usize,
    /// How many steps away from the notes that were asked for it ends.
    distance: usize,
}

impl<'a> GraphStep<'a> {
    /// What it says.
    fn said(&self) -> &ReadRelation<'a> {
        &self.relations[self.at]
    }

    /// Whether it leads anywhere: to another note, or by a name to what no note is called.
    fn leads(&self) -> bool {
        let said = self.said();
        said.to.map_or(said.relation.name.is_some(), |to| to.id != self.from.id)
    }
}

/// The notes around some.
struct Walk<'a> {
    /// The notes in the order in which they were come to, with how many steps away they are.
    notes: Vec<(&'a Arc<FileEntry>, usize)>,
    /// The relations: the nearest first, of each note those with a name before those without, then its own, then the newest.
    steps: Vec<GraphStep<'a>>,
    /// Whether there is more.
    cut: bool,
    known: HashSet<u32>,
    /// Which relations of which notes were followed.
    followed: HashSet<(u32, usize)>,
}

impl<'a> Walk<'a> {
    /// The notes alone.
    fn at(roots: &[&'a Arc<FileEntry>]) -> Self {
        Self {
            notes: roots.iter().map(|file| (*file, 0)).collect(),
            steps: Vec::new(),
            cut: false,
            known: roots.iter().map(|file| file.id).collect(),
            followed: HashSet::new(),
        }
    }

    /// Walks around notes, as far and along what the book's question says. Each note is come to once, so that a circle ends.
    ///
    /// # Errors
    /// When nobody waits any more.
    fn around(roots: &[&'a Arc<FileEntry>], book: &mut RelationCache<'a>) -> Result<Self, RequestError> {
        let mut walk = Self::at(roots);
        let mut next = 0;
        while let Some((file, distance)) = walk.notes.get(next).copied() {
            if distance >= book.question.depth || walk.cut {
                break;
            }
            walk.step_from(file, distance + 1, book)?;
            next += 1;
        }
        Ok(walk)
    }

    /// The relations that some notes have, wherever they lead; where a type is asked for, with an end of it.
    ///
    /// # Errors
    /// As [`Walk::around`].
    fn of_notes(files: &[&'a Arc<FileEntry>], book: &mut RelationCache<'a>) -> Result<Self, RequestError> {
        let mut walk = Self::at(&[]);
        for file in files {
            let Some(relations) = book.of(file)? else {
                walk.cut = true;
                break;
            };
            let fits = |step: &GraphStep<'a>| {
                let ends = [Some(step.from), step.said().to].into_iter().flatten();
                step.leads() && ends.into_iter().any(|end| book.question.takes(end))
            };
            for step in steps_of(file, &relations, 1).filter(fits) {
                walk.take(step, book.question.limit);
            }
            if walk.cut {
                break;
            }
        }
        Ok(walk)
    }

    fn step_from(
        &mut self,
        file: &'a Arc<FileEntry>,
        distance: usize,
        book: &mut RelationCache<'a>,
    ) -> Result<(), RequestError> {
        let question = book.question;
        let Some(relations) = book.of(file)? else {
            self.cut = true;
            return Ok(());
        };
        let mut found: Vec<GraphStep<'a>> = Vec::new();
        let own = steps_of(file, &relations, distance).filter(|step| match step.said().to {
            Some(to) => self.known.contains(&to.id) || question.takes(to),
            None => question.kind.is_none(),
        });
        found.extend(own.filter(|step| self.is_new(step)));
        let room = question.limit.saturating_sub(self.steps.len());
        let named = |found: &[GraphStep<'a>]| found.iter().filter(|step| step.said().relation.name.is_some()).count();
        for (from, may_be_named) in linking(file, book) {
            if !self.known.contains(&from.id) && !question.takes(from) {
                continue;
            }
            // Those that may say more are read first, and what they say goes before all plain links. One too many tells that there are more.
            let before = if may_be_named { named(&found) } else { found.len() };
            let relations = if before > room { None } else { book.of(from)? };
            let Some(relations) = relations else {
                self.cut = true;
                break;
            };
            let leads_here = |step: &GraphStep<'a>| step.said().to.is_some_and(|to| to.id == file.id);
            found.extend(steps_of(from, &relations, distance).filter(|step| leads_here(step) && self.is_new(step)));
        }
        found.sort_by_cached_key(|step: &GraphStep<'a>| {
            let has_name = step.said().relation.name.is_some();
            (!has_name, step.from.id != file.id, Reverse(step.from.updated_ms), step.from.path.clone(), step.at)
        });
        found.into_iter().for_each(|step| self.take(step, question.limit));
        Ok(())
    }

    fn is_new(&self, step: &GraphStep<'a>) -> bool {
        step.leads() && !self.followed.contains(&(step.from.id, step.at))
    }

    fn take(&mut self, step: GraphStep<'a>, limit: usize) {
        if self.steps.len() >= limit {
            self.cut = true;
            return;
        }
        self.followed.insert((step.from.id, step.at));
        for end in [Some(step.from), step.said().to].into_iter().flatten() {
            if self.known.insert(end.id) {
                self.notes.push((end, step.distance));
            }
        }
        self.steps.push(step);
    }
}

fn steps_of<'a>(
    from: &'a Arc<FileEntry>,
    relations: &Rc<Vec<ReadRelation<'a>>>,
    distance: usize,
) -> impl Iterator<Item = GraphStep<'a>> {
    let relations = Rc::clone(relations);
    (0..relations.len()).map(move |at| GraphStep { from, relations: Rc::clone(&relations), at, distance })
}

/// The notes that may have a relation to one, each with whether it may have a name: those where it may come first, then the newest.
fn linking<'a>(file: &FileEntry, book: &RelationCache<'a>) -> Vec<(&'a Arc<FileEntry>, bool)> {
    let names = book.targets.names(file);
    let named = book.targets.related_to(&names);
    let ids: HashSet<u32> = named.iter().map(|from| from.id).collect();
    let mut linking = if book.question.plain { book.targets.linking_to(&names) } else { named };
    let wanted = book.question.relation_label;
    linking.retain(|from| from.id != file.id && wanted.is_none_or(|label| from.is_labelled(label)));
    linking.sort_by_cached_key(|from| (!ids.contains(&from.id), Reverse(from.updated_ms), from.path.clone()));
    linking.into_iter().map(|from| (from, ids.contains(&from.id))).collect()
}

/// Maximum number of notes that are read for one answer.
const MAX_READ: usize = 2_000;
/// Maximum number of characters that are shown of a line.
const MAX_LINE_CHARS: usize = 300;

/// A relation that a question follows, and where it leads.
#[derive(Debug)]
struct ReadRelation<'a> {
    relation: Relation,
    /// The note that it leads to, of those that are seen.
    to: Option<&'a Arc<FileEntry>>,
    /// What is shown of its line.
    text: String,
}

/// What is read for one answer, each note once.
struct RelationCache<'a> {
    scope: &'a ReadScope,
    targets: &'a LinkTargets<'a>,
    question: &'a GraphQuestion,
    read: HashMap<u32, Rc<Vec<ReadRelation<'a>>>>,
}

impl<'a> RelationCache<'a> {
    fn new(scope: &'a ReadScope, targets: &'a LinkTargets<'a>, question: &'a GraphQuestion) -> Self {
        Self { scope, targets, question, read: HashMap::new() }
    }

    /// The relations of a note that the question follows, in the order of its lines; none of what cannot be read now. `None` where too much
    /// has been read already.
    ///
    /// # Errors
    /// When nobody waits any more.
    fn of(&mut self, file: &FileEntry) -> Result<Option<Rc<Vec<ReadRelation<'a>>>>, RequestError> {
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

/// What is shown of a line.
pub(crate) fn line_text(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Maximum number of key relations.
const MAX_LINES: usize = 30;
/// Maximum number of relations of one note that are looked at.
const MAX_LOOKED_AT: usize = 200;

/// The relations with a name that are true now, of the notes that these names mean and of no others: those of the first name first, of each the
/// newest first. At most 30. Those that a note says, or leads to, which may have been planted are counted alone: how
/// many they are comes second. It is not logged: who asks for it gives it on, and logs that.
///
/// # Errors
/// When the index is not open yet, or nobody waits any more.
pub fn key_relations(viewer: &Viewer, names: &[String]) -> Result<(Vec<EdgeView>, usize), RequestError> {
    let params = GraphParams { depth: Some(1), limit: Some(MAX_LOOKED_AT), ..GraphParams::default() };
    let question = GraphQuestion { plain: false, ..GraphQuestion::of(&params, viewer.at())? };
    let scope = viewer.read_scope()?;
    let targets = LinkTargets::of(&scope);
    let mut book = RelationCache::new(&scope, &targets, &question);
    let files = scope.reader().files();
    let mut found: Vec<EdgeView> = Vec::new();
    let mut withheld = HashSet::new();
    for name in names {
        if found.len() >= MAX_LINES {
            break;
        }
        let mut steps = Walk::around(&meant(&scope, &targets, name).called, &mut book)?.steps;
        steps.sort_by_cached_key(|step| {
            let edge = edge(&question, step);
            (Reverse(step.from.updated_ms), edge.from, step.said().relation.link.line)
        });
        for step in &steps {
            let edge = edge(&question, step);
            if std::iter::once(step.from).chain(step.said().to).any(|file| may_be_planted(files, file)) {
                withheld.insert((edge.line(), edge.citation));
                continue;
            }
            let is_same = |known: &EdgeView| known.citation == edge.citation && known.line() == edge.line();
            if found.len() < MAX_LINES && !found.iter().any(is_same) {
                found.push(edge);
            }
        }
    }
    Ok((found, withheld.len()))
}

/// Maximum number of notes that a name means, and of those whose names begin so.
const MAX_MEANT: usize = 20;

/// The notes that are meant.
#[derive(Debug, Default)]
struct NoteMatches<'a> {
    /// Those that are called so, by path, file name, title or alias: one, or several of one name.
    called: Vec<&'a Arc<FileEntry>>,
    /// Else those whose title or file name begins so.
    near: Vec<&'a Arc<FileEntry>>,
    /// Whether there are more.
    cut: bool,
}

/// The notes that a name means, of those that are seen. Case and accents do not count. Where one name alone begins so, it is that one.
fn meant<'a>(scope: &'a ReadScope, targets: &LinkTargets<'a>, name: &str) -> NoteMatches<'a> {
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
fn entity(targets: &LinkTargets<'_>, file: &FileEntry, distance: usize) -> EntityView {
    let metadata = targets.metadata(file);
    let (mut types, mut aliases) = (values_of(&metadata, "type"), aliases(&metadata));
    types.truncate(MAX_NAMES);
    aliases.truncate(MAX_NAMES);
    EntityView { path: file.path.to_string(), title: file.title.clone(), types, aliases, distance }
}

/// Characters of what a note says of itself.
fn entity_chars(entity: &EntityView) -> usize {
    let names = entity.types.iter().chain(&entity.aliases).chain([&entity.title]);
    names.map(|name| name.chars().count()).sum()
}

/// A relation that was followed.
fn edge(question: &GraphQuestion, step: &GraphStep<'_>) -> EdgeView {
    let (said, from) = (step.said(), step.from);
    let (relation, line) = (&said.relation, said.relation.link.line as u32);
    let state = question.phase(relation);
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
fn edge_chars(edge: &EdgeView) -> usize {
    let texts = [&edge.from_title, &edge.to_title, &edge.text].into_iter().chain(&edge.relation);
    texts.map(|text| text.chars().count()).sum()
}
