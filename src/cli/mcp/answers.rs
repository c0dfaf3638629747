//! How the answers of tools are given, where the person says it.

use clap::ValueEnum;

/// How the answers of tools are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum AnswerForm {
    /// As structured content, with the same JSON as text
    Structured,
    /// As text for a model
    Text,
}

impl AnswerForm {
    /// Where they are given so.
    pub(super) fn address(self) -> &'static str {
        match self {
            Self::Structured => "/mcp?answers=structured",
            Self::Text => "/mcp?answers=text",
        }
    }
}
