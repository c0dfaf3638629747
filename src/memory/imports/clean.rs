//! What of a turn somebody said: what programs have put into it is taken out, by rules that have names. What stands in code, or in the
//! middle of a line, is what somebody wrote.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::kinds::SourceKind;
use crate::base::fence::without_fenced;
use crate::text::derive::code::{changed_lines, code_at, without_lines};
use crate::text::derive::{is_housekeeping, is_machine, is_silence, turns_of_thought};
use crate::text::note::code;

pub(super) const THOUGHT: &str = "what a model thought (`<think>`)";
const INJECTED: &str = "what programs put into a turn (context, reminders, recalled memory)";
const METADATA: &str = "blocks of metadata";
pub(super) const HOUSEKEEPING: &str =
    "turns that programs wrote (flush prompts, heartbeats, summaries for a new session)";
const SILENCE: &str = "marks of silence (`NO_REPLY`, `HEARTBEAT_OK`)";
const COMMAND: &str = "commands of a program and what they printed";
const REPLY: &str = "marks of how a reply is sent (`[[reply_to_current]]`, `[[audio_as_voice]]`)";
const INTERRUPTED: &str = "marks of an answer that was interrupted, or not asked for";

/// What models call themselves: they alone think.
const MODELS: [&str; 4] = ["assistant", "model", "ai", "bot"];
/// Tags between which a model thinks. One that begins a turn and is never closed goes on to its end.
const THOUGHTS: [&str; 5] = ["think", "thinking", "antthinking", "scratchpad", "reasoning"];
/// Tags between which Claude Code keeps what was typed as a command, and what that printed.
const COMMANDS: [&str; 9] = [
    "command-name", "command-message", "command-args", "local-command-caveat", "local-command-stdout",
    "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr",
];
/// With what Codex begins a turn that has the instructions of a project, and what ends those.
const INSTRUCTIONS: (&str, &str) = ("# AGENTS.md instructions for ", "</INSTRUCTIONS>");
/// What Claude Code writes where somebody has interrupted it: a line by itself.
const INTERRUPTIONS: &str = "[Request interrupted by user";
/// What Claude Code has a model say that was not asked.
const NOT_ASKED: &str = "No response requested.";

/// Whether a speaker is a program.
pub(super) fn is_program(role: &str) -> bool {
    let role = role.trim();
    is_machine(role)
        || ["toolresult", "tool_use", "notice", "bashexecution"].iter().any(|known| role.eq_ignore_ascii_case(known))
}

pub(super) fn is_model(role: &str) -> bool {
    MODELS.iter().any(|known| role.trim().eq_ignore_ascii_case(known))
}

/// What is left of a turn, and the rules by which something of it was taken out.
struct LeftOfTurn {
    text: String,
    rules: Vec<&'static str>,
}

