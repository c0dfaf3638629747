//! The one reader of conversations: their turns, and what of them somebody said. What a program put among them, and what a model thought, is
//! said by nobody. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::chunk::turn_start;
use super::code::{code, code_at};
use super::machinery::{THOUGHTS, is_machine, said_lines};
use super::words::fold;

/// By which names the person goes in conversations, whatever they are called. Folded.
const PERSON: [&str; 18] = [
    "user", "human", "you", "me", "person", "owner", "ich", "nutzer", "benutzer", "yo", "usuario", "moi",
    "utilisateur", "我", "用户", "ユーザー", "я", "пользователь",
];

/// Whether a speaker is the person, who goes by some `names` besides.
fn is_person(speaker: &str, names: &[String]) -> bool {
    let speaker = fold(speaker.trim());
    PERSON.contains(&speaker.as_str()) || names.iter().any(|name| fold(name.trim()) == speaker)
}

/// A turn of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Turn<'t> {
    /// The speaker's name, or role.
    pub(crate) speaker: &'t str,
    /// Whether that is the person.
    is_person: bool,
    /// The day, `2026-01-05`, where the turn says it.
    pub(crate) date: Option<&'t str>,
    /// The time of the day, `18:32`.
    pub(crate) time: &'t str,
    /// Its first line, and the last that is not blank, from 1.
    pub(crate) lines: (usize, usize),
    /// What it begins with: `**18:32 · Maya:**`.
    mark: &'t str,
    /// Its lines as they are written, without that and the marks of quotes.
    written: Vec<Cow<'t, str>>,
    /// What somebody said of them, each with the number of its line; nothing of a turn that a program made.
    pub(crate) said: Vec<(usize, String)>,
}

/// The turns of a text, in its order. `shown` gives what is seen of a part of it. The person goes by `names`, too.
pub(crate) fn turns<'t>(
    text: &'t str,
    names: &[String],
    shown: &dyn Fn(Range<usize>) -> Cow<'t, str>,
) -> Vec<Turn<'t>> {
    let (mut turns, mut at) = (Vec::<Turn<'t>>::new(), 0);
    for (number, whole) in (1..).zip(text.split_inclusive('\n')) {
        let line = whole.lines().next().unwrap_or_default();
        let span = at..at + line.len();
        at += whole.len();
        if let Some(begun) = turn_start(line) {
            let mark = &line[..line.len() - begun.rest.len()];
            turns.push(Turn {
                speaker: begun.speaker,
                is_person: is_person(begun.speaker, names),
                date: begun.date,
                time: begun.time,
                lines: (number, number),
                mark,
                written: vec![shown(span.start + mark.len()..span.end)],
                said: Vec::new(),
            });
        } else if let Some(turn) = turns.last_mut() {
            turn.written.push(match shown(span) {
                Cow::Borrowed(line) => unquoted(line).into(),
                Cow::Owned(line) => unquoted(&line).to_owned().into(),
            });
            if !line.trim().is_empty() {
                turn.lines.1 = number;
            }
        }
    }
    for turn in turns.iter_mut().filter(|turn| !is_machine(turn.speaker)) {
        let lines: Vec<&str> = turn.written.iter().map(AsRef::as_ref).collect();
        // The person thinks between no tags.
        let tag = if turn.is_person { None } else { unopened(&lines) };
        let said = said_lines(tag, lines).into_iter();
        turn.said = said.map(|(at, left)| (turn.lines.0 + at, left)).collect();
    }
    turns
}

/// The tag of what is thought that a turn closes and has not opened: some models begin to think without one. What stands in code is somebody's
/// words.
fn unopened(lines: &[&str]) -> Option<&'static str> {
    if !lines.iter().any(|line| line.contains("</")) {
        return None;
    }
    let text = lines.join("\n").to_ascii_lowercase();
    let code = code(&text);
    let tag_at = |at: usize| {
        let rest = &text[at + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let tag = THOUGHTS.into_iter().find(|tag| name.starts_with(tag))?;
        let end = name.find(|sign: char| !(sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | ':')));
        let is_tag = end.is_none_or(|end| name[end..].starts_with(['>', '/', ' ', '\n']));
        is_tag.then(|| (tag, rest.starts_with('/')))
    };
    let mut said = text.match_indices('<').map(|(at, _)| at).filter(|at| code_at(&code, *at).is_none());
    let (tag, is_close) = said.find_map(tag_at)?;
    is_close.then_some(tag)
}

