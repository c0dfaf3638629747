//! Words that the vault does not have: the one that is being typed goes on, and slips of the finger are made good.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::query::{NoCondition, ParsedQuery, is_condition};
use super::retrieve::{RetrievedWords, Retriever};
use crate::access::rules::Turn;
use crate::base::path::folded;
use crate::index::engine::{
    EngineError, FileSet, FileTable, Filter, Like, Predicate, Reader, WordQuery, is_at_or_below,
};
use crate::models::Embedder;
use crate::text::derive::nearest::nearest;
use crate::text::derive::words::{Stemming, is_word, plain_words};
use crate::text::derive::{CONVERSATIONS, speaker_term};

/// A word that no chunk has which is seen, and the one that was looked for in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// As it was typed, folded.
    pub typed: String,
    /// What was looked for.
    pub shown: String,
}

/// Minimum length of a word that goes on, in letters, where letters have case.
const MIN_PREFIX: usize = 3;
/// Minimum length of a word that goes on where letters have no case: there a letter says more.
const MIN_PREFIX_WITHOUT_CASE: usize = 2;
/// Minimum length of a word in which one letter may be wrong. Two neighbours that changed places are one.
const MIN_ONE_EDIT: usize = 4;
/// Minimum length of a word in which a letter may be another one. Of shorter words that is another word: `bike`, `bake`, `like`.
const MIN_OTHER_LETTER: usize = 5;
/// Minimum length of a word in which two letters may be wrong.
const MIN_TWO_EDITS: usize = 8;
/// Maximum number of words that one goes on to.
const MAX_COMPLETIONS: usize = 8;

/// A query with the words that were looked for beside those that were typed.
#[derive(Debug, Default)]
pub(super) struct Respelled {
    /// What was corrected, which is to be said; what only goes on is not.
    pub(super) corrections: Vec<Correction>,
    /// The likeliest words alone, when they are others than were typed.
    pub(super) likeliest: Option<WordQuery>,
}

/// Looks for words that are like those that no chunk of the scope has, and puts them beside them.
pub(super) fn respell(
    query: &mut ParsedQuery,
    words: &RetrievedWords<'_>,
    retriever: &Retriever<'_>,
    embedder: Option<&dyn Embedder>,
) -> Result<Respelled, EngineError> {
    let mut corrections = Vec::new();
    let mut added = Vec::new();
    let mut likeliest = query.keyword.clone();
    for word in &query.keyword.words.clone() {
        let completes = query.prefixes.contains(word);
        if !completes && words.has(word) {
            continue;
        }
        let typed = completes || query.open.as_ref() == Some(word);
        let mut shown = if typed { completions(word, completes, retriever)? } else { Vec::new() };
        // A word that no note has is one all the same: its meaning is searched for as it is.
        let is_word = || embedder.is_some_and(|embedder| embedder.has_word(word));
        if shown.is_empty() && !completes && !is_word() {
            shown.extend(near(word, retriever)?);
            corrections.extend(shown.first().map(|shown| Correction { typed: word.clone(), shown: shown.clone() }));
        }
        if let Some(best) = shown.first() {
            query.semantic = replaced(&query.semantic, word, best);
            likeliest.words.iter_mut().filter(|other| *other == word).for_each(|other| best.clone_into(other));
            added.extend(shown);
        }
    }
    added.retain(|word| !query.keyword.words.contains(word));
    query.keyword.words.extend(added);
    let likeliest = (likeliest != query.keyword).then_some(likeliest);
    Ok(Respelled { corrections, likeliest })
}

/// The words that begin so, those of most chunks first.
fn completions(word: &str, asked: bool, retriever: &Retriever<'_>) -> Result<Vec<String>, EngineError> {
    let min = if word.chars().all(char::is_lowercase) { MIN_PREFIX } else { MIN_PREFIX_WITHOUT_CASE };
    // A number is meant as it stands.
    let may = |character: char| is_word(character) && (asked || !character.is_numeric());
    if !word.chars().all(may) || (!asked && word.chars().count() < min) {
        return Ok(Vec::new());
    }
    let mut found = retriever.reader.like(&Like::Prefix(word.to_owned()), retriever.scope)?;
    found.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    found.truncate(MAX_COMPLETIONS);
    Ok(found.into_iter().map(|(word, _)| word).collect())
}

