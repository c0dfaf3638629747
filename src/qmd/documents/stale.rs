//! What is left in the database of documents, collections and indexes that there are no more.

use std::path::Path;

use rusqlite::params;

use super::super::error::QmdError;
use super::QmdDocuments;
use crate::path::VaultPath;

impl QmdDocuments {
    /// How many documents a clean-up would take away: those that are gone, or private now, and those of collections and indexes that there
    /// are no more. Nothing is changed, nor is a row that says nothing mended.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn count_stale(&mut self) -> Result<u64, QmdError> {
        self.look_at_rules()?;
        self.is_healing.set(true);
        let counted = self.counted();
        self.is_healing.set(false);
        counted
    }

    fn counted(&self) -> Result<u64, QmdError> {
        let is_current = self.is_current()?;
        let mut stale = 0_u64;
        for (name, in_vault) in &self.names {
            let Ok(start) = VaultPath::new(in_vault.as_str()) else { continue };
            stale += self.differences(name, &start, is_current)?.gone.len() as u64;
        }
        let of = |owner: &str, collection: Option<&str>| {
            let sql = "SELECT COUNT(*) FROM documents WHERE owner = ?1 AND (?2 IS NULL OR collection = ?2)";
            self.ask_whole(|connection| {
                connection.query_row(sql, params![owner, collection], |row| row.get::<_, i64>(0))
            })
        };
        for name in self.other_collections()? {
            stale += of(&self.owner, Some(&name))?.unsigned_abs();
        }
        for owner in self.other_indexes()? {
            stale += of(&owner, None)?.unsigned_abs();
        }
        Ok(stale)
    }

    /// Takes those away that [`count_stale`](Self::count_stale) counts, and brings the others up to date. Tells how many it has taken.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn clean_up(&mut self) -> Result<usize, QmdError> {
        let others = self.drop_other_collections()? + self.drop_other_indexes()?;
        Ok(others + self.refresh()?.values().map(|changes| changes.removed).sum::<usize>())
    }

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

    /// Gives back the room of what was dropped.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn shrink(&self) -> Result<(), QmdError> {
        self.ask_whole(|connection| connection.execute_batch("VACUUM"))
    }
}
