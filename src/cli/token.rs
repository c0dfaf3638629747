//! `vault token`

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;

use super::backend::home;
use super::exit::Outcome;
use super::terminal::{remark, say, stdout};
use crate::capture::CaptureTokens;
use crate::clock::local_time;

/// Give programs tokens with which they can send events, and read nothing.
#[derive(Debug, Args)]
pub(super) struct TokenCommand {
    #[command(subcommand)]
    action: TokenAction,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Make a token, and print it. It is shown this once.
    Add {
        /// The program that is to have it.
        #[arg(long, value_name = "NAME")]
        capture: String,
    },
    /// List the programs that have one.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a token back: it counts no more, from this moment.
    Remove {
        /// The program that has it.
        name: String,
    },
}

impl TokenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let tokens = CaptureTokens::new(&home(vault)?.state());
        match self.action {
            TokenAction::Add { capture } => {
                let token = tokens.add(&capture)?;
                remark!("With this token `{capture}` can send events, and read nothing. It is not shown again.");
                say!("{}", token.reveal())?;
            }
            TokenAction::List { json } => {
                let tokens = tokens.list()?;
                let outcome = if tokens.is_empty() { Outcome::NothingFound } else { Outcome::Done };
                if json {
                    let shown: Vec<_> = tokens
                        .iter()
                        .map(|token| json!({ "name": token.name, "sends": "events", "since": token.created_at.to_string() }))
                        .collect();
                    stdout().json(&json!({ "tokens": shown }))?;
                    return Ok(outcome);
                }
                if tokens.is_empty() {
                    remark!("vault: no program has a token; `vault token add --capture NAME` makes one");
                    return Ok(Outcome::NothingFound);
                }
                for token in tokens {
                    say!("{}  sends events  since {}", token.name, local_time(token.created_at))?;
                }
            }
            TokenAction::Remove { name } => {
                tokens.remove(&name)?;
                say!("`{name}` can send nothing any more")?;
            }
        }
        Ok(Outcome::Done)
    }
}