/// The word that is the fewest letters away and that most chunks have, its forms among them; none where another is as likely. In scripts
/// without case words have other lengths, and their slips are other ones.
fn near(word: &str, retriever: &Retriever<'_>) -> Result<Option<String>, EngineError> {
    let length = word.chars().count();
    if length < MIN_ONE_EDIT || !word.chars().all(char::is_lowercase) {
        return Ok(None);
    }
    let like = Like::Edits(word.to_owned(), if length < MIN_TWO_EDITS { 1 } else { 2 });
    let found = retriever.reader.like(&like, retriever.scope)?.into_iter();
    let may =
        |near: &str| length >= MIN_OTHER_LETTER || near.chars().count() != length || letters(near) == letters(word);
    let found: Vec<(usize, u64, String)> = found
        .filter(|(near, _)| may(near))
        .filter_map(|(near, chunks)| Some((like.distance(&near)?, chunks, near)))
        .collect();
    let Some(nearest) = found.iter().map(|(distance, ..)| *distance).min() else { return Ok(None) };
    let mut stemming = Stemming::new(retriever.language);
    let mut by_stem: BTreeMap<String, (u64, Vec<(u64, String)>)> = BTreeMap::new();
    for (_, chunks, near) in found.into_iter().filter(|(distance, ..)| *distance == nearest) {
        let (all, forms) = by_stem.entry(stemming.stem(&near).to_owned()).or_default();
        *all += chunks;
        forms.push((chunks, near));
    }
    let most = by_stem.values().map(|(all, _)| *all).max();
    let mut likeliest = by_stem.into_values().filter(|(all, _)| Some(*all) == most);
    let (Some((_, forms)), None) = (likeliest.next(), likeliest.next()) else { return Ok(None) };
    // Of forms that are as common the whole word, and not its stem.
    Ok(forms
        .into_iter()
        .max_by_key(|(chunks, form)| (*chunks, form.len(), Reverse(form.clone())))
        .map(|(_, form)| form))
}

/// The letters of a word, whatever their order.
fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

/// A text with a word in place of another.
fn replaced(text: &str, word: &str, by: &str) -> String {
    let words = text.split(' ').map(|part| if plain_words(part, false) == [word] { by } else { part });
    words.collect::<Vec<_>>().join(" ")
}

/// Minimum length of what may be a property's name. `a:b` and `10:30` are words.
const MIN_KEY: usize = 3;

/// Says what was perhaps meant by something that was read as words: where nothing was `found`, and of what was in brackets always.
pub(super) fn misread(typed: &[NoCondition], found: bool) -> Vec<String> {
    let mut said = Vec::new();
    for NoCondition { key, value, bracketed } in typed {
        if is_condition(key) {
            said.push(format!("`{key}:{value}` is not a valid condition; its words were searched"));
        } else if key.chars().count() >= MIN_KEY && key.starts_with(char::is_alphabetic) && (!found || *bracketed) {
            said.push(format!("no note has the property `{key}`"));
        }
    }
    said
}

/// A collection or tag that no note has which is seen, or who speaks in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// As it was typed.
    pub name: String,
    /// That, as a sentence.
    pub said: String,
    /// Of a collection all that there are, in alphabetical order.
    pub collections: Option<Vec<String>>,
}

/// Maximum number of collections that are named to whoever asks for one that is not there.
const MAX_SHOWN: usize = 50;

/// Says that there is no such name, and which one is near.
fn said_unknown(what: String, nearest: Option<String>) -> String {
    nearest.map_or(what.clone(), |nearest| format!("{what}; did you mean `{nearest}`?"))
}

