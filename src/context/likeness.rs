//! How much of a question a text has.

use std::collections::HashSet;

use crate::config::StemmerLanguage;
use crate::derive::entries::MemoryEntry;
use crate::derive::stop_words;
use crate::derive::words::{fold, plain_words};

/// How many words of a question, but for those that say nothing, an entry has.
pub(super) fn likeness(query: &str, entry: &MemoryEntry) -> usize {
    common(query, plain_words(&entry.text, true).into_iter().chain(entry.tags.iter().map(|tag| fold(tag))).collect())
}

/// How many words of a question, but for those that say nothing, a text has.
pub(super) fn words_in_common(query: &str, text: &str) -> usize {
    common(query, plain_words(text, true).into_iter().collect())
}

fn common(query: &str, has: HashSet<String>) -> usize {
    let asked: HashSet<String> = plain_words(query, true).into_iter().collect();
    let asked: Vec<&String> = asked.iter().collect();
    let says = |word: &&&String| has.contains(word.as_str());
    stop_words::without(&asked, StemmerLanguage::English).iter().filter(says).count()
}
