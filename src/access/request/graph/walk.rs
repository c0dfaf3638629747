//! From notes to those around them, step by step.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::super::RequestError;
use super::book::{ReadRelation, RelationCache};
use crate::index::engine::FileEntry;
use crate::text::derive::Label;

/// One relation that was followed.
#[derive(Debug, Clone)]
pub(crate) struct GraphStep<'a> {
    /// The note that says so.
    pub(crate) from: &'a Arc<FileEntry>,
    relations: Rc<Vec<ReadRelation<'a>>>,
    at: usize,
    /// How many steps away from the notes that were asked for it ends.
    pub(crate) distance: usize,
}

impl<'a> GraphStep<'a> {
    /// What it says.
    pub(crate) fn said(&self) -> &ReadRelation<'a> {
        &self.relations[self.at]
    }

    /// Whether it leads anywhere: to another note, or by a name to what no note is called.
    fn leads(&self) -> bool {
        let said = self.said();
        said.to.map_or(said.relation.name.is_some(), |to| to.id != self.from.id)
    }
}

/// The notes around some.
pub(crate) struct Walk<'a> {
    /// The notes in the order in which they were come to, with how many steps away they are.
    pub(crate) notes: Vec<(&'a Arc<FileEntry>, usize)>,
    /// The relations: the nearest first, of each note those with a name before those without, then its own, then the newest.
    pub(crate) steps: Vec<GraphStep<'a>>,
    /// Whether there is more.
    pub(crate) cut: bool,
    known: HashSet<u32>,
    /// Of each note, which of its relations were followed.
    followed: HashMap<u32, HashSet<usize>>,
}

impl<'a> Walk<'a> {
    /// The notes alone.
    pub(crate) fn at(roots: &[&'a Arc<FileEntry>]) -> Self {
        Self {
            notes: roots.iter().map(|file| (*file, 0)).collect(),
            steps: Vec::new(),
            cut: false,
            known: roots.iter().map(|file| file.id).collect(),
            followed: HashMap::new(),
        }
    }

    /// Walks around notes, as far and along what the book's question says. Each note is come to once, so that a circle ends.
    ///
    /// # Errors
    /// When nobody waits any more.
    pub(crate) fn around(roots: &[&'a Arc<FileEntry>], book: &mut RelationCache<'a>) -> Result<Self, RequestError> {
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
    pub(crate) fn of_notes(files: &[&'a Arc<FileEntry>], book: &mut RelationCache<'a>) -> Result<Self, RequestError> {
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
        for LinkingNote { from, may_be_named } in linking(file, book) {
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
        step.leads() && !self.followed.get(&step.from.id).is_some_and(|taken| taken.contains(&step.at))
    }

    fn take(&mut self, step: GraphStep<'a>, limit: usize) {
        if self.steps.len() >= limit {
            self.cut = true;
            return;
        }
        self.followed.entry(step.from.id).or_default().insert(step.at);
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

/// A note that may have a relation to another.
struct LinkingNote<'a> {
    from: &'a Arc<FileEntry>,
    /// Whether it may be one with a name.
    may_be_named: bool,
}

/// The notes that may have a relation to one: those where it may have a name first, then the newest.
fn linking<'a>(file: &FileEntry, book: &RelationCache<'a>) -> Vec<LinkingNote<'a>> {
    let names = book.targets.names(file);
    let named = book.targets.related_to(&names);
    let ids: HashSet<u32> = named.iter().map(|from| from.id).collect();
    let mut linking = if book.question.plain { book.targets.linking_to(&names) } else { named };
    let wanted = book.question.relation_label;
    let has = |from: &FileEntry, label: &Label| from.labels.binary_search(label).is_ok();
    linking.retain(|from| from.id != file.id && wanted.is_none_or(|label| has(from, &label)));
    linking.sort_by_cached_key(|from| (!ids.contains(&from.id), Reverse(from.updated_ms), from.path.clone()));
    linking.into_iter().map(|from| LinkingNote { from, may_be_named: ids.contains(&from.id) }).collect()
}
