//! Answers for one state of a vault on a server.
//!
//! The server finds candidates among the allowed files; what decides about an answer is computed here, by the same code and from the same
//! numbers as everywhere. Which candidates are enough is proven: what the server orders by is never less than the score.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use super::connection::{Address, Connection, PATIENCE, Params, PostgresError};
use super::pack::{SPEAKER, bound, frequencies, key, of_half_vector, sparse_text, unpack_file};
use super::push::Holder;
use super::sql;
use crate::base::config::{SearchConfig, StemmerLanguage};
use crate::index::engine::{
    ChunkEntry, ChunkText, ContentHash, EngineError, Field, FileEntry, FileSet, FileTable, Like, LikeWord,
    PreparedWords, QueryVector, Reader, ScoredChunk, WeighedTerm, WeighedTerms, WordQuery, rounded_length,
};
use crate::models::{Fingerprint, PackedTokens};
use crate::text::derive::ChunkId;
use crate::text::derive::words::{BESIDE, Stemming, without_language};

/// A server that has vaults. What was read of their files is kept.
pub struct Backend {
    address: Address,
    pool: Mutex<Pool>,
    given_back: Condvar,
    /// By name, each with when it was asked for last.
    vaults: Mutex<HashMap<String, (Instant, Arc<Vault>)>>,
}

/// What is known of one state of a vault without asking.
#[derive(Clone)]
struct Vault {
    number: i32,
    store: String,
    seq: i64,
    generation: i64,
    model: Option<Fingerprint>,
    epoch: String,
    /// What counts as a word, and `[search]` of the vault.
    words_format: u32,
    search: Arc<SearchConfig>,
    withheld: bool,
    problems: Vec<u8>,
    files: FileTable,
    embedded: Arc<HashSet<u64>>,
}

/// Connections to one server.
#[derive(Default)]
struct Pool {
    /// Each with when it was given back.
    idle: Vec<(Connection, Instant)>,
    used: usize,
}

/// Connections to a server at a time; whoever wants another waits. PostgreSQL takes a hundred in all, if nobody says otherwise.
const MAX_CONNECTIONS: usize = 16;
/// A connection that nobody used for longer is not used again.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// Chunks of the vaults whose files are kept: those that were asked for last. About 80 bytes each.
const MAX_CHUNKS: u64 = 5_000_000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that goes back to its pool, unless it has failed: then it is in a state that is of no use.
struct Lease {
    backend: Arc<Backend>,
    connection: Option<Connection>,
}

impl Lease {
    fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, PostgresError> {
        let gone = || PostgresError::Failed("the connection was lost".into());
        let rows = self.connection.as_ref().ok_or_else(gone)?.query(sql, params);
        if rows.is_err() {
            self.connection = None;
        }
        rows
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let rested = self.connection.take().filter(|connection| connection.batch_soon(sql::ROLLBACK).is_ok());
        let mut pool = lock(&self.backend.pool);
        pool.idle.extend(rested.map(|connection| (connection, Instant::now())));
        pool.used -= 1;
        self.backend.given_back.notify_one();
    }
}

impl Backend {
    /// A server at an address, which is not asked yet.
    pub fn new(address: Address) -> Arc<Self> {
        Arc::new(Self { address, pool: Mutex::default(), given_back: Condvar::new(), vaults: Mutex::default() })
    }

