//! The tags that there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use crate::path::folded;
use crate::request::{RequestError, Viewer};
use crate::wire::{TagCount, TagsView};

/// Maximum number of levels that a tag stands below. A tag of a thousand levels, which nobody writes by hand, would be
/// a thousand tags, each nearly as long.
const MAX_LEVELS: usize = 16;
/// Maximum length of the levels that a tag stands below, in bytes.
const MAX_LEVEL_BYTES: usize = 500;

/// What is counted of a tag.
#[derive(Default)]
struct TagNotes {
    /// Notes with this very tag, and with it or one below it.
    notes: (usize, usize),
    /// How often it is spelled how.
    spelled: BTreeMap<String, usize>,
}

/// The tags of the notes that are seen, with those that they stand below.
///
/// # Errors
/// When the index is not open yet.
pub fn tags(viewer: &Viewer) -> Result<TagsView, RequestError> {
    let scope = viewer.settled_scope()?;
    let mut tags: BTreeMap<String, TagNotes> = BTreeMap::new();
    for file in scope.files() {
        let (mut own, mut all) = (HashSet::new(), HashSet::new());
        for tag in &file.tags {
            own.insert(folded(tag));
            let levels = tag.match_indices('/').map(|(at, _)| at).filter(|at| *at <= MAX_LEVEL_BYTES).take(MAX_LEVELS);
            let ends = levels.chain([tag.len()]);
            for tag in ends.map(|end| &tag[..end]).filter(|tag| !tag.is_empty()) {
                let known = tags.entry(folded(tag)).or_default();
                *known.spelled.entry(tag.to_owned()).or_default() += 1;
                all.insert(folded(tag));
            }
        }
        own.iter().for_each(|tag| _ = tags.get_mut(tag).map(|tag| tag.notes.0 += 1));
        all.iter().for_each(|tag| _ = tags.get_mut(tag).map(|tag| tag.notes.1 += 1));
    }
    viewer.log("tags", "", Vec::new());
    let mut room = scope.room();
    let mut view = TagsView { tags: Vec::with_capacity(tags.len()), cut: false };
    for (folded, TagNotes { notes: (notes, with_below), spelled }) in tags {
        // As most notes write it; of two that are as frequent, the first in the alphabet.
        let most = spelled.into_iter().min_by_key(|(_, times)| Reverse(*times));
        let tag = most.map_or(folded, |(spelled, _)| spelled);
        if !room.take(tag.chars().count()) {
            view.cut = true;
            break;
        }
        view.tags.push(TagCount { tag, notes, with_below });
    }
    Ok(view)
}
