//! The graph of notes: which are related, and how. A note is an entity by its title, its aliases and its `type`; its links are the edges,
//! with the name of a relation where the note gives one ([`derive::relations`](crate::derive)).
//!
//! ```text
//! params ─▶ question ─▶ names (which notes are meant) ─▶ walk (step by step; each step reads what is seen) ─▶ view
//! ```
//!
//! Nothing of it is stored but the labels of files: each note that a step leads to is looked up among those that who asks sees, and each
//! relation is read out of a note that is seen. So what is hidden is neither an end of a step nor on the way of one.

mod ask;
mod book;
mod key;
mod names;
mod question;
mod view;
mod walk;

pub use ask::graph;
pub use key::{KeyRelation, key_relations};
