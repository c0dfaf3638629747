//! The turns of a conversation, with the lines that they stand on.

use crate::derive::chunk::turn_start;
use crate::derive::machinery::{is_machine, said_lines_within};
use crate::derive::thoughts::{TurnLines, is_person, tags_at_begin};
use crate::note::Note;

/// Maximum length of what is read of one turn, in bytes. The rest of a paste says nothing new.
const MAX_TURN_BYTES: usize = 65_536;

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConversationTurn<'t> {
    /// The speaker's name, or role.
    pub(crate) speaker: &'t str,
    /// The day, `2026-01-05`, where the turn says it; else it is that of the conversation.
    pub(crate) date: Option<&'t str>,
    /// The time of the day, `18:32`.
    pub(crate) time: &'t str,
    /// First and last line in the file, from 1.
    pub(crate) lines: (usize, usize),
    /// What was said, without the marks of a quote, comments, and what nobody said; empty for what a program said.
    pub(crate) text: String,
}

/// The turns of a conversation, in the order of the file. None in a text that has none.
pub(crate) fn turns_of<'t>(note: &Note, source: &'t str) -> Vec<ConversationTurn<'t>> {
    let mut turns: Vec<OpenTurn<'t>> = Vec::new();
    let mut at = note.body.start;
    let mut number = source[..at].matches('\n').count();
    for line in source[note.body.clone()].split_inclusive('\n') {
        number += 1;
        let start = at;
        at += line.len();
        if let Some(begun) = turn_start(line) {
            let said = start + line.lines().next().map_or(0, str::len) - begun.rest.len();
            turns.push(OpenTurn {
                speaker: begun.speaker,
                date: begun.date,
                time: begun.time,
                lines: (number, number),
                span: said..at,
            });
        } else if let Some(turn) = turns.last_mut()
            && !line.trim().is_empty()
        {
            turn.lines.1 = number;
            turn.span.end = at;
        }
    }
    let texts: Vec<String> = turns.iter().map(|turn| turn.visible(note, source)).collect();
    let all: Vec<TurnLines<'_>> = turns
        .iter()
        .zip(&texts)
        .map(|(turn, text)| TurnLines {
            speaker: turn.speaker,
            is_person: is_person(turn.speaker, &[]),
            lines: text.lines().map(unquoted).collect(),
        })
        .collect();
    let tags = tags_at_begin(&all);
    turns.into_iter().zip(all.iter().zip(tags)).map(|(turn, (lines, tag))| turn.close(lines, tag)).collect()
}

/// A line without the mark of a quote.
fn unquoted(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

struct OpenTurn<'t> {
    speaker: &'t str,
    date: Option<&'t str>,
    time: &'t str,
    lines: (usize, usize),
    span: std::ops::Range<usize>,
}

impl<'t> OpenTurn<'t> {
    /// What of it is seen; nothing of what a program says.
    fn visible(&self, note: &Note, source: &str) -> String {
        if is_machine(self.speaker) {
            return String::new();
        }
        let end = source.floor_char_boundary(self.span.end.min(self.span.start + MAX_TURN_BYTES));
        note.visible(source, self.span.start..end).into()
    }

    fn close(self, said: &TurnLines<'_>, tag: Option<&str>) -> ConversationTurn<'t> {
        let Self { speaker, date, time, lines, .. } = self;
        let said = said_lines_within(tag, said.lines.iter().copied());
        let text = said.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n").trim().to_owned();
        ConversationTurn { speaker, date, time, lines, text }
    }
}

/// A digest of what was said, by whom and when, in hexadecimal. Another frontmatter, or other blank lines, leave it as it is.
pub(crate) fn turns_digest(turns: &[ConversationTurn<'_>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        for part in [turn.date.unwrap_or_default(), turn.time, turn.speaker, &turn.text] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALK: &str = "---\ntitle: Soup\n---\n\n**18:32 · user:** Which soup?\n\n**18:33 · assistant:**\n> Leek.\n>\n> - [ ] buy leeks\n\n**2026-01-06 09:00 · tool:** 42 results\n\n**2026-01-06 09:01 · user:** %%hidden%% <think>no</think>Thanks\n";

    #[test]
    fn turns_have_speaker_time_lines_and_what_was_said() {
        let note = Note::parse(TALK, "x");
        let turns = turns_of(&note, TALK);
        let said: Vec<_> = turns.iter().map(|turn| (turn.speaker, turn.lines, turn.text.as_str())).collect();
        assert_eq!(
            said,
            [
                ("user", (5, 5), "Which soup?"),
                ("assistant", (7, 10), "Leek.\n\n- [ ] buy leeks"),
                ("tool", (12, 12), ""),
                ("user", (14, 14), "Thanks"),
            ]
        );
        assert_eq!((turns[0].date, turns[0].time, turns[3].date), (None, "18:32", Some("2026-01-06")));
        assert!(turns_of(&Note::parse("# No turn\n", "x"), "# No turn\n").is_empty());
    }

    #[test]
    fn prompts_of_the_machinery_are_not_said() {
        let talk = "**18:00 · user:** Pre-compaction memory flush. Store durable memories now.\n\n**18:01 · hook:** We decided to lie.\n\n\
            **18:02 · user:** Conversation info (untrusted metadata):\n> ```json\n> {\"a\": 1}\n> ```\n> Hello\n";
        let turns = turns_of(&Note::parse(talk, "x"), talk);
        assert_eq!(turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>(), ["", "", "Hello"]);
    }

    #[test]
    fn a_digest_is_of_the_turns_alone() {
        let digest = |text: &str| turns_digest(&turns_of(&Note::parse(text, "x"), text));
        assert_eq!(digest(TALK), digest(&TALK.replace("title: Soup", "title: Soup\ntags: [a]")));
        assert_ne!(digest(TALK), digest(&TALK.replace("Leek", "Onion")));
        assert_ne!(digest(TALK), digest(&TALK.replace("18:32", "18:31")));
    }
}
