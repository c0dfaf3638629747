//! The turns of a conversation.

use std::ops::Range;

use serde_json::Value;

use super::split::Piece;
use crate::note::Note;

/// The collection whose notes are conversations.
pub(crate) const CONVERSATIONS: &str = "conversations";

/// Whether a block begins a turn: `**18:32 · Maya:** …`, or with the date before the time.
pub(crate) fn begins(collection: &str, block: &str) -> bool {
    collection == CONVERSATIONS && speaker(block).is_some()
}

fn speaker(block: &str) -> Option<&str> {
    let line = block.strip_prefix("**")?.lines().next()?;
    let (time, rest) = line.split_once(" · ")?;
    let (time, date) = match time.split_once(' ') {
        Some((date, time)) => (time, date),
        None => (time, "2000-01-01"),
    };
    let like = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let (speaker, _) = rest.split_once(":**")?;
    (like(time, "dd:dd") && like(date, "dddd-dd-dd") && !speaker.contains('*')).then_some(speaker)
}

/// The parts of a block of a captured conversation, each of which begins with a turn, but for what is before the first. A
/// fence or a tag that the person opened among the turns, and left open, would else take in all that are said later.
pub(super) fn parts(collection: &str, note: &Note, source: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let is_captured = || note.metadata.get("source").and_then(Value::as_str) == Some("capture");
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

/// Where pieces begin a turn: the ends of the runs of pieces that belong together.
pub(super) fn ends(pieces: &[Piece], turns: &[usize]) -> Vec<usize> {
    let starts = |at: usize| turns.binary_search(&pieces[at].span.start).is_ok();
    (1..pieces.len()).filter(|at| starts(*at)).chain([pieces.len()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
