//! Who may ask and send, and what they did: `vault agent`, `token` and `trace`.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::backend::{Backend, home};
use super::eval;
use super::note_named::{CommandTarget, NameFit, NoteNames};
use super::terminal::{DIM, Out, Outcome, PLAIN, TITLE, answer, count, list, remark, say};
use crate::access::request::rfc3339;
use crate::access::rules::is_agents;
use crate::base::clock::{local, local_time};
use crate::memory::capture::CaptureTokens;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    AgentParams, AgentRules, AgentView, AgentWithToken, ExplainParams, LogParams, RotateParams, TracesParams,
};

#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// Add an agent: its page agents/<name>/agent.md, and a token, which is printed only once.
    ///
    /// The agent has its own memory from the start, and reads none of yours unless you pass --allow.
    Add {
        #[command(flatten)]
        agent: AgentParams,
        /// Let it read your memory, except private notes.
        #[arg(long)]
        allow: bool,
    },
    /// List the agents.
    List,
    /// Show what an agent may do.
    Show {
        /// Its name, as in `vault agent list`.
        name: String,
    },
    /// Let an agent read your memory, or change which parts.
    Allow {
        /// Its name.
        name: String,
        #[command(flatten)]
        rules: AgentRules,
    },
    /// Stop an agent from reading your memory. It keeps its own.
    Deny {
        /// Its name.
        name: String,
    },
    /// Give an agent a new token; the old one stops working.
    Rotate {
        /// Its name.
        name: String,
        #[command(flatten)]
        session: RotateParams,
    },
    /// Remove an agent: its token stops working, and its page is moved to .trash/. Its memory stays.
    Remove {
        /// Its name.
        name: String,
    },
    /// Explain whether an agent sees a note, and why. Exit code 1: it does not.
    Explain {
        /// Its name.
        name: String,
        #[command(flatten)]
        note: ExplainParams,
    },
    /// Show what an agent asked and which notes it got, newest first.
    Log {
        /// Its name.
        name: String,
        #[command(flatten)]
        which: LogParams,
    },
}

impl AgentCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        match self {
            Self::Add { mut agent, allow } => {
                agent.rules.can_read_user_memory = allow.then_some(true);
                let added = backend.ask(&endpoints::agents::ADD, &agent)?;
                warn_of_empty(&added.agent, &mut backend)?;
                with_token(&added)
            }
            Self::List => {
                let found = backend.ask(&endpoints::agents::LIST, &())?;
                list(&found, &found.agents, "there are no agents; `vault agent add NAME` adds one", |agent, out| {
                    let token = if agent.token_since.is_some() { "" } else { ", has no token" };
                    out.row(&[(TITLE, &agent.slug), (PLAIN, &format!("{}{token}", reads(agent)))]);
                })
            }
            Self::Show { name } => {
                let agent = backend.ask_of(&endpoints::agents::SHOW, &name, &())?;
                answer(&agent, true, |out| show(&agent, out))
            }
            Self::Allow { name, rules } => {
                let rules = AgentRules { can_read_user_memory: Some(true), ..rules };
                let agent = backend.ask_of(&endpoints::agents::CHANGE, &name, &rules)?;
                warn_of_empty(&agent, &mut backend)?;
                changed(&agent)
            }
            Self::Deny { name } => {
                let rules = AgentRules { can_read_user_memory: Some(false), ..AgentRules::default() };
                changed(&backend.ask_of(&endpoints::agents::CHANGE, &name, &rules)?)
            }
            Self::Rotate { name, session } => {
                with_token(&backend.ask_of(&endpoints::agents::ROTATE, &name, &session)?)
            }
            Self::Remove { name } => {
                let removed = backend.ask_of(&endpoints::agents::REMOVE, &name, &())?;
                say!("removed the agent `{name}`");
                if let Some(id) = removed.checkpoint_id {
                    remark!("Its page is in .trash/; `vault undo {id}` brings it back, without a token.");
                }
                Ok(Outcome::Done)
            }
            Self::Explain { name, note: ExplainParams { what } } => {
                let what = match NoteNames::of(&home(vault)?)?.target(&what, NameFit::Near) {
                    Ok(CommandTarget::Note(path, _)) => path.into(),
                    // Of what is not there it is said as well why it is not seen.
                    _ => what,
                };
                let explained = backend.ask_of(&endpoints::agents::EXPLAIN, &name, &ExplainParams { what })?;
                answer(&explained, explained.visible, |out| {
                    let sees = if explained.visible { "sees" } else { "does not see" };
                    writeln!(out, "{name} {sees} {}:", explained.path);
                    explained.because.iter().for_each(|because| writeln!(out, "- {because}"));
                })
            }
            Self::Log { name, which } => {
                let log = backend.ask_of(&endpoints::agents::LOG, &name, &which)?;
                let none = format!("`{name}` has not asked for anything yet");
                list(&log, &log.entries, &none, |entry, out| {
                    let query = match &entry.changed[..] {
                        [] => entry.query.clone(),
                        changed => changed.join("; "),
                    };
                    let what = format!("{:<8}  {query}", entry.what);
                    out.row(&[(DIM, &local_time(entry.at)), (PLAIN, &what)]);
                    for given in entry.given.iter().chain(&entry.refused) {
                        writeln!(out, "    {given}");
                    }
                })
            }
        }
    }
}

fn with_token(made: &AgentWithToken) -> anyhow::Result<Outcome> {
    answer(made, true, |out| {
        let AgentWithToken { agent, token, inherits } = made;
        if !inherits.is_empty() {
            remark!(
                "vault: an agent called `{}` existed before: the new one inherits what is in {}; move that away if you do not want this",
                agent.slug,
                inherits.join(" and ")
            );
        }
        remark!(
            "`{}` {}. What it may do is in {}. This is its token; it is not shown again:",
            agent.slug,
            reads(agent),
            agent.path
        );
        writeln!(out, "{token}");
    })
}

