//! Copies of a vault in other places: commits by git, what the daemon does of them by itself, and archives.

mod archive;
mod commits;
mod timer;
mod trouble;

use crate::support::prelude::*;

/// Runs git as a person would, and gives what it says.
#[track_caller]
fn git(folder: &Path, args: &[&str]) -> String {
    let output = command(folder, args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text.trim_end().to_owned()
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    for (name, value) in vault_command().get_envs() {
        value.map(|value| command.env(name, value));
    }
    command.arg("-C").arg(folder).args(["-c", "user.name=Maya", "-c", "user.email=maya@example.org"]).args(args);
    command
}

/// A vault that is a repository with one commit, by Maya.
fn repository() -> Daemon {
    let mut vault = Daemon::vault().with("notes/bread.md", "# Bread\n\nThe dough rests overnight.\n");
    vault.write("notes/river.md", "# River\n\nA walk by the water.\n");
    git(&vault.path(""), &["init", "--quiet", "--initial-branch=main"]);
    git(&vault.path(""), &["add", "memory.toml", "notes"]);
    git(&vault.path(""), &["commit", "--quiet", "-m", "first"]);
    vault
}

/// What every query finds in every mode: paths, lines, order and scores.
fn answers(vault: &TestVault) -> Vec<(String, String, u32, f64)> {
    let modes = [Mode::Keyword, Mode::Semantic, Mode::Hybrid];
    let asked = QUERIES.iter().flat_map(|query| modes.map(|mode| vault.search_by(mode, query)));
    let hits = asked.flat_map(|found| found.0.results);
    hits.map(|hit| (hit.chunk.path, hit.chunk.hash, hit.chunk.line_start, hit.score)).collect()
}

/// An empty folder for a vault that is yet to come.
fn empty() -> TempDir {
    tempfile::Builder::new().prefix("vault-").tempdir().unwrap()
}
