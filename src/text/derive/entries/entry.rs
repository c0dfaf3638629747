//! An entry of a memory: one thing that is known, with where it comes from.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::base::config::{MemoryKind, MemoryScope};
use crate::base::path::VaultPath;
use crate::text::derive::facts::{FactPhase, Validity};

/// One thing that is known, or may be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemoryEntry {
    /// Its name, which lasts: the block id at the end of its line; of one without, made of its text.
    pub(crate) id: String,
    /// What it is.
    pub(crate) kind: MemoryKind,
    /// What it says, on one line.
    pub(crate) text: String,
    /// How sure it is, 0 to 1.
    pub(crate) confidence: f64,
    /// Its tags, without `#`.
    pub(crate) tags: Vec<String>,
    /// From when and until when it is so.
    pub(crate) window: Validity,
    /// Where it was learned: `path#L12-L14`.
    pub(crate) sources: Vec<String>,
    /// What became of it.
    pub(crate) status: EntryStatus,
    /// By whose word it is known.
    pub(crate) trust: TrustLevel,
    /// What stands among its details and cannot be read, as it was written.
    pub(crate) unread: Vec<String>,
    /// 1-based first line; 0 while it is in no file.
    pub(crate) line_start: usize,
    /// 1-based last line.
    pub(crate) line_end: usize,
}

impl MemoryEntry {
    /// An active entry of the person's, in no file yet; without a name until it is written.
    pub(crate) fn new(kind: MemoryKind, text: &str) -> Self {
        Self {
            id: String::new(),
            kind,
            text: one_line(text),
            confidence: 1.0,
            tags: Vec::new(),
            window: Validity::default(),
            sources: Vec::new(),
            status: EntryStatus::Active,
            trust: TrustLevel::Person,
            unread: Vec::new(),
            line_start: 0,
            line_end: 0,
        }
    }

    /// Whether it counts at a moment (milliseconds since 1970): active, and its time has come and is not over.
    pub(crate) fn counts_at(&self, at: i64) -> bool {
        self.status == EntryStatus::Active && self.window.phase(at) == FactPhase::Current
    }

    /// The paths of its sources, without their lines.
    pub(crate) fn source_paths(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source_path(source))
    }
}

/// The path of a place, without its lines.
pub(crate) fn source_path(place: &str) -> &str {
    place.split_once('#').map_or(place, |(path, _)| path)
}

/// A text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryStatus {
    /// It was proposed, and nobody has accepted it.
    Pending,
    /// It counts.
    Active,
    /// The entry of that name says what is so now.
    Superseded(String),
    /// It was proposed and refused, for that reason.
    Rejected(String),
    /// It was set aside.
    Archived,
}

/// By whose word something is known; what is derived is trusted at most as its sources are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TrustLevel {
    /// A page of the web.
    Web,
    /// What a tool gave.
    Tool,
    /// An agent.
    Agent,
    /// The person.
    Person,
}

impl TrustLevel {
    /// Its word in files and answers.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Person => "person",
        }
    }

    /// That of a word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Web, Self::Tool, Self::Agent, Self::Person].into_iter().find(|trust| trust.word() == word)
    }
}

/// Which of a memory's three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EntryFileKind {
    /// What counts, and what was superseded.
    Known,
    /// What was proposed.
    Pending,
    /// What was set aside or rejected.
    Archive,
}

impl EntryFileKind {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Known, Self::Pending, Self::Archive];

    /// Its name: within the vault for the person's, within its folder for an agent's.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Known => ("memories/user.md", "entries.md"),
            Self::Pending => ("memories/pending.md", "pending.md"),
            Self::Archive => ("memories/archive.md", "archive.md"),
        }
    }
}

/// Whose entries a file has, the person's or an agent's, and which.
pub(crate) fn shelf_of(path: &VaultPath) -> Option<(MemoryScope, EntryFileKind)> {
    if let Some(shelf) = EntryFileKind::ALL.into_iter().find(|shelf| shelf.names().0 == path.as_str()) {
        return Some((MemoryScope::User, shelf));
    }
    let (slug, name) = path.as_str().strip_prefix("agents/")?.split_once('/')?;
    let shelf = EntryFileKind::ALL.into_iter().find(|shelf| shelf.names().1 == name)?;
    Some((MemoryScope::Agent(slug.to_owned()), shelf))
}

/// The number under which an entry is counted that was given by itself, by its name (`memories/user.md#^e-1`). It says nothing of the entry,
/// and no chunk has the same.
pub(crate) fn entry_key(path: &VaultPath, id: &str) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("memory-vault: the key of an entry");
    hasher.update(path.as_str().as_bytes()).update(b"#^").update(id.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// That of the entry that a place names, `memories/user.md#^e-1`; `None` where it names none of those that are known.
pub(crate) fn entry_key_of(place: &str) -> Option<u64> {
    let (path, id) = place.split_once("#^")?;
    let path = VaultPath::new(path).ok()?;
    let (_, shelf) = shelf_of(&path)?;
    (shelf == EntryFileKind::Known).then(|| entry_key(&path, id))
}

/// The folder of the traces.
const TRACES: &str = "traces/";
/// What of an event's id would be taken for a part of the list of sources, or of a link.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b':');

/// The source that an event of an agent is.
pub(crate) fn trace_source(agent: &str, id: &str) -> String {
    format!("{TRACES}{agent}#{}", utf8_percent_encode(id, &ENCODED))
}

/// The agent and the event that a source names, where it names one.
pub(crate) fn traced(source: &str) -> Option<(&str, String)> {
    let (agent, id) = source.strip_prefix(TRACES)?.split_once('#')?;
    (!agent.contains('/')).then(|| (agent, percent_decode_str(id).decode_utf8_lossy().into_owned()))
}

/// The traces of an agent as the source of a note, as frontmatter is read.
pub(crate) fn traces_of(agent: &str) -> String {
    format!("{TRACES}{agent}.md")
}

/// Whether a source is among the traces of an agent.
pub(crate) fn is_trace_of(source: &str, agent: &str) -> bool {
    let path = source_path(source);
    path.strip_prefix(TRACES) == Some(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_counted_by_its_file_and_its_name() {
        let user = VaultPath::new("memories/user.md").unwrap();
        assert_eq!(entry_key_of("memories/user.md#^e-1"), Some(entry_key(&user, "e-1")));
        assert_ne!(entry_key_of("agents/ada/entries.md#^e-1"), entry_key_of("memories/user.md#^e-1"));
        for none in ["memories/user.md#L1", "memories/pending.md#^e-1", "notes/a.md#^e-1", "", "../a#^e-1"] {
            assert_eq!(entry_key_of(none), None, "{none}");
        }
    }
}

#[cfg(test)]
mod tests_of_traces {
    use super::*;

    #[test]
    fn an_event_is_named_whatever_its_id_holds() {
        for id in ["e1", "run 7, (a)", "ü#^%2F/..", "100%", ""] {
            let source = trace_source("ada", id);
            assert_eq!(traced(&source), Some(("ada", id.to_owned())), "{source}");
            let listed = serde_json::json!({ "sources": [super::super::source_path(&source)] });
            assert_eq!(crate::text::note::sources(listed.as_object().unwrap()), [traces_of("ada")]);
            assert!(is_trace_of(&source, "ada") && !is_trace_of(&source, "ad"));
        }
        assert_eq!(trace_source("ada", "a b"), "traces/ada#a%20b");
        for other in ["conversations/a.md#L3", "traces/ada", "traces/a/b#c"] {
            assert_eq!(traced(other), None);
        }
    }
}
