//! The time that a question names, as days. Pure.

use std::cell::LazyCell;
use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;

use super::as_of::BEFORE_YEARS;
use super::matching::{GatePhrase, GateWords};
use super::phrases::{PHRASES, TimePhrases, TimeSpan};
use super::summary_days::DaySpan;
use crate::text::derive::calendar_words::{WEEKDAYS_WITHIN, is_month, month_named, weekday_named};
use crate::text::derive::summary::{NamedDay, SIGNS_OF_NUMBERS, named_day, named_month};

/// A time that a question names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedTime {
    /// What names it: a phrase, or a day.
    pub(super) by: String,
    /// The places of its words.
    pub(super) places: Vec<usize>,
    /// Its days; `None` where nobody knows which.
    pub(super) span: Option<DaySpan>,
}

/// The time before now that a question names, on the day on which it is asked.
pub(super) fn named_time(query: &str, words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    let is_about_was = LazyCell::new(|| PHRASES.was.iter().any(|phrase| words.places_of(phrase).is_some()));
    let written =
        |span: DaySpan| NamedTime { by: span.first.to_string(), places: places_of_date(words), span: Some(span) };
    if let Some(span) = slashed(query, today) {
        return Some(written(span));
    }
    if let Some(DaysWithin { places, days }) = named_within(query, words, today, &|| *is_about_was) {
        return Some(NamedTime { by: words.at(&places), places, span: Some(days) });
    }
    match named_day(query) {
        Some(NamedDay::Dated(day)) if day <= today => return Some(written(DaySpan::day(day))),
        Some(NamedDay::OfSomeYear { month, day }) if *is_about_was => {
            let of = |year: i16| Date::new(year, month, day).ok().filter(|day| *day <= today);
            if let Some(day) = of(today.year()).or_else(|| of(today.year() - 1)) {
                return Some(written(DaySpan::day(day)));
            }
        }
        _ => {}
    }
    let said = |table: TimesOf| {
        let said = first_of(table, words)?;
        Some(NamedTime { by: words.at(&said.places), span: said.days(today), places: said.places })
    };
    said(TimesOf::Ago)
        .or_else(|| said(TimesOf::Past))
        .or_else(|| said(TimesOf::Now).filter(|_| *is_about_was))
        .or_else(|| last_weekday(words, today).filter(|_| *is_about_was))
        .or_else(|| {
            let (month, year) = named_month(query)?;
            let of = |year: i16| Date::new(year, month, 1).ok().filter(|first| *first <= today);
            let last = || of(today.year()).or_else(|| of(today.year() - 1)).filter(|_| *is_about_was);
            let first = year.map_or_else(last, of)?;
            Some(written(DaySpan::month(first)))
        })
        .or_else(|| {
            let (year, places) = named_year(words, today)?;
            let is_all = || words.without(&places).is_empty();
            let first = Date::new(year, 1, 1).ok().filter(|_| *is_about_was || is_all())?;
            Some(NamedTime { by: year.to_string(), places, span: Some(DaySpan::from(first, first.last_of_year())) })
        })
}

/// The day before now that a question writes with strokes: `20/11/2026`, `11/20/2026`; where it may be two, both.
fn slashed(query: &str, today: Date) -> Option<DaySpan> {
    let runs = query.split(|character: char| !character.is_ascii_digit() && character != '/');
    runs.filter_map(|run| {
        let numbers: Vec<&str> = run.split('/').collect();
        let [one, two, year] = numbers[..] else { return None };
        let (year, one, two) = (year.parse().ok().filter(|_| year.len() == 4)?, one.parse().ok()?, two.parse().ok()?);
        let days = [(two, one), (one, two)].map(|(month, day)| Date::new(year, month, day).ok());
        let mut days = days.into_iter().flatten().filter(|day| *day <= today);
        let first = days.next()?;
        Some(DaySpan { other: days.next().filter(|other| *other != first), ..DaySpan::day(first) })
    })
    .next()
}

