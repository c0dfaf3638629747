//! The time that a question names, as days, and which days summaries and digests are of.

use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::as_of::BEFORE_YEARS;
use super::matching::{GatePhrase, GateWords, PHRASES, TimePhrases, TimeSpan};
use crate::index::engine::FileEntry;
use crate::text::derive::calendar::{
    NamedDay, WEEKDAYS_WITHIN, is_month, monday_of, month_named, named_day, named_month, weekday_named,
};

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
    let is_about_was = PHRASES.was.iter().any(|phrase| words.places_of(phrase).is_some());
    let written =
        |span: DaySpan| NamedTime { by: span.first.to_string(), places: places_of_date(words), span: Some(span) };
    let said = |places: Vec<usize>, span| NamedTime { by: words.at(&places), places, span };
    if let Some(span) = slashed(query, today) {
        return Some(written(span));
    }
    // What goes on is a time of which something was only where the question says so.
    let now = PHRASES.now.iter().filter(|_| is_about_was);
    let phrases: Vec<TimePhrase> =
        PHRASES.ago.iter().chain(&PHRASES.past).chain(now).flat_map(|row| phrases_of(row, words, today)).collect();
    if let Some((places, days)) = phrases.iter().find_map(|phrase| within(phrase, query, words))
        && days.first <= today
    {
        return Some(said(places, Some(days)));
    }
    let not_after = |day: &Date| *day <= today;
    let last_of = |of: &dyn Fn(i16) -> Option<Date>| {
        let of = |year: i16| of(year).filter(not_after);
        of(today.year()).or_else(|| of(today.year() - 1)).filter(|_| is_about_was)
    };
    let day = match named_day(query) {
        Some(NamedDay::Dated(day)) => Some(day).filter(not_after),
        Some(NamedDay::OfSomeYear { month, day }) => last_of(&|year| Date::new(year, month, day).ok()),
        None => None,
    };
    if let Some(day) = day {
        return Some(written(DaySpan::day(day)));
    }
    if let Some(TimePhrase { places, days, .. }) = phrases.into_iter().next() {
        return Some(said(places, days));
    }
    if let Some((number, places)) = weekday(words).filter(|_| is_about_was) {
        // The last day of that name before today.
        let since = (i64::from(today.weekday().to_monday_zero_offset()) - number as i64 + 6) % 7 + 1;
        return Some(said(places, today.checked_sub(since.days()).ok().map(DaySpan::day)));
    }
    if let Some((month, year)) = named_month(query) {
        let of = |year: i16| Date::new(year, month, 1).ok();
        let first = year.map_or_else(|| last_of(&of), |year| of(year).filter(not_after));
        if let Some(first) = first {
            return Some(written(DaySpan::month(first)));
        }
    }
    let (year, places) = named_year(words, today)?;
    let is_all = || words.without(&places).is_empty();
    let first = Date::new(year, 1, 1).ok().filter(|_| is_about_was || is_all())?;
    Some(NamedTime { by: year.to_string(), places, span: Some(DaySpan::from(first, first.last_of_year())) })
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

/// A phrase of the tables that a question has.
struct TimePhrase {
    span: TimeSpan,
    /// The places of its words.
    places: Vec<usize>,
    /// Its days; `None` where nobody knows which.
    days: Option<DaySpan>,
}

fn phrases_of<'w>(
    TimePhrases { span, phrases }: &'static TimePhrases,
    words: &'w GateWords<'_>,
    today: Date,
) -> impl Iterator<Item = TimePhrase> + 'w {
    phrases.iter().filter_map(move |phrase| {
        let places = words.places_of(phrase)?;
        let number = words.number(&places).filter(|_| phrase.has_number());
        Some(TimePhrase { span: *span, days: days(*span, number, today), places })
    })
}

/// The month, or a day of it, of a year that a phrase names, or the day of a week: `en octubre del año pasado`, `letzte Woche Freitag`. With the
/// places of the words of both.
fn within(phrase: &TimePhrase, query: &str, words: &GateWords<'_>) -> Option<(Vec<usize>, DaySpan)> {
    let first = phrase.days?.first;
    let (mut places, days) = match phrase.span {
        TimeSpan::YearsAgo(_) => {
            let (month, day) = match named_day(query) {
                Some(NamedDay::Dated(_)) => return None,
                Some(NamedDay::OfSomeYear { month, day }) => (month, Some(day)),
                None => match named_month(query) {
                    Some((month, year)) => (year.is_none().then_some(month)?, None),
                    None => (month_alone(words)?, None),
                },
            };
            let date = Date::new(first.year(), month, day.unwrap_or(1)).ok()?;
            (places_of_date(words), if day.is_some() { DaySpan::day(date) } else { DaySpan::month(date) })
        }
        TimeSpan::WeeksAgo(_) => {
            let (number, places) = weekday(words)?;
            (places, DaySpan::day(first.checked_add((number as i64).days()).ok()?))
        }
        _ => return None,
    };
    places.extend(&phrase.places);
    places.sort_unstable();
    places.dedup();
    Some((places, days))
}

/// The names of the days of the week, from Monday, that are several words or such as no blanks part from others.
static DAYS_WITHIN: LazyLock<Vec<Vec<GatePhrase>>> =
    LazyLock::new(|| WEEKDAYS_WITHIN.iter().map(|day| day.split('|').map(GatePhrase::read).collect()).collect());

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
        TimeSpan::SomeTime => return None,
    };
    Some(DaySpan::from(first, last))
}

/// Months that are other words as well: alone they count by their capital.
const OTHER_WORDS: [&str; 2] = ["may", "march"];

