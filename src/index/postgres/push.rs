//! Keeps a copy of a vault's index on a server. What is there is compared with what is here, so that nothing has to be remembered between two
//! starts: the first push, one that was missed, and one after the catalog was made anew are the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tokio_postgres::types::{ToSql, Type};

use super::connection::{Address, Connection, Params, PostgresError};
use super::pack::{PackedFile, Passage, half_vector, passages};
use super::sql;
use crate::access::rules::Token;
use crate::base::config::SearchConfig;
use crate::base::fs::crash;
use crate::index::engine::{ContentHash, EngineError, FileEntry, FileSet, Reader};
use crate::text::derive::words::Stemming;

/// What is pushed, and as whose.
#[derive(Clone)]
pub struct PushOptions {
    /// The server.
    pub address: Address,
    /// What the vault is called there.
    pub name: String,
    /// Names this folder on this machine. Another one that pushes under the same name is refused.
    pub writer: String,
    /// `[search]` of the vault, by which it is searched there, too.
    pub search: SearchConfig,
    /// What counts as a word.
    pub words_format: u32,
}

/// What is to be there.
pub struct Copied<'a> {
    /// A state of the index.
    pub reader: &'a dyn Reader,
    /// Its files; `None` for all.
    pub files: Option<&'a FileSet>,
    /// Who may read it.
    pub principals: &'a [PrincipalRow],
    /// Whether nothing is known to have changed since.
    pub is_now: bool,
}

impl Copied<'_> {
    fn has(&self, file: &FileEntry) -> bool {
        self.files.is_none_or(|files| files.contains(file.id))
    }

    fn files(&self) -> impl Iterator<Item = &Arc<FileEntry>> {
        self.reader.files().iter().filter(|file| self.has(file))
    }
}

impl PushOptions {
    /// What counts as a word, and the settings of searches as JSON.
    fn words(&self) -> (i32, String) {
        (self.words_format as i32, serde_json::to_string(&self.search).expect("settings are JSON"))
    }
}

/// Who may read the vault through a server of the copy, by the hash of a token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrincipalRow {
    /// BLAKE3 of the token.
    pub token: [u8; 32],
    /// Who it is.
    pub holder: Holder,
    /// `[[collections]]` of the vault as JSON, by which memory scopes are found.
    pub folders: String,
}

/// Who holds a token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// Whoever has the vault's own token.
    Owner,
    /// An agent: its folder's name in `agents/`, and its page.
    Agent(String, String),
    /// A person of a server: the name of their page, and their right in this vault as JSON.
    Person(String, String),
}

impl Holder {
    /// As a row has it: kind, name, and what gives the rights.
    pub(super) fn parts(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Owner => ("owner", "", ""),
            Self::Agent(slug, page) => ("agent", slug, page),
            Self::Person(name, right) => ("person", name, right),
        }
    }

    /// The one of a row; `None` for a kind that this program does not know, which reads nothing.
    pub(super) fn of_parts(kind: &str, name: String, rights: String) -> Option<Self> {
        match kind {
            "owner" => Some(Self::Owner),
            "agent" => Some(Self::Agent(name, rights)),
            "person" => Some(Self::Person(name, rights)),
            _ => None,
        }
    }
}

/// Files in a transaction, and passages after which no further file is taken into it.
const BATCH_FILES: usize = 500;
const BATCH_PASSAGES: usize = 2_000;

