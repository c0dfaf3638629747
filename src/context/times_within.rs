//! A month, or a day, of a time that is named beside it: `去年10月`, `im Oktober letzten Jahres`, `last October`, `上周五`. Pure.

use jiff::ToSpan;
use jiff::civil::Date;

use super::day_span::DaySpan;
use super::matching::GateWords;
use super::time_phrases::TimeSpan;
use super::time_tables::{SaidTime, all_of, weekday};
use crate::derive::calendar_words::{is_month, month_named};
use crate::derive::summary::{NamedDay, SIGNS_OF_NUMBERS, named_day, named_month};

/// Words that may stand between a day or a month and the time that it is of, folded.
const JOINING: &str = "of in on the at l im am an des dem der vom von de du d del della dello dell nel nell do da no na en el le la van w we в во на \
    の 的 s";
/// What says of a month that it was the last of that name: before it, and behind it. Folded.
const LAST_BEFORE: &str = "last past letzten letzter letzte vergangenen vergangener vorigen voriger pasado passado scorso scorsa afgelopen vorige \
    прошлом 지난";
const LAST_BEHIND: &str = "dernier passe pasado passado scorso jongstleden";
/// What says that it is one of this year.
const THIS_BEFORE: &str = "this diesen diesem cet ce este questo deze этом";
/// Months that are other words as well: alone they count by their capital.
const OTHER_WORDS: [&str; 2] = ["may", "march"];
/// What stands between the number of a day and its month, and what before it: `on the 5th of last month`.
const DAY_OF: &str = "of des del du do di van";
const BEFORE_DAY: &str = "the on am el le il o dia de op";
/// Behind the sign of a day these make it a number of days.
const NUMBER_OF_DAYS: &str = "間 间 前 后 後 游";

/// Days that a question names, with the places of all words that do.
pub(super) struct DaysWithin {
    pub(super) places: Vec<usize>,
    pub(super) days: DaySpan,
}

/// The day or the month that a question names within a time that is over, or where it `is_about_was`, that goes on.
pub(super) fn named_within(
    query: &str,
    words: &GateWords<'_>,
    today: Date,
    is_about_was: &dyn Fn() -> bool,
) -> Option<DaysWithin> {
    let counts = |time: &SaidTime| time.is_over || is_about_was();
    of_year(query, words, today, &counts)
        .or_else(|| of_week(words, today, &counts))
        .or_else(|| of_month(words, today))
        .or_else(|| last_of_name(words, today, is_about_was))
}

/// The month, or a day of it, of a year: `en octubre del año pasado`, `去年3月5日`.
fn of_year(query: &str, words: &GateWords<'_>, today: Date, counts: &dyn Fn(&SaidTime) -> bool) -> Option<DaysWithin> {
    let mut years = all_of(words, |span| matches!(span, TimeSpan::YearsAgo(_))).peekable();
    years.peek()?;
    let (month, day) = match named_day(query) {
        Some(NamedDay::Dated(_)) => return None,
        Some(NamedDay::OfSomeYear { month, day }) => (month, Some(day)),
        None => match named_month(query) {
            Some((_, Some(_))) => return None,
            Some((month, None)) => (month, None),
            None => (months(words).next()?.1, None),
        },
    };
    let date = places_of_date(words);
    let year = years.find(|year| are_beside(words, &year.places, &date) && counts(year))?;
    let first = Date::new(year.days(today)?.first.year(), month, day.unwrap_or(1)).ok()?;
    let days = if day.is_some() { DaySpan::day(first) } else { DaySpan::month(first) };
    (first <= today).then(|| DaysWithin { places: joined(date, year.places), days })
}

/// The day of a week: `上周五`, `letzte Woche Freitag`.
fn of_week(words: &GateWords<'_>, today: Date, counts: &dyn Fn(&SaidTime) -> bool) -> Option<DaysWithin> {
    let (number, places) = weekday(words)?;
    let mut weeks = all_of(words, |span| matches!(span, TimeSpan::WeeksAgo(_)));
    let week = weeks.find(|week| are_beside(words, &week.places, &places) && counts(week))?;
    let day = week.days(today)?.first.checked_add((number as i64).days()).ok()?;
    (day <= today).then(|| DaysWithin { places: joined(places, week.places), days: DaySpan::day(day) })
}

