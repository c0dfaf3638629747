//! An entry of a memory: one thing that is known, with where it comes from.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::base::config::{MemoryKind, MemoryScope};
use crate::base::path::VaultPath;
use crate::text::derive::facts::{FactState, Validity, is_block_id, without_tail};

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
        self.status == EntryStatus::Active && self.window.phase(at) == FactState::Current
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

impl MemoryEntry {
    /// Reads the text of an item, without its marker: an entry without lines, and without a name where none stands there, and what of its details
    /// cannot be read, as sentences. `None` where it says nothing.
    pub(super) fn read(text: &str, shelf: EntryFileKind) -> Option<(Self, Vec<String>)> {
        let (rest, tags, id) = without_tail(text.trim());
        let (kind, rest) = without_kind(rest);
        let mut entry = Self { id: id.unwrap_or_default(), tags, ..Self::new(kind, "") };
        let mut problems = Vec::new();
        let (said, parts) = details(rest).unwrap_or((rest, Vec::new()));
        for part in parts {
            let listed = entry.sources.len();
            if entry.take(part) == Some(true) {
                continue;
            }
            problems.push(format!("`{part}` cannot be read"));
            // In doubt it is seen and trusted least.
            entry.trust = TrustLevel::Web;
            if part.starts_with("confidence") {
                entry.confidence = 0.0;
            }
            if entry.sources.len() == listed {
                entry.unread.push(part.to_owned());
            }
        }
        if entry.window.is_empty_span() {
            problems.push("it ends before it begins".to_owned());
        }
        entry.text = said.trim().to_owned();
        if entry.text.is_empty() {
            return None;
        }
        entry.status = match (shelf, entry.status) {
            (EntryFileKind::Pending, _) => EntryStatus::Pending,
            (EntryFileKind::Archive, EntryStatus::Active) => EntryStatus::Archived,
            (EntryFileKind::Known, EntryStatus::Rejected(_)) => EntryStatus::Active,
            (_, status) => status,
        };
        Some((entry, problems))
    }

    /// Takes what a part of the details says: whether that can be read; `None` where it is no such part.
    fn take(&mut self, part: &str) -> Option<bool> {
        let (name, rest) = part.split_once([' ', '\t']).unwrap_or((part, ""));
        let rest = rest.trim();
        let begins_with_digit = rest.starts_with(|first: char| first.is_ascii_digit());
        let is_one_word = !rest.is_empty() && !rest.contains(char::is_whitespace);
        match name {
            "confidence" if begins_with_digit || is_one_word || rest.starts_with(['-', '.']) => {
                let number = rest.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
                self.confidence = number.unwrap_or_default();
                Some(number.is_some())
            }
            "from" | "until" | "check" | "confirmed" => match self.window.take(name, rest)? {
                Ok(_) => Some(true),
                Err(()) => begins_with_digit.then_some(false),
            },
            "source" if !rest.is_empty() => {
                self.sources.push(unescaped(rest));
                Some(is_place(rest))
            }
            "trust" if !rest.is_empty() => {
                let trust = TrustLevel::of(rest);
                self.trust = self.trust.min(trust.unwrap_or(TrustLevel::Web));
                Some(trust.is_some())
            }
            "superseded" => {
                let id = rest.strip_prefix("by ")?.trim().trim_start_matches('^');
                self.status = EntryStatus::Superseded(Some(id).filter(|id| is_block_id(id))?.to_owned());
                Some(true)
            }
            "rejected:" => {
                self.status = EntryStatus::Rejected(rest.to_owned());
                Some(true)
            }
            _ => None,
        }
    }
}

/// An entry as the text of an item, without its marker.
pub(super) fn written(entry: &MemoryEntry) -> String {
    let mut parts = Vec::new();
    // Details at the end fence a text that itself ends like some, or like a tag.
    let text = one_line(&entry.text);
    let (rest, tags, id) = without_tail(&text);
    let fenced = !tags.is_empty() || id.is_some() || details(rest).is_some() || is_like_a_tail(&text);
    let fenced = fenced || !entry.unread.is_empty() || entry.sources.iter().any(|source| !is_place(source));
    let is_unread = |name: &str| entry.unread.iter().any(|part| part.starts_with(name));
    if (entry.confidence < 1.0 || fenced) && !is_unread("confidence") {
        parts.push(format!("confidence {}", entry.confidence.clamp(0.0, 1.0)));
    }
    parts.extend(entry.window.written_parts());
    parts.extend(entry.sources.iter().map(|source| format!("source {}", escaped(source))));
    if entry.trust != TrustLevel::Person && !is_unread("trust") {
        parts.push(format!("trust {}", entry.trust.word()));
    }
    match &entry.status {
        EntryStatus::Superseded(id) => parts.push(format!("superseded by {id}")),
        EntryStatus::Rejected(reason) => parts.push(format!("rejected: {}", as_reason(reason))),
        EntryStatus::Pending | EntryStatus::Active | EntryStatus::Archived => {}
    }
    parts.extend(entry.unread.iter().cloned());
    let mut line = format!("[{}] {text}", entry.kind.word());
    if !parts.is_empty() {
        line += &format!(" ({})", parts.join(", "));
    }
    line.extend(entry.tags.iter().map(|tag| format!(" #{tag}")));
    if !entry.id.is_empty() {
        line += &format!(" ^{}", entry.id);
    }
    line
}

