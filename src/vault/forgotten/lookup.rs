//! A text or a fact, held against what was forgotten.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::RwLockReadGuard;

use serde_json::Value;

use super::texts::{ANY_SCOPE, StoredForgottenNote};
use crate::access::rules::Scope;
use crate::base::state::{Digest, DigestKey, ForgottenKind, KnownTombstones, Tombstones};
use crate::text::derive::facts::{Fact, full_name, read_value, without_values};
use crate::text::derive::{PlainText, TextBlock, is_a_sentence, is_a_text, plain, readings, said};
use crate::text::note::{Note, summary_of, without_summary};

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

/// Maximum of parts of one forgetting: those of a note of 20 MB of prose.
const MAX_PARTS: usize = 200_000;

/// A part of a text that is known again by itself, as words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TextPart {
    pub(crate) kind: ForgottenKind,
    pub(crate) words: String,
}

/// What of texts is known again by itself: each whole, their paragraphs, list items and turns, and their sentences, as far as each says enough.
pub(crate) fn parts_of(texts: &[impl AsRef<str>]) -> Vec<TextPart> {
    let text = |words: String| is_a_text(&words).then_some(TextPart { kind: ForgottenKind::Text, words });
    let sentence = |words: String| is_a_sentence(&words).then_some(TextPart { kind: ForgottenKind::Sentence, words });
    let mut found: Vec<TextPart> = Vec::new();
    for said in texts.iter().flat_map(|text| readings(text.as_ref())) {
        found.extend(text(said.whole()));
        for block in said.blocks {
            let pieces = block.cells().into_iter().chain(block.sentences());
            found.extend(Some(block.words).filter(|_| !block.heading).and_then(text));
            found.extend(pieces.filter_map(|piece| sentence(piece.words)));
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|part| seen.insert(part.words.clone()));
    found.truncate(MAX_PARTS);
    found
}

pub(super) fn of_words(key: &DigestKey, words: &str) -> Digest {
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
    pub fn without(&self, text: &str, reach: &Scope) -> Option<WithoutForgotten> {
        self.all().next()?;
        let (cuts, tombstone) = self.cuts(text, reach)?;
        let left = without_cuts(text, &cuts);
        Some(WithoutForgotten { text: says(&left).then(|| left.trim().to_owned()), tombstone })
    }

    /// What stays of a file: of one of facts the values that are none of that, of any note its frontmatter but for a summary that says what was
    /// forgotten, and each byte of its body that is none of that. Where a line goes, its end goes with it. What `keeps` says of a value of a
    /// fact, or of another part, stays.
    pub(crate) fn without_in_file(
        &self,
        source: &str,
        is_of_facts: bool,
        reach: &Scope,
        keeps: &dyn Fn(Option<&Fact>, &str) -> bool,
    ) -> Option<WithoutForgotten> {
        self.all().next()?;
        let met = std::cell::Cell::new(None);
        let goes = |fact: &Fact, value: &str| {
            let known = FactToWrite { namespace: &fact.namespace, key: &fact.key, value };
            let known = self.in_fact(ANY_SCOPE, known, reach).filter(|_| !keeps(Some(fact), value));
            met.set(met.get().or(known));
            known.is_some()
        };
        let text = if is_of_facts { without_values(source, goes).into() } else { Cow::Borrowed(source) };
        match self.without_in_note(&Note::parse(&text, ""), &text, reach, |part| keeps(None, part)) {
            Some(left) => Some(WithoutForgotten { tombstone: met.get().unwrap_or(left.tombstone), ..left }),
            None => Some(WithoutForgotten { tombstone: met.get()?, text: Some(text.into_owned()) }),
        }
    }

    fn without_in_note(
        &self,
        note: &Note,
        source: &str,
        reach: &Scope,
        keeps: impl Fn(&str) -> bool,
    ) -> Option<WithoutForgotten> {
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
    fn cuts(&self, text: &str, reach: &Scope) -> Option<(Vec<Range<usize>>, i64)> {
        readings(text).iter().find_map(|said| self.cuts_of(text, said, reach))
    }

    fn cuts_of(&self, text: &str, said: &PlainText, reach: &Scope) -> Option<(Vec<Range<usize>>, i64)> {
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
            for (span, tombstone) in self.in_block(&block, &Scope::Everything) {
                line += text[at..span.start].bytes().filter(|byte| *byte == b'\n').count();
                at = span.start;
                lines.push((line, tombstone));
            }
        }
        lines.dedup_by_key(|(line, _)| *line);
        lines
    }

    /// Whether a fact was forgotten.
    pub fn has_fact(&self, scope: &str, name: &str, value: &str, reach: &Scope) -> Option<i64> {
        self.with(|key| of_fact(key, scope, name, value), reach)
    }

    /// Where something of a block was forgotten: all of it, or cells and sentences.
    fn in_block(&self, block: &TextBlock, reach: &Scope) -> Vec<(Range<usize>, i64)> {
        let find = |words: &str, is_text: bool| {
            let is_told = (is_text && !block.heading && is_a_text(words)) || is_a_sentence(words);
            is_told.then(|| self.find(words, reach)).flatten()
        };
        if let Some(tombstone) = find(&block.words, true) {
            return vec![(block.span.clone(), tombstone)];
        }
        let within = |span: &Range<usize>| span.start - block.span.start..span.end - block.span.start;
        let cells = block.cells().into_iter().filter_map(|cell| Some((cell.span, find(&cell.words, true)?)));
        let sentences = block.sentences().into_iter().filter_map(|sentence| {
            if let Some(tombstone) = find(&sentence.words, false) {
                return Some((sentence.span, tombstone));
            }
            // A prompt puts a citation in brackets behind it.
            let said = block.said[within(&sentence.span)].trim_end();
            let end = said.ends_with([')', ']']).then(|| said.rfind(['(', '['])).flatten()?;
            Some((sentence.span.start..sentence.span.start + end, find(&plain(&said[..end]), false)?))
        });
        let mut found: Vec<(Range<usize>, i64)> = cells.chain(sentences).collect();
        found.sort_by_key(|(span, _)| (span.start, Reverse(span.end)));
        found.dedup_by(|(later, _), (before, _)| later.start < before.end);
        let cuts: Vec<Range<usize>> = found.iter().map(|(span, _)| within(span)).collect();
        match found.first() {
            Some((_, tombstone)) if plain(&without_cuts(&block.said, &cuts)).is_empty() => {
                vec![(block.span.clone(), *tombstone)]
            }
            _ => found,
        }
    }

    fn find(&self, words: &str, reach: &Scope) -> Option<i64> {
        self.with(|key| of_words(key, words), reach)
    }

    fn with(&self, digest: impl Fn(&DigestKey) -> Digest, reach: &Scope) -> Option<i64> {
        self.all().find_map(|(tombstones, key)| {
            let counts = |about: &str| {
                matches!(reach, Scope::Everything)
                    || serde_json::from_str::<StoredForgottenNote>(about).is_ok_and(|place| place.is_in(reach, key))
            };
            tombstones.with(&digest(key)).find(|tombstone| counts(&tombstone.about)).map(|tombstone| tombstone.id)
        })
    }
}

/// A fact as it is about to stand in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactToWrite<'a> {
    /// The headings above it, joined by `/`.
    pub namespace: &'a str,
    /// Its key.
    pub key: &'a str,
    /// Its value as written.
    pub value: &'a str,
}

