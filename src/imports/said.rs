//! What of a turn somebody said: what programs have put into it is taken out, by rules that have names. What stands in code, or in the
//! middle of a line, is what somebody wrote.

use super::claw::{
    is_claw, is_message_id, is_own_turn, without_envelope, without_events, without_marks, without_metadata,
};
use super::item::SourceKind;
use super::tags::{TagPlace, without_tags, without_unopened};
use crate::derive::code::without_lines;
use crate::derive::{is_housekeeping, is_machine, is_silence};
use crate::fence::without_fenced;

pub(super) const THOUGHT: &str = "what a model thought (`<think>`)";
const INJECTED: &str = "what programs put into a turn (context, reminders, recalled memory)";
const METADATA: &str = "blocks of metadata";
const HOUSEKEEPING: &str = "turns that programs wrote (flush prompts, heartbeats, summaries for a new session)";
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

/// What somebody said of a turn of a kind of source, and the rules by which something of it was taken out. `role` says who speaks.
pub(super) fn said(kind: SourceKind, role: &str, text: &str) -> (String, Vec<&'static str>) {
    let mut left = LeftOfTurn { text: text.to_owned(), rules: Vec::new() };
    if kind == SourceKind::Codex {
        left.by(INJECTED, without_instructions(&left.text));
    }
    let unfenced = without_fenced(&left.text);
    let unfenced = (unfenced.len() < left.text.len()).then(|| unfenced.into_owned());
    left.by(INJECTED, unfenced);
    if is_model(role) {
        // A note is no turn.
        let is_turn = !matches!(kind, SourceKind::MoltisMemory | SourceKind::OpenClawMemory);
        left.by(THOUGHT, is_turn.then(|| without_unopened(&left.text, "think")).flatten());
        left.by(THOUGHT, without_tags(&left.text, &THOUGHTS, TagPlace::Anywhere));
    }
    left.by(INJECTED, without_tags(&left.text, injections(kind), TagPlace::Line));
    // As it writes them, and nobody else.
    if kind == SourceKind::Codex && left.text.contains("<INSTRUCTIONS>") {
        left.by(INJECTED, without_tags(&left.text, &["instructions"], TagPlace::Line));
    }
    left.by(METADATA, without_metadata(&left.text));
    if kind == SourceKind::ClaudeCode {
        left.by(COMMAND, without_tags(&left.text, &COMMANDS, TagPlace::Line));
        let is_mark = |line: &str| line.starts_with(INTERRUPTIONS) && line.trim_end().ends_with(']');
        left.by(INTERRUPTED, without_lines(&left.text, is_mark));
        left.by(INTERRUPTED, (is_model(role) && left.text.trim() == NOT_ASKED).then(String::new));
    }
    if is_claw(kind) {
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

/// Those of Claude Code, of what is loaded into it, and of its editors.
const CLAUDE_CODE: [&str; 13] = [
    "system-reminder", "system_reminder", "user-prompt-submit-hook", "task-notification", "ide_opened_file",
    "ide_selection", "ide_context", "ide_diagnostics", "available_skills", "recalled_context", "injected_context",
    "relevant-memories", "relevant_memories",
];
/// Those of Codex. `instructions` stands alone where it is written as Codex does.
const CODEX: [&str; 11] = [
    "environment_context", "user_instructions", "collaboration_mode", "permissions instructions",
    "skills_instructions", "turn_aborted", "available_skills", "recalled_context", "injected_context",
    "relevant-memories", "relevant_memories",
];
/// Those of OpenClaw and Moltis, with their memory.
const CLAWS: [&str; 13] = [
    "memory", "memory-context", "memory_context", "retrieved_memories", "recalled_context", "injected_context",
    "relevant-memories", "relevant_memories", "environment_context", "environment_details", "available_skills",
    "system-reminder", "system_reminder",
];

/// The tags, in lower case, between which a kind of source has what nobody said, at the beginning of a line. An export of conversations
/// with nothing but a model has none.
pub(super) fn injections(kind: SourceKind) -> &'static [&'static str] {
    match kind {
        SourceKind::ClaudeCode => &CLAUDE_CODE,
        SourceKind::Codex => &CODEX,
        kind if is_claw(kind) => &CLAWS,
        _ => &[],
    }
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
            (ChatGpt, "assistant", "<think>outer <think>inner</think> still</think> answer", "answer", THOUGHT),
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
            let (found, rules) = said(kind, role, text);
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
                    assert_eq!(said(kind, role, text), (text.trim_end().to_owned(), Vec::new()), "{text}");
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
            assert_eq!(said(kind, "user", text), (text.to_owned(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn what_was_recalled_does_not_come_back() {
        let recalled = crate::fence::recalled("- Likes rum (notes/a.md#L3)\n");
        assert_eq!(said(ChatGpt, "user", &format!("{recalled}Really?")), ("Really?".into(), vec![INJECTED]));
    }

    #[test]
    fn many_tags_cost_no_more_than_other_lines() {
        let text = "<system-reminder>\n".repeat(50_000);
        assert_eq!(said(ClaudeCode, "assistant", &text).1, Vec::<&str>::new());
        assert_eq!(said(ChatGpt, "assistant", &format!("{}x", "<think></think>".repeat(50_000))).0, "x");
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
            let (left, _) = said(OpenClaw, "assistant", &format!("{text}\nend"));
            assert!(left.ends_with("end"), "{pattern}");
        }
        let blank = format!("{}{}x", " ".repeat(LENGTH / 5), "<think></think>".repeat(LENGTH / 50));
        assert_eq!(said(ChatGpt, "assistant", &blank).0.trim(), "x");
        let code = "```\n<think>\n```\n".repeat(LENGTH / 80);
        assert_eq!(said(ChatGpt, "assistant", &code).0.len(), code.trim_end().len());
    }
}
