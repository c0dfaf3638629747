//! What is left in the database of documents, collections and indexes that there are no more.

use std::path::Path;

use super::super::error::QmdError;
use super::QmdDocuments;

impl QmdDocuments {
    /// Drops what is left of indexes whose folder is gone. Tells how many documents.
    pub(super) fn drop_other_indexes(&self) -> Result<usize, QmdError> {
        let mut dropped = 0;
        for owner in &self.other_indexes()? {
            dropped += self.write(|transaction| {
                transaction.execute(
                    "DELETE FROM stamps WHERE document IN (SELECT id FROM documents WHERE owner = ?)",
                    [owner],
                )?;
                transaction.execute("DELETE FROM rules WHERE owner = ?", [owner])?;
                transaction.execute("DELETE FROM documents WHERE owner = ?", [owner])
            })?;
        }
        Ok(dropped)
    }

    /// The indexes that have documents here, and whose folder is gone.
    fn other_indexes(&self) -> Result<Vec<String>, QmdError> {
        let owners = self.listed("SELECT DISTINCT owner FROM documents WHERE owner <> ?")?;
        Ok(owners.into_iter().filter(|owner| !Path::new(owner).exists()).collect())
    }

    /// The collections that have documents here, and that there are no more.
    fn other_collections(&self) -> Result<Vec<String>, QmdError> {
        let listed = self.listed("SELECT DISTINCT collection FROM documents WHERE owner = ?")?;
        Ok(listed.into_iter().filter(|name| !self.names.contains_key(name)).collect())
    }

    /// A column of texts, of a question about this index.
    fn listed(&self, sql: &str) -> Result<Vec<String>, QmdError> {
        self.ask_whole(|connection| {
            let mut asked = connection.prepare(sql)?;
            asked.query_map([&self.owner], |row| row.get(0))?.collect()
        })
    }

    /// Drops the documents of collections that there are no more. Tells how many.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn drop_other_collections(&self) -> Result<usize, QmdError> {
        let others = self.other_collections()?;
        if others.is_empty() {
            return Ok(0);
        }
        self.write(|transaction| {
            let mut dropped = 0;
            for name in &others {
                transaction.execute(
                    "DELETE FROM stamps WHERE document IN
                     (SELECT id FROM documents WHERE owner = ? AND collection = ?)",
                    [&self.owner, name],
                )?;
                let sql = "DELETE FROM documents WHERE owner = ? AND collection = ?";
                dropped += transaction.execute(sql, [&self.owner, name])?;
            }
            Ok(dropped)
        })
    }

    /// Looks at every page; a database that is damaged anywhere is made anew.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn check(&self) -> Result<(), QmdError> {
        self.ask_whole(|connection| {
            let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            let corrupt = || rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            if said == "ok" { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(corrupt(), Some(said))) }
        })
    }
}
