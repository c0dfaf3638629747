//! `vault read-attachment`: the process in which a document is read. Other commands start it; see [`crate::attachments`].

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use super::exit::Outcome;
use super::terminal::stdout;
use crate::attachments::{ReaderJob, run};

/// Read a document from standard input and write what it says, a line of JSON for each part.
#[derive(Debug, Args)]
pub(super) struct ReadAttachmentCommand {
    /// pdf, docx, html; or `check`, which tries what such a process may not do.
    kind: String,
    /// With `check`, the folder in which it is tried.
    folder: Option<PathBuf>,
}

impl ReadAttachmentCommand {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let job = match (self.kind.as_str(), self.folder) {
            ("pdf", None) => ReaderJob::Pdf,
            ("docx", None) => ReaderJob::Docx,
            ("html", None) => ReaderJob::Html,
            ("check", Some(folder)) => ReaderJob::Check(folder),
            (kind, _) => bail!("there is no reader for `{kind}`"),
        };
        run(&job, std::io::stdin().lock(), stdout())?;
        Ok(Outcome::Done)
    }
}
