//! `vault verify`

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{count, say, stdout};
use crate::api::endpoints;

/// Compare everything in the index with its checksums, and mend what is damaged.
///
/// The notes themselves are not judged: they are the truth. The daemon does this by itself after it was not stopped in order, and where a
/// search meets damage, so this command is for when you doubt your disk. It exits with 1 when something was damaged.
#[derive(Debug, Args)]
pub(super) struct VerifyCommand {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl VerifyCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(false)?;
        // What opening the index has found and mended, this command has found.
        let opened = if !backend.is_served() { backend.status()?.rebuilt } else { None };
        let mut verification = backend.ask(&endpoints::routes::VERIFY, &())?;
        verification.damage.splice(0..0, opened);
        if self.json {
            stdout().json(&verification)?;
        } else if verification.damage.is_empty() {
            let (notes, passages) = (count(verification.files, "note"), count(verification.chunks, "passage"));
            let embeddings = count(verification.embeddings, "embedding");
            say!("all whole: {notes}, {passages} and {embeddings}, checked in {} ms", verification.took_ms)?;
        } else {
            verification.damage.iter().try_for_each(|damage| say!("damaged: {damage}"))?;
        }
        if verification.damage.is_empty() {
            return Ok(Outcome::Done);
        }
        loop {
            let status = backend.status()?;
            if let Some(failure) = status.failure {
                bail!("{failure}");
            }
            if status.caught_up && status.pending_files == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        if !self.json {
            say!("mended")?;
        }
        Ok(Outcome::Damaged)
    }
}
