//! The files in `summaries/` on disk: the summary of each conversation, made by whoever makes it, and the digests of days and weeks. One that a
//! person has edited is theirs.

mod known;
mod make;
mod place;
mod told;

pub(crate) use known::KnownSummaries;
pub(crate) use make::{MADE_BY, OF, RULES, SummaryFiles, THROUGH, TURNS, day_of_file, is_forgotten, summary_path};
pub(crate) use place::{FileMade, SummaryError, generated_of, generated_pages, place, put, take_away};
