//! What a chat model is asked to find in a conversation, and what of its answer stands. Pure.
//!
//! `conversation` reads who said what, in which line, without what programs put among the turns; `prompt` makes the one question of
//! a session of it, clamped with visible marks; `check` finds the JSON in what comes back, and compares each line of
//! that with the lines that it names: the quote, the numbers, the dates, and the names. No number, date or name of an answer is believed that
//! the conversation does not say.

mod check;
mod prompt;
#[cfg(test)]
mod tests;

pub(crate) use super::conversation::{SpokenTurn, Voice, read_turns, turns_digest};
pub(crate) use check::{CheckedAnswer, CheckedEntry, CheckedLine, check_extraction, read_extraction};
pub(crate) use prompt::{ExtractionPrompt, extraction_prompt, repair_prompt};

/// The property by which a conversation says whether a chat model may read it: `extraction: false`.
pub(crate) const EXTRACTION_PROPERTY: &str = "extraction";
