//! Words of the index that are like another.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use levenshtein_automata::{DFA, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::Term;
use tantivy_fst::Automaton;

use super::bm25::Scoped;
use super::schema::KeywordError;
use super::searcher::KeywordSearcher;
use crate::config::StemmerLanguage;
use crate::derive::CommonWords;
use crate::engine::{Field, FileSet, Like, LikeWord, Statistics};

/// Maximum number of words that are looked at for a beginning. They come in the order of the alphabet.
const MAX_WORDS: usize = 1000;

impl KeywordSearcher {
    /// The words like another that chunks of `scope` (all when `None`) have.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, KeywordError> {
        let statistics = Statistics::default();
        let (searcher, segments, frequencies) = (&self.searcher, &self.segments, &self.frequencies);
        let common = CommonWords::of(StemmerLanguage::None);
        let scoped = Scoped { searcher, segments, fields: self.fields, statistics, scope, common, frequencies };
        let mut words: BTreeMap<String, u64> = BTreeMap::new();
        for field in [Field::Own, Field::Heading] {
            let mut found: Vec<String> = Vec::new();
            for segment in self.searcher.segment_readers() {
                let inverted = segment.inverted_index(self.fields.of(field))?;
                let mut keep = |word: &[u8]| {
                    found.extend(
                        std::str::from_utf8(word).ok().filter(|word| like.distance(word).is_some()).map(str::to_owned),
                    );
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
                    *words.entry(word).or_default() += count;
                    live += 1;
                    if live == MAX_WORDS {
                        break;
                    }
                }
            }
        }
        Ok(words.into_iter().collect())
    }
}

/// By the number of edits: 0, 1, 2.
static EDITS: LazyLock<[LevenshteinAutomatonBuilder; 3]> =
    LazyLock::new(|| [0, 1, 2].map(|edits| LevenshteinAutomatonBuilder::new(edits, true)));

/// The words within some edits, as the dictionary asks for them.
struct Edits(DFA);

impl Automaton for Edits {
    type State = u32;

    fn start(&self) -> Self::State {
        self.0.initial_state()
    }

    fn is_match(&self, state: &Self::State) -> bool {
        matches!(self.0.distance(*state), levenshtein_automata::Distance::Exact(_))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        self.0.transition(*state, byte)
    }
}