/// The first collection, tag, speaker or conversation of a filter that no file of `scope` (all when `None`) has.
///
/// # Errors
/// When a store cannot be read.
pub(super) fn unknown(
    filter: &Filter,
    reader: &dyn Reader,
    scope: Option<&FileSet>,
) -> Result<Option<UnknownName>, EngineError> {
    let files = reader.files();
    let wanted = filter.conditions.iter().filter(|condition| !condition.negated).map(|condition| &condition.wanted);
    for wanted in wanted {
        let unknown = match wanted {
            Predicate::Collection(name) => unknown_collection(name, files, scope),
            Predicate::Tag(name) => unknown_tag(name, files, scope),
            Predicate::Speaker(_) | Predicate::Conversation(_) => unknown_of_turns(wanted, reader, scope)?,
            _ => None,
        };
        if unknown.is_some() {
            return Ok(unknown);
        }
    }
    Ok(None)
}

/// Whether a file of `scope` (all when `None`) is so.
///
/// # Errors
/// When a store cannot be read, or nobody waits any more.
pub(super) fn is_any(
    wanted: &Predicate,
    reader: &dyn Reader,
    scope: Option<&FileSet>,
    turn: &Turn,
) -> Result<bool, EngineError> {
    let found = reader.resolve(&Filter { files: scope.cloned(), ..Filter::of([wanted.clone()]) }, turn)?;
    Ok(found.map_or_else(|| !reader.files().is_empty(), |found| !found.is_empty()))
}

/// A speaker or a conversation that is in no file of `scope`.
fn unknown_of_turns(
    wanted: &Predicate,
    reader: &dyn Reader,
    scope: Option<&FileSet>,
) -> Result<Option<UnknownName>, EngineError> {
    let files = reader.files();
    if is_any(wanted, reader, scope, &Turn::default())? {
        return Ok(None);
    }
    let (name, what, nearest) = match wanted {
        Predicate::Speaker(name) => {
            let there = reader.speakers(scope)?;
            let nearest = nearest(&speaker_term(name), &there.iter().map(String::as_str).collect::<Vec<_>>());
            let what = format!("nobody called `{name}` speaks in a conversation");
            (name, what, nearest.map(|term| term.replace('_', " ")))
        }
        Predicate::Conversation(name) => {
            let all = files.facets().of_collections(|name| name == CONVERSATIONS);
            let seen = all.iter().filter(|file| scope.is_none_or(|scope| scope.contains(*file)));
            let stems: Vec<&str> = seen.filter_map(|file| Some(files.get(file)?.path.stem())).collect();
            (name, format!("no conversation is called `{name}`"), nearest(name, &stems))
        }
        _ => return Ok(None),
    };
    Ok(Some(UnknownName { name: name.clone(), said: said_unknown(what, nearest), collections: None }))
}

/// A collection, when no file of `scope` is in it.
pub(crate) fn unknown_collection(name: &str, files: &FileTable, scope: Option<&FileSet>) -> Option<UnknownName> {
    let mut there = files.facets().collection_names(scope);
    there.sort_unstable();
    if there.contains(&name) {
        return None;
    }
    let near = nearest(name, &there);
    let mut said = said_unknown(format!("no note is in a collection `{name}`"), near.clone());
    if near.is_none() && !there.is_empty() {
        let shown: Vec<String> = there.iter().take(MAX_SHOWN).map(|name| format!("`{name}`")).collect();
        said += &format!("; notes are in {}", shown.join(", "));
        let more = there.len() - shown.len();
        said += &if more > 0 { format!(", and {more} more") } else { String::new() };
    }
    let collections = Some(there.into_iter().map(str::to_owned).collect());
    Some(UnknownName { name: name.to_owned(), said, collections })
}

fn unknown_tag(typed: &str, files: &FileTable, scope: Option<&FileSet>) -> Option<UnknownName> {
    let (wanted, there) = (folded(typed.trim_start_matches('#')), files.facets().tag_names(scope));
    let known = there.iter().any(|tag| is_at_or_below(tag, &wanted));
    (!known).then(|| UnknownName {
        name: typed.to_owned(),
        said: said_unknown(format!("no note has the tag `{typed}`"), nearest(&wanted, &there)),
        collections: None,
    })
}
