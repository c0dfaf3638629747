//! The language that a note is written in: as its frontmatter says, else as its text shows.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use whatlang::{Lang, detect};

use super::labels::Label;
use super::stop_words;
use super::words::{fold, is_parted_within, plain_words};
use crate::base::config::StemmerLanguage;
use crate::text::note::{Block, BlockKind, Note};

/// A language that can be told by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextLanguage(Lang);

/// Minimum length of a text whose language is guessed, in letters.
const MIN_LETTERS: usize = 40;
/// What is read of a text: more says no more, and takes as long as parsing it does.
const SAMPLE_BYTES: usize = 2_000;
/// Minimum number of stop words in a text of a language. Of prose they are a third; a list of names in another language
/// has none.
const MIN_STOP_WORDS: usize = 3;
const FEW_STOP_WORDS: f64 = 0.1;
const MANY_STOP_WORDS: f64 = 0.25;

impl TextLanguage {
    /// Of a note: what `lang:` says; else what its text clearly is; else what `language:` says, which of a film is what is spoken in it.
    /// `None` where nothing is sure.
    pub(crate) fn of_note(note: &Note, source: &str) -> Option<Self> {
        let of_text = || Self::of_text(&prose(note, source));
        named_in(&note.metadata, "lang").or_else(of_text).or_else(|| named_in(&note.metadata, "language"))
    }

    /// What a text clearly is. A text that is short, or of several languages, or of a language much like another, is nothing for sure.
    pub fn of_text(text: &str) -> Option<Self> {
        let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
        // A sign of those that no blanks part says as much as some letters do.
        let weight = |letter| if is_parted_within(letter) { 4 } else { 1 };
        let letters: usize = sample.chars().filter(|character| character.is_alphabetic()).map(weight).sum();
        if letters < MIN_LETTERS {
            return None;
        }
        let words = plain_words(sample, false);
        let counts = stop_words::counts(words.iter());
        let share = |count: usize| count as f64 / words.len().max(1) as f64;
        let most_but = |language: Option<StemmerLanguage>| {
            let others = counts.iter().enumerate().filter(|(at, _)| language.is_none_or(|own| own as usize != *at));
            others.map(|(_, count)| *count).max().unwrap_or_default()
        };
        let is_clear = |own, most| own * 2 >= most * 3 && own >= MIN_STOP_WORDS && share(own) >= MANY_STOP_WORDS;
        // English shares few of them with others, and most notes are in it: counting takes a twentieth of the time.
        if is_clear(counts[StemmerLanguage::English as usize], most_but(Some(StemmerLanguage::English))) {
            return Some(Self(Lang::Eng));
        }
        let found = detect(sample)?;
        let language = Self(found.lang());
        let most = most_but(language.stemmer());
        let is_sure = match language.stemmer().map(|language| counts[language as usize]) {
            // Three letters in a row say less than the words that hold a sentence together.
            Some(own) if found.is_reliable() => own >= most && own >= MIN_STOP_WORDS && share(own) >= FEW_STOP_WORDS,
            Some(own) => is_clear(own, most),
            None => found.is_reliable() && share(most) < MANY_STOP_WORDS,
        };
        is_sure.then_some(language)
    }

    /// The language that has a code (`de`, `deu`, `de-AT`) or a name (`German`, `Deutsch`).
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = fold(name.trim());
        let code = name.split(['-', '_']).next().unwrap_or_default();
        let also = CODES.split(", ").find_map(|codes| {
            let (own, others) = codes.split_once(' ')?;
            let is_it = others.split(' ').any(|known| [name.as_str(), code].contains(&known));
            is_it.then(|| Lang::from_code(own)).flatten()
        });
        let is =
            |lang: &&Lang| lang.code() == code || [lang.eng_name(), lang.name()].iter().any(|own| fold(own) == name);
        also.or_else(|| Lang::all().iter().find(is).copied()).map(Self)
    }

    /// Its name in English.
    pub fn name(self) -> &'static str {
        match self.0 {
            Lang::Cmn => "Chinese",
            Lang::Nob => "Norwegian",
            other => other.eng_name(),
        }
    }

    /// Whether it is English.
    pub(crate) fn is_english(self) -> bool {
        self.0 == Lang::Eng
    }

    /// The language of its word forms, where they are known.
    pub(crate) fn stemmer(self) -> Option<StemmerLanguage> {
        STEMMED.iter().find(|(own, ..)| *own == self).map(|(_, stemmer, _)| *stemmer)
    }

    /// The one that a file's labels name.
    pub(crate) fn of_labels(labels: &[Label]) -> Option<Self> {
        LABELS.iter().find(|(_, label)| labels.binary_search(label).is_ok()).map(|(language, _)| *language)
    }

    /// What its label is made of.
    pub(crate) fn code(self) -> &'static str {
        self.0.code()
    }

    /// The label of files in it.
    pub(crate) fn label(self) -> Label {
        Label::of_language(self.code())
    }

    /// Those with word forms, with the labels of files in them.
    pub(crate) fn stemmed() -> &'static [(Self, StemmerLanguage, Label)] {
        &STEMMED
    }
}

