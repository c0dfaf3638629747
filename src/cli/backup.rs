//! `vault backup`

use std::path::Path;

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::backend::home;
use super::exit::Outcome;
use super::terminal::{count, remark, say, stdout};
use crate::backup::{Cancel, Repository, Trust};

/// Commit what has changed in the vault to the git repository it is in.
///
/// Your own git does it, with your name, hooks and .gitignore. Only files of the vault are committed: what you have staged
/// elsewhere in the repository stays staged. `.vault/` and `.trash/` never are. In the middle of a merge or a rebase, with a
/// detached head or conflicts, it says so and changes nothing; a note with conflict markers is left out. Nothing is ever
/// forced. `[backup] every = "1h"` in memory.toml has the daemon do it; once you have done it by hand.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 backed up or nothing to do, 2 not done, or not in full.")]
pub(super) struct BackupCommand {
    /// Push the branch afterwards, to its upstream or the only remote.
    #[arg(long)]
    push: bool,
    /// The commit's message, instead of one that says what changed.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl BackupCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        if self.message.as_ref().is_some_and(|message| message.trim().is_empty()) {
            bail!("`--message` is empty; leave it out for a message that says what changed");
        }
        let home = home(vault)?;
        let repository = Repository::open(home.root(), &Cancel::default())?;
        // The daemon may do from now on what was done by hand.
        if let Err(error) = Trust::of(&home).give() {
            remark!("vault: the daemon will not know of this: {error}");
        }
        let mut report = repository.commit(self.message.as_deref())?;
        let pushed = if self.push { repository.push().map(Some) } else { Ok(None) };
        report.pushed = pushed.as_ref().ok().cloned().flatten();
        if self.json {
            let failure = pushed.as_ref().err().map(ToString::to_string);
            let mut value = serde_json::to_value(&report)?;
            value["push_failure"] = json!(failure);
            stdout().json(&value)?;
        } else {
            match &report.commit {
                Some(commit) => say!("{}  {}", commit.id.get(..12).unwrap_or(&commit.id), commit.subject)?,
                None if report.held_back.is_empty() => say!("nothing has changed since the last commit")?,
                None => say!("nothing else has changed since the last commit")?,
            }
            if let Some(pushed) = &report.pushed {
                say!("pushed to {pushed}")?;
            }
        }
        for held in &report.held_back {
            remark!("vault: {} was left out: {}", held.path, held.reason);
        }
        pushed?;
        match report.held_back.len() {
            0 => Ok(Outcome::Done),
            held => bail!(
                "{} left out of the backup",
                if held == 1 { "1 path was".into() } else { count(held, "path") + " were" }
            ),
        }
    }
}
