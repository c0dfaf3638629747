//! A look at a GGUF file before llama.cpp sees it.
//!
//! llama.cpp answers a missing, cut or foreign file with the same "null result", and some damage with an abort. This
//! reads the header (<https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>), keeps the scalars, and checks that
//! the tensors it announces are all there.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::super::ModelError;

/// A scalar of the metadata. Arrays and strings of more than [`LONGEST_KEPT`] bytes are checked and skipped.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(u64),
    Flag(bool),
    Text(String),
    Other,
}

/// Metadata values longer than this are chat templates and the like, which embedding has no use for.
const LONGEST_KEPT: u64 = 4096;

/// The metadata of a GGUF file whose announced contents are all there.
#[derive(Debug)]
pub(super) struct Header {
    values: HashMap<String, Value>,
}

impl Header {
    /// Reads and checks the header of the file at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, ModelError> {
        let metadata = path.metadata().map_err(ModelError::io("read the model", path))?;
        let bad = |reason: String| ModelError::BadModelFile { path: path.to_owned(), reason };
        if !metadata.is_file() {
            return Err(bad("it is not a file".to_owned()));
        }
        let file = File::open(path).map_err(ModelError::io("read the model", path))?;
        let mut reader =
            HeaderReader { input: BufReader::new(file), at: 0, size: metadata.len(), knows_all_types: true };
        reader.header().map_err(|damage| match damage {
            HeaderError::Io(source) => ModelError::Io { action: "read the model", path: path.to_owned(), source },
            HeaderError::Cut => bad(format!(
                "it is incomplete ({} bytes), or its header is damaged; copy or download it again",
                metadata.len()
            )),
            HeaderError::Other(reason) => bad(reason),
        })
    }

    /// Returns the model's architecture, such as `bert`.
    pub(super) fn architecture(&self) -> &str {
        self.text("general.architecture").unwrap_or_default()
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.values.get(key) {
            Some(Value::Flag(flag)) => Some(*flag),
            _ => None,
        }
    }

    /// Returns a number that is kept under the architecture's name: `pooling_type` is `bert.pooling_type`.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        match self.values.get(&format!("{}.{key}", self.architecture())) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }
}

enum HeaderError {
    Io(io::Error),
    Cut,
    Other(String),
}

struct HeaderReader {
    input: BufReader<File>,
    at: u64,
    size: u64,
    /// Whether the size of every tensor is known so far.
    knows_all_types: bool,
}

/// Maximum length of what follows all that the header announces, in bytes.
const MAX_TRAILING_BYTES: u64 = 1 << 20;

impl HeaderReader {
    fn header(&mut self) -> Result<Header, HeaderError> {
        if self.size == 0 {
            return Err(HeaderError::Other("it is empty".to_owned()));
        }
        if self.size < 4 || &self.bytes::<4>()? != b"GGUF" {
            return Err(HeaderError::Other("it does not begin with GGUF".to_owned()));
        }
        let version = u32::from_le_bytes(self.bytes()?);
        if !(2..=3).contains(&version) {
            return Err(HeaderError::Other(format!("it has GGUF version {version}; versions 2 and 3 are supported")));
        }
        let (tensors, pairs) = (self.u64()?, self.u64()?);
        let mut values = HashMap::new();
        let mut alignment = 32;
        for _ in 0..pairs {
            let key = self.name("a key")?;
            let kind = self.u32()?;
            let value = if key == "tokenizer.ggml.tokens" { self.vocabulary(kind)? } else { self.value(kind)? };
            if let (true, Value::Number(number)) = (key == "general.alignment", &value) {
                alignment = *number;
            }
            values.insert(key, value);
        }
        if !matches!(values.get("general.architecture"), Some(Value::Text(_))) {
            return Err(HeaderError::Other("it does not name its architecture".to_owned()));
        }
        if !alignment.is_power_of_two() {
            return Err(HeaderError::Other(format!("its alignment is {alignment}, not a power of two")));
        }
        let mut data_bytes = 0;
        for _ in 0..tensors {
            data_bytes = data_bytes.max(self.tensor_end()?);
        }
        if tensors == 0 {
            return Err(HeaderError::Other("it has no tensors, only metadata".to_owned()));
        }
        let end = self.at.checked_next_multiple_of(alignment).and_then(|start| start.checked_add(data_bytes));
        let Some(end) = end.filter(|end| *end <= self.size) else { return Err(HeaderError::Cut) };
        // Files end with padding at most. Hashing gigabytes of nothing would take long, and nobody would know what for.
        if self.knows_all_types && self.size - end > MAX_TRAILING_BYTES.max(alignment) {
            let (size, end) = (self.size, end);
            return Err(HeaderError::Other(format!("it has {size} bytes, but its header announces {end}")));
        }
        Ok(Header { values })
    }

