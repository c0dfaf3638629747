//! What git keeps of a note, by the word of the person's own git. Changes nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::path::VaultPath;

/// How many commits, of whatever branch, have changed a note. `None` where there is no git or no repository.
pub fn commits_of(root: &Path, path: &VaultPath) -> Option<usize> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        // Neither does a repository's own configuration run programs here, nor is a name a pattern.
        .args(["-c", "core.fsmonitor=false", "--literal-pathspecs", "--no-optional-locks"])
        .args(["rev-list", "--all", "--count", "--", path.as_str()])
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    std::str::from_utf8(&output.stdout).ok()?.trim().parse().ok()
}
