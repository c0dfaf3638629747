//! BM25 over the chunks that a search may see.
//!
//! Statistics count live chunks of the caller's scope alone, and scores are made of them in 64-bit floats and in a fixed order. So
//! an index that grew edit by edit scores exactly as a rebuilt one does, and no agent reads hidden words off its scores.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::error::EngineError;
use super::file_set::FileSet;
use crate::base::config::StemmerLanguage;
use crate::text::derive::CommonWords;
use crate::text::derive::words::{Stemming, without_language};

// Robertson et al., "Okapi at TREC-3"; the values are tantivy's and Lucene's.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How many text fields a chunk has: body, heading, own.
pub(crate) const FIELDS: usize = 3;

/// The weight of each field. Heading at 1 is measured best; `own` only sets the chunk that holds a word before its
/// neighbours, which have it in their bodies.
const WEIGHTS: [f32; FIELDS] = [1.0, 1.0, 0.3];

/// Number of chunks of everyday prose that are counted beside those of a scope, without a word but the [common ones](CommonWords): in a vault
/// of twenty notes the words of a question are as rare as names. Among some thousand chunks they say little.
///
/// The number is a choice and no measurement: with it the shipped notes answer the example of `tests/main/asking.rs` as they should.
const BACKGROUND: u64 = 200;

/// In how many of the [background](BACKGROUND)'s chunks a term of a field is.
pub(crate) fn background_count(field: Field, term: &str, common: &CommonWords) -> u64 {
    let share = match field {
        Field::Own => common.share(term),
        Field::Body | Field::Heading => common.stem_share(term),
    };
    (share * BACKGROUND as f64).round() as u64
}

/// Lengths up to this are kept as they are.
const EXACT_LENGTHS: u32 = 24;

/// The length of a field as scores count it: in one byte, four bits of which are the value, as Lucene and tantivy store it
/// (`SmallFloat.intToByte4`).
pub(crate) fn rounded_length(words: u32) -> u32 {
    if words < EXACT_LENGTHS {
        return words;
    }
    let rest = words - EXACT_LENGTHS;
    let dropped = rest.max(1).ilog2().saturating_sub(3);
    EXACT_LENGTHS + (rest >> dropped << dropped)
}

/// What is counted over the live chunks in a scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Chunks.
    pub chunks: u64,
    /// Words of each field.
    pub words: [u64; FIELDS],
}

impl Statistics {
    /// Adds a chunk with so many words in each field.
    pub fn add(&mut self, words: [u32; FIELDS]) {
        self.chunks += 1;
        self.words.iter_mut().zip(words).for_each(|(sum, words)| *sum += u64::from(words));
    }

    /// Adds what was counted elsewhere.
    pub fn add_all(&mut self, other: &Statistics) {
        self.chunks += other.chunks;
        self.words.iter_mut().zip(other.words).for_each(|(sum, words)| *sum += words);
    }
}

/// The part of the score that one term of one field gives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermWeight {
    weight: f64,
    average_length: f64,
}

impl TermWeight {
    /// Of a term that so many chunks of the scope and of the [background](background_count) have in a field.
    pub(crate) fn new(field: Field, chunks_with: u64, scope: &Statistics) -> Self {
        let (chunks, with) = ((scope.chunks + BACKGROUND) as f64, chunks_with as f64);
        let inverse_frequency = (1.0 + (chunks - with + 0.5) / (with + 0.5)).ln();
        Self {
            weight: f64::from(WEIGHTS[field as usize]) * inverse_frequency * (1.0 + K1),
            average_length: scope.words[field as usize] as f64 / (scope.chunks as f64).max(1.0),
        }
    }

    /// What [`TermWeight::score`] stays below.
    pub(crate) fn most(&self) -> f64 {
        self.weight
    }

    /// With how often the term occurs in the field, and the [norm](TermWeight::norm) of the field's length.
    pub(crate) fn score(&self, frequency: u32, norm: f64) -> f64 {
        let frequency = f64::from(frequency);
        self.weight * frequency / (frequency + norm)
    }

    /// What a length of the field, as it is stored, takes from a score.
    pub(crate) fn norm(&self, length: u32) -> f64 {
        K1 * (1.0 - B + B * f64::from(length) / self.average_length.max(1.0))
    }
}

/// The terms whose parts of the score are added, in the order in which they are: sums of floats depend on it.
///
/// What language a query is in is not known, so that each word is looked for with the stem of every language that notes of the scope are
/// in, each in the notes of that language alone: stems are marked with theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryTerms {
    /// The usual language and the others.
    languages: Vec<StemmerLanguage>,
    terms: Vec<QueryTerm>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct QueryTerm {
    field: Field,
    text: String,
    /// Of a stem the place of its language among [`QueryTerms::languages`].
    language: Option<usize>,
    /// Terms of one field that stand for the same words in several languages.
    group: usize,
    /// The words that it stands for.
    words: Vec<String>,
}

/// A term with what it gives.
pub(crate) struct WeighedTerm {
    pub(crate) field: Field,
    pub(crate) text: String,
    pub(crate) weight: TermWeight,
}

