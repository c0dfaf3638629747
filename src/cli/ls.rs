//! `vault ls`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{DIM, TITLE, count, remark, stdout};
use crate::api::endpoints;
use crate::clock::local_day;
use crate::wire::{AttachmentState, NotesParams};

/// List notes with their titles, the newest first.
#[derive(Debug, Args)]
pub(super) struct LsCommand {
    /// Only this collection, or this folder and those below it.
    folder: Option<String>,
    /// Only notes with this tag, or one below it.
    #[arg(long)]
    tag: Option<String>,
    /// Only notes updated then or later: 2026-01-05, yesterday, or 7d for the last seven days.
    #[arg(long)]
    since: Option<String>,
    /// List the files beside the notes instead, PDF, Word documents, web pages and pictures, with why one is not searched.
    #[arg(long, conflicts_with_all = ["tag", "since", "limit"])]
    attachments: bool,
    /// Notes at most; 50 unless told.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl LsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let folder = self.folder.map(|folder| folder.trim_start_matches("./").to_owned());
        if self.attachments {
            return attachments(&mut backend, folder.as_deref(), self.json);
        }
        let is_narrow = self.tag.is_some() || self.since.is_some();
        let (tag, since) = (self.tag, self.since);
        let found = backend
            .ask(&endpoints::links::NOTES_IN, &NotesParams { folder, tag, since, limit: self.limit, offset: None })?;
        let outcome = if found.notes.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for note in &found.notes {
            out.paint(DIM, &local_day(&note.updated_at))?;
            write!(out, "  ")?;
            out.paint(TITLE, &note.path)?;
            write!(out, "  ")?;
            writeln!(out, "{}", note.title)?;
        }
        match found.total - found.notes.len().min(found.total) {
            _ if found.notes.is_empty() => {
                remark!(
                    "vault: {}",
                    found.degraded.as_deref().unwrap_or(if is_narrow {
                        "no note is so"
                    } else {
                        "there are no notes yet"
                    })
                );
            }
            0 => {}
            more => remark!("vault: {more} older; --limit shows more"),
        }
        Ok(outcome)
    }
}

fn attachments(backend: &mut Backend, folder: Option<&str>, json: bool) -> anyhow::Result<Outcome> {
    let mut found = backend.ask(&endpoints::attachments::ATTACHMENTS, &())?;
    if let Some(folder) = folder.map(|folder| folder.trim_matches('/')) {
        let is_in = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        found.attachments.retain(|attachment| is_in(&attachment.path));
    }
    let outcome = if found.attachments.is_empty() { Outcome::NothingFound } else { Outcome::Done };
    if json {
        stdout().json(&found)?;
        return Ok(outcome);
    }
    let mut out = stdout();
    for attachment in &found.attachments {
        out.paint(DIM, &local_day(&attachment.updated_at))?;
        write!(out, "  ")?;
        out.paint(TITLE, &attachment.path)?;
        match attachment.state {
            AttachmentState::Searched => write!(out, "  {}", count(attachment.passages, "passage"))?,
            AttachmentState::Waiting => write!(out, "  waits to be read")?,
            AttachmentState::NotRead => write!(out, "  not read")?,
        }
        match attachment.reasons.is_empty() {
            true => writeln!(out)?,
            false => writeln!(out, ": {}", attachment.reasons.join("; "))?,
        }
    }
    if found.attachments.is_empty() {
        remark!("vault: there are no attachments");
    } else if !found.searched {
        remark!("vault: `[index] attachments = true` in memory.toml has their text searched");
    }
    Ok(outcome)
}
