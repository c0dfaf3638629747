//! Where what is read goes: it is cleaned there, cut into what capture takes, and counted. Of a source that is read again and again each
//! thing is handed over and counted once, and what is left out of a file as that was read last.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::clean::{THOUGHT, is_model, is_program, said};
use super::conversations::{SPEAKER, TOOLS, first_line, is_tool, written};
use super::kinds::SourceKind;
use crate::base::state::hash_of;
use crate::serve::wire::ImportNote;
use crate::text::derive::turns_of_thought;

/// What is handed over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ImportItem {
    /// An event, as programs send them.
    Event(Value),
    /// A note.
    Note(ImportNote),
}

/// Maximum number of remarks that are kept.
const MAX_REMARKS: usize = 20;

/// What was found, and what of it was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImportTally {
    /// Conversations that have a turn.
    pub conversations: usize,
    /// Turns.
    pub turns: usize,
    /// Pages.
    pub bookmarks: usize,
    /// Notes.
    pub notes: usize,
    /// How often something was left out, by the reason.
    pub left_out: BTreeMap<String, usize>,
    /// What else there is to say, as sentences.
    pub remarks: Vec<String>,
}

impl ImportTally {
    /// Keeps a remark, where it is new and there are few.
    fn remark(&mut self, remark: String) {
        if self.remarks.len() < MAX_REMARKS && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Adds what was found later.
    pub(crate) fn add(&mut self, later: Self) {
        self.conversations += later.conversations;
        self.turns += later.turns;
        self.bookmarks += later.bookmarks;
        self.notes += later.notes;
        for (reason, times) in later.left_out {
            *self.left_out.entry(reason).or_default() += times;
        }
        later.remarks.into_iter().for_each(|remark| self.remark(remark));
    }
}

/// Maximum length of what is handed over as one turn, or as one remark on a page.
const MAX_TEXT_BYTES: usize = 48 * 1024;
/// Maximum length of a turn, in bytes. What is longer is cut: it is a file that somebody has put into a conversation.
const MAX_TURN_BYTES: usize = 2 << 20;
/// Why the rest of a longer one is left out.
pub(super) const CUT_TURNS: &str = "the rest of turns of more than 2 MB";
/// Maximum length of a note.
pub(super) const MAX_NOTE_BYTES: usize = 512 << 10;
/// Maximum length of one as it is handed over, where control characters take six bytes each: a request may have a mebibyte.
const MAX_HANDED_BYTES: usize = 960 << 10;
/// Maximum length of the place of a note.
const MAX_PLACE_BYTES: usize = 2000;
/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 400;

/// A conversation, as it was read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadConversation {
    /// Tells it from all others; `None` where it says none.
    pub(super) session: Option<String>,
    pub(super) title: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub(super) at_ms: Option<i64>,
    pub(super) turns: Vec<ReadTurn>,
}

impl ReadConversation {
    /// What tells one from others that says no name: when it began, and what was said first. The same with more turns has the same.
    pub(super) fn beginning(&self) -> String {
        let is_said = |turn: &&ReadTurn| !is_program(&turn.role) && !turn.text.trim().is_empty();
        let first = self.turns.iter().find(is_said).or(self.turns.first());
        let at_ms = self.at_ms.or_else(|| first.and_then(|turn| turn.at_ms));
        let what = json!([at_ms, first.map(|turn| (&turn.role, &turn.text))]).to_string();
        blake3::hash(what.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// A turn, as it was read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadTurn {
    /// Tells it from all others of its conversation; made of what it says, where there is none.
    pub(super) id: Option<String>,
    pub(super) role: String,
    /// What the tool is called whose answer it is.
    pub(super) tool: Option<String>,
    pub(super) at_ms: Option<i64>,
    pub(super) text: String,
}

/// Where what is read goes.
pub(crate) struct ImportSink<'s> {
    take: &'s mut dyn FnMut(ImportItem) -> ControlFlow<()>,
    /// What was found so far.
    pub tally: ImportTally,
    /// What came before of a source that is read again and again.
    pub repeats: Option<&'s mut ImportRepeats>,
    /// Whether it is one session, read as a whole: a turn that turned out to be a thought is handed over without a text, so that those behind it
    /// keep their numbers.
    pub is_session: bool,
    is_over: bool,
}

impl<'s> ImportSink<'s> {
    /// Hands everything to `take`, until that has enough.
    pub(crate) fn new(take: &'s mut dyn FnMut(ImportItem) -> ControlFlow<()>) -> Self {
        Self { take, tally: ImportTally::default(), repeats: None, is_session: false, is_over: false }
    }

    /// Reads a file of the source, called by its name.
    pub(super) fn of_file(&mut self, name: &str, read: impl FnOnce(&mut Self)) {
        let others = std::mem::take(&mut self.tally);
        read(self);
        let found = std::mem::replace(&mut self.tally, others);
        match &mut self.repeats {
            Some(repeats) => _ = repeats.files.insert(name.to_owned(), found),
            None => self.tally.add(found),
        }
    }

