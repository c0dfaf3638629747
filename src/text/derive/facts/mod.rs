//! Facts, which have one right answer: list items `- key: value` in a `facts.md`, and the history beside it. Pure, and without a model.
//!
//! ```text
//! facts.md ─▶ file (items · values · windows) ─┬─▶ current values
//!                  │                           └─▶ history: what changed since its last line ─▶ facts.history.md
//!                  └─ edit: one line becomes another      └─▶ timeline: what was true when, as was known when
//! ```

mod file;
mod history;
mod item;
#[cfg(test)]
mod tests;
mod timeline;
mod value;

pub(crate) use file::{FactEdit, FactsFile, MAX_VALUE_BYTES, NewFact, edited, is_namespace, without_values};
pub(crate) use history::{
    FactChange, FactChangeKind, FactsHistory, NoticedBy, lines_after, without_changes, without_sources,
};
pub use item::FactState;
pub(crate) use item::{
    Fact, Moment, Validity, full_name, has_tag, inline_fields, is_block_id, is_key, is_tag, months_between, split_name,
    without_tail,
};
pub(crate) use timeline::{FactWindow, windows};
pub(crate) use value::{read_value, written_value};
