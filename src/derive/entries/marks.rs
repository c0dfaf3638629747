//! What sets two sentences apart that have the same words else: numbers, names, negations, and marks of the past.

use std::collections::BTreeSet;

use crate::config::StemmerLanguage;
use crate::derive::numerals::{Numeral, numerals};
use crate::derive::stop_words;
use crate::derive::words::{fold, is_parted_within, plain_words};

/// Words that turn a sentence into its opposite, folded, of the languages whose words are parted by blanks.
pub(super) const NEGATIONS: &str = "not no never cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt havent hasnt hadnt without \
    neither nor none nicht kein keine keinen keinem keiner keines nie niemals ohne pas ne jamais aucun aucune sans nunca jamas sin tampoco non mai \
    senza nao sem nem niet geen nooit zonder inte aldrig utan ikke aldri uten uden ingen ei eivat en ilman не нет никогда без nie nigdy bez degil yok \
    لا ليس لم لن לא אין नहीं मत khong tidak bukan 안 hardly scarcely barely seldom rarely kaum selten rarement guere raramente raro raras zelden \
    nauwelijks sallan sjelden sjælden harvoin nadiren редко rzadko";
/// The same within words and sentences of the others.
const NEGATIONS_WITHIN: &[&str] = &[
    "不",
    "没",
    "沒",
    "無",
    "无",
    "别",
    "未",
    "ない",
    "ません",
    "なかった",
    "않",
    "없",
    "아니",
    "못",
    "ไม่",
    "មិន",
    "ບໍ່",
    "很少",
    "极少",
    "めったに",
    "滅多に",
    "드물게",
];
/// Words that put a sentence into the past.
const PAST: &str = "formerly once used former previously earlier ex longer anymore fruher ehemals ehemalig damals autrefois ancien ancienne \
    anciennement antes anteriormente exmiembro prima precedentemente vroeger voorheen tidigare forr tidligere раньше прежде бывший dawniej eskiden";
const PAST_WITHIN: &[&str] = &["曾", "以前", "过去", "過去", "かつて", "でした", "ていた", "했", "었", "เคย"];
/// Particles at the end of a sentence that say nothing by themselves.
const PARTICLES: &[char] = &['的', '了', '呢', '吧', '啊', '吗', '嗎', 'ね', 'よ'];

/// The halves of the day, behind a time.
pub(super) const HALVES: &str = "am pm";

/// What runs into the next word before an apostrophe: `n'aime`, `l'ami`, `dell'anno`.
const ELIDED: &str = "l d j m t s c n qu un dell all nell sull dall quest";

/// A sentence as it is held against others.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    /// Its words in their order, as engines count them.
    pub(super) words: Vec<String>,
    /// Those of them that say something, in their order.
    pub(super) content: Vec<String>,
    /// Its numbers, each with its sign, currency and half of the day: dates are some.
    pub(super) numbers: BTreeSet<String>,
    /// Its words with a capital letter that are none in the middle of a sentence.
    pub(super) names: BTreeSet<String>,
    /// Whether it denies.
    pub(super) is_negated: bool,
    /// Whether it says of itself that it is over.
    pub(super) is_past: bool,
    /// Whether its letters have no capitals, so that names cannot be told.
    pub(super) is_caseless: bool,
    /// Whether its verbs stand at the end, so that what is said of the subject stands before.
    pub(super) is_verb_final: bool,
    /// Whether it has a name before a colon: "Editor: vim".
    pub(super) is_labelled: bool,
}

impl Statement {
    /// Reads a text beside another, which helps to tell the language.
    pub(super) fn beside(text: &str, other: &str) -> Self {
        let numbers = numerals(text).iter().map(Numeral::label).collect();
        let text = text.trim_end_matches(|c: char| !c.is_alphanumeric()).trim_end_matches(PARTICLES);
        let text = without_elisions(text);
        let text = text.as_str();
        let folded = fold(text);
        let words = plain_words(text, false);
        let others = plain_words(&without_elisions(other), false);
        let both: Vec<&String> = words.iter().chain(&others).collect();
        let telling = stop_words::without(&both, StemmerLanguage::English);
        let tells = |word: &String| telling.contains(&word) && !is_in(NEGATIONS, word) && !is_in(PAST, word);
        // "am" is a small word but behind a number.
        let is_half = |at: usize| at > 0 && is_in(HALVES, &words[at]) && words[at - 1].contains(char::is_numeric);
        let is_content = |(at, word): &(usize, &String)| tells(word) || is_half(*at);
        let content: Vec<String> = words.iter().enumerate().filter(is_content).map(|(_, word)| word.clone()).collect();
        let any = |list: &str| words.iter().any(|word| is_in(list, word));
        let within = |list: &[&str]| list.iter().any(|part| folded.contains(part));
        Self {
            numbers,
            names: names(text).into_iter().filter(|name| telling.contains(&name)).collect(),
            is_negated: any(NEGATIONS) || within(NEGATIONS_WITHIN),
            is_past: any(PAST) || within(PAST_WITHIN),
            is_caseless: text.chars().any(|c| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase()),
            is_verb_final: text.chars().any(is_of_verb_final_script),
            is_labelled: text.contains(": "),
            content,
            words,
        }
    }

    /// Whether its numbers, names, negation or time are others than those of another.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.numbers != other.numbers
            || self.names.symmetric_difference(&other.names).any(|name| {
                let has = |one: &Self| one.words.contains(name);
                // A name at the beginning of one may stand in the middle of the other.
                !(has(self) && has(other))
            })
            || self.is_negated != other.is_negated
            || self.is_past != other.is_past
    }
}

/// A text without what runs into other words before an apostrophe.
fn without_elisions(text: &str) -> String {
    let whole = |word: &'_ str| match word.split_once(['\'', '\u{2019}']) {
        Some((before, after))
            if is_in(ELIDED, &before.to_lowercase()) && after.starts_with(char::is_alphabetic) && after.len() > 1 =>
        {
            after.to_owned()
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(whole).collect::<Vec<_>>().join(" ")
}

/// Whether a word is in a list of folded words.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// The folded words that begin with a capital letter.
fn names(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '\u{2019}');
    let capital = words.filter(|word| word.starts_with(char::is_uppercase));
    let folded = capital.flat_map(|word| plain_words(word, false));
    folded.filter(|word| !is_in("user", word)).collect()
}

/// Kana, Hangul, and the scripts of India.
fn is_of_verb_final_script(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7a3}' | '\u{900}'..='\u{dff}')
}

/// Whether two words are forms of one, as far as their beginnings tell.
pub(super) fn is_akin(one: &str, other: &str) -> bool {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let rest = |word: &str| word.chars().count() - same;
    same >= 3
        && !one.contains(char::is_numeric)
        && rest(one) <= 3
        && rest(other) <= 3
        && !one.starts_with(is_parted_within)
}