impl ForgottenLookup<'_> {
    /// Which tombstone a fact of a memory scope meets: as a fact, or because its value, its key, its line or a heading above it says what was
    /// forgotten.
    pub(crate) fn in_fact(&self, scope: &str, fact: FactToWrite<'_>, reach: &Scope) -> Option<i64> {
        if self.is_empty() {
            return None;
        }
        let FactToWrite { namespace, key, value } = fact;
        let mut texts = vec![value.to_owned(), key.replace('_', " "), format!("{key}: {value}"), namespace.to_owned()];
        texts.extend(namespace.split('/').map(str::to_owned));
        // What stands in quotes, in a list or a map, by itself and behind its key.
        if value.starts_with(['"', '\'', '[', '{'])
            && let Ok(value) = read_value(value)
        {
            said_by_value(key, &value, &mut texts);
        }
        let in_text = |text: &String| self.without(text, reach).map(|left| left.tombstone);
        self.has_fact(scope, &full_name(namespace, key), value, reach).or_else(|| texts.iter().find_map(in_text))
    }
}

/// What a value says below a key.
fn said_by_value(key: &str, value: &Value, parts: &mut Vec<String>) {
    match value {
        Value::String(text) => parts.extend([text.clone(), format!("{key}: {text}")]),
        Value::Array(values) => values.iter().for_each(|value| said_by_value(key, value, parts)),
        Value::Object(map) => {
            for (key, value) in map {
                parts.push(key.clone());
                said_by_value(key, value, parts);
            }
        }
        // Every scalar of a fact is a text.
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
