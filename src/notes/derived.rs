//! What was made of a note, or of some lines of it: remarks, summaries, entries of memory.

use serde_json::Value;

use super::annotations::{ANNOTATIONS, annotations};
use crate::derive::entries::{EntryShelf, MemoryEntry, shelf_of};
use crate::derive::{is_a_text, plain};
use crate::path::VaultPath;
use crate::request::{ReadScope, RequestError};
use crate::wire::DerivedNote;

/// Where something goes: a note, and the lines of it, if not all.
pub(super) type GoingPlace<'a> = (&'a VaultPath, Option<(usize, usize)>);

/// The same of what is gone for good.
pub(super) type GonePlace = (VaultPath, Option<(usize, usize)>);

/// Those whose frontmatter names it (`annotates`, `sources`), in the order of their paths. Of lines, remarks on them, and what cites them
/// or the whole note, and entries that say what is `removed` in its own words, wherever they are from.
///
/// # Errors
/// When the index is damaged.
pub(super) fn made_of(
    scope: &ReadScope,
    path: &VaultPath,
    lines: Option<(usize, usize)>,
    removed: &[String],
) -> Result<Vec<DerivedNote>, RequestError> {
    let mut found: Vec<String> = Vec::new();
    let meets = |first: usize, last: usize| lines.is_none_or(|(from, to)| first <= to && from <= last);
    for file in scope.files().filter(|file| file.sources.iter().any(|source| source == path.as_str())) {
        if file.path == *path || (lines.is_some() && file.path.collection() == ANNOTATIONS) {
            continue;
        }
        // Of these each entry has its own sources.
        if shelf_of(&file.path).is_some() {
            continue;
        }
        let metadata = scope.reader().metadata(file.id).map_err(|error| scope.workspace().damaged(error))?;
        let metadata: Value = metadata.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let mut cited = Vec::new();
        citations(&metadata, path.as_str(), &mut cited);
        if cited.is_empty() || cited.iter().any(|lines| lines.is_none_or(|(first, last)| meets(first, last))) {
            found.push(file.path.to_string());
        }
    }
    if lines.is_some() {
        let remarks = annotations(scope, path.as_str())?.into_iter();
        let on_them = remarks.filter(|remark| remark.source == path.as_str());
        let on_them = on_them.filter(|remark| meets(remark.line_start as usize, remark.line_end as usize));
        found.extend(on_them.map(|remark| remark.path));
    }
    found.sort_unstable();
    found.dedup();
    found.extend(entries_of(scope, path, lines, removed));
    Ok(found.into_iter().map(derived).collect())
}

/// The entries of all memories that were learned there, or say what is removed, each as `memories/user.md#^e-7f3a2b9c`.
fn entries_of(scope: &ReadScope, path: &VaultPath, lines: Option<(usize, usize)>, removed: &[String]) -> Vec<String> {
    let layers = scope.workspace().layers();
    let removed: Vec<String> = removed.iter().map(|text| format!(" {} ", plain(text))).collect();
    let says = |entry: &MemoryEntry| {
        let words = plain(&entry.text);
        is_a_text(&words) && removed.iter().any(|text| text.contains(&format!(" {words} ")))
    };
    let cites = |entry: &MemoryEntry| entry.sources.iter().any(|source| may_be_of(source, path, lines)) || says(entry);
    let mut found = Vec::new();
    for holder in layers.holders() {
        for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
            // A file that cannot be read says so where it is asked for.
            let Ok(book) = layers.book(&holder, shelf) else { continue };
            let Some(file) = book.path.as_ref().filter(|file| *file != path) else { continue };
            found.extend(
                book.entries().iter().filter(|entry| cites(entry)).map(|entry| format!("{file}#^{}", entry.id)),
            );
        }
    }
    found
}

/// Something that was made of what goes, and is there.
pub(super) fn derived(path: String) -> DerivedNote {
    DerivedNote { path, fact: None, summary: false, gone: false, checkpoint_id: None, kept_because: None }
}

/// Whether a place, as `notes/api.md#L12`, is in a note, and among its lines where some are named: one that names no lines is then none of
/// theirs, for the note that it names stays.
pub(super) fn is_of(source: &str, path: &VaultPath, lines: Option<(usize, usize)>) -> bool {
    named_by(source, path).is_some_and(|named| named.map_or(lines.is_none(), |named| meet(named, lines)))
}

/// The same, where one that names no lines may be any of theirs.
fn may_be_of(source: &str, path: &VaultPath, lines: Option<(usize, usize)>) -> bool {
    named_by(source, path).is_some_and(|named| named.is_none_or(|named| meet(named, lines)))
}

/// The lines of a note that a place names; `Some(None)` for all of it, `None` where it is in another.
fn named_by(source: &str, path: &VaultPath) -> Option<Option<(usize, usize)>> {
    let mut cited = Vec::new();
    citations(&Value::String(source.to_owned()), path.as_str(), &mut cited);
    cited.first().copied()
}

fn meet((first, last): (usize, usize), lines: Option<(usize, usize)>) -> bool {
    lines.is_none_or(|(from, to)| first <= to && from <= last)
}

/// The lines that citations of a note name, wherever they stand in a value; none for one of the whole note.
fn citations(value: &Value, path: &str, found: &mut Vec<Option<(usize, usize)>>) {
    match value {
        Value::String(text) => {
            let text = text.trim();
            let text = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")).unwrap_or(text);
            let text = text.split_once('|').map_or(text, |(target, _)| target);
            let text = text.strip_prefix("vault://").unwrap_or(text);
            let (named, lines) = text.split_once('#').map_or((text, None), |(named, lines)| (named, Some(lines)));
            if named == path || path.strip_suffix(".md") == Some(named) {
                found.push(lines.and_then(lines_of));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| citations(item, path, found)),
        Value::Object(map) => map.values().for_each(|value| citations(value, path, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `L3` or `L3-L5`.
fn lines_of(text: &str) -> Option<(usize, usize)> {
    let line = |text: &str| text.strip_prefix('L').unwrap_or(text).parse().ok();
    match text.split_once('-') {
        Some((first, last)) => line(first).zip(line(last)),
        None => line(text).map(|line| (line, line)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn citations_name_lines_or_the_whole_note() {
        let of = |value: Value| {
            let mut found = Vec::new();
            citations(&value, "notes/a.md", &mut found);
            found
        };
        let cited =
            json!({ "sources": ["notes/a.md#L3-L5", "[[notes/a#L7|x]]", "notes/b.md#L1", { "path": "notes/a.md" }] });
        assert_eq!(of(cited), [Some((3, 5)), Some((7, 7)), None]);
        assert_eq!(of(json!({ "sources": "notes/a.md#heading" })), [None]);
    }

    #[test]
    fn what_cites_all_of_a_note_is_of_none_of_its_lines() {
        let path = VaultPath::new("notes/a.md").unwrap();
        for (source, of_line, of_note) in [
            ("notes/a.md", false, true),
            ("notes/a.md#heading", false, true),
            ("notes/a.md#L3-L5", true, true),
            ("notes/a.md#L6", false, true),
            ("notes/b.md#L4", false, false),
        ] {
            assert_eq!(is_of(source, &path, Some((4, 4))), of_line, "{source}");
            assert_eq!(is_of(source, &path, None), of_note, "{source}");
        }
    }
}
