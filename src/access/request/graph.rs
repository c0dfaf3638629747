//! The graph of notes, of what a request sees: which are related, and how. A note is an entity by its title, its aliases and its `type`; its
//! links are the edges, with the name of a relation where the note gives one.
//!
//! ```text
//! question ─▶ names (which notes are meant) ─▶ walk (step by step, where each note is read once) ─▶ view
//! ```
//!
//! Nothing of it is stored but the labels of files: each note that a step leads to is looked up among those that who asks sees, and each
//! relation is read out of a note that is seen. So what is hidden is neither an end of a step nor on the way of one.
//!
//! And which note a link means, of those that are seen.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::read_scope::may_be_planted;
use super::{ReadScope, RequestError, Viewer, limit, parse_last, query_text, read_seen, within};
use crate::base::path::{VaultPath, folded};
use crate::index::engine::FileEntry;
use crate::serve::wire::{EdgeView, EntityView, FactState, GraphParams, GraphView, citation};
use crate::text::derive::words::fold;
use crate::text::derive::{Label, Relation, relations, target_name, values_of, without_extension};
use crate::text::note::{Note, aliases};

/// A part of the graph, as far as it is seen: what is around a note, the relations of a name, or the notes of a type.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn graph(viewer: &Viewer, params: &GraphParams) -> Result<GraphView, RequestError> {
    let said = [&params.name, &params.relation, &params.kind].into_iter().flatten().cloned().collect::<Vec<_>>();
    viewer.logged("graph", &said.join(" "), found(viewer, params), |view| {
        let notes = view.entities.iter().chain(&view.near).map(|note| note.path.clone());
        notes.chain(view.edges.iter().map(|edge| edge.citation.clone())).collect()
    })
}

fn found(viewer: &Viewer, params: &GraphParams) -> Result<GraphView, RequestError> {
    let mut question = GraphQuestion::of(params, viewer.at())?;
    let scope = viewer.read_scope()?;
    question.limit = scope.results(question.limit);
    let targets = LinkTargets::of(&scope);
    let name = params.name.as_deref().map(|name| query_text("name", name)).transpose()?;
    let mut walk = Walk::new(&targets, &question);
    if let Some(name) = name.filter(|name| !name.trim().is_empty()) {
        let NoteMatches { called, near, cut } = meant(&targets, name);
        walk.around(&called)?;
        let near = near.into_iter().map(|file| entity(&targets, file, 0)).collect();
        return walk.view(GraphView { near, cut, ..GraphView::default() });
    }
    if let Some(label) = question.relation_label {
        walk.of_notes(&newest_first(targets.labelled(label)))?;
        return walk.view(GraphView::default());
    }
    let kind = question.kind.unwrap_or_else(|| Label::of_property("type", None));
    let files = newest_first(targets.labelled(kind));
    files.iter().copied().take(question.limit).for_each(|file| walk.come_to(file, 0));
    walk.view(GraphView { cut: files.len() > question.limit, ..GraphView::default() })
}

fn newest_first(mut files: Vec<&Arc<FileEntry>>) -> Vec<&Arc<FileEntry>> {
    files.sort_by(|one, other| (Reverse(one.updated_ms), &one.path).cmp(&(Reverse(other.updated_ms), &other.path)));
    files
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

/// A relation that a question follows.
#[derive(Debug)]
struct ReadRelation<'a> {
    /// The note that says so.
    from: &'a Arc<FileEntry>,
    /// Which of those of the note it is.
    at: usize,
    relation: Relation,
    /// The note that it leads to, of those that are seen.
    to: Option<&'a Arc<FileEntry>>,
    /// What is shown of its line.
    text: String,
}

impl<'a> ReadRelation<'a> {
    /// The notes that it relates.
    fn ends(&self) -> impl Iterator<Item = &'a Arc<FileEntry>> + use<'a> {
        std::iter::once(self.from).chain(self.to)
    }
}

/// A relation that was followed, and how many steps away from the notes that were asked for it ends.
type GraphStep<'a> = (Rc<ReadRelation<'a>>, usize);

/// The notes around some.
struct Walk<'a> {
    targets: &'a LinkTargets<'a>,
    question: &'a GraphQuestion,
    /// The notes in the order in which they were come to, with how many steps away they are.
    notes: Vec<(&'a Arc<FileEntry>, usize)>,
    /// The relations: the nearest first, of each note those with a name before those without, then its own, then the newest.
    steps: Vec<GraphStep<'a>>,
    /// Whether there is more.
    cut: bool,
    known: HashSet<u32>,
    /// Which relations of which notes were followed.
    followed: HashSet<(u32, usize)>,
    /// What was read, each note once.
    read: HashMap<u32, Vec<Rc<ReadRelation<'a>>>>,
}