/// The terms with what they give.
pub(crate) struct WeighedTerms {
    /// Those that a chunk has, in the order in which their parts of a score are added.
    pub(crate) terms: Vec<WeighedTerm>,
    /// The words that some chunk has, in any form.
    pub(crate) present: HashSet<String>,
    /// What no score reaches, but of a text that has a word in several forms which are one in another language.
    pub(crate) most: f64,
}

/// In how many chunks the terms of one group are in a field.
#[derive(Debug, Default)]
struct GroupCount {
    /// By language, of its commonest form: no chunk is in two languages.
    with: BTreeMap<Option<usize>, u64>,
    /// Of the background, in the language in which they are commonest: as stems of German, English's commonest words are rare.
    beside: u64,
}

impl GroupCount {
    fn count(&self) -> u64 {
        self.with.values().sum::<u64>() + self.beside
    }
}

impl QueryTerms {
    /// Of the words of a query, those of its phrases too, in the stems of the usual language and of others.
    pub(crate) fn new(query: &WordQuery, usual: StemmerLanguage, others: &[StemmerLanguage]) -> Self {
        let mut languages = vec![usual];
        languages.extend(others.iter().filter(|other| **other != usual && usual != StemmerLanguage::None));
        let mut stemming = Stemming::new(usual);
        let words: BTreeSet<&String> = query.words.iter().chain(query.phrases.iter().flatten()).collect();
        let mut groups: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for word in &words {
            groups.entry(stemming.stem(word).to_owned()).or_default().push(word);
        }
        let mut terms: Vec<QueryTerm> = Vec::with_capacity(groups.len() * 2 * languages.len() + words.len());
        // By language, so that each is turned to once.
        let mut stems: BTreeMap<(usize, usize, String), Vec<String>> = BTreeMap::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for (at, language) in languages.iter().enumerate() {
            stemming.turn_to(Some(*language));
            for (group, words) in groups.values().enumerate() {
                for word in words {
                    let stem = stemming.stem(word);
                    // What two words of one stem come to in another language may be one, too: it counts once.
                    let group = *known.entry(stem.to_owned()).or_insert(group);
                    stems.entry((group, at, stem.to_owned())).or_default().push((*word).clone());
                }
            }
        }
        for ((group, language, text), words) in stems {
            for field in [Field::Body, Field::Heading] {
                let (text, words) = (text.clone(), words.clone());
                terms.push(QueryTerm { field, text, language: Some(language), group, words });
            }
        }
        for (at, word) in words.into_iter().enumerate() {
            let (text, words) = (word.clone(), vec![word.clone()]);
            terms.push(QueryTerm { field: Field::Own, text, language: None, group: groups.len() + at, words });
        }
        Self { languages, terms }
    }

    /// Weighs them by in how many chunks of a scope each is, which `count` says. A word is as rare as all of its forms in all languages
    /// are together: a name is no rarer where few notes are of a language, nor an article where it is none.
    pub(crate) fn weigh<E>(
        self,
        statistics: &Statistics,
        mut count: impl FnMut(Field, &str) -> Result<u64, E>,
    ) -> Result<WeighedTerms, E> {
        let common: Vec<&CommonWords> = self.languages.iter().map(|language| CommonWords::of(*language)).collect();
        let (mut present, mut own) = (HashSet::new(), Vec::with_capacity(self.terms.len()));
        let mut groups: HashMap<(usize, usize), GroupCount> = HashMap::new();
        for QueryTerm { field, text, language, group, words } in &self.terms {
            let with = count(*field, text)?;
            if with > 0 {
                present.extend(words.iter().cloned());
            }
            own.push(with);
            let beside = |common: &CommonWords| background_count(*field, without_language(text), common);
            let beside = match *language {
                Some(language) => beside(common[language]),
                None => common.iter().map(|common| beside(common)).max().unwrap_or_default(),
            };
            let group = groups.entry((*group, *field as usize)).or_default();
            let most = group.with.entry(*language).or_default();
            *most = with.max(*most);
            group.beside = beside.max(group.beside);
        }
        let (mut terms, mut sums) = (Vec::with_capacity(self.terms.len()), vec![0.0; self.languages.len()]);
        let mut summed = HashSet::new();
        for (QueryTerm { field, text, language, group, .. }, with) in self.terms.into_iter().zip(own) {
            let count = groups.get(&(group, field as usize)).map_or(0, GroupCount::count);
            let weight = TermWeight::new(field, count, statistics);
            // Of forms that are one word elsewhere a text is asked for one: else the words of another language would ask for more.
            if summed.insert((group, field as usize, language)) {
                let of = |at: usize| language.is_none_or(|language| language == at);
                sums.iter_mut().enumerate().filter(|(at, _)| of(*at)).for_each(|(_, sum)| *sum += weight.most());
            }
            // A stem that no chunk has gives none a score: of most words those of most languages.
            if with > 0 {
                terms.push(WeighedTerm { field, text, weight });
            }
        }
        let most = sums.into_iter().fold(0.0, f64::max);
        Ok(WeighedTerms { terms, present, most })
    }

    /// The terms, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        self.terms.iter().map(|term| (term.field, term.text.as_str()))
    }
}

