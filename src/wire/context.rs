//! A block of memory for a question, and what it was made of.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// What is asked for.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextParams {
    /// What a model is asked; without it what is worth knowing in any case is given.
    pub query: Option<String>,
    /// The agent that it is for: any for the person, and for an agent itself alone.
    pub agent: Option<String>,
    /// Tokens at most, 50 to 100,000; `[memory] context_tokens` when it is not said, and in full mode the sum of the sections'.
    #[serde(default, deserialize_with = "super::object::whole")]
    #[schema(minimum = 50, maximum = 100_000)]
    pub budget: Option<usize>,
    /// Only these sections, whatever the question is.
    pub sections: Option<Vec<ContextPart>>,
    /// `gate` decides whether anything is worth giving; `full` gives all layers within their budgets. The latter where there is no question.
    pub mode: Option<ContextMode>,
    /// Whether it goes into a prompt without anybody having asked for it: then `style` on the agent's page counts.
    pub unasked: Option<bool>,
    /// When the session began. An agent whose page says `prompt_memory_mode: frozen-at-session-start` is given memory as it was then, as far
    /// as notes have not changed since.
    pub session_start: Option<String>,
}

/// A section that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextPart {
    /// Who the person is.
    Profile,
    /// Entries of the working memory.
    Entries,
    /// How what is named is related to others.
    Relations,
    /// Summaries of conversations.
    Summaries,
    /// Turns of conversations.
    Transcript,
    /// Passages of notes.
    Excerpts,
    /// Passages of an agent's own memory.
    Memories,
}

/// How much is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextMode {
    /// What the question is worth, or nothing.
    Gate,
    /// All layers.
    Full,
}

/// A block of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextView {
    /// What a model may be given, fenced as data; empty where nothing is worth it.
    pub text: String,
    /// What it was made of.
    pub receipt: ContextReceipt,
}

/// What a block was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextReceipt {
    /// Names what was given: the same for the same, and the `ETag`.
    pub id: String,
    /// What decided: `profile`, `transcript`, `summaries`, `entries`, `search`, `nothing`, `full`, `asked`.
    pub gate: String,
    /// Why.
    pub why: String,
    /// Tokens of the text.
    pub tokens: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Who counted them: a model, or `estimate`.
    pub counted_by: String,
    /// Its sections, in their order.
    pub sections: Vec<ContextSection>,
}

/// A part of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextSection {
    /// Its name.
    pub name: String,
    /// Its tokens.
    pub tokens: usize,
    /// The places of its lines.
    pub items: Vec<String>,
    /// Lines that were left out, of those that who asks sees.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: usize,
    /// Why they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

fn is_none(number: &usize) -> bool {
    *number == 0
}

impl ContextReceipt {
    /// The places that were given.
    pub(crate) fn places(&self) -> Vec<String> {
        self.sections.iter().flat_map(|section| &section.items).cloned().collect()
    }
}
