//! What OpenClaw and Moltis put into a conversation: where a message came from, what happened meanwhile, how a reply is to be sent.

use super::item::SourceKind;
use crate::derive::code::{code, without_lines};
use crate::derive::is_housekeeping;

/// What OpenClaw begins a session with: the turn that has it is its own.
const NEW_SESSION: &str = "A new session was started via /new or /reset.";
/// What OpenClaw begins a turn with that it gives to an agent below another, or tells by itself.
const OWN_TURNS: [&str; 3] = ["[Subagent Context]", "[Subagent Task]", "[System Message]"];
/// What lines begin with that OpenClaw puts before a turn: what happened meanwhile.
const HAPPENED: [&str; 2] = ["System: [", "System (untrusted): ["];
/// Maximum length of a mark of how a reply is sent, and of an envelope, in bytes.
const MAX_MARK_BYTES: usize = 200;

/// Whether a kind of source has what OpenClaw puts into conversations.
pub(super) fn is_claw(kind: SourceKind) -> bool {
    use SourceKind::{Moltis, MoltisMemory, OpenClaw, OpenClawMemory};
    matches!(kind, OpenClaw | OpenClawMemory | Moltis | MoltisMemory)
}

/// Whether a line says what a message is called where it was sent, and nothing else.
pub(super) fn is_message_id(line: &str) -> bool {
    line.strip_prefix("[message_id:").and_then(|rest| rest.strip_suffix(']')).is_some_and(|id| !id.contains(['[', ']']))
}

/// A turn without the lines before it that say what happened meanwhile.
pub(super) fn without_events(text: &str) -> Option<String> {
    let is_event = |line: &&str| line.trim().is_empty() || HAPPENED.iter().any(|begin| line.starts_with(begin));
    let length: usize = text.split_inclusive('\n').take_while(is_event).map(str::len).sum();
    (!text[..length].trim().is_empty()).then(|| text[length..].to_owned())
}

/// A turn without the envelope before it, which says where a message came from, and when: `[Telegram Bob id:7 2026-01-05 09:01 UTC]`.
pub(super) fn without_envelope(text: &str) -> Option<String> {
    let (envelope, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let is_short = envelope.len() <= MAX_MARK_BYTES && !envelope.contains(['\n', '[']);
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_short && ends && has_a_time(envelope)).then(|| rest.trim_start_matches([' ', '\t']).to_owned())
}

/// Whether a day and a time stand in an envelope, behind a word as programs write it: a day of the week, or where it came from.
fn has_a_time(envelope: &str) -> bool {
    let is_like = |found: &[u8]| {
        found.iter().zip(b"0000-00-00 00:00").all(|(found, like)| match like {
            b'0' => found.is_ascii_digit(),
            b' ' => matches!(found, b' ' | b'T'),
            like => found == like,
        })
    };
    let bytes = envelope.as_bytes();
    bytes.windows(16).enumerate().any(|(at, found)| at > 1 && bytes[at - 1] == b' ' && is_like(found))
}

/// Whether a turn is OpenClaw's own, whoever it says it is of. A day and a time may stand before it.
pub(super) fn is_own_turn(text: &str) -> bool {
    let text = text.trim_start();
    let dated = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let begin = dated.filter(|(time, _)| time.len() < 40 && time.contains(':')).map_or(text, |(_, rest)| rest);
    is_housekeeping(begin)
        || OWN_TURNS.iter().any(|mark| begin.starts_with(mark))
        || without_lines(text, |line| line.starts_with(NEW_SESSION)).is_some()
}

/// A text without the marks of how a reply is sent, which begin or end a line.
pub(super) fn without_marks(text: &str) -> Option<String> {
    if !text.contains("[[") {
        return None;
    }
    let code = code(text);
    let (mut kept, mut at, mut next, mut is_cut) = (String::with_capacity(text.len()), 0, 0, false);
    for line in text.split_inclusive('\n') {
        while code.get(next).is_some_and(|range| range.end <= at) {
            next += 1;
        }
        let is_code = code.get(next).is_some_and(|range| range.contains(&at));
        at += line.len();
        let end = &line[line.trim_end_matches(['\n', '\r']).len()..];
        let mut said = &line[..line.len() - end.len()];
        while let Some(rest) = (!is_code).then(|| after_mark(said)).flatten() {
            (said, is_cut) = (rest, true);
        }
        while let Some(rest) = (!is_code).then(|| before_mark(said)).flatten() {
            (said, is_cut) = (rest, true);
        }
        kept.push_str(said);
        kept.push_str(end);
    }
    is_cut.then_some(kept)
}

