//! `vault import`

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::backend::home;
use super::outcome::Outcome;
use super::output::{bytes, count, shell_quoted};
use super::progress::Bar;
use super::terminal::{remark, say, stdout};
use crate::backup;

/// Make a vault of a file that `vault export` wrote.
///
/// It is unpacked beside DIR, checked whole, and then put there in one step: an archive that was cut short or changed leaves
/// nothing. Paths and links that lead out of the folder are refused. Of a git repository its hooks stay behind, and so do the
/// settings by which git might run a program: each is named, and `tar --zstd -xf FILE` has them. --no-git leaves all of it out.
///
/// What was forgotten for good (`vault forget --purge`) is left out: by what the archive brings of that (`vault export --with-state`), and
/// by the vault that --vault names or you are in. How much is said, and `vault forgotten list` shows it; what you `lift` there first comes
/// along.
#[derive(Debug, Args)]
pub(super) struct ImportCommand {
    /// What `vault export` wrote; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new vault's folder: empty, or not there yet.
    dir: PathBuf,
    /// Leave the git repository out.
    #[arg(long)]
    no_git: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ImportCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        // It may be that very vault which is lost.
        let known = home(vault).ok();
        if let (Some(vault), None) = (vault, &known) {
            remark!("vault: {} is no vault, so what was forgotten there is not known", vault.display());
        }
        let options = backup::Import { git: !self.no_git, state: known.map(|home| home.state()) };
        let bar = Bar::bytes("importing");
        let imported = if self.file == Path::new("-") {
            let mut show = |done: u64| bar.show(done as usize, 0);
            backup::import(std::io::stdin().lock(), &self.dir, options, &mut show)
        } else {
            let name = self.file.display();
            let file = File::open(&self.file).with_context(|| format!("cannot open {name}"))?;
            let all = file.metadata().with_context(|| format!("cannot look at {name}"))?.len();
            let mut show = |done: u64| bar.show(done as usize, all.saturating_sub(done) as usize);
            backup::import(file, &self.dir, options, &mut show)
        };
        bar.finish();
        let imported = imported?;
        if self.json {
            stdout().json(&imported)?;
        } else {
            let (files, root) = (count(imported.files as usize, "file"), imported.vault.display());
            say!("{root} is a vault now: {files}, {}. Keep it searchable with\n", bytes(imported.bytes))?;
            say!("    vault serve --vault {}", shell_quoted(&imported.vault))?;
        }
        if imported.forgotten > 0 {
            let vault = shell_quoted(&imported.vault);
            let (of, list) = (count(imported.forgotten, "file"), format!("vault forgotten list --vault {vault}"));
            remark!("vault: left out of {of}: what was forgotten for good; `{list}` shows when and where");
            if imported.vault.join(".git").exists() {
                remark!("vault: the repository that came along may have it still; --no-git leaves that out");
            }
        }
        for left_out in &imported.left_out {
            remark!("vault: left out: {left_out}");
        }
        Ok(Outcome::Done)
    }
}
