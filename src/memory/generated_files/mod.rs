//! Files that the program makes of others, on disk: the summary of each conversation, the digests of days and weeks, the profile. One that a
//! person has edited is theirs.

mod summary;
mod write;

pub(crate) use summary::{
    MADE_BY, OF, READ, RULES, SummaryFiles, THROUGH, TURNS, day_of_file, is_forgotten, known_summaries, known_summary,
    summary_path,
};
pub(crate) use write::{
    FileMade, GeneratedError, GeneratedFile, PROFILE, generated_of, generated_pages, is_generated_place,
};