impl LeftOfTurn {
    /// Puts what a rule leaves in the place of the text, where it leaves something else.
    fn by(&mut self, rule: &'static str, left: Option<String>) {
        if let Some(text) = left {
            self.text = text;
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
    }
}

/// What somebody said of turns of one conversation as a program sends them, whatever program: each who speaks, in what role, and what. `None`
/// where that is all of one.
pub(crate) fn said_in_events(turns: &[(&str, &str, &str)]) -> Vec<Option<String>> {
    let left = |((_, role, text), is_thought): (&(&str, &str, &str), bool)| {
        if is_thought && is_model(role) {
            return Some(String::new());
        }
        let (left, rules) = said(None, role, text);
        (!rules.is_empty()).then_some(left)
    };
    let spoken: Vec<(&str, &str)> = turns.iter().map(|(speaker, _, text)| (*speaker, *text)).collect();
    turns.iter().zip(turns_of_thought(&spoken)).map(left).collect()
}

/// A turn without what was recalled; `None` where it has nothing of it.
pub(crate) fn without_recalled(text: &str) -> Option<String> {
    let left = without_fenced(text);
    // The first line may be indented code.
    (left.len() < text.len()).then(|| left.trim_end().trim_start_matches('\n').to_owned())
}

/// What somebody said of a turn of a kind of source, or of an event, and the rules by which something of it was taken out. `role` says who speaks.
pub(super) fn said(kind: Option<SourceKind>, role: &str, text: &str) -> (String, Vec<&'static str>) {
    let is = |known: SourceKind| kind == Some(known);
    let mut left = LeftOfTurn { text: text.to_owned(), rules: Vec::new() };
    if is(SourceKind::Codex) {
        left.by(INJECTED, without_instructions(&left.text));
    }
    left.by(INJECTED, without_recalled(&left.text));
    if is_model(role) {
        // A note is no turn.
        let is_turn = !kind.is_some_and(SourceKind::is_of_notes);
        left.by(THOUGHT, is_turn.then(|| without_unopened(&left.text, "think")).flatten());
        left.by(THOUGHT, without_tags(&left.text, &THOUGHTS, TagPosition::Anywhere));
    }
    left.by(INJECTED, without_tags(&left.text, &injections(kind), TagPosition::Line));
    // As it writes them, and nobody else.
    if is(SourceKind::Codex) && left.text.contains("<INSTRUCTIONS>") {
        left.by(INJECTED, without_tags(&left.text, &["instructions"], TagPosition::Line));
    }
    left.by(METADATA, without_metadata(&left.text));
    if is(SourceKind::ClaudeCode) {
        left.by(COMMAND, without_tags(&left.text, &COMMANDS, TagPosition::Line));
        let is_mark = |line: &str| line.starts_with(INTERRUPTIONS) && line.trim_end().ends_with(']');
        left.by(INTERRUPTED, without_lines(&left.text, is_mark));
        left.by(INTERRUPTED, (is_model(role) && left.text.trim() == NOT_ASKED).then(String::new));
    }
    if kind.is_some_and(SourceKind::is_claw) {
        left.by(METADATA, without_lines(&left.text, |line| is_message_id(line.trim())));
        if is_model(role) {
            left.by(REPLY, without_marks(&left.text));
        } else {
            left.by(INJECTED, without_events(&left.text));
            left.by(HOUSEKEEPING, is_own_turn(&left.text).then(String::new));
            left.by(METADATA, (!is_program(role)).then(|| without_envelope(&left.text)).flatten());
        }
    }
    left.by(SILENCE, without_lines(&left.text, is_silence));
    left.by(HOUSEKEEPING, is_housekeeping(&left.text).then(String::new));
    let text = left.text.trim_end().trim_start_matches(['\n', '\r']).to_owned();
    (text, left.rules)
}

/// A turn of Codex without the instructions of a project. Those of earlier versions have no end.
fn without_instructions(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix(INSTRUCTIONS.0)?;
    Some(rest.rfind(INSTRUCTIONS.1).map(|end| rest[end + INSTRUCTIONS.1.len()..].to_owned()).unwrap_or_default())
}

/// Those that any program may put before or behind what somebody said, and those of each besides. `instructions` stands alone where it is written
/// as Codex does.
const RECALLED: [&str; 5] =
    ["recalled_context", "injected_context", "relevant-memories", "relevant_memories", "available_skills"];
const REMINDERS: [&str; 2] = ["system-reminder", "system_reminder"];
const CLAUDE_CODE: [&str; 6] = [
    "user-prompt-submit-hook", "task-notification", "ide_opened_file", "ide_selection", "ide_context",
    "ide_diagnostics",
];
const CODEX: [&str; 6] = [
    "environment_context", "user_instructions", "collaboration_mode", "permissions instructions",
    "skills_instructions", "turn_aborted",
];
/// Those of OpenClaw and Moltis, with their memory.
const CLAWS: [&str; 6] =
    ["memory", "memory-context", "memory_context", "retrieved_memories", "environment_context", "environment_details"];

/// The tags, in lower case, between which a kind of source, or an event, has what nobody said, at the beginning of a line. An export of
/// conversations with nothing but a model has none.
fn injections(kind: Option<SourceKind>) -> Vec<&'static str> {
    match kind {
        None => [&RECALLED[..], &REMINDERS].concat(),
        Some(SourceKind::ClaudeCode) => [&RECALLED[..], &REMINDERS, &CLAUDE_CODE].concat(),
        Some(SourceKind::Codex) => [&RECALLED[..], &CODEX].concat(),
        Some(kind) if kind.is_claw() => [&RECALLED[..], &REMINDERS, &CLAWS].concat(),
        Some(_) => Vec::new(),
    }
}