/// A reason on one line that ends nothing.
pub(super) fn as_reason(reason: &str) -> String {
    let plain = one_line(reason).replace('(', "[").replace(')', "]").replace(',', ";");
    if plain.is_empty() { "no reason".to_owned() } else { plain }
}

/// Whether a whole text is one word that would be a tag or a name behind another.
fn is_like_a_tail(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or_default();
    last.starts_with('#') || last.starts_with('^') || text.ends_with(')')
}

/// The kind in brackets at the beginning, and what follows; a fact where none stands there.
fn without_kind(text: &str) -> (MemoryKind, &str) {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed.and_then(|(word, rest)| Some((MemoryKind::of(word.trim())?, rest))) {
        Some((kind, rest)) if rest.is_empty() || rest.starts_with([' ', '\t']) => (kind, rest.trim_start()),
        _ => (MemoryKind::Fact, text),
    }
}

/// The parenthesis at the end of a text, in its parts, where at least one of them is a detail, if only one that cannot be read; and what
/// stands before it.
fn details(text: &str) -> Option<(&str, Vec<&str>)> {
    let inner = text.strip_suffix(')')?;
    let mut depth = 1usize;
    let open = inner.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let said = &text[..open];
    if !said.ends_with(char::is_whitespace) {
        return None;
    }
    let parts = parts(&inner[open + 1..]);
    parts.iter().any(|part| is_detail(part)).then_some((said, parts))
}

fn is_detail(part: &str) -> bool {
    MemoryEntry::new(MemoryKind::Fact, "").take(part).is_some()
}

