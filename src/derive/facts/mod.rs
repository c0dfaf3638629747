//! Facts, which have one right answer: list items `- key: value` in a `facts.md`, and the history beside it. Pure, and without a model.
//!
//! ```text
//! facts.md ─▶ file (items · values · windows) ─┬─▶ current values
//!                  │                           └─▶ history: what changed since its last line ─▶ facts.history.md
//!                  └─ edit: one line becomes another      └─▶ timeline: what was true when, as was known when
//! ```

mod change;
mod edit;
mod file;
mod history;
mod history_text;
mod inline;
mod item;
mod name;
mod next_change;
mod order;
#[cfg(test)]
mod tests;
mod timeline;
mod twins;
mod value;
mod window;

pub(crate) use change::{FactChange, FactChangeKind};
pub(crate) use edit::{
    EditedFacts, FactEditError, NewFact, is_namespace, with_fact, with_retraction, without_fact, without_values,
};
pub(crate) use file::{Fact, FactsFile, MAX_VALUE_BYTES};
pub(crate) use history::{FactsHistory, NoticedBy};
pub(crate) use history_text::{line_noticed_at, lines_after, without_changes, without_sources};
pub(crate) use inline::inline_fields;
pub(crate) use item::{is_key, is_tag, without_tags};
pub(crate) use name::{full_name, split_name};
pub(crate) use timeline::{FactWindow, windows};
pub(crate) use value::{read_value, written_value};
pub(crate) use window::{FactPhase, Moment, Validity};
