//! What is printed of the program itself, and what other programs call: `vault config`, `completions`, `man` and `read-attachment`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use clap_complete::Shell;

use super::command;
use super::terminal::{Outcome, say, stdout};
use crate::base::config::REFERENCE;
use crate::base::fs::create_dir;
use crate::base::path::AttachmentKind;
use crate::vault::attachments::{ReaderJob, run};

/// Print every key of memory.toml, with its default, its meaning and its range.
///
/// A new vault's memory.toml has the ten keys that people set most. Copy others from here, each below its section.
#[derive(Debug, Args)]
pub(super) struct ConfigCommand {}

impl ConfigCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        stdout().write_all(REFERENCE.as_bytes())?;
        Ok(Outcome::Done)
    }
}

/// Print a completion script for a shell.
///
/// For bash: vault completions bash > ~/.local/share/bash-completion/completions/vault
#[derive(Debug, Args)]
pub(super) struct CompletionsCommand {
    /// The shell.
    shell: Shell,
}

impl CompletionsCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        // It panics where what it writes to is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "vault", &mut script);
        stdout().write_all(&script)?;
        Ok(Outcome::Done)
    }
}

/// Write the manual pages of all commands to a folder, for `man`.
#[derive(Debug, Args)]
pub(super) struct ManCommand {
    /// The folder; created if missing.
    folder: PathBuf,
}

impl ManCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        create_dir(&self.folder)?;
        clap_mangen::generate_to(command(), &self.folder)?;
        say!("{}", self.folder.display());
        Ok(Outcome::Done)
    }
}

/// Read a document from standard input and write what it says, a line of JSON for each part.
#[derive(Debug, Args)]
pub(super) struct ReadAttachmentCommand {
    /// pdf, docx, html; or `check`, which tries what such a process may not do.
    kind: String,
    /// With `check`, the folder in which it is tried.
    folder: Option<PathBuf>,
}

impl ReadAttachmentCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        let job = match (self.kind.as_str(), self.folder) {
            ("pdf", None) => ReaderJob::Read(AttachmentKind::Pdf),
            ("docx", None) => ReaderJob::Read(AttachmentKind::Docx),
            ("html", None) => ReaderJob::Read(AttachmentKind::Html),
            ("check", Some(folder)) => ReaderJob::Check(folder),
            (kind, _) => bail!("there is no reader for `{kind}`"),
        };
        run(&job, std::io::stdin().lock(), stdout())?;
        Ok(Outcome::Done)
    }
}
