//! The embeddings in the catalog: rows that are named by their text, and each proven by a checksum of its own.

use std::collections::HashMap;

use half::f16;
use rusqlite::{Connection, OptionalExtension, params};

use super::reader::CatalogReader;
use super::schema::Checksum;
use super::writer::Catalog;
use crate::base::fs::crash;
use crate::index::engine::{ContentHash, EngineError, pack, packed_bytes, unpack};
use crate::index::local::vectors::Row;
use crate::models::{EmbeddedText, PackedTokens};

pub(super) fn vector_checksum(model: i64, content: &[u8], bytes: &[u8]) -> i64 {
    Checksum::default().number(model).bytes(content).bytes(bytes).long()
}

/// The part of what is stored that is the vector.
fn vector_of(bytes: &[u8], dimension: usize) -> Option<&[u8]> {
    bytes.get(..packed_bytes(dimension))
}

impl CatalogReader {
    /// What is kept of the tokens of a text; `None` where there is no embedding, none of its tokens, or it is damaged.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn tokens(
        &self,
        model: i64,
        dimension: usize,
        content: &ContentHash,
    ) -> Result<Option<PackedTokens>, EngineError> {
        let stored = stored_vector(&self.connection, model, content)?;
        let tokens = stored.and_then(|bytes| bytes.get(packed_bytes(dimension)..).map(<[u8]>::to_vec));
        Ok(tokens.filter(|tokens| !tokens.is_empty()).map(PackedTokens::from_bytes))
    }
}

/// What is stored of a text, if there is something and it is whole.
fn stored_vector(connection: &Connection, model: i64, content: &ContentHash) -> Result<Option<Vec<u8>>, EngineError> {
    let mut select =
        connection.prepare_cached("SELECT checksum, vector FROM vectors WHERE content = ?1 AND model = ?2")?;
    let content = content.as_bytes();
    let found = select
        .query_row(params![content, model], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .optional()?;
    let whole = found.filter(|(checksum, bytes)| vector_checksum(model, content, bytes) == *checksum);
    Ok(whole.map(|(_, bytes)| bytes))
}

impl Catalog {
    /// Keeps embeddings.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put_vectors(&mut self, model: i64, embeddings: &[(ContentHash, EmbeddedText)]) -> Result<(), EngineError> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO vectors(model, content, checksum, vector) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (content, embedding) in embeddings {
                let (content, mut bytes) = (content.as_bytes(), pack(&embedding.vector));
                // Behind the vector, so that whatever becomes of one becomes of both.
                bytes.extend_from_slice(embedding.tokens.as_bytes());
                insert.execute(params![model, content, vector_checksum(model, content, &bytes), bytes])?;
            }
        }
        crash::point("embeddings-written");
        transaction.commit()?;
        crash::point("embeddings-cached");
        Ok(())
    }

    /// The embedding of a text, if there is one and it is whole.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn vector(&self, model: i64, dimension: usize, content: &ContentHash) -> Result<Option<Vec<f16>>, EngineError> {
        let stored = stored_vector(&self.connection, model, content)?;
        Ok(stored.and_then(|bytes| unpack(vector_of(&bytes, dimension)?, dimension)))
    }

    /// Reads the embeddings of all chunks by a model, in the order of their rows. Those that fail their checksum are dropped, to be made
    /// anew: says how many.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn vectors(&mut self, model: i64, dimension: usize) -> Result<(Vec<Row>, usize), EngineError> {
        let mut by_content: HashMap<Vec<u8>, Vec<f16>> = HashMap::new();
        let mut damaged = Vec::new();
        {
            // Those of other models too: which model a row is of may be what is damaged.
            let mut select = self.connection.prepare("SELECT id, model, content, checksum, vector FROM vectors")?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let (content, bytes) = (row.get_ref(2)?.as_blob(), row.get_ref(4)?.as_blob());
                let (content, bytes) = (content.map_err(rusqlite::Error::from)?, bytes.map_err(rusqlite::Error::from)?);
                let (of, checksum): (i64, i64) = (row.get(1)?, row.get(3)?);
                match vector_of(bytes, dimension).and_then(|bytes| unpack(bytes, dimension)) {
                    _ if vector_checksum(of, content, bytes) != checksum => damaged.push(row.get::<_, i64>(0)?),
                    Some(vector) if of == model => drop(by_content.insert(content.to_owned(), vector)),
                    _ => {}
                }
            }
        }
        self.drop_vectors(&damaged)?;
        let mut select =
            self.connection.prepare("SELECT id, file, content FROM chunks WHERE content IS NOT NULL ORDER BY id")?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let content = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            if let Some(vector) = by_content.get(content) {
                found.push(Row { chunk: row.get::<_, i64>(0)? as u64, file: row.get(1)?, vector: vector.clone() });
            }
        }
        Ok((found, damaged.len()))
    }

    /// Drops the embeddings of texts, of whatever model. Says how many there were.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn drop_contents(&mut self, contents: &[ContentHash]) -> Result<usize, EngineError> {
        let mut dropped = 0;
        let transaction = self.connection.transaction()?;
        for content in contents {
            let mut delete = transaction.prepare_cached("DELETE FROM vectors WHERE content = ?1")?;
            dropped += delete.execute([content.as_bytes()])?;
        }
        transaction.commit()?;
        Ok(dropped)
    }

    /// Drops embeddings by their ids.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn drop_vectors(&mut self, ids: &[i64]) -> Result<(), EngineError> {
        let transaction = self.connection.transaction()?;
        for id in ids {
            transaction.prepare_cached("DELETE FROM vectors WHERE id = ?1")?.execute([id])?;
        }
        Ok(transaction.commit()?)
    }

    /// How many embeddings of a model there are.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn count_vectors(&self, model: i64) -> Result<usize, EngineError> {
        let mut select = self.connection.prepare_cached("SELECT count(*) FROM vectors WHERE model = ?1")?;
        Ok(select.query_row([model], |row| row.get::<_, i64>(0))? as usize)
    }

    /// How many embeddings there are of other models than these.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn count_others(&self, models: [i64; 2]) -> Result<usize, EngineError> {
        let mut select = self.connection.prepare_cached("SELECT count(*) FROM vectors WHERE model NOT IN (?1, ?2)")?;
        Ok(select.query_row(models, |row| row.get::<_, i64>(0))? as usize)
    }

    /// Drops the embeddings of other models than these.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn drop_others(&mut self, models: [i64; 2]) -> Result<usize, EngineError> {
        Ok(self.connection.execute("DELETE FROM vectors WHERE model NOT IN (?1, ?2)", models)?)
    }

    /// Drops embeddings that no chunk has, but this many of the newest.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn prune_vectors(&mut self, kept: usize) -> Result<usize, EngineError> {
        let delete = "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors \
                      WHERE content NOT IN (SELECT content FROM chunks WHERE content IS NOT NULL) \
                      ORDER BY id DESC LIMIT -1 OFFSET ?1)";
        Ok(self.connection.execute(delete, [kept as i64])?)
    }
}
