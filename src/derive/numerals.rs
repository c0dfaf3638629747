//! The numbers of a text, whole: `3.5`, `08:20`, `03/05/2027`, `-5`, `$5,000`, `3:30 pm`; and those in words.

use super::words::fold;

/// Numbers in words, of both ends. Folded. One is too often an article.
const NUMBER_WORDS: &str = "two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12 both:2 zwei:2 drei:3 vier:4 funf:5 \
    sechs:6 sieben:7 acht:8 neun:9 zehn:10 elf:11 zwolf:12 dos:2 tres:3 cuatro:4 cinco:5 seis:6 siete:7 ocho:8 nueve:9 diez:10 once:11 doce:12 \
    deux:2 trois:3 quatre:4 cinq:5 sept:7 huit:8 neuf:9 dix:10 onze:11 douze:12";
/// The signs of numbers in Chinese and Japanese.
const NUMBER_SIGNS: [(char, &str); 10] = [
    ('二', "2"),
    ('两', "2"),
    ('三', "3"),
    ('四', "4"),
    ('五', "5"),
    ('六', "6"),
    ('七', "7"),
    ('八', "8"),
    ('九', "9"),
    ('十', "10"),
];
const CURRENCIES: &[char] = &['$', '€', '£', '¥', '₹', '₽', '₩', '₺', '₪', '₫', '₴', '฿'];
/// What parts groups of thousands.
const GROUPING: &[char] = &[',', '.', '\'', '\u{2019}'];

/// A number as it is written in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numeral {
    /// It, without zeros at its beginning; of a date its parts between `/`.
    value: String,
    is_negative: bool,
    currency: Option<char>,
    /// `am` or `pm`.
    half: Option<&'static str>,
    /// Its parts, where each may be meant by itself: those of a date, and the hour of a time without minutes.
    parts: Vec<String>,
}

impl Numeral {
    fn plain(value: &str) -> Self {
        Self { value: value.to_owned(), is_negative: false, currency: None, half: None, parts: Vec::new() }
    }

    /// It with its sign, its currency and its half of the day.
    pub(crate) fn label(&self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        let currency = self.currency.map(String::from).unwrap_or_default();
        format!("{sign}{currency}{}{}", self.value, self.half.unwrap_or_default())
    }

    /// Its value, and the values of its parts where each may be meant by itself.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.value.as_str()).chain(self.parts.iter().map(String::as_str))
    }

    /// The parts of a date; none of any other number.
    pub(crate) fn date_parts(&self) -> &[String] {
        if self.parts.len() == 3 { &self.parts } else { &[] }
    }

    /// Whether one of those that were said may be it. What those do not say of currency and half of the day may be said elsewhere.
    pub(crate) fn is_among(&self, said: &[Self]) -> bool {
        let agrees = |said: &Self| {
            self.value.replace(':', ".") == said.value.replace(':', ".")
                && (self.currency.is_none() || said.currency.is_none() || self.currency == said.currency)
                && (self.half.is_none() || said.half.is_none() || self.half == said.half)
        };
        said.iter()
            .any(|said| self.is_negative == said.is_negative && (agrees(said) || said.parts.contains(&self.value)))
    }
}

/// Whether a folded word is a number.
pub(crate) fn is_number(word: &str) -> bool {
    word.contains(char::is_numeric) || of_word(word).is_some()
}

fn of_word(word: &str) -> Option<&'static str> {
    let known = NUMBER_WORDS.split_whitespace().filter_map(|pair| pair.split_once(':'));
    known.into_iter().find_map(|(name, number)| (name == word).then_some(number))
}

/// The numbers of a text, in their order; after them those in words.
pub(crate) fn numerals(text: &str) -> Vec<Numeral> {
    let folded = fold(text);
    let characters: Vec<char> = folded.chars().collect();
    let is_digit = |at: usize| characters.get(at).is_some_and(|character| character.is_numeric());
    let mut found = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if let Some((_, number)) = NUMBER_SIGNS.iter().find(|(sign, _)| *sign == characters[at]) {
            found.push(Numeral::plain(number));
        }
        if !is_digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        let (mut parts, mut signs) = (vec![String::new()], Vec::new());
        loop {
            let joins = |character: char| GROUPING.contains(&character) || matches!(character, ':' | '/' | '-');
            match characters.get(at) {
                Some(digit) if digit.is_numeric() => {
                    if let Some(part) = parts.last_mut() {
                        part.push(*digit);
                    }
                }
                Some(sign) if joins(*sign) && is_digit(at + 1) => {
                    signs.push(if *sign == '\u{2019}' { '\'' } else { *sign });
                    parts.push(String::new());
                }
                _ => break,
            }
            at += 1;
        }
        let first = found.len();
        found.extend(joined(&parts, &signs));
        (found[first].is_negative, found[first].currency) = before(&characters[..start]);
        if let Some(last) = found.last_mut() {
            let behind = &characters[at..];
            last.currency = last.currency.or_else(|| behind.iter().find(|c| **c != ' ').copied().filter(is_currency));
            last.half = half_of_day(behind);
        }
    }
    let words = folded.split(|character: char| !character.is_alphabetic());
    found.extend(words.filter_map(of_word).map(Numeral::plain));
    found
}

