//! `vault fact`

use std::path::Path;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::backend::Backend;
use super::terminal::{DIM, Out, Outcome, PLAIN, TITLE, answer, remark, remark_end, say_undo, shell_quoted};
use crate::serve::api::endpoints;
use crate::serve::wire::{
    FactNameParams, FactNear, FactProblem, FactRetractParams, FactSetParams, FactState, FactView, FactWrittenView,
    FactsParams, FactsView,
};
use crate::text::derive::facts::{full_name, read_value, split_name};

#[derive(Debug, Subcommand)]
pub(super) enum FactCommand {
    /// Print the value of a fact.
    ///
    /// Exit code 1: there is no such fact.
    Get {
        /// Its name: `namespace/key`, or `key` if it stands below no heading.
        name: String,
        #[command(flatten)]
        scopes: FactScopes,
        /// What was true at this time: a date (its end), a time, or how long ago (7d).
        #[arg(long, value_name = "TIME")]
        as_of: Option<String>,
        /// What was known at this time.
        #[arg(long, value_name = "TIME")]
        known_at: Option<String>,
    },
    /// Set a fact: in its line, or as a new one.
    Set {
        /// Its name: `namespace/key`.
        name: String,
        /// Its value; with --yaml a list or a map: `[a, b]`.
        value: String,
        #[command(flatten)]
        fact: FactSetParams,
        /// Read the value as YAML.
        #[arg(long)]
        yaml: bool,
    },
    /// List facts.
    List(FactsParams),
    /// Show the history of a fact.
    History {
        /// Its name: `namespace/key`.
        name: String,
        #[command(flatten)]
        scopes: FactScopes,
        /// Only what was known at this time.
        #[arg(long, value_name = "TIME")]
        known_at: Option<String>,
    },
    /// Remove a fact from its file: it is no longer true.
    Unset {
        /// Its name: `namespace/key`.
        name: String,
        #[command(flatten)]
        fact: FactNameParams,
    },
    /// Retract a fact: it was never true.
    ///
    /// --from and --until retract it for that span only, and keep the current value.
    Retract {
        /// Its name: `namespace/key`.
        name: String,
        #[command(flatten)]
        fact: FactRetractParams,
    },
}

#[derive(Debug, Args)]
pub(super) struct FactScopes {
    /// Memory scopes, separated by commas; `*` is all. Default: `user`; with --tag, all.
    #[arg(long, conflicts_with = "resolve")]
    scope: Option<String>,
    /// Memory scopes, the most specific first: the first that has a fact answers.
    #[arg(long, value_name = "SCOPES")]
    resolve: Option<String>,
}

/// A name as it is typed: `namespace/key`.
fn name(text: &str) -> (Option<String>, String) {
    let (namespace, key) = split_name(text);
    (Some(namespace.to_lowercase()), key.to_owned())
}

impl FactCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        match self {
            Self::Get { name: named, scopes, as_of, known_at } => {
                let asked = FactsParams { as_of, known_at, ..params(scopes, &named) };
                let found = backend.ask(&endpoints::facts::LIST_FACTS, &asked)?;
                answer(&found, !found.facts.is_empty(), |out| {
                    for fact in &found.facts {
                        writeln!(out, "{}", shown(&fact.value));
                    }
                    if found.facts.is_empty() {
                        absent(&format!("there is no fact `{named}`"), &asked, &found);
                    }
                    // A file that cannot be read might have had another answer.
                    problems(found.problems.iter().filter(|problem| problem.is_unread));
                })
            }
            Self::List(mut asked) => {
                asked.namespace = asked.namespace.map(|namespace| namespace.to_lowercase());
                let found = backend.ask(&endpoints::facts::LIST_FACTS, &asked)?;
                answer(&found, !found.facts.is_empty(), |out| list(&found, out))
            }
            Self::History { name: named, scopes, known_at } => {
                let asked = FactsParams { history: Some(true), known_at, ..params(scopes, &named) };
                let found = backend.ask(&endpoints::facts::LIST_FACTS, &asked)?;
                answer(&found, !found.facts.is_empty(), |out| {
                    found.facts.iter().for_each(|fact| changes(fact, out));
                    if found.facts.is_empty() {
                        absent(&format!("there never was a fact `{named}`"), &asked, &found);
                    }
                })
            }
            Self::Set { name: named, value, mut fact, yaml } => {
                (fact.namespace, fact.key) = name(&named);
                fact.value = match yaml {
                    true => read_value(&value).map_err(|reason| anyhow!("the value is not valid YAML: {reason}"))?,
                    false => Value::String(value),
                };
                let what = if fact.correct == Some(true) { "corrected" } else { "set" };
                told(&backend.ask(&endpoints::facts::SET_FACT, &fact)?, what)
            }
            Self::Unset { name: named, mut fact } => {
                (fact.namespace, fact.key) = name(&named);
                told(&backend.ask(&endpoints::facts::UNSET_FACT, &fact)?, "unset")
            }
            Self::Retract { name: named, mut fact } => {
                (fact.namespace, fact.key) = name(&named);
                told(&backend.ask(&endpoints::facts::RETRACT_FACT, &fact)?, "retracted")
            }
        }
    }
}

