//! What counts as a word, in texts and in queries alike.
//!
//! A word is a run of letters and digits, folded (case, accents, compatibility forms). Apostrophes within it are dropped
//! (`don't` is `dont`); an identifier (`serde_json`) counts as its parts and as a whole; `C++` and `C#` keep their
//! signs. Han and Kana, which have no spaces, become overlapping pairs (measured: they take Japanese from 83.0 to 96.1 success@5), and so
//! does Hangul, whose words end in particles that nobody types.
//! Thai, Lao, Khmer and Burmese, which have none either, are parted by a dictionary: pairs take Thai down.

use std::collections::HashMap;
use std::sync::LazyLock;

use frostem::Stemmer;
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use regex::{Captures, Regex};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::base::config::StemmerLanguage;

/// Marks a word that takes no position of its own: an identifier as a whole, beside its parts; a sign beside its pairs.
pub const BESIDE: char = '\u{1}';
/// Maximum length of a word. Longer ones are cut: nobody types them, and a megabyte of base64 should not become a term.
const MAX_WORD_CHARS: usize = 64;

/// The words of a text, as the index takes them: separated by spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// As they are.
    pub plain: String,
    /// Their stems.
    pub stemmed: String,
    /// How many they are.
    pub count: u32,
}

/// Marks the end of a stem of another language than the usual one; the language's number follows, as a letter. So no stem of one language is
/// taken for that of another: German's `gift` is poison.
const FOREIGN: char = '\u{2}';

/// The stem of a language that a term is, without what marks the language.
pub(crate) fn without_language(term: &str) -> &str {
    term.split_once(FOREIGN).map_or(term, |(stem, _)| stem)
}

/// Whether a byte of a term begins what marks its language.
pub(crate) fn begins_language(byte: u8) -> bool {
    byte == FOREIGN as u8
}

/// Reduces words to their stems, and remembers those it has seen: in prose most words are repeats.
///
/// Stems of the usual language are as they are; those of any other are marked with it.
pub struct Stemming {
    usual: StemmerLanguage,
    now: StemmerLanguage,
    /// Those that were turned to, each with what it has seen.
    known: HashMap<StemmerLanguage, SeenStems>,
}

struct SeenStems {
    stemmer: Option<Stemmer>,
    seen: HashMap<String, String>,
}

/// Maximum number of stems that are remembered, to stay at some megabytes; then all are forgotten.
const MAX_SEEN: usize = 50_000;

impl Stemming {
    /// With what a language's stems are where nothing else is said. Where that is none, no word of any language is reduced.
    pub fn new(usual: StemmerLanguage) -> Self {
        Self { usual, now: usual, known: HashMap::new() }
    }

    /// Turns to the stems of a language; to the usual ones where there are none.
    pub(crate) fn turn_to(&mut self, language: Option<StemmerLanguage>) {
        let is_off = self.usual == StemmerLanguage::None;
        self.now = language.filter(|_| !is_off).unwrap_or(self.usual);
    }

    /// The stem of a folded word.
    pub fn stem(&mut self, word: &str) -> &str {
        let SeenStems { stemmer, seen } = self.known.entry(self.now).or_insert_with(|| SeenStems::of(self.now));
        if seen.len() > MAX_SEEN {
            seen.clear();
        }
        if !seen.contains_key(word) {
            let mut stem = stemmer.map_or_else(|| word.to_owned(), |stemmer| stemmer.stem(word).into_owned());
            if self.now != self.usual {
                stem.push(FOREIGN);
                stem.push(char::from(b'a' + self.now as u8));
            }
            seen.insert(word.to_owned(), stem);
        }
        &seen[word]
    }

    /// The words of a text.
    pub fn words(&mut self, text: &str) -> Words {
        let mut words = Words::default();
        each_word(text, |word, standing| {
            words.count += 1;
            for (out, word) in [(&mut words.plain, word), (&mut words.stemmed, self.stem(word))] {
                if !out.is_empty() {
                    out.push(' ');
                }
                if standing != Standing::Own {
                    out.push(BESIDE);
                }
                out.push_str(word);
            }
        });
        words
    }
}

