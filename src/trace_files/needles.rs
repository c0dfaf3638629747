//! What was forgotten just now, looked for within texts: a prompt has a note's sentence between others, with a citation behind it.

use std::collections::HashMap;
use std::ops::Range;

use crate::derive::words::is_word;
use crate::derive::{is_a_sentence, parts_nothing, plain, readings};

/// The sentences and paragraphs that are looked for, by their first word.
#[derive(Debug, Default)]
pub(super) struct TraceNeedles(HashMap<String, Vec<Vec<String>>>);

impl TraceNeedles {
    /// Of texts that are to go. What says too little to be told from other texts is not looked for.
    pub(super) fn of(texts: &[String]) -> Self {
        let mut needles: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for block in texts.iter().flat_map(|text| readings(text)).flat_map(|said| said.blocks) {
            let sentences = block.sentences.into_iter().map(|sentence| sentence.words);
            for words in std::iter::once(block.words).filter(|_| !block.heading).chain(sentences) {
                let parts: Vec<String> = words.split(' ').map(str::to_owned).collect();
                if is_a_sentence(&words)
                    && let Some(first) = parts.first().cloned()
                {
                    needles.entry(first).or_default().push(parts);
                }
            }
        }
        // The longest first: a paragraph goes before its sentences.
        needles.values_mut().for_each(|all| all.sort_by_key(|parts| std::cmp::Reverse(parts.len())));
        Self(needles)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text without them; `None` where it has none.
    pub(super) fn without(&self, text: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let words = words(text);
        let (mut left, mut kept, mut at) = (String::new(), 0, 0);
        while at < words.len() {
            let found = self.0.get(&words[at].0).and_then(|all| {
                let fits = |parts: &&Vec<String>| {
                    let there = words.get(at..at + parts.len());
                    there.is_some_and(|there| there.iter().zip(*parts).all(|((word, _), part)| word == part))
                };
                all.iter().find(fits)
            });
            let Some(parts) = found else {
                at += 1;
                continue;
            };
            let (start, last) = (words[at].1.start, words[at + parts.len() - 1].1.end);
            left.push_str(&text[kept..start]);
            let marks = text[last..].chars().take_while(|mark| matches!(mark, '.' | '!' | '?' | '\u{3002}'));
            kept = last + marks.map(char::len_utf8).sum::<usize>();
            at += parts.len();
        }
        (kept > 0).then(|| left + &text[kept..])
    }
}

/// The words of a text as what is said has them, each with where it is.
fn words(text: &str) -> Vec<(String, Range<usize>)> {
    // Apostrophes and what is not seen part no words.
    let is_within = |character: char| is_word(character) || parts_nothing(character);
    let mut words = Vec::new();
    let mut start = None;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_within(character)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let span = from..at;
                words.extend(
                    plain(&text[span.clone()])
                        .split(' ')
                        .filter(|word| !word.is_empty())
                        .map(|word| (word.to_owned(), span.clone())),
                );
                start = None;
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_found_between_others() {
        let note = "# Keys\n\nThe key lies under the *third* pot, dear. Bring it back.\n\n- PIN 4711\n- I like tea\n"
            .to_owned();
        let needles = TraceNeedles::of(&[note]);
        let without = |text: &str| needles.without(text);
        assert_eq!(
            without("Known: the KEY lies under the third pot, dear. (notes/a.md#L3) Go on.").unwrap(),
            "Known:  (notes/a.md#L3) Go on."
        );
        assert_eq!(without("say pin 4711!").unwrap(), "say ");
        assert_eq!(without("The key lies under the third pot, dear. Bring it back. x").unwrap(), " x");
        for other in ["The key lies under the fourth pot, dear.", "Do you know that I like tea?", "", "PIN 47", "Keys"]
        {
            assert_eq!(without(other), None, "{other}");
        }
    }
}
