//! The time that a question names, as days. Pure.

use std::cell::LazyCell;
use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;

use super::matching::{GatePhrase, GateWords};
use super::past_words::{BEFORE_YEARS, WAS};
use super::phrases::GatePhrases;
use super::time_phrases::{AGO, NOW, PAST, TimeSpan};
use crate::derive::calendar_words::{WEEKDAYS_WITHIN, is_month, weekday_named};
use crate::derive::summary::{NamedDay, SIGNS_OF_NUMBERS, named_day, named_month};

/// Days, the first and the last included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DaySpan {
    /// The first.
    pub(crate) first: Date,
    /// The last.
    pub(crate) last: Date,
    /// A day that may be meant as well: `05/06/2026` is one of May or of June.
    pub(crate) other: Option<Date>,
}

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

type TimeTable = Vec<(TimeSpan, Vec<GatePhrase>)>;

static TABLES: LazyLock<[TimeTable; 3]> = LazyLock::new(|| [&PAST[..], &AGO, &NOW].map(read));
/// The names of the days of the week, from Monday, that are several words or such as no blanks part from others.
static DAYS_WITHIN: LazyLock<Vec<Vec<GatePhrase>>> =
    LazyLock::new(|| WEEKDAYS_WITHIN.iter().map(|day| day.split('|').map(GatePhrase::read).collect()).collect());
static ABOUT_WAS: LazyLock<Vec<GatePhrase>> = LazyLock::new(|| read_all(WAS));

fn read(table: &[(TimeSpan, GatePhrases)]) -> TimeTable {
    table.iter().map(|(span, phrases)| (*span, read_all(phrases))).collect()
}

/// Reads the phrases of a table.
pub(super) fn read_all(phrases: GatePhrases) -> Vec<GatePhrase> {
    phrases.iter().map(|phrase| GatePhrase::read(phrase)).collect()
}

impl DaySpan {
    /// Whether a day is in it.
    pub(crate) fn has(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day) || self.other == Some(day)
    }

    /// From a day to another.
    pub(super) fn from(first: Date, last: Date) -> Self {
        Self { first, last, other: None }
    }

    fn day(day: Date) -> Self {
        Self::from(day, day)
    }

    fn month(of: Date) -> Self {
        Self::from(of.first_of_month(), of.last_of_month())
    }
}

/// The time before now that a question names, on the day on which it is asked.
pub(super) fn named_time(query: &str, words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    let [past, ago, now] = &*TABLES;
    let is_about_was = LazyCell::new(|| ABOUT_WAS.iter().any(|phrase| words.places_of(phrase).is_some()));
    let written =
        |span: DaySpan| NamedTime { by: span.first.to_string(), places: places_of_date(words), span: Some(span) };
    if let Some(span) = slashed(query, today) {
        return Some(written(span));
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
    in_table(ago, words, today)
        .or_else(|| in_table(past, words, today))
        .or_else(|| in_table(now, words, today).filter(|_| *is_about_was))
        .or_else(|| weekday(words, today).filter(|_| *is_about_was))
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

/// The places of the words that a written date has: numbers, months, and the signs behind a number (`10月`).
fn places_of_date(words: &GateWords<'_>) -> Vec<usize> {
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

fn in_table(table: &TimeTable, words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    table.iter().find_map(|(span, phrases)| {
        let (phrase, places) = phrases.iter().find_map(|phrase| Some((phrase, words.places_of(phrase)?)))?;
        let span = days(*span, words.number(&places).filter(|_| phrase.has_number()), today);
        Some(NamedTime { by: words.at(&places), places, span })
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

/// The last day of that name before today.
fn weekday(words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    DAYS_WITHIN.iter().enumerate().find_map(|(number, phrases)| {
        let by_word = || words.places(|word| weekday_named(word) == Some(number)).first().map(|at| vec![*at]);
        let places = phrases.iter().find_map(|phrase| words.places_of(phrase)).or_else(by_word)?;
        let since = (i64::from(today.weekday().to_monday_zero_offset()) - number as i64 + 6) % 7 + 1;
        let span = today.checked_sub(since.days()).ok().map(DaySpan::day);
        Some(NamedTime { by: words.at(&places), places, span })
    })
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
            let words = GateWords::of(query);
            let said = named_time(query, &words, today).map_or_else(String::new, |time| match time.span {
                Some(DaySpan { first, other: Some(other), .. }) => format!("{first} or {other}"),
                Some(DaySpan { first, last, .. }) if first == last => first.to_string(),
                Some(DaySpan { first, last, .. }) => format!("{first} {last}"),
                None => "?".into(),
            });
            assert_eq!(said, expected, "{query}");
        }
    }
}