/// A collection without notes may be one that is yet to be filled, or a name that was mistyped.
fn warn_of_empty(agent: &AgentView, backend: &mut Backend) -> anyhow::Result<()> {
    let named = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let empty: Vec<&str> = agent.empty_collections.iter().map(String::as_str).collect();
    if !empty.is_empty() {
        let stats = backend.ask(&endpoints::routes::STATS, &())?;
        let there: Vec<&str> = stats.details.keys().map(String::as_str).filter(|name| !is_agents(name)).collect();
        let there = if there.is_empty() { String::new() } else { format!("; notes are in {}", named(&there)) };
        remark!("vault: no note is in {} yet{there}", named(&empty));
    }
    Ok(())
}

fn changed(agent: &AgentView) -> anyhow::Result<Outcome> {
    say!("`{}` {}", agent.slug, reads(agent));
    Ok(Outcome::Done)
}

fn reads(agent: &AgentView) -> String {
    match agent.can_read_user_memory {
        _ if agent.expired => "has expired, and can do nothing".into(),
        _ if !agent.problems.is_empty() => "reads nothing: its page has errors".into(),
        false => "reads none of your notes".into(),
        true => format!("reads {} of yours", count(agent.files, "note")),
    }
}

fn show(agent: &AgentView, out: &mut Out) {
    let list = |items: &[String]| if items.is_empty() { "none".into() } else { items.join(", ") };
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    for (name, value) in [
        ("name", agent.name.clone()),
        ("page", agent.path.clone()),
        ("reads", reads(agent).trim_start_matches("reads ").to_owned()),
        ("collections", list(&agent.collections)),
        ("hidden tags", list(&agent.exclude_tags)),
        ("paths", list(&agent.paths)),
        ("own memory", eval::name(agent.write_mode)),
        ("suggests", if agent.can_suggest { "edits of notes" } else { "nothing" }.to_owned()),
        ("writes in", list(&agent.write_collections)),
        ("expires", or_none(&agent.expires)),
        ("token since", or_none(&agent.token_since.as_deref().map(local))),
        ("chat type", or_none(&agent.chat_type)),
        ("channel", or_none(&agent.channel)),
    ] {
        writeln!(out, "{name:<12} {}", value);
    }
    for problem in &agent.problems {
        writeln!(out, "{:<12} {}", "problem", problem);
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Make a token, and print it. It is shown only once.
    Add {
        /// The program that gets it.
        #[arg(long, value_name = "NAME")]
        capture: String,
    },
    /// List the programs that have a token.
    List,
    /// Revoke a token: it stops working at once.
    Remove {
        /// The program that has it.
        name: String,
    },
}

impl TokenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let tokens = CaptureTokens::new(&home(vault)?.state());
        match self {
            Self::Add { capture } => {
                let token = tokens.add(&capture)?;
                remark!("With this token `{capture}` can send events, and read nothing. vault does not show it again.");
                say!("{}", token.reveal());
            }
            Self::List => {
                let tokens = tokens.list()?;
                let shown = tokens.iter().map(
                    |token| json!({ "name": token.name, "sends": "events", "since": token.created_at.to_string() }),
                );
                let shown = json!({ "tokens": shown.collect::<Vec<_>>() });
                let none = "no program has a token; `vault token add --capture NAME` makes one";
                return list(&shown, &tokens, none, |token, out| {
                    writeln!(out, "{}  sends events  since {}", token.name, local_time(token.created_at));
                });
            }
            Self::Remove { name } => {
                tokens.remove(&name)?;
                say!("`{name}` can no longer send anything");
            }
        }
        Ok(Outcome::Done)
    }
}

/// Characters of what an event says.
const SAID: usize = 120;

/// List the trace of an agent's work, event by event, newest first.
///
/// One line per event: time, kind, a short text, and id. --json prints each event as the agent sent it, without secrets and permanently
/// forgotten text. Traces are stored in the vault's folder `traces/`, as lines of JSON, one file per hour; search ignores them,
/// and no other agent reads them.
#[derive(Debug, Args)]
pub(super) struct TraceCommand {
    /// The agent: its folder's name in `agents/`.
    agent: String,
    #[command(flatten)]
    which: TracesParams,
}

impl TraceCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { agent, which } = self;
        let found = Backend::without_model(vault)?.ask_of(&endpoints::traces::LIST_TRACES, &agent, &which)?;
        if let Some(damaged) = found.damaged {
            let are = if damaged == 1 { "is" } else { "are" };
            remark!("vault: {} of the files read {are} damaged", count(damaged, "line"));
        }
        if found.cut.is_some() {
            remark!("vault: there are more events; narrow the filters, or use an earlier --until");
        }
        list(&found, &found.events, &format!("`{agent}` has no such events"), |event, out| {
            let at = event["created_at"].as_f64().map(|seconds| local(&rfc3339((seconds * 1000.0) as i64)));
            let kind = format!("{:<11}", event["kind"].as_str().unwrap_or_default());
            let (at, id) = (at.unwrap_or_default(), event["id"].as_str().unwrap_or_default());
            out.row(&[(PLAIN, &at), (TITLE, &kind), (PLAIN, &said(event)), (DIM, id)]);
        })
    }
}

/// What an event says, on one line.
fn said(event: &Value) -> String {
    let payload = &event["payload"];
    let texts = ["tool", "stage", "event", "status", "from", "text", "content", "message", "reason"];
    let known = texts.iter().filter_map(|field| payload[*field].as_str());
    let all: Vec<&str> = known.chain(event["model"].as_str()).chain(event["error"].as_str()).collect();
    let line: String = all.join(": ").split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