/// The year up to now that a question names, and the places of its words: `in 2025`, `2025年`, `2025년`.
fn named_year(words: &GateWords<'_>, today: Date) -> Option<(i16, Vec<usize>)> {
    let year = |word: &str| {
        let (digits, rest) = word.split_at_checked(4)?;
        let year = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let is_one = (1900..=today.year()).contains(&year) && (rest.is_empty() || rest.starts_with('년'));
        is_one.then_some((year, !rest.is_empty()))
    };
    let before = words.places(|word| BEFORE_YEARS.contains(&word));
    let signs = words.places(|word| word == "年");
    words.places(|word| year(word).is_some()).into_iter().find_map(|at| {
        let (year, is_marked) = year(&words.at(&[at]))?;
        let by = at.checked_sub(1).filter(|by| before.contains(by)).or(Some(at + 1).filter(|by| signs.contains(by)));
        let is_one = is_marked || by.is_some();
        is_one.then(|| (year, [at].into_iter().chain(by).collect()))
    })
}

/// The last day of that name before today.
fn last_weekday(words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    let (number, places) = weekday(words)?;
    let since = (i64::from(today.weekday().to_monday_zero_offset()) - number as i64 + 6) % 7 + 1;
    let span = today.checked_sub(since.days()).ok().map(DaySpan::day);
    Some(NamedTime { by: words.at(&places), places, span })
}

/// A table of phrases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimesOf {
    /// As long ago as a number says.
    Ago,
    /// Over.
    Past,
    /// Not over yet.
    Now,
}

/// A phrase of a table, in a question.
#[derive(Debug, Clone)]
pub(super) struct TimePhrase {
    /// What it names.
    pub(super) span: TimeSpan,
    /// The number that it says.
    number: Option<u32>,
    /// The places of its words.
    pub(super) places: Vec<usize>,
    /// Whether it is over.
    pub(super) is_over: bool,
}

/// The names of the days of the week, from Monday, that are several words or such as no blanks part from others.
static DAYS_WITHIN: LazyLock<Vec<Vec<GatePhrase>>> =
    LazyLock::new(|| WEEKDAYS_WITHIN.iter().map(|day| day.split('|').map(GatePhrase::read).collect()).collect());

/// The first phrase of a table that a question has.
pub(super) fn first_of(table: TimesOf, words: &GateWords<'_>) -> Option<TimePhrase> {
    of_tables(words, move |of, _| of == table).next()
}

/// The phrases of all tables that a question has, of the times for which `is` holds.
pub(super) fn all_of<'w>(
    words: &'w GateWords<'_>,
    is: impl Fn(TimeSpan) -> bool + 'w,
) -> impl Iterator<Item = TimePhrase> + 'w {
    of_tables(words, move |_, span| is(span))
}

fn of_tables<'w>(
    words: &'w GateWords<'_>,
    is: impl Fn(TimesOf, TimeSpan) -> bool + 'w,
) -> impl Iterator<Item = TimePhrase> + 'w {
    let tables = [(TimesOf::Ago, &PHRASES.ago), (TimesOf::Past, &PHRASES.past), (TimesOf::Now, &PHRASES.now)];
    let rows = tables.into_iter().flat_map(|(of, table)| table.iter().map(move |row| (of, row)));
    rows.filter(move |(of, row)| is(*of, row.span)).flat_map(move |(of, TimePhrases { span, phrases })| {
        phrases.iter().filter_map(move |phrase| {
            let places = words.places_of(phrase)?;
            let number = words.number(&places).filter(|_| phrase.has_number());
            Some(TimePhrase { span: *span, number, places, is_over: of != TimesOf::Now })
        })
    })
}

impl TimePhrase {
    /// Its days; `None` where nobody knows which.
    pub(super) fn days(&self, today: Date) -> Option<DaySpan> {
        days(self.span, self.number, today)
    }
}

