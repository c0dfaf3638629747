//! What was written, captured and decided on a day or in a week, from the notes of that time, one after the other.

use std::collections::BTreeMap;

use super::make::Found;
use super::text::{CitedLine, ConversationTurn, cited, sections_body};
use crate::note::Note;

/// The heading of how much there was: of what was only captured, that is all.
pub(crate) const COUNTED: &str = "Written and captured";
/// Maximum number of headings.
const MAX_NAMED: usize = 12;
/// Maximum number of headings of one note.
const MAX_OF_NOTE: usize = 3;
/// Maximum number of notes that a count cites.
const MAX_CITED: usize = 5;
/// Maximum length of what is read of one note, in bytes.
const MAX_NOTE_BYTES: usize = 262_144;

/// What a day or a week was, each line with what it was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DayDigest {
    /// How much there is of each collection.
    pub(crate) counts: Vec<CitedLine>,
    /// Headings of notes that were written.
    pub(crate) headings: Vec<CitedLine>,
    /// What was decided.
    pub(crate) decisions: Vec<CitedLine>,
    /// What is to be done.
    pub(crate) actions: Vec<CitedLine>,
}

impl DayDigest {
    /// Its parts with their headings, in order.
    pub(crate) fn sections(&self) -> [(&'static str, &[CitedLine]); 4] {
        [
            (COUNTED, &self.counts),
            ("Headings", &self.headings),
            ("Decisions", &self.decisions),
            ("Action items", &self.actions),
        ]
    }

    /// Its lists of what was said, to take lines out of.
    pub(crate) fn lists(&mut self) -> [&mut Vec<CitedLine>; 3] {
        [&mut self.headings, &mut self.decisions, &mut self.actions]
    }

    /// Whether there was nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

/// The body of a digest.
pub(crate) fn digest_body(digest: &DayDigest) -> String {
    sections_body(digest.sections())
}

/// Makes a digest of notes that it is given one by one.
#[derive(Debug, Default)]
pub(crate) struct DigestMaker {
    collections: BTreeMap<String, CollectionDay>,
    headings: Vec<CitedLine>,
    found: Found,
}

/// What there was of a collection.
#[derive(Debug, Default)]
struct CollectionDay {
    new: usize,
    changed: usize,
    /// Turns, or lines of the lists that capture keeps.
    entries: usize,
    paths: Vec<String>,
}

impl DigestMaker {
    /// Adds what was said in a conversation in that time.
    pub(crate) fn add_turns(&mut self, (collection, path): (&str, &str), is_new: bool, turns: &[ConversationTurn<'_>]) {
        self.collection(collection, path, is_new).entries += turns.len();
        for turn in turns.iter().filter(|turn| !turn.text.is_empty()) {
            let place = cited(path, turn.lines);
            self.found.read(turn.speaker, &turn.text, &mut |_| place.clone());
        }
    }

    /// Adds a note that was written in that time, as it is now.
    pub(crate) fn add_note(&mut self, (collection, path): (&str, &str), is_new: bool, note: &Note, source: &str) {
        self.collection(collection, path, is_new);
        let headings = note.headings.iter().filter(|heading| heading.level <= 2 && !heading.text.is_empty());
        for heading in headings.take(MAX_OF_NOTE) {
            if self.headings.len() < MAX_NAMED {
                self.headings.push(CitedLine::of(&heading.text, vec![cited(path, (heading.line, heading.line))]));
            }
        }
        let body = note.body.start..source.floor_char_boundary(note.body.end.min(note.body.start + MAX_NOTE_BYTES));
        let text = without_comments(note, source, body.clone());
        let first = source[..body.start].matches('\n').count() + 1;
        self.found.read("", &text, &mut |line| cited(path, (first + line, first + line)));
    }

    /// Adds a note of which nothing is told but that there is one.
    pub(crate) fn add_counted(&mut self, (collection, path): (&str, &str), is_new: bool) {
        self.collection(collection, path, is_new);
    }

    /// Adds a list of what was captured on a day: a line an event.
    pub(crate) fn add_list(&mut self, (collection, path): (&str, &str), note: &Note, source: &str) {
        let entries = source[note.body.clone()].lines().filter(|line| line.starts_with("- ")).count();
        self.collection(collection, path, true).entries += entries;
    }

    fn collection(&mut self, collection: &str, path: &str, is_new: bool) -> &mut CollectionDay {
        let day = self.collections.entry(collection.to_owned()).or_default();
        *(if is_new { &mut day.new } else { &mut day.changed }) += 1;
        if day.paths.len() < MAX_CITED {
            day.paths.push(path.to_owned());
        }
        day
    }

    /// What it came to.
    pub(crate) fn finish(self) -> DayDigest {
        let Self { collections, headings, found } = self;
        let counts = collections.into_iter().map(|(name, day)| day.line(&name)).collect();
        DayDigest { counts, headings, decisions: found.decisions.lines(), actions: found.actions.lines() }
    }
}

impl CollectionDay {
    fn line(self, name: &str) -> CitedLine {
        let part = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let entries = if name == crate::derive::CONVERSATIONS { "turns" } else { "entries" };
        let parts = [part(self.new, "new"), part(self.changed, "changed"), part(self.entries, entries)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        CitedLine::of(&format!("{name}: {}", parts.join(", ")), self.paths)
    }
}

/// A part of a source with blanks in the place of comments; its lines stay where they are.
fn without_comments(note: &Note, source: &str, span: std::ops::Range<usize>) -> String {
    let mut text = String::with_capacity(span.len());
    let mut at = span.start;
    for comment in note.comments.iter().filter(|comment| comment.end > span.start && comment.start < span.end) {
        text.push_str(source.get(at..comment.start.max(at)).unwrap_or_default());
        let hidden = &source[comment.start.max(at)..comment.end.min(span.end).max(at)];
        text.extend(hidden.chars().filter(|character| *character == '\n'));
        at = comment.end.min(span.end).max(at);
    }
    text.push_str(&source[at..span.end]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::summary::{summary_items, turns_of};

    const NOTE: &str = "---\ntitle: Trip\n---\n# Trip\n\n%% we decided\nto hide %%\nWe decided to visit Lisbon.\n\n## Packing\n\n- [ ] buy a raincoat\n- [x] buy shoes\n\n```\nlisbon lisbon\n```\n";
    const TALK: &str = "**10:00 · user:** Lisbon in spring?\n\n**10:01 · assistant:** I'll look for trains.\n";

    #[test]
    fn a_day_is_told_with_a_citation_for_each_line() {
        let mut maker = DigestMaker::default();
        let note = Note::parse(NOTE, "trip");
        maker.add_note(("notes", "notes/trip.md"), true, &note, NOTE);
        maker.add_turns(("conversations", "conversations/x.md"), true, &turns_of(&Note::parse(TALK, "x"), TALK));
        let list = "- 10:00 · web · \"a\"\n- 10:01 · web · \"b\"\n";
        maker.add_list(("searches", "searches/2026-01-05.md"), &Note::parse(list, "x"), list);
        let digest = maker.finish();
        let body = digest_body(&digest);
        assert_eq!(
            body.split("## Decisions").next().unwrap(),
            "## Written and captured\n\n- conversations: 1 new, 2 turns (conversations/x.md)\n- notes: 1 new (notes/trip.md)\n\
             - searches: 1 new, 2 entries (searches/2026-01-05.md)\n\n## Headings\n\n- Trip (notes/trip.md#L4)\n\
             - Packing (notes/trip.md#L10)\n\n"
        );
        assert_eq!(
            body.split_once("## Decisions").unwrap().1,
            "\n\n- We decided to visit Lisbon. (notes/trip.md#L8)\n\n## Action items\n\n- buy a raincoat (notes/trip.md#L12)\n\
             - assistant: I'll look for trains. (conversations/x.md#L3)\n"
        );
        let sources = ["notes/trip.md", "conversations/x.md", "searches/2026-01-05.md"].map(str::to_owned);
        let lines = digest.sections().iter().map(|(_, lines)| lines.len()).sum::<usize>();
        assert_eq!(summary_items(&body, &sources).len(), lines, "each line cites");
        assert!(!body.contains("hide"), "{body}");
    }

    #[test]
    fn an_empty_day_says_nothing() {
        let digest = DigestMaker::default().finish();
        assert!(digest.is_empty());
        assert_eq!(digest_body(&digest), "");
    }
}
