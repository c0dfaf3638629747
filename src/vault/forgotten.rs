//! What was forgotten for good stays forgotten: a text that was purged is known again, in whatever file or marks, by keyed digests of
//! its words and of its sentences. Whoever is about to write down what a program or an agent brings asks here first.
//!
//! Senders and agents are told nothing of it: what they hear is success. An agent's text is held against what that agent could read
//! alone, so that no guess of what it could not read ever comes out. The person may write anything again; it is pointed out.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::access::rules::{Scope, is_agents, own_file};
use crate::base::path::{VaultPath, folded};
use crate::base::state::{
    Digest, DigestKey, ForgottenKind, KnownTombstones, LeftOut, LeftOutTable, State, StateError, TombstoneTable,
    Tombstones,
};
use crate::text::derive::facts::{Fact, full_name, read_value, without_values};
use crate::text::derive::{PlainText, TextBlock, is_a_sentence, is_a_text, plain, readings, said};
use crate::text::note::{Note, summary_of, without_summary};

/// What was forgotten for good, and what was left out because of it.
#[derive(Debug)]
pub struct ForgottenTexts {
    state: Arc<State>,
    /// What was forgotten.
    pub(crate) tombstones: TombstoneTable,
    /// What was left out.
    pub(crate) left_out: LeftOutTable,
    /// Who asks and then writes holds it: what was asked before something is forgotten is written before, too.
    writing: RwLock<()>,
    /// What was forgotten when files were looked over, and what was found in each.
    looked: Mutex<Looked>,
}

type Looked = (Option<Arc<Tombstones>>, HashMap<VaultPath, LookedAt>);

/// A note as it was looked at: its hash, and the lines that were forgotten, each with its tombstone.
type LookedAt = ([u8; 32], Vec<(usize, i64)>);

/// Stands for all memory scopes: what was forgotten in one comes again in another.
pub(crate) const ANY_SCOPE: &str = "*";

impl ForgottenTexts {
    /// Of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let (tombstones, left_out) = (TombstoneTable::new(state), LeftOutTable::new(state));
        Self { state: Arc::clone(state), tombstones, left_out, writing: RwLock::default(), looked: Mutex::default() }
    }

    /// What was forgotten, for one who is about to write, and holds it until that is done.
    ///
    /// # Errors
    /// When the state cannot be read: then nothing may be written.
    pub fn ask(&self) -> Result<ForgottenLookup<'_>, StateError> {
        let writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        Ok(ForgottenLookup { _writing: Some(writing), known: self.known()? })
    }

    /// The same for one who only looks.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn look(&self) -> Result<ForgottenLookup<'static>, StateError> {
        Ok(ForgottenLookup { _writing: None, known: self.known()? })
    }

    fn known(&self) -> Result<Option<KnownTombstones>, StateError> {
        let all = self.tombstones.all()?;
        if all.all.is_empty() { Ok(None) } else { Ok(Some((all, self.state.keys()?))) }
    }

    /// Remembers parts of texts and facts of a memory scope as forgotten, safe on disk when this returns; gives the number that lifts all of
    /// it. Each fact is one of its scope and one of any; a name is namespace and key, joined by `/`. Nothing, where all of it says too little
    /// to be known again. `purge` is the one that is under way, if one is, and which of the things in its list this is.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub(crate) fn remember(
        &self,
        place: &ForgottenNote,
        parts: &[TextPart],
        scope: &str,
        facts: &[(String, &str)],
        purge: Option<(i64, Option<usize>)>,
    ) -> Result<Option<i64>, StateError> {
        let key = self.state.key_or_new()?;
        let digest = |scope: &str, name: &str, value: &str| (ForgottenKind::Fact, of_fact(&key, scope, name, value));
        let both = |(name, value): &(String, &str)| [scope, ANY_SCOPE].map(|scope| digest(scope, name, value));
        let digests: Vec<_> = parts
            .iter()
            .map(|part| (part.kind, of_words(&key, &part.words)))
            .chain(facts.iter().flat_map(both))
            .collect();
        if digests.is_empty() {
            return Ok(None);
        }
        let about = encoded(&place.kept(&key));
        let _none_writes = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        self.tombstones.add(Timestamp::now(), &place.shown(), &about, &digests, purge).map(Some)
    }

    /// A note is gone for good: its name goes from what was forgotten of it before. `readers` are those that could read it.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn gone(&self, path: &VaultPath, readers: &[String]) -> Result<(), StateError> {
        for tombstone in &self.tombstones.all()?.all {
            let Ok(mut place) = serde_json::from_str::<StoredForgottenNote>(&tombstone.about) else { continue };
            if place.path.as_deref() == Some(path.as_str()) {
                (place.path, place.readers) = (None, readers.to_vec());
                self.tombstones.set_place(tombstone.id, &folder_of(path), &encoded(&place))?;
            }
        }
        Ok(())
    }

    /// The lines of a note, from 1, that were `known` as forgotten, each with what was: the person has written them again. What was found in
    /// a note that has not changed is remembered; of another they are looked for by `find`, if that may be (`reads`), else nothing is known.
    pub fn lines_of(
        &self,
        known: &ForgottenLookup<'_>,
        path: &VaultPath,
        hash: &[u8; 32],
        reads: bool,
        find: impl FnOnce() -> Vec<(usize, i64)>,
    ) -> Option<Vec<(usize, i64)>> {
        let Some((tombstones, _)) = &known.known else { return Some(Vec::new()) };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.0.as_ref().is_none_or(|before| !Arc::ptr_eq(before, tombstones)) {
            *looked = (Some(Arc::clone(tombstones)), HashMap::new());
        }
        match looked.1.get(path) {
            Some((at, lines)) if at == hash => Some(lines.clone()),
            _ if !reads => None,
            _ => {
                let lines = find();
                looked.1.insert(path.clone(), (*hash, lines.clone()));
                Some(lines)
            }
        }
    }

    /// Notes what was left out, all of it or a part, for the person to see: who brought it, and what it was for.
    pub fn note(&self, by: &str, into: &str, whole: bool, tombstone: i64) {
        let (at, by, into) = (Timestamp::now(), by.to_owned(), into.to_owned());
        self.left_out.add(LeftOut { at, by, into, whole, tombstone });
    }
}