impl From<EngineError> for PostgresError {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Pushes one vault.
pub struct Pusher {
    options: PushOptions,
    link: Option<Link>,
}

/// What is known of the server while a connection lasts.
struct Link {
    connection: Connection,
    vault: i32,
    seq: i64,
    /// What was sent of the last state beside its files; `None` before anything was sent.
    info: Option<StateInfo>,
    store: String,
    /// What counted as a word when the words that are there were made, and the settings of searches.
    words: (i32, String),
    /// Names what this connection brings: states of two that have one number are not the same.
    epoch: String,
    model: Option<String>,
    known: HashMap<u32, Known>,
    /// Those that are there; `None` before they were sent.
    principals: Option<Vec<PrincipalRow>>,
}

/// What is sent of a state beside its files.
#[derive(PartialEq)]
struct StateInfo {
    generation: i64,
    /// Whether private notes are kept from the model.
    withheld: bool,
    /// What could not be indexed, as JSON.
    problems: Vec<u8>,
}

impl StateInfo {
    fn of(copied: &Copied<'_>) -> Result<Self, PostgresError> {
        let reader = copied.reader;
        let withheld = reader.embedded(None).1 != reader.files().embeddable(None);
        Ok(Self { generation: reader.generation() as i64, withheld, problems: problems(copied)? })
    }
}

/// A file that is there: its digests, and of which state of this index they are.
struct Known {
    digests: [i64; 3],
    from: Option<(Arc<FileEntry>, Vec<u8>)>,
}

/// What one transaction brings.
#[derive(Default)]
struct Batch {
    removed: Vec<i32>,
    files: Vec<PackedFile>,
}

impl Pusher {
    /// One that has not connected yet.
    pub fn new(options: PushOptions) -> Self {
        Self { options, link: None }
    }

    /// Brings the server to a state, and says before each transaction how many files are behind, of how many. Who may read, and what is gone or
    /// has become private, go first.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses, or has the vault of another writer. The next push compares everything anew.
    pub fn push(&mut self, copied: &Copied<'_>, mut tell: impl FnMut(usize, usize)) -> Result<(), PostgresError> {
        let mut link = match self.link.take().filter(|link| link.connection.is_open()) {
            Some(link) => link,
            None => Link::open(&self.options)?,
        };
        let reader = copied.reader;
        let anew = link.store != reader.store() && !link.known.is_empty();
        let turns = link.model.as_deref() != reader.model().map(|model| model.as_str());
        if anew {
            link.known.clear();
        }
        if turns {
            link.known.values_mut().for_each(|known| (known.digests[0], known.digests[2], known.from) = (0, 0, None));
        }
        let words = self.options.words();
        let info = StateInfo::of(copied)?;
        let others = link.principals.as_deref() != Some(copied.principals);
        let differs = anew || turns || others || link.words != words || link.info.as_ref() != Some(&info);
        let batches = self.behind(&mut link, copied, differs);
        let count = copied.files().count();
        let behind = |batches: &[Batch]| batches.iter().map(|batch| batch.files.len() + batch.removed.len()).sum();
        if batches.is_empty() && copied.is_now {
            link.seen(&self.options.writer)?;
        }
        for at in 0..batches.len() {
            tell(behind(&batches[at..]), count);
            let first = at == 0;
            let last = at + 1 == batches.len();
            if first || !anew {
                link.begin(&self.options)?;
            }
            if first {
                link.begin_state(reader, (anew, turns), Some(copied.principals).filter(|_| others))?;
            }
            link.put(&self.options, reader, &batches[at])?;
            // Rows of two stores are in no state of either.
            if last || !anew {
                link.end(&self.options, reader, &info, last && copied.is_now)?;
            }
            for file in &batches[at].files {
                let from = Some((Arc::clone(&file.file), file.embedded.clone()));
                link.known.insert(file.file.id, Known { digests: file.digests, from });
            }
        }
        (link.words, link.info, link.principals) = (words, Some(info), Some(copied.principals.to_vec()));
        tell(0, count);
        self.link = Some(link);
        Ok(())
    }

    /// Ends the connection, if there is one: the next push compares everything.
    pub fn disconnect(&mut self) {
        self.link = None;
    }

