//! Whether the words of a sentence are in lines, in scripts that have no capitals: a name is known by nothing there, so that each word that says
//! something has to be said.

use super::claims::{PERSON_SIGNS, SaidWords};
use crate::config::StemmerLanguage;
use crate::derive::stop_words;
use crate::derive::words::{dictionary_words, fold};

/// Signs of words that say nothing by themselves, or stand for many; whether something is denied is looked at elsewhere.
const SMALL_SIGNS: &str = "的了是在有会會要和与與也都就很我他她它你们們这這那一个個只被把给給对對从從到为為于於想能可以及并且或但而又还還着過过不没沒無无";

/// The first word of a sentence that the lines do not have, in a script without capitals.
pub(super) fn lacks_word(sentence: &str, lines: &str, words: &SaidWords) -> Option<String> {
    let mut sentence = sentence.to_owned();
    for sign in PERSON_SIGNS {
        sentence = sentence.replace(sign, " ");
    }
    let (sentence, said) = (fold(&sentence), fold(lines));
    let own: Vec<String> = dictionary_words(&sentence).into_iter().map(str::to_owned).collect();
    let telling = stop_words::without(&own.iter().collect::<Vec<_>>(), StemmerLanguage::None);
    telling.into_iter().find(|word| !is_said(word, &said, words)).cloned()
}

fn is_said(word: &str, said: &str, words: &SaidWords) -> bool {
    let is_caseless =
        |character: char| character.is_alphabetic() && !character.is_lowercase() && !character.is_uppercase();
    if !word.contains(is_caseless) || said.contains(word) {
        return true;
    }
    if word.contains(is_hangul) {
        // Endings of verbs change, and particles stand behind nouns.
        let length = word.chars().count();
        let stem = if word.ends_with('다') { length.saturating_sub(2) } else { length.saturating_sub(1).clamp(1, 2) };
        return said.contains(&word.chars().take(stem).collect::<String>());
    }
    if word.contains(is_han_or_kana) {
        // What kana add are endings and particles.
        let parts = word
            .split(|character: char| matches!(character, '\u{3041}'..='\u{309f}') || SMALL_SIGNS.contains(character));
        return parts.filter(|part| !part.is_empty()).all(|part| said.contains(part));
    }
    let bare =
        ["ال", "وال", "بال", "و", "ب", "ل", "ה", "ב", "ל", "ו"].iter().find_map(|before| word.strip_prefix(before));
    words.has(word) || bare.is_some_and(|bare| bare.chars().count() >= 3 && said.contains(bare))
}

fn is_hangul(character: char) -> bool {
    matches!(character, '\u{ac00}'..='\u{d7a3}')
}

fn is_han_or_kana(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_was_not_said_is_found_without_capitals() {
        for (sentence, lines, lacks) in [
            ("用户住在上海的东城区，有两只猫", "我住在北京的东城区，有两只猫。", true),
            ("太太叫小明，有两只猫", "我太太叫小红，我们有两只猫。", true),
            ("用户住在北京的东城区，有两只猫", "我住在北京的东城区，有两只猫。", false),
            ("会拉二胡，也会说日语", "我会拉二胡，也会说日语。", false),
            ("大阪に住んでいる", "私は東京に住んでいます。", true),
            ("東京に住んでいる", "私は東京に住んでいます。", false),
            ("부산에 산다", "저는 서울에 살아요.", true),
            ("서울에 산다", "저는 서울에 살아요.", false),
            ("ชอบดื่มกาแฟ", "ผมชอบดื่มชา", true),
            ("ชอบดื่มชา", "ผมชอบดื่มชา", false),
            ("Moved to Bonn", "I moved to Berlin", false),
        ] {
            let found = lacks_word(sentence, lines, &SaidWords::of(lines));
            assert_eq!(found.is_some(), lacks, "{sentence} / {lines}: {found:?}");
        }
    }
}