impl SeenStems {
    /// The library's algorithms have the names of the languages; there is none of the name `None`.
    fn of(language: StemmerLanguage) -> Self {
        let stemmer = Stemmer::try_from_name(&format!("{language:?}")).ok();
        Self { stemmer, seen: HashMap::new() }
    }
}

/// The words of a query or phrase: those that take a position each, and identifiers as a whole if they are wanted.
pub fn plain_words(text: &str, with_wholes: bool) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word, standing| {
        if standing == Standing::Own || (with_wholes && standing == Standing::Whole) {
            words.push(word.to_owned());
        }
    });
    words
}

/// How many words a text has, as people count them: where blanks do not part them, a dictionary does.
pub fn count(text: &str) -> usize {
    let runs = text.split(|character: char| !is_word(character)).filter(|run| !run.is_empty());
    let words = |run: &str| match run.contains(is_parted_within) {
        false => 1,
        true => SEGMENTER.segment_str(run).skip(1).count(),
    };
    runs.map(words).sum()
}

/// What models call the person whose memory it is. Folded.
const PERSON: &str = "user users nutzer nutzerin benutzer benutzerin utilisateur utilisatrice usuario usuaria utente gebruiker пользователь";

/// Whether a folded word is the person whose memory it is, as models call them.
pub(crate) fn is_the_person(word: &str) -> bool {
    PERSON.split(' ').any(|name| name == word)
}

/// How a word stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// At a position of its own.
    Own,
    /// An identifier as a whole, beside its parts.
    Whole,
    /// A sign by itself, beside the pairs that it is in. Texts have it, so that a word of one sign is found; a query of several is pairs.
    Single,
}

/// Folds a text as words are: compatibility forms, lower case, no accents.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String =
        text.nfkd().filter(|character| !drops(*character)).flat_map(char::to_lowercase).nfc().collect();
    if folded.contains(CIRCLES) { with_am(&folded) } else { folded }
}

/// The circle of sara am, of Thai and of Lao.
const CIRCLES: [char; 2] = ['\u{e4d}', '\u{ecd}'];

/// Makes one letter of sara am, which NFKD takes apart and NFC leaves so, and puts it behind the tone's mark: typed as its two parts, as is
/// common in Lao, it stands around that, and looks the same. Without this no dictionary knows the word.
fn with_am(text: &str) -> String {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"([\u{e4d}\u{ecd}])([\u{e48}-\u{e4b}\u{ec8}-\u{ecb}]?)[\u{e32}\u{eb2}]";
        Regex::new(pattern).expect("a test uses it")
    });
    let am = |parts: &Captures<'_>| {
        let am = if &parts[1] == "\u{e4d}" { '\u{e33}' } else { '\u{eb3}' };
        format!("{}{am}", &parts[2])
    };
    PARTS.replace_all(text, am).into_owned()
}

/// Latin, Greek and Cyrillic accents go, and the points of Hebrew and Arabic, which are written for learners and in holy books alone; the
/// vowel signs of other scripts are part of the word. So does what shapes a word and is not seen: where a line may break, what draws it long.
fn drops(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}'
            | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
            | '\u{640}' | '\u{64b}'..='\u{652}' | '\u{670}'
            | '\u{ad}' | '\u{200d}'
    )
}

/// Calls `each` with every word, and how it stands.
fn each_word(text: &str, mut each: impl FnMut(&str, Standing)) {
    let folded = fold(text);
    let mut rest = folded.as_str();
    while let Some(start) = rest.find(|character: char| is_word(character)) {
        rest = &rest[start..];
        let end = identifier_end(rest);
        let (identifier, after) = rest.split_at(end);
        rest = after;
        emit_identifier(identifier, after, &mut each);
    }
}

