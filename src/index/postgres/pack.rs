//! What is sent of a file and of its passages, and how it is read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use half::f16;
use serde_json::{Map, Value};

use super::connection::PostgresError;
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::index::engine::{
    ChunkEntry, ChunkText, ChunkWords, ContentHash, EngineError, FIELDS, Field, FileEntry, FileInfo, Reader,
    Statistics, TermWeight, neighbours, rounded_length, words_of_file,
};
use crate::text::derive::words::{BESIDE, Stemming};
use crate::text::derive::{ChunkId, Label, TextLanguage};
use crate::vault::disk::Stamp;

/// Beside the fields of the text: who speaks.
pub(super) const SPEAKER: u8 = FIELDS as u8;
/// How many places the sparse vectors of words have; the most that the extension takes.
const PLACES: u64 = 1_000_000_000;
/// How many places one may fill; the most that the extension takes.
const MAX_FILLED: usize = 16_000;
/// The averages of the fields that what is stored of a score was made with: about those of prose. [`bound`] makes up for others.
const AVERAGES: [u64; FIELDS] = [240, 8, 90];

/// The key of a term: of the vault too, so that a posting list is one vault's own.
pub(super) fn key(vault: i32, field: u8, term: &str) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&vault.to_le_bytes()).update(&[field]).update(term.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn place(key: i64) -> i32 {
    (key as u64 % PLACES) as i32
}

/// What a term of a field with so many words gives at most, as a share of its weight, in any scope with the [`bound`] of that.
fn share(field: Field, frequency: u32, words: u32) -> f32 {
    let reference = TermWeight::new(field, 0, &Statistics { chunks: 1, words: AVERAGES });
    let frequency_and_norm = f64::from(frequency) + reference.norm(rounded_length(words));
    (f64::from(frequency) / frequency_and_norm) as f32
}

/// By how much a stored share may be less than that in a scope where the fields are longer. Of a longer average the norm is less, by the ratio
/// of the averages at most; sums in the server are of 32-bit floats.
pub(super) fn bound(field: Field, scope: &Statistics) -> f64 {
    let average = scope.words[field as usize] as f64 / (scope.chunks as f64).max(1.0);
    (average / AVERAGES[field as usize] as f64).max(1.0) * 1.001
}

/// Terms with what each weighs, as the text of a sparse vector.
pub(super) fn sparse_text(terms: impl Iterator<Item = (i64, f64)>) -> String {
    let mut places: BTreeMap<i32, f64> = BTreeMap::new();
    terms.for_each(|(key, weight)| *places.entry(place(key)).or_default() += weight);
    let places: Vec<String> = places.iter().map(|(place, weight)| format!("{}:{weight:e}", place + 1)).collect();
    format!("{{{}}}/{PLACES}", places.join(","))
}

/// A passage, to be stored.
pub(super) struct Passage {
    pub(super) row: i64,
    pub(super) id: i64,
    pub(super) heading_path: String,
    pub(super) text: Vec<u8>,
    /// Where the body begins, where what is embedded begins and ends, first and last line.
    pub(super) spans: Vec<i32>,
    /// Its terms in the order of their keys, each with its field, and how often it occurs.
    pub(super) terms: BTreeMap<i64, (u8, String, u32)>,
    /// The sparse vector in its binary form; `None` where it would fill too many places.
    pub(super) weights: Option<Vec<u8>>,
    /// Tells it from others.
    pub(super) digest: Vec<u8>,
}

impl Passage {
    /// How often each term occurs, in the order of their keys.
    pub(super) fn frequencies(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.terms.len());
        for (.., frequency) in self.terms.values() {
            let mut rest = *frequency;
            while rest > 0x7f {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes
    }

    fn new(vault: i32, file: &FileEntry, at: usize, text: &ChunkText, words: &[ChunkWords]) -> Self {
        let (chunk, mut terms) = (&file.chunks[at], BTreeMap::new());
        let mut count = |field: u8, text: &str| {
            for word in text.split(' ').filter(|word| !word.is_empty()) {
                let word = word.strip_prefix(BESIDE).unwrap_or(word);
                let term = terms.entry(key(vault, field, word)).or_insert_with(|| (field, word.to_owned(), 0));
                term.2 += 1;
            }
        };
        neighbours(at, words.len()).for_each(|near| count(Field::Body as u8, &words[near].own.stemmed));
        count(Field::Heading as u8, &words[at].heading.stemmed);
        count(Field::Own as u8, &words[at].own.plain);
        for name in &words[at].speakers {
            terms.entry(key(vault, SPEAKER, name)).or_insert_with(|| (SPEAKER, name.clone(), 1));
        }
        let mut passage = Self {
            row: chunk.row as i64,
            id: chunk.id.to_bits() as i64,
            heading_path: serde_json::to_string(&text.heading_path).expect("a list of texts is JSON"),
            text: text.text.as_bytes().to_owned(),
            spans: [text.body_start, text.prose.start, text.prose.end].map(|at| at as i32).to_vec(),
            weights: sparse(&terms, chunk.words),
            terms,
            digest: Vec::new(),
        };
        passage.spans.extend([text.lines.0, text.lines.1].map(|line| line as i32));
        let mut hasher = blake3::Hasher::new();
        hasher.update(&passage.id.to_le_bytes()).update(passage.heading_path.as_bytes()).update(&[0]);
        hasher.update(&passage.text).update(format!("{:?} {:?}", passage.spans, chunk.words).as_bytes());
        passage
            .terms
            .iter()
            .for_each(|(key, term)| _ = hasher.update(&key.to_le_bytes()).update(&term.2.to_le_bytes()));
        passage.digest = hasher.finalize().as_bytes()[..16].to_vec();
        passage
    }
}

fn sparse(terms: &BTreeMap<i64, (u8, String, u32)>, words: [u32; FIELDS]) -> Option<Vec<u8>> {
    let mut places: BTreeMap<i32, f32> = BTreeMap::new();
    for (key, (field, _, frequency)) in terms {
        let Some(field) = field_of(*field) else { continue };
        *places.entry(place(*key)).or_default() += share(field, *frequency, words[field as usize]);
    }
    (places.len() <= MAX_FILLED).then(|| {
        let mut bytes = Vec::with_capacity(12 + 8 * places.len());
        [PLACES as i32, places.len() as i32, 0].iter().for_each(|number| bytes.extend(number.to_be_bytes()));
        places.keys().for_each(|place| bytes.extend(place.to_be_bytes()));
        places.values().for_each(|value| bytes.extend(value.to_be_bytes()));
        bytes
    })
}

fn field_of(number: u8) -> Option<Field> {
    [Field::Body, Field::Heading, Field::Own].into_iter().find(|field| *field as u8 == number)
}

/// How often terms occur, given their stored form.
pub(super) fn frequencies(bytes: &[u8]) -> Vec<u32> {
    let (mut all, mut value, mut shift) = (Vec::with_capacity(bytes.len()), 0_u32, 0);
    for byte in bytes {
        value |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        shift += 7;
        if byte & 0x80 == 0 {
            all.push(value);
            (value, shift) = (0, 0);
        }
    }
    all
}

/// The passages of a file; `None` where one of them cannot be had at the moment.
pub(super) fn passages(
    vault: i32,
    file: &FileEntry,
    metadata: &str,
    reader: &dyn Reader,
    stemming: &mut Stemming,
) -> Result<Option<Vec<Passage>>, EngineError> {
    stemming.turn_to(file.language().and_then(TextLanguage::stemmer));
    let mut texts = Vec::with_capacity(file.chunks.len());
    for chunk in &file.chunks {
        let Some(text) = reader.chunk(chunk.row)? else { return Ok(None) };
        texts.push(text);
    }
    let metadata: Map<String, Value> = serde_json::from_str(metadata).unwrap_or_default();
    let words = words_of_file(file, &metadata, texts.iter().map(Some), stemming);
    Ok(Some(texts.iter().enumerate().map(|(at, text)| Passage::new(vault, file, at, text, &words)).collect()))
}

/// A file's row: what is known of it, its chunks, and digests of that, of its words and of its vectors.
pub(super) struct PackedFile {
    pub(super) file: Arc<FileEntry>,
    pub(super) entry: Vec<u8>,
    pub(super) chunks: Vec<u8>,
    /// By chunk, whether it has its vector.
    pub(super) embedded: Vec<u8>,
    /// Of all, of what the words are made of, of the vectors.
    pub(super) digests: [i64; 3],
}

/// So many bytes a chunk takes.
const CHUNK_BYTES: usize = 49;

impl PackedFile {
    /// Of a file whose words are made by these settings.
    pub(super) fn new(file: &Arc<FileEntry>, reader: &dyn Reader, made_by: (u32, StemmerLanguage)) -> Self {
        let FileInfo { path, stamp, hash, read_ns: _, title, tags, doubtful, private, sources, labels, .. } =
            &file.info;
        let labels: Vec<u64> = labels.iter().map(|label| label.to_bits()).collect();
        let times = [file.created_ms, file.updated_ms];
        let stamp = (stamp.mtime_ns, stamp.ctime_ns, stamp.size, stamp.inode);
        let packed = (path.as_str(), stamp, hash, title, tags, doubtful, private, sources, labels, times);
        let entry = serde_json::to_vec(&packed).expect("numbers and texts are JSON");
        let mut chunks = Vec::with_capacity(file.chunks.len() * CHUNK_BYTES);
        for chunk in &file.chunks {
            chunks.extend(chunk.row.to_le_bytes());
            chunks.extend(chunk.id.to_bits().to_le_bytes());
            chunks.extend(chunk.line.to_le_bytes());
            chunks.push(chunk.content.is_some().into());
            chunks.extend(chunk.content.map_or([0; 16], |content| *content.as_bytes()));
            chunk.words.iter().for_each(|words| chunks.extend(words.to_le_bytes()));
        }
        let embedded: Vec<u8> = file.chunks.iter().map(|chunk| reader.is_embedded(chunk.row).into()).collect();
        let model = reader.model().map_or("", |model| model.as_str()).as_bytes();
        // Of what a note says of itself, the words depend on its title, its other names and its language.
        let named =
            serde_json::to_vec(&(path.as_str(), title, tags, &packed.8, hash, made_by)).expect("texts are JSON");
        let digests = [
            digest(&[&entry, &chunks, &embedded, model]),
            digest(&[&named, &chunks]),
            if embedded.contains(&1) { digest(&[model, &chunks, &embedded]) } else { 0 },
        ];
        Self { file: Arc::clone(file), entry, chunks, embedded, digests }
    }
}

fn digest(parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| _ = hasher.update(&part.len().to_le_bytes()).update(part));
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

type PackedInfo =
    (String, (i64, i64, u64, u64), [u8; 32], String, Vec<String>, Vec<String>, bool, Vec<String>, Vec<u64>, [i64; 2]);

/// A file as it was packed.
pub(super) fn unpack_file(id: i32, entry: &[u8], chunks: &[u8]) -> Result<FileEntry, PostgresError> {
    let wrong = || PostgresError::Failed(format!("the row of file {id} is not one of this program"));
    let (path, stamp, hash, title, tags, doubtful, private, sources, labels, times): PackedInfo =
        serde_json::from_slice(entry).map_err(|_| wrong())?;
    let info = FileInfo {
        path: VaultPath::new(path).map_err(|_| wrong())?,
        stamp: Stamp { mtime_ns: stamp.0, ctime_ns: stamp.1, size: stamp.2, inode: stamp.3 },
        hash,
        read_ns: 0,
        title,
        tags,
        doubtful,
        private,
        sources,
        labels: labels.into_iter().map(Label::from_bits).collect(),
        created_ms: times[0],
        updated_ms: times[1],
    };
    let mut found = Vec::with_capacity(chunks.len() / CHUNK_BYTES);
    for mut chunk in chunks.chunks(CHUNK_BYTES) {
        let row = u64::from_le_bytes(take(&mut chunk).ok_or_else(wrong)?);
        let id = ChunkId::from_bits(u64::from_le_bytes(take(&mut chunk).ok_or_else(wrong)?));
        let line = u32::from_le_bytes(take(&mut chunk).ok_or_else(wrong)?);
        let [has_content] = take(&mut chunk).ok_or_else(wrong)?;
        let content = ContentHash::from_bytes(take(&mut chunk).ok_or_else(wrong)?);
        let mut words = [0; FIELDS];
        for count in &mut words {
            *count = u32::from_le_bytes(take(&mut chunk).ok_or_else(wrong)?);
        }
        found.push(ChunkEntry { row, id, line, content: (has_content == 1).then_some(content), words });
    }
    Ok(FileEntry { id: id as u32, info, chunks: found })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// A vector in the binary form of a `halfvec`. What is searched was rounded to 16 bits before, so that nothing is lost.
pub(super) fn half_vector(vector: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + 2 * vector.len());
    bytes.extend((vector.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    vector.iter().for_each(|value| bytes.extend(f16::from_f32(*value).to_bits().to_be_bytes()));
    bytes
}

/// The vector again.
pub(super) fn of_half_vector(bytes: &[u8]) -> Vec<f32> {
    let values = bytes.get(4..).unwrap_or_default().as_chunks::<2>().0;
    values.iter().map(|value| f16::from_bits(u16::from_be_bytes(*value)).to_f32()).collect()
}
