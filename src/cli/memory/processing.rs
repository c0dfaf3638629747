//! `vault memory sync`, `processing`, `retry`, `clear`

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;

use crate::api::endpoints;
use crate::cli::backend::Backend;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{BAD, DIM, TITLE, bytes, count, remark, say, stdout};
use crate::clock::local;
use crate::wire::{ClearParams, Cleared, ProcessingView, RetryParams};

#[derive(Debug, Args)]
pub(super) struct SyncMemory {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowProcessing {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RetryProcessing {
    /// The session's name, as `vault memory processing` has it; all of them when it is left out.
    id: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ClearMemory {
    /// Also remove what would bring it back.
    #[arg(long)]
    purge: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How often it is looked how far a daemon is, and for how long at most.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(3_600);
/// Timeout of waiting for one and the same reason.
const STUCK_TIMEOUT: Duration = Duration::from_secs(10);

fn open(vault: Option<&Path>) -> anyhow::Result<Backend> {
    let backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
    backend.catch_up(false)?;
    Ok(backend)
}

impl SyncMemory {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let view = sync(&mut open(vault)?)?;
        match self.json {
            true => stdout().json(&view)?,
            false => show(&view)?,
        }
        Ok(Outcome::Done)
    }
}

impl ShowProcessing {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let view = open(vault)?.ask(&endpoints::processing::PROCESSING, &())?;
        match self.json {
            true => stdout().json(&view)?,
            false => show(&view)?,
        }
        Ok(Outcome::Done)
    }
}

impl RetryProcessing {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let retried = open(vault)?.ask(&endpoints::processing::RETRY_PROCESSING, &RetryParams { id: self.id })?;
        match self.json {
            true => stdout().json(&retried)?,
            false => say!("{} tried again", count(retried.queued, "session"))?,
        }
        Ok(Outcome::Done)
    }
}

impl ClearMemory {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let cleared = open(vault)?.ask(&endpoints::processing::CLEAR_MEMORY, &ClearParams { purge: self.purge })?;
        match self.json {
            true => stdout().json(&cleared)?,
            false => show_cleared(&cleared)?,
        }
        Ok(Outcome::Done)
    }
}

/// Has it begun, and waits until nothing is left to do, or nothing can be done now.
fn sync(backend: &mut Backend) -> anyhow::Result<ProcessingView> {
    let mut view = backend.ask(&endpoints::processing::SYNC_MEMORY, &())?;
    let deadline = Instant::now() + PATIENCE;
    let mut stuck: Option<(Option<String>, Instant)> = None;
    while backend.is_served() && Instant::now() < deadline {
        let is_at_work = view.now.state == "working" || (view.now.state == "waiting" && view.now.queued > 0);
        if !is_at_work {
            break;
        }
        // What failed is tried again after some seconds. What waits for longer waits for something else.
        match &stuck {
            Some((reason, since)) if *reason == view.now.reason && view.now.state == "waiting" => {
                if since.elapsed() > STUCK_TIMEOUT {
                    break;
                }
            }
            _ => stuck = Some((view.now.reason.clone(), Instant::now())),
        }
        std::thread::sleep(LOOK_EVERY);
        view = backend.ask(&endpoints::processing::PROCESSING, &())?;
    }
    Ok(view)
}

fn show(view: &ProcessingView) -> io::Result<()> {
    let mut out = stdout();
    let mut line = |name: &str, value: &str| {
        out.paint(DIM, &format!("{name:11}"))?;
        writeln!(out, " {value}")
    };
    line("model", view.now.model.as_deref().unwrap_or("none; `[memory] model` names one"))?;
    let reason = view.now.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    line("state", &format!("{}{reason}", view.now.state))?;
    line("waiting", &count(view.now.queued, "session"))?;
    if view.now.withheld > 0 {
        line("withheld", &format!("{}, private and not sent to another machine", count(view.now.withheld, "session")))?;
    }
    let since =
        view.now.since.as_ref().map_or("since the vault was made".into(), |since| format!("since {}", local(since)));
    let calls = count(view.now.calls as usize, "call");
    line("asked", &format!("{calls}, {} sent, {since}", bytes(view.now.bytes_sent)))?;
    line(
        "tokens",
        &format!("{} read, {} written, as the service has counted", view.prompt_tokens, view.answer_tokens),
    )?;
    let day = &view.day;
    let (calls, tokens) = (
        format!("{} of {} calls", day.calls, day.calls_limit),
        format!("{} of {} tokens", day.tokens, day.tokens_limit),
    );
    line("24 hours", &format!("{calls}, {tokens}"))?;
    if let Some(((success, p50), p95)) = view.success.zip(view.p50_ms).zip(view.p95_ms) {
        line("answered", &format!("{:.0} %, half within {p50} ms, 95 % within {p95} ms", success * 100.0))?;
    }
    for outcome in &view.outcomes {
        line("", &format!("{}: {}", outcome.outcome, outcome.calls))?;
    }
    let stores = &view.stores;
    line(
        "stores",
        &format!(
            "notes {}, of these layers {}, index {}, state {}",
            bytes(stores.notes),
            bytes(stores.layers),
            bytes(stores.index),
            bytes(stores.state)
        ),
    )?;
    for dead in &view.dead_letters {
        out.paint(BAD, "put aside")?;
        write!(out, "  ")?;
        out.paint(TITLE, dead.path.as_deref().unwrap_or("a conversation that is gone"))?;
        writeln!(out, "  {}; `vault memory retry {}` tries it again", dead.reason, dead.id)?;
    }
    Ok(())
}

fn show_cleared(cleared: &Cleared) -> io::Result<()> {
    if cleared.files.is_empty() {
        remark!("vault: there was nothing to clear");
    }
    let ids: Vec<&str> = cleared.files.iter().filter_map(|file| file.checkpoint_id.as_deref()).collect();
    for file in &cleared.files {
        say!("{} is cleared", file.path)?;
    }
    for path in &cleared.kept {
        say!("{path} stays: you have edited it")?;
    }
    if !ids.is_empty() {
        say!("to undo: vault restore {}", ids.join(" "))?;
    }
    Ok(())
}
