//! Files of facts that this machine has seen: where one of them is not there any more, its facts were taken away.

use std::sync::Arc;

use rusqlite::params;

use super::store::{Durability, Handle, State, StateError};

/// The paths of those files.
#[derive(Debug)]
pub struct SeenTable(Handle);

impl SeenTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(Handle::new(state, Durability::Later))
    }

    /// Whether a file was seen.
    ///
    /// # Errors
    /// When the state cannot be read or written; so all that follow.
    pub fn has(&self, path: &str) -> Result<bool, StateError> {
        Ok(self.0.row("SELECT 1 FROM facts_seen WHERE path = ?1", params![path], |_| Ok(()))?.is_some())
    }

    /// The files that were seen.
    ///
    /// # Errors
    /// As above.
    pub fn all(&self) -> Result<Vec<String>, StateError> {
        self.0.rows("SELECT path FROM facts_seen ORDER BY path", &[], |row| row.get(0))
    }

    /// Keeps that a file was seen.
    ///
    /// # Errors
    /// As above.
    pub fn add(&self, path: &str) -> Result<(), StateError> {
        self.0.execute("INSERT OR IGNORE INTO facts_seen(path) VALUES (?1)", params![path])
    }

    /// Forgets that a file was seen.
    ///
    /// # Errors
    /// As above.
    pub fn remove(&self, path: &str) -> Result<(), StateError> {
        self.0.if_there(|opened| opened.connection.execute("DELETE FROM facts_seen WHERE path = ?1", [path]))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_known_to_every_process_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let tables = [(); 2].map(|()| SeenTable::new(&State::in_folder(folder.path())));
        assert!(!tables[0].has("facts.md").unwrap() && std::fs::read_dir(folder.path()).unwrap().next().is_none());
        tables[0].add("facts.md").unwrap();
        tables[0].add("facts.md").unwrap();
        assert_eq!(tables[1].all().unwrap(), ["facts.md"]);
        assert!(tables[1].has("facts.md").unwrap() && !tables[1].has("x/facts.md").unwrap());
        tables[1].remove("facts.md").unwrap();
        assert!(!tables[0].has("facts.md").unwrap());
    }
}