    /// A connection in a transaction that has yet to see its state.
    fn connection(self: &Arc<Self>) -> Result<Lease, PostgresError> {
        let is_full = |pool: &mut Pool| pool.used >= MAX_CONNECTIONS;
        let (mut pool, waited) = self
            .given_back
            .wait_timeout_while(lock(&self.pool), PATIENCE, is_full)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(PostgresError::Late(PATIENCE));
        }
        pool.used += 1;
        drop(pool);
        // Given back whatever happens.
        let mut lease = Lease { backend: Arc::clone(self), connection: None };
        loop {
            let Some((idle, since)) = lock(&self.pool).idle.pop() else { break };
            // The server may have been restarted since, or somebody between may have forgotten the connection.
            if since.elapsed() < MAX_IDLE && idle.is_open() && idle.batch_soon(sql::BEGIN_READ).is_ok() {
                lease.connection = Some(idle);
                return Ok(lease);
            }
            lock(&self.pool).idle.clear();
        }
        let connection = self.address.connect()?;
        sql::check(&connection)?;
        connection.batch(sql::BEGIN_READ)?;
        lease.connection = Some(connection);
        Ok(lease)
    }

    /// Keeps what was read of a vault, in the place of what was asked for longest ago.
    fn keep(&self, name: &str, vault: &Arc<Vault>) {
        let mut vaults = lock(&self.vaults);
        let before = vaults.insert(name.to_owned(), (Instant::now(), Arc::clone(vault)));
        // Counted when something was read, not at each search: of a thousand vaults each would count all.
        if before.is_some_and(|(_, before)| Arc::ptr_eq(&before, vault)) {
            return;
        }
        let chunks = |(_, vault): &(Instant, Arc<Vault>)| vault.files.statistics(None).chunks;
        while vaults.len() > 1 && vaults.values().map(chunks).sum::<u64>() > MAX_CHUNKS {
            let oldest = vaults.iter().min_by_key(|(_, (at, _))| *at).map(|(name, _)| name.clone());
            oldest.and_then(|name| vaults.remove(&name));
        }
    }

    /// One state of a vault, and how many seconds ago its daemon said last that this is the disk (infinite before the first push is whole);
    /// `None` where there is no such vault. That state stays until what this gives is dropped.
    ///
    /// # Errors
    /// When the server cannot be reached, or has tables of another version.
    pub fn open(self: &Arc<Self>, name: &str) -> Result<Option<(PostgresReader, f64)>, PostgresError> {
        loop {
            let mut connection = self.connection()?;
            let Some(row) = connection.query(sql::VAULT, &[&name])?.pop() else {
                lock(&self.vaults).remove(name);
                return Ok(None);
            };
            let known = lock(&self.vaults).get(name).map(|(_, known)| Arc::clone(known));
            // What another connection brought may have the same number: after a backup was restored, or in a database that was made anew.
            let is_of = |known: &Arc<Vault>| {
                known.number == row.get::<_, i32>("vault") && known.epoch == row.get::<_, &str>("epoch")
            };
            let known = known.filter(is_of);
            if known.as_ref().is_some_and(|known| known.seq > row.get("seq")) {
                // Another has read a later state since this one began; or the database is that of a backup, and a moment later it is not so.
                lock(&self.vaults).remove(name);
                continue;
            }
            let age: f64 = row.get("age");
            connection.query(sql::MAY, &[&row.get::<_, i32>("vault").to_string()])?;
            let vault = match known {
                Some(known) if known.seq == row.get::<_, i64>("seq") => known,
                known => Arc::new(Vault::read(&mut connection, &row, known.as_deref())?),
            };
            self.keep(name, &vault);
            let reader = PostgresReader { connection: Mutex::new(connection), vault, ahead: Mutex::default() };
            return Ok(Some((reader, age)));
        }
    }
}

/// A vault that a token opens, and for whom.
#[derive(Debug, Clone)]
pub struct OpenedVault {
    /// Its name.
    pub name: String,
    /// Who holds the token.
    pub holder: Holder,
    /// `[[collections]]` of the vault as JSON.
    pub folders: String,
    /// How many seconds ago its daemon said last that this is the disk.
    pub age: f64,
}

impl Backend {
    /// The vaults that a token opens, given its BLAKE3, by name.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn opened_by(self: &Arc<Self>, token: &[u8; 32]) -> Result<Vec<OpenedVault>, PostgresError> {
        let mut connection = self.connection()?;
        let rows = connection.query(sql::HOLDERS, &[&&token[..]])?;
        let opened = rows.iter().filter_map(|row| {
            let rights = String::from_utf8_lossy(row.get("rights")).into_owned();
            let holder = Holder::of_parts(row.get("kind"), row.get("name"), rights)?;
            Some(OpenedVault { name: row.get("vault"), holder, folders: row.get("folders"), age: row.get("age") })
        });
        Ok(opened.collect())
    }
}

