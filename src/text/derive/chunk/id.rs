//! The name of a chunk.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::base::path::VaultPath;
use crate::text::derive::generated::citation_spans;
use crate::text::note::{Note, merged};

/// The first 16 hexadecimal digits of a BLAKE3 over collection, path, heading path, text and, for repeats, ordinal.
///
/// It changes when the text changes, and stays when the text only moves within its section. The API calls it `hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(u64);

/// A text that is not 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a chunk's hash is 16 hexadecimal digits")]
pub struct ChunkIdError;

impl ChunkId {
    /// Names a chunk; `ordinal` counts those before it in the file that are the same in all else.
    pub(super) fn new(path: &VaultPath, heading_path: &[String], text: &str, ordinal: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        part(path.collection().as_bytes());
        part(path.as_str().as_bytes());
        part(&(heading_path.len() as u64).to_le_bytes());
        heading_path.iter().for_each(|heading| part(heading.as_bytes()));
        part(text.as_bytes());
        if ordinal > 0 {
            part(&ordinal.to_le_bytes());
        }
        let digest = hasher.finalize();
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// Names a whole note by its path and the BLAKE3 of its bytes. No chunk has the same name.
    pub fn of_note(path: &VaultPath, hash: &[u8; 32]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("memory-vault: the name of a note");
        hasher.update(path.as_str().as_bytes()).update(hash);
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// The same bits as a number, for stores that keep numbers.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The inverse of [`ChunkId::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ChunkId {
    type Err = ChunkIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ChunkIdError);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| ChunkIdError)
    }
}

/// A note and its source of the same length and lines: what is cited in it is blank, so that it makes no chunk longer, and among the comments.
pub(super) fn without_citations<'s>(note: &'s Note, source: &'s str) -> (Cow<'s, Note>, Cow<'s, str>) {
    let cited = citation_spans(note, source);
    if cited.is_empty() {
        return (Cow::Borrowed(note), source.into());
    }
    let (mut blank, mut at) = (String::with_capacity(source.len()), 0);
    for span in &cited {
        blank.push_str(&source[at..span.start]);
        blank.extend(std::iter::repeat_n(' ', span.len()));
        at = span.end;
    }
    blank.push_str(&source[at..]);
    let comments = merged([note.comments.clone(), cited].concat());
    (Cow::Owned(Note { comments, ..note.clone() }), blank.into())
}

/// Blanks that count as a token.
const BLANKS: usize = 32;

/// Estimates the WordPiece tokens of `text` from its characters, without a model, so that a change of model cuts nothing
/// anew: a word of up to 7 Latin letters is one token and each 4 letters more another, 3 digits are one, as is every
/// mark and every letter of other scripts. Blank space counts too, 32 characters for one, so that megabytes of it make no
/// endless chunk.
pub fn token_estimate(text: &str) -> usize {
    let (mut tokens, mut blanks) = (0, 0_usize);
    let (mut letters, mut digits) = (0_usize, 0_usize);
    for character in text.chars() {
        let (was_letters, was_digits) = (letters, digits);
        (letters, digits) = match character {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => (letters + 1, 0),
            '0'..='9' => (0, digits + 1),
            _ => (0, 0),
        };
        if letters == 0 {
            tokens += word_tokens(was_letters);
        }
        if digits == 0 {
            tokens += was_digits.div_ceil(3);
        }
        if character.is_whitespace() {
            blanks += 1;
            tokens += usize::from(blanks.is_multiple_of(BLANKS));
        } else {
            blanks = 0;
            tokens += usize::from(letters == 0 && digits == 0);
        }
    }
    tokens + word_tokens(letters) + digits.div_ceil(3)
}

/// The tokens of a text that grows part by part. Blank space across the seams counts; a word across one counts as two.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenTally {
    pub(super) tokens: usize,
    /// Blanks at the end.
    blanks: usize,
}

impl TokenTally {
    /// With one more part.
    pub(super) fn with(self, part: &str) -> Self {
        let blanks = |part: &str| part.chars().count();
        let (rest, body) = (part.trim_start(), part.trim_end());
        let leading = blanks(&part[..part.len() - rest.len()]);
        let across = (self.blanks + leading) / BLANKS - self.blanks / BLANKS - leading / BLANKS;
        Self {
            tokens: self.tokens + token_estimate(part) + across,
            blanks: if rest.is_empty() { self.blanks + leading } else { blanks(&part[body.len()..]) },
        }
    }
}

fn word_tokens(letters: usize) -> usize {
    match letters {
        0 => 0,
        1..=7 => 1,
        _ => 1 + (letters - 7).div_ceil(4),
    }
}

#[cfg(test)]
mod tests {
    use crate::base::path::VaultPath;
    use crate::text::derive::chunk;
    use crate::text::note::Note;

    #[test]
    fn what_a_generated_line_cites_is_in_no_chunk_and_takes_no_room() {
        let (path, meeting) =
            (VaultPath::new("summaries/m.md").unwrap(), "conversations/2026-01-05-tool-library-meeting.md");
        let line = |at: usize| format!("- Word{at} %%aside%% ({meeting}#L{at}, {meeting}#L{at}-L{})\n", at + 1);
        let lines: String = (1..=6).map(line).collect();
        let source = format!("---\ngenerated: true\nsources: [{meeting}]\n---\n## Topics\n\n{lines}");
        let chunks = chunk(&path, &Note::parse(&source, "m"), &source);
        let [one] = chunks.as_slice() else { panic!("{chunks:#?}") };
        let said: Vec<String> = (1..=6).map(|at| format!("- Word{at}")).collect();
        let shown: Vec<&str> = one.body().lines().map(str::trim_end).collect();
        assert_eq!(shown, said);
        assert_eq!(one.lines, (5, 12), "all of it is cited");
        assert_eq!(source[one.bytes.clone()], source[source.find("## ").unwrap()..].trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests_of_measure {
    use super::*;

    #[test]
    fn counts_about_as_wordpiece_does() {
        for (text, tokens) in [
            ("", 0),
            ("  \n", 0),
            ("the quick brown fox", 4),
            ("internationalization", 5),
            ("v1.96.1000", 7),
            ("東京", 2),
            ("naïve", 1),
            ("a-b", 3),
        ] {
            assert_eq!(token_estimate(text), tokens, "{text:?}");
        }
    }
}
