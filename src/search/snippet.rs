//! Which part of a chunk is shown, and which of its words are those searched for.

use std::collections::HashSet;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::query::ParsedQuery;
use crate::config::StemmerLanguage;
use crate::derive::words::{Stemming, plain_words};

/// Finds the words of a query in texts.
pub struct Highlighter {
    stems: HashSet<String>,
    stemming: Stemming,
}

impl Highlighter {
    /// For a query as typed.
    pub fn new(query: &str, stemmer: StemmerLanguage) -> Self {
        let mut stemming = Stemming::new(stemmer);
        let query = ParsedQuery::new(query).without_phrases();
        let stems = query.keyword.words.iter().map(|word| stemming.stem(word).to_owned()).collect();
        Self { stems, stemming }
    }

    /// The bytes of `text` that are words of the query, in order.
    pub fn matches(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut matches: Vec<Range<usize>> = Vec::new();
        for (at, word) in text.unicode_word_indices() {
            let found = plain_words(word, true).iter().any(|word| self.stems.contains(self.stemming.stem(word)));
            if found {
                matches.push(at..at + word.len());
            }
        }
        matches
    }
}

/// The part of `text` with the most words of the query, of at most `max_chars` characters, cut at words where it can be;
/// `…` stands where something is left out.
pub fn snippet(text: &str, highlighter: &mut Highlighter, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let matches = highlighter.matches(text);
    // Bytes, not characters, choose the window: it is cut to characters below.
    let start = matches
        .iter()
        .max_by_key(|first| {
            let inside =
                matches.iter().filter(|other| other.start >= first.start && other.end <= first.start + max_chars);
            (inside.count(), std::cmp::Reverse(first.start))
        })
        .map_or(0, |best| best.start.saturating_sub(max_chars / 4));
    let mut start = text.floor_char_boundary(start);
    if start > 0 {
        let gap = text[start..].find(char::is_whitespace).filter(|gap| *gap < 40);
        start += gap.map_or(0, |gap| gap + text[start + gap..].chars().next().map_or(0, char::len_utf8));
    }
    let room = max_chars.saturating_sub(2);
    let rest = &text[start..];
    let mut end = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
    if end < rest.len()
        && let Some(space) = rest[..end].rfind(char::is_whitespace).filter(|space| end - space < 40)
    {
        end = space;
    }
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{before}{}{after}", rest[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_words_searched_for() {
        let text = format!("{} The zebra crossed the river. {}", "filler words ".repeat(80), "more text ".repeat(80));
        let mut highlighter = Highlighter::new("zebras river", StemmerLanguage::English);
        let shown = snippet(&text, &mut highlighter, 120);
        assert!(shown.contains("zebra crossed the river"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.chars().count() <= 120);
        let words: Vec<&str> = highlighter.matches(&shown).into_iter().map(|range| &shown[range]).collect();
        assert_eq!(words, ["zebra", "river"]);
    }

    #[test]
    fn keeps_characters_whole() {
        let mut highlighter = Highlighter::new("東京", StemmerLanguage::English);
        let shown = snippet(&"東京の天気🌤️".repeat(100), &mut highlighter, 60);
        assert!(shown.chars().count() <= 60);
        // The ideographic space is three bytes long.
        let spaced = "天気は　晴れ　のち　東京の　".repeat(50);
        assert!(snippet(&spaced, &mut Highlighter::new("東京", StemmerLanguage::English), 100).contains("東京"));
    }
}
