//! What a sentence claims that must not be invented: names, and whether it denies something; and how much of it is in the lines that
//! it is said to come from. By rules that err on the side of dropping: what is dropped here is still in the conversation.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

use crate::config::StemmerLanguage;
use crate::derive::said::{is_a_text, plain};
use crate::derive::stop_words;
use crate::derive::words::{fold, is_parted_within, plain_words};

/// Words for the person, which an entry may add. Folded.
pub(super) const PERSON_WORDS: [&str; 24] = [
    "user", "users", "person", "persons", "the", "they", "their", "he", "she", "his", "her", "nutzer", "benutzer",
    "der", "die", "das", "er", "sie", "el", "la", "ella", "usuario", "usuaria", "persona",
];
/// The same in scripts without blanks between words.
pub(super) const PERSON_SIGNS: [&str; 12] =
    ["用户", "使用者", "本人", "他", "她", "ユーザー", "彼", "사용자", "ผู้ใช้", "المستخدم", "उपयोगकर्ता", "משתמש"];

/// Words that a sentence about the person begins with, though the lines may have others. Folded, whole or by their ends.
const BEGINNINGS: [&str; 58] = [
    "has",
    "is",
    "was",
    "will",
    "can",
    "does",
    "do",
    "not",
    "never",
    "no",
    "born",
    "married",
    "allergic",
    "speaks",
    "in",
    "on",
    "at",
    "at",
    "since",
    "from",
    "every",
    "has",
    "mag",
    "hat",
    "ist",
    "war",
    "wird",
    "kann",
    "will",
    "arbeitet",
    "wohnt",
    "lebt",
    "bevorzugt",
    "nutzt",
    "plant",
    "braucht",
    "spricht",
    "lernt",
    "heisst",
    "kein",
    "keine",
    "nicht",
    "tiene",
    "es",
    "esta",
    "fue",
    "vive",
    "trabaja",
    "prefiere",
    "quiere",
    "usa",
    "habla",
    "estudia",
    "necesita",
    "decidio",
    "le",
    "no",
    "se",
];

/// What denies, as whole words. Folded.
const DENIALS: [&str; 42] = [
    "not", "no", "never", "none", "nobody", "nothing", "without", "neither", "nor", "cannot", "cant", "dont", "doesnt",
    "didnt", "isnt", "wasnt", "wont", "arent", "havent", "hasnt", "nicht", "kein", "keine", "keinen", "keinem",
    "keiner", "nie", "niemals", "ohne", "weder", "nunca", "jamas", "sin", "tampoco", "ni", "ne", "pas", "jamais",
    "sans", "non", "niet", "geen",
];
/// What denies, as signs among others.
const DENYING_SIGNS: [&str; 12] =
    ["不", "没", "無", "无", "未", "别再", "从来不", "ない", "ません", "なかった", "не ", "нет"];
/// What has such a sign and denies nothing.
const NO_DENIALS: [&str; 8] = ["不错", "不仅", "不但", "不久", "差不多", "不过", "未来", "无论"];
/// Words that deny by what they mean: a sentence with one may stand for one that denies, or not.
const HALF_DENIALS: [&str; 27] = [
    "avoid",
    "stop",
    "quit",
    "dislike",
    "hate",
    "refus",
    "allerg",
    "vegetarian",
    "vegan",
    "against",
    "instead",
    "rather",
    "switch",
    "unable",
    "vermeid",
    "hass",
    "statt",
    "aufge",
    "aufgehor",
    "evita",
    "odia",
    "dejo",
    "alergi",
    "rechaz",
    "讨厌",
    "避免",
    "过敏",
];

/// The words of lines, to hold sentences against.
pub(super) struct SaidWords {
    words: BTreeSet<String>,
}

