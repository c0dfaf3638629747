//! The time that a question names, as days. Pure.

use std::cell::LazyCell;
use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;

use super::day_span::DaySpan;
use super::matching::{GatePhrase, GateWords};
use super::past_words::{BEFORE_YEARS, WAS};
use super::time_tables::{TimesOf, first_of, read_all, weekday};
use super::times_within::{DaysWithin, named_within, places_of_date};
use crate::derive::summary::{NamedDay, named_day, named_month};

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

static ABOUT_WAS: LazyLock<Vec<GatePhrase>> = LazyLock::new(|| read_all(WAS));

/// The time before now that a question names, on the day on which it is asked.
pub(super) fn named_time(query: &str, words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    let is_about_was = LazyCell::new(|| ABOUT_WAS.iter().any(|phrase| words.places_of(phrase).is_some()));
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