fn params(FactScopes { scope, resolve }: FactScopes, named: &str) -> FactsParams {
    let (namespace, key) = name(named);
    FactsParams { scope, resolve, namespace, key: Some(key), ..FactsParams::default() }
}

/// Says that nothing was found, and what may have been meant.
fn absent(what: &str, asked: &FactsParams, found: &FactsView) {
    let scopes = asked.scope.as_ref().or(asked.resolve.as_ref()).map_or("user", String::as_str);
    let is_asked = |near: &&FactNear| {
        scopes.split(',').any(|scope| scope.trim() == near.scope || scope == "*")
            && asked.namespace.as_ref().is_none_or(|namespace| *namespace == near.namespace)
    };
    let (same, others): (Vec<&FactNear>, Vec<&FactNear>) = found.near.iter().partition(is_asked);
    let scope_of = |near: &FactNear| match near.scope.as_str() {
        "user" => String::new(),
        scope => format!(" --scope {}", shell_quoted(scope.as_ref())),
    };
    let called = |near: &&FactNear| format!("{}{}", full_name(&near.namespace, &near.key), scope_of(near));
    if let Some(near) = same.first() {
        remark!("vault: {what} at that time; {} has a line about it", near.citation);
    } else if others.is_empty() {
        remark!("vault: {what}; `vault fact list` shows those there are");
    } else {
        let names: Vec<String> = others.iter().map(called).collect();
        remark!("vault: {what}; did you mean {}?", names.join(", or "));
    }
}

/// A value on one line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "—".to_owned(),
        other => other.to_string(),
    }
}

fn named(fact: &FactView) -> String {
    full_name(&fact.namespace, &fact.key)
}

fn list(found: &FactsView, out: &mut Out) {
    let mut scope = None;
    let is_of_one = found.facts.iter().all(|fact| fact.scope == found.facts[0].scope);
    for fact in &found.facts {
        if !is_of_one && scope != Some(&fact.scope) {
            out.row(&[(DIM, &fact.scope)]);
        }
        scope = Some(&fact.scope);
        let state = match fact.state {
            FactState::Current => String::new(),
            FactState::Expired => "expired  ".to_owned(),
            FactState::Future => "not yet  ".to_owned(),
            FactState::Retracted => "retracted  ".to_owned(),
            FactState::Unset => "unset  ".to_owned(),
        };
        let next = fact.next.as_ref().map_or_else(String::new, |next| {
            format!("  then {} from {}", shown(&next.value), next.valid_from.as_deref().unwrap_or_default())
        });
        let about = format!("{state}{}{next}", fact.citation);
        out.row(&[(TITLE, &named(fact)), (PLAIN, &shown(&fact.value)), (DIM, &about)]);
    }
    problems(found.problems.iter());
    remark_end(!found.facts.is_empty(), found.cut, "no such facts; `vault fact set` adds one");
}

fn problems<'a>(problems: impl Iterator<Item = &'a FactProblem>) {
    for problem in problems {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        remark!("vault: {}{line}: {}", problem.path, problem.message);
    }
}

fn changes(fact: &FactView, out: &mut Out) {
    out.row(&[(TITLE, &named(fact)), (DIM, &fact.scope)]);
    for change in &fact.history {
        let what = match change.change.as_str() {
            "set" => format!("{} → {}", shown(&change.old), shown(&change.new)),
            "corrected" => format!("{} corrected to {}", shown(&change.old), shown(&change.new)),
            "was" => format!("was {}", shown(&change.new)),
            "unset" => format!("{} → —", shown(&change.old)),
            "was-not" => format!("was not {}", shown(&change.old)),
            _ => format!("{} was never true", shown(&change.old)),
        };
        let times = [("from", &change.from), ("until", &change.until)];
        let times: String =
            times.iter().filter_map(|(name, time)| Some(format!(" {name} {}", time.as_ref()?))).collect();
        let source = change.source.as_ref().map(|source| format!(", {source}")).unwrap_or_default();
        let (learned, by) = (format!("  {}", change.learned), format!("{}{source}", change.by));
        out.row(&[(DIM, &learned), (PLAIN, &format!("{what}{times}")), (DIM, &by)]);
    }
    out.section("  true when:", &fact.windows, |window, out| {
        let from = window.valid_from.as_deref().unwrap_or("always");
        let to = window.valid_to.as_deref().unwrap_or("further notice");
        let never = if window.retracted { "  (never true)" } else { "" };
        writeln!(out, "    {}  from {from} until {to}{never}", shown(&window.value));
    });
}

fn told(written: &FactWrittenView, what: &str) -> anyhow::Result<Outcome> {
    answer(written, true, |out| {
        let name = full_name(&written.namespace, &written.key);
        writeln!(out, "{what} {name} in {}", written.path);
        if let Some(before) = &written.before {
            writeln!(out, "    it was {before}");
        }
        if written.redacted {
            writeln!(out, "    secrets were removed from it");
        }
        say_undo(written.checkpoint_id.as_slice());
    })
}
