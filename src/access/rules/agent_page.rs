//! What a person lets an agent do: the frontmatter of its `agent.md`, read so that what makes no sense is told and denies.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::globs::Globs;
use super::principal::Grant;
use crate::base::clock::{Edge, moment};
use crate::base::config::{AgentLimits, AgentsConfig, ChannelScope, MemoryScope};
use crate::base::path::{composed, folded};

/// What an agent may do, as its `agent.md` says. What cannot be understood denies.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// What of the person's memory it may read; `None` for nothing.
    pub grant: Option<Grant>,
    /// The rules as they are written, whether or not it may read.
    pub rules: WrittenRules,
    /// What its page gives, to tell when it gives more; null of a page that cannot be read.
    pub given: Value,
    /// How it may write its own memory.
    pub write_mode: MemoryMode,
    /// How memory reaches it, by the same words as it is written.
    pub style: MemoryMode,
    /// As of when memory in its prompts is.
    pub prompt_memory_mode: PromptMemoryMode,
    /// Whether it may suggest edits of the notes that it reads.
    pub(crate) can_suggest: bool,
    /// The collections in which it may write itself, of those that it reads.
    pub(crate) write_collections: Vec<String>,
    /// When its token ends.
    pub expires: Option<Timestamp>,
    /// Whether a request may say in which session it is made.
    pub session_headers: bool,
    /// Agents whose own memory it wants to read, and that may read its own: both have to name each other.
    pub shares_memory_with: Vec<String>,
    /// Whether a model reads what it tells of its work, for its own memory.
    pub librarian: bool,
    /// The tasks of that which are switched off.
    pub(crate) librarian_off: Vec<String>,
    /// Where it may do less, or more, than `[agents]` says, by its keys; null where nothing is said.
    pub limits: Map<String, Value>,
    /// What could not be understood, as sentences. While there is any, nothing may be read.
    pub problems: Vec<String>,
}

/// The rules for what may be read, as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct WrittenRules {
    /// Whether anything may be read.
    pub can_read_user_memory: bool,
    /// The collections; `*` stands for all.
    pub collections: Vec<String>,
    /// Tags that hide a note.
    pub exclude_tags: Vec<String>,
    /// Globs; with `!` in front those that hide a note.
    pub paths: Vec<String>,
    /// The memory scopes that it is bound to; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Of which channels it reads the sessions of others, where its page says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<String>>,
    /// Whether it may suggest edits of notes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub can_suggest: bool,
    /// The collections in which it may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write_collections: Vec<String>,
}

