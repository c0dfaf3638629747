//! What people say in several languages, by which a question is told from others (`phrases.toml`), and how that is held against one: word by
//! word, with gaps. Pure.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::text::derive::words::{fold, is_word};

/// A question as phrases are held against it: its words, in scripts without blanks each sign, and where its sentences end.
#[derive(Debug)]
pub(super) struct GateWords<'q> {
    words: Vec<GateWord<'q>>,
    known: HashSet<String>,
}

#[derive(Debug)]
struct GateWord<'q> {
    /// As it was written.
    said: &'q str,
    folded: String,
    /// Whether nothing stands between it and the word before.
    joins: bool,
}

/// A phrase that the gate knows: its words, and beside them
///
/// - `a|b`: one of them,
/// - `…`: some words, or none, of the same sentence,
/// - `#`: a number,
/// - `!a|b`: none of them comes next,
/// - `$`: the sentence ends.
///
/// Of Korean a word of two signs and more counts where another begins with it, since particles follow.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct GatePhrase {
    parts: Vec<PhrasePart>,
}

#[derive(Debug)]
enum PhrasePart {
    OneOf(Vec<String>),
    NoneOf(Vec<String>),
    Gap,
    Number,
    End,
}

/// Words of a gap at most.
const GAP: usize = 8;
/// Maximum number of words of a question that are looked at, of its beginning and of its end.
const MAX_WORDS: usize = 400;
/// What stands for the end of a sentence.
const END: &str = ".";
/// Numbers up to twelve, as words.
const NUMBERS: [&[&str]; 12] = [
    &["a", "an", "one", "einem", "einer", "un", "une", "una", "um", "uma", "een", "один", "一"],
    &["two", "zwei", "deux", "dos", "due", "dois", "duas", "twee", "dwa", "dwie", "два", "две", "二", "两", "兩"],
    &["three", "drei", "trois", "tres", "tre", "drie", "trzy", "три", "三"],
    &["four", "vier", "quatre", "cuatro", "quattro", "quatro", "cztery", "четыре", "四"],
    &["five", "funf", "cinq", "cinco", "cinque", "vijf", "piec", "пять", "五"],
    &["six", "sechs", "seis", "sei", "zes", "szesc", "шесть", "六"],
    &["seven", "sieben", "sept", "siete", "sette", "sete", "zeven", "семь", "七"],
    &["eight", "acht", "huit", "ocho", "otto", "oito", "восемь", "八"],
    &["nine", "neun", "neuf", "nueve", "nove", "negen", "девять", "九"],
    &["ten", "zehn", "dix", "diez", "dieci", "dez", "tien", "десять", "十"],
    &["eleven", "elf", "onze", "once", "undici"],
    &["twelve", "zwolf", "douze", "doce", "dodici", "doze", "twaalf"],
];

/// The phrases that the gate knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GatePhrases {
    pub(super) about_oneself: Vec<GatePhrase>,
    pub(super) verbatim: Vec<GatePhrase>,
    pub(super) decided: Vec<GatePhrase>,
    pub(super) remembered: Vec<GatePhrase>,
    pub(super) small_talk: Vec<String>,
    pub(super) was: Vec<GatePhrase>,
    pub(super) ago: Vec<TimePhrases>,
    pub(super) past: Vec<TimePhrases>,
    pub(super) now: Vec<TimePhrases>,
}

/// What people call a time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimePhrases {
    pub(super) span: TimeSpan,
    pub(super) phrases: Vec<GatePhrase>,
}

pub(super) static PHRASES: LazyLock<GatePhrases> =
    LazyLock::new(|| toml::from_str(include_str!("phrases.toml")).expect("the program's own file"));

/// What a phrase names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum TimeSpan {
    /// So many days ago; where it says a number, that many.
    DaysAgo(u32),
    /// The week that was so many weeks ago, from Monday.
    WeeksAgo(u32),
    /// The month that was so many months ago.
    MonthsAgo(u32),
    /// The year that was so many years ago.
    YearsAgo(u32),
    /// So many days up to today.
    LastDays(u32),
    /// So many weeks up to today.
    LastWeeks(u32),
    /// So many months up to today.
    LastMonths(u32),
    /// So many years up to today.
    LastYears(u32),
    /// Some time that is over.
    SomeTime,
}

