//! The entries of a file: the items of its outermost lists, and what the file says after a change. Pure: exactly one line becomes another,
//! comes or goes; all else stays to the byte.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::entry::{EntryFileKind, EntryStatus, MemoryEntry, one_line, written};
use crate::text::derive::list_items::{
    CONFLICT, ItemEditError, added_after, line_ending, lines_alone, list_items, with_parts, without_conflict_marks,
};
use crate::text::derive::words::plain_words;
use crate::text::note::{Note, Problem, with_property};

/// Maximum length of an item. What is longer is prose, and reported.
pub(crate) const MAX_ENTRY_BYTES: usize = 8 * 1024;

/// The entries of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EntriesFile {
    /// In the order of the file.
    pub(crate) entries: Vec<MemoryEntry>,
    /// Of each entry the bytes of its item, its marker included.
    spans: Vec<Range<usize>>,
    /// Entries in whose line a comment stands, so that it is for a person alone to change.
    mixed: BTreeSet<usize>,
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
    pub(crate) fn read(source: &str, shelf: EntryFileKind) -> Self {
        let (plain, has_conflict) = without_conflict_marks(source);
        let note = Note::parse(&plain, "");
        let mut file = Self { has_conflict, ..Self::default() };
        if has_conflict {
            file.problems.push(Problem { line: None, message: CONFLICT.to_owned() });
        }
        let mut found = Vec::new();
        for item in list_items(&note, &plain) {
            let (text, line) = (&item.text, item.line);
            if text.len() > MAX_ENTRY_BYTES {
                file.report(line, format!("the item is longer than {MAX_ENTRY_BYTES} bytes, so it is not an entry"));
                continue;
            }
            let Some((mut entry, problems)) = MemoryEntry::read(text, shelf) else { continue };
            problems.into_iter().for_each(|problem| file.report(line, problem));
            (entry.line_start, entry.line_end) = (line, item.last_line);
            found.push((entry, item.block.span.clone(), item.is_mixed));
        }
        // Names that stand there go first, so that none that is made is taken for one of them.
        for (at, (entry, ..)) in found.iter().enumerate().filter(|(_, (entry, ..))| !entry.id.is_empty()) {
            let id = &entry.id;
            let first = *file.by_id.entry(id.clone()).or_insert(at);
            if first != at {
                let message = format!("`^{id}` is also at line {}, which keeps the name", found[first].0.line_start);
                file.report(entry.line_start, message);
            }
        }
        for (at, (mut entry, span, is_mixed)) in found.into_iter().enumerate() {
            if file.by_id.get(&entry.id) != Some(&at) {
                entry.id = made_id(&entry.text, |id| file.by_id.contains_key(id));
                file.by_id.insert(entry.id.clone(), at);
            }
            if is_mixed {
                file.mixed.insert(at);
            }
            file.entries.push(entry);
            file.spans.push(span);
        }
        if shelf == EntryFileKind::Known {
            file.wake();
        }
        file
    }

    /// What was superseded counts again where the entry that took its place is gone, and so does the first of two that take each other's.
    fn wake(&mut self) {
        for at in 0..self.entries.len() {
            let MemoryEntry { id, line_start, status: EntryStatus::Superseded(by), .. } = self.entries[at].clone()
            else {
                continue;
            };
            match self.by_id.get(&by).copied() {
                None => drop(self.gone.insert(by)),
                Some(_) if by == id => {}
                Some(other) if self.entries[other].status == EntryStatus::Superseded(id.clone()) => {
                    self.report(
                        line_start,
                        format!("the entries `^{id}` and `^{by}` supersede each other; this one counts"),
                    );
                }
                Some(_) => continue,
            }
            self.entries[at].status = EntryStatus::Active;
        }
    }

    fn report(&mut self, line: usize, message: String) {
        self.problems.push(Problem { line: Some(line), message });
    }

    /// Those that count.
    pub(crate) fn active(&self) -> impl Iterator<Item = &MemoryEntry> {
        self.entries.iter().filter(|entry| entry.status == EntryStatus::Active)
    }

    /// The entry of a name.
    pub(crate) fn get(&self, id: &str) -> Option<&MemoryEntry> {
        self.by_id.get(id).map(|at| &self.entries[*at])
    }

    /// Whether a name is none for another entry: one has it, or took the place of one that is there under it.
    pub(crate) fn is_taken(&self, id: &str) -> bool {
        self.by_id.contains_key(id) || self.gone.contains(id)
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

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EntryEdit {
    /// It is added; where its name is taken by an entry of the same text, it is there already.
    Add(MemoryEntry),
    /// An entry says something else; refused where its line is not as it was read. One that has no name in its line gets its own there.
    Change {
        /// As it was read.
        was: MemoryEntry,
        /// What it says from now on.
        now: Box<MemoryEntry>,
    },
    /// The entry of that name goes; it is no error where it is gone.
    Remove(String),
    /// An entry goes, after it was put into another file; one whose line is not as it was read stays.
    Move(MemoryEntry),
    /// The list of sources names that note no more, unless an entry cites it.
    Unlist(String),
}

/// The text after all edits, which name what the text has before them, and the names of what was added, in their order. What is new comes
/// to the end of the last list.
///
/// # Errors
/// When an entry that is to be changed is not there or was edited, or the file cannot be changed so.
pub(crate) fn edited(
    source: &str,
    shelf: EntryFileKind,
    edits: &[EntryEdit],
) -> Result<(String, Vec<String>), ItemEditError> {
    let file = EntriesFile::read(source, shelf);
    // What each line is to say, and whether that is new; those of the file first.
    let mut lines: Vec<(MemoryEntry, bool)> = file.entries.iter().map(|entry| (entry.clone(), false)).collect();
    let (mut by_id, mut goes, mut names) = (file.by_id.clone(), HashSet::new(), Vec::new());
    for edit in edits {
        match edit {
            EntryEdit::Add(entry) => {
                let (mut entry, there) = (entry.clone(), by_id.get(&entry.id));
                if there.is_none_or(|at| lines[*at].0.text != entry.text) {
                    if entry.id.is_empty() || there.is_some() {
                        entry.id = made_id(&entry.text, |id| by_id.contains_key(id) || file.is_taken(id));
                    }
                    by_id.insert(entry.id.clone(), lines.len());
                    lines.push((entry.clone(), true));
                }
                names.push(entry.id);
            }
            EntryEdit::Change { was, now } => {
                let at = *by_id.get(&was.id).ok_or(ItemEditError::Absent("entry"))?;
                if !is_as_read(&lines[at].0, was) {
                    return Err(ItemEditError::Changed);
                }
                lines[at] = (MemoryEntry { id: was.id.clone(), ..(**now).clone() }, true);
            }
            EntryEdit::Remove(id) => goes.extend(by_id.remove(id)),
            EntryEdit::Move(was) if by_id.get(&was.id).is_some_and(|at| is_as_read(&lines[*at].0, was)) => {
                goes.extend(by_id.remove(&was.id));
            }
            EntryEdit::Move(_) | EntryEdit::Unlist(_) => {}
        }
    }
    let mut text = source.to_owned();
    if !goes.is_empty() || lines.iter().any(|(_, is_new)| *is_new) {
        text = with_lines(source, &file, &lines, &goes)?;
        let now = EntriesFile::read(&text, shelf).entries;
        let left: Vec<_> = (0..lines.len()).filter(|at| !goes.contains(at)).map(|at| &lines[at]).collect();
        // One that stays and has no name in its line may be called after another place among those with its text.
        let is_well = |(now, (meant, is_new)): (&MemoryEntry, &&(MemoryEntry, bool))| match is_new {
            true => now.id == meant.id && is_same(now, meant),
            false => (&now.text, &now.sources) == (&meant.text, &meant.sources),
        };
        if now.len() != left.len() || !now.iter().zip(&left).all(is_well) {
            return Err(ItemEditError::Hidden);
        }
    }
    for edit in edits {
        if let EntryEdit::Unlist(path) = edit {
            text = without_source(&text, shelf, path)?;
        }
    }
    Ok((text, names))
}

/// The text with those lines, without those of them that go.
fn with_lines(
    source: &str,
    file: &EntriesFile,
    lines: &[(MemoryEntry, bool)],
    goes: &HashSet<usize>,
) -> Result<String, ItemEditError> {
    if file.has_conflict {
        return Err(ItemEditError::Conflict);
    }
    let mut parts = Vec::new();
    for (at, span) in file.spans.iter().enumerate() {
        let (entry, is_new) = &lines[at];
        if (goes.contains(&at) || *is_new) && file.mixed.contains(&at) {
            return Err(ItemEditError::Mixed);
        }
        if goes.contains(&at) {
            parts.push((lines_alone(source, span).ok_or(ItemEditError::Parent)?, String::new()));
        } else if *is_new {
            let is_blank = |c: char| matches!(c, ' ' | '\t');
            let marker = source[span.clone()].trim_start_matches(is_blank);
            let text = marker[1..].trim_start_matches(is_blank);
            parts.push((span.end - text.len()..span.end, line_of(entry)?));
        }
    }
    let new = (file.spans.len()..lines.len()).filter(|at| !goes.contains(at));
    let new: Vec<String> =
        new.map(|at| Ok(format!("- {}", line_of(&lines[at].0)?))).collect::<Result<_, ItemEditError>>()?;
    match file.spans.last() {
        _ if new.is_empty() => {}
        Some(last) => parts.push(added_after(source, last, &new)),
        None => {
            let end = line_ending(source);
            let before = source.trim_end_matches(['\r', '\n']);
            let blank = if before.trim_start_matches('\u{feff}').is_empty() { "" } else { end };
            parts.push((before.len()..source.len(), format!("{blank}{blank}{}{end}", new.join(end))));
        }
    }
    Ok(with_parts(source, parts))
}

/// Whether an entry says what it said, wherever in the file it stands.
fn is_as_read(is: &MemoryEntry, was: &MemoryEntry) -> bool {
    let placed = MemoryEntry { line_start: is.line_start, line_end: is.line_end, ..was.clone() };
    *is == placed
}

/// What of a file another does not have: neither with its text, nor under its name with a fair share of its words and of its sources.
pub(crate) fn lost_entries<'f>(before: &'f EntriesFile, now: &EntriesFile) -> Vec<&'f MemoryEntry> {
    let left: HashSet<&str> = now.entries.iter().map(|entry| entry.text.as_str()).collect();
    let has = |entry: &MemoryEntry| {
        left.contains(entry.text.as_str()) || now.get(&entry.id).is_some_and(|now| is_kept(entry, now))
    };
    before.entries.iter().filter(|entry| !has(entry)).collect()
}

