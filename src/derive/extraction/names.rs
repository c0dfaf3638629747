//! The names that a sentence has: words with a capital. A script without capitals has none that could be told.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

use crate::derive::words::{fold, is_parted_within, is_the_person};

/// What may stand between the end of a sentence and the next.
const OPENING: &str = "\"'“„«»([*_-–—¿¡#";

/// The words that a conversation writes within sentences, and with a capital alone: its names. Folded.
#[derive(Debug, Default)]
pub(super) struct SpokenNames(BTreeSet<String>);

impl SpokenNames {
    /// Those of some lines.
    pub(super) fn of<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let (mut names, mut others) = (BTreeSet::new(), BTreeSet::new());
        for line in lines.flat_map(str::lines) {
            for (start, word) in line.unicode_word_indices() {
                if !is_capital(word) {
                    others.insert(fold(word));
                } else if !begins(&line[..start]) && !line[..start].trim_end().ends_with([':', ';']) {
                    names.insert(fold(word));
                }
            }
        }
        names.retain(|name| name.chars().nth(1).is_some() && !others.contains(name));
        Self(names)
    }

    /// The first name of a sentence that some words lack: one of these, in lower case as well, or what has a capital and begins no sentence.
    pub(super) fn lacking<'s>(&self, sentence: &'s str, said: &str) -> Option<&'s str> {
        let said: BTreeSet<String> = said.unicode_words().map(fold).collect();
        let is_said = |name: &str| said.contains(name) || said.iter().any(|word| is_like(name, word));
        let mut words = sentence.unicode_word_indices();
        let lacking = words.find(|(start, word)| {
            let folded = fold(word);
            let has_capital =
                word.chars().skip(1).any(char::is_uppercase) || is_capital(word) && !begins(&sentence[..*start]);
            (has_capital || self.0.contains(&folded)) && !is_the_person(&folded) && !is_said(&folded)
        });
        lacking.map(|(_, word)| word)
    }
}

fn is_capital(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}

/// Whether a sentence begins behind a text.
fn begins(before: &str) -> bool {
    let before = before.trim_end_matches(|mark: char| mark.is_whitespace() || OPENING.contains(mark));
    before.is_empty() || before.ends_with(['.', '!', '?', '…', '。'])
}

/// Whether two words are the same but for their ends, as `Anna` and `Annas`.
fn is_like(one: &str, other: &str) -> bool {
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let lengths = (one.chars().count(), other.chars().count());
    common >= 3
        && common + 1 >= lengths.0.min(lengths.1)
        && lengths.0.max(lengths.1) - common <= 3
        && !one.contains(|character: char| character.is_ascii_digit() || is_parted_within(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_not_said_is_found() {
        let session =
            "I moved to Bonn with Anna's sister. Ich mag Tabs. I told Bob and Mark. Mark the day, and mark it.";
        for (sentence, lacks) in [
            ("Moved to Bonn", None),
            ("Moved to Berlin", Some("Berlin")),
            ("Anna moved to Bonn", None),
            ("Bob moved to Bonn", Some("Bob")),
            ("bob moved to Bonn", Some("bob")),
            ("Has to mark the day", None),
            ("Der Nutzer mag Tabs", None),
            ("The user prefers tabs. Lives in Bonn", None),
            ("Uses iPhone", Some("iPhone")),
            ("Lives in: Berlin", Some("Berlin")),
            ("用户住在上海", None),
        ] {
            let names = SpokenNames::of(session.lines());
            assert_eq!(
                names.lacking(sentence, "I moved to Bonn with Anna's sister, and ich mag Tabs."),
                lacks,
                "{sentence}"
            );
        }
    }
}
