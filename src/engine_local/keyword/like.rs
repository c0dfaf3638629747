//! Words of the index that are like another, and who speaks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use levenshtein_automata::{DFA, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::Term;
use tantivy_fst::Automaton;

use super::bm25::Scoped;
use super::schema::KeywordError;
use super::searcher::KeywordSearcher;
use crate::derive::words::{begins_language, without_language};
use crate::engine::{Field, FileSet, Like, LikeWord, Statistics};

/// Maximum number of words that are looked at for a beginning. They come in the order of the alphabet.
const MAX_WORDS: usize = 1000;

impl KeywordSearcher {
    /// The words like another that chunks of `scope` (all when `None`) have.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, KeywordError> {
        let scoped = self.counted_in(scope);
        let mut words: BTreeMap<String, u64> = BTreeMap::new();
        for field in [Field::Own, Field::Heading] {
            let mut found: Vec<String> = Vec::new();
            for segment in self.searcher.segment_readers() {
                let inverted = segment.inverted_index(self.fields.of(field))?;
                let mut keep = |word: &[u8]| {
                    let is_like = |word: &&str| like.distance(without_language(word)).is_some();
                    found.extend(std::str::from_utf8(word).ok().filter(is_like).map(str::to_owned));
                };
                match like {
                    Like::Prefix(prefix) => {
                        let mut stream =
                            inverted.terms().range().ge(prefix).into_stream().map_err(tantivy::TantivyError::from)?;
                        while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                            keep(stream.key());
                        }
                    }
                    Like::Edits(word, most) => {
                        let automaton = Edits(EDITS[usize::from(*most).min(EDITS.len() - 1)].build_dfa(word));
                        let mut stream =
                            inverted.terms().search(automaton).into_stream().map_err(tantivy::TantivyError::from)?;
                        while stream.advance() {
                            keep(stream.key());
                        }
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            let mut live = 0;
            for word in found {
                let term = Term::from_field_text(self.fields.of(field), &word);
                let count = scoped.document_frequency(&term)?;
                if count > 0 {
                    *words.entry(without_language(&word).to_owned()).or_default() += count;
                    live += 1;
                    if live == MAX_WORDS {
                        break;
                    }
                }
            }
        }
        Ok(words.into_iter().collect())
    }

    /// The terms of those who speak in chunks of `scope` (all when `None`), in order.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, KeywordError> {
        let mut all = BTreeSet::new();
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.speaker)?;
            let mut stream = inverted.terms().stream().map_err(tantivy::TantivyError::from)?;
            while stream.advance() {
                all.extend(std::str::from_utf8(stream.key()).map(str::to_owned));
            }
        }
        let (scoped, mut speakers) = (self.counted_in(scope), Vec::new());
        for name in all {
            if scoped.document_frequency(&Term::from_field_text(self.fields.speaker, &name))? > 0 {
                speakers.push(name);
            }
        }
        Ok(speakers)
    }

    fn counted_in<'a>(&'a self, scope: Option<&'a FileSet>) -> Scoped<'a> {
        let (searcher, segments, frequencies) = (&self.searcher, &self.segments, &self.frequencies);
        let (statistics, counts) = (Statistics::default(), HashMap::new());
        Scoped { searcher, segments, fields: self.fields, statistics, scope, counts, frequencies }
    }
}

/// By the number of edits: 0, 1, 2.
static EDITS: LazyLock<[LevenshteinAutomatonBuilder; 3]> =
    LazyLock::new(|| [0, 1, 2].map(|edits| LevenshteinAutomatonBuilder::new(edits, true)));

/// The words within some edits, as the dictionary asks for them. What marks a stem's language is no part of the word.
struct Edits(DFA);

/// Where a term is, and whether its word is over.
#[derive(Debug, Clone, Copy)]
struct EditsState {
    at: u32,
    over: bool,
}

impl Automaton for Edits {
    type State = EditsState;

    fn start(&self) -> Self::State {
        EditsState { at: self.0.initial_state(), over: false }
    }

    fn is_match(&self, state: &Self::State) -> bool {
        matches!(self.0.distance(state.at), levenshtein_automata::Distance::Exact(_))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        if state.over { self.is_match(state) } else { state.at != SINK_STATE }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        if state.over || begins_language(byte) {
            EditsState { over: true, ..*state }
        } else {
            EditsState { at: self.0.transition(state.at, byte), over: false }
        }
    }
}
