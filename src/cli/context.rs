//! `vault context`

use std::path::Path;

use clap::{Args, ValueEnum};

use super::backend::Backend;
use super::exit::Outcome;
use super::hook;
use super::terminal::{count, remark, say, stdout};
use crate::agents::no_agent;
use crate::api::endpoints;
use crate::request::{ErrorKind, RequestError};
use crate::wire::{ContextMode, ContextParams, ContextPart};

/// Print what a model should know for a question: a few lines of your memory with their sources, or nothing.
///
/// A gate decides what the question is worth: about yourself the profile, "what did I say" the turns, times and decisions the summaries,
/// what is known by name the entries, else passages that are likely to answer; and often nothing. What is printed is fenced as data. The
/// receipt, which --json prints, says what was given and what was left out.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault context \"what did we decide about the roof\"\n  vault context --mode full --budget 2000\n  \
        vault context --agent claude --hook < event.json"
)]
pub(super) struct ContextCommand {
    /// What the model is asked; without it what is worth knowing in any case is printed.
    query: Option<String>,
    /// As this agent sees it; without it as you do, private notes included.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Give all layers within their budgets (full), or what the question is worth (gate).
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeName>,
    /// Tokens at most; those of `[memory] context_tokens` unless told.
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
    /// Only these sections, with commas between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    sections: Vec<PartName>,
    /// Be a hook of Claude Code: read an event as JSON from standard input, and answer as it wants it. Never fails.
    #[arg(long, conflicts_with_all = ["query", "json"])]
    hook: bool,
    /// Print JSON, with the receipt.
    #[arg(long)]
    json: bool,
}

/// How much is given.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    Gate,
    Full,
}

/// A section.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartName {
    Profile,
    Entries,
    Relations,
    Summaries,
    Transcript,
    Excerpts,
    Memories,
}

impl From<ModeName> for ContextMode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Gate => Self::Gate,
            ModeName::Full => Self::Full,
        }
    }
}

impl From<PartName> for ContextPart {
    fn from(name: PartName) -> Self {
        match name {
            PartName::Profile => Self::Profile,
            PartName::Entries => Self::Entries,
            PartName::Relations => Self::Relations,
            PartName::Summaries => Self::Summaries,
            PartName::Transcript => Self::Transcript,
            PartName::Excerpts => Self::Excerpts,
            PartName::Memories => Self::Memories,
        }
    }
}

impl ContextCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let params = ContextParams {
            query: self.query,
            agent: self.agent,
            budget: self.budget,
            sections: Some(self.sections.into_iter().map(Into::into).collect())
                .filter(|sections: &Vec<_>| !sections.is_empty()),
            mode: self.mode.map(Into::into),
            unasked: self.hook.then_some(true),
            session_start: None,
        };
        if self.hook {
            return hook::run(vault, params);
        }
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(true)?;
        let view = match (backend.context(&params), &params.agent) {
            (Err(error), Some(name)) => return Err(absent(name, &mut backend).unwrap_or(error)),
            (view, _) => view?,
        };
        let outcome = if view.text.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&view)?;
            return Ok(outcome);
        }
        let receipt = &view.receipt;
        if view.text.is_empty() {
            remark!("vault: nothing is worth giving: {}", receipt.why);
        } else {
            say!("{}", view.text.trim_end())?;
            remark!("vault: {}, by the gate `{}`: {}", count(receipt.tokens, "token"), receipt.gate, receipt.why);
        }
        Ok(outcome)
    }
}

/// That there is no such agent, if there is none: programs that ask for an agent are not told so, and the person is.
fn absent(name: &str, backend: &mut Backend) -> Option<anyhow::Error> {
    let error = backend.ask_of(&endpoints::agents::SHOW, name, &()).err()?;
    let is_absent = error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::NotFound);
    is_absent.then(|| no_agent(name).into())
}