impl Policy {
    /// Reads the frontmatter of an `agent.md`. Keys it does not know are the person's own.
    pub fn parse(frontmatter: &Map<String, Value>) -> Self {
        let mut reader = RulesReader { frontmatter, problems: Vec::new() };
        let may_read = reader.switch("can_read_user_memory");
        let mut collections = reader.names("collections");
        if !reader.is_there("collections") || collections.iter().any(|name| name == "*") {
            collections = vec!["*".into()];
        }
        let exclude_tags = reader.tags("exclude_tags");
        let paths = reader.paths();
        let (denied, allowed): (Vec<&String>, Vec<&String>) = paths.iter().partition(|glob| glob.starts_with('!'));
        let denied: Vec<&str> = denied.iter().map(|glob| &glob[1..]).collect();
        let allowed = (!allowed.is_empty()).then(|| reader.globs(&allowed));
        let denied = reader.globs(&denied);
        let scope = |name: &str| MemoryScope::parse(name).map_err(|error| format!("`scopes`: {error}"));
        let scopes = reader.listed("scopes", scope);
        let session = |name: &str| {
            let wrong = || format!("`sessions` has `{name}`; it takes direct, group or channel");
            ChannelScope::of(name).ok_or_else(wrong)
        };
        let sessions = reader.listed("sessions", session);
        let ways = "hybrid, prompt-only, search-only or off";
        let write_mode = reader.choice("write_mode", MemoryMode::Hybrid, MemoryMode::Off, ways);
        let style = reader.choice("style", MemoryMode::Hybrid, MemoryMode::Off, ways);
        let takes = "live-reload or frozen-at-session-start";
        let live = PromptMemoryMode::LiveReload;
        let prompt_memory_mode = reader.choice("prompt_memory_mode", live, live, takes);
        let can_suggest = reader.switch("can_suggest");
        let write_collections = reader.names("write_collections");
        let expires = reader.expires();
        let session_headers = reader.switch("session_headers");
        let shares_memory_with = reader.names("shares_memory_with");
        let librarian = reader.switch("librarian");
        let task = |name: &str| {
            let wrong = || format!("`{LIBRARIAN_OFF}` names `{name}`; tasks are {}", LIBRARIAN_TASKS.join(", "));
            LIBRARIAN_TASKS.contains(&name).then(|| name.to_owned()).ok_or_else(wrong)
        };
        let librarian_off = reader.listed(LIBRARIAN_OFF, task).unwrap_or_default();
        let limits = reader.limits();
        let problems = reader.problems;
        let rules = WrittenRules {
            can_read_user_memory: may_read,
            collections: collections.clone(),
            exclude_tags: exclude_tags.clone(),
            paths: paths.clone(),
            scopes: scopes.iter().flatten().map(ToString::to_string).collect(),
            sessions: sessions.as_ref().map(|all| all.iter().map(ToString::to_string).collect()),
            can_suggest,
            write_collections: write_collections.clone(),
        };
        let exclude_tags = exclude_tags.iter().map(|tag| folded(tag)).collect();
        let sessions = sessions.unwrap_or_else(|| vec![ChannelScope::Group, ChannelScope::Channel]);
        let (parts, own, person) = Default::default();
        let grant = Grant { collections, exclude_tags, allowed, denied, scopes, parts, sessions, own, person };
        let grant = grant.with_folders(&[]);
        Self {
            grant: (may_read && problems.is_empty()).then_some(grant),
            rules,
            given: Value::Null,
            write_mode: if problems.is_empty() { write_mode } else { MemoryMode::Off },
            style: if problems.is_empty() { style } else { MemoryMode::Off },
            prompt_memory_mode,
            can_suggest: can_suggest && problems.is_empty(),
            write_collections: if problems.is_empty() { write_collections } else { Vec::new() },
            expires,
            session_headers,
            shares_memory_with: if problems.is_empty() { shares_memory_with } else { Vec::new() },
            librarian: librarian && problems.is_empty(),
            librarian_off,
            limits,
            problems,
        }
    }

    /// Whether it may write notes of a collection.
    pub(crate) fn writes(&self, collection: &str) -> bool {
        self.write_collections.iter().any(|name| name == "*" || composed(name) == composed(collection))
    }

    /// Whether its librarian does a task.
    pub(crate) fn does(&self, task: &str) -> bool {
        !self.librarian_off.iter().any(|off| off == task)
    }

    /// Whether its librarian is to find preferences, or what is none.
    pub(crate) fn finds(&self, preferences: bool) -> bool {
        self.does(if preferences { PREFERENCE_EXTRACTION } else { FACT_EXTRACTION })
    }

    /// Whether its librarian is to find anything.
    pub(crate) fn finds_any(&self) -> bool {
        self.finds(true) || self.finds(false)
    }

    /// How much it gets: as its page says, else as `[agents]` does.
    pub(crate) fn limits_over(&self, config: &AgentsConfig) -> AgentLimits {
        let &AgentsConfig { timeout_ms, requests_per_minute } = config;
        let usual = AgentLimits { timeout_ms, requests_per_minute, ..AgentLimits::default() };
        let mut all = json!(usual);
        for (name, limit) in self.limits.iter().filter(|(_, limit)| !limit.is_null()) {
            all[name] = limit.clone();
        }
        serde_json::from_value(all).unwrap_or(usual)
    }