    /// What differs, in parts. The first has what goes, alone, so that nothing that cannot be stored holds it up; it is there for whatever else
    /// `differs`, too.
    fn behind(&self, link: &mut Link, copied: &Copied<'_>, differs: bool) -> Vec<Batch> {
        let reader = copied.reader;
        let wanted: HashSet<u32> = copied.files().map(|file| file.id).collect();
        let gone: Vec<u32> = link.known.keys().filter(|file| !wanted.contains(file)).copied().collect();
        gone.iter().for_each(|file| drop(link.known.remove(file)));
        let removed: Vec<i32> = gone.into_iter().map(|file| file as i32).collect();
        let mut batches = Vec::new();
        if differs || !removed.is_empty() {
            batches.push(Batch { removed, files: Vec::new() });
        }
        let made_by = (self.options.words_format, self.options.search.stemmer);
        let mut passages = BATCH_PASSAGES;
        for file in copied.files() {
            let known = link.known.get_mut(&file.id);
            let embedded = || file.chunks.iter().map(|chunk| u8::from(reader.is_embedded(chunk.row)));
            let is_same = |(before, had): &(Arc<FileEntry>, Vec<u8>)| {
                Arc::ptr_eq(before, file) && embedded().eq(had.iter().copied())
            };
            if known.as_ref().is_some_and(|known| known.from.as_ref().is_some_and(is_same)) {
                continue;
            }
            let packed = PackedFile::new(file, reader, made_by);
            if let Some(known) = known.filter(|known| known.digests == packed.digests) {
                known.from = Some((packed.file, packed.embedded));
                continue;
            }
            match batches.last_mut().filter(|last| passages < BATCH_PASSAGES && last.files.len() < BATCH_FILES) {
                Some(last) => last.files.push(packed),
                None => {
                    passages = 0;
                    batches.push(Batch { removed: Vec::new(), files: vec![packed] });
                }
            }
            passages += file.chunks.len();
        }
        batches
    }
}

impl Link {
    fn open(options: &PushOptions) -> Result<Self, PostgresError> {
        let connection = options.address.connect()?;
        sql::prepare(&connection)?;
        let find = || connection.first(sql::VAULT, &[&options.name]);
        let row = match find()? {
            Some(row) => row,
            None => {
                connection.execute(sql::NEW_VAULT, &[&options.name, &options.writer, &sql::FORMAT])?;
                find()?.ok_or_else(|| PostgresError::Failed("the vault cannot be made there".into()))?
            }
        };
        is_ours(&row.get::<_, String>("writer"), options)?;
        let vault: i32 = row.get("vault");
        let files = connection.query(sql::MANIFEST, &[&vault])?;
        let known = files.iter().map(|row| {
            let digests = [row.get("info"), row.get("passages"), row.get("meaning")];
            (row.get::<_, i32>("file") as u32, Known { digests, from: None })
        });
        let known = known.collect();
        let (seq, store, model) = (row.get("seq"), row.get("store"), row.get("model"));
        let words = (row.get("words_format"), row.get("search"));
        let epoch = Token::random().map_err(|error| PostgresError::Failed(error.to_string()))?.reveal().to_owned();
        Ok(Self { connection, vault, seq, info: None, store, words, epoch, model, known, principals: None })
    }

    /// Says that what is there is what is on disk.
    fn seen(&self, writer: &str) -> Result<(), PostgresError> {
        match self.connection.execute(sql::SEEN, &[&self.vault, &writer, &self.seq])? {
            0 => Err(changed()),
            _ => Ok(()),
        }
    }

    /// Begins a transaction that nobody else changes the vault in.
    fn begin(&self, options: &PushOptions) -> Result<(), PostgresError> {
        self.connection.batch_soon(sql::BEGIN)?;
        // A role that owns no table may write what is of this vault.
        self.connection.first(sql::MAY, &[&self.vault.to_string()])?;
        let row = self.connection.first(sql::LOCK_VAULT, &[&self.vault])?;
        let row = row.ok_or_else(|| PostgresError::Failed("the vault was removed there".into()))?;
        is_ours(&row.get::<_, String>("writer"), options)?;
        if row.get::<_, i64>("seq") != self.seq {
            return Err(changed());
        }
        crash::point("push-begun");
        Ok(())
    }

