//! What a model thought, where it goes on from one turn of a conversation to the next: an answer is streamed and kept in parts, or is broken
//! off by a tool. Some models begin to think without a tag. Pure.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::machinery::{THOUGHTS, is_machine, open_tag};
use super::words::fold;

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

impl TurnLines<'_> {
    fn closes(&self, tag: &str) -> bool {
        let close = format!("</{tag}");
        self.lines.iter().any(|line| line.contains('<') && line.to_ascii_lowercase().contains(&close))
    }

    /// Whether a tag of what is thought is closed here that was not opened here. What stands in code is somebody's words.
    fn closes_unopened(&self) -> Option<&'static str> {
        let mut is_code = false;
        for line in &self.lines {
            is_code ^= line.trim_start().starts_with("```");
            if is_code || !line.contains('<') {
                continue;
            }
            let lower = line.to_ascii_lowercase();
            for (at, _) in lower.match_indices('<') {
                let rest = &lower[at + 1..];
                let name = rest.strip_prefix('/').unwrap_or(rest);
                let is_quoted = lower[..at].matches('`').count() % 2 == 1;
                let Some(tag) = THOUGHTS.iter().find(|tag| name.starts_with(**tag)).filter(|_| !is_quoted) else {
                    continue;
                };
                return rest.starts_with('/').then_some(*tag);
            }
        }
        None
    }
}

/// For each turn of a conversation the tag between which it begins, where one before has left it open and a later one of the same speaker
/// closes it, or none has opened it. What tools say in between does not count.
pub(super) fn tags_at_begin(turns: &[TurnLines<'_>]) -> Vec<Option<&'static str>> {
    let mut begins: Vec<Option<&'static str>> = vec![None; turns.len()];
    // Of each tag up to which turn that is known: those are not gone through again.
    let mut settled = [0; THOUGHTS.len()];
    for (at, turn) in turns.iter().enumerate() {
        if turn.is_person
            || is_machine(turn.speaker)
            || !(begins[at].is_some() || turn.lines.iter().any(|line| line.contains('<')))
        {
            continue;
        }
        begins[at] = begins[at].or_else(|| turn.closes_unopened());
        let Some(name) = open_tag(begins[at], turn.lines.iter().copied()) else { continue };
        let Some(number) = THOUGHTS.iter().position(|tag| name.starts_with(tag)) else { continue };
        if at < settled[number] {
            continue;
        }
        let mut same = Vec::new();
        let mut is_closed = false;
        let mut end = at + 1;
        for (later, turn) in turns.iter().enumerate().skip(at + 1).filter(|(_, turn)| !is_machine(turn.speaker)) {
            if turn.speaker != turns[at].speaker {
                break;
            }
            same.push(later);
            end = later + 1;
            is_closed = turn.closes(THOUGHTS[number]);
            if is_closed {
                break;
            }
        }
        // Who closes it may open another one.
        settled[number] = if is_closed { end - 1 } else { end };
        if is_closed {
            same.into_iter().for_each(|later| begins[later] = Some(THOUGHTS[number]));
        }
    }
    begins
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
            (&[("bot", "<think>a</think> b </think>")], &[false]),
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
