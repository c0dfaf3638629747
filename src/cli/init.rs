//! `vault init`

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::terminal::{Outcome, answer, remark, shell_quoted};
use crate::base::config::FILE_NAME;
use crate::vault::backup::{BackupError, Initialized, Trust, init_repository};
use crate::vault::disk as vault;

/// Make a new vault, or turn an existing folder into one.
///
/// A new vault starts with a few notes that teach by example. --adopt turns a folder of Markdown or an Obsidian vault into a
/// vault as it is: it adds memory.toml and .vault/, and touches nothing else. A new vault is also a git repository with a
/// first commit, so that `vault backup` works from the start. This step is skipped when git is not installed or the folder
/// already lies inside a repository.
#[derive(Debug, Args)]
pub(super) struct InitCommand {
    /// The vault's folder.
    dir: PathBuf,
    /// Turn an existing folder into a vault.
    #[arg(long)]
    adopt: bool,
    /// Do not make a git repository.
    #[arg(long)]
    no_git: bool,
}

/// Makes a vault of a folder, as it is.
///
/// # Errors
/// When it is none that can be one.
pub(super) fn adopt(dir: &Path) -> anyhow::Result<Outcome> {
    InitCommand { dir: dir.to_owned(), adopt: true, no_git: true }.run(None)
}

/// The vault in which a folder is, or would be.
fn vault_around(dir: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(dir).ok()?;
    // What is there of the path, without links.
    let there = dir.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok())?;
    there.ancestors().find(|folder| folder.join(FILE_NAME).is_file()).map(Path::to_owned)
}

impl InitCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        let around = vault_around(&self.dir);
        let home = if self.adopt { vault::adopt(&self.dir)? } else { vault::init(&self.dir)? };
        let mut has_repository = false;
        if !self.adopt && !self.no_git {
            match init_repository(home.root()) {
                Ok(Initialized::Made) => {
                    has_repository = true;
                    // What it has of hooks is from the person's own template.
                    drop(Trust::of(&home).give());
                }
                Ok(Initialized::Inside(_)) | Err(BackupError::NoGit) => {}
                // The vault is whole without.
                Err(error) => remark!("vault: the new vault is not backed up by git yet: {error}"),
            }
        }
        if let Some(around) = around {
            let around = around.display();
            remark!("vault: this folder lies inside the vault {around}: both vaults will index and change these notes");
        }
        let root = home.root().display();
        let made = json!({ "vault": root.to_string(), "adopted": self.adopt, "made_repository": has_repository });
        answer(&made, true, |out| {
            let quoted = shell_quoted(home.root());
            writeln!(out, "{root} is a vault now. Keep it searchable with\n\n    vault serve --vault {quoted}");
            if self.adopt {
                writeln!(
                    out,
                    "\nvault writes nothing into it on its own. To keep a history of facts and a memory for your agents, set\n\
                     `history` below [facts] and `enabled` below [memory] to true in memory.toml."
                );
            }
        })
    }
}
