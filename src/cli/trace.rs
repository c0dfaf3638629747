//! `vault trace`

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{DIM, TITLE, count, remark, stdout};
use crate::api::endpoints;
use crate::clock::local;
use crate::request::rfc3339;
use crate::wire::TracesParams;

/// Characters of what an event says.
const SAID: usize = 120;

/// List what an agent has told of its work, event by event, newest first.
///
/// A line an event: when, its kind, what it says in short, and its id. With --json each event is as the agent sent it, without secrets and
/// without what was forgotten for good. Traces are in the vault's folder `traces/`, as lines of JSON by the hour; no search looks into
/// them, and no other agent reads them.
#[derive(Debug, Args)]
pub(super) struct TraceCommand {
    /// The agent: its folder's name in `agents/`.
    agent: String,
    /// Only of this kind: message_in, message_out, llm_call, tool_call, tool_result, reasoning, error, lifecycle.
    #[arg(long)]
    kind: Option<String>,
    /// Only of this channel.
    #[arg(long, value_name = "ID")]
    channel_id: Option<String>,
    /// Only of this trace.
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// Only from then on: a date (2026-01-05), a time, how long ago (7d), or seconds since 1970.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only until then, likewise; a date counts to its end.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Maximum number of events, up to 1000.
    #[arg(long, short = 'n', default_value_t = 100)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl TraceCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        let Self { agent, kind, channel_id, trace_id, since, until, limit, json } = self;
        let params = TracesParams { kind, channel_id, trace_id, since, until, limit: Some(limit) };
        let found = backend.ask_of(&endpoints::traces::LIST_TRACES, &agent, &params)?;
        let outcome = if found.events.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if let Some(damaged) = found.damaged {
            remark!(
                "vault: {} of the files that were looked at {} damaged",
                count(damaged, "line"),
                if damaged == 1 { "is" } else { "are" }
            );
        }
        if found.cut.is_some() {
            remark!("vault: there are more; ask for fewer, or until an earlier time");
        }
        if json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for event in &found.events {
            let at = event["created_at"]
                .as_f64()
                .map_or_else(String::new, |seconds| local(&rfc3339((seconds * 1000.0) as i64)));
            write!(out, "{at}  ")?;
            out.paint(TITLE, &format!("{:<11}", event["kind"].as_str().unwrap_or_default()))?;
            write!(out, "  {}", said(event))?;
            out.paint(DIM, &format!("  {}", event["id"].as_str().unwrap_or_default()))?;
            writeln!(out)?;
        }
        if outcome == Outcome::NothingFound {
            remark!("vault: `{agent}` has told nothing of that kind");
        }
        Ok(outcome)
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
