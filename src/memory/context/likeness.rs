//! The words of a question that say what it is about, and how many of them a text has.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::base::config::StemmerLanguage;
use crate::text::derive::entries::MemoryEntry;
use crate::text::derive::stop_words;
use crate::text::derive::words::{Stemming, fold, plain_words};

/// Maximum number of words of a question that are held against texts: as many as bits of which are told.
const MAX_WORDS: usize = 100;
/// Words with which people ask, in several languages: they are about nothing.
const ASKING: &str = "know tell say said show list give find search look everything anything something happened happen doing done remember recall \
    mind please exactly really again still think thing things like's hey need want let make made get got \
    weisst weiss sag sage zeig such suche bitte genau passiert gemacht getan los \
    sais sait dis dire montre cherche passe fait faire \
    sabes sabe dime busca buscar muestra paso pasado hice hizo hicimos hacer \
    sai sapere dimmi cerca mostra successo fatto fare \
    voce sabia diga procura mostre aconteceu fez feito \
    weet vertel zoek toon gebeurd gebeurde gedaan \
    wiesz wie powiedz szukaj pokaz stalo bylo robilem robilismy co \
    знаешь знаете скажи найди покажи случилось было что \
    뭐 뭐야 뭘 무엇 엇을 했어 했지 알아 말해 우리 \
    क्या जानते हो तुम आप ماذا تعرف ما هل";
/// Signs with which Chinese asks, and parts what it says.
const SMALL_SIGNS: &str =
    "你您我他她它们們的了吗嗎呢吧是在有什么麼怎样樣请請和与也都就这這那个個哪谁誰何说說做过過知道";

/// Whether a folded word says what a text is about: it is no stop word of any language, and nothing that people ask with.
fn is_telling(word: &str) -> bool {
    static ASKED_WITH: LazyLock<HashSet<&'static str>> = LazyLock::new(|| ASKING.split_whitespace().collect());
    let is_small = |sign: char| SMALL_SIGNS.contains(sign) || matches!(sign, '\u{3040}'..='\u{309f}');
    !(stop_words::is_one(word) || ASKED_WITH.contains(word) || word.chars().all(is_small) || is_letter(word))
}

/// What an apostrophe parts from a word.
fn is_letter(word: &str) -> bool {
    matches!(word, "s" | "d" | "l" | "m" | "t" | "j" | "n" | "re" | "ve" | "ll" | "qu")
}

/// A question without the words, parted by blanks, that say nothing of what it is about.
pub(super) fn telling(query: &str) -> String {
    let tells = |run: &&str| plain_words(run, false).iter().any(|word| is_telling(word));
    query.split_whitespace().filter(tells).collect::<Vec<_>>().join(" ")
}

/// The words of a question that say what it is about.
pub(super) struct QuestionWords {
    /// Each with its stem, folded.
    words: Vec<(String, String)>,
    stemming: Stemming,
}

impl QuestionWords {
    /// Those of a question, with the word forms of a language.
    pub(super) fn of(query: &str, language: StemmerLanguage) -> Self {
        let mut stemming = Stemming::new(language);
        let mut words: Vec<(String, String)> = Vec::new();
        for word in plain_words(query, true).into_iter().filter(|word| is_telling(word)) {
            let stem = stemming.stem(&word).to_owned();
            if !words.iter().any(|(_, known)| *known == stem) {
                words.push((word, stem));
            }
            if words.len() == MAX_WORDS {
                break;
            }
        }
        Self { words, stemming }
    }

    /// Whether it has none.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many of them an entry has, in whatever form.
    pub(super) fn in_entry(&mut self, entry: &MemoryEntry) -> usize {
        let words = plain_words(&entry.text, true).into_iter().chain(entry.tags.iter().map(|tag| fold(tag)));
        self.which_of(&words.collect()).count_ones() as usize
    }

    /// How many of them a text has.
    pub(super) fn in_text(&mut self, text: &str) -> usize {
        self.which(text).count_ones() as usize
    }

    /// Whether so many of them are enough for an entry that nobody asked to remember: half, or two of a longer question.
    pub(super) fn are_enough(&self, found: usize) -> bool {
        found > 0 && (found * 2 >= self.words.len() || (found >= 2 && found * 4 >= self.words.len()))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Which of them a text has, the first as the lowest bit.
    pub(super) fn which(&mut self, text: &str) -> u128 {
        self.which_of(&plain_words(text, true).into_iter().collect())
    }

    fn which_of(&mut self, has: &HashSet<String>) -> u128 {
        let Self { words, stemming } = self;
        let mut has_it = |(word, stem): &(String, String)| {
            has.contains(word.as_str())
                // Few words begin alike, and only of those a stem is worked out.
                || has.iter().any(|other| other.chars().take(2).eq(word.chars().take(2)) && stemming.stem(other) == stem)
        };
        words.iter().enumerate().fold(0, |all, (at, word)| all | (u128::from(has_it(word)) << at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::MemoryKind;

    #[test]
    fn an_entry_is_like_a_question_in_whatever_form_its_words_are() {
        let entry = |text: &str| MemoryEntry::new(MemoryKind::Preference, text);
        for (query, text, found, enough) in [
            ("Which editor should I configure?", "Prefers vim as editor", 1, true),
            ("How do I set up vim", "Prefers vim as editor", 1, true),
            ("do you remember which editors I use", "Prefers vim as editor", 1, true),
            ("do you recall teas I like", "Likes tea", 2, true),
            ("Wie ist das Dach zu decken?", "Hat das Dach neu gedeckt", 1, true),
            ("How long does sourdough rest in the cellar?", "Likes long walks", 1, false),
            ("what do you know about me", "Knows what is about", 0, false),
            ("", "Likes tea", 0, false),
        ] {
            let mut words = QuestionWords::of(query, StemmerLanguage::English);
            let got = words.in_entry(&entry(text));
            assert_eq!((got, words.are_enough(got)), (found, enough), "{query}");
        }
    }

    #[test]
    fn a_question_may_be_about_nothing() {
        for (query, left) in [
            ("what did we do about it", ""),
            ("what do you know about me", ""),
            ("was war da los", ""),
            ("what exactly is a monad", "monad"),
            ("你知道我什么", ""),
            ("关于屋顶的计划", "关于屋顶的计划"),
            ("뭐 했어?", ""),
            ("the roof, of course", "roof, course"),
        ] {
            assert_eq!(telling(query), left, "{query}");
        }
    }
}