impl SaidWords {
    /// Of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut words: BTreeSet<String> = plain_words(text, true).into_iter().collect();
        words.extend(text.unicode_words().map(fold));
        Self { words }
    }

    /// Whether a word is there, or one that differs from it by its end alone.
    pub(super) fn has(&self, word: &str) -> bool {
        if self.words.contains(word) {
            return true;
        }
        let length = word.chars().count();
        length >= 3 && self.words.iter().any(|said| is_like(word, said))
    }

    /// The first name of a sentence that is not there.
    pub(super) fn lacks_name<'s>(&self, sentence: &'s str) -> Option<&'s str> {
        let words: Vec<(usize, &str)> = sentence.unicode_word_indices().collect();
        words.iter().enumerate().find_map(|(at, (start, word))| {
            let folded = fold(word);
            let is_capital =
                word.chars().next().is_some_and(char::is_uppercase) || word.chars().skip(1).any(char::is_uppercase);
            let begins = at == 0 || sentence[..*start].trim_end().ends_with(['.', '!', '?', ':', ';', '。']);
            let is_plain = !is_capital
                || PERSON_WORDS.contains(&folded.as_str())
                || (begins && begins_plainly(&folded, words.get(at + 1).map(|(_, next)| *next)));
            (!is_plain && !self.has(&folded)).then_some(*word)
        })
    }

    /// The share of the words of a sentence that say something which are there; 0 where none does.
    pub(super) fn share(&self, sentence: &str) -> f64 {
        let mut sentence = sentence.to_owned();
        for sign in PERSON_SIGNS {
            sentence = sentence.replace(sign, " ");
        }
        let words: Vec<String> = plain_words(&sentence, false);
        let words: Vec<&String> = words.iter().filter(|word| !PERSON_WORDS.contains(&word.as_str())).collect();
        let says = stop_words::without(&words, StemmerLanguage::None);
        let says = if says.is_empty() { words } else { says };
        let found = says.iter().filter(|word| self.has(word)).count();
        if says.is_empty() { 0.0 } else { found as f64 / says.len() as f64 }
    }
}

/// Whether a sentence stands in lines word by word, but for what they call the person; or all its words that say something stand in a quote of
/// them, in their order and but for their ends. All are folded, but for the sentence.
pub(super) fn is_word_by_word(sentence: &str, quote: &str, said: &str) -> bool {
    let (folded, own) = (plain(sentence), without_person(sentence));
    if is_a_text(&own) && stands_in(&own, said) {
        return true;
    }
    let words = plain_words(&folded, false);
    let words: Vec<&String> = words.iter().filter(|word| !PERSON_WORDS.contains(&word.as_str())).collect();
    let says = stop_words::without(&words, StemmerLanguage::None);
    let quoted = plain_words(quote, false);
    let mut rest = quoted.iter();
    !says.is_empty()
        && is_a_text(quote)
        && stands_in(quote, said)
        && denies(sentence).is_some_and(|claimed| denies(quote) == Some(claimed))
        && says.iter().all(|word| rest.any(|there| *there == **word || is_like(word, there)))
}

/// The words of a sentence, plain, without those for the person.
pub(super) fn without_person(sentence: &str) -> String {
    let folded = plain(sentence);
    let own: Vec<&str> = folded.split(' ').filter(|word| !PERSON_WORDS.contains(word)).collect();
    own.join(" ")
}

/// Whether words stand in others as whole words; in scripts without blanks between words, as they are.
fn stands_in(words: &str, said: &str) -> bool {
    if words.contains(is_parted_within) {
        return said.contains(words);
    }
    format!(" {said} ").contains(&format!(" {words} "))
}

