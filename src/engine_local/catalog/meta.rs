//! The catalog's row about itself.

use rusqlite::{Connection, params};

use super::checksum::Checksum;
use super::error::CatalogError;

/// Before the place in a catalog that has not all notes yet.
const BEGUN: &str = "begun at ";

/// What a catalog says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meta {
    /// Tells it from every other catalog.
    pub store: String,
    /// The machine and the vault that it was made for.
    pub place: String,
    /// Whether every note has been compared with it since it was made: until then it lacks some.
    pub is_settled: bool,
    /// The number of the last batch.
    pub seq: u64,
    pub next_file: u32,
    pub next_chunk: u64,
}

impl Meta {
    /// Of a catalog without files.
    pub(super) fn new(place: &str) -> Self {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let store = blake3::hash(&now.to_le_bytes()).to_hex()[..16].to_owned();
        Self { store, place: place.to_owned(), is_settled: false, seq: 0, next_file: 1, next_chunk: 1 }
    }

    pub(super) fn read(connection: &Connection) -> Result<Self, CatalogError> {
        let select = "SELECT store, place, seq, next_file, next_chunk, checksum FROM meta WHERE id = 1";
        let (meta, checksum) = connection.query_row(select, [], |row| {
            let (seq, next_chunk): (i64, i64) = (row.get(2)?, row.get(4)?);
            let (store, noted, next_file): (_, String, _) = (row.get(0)?, row.get(1)?, row.get(3)?);
            let begun = noted.strip_prefix(BEGUN);
            let (place, is_settled) = (begun.unwrap_or(&noted).to_owned(), begun.is_none());
            let meta = Self { store, place, is_settled, seq: seq as u64, next_file, next_chunk: next_chunk as u64 };
            Ok((meta, row.get::<_, i32>(5)?))
        })?;
        if meta.checksum() != checksum {
            return Err(CatalogError::Damaged("what it says of itself fails its checksum".into()));
        }
        Ok(meta)
    }

    pub(super) fn write(&self, connection: &Connection) -> Result<(), CatalogError> {
        let Self { store, seq, next_file, next_chunk, .. } = self;
        connection
            .prepare_cached("INSERT OR REPLACE INTO meta VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![store, self.noted_place(), *seq as i64, next_file, *next_chunk as i64, self.checksum()])?;
        Ok(())
    }

    fn noted_place(&self) -> String {
        format!("{}{}", if self.is_settled { "" } else { BEGUN }, self.place)
    }

    fn checksum(&self) -> i32 {
        let mut sum = Checksum::default();
        sum.text(&self.store).text(&self.noted_place()).number(self.seq as i64).number(self.next_file);
        sum.number(self.next_chunk as i64).short()
    }
}