/// What OpenClaw begins a session with: the turn that has it is its own.
const NEW_SESSION: &str = "A new session was started via /new or /reset.";
/// What OpenClaw begins a turn with that it gives to an agent below another, or tells by itself.
const OWN_TURNS: [&str; 3] = ["[Subagent Context]", "[Subagent Task]", "[System Message]"];
/// What lines begin with that OpenClaw puts before a turn: what happened meanwhile.
const HAPPENED: [&str; 2] = ["System: [", "System (untrusted): ["];
/// Maximum length of an envelope, in bytes.
const MAX_ENVELOPE_BYTES: usize = 200;

/// Whether a line says what a message is called where it was sent, and nothing else.
fn is_message_id(line: &str) -> bool {
    line.strip_prefix("[message_id:").and_then(|rest| rest.strip_suffix(']')).is_some_and(|id| !id.contains(['[', ']']))
}

/// A turn without the lines before it that say what happened meanwhile.
fn without_events(text: &str) -> Option<String> {
    let is_event = |line: &&str| line.trim().is_empty() || HAPPENED.iter().any(|begin| line.starts_with(begin));
    let length: usize = text.split_inclusive('\n').take_while(is_event).map(str::len).sum();
    (!text[..length].trim().is_empty()).then(|| text[length..].to_owned())
}

/// A turn without the envelope before it, which says where a message came from, and when: `[Telegram Bob id:7 2026-01-05 09:01 UTC]`. Before the
/// time there is a word as programs write it: a day of the week, or where it came from.
fn without_envelope(text: &str) -> Option<String> {
    static ENVELOPE: LazyLock<Regex> = LazyLock::new(|| {
        let time = "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}";
        Regex::new(&format!(r"^\s*\[([^\[\]\n]+ {time}[^\[\]\n]*)\]")).expect("the pattern is a constant")
    });
    let found = ENVELOPE.captures(text)?;
    let rest = &text[found[0].len()..];
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (ends && found[1].len() <= MAX_ENVELOPE_BYTES).then(|| rest.trim_start_matches([' ', '\t']).to_owned())
}

/// Whether a turn is OpenClaw's own, whoever it says it is of. A day and a time may stand before it.
fn is_own_turn(text: &str) -> bool {
    let text = text.trim_start();
    let dated = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let begin = dated.filter(|(time, _)| time.len() < 40 && time.contains(':')).map_or(text, |(_, rest)| rest);
    is_housekeeping(begin)
        || OWN_TURNS.iter().any(|mark| begin.starts_with(mark))
        || without_lines(text, |line| line.starts_with(NEW_SESSION)).is_some()
}

/// A text without the marks of how a reply is sent, which begin or end a line.
fn without_marks(text: &str) -> Option<String> {
    static MARKS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        let marks = r"(?:\s*\[\[\s*(?:reply_to_current|audio_as_voice|reply_to\s*:[^\[\]]{0,200})\s*\]\])+\s*";
        [format!("^{marks}"), format!("{marks}$")].map(|marks| Regex::new(&marks).expect("the pattern is a constant"))
    });
    if !text.contains("[[") {
        return None;
    }
    changed_lines(text, |line| {
        let said = MARKS[0].find(line).map_or(line, |mark| &line[mark.end()..]);
        Some(MARKS[1].find(said).map_or(said, |mark| &said[..mark.start()]))
    })
}

