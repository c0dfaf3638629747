//! What of a turn somebody said: what programs have put into it is taken out, by rules that have names.

use std::ops::Range;

use crate::derive::{is_housekeeping, is_machine, is_silence};
use crate::fence::without_fenced;

const THOUGHT: &str = "what a model thought (`<think>`)";
const INJECTED: &str = "what programs put into a turn (context, reminders, recalled memory)";
const METADATA: &str = "blocks of metadata";
const HOUSEKEEPING: &str = "turns that programs wrote (flush prompts, heartbeats, summaries for a new session)";
const SILENCE: &str = "marks of silence (`NO_REPLY`, `HEARTBEAT_OK`)";
const COMMAND: &str = "commands of a program and what they printed";

/// Tags between which a model thinks. One that begins a turn and is never closed goes on to its end.
const THOUGHTS: [&str; 5] = ["think", "thinking", "antthinking", "scratchpad", "reasoning"];
/// Tags between which programs put what nobody said, at the beginning of a line.
const INJECTIONS: [&str; 16] = [
    "system-reminder",
    "system_reminder",
    "environment_context",
    "environment_details",
    "user_instructions",
    "ide_opened_file",
    "ide_selection",
    "ide_context",
    "recalled_context",
    "relevant-memories",
    "relevant_memories",
    "memory_context",
    "injected_context",
    "turn_aborted",
    "task-notification",
    "available_skills",
];
/// Tags of what was typed as a command: a turn that begins so says nothing else.
const COMMANDS: [&str; 6] =
    ["command-name", "command-message", "command-args", "local-command-stdout", "local-command-stderr", "bash-input"];
/// What a turn begins with that a program wrote for the model.
const PREFACES: [&str; 3] = ["# AGENTS.md instructions for ", "<user_instructions>", "<permissions instructions>"];
/// A reply is meant for the message before.
const REPLY_MARKS: [&str; 1] = ["[[reply_to_current]]"];

/// Whether a speaker is a program.
pub(super) fn is_program(role: &str) -> bool {
    let role = role.trim();
    is_machine(role)
        || ["toolresult", "tool_use", "notice", "bashexecution"].iter().any(|known| role.eq_ignore_ascii_case(known))
}

/// What somebody said of a turn, and the rules by which something of it was taken out.
pub(super) fn said(text: &str) -> (String, Vec<&'static str>) {
    let mut rules = Vec::new();
    let mut note = |rule: &'static str, was: bool| {
        if was && !rules.contains(&rule) {
            rules.push(rule);
        }
        was
    };
    let begins = text.trim_start();
    if note(COMMAND, COMMANDS.iter().any(|tag| begins.strip_prefix('<').is_some_and(|rest| is_named(rest, tag)))) {
        return (String::new(), rules);
    }
    if note(INJECTED, PREFACES.iter().any(|preface| begins.starts_with(preface))) {
        return (String::new(), rules);
    }
    let unfenced = without_fenced(text);
    note(INJECTED, unfenced.len() < text.len());
    let mut text = unfenced.into_owned();
    let (cut, was) = without_tags(&text, &THOUGHTS, true);
    note(THOUGHT, was).then(|| text = cut);
    let (cut, was) = without_tags(&text, &INJECTIONS, false);
    note(INJECTED, was).then(|| text = cut);
    let (cut, was) = without_metadata(&text);
    note(METADATA, was).then(|| text = cut);
    for mark in REPLY_MARKS {
        note(SILENCE, text.contains(mark)).then(|| text = text.replace(mark, ""));
    }
    let lines = text.lines().filter(|line| !is_silence(line)).count();
    if note(SILENCE, lines < text.lines().count()) {
        text = text.lines().filter(|line| !is_silence(line)).collect::<Vec<_>>().join("\n");
    }
    if note(HOUSEKEEPING, is_housekeeping(&text)) {
        return (String::new(), rules);
    }
    let text = text.trim_end().trim_start_matches(['\n', '\r']).to_owned();
    (text, rules)
}

/// Whether the text after a `<` is this tag.
fn is_named(rest: &str, tag: &str) -> bool {
    let named = rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag));
    named && rest[tag.len()..].starts_with(|c: char| c == '>' || c == '/' || c.is_whitespace())
}

/// Where code stands between fences: what is in it was said as it is.
fn code(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut open, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match open.take() {
                None => open = Some(at),
                Some(start) => found.push(start..at + line.len()),
            }
        }
        at += line.len();
    }
    found.extend(open.map(|start| start..text.len()));
    found
}

