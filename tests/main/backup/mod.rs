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
    vault.git(&["init", "--quiet", "--initial-branch=main"]);
    vault.git(&["add", "memory.toml", "notes"]);
    vault.git(&["commit", "--quiet", "-m", "first"]);
    vault
}

/// A repository with a commit in a folder of the vault.
fn inner(vault: &mut Daemon, folder: &str) {
    vault.write(&format!("{folder}/a.md"), "# A\n");
    let folder = vault.path(folder);
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "-m", "inner"]);
}

/// A program that git runs.
fn hook(vault: &mut Daemon, path: &str, script: &str) {
    vault.write(path, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(vault.path(path), fs::Permissions::from_mode(0o755)).unwrap();
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