fn is_currency(character: &char) -> bool {
    CURRENCIES.contains(character)
}

/// Whether a minus stands at the end of what comes before a number, and which currency.
fn before(characters: &[char]) -> (bool, Option<char>) {
    let blank = usize::from(characters.ends_with(&[' ']));
    let spaced = &characters[..characters.len() - blank];
    let currency = spaced.last().copied().filter(is_currency);
    let rest = if currency.is_some() { &spaced[..spaced.len() - 1] } else { characters };
    let is_negative = match rest {
        [.., before, '-' | '\u{2212}'] => before.is_whitespace() || matches!(before, '(' | ':'),
        ['-' | '\u{2212}'] => true,
        _ => false,
    };
    (is_negative, currency)
}

fn half_of_day(behind: &[char]) -> Option<&'static str> {
    let letters: String = behind.iter().filter(|c| !matches!(c, ' ' | '.')).take(2).collect();
    let half = ["am", "pm"].into_iter().find(|half| *half == letters)?;
    let end = behind.iter().position(|character| *character == 'm')? + 1;
    (end <= 5 && !behind.get(end).is_some_and(|next| next.is_alphanumeric())).then_some(half)
}

/// What parts with signs between them are together.
fn joined(parts: &[String], signs: &[char]) -> Vec<Numeral> {
    let short = |part: &String| match part.trim_start_matches('0') {
        "" => "0".to_owned(),
        short => short.to_owned(),
    };
    let is_all = |sign: char| signs.iter().all(|other| *other == sign);
    let are_groups = |parts: &[String], signs: &[char]| {
        let first = signs.first().filter(|sign| GROUPING.contains(sign));
        let is_first = parts[0].len() <= 3 && !parts[0].starts_with('0');
        is_first
            && first.is_some_and(|first| signs.iter().all(|s| s == first))
            && parts[1..].iter().all(|p| p.len() == 3)
    };
    let whole = |value: String, parts: Vec<String>| vec![Numeral { parts, ..Numeral::plain(&value) }];
    let last = parts.len() - 1;
    match (parts, signs) {
        ([one], _) => whole(short(one), Vec::new()),
        _ if are_groups(parts, signs) => whole(parts.concat(), Vec::new()),
        ([.., cents], [.., '.' | ',']) if last > 1 && are_groups(&parts[..last], &signs[..last - 1]) => {
            whole(format!("{}.{cents}", parts[..last].concat()), Vec::new())
        }
        ([one, other], ['.' | ',']) => whole(format!("{}.{other}", short(one)), Vec::new()),
        ([one, other], ['/']) => whole(format!("{}/{}", short(one), short(other)), Vec::new()),
        ([hour, minutes @ ..], _) if is_all(':') => {
            let is_full = minutes.iter().all(|part| part.trim_start_matches('0').is_empty());
            let parts = if is_full { vec![short(hour)] } else { Vec::new() };
            whole(format!("{}:{}", short(hour), minutes.join(":")), parts)
        }
        ([_, _, _], _) if is_all('/') || is_all('.') || (is_all('-') && parts.iter().any(|part| part.len() == 4)) => {
            let parts: Vec<String> = parts.iter().map(short).collect();
            let is_date = parts.iter().any(|part| part.len() == 4);
            whole(parts.join("/"), if is_date { parts } else { Vec::new() })
        }
        _ => parts.iter().map(|part| Numeral::plain(&short(part))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_whole() {
        for (text, labels) in [
            ("Two dogs, 1,500 m, 3.5 l at 08:05", "1500 3.5 8:05 2"),
            ("zwölf, 1.500, ２０２６", "1500 2026 12"),
            ("三只猫，12月", "3 12"),
            ("one or ein", ""),
            ("-5 degrees, from 10-12, e-7", "-5 10 12 7"),
            ("$5,000 or 5.000 € or -$1,500.25", "$5000 €5000 -$1500.25"),
            ("3:30 pm, 3:30 a.m., 5 amps, 7 apples", "3:30pm 3:30am 5 7"),
            ("03/05/2027 2027-05-03 3.5.2027 1/2", "3/5/2027 2027/5/3 3/5/2027 1/2"),
        ] {
            assert_eq!(numerals(text).iter().map(Numeral::label).collect::<Vec<_>>().join(" "), labels, "{text}");
        }
    }

    #[test]
    fn a_number_is_among_those_that_were_said() {
        for (claimed, said, is_so) in [
            ("5.3", "3.5 litres", false),
            ("5", "3.5 litres", false),
            ("05/03/2027", "03/05/2027", false),
            ("20:08", "08:20", false),
            ("8:20", "at 08:20 am", true),
            ("8.20", "08:20", true),
            ("3", "2027-05-03", true),
            ("8", "8:00", true),
            ("5", "-5 degrees", false),
            ("€5,000", "$5,000", false),
            ("$5,000", "5000 dollars", true),
            ("2", "two cats", true),
        ] {
            assert_eq!(numerals(claimed)[0].is_among(&numerals(said)), is_so, "{claimed} / {said}");
        }
    }
}
