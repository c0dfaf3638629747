//! The entries of a file: the items of its outermost lists.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::entry::{EntryShelf, EntryStatus, MemoryEntry};
use super::item::EntryItem;
use crate::derive::list_items::{CONFLICT, list_items, without_conflict_marks};
use crate::note::{Note, Problem};

/// Maximum length of an item. What is longer is prose, and reported.
pub(crate) const MAX_ENTRY_BYTES: usize = 8 * 1024;

/// The entries of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EntriesFile {
    /// In the order of the file.
    pub(crate) entries: Vec<MemoryEntry>,
    /// Of each entry the bytes of its item, its marker included.
    pub(super) spans: Vec<Range<usize>>,
    /// Entries in whose line a comment stands, so that it is for a person alone to change.
    pub(super) mixed: BTreeSet<usize>,
    by_id: HashMap<String, usize>,
    /// Names by which entries say that one took their place, and that none has any more.
    gone: BTreeSet<String>,
    /// What could not be read as it was meant, with its line.
    pub(crate) problems: Vec<Problem>,
    /// Whether a merge left its marks, so that nobody but a person knows which side counts.
    pub(crate) has_conflict: bool,
}

impl EntriesFile {
    /// Reads a file. No input makes it fail.
    pub(crate) fn read(source: &str, shelf: EntryShelf) -> Self {
        let (plain, has_conflict) = without_conflict_marks(source);
        let note = Note::parse(&plain, "");
        let mut file = Self { has_conflict, ..Self::default() };
        if has_conflict {
            file.problems.push(Problem { line: None, message: CONFLICT.to_owned() });
        }
        let mut found = Vec::new();
        for item in list_items(&note, &plain) {
            let (text, line) = (item.text(), item.line);
            if text.len() > MAX_ENTRY_BYTES {
                file.report(line, format!("the item is longer than {MAX_ENTRY_BYTES} bytes, and no entry"));
                continue;
            }
            let Some(EntryItem { mut entry, own_id, problems }) = EntryItem::read(text, shelf) else { continue };
            problems.into_iter().for_each(|problem| file.report(line, problem));
            (entry.line_start, entry.line_end) = (line, item.last_line);
            found.push((entry, own_id, item.block.span.clone(), item.is_mixed()));
        }
        // Names that stand there go first, so that none that is made is taken for one of them.
        for (at, (entry, own_id, ..)) in found.iter().enumerate() {
            let Some(id) = own_id else { continue };
            if let Some(first) = file.by_id.insert(id.clone(), at) {
                file.by_id.insert(id.clone(), first);
                let message = format!("`^{id}` is also at line {}, which keeps the name", found[first].0.line_start);
                file.report(entry.line_start, message);
            }
        }
        for (at, (mut entry, own_id, span, is_mixed)) in found.into_iter().enumerate() {
            let keeps = own_id.is_some_and(|id| file.by_id.get(&id) == Some(&at));
            if !keeps {
                entry.id = made_id(&entry.text, |id| file.by_id.contains_key(id));
                file.by_id.insert(entry.id.clone(), at);
            }
            if is_mixed {
                file.mixed.insert(at);
            }
            file.entries.push(entry);
            file.spans.push(span);
        }
        if shelf == EntryShelf::Known {
            file.wake();
        }
        file
    }

    /// What was superseded counts again where the entry that took its place is gone, and so does the first of several that take each
    /// other's.
    fn wake(&mut self) {
        // From which start an entry was come by first, counted from 1.
        let mut met = vec![0; self.entries.len()];
        for start in 0..self.entries.len() {
            let (mut way, mut at) = (Vec::new(), start);
            while met[at] == 0 {
                met[at] = start + 1;
                way.push(at);
                let EntryStatus::Superseded(by) = &self.entries[at].status else { break };
                match self.by_id.get(by) {
                    Some(winner) => at = *winner,
                    None => {
                        self.gone.insert(by.clone());
                        self.entries[at].status = EntryStatus::Active;
                    }
                }
            }
            // Where it has come back to where it was.
            let circle = way.iter().position(|known| *known == at).map_or(&way[..0], |from| &way[from..]);
            if let Some(first) = circle.iter().min().copied()
                && matches!(self.entries[first].status, EntryStatus::Superseded(_))
            {
                self.entries[first].status = EntryStatus::Active;
                if circle.len() > 1 {
                    let names: Vec<String> = circle.iter().map(|at| format!("`^{}`", self.entries[*at].id)).collect();
                    let line = self.entries[first].line_start;
                    self.report(
                        line,
                        format!("each of {} says that another took its place; this one counts", names.join(", ")),
                    );
                }
            }
        }
    }

    fn report(&mut self, line: usize, message: String) {
        self.problems.push(Problem { line: Some(line), message });
    }