/// What a property names, or the first of several that it names. Case does not count in its key.
fn named_in(metadata: &Map<String, Value>, key: &str) -> Option<TextLanguage> {
    let (_, value) = metadata.iter().find(|(name, _)| fold(name.trim()) == key)?;
    TextLanguage::named(value.as_array().map_or(Some(value), |values| values.first())?.as_str()?)
}

/// What a note's author wrote as sentences, as far as a [sample](SAMPLE_BYTES) goes: code is of no language.
fn prose(note: &Note, source: &str) -> String {
    let is_prose = |block: &&Block| !matches!(block.kind, BlockKind::Code | BlockKind::Html | BlockKind::Rule);
    let words_of = |block: &Block| source[block.span.clone()].split_whitespace().chain(["\n"]);
    let mut prose = String::new();
    for word in note.blocks.iter().filter(is_prose).flat_map(words_of) {
        if prose.len() >= SAMPLE_BYTES {
            break;
        }
        // A paragraph, and a word, may be as long as a file.
        let word = &word[..word.floor_char_boundary(SAMPLE_BYTES)];
        // Addresses and code within a line are of none, either.
        if !word.contains("://") && !word.contains('`') {
            prose.push_str(word);
            prose.push(' ');
        }
    }
    prose
}

/// Every language's label.
static LABELS: LazyLock<Vec<(TextLanguage, Label)>> =
    LazyLock::new(|| Lang::all().iter().map(|lang| (TextLanguage(*lang), TextLanguage(*lang).label())).collect());

/// The languages with word forms, in the order of the configuration, by their names. Each query asks for their labels.
static STEMMED: LazyLock<Vec<(TextLanguage, StemmerLanguage, Label)>> = LazyLock::new(|| {
    let stemmer_of = |(language, label): &(TextLanguage, Label)| {
        let stemmer = serde_json::from_value(language.name().to_lowercase().into()).ok()?;
        Some((*language, stemmer, *label))
    };
    let mut stemmed: Vec<_> = LABELS.iter().filter_map(stemmer_of).collect();
    stemmed.sort_by_key(|(_, stemmer, _)| *stemmer as u8);
    stemmed
});

/// Behind the code of ISO 639-3, which the library knows, that of ISO 639-1 and what else people write.
const CODES: &str = "afr af, aka ak, amh am, ara ar, aze az, bel be, ben bn, bul bg, cat ca, ces cs, cmn chinese zh zho, cym cy, \
    dan da, deu de, ell el, eng en, epo eo, est et, fin fi, fra fr, guj gu, heb he iw, hin hi, hrv hr, hun hu, \
    hye hy, ind id, ita it, jav jv, jpn ja, kan kn, kat ka, khm km, kor ko, lat la, lav lv, lit lt, mal ml, \
    mar mr, mkd mk, mya my, nep ne, nld nl, nob nb nn no nor norwegian, ori or, pan pa, pes fa fas, pol pl, \
    por pt, ron ro, rus ru, sin si, slk sk, slv sl, sna sn, spa es, srp sr, swe sv, tam ta, tel te, tgl tl, \
    tha th, tuk tk, tur tr, ukr uk, urd ur, uzb uz, vie vi, yid yi, zul zu";

#[cfg(test)]
mod tests {
    use super::*;