impl<'q> GateWords<'q> {
    /// Those of a question; of a long one its beginning and its end.
    pub(super) fn of(query: &'q str) -> Self {
        let mut words: Vec<GateWord<'q>> = Vec::new();
        let (mut rest, mut joins) = (query, false);
        while let Some(first) = rest.chars().next() {
            let length = match first {
                first if is_word(first) && is_unspaced(first) => first.len_utf8(),
                first if is_word(first) => {
                    rest.find(|other: char| !is_word(other) || is_unspaced(other)).unwrap_or(rest.len())
                }
                _ => 0,
            };
            let (said, after) = rest.split_at(length.max(first.len_utf8()));
            if length > 0 {
                words.push(GateWord { said, folded: folded(said), joins });
            } else if ends_sentence(first, after) {
                words.push(GateWord { said: "", folded: END.to_owned(), joins: false });
            }
            joins = length > 0;
            rest = after;
        }
        if words.len() > 2 * MAX_WORDS {
            words.drain(MAX_WORDS..words.len() - MAX_WORDS);
            words[MAX_WORDS].joins = false;
        }
        let known = words.iter().map(|word| word.folded.clone()).collect();
        Self { words, known }
    }

    /// Its words, folded.
    pub(super) fn folded(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.folded.as_str()).filter(|word| *word != END)
    }

    /// The places of the words that a phrase has in it; `None` where it is not there.
    pub(super) fn places_of(&self, phrase: &GatePhrase) -> Option<Vec<usize>> {
        if let Some(PhrasePart::OneOf(first)) = phrase.parts.first()
            && !first.iter().any(|word| is_hangul(word) || self.known.contains(word))
        {
            return None;
        }
        let mut taken = Vec::new();
        (0..self.words.len()).any(|at| {
            taken.clear();
            self.goes_on(&phrase.parts, at, &mut taken)
        });
        (!taken.is_empty()).then_some(taken)
    }

    /// The words at some places, folded.
    pub(super) fn at(&self, places: &[usize]) -> String {
        self.joined(places.iter().copied(), |word| &word.folded)
    }

    /// Words at some places, parted by blanks unless nothing stands between them.
    fn joined<'w>(&'w self, places: impl Iterator<Item = usize>, text: impl Fn(&'w GateWord<'q>) -> &'w str) -> String {
        let (mut joined, mut last) = (String::new(), None);
        for at in places {
            if !(joined.is_empty() || self.words[at].joins && last == at.checked_sub(1)) {
                joined.push(' ');
            }
            joined += text(&self.words[at]);
            last = Some(at);
        }
        joined
    }

    /// The first number at some places.
    pub(super) fn number(&self, places: &[usize]) -> Option<u32> {
        places.iter().find_map(|at| number(&self.words[*at].folded))
    }

    /// The places of words for which `is` holds.
    pub(super) fn places(&self, is: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.words.len()).filter(|at| is(&self.words[*at].folded)).collect()
    }

    /// The question without the words at some places, as it was written.
    pub(super) fn without(&self, places: &[usize]) -> String {
        let left = (0..self.words.len()).filter(|at| !places.contains(at) && !self.words[*at].said.is_empty());
        self.joined(left, |word| word.said)
    }

    fn goes_on(&self, parts: &[PhrasePart], at: usize, taken: &mut Vec<usize>) -> bool {
        let Some((part, parts)) = parts.split_first() else { return true };
        let word = self.words.get(at).map(|word| word.folded.as_str());
        match part {
            PhrasePart::OneOf(words) => {
                self.takes(word, |word| words.iter().any(|of| is_of(word, of)), parts, at, taken)
            }
            PhrasePart::Number => self.takes(word, |word| number(word).is_some(), parts, at, taken),
            PhrasePart::NoneOf(words) => {
                !word.is_some_and(|word| words.iter().any(|of| is_of(word, of))) && self.goes_on(parts, at, taken)
            }
            PhrasePart::End => word.is_none_or(|word| word == END) && self.goes_on(parts, at, taken),
            PhrasePart::Gap => {
                let sentence = self.words[at.min(self.words.len())..].iter().take_while(|word| word.folded != END);
                (0..=sentence.take(GAP).count()).any(|length| self.goes_on(parts, at + length, taken))
            }
        }
    }

    fn takes(
        &self,
        word: Option<&str>,
        is: impl Fn(&str) -> bool,
        parts: &[PhrasePart],
        at: usize,
        taken: &mut Vec<usize>,
    ) -> bool {
        if !word.is_some_and(is) {
            return false;
        }
        taken.push(at);
        let fits = self.goes_on(parts, at + 1, taken);
        if !fits {
            taken.pop();
        }
        fits
    }
}

