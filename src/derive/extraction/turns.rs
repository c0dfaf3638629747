//! Who said what in a conversation, line by line.

use crate::derive::chunk::{turn_mark, turn_start};
use crate::derive::machinery::{is_machine, said_lines};
use crate::derive::words::fold;

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

/// By which names the person goes in conversations, whatever they are called.
const PERSON: [&str; 18] = [
    "user",
    "human",
    "you",
    "me",
    "person",
    "owner",
    "ich",
    "nutzer",
    "benutzer",
    "yo",
    "usuario",
    "moi",
    "utilisateur",
    "我",
    "用户",
    "ユーザー",
    "я",
    "пользователь",
];

/// The turns of a conversation that somebody spoke: not those of tools and systems, not what was injected, thought or done for the
/// machinery's sake. `names` are the person's.
pub(crate) fn read_turns(text: &str, names: &[String]) -> Vec<SpokenTurn> {
    let known: Vec<String> =
        PERSON.iter().map(|name| fold(name)).chain(names.iter().map(|name| fold(name.trim()))).collect();
    let mut turns = Vec::new();
    let mut open: Option<SpokenTurn> = None;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if let (Some(start), Some(mark)) = (turn_start(line), turn_mark(line)) {
            turns.extend(open.take().and_then(said_turn));
            let name = fold(start.speaker.trim());
            let voice = if known.contains(&name) { Voice::Person } else { Voice::Agent };
            let when = line.trim_start_matches("**").split(" · ").next().unwrap_or_default().to_owned();
            open = (!is_machine(start.speaker)).then(|| SpokenTurn { voice, when, lines: Vec::new() });
            add(&mut open, number, &line[mark..]);
        } else {
            let quoted = line.strip_prefix('>').unwrap_or(line);
            add(&mut open, number, quoted);
        }
    }
    turns.extend(open.and_then(said_turn));
    turns
}

/// What of a turn was said; `None` where nothing was.
fn said_turn(turn: SpokenTurn) -> Option<SpokenTurn> {
    let said = said_lines(turn.lines.iter().map(|line| line.text.as_str())).into_iter();
    let lines: Vec<SpokenLine> = said
        .map(|(at, text)| SpokenLine { number: turn.lines[at].number, text: text.trim().to_owned() })
        .filter(|line| !line.text.is_empty())
        .collect();
    (!lines.is_empty()).then_some(SpokenTurn { lines, ..turn })
}

fn add(open: &mut Option<SpokenTurn>, number: usize, text: &str) {
    let Some(turn) = open else { return };
    // What would end a line somewhere else does not do so here.
    let plain = |character: char| match character {
        '\u{2028}' | '\u{2029}' | '\u{85}' => ' ',
        other if other.is_control() => ' ',
        other => other,
    };
    let text: String = text.trim().chars().map(plain).collect();
    let text = text.replace("\\#", "#").replace("%\\%", "%%").replace("<\\!--", "<!--");
    turn.lines.push(SpokenLine { number, text });
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
    fn the_same_turns_have_the_same_digest_wherever_they_stand() {
        let digest = |text: &str| turns_digest(&read_turns(text, &[]));
        let one = digest("**18:32 · user:** a\n**18:33 · x:** b\n");
        assert_eq!(one, digest("# Title\n\n**18:32 · user:** a\n\n**18:33 · x:**\n> b\n> <think>c</think>\n"));
        assert_ne!(one, digest("**18:32 · user:** a\n**18:33 · user:** b\n"));
        assert_ne!(one, digest("**18:32 · user:** a\n"));
    }
}
