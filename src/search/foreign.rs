//! What a model does not read: its vectors of another language's texts say little.

use std::collections::HashMap;

use crate::derive::TextLanguage;
use crate::models::reads_english_alone;

/// The language that a model does not read and that the query is in, or most of what was `found` is; `None` where it reads them, as far as
/// is known, or nothing is sure. What is found is what the caller sees, so that nothing hidden is told.
pub(super) fn unread(model: &str, query: &str, found: &[Option<TextLanguage>]) -> Option<TextLanguage> {
    if !reads_english_alone(model) {
        return None;
    }
    let is_unread = |language: &TextLanguage| !language.is_english();
    if let Some(language) = TextLanguage::of_text(query) {
        return Some(language).filter(is_unread);
    }
    let mut counts: HashMap<TextLanguage, usize> = HashMap::new();
    found.iter().flatten().for_each(|language| *counts.entry(*language).or_default() += 1);
    let most = counts.into_iter().find(|(_, count)| count * 2 > found.len());
    most.map(|(language, _)| language).filter(is_unread)
}
