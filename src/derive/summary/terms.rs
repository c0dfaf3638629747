//! What a text is about: words that it has more often than everyday language, or than what it is held against.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use crate::derive::words::{fold, plain_words};

/// Maximum number of different words that are counted; after these no new one is.
const MAX_TERMS: usize = 20_000;
/// Maximum number of places that are kept of a word.
const MAX_PLACES: usize = 3;
/// A word of this share of everyday texts says nothing.
const EVERYDAY: f64 = 0.02;
/// What a word that nobody knows counts as having.
const LEAST_SHARE: f64 = 0.000_5;
/// Parts of addresses.
const OF_ADDRESSES: &[&str] = &["http", "https", "www", "com", "org", "html", "user", "assistant"];

/// Words of several texts, with the places where they stand first.
#[derive(Debug)]
pub(super) struct TermCounts<P> {
    terms: HashMap<String, TermCount<P>>,
    texts: usize,
}

#[derive(Debug)]
struct TermCount<P> {
    /// As it was written first.
    written: String,
    /// In how many texts it is.
    texts: usize,
    places: Vec<P>,
}

/// One of the words that say most.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopTerm<P> {
    pub(super) word: String,
    pub(super) places: Vec<P>,
    /// How much it says.
    pub(super) weight: f64,
}

impl<P: Clone> TermCounts<P> {
    pub(super) fn new() -> Self {
        Self { terms: HashMap::new(), texts: 0 }
    }

    /// Counts the words of a text at a place, each once.
    pub(super) fn add(&mut self, text: &str, place: &P) {
        self.texts += 1;
        let mut words: Vec<String> = plain_words(text, false);
        words.sort_unstable();
        words.dedup();
        let mut new = Vec::new();
        let room = MAX_TERMS.saturating_sub(self.terms.len());
        for word in words.into_iter().filter(|word| says_something(word)) {
            match self.terms.get_mut(&word) {
                Some(count) => {
                    count.texts += 1;
                    if count.places.len() < MAX_PLACES {
                        count.places.push(place.clone());
                    }
                }
                None if new.len() < room => new.push(word),
                None => {}
            }
        }
        if new.is_empty() {
            return;
        }
        let mut written: HashMap<String, &str> = HashMap::new();
        for word in text.unicode_words() {
            written.entry(fold(word)).or_insert(word);
        }
        for word in new {
            let written = written.get(&word).map_or_else(|| word.clone(), |written| (*written).to_owned());
            self.terms.insert(word, TermCount { written, texts: 1, places: vec![place.clone()] });
        }
    }

    /// The words that say most, of those that do against everyday texts, held against others besides.
    pub(super) fn top_against(
        &self,
        everyday: &dyn Fn(&str) -> f64,
        rest: &dyn Fn(&str) -> f64,
        most: usize,
    ) -> Vec<TopTerm<P>> {
        let mut top = self.top(everyday, most * 3);
        for term in &mut top {
            let texts = self.terms.get(&fold(&term.word)).map_or(1, |count| count.texts);
            let share = rest(&fold(&term.word)).max(everyday(&fold(&term.word)));
            term.weight = texts as f64 * (1.0 / share.clamp(LEAST_SHARE, 1.0)).ln();
        }
        top.sort_by(|one, other| other.weight.total_cmp(&one.weight).then_with(|| one.word.cmp(&other.word)));
        top.truncate(most);
        top
    }

    /// The words that say most, by how many texts have them and how few of others do; `share` gives the share of other texts with a word.
    pub(super) fn top(&self, share: &dyn Fn(&str) -> f64, most: usize) -> Vec<TopTerm<P>> {
        let needed = if self.texts > 3 { 2 } else { 1 };
        let weight = |word: &str, texts: usize| texts as f64 * (1.0 / share(word).max(LEAST_SHARE)).ln();
        let counted = self.terms.iter().filter(|(word, count)| count.texts >= needed && share(word) < EVERYDAY);
        let mut found: Vec<(f64, &String, &TermCount<P>)> =
            counted.map(|(word, count)| (weight(word, count.texts), word, count)).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
        let top = found.into_iter().take(most);
        top.map(|(weight, _, count)| TopTerm { word: count.written.clone(), places: count.places.clone(), weight })
            .collect()
    }
}

fn says_something(word: &str) -> bool {
    let letters = word.chars().filter(|character| character.is_alphabetic()).count();
    let least = if word.is_ascii() { 3 } else { 2 };
    letters >= least && !OF_ADDRESSES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StemmerLanguage;
    use crate::derive::CommonWords;

    #[test]
    fn what_is_said_often_and_is_not_everyday_comes_first() {
        let mut counts = TermCounts::new();
        for (at, text) in [
            "The Sourdough has risen.",
            "I fed the sourdough with rye.",
            "Is the rye fresh, and the sourdough?",
            "It is.",
        ]
        .into_iter()
        .enumerate()
        {
            counts.add(text, &at);
        }
        let common = CommonWords::of(StemmerLanguage::English);
        let top = counts.top(&|word| common.share(word), 5);
        let words: Vec<_> = top.iter().map(|term| (term.word.as_str(), term.places.as_slice())).collect();
        assert_eq!(words, [("Sourdough", [0, 1, 2].as_slice()), ("rye", [1, 2].as_slice())]);
    }

    #[test]
    fn what_all_others_say_too_says_nothing() {
        let mut counts = TermCounts::new();
        counts.add("soup soup bread", &0);
        let top = counts.top(&|word| if word == "soup" { 0.5 } else { 0.0 }, 5);
        assert_eq!(top.len(), 1);
        assert_eq!(top[0].word, "bread");
        let top = counts.top_against(&|_| 0.0, &|word| if word == "soup" { 0.9 } else { 0.0 }, 5);
        assert_eq!(top.iter().map(|term| term.word.as_str()).collect::<Vec<_>>(), ["bread", "soup"]);
    }
}
