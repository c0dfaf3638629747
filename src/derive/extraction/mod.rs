//! What a chat model is asked to find in a conversation, and what of its answer stands. Pure.
//!
//! `turns` reads who said what, in which line, without what programs put among the turns; `prompt` makes the one question of
//! a session of it, clamped with visible marks; `answer` finds the JSON in what comes back; `check` holds each line of that against the
//! lines that it names, by the numbers, names and negations of `claims`, by the `signs` of scripts that have no capitals, and by `assertion`, which
//! knows what is only asked, assumed or reported; `short` does the same for the lines of a digest. Nothing of an answer is believed that the conversation does not
//! say.

mod answer;
mod assertion;
mod check;
mod claims;
mod names;
mod prompt;
mod short;
mod signs;
mod turns;

pub(crate) use answer::read_extraction;
pub(crate) use check::{CheckedAnswer, CheckedEntry, CheckedLine, check_extraction};
pub(crate) use prompt::{ExtractionPrompt, extraction_prompt, repair_prompt};
pub(crate) use short::{ShortSentence, check_short, short_prompt};
pub(crate) use turns::{SpokenTurn, Voice, read_turns, turns_digest};

/// The property by which a conversation says whether a chat model may read it: `extraction: false`.
pub(crate) const EXTRACTION_PROPERTY: &str = "extraction";
