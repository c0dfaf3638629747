//! A text, held against what was forgotten.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, RwLockReadGuard};

use super::place::{KeptPlace, TombstoneScope};
use crate::derive::{Said, SaidBlock, SaidSentence, is_a_sentence, is_a_text, plain, readings, said};
use crate::note::{Note, summary_of, without_summary};
use crate::state::{Digest, DigestKey, ForgottenKind, KnownTombstones, State, StateError, Tombstones, join_brought};

/// What was forgotten, to be asked by one who is about to write. While it is held nothing more is forgotten.
pub struct ForgottenLookup<'f> {
    pub(super) _writing: Option<RwLockReadGuard<'f, ()>>,
    pub(super) known: Option<KnownTombstones>,
}

/// What stays of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutForgotten {
    /// The text without what was forgotten; `None` where nothing is left of it.
    pub text: Option<String>,
    /// The first tombstone that it met.
    pub tombstone: i64,
}

/// Maximum of digests of one forgetting: those of a note of 20 MB of prose.
const MAX_DIGESTS: usize = 200_000;

/// The digests of what goes: of all of it, its paragraphs, list items and turns, and its sentences, as far as each says enough.
pub(super) fn digests(key: &DigestKey, texts: &[&str]) -> Vec<(ForgottenKind, Digest)> {
    let mut found: Vec<(ForgottenKind, String)> = Vec::new();
    for text in texts {
        let Said { blocks } = said(text);
        let whole = Said { blocks: blocks.clone() }.whole();
        if is_a_text(&whole) {
            found.push((ForgottenKind::Text, whole));
        }
        for block in blocks {
            if !block.heading && is_a_text(&block.words) {
                found.push((ForgottenKind::Text, block.words));
            }
            let cells = block.cells.into_iter().flat_map(|cell| {
                let sentences = cell.sentences.into_iter().map(|sentence| sentence.words);
                std::iter::once(cell.words).chain(sentences)
            });
            let sentences = block.sentences.into_iter().map(|sentence| sentence.words).chain(cells);
            let sentences = sentences.filter(|words| is_a_sentence(words));
            found.extend(sentences.map(|words| (ForgottenKind::Sentence, words)));
        }
    }
    let mut seen = std::collections::HashSet::new();
    let digests = found.into_iter().map(|(kind, words)| (kind, of_words(key, &words)));
    digests.filter(|(_, digest)| seen.insert(*digest)).take(MAX_DIGESTS).collect()
}

fn of_words(key: &DigestKey, words: &str) -> Digest {
    key.digest("said", &[words.as_bytes()])
}

/// The digest of a fact. Case, marks and blanks do not count; a value without a word is as it is.
pub(super) fn of_fact(key: &DigestKey, scope: &str, name: &str, value: &str) -> Digest {
    let words = |text: &str| match plain(text) {
        words if words.is_empty() => text.trim().to_owned(),
        words => words,
    };
    let parts = [words(scope), name.trim().to_lowercase(), words(value)];
    key.digest("fact", &[parts[0].as_bytes(), parts[1].as_bytes(), parts[2].as_bytes()])
}

/// A text without some places of it.
fn without_cuts(text: &str, cuts: &[Range<usize>]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        left.push_str(text.get(at..cut.start).unwrap_or_default());
        at = cut.end.max(at);
    }
    left.push_str(text.get(at..).unwrap_or_default());
    left
}

/// The frontmatter of a note without the summary in it; nothing of it where its lines are not plain enough for that.
fn head_without_summary<'s>(source: &'s str, head: &'s str) -> Cow<'s, str> {
    let without = without_summary(source).unwrap_or_else(|| source[head.len()..].to_owned());
    let end = without.len().saturating_sub(source.len() - head.len());
    without[..end].to_owned().into()
}

/// Whether a text says anything: a heading of nothing says what was below it.
fn says(text: &str) -> bool {
    said(text).blocks.iter().any(|block| !block.heading)
}

impl ForgottenLookup<'static> {
    /// What an archive has brought as files in `folder`, and what was forgotten in the vault of a `state`, as [`join_brought`] has it.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn brought(folder: &Path, state: Option<&Arc<State>>) -> Result<Self, StateError> {
        Ok(Self { _writing: None, known: join_brought(folder, state)? })
    }
}

