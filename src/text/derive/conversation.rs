//! The one reader of conversations: their turns, and what of them somebody said. What a program put among them, and what a model thought, is
//! said by nobody, also where it goes on from one turn to the next: an answer is streamed and kept in parts, or is broken off by a tool, and
//! some models begin to think without a tag. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::chunk::turn_start;
use super::machinery::{THOUGHTS, is_machine, said_lines};
use super::words::fold;
use crate::text::note::code;

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
    let mut all = Vec::with_capacity(turns.len());
    for Turn { speaker, is_person, written, .. } in &turns {
        all.push(TurnText { speaker, is_person: *is_person, lines: written.iter().map(AsRef::as_ref).collect() });
    }
    let said: Vec<_> = all.iter().zip(tags_at_begin(&all)).map(|(turn, tag)| turn.said(tag)).collect();
    for (turn, said) in turns.iter_mut().zip(said) {
        turn.said = said.into_iter().map(|(at, left)| (turn.lines.0 + at, left)).collect();
    }
    turns
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

/// For each of some turns that follow each other, a speaker and a text each, whether a model thought all of it, between tags that are in others.
pub(crate) fn turns_of_thought(turns: &[(&str, &str)]) -> Vec<bool> {
    let turns: Vec<TurnText<'_>> = turns.iter().map(|(speaker, text)| TurnText::of(speaker, text)).collect();
    let tags = tags_at_begin(&turns);
    turns.iter().zip(tags).map(|(turn, tag)| tag.is_some() && turn.tags().iter().all(|tag| !tag.is_close)).collect()
}

/// Who speaks in a turn, and what is written of it.
#[derive(Debug)]
struct TurnText<'t> {
    speaker: &'t str,
    /// Whether that is the person, who thinks between no tags.
    is_person: bool,
    lines: Vec<&'t str>,
}

/// A tag of what is thought: which of [`THOUGHTS`], and whether it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThoughtTag {
    number: usize,
    is_close: bool,
}

impl<'t> TurnText<'t> {
    fn of(speaker: &'t str, text: &'t str) -> Self {
        Self { speaker, is_person: is_person(speaker, &[]), lines: text.lines().collect() }
    }

    /// What somebody said of it, each line with its place, from 0, where it begins between this tag, if between one.
    fn said(&self, tag: Option<&str>) -> Vec<(usize, String)> {
        if is_machine(self.speaker) { Vec::new() } else { said_lines(tag, self.lines.iter().copied()) }
    }

    /// Its tags, in their order. What stands in code is somebody's words.
    fn tags(&self) -> Vec<ThoughtTag> {
        if !self.lines.iter().any(|line| line.contains('<')) {
            return Vec::new();
        }
        let text = self.lines.join("\n").to_ascii_lowercase();
        let (code, mut next) = (code(&text), 0);
        let tag_at = |(at, _)| {
            while code.get(next).is_some_and(|range| range.end <= at) {
                next += 1;
            }
            if code.get(next).is_some_and(|range| range.contains(&at)) {
                return None;
            }
            let rest = &text[at + 1..];
            let name = rest.strip_prefix('/').unwrap_or(rest);
            let number = THOUGHTS.iter().position(|tag| name.starts_with(tag))?;
            let end = name.find(|sign: char| !(sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | ':')));
            let is_tag = end.is_none_or(|end| name[end..].starts_with(['>', '/', ' ', '\n']));
            is_tag.then(|| ThoughtTag { number, is_close: rest.starts_with('/') })
        };
        text.match_indices('<').filter_map(tag_at).collect()
    }
}

