//! What is asked of the words, and where.

/// A query's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordQuery {
    /// Any of these; more is better.
    pub words: Vec<String>,
    /// All of these, each a run of words.
    pub phrases: Vec<Vec<String>>,
    /// Said by each of these, as [terms](crate::derive::speaker_term). How rare it is does not count.
    pub said_by: Vec<String>,
    /// Said by none of these.
    pub not_said_by: Vec<String>,
    /// None of these, each a run of words.
    pub excluded: Vec<Vec<String>>,
}

/// A text field of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The stems of its text and of its neighbours on either side.
    Body,
    /// The stems of title and heading path.
    Heading,
    /// The words of its text, with positions. Runs of words are looked for here.
    Own,
}
