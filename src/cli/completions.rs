//! `vault completions`

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use super::outcome::Outcome;
use super::terminal::stdout;

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
