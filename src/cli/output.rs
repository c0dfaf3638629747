//! What is said for people, in words.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::terminal::{remark, say};
use crate::request::{ErrorKind, RequestError};

/// Maximum number of entries that went to the archive and are named; more are counted.
const FEW_ARCHIVED: usize = 3;

/// A number of bytes for people.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// The end of `vault search … | head` is no failure.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    // Only writing to standard output fails with a bare error; what the daemon's socket says comes with its context.
    error.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What happened and why, and what to do next.
pub(super) fn explain(error: &anyhow::Error) -> String {
    let said = chain(error);
    match error.downcast_ref::<RequestError>().and_then(|error| error.hint.as_ref()) {
        Some(hint) => format!("{said}. {hint}"),
        None => said,
    }
}

/// The same for programs, in the shape that HTTP has.
pub(super) fn error_as_json(error: &anyhow::Error) -> Value {
    let request = error.downcast_ref::<RequestError>();
    let code = request.map_or(ErrorKind::Internal, |error| error.kind).code();
    let mut detail = json!({ "code": code, "message": chain(error) });
    if let Some(hint) = request.and_then(|error| error.hint.as_ref()) {
        detail["hint"] = hint.as_str().into();
    }
    json!({ "error": detail })
}

/// What happened and why, each said once: some of our errors name their cause themselves.
fn chain(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.contains(&cause) => said,
        cause if said.is_empty() => cause,
        cause => format!("{said}: {cause}"),
    })
}

/// A path as a shell takes it.
pub(super) fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |character: char| character.is_alphanumeric() || "/._-+,:@%=".contains(character);
    if !path.is_empty() && path.chars().all(plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// A number of things for people: `1 note`, `2 notes`.
pub(super) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Says which entries went to the archive because there were too many: of many only how many.
pub(super) fn say_archived(ids: &[String]) -> io::Result<()> {
    let which = match ids {
        [] => return Ok(()),
        few if few.len() <= FEW_ARCHIVED => few.join(", "),
        many => format!("{} entries", many.len()),
    };
    say!("    {which} went to the archive: there are more than `max_entries`")
}

/// Says what undoes an act, as one command: half of it undone would be a state that nobody asked for. The last change is undone first, and
/// is named first.
pub(super) fn say_undo(checkpoints: &[String]) -> io::Result<()> {
    if checkpoints.is_empty() { Ok(()) } else { say!("    undo: vault restore {}", checkpoints.join(" ")) }
}

/// Says what undoes an act of which scripts read the answer.
pub(super) fn remark_undo(checkpoint: Option<&str>) {
    if let Some(checkpoint) = checkpoint {
        remark!("to undo: vault restore {checkpoint}");
    }
}

/// Says so when what was written cannot be found yet.
pub(super) fn remark_behind(searchable: bool) {
    if !searchable {
        remark!("vault: it is written, and the index does not have it yet; `vault status` says why");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_can_be_pasted_into_a_shell() {
        for (path, quoted) in
            [("/home/me/vault", "/home/me/vault"), ("my vault", "'my vault'"), ("it's", r"'it'\''s'"), ("~x", "'~x'")]
        {
            assert_eq!(shell_quoted(Path::new(path)), quoted);
        }
    }

    #[test]
    fn bytes_are_told_in_a_unit_that_fits() {
        assert_eq!((bytes(999), bytes(25_279_584)), ("999 B".into(), "25.3 MB".into()));
    }
}
