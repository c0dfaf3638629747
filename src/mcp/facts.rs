//! Facts: `fact_get`, `fact_list`, `fact_set`, `fact_history`.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::search::DATA;
use super::tool::{About, Effect, Told, ToolEntry, count};
use crate::derive::facts::{full_name, split_name};
use crate::facts;
use crate::request::Viewer;
use crate::wire::{FactSetParams, FactState, FactView, FactWrittenView, FactsParams, FactsView};

/// Which fact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactMeant {
    /// `namespace/key`, or `key`.
    #[schema(min_length = 1)]
    name: String,
    /// Scopes, the most specific first: `project:mech,system`.
    #[serde(default)]
    scopes: Option<String>,
    /// What was true then (2026-03-15).
    #[serde(default)]
    as_of: Option<String>,
    /// What was known then.
    #[serde(default)]
    known_at: Option<String>,
}

/// Which facts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactsMeant {
    /// Headings above them.
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
struct FactToSet {
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

fn one(meant: FactMeant, history: bool) -> FactsParams {
    let FactMeant { name, scopes, as_of, known_at } = meant;
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

impl Told for FactsView {
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

impl Told for FactWrittenView {
    fn text(&self) -> String {
        let undo = self.checkpoint_id.as_ref().map(|id| format!(" To undo it: checkpoint_restore {id}"));
        let before = self.before.as_ref().map(|before| format!(" It was {before}.")).unwrap_or_default();
        format!("Set in {}.{before}{}\n", self.path, undo.unwrap_or_default())
    }
}

pub(super) fn tools() -> Vec<ToolEntry> {
    vec![
        ToolEntry::new(
            About {
                name: "fact_get",
                title: "Look up a fact",
                description: "Gives the one value of a fact by its exact name: a command, a branch, an address, a preference. `as_of` asks \
                    what was true on a day. Use `fact_list` when you do not know the name.",
                effect: Effect::Reads,
            },
            |_, viewer: &Viewer, meant: FactMeant| facts::facts(viewer, &one(meant, false)),
        ),
        ToolEntry::new(
            About {
                name: "fact_list",
                title: "List facts",
                description: "Lists facts with values and places: all, of a namespace, a tag, a day, or changed since.",
                effect: Effect::Reads,
            },
            |_, viewer: &Viewer, meant: FactsMeant| {
                let FactsMeant {
                    namespace,
                    scopes: scope,
                    key,
                    prefix,
                    tag,
                    as_of,
                    known_at,
                    expired,
                    changed_since,
                    limit,
                } = meant;
                let namespace = namespace.map(|namespace| namespace.to_lowercase());
                let asked = FactsParams { scope, namespace, prefix, tag, as_of, known_at, ..FactsParams::default() };
                facts::facts(viewer, &FactsParams { key, expired, changed_since, limit, ..asked })
            },
        ),
        ToolEntry::new(
            About {
                name: "fact_history",
                title: "What became of a fact",
                description: "Gives all changes of a fact, when each was learned, by whom, and when which value was true. Use it for what \
                    was believed before, and why.",
                effect: Effect::Reads,
            },
            |_, viewer: &Viewer, meant: FactMeant| facts::facts(viewer, &one(meant, true)),
        ),
        ToolEntry::new(
            About {
                name: "fact_set",
                title: "Set a fact",
                description: "Sets what has one right answer and may change, in your own memory; what was true before is kept.",
                effect: Effect::Replaces,
            },
            |_, viewer: &Viewer, set: FactToSet| {
                let FactToSet { name, value, from, until, tags, source, correct, if_value } = set;
                let (namespace, key) = split(&name);
                let scope = None;
                facts::set(
                    viewer,
                    &FactSetParams { scope, namespace, key, value, from, until, tags, source, correct, if_value },
                )
            },
        ),
    ]
}