impl<'a> Walk<'a> {
    fn new(targets: &'a LinkTargets<'a>, question: &'a GraphQuestion) -> Self {
        let (notes, steps, cut, known, followed, read) = Default::default();
        Self { targets, question, notes, steps, cut, known, followed, read }
    }

    /// Walks around notes, as far and along what the question says. Each note is come to once, so that a circle ends.
    ///
    /// # Errors
    /// When nobody waits any more.
    fn around(&mut self, roots: &[&'a Arc<FileEntry>]) -> Result<(), RequestError> {
        roots.iter().copied().for_each(|file| self.come_to(file, 0));
        let mut next = 0;
        while let Some((file, distance)) = self.notes.get(next).copied() {
            if distance >= self.question.depth || self.cut {
                break;
            }
            self.step_from(file, distance + 1)?;
            next += 1;
        }
        Ok(())
    }

    /// The relations that some notes have, wherever they lead; where a type is asked for, with an end of it.
    ///
    /// # Errors
    /// As [`Walk::around`].
    fn of_notes(&mut self, files: &[&'a Arc<FileEntry>]) -> Result<(), RequestError> {
        for file in files.iter().copied() {
            for relation in self.relations(file)? {
                if relation.ends().any(|end| self.question.takes(end)) {
                    self.take(relation, 1);
                }
            }
            if self.cut {
                break;
            }
        }
        Ok(())
    }

    fn step_from(&mut self, file: &'a Arc<FileEntry>, distance: usize) -> Result<(), RequestError> {
        let question = self.question;
        let mut found = self.relations(file)?;
        found.retain(|relation| match relation.to {
            Some(to) => self.known.contains(&to.id) || question.takes(to),
            None => question.kind.is_none(),
        });
        found.retain(|relation| self.is_new(relation));
        let room = question.limit.saturating_sub(self.steps.len());
        for (from, may_be_named) in self.linking(file) {
            if !self.known.contains(&from.id) && !question.takes(from) {
                continue;
            }
            // Those that may say more are read first, and what they say goes before all plain links. One too many tells that there are more.
            let before = found.iter().filter(|relation| !may_be_named || relation.relation.name.is_some()).count();
            self.cut |= before > room;
            if self.cut {
                break;
            }
            let leads_here = |relation: &Rc<ReadRelation<'_>>| relation.to.is_some_and(|to| to.id == file.id);
            let relations = self.relations(from)?.into_iter().filter(leads_here);
            found.extend(relations.filter(|relation| self.is_new(relation)));
        }
        found.sort_by_cached_key(|relation| {
            let (from, has_name) = (relation.from, relation.relation.name.is_some());
            (!has_name, from.id != file.id, Reverse(from.updated_ms), from.path.clone(), relation.at)
        });
        found.into_iter().for_each(|relation| self.take(relation, distance));
        Ok(())
    }

    fn is_new(&self, relation: &ReadRelation<'_>) -> bool {
        !self.followed.contains(&(relation.from.id, relation.at))
    }

    fn take(&mut self, relation: Rc<ReadRelation<'a>>, distance: usize) {
        if self.steps.len() >= self.question.limit {
            self.cut = true;
            return;
        }
        self.followed.insert((relation.from.id, relation.at));
        relation.ends().for_each(|end| self.come_to(end, distance));
        self.steps.push((relation, distance));
    }

    fn come_to(&mut self, file: &'a Arc<FileEntry>, distance: usize) {
        if self.known.insert(file.id) {
            self.notes.push((file, distance));
        }
    }

    /// The notes that may have a relation to one, each with whether it may have a name: those where it may come first, then the newest.
    fn linking(&self, file: &FileEntry) -> Vec<(&'a Arc<FileEntry>, bool)> {
        let names = self.targets.names(file);
        let named = self.targets.related_to(&names);
        let ids: HashSet<u32> = named.iter().map(|from| from.id).collect();
        let mut linking = if self.question.plain { self.targets.linking_to(&names) } else { named };
        let wanted = self.question.relation_label;
        linking.retain(|from| from.id != file.id && wanted.is_none_or(|label| from.is_labelled(label)));
        linking.sort_by_cached_key(|from| (!ids.contains(&from.id), Reverse(from.updated_ms), from.path.clone()));
        linking.into_iter().map(|from| (from, ids.contains(&from.id))).collect()
    }

    /// The relations of a note that the question follows and that lead anywhere, to another note or by a name to what no note is called, in the
    /// order of its lines; none of what cannot be read now, nor where too much has been read already.
    ///
    /// # Errors
    /// When nobody waits any more.
    fn relations(&mut self, from: &'a Arc<FileEntry>) -> Result<Vec<Rc<ReadRelation<'a>>>, RequestError> {
        let scope = self.targets.scope;
        scope.go_on()?;
        if let Some(known) = self.read.get(&from.id) {
            return Ok(known.clone());
        }
        if self.read.len() >= MAX_READ {
            self.cut = true;
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        if let Ok((_, source)) = read_seen(scope, from.path.as_str()) {
            let note = Note::of(&from.path, &source.text);
            let mut known: HashMap<String, Option<&'a Arc<FileEntry>>> = HashMap::new();
            for relation in relations(&note, &source.text).into_iter().filter(|one| self.question.follows(one)) {
                scope.go_on()?;
                let target = &relation.link.target;
                let to = known.entry(target.clone()).or_insert_with(|| self.targets.resolve(target, &from.path));
                let (to, at) = (*to, found.len());
                if to.map_or(relation.name.is_some(), |to| to.id != from.id) {
                    let text = line_text(&source.text[note.lines.span(relation.link.line)]);
                    found.push(Rc::new(ReadRelation { from, at, relation, to, text }));
                }
            }
        }
        self.read.insert(from.id, found.clone());
        Ok(found)
    }

    /// As it is answered, as much of it as there is room for: the relations, and the notes that they relate.
    fn view(self, mut view: GraphView) -> Result<GraphView, RequestError> {
        let scope = self.targets.scope;
        let mut room = scope.room();
        view.cut |= self.cut;
        view.near.retain(|entity| room.take(entity_chars(entity)));
        let distances: HashMap<u32, usize> = self.notes.iter().map(|(file, distance)| (file.id, *distance)).collect();
        let mut given: HashSet<u32> = HashSet::new();
        for (file, _) in self.notes.iter().filter(|(_, distance)| *distance == 0) {
            scope.go_on()?;
            let entity = entity(self.targets, file, 0);
            if !room.take(entity_chars(&entity)) {
                return Ok(GraphView { cut: true, ..view });
            }
            given.insert(file.id);
            view.entities.push(entity);
        }
        for step in &self.steps {
            scope.go_on()?;
            let edge = edge(self.question, step);
            let ends = step.0.ends().filter(|end| !given.contains(&end.id));
            let new: Vec<EntityView> = ends.map(|end| entity(self.targets, end, distances[&end.id])).collect();
            if !room.take(edge_chars(&edge) + new.iter().map(entity_chars).sum::<usize>()) {
                return Ok(GraphView { cut: true, ..view });
            }
            given.extend(step.0.ends().map(|end| end.id));
            view.entities.extend(new);
            view.edges.push(edge);
        }
        Ok(view)
    }
}

/// Maximum number of notes that are read for one answer.
const MAX_READ: usize = 2_000;
/// Maximum number of characters that are shown of a line.
const MAX_LINE_CHARS: usize = 300;

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
    let files = scope.reader().files();
    let mut found: Vec<EdgeView> = Vec::new();
    let mut withheld = HashSet::new();
    for name in names {
        if found.len() >= MAX_LINES {
            break;
        }
        let mut walk = Walk::new(&targets, &question);
        walk.around(&meant(&targets, name).called)?;
        walk.steps.sort_by_cached_key(|(said, _)| {
            (Reverse(said.from.updated_ms), said.from.path.clone(), said.relation.link.line)
        });
        for step in &walk.steps {
            let edge = edge(&question, step);
            if step.0.ends().any(|file| may_be_planted(files, file)) {
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
fn meant<'a>(targets: &LinkTargets<'a>, name: &str) -> NoteMatches<'a> {
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
        targets.scope.files().filter(|file| begins(&file.title) || begins(file.path.stem())).collect();
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
fn edge(question: &GraphQuestion, (said, distance): &GraphStep<'_>) -> EdgeView {
    let from = said.from;
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
        distance: *distance,
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

/// Finds the notes that links mean. As in Obsidian a link names a note by its path, by the end of it, or by its name alone; where no note is
/// called so, by its title or an alias. Neither case nor Unicode normalisation counts.
///
/// What is not seen is not there: it takes no link from another note of its name.
pub(crate) struct LinkTargets<'a> {
    pub(super) scope: &'a ReadScope,
    /// Whether a file that was looked at may be given.
    given: RefCell<HashMap<u32, bool>>,
}

impl<'a> LinkTargets<'a> {
    /// Of what a scope shows. A file that has changed since it was indexed is none of an agent's: that is looked at for those alone that are
    /// asked for.
    pub(crate) fn of(scope: &'a ReadScope) -> Self {
        Self { scope, given: RefCell::default() }
    }

    /// Whether a file is there for who asks.
    pub(crate) fn has(&self, file: &FileEntry) -> bool {
        let gives = || *self.given.borrow_mut().entry(file.id).or_insert_with(|| self.scope.gives(file));
        self.scope.has(file) && gives()
    }

    /// The note that a link in the note at `from` means: the one at this path, from the root or from there; else one beside it, then the
    /// one nearest to the root.
    pub(crate) fn resolve(&self, target: &str, from: &VaultPath) -> Option<&'a Arc<FileEntry>> {
        if target.is_empty() {
            return self.scope.file(from.as_str());
        }
        let folder = folded(Path::new(from.as_str()).parent().and_then(Path::to_str).unwrap_or_default());
        let wanted = normal(target, &folder);
        let bare = without_extension(&wanted);
        let from_here = if folder.is_empty() { bare.to_owned() } else { format!("{folder}/{bare}") };
        let at_path = self.seen(target_name(target)).into_iter().filter_map(|file| {
            let path = folded(file.path.as_str());
            let stem = without_extension(&path);
            let fits = [&path, stem].iter().any(|path| {
                path.strip_suffix(&wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            });
            let exact = [&path, stem].contains(&wanted.as_str()) || stem == from_here;
            let beside = path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
            let place = (Reverse(exact), Reverse(beside), path.matches('/').count(), &file.path);
            fits.then_some((place, file))
        });
        let found = at_path.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, file)| file);
        found.or_else(|| {
            // An attachment is linked to by its whole name, if at all.
            let called = self.seen(target).into_iter().filter(|file| !file.path.is_document());
            let called = called.filter(|file| self.is_called(file, target));
            called.min_by_key(|file| (file.path.as_str().matches('/').count(), &file.path))
        })
    }

    /// The names by which links may mean a note: its file's name, its title and its aliases.
    pub(crate) fn names(&self, file: &FileEntry) -> Vec<String> {
        let mut names = vec![file.path.stem().to_owned(), file.title.clone()];
        names.extend(aliases(&self.metadata(file)));
        names
    }

    /// The notes that are seen and link to one of these names, in the order of their paths; which of them mean it is to be looked at.
    pub(crate) fn linking_to(&self, names: &[String]) -> Vec<&'a Arc<FileEntry>> {
        self.with_links(names, Label::of_link)
    }

    /// The same of links that have the name of a relation.
    pub(crate) fn related_to(&self, names: &[String]) -> Vec<&'a Arc<FileEntry>> {
        self.with_links(names, Label::of_named_link)
    }

    fn with_links(&self, names: &[String], label_of: fn(&str) -> Option<Label>) -> Vec<&'a Arc<FileEntry>> {
        let labels = names.iter().filter_map(|name| label_of(target_name(name)));
        let mut found: Vec<&Arc<FileEntry>> = labels.flat_map(|label| self.labelled(label)).collect();
        found.sort_by(|one, two| one.path.cmp(&two.path));
        found.dedup_by_key(|file| file.id);
        found
    }

    /// The notes that are seen and have a name, whichever of theirs.
    pub(crate) fn seen(&self, name: &str) -> Vec<&'a Arc<FileEntry>> {
        Label::of_name(name).map_or_else(Vec::new, |label| self.labelled(label))
    }

