//! The sections of `memory.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::{Deserialize, Serialize};

use super::agents::{AgentsConfig, ScopeConfig};
use super::chat::{ChatConfig, Rerank};
use super::collections::CollectionConfig;
use super::memory::MemoryConfig;
use super::sessions::SessionsConfig;

/// The file that makes a folder a vault.
pub(crate) const FILE_NAME: &str = "memory.toml";

/// The documented default configuration, as shipped and as `vault init` writes it.
pub const SHIPPED: &str = include_str!("../../../memory.toml");

/// The whole configuration. Parts of the program are handed the section they need, not this.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The HTTP API.
    pub server: ServerConfig,
    /// What is indexed, and when.
    pub index: IndexConfig,
    /// The embedding model.
    pub embed: EmbedConfig,
    /// The defaults of a search.
    pub search: SearchConfig,
    /// A chat model that helps searches.
    pub chat: ChatConfig,
    /// What no agent sees.
    pub access: AccessConfig,
    /// In which sessions agents read.
    pub scope: ScopeConfig,
    /// How much agents get.
    pub agents: AgentsConfig,
    /// Which events are kept.
    pub capture: CaptureConfig,
    /// How long they are kept.
    pub retention: RetentionConfig,
    /// What agents tell of their work.
    pub traces: TracesConfig,
    /// Commits by themselves.
    pub backup: BackupConfig,
    /// Exact answers out of `facts.md`.
    pub facts: FactsConfig,
    /// Profile, entries, summaries, and the context that is made of them.
    pub memory: MemoryConfig,
    /// Where requests to chat models are passed on.
    pub upstream: UpstreamConfig,
    /// Folders elsewhere that are collections too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<CollectionConfig>,
    /// Sessions of other programs that are kept as Markdown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionsConfig>,
}

/// `[server]`: the HTTP API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The address to listen on.
    pub host: String,
    /// The port; 0 takes any free one.
    pub port: u16,
    /// Names that a request's `Host` may carry besides the loopback ones and `host`.
    pub allowed_hosts: Vec<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { host: "127.0.0.1".into(), port: 7833, allowed_hosts: Vec::new() }
    }
}

/// `[index]`: what is indexed, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexConfig {
    /// Where the derived stores are kept; empty means the default place.
    pub dir: PathBuf,
    /// Globs of what is left out.
    pub exclude: Vec<String>,
    /// Whether PDF, Word documents and web pages beside the notes are searched.
    pub attachments: bool,
    /// Files over this size are not indexed.
    pub max_file_bytes: u64,
    /// How long a file must be quiet before it is read.
    pub debounce_ms: u64,
    /// How often the whole vault is compared with the index.
    pub reconcile_seconds: u64,
    /// Events or polling.
    pub watch: WatchMode,
    /// The pause between two polls.
    pub poll_seconds: u64,
    /// Embedded chunks above which the HNSW graph is used.
    pub graph_threshold: usize,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            exclude: Vec::new(),
            attachments: false,
            max_file_bytes: 20_000_000,
            debounce_ms: 50,
            reconcile_seconds: 300,
            watch: WatchMode::Auto,
            poll_seconds: 5,
            graph_threshold: 200_000,
        }
    }
}

/// How changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchMode {
    /// The file system's events, with polling as the fallback.
    Auto,
    /// Polling alone.
    Poll,
}

/// `[embed]`: the embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedConfig {
    /// `bundled`, `none`, or the path of a GGUF file; at an endpoint the model's name there.
    pub model: String,
    /// What is put before a query.
    pub query_prefix: String,
    /// What is put before a document.
    pub document_prefix: String,
    /// How token vectors become one.
    pub pooling: PoolingChoice,
    /// Threads, each with a context of its own; 0 means one a core.
    pub threads: usize,
    /// Tokens of a text that the model is given; 0 means the model's own number.
    pub max_tokens: usize,
    /// An OpenAI-compatible service that embeds instead; empty means none.
    pub endpoint: String,
    /// The environment variable that has its key.
    pub api_key_env: String,
    /// Texts of a request to it.
    pub batch_size: usize,
    /// A request with notes is given up after that.
    pub timeout_ms: u64,
    /// One with a query.
    pub query_timeout_ms: u64,
    /// Whether private notes are sent to a service on another machine.
    pub send_private: bool,
    /// Whether many texts at once go to it as a batch.
    pub batch_api: bool,
    /// How many those are.
    pub batch_api_from: usize,
}

impl Default for EmbedConfig {
    fn default() -> Self {
        Self {
            model: "bundled".into(),
            query_prefix: String::new(),
            document_prefix: String::new(),
            pooling: PoolingChoice::Auto,
            threads: 0,
            max_tokens: 0,
            endpoint: String::new(),
            api_key_env: String::new(),
            batch_size: 32,
            timeout_ms: 60_000,
            query_timeout_ms: 3_000,
            send_private: false,
            batch_api: false,
            batch_api_from: 5_000,
        }
    }
}