/// What follows a mark that a line begins with.
fn after_mark(line: &str) -> Option<&str> {
    let (mark, rest) = line.trim_start().strip_prefix("[[")?.split_once("]]")?;
    is_reply_mark(mark).then(|| rest.trim_start())
}

/// What stands before a mark that a line ends with.
fn before_mark(line: &str) -> Option<&str> {
    let (rest, mark) = line.trim_end().strip_suffix("]]")?.rsplit_once("[[")?;
    is_reply_mark(mark).then(|| rest.trim_end())
}

fn is_reply_mark(mark: &str) -> bool {
    let mark = mark.trim();
    let is_short = mark.len() <= MAX_MARK_BYTES;
    let to = mark.strip_prefix("reply_to").map(str::trim_start);
    is_short && (matches!(mark, "reply_to_current" | "audio_as_voice") || to.is_some_and(|to| to.starts_with(':')))
}

/// A text without blocks of metadata, as OpenClaw puts them before a message: a line that says so, and a block of code below it.
pub(super) fn without_metadata(text: &str) -> Option<String> {
    if !text.contains("(untrusted metadata)") {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut lines = text.split_inclusive('\n').peekable();
    let mut cut = false;
    while let Some(line) = lines.next() {
        if !line.trim_end().trim_end_matches(':').ends_with("(untrusted metadata)") {
            kept.push(line);
            continue;
        }
        cut = true;
        if lines.peek().is_some_and(|next| next.trim_start().starts_with("```")) {
            lines.next();
            for line in lines.by_ref() {
                if line.trim_start().starts_with("```") {
                    break;
                }
            }
        }
        while lines.peek().is_some_and(|next| next.trim().is_empty()) {
            lines.next();
        }
    }
    cut.then(|| kept.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_reply_go_where_they_begin_or_end_a_line() {
        for (text, left) in [
            ("[[reply_to_current]] Sure", Some("Sure")),
            ("[[reply_to: 17]] [[audio_as_voice]] Sure\nYes", Some("Sure\nYes")),
            ("Sure [[audio_as_voice]]", Some("Sure")),
            ("Write [[reply_to_current]] before it", None),
            ("See [[Kyoto]]", None),
            ("[[reply_to_current", None),
            ("```\n[[reply_to_current]] x\n```", None),
            ("`[[audio_as_voice]]`", None),
        ] {
            assert_eq!(without_marks(text).as_deref(), left, "{text}");
        }
        // Many of them cost no more than other text.
        assert_eq!(without_marks(&"[[audio_as_voice]]".repeat(50_000)).as_deref(), Some(""));
    }

    #[test]
    fn turns_that_are_its_own_are_known_with_a_time_before_them() {
        for text in [
            "[Subagent Context] You are running as a subagent (depth 1/1).\n\n[Subagent Task]: Add two and two",
            "[Wed 2026-02-18 16:43 GMT+1] [Subagent Context] You are running",
            "[Wed 2026-02-18 16:43 GMT+1] [System Message] A task has timed out",
            "Notes of before\n\nA new session was started via /new or /reset. Say hi.",
            "[Wed 2026-02-18 16:43] Read HEARTBEAT.md if it exists",
        ] {
            assert!(is_own_turn(text), "{text}");
        }
        for text in
            ["[a] b", "What is [Subagent Context]?", "> A new session was started via /new or /reset.", "[x: y] z"]
        {
            assert!(!is_own_turn(text), "{text}");
        }
    }

    #[test]
    fn what_happened_meanwhile_stands_before_what_was_said() {
        let text = "System: [2026-01-05 09:00:00 UTC] Cron: water the rye\nSystem: [2026-01-05 09:00:01 UTC] Node\n\nHello\nSystem: [x]";
        assert_eq!(without_events(text).as_deref(), Some("Hello\nSystem: [x]"));
        assert_eq!((without_events("System: Debian"), without_events("\n\nHello")), (None, None));
    }
}
