//! Who said what in a conversation, line by line.

use crate::derive::chunk::{turn_mark, turn_start};
use crate::derive::machinery::{is_machine, said_lines_within};
use crate::derive::thoughts::{TurnLines, is_person, tags_at_begin};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Voice {
    /// An assistant, or somebody of whom nothing is known.
    Agent,
    /// The person whose memory it is.
    Person,
}

/// A turn, without what is no speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpokenTurn {
    /// Who speaks.
    pub(crate) voice: Voice,
    /// When, as the conversation says it.
    pub(crate) when: String,
    /// Its lines that have text.
    pub(crate) lines: Vec<SpokenLine>,
}

/// A line of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpokenLine {
    /// Its number in the file, from 1.
    pub(crate) number: usize,
    /// Its text, without the marks of turns and quotes.
    pub(crate) text: String,
}

/// The turns of a conversation that somebody spoke: not those of tools and systems, not what was injected, thought or done for the
/// machinery's sake. `names` are the person's.
pub(crate) fn read_turns(text: &str, names: &[String]) -> Vec<SpokenTurn> {
    let mut turns: Vec<(&str, SpokenTurn)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if let (Some(start), Some(mark)) = (turn_start(line), turn_mark(line)) {
            let voice = if is_person(start.speaker, names) { Voice::Person } else { Voice::Agent };
            let when = line.trim_start_matches("**").split(" · ").next().unwrap_or_default().to_owned();
            let lines = vec![SpokenLine { number, text: plain_line(&line[mark..]) }];
            turns.push((start.speaker, SpokenTurn { voice, when, lines }));
        } else if let Some((_, turn)) = turns.last_mut() {
            let quoted = line.strip_prefix('>').unwrap_or(line);
            turn.lines.push(SpokenLine { number, text: plain_line(quoted) });
        }
    }
    let all: Vec<TurnLines<'_>> = turns
        .iter()
        .map(|(speaker, turn)| TurnLines {
            speaker,
            is_person: turn.voice == Voice::Person,
            lines: turn.lines.iter().map(|line| line.text.as_str()).collect(),
        })
        .collect();
    let tags = tags_at_begin(&all);
    let spoken = turns.iter().zip(tags).filter(|((speaker, _), _)| !is_machine(speaker));
    spoken.filter_map(|((_, turn), tag)| said_turn(turn, tag)).collect()
}

/// What of a turn was said that begins between these tags, if between any; `None` where nothing was.
fn said_turn(turn: &SpokenTurn, tag: Option<&str>) -> Option<SpokenTurn> {
    let said = said_lines_within(tag, turn.lines.iter().map(|line| line.text.as_str())).into_iter();
    let lines: Vec<SpokenLine> = said
        .map(|(at, text)| SpokenLine { number: turn.lines[at].number, text: text.trim().to_owned() })
        .filter(|line| !line.text.is_empty())
        .collect();
    (!lines.is_empty()).then(|| SpokenTurn { voice: turn.voice, when: turn.when.clone(), lines })
}

/// A line without marks of capture, in which nothing ends a line that does not do so here.
fn plain_line(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{2028}' | '\u{2029}' | '\u{85}' => ' ',
        other if other.is_control() => ' ',
        other => other,
    };
    let text: String = text.trim().chars().map(plain).collect();
    text.replace("\\#", "#").replace("%\\%", "%%").replace("<\\!--", "<!--")
}

/// Tells the same turns again, wherever in the file they stand.
pub(crate) fn turns_digest(turns: &[SpokenTurn]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        hasher.update(&[turn.voice as u8]);
        for line in &turn.lines {
            hasher.update(&(line.text.len() as u64).to_le_bytes()).update(line.text.as_bytes());
        }
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Voice, String)> {
        let said = |turn: SpokenTurn| {
            let lines: Vec<String> = turn.lines.iter().map(|line| format!("{} {}", line.number, line.text)).collect();
            (turn.voice, lines.join(" | "))
        };
        read_turns(text, &["Ada Lovelace".into()]).into_iter().map(said).collect()
    }

    #[test]
    fn turns_are_read_with_their_lines_and_voices() {
        let text = "---\ntitle: x\n---\n\n**18:32 · user:** I moved.\n\n**18:33 · Helper:**\n> # Good\n>\n> \\#tag\n**2026-01-05 18:34 · Tool:** 4711\n\
            **18:35 · ada lovélace:** Yes\n**18:36 · system prompt:** Be nice\n> and good\n**18:37 · toolbox:** hi";
        assert_eq!(
            read(text),
            [
                (Voice::Person, "5 I moved.".to_owned()),
                (Voice::Agent, "8 # Good | 10 #tag".to_owned()),
                (Voice::Person, "12 Yes".to_owned()),
                (Voice::Agent, "15 hi".to_owned()),
            ]
        );
        assert!(read("no turns\nat all").is_empty());
        assert_eq!(read("**18:32 · user:** a\u{2028}13 person: b")[0].1, "1 a 13 person: b");
    }

    #[test]
    fn what_was_thought_over_several_turns_is_not_said() {
        let text = "**18:32 · bot:** <think>I like emus.\n**18:33 · bot:** And dingos.\n**18:34 · bot:** So.</think> Hello\n\
            **18:35 · user:** Hi\n**18:36 · bot:**\n> I like koalas.\n> </think>\n>\n> Yes";
        let said: Vec<String> = read(text).into_iter().map(|(_, said)| said).collect();
        assert_eq!(said, ["3 Hello", "4 Hi", "9 Yes"]);
    }

    #[test]
    fn the_same_turns_have_the_same_digest_wherever_they_stand() {
        let digest = |text: &str| turns_digest(&read_turns(text, &[]));
        let one = digest("**18:32 · user:** a\n**18:33 · x:** b\n");
        assert_eq!(one, digest("# Title\n\n**18:32 · user:** a\n\n**18:33 · x:**\n> b\n> <think>c</think>\n"));
        assert_ne!(one, digest("**18:32 · user:** a\n**18:33 · user:** b\n"));
        assert_ne!(one, digest("**18:32 · user:** a\n"));
    }
}
