//! A query's words, as every engine looks for them.

use std::collections::BTreeSet;

use crate::config::StemmerLanguage;
use crate::derive::words::Stemming;

/// A query's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordQuery {
    /// Any of these; more is better.
    pub words: Vec<String>,
    /// All of these, each a run of words.
    pub phrases: Vec<Vec<String>>,
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

/// The terms whose parts of the score are added, in the order in which they are: sums of floats depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryTerms(Vec<(Field, String)>);

impl QueryTerms {
    /// Of the words of a query, those of its phrases too.
    pub(crate) fn new(query: &WordQuery, language: StemmerLanguage) -> Self {
        let mut stemming = Stemming::new(language);
        let all_words = || query.words.iter().chain(query.phrases.iter().flatten());
        let stems: BTreeSet<String> = all_words().map(|word| stemming.stem(word).to_owned()).collect();
        let words: BTreeSet<&String> = all_words().collect();
        let mut terms = Vec::with_capacity(stems.len() * 2 + words.len());
        for stem in stems {
            terms.push((Field::Body, stem.clone()));
            terms.push((Field::Heading, stem));
        }
        terms.extend(words.into_iter().map(|word| (Field::Own, word.clone())));
        Self(terms)
    }

    /// The terms, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        self.0.iter().map(|(field, word)| (*field, word.as_str()))
    }
}