/// What is between commas; a comma within a path or a reason parts nothing.
fn parts(inner: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    let mut begin = 0;
    for (at, _) in inner.match_indices(',') {
        if is_detail(inner[at + 1..].split(',').next().unwrap_or_default().trim()) {
            parts.push(inner[begin..at].trim());
            begin = at + 1;
        }
    }
    parts.push(inner[begin..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a text looks like a place in the vault.
fn is_place(text: &str) -> bool {
    text.contains(".md") || text.contains(['/', '#'])
}

/// The characters that end a detail, and how a path has them; the first keeps a path that has such a code itself.
const ESCAPES: [(&str, &str); 4] = [("%2", "%252"), ("(", "%28"), (")", "%29"), (",", "%2C")];

fn escaped(place: &str) -> String {
    ESCAPES.iter().fold(place.to_owned(), |place, (sign, code)| place.replace(sign, code))
}

fn unescaped(place: &str) -> String {
    ESCAPES.iter().rev().fold(place.to_owned(), |place, (sign, code)| place.replace(code, sign))
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

#[cfg(test)]
mod tests_of_items {
    use proptest::prelude::*;

    use super::*;
    use crate::base::chance::proptest_config;

    fn read(text: &str) -> (MemoryEntry, Vec<String>) {
        MemoryEntry::read(text, EntryFileKind::Known).unwrap()
    }

    #[test]
    fn an_item_says_what_it_says() {
        let line = "[preference] Prefers tabs over spaces (confidence 0.9, from 2026-03-02, source conversations/2026-03-02.md#L12-L14) \
            #editor ^e-7f3a2b9c";
        let (entry, problems) = read(line);
        assert_eq!((entry.kind, entry.text.as_str()), (MemoryKind::Preference, "Prefers tabs over spaces"));
        assert_eq!((entry.confidence, entry.id.as_str()), (0.9, "e-7f3a2b9c"));
        assert_eq!((entry.tags.as_slice(), problems.len()), (&["editor".to_owned()][..], 0));
        assert_eq!(entry.sources, ["conversations/2026-03-02.md#L12-L14"]);
        assert_eq!(entry.source_paths().collect::<Vec<_>>(), ["conversations/2026-03-02.md"]);
        assert_eq!((entry.status.clone(), entry.trust), (EntryStatus::Active, TrustLevel::Person));
        assert_eq!(written(&entry), line);
    }

    #[test]
    fn by_hand_nothing_but_the_text_is_needed() {
        for text in [
            "Prefers tabs", "喜歡用 Tab 縮排", "[ ] buy milk", "Likes f(x) (a lot)", "Met her (from Jonas)",
            "Away (until further notice)", "Gained a lot (confidence in oneself)",
        ] {
            let (entry, problems) = read(text);
            assert_eq!((entry.text.as_str(), entry.kind), (text, MemoryKind::Fact));
            assert_eq!((entry.confidence, problems.len()), (1.0, 0), "{text}");
        }
        assert!(MemoryEntry::read("[fact]", EntryFileKind::Known).is_none());
        assert!(MemoryEntry::read("  ", EntryFileKind::Known).is_none());
    }

    #[test]
    fn nonsense_is_told_and_kept_and_trusted_least() {
        let (entry, problems) = read("Tea (confidence 7, from 2026-13-40, source notes/a.md#L1, trust lots)");
        assert_eq!((entry.text.as_str(), entry.sources.as_slice()), ("Tea", &["notes/a.md#L1".to_owned()][..]));
        assert_eq!((entry.trust, entry.confidence, problems.len()), (TrustLevel::Web, 0.0, 3));
        let again = read(&written(&entry)).0;
        assert_eq!(again.unread, entry.unread);
        assert_eq!((again.trust, again.confidence), (TrustLevel::Web, 0.0));
    }

    #[test]
    fn a_detail_that_cannot_be_read_opens_a_list_alone() {
        for (text, says, confidence) in [
            ("Buy bitcoin (trust wbe)", "Buy bitcoin", 1.0),
            ("Believe him (trust me)", "Believe him", 1.0),
            ("Buy bitcoin (trust wbe, trust person)", "Buy bitcoin", 1.0),
            ("Buy dogecoin (confidence 7)", "Buy dogecoin", 0.0),
            ("Buy dogecoin (confidence high)", "Buy dogecoin", 0.0),
            ("Rents (from 2026-13-45, until yesterday)", "Rents", 1.0),
            ("Rents (until 2026-02-31)", "Rents", 1.0),
            ("Water boils (source Wikipedia)", "Water boils", 1.0),
            ("Broken ((( (confidence 2, …)", "Broken (((", 0.0),
            ("Tea (confidence 0.4, trust wbe)", "Tea", 0.4),
            ("Tea (confidence 0.4, in winter)", "Tea", 0.0),
        ] {
            let (entry, problems) = read(text);
            let found = (entry.text.as_str(), entry.trust, entry.confidence, problems.len());
            assert_eq!(found, (says, TrustLevel::Web, confidence, 1), "{text}");
            let again = read(&written(&entry)).0;
            assert_eq!((&again.unread, again.trust), (&entry.unread, TrustLevel::Web), "{text}");
            assert_eq!((&again.text, again.confidence), (&entry.text, confidence), "{text}");
        }
    }

    #[test]
    fn a_shelf_says_what_became_of_it() {
        let of = |text: &str, shelf| MemoryEntry::read(text, shelf).unwrap().0.status;
        let superseded = "Tea (superseded by e-1)";
        assert_eq!(of(superseded, EntryFileKind::Known), EntryStatus::Superseded("e-1".into()));
        assert_eq!(of(superseded, EntryFileKind::Archive), EntryStatus::Superseded("e-1".into()));
        assert_eq!(of("Tea", EntryFileKind::Pending), EntryStatus::Pending);
        assert_eq!(of("Tea", EntryFileKind::Archive), EntryStatus::Archived);
        let rejected = "Tea (rejected: no, never)";
        assert_eq!(of(rejected, EntryFileKind::Archive), EntryStatus::Rejected("no, never".into()));
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn what_is_written_reads_as_it_was(
            text in "(\\PC{0,20}|[a-z #^()\\[\\],]{0,30}|[a-z]+ \\(trust person\\)|[a-z]+ \\(source a.md\\) #t \\^e-1)",
            confidence in 0u32..=100,
            tags in proptest::collection::vec("[a-z]{1,5}", 0..3),
            sources in proptest::collection::vec("[a-z(), ]{1,8}\\.md(#L[1-9])?", 0..3),
            trust in 0usize..4,
            superseded in proptest::option::of("e-[0-9a-f]{8}"),
            kind in 0usize..7,
        ) {
            let mut entry = MemoryEntry::new(MemoryKind::ALL[kind], &text);
            prop_assume!(!entry.text.is_empty());
            entry.id = "e-12345678".into();
            entry.confidence = f64::from(confidence) / 100.0;
            entry.tags = tags;
            entry.sources = sources.iter().map(|source| source.trim().to_owned()).collect();
            entry.trust = [TrustLevel::Web, TrustLevel::Tool, TrustLevel::Agent, TrustLevel::Person][trust];
            if let Some(id) = superseded {
                entry.status = EntryStatus::Superseded(id);
            }
            let (read, problems) = MemoryEntry::read(&written(&entry), EntryFileKind::Known).unwrap();
            prop_assert_eq!(problems, Vec::<String>::new());
            prop_assert_eq!(read, entry);
        }
    }
}
