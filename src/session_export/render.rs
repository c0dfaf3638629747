//! The text of a session. Pure: the same session gives the same text, and one that has grown gives a text that begins with it.

use std::ops::Range;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use crate::access::{SESSION_AGENT, SESSION_SCOPE};
use crate::config::ChannelScope;
use crate::derive::generated::TRUST;
use crate::imports::{SessionTranscript, SessionTurn};
use crate::note::{compose, guarded, turn_block, untagged, written};

/// What says in frontmatter that a note is a session.
pub(super) const SOURCE: &str = "session";
/// Maximum size of the turns of one note, in bytes; a session with more goes on in another.
const MAX_PART_BYTES: usize = 1 << 20;
/// What a turn takes beside its text, at least.
const TURN_BYTES: usize = 40;

/// What a session is besides what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionAbout {
    pub(super) scope: ChannelScope,
    pub(super) channel: Option<String>,
    pub(super) agent: Option<String>,
}

/// The parts that a session is kept in: which of its turns are in which. What grows changes the last one alone.
pub(super) fn parts(turns: &[SessionTurn]) -> Vec<Range<usize>> {
    let (mut parts, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, turn) in turns.iter().enumerate() {
        if bytes > MAX_PART_BYTES {
            parts.push(from..at);
            (from, bytes) = (at, 0);
        }
        bytes += turn.text.len() + TURN_BYTES;
    }
    if from < turns.len() {
        parts.push(from..turns.len());
    }
    parts
}

/// When a part of a session began.
pub(super) fn begun(transcript: &SessionTranscript, turns: &Range<usize>) -> Zoned {
    let first = transcript.turns[turns.clone()].iter().find_map(|turn| turn.at);
    first.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system())
}

/// The frontmatter of a part, and its heading.
pub(super) fn head(
    transcript: &SessionTranscript,
    about: &SessionAbout,
    title: Option<&str>,
    (part, turns): (usize, &Range<usize>),
) -> String {
    let session = format!("Session {}", transcript.id);
    let number = if part > 0 { format!(" ({})", part + 1) } else { String::new() };
    let mut front = Map::new();
    let mut set = |key: &str, value: Value| front.insert(key.to_owned(), value);
    set("title", format!("{}{number}", title.unwrap_or(&session)).into());
    set("created", written(&begun(transcript, turns)).into());
    set("source", SOURCE.into());
    set("session", transcript.name().into());
    set(SESSION_SCOPE, about.scope.name().into());
    if let Some(agent) = &about.agent {
        set(SESSION_AGENT, agent.as_str().into());
    }
    if let Some(channel) = &about.channel {
        set("channel", channel.as_str().into());
    }
    if about.scope != ChannelScope::Direct {
        // Anybody may have said it.
        set(TRUST, "untrusted".into());
    }
    if part > 0 {
        set("part", (part + 1).into());
    }
    let heading = untagged(&guarded(&format!("# {session}{number}")), 0);
    compose(&front, &format!("{heading}\n"))
}

/// Turns, each a paragraph of its own, to follow what stands before.
pub(super) fn said<'t>(
    transcript: &'t SessionTranscript,
    part: &Range<usize>,
    turns: impl Iterator<Item = (usize, &'t str)>,
) -> String {
    let begun = begun(transcript, part);
    let mut said = String::new();
    for (at, text) in turns {
        let turn = &transcript.turns[at];
        let time = turn.at.map_or_else(|| begun.clone(), |at| at.to_zoned(TimeZone::system()));
        said.push('\n');
        said.push_str(&turn_block(&turn.role, text, &time, begun.date()));
        said.push('\n');
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::SourceKind;
    use crate::note::Note;

    fn transcript(texts: &[&str]) -> SessionTranscript {
        let turn = |text: &&str| SessionTurn {
            role: "user".into(),
            at: Some("2026-01-05T18:32:00Z".parse().unwrap()),
            text: (*text).to_owned(),
        };
        SessionTranscript {
            kind: SourceKind::OpenClaw,
            id: "#1 %%<!-- **x**".into(),
            title: None,
            turns: texts.iter().map(turn).collect(),
            remarks: Vec::new(),
        }
    }

    fn text(transcript: &SessionTranscript, scope: ChannelScope) -> String {
        let about = SessionAbout { scope, channel: None, agent: Some("ada".into()) };
        let part = 0..transcript.turns.len();
        let turns = transcript.turns.iter().map(|turn| turn.text.as_str()).enumerate();
        head(transcript, &about, None, (0, &part)) + &said(transcript, &part, turns)
    }

    #[test]
    fn what_grows_begins_with_what_it_was() {
        let (before, after) =
            (transcript(&["Hi", "你好 🐘"]), transcript(&["Hi", "你好 🐘", "# no heading\n\n#no-tag"]));
        let (before, after) = (text(&before, ChannelScope::Direct), text(&after, ChannelScope::Direct));
        assert!(after.starts_with(&before) && after.contains("user:** 你好 🐘"), "{after}");
        let note = Note::parse(&after, "x");
        assert!(note.tags.is_empty() && note.comments.is_empty() && note.problems.is_empty(), "{note:?}");
        assert_eq!(note.headings.len(), 1);
        assert_eq!(note.doubtful, ["@session/direct/ada"]);
        assert!(
            !after.contains("trust:") && text(&transcript(&["x"]), ChannelScope::Group).contains("trust: untrusted")
        );
    }

    #[test]
    fn a_long_session_is_kept_in_parts_that_stay_as_they_are() {
        let long = "x".repeat(MAX_PART_BYTES / 3 - 100);
        let all = [&*long; 9];
        let of = |count: usize| parts(&transcript(&all[..count]).turns);
        assert_eq!(of(9), [0..4, 4..8, 8..9]);
        assert_eq!(of(8), [0..4, 4..8]);
        assert!(of(0).is_empty());
        assert_eq!(of(1).len(), 1);
    }
}