/// Whether a character is part of a word: a letter, a digit, or a mark on one, which in some scripts every other word has.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '\u{2019}')
}

/// Where the run of word characters, single underscores and inner apostrophes that `text` starts with ends.
fn identifier_end(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    let mut end = 0;
    while let Some((at, character)) = characters.next() {
        let next_is_word = characters.peek().is_some_and(|(_, next)| is_word(*next));
        if is_word(character) || ((character == '_' || is_apostrophe(character)) && next_is_word) {
            end = at + character.len_utf8();
        } else if character == '_' && characters.peek().is_some_and(|(_, next)| *next == '_') {
        } else {
            break;
        }
    }
    end
}

fn emit_identifier(identifier: &str, after: &str, each: &mut impl FnMut(&str, Standing)) {
    if identifier.contains('_') {
        each(cut(identifier), Standing::Whole);
    } else {
        let signs = after.len() - after.trim_start_matches('+').len();
        if signs > 0 || (after.starts_with('#') && !after[1..].starts_with(is_word)) {
            let sign = if signs > 0 { &after[..signs.min(2)] } else { "#" };
            each(&format!("{}{sign}", cut(identifier)), Standing::Whole);
        }
    }
    for part in identifier.split('_').filter(|part| !part.is_empty()) {
        if part.contains(is_apostrophe) {
            each(cut(&part.replace(is_apostrophe, "")), Standing::Own);
        } else {
            emit_scripts(part, each);
        }
    }
}

/// How the words of a script are parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parting {
    /// By blanks and marks, as they have been already.
    Spaces,
    /// Han, Kana and Hangul: by overlapping pairs.
    Pairs,
    /// Thai, Lao, Khmer, Burmese: by a dictionary.
    Dictionary,
}

/// Splits a run of letters where one way of parting words ends and another starts, and each as it is to be.
fn emit_scripts(run: &str, each: &mut impl FnMut(&str, Standing)) {
    if run.is_ascii() {
        return each(cut(run), Standing::Own);
    }
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let parting = parting(first);
        let end = rest.find(|character| self::parting(character) != parting).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        match parting {
            Parting::Spaces => each(cut(part), Standing::Own),
            Parting::Pairs => emit_pairs(part, each),
            Parting::Dictionary => {
                let mut start = 0;
                for end in SEGMENTER.segment_str(part).filter(|end| *end > 0) {
                    each(cut(&part[start..end]), Standing::Own);
                    start = end;
                }
            }
        }
    }
}

/// Overlapping pairs, and the signs that are words by themselves: each of Han, and of Hangul the first of two, as a particle follows it.
fn emit_pairs(run: &str, each: &mut impl FnMut(&str, Standing)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if starts.len() == 2 {
        return each(run, Standing::Own);
    }
    for (at, sign) in starts.windows(2).enumerate() {
        let single = &run[sign[0]..sign[1]];
        let is_word = match single.chars().next() {
            Some('\u{ac00}'..='\u{d7a3}') => at == 0 && starts.len() == 3,
            Some('\u{3040}'..='\u{30ff}') | None => false,
            Some(_) => true,
        };
        if is_word {
            each(single, Standing::Single);
        }
        if let Some(end) = starts.get(at + 2) {
            each(&run[sign[0]..*end], Standing::Own);
        }
    }
}

static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));

/// Whether blanks and marks alone do not part the words of a script.
pub(crate) fn is_parted_within(character: char) -> bool {
    parting(character) != Parting::Spaces
}

fn parting(character: char) -> Parting {
    match character {
        '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}'
        | '\u{ac00}'..='\u{d7a3}' => Parting::Pairs,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{a9e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}' => Parting::Dictionary,
        _ => Parting::Spaces,
    }
}

