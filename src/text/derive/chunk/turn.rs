//! The turns of a conversation.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::split::Piece;
use crate::text::derive::words::fold;
use crate::text::note::Note;

/// The collection whose notes are conversations.
pub(crate) const CONVERSATIONS: &str = "conversations";

/// Whether the notes of a collection are what somebody said: conversations, and the sessions of other programs (`[[sessions]]`).
pub(crate) fn is_said(collection: &str) -> bool {
    collection == CONVERSATIONS || collection.starts_with("sessions-")
}

/// Whether a block begins a turn: `**18:32 · Maya:** …`, or with the date before the time.
pub(crate) fn begins(collection: &str, block: &str) -> bool {
    collection == CONVERSATIONS && speaker(block).is_some()
}

/// Who speaks in the turn that a text begins with, if it does.
fn speaker(block: &str) -> Option<&str> {
    turn_start(block).map(|start| start.speaker)
}

/// What a turn begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnStart<'t> {
    /// `2026-01-05`, where the turn says it.
    pub(crate) date: Option<&'t str>,
    /// `18:32`.
    pub(crate) time: &'t str,
    /// The name, or the role.
    pub(crate) speaker: &'t str,
    /// What is said on the same line.
    pub(crate) rest: &'t str,
}

/// What a block begins with, where that is a turn.
pub(crate) fn turn_start(block: &str) -> Option<TurnStart<'_>> {
    static START: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"\A(?:([0-9]{4}-[0-9]{2}-[0-9]{2}) )?([0-9]{2}:[0-9]{2}) · ([^*]*):\*\*(.*)";
        Regex::new(pattern).expect("a test uses it")
    });
    let found = START.captures(block.strip_prefix("**")?.lines().next()?)?;
    let part = |at: usize| found.get(at).map(|part| part.as_str());
    Some(TurnStart { date: part(1), time: part(2)?, speaker: part(3)?, rest: part(4)? })
}

/// The length of what a turn begins with, `**18:32 · Maya:**`, where a line does so.
pub(crate) fn mark(line: &str) -> Option<usize> {
    turn_start(line).map(|start| start.rest.as_ptr() as usize - line.as_ptr() as usize)
}

/// The parts of a block of a captured conversation, each of which begins with a turn, but for what is before the first. A
/// fence or a tag that the person opened among the turns, and left open, would else take in all that are said later.
pub(super) fn parts(collection: &str, note: &Note, source: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let source_of = || note.metadata.get("source").and_then(Value::as_str);
    let is_captured = || matches!(source_of(), Some("capture" | "session"));
    let mut parts = Vec::new();
    let mut start = span.start;
    if collection == CONVERSATIONS && is_captured() {
        let mut at = span.start;
        for line in source[span.clone()].split_inclusive('\n') {
            if at > start && speaker(line).is_some() {
                parts.push(start..at);
                start = at;
            }
            at += line.len();
        }
    }
    parts.push(start..span.end);
    parts
}

/// Maximum length of a speaker's term, in characters. A name that is longer is cut.
const MAX_TERM_CHARS: usize = 200;

/// The term of a speaker, given the name. Case and accents do not count.
pub(crate) fn speaker_term(name: &str) -> String {
    let words = fold(name.trim());
    let term = words.split_whitespace().collect::<Vec<_>>().join("_");
    term.chars().filter(|character| !character.is_control()).take(MAX_TERM_CHARS).collect()
}

/// Where a text begins a turn, as lines; what is blank before it does not count.
fn turns(body: &str) -> impl Iterator<Item = (usize, &str)> {
    body.trim_start().lines().enumerate().filter_map(|(at, line)| Some((at, speaker(line)?)))
}

/// Whether a chunk's body goes on with a turn that began before it, if one did, and whether one begins in it: its speakers are those of
/// the turns in it and, where it goes on, the last one before. (Of none but conversations is this of any use.)
pub(crate) fn goes_on_and_begins(body: &str) -> (bool, bool) {
    let first = turns(body).next();
    (first.is_none_or(|(line, _)| line > 0), first.is_some())
}

