//! The reference pages of `docs/`, written out of the code. `UPDATE_DOCS=1 cargo test --test main docs::` writes them anew.

mod api;
mod commands;
mod configuration;
mod pages;
mod readme;

use crate::support::prelude::*;

/// Holds a page against what the code makes of it, or writes it.
#[track_caller]
fn hold(page: &str, rendered: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, rendered).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let first = written.lines().zip(rendered.lines()).position(|(old, new)| old != new);
    let line = first.map_or("its end".into(), |at| format!("line {}", at + 1));
    assert!(
        written == rendered,
        "docs/{page} is not of this code, from {line} on; UPDATE_DOCS=1 cargo test --test main docs::"
    );
}

/// A text as Markdown that shows it as it is, but for what is in backticks.
fn plain(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('*', "\\*").replace('<', "\\<"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