/// A text without what stands between tags of these names, and whether anything did. Of those that begin a line alone, unless `anywhere`.
fn without_tags(text: &str, tags: &[&str], anywhere: bool) -> (String, bool) {
    let code = code(text);
    let mut code = code.iter().peekable();
    let lower = text.to_ascii_lowercase();
    let (mut kept, mut from, mut at) = (String::new(), 0, 0);
    // All of it is looked at once: no step goes back to the beginning of the text, or of its line.
    let first = text.len() - text.trim_start().len();
    let (mut seen, mut is_line_blank) = (0, true);
    // A tag that is nowhere closed after this place is not looked for again.
    let mut unclosed: Vec<&str> = Vec::new();
    while let Some(start) = lower[at..].find('<').map(|found| at + found) {
        at = start + 1;
        let since = &text[seen..start];
        is_line_blank = match since.rfind('\n') {
            Some(end) => since[end..].trim().is_empty(),
            None => is_line_blank && since.trim().is_empty(),
        };
        seen = start;
        while code.peek().is_some_and(|range| range.end <= start) {
            code.next();
        }
        if code.peek().is_some_and(|range| range.contains(&start)) {
            continue;
        }
        if !anywhere && !is_line_blank {
            continue;
        }
        let Some(tag) = tags.iter().find(|tag| is_named(&lower[at..], tag)) else { continue };
        if unclosed.contains(tag) {
            continue;
        }
        let end = lower[at..].find(&format!("</{tag}")).map(|found| at + found);
        let end = end.map(|end| lower[end..].find('>').map_or(lower.len(), |close| end + close + 1));
        let begins = start <= first;
        let end = match end {
            Some(end) => end,
            None if anywhere && begins => text.len(),
            None => {
                unclosed.push(tag);
                continue;
            }
        };
        kept.push_str(&text[from..start]);
        (from, at) = (end, end);
    }
    if from == 0 {
        return (String::new(), false);
    }
    kept.push_str(&text[from..]);
    (kept, true)
}

/// A text without blocks of metadata, as OpenClaw puts them before a message: a line that says so, and a block of code below it.
fn without_metadata(text: &str) -> (String, bool) {
    if !text.contains("(untrusted metadata)") {
        return (String::new(), false);
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
    (kept.concat(), cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_put_into_a_turn_goes_by_a_rule_with_a_name() {
        for (text, left, rule) in [
            ("Yes <think>he lies</think>of course", "Yes of course", THOUGHT),
            ("<think>\nnever closed", "", THOUGHT),
            ("<thinking>a</thinking>\n\nHello", "Hello", THOUGHT),
            ("<system-reminder>\nx\n</system-reminder>\nHello", "Hello", INJECTED),
            ("<environment_context>\n <cwd>/x</cwd>\n</environment_context>", "", INJECTED),
            ("# AGENTS.md instructions for /x\n\nBe brief", "", INJECTED),
            ("<command-name>/clear</command-name>", "", COMMAND),
            ("Conversation info (untrusted metadata):\n```json\n{\"a\": 1}\n```\n\nHello", "Hello", METADATA),
            ("[[reply_to_current]] Sure", " Sure", SILENCE),
            ("NO_REPLY", "", SILENCE),
            ("HEARTBEAT_OK", "", SILENCE),
            ("Pre-compaction memory flush. Store durable memories only in memory/x.md", "", HOUSEKEEPING),
            ("Read HEARTBEAT.md if it exists", "", HOUSEKEEPING),
            ("This session is being continued from a previous conversation that ran out of context.", "", HOUSEKEEPING),
        ] {
            let (found, rules) = said(text);
            assert_eq!((found.as_str(), &rules[..]), (left, &[rule][..]), "{text}");
        }
    }

    #[test]
    fn what_somebody_wrote_stays_as_it_is() {
        for text in [
            "Why does <Context.Provider> not work?",
            "What is <think> for?",
            "a <system-reminder> in a line </system-reminder> stays",
            "```\n<think>code</think>\n<system-reminder>\n</system-reminder>\n```",
            "x < y, <b>bold</b>, NO_REPLY is a word here",
            "é<é>é < ",
            "<system-reminder>\nnever closed",
            "  indented\n\n  code",
        ] {
            assert_eq!(said(text), (text.trim_end().to_owned(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn what_was_recalled_does_not_come_back() {
        let recalled = crate::fence::recalled("- Likes rum (notes/a.md#L3)\n");
        assert_eq!(said(&format!("{recalled}Really?")), ("Really?".into(), vec![INJECTED]));
    }

    #[test]
    fn many_tags_cost_no_more_than_other_lines() {
        let text = "<system-reminder>\n".repeat(50_000);
        assert_eq!(said(&text).1, Vec::<&str>::new());
        assert_eq!(said(&format!("{}x", "<think></think>".repeat(50_000))).0, "x");
    }

    /// Each `<` was once held against its line from the beginning on, and each tag against all that came before it: days for one turn.
    #[test]
    fn ten_megabytes_that_mean_ill_are_read_as_fast_as_others() {
        const LENGTH: usize = 10 << 20;
        for (pattern, length) in
            [("a <b ", LENGTH), ("<think></think>", LENGTH / 5), ("\n<system-reminder x", LENGTH / 5)]
        {
            let text = pattern.repeat(length / pattern.len());
            let (left, _) = said(&format!("{text}\nend"));
            assert!(left.ends_with("end"), "{pattern}");
        }
        let blank = format!("{}{}x", " ".repeat(LENGTH / 5), "<think></think>".repeat(LENGTH / 50));
        assert_eq!(said(&blank).0.trim(), "x");
        let code = "```\n<think>\n```\n".repeat(LENGTH / 80);
        assert_eq!(said(&code).0.len(), code.trim_end().len());
    }
}