    /// Whether nothing more is taken.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Counts what is left out.
    pub(super) fn leave_out(&mut self, reason: &str) {
        self.leave_out_times(reason, 1);
    }

    /// The same, so many times.
    pub(super) fn leave_out_times(&mut self, reason: &str, times: usize) {
        if times > 0 {
            *self.tally.left_out.entry(reason.to_owned()).or_default() += times;
        }
    }

    /// Says something besides.
    pub(super) fn remark(&mut self, remark: String) {
        self.tally.remark(remark);
    }

    /// Hands over what did not come before as it is.
    fn give(&mut self, item: ImportItem) {
        if self.repeats.as_mut().is_none_or(|repeats| repeats.is_new(&item)) {
            self.is_over |= (self.take)(item).is_break();
        }
    }

    /// A conversation: what somebody said of it, in its order.
    pub(super) fn conversation(&mut self, kind: SourceKind, conversation: ReadConversation) {
        let ReadConversation { session, title, mut at_ms, turns } = conversation;
        let session = session_name(kind, &session.unwrap_or_default());
        let title = title.map(|title| line(&title)).filter(|title| !title.is_empty());
        let (mut times, mut said_any) = (BTreeMap::<String, usize>::new(), false);
        let spoken: Vec<(&str, &str)> = turns.iter().map(|turn| (turn.role.as_str(), turn.text.as_str())).collect();
        let thought = turns_of_thought(&spoken);
        for (turn, is_thought) in turns.into_iter().zip(thought) {
            if self.is_over {
                return;
            }
            let is_tool = is_tool(&turn.role);
            if is_program(&turn.role) && !is_tool {
                self.leave_out("what programs said (system prompts, notices)");
                continue;
            }
            let is_place = is_thought && is_model(&turn.role);
            if is_place {
                self.leave_out(THOUGHT);
                if !self.is_session {
                    continue;
                }
            }
            let (text, rules) = said(Some(kind), &turn.role, &turn.text);
            rules.iter().for_each(|rule| self.leave_out(rule));
            let mut text = plain(&text);
            if is_tool {
                // Where nobody has said anything, nobody has asked for it.
                let line = first_line(turn.tool.as_deref(), &text).filter(|_| said_any);
                if line.as_ref().is_none_or(|(_, more)| *more) {
                    self.leave_out(TOOLS);
                }
                let Some((line, _)) = line else { continue };
                text = line;
            }
            if text.trim().is_empty() {
                if rules.is_empty() {
                    self.leave_out("turns without a text");
                }
                continue;
            }
            at_ms = turn.at_ms.or(at_ms);
            let role = if is_tool { SPEAKER.into() } else { line(&turn.role) };
            let role = Some(role).filter(|role| !role.is_empty()).unwrap_or_else(|| "unknown".into());
            // The same said twice is two turns: their order tells them apart.
            let id = turn.id.map(|id| name(&id)).filter(|id| !id.is_empty()).unwrap_or_else(|| {
                let what = json!([role, turn.at_ms, text]).to_string();
                let what = blake3::hash(what.as_bytes()).to_hex()[..32].to_owned();
                let nth = times.entry(what.clone()).or_default();
                *nth += 1;
                format!("{what}-{nth}")
            });
            if !said_any {
                said_any = true;
                self.tally.conversations += 1;
            }
            let kept = &text[..text.floor_char_boundary(MAX_TURN_BYTES)];
            if kept.len() < text.len() {
                self.leave_out(CUT_TURNS);
            }
            for (at, part) in parts(kept).into_iter().enumerate() {
                let part = if is_place { "" } else { part };
                let id = if at == 0 { id.clone() } else { format!("{id}/{}", at + 1) };
                let mut event = json!({ "type": "message", "session": session, "role": role, "text": part, "id": id });
                if let Some(time) = at_ms.and_then(written) {
                    event["time"] = time.into();
                }
                if let Some(title) = &title {
                    event["title"] = title.as_str().into();
                }
                self.give(ImportItem::Event(event));
            }
            self.tally.turns += 1;
        }
        if !said_any {
            self.leave_out("empty conversations");
        }
    }

    /// A page that was kept.
    pub(super) fn bookmark(&mut self, url: &str, title: &str, note: &str, at_ms: Option<i64>) {
        let url = url.trim();
        if !is_address(url, &["http:", "https:"]) || url.len() > 8000 || url.contains(char::is_control) {
            return self.leave_out("bookmarks that are not web addresses (scripts, browser pages)");
        }
        let title = Some(line(title))
            .filter(|title| !title.is_empty())
            .unwrap_or_else(|| url[..url.floor_char_boundary(MAX_NAME_BYTES)].to_owned());
        let id = blake3::hash(json!([url, title, note]).to_string().as_bytes()).to_hex()[..32].to_owned();
        let mut event = json!({ "type": "bookmark", "url": url, "title": title, "id": id });
        let note = plain(note);
        let note = note[..note.floor_char_boundary(MAX_TEXT_BYTES)].trim();
        if !note.is_empty() {
            event["note"] = note.into();
        }
        if let Some(time) = at_ms.and_then(written) {
            event["time"] = time.into();
        }
        self.give(ImportItem::Event(event));
        self.tally.bookmarks += 1;
    }