/// A text without blocks of metadata, as OpenClaw puts them before a message: a line that says so, and a block of code below it.
fn without_metadata(text: &str) -> Option<String> {
    if !text.contains("(untrusted metadata)") {
        return None;
    }
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
        let head = r"^[^\n]*\(untrusted metadata\):*[ \t\r]*(?:\n|\z)";
        let code = r"[ \t]*```[^\n]*\n(?s:.*?)(?:^[ \t]*```[^\n]*(?:\n|\z)|\z)";
        Regex::new(&format!(r"(?m){head}(?:{code})?(?:[ \t\r]*\n)*")).expect("the pattern is a constant")
    });
    match BLOCK.replace_all(text, "") {
        Cow::Owned(left) => Some(left),
        Cow::Borrowed(_) => None,
    }
}

/// Maximum number of times that it is looked anew where code is, because a tag went that had opened some: each costs the rest of the text.
const MAX_LOOKS: usize = 16;

/// Where a tag counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagPosition {
    /// At the beginning of a line.
    Line,
    /// Anywhere; one that begins the text and is never closed goes on to its end.
    Anywhere,
}

/// Words that stand in other texts as well: between tags of these names programs put something where nothing else stands in the tag.
const COMMON: [&str; 2] = ["memory", "instructions"];

/// Whether the text after a `<` is this tag.
fn is_named(rest: &str, tag: &str) -> bool {
    let named = rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag));
    let is_bare = COMMON.contains(&tag);
    named && rest[tag.len()..].starts_with(|c: char| c == '>' || (!is_bare && (c == '/' || c.is_whitespace())))
}

/// A text without what stands before a tag of this name, in lower case, that is closed and was never opened; `None` where there is none.
/// Some models begin to think without a tag. What stands in code is not looked at.
fn without_unopened(text: &str, tag: &str) -> Option<String> {
    let (lower, close) = (text.to_ascii_lowercase(), format!("</{tag}>"));
    if !lower.contains(&close) {
        return None;
    }
    let code = code(text);
    let said = lower.match_indices('<').map(|(at, _)| at).filter(|at| code_at(&code, *at).is_none());
    let first = said.into_iter().find(|at| lower[*at..].starts_with(&close) || is_named(&lower[at + 1..], tag))?;
    let is_closed = lower[first..].starts_with(&close);
    is_closed.then(|| text[first + close.len()..].trim_start_matches([' ', '\t']).to_owned())
}