/// Whether at least half of what an entry said, and of where it was learned, is still there.
fn is_kept(before: &MemoryEntry, now: &MemoryEntry) -> bool {
    let has_half =
        |before: BTreeSet<String>, now: BTreeSet<String>| before.intersection(&now).count() * 2 >= before.len();
    let words = |entry: &MemoryEntry| plain_words(&entry.text, false).into_iter().collect();
    let sources = |entry: &MemoryEntry| entry.source_paths().map(str::to_owned).collect();
    has_half(words(before), words(now)) && has_half(sources(before), sources(now))
}

/// The text with exactly those sources in its frontmatter that its entries cite, beside those that it listed and none of `before` cites:
/// `before` is the text as it was.
///
/// # Errors
/// When the frontmatter cannot be changed so: then what is new would be seen where its sources are not.
pub(crate) fn with_sources(source: &str, before: &str, shelf: EntryFileKind) -> Result<String, ItemEditError> {
    let cited = |text: &str| -> Vec<String> {
        let entries = EntriesFile::read(text, shelf).entries;
        entries.iter().flat_map(MemoryEntry::source_paths).map(str::to_owned).collect()
    };
    let (was, now) = (cited(before), cited(source));
    let listed = Note::parse(source, "").metadata.get("sources").cloned();
    let had: Vec<String> = match &listed {
        None => Vec::new(),
        Some(serde_json::Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or(ItemEditError::Frontmatter)?
        }
        Some(_) => return Err(ItemEditError::Frontmatter),
    };
    let (cites, cited): (HashSet<&String>, HashSet<&String>) = (now.iter().collect(), was.iter().collect());
    let stays = |path: &&String| cites.contains(path) || !cited.contains(path);
    let mut sources: Vec<String> = had.iter().filter(stays).cloned().collect();
    let mut listed: HashSet<&String> = had.iter().filter(stays).collect();
    sources.extend(now.iter().filter(|path| listed.insert(path)).cloned());
    if sources == had {
        return Ok(source.to_owned());
    }
    with_property(source, "sources", &sources.into()).ok_or(ItemEditError::Frontmatter)
}

