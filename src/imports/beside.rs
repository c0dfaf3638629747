//! What lies beside the sessions of a program, and is none.

/// Why it is left out.
pub(super) const BESIDE: &str =
    "copies of sessions, and sessions that were put away (.checkpoint., .trajectory.jsonl, .deleted., .reset.)";

/// Whether a file is a copy that OpenClaw lays beside a session, or a session that it has put away, by its name: with or without folders.
pub(crate) fn is_beside_session(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.ends_with(".trajectory.jsonl")
        || [".checkpoint.", ".deleted.", ".reset."].iter().any(|mark| name.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::is_beside_session;

    #[test]
    fn a_copy_is_told_by_its_name_and_not_by_its_folder() {
        for name in [
            "s.trajectory.jsonl",
            "a/b/s.checkpoint.7.jsonl",
            "s.jsonl.reset.2026-01-05T10-00-00.000Z",
            "s.jsonl.deleted.2026-01-05T10-00-00.000Z",
        ] {
            assert!(is_beside_session(name), "{name}");
        }
        for name in ["s.jsonl", "my.reset.folder/s.jsonl", "checkpoint.jsonl", "trajectory.jsonl", ""] {
            assert!(!is_beside_session(name), "{name}");
        }
    }
}