impl Vault {
    /// What is there, given what was there before.
    fn read(connection: &mut Lease, row: &Row, before: Option<&Self>) -> Result<Self, PostgresError> {
        let before =
            before.filter(|before| before.seq >= row.get("swept") && before.store == row.get::<_, String>("store"));
        let number: i32 = row.get("vault");
        let since = before.map_or(-1, |before| before.seq);
        let mut files = before.map(|before| before.files.clone()).unwrap_or_default();
        let mut embedded = before.map(|before| HashSet::clone(&before.embedded)).unwrap_or_default();
        let leave = |files: &mut FileTable, embedded: &mut HashSet<u64>, id: i32| {
            let chunks = files.get(id as u32).map(|file| file.chunks.clone()).unwrap_or_default();
            chunks.iter().for_each(|chunk| _ = embedded.remove(&chunk.row));
            files.remove(id as u32);
        };
        for row in connection.query(sql::GONE_SINCE, &[&number, &since])? {
            leave(&mut files, &mut embedded, row.get(0));
        }
        for row in connection.query(sql::FILES_SINCE, &[&number, &since])? {
            let id: i32 = row.get(0);
            leave(&mut files, &mut embedded, id);
            let file = unpack_file(id, row.get(1), row.get(2))?;
            let has: &[u8] = row.get(3);
            embedded.extend(file.chunks.iter().zip(has).filter(|(_, has)| **has == 1).map(|(chunk, _)| chunk.row));
            files.insert(Arc::new(file));
        }
        let model: Option<String> = row.get("model");
        Ok(Self {
            number,
            store: row.get("store"),
            seq: row.get("seq"),
            generation: row.get("generation"),
            model: model.and_then(|model| model.parse().ok()),
            words_format: row.get::<_, i32>("words_format") as u32,
            epoch: row.get("epoch"),
            search: Arc::new(serde_json::from_str(row.get("search")).unwrap_or_default()),
            withheld: row.get("withheld"),
            problems: row.get("problems"),
            files,
            embedded: Arc::new(embedded),
        })
    }
}

/// One state of a vault on a server.
pub struct PostgresReader {
    /// In a transaction that sees this state.
    connection: Mutex<Lease>,
    vault: Arc<Vault>,
    ahead: Mutex<Ahead>,
}

/// What is read of many chunks at once, and asked for one by one.
#[derive(Default)]
struct Ahead {
    /// Chunks that were found, which may be asked for.
    found: Vec<ScoredChunk>,
    texts: HashMap<u64, ChunkText>,
    tokens: HashMap<ContentHash, Vec<u8>>,
    metadata: HashMap<u32, Option<String>>,
}

/// Chunks found that are remembered.
const MAX_FOUND: usize = 500;

impl PostgresReader {
    /// What counts as a word there.
    pub fn words_format(&self) -> u32 {
        self.vault.words_format
    }

    /// `[search]` of the vault.
    pub fn search_settings(&self) -> &SearchConfig {
        &self.vault.search
    }

    /// Asks the server.
    fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, EngineError> {
        Ok(lock(&self.connection).query(sql, params)?)
    }

    fn key(&self, field: u8, term: &str) -> i64 {
        key(self.vault.number, field, term)
    }