    /// A policy that allows nothing, for the reason given.
    pub fn nothing(reason: impl Into<String>) -> Self {
        Self { problems: vec![reason.into()], style: MemoryMode::Hybrid, ..Self::default() }
    }

    /// Whether it has ended at a time.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// How an agent may write its own memory, as Moltis has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = WriteMode)]
pub enum MemoryMode {
    /// `MEMORY.md`, and files in `memory/`.
    Hybrid,
    /// Only `MEMORY.md`, which is put into prompts.
    PromptOnly,
    /// Only files in `memory/`, which searches find.
    SearchOnly,
    /// Nothing.
    #[default]
    Off,
}

impl MemoryMode {
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

/// Its tasks, by the names that taOS has for them: to find what is no preference, and to find preferences.
pub(crate) const LIBRARIAN_TASKS: [&str; 2] = [FACT_EXTRACTION, PREFERENCE_EXTRACTION];

const FACT_EXTRACTION: &str = "fact_extraction";
const PREFERENCE_EXTRACTION: &str = "preference_extraction";

/// The key of a page.
pub(crate) const LIBRARIAN_OFF: &str = "librarian_off";

/// Reads values, and remembers what makes no sense.
struct RulesReader<'a> {
    frontmatter: &'a Map<String, Value>,
    /// What could not be understood, as sentences.
    problems: Vec<String>,
}

impl RulesReader<'_> {
    /// A key counts whatever its case, as elsewhere in frontmatter. One that is there twice is unclear.
    fn value(&mut self, key: &str) -> Option<&Value> {
        let mut found = self.frontmatter.iter().filter(|(name, _)| name.trim().eq_ignore_ascii_case(key));
        let value = found.next().map(|(_, value)| value);
        if found.next().is_some() {
            self.problems.push(format!("`{key}` occurs twice"));
        }
        value.filter(|value| !value.is_null())
    }

    /// Whether a key is there, with or without a value.
    fn is_there(&self, key: &str) -> bool {
        self.frontmatter.keys().any(|name| name.trim().eq_ignore_ascii_case(key))
    }

    fn switch(&mut self, key: &str) -> bool {
        match self.value(key).cloned() {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            Some(other) => {
                self.problems.push(format!("`{key}` is {other}; it takes true or false"));
                false
            }
        }
    }

