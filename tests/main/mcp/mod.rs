//! The Model Context Protocol, against the real binary: over standard input and output, and over HTTP.

mod agents;
mod answers;
mod hostile;
mod http;
mod stdio;
mod tools;

use crate::support::prelude::*;

const GARDEN: &str = "# Garden\n\nThe tomatoes need water on Mondays. #plants\n\n## Roses\n\nCut them in March.\n";

/// A vault with a few notes; one of them is private.
fn vault() -> Daemon {
    vault_below(&std::env::temp_dir())
}

fn vault_below(folder: &Path) -> Daemon {
    Daemon::below(folder, "[embed]\nmodel = \"none\"\n")
        .with("notes/garden.md", GARDEN)
        .with("notes/my cellar ü.md", "# Cellar\n\nThere are twelve jars of plums.\n")
        .with("facts.md", "# Facts\n\n- The gate code changed in May.\n")
        .with("notes/diary.md", "---\nprivate: true\n---\n# Diary\n\nThe tomatoes are a secret.\n")
}

/// `vault mcp` as the owner of a vault that a daemon may serve.
#[track_caller]
fn owner(vault: &Daemon) -> Mcp {
    Mcp::start(&mut vault.command(&["mcp", "--owner"]))
}
