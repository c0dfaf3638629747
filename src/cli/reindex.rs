//! `vault reindex`

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::progress::Bar;
use super::terminal::{count, remark, say, stdout};
use crate::api::endpoints;
use crate::wire::{Model, ReindexParams};

/// Compare every note with the index and mend what differs, or build the index anew.
///
/// Safe while the daemon runs: it does the work, and answers meanwhile. With --full the index is built from nothing; notes
/// are found by keyword within seconds again, and by meaning as they are embedded.
#[derive(Debug, Args)]
pub(super) struct ReindexCommand {
    /// Build everything from nothing.
    #[arg(long)]
    full: bool,
    /// Do not wait until it is done.
    #[arg(long)]
    no_wait: bool,
    /// Print JSON: the status, as `vault status --json` has it.
    #[arg(long)]
    json: bool,
}

impl ReindexCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.ask(&endpoints::routes::REINDEX, &ReindexParams { full: self.full })?;
        if self.no_wait && backend.is_served() {
            if self.json {
                stdout().json(&backend.status()?)?;
            }
            return Ok(Outcome::Done);
        }
        let (files, embeddings) = (Bar::files(), Bar::embeddings());
        let status = loop {
            let status = backend.status()?;
            if let Some(failure) = &status.failure {
                bail!("{failure}");
            }
            let reading = !status.caught_up || status.pending_files > 0;
            if reading {
                files.show(status.files_done, status.pending_files);
            } else {
                files.finish();
                match &status.model.next {
                    Some(next) => embeddings.show(next.embedded, next.of.saturating_sub(next.embedded)),
                    None => embeddings.show(status.embedded, status.pending_embeddings),
                }
            }
            let Model { state, trouble, next, batch, .. } = &status.model;
            // Those may take a day, and go on by themselves.
            let rest_in_batches = batch.is_some() && status.phase == "idle";
            let is_done = match next {
                Some(next) => next.state == "failed" || next.trouble.is_some(),
                None if state == "loading" => false,
                None => state != "ready" || status.pending_embeddings == 0 || trouble.is_some() || rest_in_batches,
            };
            if !reading && is_done {
                break status;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        embeddings.finish();
        let waits = status.model.next.as_ref().and_then(|next| next.trouble.as_ref());
        if let Some(why) = waits.or(status.model.trouble.as_ref()) {
            remark!("vault: not all is embedded, and that is tried again: {why}");
        }
        if let Some(batch) = status.model.batch.as_ref().filter(|batch| batch.texts > 0) {
            remark!("vault: a batch of {} is under way, and fetched by the daemon", count(batch.texts, "text"));
        }
        if self.json {
            stdout().json(&status)?;
            return Ok(Outcome::Done);
        }
        say!("{}, {}, {} embedded", count(status.files, "note"), count(status.chunks, "passage"), status.embedded)?;
        Ok(Outcome::Done)
    }
}
