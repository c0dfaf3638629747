//! `vault fact`

use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::exit::Outcome;
use super::memory::open;
use super::terminal::{DIM, Out, TITLE, remark, say, shell_quoted, stdout};
use crate::serve::api::endpoints;
use crate::serve::wire::{
    FactNameParams, FactNear, FactProblem, FactRetractParams, FactSetParams, FactState, FactView, FactWrittenView,
    FactsParams, FactsView,
};
use crate::text::derive::facts::{full_name, read_value, split_name};

/// Look up and set facts: values with one right answer, and when each was true.
///
/// Facts are list items `- key: value` below the headings of a `facts.md`; the headings are the namespace. `facts.history.md` beside it
/// records every change, whoever makes it, so that you can ask what was true on any day, and what you believed then.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault fact set project/test_command \"make test\"\n  vault fact get project/test_command\n  \
    vault fact set project/deploy_branch release --from 2026-03-09\n  vault fact get project/deploy_branch --as-of 2026-03-15\n  \
    vault fact list project --scope project:mech\n  vault fact history project/deploy_branch"
)]
pub(super) struct FactCommand {
    #[command(subcommand)]
    action: FactAction,
}

#[derive(Debug, Subcommand)]
enum FactAction {
    /// Print the value of a fact.
    ///
    /// Exit code 1: there is no such fact.
    Get {
        /// Its name: `namespace/key`, or `key` if it stands below no heading.
        name: String,
        #[command(flatten)]
        scopes: FactScopes,
        #[command(flatten)]
        when: FactTimes,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set a fact: in its line, or as a new one.
    Set {
        /// Its name: `namespace/key`.
        name: String,
        /// Its value; with --yaml a list or a map: `[a, b]`.
        value: String,
        /// The memory scope: `user`, `project:mech`, `agent-type:coding`, `system`, …
        #[arg(long)]
        scope: Option<String>,
        /// When it becomes true: a date or a time; 0 for always. Default: now.
        #[arg(long, value_name = "TIME")]
        from: Option<String>,
        /// When it ends, exclusive.
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// A tag of the fact; may be given more than once.
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Where it was learned: notes/api.md#L12.
        #[arg(long, value_name = "PLACE")]
        source: Option<String>,
        /// Correct a mistake: the value before was never true.
        #[arg(long)]
        correct: bool,
        /// Only if this is the value now; "" for no value.
        #[arg(long, value_name = "VALUE")]
        if_value: Option<String>,
        /// Read the value as YAML.
        #[arg(long)]
        yaml: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List facts.
    List {
        /// The namespace; default: all.
        namespace: Option<String>,
        #[command(flatten)]
        scopes: FactScopes,
        #[command(flatten)]
        when: FactTimes,
        /// Their key, in any namespace.
        #[arg(long)]
        key: Option<String>,
        /// The beginning of `namespace/key`.
        #[arg(long)]
        prefix: Option<String>,
        /// Only facts with this tag.
        #[arg(long)]
        tag: Option<String>,
        /// Changed since: a date, a time, or how long ago (7d).
        #[arg(long, value_name = "TIME")]
        changed_since: Option<String>,
        /// Include past and future facts.
        #[arg(long)]
        expired: bool,
        /// Maximum number of facts, up to 1,000; default 200, or 10 for a tag in all scopes.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the history of a fact.
    History {
        /// Its name: `namespace/key`.
        name: String,
        #[command(flatten)]
        scopes: FactScopes,
        /// Only what was known at this time.
        #[arg(long, value_name = "TIME")]
        known_at: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a fact from its file: it is no longer true.
    Unset {
        /// Its name: `namespace/key`.
        name: String,
        /// The memory scope.
        #[arg(long)]
        scope: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Retract a fact: it was never true.
    ///
    /// --from and --until retract it for that span only, and keep the current value.
    Retract {
        /// Its name: `namespace/key`.
        name: String,
        /// The memory scope.
        #[arg(long)]
        scope: Option<String>,
        /// From when it was not true: a date or a time; 0 for always.
        #[arg(long, value_name = "TIME", requires = "until")]
        from: Option<String>,
        /// When it ends, exclusive.
        #[arg(long, value_name = "TIME", requires = "from")]
        until: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct FactScopes {
    /// Memory scopes, separated by commas; `*` is all. Default: `user`; with --tag, all.
    #[arg(long, conflicts_with = "resolve")]
    scope: Option<String>,
    /// Memory scopes, the most specific first: the first that has a fact answers.
    #[arg(long, value_name = "SCOPES")]
    resolve: Option<String>,
}

#[derive(Debug, Args)]
struct FactTimes {
    /// What was true at this time: a date (its end), a time, or how long ago (7d).
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// What was known at this time.
    #[arg(long, value_name = "TIME")]
    known_at: Option<String>,
}

/// A name as it is typed: `namespace/key`.
fn name(text: &str) -> (Option<String>, String) {
    let (namespace, key) = split_name(text);
    (Some(namespace.to_lowercase()), key.to_owned())
}

impl FactCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = open(vault)?;
        match self.action {
            FactAction::Get { name: named, scopes, when, json } => {
                let (namespace, key) = name(&named);
                let asked = params(scopes, when, namespace, Some(key));
                let found = backend.ask(&endpoints::facts::LIST_FACTS, &asked)?;
                if json {
                    stdout().json(&found)?;
                } else {
                    let mut out = stdout();
                    for fact in &found.facts {
                        writeln!(out, "{}", shown(&fact.value))?;
                    }
                    if found.facts.is_empty() {
                        absent(&format!("there is no fact `{named}`"), &asked, &found);
                    }
                    // A file that cannot be read might have had another answer.
                    unread(&found);
                }
                Ok(outcome(&found))
            }
            FactAction::List { namespace, scopes, when, key, prefix, tag, changed_since, expired, limit, json } => {
                let found = backend.ask(
                    &endpoints::facts::LIST_FACTS,
                    &FactsParams {
                        prefix,
                        tag,
                        changed_since,
                        expired: expired.then_some(true),
                        limit,
                        ..params(scopes, when, namespace.map(|namespace| namespace.to_lowercase()), key)
                    },
                )?;
                if json {
                    stdout().json(&found)?
                } else {
                    list(&found)?
                }
                Ok(outcome(&found))
            }
            FactAction::History { name: named, scopes, known_at, json } => {
                let (namespace, key) = name(&named);
                let when = FactTimes { as_of: None, known_at };
                let asked = FactsParams { history: Some(true), ..params(scopes, when, namespace, Some(key)) };
                let found = backend.ask(&endpoints::facts::LIST_FACTS, &asked)?;
                if json {
                    stdout().json(&found)?;
                } else {
                    found.facts.iter().try_for_each(|fact| changes(fact, &mut stdout()))?;
                    if found.facts.is_empty() {
                        absent(&format!("there never was a fact `{named}`"), &asked, &found);
                    }
                }
                Ok(outcome(&found))
            }
            FactAction::Set { name: named, value, scope, from, until, tags, source, correct, if_value, yaml, json } => {
                let (namespace, key) = name(&named);
                let value = if yaml {
                    read_value(&value).map_err(|reason| anyhow!("the value is not valid YAML: {reason}"))?
                } else {
                    Value::String(value)
                };
                let written = backend.ask(
                    &endpoints::facts::SET_FACT,
                    &FactSetParams {
                        scope,
                        namespace,
                        key,
                        value,
                        from,
                        until,
                        tags: Some(tags).filter(|tags| !tags.is_empty()),
                        source,
                        correct: correct.then_some(true),
                        if_value,
                    },
                )?;
                told(&written, json, if correct { "corrected" } else { "set" })
            }
            FactAction::Unset { name: named, scope, json } => {
                let (namespace, key) = name(&named);
                told(
                    &backend.ask(&endpoints::facts::UNSET_FACT, &FactNameParams { scope, namespace, key })?,
                    json,
                    "unset",
                )
            }
            FactAction::Retract { name: named, scope, from, until, json } => {
                let (namespace, key) = name(&named);
                let meant = FactRetractParams { scope, namespace, key, from, until };
                told(&backend.ask(&endpoints::facts::RETRACT_FACT, &meant)?, json, "retracted")
            }
        }
    }
}

fn params(scopes: FactScopes, when: FactTimes, namespace: Option<String>, key: Option<String>) -> FactsParams {
    let FactScopes { scope, resolve } = scopes;
    let FactTimes { as_of, known_at } = when;
    FactsParams { scope, resolve, namespace, key, as_of, known_at, ..FactsParams::default() }
}

fn outcome(found: &FactsView) -> Outcome {
    if found.facts.is_empty() { Outcome::NothingFound } else { Outcome::Done }
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

fn list(found: &FactsView) -> anyhow::Result<()> {
    let mut out = stdout();
    let mut scope = None;
    let is_of_one = found.facts.iter().all(|fact| fact.scope == found.facts[0].scope);
    for fact in &found.facts {
        if !is_of_one && scope != Some(&fact.scope) {
            out.paint(DIM, &fact.scope)?;
            writeln!(out)?;
        }
        scope = Some(&fact.scope);
        out.paint(TITLE, &named(fact))?;
        write!(out, "  {}  ", shown(&fact.value))?;
        let state = match fact.state {
            FactState::Current => String::new(),
            FactState::Expired => "expired  ".to_owned(),
            FactState::Future => "not yet  ".to_owned(),
            FactState::Retracted => "retracted  ".to_owned(),
            FactState::Unset => "unset  ".to_owned(),
        };
        out.paint(DIM, &format!("{state}{}", fact.citation))?;
        if let Some(next) = &fact.next {
            let from = next.valid_from.as_deref().unwrap_or_default();
            out.paint(DIM, &format!("  then {} from {from}", shown(&next.value)))?;
        }
        writeln!(out)?;
    }
    problems(found.problems.iter());
    match (found.facts.is_empty(), found.cut) {
        (true, _) => remark!("vault: no such facts; `vault fact set` adds one"),
        (false, true) => remark!("vault: there are more; --limit shows them"),
        (false, false) => {}
    }
    Ok(())
}

fn problems<'a>(problems: impl Iterator<Item = &'a FactProblem>) {
    for problem in problems {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        remark!("vault: {}{line}: {}", problem.path, problem.message);
    }
}

/// Says which files of facts could not be read.
fn unread(found: &FactsView) {
    problems(found.problems.iter().filter(|problem| problem.is_unread));
}

fn changes(fact: &FactView, out: &mut Out) -> anyhow::Result<()> {
    out.paint(TITLE, &named(fact))?;
    write!(out, "  ")?;
    out.paint(DIM, &fact.scope)?;
    writeln!(out)?;
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
        out.paint(DIM, &format!("  {}", change.learned))?;
        write!(out, "  {what}{times}  ")?;
        out.paint(DIM, &format!("{}{source}", change.by))?;
        writeln!(out)?;
    }
    if !fact.windows.is_empty() {
        writeln!(out, "  true when:")?;
    }
    for window in &fact.windows {
        let from = window.valid_from.as_deref().unwrap_or("always");
        let to = window.valid_to.as_deref().unwrap_or("further notice");
        let never = if window.retracted { "  (never true)" } else { "" };
        writeln!(out, "    {}  from {from} until {to}{never}", shown(&window.value))?;
    }
    Ok(())
}

fn told(written: &FactWrittenView, json: bool, what: &str) -> anyhow::Result<Outcome> {
    if json {
        stdout().json(written)?;
        return Ok(Outcome::Done);
    }
    let name = full_name(&written.namespace, &written.key);
    say!("{what} {name} in {}", written.path)?;
    if let Some(before) = &written.before {
        say!("    it was {before}")?;
    }
    if written.redacted {
        say!("    secrets were removed from it")?;
    }
    if let Some(checkpoint) = &written.checkpoint_id {
        say!("    undo: vault restore {checkpoint}")?;
    }
    Ok(Outcome::Done)
}
