//! `vault completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::terminal::stdout;
use super::{Cli, Outcome};

/// Print completions for a shell.
///
/// For bash: vault completions bash > ~/.local/share/bash-completion/completions/vault
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        clap_complete::generate(self.shell, &mut Cli::command(), "vault", &mut stdout());
        Ok(Outcome::Done)
    }
}
