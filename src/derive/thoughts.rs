//! What a model thought, where it goes on from one turn of a conversation to the next: an answer is streamed and kept in parts, or is broken
//! off by a tool. Some models begin to think without a tag. Pure.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::code::code;
use super::machinery::{THOUGHTS, is_machine};
use super::words::fold;

/// By which names the person goes in conversations, whatever they are called.
const PERSON: [&str; 18] = [
    "user", "human", "you", "me", "person", "owner", "ich", "nutzer", "benutzer", "yo", "usuario", "moi",
    "utilisateur", "我", "用户", "ユーザー", "я", "пользователь",
];

/// Whether a speaker is the person, who goes by some `names` besides.
pub(super) fn is_person(speaker: &str, names: &[String]) -> bool {
    static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| PERSON.iter().map(|name| fold(name)).collect());
    let speaker = fold(speaker.trim());
    KNOWN.contains(&speaker) || names.iter().any(|name| fold(name.trim()) == speaker)
}

/// A turn, as far as it counts here.
#[derive(Debug, Clone)]
pub(super) struct TurnLines<'t> {
    /// Who speaks, as it is written.
    pub(super) speaker: &'t str,
    /// Whether that is the person, who thinks between no tags.
    pub(super) is_person: bool,
    /// What was said, without the marks of turns and quotes.
    pub(super) lines: Vec<&'t str>,
}

/// A tag of what is thought: which of [`THOUGHTS`], and whether it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThoughtTag {
    number: usize,
    is_close: bool,
}

impl TurnLines<'_> {
    fn may_have_tags(&self) -> bool {
        self.lines.iter().any(|line| line.contains('<'))
    }

    /// Its tags, in their order. What stands in code is somebody's words.
    fn tags(&self) -> Vec<ThoughtTag> {
        if !self.may_have_tags() {
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
pub(super) fn tags_at_begin(turns: &[TurnLines<'_>]) -> Vec<Option<&'static str>> {
    let mut begins: Vec<Option<usize>> = vec![None; turns.len()];
    // Of each tag up to which turn that is known: those are not gone through again.
    let mut settled = [0; THOUGHTS.len()];
    for (at, turn) in turns.iter().enumerate() {
        let counts = begins[at].is_some() || turn.may_have_tags();
        if turn.is_person || !counts || is_machine(turn.speaker) {
            continue;
        }
        let tags = turn.tags();
        begins[at] = begins[at].or_else(|| tags.first().filter(|tag| tag.is_close).map(|tag| tag.number));
        let open = tags.iter().fold(begins[at], |open, tag| match open {
            None => Some(tag.number).filter(|_| !tag.is_close),
            Some(number) => Some(number).filter(|_| !(tag.is_close && tag.number == number)),
        });
        let Some(number) = open.filter(|number| at >= settled[*number]) else { continue };
        let (mut same, mut is_closed, mut end) = (Vec::new(), false, at + 1);
        for (later, turn) in turns.iter().enumerate().skip(at + 1) {
            if is_machine(turn.speaker) {
                continue;
            }
            if turn.speaker != turns[at].speaker {
                break;
            }
            same.push(later);
            end = later + 1;
            is_closed = turn.may_have_tags() && turn.tags().contains(&ThoughtTag { number, is_close: true });
            if is_closed {
                break;
            }
        }
        // Who closes it may open another one.
        settled[number] = if is_closed { end - 1 } else { end };
        if is_closed {
            same.into_iter().for_each(|later| begins[later] = Some(number));
        }
    }
    begins.into_iter().map(|begin| begin.map(|number| THOUGHTS[number])).collect()
}

/// For each turn whether all of it was thought: it begins between tags that a later one closes.
pub(super) fn are_thoughts(turns: &[TurnLines<'_>]) -> Vec<bool> {
    let tags = tags_at_begin(turns);
    turns.iter().zip(tags).map(|(turn, tag)| tag.is_some() && turn.tags().iter().all(|tag| !tag.is_close)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(turns: &[(&str, &str)]) -> Vec<bool> {
        let turns = turns.iter().map(|(speaker, text)| {
            let is_person = is_person(speaker, &[]);
            TurnLines { speaker, is_person, lines: text.lines().collect() }
        });
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
}