impl ForgottenLookup<'_> {
    /// Whether nothing was ever forgotten for good.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// What was forgotten, by each of its keys.
    fn all(&self) -> impl Iterator<Item = (&Tombstones, &DigestKey)> {
        self.known.iter().flat_map(|(all, keys)| keys.iter().map(|key| (&**all, key)))
    }

    /// What stays of a text; `None` where nothing of it was forgotten. A text goes whole, else its blocks, else its sentences.
    pub fn without(&self, text: &str, reach: TombstoneScope<'_>) -> Option<WithoutForgotten> {
        self.all().next()?;
        let (cuts, tombstone) = self.cuts(text, reach)?;
        let left = without_cuts(text, &cuts);
        Some(WithoutForgotten { text: says(&left).then(|| left.trim().to_owned()), tombstone })
    }

    /// What stays of a whole note: its frontmatter but for a summary that says what was forgotten, and each byte of its body that is none of
    /// that. Where a line goes, its end goes with it. What `keeps` says of a part of it stays.
    pub fn without_in_note(
        &self,
        note: &Note,
        source: &str,
        reach: TombstoneScope<'_>,
        keeps: impl Fn(&str) -> bool,
    ) -> Option<WithoutForgotten> {
        self.all().next()?;
        let (head, body) = (&source[..note.body.start], &source[note.body.clone()]);
        let summary = summary_of(source).filter(|summary| !keeps(summary));
        let summary = summary.and_then(|summary| self.cuts(&summary, reach)).map(|(_, tombstone)| tombstone);
        let head = summary.map_or(head.into(), |_| head_without_summary(source, head));
        let (mut cuts, tombstone) = self.cuts(body, reach).unzip();
        let cuts = cuts.get_or_insert_default();
        cuts.retain(|cut| !keeps(&body[cut.clone()]));
        let tombstone = tombstone.filter(|_| !cuts.is_empty()).or(summary)?;
        for cut in &mut *cuts {
            // A block may have its end already.
            let is_line = (cut.start == 0 || body[..cut.start].ends_with('\n')) && !body[..cut.end].ends_with('\n');
            let rest = &body[cut.end..];
            let end = ["\r\n", "\n"].into_iter().find(|end| rest.starts_with(end)).map_or(0, str::len);
            cut.end += if is_line { end } else { 0 };
        }
        let left = without_cuts(body, cuts);
        let text = (cuts.is_empty() || says(&left)).then(|| format!("{head}{left}{}", &source[note.body.end..]));
        Some(WithoutForgotten { text, tombstone })
    }

    /// Where a text says what was forgotten, in its order, and the first tombstone: all of it, else its blocks, else its sentences.
    fn cuts(&self, text: &str, reach: TombstoneScope<'_>) -> Option<(Vec<Range<usize>>, i64)> {
        readings(text).iter().find_map(|said| self.cuts_of(text, said, reach))
    }

    fn cuts_of(&self, text: &str, said: &Said, reach: TombstoneScope<'_>) -> Option<(Vec<Range<usize>>, i64)> {
        let whole = said.whole();
        if (is_a_text(&whole) || is_a_sentence(&whole))
            && let Some(tombstone) = self.find(&whole, reach)
        {
            return Some((std::iter::once(0..text.len()).collect(), tombstone));
        }
        let found = said.blocks.iter().flat_map(|block| self.in_block(block, reach));
        let (cuts, tombstones): (Vec<_>, Vec<_>) = found.unzip();
        Some((cuts, *tombstones.first()?))
    }

    /// The lines of a text, from 1, that were forgotten, each with its tombstone.
    pub fn lines(&self, text: &str) -> Vec<(usize, i64)> {
        if self.is_empty() {
            return Vec::new();
        }
        let (mut lines, mut line, mut at) = (Vec::new(), 1, 0);
        for block in said(text).blocks {
            for (span, tombstone) in self.in_block(&block, TombstoneScope::All) {
                line += text[at..span.start].bytes().filter(|byte| *byte == b'\n').count();
                at = span.start;
                lines.push((line, tombstone));
            }
        }
        lines.dedup_by_key(|(line, _)| *line);
        lines
    }

    /// Whether a fact was forgotten.
    pub fn has_fact(&self, scope: &str, name: &str, value: &str, reach: TombstoneScope<'_>) -> Option<i64> {
        self.with(|key| of_fact(key, scope, name, value), reach)
    }

    /// Where something of a block was forgotten: all of it, or cells and sentences.
    fn in_block(&self, block: &SaidBlock, reach: TombstoneScope<'_>) -> Vec<(Range<usize>, i64)> {
        if !block.heading
            && is_a_text(&block.words)
            && let Some(tombstone) = self.find(&block.words, reach)
        {
            return vec![(block.span.clone(), tombstone)];
        }
        let of_sentences = |sentences: &[SaidSentence]| -> Vec<(Range<usize>, i64)> {
            let sentences = sentences.iter().filter(|sentence| is_a_sentence(&sentence.words));
            sentences.filter_map(|sentence| Some((sentence.span.clone(), self.find(&sentence.words, reach)?))).collect()
        };
        let mut found = of_sentences(&block.sentences);
        let mut whole = found.len() == block.sentences.len();
        let mut cells = 0;
        for cell in &block.cells {
            let is_one = is_a_sentence(&cell.words) || (!block.heading && is_a_text(&cell.words));
            match self.find(&cell.words, reach).filter(|_| is_one) {
                Some(tombstone) => {
                    cells += 1;
                    found.push((cell.span.clone(), tombstone));
                }
                None => found.extend(of_sentences(&cell.sentences)),
            }
        }
        whole |= cells > 0 && cells == block.cells.len();
        found.sort_by_key(|(span, _)| (span.start, Reverse(span.end)));
        found.dedup_by(|(later, _), (before, _)| later.start < before.end);
        match found.first() {
            Some((_, tombstone)) if whole => vec![(block.span.clone(), *tombstone)],
            _ => found,
        }
    }

    fn find(&self, words: &str, reach: TombstoneScope<'_>) -> Option<i64> {
        self.with(|key| of_words(key, words), reach)
    }

    fn with(&self, digest: impl Fn(&DigestKey) -> Digest, reach: TombstoneScope<'_>) -> Option<i64> {
        self.all().find_map(|(tombstones, key)| {
            let counts = |about: &str| match reach {
                TombstoneScope::All => true,
                TombstoneScope::Agent(_) => {
                    serde_json::from_str::<KeptPlace>(about).is_ok_and(|place| place.is_in(reach, key))
                }
            };
            tombstones.with(&digest(key)).find(|tombstone| counts(&tombstone.about)).map(|tombstone| tombstone.id)
        })
    }
}