/// A line without the mark of a quote.
fn unquoted(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// What is left of the lines out of which something is taken, by their numbers from 1; nothing where all of a line goes.
pub(crate) fn lines_with_machinery(source: &str, names: &[String]) -> BTreeMap<usize, String> {
    let mut changed = BTreeMap::new();
    for turn in turns(source, names, &|span| source[span].into()).into_iter().filter(|turn| !is_machine(turn.speaker)) {
        let (first, mut said) = (turn.lines.0, turn.said.into_iter().collect::<BTreeMap<_, _>>());
        for (number, line) in (first..).zip(&turn.written) {
            let left = said.remove(&number).unwrap_or_default();
            if left.trim() != line.trim() {
                let mark = if number == first && !left.trim().is_empty() { turn.mark } else { "" };
                changed.insert(number, format!("{mark}{left}"));
            }
        }
    }
    changed
}

/// Maximum number of lines before and behind some lines that are looked at for what goes on in these.
const MAX_AROUND: usize = 20_000;

/// The lines of the turns that some lines of a conversation are of, the first and the last: what goes on in those lines began there. All are
/// counted from 0; `line` gives one of `count`.
pub(crate) fn turns_around<'t>(
    line: &dyn Fn(usize) -> &'t str,
    count: usize,
    (first, last): (usize, usize),
) -> Range<usize> {
    let begins = |at: &usize| turn_start(line(*at)).is_some();
    let before = first.saturating_sub(MAX_AROUND)..=first.min(count.saturating_sub(1));
    let end = count.min(last.saturating_add(1 + MAX_AROUND));
    let (from, end) = (before.rev().find(begins).unwrap_or(first), (last + 1..end).find(begins).unwrap_or(end));
    from.min(end)..end
}

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

/// The turns of a conversation that somebody spoke, without marks of capture. `names` are the person's.
pub(crate) fn read_turns(text: &str, names: &[String]) -> Vec<SpokenTurn> {
    let spoken = turns(text, names, &|span| text[span].into()).into_iter().map(|turn| {
        let lines = turn.said.into_iter().map(|(number, text)| SpokenLine { number, text: plain_line(&text) });
        SpokenTurn {
            voice: if turn.is_person { Voice::Person } else { Voice::Agent },
            when: turn.date.map_or_else(String::new, |date| format!("{date} ")) + turn.time,
            lines: lines.filter(|line| !line.text.is_empty()).collect(),
        }
    });
    spoken.filter(|turn| !turn.lines.is_empty()).collect()
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

    #[test]
    fn a_thought_may_begin_without_a_tag() {
        for (text, is_unopened) in [
            ("a\n</think>\nb", true),
            ("b</thinking>", true),
            ("c</think> d <think>e</think>", true),
            ("<think>a", false),
            ("Close it with `</think>`, as models do.", false),
            ("```\n</think>\n```\nb", false),
            ("~~~xml\n</think>\n~~~\nb", false),
            ("and end with ``</think>`` last.", false),
            ("<think>a</think> b </think>", false),
            ("and </think> last", true),
            ("and </thorough> last", false),
        ] {
            assert_eq!(unopened(&text.lines().collect::<Vec<_>>()).is_some(), is_unopened, "{text}");
        }
        assert_eq!(
            read("**18:32 · user:** a\n> </think>\n> b")[0].1,
            "1 a | 2 </think> | 3 b",
            "the person thinks in none"
        );
    }

    #[test]
    fn what_is_left_of_a_line_is_told_whatever_opened_it() {
        let talk = "---\ntitle: x\n---\n\n**18:32 · bot:**\n> <think>a\n>\n> b\n> c</think>Yes\n\n**18:33 · user:** Is it?\n\
            **18:34 · bot:** <think>d</think> It is.\n**18:35 · bot:** and\n**18:36 · bot:** e</think> more\n";
        let left = lines_with_machinery(talk, &[]);
        let told: Vec<(usize, &str)> = left.iter().map(|(line, left)| (*line, left.as_str())).collect();
        assert_eq!(
            told,
            [(6, ""), (8, ""), (9, "Yes"), (12, "**18:34 · bot:**  It is."), (14, "**18:36 · bot:** more")]
        );
        let lines: Vec<&str> = talk.lines().collect();
        for (of, around) in [((6, 6), 4..10), ((4, 4), 4..10), ((13, 13), 13..14), ((10, 11), 10..12), ((0, 0), 0..4)] {
            assert_eq!(turns_around(&|at| lines[at], lines.len(), of), around, "{of:?}");
        }
        assert!(lines_with_machinery("# A note\n\n<think>x</think>\n", &[]).is_empty());
    }

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
    fn what_was_thought_is_not_said() {
        let text = "**18:32 · bot:** <think>I like emus.\n\n**18:34 · bot:** So.</think> Hello\n\
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
