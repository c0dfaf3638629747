//! The relations of the notes that were read for one answer.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::super::{LinkTargets, ReadScope, RequestError, read_seen};
use super::question::GraphQuestion;
use crate::derive::{Relation, relations};
use crate::engine::FileEntry;
use crate::note::Note;

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
pub(crate) struct RelationsBook<'a> {
    scope: &'a ReadScope,
    pub(crate) targets: &'a LinkTargets<'a>,
    pub(crate) question: &'a GraphQuestion,
    read: HashMap<u32, Rc<Vec<ReadRelation<'a>>>>,
}

impl<'a> RelationsBook<'a> {
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