impl EmbedConfig {
    /// What of it does not go together, as a sentence that names the key.
    pub(super) fn violation(&self) -> Option<String> {
        if !self.endpoint.is_empty() && ["", "bundled"].contains(&self.model.as_str()) {
            return Some(
                "`embed.endpoint` needs `embed.model`, the model's name at that service; or \"none\" to search by words only".into(),
            );
        }
        // It may be the key itself, so it is not said.
        (!is_variable_name(&self.api_key_env)).then(|| {
            "`embed.api_key_env` is not the name of an environment variable; put the key into such a variable, and its name here".into()
        })
    }
}

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PoolingChoice {
    /// As the model file says.
    Auto,
    /// Their mean.
    Mean,
    /// The first token's.
    Cls,
    /// The last token's.
    Last,
}

/// `[search]`: the defaults of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Which sides are asked.
    pub mode: Mode,
    /// Hits when the caller does not say.
    pub limit: usize,
    /// Hits of one file at most; 0 means no limit.
    pub per_file: usize,
    /// How the sides' scores become one.
    pub fusion: Fusion,
    /// The weight of the semantic side in min-max fusion, and of conversations in adaptive fusion.
    pub semantic_weight: f64,
    /// Candidates taken from each side. No key: a context alone takes another number.
    #[serde(skip)]
    pub candidates: usize,
    /// What the scores of collections are multiplied with; 1 where nothing is said.
    pub weights: BTreeMap<String, f64>,
    /// After so many days conversations, file activity and searches count half; 0 means never.
    pub half_life_days: f64,
    /// How much more what the asker was given before counts at most; 0 means that it does not.
    pub usage_weight: f64,
    /// How much the score counts in maximal marginal relevance; 1 means that likeness among hits does not count.
    pub mmr_lambda: f64,
    /// How long a deep search may compute, in milliseconds; what takes longer is in the order of a hybrid one.
    pub deep_ms: u64,
    /// Candidates that a deep search looks at closely. No key either.
    #[serde(skip)]
    pub deep_candidates: usize,
    /// Who puts the best in order anew.
    pub rerank: Rerank,
    /// The GGUF file of a cross-encoder.
    pub rerank_model: String,
    /// Whether the chat model says the query in other words, which are looked for too.
    pub expand: bool,
    /// How long a search waits for the model, in milliseconds: then it goes by words, and says so. 0 means as long as the asker waits.
    pub timeout_ms: u64,
    /// The language whose word forms are taken for one another in notes that are not clearly in another.
    pub stemmer: StemmerLanguage,
    /// Characters of a snippet at most.
    pub max_snippet_chars: usize,
    /// Whether the text of an answer says where each passage is.
    pub citations: Citations,
    /// What is less likely to answer is "perhaps", and not given to agents.
    pub min_score: f64,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Hybrid,
            limit: 10,
            per_file: 3,
            fusion: Fusion::Adaptive,
            semantic_weight: 0.45,
            candidates: 100,
            weights: BTreeMap::new(),
            half_life_days: 0.0,
            usage_weight: 0.0,
            mmr_lambda: 1.0,
            deep_ms: 1000,
            deep_candidates: 10,
            rerank: Rerank::Off,
            rerank_model: String::new(),
            expand: false,
            timeout_ms: 0,
            stemmer: StemmerLanguage::English,
            max_snippet_chars: 700,
            citations: Citations::Auto,
            min_score: 0.1,
        }
    }
}

/// How a search matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By words.
    Keyword,
    /// By meaning.
    Semantic,
    /// By both, fused.
    Hybrid,
    /// By both; then the best hits are compared token by token (late interaction): better, and slower.
    Deep,
}

/// Where the text of an answer cites each passage; JSON always has path and lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Citations {
    /// Above the passage: `notes/api.md#L42-L58`.
    #[default]
    Auto,
    /// Also on a line below it: `Source: notes/api.md#42`.
    On,
    /// Not at all.
    Off,
}

/// How keyword and semantic scores become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fusion {
    /// As min-max, with a weight of prose that goes by how many of the query's words the best of it has.
    Adaptive,
    /// Each side scaled to 0..1 over the candidates, then weighted.
    MinMax,
    /// Reciprocal rank fusion.
    Rrf,
}

/// Languages with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum StemmerLanguage {
    None,
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

/// `[access]`: what no agent sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessConfig {
    /// Globs of private notes.
    pub private: Vec<String>,
}

/// `[facts]`: exact answers out of `facts.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactsConfig {
    /// Whether each change of a fact is noted in `facts.history.md` beside it.
    pub history: bool,
    /// Whether the properties of all notes can be asked for as facts are.
    pub properties: bool,
}

impl Default for FactsConfig {
    fn default() -> Self {
        Self { history: true, properties: false }
    }
}

/// Whether a text can name one; nothing names none.
pub(super) fn is_variable_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_none_or(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// `[capture]`: which kinds of events are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaptureConfig {
    /// Messages of conversations.
    pub conversations: bool,
    /// Which files were worked on.
    pub files: bool,
    /// What was searched for.
    pub searches: bool,
    /// Notes.
    pub notes: bool,
    /// What was put on the clipboard.
    pub snippets: bool,
    /// What agents did.
    pub agent_activity: bool,
    /// Pages.
    pub bookmarks: bool,
    /// Whether secrets are taken out before anything is written.
    pub redact: bool,
}