/// A text without what stands between tags of these names, in lower case; `None` where nothing does. What stands in code stays.
fn without_tags(text: &str, tags: &[&str], place: TagPosition) -> Option<String> {
    if !text.contains('<') {
        return None;
    }
    let (mut ranges, mut looks) = (code(text), 0);
    let lower = text.to_ascii_lowercase();
    // All of it is looked at once: no step goes back to the beginning of the text, or of its line.
    let (mut kept, mut from, mut at, mut was_begin) = (String::new(), 0, 0, true);
    let first = text.len() - text.trim_start().len();
    // A tag that is nowhere closed after this place is not looked for again.
    let mut unclosed: Vec<&str> = Vec::new();
    while let Some(start) = lower[at..].find('<').map(|found| at + found) {
        at = start + 1;
        // What a tag that went began its line with began the line as well.
        let since = text[from..start].trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
        let is_begin = if since.is_empty() { was_begin } else { since.ends_with('\n') };
        if code_at(&ranges, start).is_some() || (place == TagPosition::Line && !is_begin) {
            continue;
        }
        let tag = tags.iter().find(|tag| is_named(&lower[at..], tag)).filter(|tag| !unclosed.contains(tag));
        let Some(tag) = tag else { continue };
        let end = lower[at..].find(&format!("</{tag}")).map(|found| at + found);
        let end = match end {
            Some(end) => lower[end..].find('>').map_or(lower.len(), |close| end + close + 1),
            None if place == TagPosition::Anywhere && start <= first => text.len(),
            None => {
                unclosed.push(tag);
                continue;
            }
        };
        kept.push_str(&text[from..start]);
        let blanks = text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
        (from, was_begin) = (if is_begin { end + blanks } else { end }, is_begin);
        at = from;
        if code_at(&ranges, end).is_some_and(|range| range.start < end) && looks < MAX_LOOKS {
            looks += 1;
            ranges = code(&text[end..]).into_iter().map(|range| range.start + end..range.end + end).collect();
        }
    }
    if from == 0 {
        return None;
    }
    kept.push_str(&text[from..]);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::SourceKind::{ChatGpt, Claude, ClaudeCode, Codex, Folder, Moltis, OpenClaw};
    use super::*;

    #[test]
    fn what_programs_put_into_a_turn_goes_by_a_rule_with_a_name() {
        for (kind, role, text, left, rule) in [
            (ChatGpt, "assistant", "Yes <think>he lies</think>of course", "Yes of course", THOUGHT),
            (ChatGpt, "assistant", "<think>\nnever closed", "", THOUGHT),
            (ChatGpt, "Assistant", "<thinking>a</thinking>\n\nHello", "Hello", THOUGHT),
            (ChatGpt, "assistant", "<think>```\n</think> Use `x <think>` here", "Use `x <think>` here", THOUGHT),
            (ChatGpt, "assistant", "<think>or <think>so</think> So `</think>` it is", "So `</think>` it is", THOUGHT),
            (ChatGpt, "assistant", "He means\nrye.\n</think>\n\nRye", "Rye", THOUGHT),
            (ClaudeCode, "user", "<system-reminder>\nx\n</system-reminder>\nHello", "Hello", INJECTED),
            (ClaudeCode, "user", "<user-prompt-submit-hook>x</user-prompt-submit-hook>\nHello", "Hello", INJECTED),
            (ClaudeCode, "user", "<ide_diagnostics>[]</ide_diagnostics>Hello", "Hello", INJECTED),
            (ClaudeCode, "user", "<command-name>/clear</command-name>", "", COMMAND),
            (ClaudeCode, "user", "<bash-input>ls</bash-input>", "", COMMAND),
            (ClaudeCode, "user", "<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>", "", COMMAND),
            (
                ClaudeCode,
                "user",
                "<local-command-caveat>Caveat: x</local-command-caveat>\nAnd the oven?",
                "And the oven?",
                COMMAND,
            ),
            (ClaudeCode, "user", "[Request interrupted by user for tool use]", "", INTERRUPTED),
            (ClaudeCode, "user", "[Request interrupted by user]\n\nNo, the till", "No, the till", INTERRUPTED),
            (ClaudeCode, "assistant", "No response requested.", "", INTERRUPTED),
            (Codex, "user", "<environment_context>\n <cwd>/x</cwd>\n</environment_context>", "", INJECTED),
            (Codex, "user", "# AGENTS.md instructions for /x\n\nBe brief", "", INJECTED),
            (
                Codex,
                "user",
                "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief\n</INSTRUCTIONS>\n\nHello",
                "Hello",
                INJECTED,
            ),
            (Codex, "user", "<INSTRUCTIONS>\nBe brief\n</INSTRUCTIONS>", "", INJECTED),
            (Codex, "user", "<collaboration_mode>x</collaboration_mode>", "", INJECTED),
            (Codex, "user", "<skills_instructions>\nx\n</skills_instructions>", "", INJECTED),
            (Codex, "user", "<permissions instructions>x</permissions instructions>", "", INJECTED),
            (Moltis, "user", "<memory>\nLikes rum\n</memory>\nHello", "Hello", INJECTED),
            (Moltis, "user", "Hello\n<memory-context>\nLikes rum\n</memory-context>", "Hello", INJECTED),
            (Moltis, "user", "<retrieved_memories>x</retrieved_memories>Hello", "Hello", INJECTED),
            (OpenClaw, "user", "Sender (untrusted metadata):\n```json\n{\"a\": 1}\n```\n\nHello", "Hello", METADATA),
            (OpenClaw, "user", "[message_id: om_x1]\nHello", "Hello", METADATA),
            (OpenClaw, "user", "[Mon 2026-01-05 09:00 UTC] Hello", "Hello", METADATA),
            (Moltis, "user", "[Telegram Bob id:123 2026-01-05 09:01 UTC] [a] b", "[a] b", METADATA),
            (OpenClaw, "user", "System: [2026-01-05 09:00 UTC] Cron: rye\n\nHello", "Hello", INJECTED),
            (OpenClaw, "user", "[Subagent Context] You are running as a subagent", "", HOUSEKEEPING),
            (OpenClaw, "user", "A new session was started via /new or /reset. Say hi", "", HOUSEKEEPING),
            (OpenClaw, "assistant", "[[reply_to_current]] Sure", "Sure", REPLY),
            (OpenClaw, "assistant", "[[reply_to:17]]\nSure", "Sure", REPLY),
            (OpenClaw, "assistant", "NO_REPLY", "", SILENCE),
            (OpenClaw, "assistant", "HEARTBEAT_OK", "", SILENCE),
            (
                OpenClaw,
                "user",
                "Pre-compaction memory flush. Store durable memories only in memory/x.md",
                "",
                HOUSEKEEPING,
            ),
            (OpenClaw, "user", "Read HEARTBEAT.md if it exists", "", HOUSEKEEPING),
            (
                ClaudeCode,
                "user",
                "This session is being continued from a previous conversation that ran",
                "",
                HOUSEKEEPING,
            ),
        ] {
            let (found, rules) = said(Some(kind), role, text);
            assert_eq!((found.as_str(), &rules[..]), (left, &[rule][..]), "{text}");
        }
    }

    #[test]
    fn what_somebody_wrote_stays_as_it_is() {
        for text in [
            "Why does <Context.Provider> not work?",
            "What is <think> for?",
            "a <system-reminder> in a line </system-reminder> stays",
            "```\n<think>code</think>\n<system-reminder>\n</system-reminder>\nNO_REPLY\n[Request interrupted by user]\n```",
            "Between `<think>` and `</think>` it thinks",
            "`<system-reminder>\n</system-reminder>`",
            "x < y, <b>bold</b>, NO_REPLY is a word here",
            "é<é>é < ",
            "<system-reminder>\nnever closed",
            "The line says [Request interrupted by user] there, and `No response requested.`",
            "I wrote No response requested. and <bash-stdout>it</bash-stdout>",
            "It has [[reply_to_current]] and [message_id: 3] in it",
            "What is the [Subagent Context]?",
            "  indented\n\n  code",
        ] {
            for kind in SourceKind::ALL {
                for role in ["user", "assistant"] {
                    assert_eq!(said(Some(kind), role, text), (text.trim_end().to_owned(), Vec::new()), "{text}");
                }
            }
        }
        for (kind, text) in [
            (ChatGpt, "I mean <think>this</think>, as they do"),
            (ChatGpt, "<thinking>aloud</thinking> I would go"),
            (ChatGpt, "<instructions>\nBe brief\n</instructions>"),
            (ChatGpt, "# AGENTS.md instructions for /x\n\nWhat is that?"),
            (ChatGpt, "<bash-stdout>what is that</bash-stdout>"),
            (ChatGpt, "<memory unit='KiB'>640</memory>"),
            (ChatGpt, "<memory>My own poem</memory>\nHow is it?"),
            (ClaudeCode, "<memory>My own poem</memory>"),
            (Codex, "<system-reminder>what is that</system-reminder>"),
            (ClaudeCode, "<user_instructions>mine</user_instructions>"),
            (Claude, "<system-reminder>what is that</system-reminder>"),
            (Moltis, "<memory unit='KiB'>640</memory>"),
            (Codex, "<instructions lang='en'>mine</instructions><INSTRUCTIONS>"),
            (Folder, "[message_id: 3]"),
            (ChatGpt, "[Mon 2026-01-05 09:00 UTC] is when"),
            (ChatGpt, "It ends with </think> there"),
            (OpenClaw, "[2026-01-05 09:00] 18 degrees"),
            (OpenClaw, "[since 2026-01-05] 18 degrees"),
            (ClaudeCode, "No response requested."),
            (OpenClaw, "[[reply_to_current]] is what it says"),
        ] {
            assert_eq!(said(Some(kind), "user", text), (text.to_owned(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn what_was_recalled_does_not_come_back() {
        let recalled = crate::base::fence::recalled("- Likes rum (notes/a.md#L3)\n");
        assert_eq!(said(Some(ChatGpt), "user", &format!("{recalled}Really?")), ("Really?".into(), vec![INJECTED]));
    }

    #[test]
    fn many_tags_cost_no_more_than_other_lines() {
        let text = "<system-reminder>\n".repeat(50_000);
        assert_eq!(said(Some(ClaudeCode), "assistant", &text).1, Vec::<&str>::new());
        assert_eq!(said(Some(ChatGpt), "assistant", &format!("{}x", "<think></think>".repeat(50_000))).0, "x");
    }

    /// Each `<` was once held against its line from the beginning on, and each tag against all that came before it: days for one turn.
    #[test]
    fn ten_megabytes_that_mean_ill_are_read_as_fast_as_others() {
        const LENGTH: usize = 10 << 20;
        for (pattern, length) in [
            ("a <b ", LENGTH),
            ("<think></think>", LENGTH / 5),
            ("<think><think></think>", LENGTH / 5),
            ("\n<system-reminder x", LENGTH / 5),
            ("<think>```\n</think>", LENGTH / 5),
            ("`` ` ", LENGTH / 5),
            ("[[reply_to:", LENGTH / 5),
        ] {
            let text = pattern.repeat(length / pattern.len());
            let (left, _) = said(Some(OpenClaw), "assistant", &format!("{text}\nend"));
            assert!(left.ends_with("end"), "{pattern}");
        }
        let blank = format!("{}{}x", " ".repeat(LENGTH / 5), "<think></think>".repeat(LENGTH / 50));
        assert_eq!(said(Some(ChatGpt), "assistant", &blank).0.trim(), "x");
        let code = "```\n<think>\n```\n".repeat(LENGTH / 80);
        assert_eq!(said(Some(ChatGpt), "assistant", &code).0.len(), code.trim_end().len());
    }

    #[test]
    fn marks_of_a_reply_go_where_they_begin_or_end_a_line() {
        for (text, left) in [
            ("[[reply_to_current]] Sure", Some("Sure")),
            ("[[reply_to: 17]] [[audio_as_voice]] Sure\nYes", Some("Sure\nYes")),
            ("Sure [[audio_as_voice]]", Some("Sure")),
            ("Write [[reply_to_current]] before it", None),
            ("See [[Kyoto]]", None),
            ("[[reply_to_current", None),
            ("```\n[[reply_to_current]] x\n```", None),
            ("`[[audio_as_voice]]`", None),
        ] {
            assert_eq!(without_marks(text).as_deref(), left, "{text}");
        }
        // Many of them cost no more than other text.
        assert_eq!(without_marks(&"[[audio_as_voice]]".repeat(50_000)).as_deref(), Some(""));
    }

    #[test]
    fn turns_that_are_its_own_are_known_with_a_time_before_them() {
        for text in [
            "[Subagent Context] You are running as a subagent (depth 1/1).\n\n[Subagent Task]: Add two and two",
            "[Wed 2026-02-18 16:43 GMT+1] [Subagent Context] You are running",
            "[Wed 2026-02-18 16:43 GMT+1] [System Message] A task has timed out",
            "Notes of before\n\nA new session was started via /new or /reset. Say hi.",
            "[Wed 2026-02-18 16:43] Read HEARTBEAT.md if it exists",
        ] {
            assert!(is_own_turn(text), "{text}");
        }
        for text in
            ["[a] b", "What is [Subagent Context]?", "> A new session was started via /new or /reset.", "[x: y] z"]
        {
            assert!(!is_own_turn(text), "{text}");
        }
    }

    #[test]
    fn what_happened_meanwhile_stands_before_what_was_said() {
        let text = "System: [2026-01-05 09:00:00 UTC] Cron: water the rye\nSystem: [2026-01-05 09:00:01 UTC] Node\n\nHello\nSystem: [x]";
        assert_eq!(without_events(text).as_deref(), Some("Hello\nSystem: [x]"));
        assert_eq!((without_events("System: Debian"), without_events("\n\nHello")), (None, None));
    }
}
