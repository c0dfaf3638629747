//! A name for the machine, to tell that an index came from another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::access::Token;
use crate::fs::{create_private_dir, write_atomically};

/// What the system calls this machine; where it does not say, a name made once and kept in the user's state folder.
pub(super) fn id(system: &Path, state: Option<PathBuf>) -> String {
    let read = |path: &Path| fs::read_to_string(path).ok().filter(|id| !id.trim().is_empty());
    if let Some(id) = read(system) {
        return id;
    }
    let Some(state) = state else { return String::new() };
    let path = state.join("machine-id");
    read(&path).unwrap_or_else(|| {
        let id = Token::random().map(|token| token.reveal().to_owned()).unwrap_or_default();
        // Where it cannot be kept, the next start compares every note again, and no more.
        let _ = create_private_dir(&state).and_then(|()| write_atomically(&path, id.as_bytes(), 0o600));
        id
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_name_is_given_one_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (system, state) = (folder.path().join("etc"), folder.path().join("state"));
        let named = || id(&system, Some(state.clone()));
        let first = named();
        assert!(first.len() >= 32 && named() == first, "{first}");
        fs::write(&system, "the system's name\n").unwrap();
        assert_eq!(named(), "the system's name\n");
    }
}
