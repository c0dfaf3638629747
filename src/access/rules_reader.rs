//! Reads the rules of an `agent.md`, so that what makes no sense is told and denies.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use super::globs::Globs;
use super::policy::{
    LIBRARIAN_OFF, LIBRARIAN_TASKS, LibrarianRules, MemoryStyle, PolicyLimits, PromptMemoryMode, WriteMode,
};
use crate::config::{AGENT_RANGES, ChannelScope, MemoryScope};

/// Reads values, and remembers what makes no sense.
pub(super) struct RulesReader<'a> {
    pub(super) frontmatter: &'a Map<String, Value>,
    /// What could not be understood, as sentences.
    pub(super) problems: Vec<String>,
}

impl RulesReader<'_> {
    /// A key counts whatever its case, as elsewhere in frontmatter. One that is there twice is unclear.
    pub(super) fn value(&mut self, key: &str) -> Option<&Value> {
        let mut found = self.frontmatter.iter().filter(|(name, _)| name.trim().eq_ignore_ascii_case(key));
        let value = found.next().map(|(_, value)| value);
        if found.next().is_some() {
            self.problems.push(format!("`{key}` is there twice"));
        }
        value.filter(|value| !value.is_null())
    }

    /// Whether a key is there, with or without a value.
    pub(super) fn is_there(&self, key: &str) -> bool {
        self.frontmatter.keys().any(|name| name.trim().eq_ignore_ascii_case(key))
    }

    pub(super) fn switch(&mut self, key: &str) -> bool {
        match self.value(key).cloned() {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            Some(other) => {
                self.problems.push(format!("`{key}` is {other}; it takes true or false"));
                false
            }
        }
    }

    /// How the librarian is to work.
    pub(super) fn librarian_rules(&mut self) -> LibrarianRules {
        let off = self.names(LIBRARIAN_OFF);
        if let Some(other) = off.iter().find(|task| !LIBRARIAN_TASKS.contains(&task.as_str())) {
            self.problems.push(format!("`{LIBRARIAN_OFF}` names `{other}`; tasks are {}", LIBRARIAN_TASKS.join(", ")));
        }
        LibrarianRules { off }
    }

    /// A list of texts. One that is there and empty (`exclude_tags: #health` is a comment to YAML) was meant to say something.
    pub(super) fn names(&mut self, key: &str) -> Vec<String> {
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
    pub(super) fn tags(&mut self, key: &str) -> Vec<String> {
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
    pub(super) fn paths(&mut self) -> Vec<String> {
        if matches!(self.value("paths"), Some(Value::String(text)) if text.contains(',')) {
            self.problems
                .push("`paths` is a text with a comma; write a list: `[\"notes/**\", \"!notes/diary\"]`".into());
        }
        let mut paths = Vec::new();
        for text in self.names("paths") {
            let (not, rest) = text.strip_prefix('!').map_or(("", text.as_str()), |rest| ("!", rest));
            let rest = rest.trim().trim_start_matches("./").trim_start_matches('/');
            if rest.is_empty() || rest.starts_with('!') || rest.split('/').any(|part| part == "..") {
                self.problems.push(format!("`paths` has `{text}`, which names no place in the vault"));
                continue;
            }
            paths.push(format!("{not}{rest}"));
        }
        paths
    }

    /// Memory scopes; `None` where nothing is said, which binds it to none.
    pub(super) fn scopes(&mut self) -> Option<Vec<MemoryScope>> {
        if !self.is_there("scopes") {
            return None;
        }
        let mut scopes = Vec::new();
        for name in self.names("scopes") {
            match MemoryScope::parse(&name) {
                Ok(scope) => scopes.push(scope),
                Err(error) => self.problems.push(format!("`scopes`: {error}")),
            }
        }
        Some(scopes)
    }

    /// Channels of which it reads sessions of others; `None` where nothing is said.
    pub(super) fn sessions(&mut self) -> Option<Vec<ChannelScope>> {
        if !self.is_there("sessions") {
            return None;
        }
        let mut sessions = Vec::new();
        for name in self.names("sessions") {
            match ChannelScope::of(&name) {
                Some(scope) => sessions.push(scope),
                None => self.problems.push(format!("`sessions` has `{name}`; it takes direct, group or channel")),
            }
        }
        Some(sessions)
    }

    pub(super) fn globs<T: AsRef<str>>(&mut self, globs: &[T]) -> Globs {
        Globs::new(globs).unwrap_or_else(|error| {
            self.problems.push(format!("`paths` has a glob that cannot be read: {error}"));
            Globs::default()
        })
    }

    pub(super) fn write_mode(&mut self) -> WriteMode {
        let Some(value) = self.value("write_mode").cloned() else { return WriteMode::Hybrid };
        // YAML 1.1 reads `off` as false.
        if value == Value::Bool(false) {
            return WriteMode::Off;
        }
        serde_json::from_value(value.clone()).unwrap_or_else(|_| {
            let takes = "hybrid, prompt-only, search-only or off";
            self.problems.push(format!("`write_mode` is {value}; it takes {takes}"));
            WriteMode::Off
        })
    }

    /// How memory reaches it; both ways where that is not said.
    pub(super) fn style(&mut self) -> MemoryStyle {
        let Some(value) = self.value("style").cloned() else { return MemoryStyle::Hybrid };
        // YAML 1.1 reads `off` as false.
        if value == Value::Bool(false) {
            return MemoryStyle::Off;
        }
        serde_json::from_value(value.clone()).unwrap_or_else(|_| {
            self.problems.push(format!("`style` is {value}; it takes hybrid, prompt-only, search-only or off"));
            MemoryStyle::Off
        })
    }

    /// As of when memory in its prompts is; now where that is not said.
    pub(super) fn prompt_memory_mode(&mut self) -> PromptMemoryMode {
        let Some(value) = self.value("prompt_memory_mode").cloned() else { return PromptMemoryMode::LiveReload };
        serde_json::from_value(value.clone()).unwrap_or_else(|_| {
            let takes = "live-reload or frozen-at-session-start";
            self.problems.push(format!("`prompt_memory_mode` is {value}; it takes {takes}"));
            PromptMemoryMode::LiveReload
        })
    }

    /// A day counts to its end.
    pub(super) fn expires(&mut self) -> Option<Timestamp> {
        let value = self.value("expires").cloned()?;
        let text = value.as_str().map(str::trim).unwrap_or_default().to_owned();
        if text.is_empty() && value.is_string() {
            return None;
        }
        let end_of = |day: Date| day.tomorrow().ok()?.to_datetime(Time::midnight()).to_zoned(TimeZone::system()).ok();
        let zoned = text.parse::<Zoned>().ok().map(|time| time.timestamp());
        let day = || text.parse::<Date>().ok().filter(|_| text.len() == 10).and_then(end_of);
        let local = || {
            let time = text.parse::<jiff::civil::DateTime>().ok()?;
            time.to_zoned(TimeZone::system()).ok()
        };
        let time = zoned.or_else(|| text.parse().ok()).or_else(|| day().or_else(local).map(|time| time.timestamp()));
        if time.is_none() {
            self.problems.push(format!("`expires` is {value}; write it as 2027-01-31 or 2027-01-31T09:30:00Z"));
        }
        time
    }

    pub(super) fn limits(&mut self) -> PolicyLimits {
        let Some(value) = self.value("limits").cloned() else { return PolicyLimits::default() };
        let limits: PolicyLimits = match serde_json::from_value(value.clone()) {
            Ok(limits) => limits,
            Err(error) => {
                self.problems.push(format!("`limits` makes no sense: {error}"));
                return PolicyLimits::default();
            }
        };
        for (name, low, high) in AGENT_RANGES {
            if let Some(number) =
                value.get(name).and_then(Value::as_u64).filter(|number| !(low..=high).contains(number))
            {
                self.problems.push(format!("`limits.{name}` is {number}; it takes {low} to {high}"));
            }
        }
        limits
    }
}
