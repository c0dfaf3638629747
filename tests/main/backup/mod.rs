//! Copies of a vault in other places: commits by git, what the daemon does of them by itself, and archives.

mod archive;
mod commits;
mod timer;
mod trouble;

use crate::support::prelude::*;

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
