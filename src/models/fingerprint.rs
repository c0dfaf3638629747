//! Names for what made a vector and for what a vector was made of.

use std::fmt;
use std::str::FromStr;

use super::Document;

/// Identifies what made a vector; vectors of different fingerprints are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Makes a fingerprint of everything that shapes a provider's vectors. The order of the parts counts.
    pub fn of(parts: &[&[u8]]) -> Self {
        Self(blake3_of(b"memory-vault fingerprint", parts).to_hex()[..32].to_owned())
    }

    /// A number made of it, under which stores keep what the model made: no table has to be whole for it to be known. Always four bytes
    /// long, which is by what a stored embedding is recognised in a damaged database.
    pub fn number(&self) -> i64 {
        let [a, b, c, d, ..] = *blake3::hash(self.0.as_bytes()).as_bytes();
        i64::from(u32::from_le_bytes([a, b, c, d]) >> 2 | 1 << 30)
    }

    /// Returns the 32 lower-case hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_hex(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// Names what is embedded by its exact text: with the model's fingerprint it names a vector, so that moving a file or
/// undoing an edit embeds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// Hashes a document. What model embeds it is not part of the name, so that a change of model renames nothing.
    pub fn of(document: &Document) -> Self {
        // Context and text are hashed apart: `a` + `b⏎c` and `a⏎b` + `c` read the same but are cut differently.
        Self::hashed(document, &[document.context.as_bytes(), document.text.as_bytes()])
    }

    /// The name of a document that shares its vector with no text outside of this file, whatever they say.
    pub(crate) fn within(path: &str, document: &Document) -> Self {
        Self::hashed(document, &[document.context.as_bytes(), document.text.as_bytes(), path.as_bytes()])
    }

    fn hashed(document: &Document, parts: &[&[u8]]) -> Self {
        let domain: &[u8] = if document.keeps_tokens { b"memory-vault tokens" } else { b"memory-vault content" };
        let hash = blake3_of(domain, parts);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_bytes()[..16]);
        Self(bytes)
    }

    /// Takes up a hash that was stored as bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for storing.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ContentHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_hex(text).map(Self)
    }
}

/// The text is not 32 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 32 lower-case hex digits")]
pub struct ParseHashError;

fn parse_hex(text: &str) -> Result<[u8; 16], ParseHashError> {
    let is_digits = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_digits);
    number.map(u128::to_be_bytes).ok_or(ParseHashError)
}

/// Hashes parts with their lengths, so that moving a byte from one part to the next changes the hash.
fn blake3_of(domain: &[u8], parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(domain);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(context: &str, text: &str) -> Document {
        Document { context: context.to_owned(), text: text.to_owned(), keeps_tokens: false }
    }

    #[test]
    fn a_hash_survives_display_and_parse() {
        let hash = ContentHash::of(&document("a", "b"));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(ContentHash::from_bytes(*hash.as_bytes()), hash);
        for bad in ["", "0", "zz", &"g".repeat(32), &"A".repeat(32), &"0".repeat(33)] {
            assert_eq!(bad.parse::<ContentHash>(), Err(ParseHashError), "{bad}");
            assert_eq!(bad.parse::<Fingerprint>(), Err(ParseHashError), "{bad}");
        }
    }

    #[test]
    fn every_part_counts() {
        let model = Fingerprint::of(&[b"model", b""]);
        assert_ne!(model, Fingerprint::of(&[b"", b"model"]));
        let hash = ContentHash::of(&document("a", "b\nc"));
        assert_ne!(hash, ContentHash::of(&document("a\nb", "c")));
        let within = |path| ContentHash::within(path, &document("a", "b\nc"));
        assert!(within("x.md") != hash && within("x.md") != within("y.md") && within("x.md") == within("x.md"));
        let kept = Document { keeps_tokens: true, ..document("a", "b\nc") };
        assert_ne!(hash, ContentHash::of(&kept), "what is kept of a text is no matter of which came first");
    }
}
