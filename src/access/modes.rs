//! How an agent may write its own memory, how memory reaches it, and its limits: what its page can say of each.

/// How an agent may write its own memory, as Moltis has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// `MEMORY.md`, and files in `memory/`.
    Hybrid,
    /// `MEMORY.md` alone, which goes into prompts.
    PromptOnly,
    /// Files in `memory/` alone, which are found by searching.
    SearchOnly,
    /// Nothing.
    #[default]
    Off,
}

/// Limits of one agent; what is not said is as `[agents]` has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyLimits {
    /// Results of one answer.
    pub max_results: Option<usize>,
    /// Characters of a snippet.
    pub max_snippet_chars: Option<usize>,
    /// Characters of all that an answer gives of notes: texts, titles, tags, frontmatter.
    pub max_injected_chars: Option<usize>,
    /// Milliseconds that an answer may take.
    pub timeout_ms: Option<u64>,
    /// Requests a minute.
    pub requests_per_minute: Option<u32>,
    /// Files of its own memory.
    pub max_files: Option<usize>,
    /// Bytes that it may write into them within 24 hours.
    pub max_written_bytes_per_day: Option<u64>,
    /// Changes of it that can be undone.
    pub max_checkpoints: Option<usize>,
    /// Bytes that are kept for that.
    pub max_checkpoint_bytes: Option<u64>,
}

/// How memory reaches an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryStyle {
    /// Into its prompts, and by its searches.
    #[default]
    Hybrid,
    /// Into its prompts; it need not search.
    PromptOnly,
    /// By its searches alone.
    SearchOnly,
    /// Nothing goes into its prompts.
    Off,
}

impl MemoryStyle {
    /// Whether memory is put into its prompts.
    pub(crate) fn is_in_prompts(self) -> bool {
        matches!(self, Self::Hybrid | Self::PromptOnly)
    }
}

/// As of when memory in a prompt is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptMemoryMode {
    /// As it is now.
    #[default]
    LiveReload,
    /// As it was when the session began.
    FrozenAtSessionStart,
}
