//! What a model should know for a question: a gate decides whether anything is worth giving, sections are put together within budgets, each
//! line with its source, and a receipt says what was given and what was left out.

mod block;
mod gate;
mod insert;
mod lines;
mod passages;
mod run;
mod sections;

pub(crate) use insert::ChatBody;
pub(crate) use run::context;