    /// A note. `id` tells it from all others of its kind.
    pub(super) fn note(&mut self, id: &str, title: &str, text: String) {
        if text.trim().is_empty() {
            return self.leave_out("notes without a text");
        }
        if text.len() > MAX_NOTE_BYTES || json!(text).to_string().len() > MAX_HANDED_BYTES {
            return self.leave_out("notes of more than 512 kB");
        }
        let id =
            if id.len() > MAX_PLACE_BYTES { blake3::hash(id.as_bytes()).to_hex().to_string() } else { id.to_owned() };
        self.give(ImportItem::Note(ImportNote { id, title: line(title), text }));
        self.tally.notes += 1;
    }
}

/// Whether a text is an address of one of these schemes, and stays one link in Markdown.
pub(crate) fn is_address(url: &str, schemes: &[&str]) -> bool {
    let known = schemes.iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    });
    known && !url.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"'))
}

/// What a session is called here. Transcripts of Claude Code have the name by which its hook sends them, so that what was captured already
/// does not come again.
fn session_name(kind: SourceKind, session: &str) -> String {
    let session = name(session);
    match kind {
        SourceKind::ClaudeCode if !session.is_empty() => session,
        _ => format!("{}/{session}", kind.name()),
    }
}

/// A name on one line, and a digest where it is too long for one.
fn name(text: &str) -> String {
    let name = line(text);
    if name.len() < text.trim().len() && text.len() > MAX_NAME_BYTES {
        return blake3::hash(text.as_bytes()).to_hex().to_string();
    }
    name
}

/// A text on one line, of a length that a name may have.
fn line(text: &str) -> String {
    let line: String = text.chars().map(|c| if is_mark(c) || c == '\n' { ' ' } else { c }).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(MAX_NAME_BYTES)].trim_end().to_owned()
}

/// A text without control characters.
fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}'], "\n");
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_mark(*c)).collect()
}

fn is_mark(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// A text in parts that capture takes, cut at lines where there are some. None is blank.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while rest.len() > MAX_TEXT_BYTES {
        let most = rest.floor_char_boundary(MAX_TEXT_BYTES);
        let at = rest[..most].rfind('\n').filter(|at| *at > 0).unwrap_or(most);
        let (part, more) = rest.split_at(at);
        parts.push(part);
        rest = more.trim_start_matches('\n');
    }
    parts.push(rest);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// What came so far of a source that is read again and again.
#[derive(Debug, Default)]
pub(crate) struct ImportRepeats {
    /// What was found in each file when it was read last.
    files: BTreeMap<String, ImportTally>,
    /// Digests of what tells what was handed over from all else, each with that of what it said.
    given: HashMap<u64, u64>,
}

impl ImportRepeats {
    /// What was handed over is not kept: all that is read is handed over again.
    pub(crate) fn give_up(&mut self) {
        self.given.clear();
    }

    /// Adds to a tally what was found in the files.
    pub(crate) fn tell(self, tally: &mut ImportTally) {
        self.files.into_values().for_each(|found| tally.add(found));
    }

    /// Notes what is handed over; says whether it did not come before as it is. Of events with the same id the first counts, whatever
    /// it says.
    fn is_new(&mut self, item: &ImportItem) -> bool {
        let (what, said) = match item {
            ImportItem::Event(event) => (json!([event["session"], event["id"]]), ""),
            ImportItem::Note(note) => (json!(["note", note.id, ""]), note.text.as_str()),
        };
        let said = hash_of(&[said.as_bytes()]);
        self.given.insert(hash_of(&[what.to_string().as_bytes()]), said) != Some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_kept_is_new_again_and_a_note_that_went_back_has_changed() {
        let mut repeats = ImportRepeats::default();
        let event = |text: &str| ImportItem::Event(json!({ "session": "s", "id": "1", "text": text }));
        let note =
            |text: &str| ImportItem::Note(ImportNote { id: "a".into(), title: "A".into(), text: text.to_owned() });
        assert_eq!((repeats.is_new(&event("x")), repeats.is_new(&event("y"))), (true, false));
        repeats.give_up();
        assert!(repeats.is_new(&event("x")));
        assert!(!repeats.is_new(&event("z")));
        let fates = ["1", "1", "2", "1"].map(|text| repeats.is_new(&note(text)));
        assert_eq!(fates, [true, false, true, true]);
        let counts = |times: usize| BTreeMap::from([("lines".to_owned(), times)]);
        let mut tally = ImportTally { left_out: counts(4), ..ImportTally::default() };
        let mut take = |_| ControlFlow::Continue(());
        for times in [2, 1] {
            let mut sink = ImportSink { repeats: Some(&mut repeats), ..ImportSink::new(&mut take) };
            sink.of_file("a.jsonl", |sink| sink.leave_out_times("lines", times));
        }
        repeats.tell(&mut tally);
        assert_eq!(tally.left_out, counts(5), "of a file counts what was left out last");
    }
}