    /// In how many chunks of a scope each of some terms is.
    fn frequencies(&self, keys: &[i64], scope: Option<&FileSet>) -> Result<HashMap<i64, u64>, EngineError> {
        let vault = &self.vault.number;
        let rows = match scope {
            None => self.query(sql::FREQUENCIES_OF_ALL, &[vault, &keys])?,
            Some(scope) => self.query(sql::FREQUENCIES, &[vault, &scope.bytes(), &keys])?,
        };
        Ok(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1) as u64)).collect())
    }

    fn note(&self, found: &[ScoredChunk]) {
        let mut ahead = lock(&self.ahead);
        let room = MAX_FOUND.saturating_sub(ahead.found.len());
        ahead.found.extend(found.iter().take(room));
    }

    /// Reads the texts of chunks.
    fn texts(&self, rows: &[i64]) -> Result<Vec<ChunkText>, EngineError> {
        let rows = self.query(sql::TEXTS_OF, &[&self.vault.number, &rows])?;
        let text = |row: &Row| {
            let spans: Vec<i32> = row.get(5);
            let at = |place: usize| spans.get(place).copied().unwrap_or_default() as u32;
            let heading_path = serde_json::from_str(row.get(3)).map_err(EngineError::other)?;
            Ok(ChunkText {
                row: row.get::<_, i64>(0) as u64,
                file: row.get::<_, i32>(1) as u32,
                id: ChunkId::from_bits(row.get::<_, i64>(2) as u64),
                heading_path,
                text: String::from_utf8(row.get(4)).map_err(EngineError::other)?,
                body_start: at(0) as usize,
                prose: at(1) as usize..at(2) as usize,
                lines: (at(3), at(4)),
            })
        };
        rows.iter().map(text).collect()
    }

    /// What is shown of a file's chunks, in their order.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn chunks_of(&self, file: &FileEntry) -> Result<Vec<ChunkText>, EngineError> {
        let rows: Vec<i64> = file.chunks.iter().map(|chunk| chunk.row as i64).collect();
        let mut texts: HashMap<u64, ChunkText> = self.texts(&rows)?.into_iter().map(|text| (text.row, text)).collect();
        Ok(file.chunks.iter().filter_map(|chunk| texts.remove(&chunk.row)).collect())
    }

    fn entry(&self, row: u64, file: u32) -> Option<&ChunkEntry> {
        let file = self.vault.files.get(file)?;
        file.chunks.get(file.ordinal(row)?)
    }

    fn vectors(&self, rows: &[u64]) -> Result<HashMap<u64, Vec<f32>>, EngineError> {
        let rows: Vec<i64> = rows.iter().map(|row| *row as i64).collect();
        let rows = self.query(sql::VECTORS_OF, &[&self.vault.number, &rows])?;
        Ok(rows.iter().map(|row| (row.get::<_, i64>(0) as u64, of_half_vector(row.get(1)))).collect())
    }

    /// The terms of rows of `field, word, key, n` that a scope has, each with how often.
    fn counted(&self, rows: &[Row], scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        let keys: Vec<i64> = rows.iter().map(|row| row.get(2)).collect();
        let counts = match scope {
            Some(_) => self.frequencies(&keys, scope)?,
            None => rows.iter().map(|row| (row.get(2), row.get::<_, i64>(3) as u64)).collect(),
        };
        let counted = rows.iter().map(|row| (row.get(1), counts.get(&row.get(2)).copied().unwrap_or_default()));
        Ok(counted.filter(|(_, count)| *count > 0).collect())
    }
}

/// The best `k` and all that tie with the last.
fn best_of(mut found: Vec<ScoredChunk>, k: usize) -> Vec<ScoredChunk> {
    found.sort_by(|one, two| two.score.total_cmp(&one.score));
    if let Some(last) = k.checked_sub(1).and_then(|last| found.get(last).map(|last| last.score)) {
        found.retain(|found| found.score >= last);
    }
    found
}

/// Characters that what marks a stem's language takes at most.
const LANGUAGE_CHARS: i32 = 4;

impl Reader for PostgresReader {
    fn generation(&self) -> u64 {
        self.vault.generation as u64
    }

    fn store(&self) -> &str {
        &self.vault.store
    }