    /// What comes before all files: nothing is there any more if all of it comes `anew`, no vectors if the model `turns`, and whoever may no
    /// longer read does not wait for the rest either.
    fn begin_state(
        &self,
        reader: &dyn Reader,
        (anew, turns): (bool, bool),
        principals: Option<&[PrincipalRow]>,
    ) -> Result<(), PostgresError> {
        let (connection, vault, seq) = (&self.connection, self.vault, self.seq + 1);
        if anew {
            for wipe in sql::WIPE {
                connection.execute(wipe, &[&vault])?;
            }
            connection.execute(sql::SWEPT, &[&vault, &seq])?;
        }
        if turns || anew {
            connection.execute(sql::FORGET_MEANING, &[&vault])?;
            connection.execute(sql::NOTHING_EMBEDDED, &[&vault, &seq])?;
            connection.execute(sql::NEW_MODEL, &[&vault, &reader.model().map(|model| model.as_str())])?;
        }
        let Some(principals) = principals else { return Ok(()) };
        connection.execute(sql::NO_PRINCIPALS, &[&vault])?;
        for PrincipalRow { token, holder, folders } in principals {
            // A page may hold a zero byte, a text there may not.
            let (kind, name, rights) = holder.parts();
            let row: Params<'_> = &[&vault, &&token[..], &kind, &name, &rights.as_bytes(), folders];
            connection.execute(sql::PRINCIPAL, row)?;
        }
        Ok(())
    }

    /// Removes, adds and replaces files.
    fn put(&self, options: &PushOptions, reader: &dyn Reader, batch: &Batch) -> Result<(), PostgresError> {
        let (connection, vault, seq) = (&self.connection, self.vault, self.seq + 1);
        self.send_passages(options, reader, batch)?;
        crash::point("push-words");
        self.send_meaning(reader, batch)?;
        let changed: Vec<i32> = batch.files.iter().map(|file| file.file.id as i32).collect();
        connection.execute(sql::RENEW_FILES, &[&vault, &changed])?;
        connection.execute(sql::NOT_GONE, &[&vault, &changed])?;
        connection.execute(sql::REMOVE_FILES, &[&vault, &batch.removed, &seq])?;
        let metadata = batch.files.iter().map(|file| reader.metadata(file.file.id)).collect::<Result<Vec<_>, _>>()?;
        let rows = batch.files.iter().zip(&changed).zip(&metadata);
        let types = [
            Type::INT4,
            Type::INT4,
            Type::INT8,
            Type::INT8,
            Type::INT8,
            Type::INT8,
            Type::BYTEA,
            Type::BYTEA,
            Type::BYTEA,
            Type::TEXT,
        ];
        let rows = rows.map(|((file, id), metadata)| {
            let [info, passages, meaning] = &file.digests;
            let row: [&(dyn ToSql + Sync); 10] =
                [&vault, id, &seq, info, passages, meaning, &file.entry, &file.chunks, &file.embedded, metadata];
            row
        });
        connection.copy(sql::COPY_FILES, &types, rows)
    }

    /// Says which state is there now, and whether it is all of it, and of now.
    fn end(
        &mut self,
        options: &PushOptions,
        reader: &dyn Reader,
        info: &StateInfo,
        is_now: bool,
    ) -> Result<(), PostgresError> {
        let (connection, vault, seq) = (&self.connection, self.vault, self.seq + 1);
        let (format, search) = options.words();
        let StateInfo { generation, withheld, problems } = info;
        let epoch = &self.epoch;
        connection.execute(
            sql::NEXT_STATE,
            &[&vault, &seq, &reader.store(), &format, &search, withheld, problems, generation, &is_now, epoch],
        )?;
        connection.execute(sql::SWEEP, &[&vault])?;
        crash::point("push-ready");
        connection.batch(sql::COMMIT)?;
        crash::point("push-committed");
        (self.seq, self.store) = (seq, reader.store().to_owned());
        self.model = reader.model().map(|model| model.as_str().to_owned());
        Ok(())
    }

