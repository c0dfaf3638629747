//! What is left of the turns of a conversation without what nobody said: turn by turn, whatever part of one is looked at. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::chunk::{turn_mark, turn_start};
use super::machinery::{is_machine, said_lines_within, without_machinery};
use super::thoughts::{TurnLines, are_thoughts, is_person, tags_at_begin};

/// What is left of the lines out of which something is taken, by their numbers from 1; nothing where all of a line goes. The person goes by `names`.
pub(crate) fn lines_with_machinery(source: &str, names: &[String]) -> BTreeMap<usize, String> {
    let mut turns: Vec<(usize, &str, TurnLines<'_>)> = Vec::new();
    for (at, line) in source.lines().enumerate() {
        if let (Some(start), Some(mark)) = (turn_start(line), turn_mark(line)) {
            let lines = vec![&line[mark..]];
            let is_person = is_person(start.speaker, names);
            turns.push((at + 1, &line[..mark], TurnLines { speaker: start.speaker, is_person, lines }));
        } else if let Some((.., turn)) = turns.last_mut() {
            turn.lines.push(line.strip_prefix('>').unwrap_or(line));
        }
    }
    let all: Vec<TurnLines<'_>> = turns.iter().map(|(.., turn)| turn.clone()).collect();
    let mut changed = BTreeMap::new();
    for ((first, mark, turn), tag) in turns.iter().zip(tags_at_begin(&all)) {
        if is_machine(turn.speaker) {
            continue;
        }
        let mut said: BTreeMap<usize, String> =
            said_lines_within(tag, turn.lines.iter().copied()).into_iter().collect();
        for (at, line) in turn.lines.iter().enumerate() {
            let left = said.remove(&at).unwrap_or_default();
            if left.trim() != line.trim() {
                let mark = if at == 0 && !left.trim().is_empty() { *mark } else { "" };
                changed.insert(first + at, format!("{mark}{left}"));
            }
        }
    }
    changed
}

/// Maximum number of lines before and behind some lines that are looked at for what goes on in these.
const MAX_AROUND: usize = 20_000;

/// The lines of the turns that some lines of a conversation are of, the first and the last, with the turns before and behind of the same
/// speakers and of tools: what goes on in those lines began there. All are counted from 0; `line` gives one of `count`.
pub(crate) fn turns_around<'t>(
    line: &dyn Fn(usize) -> &'t str,
    count: usize,
    (first, last): (usize, usize),
) -> Range<usize> {
    let speaker = |at: usize| turn_start(line(at)).map(|start| start.speaker);
    let (mut from, mut own) = (first, None);
    for at in (first.saturating_sub(MAX_AROUND)..=first.min(count.saturating_sub(1))).rev() {
        let Some(name) = speaker(at) else { continue };
        if own.is_some_and(|own| own != name) && !is_machine(name) {
            break;
        }
        from = at;
        // A tool may stand before the one who called it.
        own = own.or(Some(name).filter(|name| !is_machine(name)));
    }
    let mut own =
        (from..=last.min(count.saturating_sub(1))).rev().find_map(|at| speaker(at).filter(|name| !is_machine(name)));
    let mut end = count.min(last.saturating_add(1 + MAX_AROUND));
    for at in last + 1..end {
        let Some(name) = speaker(at).filter(|name| !is_machine(name)) else { continue };
        if own.is_some_and(|own| own != name) {
            end = at;
            break;
        }
        own = Some(name);
    }
    from.min(end)..end
}

/// What is left of turns that follow each other, each a speaker and a text; as it was written where programs put nothing into it.
pub(crate) fn turns_without_machinery<'t>(turns: &[(&str, &'t str)]) -> Vec<Cow<'t, str>> {
    let is_said = |text: &str| !text.trim().is_empty();
    let said = turns.iter().filter(|(_, text)| is_said(text));
    let lines = said.map(|(speaker, text)| {
        let is_person = is_person(speaker, &[]);
        TurnLines { speaker, is_person, lines: text.lines().collect() }
    });
    let mut tags = tags_at_begin(&lines.collect::<Vec<_>>()).into_iter();
    let left = |(_, text): &(&str, &'t str)| match is_said(text).then(|| tags.next().flatten()).flatten() {
        None => without_machinery(text),
        tag => {
            let left = said_lines_within(tag, text.lines()).into_iter().map(|(_, line)| line);
            Cow::Owned(left.collect::<Vec<_>>().join("\n").trim().to_owned())
        }
    };
    turns.iter().map(left).collect()
}

/// For each of such turns whether a model thought all of it, between tags that are in others.
pub(crate) fn turns_of_thought(turns: &[(&str, &str)]) -> Vec<bool> {
    let lines = turns.iter().map(|(speaker, text)| {
        let is_person = is_person(speaker, &[]);
        TurnLines { speaker, is_person, lines: text.lines().collect() }
    });
    are_thoughts(&lines.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (of, around) in [((6, 6), 4..10), ((4, 4), 4..10), ((13, 13), 11..14), ((10, 11), 10..14), ((0, 0), 0..10)]
        {
            assert_eq!(turns_around(&|at| lines[at], lines.len(), of), around, "{of:?}");
        }
        let turns =
            [("assistant", "<think>a"), ("assistant", "b"), ("tool", "c"), ("assistant", "d</think> e"), ("user", "f")];
        assert_eq!(turns_of_thought(&turns), [false, true, false, false, false]);
        assert_eq!(turns_of_thought(&turns[..3]), [false; 3], "nobody closes it");
        assert!(lines_with_machinery("# A note\n\n<think>x</think>\n", &[]).is_empty());
    }
}