/// The first day of the week that a question names, 0 for Monday, and the places of its words.
pub(super) fn weekday(words: &GateWords<'_>) -> Option<(usize, Vec<usize>)> {
    DAYS_WITHIN.iter().enumerate().find_map(|(number, phrases)| {
        let by_word = || words.places(|word| weekday_named(word) == Some(number)).first().map(|at| vec![*at]);
        let places = phrases.iter().find_map(|phrase| words.places_of(phrase)).or_else(by_word)?;
        Some((number, places))
    })
}

fn days(span: TimeSpan, said: Option<u32>, today: Date) -> Option<DaySpan> {
    let ago = |usual: u32| i64::from(said.unwrap_or(usual)).min(36_500);
    let (first, last) = match span {
        TimeSpan::DaysAgo(usual) => {
            let day = today.checked_sub(ago(usual).days()).ok()?;
            (day, day)
        }
        TimeSpan::WeeksAgo(usual) => {
            let monday = i64::from(today.weekday().to_monday_zero_offset());
            let first = today.checked_sub((monday + 7 * ago(usual)).days()).ok()?;
            (first, first.checked_add(6.days()).ok()?)
        }
        TimeSpan::MonthsAgo(usual) => {
            let month = DaySpan::month(today.first_of_month().checked_sub(ago(usual).months()).ok()?);
            (month.first, month.last)
        }
        TimeSpan::YearsAgo(usual) => {
            let day = today.first_of_year().checked_sub(ago(usual).years()).ok()?;
            (day, day.last_of_year())
        }
        TimeSpan::LastDays(usual) => (today.checked_sub(ago(usual).days()).ok()?, today),
        TimeSpan::LastWeeks(usual) => (today.checked_sub((7 * ago(usual)).days()).ok()?, today),
        TimeSpan::LastMonths(usual) => (today.checked_sub(ago(usual).months()).ok()?, today),
        TimeSpan::LastYears(usual) => (today.checked_sub(ago(usual).min(5_000).years()).ok()?, today),
        TimeSpan::LastNight => (today.yesterday().ok()?, today),
        TimeSpan::Lately => (today.checked_sub(7.days()).ok()?, today),
        TimeSpan::SomeTime => return None,
    };
    Some(DaySpan::from(first, last))
}

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
    let counts = |time: &TimePhrase| time.is_over || is_about_was();
    of_year(query, words, today, &counts)
        .or_else(|| of_week(words, today, &counts))
        .or_else(|| of_month(words, today))
        .or_else(|| last_of_name(words, today, is_about_was))
}

