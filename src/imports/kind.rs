//! The kinds of sources.

/// A kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// The export of ChatGPT.
    ChatGpt,
    /// The export of Claude.
    Claude,
    /// The transcripts of Claude Code.
    ClaudeCode,
    /// The rollouts of Codex.
    Codex,
    /// The sessions of OpenClaw.
    OpenClaw,
    /// The sessions of Moltis.
    Moltis,
    /// Bookmarks as browsers export them.
    Bookmarks,
    /// An Obsidian vault.
    Obsidian,
    /// A folder of Markdown.
    Folder,
    /// The Markdown export of Notion.
    Notion,
    /// A Logseq graph.
    Logseq,
    /// Moltis's memory.
    MoltisMemory,
    /// OpenClaw's memory.
    OpenClawMemory,
}

impl SourceKind {
    /// All of them.
    pub(crate) const ALL: [Self; 13] = [
        Self::ChatGpt,
        Self::Claude,
        Self::ClaudeCode,
        Self::Codex,
        Self::OpenClaw,
        Self::Moltis,
        Self::Bookmarks,
        Self::Obsidian,
        Self::Folder,
        Self::Notion,
        Self::Logseq,
        Self::MoltisMemory,
        Self::OpenClawMemory,
    ];

    /// What it is called on the command line, and what sessions of it begin with.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ChatGpt => "chatgpt",
            Self::Claude => "claude",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenClaw => "openclaw",
            Self::Moltis => "moltis",
            Self::Bookmarks => "bookmarks",
            Self::Obsidian => "obsidian",
            Self::Folder => "folder",
            Self::Notion => "notion",
            Self::Logseq => "logseq",
            Self::MoltisMemory => "moltis-memory",
            Self::OpenClawMemory => "openclaw-memory",
        }
    }

    /// The kind of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