fn encoded(place: &StoredForgottenNote) -> String {
    // It is made of texts and switches alone.
    serde_json::to_string(place).unwrap_or_default()
}

/// A note out of which something goes for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgottenNote {
    /// The note.
    pub path: VaultPath,
    /// Its tags, and what may be meant as some.
    pub tags: Vec<String>,
    /// Whether no agent reads it.
    pub private: bool,
    /// Whether it was made of other notes, and is seen where those are.
    pub derived: bool,
    /// The agents that could read it.
    pub readers: Vec<String>,
    /// Whether all of it goes: then its name is not kept either.
    pub gone: bool,
}

/// What is kept of a place: no name of what is gone, and of tags digests alone.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredForgottenNote {
    /// The note, while it is there.
    path: Option<String>,
    collection: String,
    /// Whose own memory it is of.
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    private: bool,
    derived: bool,
    /// Those that could read it then.
    readers: Vec<String>,
}

/// The folder that stands for a note that is gone for good: its collection, or the folder of an agent.
pub(crate) fn folder_of(path: &VaultPath) -> String {
    match own_slug(path.as_str()) {
        Some(slug) => format!("agents/{slug}/"),
        None => path.as_str().split_once('/').map_or_else(|| "./".into(), |(top, _)| format!("{top}/")),
    }
}

fn own_slug(path: &str) -> Option<&str> {
    let rest = path.split_once('/').filter(|_| is_agents(path))?.1;
    rest.split_once('/').map(|(slug, _)| slug)
}

/// Whether a file is an agent's own memory, which it reads: its page and what waits for the person are not.
fn is_own(path: &str) -> bool {
    own_slug(path).is_some_and(|slug| own_file(slug, path).is_some())
}

impl ForgottenNote {
    /// As the person is shown it.
    fn shown(&self) -> String {
        if self.gone { folder_of(&self.path) } else { self.path.to_string() }
    }

    fn kept(&self, key: &DigestKey) -> StoredForgottenNote {
        let above = |tag: &String| {
            let tag = folded(tag);
            let ends = tag.match_indices('/').map(|(at, _)| at).chain([tag.len()]);
            ends.map(|end| digest_of(key, &tag[..end])).collect::<Vec<_>>()
        };
        let mut tags: Vec<String> = self.tags.iter().flat_map(above).collect();
        tags.sort_unstable();
        tags.dedup();
        StoredForgottenNote {
            path: (!self.gone).then(|| self.path.to_string()),
            collection: self.path.collection().to_owned(),
            agent: own_slug(self.path.as_str()).map(str::to_owned),
            tags,
            private: self.private || (is_agents(self.path.as_str()) && !is_own(self.path.as_str())),
            derived: self.derived,
            readers: self.readers.clone(),
        }
    }
}

