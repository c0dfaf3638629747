//! Words with which people say what was decided and what is to be done, in the languages that most conversations are in.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::derive::words::{fold, plain_words};

/// What a sentence says was decided.
const DECIDED: &[&str] = &[
    // English
    "we decided",
    "i decided",
    "i have decided",
    "i've decided",
    "we have decided",
    "we've decided",
    "was decided",
    "it is decided",
    "decided to",
    "decided on",
    "decided against",
    "decision:",
    "the decision is",
    "we will",
    "we'll",
    "let's go with",
    "lets go with",
    "going with",
    "i'll go with",
    "we agreed",
    "agreed to",
    "agreed on",
    "agreed that",
    "settled on",
    "we chose",
    "i chose",
    "we are switching to",
    // German
    "entschieden",
    "entscheidung:",
    "beschlossen",
    "wir nehmen",
    "wir machen",
    "wir werden",
    "ich nehme",
    "wir bleiben bei",
    "einigten uns",
    "geeinigt",
    "festgelegt",
    "wir verwenden ab",
    // French
    "avons decide",
    "a decide",
    "j'ai decide",
    "on a decide",
    "decision :",
    "on prend",
    "nous prenons",
    "nous allons",
    "on va prendre",
    "nous avons choisi",
    "on part sur",
    "c'est decide",
    // Spanish
    "decidimos",
    "hemos decidido",
    "he decidido",
    "decidi",
    "se decidio",
    "vamos a",
    "acordamos",
    "nos quedamos con",
    "elegimos",
    "hemos acordado",
    // Italian
    "abbiamo deciso",
    "ho deciso",
    "deciso di",
    "prendiamo",
    "abbiamo scelto",
    "siamo d'accordo",
    // Portuguese
    "decidiram",
    "foi decidido",
    "ficou decidido",
    "combinamos",
    "nos vamos",
    "escolhemos",
    // Dutch
    "besloten",
    "we nemen",
    "we gaan voor",
    "we kiezen",
    "afgesproken",
    // Polish, Russian, Turkish
    "zdecydowalismy",
    "postanowilismy",
    "bierzemy",
    "решили",
    "решено",
    "решил",
    "решила",
    "договорились",
    "мы возьмем",
    "karar verdik",
    "kararlastirdik",
    // Chinese, Japanese, Korean
    "决定",
    "決定",
    "定下来",
    "我们就用",
    "我们采用",
    "就这么定",
    "決めた",
    "決めました",
    "決まりました",
    "にします",
    "にしましょう",
    "결정했",
    "정했",
    "하기로 했",
];

/// What makes a decision none: it has not been made, or is wished for.
const NOT_DECIDED: &[&str] = &[
    "not decided",
    "not yet decided",
    "haven't decided",
    "have not decided",
    "hasn't decided",
    "not been decided",
    "undecided",
    "if we decided",
    "can't decide",
    "if we will",
    "nicht entschieden",
    "noch nicht beschlossen",
    "unentschieden",
    "nicht festgelegt",
    "nicht geeinigt",
    "pas decide",
    "pas encore decide",
    "no hemos decidido",
    "no decidimos",
    "sin decidir",
    "non abbiamo deciso",
    "niet besloten",
    "не решили",
    "не решил",
    "не решено",
    "没有决定",
    "没决定",
    "还没决定",
    "未决定",
    "未決定",
    "決まっていない",
    "決めていない",
    "결정하지 않",
    "정하지 않",
];

/// What a sentence says is to be done.
const TO_DO: &[&str] = &[
    // English
    "todo",
    "to do:",
    "i will",
    "i'll",
    "i need to",
    "we need to",
    "you need to",
    "i have to",
    "i must",
    "please",
    "remind me",
    "don't forget",
    "do not forget",
    "action item",
    "next step",
    "follow up",
    "by tomorrow",
    "remember to",
    // German
    "bitte",
    "ich werde",
    "ich muss",
    "wir mussen",
    "muss noch",
    "nicht vergessen",
    "erinnere mich",
    "ich kummere mich",
    "zu erledigen",
    "nachster schritt",
    // French
    "je vais",
    "je dois",
    "il faut",
    "nous devons",
    "s'il te plait",
    "s'il vous plait",
    "n'oublie pas",
    "n'oubliez pas",
    "a faire",
    "rappelle-moi",
    // Spanish
    "voy a",
    "tengo que",
    "hay que",
    "tenemos que",
    "por favor",
    "no olvides",
    "pendiente",
    "recuerdame",
    // Italian, Portuguese, Dutch
    "devo",
    "dobbiamo",
    "per favore",
    "non dimenticare",
    "da fare",
    "preciso",
    "vou fazer",
    "nao esquecas",
    "ik zal",
    "ik moet",
    "alstublieft",
    "vergeet niet",
    // Polish, Russian, Turkish
    "musze",
    "prosze",
    "do zrobienia",
    "я сделаю",
    "нужно",
    "надо",
    "пожалуйста",
    "не забудь",
    "yapacagim",
    "lutfen",
    "unutma",
    // Chinese, Japanese, Korean
    "我会",
    "我要",
    "请",
    "記得",
    "记得",
    "待办",
    "需要",
    "别忘",
    "ください",
    "しなければ",
    "しておきます",
    "やること",
    "忘れないで",
    "해야",
    "하겠습니다",
    "부탁",
    "잊지",
];

/// Phrases, each by its first word; those of writings without blanks apart.
struct Phrases {
    by_word: HashMap<String, Vec<String>>,
    unparted: Vec<String>,
}

impl Phrases {
    fn of(phrases: &[&str]) -> Self {
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
    static DECISIONS: LazyLock<(Phrases, Phrases)> = LazyLock::new(|| (Phrases::of(DECIDED), Phrases::of(NOT_DECIDED)));
    let (decided, not) = &*DECISIONS;
    let text = normal(sentence);
    !is_question(sentence) && decided.are_in(&text) && !not.are_in(&text)
}

/// Whether a sentence says what somebody is to do.
pub(super) fn is_action(sentence: &str) -> bool {
    static ACTIONS: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(TO_DO));
    !is_question(sentence) && ACTIONS.are_in(&normal(sentence))
}

/// Whether a folded word is one with which people say what was decided or is to be done: it says nothing of what that is.
pub(super) fn is_of_a_phrase(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let phrases = DECIDED.iter().chain(NOT_DECIDED).chain(TO_DO);
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
            "Have we decided?",
            "We have not decided yet.",
            "Das ist noch nicht entschieden.",
            "我们还没决定。",
            "The decisive moment came later.",
            "I like soup.",
            "Willingly.",
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
