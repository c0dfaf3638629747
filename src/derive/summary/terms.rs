//! What a text is about: words that it has more often than everyday language.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation;

use super::phrases::is_of_a_phrase;
use crate::derive::stop_words;
use crate::derive::words::{fold, plain_words};

/// Maximum number of different words that are counted; after these no new one is.
const MAX_TERMS: usize = 20_000;
/// Maximum number of places that are kept of a word.
const MAX_PLACES: usize = 3;
/// A word of this share of everyday texts says nothing.
const EVERYDAY: f64 = 0.02;
/// What a word that nobody knows counts as having.
const LEAST_SHARE: f64 = 0.000_5;
/// So few texts are a short conversation.
const FEW: usize = 3;
/// Parts of addresses.
const OF_ADDRESSES: &[&str] = &["http", "https", "www", "com", "org", "html", "user", "assistant"];

/// Words of several texts, with the places where they stand first.
#[derive(Debug)]
pub(super) struct TermCounts<P> {
    terms: HashMap<String, TermCount<P>>,
    texts: usize,
    /// Words of titles and headings: of two that say as much they come first.
    named: HashSet<String>,
}

#[derive(Debug)]
struct TermCount<P> {
    /// As it was written first.
    written: String,
    /// In how many texts it is.
    texts: usize,
    /// Whether it was written with a capital within a sentence, as names are.
    is_name: bool,
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
        Self { terms: HashMap::new(), texts: 0, named: HashSet::new() }
    }

    /// Words of a title or a heading of what is counted.
    pub(super) fn name(&mut self, title: &str) {
        self.named.extend(plain_words(title, false));
    }

    /// Whether there are so few texts that a word says little by how many have it.
    pub(super) fn is_short(&self) -> bool {
        self.texts <= FEW
    }

    /// Counts the words of a text at a place, each once.
    pub(super) fn add(&mut self, text: &str, place: &P) {
        self.texts += 1;
        let mut words: Vec<String> = plain_words(text, false);
        words.sort_unstable();
        words.dedup();
        let names = names_within(text);
        let mut new = Vec::new();
        let room = MAX_TERMS.saturating_sub(self.terms.len());
        for word in words.into_iter().filter(|word| says_something(word)) {
            match self.terms.get_mut(&word) {
                Some(count) => {
                    count.texts += 1;
                    count.is_name |= names.contains(&word);
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
            let is_name = names.contains(&word);
            self.terms.insert(word, TermCount { written, texts: 1, is_name, places: vec![place.clone()] });
        }
    }

    /// The words that say most, by how many texts have them and how few of others do; `share` gives the share of other texts with a word.
    /// Of those that say as much the words of titles come first, then names, then the longest.
    pub(super) fn top(&self, share: &dyn Fn(&str) -> f64, most: usize) -> Vec<TopTerm<P>> {
        let needed = if self.is_short() { 1 } else { 2 };
        let weight = |word: &str, texts: usize| texts as f64 * (1.0 / share(word).max(LEAST_SHARE)).ln();
        let counted = self.terms.iter().filter(|(word, count)| count.texts >= needed && share(word) < EVERYDAY);
        let mut found: Vec<(f64, &String, &TermCount<P>)> =
            counted.map(|(word, count)| (weight(word, count.texts), word, count)).collect();
        let rank = |(_, word, count): &(f64, &String, &TermCount<P>)| {
            (self.named.contains(*word), count.is_name, word.chars().count())
        };
        found.sort_by(|one, other| {
            other.0.total_cmp(&one.0).then_with(|| rank(other).cmp(&rank(one))).then_with(|| one.1.cmp(other.1))
        });
        let top = found.into_iter().take(most);
        top.map(|(weight, _, count)| TopTerm { word: count.written.clone(), places: count.places.clone(), weight })
            .collect()
    }
}

fn says_something(word: &str) -> bool {
    let letters = word.chars().filter(|character| character.is_alphabetic()).count();
    let least = if word.is_ascii() { 3 } else { 2 };
    letters >= least && !OF_ADDRESSES.contains(&word) && !stop_words::has(word) && !is_of_a_phrase(word)
}

/// The folded words of a text that have a capital and begin no sentence.
fn names_within(text: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut end = 0;
    for (at, word) in text.unicode_word_indices() {
        let between = &text[end..at];
        let is_within =
            end > 0 && !between.contains(['.', '!', '?', ':', '\n', '\u{2026}', '"', '\u{201e}', '\u{201c}']);
        end = at + word.len();
        if is_within && word.starts_with(char::is_uppercase) {
            names.insert(fold(word));
        }
    }
    names
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
            "The Sourdough has risen.", "I fed the sourdough with rye.", "Is the rye fresh, and the sourdough?",
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
    fn of_words_that_say_as_much_titles_come_first_then_names_then_the_longest() {
        let mut counts = TermCounts::new();
        counts.add("Gut, wir haben uns daran erinnert: das Zelt wird gewachst, und die Heringe.", &0);
        counts.add("Erinnere dich: entschieden haben wir am Freitag.", &1);
        let words =
            |counts: &TermCounts<i32>| counts.top(&|_| 0.0, 5).into_iter().map(|term| term.word).collect::<Vec<_>>();
        assert_eq!(words(&counts), ["Freitag", "Heringe", "Zelt", "erinnert", "gewachst"]);
        counts.name("Das Zelt");
        assert_eq!(words(&counts)[..2], ["Zelt", "Freitag"]);
    }
}
