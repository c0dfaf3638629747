//! What came of a source that is read again and again: each thing is handed over and counted once, and what is left out of a file as that was
//! read last.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::item::ImportItem;
use super::read::ImportTally;

/// What came so far.
#[derive(Debug, Default)]
pub(crate) struct ImportRepeats {
    came: CameBefore,
    /// What is read now, until it is known to be kept.
    now: CameBefore,
}

#[derive(Debug, Default)]
struct CameBefore {
    /// Digests of what tells a thing from others, each with that of what it said.
    things: HashMap<u64, u64>,
    /// What was left out of each file, and what is to be said of it.
    files: HashMap<String, (BTreeMap<String, usize>, Vec<String>)>,
}

/// Whether a thing came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// It is new.
    New,
    /// It came, and said something else.
    Changed,
    /// It came as it is.
    Before,
}

impl ImportRepeats {
    /// What was read is kept.
    pub(crate) fn settle(&mut self) {
        let CameBefore { things, files } = std::mem::take(&mut self.now);
        self.came.things.extend(things);
        self.came.files.extend(files);
    }

    /// What was read is not kept: it is new the next time.
    pub(crate) fn give_up(&mut self) {
        self.now = CameBefore::default();
    }

    /// Adds to a tally what was left out of the files, and what is to be said of them.
    pub(crate) fn tell(&self, tally: &mut ImportTally) {
        for (left_out, remarks) in self.came.files.values() {
            tally.add(ImportTally { left_out: left_out.clone(), remarks: remarks.clone(), ..ImportTally::default() });
        }
    }

    /// Notes what is handed over. Of events with the same id the first counts, whatever it says.
    pub(super) fn note(&mut self, item: &ImportItem) -> Came {
        match item {
            ImportItem::Event(event) => self.note_thing(&json!([event["session"], event["id"]]).to_string(), ""),
            ImportItem::Note(note) => self.note_thing(&json!(["note", note.id, ""]).to_string(), &note.text),
        }
    }

    /// Notes that somebody said something in a conversation.
    pub(super) fn note_conversation(&mut self, session: &str) -> Came {
        self.note_thing(&json!(["conversation", session, "", ""]).to_string(), "")
    }

    /// Notes what is left out of a file.
    pub(super) fn note_file(&mut self, name: &str, left_out: BTreeMap<String, usize>, remarks: Vec<String>) {
        self.now.files.insert(name.to_owned(), (left_out, remarks));
    }

    fn note_thing(&mut self, what: &str, said: &str) -> Came {
        let (what, said) = (short(what), short(said));
        match self.now.things.insert(what, said).or_else(|| self.came.things.get(&what).copied()) {
            None => Came::New,
            Some(before) if before == said => Came::Before,
            Some(_) => Came::Changed,
        }
    }
}

/// A digest of a text: 64 bits, as the state has of what was imported.
fn short(text: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ImportNote;

    #[test]
    fn what_was_not_kept_is_new_again_and_a_note_that_went_back_has_changed() {
        let mut repeats = ImportRepeats::default();
        let event = |text: &str| ImportItem::Event(json!({ "session": "s", "id": "1", "text": text }));
        let note =
            |text: &str| ImportItem::Note(ImportNote { id: "a".into(), title: "A".into(), text: text.to_owned() });
        assert_eq!((repeats.note(&event("x")), repeats.note(&event("y"))), (Came::New, Came::Before));
        repeats.give_up();
        assert_eq!(repeats.note(&event("x")), Came::New);
        repeats.settle();
        assert_eq!(repeats.note(&event("z")), Came::Before);
        let fates = ["1", "1", "2", "1"].map(|text| repeats.note(&note(text)));
        assert_eq!(fates, [Came::New, Came::Before, Came::Changed, Came::Changed]);
        let counts = |times: usize| BTreeMap::from([("lines".to_owned(), times)]);
        for times in [2, 1] {
            repeats.note_file("a.jsonl", counts(times), vec![]);
            repeats.settle();
        }
        let mut tally = ImportTally { left_out: counts(4), ..ImportTally::default() };
        repeats.tell(&mut tally);
        assert_eq!(tally.left_out, counts(5), "of a file counts what was left out last");
    }
}
