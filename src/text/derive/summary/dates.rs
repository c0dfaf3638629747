//! Days that a sentence names: as numbers, or with the name of a month.

use jiff::civil::{Date, ISOWeekDate, Weekday};

use crate::text::derive::calendar_words::{is_month, month_named};
use crate::text::derive::words::fold;

/// A day that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedDay {
    /// One of a year.
    Dated(Date),
    /// A day of a year that is not said.
    OfSomeYear {
        /// 1 to 12.
        month: i8,
        /// 1 to 31.
        day: i8,
    },
}

/// What stands before a month alone, where it is one: `may` and `march` are more.
const IN: &[&str] = &["in", "im", "en", "em", "w", "we", "в", "last", "this", "letzten", "pasado"];
/// Words between a day, a month and a year.
const BETWEEN: &[&str] =
    &["of", "the", "de", "del", "den", "do", "di", "st", "nd", "rd", "th", "er", "г", "года", "r", "roku"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateToken {
    Number(u32, usize),
    Month(i8),
    Sign(char),
    Word,
}

/// The first day of a week: `2026-W47`.
pub(crate) fn monday_of(week: &str) -> Option<Date> {
    let (year, week) = week.split_once("-W").or_else(|| week.split_once("-w"))?;
    Some(ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?.date())
}

/// The first day that a sentence names.
pub(crate) fn named_day(sentence: &str) -> Option<NamedDay> {
    if !sentence.contains(|character: char| character.is_numeric()) {
        return None;
    }
    let text = fold(sentence);
    let tokens = tokens(&text);
    (0..tokens.len()).find_map(|at| starting_at(&tokens, at))
}

/// The first month that a sentence names, 1 to 12, by its name in full or as `10月`, and its year, if that is said.
pub(crate) fn named_month(sentence: &str) -> Option<(i8, Option<i16>)> {
    let text = fold(sentence);
    if let Some(named) = signed_month(&text) {
        return Some(named);
    }
    let words: Vec<&str> = text.split(|mark: char| !mark.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let month = month_named(word).filter(|_| is_month(word))?;
        let behind = words[at + 1..].iter().find(|word| !BETWEEN.contains(word));
        let year = behind.and_then(|word| word.parse().ok()).filter(|year| (1900..2200).contains(year));
        let is_one = year.is_some() || at.checked_sub(1).is_some_and(|before| IN.contains(&words[before]));
        is_one.then_some((month, year))
    })
}

/// The first month that a folded text writes with a sign, and no day of it: `10月`, `2025年10月`, `10월`.
fn signed_month(text: &str) -> Option<(i8, Option<i16>)> {
    use DateToken::{Number, Sign};
    if !text.contains(['月', '월']) {
        return None;
    }
    let tokens = tokens(text);
    (0..tokens.len()).find_map(|at| {
        let month = match tokens[at..] {
            [_, Sign('月' | '월'), Number(_, 1 | 2), Sign('日' | '일' | '号' | '號'), ..] => return None,
            [Number(month, 1 | 2), Sign('月' | '월'), ..] => i8::try_from(month).ok()?,
            _ => return None,
        };
        let year = match tokens[..at] {
            [.., Number(year, 4), Sign('年' | '년')] => {
                i16::try_from(year).ok().filter(|year| (1900..2200).contains(year))
            }
            _ => None,
        };
        (1..=12).contains(&month).then_some((month, year))
    })
}