    /// The notes that are seen and have a label.
    pub(crate) fn labelled(&self, label: Label) -> Vec<&'a Arc<FileEntry>> {
        let files = self.scope.reader().files();
        let labelled = files.facets().labelled(label);
        labelled.iter().filter_map(|id| files.get(id)).filter(|file| self.has(file)).collect()
    }

    fn is_called(&self, file: &FileEntry, name: &str) -> bool {
        let wanted = fold(name.trim());
        let is_it = |name: &str| fold(name.trim()) == wanted;
        is_it(&file.title) || aliases(&self.metadata(file)).iter().any(|alias| is_it(alias))
    }

    /// The frontmatter of a note; nothing where it cannot be read.
    pub(crate) fn metadata(&self, file: &FileEntry) -> Map<String, Value> {
        match self.scope.reader().metadata(file.id) {
            Ok(metadata) => metadata.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
            // The note can be read all the same.
            Err(error) => {
                drop(self.scope.workspace().damaged(error));
                Map::new()
            }
        }
    }
}

/// A link's target folded, with `./` and `../` followed from the folder of the note it stands in.
fn normal(target: &str, folder: &str) -> String {
    let target = folded(target.trim_start_matches('/'));
    if !target.starts_with("./") && !target.starts_with("../") {
        return target;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
