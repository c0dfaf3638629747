//! `fact`: looks facts up and sets them.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::tool::{About, DATA, Effect, Render, ToolAction, ToolEntry, count};
use crate::app::App;
use crate::derive::facts::{full_name, split_name};
use crate::facts;
use crate::request::Viewer;
use crate::wire::{FactSetParams, FactState, FactView, FactWrittenView, FactsParams, FactsView};

/// Which fact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactArgs {
    /// `namespace/key`, or `key`.
    #[schema(min_length = 1)]
    name: String,
    /// Most specific first: `project:mech,system`.
    #[serde(default)]
    scopes: Option<String>,
    /// True on this day.
    #[serde(default)]
    as_of: Option<String>,
    /// Known on this day.
    #[serde(default)]
    known_at: Option<String>,
}

/// Which facts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactListArgs {
    /// Headings above.
    #[serde(default)]
    namespace: Option<String>,
    /// As `project:mech,system`; `*` for all.
    #[serde(default)]
    scopes: Option<String>,
    /// Their key.
    #[serde(default)]
    key: Option<String>,
    /// Of their names.
    #[serde(default)]
    prefix: Option<String>,
    /// Their tag.
    #[serde(default)]
    tag: Option<String>,
    /// True then.
    #[serde(default)]
    as_of: Option<String>,
    /// Known then.
    #[serde(default)]
    known_at: Option<String>,
    /// Also past and future.
    #[serde(default)]
    expired: Option<bool>,
    /// As 7d.
    #[serde(default)]
    changed_since: Option<String>,
    /// Else 200; by tag 10.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// A fact to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactSetArgs {
    /// `namespace/key`, or `key`.
    #[schema(min_length = 1)]
    name: String,
    /// A text, a list or a map.
    value: Value,
    /// 2026-03-09.
    #[serde(default)]
    from: Option<String>,
    /// The end.
    #[serde(default)]
    until: Option<String>,
    /// Replaces its tags.
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// notes/api.md#L12.
    #[serde(default)]
    source: Option<String>,
    /// The old was never true.
    #[serde(default)]
    correct: Option<bool>,
    /// Only over this value.
    #[serde(default)]
    if_value: Option<String>,
}

fn split(name: &str) -> (Option<String>, String) {
    let (namespace, key) = split_name(name);
    (Some(namespace.to_lowercase()), key.to_owned())
}

fn one(meant: FactArgs, history: bool) -> FactsParams {
    let FactArgs { name, scopes, as_of, known_at } = meant;
    let (namespace, key) = split(&name);
    let (resolve, history) = (scopes, history.then_some(true));
    FactsParams { resolve, namespace, key: Some(key), as_of, known_at, history, ..FactsParams::default() }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "nothing".to_owned(),
        other => other.to_string(),
    }
}

fn line(fact: &FactView) -> String {
    let name = full_name(&fact.namespace, &fact.key);
    let state = match fact.state {
        FactState::Current => "",
        FactState::Expired => " (no longer)",
        FactState::Future => " (not yet)",
        FactState::Retracted => " (never true)",
        FactState::Unset => " (unset)",
    };
    let from = fact.valid_from.as_ref().map(|from| format!(", from {from}")).unwrap_or_default();
    let until = fact.valid_to.as_ref().map(|until| format!(", until {until}")).unwrap_or_default();
    let next = fact
        .next
        .as_ref()
        .map(|next| format!("; then {} from {}", shown(&next.value), next.valid_from.as_deref().unwrap_or_default()));
    let (value, next) = (shown(&fact.value), next.unwrap_or_default());
    format!("{name}: {value}{state} [{}, {}{from}{until}]{next}\n", fact.scope, fact.citation)
}

impl Render for FactsView {
    fn text(&self) -> String {
        let mut text = match self.facts.len() {
            0 => {
                let near: Vec<String> = self
                    .near
                    .iter()
                    .map(|near| format!("{} [{}]", full_name(&near.namespace, &near.key), near.scope))
                    .collect();
                let meant = if near.is_empty() {
                    String::new()
                } else {
                    format!(" Of that key there are: {}.", near.join(", "))
                };
                return format!("There is no such fact.{meant}\n");
            }
            facts => format!("{}. {DATA}\n", count(facts, "fact")),
        };
        for fact in &self.facts {
            text += &line(fact);
            for change in &fact.history {
                let times = [("from", &change.from), ("until", &change.until)];
                let times: String =
                    times.iter().filter_map(|(name, time)| Some(format!(" {name} {}", time.as_ref()?))).collect();
                let (old, new) = (shown(&change.old), shown(&change.new));
                text += &format!("  {} {}: {old} → {new}{times} (by {})\n", change.learned, change.change, change.by);
            }
        }
        if self.cut {
            text += "There are more: ask for a namespace.\n";
        }
        text
    }
}

impl Render for FactWrittenView {
    fn text(&self) -> String {
        let undo = self.checkpoint_id.as_ref().map(|id| format!(" Checkpoint {id} undoes it."));
        let before = self.before.as_ref().map(|before| format!(" It was {before}.")).unwrap_or_default();
        format!("Set in {}.{before}{}\n", self.path, undo.unwrap_or_default())
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "fact",
        title: "Facts",
        description: "What has one exact value under a name: a command, branch, address. `get` one by `name`; `list` those of a namespace, tag or \
            day; `history`: how one changed, and who changed it; `set` one of your own.",
    };
    let list = |_: &App, viewer: &Viewer, args: FactListArgs| {
        let FactListArgs { namespace, scopes: scope, key, prefix, tag, as_of, known_at, expired, changed_since, limit } =
            args;
        let namespace = namespace.map(|namespace| namespace.to_lowercase());
        let asked = FactsParams { scope, namespace, prefix, tag, as_of, known_at, ..FactsParams::default() };
        facts::facts(viewer, &FactsParams { key, expired, changed_since, limit, ..asked })
    };
    let set = |_: &App, viewer: &Viewer, args: FactSetArgs| {
        let FactSetArgs { name, value, from, until, tags, source, correct, if_value } = args;
        let (namespace, key) = split(&name);
        let scope = None;
        facts::set(
            viewer,
            &FactSetParams { scope, namespace, key, value, from, until, tags, source, correct, if_value },
        )
    };
    let actions = vec![
        ToolAction::new("get", Effect::Reads, |_, viewer: &Viewer, args| facts::facts(viewer, &one(args, false))),
        ToolAction::new("list", Effect::Reads, list),
        ToolAction::new("history", Effect::Reads, |_, viewer: &Viewer, args| facts::facts(viewer, &one(args, true))),
        ToolAction::new("set", Effect::Changes, set),
    ];
    ToolEntry::new(about, actions)
}