/// The month, or a day of it, of a year: `en octubre del año pasado`, `去年3月5日`.
fn of_year(
    query: &str,
    words: &GateWords<'_>,
    today: Date,
    counts: &dyn Fn(&TimePhrase) -> bool,
) -> Option<DaysWithin> {
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
fn of_week(words: &GateWords<'_>, today: Date, counts: &dyn Fn(&TimePhrase) -> bool) -> Option<DaysWithin> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-23 is a Monday.
    #[test]
    fn times_are_read_as_people_name_them() {
        let today = Date::constant(2026, 11, 23);
        for (query, expected) in [
            ("what happened yesterday", "2026-11-22"),
            ("vorgestern", "2026-11-21"),
            ("what happened last week", "2026-11-16 2026-11-22"),
            ("was war letzte Woche", "2026-11-16 2026-11-22"),
            ("Co było w zeszłym tygodniu?", "2026-11-16 2026-11-22"),
            ("지난주에 뭐 했어?", "2026-11-16 2026-11-22"),
            ("on Monday, what did we do", "2026-11-16"),
            ("what happened on Sunday", "2026-11-22"),
            ("was haben wir am Freitag gemacht", "2026-11-20"),
            ("¿qué pasó el viernes?", "2026-11-20"),
            ("星期五我们做了什么", "2026-11-20"),
            ("what happened today", "2026-11-23"),
            ("what happened this week", "2026-11-23 2026-11-29"),
            ("what did we do on 20 November 2026", "2026-11-20"),
            ("am 20.11.2026", "2026-11-20"),
            ("log of 2026-03-02", "2026-03-02"),
            ("what was said on 5 May", "2026-05-05"),
            ("what did I do on 24 December", "2025-12-24"),
            ("what did we do in October", "2026-10-01 2026-10-31"),
            ("was haben wir im Dezember besprochen", "2025-12-01 2025-12-31"),
            ("что мы делали в октябре", "2026-10-01 2026-10-31"),
            ("October 2025", "2025-10-01 2025-10-31"),
            ("10月に何をした？", "2026-10-01 2026-10-31"),
            ("我们10月决定了什么", "2026-10-01 2026-10-31"),
            ("十二月我们说了什么", "2025-12-01 2025-12-31"),
            ("2025年10月的计划", "2025-10-01 2025-10-31"),
            ("10월에 뭐 했어?", "2026-10-01 2026-10-31"),
            ("11月21号我们说了什么", "2026-11-21"),
            ("10个月前我们说了什么", "2026-01-01 2026-01-31"),
            ("सोमवार को क्या हुआ था?", "2026-11-16"),
            ("शुक्रवार को हमने क्या तय किया", "2026-11-20"),
            ("हमने रविवार को किस बारे में बात की थी", "2026-11-22"),
            ("ماذا حدث يوم الجمعة؟", "2026-11-20"),
            ("ماذا قررنا الاثنين", "2026-11-16"),
            ("عن ماذا تحدثنا يوم الأحد؟", "2026-11-22"),
            ("three days ago", "2026-11-20"),
            ("vor 2 Wochen", "2026-11-09 2026-11-15"),
            ("what happened 20/11/2026", "2026-11-20"),
            ("what happened on 11/20/2026?", "2026-11-20"),
            ("notes of 05/06/2026", "2026-06-05 or 2026-05-06"),
            ("11/12/2026", "2026-11-12"),
            ("the release of 24/12/2026", ""),
            ("and/or 1/2", ""),
            ("what happened in 2026", "2026-01-01 2026-12-31"),
            ("was haben wir im Jahr 2025 beschlossen", "2025-01-01 2025-12-31"),
            ("qu'avons-nous fait en 2025", "2025-01-01 2025-12-31"),
            ("2025年に何をした？", "2025-01-01 2025-12-31"),
            ("2025년에 뭐 했어?", "2025-01-01 2025-12-31"),
            ("in 2024", "2024-01-01 2024-12-31"),
            ("the best cars in 2026", ""),
            ("what did we plan in 2030", ""),
            ("what happened in the past week", "2026-11-16 2026-11-23"),
            ("in the last 3 days", "2026-11-20 2026-11-23"),
            ("past two weeks", "2026-11-09 2026-11-23"),
            ("the last 2 months", "2026-09-23 2026-11-23"),
            ("in den letzten drei Tagen", "2026-11-20 2026-11-23"),
            ("les 3 derniers jours", "2026-11-20 2026-11-23"),
            ("过去3天", "2026-11-20 2026-11-23"),
            ("the last few days", "2026-11-16 2026-11-23"),
            ("last month", "2026-10-01 2026-10-31"),
            ("three years ago", "2023-01-01 2023-12-31"),
            ("the year before last", "2024-01-01 2024-12-31"),
            ("上上周", "2026-11-09 2026-11-15"),
            ("l'année dernière", "2025-01-01 2025-12-31"),
            ("last time", "?"),
            ("what is the weather today", ""),
            ("plan this week", ""),
            ("remind me on Friday", ""),
            ("we meet on 5 December", ""),
            ("10月の予定", ""),
            ("शुक्रवार को याद दिलाना", ""),
            ("ذكرني يوم الجمعة", ""),
            ("ذكر هذا الأحد", ""),
            ("the release of 2027-01-01", ""),
            ("it may be in order", ""),
            ("how do I set up vim", ""),
            ("yesterdays", ""),
        ] {
            assert_eq!(said(query, today), expected, "{query}");
        }
    }

    fn said(query: &str, today: Date) -> String {
        named_time(query, &GateWords::of(query), today).map_or_else(String::new, |time| match time.span {
            Some(DaySpan { first, other: Some(other), .. }) => format!("{first} or {other}"),
            Some(DaySpan { first, last, .. }) if first == last => first.to_string(),
            Some(DaySpan { first, last, .. }) => format!("{first} {last}"),
            None => "?".into(),
        })
    }

    #[test]
    fn a_month_or_a_day_is_of_the_time_that_is_named_beside_it() {
        let today = Date::constant(2026, 11, 23);
        let (october, last_october) = ("2025-10-01 2025-10-31", "2026-10-01 2026-10-31");
        let cases = [
            ("去年10月我们决定了什么", october),
            ("去年十月", october),
            ("去年的10月", october),
            ("去年の10月に何をした？", october),
            ("昨年10月の計画", october),
            ("작년 10월에 뭐 했어?", october),
            ("지난해 10월", october),
            ("in October last year", october),
            ("October of last year", october),
            ("what did we do last year in October", october),
            ("im Oktober letzten Jahres", october),
            ("Was haben wir im Oktober des vergangenen Jahres beschlossen?", october),
            ("letztes Jahr im Oktober", october),
            ("en octobre de l'année dernière", october),
            ("en octobre de l'an dernier", october),
            ("¿Qué decidimos en octubre del año pasado?", october),
            ("nell'ottobre dell'anno scorso", october),
            ("em outubro do ano passado", october),
            ("vorig jaar oktober", october),
            ("в октябре прошлого года", october),
            ("w październiku zeszłego roku", october),
            ("一昨年の10月", "2024-10-01 2024-10-31"),
            ("im Mai vor zwei Jahren", "2024-05-01 2024-05-31"),
            ("May last year", "2025-05-01 2025-05-31"),
            ("last October", last_october),
            ("letzten Oktober", last_october),
            ("octobre dernier", last_october),
            ("el pasado octubre", last_october),
            ("octubre pasado", last_october),
            ("ottobre scorso", last_october),
            ("지난 10월에 뭐 했어?", last_october),
            ("im letzten Dezember", "2025-12-01 2025-12-31"),
            ("last November", "2025-11-01 2025-11-30"),
            ("last May", "2026-05-01 2026-05-31"),
            ("what did we decide this May", "2026-05-01 2026-05-31"),
            ("今年3月我们说了什么", "2026-03-01 2026-03-31"),
            ("on 5 March last year", "2025-03-05"),
            ("am 5. März letzten Jahres", "2025-03-05"),
            ("el 5 de marzo del año pasado", "2025-03-05"),
            ("去年3月5日说了什么", "2025-03-05"),
            ("上周五我们做了什么", "2026-11-20"),
            ("上个星期三", "2026-11-18"),
            ("先週の水曜日", "2026-11-18"),
            ("지난주 수요일", "2026-11-18"),
            ("last week on Wednesday", "2026-11-18"),
            ("letzte Woche Mittwoch", "2026-11-18"),
            ("mercredi de la semaine dernière", "2026-11-18"),
            ("el miércoles de la semana pasada", "2026-11-18"),
            ("上个月5号我们说了什么", "2026-10-05"),
            ("先月の5日", "2026-10-05"),
            ("on the 5th of last month", "2026-10-05"),
            ("el 5 del mes pasado", "2026-10-05"),
            // What is not beside it is of no such time.
            ("what did we say in October about the taxes of last year", "2025-01-01 2025-12-31"),
            ("the top 5 of last month", last_october),
            ("先月5日間", last_october),
            ("it may last a year", ""),
            ("what may last year's report mean", "2025-01-01 2025-12-31"),
            ("remind me this May", ""),
        ];
        let said = cases.map(|(query, _)| (query, said(query, today)));
        let wrong: Vec<_> = said.iter().zip(cases).filter(|((_, said), (_, expected))| said != expected).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
