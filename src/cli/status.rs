//! `vault status`

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::Args;

use super::Outcome;
use super::backend::Backend;
use super::output::{self, BAD, DIM, Terminal, bytes, count, printable};
use crate::service;

/// Show what is indexed, what is pending, and what could not be indexed and why.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Problems shown; `--json` has them all.
const SHOWN: usize = 20;

impl Status {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(true)?;
        backend.warn_if_read_only();
        let served = matches!(backend, Backend::Daemon(_));
        let status = backend.status()?;
        if self.json {
            output::json(&status)?;
        } else {
            std::io::stdout().write_all(text(&status, served, Terminal::stdout())?.as_bytes())?;
        }
        Ok(Outcome::Done)
    }
}

fn text(status: &service::Status, served: bool, terminal: Terminal) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let mut line = |name: &str, value: &str| writeln!(out, "{} {value}", terminal.paint(DIM, &format!("{name:11}")));
    line("vault", &status.vault)?;
    line("daemon", if served { "running" } else { "not running; `vault serve` keeps the index fresh" })?;
    let (notes, passages) = (count(status.files, "note"), count(status.chunks, "passage"));
    line("indexed", &format!("{notes} in {passages}, {}", bytes(status.text_bytes)))?;
    line("embedded", &format!("{} of {}", status.embedded, count(status.embeddable, "passage")))?;
    line(
        "pending",
        &format!(
            "{} to read, {} to embed",
            count(status.pending_files, "note"),
            count(status.pending_embeddings, "text")
        ),
    )?;
    let model = match (&*status.model.state, &status.model.detail) {
        ("ready", Some(name)) => name.clone(),
        (state, Some(detail)) => format!("{state}: {detail}"),
        (state, None) => state.to_owned(),
    };
    line("model", &model)?;
    if served {
        line("changes", &format!("noticed by {}", status.watching))?;
    }
    line("index", &format!("{}, {}", status.index_dir, bytes(status.index_bytes)))?;
    if let Some(verified) = &status.verified {
        let found = if verified.damage.is_empty() { "all whole" } else { "damage found" };
        line("checked", &format!("{} at {}", found, verified.at))?;
    }
    if let Some(rebuilt) = &status.rebuilt {
        line("rebuilt", &printable(rebuilt))?;
    }
    if let Some(failure) = &status.failure {
        writeln!(out, "{} {failure}", terminal.paint(BAD, "failure    "))?;
    }
    if !status.problems.is_empty() {
        writeln!(out, "\n{} could not be read as they were meant:", status.problems.len())?;
        for problem in status.problems.iter().take(SHOWN) {
            writeln!(out, "  {}  {}", printable(&problem.path), terminal.paint(DIM, &printable(&problem.reason)))?;
        }
        if status.problems.len() > SHOWN {
            writeln!(out, "  … and {} more; `vault status --json` lists all", status.problems.len() - SHOWN)?;
        }
    }
    Ok(out)
}
