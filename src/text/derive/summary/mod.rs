//! Summaries by rules, without a model: of a conversation, and of what was written and said on a day. Every line cites what it was made of.
//! Pure, and bounded: a conversation of any length is read once, and gives so many lines of so many characters.

mod make;
mod text;

pub(crate) use make::{DigestMaker, summarize};
pub(crate) use text::{
    CitedLine, ConversationTurn, SummaryItem, SummarySections, cited, summary_items, turns_digest, turns_of,
};

/// The collection of summaries and digests: never summarised themselves.
pub(crate) const SUMMARIES: &str = "summaries";
