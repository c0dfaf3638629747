//! By which words it is told what was decided and what is to be done: `phrases.toml`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::derive::words::{fold, plain_words};

/// The phrases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseTable {
    decided: Vec<String>,
    not_decided: Vec<String>,
    to_do: Vec<String>,
}

static TABLE: LazyLock<PhraseTable> =
    LazyLock::new(|| toml::from_str(include_str!("phrases.toml")).expect("the program's own file"));

/// Phrases, each by its first word; those of writings without blanks apart.
struct Phrases {
    by_word: HashMap<String, Vec<String>>,
    unparted: Vec<String>,
}

impl Phrases {
    fn of(phrases: &[String]) -> Self {
        let mut known = Self { by_word: HashMap::new(), unparted: Vec::new() };
        for phrase in phrases {
            let phrase = normal(phrase);
            match phrase.chars().any(is_unparted) {
                true => known.unparted.push(phrase),
                false => {
                    let first: String = phrase.chars().take_while(|character| is_letter(*character)).collect();
                    known.by_word.entry(first).or_default().push(phrase);
                }
            }
        }
        known
    }

    /// Whether one of them stands in a text that is [`normal`].
    fn are_in(&self, text: &str) -> bool {
        let mut starts = text.char_indices().scan(false, |within, (at, character)| {
            let is_start = is_letter(character) && !*within;
            *within = is_letter(character);
            Some(is_start.then_some(at))
        });
        let found = starts.any(|at| {
            let Some(at) = at else { return false };
            let rest = &text[at..];
            let end = rest.find(|character| !is_letter(character)).unwrap_or(rest.len());
            self.by_word.get(&rest[..end]).is_some_and(|phrases| phrases.iter().any(|phrase| begins_with(rest, phrase)))
        });
        found || self.unparted.iter().any(|phrase| text.contains(phrase))
    }
}

/// Whether a text begins with a phrase, and a word ends there.
fn begins_with(text: &str, phrase: &str) -> bool {
    let after = text.strip_prefix(phrase);
    after.is_some_and(|after| phrase.ends_with(':') || !after.starts_with(is_letter))
}

fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || character == '\''
}

/// Whether words of a writing follow each other without a blank, or take endings.
fn is_unparted(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}')
}

/// A text as phrases are looked for: without case and accents, with plain apostrophes and single blanks.
fn normal(text: &str) -> String {
    let text = fold(text).replace(['\u{2019}', '\u{2bc}', '`'], "'");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '\u{ff1f}', '\u{61f}', '\u{37e}'])
}

/// Whether a sentence says what was decided. A question does not, nor what says that nothing is.
pub(super) fn is_decision(sentence: &str) -> bool {
    static DECISIONS: LazyLock<(Phrases, Phrases)> =
        LazyLock::new(|| (Phrases::of(&TABLE.decided), Phrases::of(&TABLE.not_decided)));
    let (decided, not) = &*DECISIONS;
    let text = normal(sentence);
    !is_question(sentence) && decided.are_in(&text) && !not.are_in(&text)
}

/// Whether a sentence says what somebody is to do.
pub(super) fn is_action(sentence: &str) -> bool {
    static ACTIONS: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(&TABLE.to_do));
    !is_question(sentence) && ACTIONS.are_in(&normal(sentence))
}

/// Whether a folded word is one with which people say what was decided or is to be done: it says nothing of what that is.
pub(super) fn is_of_a_phrase(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let phrases = TABLE.decided.iter().chain(&TABLE.not_decided).chain(&TABLE.to_do);
        phrases.flat_map(|phrase| plain_words(phrase, false)).collect()
    });
    WORDS.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_known_in_several_languages() {
        for sentence in [
            "We decided to use Postgres.",
            "OK, we’ll take the train.",
            "Decision: rye flour",
            "Let's go with the blue one.",
            "Wir haben uns für Rot entschieden.",
            "Gut, wir nehmen den Zug.",
            "Nous avons décidé de partir lundi.",
            "Al final hemos decidido esperar.",
            "Abbiamo deciso di aspettare.",
            "Мы решили ехать поездом.",
            "我们决定用红色。",
            "青にしましょう。",
            "기차로 가기로 했어요. 그렇게 하기로 했다.",
        ] {
            assert!(is_decision(sentence), "{sentence}");
        }
        for sentence in [
            "Have we decided?", "We have not decided yet.", "Das ist noch nicht entschieden.", "我们还没决定。",
            "The decisive moment came later.", "I like soup.", "Willingly.",
        ] {
            assert!(!is_decision(sentence), "{sentence}");
        }
    }

    #[test]
    fn what_is_to_be_done_is_known_in_several_languages() {
        for sentence in [
            "I'll call Bob.",
            "I will buy flour tomorrow.",
            "TODO: water the plants",
            "Bitte ruf die Bäckerei an.",
            "Ich muss noch Mehl kaufen.",
            "Je vais appeler Paul.",
            "Tengo que llamar a Ana.",
            "Я сделаю это завтра.",
            "请把报告发给我。",
            "明日までに送ってください。",
        ] {
            assert!(is_action(sentence), "{sentence}");
        }
        for sentence in ["Will I?", "The mastodon ate.", "Pleased to meet you.", "Das Mehl ist alle."] {
            assert!(!is_action(sentence), "{sentence}");
        }
    }
}
