//! Which note a link means, of those that are seen.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::ReadScope;
use crate::base::path::{VaultPath, folded};
use crate::index::engine::FileEntry;
use crate::text::derive::words::fold;
use crate::text::derive::{Label, target_name, without_extension};
use crate::text::note::aliases;

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
