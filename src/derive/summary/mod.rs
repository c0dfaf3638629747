//! Summaries by rules, without a model: of a conversation, and of what was written and said on a day. Every line cites what it was made of.
//! Pure, and bounded: a conversation of any length is read once, and gives so many lines of so many characters.

mod dates;
mod day;
mod make;
mod phrases;
mod prose;
mod terms;
mod text;

pub(crate) use dates::{NamedDay, SIGNS_OF_NUMBERS, named_day, named_month};
pub(crate) use day::{COUNTED, DayDigest, DigestMaker, digest_body};
pub(crate) use make::summarize;
pub(crate) use text::{
    CitedLine, ConversationSummary, ConversationTurn, IN_SHORT, MAX_CITED, SummaryItem, cited, summary_body,
    summary_items, turns_digest, turns_of, with_short_text, without_short_text,
};

/// The collection of summaries and digests: never summarised themselves.
pub(crate) const SUMMARIES: &str = "summaries";