/// The first month that a question names by a word.
fn month_alone(words: &GateWords<'_>) -> Option<i8> {
    words.places(is_month).into_iter().find_map(|at| {
        let word = words.at(&[at]);
        let is_other = OTHER_WORDS.contains(&word.as_str()) && !words.has_capital(at);
        month_named(&word).filter(|_| !is_other)
    })
}

/// The places of the words that a written date has: numbers, months, and the signs behind a number (`10月`).
pub(super) fn places_of_date(words: &GateWords<'_>) -> Vec<usize> {
    let is_number = |word: &str| {
        let rest = word.trim_start_matches(|digit: char| digit.is_ascii_digit());
        rest.len() < word.len() && (rest.is_empty() || rest.starts_with(['년', '월', '일']))
    };
    let mut places = words.places(|word| is_month(word) || is_number(word));
    let signs = words.places(|word| matches!(word, "年" | "月" | "日" | "号" | "號"));
    let behind = signs.into_iter().filter(|at| at.checked_sub(1).is_some_and(|before| places.contains(&before)));
    places.extend(behind.collect::<Vec<_>>());
    places.sort_unstable();
    places
}

/// Where summaries are.
pub(super) const SUMMARIES: &str = "summaries/";

/// The day or the week that the digest at a path is of, `2026-W47`, and its days.
pub(super) fn digest_at(path: &str) -> Option<(&str, DaySpan)> {
    let name = path.strip_prefix(SUMMARIES)?.strip_suffix(".md")?;
    if let Some(day) = name.strip_prefix("days/") {
        return Some((day, DaySpan::day(day.parse().ok()?)));
    }
    let week = name.strip_prefix("weeks/")?;
    let monday = monday_of(week)?;
    Some((week, DaySpan::from(monday, monday.checked_add(6.days()).ok()?)))
}

/// The day of a summary, as that of its conversation's last turn, or the day or the week that a digest is of.
pub(super) fn day_of(file: &FileEntry) -> Option<String> {
    let path = file.path.as_str();
    let of_digest = digest_at(path).map(|(name, _)| name.to_owned());
    of_digest.or_else(|| Some(day_at(file.created_ms).filter(|_| path.starts_with(SUMMARIES))?.to_string()))
}

/// The day of a moment, in milliseconds since 1970.
pub(super) fn day_at(ms: i64) -> Option<Date> {
    Some(Timestamp::from_millisecond(ms).ok()?.to_zoned(jiff::tz::TimeZone::system()).date())
}

/// The digests of some days among the paths of files, the newest first. A week that is not given takes no day's place.
pub(super) fn digests_of<'p>(
    span: DaySpan,
    paths: impl Iterator<Item = &'p str>,
    is_given: impl Fn(&str) -> bool,
) -> Vec<&'p str> {
    let digests = paths.filter_map(|path| Some((digest_at(path)?.1, path)));
    let of_span = digests.filter(|(days, _)| span.has_all(days));
    let (mut found, days): (Vec<_>, Vec<_>) = of_span.partition(|(days, _)| days.first != days.last);
    found.retain(|(_, path)| is_given(path));
    let of_no_week = |(day, _): &(DaySpan, &str)| !found.iter().any(|(week, _)| week.has(day.first));
    let days: Vec<_> = days.into_iter().filter(of_no_week).collect();
    found.extend(days);
    found.sort_unstable_by_key(|(days, path)| std::cmp::Reverse((days.first, *path)));
    found.into_iter().map(|(_, path)| path).collect()
}

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

impl DaySpan {
    /// Whether a day is in it.
    pub(crate) fn has(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day) || self.other == Some(day)
    }

    /// Whether all of these days are in it.
    pub(super) fn has_all(&self, days: &Self) -> bool {
        self.has(days.first) && self.has(days.last)
    }

    /// From a day to another.
    pub(super) fn from(first: Date, last: Date) -> Self {
        Self { first, last, other: None }
    }

    /// A day alone.
    pub(super) fn day(day: Date) -> Self {
        Self::from(day, day)
    }

    /// The month that a day is of.
    pub(super) fn month(of: Date) -> Self {
        Self::from(of.first_of_month(), of.last_of_month())
    }
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
            ("지난 10월에 뭐 했어?", last_october),
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
            // What is not beside it is of no such time.
            ("the top 5 of last month", last_october),
            ("it may last a year", ""),
            ("what may last year's report mean", "2025-01-01 2025-12-31"),
            ("remind me this May", ""),
        ];
        let said = cases.map(|(query, _)| (query, said(query, today)));
        let wrong: Vec<_> = said.iter().zip(cases).filter(|((_, said), (_, expected))| said != expected).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_digest_of_a_whole_week_stands_for_its_days() {
        let paths = [
            "summaries/days/2026-11-14.md", "summaries/days/2026-11-16.md", "summaries/weeks/2026-W47.md",
            "summaries/days/2026-11-23.md", "summaries/weeks/2026-W46.md", "summaries/days/none.md",
            "summaries/tent.md", "notes/days/2026-11-16.md",
        ];
        let of = |first: Date, last: Date| digests_of(DaySpan::from(first, last), paths.into_iter(), |_| true);
        let day = |day: i8| Date::constant(2026, 11, day);
        assert_eq!(of(day(16), day(22)), ["summaries/weeks/2026-W47.md"]);
        assert_eq!(of(day(16), day(16)), ["summaries/days/2026-11-16.md"]);
        let week = DaySpan::from(day(16), day(22));
        assert_eq!(digests_of(week, paths.into_iter(), |_| false), ["summaries/days/2026-11-16.md"]);
        assert_eq!(
            of(day(14), day(23)),
            ["summaries/days/2026-11-23.md", "summaries/weeks/2026-W47.md", "summaries/days/2026-11-14.md"]
        );
    }
}