    fn of_note(source: &str) -> Option<&'static str> {
        TextLanguage::of_note(&Note::parse(source, "n"), source).map(TextLanguage::name)
    }

    const GERMAN: &str = "Die Fahrräder stehen im Keller, und der Schlüssel liegt unter der Matte neben der Tür.";

    #[test]
    fn a_text_is_what_it_clearly_is() {
        for (language, text) in [
            ("English", "The bicycles are in the cellar, and the key is under the mat next to the door."),
            ("German", GERMAN),
            ("French", "Les vélos sont dans la cave, et la clé se trouve sous le tapis à côté de la porte."),
            (
                "Spanish",
                "Las bicicletas están en el sótano, y la llave está debajo de la alfombra, al lado de la puerta.",
            ),
            ("Russian", "Велосипеды стоят в подвале, а ключ лежит под ковриком рядом с дверью, как и всегда."),
            ("Japanese", "自転車は地下室にあります。鍵はドアの横のマットの下です。"),
            ("Polish", "Rowery stoją w piwnicy, a klucz leży pod wycieraczką obok drzwi, jak zawsze od wielu lat."),
        ] {
            assert_eq!(TextLanguage::of_text(text).map(TextLanguage::name), Some(language), "{text}");
        }
        for text in
            ["", "Fahrräder", "Der Schlüssel", "fn main() { let x = vec![1, 2, 3]; println!(\"{x:?}\"); return; }"]
        {
            assert_eq!(TextLanguage::of_text(text), None, "{text}: nothing is sure");
        }
        let names = "Angela Merkel, Gerhard Schröder, Helmut Kohl, Helmut Schmidt, Willy Brandt, Kurt Georg Kiesinger";
        assert_eq!(TextLanguage::of_text(names), None, "names are of no language");
    }

    #[test]
    fn frontmatter_says_it() {
        assert_eq!(of_note(&format!("---\nlang: fr\n---\n{GERMAN}")), Some("French"));
        assert_eq!(of_note("---\nlang: de-AT\n---\nKurz.\n"), Some("German"));
        assert_eq!(of_note("---\nlanguage: Deutsch\n---\nKurz.\n"), Some("German"));
        assert_eq!(of_note("---\nlang: [es, en]\n---\nBreve.\n"), Some("Spanish"));
        assert_eq!(of_note("---\nlang: rust\n---\nShort.\n"), None);
        let film = format!("---\nlanguage: French\n---\n{GERMAN}");
        assert_eq!(of_note(&film), Some("German"), "what is spoken in a film is not what is written of it");
        let code = format!("{GERMAN}\n\n```\n{}\n```\n", "the code is of the same language as it was ".repeat(50));
        assert_eq!(of_note(&code), Some("German"));
        assert_eq!(of_note(GERMAN), Some("German"));
    }

    #[test]
    fn case_counted_in_the_key_of_the_language() {
        assert_eq!(of_note("---\nLang: fr\n---\nBref.\n"), Some("French"));
        assert_eq!(of_note("---\nLANGUAGE: Deutsch\n---\nKurz.\n"), Some("German"));
    }

    #[test]
    fn a_long_paragraph_was_copied_whole_for_a_look_at_its_beginning() {
        for paragraph in ["some words ".repeat(100_000), "x".repeat(1_000_000)] {
            let note = Note::parse(&paragraph, "n");
            assert!(prose(&note, &paragraph).len() <= 2 * SAMPLE_BYTES + 2);
        }
    }

    #[test]
    fn every_stemmer_has_a_language_and_every_language_a_label() {
        assert_eq!(STEMMED.len(), StemmerLanguage::Turkish as usize);
        for (language, stemmer, _) in STEMMED.iter() {
            let name = format!("{stemmer:?}").to_lowercase();
            assert_eq!(TextLanguage::named(&name), Some(*language), "{name}");
        }
        for lang in Lang::all() {
            let language = TextLanguage(*lang);
            assert_eq!(TextLanguage::named(language.name()), Some(language));
            assert!(CODES.split(", ").any(|codes| codes.starts_with(lang.code())), "{lang:?}");
            assert_eq!(TextLanguage::of_labels(&[language.label()]), Some(language));
        }
    }
}