fn cut(word: &str) -> &str {
    word.char_indices().nth(MAX_WORD_CHARS).map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_people_type() {
        for (text, words) in [
            ("serde_json::Value", "serde_json serde json value"),
            ("node_modules/.bin", "node_modules node modules bin"),
            ("user@example.com", "user example com"),
            ("don't don\u{2019}t", "dont dont"),
            ("C++ and C#, not C", "c++ c and c# c not c"),
            ("naïve Straße ÉCOLE", "naive straße ecole"),
            ("東京", "東京"),
            ("東京タワーに行く", "東京 京タ タワ ワー ーに に行 行く"),
            ("人々が", "人々 々が"),
            ("v1.2 東", "v1 2 東"),
            ("한국어 문장을", "한국 국어 문장 장을"),
            ("물 2잔", "물 2 잔"),
            ("ขนาดรูปภาพ", "ขนาด รูปภาพ"),
            ("ทำงานกับ Rust", "ทำงาน กับ rust"),
            ("ภาษา2026ไทย", "ภาษา 2026 ไทย"),
            ("ພາສາລາວ ភាសាខ្មែរជាភាសា", "ພາສາ ລາວ ភាសាខ្មែរ ជា ភាសា"),
            ("မြန်မာစကား", "မြန်မာ စကား"),
            ("น้ำ น\u{e4d}\u{e49}\u{e32} น\u{e49}\u{e4d}\u{e32}", "น้ำ น้ำ น้ำ"),
            ("ນ\u{ec9}\u{eb3} ນ\u{ecd}\u{ec9}\u{eb2} ນ\u{ec9}\u{ecd}\u{eb2}", "ນ້ຳ ນ້ຳ ນ້ຳ"),
            ("שָׁלוֹם كِتَابٌ كتـــاب", "שלום كتاب كتاب"),
            ("Donau\u{ad}dampf র\u{200d}্যাব", "donaudampf র্যাব"),
            ("__init__ _x_", "init x"),
            ("", ""),
            ("!?…", ""),
        ] {
            assert_eq!(plain_words(text, true).join(" "), words, "{text:?}");
        }
    }

    #[test]
    fn a_word_of_one_sign_was_in_no_text() {
        let mut stemming = Stemming::new(StemmerLanguage::English);
        for (text, words) in [
            ("想读的书", "\u{1}想 想读 \u{1}读 读的 \u{1}的 的书 \u{1}书"),
            ("瓦が", "\u{1}瓦 瓦が"),
            ("강을 따라", "\u{1}강 강을 \u{1}따 따라"),
            ("한강", "\u{1}한 한강"),
            ("書", "書"),
        ] {
            assert_eq!(stemming.words(text).plain, words);
            assert!(plain_words(text, true).iter().all(|word| !word.starts_with(BESIDE)));
        }
        assert_eq!(plain_words("想读的书", true), ["想读", "读的", "的书"]);
    }

    #[test]
    fn stems_join_word_forms() {
        let mut stemming = Stemming::new(StemmerLanguage::English);
        let words = stemming.words("Running serde_json runs");
        assert_eq!(words.stemmed, "run \u{1}serde_json serd json run");
        assert_eq!(words.count, 5);
        assert_eq!(Stemming::new(StemmerLanguage::None).words("Running").stemmed, "running");
    }

    #[test]
    fn stems_of_another_language_are_marked_with_it() {
        let german = Some(StemmerLanguage::German);
        let mut stemming = Stemming::new(StemmerLanguage::English);
        stemming.turn_to(german);
        let stem = stemming.stem("fahrrader").to_owned();
        assert_eq!((without_language(&stem), stem.len()), ("fahrrad", "fahrrad".len() + 2));
        assert_eq!(stemming.words("Fahrräder").stemmed, stem);
        stemming.turn_to(None);
        assert_eq!(stemming.stem("runs"), "run");
        let mut usual = Stemming::new(StemmerLanguage::German);
        usual.turn_to(german);
        assert_eq!(usual.stem("fahrrader"), "fahrrad");
        let mut none = Stemming::new(StemmerLanguage::None);
        none.turn_to(german);
        assert_eq!(none.stem("fahrrader"), "fahrrader", "no word is reduced where the configuration says so");
    }
}
