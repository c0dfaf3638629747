//! `vault man`

use std::path::PathBuf;

use clap::{Args, Command};

use super::outcome::Outcome;
use super::terminal::say;
use crate::fs::create_dir;

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