    fn files(&self) -> &FileTable {
        &self.vault.files
    }

    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
        _: Option<&'a FileSet>,
    ) -> Result<Box<dyn PreparedWords + 'a>, EngineError> {
        let (terms, statistics) = (self.vault.files.terms(query, language, scope), self.statistics(scope));
        let keys: Vec<i64> = terms.iter().map(|(field, text)| self.key(field as u8, text)).collect();
        let counts = self.frequencies(&keys, scope)?;
        let count = |field: Field, text: &str| {
            Ok::<u64, EngineError>(counts.get(&self.key(field as u8, text)).copied().unwrap_or_default())
        };
        let WeighedTerms { terms, present, most } = terms.weigh(&statistics, count)?;
        let terms: Vec<(i64, WeighedTerm)> =
            terms.into_iter().map(|term| (self.key(term.field as u8, &term.text), term)).collect();
        let bounds = terms.iter().map(|(key, term)| (*key, term.weight.most() * bound(term.field, &statistics)));
        let bounds = sparse_text(bounds);
        let own = |word: &String| self.key(Field::Own as u8, word);
        let mut required: Vec<i64> = query.phrases.iter().flatten().map(own).collect();
        required.extend(query.said_by.iter().map(|name| self.key(SPEAKER, name)));
        let not_said_by = query.not_said_by.iter().map(|name| self.key(SPEAKER, name)).collect();
        let query = query.clone();
        Ok(Box::new(PostgresWords { reader: self, query, terms, present, most, bounds, required, not_said_by }))
    }

    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        let fields = [Field::Own, Field::Heading].map(|field| field as i16).to_vec();
        let rows = match like {
            Like::Prefix(prefix) => {
                let end = format!("{prefix}\u{10ffff}");
                self.query(sql::TERMS_BETWEEN, &[&self.vault.number, &fields, &prefix.as_str(), &end])?
            }
            Like::Edits(word, most) => {
                let (length, most) = (word.chars().count() as i32, i32::from(*most));
                let (least, most) = (length - most, length + most + LANGUAGE_CHARS);
                self.query(sql::TERMS_OF_LENGTH, &[&self.vault.number, &fields, &least, &most])?
            }
        };
        let is_like = |row: &Row| like.distance(without_language(row.get(1))).is_some();
        let rows: Vec<Row> = rows.into_iter().filter(is_like).collect();
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (word, count) in self.counted(&rows, scope)? {
            *sums.entry(without_language(&word).to_owned()).or_default() += count;
        }
        Ok(sums.into_iter().collect())
    }

    fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, EngineError> {
        let fields = vec![i16::from(SPEAKER)];
        let rows = self.query(sql::TERMS_OF_LENGTH, &[&self.vault.number, &fields, &0, &i32::MAX])?;
        let speakers: BTreeSet<String> = self.counted(&rows, scope)?.into_iter().map(|(name, _)| name).collect();
        Ok(speakers.into_iter().collect())
    }

    fn model(&self) -> Option<&Fingerprint> {
        self.vault.model.as_ref()
    }

    fn nearest(&self, query: &QueryVector, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        if k == 0 {
            return Ok(Vec::new());
        }
        let mask = allow.map(FileSet::bytes);
        let rows = self.query(sql::NEAREST, &[&self.vault.number, &mask, &query.unit(), &(k as i64)])?;
        let found = rows.iter().map(|row| ScoredChunk {
            row: row.get::<_, i64>(0) as u64,
            file: row.get::<_, i32>(1) as u32,
            score: f64::from(query.cosine(&of_half_vector(row.get(2)))),
        });
        let found = best_of(found.collect(), k);
        self.note(&found);
        Ok(found)
    }

    fn cosines(&self, query: &QueryVector, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = self.vectors(rows)?;
        Ok(rows.iter().map(|row| Some(f64::from(query.cosine(vectors.get(row)?)))).collect())
    }

    fn vector(&self, row: u64) -> Option<Vec<f32>> {
        self.vectors(&[row]).ok()?.remove(&row)
    }

    fn tokens(&self, content: &ContentHash) -> Result<Option<PackedTokens>, EngineError> {
        if !lock(&self.ahead).tokens.contains_key(content) {
            let found = lock(&self.ahead).found.clone();
            let contents = found.iter().filter_map(|found| self.entry(found.row, found.file)?.content);
            let contents: Vec<Vec<u8>> =
                contents.chain([*content]).map(|content| content.as_bytes().to_vec()).collect();
            let rows = self.query(sql::TOKENS_OF, &[&self.vault.number, &contents])?;
            let mut ahead = lock(&self.ahead);
            for row in rows {
                let name = <[u8; 16]>::try_from(row.get::<_, &[u8]>(0)).map_err(EngineError::other)?;
                ahead.tokens.insert(ContentHash::from_bytes(name), row.get(1));
            }
            ahead.tokens.entry(*content).or_default();
        }
        let tokens = lock(&self.ahead).tokens.get(content).cloned().filter(|tokens| !tokens.is_empty());
        Ok(tokens.map(PackedTokens::from_bytes))
    }

    fn is_embedded(&self, row: u64) -> bool {
        self.vault.embedded.contains(&row)
    }

    fn embedded(&self, scope: Option<&FileSet>) -> (usize, usize) {
        let files = &self.vault.files;
        let private = if self.vault.withheld { files.embeddable(Some(files.facets().private())) } else { 0 };
        let counts = (self.vault.embedded.len(), files.embeddable(None) - private, self.vault.withheld);
        files.embedded(scope, counts, |row| self.is_embedded(row))
    }

    fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError> {
        if !lock(&self.ahead).texts.contains_key(&row) {
            let found = std::mem::take(&mut lock(&self.ahead).found);
            let rows: Vec<i64> = found.iter().map(|found| found.row as i64).chain([row as i64]).collect();
            let texts = self.texts(&rows)?;
            lock(&self.ahead).texts.extend(texts.into_iter().map(|text| (text.row, text)));
        }
        Ok(lock(&self.ahead).texts.get(&row).cloned())
    }

    fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError> {
        let rows = self.query(sql::ROWS_OF, &[&self.vault.number, &(id.to_bits() as i64)])?;
        Ok(rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect())
    }

    fn metadata(&self, file: u32) -> Result<Option<String>, EngineError> {
        if !lock(&self.ahead).metadata.contains_key(&file) {
            let rows = self.query(sql::METADATA_FROM, &[&self.vault.number, &(file as i32)])?;
            let rows = rows.iter().map(|row| (row.get::<_, i32>(0) as u32, row.get(1)));
            lock(&self.ahead).metadata.extend(rows);
        }
        Ok(lock(&self.ahead).metadata.get(&file).cloned().flatten())
    }

    fn problems(&self) -> Result<Vec<(String, String)>, EngineError> {
        match self.vault.problems.is_empty() {
            true => Ok(Vec::new()),
            false => serde_json::from_slice(&self.vault.problems).map_err(EngineError::other),
        }
    }
}

