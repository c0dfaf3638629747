//! `vault forgotten`

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{DIM, TITLE, count, remark, say, stdout};
use crate::api::endpoints;
use crate::clock::local;
use crate::wire::ForgottenView;

/// See what was forgotten for good and stays so, or let it come back.
///
/// `vault forget --purge` keeps digests of the words of what it removes, by a key of this vault alone, and never the text. What a program
/// or an agent brings later is held against them, and left out where it says the same.
#[derive(Debug, Args)]
pub(super) struct ForgottenCommand {
    #[command(subcommand)]
    action: ForgottenAction,
}

#[derive(Debug, Subcommand)]
enum ForgottenAction {
    /// List what was forgotten: when, and in which note, or in which folder where the note is gone; what was left out because of it; and
    /// what stands in notes again, which stays.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let something come back that was forgotten.
    Lift {
        /// Its number, as `vault forgotten list` has it.
        id: i64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

impl ForgottenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        match self.action {
            ForgottenAction::List { json } => {
                backend.catch_up(false)?;
                let found = backend.ask(&endpoints::forgotten::FORGOTTEN, &())?;
                let outcome = if found.forgotten.is_empty() { Outcome::NothingFound } else { Outcome::Done };
                match json {
                    true => stdout().json(&found)?,
                    false => show(&found)?,
                }
                Ok(outcome)
            }
            ForgottenAction::Lift { id, json } => {
                let lifted = backend.ask_of(&endpoints::forgotten::LIFT, &id.to_string(), &())?;
                match json {
                    true => stdout().json(&lifted)?,
                    false => say!("{id} may come back")?,
                }
                Ok(Outcome::Done)
            }
        }
    }
}

fn show(found: &ForgottenView) -> std::io::Result<()> {
    let mut out = stdout();
    if found.forgotten.is_empty() {
        remark!("vault: nothing was forgotten for good");
    }
    for tombstone in &found.forgotten {
        out.paint(TITLE, &tombstone.id.to_string())?;
        write!(out, "  {}  {}  ", local(&tombstone.at), tombstone.place)?;
        let parts = [(tombstone.texts, "text"), (tombstone.sentences, "sentence"), (tombstone.facts, "fact")];
        let parts: Vec<String> =
            parts.iter().filter(|(number, _)| *number > 0).map(|(number, of)| count(*number, of)).collect();
        out.paint(DIM, &parts.join(", "))?;
        writeln!(out)?;
    }
    if !found.left_out.is_empty() {
        writeln!(out, "\nLeft out since:")?;
    }
    for left in &found.left_out {
        let how = if left.whole { "all of it" } else { "a part" };
        writeln!(
            out,
            "{}  {}, for {}: {how}, as {} is forgotten",
            local(&left.at),
            left.by,
            left.into,
            left.tombstone
        )?;
    }
    if !found.back.is_empty() {
        writeln!(out, "\nIn notes again, where it stays:")?;
    }
    for back in &found.back {
        writeln!(out, "{}:{}  forgotten {}", back.path, back.line, back.tombstone)?;
    }
    Ok(())
}