    /// The passages of a batch, and what the terms are counted in. Those that are as they were stay.
    fn send_passages(&self, options: &PushOptions, reader: &dyn Reader, batch: &Batch) -> Result<(), PostgresError> {
        let (connection, vault) = (&self.connection, self.vault);
        let has_words =
            |file: &&PackedFile| self.known.get(&file.file.id).is_none_or(|known| known.digests[1] != file.digests[1]);
        let mut stemming = Stemming::new(options.search.stemmer);
        let (mut old, mut new) = (batch.removed.clone(), Vec::new());
        for packed in batch.files.iter().filter(has_words) {
            let file = &packed.file;
            let metadata = reader.metadata(file.id)?.unwrap_or_default();
            let found = passages(vault, file, &metadata, reader, &mut stemming)?;
            let found = found.ok_or_else(|| PostgresError::Failed(format!("a passage of {} is missing", file.path)))?;
            new.extend(found.into_iter().map(|passage| (file.id as i32, passage)));
            old.push(file.id as i32);
        }
        let there = connection.query(sql::PASSAGES_OF, &[&vault, &old])?;
        let mut there: HashMap<i64, Vec<u8>> = there.iter().map(|row| (row.get(0), row.get(1))).collect();
        new.retain(|(_, passage)| {
            there.remove_entry(&passage.row).is_none_or(|(row, digest)| {
                let differs = digest != passage.digest;
                if differs {
                    there.insert(row, digest);
                }
                differs
            })
        });
        let gone: Vec<i64> = there.into_keys().collect();
        let uncounted = connection.query(sql::UNCOUNT, &[&vault, &gone])?;
        connection.execute(sql::REMOVE_PASSAGES, &[&vault, &gone])?;
        self.count(&new)?;
        let rare = uncounted.iter().filter(|row| row.get::<_, i32>(1) == 0).map(|row| row.get(0));
        connection.execute(sql::DROP_TERMS, &[&vault, &rare.collect::<Vec<i64>>()])?;
        let types =
            [Type::INT4, Type::INT8, Type::INT4, Type::BYTEA, Type::INT8, Type::TEXT, Type::BYTEA, Type::INT4_ARRAY];
        connection.copy(
            sql::COPY_PASSAGES,
            &types,
            new.iter().map(|(file, passage)| {
                let Passage { row, digest, id, heading_path, text, spans, .. } = passage;
                let row: [&(dyn ToSql + Sync); 8] = [&vault, row, file, digest, id, heading_path, text, spans];
                row
            }),
        )?;
        let keys: Vec<Vec<i64>> = new.iter().map(|(_, passage)| passage.terms.keys().copied().collect()).collect();
        let frequencies: Vec<Vec<u8>> = new.iter().map(|(_, passage)| passage.frequencies()).collect();
        let types = [Type::INT4, Type::INT8, Type::INT4, Type::INT8_ARRAY, Type::BYTEA, Type::BYTEA];
        connection.copy(
            sql::COPY_WORDS,
            &types,
            new.iter().zip(keys.iter().zip(&frequencies)).map(|((file, passage), (keys, frequencies))| {
                let row: [&(dyn ToSql + Sync); 6] = [&vault, &passage.row, file, keys, frequencies, &passage.weights];
                row
            }),
        )
    }

