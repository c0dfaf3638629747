//! The sections of `memory.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

use super::memory_kinds::{CollectionConfig, SessionsConfig};
use crate::base::address::WebAddress;

/// The file that makes a folder a vault.
pub(crate) const FILE_NAME: &str = "memory.toml";

/// Every key of the configuration, with its default and its meaning.
pub const REFERENCE: &str = include_str!("../../../memory.toml");
/// The configuration of a new vault: the keys that people set most, with their defaults.
pub(crate) const STARTER: &str = include_str!("../../../vault-template/memory.toml");

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
    /// A copy of the index on a database server.
    pub remote: RemoteConfig,
    /// Folders elsewhere that are collections too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<CollectionConfig>,
    /// Sessions of other programs that are kept as Markdown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionsConfig>,
}

/// A section: each key with its default and, of a number, the least and the most that it may be. What nobody would turn has no key
/// (`serde(skip)`): the program has the default, and a test may set another.
macro_rules! section {
    ($(#[$about:meta])* $section:ident {
        $($(#[$doc:meta])* $key:ident: $type:ty = $default:expr $(, $low:literal to $high:literal)?;)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $section {
            $($(#[$doc])* pub $key: $type,)*
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $section {
            /// Finds the first number that is out of its range, as a sentence that names the key, in a section of that name.
            pub(crate) fn out_of_range(&self, section: &str) -> Option<String> {
                $($(if !($low..=$high).contains(&self.$key) {
                    let (key, value, range) = (stringify!($key), self.$key, concat!($low, " to ", $high));
                    return Some(format!("`{section}.{key}` is {value}; it takes {range}"));
                })?)*
                let _ = section;
                None
            }
        }
    };
}

section! {
    /// `[server]`: the HTTP API.
    ServerConfig {
        /// The address to listen on.
        host: String = "127.0.0.1".into();
        /// The port; 0 takes any free one.
        port: u16 = 7833;
        /// Names that a request's `Host` may carry besides the loopback ones and `host`.
        allowed_hosts: Vec<String> = Vec::new();
        /// A certificate in PEM, for TLS.
        tls_cert: PathBuf = PathBuf::new();
        /// Its key in PEM.
        tls_key: PathBuf = PathBuf::new();
        /// Where the outside reaches the vault; empty: remote assistants cannot sign in.
        public_url: String = String::new();
        /// Whether assistants may register themselves.
        client_registration: bool = true;
    }
}

impl ServerConfig {
    /// Where the outside reaches the vault, without a slash at the end; `None` where it does not.
    pub(crate) fn public(&self) -> Option<String> {
        let address = WebAddress::parse(&self.public_url)?;
        let is_plain = address.rest.is_empty() || address.rest == "/";
        ((address.is_secure || address.is_loopback()) && is_plain).then(|| address.origin())
    }

    /// The names that a `Host` may carry besides the loopback ones.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let public = self.public().and_then(|address| WebAddress::parse(&address)).map(|address| address.host);
        self.allowed_hosts.iter().chain([&self.host]).cloned().chain(public).collect()
    }

    /// What is wrong with a value, as a sentence that names the key.
    pub(crate) fn violation(&self) -> Option<String> {
        let wrong = !self.public_url.is_empty() && self.public().is_none();
        wrong.then(|| {
            let address = &self.public_url;
            format!("`server.public_url` is {address:?}; it has to be an address such as https://memory.example.com, without a path")
        })
    }
}

section! {
    /// `[index]`: what is indexed, and when.
    IndexConfig {
        /// Where the derived stores are kept; empty means the default place.
        dir: PathBuf = PathBuf::new();
        /// Globs of what is left out.
        exclude: Vec<String> = Vec::new();
        /// Whether PDF, Word documents and web pages beside the notes are searched.
        attachments: bool = false;
        /// Files over this size are not indexed.
        #[serde(skip)]
        max_file_bytes: u64 = 20_000_000;
        /// How long a file must be quiet before it is read.
        #[serde(skip)]
        debounce_ms: u64 = 50;
        /// How often the whole vault is compared with the index.
        reconcile_seconds: u64 = 300, 5 to 86_400;
        /// Events or polling.
        watch: WatchMode = WatchMode::Auto;
        /// The pause between two polls.
        poll_seconds: u64 = 5, 1 to 3600;
        /// Embedded chunks above which the HNSW graph is used.
        graph_threshold: usize = 200_000, 0 to 10_000_000;
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

section! {
    /// `[embed]`: the embedding model.
    EmbedConfig {
        /// `bundled`, `none`, or the path of a GGUF file; at an endpoint the model's name there.
        model: String = "bundled".into();
        /// What is put before a query.
        query_prefix: String = String::new();
        /// What is put before a document.
        document_prefix: String = String::new();
        /// How token vectors become one.
        pooling: PoolingChoice = PoolingChoice::Auto;
        /// Threads, each with a context of its own; 0 means one a core.
        threads: usize = 0, 0 to 256;
        /// Tokens of a text that the model is given; 0 means the model's own number.
        #[serde(skip)]
        max_tokens: usize = 0;
        /// An OpenAI-compatible service that embeds instead; empty means none.
        endpoint: String = String::new();
        /// The environment variable that has its key.
        api_key_env: String = String::new();
        /// Texts of a request to it.
        #[serde(skip)]
        batch_size: usize = 32;
        /// A request with notes is given up after that.
        timeout_ms: u64 = 60_000, 100 to 600_000;
        /// One with a query.
        #[serde(skip)]
        query_timeout_ms: u64 = 3_000;
        /// Whether private notes are sent to a service on another machine.
        send_private: bool = false;
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

section! {
    /// `[search]`: the defaults of a search.
    SearchConfig {
        /// Which sides are asked.
        mode: Mode = Mode::Hybrid;
        /// Hits when the caller does not say.
        limit: usize = 10, 1 to 1000;
        /// Hits of one file at most; 0 means no limit.
        per_file: usize = 3, 0 to 1000;
        /// Candidates taken from each side. A context alone takes another number.
        #[serde(skip)]
        candidates: usize = 100;
        /// What the scores of collections are multiplied with; 1 where nothing is said.
        weights: BTreeMap<String, f64> = BTreeMap::new();
        /// After so many days conversations, file activity and searches count half; 0 means never.
        #[serde(skip)]
        half_life_days: f64 = 0.0;
        /// How much the score counts in maximal marginal relevance; 1 means that likeness among hits does not count.
        #[serde(skip)]
        mmr_lambda: f64 = 1.0;
        /// Who puts the best in order anew.
        rerank: Rerank = Rerank::Off;
        /// How long a search waits for the model, in milliseconds: then it goes by words, and says so. 0 means as long as the asker waits.
        #[serde(skip)]
        timeout_ms: u64 = 0;
        /// The language whose word forms are taken for one another in notes that are not clearly in another.
        stemmer: StemmerLanguage = StemmerLanguage::English;
        /// Characters of a snippet at most.
        #[serde(skip)]
        max_snippet_chars: usize = 700;
        /// Whether the text of an answer says where each passage is.
        citations: Citations = Citations::Auto;
        /// What is less likely to answer is "perhaps", and not given to agents.
        min_score: f64 = 0.1, 0.0 to 1.0;
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
    /// The same as hybrid, for those who ask for it.
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

/// Who puts the best of a search in order anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rerank {
    /// Nobody.
    Off,
    /// The model of `[chat]`.
    Chat,
}

/// `false` and `true` are words for it, too, as one sets it for one search.
impl<'de> Deserialize<'de> for Rerank {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) | (_, Some("off")) => Ok(Self::Off),
            (Some(true), _) | (_, Some("chat")) => Ok(Self::Chat),
            _ => Err(D::Error::custom(format!("invalid value: {value}, expected \"off\" or \"chat\""))),
        }
    }
}

section! {
    /// `[chat]`: a chat model that helps searches.
    ChatConfig {
        /// An OpenAI-compatible service; empty means none.
        endpoint: String = String::new();
        /// The model's name there.
        model: String = String::new();
        /// The environment variable that has its key.
        api_key_env: String = String::new();
        /// Whether private notes are sent to a service on another machine.
        send_private: bool = false;
        /// A search waits for it no longer.
        #[serde(skip)]
        search_timeout_ms: u64 = 4_000;
    }
}

/// `[access]`: what no agent sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessConfig {
    /// Globs of private notes.
    pub private: Vec<String>,
}

/// `[scope]`: in which sessions agents may read at all, as OpenClaw has it. The first rule that fits decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeConfig {
    /// What is decided where no rule fits.
    pub default: ScopeDecision,
    /// The rules, in order.
    pub rules: Vec<ScopeRule>,
}

impl Default for ScopeConfig {
    fn default() -> Self {
        let direct = ScopeRule { action: ScopeDecision::Allow, chat_type: Some("direct".into()), channel: None };
        Self { default: ScopeDecision::Deny, rules: vec![direct] }
    }
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeDecision {
    /// The agent reads what its `agent.md` gives it.
    Allow,
    /// It reads nothing.
    Deny,
}

/// A rule over sessions. It fits where all that it names is so.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeRule {
    /// What it decides.
    pub action: ScopeDecision,
    /// With whom the agent talks: `direct`, `group`, `channel`.
    pub chat_type: Option<String>,
    /// Through which service: `telegram`, `slack`.
    pub channel: Option<String>,
}

section! {
    /// `[agents]`: how much every agent gets.
    AgentsConfig {
        /// Milliseconds after which an answer is given up.
        timeout_ms: u64 = 4000, 50 to 60_000;
        /// Requests a minute.
        requests_per_minute: u32 = 240, 1 to 100_000;
    }
}

section! {
    /// `limits` in an agent's `agent.md`: how much it gets.
    #[derive(Copy, Eq)]
    AgentLimits {
        /// Results of one answer at most.
        max_results: usize = 50, 1 to 1000;
        /// Characters of a snippet at most.
        max_snippet_chars: usize = 700, 50 to 10_000;
        /// Maximum characters of all that an answer gives of notes: texts, titles, tags, frontmatter.
        max_injected_chars: usize = 20_000, 100 to 1_000_000;
        /// Milliseconds after which an answer is given up, else as `[agents]` says.
        timeout_ms: u64 = 4000, 50 to 60_000;
        /// Requests a minute, else as `[agents]` says.
        requests_per_minute: u32 = 240, 1 to 100_000;
        /// Files of its own memory.
        max_files: usize = 1000, 1 to 100_000;
        /// Bytes that it may write into them within 24 hours.
        max_written_bytes_per_day: u64 = 20_000_000, 1000 to 1_099_511_627_776;
        /// Changes of it that can be undone; the oldest go first.
        max_checkpoints: usize = 5000, 10 to 100_000;
    }
}

section! {
    /// `[capture]`: which kinds of events are kept.
    CaptureConfig {
        /// Messages of conversations.
        conversations: bool = true;
        /// Which files were worked on.
        files: bool = true;
        /// What was searched for.
        searches: bool = false;
        /// Notes.
        notes: bool = true;
        /// What was put on the clipboard.
        snippets: bool = true;
        /// What agents did.
        agent_activity: bool = true;
        /// Pages.
        bookmarks: bool = true;
        /// Whether secrets are taken out before anything is written.
        redact: bool = true;
    }
}

/// `[retention]`: after so many days captured files go to `.trash/`, and traces are removed; 0 means never.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// How many days for which folder.
    pub days: BTreeMap<String, u64>,
}

/// The folders of captured files that can go.
const RETAINED: [&str; 7] = ["conversations", "files", "searches", "snippets", "agent-activity", "bookmarks", "traces"];

impl RetentionConfig {
    /// Days after which traces are removed; 0 means never.
    pub(crate) fn of_traces(&self) -> u64 {
        self.days.get("traces").copied().unwrap_or_default()
    }

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

section! {
    /// `[traces]`: what agents tell of their work.
    TracesConfig {
        /// Whether they are kept.
        enabled: bool = true;
        /// Bytes that the payload of an event may have, as JSON.
        #[serde(skip)]
        max_payload_bytes: u64 = 4_000_000;
        /// Events that an agent may send in a minute.
        #[serde(skip)]
        events_per_minute: u32 = 60_000;
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

section! {
    /// `[facts]`: exact answers out of `facts.md`.
    FactsConfig {
        /// Whether each change of a fact is noted in `facts.history.md` beside it.
        history: bool = true;
    }
}

section! {
    /// `[memory]`: profile, entries, summaries, and the context that is made of them.
    MemoryConfig {
        /// Whether the layers are kept.
        enabled: bool = true;
        /// The name of the chat model that extracts; empty means none.
        model: String = String::new();
        /// Where it is; empty means the endpoint of `[chat]`.
        endpoint: String = String::new();
        /// The environment variable that has its key.
        api_key_env: String = String::new();
        /// Whether private notes and conversations are sent to a service on another machine.
        send_private: bool = false;
        /// A call that takes longer is given up.
        timeout_ms: u64 = 60_000, 1_000 to 600_000;
        /// Calls within 24 hours at most.
        calls_per_day: u64 = 100, 0 to 100_000;
        /// Tokens, asked and answered, within 24 hours at most.
        tokens_per_day: u64 = 200_000, 0 to 1_000_000_000;
        /// Active entries of one memory; 0 means no limit.
        #[serde(skip)]
        max_entries: usize = 500;
        /// How likely two entries have to say the same, by their meaning, to count as the same.
        #[serde(skip)]
        duplicate_meaning: f64 = 0.85;
        /// Tokens of a context.
        #[serde(skip)]
        context_tokens: usize = 800;
        /// New contributions after which the profile is made again.
        #[serde(skip)]
        regenerate_after: usize = 10;
        /// How long a conversation must be quiet before it is summarised, in seconds.
        summary_debounce_seconds: u64 = 60, 10 to 3_600;
        /// Days for which summaries are searched; 0 means for ever.
        summary_retention_days: u64 = 180, 0 to 3_650;
        /// Who writes `USER.md`.
        user_profile_write_mode: ProfileWriteMode = ProfileWriteMode::ExplicitOnly;
    }
}

/// Who writes `USER.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileWriteMode {
    /// Requests that say what to write.
    ExplicitOnly,
    /// Nobody but the person.
    Off,
}

section! {
    /// `[upstream]`: where `/v1/chat/completions` leads.
    UpstreamConfig {
        /// An OpenAI-compatible service; empty means that nothing is passed on.
        endpoint: String = String::new();
        /// The environment variable that has its key.
        api_key_env: String = String::new();
        /// An answer that takes longer, to its end, is cut.
        timeout_ms: u64 = 600_000, 1_000 to 3_600_000;
        /// Requests that are longer are refused.
        #[serde(skip)]
        max_body_bytes: u64 = 33_554_432;
    }
}

section! {
    /// `[remote]`: a PostgreSQL server that has a copy of the index.
    RemoteConfig {
        /// Its address; empty means that there is none.
        url: String = String::new();
        /// The environment variable that has the password.
        password_env: String = String::new();
        /// The certificate authority of the server, in PEM, beside those that are known everywhere.
        ca: PathBuf = PathBuf::new();
        /// What the vault is called there; empty means as its folder.
        vault: String = String::new();
        /// Whether private notes are there, too.
        push_private: bool = false;
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