    fn value(&mut self, kind: u32) -> Result<Value, HeaderError> {
        Ok(match kind {
            0 => Value::Number(u64::from(self.bytes::<1>()?[0])),
            2 => Value::Number(u64::from(u16::from_le_bytes(self.bytes()?))),
            4 => Value::Number(u64::from(self.u32()?)),
            5 => u64::try_from(i32::from_le_bytes(self.bytes()?)).map_or(Value::Other, Value::Number),
            7 => Value::Flag(self.bytes::<1>()?[0] != 0),
            8 => self.string()?,
            9 => {
                let (kind, count) = (self.u32()?, self.u64()?);
                if kind == 8 {
                    for _ in 0..count {
                        let bytes = self.u64()?;
                        self.skip(bytes)?;
                    }
                } else {
                    self.skip(width(kind)?.checked_mul(count).ok_or(HeaderError::Cut)?)?;
                }
                Value::Other
            }
            10 => Value::Number(self.u64()?),
            _ => {
                self.skip(width(kind)?)?;
                Value::Other
            }
        })
    }

    /// Skips the vocabulary, after a look for a word that is there twice: llama.cpp ends the process for one.
    fn vocabulary(&mut self, kind: u32) -> Result<Value, HeaderError> {
        if kind != 9 || self.u32()? != 8 {
            return Err(HeaderError::Other("its vocabulary is not a list of words".to_owned()));
        }
        let mut seen = HashSet::new();
        for _ in 0..self.u64()? {
            let bytes = self.u64()?;
            let word = self.read(bytes)?;
            if let Some(twice) = seen.replace(word) {
                let word = String::from_utf8_lossy(&twice);
                return Err(HeaderError::Other(format!(
                    "its vocabulary has the word {word:?} twice; copy or download it again"
                )));
            }
        }
        Ok(Value::Other)
    }

    /// Reads one tensor's description and returns where its data ends, counted from the start of all data.
    fn tensor_end(&mut self) -> Result<u64, HeaderError> {
        let name = self.name("a tensor's name")?;
        let dimensions = self.u32()?;
        if dimensions > 4 {
            return Err(HeaderError::Other(format!("the tensor {name} has {dimensions} dimensions")));
        }
        let mut elements = 1_u64;
        for _ in 0..dimensions {
            elements = elements.checked_mul(self.u64()?).ok_or(HeaderError::Cut)?;
        }
        let (kind, offset) = (self.u32()?, self.u64()?);
        // A type that is not in the table counts as one byte: whether its tensor is whole is left to llama.cpp.
        let bytes = match block(kind) {
            Some((size, bytes)) => elements.div_ceil(size).checked_mul(bytes),
            None => {
                self.knows_all_types = false;
                Some(1)
            }
        };
        bytes.and_then(|bytes| offset.checked_add(bytes)).ok_or(HeaderError::Cut)
    }

    fn name(&mut self, what: &str) -> Result<String, HeaderError> {
        match self.string()? {
            Value::Text(text) => Ok(text),
            _ => Err(HeaderError::Other(format!("{what} in its header is not text"))),
        }
    }

    fn string(&mut self) -> Result<Value, HeaderError> {
        let bytes = self.u64()?;
        if bytes > LONGEST_KEPT {
            self.skip(bytes)?;
            return Ok(Value::Other);
        }
        Ok(String::from_utf8(self.read(bytes)?).map_or(Value::Other, Value::Text))
    }

    fn read(&mut self, bytes: u64) -> Result<Vec<u8>, HeaderError> {
        self.need(bytes)?;
        let mut read = vec![0; bytes as usize];
        self.input.read_exact(&mut read).map_err(HeaderError::Io)?;
        self.at += bytes;
        Ok(read)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        self.need(N as u64)?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(HeaderError::Io)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), HeaderError> {
        self.need(bytes)?;
        self.at += bytes;
        match i64::try_from(bytes) {
            Ok(step) => self.input.seek_relative(step),
            Err(_) => self.input.seek(SeekFrom::Start(self.at)).map(drop),
        }
        .map_err(HeaderError::Io)
    }

    /// Checks that the file goes on for so many bytes, before anything is allocated or read.
    fn need(&self, bytes: u64) -> Result<(), HeaderError> {
        if bytes > self.size - self.at { Err(HeaderError::Cut) } else { Ok(()) }
    }
}

/// Returns the bytes of a metadata value of fixed width.
fn width(kind: u32) -> Result<u64, HeaderError> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        _ => Err(HeaderError::Other(format!("its header has a value of the unknown type {kind}"))),
    }
}

/// Returns how many elements of a tensor type form a block, and the block's bytes (`type_traits` in ggml.c).
fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        24 => (1, 1),
        27 | 28 => (1, 8),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        _ => return None,
    })
}
