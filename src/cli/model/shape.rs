//! What `vault model` is told of a model.

use clap::{Args, ValueEnum};

/// How a model wants its texts, where neither its file nor the table of known models is to say it.
#[derive(Debug, Default, Args)]
pub(super) struct ShapeArgs {
    /// What is put before a query.
    #[arg(long, value_name = "TEXT")]
    pub(super) query_prefix: Option<String>,
    /// What is put before a passage.
    #[arg(long, value_name = "TEXT")]
    pub(super) document_prefix: Option<String>,
    /// How the vectors of a text's tokens become one.
    #[arg(long)]
    pub(super) pooling: Option<PoolingName>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PoolingName {
    Auto,
    Mean,
    Cls,
    Last,
}

impl PoolingName {
    /// As memory.toml has it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Last => "last",
        }
    }
}
