//! Words that every text of a language has, and that say nothing of what is looked for; and how common words are in everyday prose, whatever the
//! vault: in a small one stop words would weigh like names.
//!
//! They are searched for as all words are; this is about what is shown of them.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

use super::words::{Stemming, fold, plain_words};
use crate::base::config::StemmerLanguage::{self, *};

/// The words of a language that as many chunks have.
#[derive(Deserialize)]
struct WordClass {
    language: StemmerLanguage,
    share: f64,
    /// Whether they say nothing of what is looked for.
    #[serde(default)]
    is_stop: bool,
    words: String,
}

static CLASSES: LazyLock<Vec<WordClass>> = LazyLock::new(|| {
    let table = toml::from_str::<HashMap<String, _>>(include_str!("common_words.toml"));
    table.expect("the program's own file").remove("class").unwrap_or_default()
});

/// The folded words of a query that are no stop words. They are those of the stemmer's language, or of another where at least two of the
/// words are, and more of them: people search in languages that they have not set.
pub(crate) fn without<'w>(words: &[&'w String], stemmer: StemmerLanguage) -> Vec<&'w String> {
    let mut best = if stemmer == None { English } else { stemmer };
    let counts = counts(words.iter().copied());
    for class in CLASSES.iter() {
        if counts[class.language as usize] >= 2.max(counts[best as usize] + 1) {
            best = class.language;
        }
    }
    let says = |word: &str| BY_WORD.get(word).is_none_or(|languages| *languages >> best as u32 & 1 == 0);
    words.iter().copied().filter(|word| says(word)).collect()
}

/// Whether a folded word is a stop word of any language.
pub(crate) fn is_one(word: &str) -> bool {
    BY_WORD.contains_key(word)
}

/// How many of the folded words are stop words of each language, by its number.
pub(super) fn counts<'w>(words: impl Iterator<Item = &'w String>) -> [usize; LANGUAGES] {
    let mut counts = [0; LANGUAGES];
    for languages in words.filter_map(|word| BY_WORD.get(word)) {
        counts.iter_mut().enumerate().for_each(|(at, count)| *count += (*languages >> at & 1) as usize);
    }
    counts
}

/// As many numbers as languages have.
const LANGUAGES: usize = Turkish as usize + 1;

/// The languages of each word, a bit for each.
static BY_WORD: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut by_word: HashMap<String, u32> = HashMap::new();
    for class in CLASSES.iter().filter(|class| class.is_stop) {
        let folded = class.words.split_whitespace().map(|word| fold(word).replace('\'', ""));
        folded.for_each(|word| *by_word.entry(word).or_default() |= 1 << class.language as u32);
    }
    by_word
});

/// The shares of a language's words and of their stems. Words that are not in it are in no chunk.
#[derive(Debug, Default)]
pub(crate) struct CommonWords {
    words: HashMap<String, f64>,
    stems: HashMap<String, f64>,
}

impl CommonWords {
    /// Those of a language. Made once, and the same for everyone, so that nothing in a vault moves a score of another.
    pub(crate) fn of(language: StemmerLanguage) -> &'static Self {
        static KNOWN: [OnceLock<CommonWords>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];
        KNOWN[language as usize].get_or_init(|| Self::read(language))
    }

    fn read(language: StemmerLanguage) -> Self {
        let mut stemming = Stemming::new(language);
        let mut common = Self::default();
        for class in CLASSES.iter().filter(|class| class.language == language && class.share > 0.0) {
            for word in plain_words(&class.words, false) {
                common.stems.entry(stemming.stem(&word).to_owned()).or_insert(class.share);
                common.words.entry(word).or_insert(class.share);
            }
        }
        common
    }

    /// The share of chunks with a word.
    pub(crate) fn share(&self, word: &str) -> f64 {
        self.words.get(word).copied().unwrap_or_default()
    }

    /// The share of chunks with a stem.
    pub(crate) fn stem_share(&self, stem: &str) -> f64 {
        self.stems.get(stem).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(query: &str, stemmer: StemmerLanguage) -> Vec<String> {
        let words = super::super::words::plain_words(query, true);
        without(&words.iter().collect::<Vec<_>>(), stemmer).into_iter().cloned().collect()
    }

    #[test]
    fn what_is_left_says_what_is_looked_for() {
        for (query, expected) in [
            ("who has the tile cutter", "tile cutter"),
            ("how do I know the dough hasn't risen", "know dough risen"),
            ("wo ist der Schlüssel für das Fahrrad", "schlussel fahrrad"),
            ("où est la clé du vélo", "cle velo"),
            ("¿dónde está la llave de la bicicleta?", "llave bicicleta"),
            ("где ключ от велосипеда", "ключ велосипеда"),
            ("the Who", ""),
            ("die hard", "die hard"),
            ("東京 天気", "東京 天気"),
        ] {
            assert_eq!(left(query, English).join(" "), expected, "{query}");
            assert_eq!(left(query, None).join(" "), expected, "{query}");
        }
        assert_eq!(left("die Kelle", German), ["kelle"]);
    }

    #[test]
    fn every_stemmer_has_its_words() {
        for language in [Arabic, Danish, Dutch, Finnish, Greek, Hungarian, Norwegian, Romanian, Swedish, Tamil, Turkish]
        {
            let own = CLASSES.iter().filter(|class| class.language == language && class.is_stop);
            let first: Vec<&str> = own.flat_map(|class| class.words.split_whitespace()).take(3).collect();
            assert_eq!(first.len(), 3, "{language:?}");
            assert_eq!(left(&first.join(" "), language), Vec::<String>::new(), "{language:?}");
        }
    }
}

#[cfg(test)]
mod tests_of_common_words {
    use super::*;

    #[test]
    fn common_words_are_known_by_language_and_in_any_form() {
        let english = CommonWords::of(StemmerLanguage::English);
        assert_eq!([english.share("the"), english.share("was"), english.share("paper")], [0.5, 0.5, 0.0]);
        let stem = Stemming::new(StemmerLanguage::English).stem("being").to_owned();
        assert!(english.stem_share(&stem) > 0.0);
        assert!(CommonWords::of(StemmerLanguage::German).share("fur") == 0.5, "folded as it is in texts");
        assert_eq!(CommonWords::of(StemmerLanguage::None).share("the"), 0.0);
        let shares = |common: &CommonWords| common.words.len();
        assert!(shares(CommonWords::of(StemmerLanguage::Russian)) > 50 && shares(english) > 100);
    }
}