/// Whether two words are the same but for their ends, as `prefer` and `prefers`.
pub(super) fn is_like(one: &str, other: &str) -> bool {
    if one.contains(is_parted_within) {
        return false;
    }
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let (longer, shorter) =
        (one.chars().count().max(other.chars().count()), one.chars().count().min(other.chars().count()));
    common >= 3 && common + 1 >= shorter && longer - common <= 3 && !one.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a sentence begins with a verb or the like, and not with a name that may be invented.
pub(super) fn begins_plainly(first: &str, next: Option<&str>) -> bool {
    let next_is_verb = next.is_some_and(|next| {
        let next = fold(next);
        ["is", "was", "has", "will", "can", "hat", "ist", "es", "tiene"].contains(&next.as_str())
            || (next.len() > 3 && next.ends_with('s') && !next.ends_with("ss"))
    });
    let like_verb = first.len() > 3 && ["s", "ed", "ing"].iter().any(|end| first.ends_with(end));
    BEGINNINGS.contains(&first) || DENIALS.contains(&first) || (like_verb && !next_is_verb)
}

/// Whether a sentence denies; `None` where that cannot be said.
fn denies(sentence: &str) -> Option<bool> {
    let folded = fold(sentence).replace(['\'', '\u{2019}'], "");
    let signs = NO_DENIALS.iter().fold(folded.clone(), |text, plain| text.replace(plain, " "));
    let words: Vec<&str> = folded.unicode_words().collect();
    if words.iter().any(|word| DENIALS.contains(word)) || DENYING_SIGNS.iter().any(|sign| signs.contains(sign)) {
        return Some(true);
    }
    let is_half = |word: &&str| HALF_DENIALS.iter().any(|half| word.starts_with(half));
    let has_sign = HALF_DENIALS.iter().any(|half| !half.is_ascii() && folded.contains(half));
    if words.iter().any(is_half) || has_sign { None } else { Some(false) }
}

/// How near to the nearest another part of the lines is to count as well.
const AS_NEAR: f64 = 0.75;

/// Whether a sentence denies what the lines say, or says what they deny. Of the lines those parts count which have most of its words.
pub(super) fn contradicts(sentence: &str, lines: &str) -> bool {
    let Some(claimed) = denies(sentence) else { return false };
    let ends = ['.', '!', '?', ';', '。', '！', '？', '；', '\n', ',', '，'];
    let parts = lines.split(ends).map(|part| (SaidWords::of(part).share(sentence), part));
    let parts: Vec<(f64, &str)> = parts.filter(|(share, _)| *share > 0.0).collect();
    let most = parts.iter().map(|(share, _)| *share).fold(0.0, f64::max);
    let mut near = parts.iter().filter(|(share, _)| *share >= AS_NEAR * most).map(|(_, part)| denies(part));
    !parts.is_empty() && near.all(|said| said.is_some_and(|said| said != claimed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_not_said_is_found() {
        let said = SaidWords::of("I moved to Bonn with Anna's sister, and ich mag Tabs.");
        for (sentence, lacks) in [
            ("Moved to Bonn", None),
            ("Moved to Berlin", Some("Berlin")),
            ("Anna moved to Bonn", None),
            ("James works in Bonn", Some("James")),
            ("Karl", Some("Karl")),
            ("Works in Bonn", None),
            ("The user prefers tabs. Lives in Bonn", None),
            ("Mag Tabs", None),
            ("Uses iPhone", Some("iPhone")),
        ] {
            assert_eq!(said.lacks_name(sentence), lacks, "{sentence}");
        }
    }

    #[test]
    fn what_is_denied_is_told_from_what_is_said() {
        for (sentence, lines, is_so) in [
            ("Likes coriander", "I do not like coriander.", true),
            ("Does not like coriander", "I like coriander", true),
            ("Does not like coriander", "I don’t like coriander at all", false),
            ("Likes tea", "I don't drink coffee. I like tea.", false),
            ("Is a vegetarian", "I don't eat meat", false),
            ("Avoids meat", "I never eat meat", false),
            ("Trinkt Kaffee", "Ich trinke keinen Kaffee", true),
            ("喜欢香菜", "我不喜欢香菜", true),
            ("喜欢茶", "茶不错，我喜欢茶", false),
            ("No bebe café", "Nunca bebo café", false),
        ] {
            assert_eq!(contradicts(sentence, lines), is_so, "{sentence} / {lines}");
        }
    }

    #[test]
    fn what_says_something_else_has_no_share() {
        let share = |sentence: &str, lines: &str| SaidWords::of(lines).share(sentence);
        assert!(share("Prefers tea in the morning", "In the morning I prefer tea") > 0.9);
        assert!(share("用户喜欢绿茶", "我喜欢绿茶") > 0.9);
        assert!(share("Wohnt in Bonn", "Ich wohne seit Mai in Bonn") > 0.9);
        assert!(share("The user hates winter", "I bought a bicycle") < 0.1);
        assert!(share("The user drinks tea", "Ich trinke Tee") < 0.4, "in another language");
        assert_eq!(share("", "x"), 0.0);
    }

    #[test]
    fn word_by_word_is_more_than_a_word() {
        let said = plain("Yes. I really prefer tabs over spaces, and Bob owes Anna money.");
        for (sentence, quote, is_so) in [
            ("Prefers tabs over spaces", "I really prefer tabs over spaces", true),
            ("The user really prefers tabs over spaces", "I really prefer tabs over spaces", true),
            ("Bob owes Anna money", "", true),
            ("Bob owes Anna money", "I", true),
            ("Prefers tabs over spaces", "I", false),
            ("Prefers tabs over spaces", "prefer tabs", false),
            ("Prefers tabs over spaces", "", false),
            ("Prefers spaces over tabs", "I really prefer tabs over spaces", false),
            ("Anna owes Bob money", "Bob owes Anna money", false),
            ("Does not prefer tabs", "I really prefer tabs over spaces", false),
            ("Prefers tabs", "refer tabs over", false),
        ] {
            assert_eq!(is_word_by_word(sentence, &plain(quote), &said), is_so, "{sentence} / {quote}");
        }
        assert!(is_word_by_word("喜欢喝绿茶", "", "我喜欢喝绿茶"));
    }
}
