//! A vault as a whole: `vault init`, `backup` and `export`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::backend::home;
use super::terminal::{
    Bar, Outcome, answer, bytes, count, is_in_json, pipe, remark, say, shell_quoted, stderr, stdout,
};
use crate::base::config::FILE_NAME;
use crate::base::state::EventReader;
use crate::base::tasks::TaskSignal;
use crate::vault::backup::{self, BackupError, Repository, Trust, init_repository};
use crate::vault::disk::{self as vault, Home};

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
                Ok(true) => {
                    has_repository = true;
                    // What it has of hooks is from the person's own template.
                    drop(Trust::of(&home).give());
                }
                Ok(false) | Err(BackupError::NoGit) => {}
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

/// Commit the vault's changes to the git repository it is in.
///
/// vault uses your own git, with your name, hooks and .gitignore. It commits only files of the vault, never `.vault/` or `.trash/`;
/// what you have staged elsewhere in the repository stays staged. During a merge or a rebase, with a detached head or conflicts,
/// it says so and changes nothing; it leaves out notes with conflict markers. It never forces anything. With `[backup] every = "1h"`
/// in memory.toml the daemon does it, once you have done it by hand.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 backed up or nothing to do, 2 not done, or not in full.")]
pub(super) struct BackupCommand {
    /// Push the branch afterwards, to its upstream or the only remote.
    #[arg(long)]
    push: bool,
    /// The commit message; default: a summary of the changes.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
}

impl BackupCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        if self.message.as_ref().is_some_and(|message| message.trim().is_empty()) {
            bail!("`--message` is empty; without it, the message says what changed");
        }
        let home = home(vault)?;
        let repository = Repository::open(home.root(), None, &TaskSignal::default())?;
        // The daemon may do from now on what was done by hand.
        if let Err(error) = Trust::of(&home).give() {
            remark!("vault: cannot tell the daemon about this: {error}");
        }
        let mut report = repository.commit(self.message.as_deref())?;
        let pushed = if self.push { repository.push().map(Some) } else { Ok(None) };
        report.pushed = pushed.as_ref().ok().cloned().flatten();
        if is_in_json() {
            let failure = pushed.as_ref().err().map(ToString::to_string);
            let mut value = serde_json::to_value(&report)?;
            value["push_failure"] = json!(failure);
            stdout().json(&value);
        } else {
            match &report.commit {
                Some(commit) => say!("{}  {}", commit.id.get(..12).unwrap_or(&commit.id), commit.subject),
                None if report.held_back.is_empty() => say!("nothing has changed since the last commit"),
                None => say!("nothing else has changed since the last commit"),
            }
            if let Some(pushed) = &report.pushed {
                say!("pushed to {pushed}");
            }
        }
        for held in &report.held_back {
            remark!("vault: {} was left out: {}", held.path, held.reason);
        }
        pushed?;
        match report.held_back.len() {
            0 => Ok(Outcome::Done),
            held => bail!("{} left out of the backup", count(held, "path") + if held == 1 { " was" } else { " were" }),
        }
    }
}

/// Maximum time that what was captured a moment ago is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Write the whole vault into one file, to move or archive it.
///
/// The file is a tar archive compressed with Zstandard. It holds every file of the folder with times and permissions, including
/// `.trash/` and the git repository, but nothing of `.vault/`: no index, no token, no checkpoints. `vault import` turns it into a
/// vault again, and so does `tar --zstd -xf FILE -C DIR`. The file appears only when it is complete. It is not encrypted, and only
/// you can read it. Where it goes to standard output, --json prints to standard error.
#[derive(Debug, Args)]
pub(super) struct ExportCommand {
    /// The new file (FILE.tar.zst), outside the vault; `-` for standard output.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Add the program's own state, to continue elsewhere as here: checkpoints for `vault undo` (including what was forgotten
    /// without --purge), captured events not yet written to files, which events were captured or imported before, what stays forgotten
    /// (as hashes with their keys), how often each passage was given to whom, and the chat model's queue, history and cost.
    /// Tokens are never exported.
    #[arg(long)]
    with_state: bool,
    /// Leave out the git repository.
    #[arg(long)]
    no_git: bool,
}

impl ExportCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let options = backup::Export { state: self.with_state, git: !self.no_git };
        let to_stdout = self.file == Path::new("-");
        let waiting = waiting(&home);
        // Before the files are read: so an event that is written meanwhile may be in the archive twice, and is never missing.
        let state = if self.with_state { home.state().export()? } else { Vec::new() };
        let made = state.into_iter().map(|(name, bytes)| (Path::new(".vault/state").join(name), bytes));
        let made: Vec<backup::Made> = made.collect();
        let waiting = if self.with_state { 0 } else { waiting };
        let bar = Bar::bytes("exporting");
        let mut show = |done: u64, all: u64| bar.show(done as usize, all.saturating_sub(done) as usize);
        let exported = if to_stdout {
            let Some(pipe) = pipe() else {
                bail!("standard output is a terminal; name a file, or use a pipe");
            };
            backup::export_to(home.root(), options, &made, pipe, &mut show)
        } else {
            backup::export(home.root(), options, &made, &self.file, &mut show)
        };
        bar.finish();
        let exported = exported?;
        match (is_in_json(), to_stdout) {
            (true, false) => stdout().json(&exported),
            (true, true) => stderr().json(&exported),
            (false, true) => {}
            (false, false) => {
                let files = count(exported.files as usize, "file");
                say!("{files}, {}, in {}", bytes(exported.bytes), self.file.display());
            }
        }
        if waiting > 0 {
            let events = count(waiting as usize, "captured event");
            remark!("vault: left out: {events} that `vault serve` has not written to files; `vault status` says why");
        }
        for left_out in &exported.left_out {
            remark!("vault: left out: {left_out}");
        }
        Ok(Outcome::Done)
    }
}

/// How many captured events are in no file, after a moment for a daemon to write them.
fn waiting(home: &Home) -> u64 {
    let (state, until) = (home.state(), Instant::now() + PATIENCE);
    loop {
        let waiting = EventReader::new(&state).count().unwrap_or(0);
        if waiting == 0 || Instant::now() > until {
            return waiting;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
