//! The files of a scope: what a search, and every other read, may look at.

use std::sync::Arc;

use crate::access::rules::{AGENTS, Grant, Scope, Subject, is_agents, own_file};
use crate::base::path::folded;
use crate::index::engine::{FileEntry, FileSet, FileTable};
use crate::text::derive::Label;
use crate::text::derive::entries::traces_of;

/// The files of one state of the index that a principal may see. All that is read is read through one.
#[derive(Debug, Clone)]
pub struct Visible(Option<FileSet>);

impl Visible {
    /// The files of a scope.
    pub fn of(scope: &Scope, files: &FileTable) -> Self {
        let Some(mut set) = alone(scope, files) else { return Self(None) };
        // What was made of other notes is as hidden as they are, and so is what was made of that: until nothing more goes.
        let given = match scope {
            Scope::Own { given: Some(grant), .. } => Self::of(&Scope::Given(Arc::clone(grant)), files).0,
            _ => None,
        };
        let own_traces = match scope {
            Scope::Own { slugs, .. } => slugs.first().map(|own| traces_of(own)),
            _ => None,
        };
        let mut derived = files.facets().derived().clone();
        derived.intersect(&set);
        let mut derived: Vec<u32> = derived.iter().collect();
        loop {
            let before = derived.len();
            derived.retain(|id| {
                let seen = |source: u32| set.contains(source) || given.as_ref().is_some_and(|set| set.contains(source));
                // What is not there is not seen: nobody knows how private it was. But an agent sees what it has told itself.
                let shows = |source: &String| match files.at(source) {
                    Some(file) => seen(file.id),
                    None => own_traces.as_ref() == Some(source),
                };
                let shown = files.get(*id).is_some_and(|file| file.sources.iter().all(shows));
                if !shown {
                    set.remove(*id);
                }
                shown
            });
            if derived.len() == before {
                return Self(Some(set));
            }
        }
    }

    /// The files of a set.
    #[cfg(test)]
    pub(super) fn only(files: FileSet) -> Self {
        Self(Some(files))
    }

    /// Whether a file may be seen.
    pub fn has(&self, file: &FileEntry) -> bool {
        self.0.as_ref().is_none_or(|set| set.contains(file.id))
    }

    /// The files, if not all may be seen.
    pub fn set(&self) -> Option<&FileSet> {
        self.0.as_ref()
    }

    /// Hides one more file.
    pub fn hide(&mut self, file: &FileEntry) {
        if let Some(set) = &mut self.0 {
            set.remove(file.id);
        }
    }
}

/// Whether a scope has a file by what it is itself, whatever it was made of: then each of its lines is seen by its own sources.
/// As [`Visible::of`] says, without a look at all the others.
pub(crate) fn has_by_itself(scope: &Scope, files: &FileTable, id: u32) -> bool {
    let Some(file) = files.get(id) else { return false };
    let has = match scope {
        Scope::Everything => return true,
        Scope::Nothing => false,
        Scope::Public => !file.private,
        Scope::Given(grant) => grant.refusal(&subject(file)).is_none(),
        Scope::Own { slugs, .. } => {
            !file.private && slugs.iter().any(|slug| own_file(slug, file.path.as_str()).is_some())
        }
    };
    let names = || files.facets().linked().filter(|names| names.contains(&id)).flatten();
    let label = Label::of_document_link(file.path.as_str());
    let is_given = |note: u32| has_by_itself(scope, files, note);
    has && !names().filter_map(|id| files.get(*id)).any(|file| hides(scope, file))
        && !label.is_some_and(|label| is_of_hidden_notes(scope, files, label, is_given))
}

/// Whether notes link to an attachment that are hidden, and none that is given: nothing in it says how private it is. What is made of others,
/// as a remark on it, gives nothing.
fn is_of_hidden_notes(scope: &Scope, files: &FileTable, label: Label, is_given: impl Fn(u32) -> bool) -> bool {
    let facets = files.facets();
    if !facets.has_label(label, None) {
        return false;
    }
    let notes = facets.labelled(label);
    notes.iter().filter_map(|id| files.get(id)).any(|note| hides(scope, note))
        && !notes.iter().any(|id| !facets.derived().contains(id) && is_given(id))
}

/// Whether a file is hidden under each of its names.
fn hides(scope: &Scope, file: &FileEntry) -> bool {
    let denied = |grant: &Grant| {
        let tags = file.tags.iter().chain(&file.doubtful);
        grant.denied.is_match(file.path.as_str()) || tags.into_iter().any(|tag| grant.excludes(&folded(tag)))
    };
    match scope {
        Scope::Given(grant) => file.private && !grant.is_private_to(&file.doubtful) || denied(grant),
        _ => file.private,
    }
}

/// The files that a scope has by what they are themselves; `None` for all.
fn alone(scope: &Scope, files: &FileTable) -> Option<FileSet> {
    let facets = files.facets();
    let mut set = match scope {
        Scope::Everything => return None,
        Scope::Nothing => return Some(FileSet::new()),
        Scope::Public => facets.all().clone(),
        Scope::Given(grant) => {
            let mut set = facets.of_collections(|name| !is_agents(name) && grant.has_collection(name));
            // What may be meant as a tag hides, too; marks of sessions are among that.
            set.subtract(&facets.with_doubtful(|mark| grant.excludes(mark)));
            if !grant.exclude_tags.is_empty() {
                set.subtract(&facets.with_tags(|tag| grant.excludes(tag)));
            }
            let is_in = |id: &u32| files.get(*id).is_some_and(|file| grant.has_path(file.path.as_str()));
            if grant.has_path_rules() { set.iter().filter(is_in).collect() } else { set }
        }
        Scope::Own { slugs, .. } => {
            let is_own = |path: &str| slugs.iter().any(|slug| own_file(slug, path).is_some());
            let agents = facets.of_collections(|name| name == AGENTS);
            agents.iter().filter(|id| files.get(*id).is_some_and(|file| is_own(file.path.as_str()))).collect()
        }
    };
    let mut private = facets.private().clone();
    if let Scope::Given(grant) = scope
        && let Some(own) = grant.own_mark()
    {
        private.subtract(&facets.with_doubtful(|mark| mark == own));
    }
    set.subtract(&private);
    // What one name of a file hides no other shows. A name that is merely not given says nothing of the others.
    for names in facets.linked() {
        if names.iter().filter_map(|id| files.get(*id)).any(|file| hides(scope, file)) {
            for id in names {
                set.remove(*id);
            }
        }
    }
    let documents = facets.documents().filter(|(id, _)| set.contains(*id));
    let hidden: Vec<u32> = documents
        .filter(|(_, label)| is_of_hidden_notes(scope, files, *label, |note| set.contains(note)))
        .map(|(id, _)| id)
        .collect();
    for id in hidden {
        set.remove(id);
    }
    Some(set)
}

/// The files of which nothing private is known even where private notes are not: a copy without those does not know what they link to, which
/// files they are under another name, or what was made of them.
#[cfg(feature = "postgres")]
pub(crate) fn without_private(files: &FileTable) -> FileSet {
    let mut set = Visible::of(&Scope::Public, files).0.unwrap_or_default();
    let facets = files.facets();
    let is_private = |id: u32| facets.private().contains(id);
    for (id, _) in facets.documents().filter(|(_, label)| facets.labelled(*label).iter().any(is_private)) {
        set.remove(id);
    }
    set
}

/// What the rules look at in a file.
pub fn subject(file: &FileEntry) -> Subject<'_> {
    Subject { path: file.path.as_str(), tags: &file.tags, doubtful: &file.doubtful, private: file.private }
}