impl Default for CaptureConfig {
    fn default() -> Self {
        Self {
            conversations: true,
            files: true,
            searches: false,
            notes: true,
            snippets: true,
            agent_activity: true,
            bookmarks: true,
            redact: true,
        }
    }
}

/// `[retention]`: after so many days captured files go to `.trash/`; 0 means never.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// How many days for which folder.
    pub days: BTreeMap<String, u64>,
}

/// The folders of captured files that can go.
const RETAINED: [&str; 6] = ["conversations", "files", "searches", "snippets", "agent-activity", "bookmarks"];

impl RetentionConfig {
    /// What of it cannot be, as a sentence.
    pub(super) fn violation(&self) -> Option<String> {
        self.days.iter().find_map(|(folder, days)| match RETAINED.contains(&folder.as_str()) {
            false => Some(format!("`retention.days` names `{folder}`; it takes {}", RETAINED.join(", "))),
            true => {
                (*days > 36_500).then(|| format!("`retention.days` has {days} for `{folder}`; it takes 0 to 36500"))
            }
        })
    }
}

/// `[backup]`: commits by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupConfig {
    /// How often the daemon commits what has changed; empty means never.
    pub every: String,
}

impl BackupConfig {
    /// How often the daemon commits; `None` means never.
    pub fn interval(&self) -> Option<Duration> {
        interval(&self.every)
    }

    pub(super) fn violation(&self) -> Option<String> {
        let every = &self.every;
        (!every.trim().is_empty() && interval(every).is_none())
            .then(|| format!("`backup.every` is \"{every}\"; it takes \"1m\" to \"365d\", or \"\" for never"))
    }
}

/// Reads how long "1h", "90m" or "1 day" are; `None` for what is no length, or not one from a minute to a year.
fn interval(text: &str) -> Option<Duration> {
    let span: Span = text.trim().parse().ok()?;
    let length: Duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()?;
    (60..=365 * 86_400).contains(&length.as_secs()).then_some(length)
}

/// `[upstream]`: where `/v1/chat/completions` leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// An OpenAI-compatible service; empty means that nothing is passed on.
    pub endpoint: String,
    /// The environment variable that has its key.
    pub api_key_env: String,
    /// An answer that takes longer, to its end, is cut.
    pub timeout_ms: u64,
    /// Requests that are longer are refused.
    pub max_body_bytes: u64,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self { endpoint: String::new(), api_key_env: String::new(), timeout_ms: 600_000, max_body_bytes: 33_554_432 }
    }
}

impl UpstreamConfig {
    /// Its whole numbers with their ranges.
    pub(super) fn ranges(&self) -> [(&'static str, u64, u64, u64); 2] {
        [
            ("upstream.timeout_ms", self.timeout_ms, 1_000, 3_600_000),
            ("upstream.max_body_bytes", self.max_body_bytes, 1_024, 268_435_456),
        ]
    }

    /// What of it does not go together, as a sentence that names the key.
    pub(super) fn violation(&self) -> Option<String> {
        // It may be the key itself, so it is not said.
        (!is_variable_name(&self.api_key_env)).then(|| {
            "`upstream.api_key_env` is not the name of an environment variable; put the key into such a variable, and its name here"
                .into()
        })
    }
}

/// `[traces]`: what agents tell of their work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// Whether they are kept.
    pub enabled: bool,
    /// Bytes that the payload of an event may have, as JSON.
    pub max_payload_bytes: u64,
    /// After so many days they are removed; 0 means never.
    pub retention_days: u64,
    /// Events that an agent may send in a minute.
    pub events_per_minute: u32,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self { enabled: true, max_payload_bytes: 4_000_000, retention_days: 0, events_per_minute: 60_000 }
    }
}

impl TracesConfig {
    /// Its numbers, each with the least and the most that it may be.
    pub(super) fn ranges(&self) -> [(&'static str, u64, u64, u64); 3] {
        [
            ("traces.max_payload_bytes", self.max_payload_bytes, 1000, 15_000_000),
            ("traces.retention_days", self.retention_days, 0, 36_500),
            ("traces.events_per_minute", u64::from(self.events_per_minute), 1, 1_000_000),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_written_as_people_do() {
        let every = |text: &str| BackupConfig { every: text.into() };
        for (text, minutes) in [("1h", 60), ("90m", 90), ("1 day", 1440), ("1h 30m", 90), ("60s", 1), ("PT2H", 120)] {
            assert_eq!(every(text).interval(), Some(Duration::from_secs(60 * minutes)), "{text}");
            assert_eq!(every(text).violation(), None, "{text}");
        }
        assert_eq!((every("").interval(), every("").violation()), (None, None));
        for bad in ["59s", "hourly", "-1h", "10 years", "1"] {
            let violation = every(bad).violation().unwrap();
            assert!(violation.starts_with(&format!("`backup.every` is \"{bad}\"; it takes")), "{violation}");
        }
    }
}