    /// The entry of a name.
    pub(crate) fn get(&self, id: &str) -> Option<&MemoryEntry> {
        self.position(id).map(|at| &self.entries[at])
    }

    /// Whether a name is none for another entry: one has it, or took the place of one that is there under it.
    pub(crate) fn is_taken(&self, id: &str) -> bool {
        self.by_id.contains_key(id) || self.gone.contains(id)
    }

    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }
}

/// A name for an entry, made of its text; another where it is taken.
pub(crate) fn made_id(text: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut id = String::new();
    for turn in 0u32.. {
        let mut hasher = blake3::Hasher::new();
        hasher.update(text.to_lowercase().as_bytes());
        if turn > 0 {
            hasher.update(&turn.to_le_bytes());
        }
        id = format!("e-{}", &hasher.finalize().to_hex()[..8]);
        if !is_taken(&id) {
            break;
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\nsources: [notes/a.md]\n---\n# What is known\n\nProse: this is none.\n\n- [preference] Prefers tabs (confidence 0.9) ^e-1\n\
        - Uses Rust\n  since long\n  - nested: no\n- Uses Rust since long\n1. numbered: no\n\n## More\n\n* [decision] Ship on Friday #work\n\n```\n- code: no\n```\n\n\
        > - quoted: no\n\n- Old (superseded by e-1) ^e-2\n";

    #[test]
    fn entries_are_items_of_outermost_lists() {
        let file = EntriesFile::read(FILE, EntryShelf::Known);
        let shown: Vec<String> = file
            .entries
            .iter()
            .map(|entry| format!("{} {} @{}", entry.kind.word(), entry.text, entry.line_start))
            .collect();
        assert_eq!(
            shown,
            [
                "preference Prefers tabs @8", "fact Uses Rust since long @9", "fact Uses Rust since long @12",
                "decision Ship on Friday @17", "fact Old @25"
            ]
        );
        assert_eq!(file.problems, []);
        assert_eq!(file.get("e-2").unwrap().status, EntryStatus::Superseded("e-1".into()));
        assert_ne!(file.entries[1].id, file.entries[2].id);
        assert_eq!(EntriesFile::read(FILE, EntryShelf::Known), file);
    }

    #[test]
    fn line_ends_do_not_matter_and_a_name_given_twice_is_the_first_ones() {
        let ids = |text: &str| {
            EntriesFile::read(text, EntryShelf::Known)
                .entries
                .iter()
                .map(|entry| (entry.id.clone(), entry.text.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(FILE), ids(&FILE.replace('\n', "\r\n")));
        let file = EntriesFile::read("-\ta ^e-1\n-\tb ^e-1\n", EntryShelf::Known);
        assert_eq!(file.get("e-1").unwrap().text, "a");
        assert_ne!(file.entries[1].id, "e-1");
        assert_eq!(file.problems.len(), 1);
    }

    #[test]
    fn of_entries_that_take_each_others_place_the_first_counts() {
        let superseded = |lines: &[(&str, &str)]| {
            let text: String =
                lines.iter().map(|(id, by)| format!("- entry {id} (superseded by e-{by}) ^e-{id}\n")).collect();
            let file = EntriesFile::read(&(text + "- last ^e-9\n"), EntryShelf::Known);
            let active = file.entries.iter().filter(|entry| entry.status == EntryStatus::Active);
            (active.map(|entry| entry.id.clone()).collect::<Vec<_>>(), file.problems.len())
        };
        for (lines, counts, problems) in [
            (&[("1", "2"), ("2", "1")][..], &["e-1", "e-9"][..], 1),
            // Two lead into a circle of three.
            (&[("1", "2"), ("2", "4"), ("3", "5"), ("4", "3"), ("5", "4")], &["e-3", "e-9"], 1),
            (&[("1", "1")], &["e-1", "e-9"], 0),
            (&[("1", "7"), ("2", "1")], &["e-1", "e-9"], 0),
            (&[("1", "9"), ("2", "1")], &["e-9"], 0),
        ] {
            assert_eq!(superseded(lines), (counts.iter().map(ToString::to_string).collect(), problems), "{lines:?}");
        }
        // A chain of thousands is followed once.
        let long: String = (0..20_000).map(|at| format!("- n{at} (superseded by e-{}) ^e-{at}\n", at + 1)).collect();
        let file = EntriesFile::read(&long, EntryShelf::Known);
        assert_eq!(file.entries.iter().filter(|entry| entry.status == EntryStatus::Active).count(), 1);
    }

    #[test]
    fn both_sides_of_a_conflict_are_read() {
        let file = EntriesFile::read("<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", EntryShelf::Known);
        assert!(file.has_conflict);
        assert_eq!(file.entries.len(), 2);
    }
}