/// The day of a month that is over: `上个月5号`, `on the 5th of last month`.
fn of_month(words: &GateWords<'_>, today: Date) -> Option<DaysWithin> {
    let months = all_of(words, |span| matches!(span, TimeSpan::MonthsAgo(_))).filter(|month| month.is_over);
    months.into_iter().find_map(|month| {
        let first = month.days(today)?.first;
        let (day, places) =
            words.places(|word| word.starts_with(|first: char| first.is_ascii_digit())).into_iter().find_map(|at| {
                let word = words.at(&[at]);
                let digits = word.trim_end_matches(|other: char| !other.is_ascii_digit());
                let sign = match &word[digits.len()..] {
                    "" if is_at(words, Some(at + 1), "日 号 號") && !is_at(words, Some(at + 2), NUMBER_OF_DAYS) => {
                        Some(at + 1)
                    }
                    "일" | "일에" => Some(at),
                    _ => None,
                };
                let is_joined = || is_at(words, Some(at + 1), DAY_OF) && is_at(words, at.checked_sub(1), BEFORE_DAY);
                let end = sign.or_else(|| is_joined().then_some(at + 1))?;
                let places: Vec<usize> = (at..=end).collect();
                are_beside(words, &places, &month.places).then_some((digits.parse().ok()?, places))
            })?;
        let day = Date::new(first.year(), first.month(), day).ok()?;
        (day <= today).then(|| DaysWithin { places: joined(places, month.places.clone()), days: DaySpan::day(day) })
    })
}

/// The last month of a name that is over, or, where a question `is_about_was`, that of this year: `octobre dernier`, `지난 10월`, `this May`.
fn last_of_name(words: &GateWords<'_>, today: Date, is_about_was: &dyn Fn() -> bool) -> Option<DaysWithin> {
    months(words).find_map(|(at, month)| {
        let (before, behind) = (at.checked_sub(1), Some(at + 1));
        let this_year = Date::new(today.year(), month, 1).ok()?;
        let (beside, first) = if is_at(words, before, LAST_BEFORE) || is_at(words, behind, LAST_BEHIND) {
            let by = if is_at(words, before, LAST_BEFORE) { before } else { behind };
            let is_over = this_year < today.first_of_month();
            (by, if is_over { this_year } else { this_year.checked_sub(1.years()).ok()? })
        } else {
            let is_one = is_at(words, before, THIS_BEFORE) && this_year <= today && is_about_was();
            (is_one.then_some(before?), is_one.then_some(this_year)?)
        };
        Some(DaysWithin { places: joined(vec![at], beside.into_iter().collect()), days: DaySpan::month(first) })
    })
}

/// The months that a question names by a word, with the places of those.
fn months(words: &GateWords<'_>) -> impl Iterator<Item = (usize, i8)> {
    let places = words.places(|word| is_month(word) || month_of_sign(word).is_some());
    places.into_iter().filter_map(|at| {
        let word = words.at(&[at]);
        let is_other = OTHER_WORDS.contains(&word.as_str()) && !words.has_capital(at);
        let month = month_of_sign(&word).or_else(|| month_named(&word));
        month.filter(|_| !is_other).map(|month| (at, month))
    })
}

/// The month that a word of Korean is: `10월`, `10월에`.
fn month_of_sign(word: &str) -> Option<i8> {
    let (number, _) = word.split_once('월')?;
    number.parse().ok().filter(|month| (1..=12).contains(month))
}

/// The places of the words that a written date has: numbers, months, and the signs behind a number (`10月`).
pub(super) fn places_of_date(words: &GateWords<'_>) -> Vec<usize> {
    let is_number = |word: &str| {
        let rest = word.trim_start_matches(|digit: char| digit.is_ascii_digit());
        rest.len() < word.len() && (rest.is_empty() || rest.starts_with(['년', '월', '일']))
    };
    let mut places = words.places(|word| is_month(word) || is_number(word));
    let signs = words.places(|word| matches!(word, "年" | "月" | "日" | "号" | "號"));
    let numerals = words.places(|word| SIGNS_OF_NUMBERS.contains(word));
    for sign in signs {
        let of_sign = (0..sign).rev().take_while(|at| numerals.contains(at));
        let numbers: Vec<usize> = of_sign.chain(sign.checked_sub(1).filter(|at| places.contains(at))).collect();
        if !numbers.is_empty() {
            places.extend(numbers.into_iter().chain([sign]));
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Whether words stand beside others, with nothing but small words between them.
fn are_beside(words: &GateWords<'_>, one: &[usize], other: &[usize]) -> bool {
    let is_small = |at: usize| one.contains(&at) || other.contains(&at) || is_at(words, Some(at), JOINING);
    let are_near = |one: usize, other: usize| (one.min(other) + 1..one.max(other)).all(is_small);
    one.iter().any(|one| other.iter().any(|other| are_near(*one, *other)))
}

/// Whether one of these words stands at a place.
fn is_at(words: &GateWords<'_>, at: Option<usize>, list: &str) -> bool {
    at.is_some_and(|at| list.split_whitespace().any(|word| words.at(&[at]) == word))
}

fn joined(one: Vec<usize>, other: Vec<usize>) -> Vec<usize> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all.dedup();
    all
}