/// Who speaks in the chunks of a note, which come one after the other: a turn goes on until the next begins.
pub(crate) struct Speakers {
    is_conversation: bool,
    now: Option<String>,
}

impl Speakers {
    /// Of a note in a collection.
    pub(crate) fn of(collection: &str) -> Self {
        Self { is_conversation: collection == CONVERSATIONS, now: None }
    }

    /// The terms of those who speak in the next chunk, given its body; each once.
    pub(crate) fn next(&mut self, body: &str) -> Vec<String> {
        if !self.is_conversation {
            return Vec::new();
        }
        let (goes_on, _) = goes_on_and_begins(body);
        let mut terms: Vec<String> = self.now.clone().filter(|_| goes_on).into_iter().collect();
        for (_, name) in turns(body) {
            let term = speaker_term(name);
            if !terms.contains(&term) {
                terms.push(term.clone());
            }
            self.now = Some(term);
        }
        terms
    }
}

/// Where pieces begin a turn: the ends of the runs of pieces that belong together.
pub(super) fn ends(pieces: &[Piece], turns: &[usize]) -> Vec<usize> {
    let starts = |at: usize| turns.binary_search(&pieces[at].span.start).is_ok();
    (1..pieces.len()).filter(|at| starts(*at)).chain([pieces.len()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_other_programs_are_what_was_said() {
        assert!(["conversations", "sessions-ada"].into_iter().all(is_said) && !is_said("notes"));
    }

    #[test]
    fn a_turn_goes_on_until_the_next_begins() {
        let mut speakers = Speakers::of("conversations");
        let mut said = |text: &str| speakers.next(text).join(" ");
        assert_eq!(said("A word before."), "");
        assert_eq!(said("**18:32 · Code Agént:** Hello"), speaker_term(" code  agent"));
        assert_eq!(said("> and more"), speaker_term("code agent"));
        assert_eq!(said("**18:33 · user:** Hello"), speaker_term("User"));
        assert!(Speakers::of("notes").next("**18:32 · user:** Hello").is_empty());
        assert_eq!(speaker_term(&"a".repeat(1000)).len(), MAX_TERM_CHARS);
    }

    #[test]
    fn who_spoke_later_in_a_chunk_was_nobody() {
        let mut speakers = Speakers::of("conversations");
        let mut said = |text: &str| speakers.next(text).join(" ");
        assert_eq!(said("![[a.png]]\n\n**10:00 · Ann:** Hello\n**10:01 · Bob:** Hello"), "ann bob");
        assert_eq!(said("and more"), "bob", "the last one goes on");
        assert_eq!(said("still\n**10:02 · Cleo:** Hello\n**10:03 · Bob:** Yes"), "bob cleo");
        assert_eq!(said("\n\n**10:04 · Ann:** Hello\n**10:05 · Ann:** Hello"), "ann");
        assert_eq!(said(""), "ann", "a heading alone");
        assert_eq!(goes_on_and_begins("**10:00 · Ann:** Hello"), (false, true));
        assert_eq!(goes_on_and_begins("x\n**10:00 · Ann:** Hello"), (true, true));
        assert_eq!(goes_on_and_begins("x\n> **10:00 · Ann:** Hello"), (true, false));
    }

    #[test]
    fn a_turn_begins_with_time_and_speaker() {
        for turn in ["**18:32 · Maya:** Hello", "**18:32 · code agent:**\n> # Hello", "**2026-01-05 18:32 · Maya:** x"]
        {
            assert!(begins("conversations", turn), "{turn}");
            assert!(!begins("notes", turn), "{turn}");
        }
        for other in
            ["18:32 · Maya: Hello", "**bold** text", "**8:32 · Maya:** x", "**18:32 · Maya** x", "> **18:32 · M:** x"]
        {
            assert!(!begins("conversations", other), "{other}");
        }
    }
}