    fn count(&self, new: &[(i32, Passage)]) -> Result<(), PostgresError> {
        let mut counts: BTreeMap<i64, (i16, &str, i32)> = BTreeMap::new();
        for (key, (field, word, _)) in new.iter().flat_map(|(_, passage)| &passage.terms) {
            counts.entry(*key).or_insert((i16::from(*field), word, 0)).2 += 1;
        }
        let keys: Vec<i64> = counts.keys().copied().collect();
        let fields: Vec<i16> = counts.values().map(|count| count.0).collect();
        // A text of the server holds no zero byte.
        let words: Vec<String> = counts.values().map(|count| count.1.replace('\0', "\u{fffd}")).collect();
        let numbers: Vec<i32> = counts.values().map(|count| count.2).collect();
        self.connection.execute(sql::COUNT, &[&self.vault, &keys, &fields, &words, &numbers]).map(drop)
    }

    /// The vectors of a batch.
    fn send_meaning(&self, reader: &dyn Reader, batch: &Batch) -> Result<(), PostgresError> {
        let (connection, vault) = (&self.connection, self.vault);
        let changed = batch
            .files
            .iter()
            .filter(|file| self.known.get(&file.file.id).is_none_or(|known| known.digests[2] != file.digests[2]));
        let mut files = batch.removed.clone();
        let mut wanted: HashMap<i64, (i32, [u8; 16])> = HashMap::new();
        for packed in changed {
            files.push(packed.file.id as i32);
            let has = packed.file.chunks.iter().zip(&packed.embedded).filter(|(_, embedded)| **embedded == 1);
            wanted.extend(has.filter_map(|(chunk, _)| {
                Some((chunk.row as i64, (packed.file.id as i32, *chunk.content?.as_bytes())))
            }));
        }
        let mut gone: Vec<i64> = Vec::new();
        for row in connection.query(sql::MEANING_OF, &[&vault, &files])? {
            let (row, content): (i64, Vec<u8>) = (row.get(0), row.get(1));
            match wanted.get(&row).is_some_and(|(_, wanted)| wanted[..] == content) {
                true => drop(wanted.remove(&row)),
                false => gone.push(row),
            }
        }
        connection.execute(sql::REMOVE_MEANING, &[&vault, &gone])?;
        let mut rows: Vec<(i64, i32, [Vec<u8>; 3])> = Vec::with_capacity(wanted.len());
        for (row, (file, content)) in wanted {
            let Some(vector) = reader.vector(row as u64) else { continue };
            let tokens = reader.tokens(&ContentHash::from_bytes(content))?;
            let tokens = tokens.map_or_else(Vec::new, |tokens| tokens.as_bytes().to_vec());
            rows.push((row, file, [content.to_vec(), half_vector(&vector), tokens]));
        }
        let types = [Type::INT4, Type::INT8, Type::INT4, Type::BYTEA, Type::BYTEA, Type::BYTEA];
        connection.copy(
            sql::COPY_MEANING,
            &types,
            rows.iter().map(|(row, file, [content, vector, tokens])| {
                let row: [&(dyn ToSql + Sync); 6] = [&vault, row, file, content, vector, tokens];
                row
            }),
        )
    }
}

fn changed() -> PostgresError {
    PostgresError::Failed("what is there was changed by somebody else".into())
}

/// Whether the vault there is this one's.
fn is_ours(writer: &str, options: &PushOptions) -> Result<(), PostgresError> {
    let other = || {
        let name = &options.name;
        PostgresError::Refused(format!(
            "the vault `{name}` there is that of {writer}: set another `remote.vault`, or remove it there"
        ))
    };
    if writer == options.writer { Ok(()) } else { Err(other()) }
}

/// What could not be indexed, of the files that are copied.
fn problems(copied: &Copied<'_>) -> Result<Vec<u8>, PostgresError> {
    let mut problems = copied.reader.problems()?;
    let is_copied = |path: &str| copied.reader.files().at(path).is_some_and(|file| copied.has(file));
    problems.retain(|(path, _)| copied.files.is_none() || is_copied(path));
    Ok(serde_json::to_vec(&problems).expect("texts are JSON"))
}