fn digest_of(key: &DigestKey, tag: &str) -> String {
    key.digest("tag", &[tag.as_bytes()]).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl StoredForgottenNote {
    /// Whether somebody could read what was there, by the rules as they are now. In doubt not: then the text is kept as any is.
    fn is_in(&self, reach: &Scope, key: &DigestKey) -> bool {
        let (slugs, given) = match reach {
            Scope::Everything => return true,
            Scope::Own { slugs, given } => (slugs, given),
            Scope::Public | Scope::Nothing | Scope::Given(_) => return false,
        };
        if let Some(slug) = &self.agent {
            return !self.private && slugs.contains(slug) && self.path.as_deref().is_none_or(is_own);
        }
        if is_agents(&self.collection) {
            return false;
        }
        let Some(grant) = given else { return false };
        // Its own memory comes before what others share with it.
        let read_it_then = || slugs.first().is_some_and(|slug| self.readers.contains(slug));
        let excluded = |tag: &String| self.tags.contains(&digest_of(key, tag));
        !self.private
            && grant.has_collection(&self.collection)
            && !grant.exclude_tags.iter().any(excluded)
            && !grant.hidden_sessions().any(|(mark, own)| excluded(&mark) && !own.is_some_and(|own| excluded(&own)))
            && match &self.path {
                Some(path) => grant.has_path(path),
                None => !grant.has_path_rules() || read_it_then(),
            }
            && (!self.derived || read_it_then())
    }
}

/// What was forgotten, to be asked by one who is about to write. While it is held nothing more is forgotten.
pub struct ForgottenLookup<'f> {
    _writing: Option<RwLockReadGuard<'f, ()>>,
    known: Option<KnownTombstones>,
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

fn of_words(key: &DigestKey, words: &str) -> Digest {
    key.digest("said", &[words.as_bytes()])
}

/// The digest of a fact. Case, marks and blanks do not count; a value without a word is as it is.
fn of_fact(key: &DigestKey, scope: &str, name: &str, value: &str) -> Digest {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn forgotten(texts: &[&str]) -> (tempfile::TempDir, ForgottenTexts) {
        let folder = tempfile::tempdir().unwrap();
        let forgotten = ForgottenTexts::new(&State::in_folder(folder.path()));
        let path = VaultPath::new("notes/a.md").unwrap();
        let place = ForgottenNote { path, tags: vec![], private: false, derived: false, readers: vec![], gone: false };
        forgotten.remember(&place, &parts_of(texts), "", &[], None).unwrap();
        (folder, forgotten)
    }

    #[test]
    fn what_was_forgotten_is_left_out_and_nothing_else() {
        let secret = "# Bread\n\nThe key lies under the third pot. Thanks!\n\n- Bob owes me 40 euros\n- I like tea\n";
        let (_folder, forgotten) = forgotten(&[secret]);
        let asked = forgotten.ask().unwrap();
        let left = |text: &str| asked.without(text, &Scope::Everything).map(|left| left.text);
        for all in [
            secret,
            "the key lies under the third pot",
            "> **The key** lies under\n> the third pot!",
            "1. Bob owes me 40 Euros.",
            "I like tea",
            "<p>The <b>key</b> lies under the third pot.</p>",
            "| I like tea | The key lies under the third pot. |",
            "## Today\n\n- I like tea\n- bob owes me 40 euros",
        ] {
            assert_eq!(left(all), Some(None), "{all}");
        }
        for (text, kept) in [
            ("Go. The key lies under the third pot. Now.", "Go. Now."),
            ("- I like tea\n- I like coffee", "- I like coffee"),
            ("one\n\nBob owes me 40 euros\n\ntwo", "one\n\n\ntwo"),
            ("| The key lies under the third pot. | x |", "| | x |"),
            ("<tr><td>I like tea</td><td>x</td></tr>", "<tr><td></td><td>x</td></tr>"),
            ("one | Bob owes me 40 euros | two", "one | | two"),
            ("See: a.\nThe key lies under\nthe third pot. End.", "See: a.\nEnd."),
        ] {
            assert_eq!(left(text), Some(Some(kept.into())), "{text}");
        }
        for other in [
            "Thanks!", "Bread", "The key lies under the fourth pot.", "| Thanks! | x |", "<p>Bread</p>",
            "Do you know that I like tea? Yes.", "",
        ] {
            assert_eq!(left(other), None, "{other}");
        }
        assert_eq!(asked.lines("x\n\n# y\n- I like tea\n- z\n").iter().map(|(at, _)| *at).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn of_a_note_the_summary_goes_too_and_no_blank_line() {
        let secret = "- The key lies under the third pot\n- I like tea very much\n";
        let (_folder, forgotten) = forgotten(&[secret]);
        let asked = forgotten.ask().unwrap();
        let left = |text: &str| {
            let left = asked.without_in_file(text, false, &Scope::Everything, &|_, _| false);
            left.map(|left| left.text)
        };
        let item = "- The key lies under the third pot\n";
        assert_eq!(left(&format!("- a: 1\n{item}\nProse.\n")).unwrap().unwrap(), "- a: 1\n\nProse.\n");
        let note = |head: &str| format!("---\n{head}tags: [x]\n---\nProse.\n");
        assert_eq!(left(&note("summary: The key lies under the third pot.\n")).unwrap().unwrap(), note(""));
        let long = "summary: >-\n  Pots. The key lies\n  under the third pot.\n";
        assert_eq!(left(&note(long)).unwrap().unwrap(), note(""));
        assert_eq!(left(&note("summary: Of pots.\n")), None);
        let shared = note("summary: &s The key lies under the third pot.\nother: *s\n");
        assert_eq!(left(&shared).unwrap().unwrap(), "Prose.\n", "its lines cannot be told apart");
        let all = note("summary: I like tea very much\n").replace("Prose.", item.trim_end());
        assert_eq!(left(&all).unwrap(), None);
        let kept = asked.without_in_file(&all, false, &Scope::Everything, &|_, part| part.contains("tea"));
        assert_eq!(kept.unwrap().text, None, "nothing is left below it");
    }

    #[test]
    fn facts_are_known_by_scope_key_and_value() {
        let (_folder, forgotten) = forgotten(&[]);
        assert!(forgotten.ask().unwrap().is_empty(), "nothing is remembered of nothing");
        let path = VaultPath::new("facts.md").unwrap();
        let place = ForgottenNote { path, tags: vec![], private: false, derived: false, readers: vec![], gone: false };
        let id = forgotten.remember(&place, &[], "user", &[("home/Code".into(), "47-11")], None).unwrap().unwrap();
        let has = |scope: &str, name: &str, value: &str| {
            forgotten.ask().unwrap().has_fact(scope, name, value, &Scope::Everything) == Some(id)
        };
        assert!(has("user", "home/code", "47 11") && !has("user", "home/code", "4711"));
        assert!(!has("system", "home/code", "47-11") && !has("user", "code", "47-11"));
        assert!(forgotten.tombstones.remove(id).unwrap() && !has("user", "home/code", "47-11"));
    }

    #[test]
    fn a_fact_is_known_by_whatever_of_it_says_what_was_forgotten() {
        let (_folder, forgotten) = forgotten(&["PIN 4711", "The zibeline key lies under the third flowerpot."]);
        let asked = forgotten.ask().unwrap();
        let has = |namespace: &str, key: &str, value: &str| {
            asked.in_fact("user", FactToWrite { namespace, key, value }, &Scope::Everything).is_some()
        };
        for (namespace, key, value) in [
            ("x", "PIN", "4711"),
            ("x", "PIN", "'4711'"),
            ("x", "pin", "[4711, 5]"),
            ("x", "codes", "{pin: 4711}"),
            ("x", "codes", "[{a: {Pin: 4711}}]"),
            ("the zibeline key lies under the third flowerpot", "a", "yes"),
            ("x/the zibeline key lies under the third flowerpot", "a", "yes"),
            ("x", "the_zibeline_key_lies_under_the_third_flowerpot", "yes"),
            ("x", "ok", "[\"The zibeline key lies under the third flowerpot.\", b]"),
            ("x", "ok", "{The zibeline key lies under the third flowerpot: b}"),
            ("x", "ok", "Well. The zibeline key lies under the third flowerpot."),
        ] {
            assert!(has(namespace, key, value), "{namespace}/{key}: {value}");
        }
        for (namespace, key, value) in
            [("x", "pin", "4712"), ("x", "code", "4711"), ("pin", "a", "4711"), ("", "ok", "[a, b]")]
        {
            assert!(!has(namespace, key, value), "{namespace}/{key}: {value}");
        }
    }

    #[test]
    fn a_note_that_is_gone_is_named_no_more() {
        let (folder, forgotten) = forgotten(&["The key lies under the third pot."]);
        let path = VaultPath::new("notes/a.md").unwrap();
        assert_eq!(forgotten.tombstones.all().unwrap().all[0].place, "notes/a.md");
        forgotten.gone(&path, &["ada".into()]).unwrap();
        let tombstone = &forgotten.tombstones.all().unwrap().all[0];
        assert_eq!(tombstone.place, "notes/");
        assert!(!tombstone.about.contains("a.md") && tombstone.about.contains("ada"), "{}", tombstone.about);
        assert!(
            ForgottenTexts::new(&State::in_folder(folder.path()))
                .ask()
                .unwrap()
                .without("the key lies under the third pot", &Scope::Everything)
                .is_some()
        );
    }
}

#[cfg(test)]
mod tests_of_place {
    use std::sync::Arc;

    use super::*;
    use crate::access::rules::Grant;
    use crate::base::state::State;

    fn place(path: &str, tags: &[&str], gone: bool) -> ForgottenNote {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let path = VaultPath::new(path).unwrap();
        ForgottenNote { path, tags, private: false, derived: false, readers: vec!["ada".into()], gone }
    }

    #[test]
    fn an_agent_is_held_to_what_it_could_read() {
        let folder = tempfile::tempdir().unwrap();
        let key = State::in_folder(folder.path()).key_or_new().unwrap();
        let globs = |glob: &str| crate::access::rules::Globs::new(&[glob]).unwrap();
        let grant = |collections: &str, tag: &str, allowed: Option<&str>| Grant {
            collections: vec![collections.to_owned()],
            exclude_tags: vec![tag.to_owned()],
            allowed: allowed.map(globs),
            denied: crate::access::rules::Globs::default(),
            scopes: None,
            parts: Vec::new(),
            sessions: Vec::new(),
            own: "ada".into(),
            person: String::new(),
        };
        let reads = |place: &ForgottenNote, slug: &str, grant: Option<Grant>| {
            let reach = Scope::Own { slugs: vec![slug.into()], given: grant.map(Arc::new) };
            place.kept(&key).is_in(&reach, &key)
        };
        let all = |tag: &str| Some(grant("*", tag, None));
        let session = |agent: &str| place("conversations/s.md", &[&format!("@session/direct/{agent}")], false);
        assert!(reads(&session("ada"), "ada", all("x")) && !reads(&session("bob"), "ada", all("x")));
        let diary = place("notes/diary.md", &["Health/Teeth"], false);
        assert!(diary.kept(&key).is_in(&Scope::Everything, &key));
        assert!(reads(&diary, "ada", all("work")) && reads(&diary, "new", all("work")));
        assert!(
            !reads(&diary, "ada", None)
                && !reads(&diary, "ada", all("health"))
                && !reads(&diary, "ada", all("health/teeth"))
        );
        assert!(!reads(&diary, "ada", Some(grant("files", "x", None))));
        assert!(!reads(&diary, "ada", Some(grant("*", "x", Some("notes/work/**")))));
        assert!(reads(&diary, "ada", Some(grant("*", "x", Some("notes/d*")))));
        let gone = place("notes/diary.md", &[], true);
        let ruled = || Some(grant("*", "x", Some("notes/d*")));
        assert!(reads(&gone, "ada", ruled()) && !reads(&gone, "new", ruled()), "its name is not known any more");
        assert!(!reads(&ForgottenNote { private: true, ..diary.clone() }, "ada", all("x")));
        assert!(!reads(&ForgottenNote { derived: true, ..diary.clone() }, "new", all("x")));
        let own = place("agents/ada/memory/n.md", &[], true);
        assert!(reads(&own, "ada", None) && !reads(&own, "bob", all("x")));
        for path in ["agents/ada/agent.md", "agents/ada/pending.md", "agents/ada/archive.md", "agents/loose.md"] {
            for gone in [false, true] {
                assert!(!reads(&place(path, &[], gone), "ada", all("x")), "{path}");
            }
        }
        assert_eq!(
            (own.shown().as_str(), gone.shown().as_str(), diary.shown().as_str()),
            ("agents/ada/", "notes/", "notes/diary.md")
        );
        let kept = serde_json::to_string(&place("notes/diary.md", &["Health/Teeth"], true).kept(&key)).unwrap();
        assert!(!kept.to_lowercase().contains("teeth") && !kept.contains("diary"), "{kept}");
    }
}