/// A query's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordQuery {
    /// Any of these; more is better.
    pub words: Vec<String>,
    /// All of these, each a run of words.
    pub phrases: Vec<Vec<String>>,
    /// Said by each of these, as [terms](crate::text::derive::speaker_term). How rare it is does not count.
    pub said_by: Vec<String>,
    /// Said by none of these.
    pub not_said_by: Vec<String>,
    /// None of these, each a run of words.
    pub excluded: Vec<Vec<String>>,
}

/// A text field of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The stems of its text and of its neighbours on either side.
    Body,
    /// The stems of title and heading path.
    Heading,
    /// The words of its text, with positions. Runs of words are looked for here.
    Own,
}

/// A chunk that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredChunk {
    /// Its row id.
    pub row: u64,
    /// Its file's row id.
    pub file: u32,
    /// BM25 or cosine. Higher is better.
    pub score: f64,
}

/// A query's words on one generation.
pub trait PreparedWords {
    /// What no score reaches: that of a chunk which had all of the query's words and nothing else.
    fn most(&self) -> f64;

    /// Whether a chunk of the scope has one of the query's words, in any form.
    fn has(&self, word: &str) -> bool;

    /// The best `k` chunks of the files of `allow` (all when `None`) that have any of the words and pass the query's conditions, with
    /// all that tie with the last, in no particular order. There may be more.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError>;

    /// The scores of given chunks, in their order; `None` for one that the query's conditions rule out, 0 for one that has
    /// none of its words.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(words: &[&str]) -> WordQuery {
        WordQuery { words: words.iter().map(|word| (*word).to_owned()).collect(), ..WordQuery::default() }
    }

    #[test]
    fn a_word_is_looked_for_in_the_stems_of_each_language_that_is_there() {
        use StemmerLanguage::{English, French, German};
        let terms = |others: &[StemmerLanguage]| {
            let terms = QueryTerms::new(&query(&["houses", "house"]), English, others);
            terms.iter().filter(|(field, _)| *field != Field::Own).map(|(_, text)| text.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(terms(&[]), ["hous", "hous"], "in the text, and in the heading");
        assert_eq!(terms(&[English]), terms(&[]));
        let foreign: Vec<String> = terms(&[German, French]).split_off(2);
        assert!(foreign.iter().all(|term| term != without_language(term)), "{foreign:?}");
        assert_eq!(foreign.len(), 4, "one in each, and both fields");
    }

    #[test]
    fn a_name_was_rarer_in_a_language_of_few_notes() {
        let statistics = Statistics { chunks: 1000, words: [1000; 3] };
        let marked = QueryTerms::new(&query(&["obsidian"]), StemmerLanguage::English, &[StemmerLanguage::German]);
        let count = |_: Field, text: &str| Ok::<u64, ()>(if text == without_language(text) { 100 } else { 1 });
        let weighed = marked.weigh(&statistics, count).unwrap();
        let body = weighed.terms.iter().filter(|term| term.field == Field::Body);
        let body: Vec<f64> = body.map(|term| term.weight.most()).collect();
        assert_eq!(body, [TermWeight::new(Field::Body, 101, &statistics).most(); 2]);
        let sum: f64 = weighed.terms.iter().map(|term| term.weight.most()).sum();
        assert!(weighed.most < sum, "a chunk is of one language");
    }

    fn weighed(words: &[&str], others: &[StemmerLanguage], is_there: fn(&str) -> bool) -> WeighedTerms {
        let statistics = Statistics { chunks: 1000, words: [1000; 3] };
        let count = |_: Field, text: &str| Ok::<u64, ()>(if is_there(text) { 10 } else { 0 });
        QueryTerms::new(&query(words), StemmerLanguage::English, others).weigh(&statistics, count).unwrap()
    }

    #[test]
    fn as_stems_of_another_language_the_commonest_words_were_rare() {
        let most = |others: &[StemmerLanguage]| {
            weighed(&["the", "i", "where", "bicycle"], others, |text| text == without_language(text)).most
        };
        let others = [StemmerLanguage::German, StemmerLanguage::French, StemmerLanguage::Finnish];
        assert!((most(&others) - most(&[])).abs() < 1e-9, "{} is not {}", most(&others), most(&[]));
    }

    #[test]
    fn forms_of_one_word_counted_twice_in_another_language() {
        let most = |others: &[StemmerLanguage]| {
            weighed(&["running", "run"], others, |text| text == without_language(text)).most
        };
        let (alone, beside) = (most(&[]), most(&[StemmerLanguage::German]));
        assert!((alone - beside).abs() < 1e-9, "{beside} is not {alone}");
    }

    #[test]
    fn stems_that_no_chunk_has_were_looked_for() {
        let others = [StemmerLanguage::German, StemmerLanguage::French];
        let found = weighed(&["bicycle", "cellar"], &others, |text| text == "bicycl" || text == "bicycle");
        let found: Vec<&str> = found.terms.iter().map(|term| term.text.as_str()).collect();
        assert_eq!(found, ["bicycl", "bicycl", "bicycle"]);
        assert!(weighed(&["bicycle"], &others, |_| false).terms.is_empty());
    }
}