fn tokens(text: &str) -> Vec<DateToken> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |is: fn(char) -> bool| rest.find(|character| !is(character)).unwrap_or(rest.len());
        let length = if first.is_ascii_digit() {
            let length = run(|character| character.is_ascii_digit());
            tokens.push(DateToken::Number(rest[..length].parse().unwrap_or(u32::MAX), length));
            length
        } else if first.is_alphabetic() && !is_sign_of_date(first) {
            let length = run(|character| character.is_alphabetic() && !is_sign_of_date(character));
            let word = &rest[..length];
            match month_named(word) {
                Some(month) => tokens.push(DateToken::Month(month)),
                None if BETWEEN.contains(&word) => {}
                None => tokens.push(DateToken::Word),
            }
            length
        } else {
            if !first.is_whitespace() {
                tokens.push(DateToken::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn is_sign_of_date(character: char) -> bool {
    matches!(character, '年' | '月' | '日' | '号' | '號' | '년' | '월' | '일')
}

fn starting_at(tokens: &[DateToken], at: usize) -> Option<NamedDay> {
    use DateToken::{Month, Number, Sign};
    let dated = |year: u32, month: u32, day: u32| {
        let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        Date::new(year, month, day).ok().filter(|_| (1900..2200).contains(&year)).map(NamedDay::Dated)
    };
    let is_part = |at: Option<usize>| {
        at.and_then(|at| tokens.get(at)).is_some_and(|token| matches!(token, Number(..) | Sign('.' | '-' | '/')))
    };
    let of_some_year = |month: i8, day: u32| {
        let day = i8::try_from(day).ok()?;
        // Of a year that has all days.
        Date::new(2024, month, day).ok().map(|_| NamedDay::OfSomeYear { month, day })
    };
    match tokens[at..] {
        [Number(year, 4), Sign(one @ ('-' | '/' | '.')), Number(month, 1 | 2), Sign(other), Number(day, 1 | 2), ..]
            if one == other =>
        {
            dated(year, month, day)
        }
        [Number(year, 4), Sign('年' | '년'), Number(month, _), Sign('月' | '월'), Number(day, _), ..] => {
            dated(year, month, day)
        }
        [Number(month, 1 | 2), Sign('月' | '월'), Number(day, 1 | 2), Sign('日' | '일' | '号' | '號'), ..]
            if (1..=12).contains(&month) =>
        {
            of_some_year(month as i8, day)
        }
        [Number(day, 1 | 2), Sign('.'), Number(month, 1 | 2), Sign('.'), Number(year, 4), ..]
            if !is_part(at.checked_sub(1)) =>
        {
            dated(year, month, day)
        }
        [Number(day, 1 | 2), Month(month), Number(year, 4), ..]
        | [Number(day, 1 | 2), Sign('.' | 'º'), Month(month), Number(year, 4), ..] => dated(year, month as u32, day),
        [Month(month), Number(day, 1 | 2), Sign(','), Number(year, 4), ..]
        | [Month(month), Number(day, 1 | 2), Number(year, 4), ..] => dated(year, month as u32, day),
        [Number(day, 1 | 2), Month(month), ..] | [Number(day, 1 | 2), Sign('.' | 'º'), Month(month), ..] => {
            of_some_year(month, day)
        }
        [Month(month), Number(day, 1 | 2), ..] => of_some_year(month, day),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_read_as_people_write_them() {
        for (text, expected) in [
            ("in October 2025", Some((10, Some(2025)))),
            ("10月に何をした", Some((10, None))),
            ("2025年10月的计划", Some((10, Some(2025)))),
            ("10월에 뭐 했어", Some((10, None))),
            ("11月21日に会う", None),
            ("11月21号见", None),
            ("上个月", None),
            ("三个月前", None),
            ("第十月", None),
            ("13月", None),
        ] {
            assert_eq!(named_month(text), expected, "{text}");
        }
    }

    #[test]
    fn days_are_read_as_people_write_them() {
        let day = |text: &str| match named_day(text) {
            Some(NamedDay::Dated(date)) => date.to_string(),
            Some(NamedDay::OfSomeYear { .. }) => "some year".into(),
            None => String::new(),
        };
        for (text, expected) in [
            ("The train leaves on 2026-11-21 at noon.", "2026-11-21"),
            ("Am 21.11.2026 fahren wir.", "2026-11-21"),
            ("On 3 March 2026 we meet.", "2026-03-03"),
            ("on March 3rd, 2026", "2026-03-03"),
            ("am 3. März 2026", "2026-03-03"),
            ("le 3 août 2026", "2026-08-03"),
            ("el 3 de marzo de 2026", "2026-03-03"),
            ("3 мая 2026 года", "2026-05-03"),
            ("2026年11月21日出发", "2026-11-21"),
            ("11月21日に会う", "some year"),
            ("11月21号见", "some year"),
            ("See you on 5 May.", "some year"),
            ("May 5 is fine", "some year"),
            ("It may rain, 5 of them.", ""),
            ("version 4.1.2.2026 and 2026-13-45", ""),
            ("He ate 4 apples in 2026.", ""),
            ("mark 5", ""),
            ("plain", ""),
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
    }
}