/// For each turn of a conversation the tag between which it begins, where one before has left it open and a later one of the same speaker
/// closes it, or none has opened it. What tools say in between does not count.
fn tags_at_begin(turns: &[TurnText<'_>]) -> Vec<Option<&'static str>> {
    let mut begins: Vec<Option<usize>> = vec![None; turns.len()];
    // Of each tag that is open the turns since: they are in it if one of them closes it.
    let mut since: [Option<Vec<usize>>; THOUGHTS.len()] = Default::default();
    let mut speaker = "";
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| !is_machine(turn.speaker)) {
        if turn.speaker != speaker {
            (speaker, since) = (turn.speaker, Default::default());
        }
        if turn.is_person {
            continue;
        }
        let tags = turn.tags();
        for (number, open) in since.iter_mut().enumerate() {
            let Some(later) = open else { continue };
            later.push(at);
            if tags.contains(&ThoughtTag { number, is_close: true }) {
                open.take().into_iter().flatten().for_each(|later| {
                    begins[later].get_or_insert(number);
                });
            }
        }
        begins[at] = begins[at].or_else(|| tags.first().filter(|tag| tag.is_close).map(|tag| tag.number));
        let open = tags.iter().fold(begins[at], |open, tag| match open {
            None => Some(tag.number).filter(|_| !tag.is_close),
            Some(number) => Some(number).filter(|_| !(tag.is_close && tag.number == number)),
        });
        if let Some(number) = open {
            since[number].get_or_insert_default();
        }
    }
    begins.into_iter().map(|begin| begin.map(|number| THOUGHTS[number])).collect()
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

    fn begins(turns: &[(&str, &str)]) -> Vec<bool> {
        let turns = turns.iter().map(|(speaker, text)| TurnText::of(speaker, text));
        tags_at_begin(&turns.collect::<Vec<_>>()).iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_thought_goes_on_until_its_speaker_closes_it() {
        for (turns, within) in [
            (
                &[("bot", "<think>a"), ("bot", "b"), ("bot", "c</think> d"), ("bot", "e")][..],
                &[false, true, true, false][..],
            ),
            (&[("bot", "<think>a"), ("tool", "b"), ("bot", "c</think> d")], &[false, false, true]),
            (&[("bot", "<think>a"), ("user", "b"), ("bot", "c")], &[false, false, false]),
            (&[("bot", "<think>a"), ("bot", "b"), ("bot", "c")], &[false, false, false]),
            (&[("bot", "<thinking>a"), ("bot", "b</thinking>")], &[false, true]),
            (&[("bot", "a\n</think>\nb")], &[true]),
            (&[("user", "a\n</think>\nb")], &[false]),
            (&[("bot", "Close it with `</think>`, as models do.")], &[false]),
            (&[("bot", "```\n</think>\n```\nb")], &[false]),
            (&[("bot", "~~~xml\n</think>\n~~~\nb")], &[false]),
            (
                &[
                    ("bot", "They open with ``<think>`` first."),
                    ("bot", "b"),
                    ("bot", "and end with ``</think>`` last."),
                ],
                &[false, false, false],
            ),
            (&[("bot", "<think>a</think> b </think>")], &[false]),
            (
                &[("bot", "Models write `<think>` first."), ("bot", "b"), ("bot", "and </think> last")],
                &[false, false, true],
            ),
            (
                &[("bot", "x <think>a"), ("bot", "b</think>"), ("bot", "<think>c"), ("bot", "d")],
                &[false, true, false, false],
            ),
        ] {
            assert_eq!(begins(turns), within, "{turns:?}");
        }
    }

    #[test]
    fn very_many_thoughts_that_are_never_closed_cost_no_more_than_other_turns() {
        let turns: Vec<(&str, &str)> = (0..50_000).map(|_| ("bot", "<think>a")).collect();
        let since = std::time::Instant::now();
        assert!(begins(&turns).iter().all(|within| !within));
        assert!(since.elapsed().as_secs() < 5);
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
        let turns =
            [("assistant", "<think>a"), ("assistant", "b"), ("tool", "c"), ("assistant", "d</think> e"), ("user", "f")];
        assert_eq!(turns_of_thought(&turns), [false, true, false, false, false]);
        assert_eq!(turns_of_thought(&turns[..3]), [false; 3], "nobody closes it");
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
