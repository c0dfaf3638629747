//! The stage for names: a note whose title, file name or alias is what was typed comes first, as in a quick switcher; so does one whose name
//! begins so, and one that is called what was perhaps meant.

use std::collections::BTreeSet;

use super::candidate::Candidate;
use super::retrieve::Retriever;
use crate::index::engine::{FileSet, WordQuery};
use crate::text::derive::words::{Stemming, plain_words};
use crate::text::derive::{Label, stop_words};

/// The relevance of a note that is called what was typed.
const CALLED: f64 = 1.0;
/// Minimum length of a stem that stands for its word, in characters: "car" of "cars" begins the name of Carla.
const MIN_STEM: usize = 5;

/// The least relevance of one whose name begins so, or that is called as was perhaps meant. Of 120 titles of two vaults whose last word was cut to
/// 60 % all were first, and of 120 with two letters exchanged 117.
const PERHAPS_CALLED: f64 = 0.9;
/// Maximum number of notes whose names begin as was typed. What more names begin with names none of them.
const MAX_BEGUN: usize = 5;

/// The notes that were typed by their names.
pub(super) struct Named {
    pub(super) files: FileSet,
    /// What the relevance of their chunks is at least.
    relevance: f64,
}

impl Retriever<'_> {
    /// The notes that are called so; else those whose names begin so; else the same of what was perhaps meant.
    pub(super) fn named(&self, name: Option<Label>, typed: &WordQuery, meant: Option<&WordQuery>) -> Option<Named> {
        let called = |name: Option<Label>| Some(self.labelled(name?)).filter(|files| !files.is_empty());
        if let Some(files) = called(name) {
            return Some(Named { files, relevance: CALLED });
        }
        let meant_name = |meant: &WordQuery| called(name.and_then(|_| Label::of_name(&meant.words.join(" "))));
        let files = self
            .begun(typed)
            .or_else(|| meant.and_then(meant_name))
            .or_else(|| meant.and_then(|meant| self.begun(meant)))?;
        Some(Named { files, relevance: PERHAPS_CALLED })
    }

    /// The notes with the shortest name that has a word for each of the query, which begins so or as its stem, and at most as many others.
    fn begun(&self, query: &WordQuery) -> Option<FileSet> {
        let words: BTreeSet<String> = query.words.iter().flat_map(|word| plain_words(word, false)).collect();
        let says_nothing = stop_words::without(&words.iter().collect::<Vec<_>>(), self.language).is_empty();
        if says_nothing || !query.excluded.is_empty() || !query.phrases.is_empty() {
            return None;
        }
        let mut stemming = Stemming::new(self.language);
        let stems: Vec<Option<String>> = words
            .iter()
            .map(|word| Some(stemming.stem(word).to_owned()).filter(|stem| stem.chars().count() >= MIN_STEM))
            .collect();
        let of_length = |length: usize| {
            let mut sets = words.iter().zip(&stems).map(|(word, stem)| {
                let mut files = self.labelled(Label::of_beginning(length, word));
                stem.iter().for_each(|stem| files.union(&self.labelled(Label::of_beginning(length, stem))));
                files
            });
            let first = sets.next().unwrap_or_default();
            sets.fold(first, |mut all, set| {
                all.intersect(&set);
                all
            })
        };
        let shortest = (words.len()..=2 * words.len()).map(of_length).find(|files| !files.is_empty())?;
        (shortest.len() <= MAX_BEGUN).then_some(shortest)
    }

    fn labelled(&self, label: Label) -> FileSet {
        let mut files = self.reader.files().facets().labelled(label);
        self.allow.iter().for_each(|allow| files.intersect(allow));
        files
    }
}

/// Puts the candidates of `named` files before all others, in their order, at the score of the best.
pub(super) fn named_first(ranked: &mut [Candidate], named: &Named) {
    let best = ranked.first().map_or(0.0, |best| best.score);
    // Of each file one: the others stand where they stood.
    let mut seen = FileSet::new();
    for candidate in ranked.iter_mut() {
        if named.files.contains(candidate.file.id) && seen.insert(candidate.file.id) {
            candidate.named = Some(named.relevance);
            candidate.score = best;
        }
    }
    ranked.sort_by_key(|candidate| candidate.named.is_none());
}
