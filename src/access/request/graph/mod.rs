//! The graph of notes, of what a request sees: which are related, and how. A note is an entity by its title, its aliases and its `type`; its
//! links are the edges, with the name of a relation where the note gives one.
//!
//! ```text
//! question ─▶ names (which notes are meant) ─▶ walk (step by step, out of a book that reads each note once) ─▶ view
//! ```
//!
//! Nothing of it is stored but the labels of files: each note that a step leads to is looked up among those that who asks sees, and each
//! relation is read out of a note that is seen. So what is hidden is neither an end of a step nor on the way of one.

mod book;
mod question;
mod walk;

pub use book::{KeyRelation, KeyRelations, key_relations};
pub(crate) use book::{NoteMatches, RelationCache, edge, edge_chars, entity, entity_chars, meant};
pub(crate) use question::GraphQuestion;
pub(crate) use walk::Walk;