    /// A list of texts. One that is there and empty (`exclude_tags: #health` is a comment to YAML) was meant to say something.
    fn names(&mut self, key: &str) -> Vec<String> {
        let is_there = self.is_there(key);
        let value = self.value(key).cloned();
        let texts: Option<Vec<String>> = match &value {
            None if is_there => None,
            None => Some(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(|text| text.trim().into())).collect()
            }
            Some(Value::String(text)) => Some(text.split(',').map(|text| text.trim().into()).collect()),
            Some(_) => None,
        };
        match texts {
            Some(texts) if texts.iter().all(|text| !text.is_empty()) => texts,
            _ => {
                self.problems.push(format!("`{key}` is not a list of texts; an empty list is `[]`"));
                Vec::new()
            }
        }
    }

    /// Tags as notes have them: without `#`, and a text has several.
    fn tags(&mut self, key: &str) -> Vec<String> {
        let names = self.names(key);
        let tags: Vec<String> = names
            .iter()
            .flat_map(|text| text.split_whitespace())
            .map(|tag| tag.trim_start_matches('#').trim_end_matches('/').to_owned())
            .collect();
        if tags.iter().any(String::is_empty) {
            self.problems.push(format!("`{key}` has a tag without a name"));
        }
        tags
    }

    /// Globs over paths in the vault, each with or without `!` in front.
    fn paths(&mut self) -> Vec<String> {
        if matches!(self.value("paths"), Some(Value::String(text)) if text.contains(',')) {
            self.problems
                .push("`paths` is a text with a comma; write a list: `[\"notes/**\", \"!notes/diary\"]`".into());
        }
        let mut paths = Vec::new();
        for text in self.names("paths") {
            let (not, rest) = text.strip_prefix('!').map_or(("", text.as_str()), |rest| ("!", rest));
            let rest = rest.trim().trim_start_matches("./").trim_start_matches('/');
            if rest.is_empty() || rest.starts_with('!') || rest.split('/').any(|part| part == "..") {
                self.problems.push(format!("`paths` has `{text}`, which names nothing in the vault"));
                continue;
            }
            paths.push(format!("{not}{rest}"));
        }
        paths
    }

    /// What a list names; `None` where nothing is said.
    fn listed<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<Vec<T>> {
        if !self.is_there(key) {
            return None;
        }
        let mut listed = Vec::new();
        for name in self.names(key) {
            match read(&name) {
                Ok(one) => listed.push(one),
                Err(problem) => self.problems.push(problem),
            }
        }
        Some(listed)
    }

    fn globs<T: AsRef<str>>(&mut self, globs: &[T]) -> Globs {
        Globs::new(globs).unwrap_or_else(|error| {
            self.problems.push(format!("`paths` has an invalid glob: {error}"));
            Globs::default()
        })
    }

    /// One of the names that a key takes: `usual` where nothing is said, and `wrong` where that makes no sense.
    fn choice<T: DeserializeOwned>(&mut self, key: &str, usual: T, wrong: T, takes: &str) -> T {
        let Some(value) = self.value(key).cloned() else { return usual };
        // YAML 1.1 reads `off` as false.
        let name = if value == Value::Bool(false) { "off".into() } else { value.clone() };
        serde_json::from_value(name).unwrap_or_else(|_| {
            self.problems.push(format!("`{key}` is {value}; it takes {takes}"));
            wrong
        })
    }

    /// A day counts to its end.
    fn expires(&mut self) -> Option<Timestamp> {
        let value = self.value("expires").cloned()?;
        let text = value.as_str().map(str::trim).unwrap_or_default().to_owned();
        if text.is_empty() && value.is_string() {
            return None;
        }
        // Not how long ago, nor in a time zone that is named.
        let is_plain = text.get(4..5) == Some("-") && !text.contains('[');
        let time = is_plain.then(|| moment(&text, Edge::End, Timestamp::now())).flatten();
        if time.is_none() {
            self.problems.push(format!("`expires` is {value}; write it as 2027-01-31 or 2027-01-31T09:30:00Z"));
        }
        time.and_then(|ms| Timestamp::from_millisecond(ms).ok())
    }

    fn limits(&mut self) -> Map<String, Value> {
        let all = json!(AgentLimits::default());
        let names = all.as_object().into_iter().flat_map(Map::keys);
        let mut limits: Map<String, Value> = names.map(|name| (name.clone(), Value::Null)).collect();
        let said = match self.value("limits").cloned() {
            Some(Value::Object(said)) => said,
            None => return limits,
            Some(other) => {
                self.problems.push(format!("`limits` is {other}; it takes a map of names and numbers"));
                return limits;
            }
        };
        // Each by itself, so that all that are wrong are told.
        for (name, limit) in said {
            if limit.is_null() && limits.contains_key(&name) {
                continue;
            }
            match serde_json::from_value::<AgentLimits>(json!({ &name: &limit })) {
                Ok(alone) => self.problems.extend(alone.out_of_range("limits")),
                Err(error) => self.problems.push(format!("`limits` is invalid: {error}")),
            }
            limits.insert(name, limit);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::rules::Subject;
    use jiff::civil::Date;
    use jiff::tz::TimeZone;

    fn policy(value: Value) -> Policy {
        Policy::parse(value.as_object().unwrap())
    }

    fn sees(policy: &Policy, path: &str, tags: &[&str]) -> bool {
        let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
        let subject = Subject { path, tags: &tags, doubtful: &[], private: false };
        policy.grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none())
    }

    #[test]
    fn nothing_is_given_until_it_is_said() {
        for silent in [json!({}), json!({ "can_read_user_memory": false }), json!({ "can_read_user_memory": null })] {
            assert!(!sees(&policy(silent), "notes/a.md", &[]));
        }
        assert!(sees(&policy(json!({ "can_read_user_memory": true })), "notes/a.md", &[]));
    }

    #[test]
    fn what_is_unclear_denies_all() {
        for unclear in [
            json!({ "can_read_user_memory": "yes please" }),
            json!({ "can_read_user_memory": true, "Can_Read_User_Memory": true }),
            json!({ "can_read_user_memory": true, "collections": 5 }),
            json!({ "can_read_user_memory": true, "collections": ["notes", 5] }),
            json!({ "can_read_user_memory": true, "collections": [""] }),
            json!({ "can_read_user_memory": true, "exclude_tags": { "a": 1 } }),
            json!({ "can_read_user_memory": true, "paths": ["notes/[a"] }),
            json!({ "can_read_user_memory": true, "expires": "some day" }),
            json!({ "can_read_user_memory": true, "write_mode": "everything" }),
            json!({ "can_read_user_memory": true, "style": "loud" }),
            json!({ "can_read_user_memory": true, "can_suggest": "often" }),
            json!({ "can_read_user_memory": true, "write_collections": null }),
            json!({ "can_read_user_memory": true, "prompt_memory_mode": 3 }),
            json!({ "can_read_user_memory": true, "limits": { "max_results": -1 } }),
            json!({ "can_read_user_memory": true, "limits": { "timeout_ms": 0 } }),
            json!({ "can_read_user_memory": true, "collections": null }),
            json!({ "can_read_user_memory": true, "exclude_tags": null }),
            json!({ "can_read_user_memory": true, "paths": null }),
            json!({ "can_read_user_memory": true, "paths": ["!"] }),
            json!({ "can_read_user_memory": true, "paths": ["!../x"] }),
            json!({ "can_read_user_memory": true, "paths": "!notes/a, !notes/b" }),
        ] {
            let policy = policy(unclear.clone());
            assert!(!sees(&policy, "notes/a.md", &[]) && policy.write_mode == MemoryMode::Off, "{unclear}");
            assert!(!policy.can_suggest && !policy.writes("notes"), "{unclear}");
            assert_eq!(policy.problems.len(), 1, "{unclear}");
        }
    }

    #[test]
    fn notes_are_written_where_a_collection_is_named() {
        let silent = policy(json!({ "can_read_user_memory": true }));
        assert!(!silent.can_suggest && !silent.writes("notes"));
        let some = policy(json!({ "can_suggest": true, "write_collections": ["inbox"] }));
        assert!(some.can_suggest && some.writes("inbox") && !some.writes("notes"));
    }

    #[test]
    fn deny_beats_allow() {
        let policy = policy(json!({
            "can_read_user_memory": true,
            "collections": ["notes"],
            "exclude_tags": ["#Health"],
            "paths": ["notes/**", "!notes/diary/"],
        }));
        assert!(sees(&policy, "notes/a.md", &["work"]));
        for (path, tags) in [
            ("snippets/a.md", &[][..]),
            ("notes/diary/a.md", &[]),
            ("notes/diary", &[]),
            ("notes/a.md", &["health"]),
            ("notes/a.md", &["work", "Health/teeth"]),
            ("a.md", &[]),
        ] {
            assert!(!sees(&policy, path, tags), "{path} {tags:?}");
        }
        assert!(!sees(
            &Policy::parse(json!({ "can_read_user_memory": true, "collections": [] }).as_object().unwrap()),
            "notes/a.md",
            &[]
        ));
    }

    #[test]
    fn rules_mean_what_people_mean_by_them() {
        for (rules, path, tags) in [
            (json!({ "exclude_tags": "health, money" }), "notes/a.md", &["money"][..]),
            (json!({ "exclude_tags": "health money" }), "notes/a.md", &["money"]),
            (json!({ "exclude_tags": ["health/"] }), "notes/a.md", &["health/teeth"]),
            (json!({ "exclude_tags": ["caf\u{e9}"] }), "notes/a.md", &["cafe\u{301}"]),
            (json!({ "paths": ["!/notes/diary"] }), "notes/diary/a.md", &[]),
            (json!({ "paths": ["! notes/diary"] }), "notes/diary/a.md", &[]),
            (json!({ "paths": "!./notes/diary/" }), "notes/diary/a.md", &[]),
            (json!({ "paths": ["!notes/priv\u{e9}"] }), "notes/prive\u{301}/a.md", &[]),
        ] {
            let mut page = rules.as_object().unwrap().clone();
            page.insert("can_read_user_memory".into(), true.into());
            let policy = Policy::parse(&page);
            assert!(policy.problems.is_empty() && !sees(&policy, path, tags), "{rules}: {:?}", policy.problems);
            assert!(sees(&policy, "notes/b.md", &["work"]), "{rules}");
        }
    }

    #[test]
    fn sessions_of_others_are_read_as_their_channels_are_open() {
        let reads = |page: Value, mark: &str| {
            let mut page = page.as_object().unwrap().clone();
            page.insert("can_read_user_memory".into(), true.into());
            let grant = Policy::parse(&page).grant.unwrap().of_agent("ada");
            let doubtful = [mark.to_owned()];
            let subject = Subject { path: "conversations/a.md", tags: &[], doubtful: &doubtful, private: false };
            grant.refusal(&subject).is_none()
        };
        for (page, read) in [
            (json!({}), ["@session/direct/ada", "@session/group/ada", "@session/group/bob", "@session/channel/"]),
            (
                json!({ "sessions": "direct" }),
                ["@session/direct/", "@session/direct/bob", "@session/channel/ada", "@session/direct/ada"],
            ),
            (json!({ "sessions": [] }), ["@session/direct/ada"; 4]),
        ] {
            for mark in read {
                assert!(reads(page.clone(), mark), "{page} {mark}");
            }
        }
        for (page, hidden) in [
            (json!({}), ["@session/direct/", "@session/direct/bob", "@session/else/bob"]),
            (json!({ "sessions": ["Group"] }), ["@session/direct/", "@session/channel/", "@session/direct/adam"]),
            (json!({ "sessions": [] }), ["@session/group/", "@session/channel/bob", "@session/direct/"]),
        ] {
            for mark in hidden {
                assert!(!reads(page.clone(), mark), "{page} {mark}");
            }
        }
        assert_eq!(policy(json!({ "sessions": ["all"] })).problems.len(), 1);
        assert_eq!(policy(json!({ "sessions": null })).problems.len(), 1);
    }

    #[test]
    fn agents_folders_are_no_memory_of_the_person() {
        let policy = policy(json!({ "can_read_user_memory": true, "collections": ["*", "agents"] }));
        for path in ["agents/a/MEMORY.md", "Agents/a/MEMORY.md", "agents/a.md", "agents"] {
            assert!(!sees(&policy, path, &[]), "{path}");
        }
    }

    #[test]
    fn a_day_counts_to_its_end() {
        let expires = |text: &str| policy(json!({ "expires": text })).expires.unwrap();
        let next = "2027-02-01".parse::<Date>().unwrap().to_zoned(TimeZone::system()).unwrap().timestamp();
        assert_eq!(expires("2027-01-31"), next);
        assert_eq!(expires("2027-01-31T09:30:00Z").to_string(), "2027-01-31T09:30:00Z");
        assert!(policy(json!({ "expires": "2020-01-01" })).is_expired(Timestamp::now()));
        assert!(!policy(json!({ "expires": "" })).is_expired(Timestamp::now()));
    }
}
