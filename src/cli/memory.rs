//! `vault memory`

mod entries;
mod processing;

use std::path::Path;

use clap::{Args, Subcommand};

use super::exit::Outcome;

/// What is known: preferences, decisions, commitments, facts, one line each.
///
/// Entries are list items in `memories/user.md`, and of an agent in `agents/<name>/entries.md`: yours to edit in any editor. What agents and
/// models propose waits in `pending.md` beside them; `vault review` goes through it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault memory add --kind preference \"Prefers tabs over spaces\"\n  vault memory list\n  \
    vault memory list --agent ada --status archived\n  vault memory edit e-7f3a2b9c \"Prefers tabs, width 4\"\n  \
    vault memory remove e-7f3a2b9c --archive"
)]
pub(super) struct MemoryCommand {
    #[command(subcommand)]
    action: MemoryAction,
}

#[derive(Debug, Subcommand)]
enum MemoryAction {
    /// List entries.
    ///
    /// Exit code 1: there are none.
    List(entries::ListEntries),
    /// Add an entry. It counts at once; one that says it already stays alone.
    Add(entries::AddEntry),
    /// Change an entry in its line.
    Edit(entries::EditEntry),
    /// Take an entry away; what it took the place of counts again.
    Remove(entries::RemoveEntry),
    /// Read the conversations that wait, now.
    ///
    /// A chat model that `[memory]` names reads each conversation once it is quiet, and proposes entries, which wait until you accept them.
    /// Without one nothing is asked, and nothing is sent.
    Sync(processing::SyncMemory),
    /// Show what the chat model of the memory was asked: calls, outcomes, tokens, durations, and what was put aside.
    Processing(processing::ShowProcessing),
    /// Try again what was put aside.
    Retry(processing::RetryProcessing),
    /// Clear the derived layers: entries, proposals, archives, the profile, and summaries that you have not edited.
    ///
    /// Notes and conversations stay. `vault restore` with the names that are printed brings all of it back.
    Clear(processing::ClearMemory),
}

impl MemoryCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.action {
            MemoryAction::List(command) => command.run(vault),
            MemoryAction::Add(command) => command.run(vault),
            MemoryAction::Edit(command) => command.run(vault),
            MemoryAction::Remove(command) => command.run(vault),
            MemoryAction::Sync(command) => command.run(vault),
            MemoryAction::Processing(command) => command.run(vault),
            MemoryAction::Retry(command) => command.run(vault),
            MemoryAction::Clear(command) => command.run(vault),
        }
    }
}
