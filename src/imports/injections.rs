//! Tags between which each program puts into its own conversations what nobody said.

use super::claw::is_claw;
use super::kind::SourceKind;

/// Those of Claude Code, of what is loaded into it, and of its editors.
const CLAUDE_CODE: [&str; 13] = [
    "system-reminder",
    "system_reminder",
    "user-prompt-submit-hook",
    "task-notification",
    "ide_opened_file",
    "ide_selection",
    "ide_context",
    "ide_diagnostics",
    "available_skills",
    "recalled_context",
    "injected_context",
    "relevant-memories",
    "relevant_memories",
];
/// Those of Codex. `instructions` stands alone where it is written as Codex does.
const CODEX: [&str; 11] = [
    "environment_context",
    "user_instructions",
    "collaboration_mode",
    "permissions instructions",
    "skills_instructions",
    "turn_aborted",
    "available_skills",
    "recalled_context",
    "injected_context",
    "relevant-memories",
    "relevant_memories",
];
/// Those of OpenClaw and Moltis, with their memory.
const CLAWS: [&str; 13] = [
    "memory",
    "memory-context",
    "memory_context",
    "retrieved_memories",
    "recalled_context",
    "injected_context",
    "relevant-memories",
    "relevant_memories",
    "environment_context",
    "environment_details",
    "available_skills",
    "system-reminder",
    "system_reminder",
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
