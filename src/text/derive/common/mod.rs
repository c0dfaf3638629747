//! How common words are in everyday prose, whatever the vault: in a small one stop words would weigh like names.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::words::{Stemming, plain_words};
use crate::base::config::StemmerLanguage;

/// By language: classes of words, each after the share of chunks that have them.
const WORDS: &str = include_str!("words.txt");

/// The shares of a language's words and of their stems. Words that are not in it are in no chunk.
#[derive(Debug, Default)]
pub(crate) struct CommonWords {
    words: HashMap<String, f64>,
    stems: HashMap<String, f64>,
}

impl CommonWords {
    /// Those of a language. Made once, and the same for everyone, so that nothing in a vault moves a score of another.
    pub(crate) fn of(language: StemmerLanguage) -> &'static Self {
        static KNOWN: LazyLock<Mutex<HashMap<StemmerLanguage, &'static CommonWords>>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(language).or_insert_with(|| Box::leak(Box::new(Self::read(language))))
    }

    fn read(language: StemmerLanguage) -> Self {
        let name = format!("{language:?}").to_lowercase();
        let mut stemming = Stemming::new(language);
        let mut common = Self::default();
        let mut share = None;
        for line in WORDS.lines().filter(|line| !line.starts_with('#')) {
            if let Some((language, number)) = line.split_once(' ')
                && let Ok(number) = number.parse::<f64>()
            {
                share = (language == name).then_some(number);
                continue;
            }
            let Some(share) = share else { continue };
            for word in plain_words(line, false) {
                common.stems.entry(stemming.stem(&word).to_owned()).or_insert(share);
                common.words.entry(word).or_insert(share);
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