/// The text without a note in the list of its sources, unless an entry cites it.
///
/// # Errors
/// When the frontmatter cannot be changed so.
pub(crate) fn without_source(source: &str, shelf: EntryFileKind, path: &str) -> Result<String, ItemEditError> {
    let listed = Note::parse(source, "").metadata.get("sources").cloned();
    let is_cited =
        || EntriesFile::read(source, shelf).entries.iter().any(|entry| entry.source_paths().any(|at| at == path));
    let Some(serde_json::Value::Array(items)) = listed else { return Ok(source.to_owned()) };
    if !items.iter().any(|item| item == path) || is_cited() {
        return Ok(source.to_owned());
    }
    let left: Vec<_> = items.into_iter().filter(|item| item != path).collect();
    with_property(source, "sources", &left.into()).ok_or(ItemEditError::Frontmatter)
}

fn line_of(entry: &MemoryEntry) -> Result<String, ItemEditError> {
    if one_line(&entry.text).is_empty() {
        return Err(ItemEditError::Empty);
    }
    let line = written(entry);
    if line.len() > MAX_ENTRY_BYTES { Err(ItemEditError::Long) } else { Ok(line) }
}

/// Whether a line says what it is to say. A pending one says nothing of its status.
fn is_same(found: &MemoryEntry, meant: &MemoryEntry) -> bool {
    (found.kind, found.confidence, found.trust) == (meant.kind, meant.confidence, meant.trust)
        && found.text == one_line(&meant.text)
        && (&found.tags, &found.sources, &found.window) == (&meant.tags, &meant.sources, &meant.window)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\nsources: [notes/a.md]\n---\n# What is known\n\nProse: this is none.\n\n- [preference] Prefers tabs (confidence 0.9) ^e-1\n\
        - Uses Rust\n  since long\n  - nested: no\n- Uses Rust since long\n1. numbered: no\n\n## More\n\n* [decision] Ship on Friday #work\n\n```\n- code: no\n```\n\n\
        > - quoted: no\n\n- Old (superseded by e-1) ^e-2\n";

    #[test]
    fn entries_are_items_of_outermost_lists() {
        let file = EntriesFile::read(FILE, EntryFileKind::Known);
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
        assert_eq!(EntriesFile::read(FILE, EntryFileKind::Known), file);
    }

    #[test]
    fn line_ends_do_not_matter_and_a_name_given_twice_is_the_first_ones() {
        let ids = |text: &str| {
            EntriesFile::read(text, EntryFileKind::Known)
                .entries
                .iter()
                .map(|entry| (entry.id.clone(), entry.text.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(FILE), ids(&FILE.replace('\n', "\r\n")));
        let file = EntriesFile::read("-\ta ^e-1\n-\tb ^e-1\n", EntryFileKind::Known);
        assert_eq!(file.get("e-1").unwrap().text, "a");
        assert_ne!(file.entries[1].id, "e-1");
        assert_eq!(file.problems.len(), 1);
    }

    #[test]
    fn of_entries_that_take_each_others_place_the_first_counts() {
        let superseded = |lines: &[(&str, &str)]| {
            let text: String =
                lines.iter().map(|(id, by)| format!("- entry {id} (superseded by e-{by}) ^e-{id}\n")).collect();
            let file = EntriesFile::read(&(text + "- last ^e-9\n"), EntryFileKind::Known);
            let active = file.entries.iter().filter(|entry| entry.status == EntryStatus::Active);
            (active.map(|entry| entry.id.clone()).collect::<Vec<_>>(), file.problems.len())
        };
        for (lines, counts, problems) in [
            (&[("1", "2"), ("2", "1")][..], &["e-1", "e-9"][..], 1),
            (&[("1", "1")], &["e-1", "e-9"], 0),
            (&[("1", "7"), ("2", "1")], &["e-1", "e-9"], 0),
            (&[("1", "9"), ("2", "1")], &["e-9"], 0),
        ] {
            assert_eq!(superseded(lines), (counts.iter().map(ToString::to_string).collect(), problems), "{lines:?}");
        }
        // A chain of thousands is followed once.
        let long: String = (0..20_000).map(|at| format!("- n{at} (superseded by e-{}) ^e-{at}\n", at + 1)).collect();
        let file = EntriesFile::read(&long, EntryFileKind::Known);
        assert_eq!(file.entries.iter().filter(|entry| entry.status == EntryStatus::Active).count(), 1);
    }

    #[test]
    fn both_sides_of_a_conflict_are_read() {
        let file = EntriesFile::read("<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", EntryFileKind::Known);
        assert!(file.has_conflict);
        assert_eq!(file.entries.len(), 2);
    }
}

#[cfg(test)]
mod tests_of_edits {
    use proptest::prelude::*;

    use super::*;
    use crate::base::chance::proptest_config;
    use crate::base::config::MemoryKind;
    use crate::text::derive::entries::EntryStatus;

    fn with_entry(source: &str, shelf: EntryFileKind, entry: &MemoryEntry) -> Result<(String, String), ItemEditError> {
        let (text, names) = edited(source, shelf, &[EntryEdit::Add(entry.clone())])?;
        Ok((text, names.into_iter().next().unwrap()))
    }

    fn with_changed(
        source: &str,
        shelf: EntryFileKind,
        id: &str,
        entry: &MemoryEntry,
    ) -> Result<String, ItemEditError> {
        let was = EntriesFile::read(source, shelf).get(id).unwrap().clone();
        edited(source, shelf, &[EntryEdit::Change { was, now: Box::new(entry.clone()) }]).map(|(text, _)| text)
    }

    fn without_entry(source: &str, shelf: EntryFileKind, id: &str) -> Result<String, ItemEditError> {
        edited(source, shelf, &[EntryEdit::Remove(id.to_owned())]).map(|(text, _)| text)
    }

    #[test]
    fn several_come_and_go_at_once() {
        let all = ["One", "Two", "One"].map(|text| MemoryEntry::new(crate::base::config::MemoryKind::Fact, text));
        let (text, names) = edited("# K\n", EntryFileKind::Known, &all.map(EntryEdit::Add)).unwrap();
        let file = EntriesFile::read(&text, EntryFileKind::Known);
        assert_eq!(file.entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>(), names);
        assert_ne!(names[0], names[2]);
        let goes = [names[0].as_str(), names[1].as_str(), "e-none"].map(|id| EntryEdit::Remove(id.to_owned()));
        let (left, _) = edited(&text, EntryFileKind::Known, &goes).unwrap();
        assert_eq!(left, format!("# K\n\n- [fact] One ^{}\n", names[2]));
    }

    const FILE: &str = "# Known\n\nProse.\n\n- Tea ^e-1\n- Coffee\n  - because\n\nAfter.\n";

    fn entry(text: &str) -> MemoryEntry {
        MemoryEntry::new(MemoryKind::Fact, text)
    }

    #[test]
    fn exactly_one_line_comes_becomes_another_or_goes() {
        let (text, id) = with_entry(FILE, EntryFileKind::Known, &entry("Milk")).unwrap();
        assert_eq!(text, FILE.replace("  - because\n", &format!("  - because\n- [fact] Milk ^{id}\n")));
        let superseded = MemoryEntry { status: EntryStatus::Superseded("e-9".into()), ..entry("Tea") };
        let text = with_changed(FILE, EntryFileKind::Known, "e-1", &superseded).unwrap();
        assert_eq!(text, FILE.replace("- Tea ^e-1", "- [fact] Tea (superseded by e-9) ^e-1"));
        assert_eq!(without_entry(FILE, EntryFileKind::Known, "e-1").unwrap(), FILE.replace("- Tea ^e-1\n", ""));
        let coffee = EntriesFile::read(FILE, EntryFileKind::Known).entries[1].id.clone();
        assert_eq!(without_entry(FILE, EntryFileKind::Known, &coffee), Err(ItemEditError::Parent));
        let named = with_changed(FILE, EntryFileKind::Known, &coffee, &entry("Coffee")).unwrap();
        assert_eq!(named, FILE.replace("- Coffee\n", &format!("- [fact] Coffee ^{coffee}\n")));
        let crlf = FILE.replace('\n', "\r\n");
        let (text, _) = with_entry(&crlf, EntryFileKind::Known, &entry("Milk")).unwrap();
        assert!(text.ends_with("\r\n\r\nAfter.\r\n") && !text.replace("\r\n", "").contains('\n'), "{text:?}");
        let (text, id) = with_entry("", EntryFileKind::Known, &entry("Milk")).unwrap();
        assert_eq!(text, format!("- [fact] Milk ^{id}\n"));
        let (text, _) = with_entry(&text, EntryFileKind::Known, &entry("Milk")).unwrap();
        assert_eq!(EntriesFile::read(&text, EntryFileKind::Known).entries.len(), 2);
    }

    #[test]
    fn a_name_alone_keeps_no_entry() {
        let was = "- [fact] Moved to Bonn with Anna (source conversations/a.md#L3) ^e-1\n";
        let before = EntriesFile::read(was, EntryFileKind::Known);
        assert_eq!(before.entries[0].sources, ["conversations/a.md#L3"]);
        for (now, is_lost) in [
            (was.to_owned(), false),
            ("- [fact] Moved to Bonn with Anna ^e-7\n".to_owned(), false),
            (was.replace("#L3", "#L7").replace("with Anna", "with Berta"), false),
            ("- [fact] x ^e-1\n".to_owned(), true),
            (was.replace("Moved to Bonn with Anna", "Likes tea"), true),
            (was.replace(" (source conversations/a.md#L3)", "").replace("with Anna", "with Berta"), true),
            (String::new(), true),
        ] {
            let lost = lost_entries(&before, &EntriesFile::read(&now, EntryFileKind::Known)).len();
            assert_eq!(lost == 1, is_lost, "{now}");
        }
    }

    #[test]
    fn the_name_of_one_that_is_gone_but_is_named_is_not_given_again() {
        let (text, id) = with_entry("", EntryFileKind::Known, &entry("Green tea")).unwrap();
        let tea = format!("- [fact] Tea (superseded by {id}) ^e-1\n");
        let (again, other) = with_entry(&tea, EntryFileKind::Known, &entry("Green tea")).unwrap();
        assert_ne!(other, id);
        assert_eq!(EntriesFile::read(&again, EntryFileKind::Known).get("e-1").unwrap().status, EntryStatus::Active);
        assert!(EntriesFile::read(&tea, EntryFileKind::Known).is_taken(&id) && !text.is_empty());
    }

    #[test]
    fn what_is_for_a_person_is_left() {
        let conflict = "<<<<<<< HEAD\n- a ^e-1\n=======\n- b\n>>>>>>> x\n";
        assert_eq!(with_entry(conflict, EntryFileKind::Known, &entry("x")), Err(ItemEditError::Conflict));
        assert_eq!(without_entry("- a %%why%% ^e-1\n", EntryFileKind::Known, "e-1"), Err(ItemEditError::Mixed));
        assert_eq!(without_entry(FILE, EntryFileKind::Known, "e-7").unwrap(), FILE);
        assert_eq!(with_entry(FILE, EntryFileKind::Known, &entry(" \n")), Err(ItemEditError::Empty));
        assert_eq!(with_entry(FILE, EntryFileKind::Known, &entry(&"x".repeat(9000))), Err(ItemEditError::Long));
        for text in ["b <!-- c", "b %% c", "b ``` c", "[b]: c"] {
            let source = "- a ^e-1\n- d %%x%% ^e-2\n";
            match with_changed(source, EntryFileKind::Known, "e-1", &entry(text)) {
                Ok(text) => assert!(EntriesFile::read(&text, EntryFileKind::Known).get("e-2").is_some(), "{text}"),
                Err(error) => assert_eq!(error, ItemEditError::Hidden),
            }
        }
        assert_eq!(with_entry("```\n- code\n", EntryFileKind::Known, &entry("x")), Err(ItemEditError::Hidden));
    }

    #[test]
    fn sources_are_listed_while_an_entry_cites_them() {
        let cites = |path: &str| MemoryEntry { sources: vec![path.to_owned()], ..entry(path) };
        let (one, first) = with_entry("# K\n", EntryFileKind::Known, &cites("notes/a.md#L1")).unwrap();
        let one = with_sources(&one, "# K\n", EntryFileKind::Known).unwrap();
        assert!(one.starts_with("---\nsources: [\"notes/a.md\"]\n---\n# K\n"), "{one}");
        let (two, _) = with_entry(&one, EntryFileKind::Known, &cites("notes/b.md#L2-L3")).unwrap();
        let two = with_sources(&two, &one, EntryFileKind::Known).unwrap();
        assert!(two.contains("sources: [\"notes/a.md\",\"notes/b.md\"]"), "{two}");
        let by_hand = two.replace("\"notes/a.md\"", "mine.md, \"notes/a.md\"");
        let without = without_entry(&by_hand, EntryFileKind::Known, &first).unwrap();
        let without = with_sources(&without, &by_hand, EntryFileKind::Known).unwrap();
        assert!(without.contains("sources: [\"mine.md\",\"notes/b.md\"]"), "{without}");
        let odd = "+++\nx = 1\n+++\n";
        let (text, _) = with_entry(odd, EntryFileKind::Known, &cites("notes/a.md")).unwrap();
        assert_eq!(with_sources(&text, odd, EntryFileKind::Known), Err(ItemEditError::Frontmatter));
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn any_entry_can_be_put_anywhere_and_taken_out_again(
            source in "([-#*> ab:~`\\[\\]\n]|- a \\^e-1\n|## n\n|\r\n){0,30}",
            text in "\\PC{1,12}",
        ) {
            if let Ok((with, id)) = with_entry(&source, EntryFileKind::Known, &entry(&text)) {
                let file = EntriesFile::read(&with, EntryFileKind::Known);
                prop_assert_eq!(&file.get(&id).unwrap().text, &entry(&text).text);
                let without = without_entry(&with, EntryFileKind::Known, &id).unwrap();
                let (was, now) = (EntriesFile::read(&source, EntryFileKind::Known), EntriesFile::read(&without, EntryFileKind::Known));
                prop_assert_eq!(
                    was.entries.iter().map(|entry| &entry.text).collect::<Vec<_>>(),
                    now.entries.iter().map(|entry| &entry.text).collect::<Vec<_>>()
                );
            }
        }
    }
}
