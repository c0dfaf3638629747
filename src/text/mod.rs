//! Markdown → a note, and what is derived of it: chunks, words, links, properties, facts and entries as lines.

pub mod derive;
pub mod note;