/// A query's words on a server.
struct PostgresWords<'a> {
    reader: &'a PostgresReader,
    query: WordQuery,
    /// In the order in which their parts of a score are added, with their keys.
    terms: Vec<(i64, WeighedTerm)>,
    present: HashSet<String>,
    most: f64,
    /// What each term gives at most of what the server has stored, as a sparse vector.
    bounds: String,
    /// What a chunk has that passes.
    required: Vec<i64>,
    not_said_by: Vec<i64>,
}

/// A row of candidates: its keys and how often each occurs.
struct Candidate {
    row: u64,
    file: u32,
    keys: Vec<i64>,
    frequencies: Vec<u32>,
    /// What its score is not above; `None` where that is not known.
    most: Option<f64>,
}

impl Candidate {
    fn of(row: &Row) -> Self {
        Self {
            row: row.get::<_, i64>(0) as u64,
            file: row.get::<_, i32>(1) as u32,
            keys: row.get(2),
            frequencies: frequencies(row.get(3)),
            most: None,
        }
    }

    fn frequency(&self, key: i64) -> u32 {
        self.keys.binary_search(&key).ok().and_then(|at| self.frequencies.get(at).copied()).unwrap_or_default()
    }
}

impl PostgresWords<'_> {
    /// The scores of candidates; `None` where the query's conditions rule one out.
    fn judge(&self, candidates: &[Candidate]) -> Result<Vec<Option<f64>>, EngineError> {
        let own =
            |run: &Vec<String>| run.iter().map(|word| self.reader.key(Field::Own as u8, word)).collect::<Vec<i64>>();
        let has = |candidate: &Candidate, keys: &[i64]| keys.iter().all(|key| candidate.frequency(*key) > 0);
        let excluded: Vec<Vec<i64>> = self.query.excluded.iter().map(own).collect();
        // Of what may be a run, the order of the words is in the text.
        let runs = |runs: &[Vec<String>]| runs.iter().any(|run| run.len() > 1);
        let needs_text = |candidate: &Candidate| {
            has(candidate, &self.required)
                && (runs(&self.query.phrases) || excluded.iter().any(|keys| keys.len() > 1 && has(candidate, keys)))
        };
        let wanted: Vec<i64> = candidates.iter().filter(|one| needs_text(one)).map(|one| one.row as i64).collect();
        let texts = if wanted.is_empty() { Vec::new() } else { self.reader.texts(&wanted)? };
        let mut stemming = Stemming::new(StemmerLanguage::None);
        let plain = texts.iter().map(|text| {
            (text.row, Positions::of(&stemming.words(text.text.get(text.body_start..).unwrap_or_default()).plain))
        });
        let plain: HashMap<u64, Positions> = plain.collect();
        let has_run = |candidate: &Candidate, run: &[String]| match run {
            [word] => has(candidate, &[self.reader.key(Field::Own as u8, word)]),
            run => plain.get(&candidate.row).is_some_and(|plain| plain.has_run(run)),
        };
        let judged = candidates.iter().map(|candidate| {
            let passes = has(candidate, &self.required)
                && !self.not_said_by.iter().any(|key| candidate.frequency(*key) > 0)
                && self.query.phrases.iter().all(|run| has_run(candidate, run))
                && !self.query.excluded.iter().any(|run| has_run(candidate, run));
            passes.then(|| self.score(candidate)).flatten()
        });
        Ok(judged.collect())
    }

    fn score(&self, candidate: &Candidate) -> Option<f64> {
        let words = self.reader.entry(candidate.row, candidate.file)?.words;
        let parts = self.terms.iter().filter_map(|(key, WeighedTerm { field, weight, .. })| {
            let frequency = candidate.frequency(*key);
            (frequency > 0).then(|| weight.score(frequency, weight.norm(rounded_length(words[*field as usize]))))
        });
        Some(parts.fold(0.0, |sum, part| sum + part))
    }
}

