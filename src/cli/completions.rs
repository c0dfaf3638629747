//! `vault completions`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::exit::Outcome;
use super::terminal::{say, stdout};
use crate::fs::create_dir;

/// Print completions for a shell.
///
/// For bash: vault completions bash > ~/.local/share/bash-completion/completions/vault
#[derive(Debug, Args)]
pub(super) struct CompletionsCommand {
    /// The shell.
    shell: Shell,
}

impl CompletionsCommand {
    pub(super) fn run(self, program: &mut Command) -> anyhow::Result<Outcome> {
        // It panics where what it writes to is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, program, "vault", &mut script);
        stdout().write_all(&script)?;
        Ok(Outcome::Done)
    }
}

/// Write the manual pages of all commands into a folder, for `man`.
#[derive(Debug, Args)]
pub(super) struct ManCommand {
    /// The folder; it is made where it is not there.
    folder: PathBuf,
}

impl ManCommand {
    pub(super) fn run(self, program: Command) -> anyhow::Result<Outcome> {
        create_dir(&self.folder)?;
        clap_mangen::generate_to(program, &self.folder)?;
        say!("{}", self.folder.display())?;
        Ok(Outcome::Done)
    }
}