impl From<String> for GatePhrase {
    fn from(text: String) -> Self {
        Self::read(&text)
    }
}

impl GatePhrase {
    /// Whether a number is part of it.
    pub(super) fn has_number(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, PhrasePart::Number))
    }

    /// Reads one of the table.
    pub(super) fn read(text: &str) -> Self {
        let mut parts = Vec::new();
        for piece in text.split(' ') {
            let one_of = |words: &str| words.split('|').map(folded).collect::<Vec<_>>();
            match piece.strip_prefix('!') {
                Some(words) => parts.push(PhrasePart::NoneOf(one_of(words))),
                None if piece == "…" => parts.push(PhrasePart::Gap),
                None if piece == "#" => parts.push(PhrasePart::Number),
                None if piece == "$" => parts.push(PhrasePart::End),
                None if piece.contains('|') => parts.push(PhrasePart::OneOf(one_of(piece))),
                None => parts
                    .extend(GateWords::of(piece).words.into_iter().map(|word| PhrasePart::OneOf(vec![word.folded]))),
            }
        }
        Self { parts }
    }
}

/// Whether a script has no blanks between its words.
pub(super) fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Folded, and without what many leave out, or write otherwise: `ł` and `ß` are letters of their own.
fn folded(text: &str) -> String {
    let folded = fold(text);
    if folded.contains(['ł', 'ß']) { folded.replace('ł', "l").replace('ß', "ss") } else { folded }
}

fn is_of(word: &str, of: &str) -> bool {
    word == of || (is_hangul(of) && of.chars().nth(1).is_some() && word.starts_with(of))
}

fn is_hangul(word: &str) -> bool {
    word.starts_with(|first: char| matches!(first, '\u{ac00}'..='\u{d7a3}'))
}

fn number(word: &str) -> Option<u32> {
    let named = || NUMBERS.iter().position(|words| words.contains(&word)).map(|at| at as u32 + 1);
    word.parse().ok().or_else(named)
}

/// Whether a mark ends a sentence: a full stop and a colon where a blank follows, since others are in dates and times.
fn ends_sentence(mark: char, after: &str) -> bool {
    let is_last = || after.chars().next().is_none_or(char::is_whitespace);
    matches!(mark, '?' | '!' | ';' | '\n' | '。' | '？' | '！' | '؟' | '।') || (matches!(mark, '.' | ':') && is_last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_with_gaps_and_taken_out() {
        for (phrase, query, rest) in [
            ("did we … decide", "What did we all decide about it?", Some("What all about it")),
            ("haben wir … beschlossen", "Was haben wir zum Dach beschlossen?", Some("Was zum Dach")),
            ("haben wir … beschlossen", "Haben wir Zeit? Es ist beschlossen.", None),
            ("my name $", "rename my name field", None),
            ("my name $", "What's my name? I forgot.", Some("What s I forgot")),
            ("知道我 !们|的", "你知道我们的项目吗", None),
            ("知道我 !们|的", "你知道我什么", Some("你 什么")),
            ("先週", "先週の東京の話", Some("の東京の話")),
            ("기억", "그 계획 기억해?", Some("그 계획")),
            ("내 이름", "내일 이름을 짓자", None),
            ("# days ago", "the plan of three days ago", Some("the plan of")),
            ("w zeszłym tygodniu", "Co było w zeszłym tygodniu?", Some("Co było")),
            ("wie heiße ich", "WIE HEISSE ICH", Some("")),
            ("yesterday", "yesterdays", None),
        ] {
            let words = GateWords::of(query);
            let places = words.places_of(&GatePhrase::read(phrase));
            assert_eq!(places.map(|places| words.without(&places)).as_deref(), rest, "{phrase}: {query}");
        }
        let words = GateWords::of("2 weeks ago, or three");
        assert_eq!(words.number(&[0]).into_iter().chain(words.number(&[4])).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_long_question_is_looked_at_in_part() {
        let long = format!("first {} last", "word ".repeat(100_000));
        let words = GateWords::of(&long);
        assert_eq!(words.folded().count(), 2 * MAX_WORDS);
        assert!(
            words.places_of(&GatePhrase::read("first")).is_some()
                && words.places_of(&GatePhrase::read("last")).is_some()
        );
    }
}
