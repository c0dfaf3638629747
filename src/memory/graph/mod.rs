//! Asking the graph of notes: by name, relation and type, and what is around a note.

mod ask;

pub use ask::graph;