/// Candidates that are looked at first, for each that is wanted and besides.
const PER_WANTED: usize = 2;
const BESIDES: usize = 64;
/// By how many times more are looked at where those do not prove to be enough.
const WIDER: usize = 8;

impl PreparedWords for PostgresWords<'_> {
    fn most(&self) -> f64 {
        self.most
    }

    fn has(&self, word: &str) -> bool {
        self.present.contains(word)
    }

    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        if self.terms.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<i64> = self.terms.iter().map(|(key, _)| *key).collect();
        let mask = allow.map(FileSet::bytes);
        let mut limit = if k == 0 { usize::MAX } else { k * PER_WANTED + BESIDES };
        loop {
            let most = i64::try_from(limit).unwrap_or(i64::MAX);
            let params: Params<'_> = &[&self.reader.vault.number, &mask, &keys, &self.required, &self.bounds, &most];
            let rows = self.reader.query(sql::BEST_WORDS, params)?;
            let candidates = rows.iter().map(|row| Candidate { most: row.get(4), ..Candidate::of(row) });
            let candidates: Vec<Candidate> = candidates.collect();
            let judged = self.judge(&candidates)?;
            let found = candidates.iter().zip(judged).filter_map(|(one, score)| {
                let score = score.filter(|score| *score > 0.0)?;
                Some(ScoredChunk { row: one.row, file: one.file, score })
            });
            let found = best_of(found.collect(), k);
            // Nothing that was not looked at scores more than the last that was.
            let rest = candidates.last().and_then(|last| last.most).unwrap_or(f64::INFINITY);
            let kth = if k == 0 { None } else { found.get(k - 1).map(|kth| kth.score) };
            if candidates.len() < limit || kth.is_some_and(|kth| kth > rest) {
                self.reader.note(&found);
                return Ok(found);
            }
            limit = limit.saturating_mul(WIDER);
        }
    }

    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: Vec<i64> = rows.iter().map(|row| *row as i64).collect();
        let found = self.reader.query(sql::WORDS_OF, &[&self.reader.vault.number, &wanted])?;
        let candidates: Vec<Candidate> = found.iter().map(Candidate::of).collect();
        let judged = self.judge(&candidates)?;
        let judged: HashMap<u64, Option<f64>> = candidates.iter().map(|one| one.row).zip(judged).collect();
        Ok(rows.iter().map(|row| judged.get(row).copied().flatten()).collect())
    }
}

/// At which positions each word of a text stands.
struct Positions(HashMap<String, BTreeSet<usize>>);

impl Positions {
    fn of(plain: &str) -> Self {
        let (mut at, mut positions) = (0, HashMap::<String, BTreeSet<usize>>::new());
        for word in plain.split(' ').filter(|word| !word.is_empty()) {
            let whole = word.strip_prefix(BESIDE);
            positions.entry(whole.unwrap_or(word).to_owned()).or_default().insert(at);
            at += usize::from(whole.is_none());
        }
        Self(positions)
    }

    fn has_run(&self, run: &[String]) -> bool {
        let at = |word: &String, place: usize| self.0.get(word).is_some_and(|places| places.contains(&place));
        let starts = run.first().and_then(|first| self.0.get(first));
        starts.is_some_and(|starts| {
            starts.iter().any(|start| run.iter().enumerate().all(|(next, word)| at(word, start + next)))
        })
    }
}
