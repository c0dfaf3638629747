//! The phrases of times, held against a question, and the days that they name. Pure.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;

use super::day_span::DaySpan;
use super::matching::{GatePhrase, GateWords};
use super::phrases::GatePhrases;
use super::time_phrases::{AGO, NOW, PAST, TimeSpan};
use crate::derive::calendar_words::{WEEKDAYS_WITHIN, weekday_named};

type TimeTable = Vec<(TimeSpan, Vec<GatePhrase>)>;

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
pub(super) struct SaidTime {
    /// What it names.
    pub(super) span: TimeSpan,
    /// The number that it says.
    number: Option<u32>,
    /// The places of its words.
    pub(super) places: Vec<usize>,
    /// Whether it is over.
    pub(super) is_over: bool,
}

static TABLES: LazyLock<[(TimesOf, TimeTable); 3]> = LazyLock::new(|| {
    let read = |table: &[(TimeSpan, GatePhrases)]| table.iter().map(|(span, all)| (*span, read_all(all))).collect();
    [(TimesOf::Ago, read(&AGO)), (TimesOf::Past, read(&PAST)), (TimesOf::Now, read(&NOW))]
});
/// The names of the days of the week, from Monday, that are several words or such as no blanks part from others.
static DAYS_WITHIN: LazyLock<Vec<Vec<GatePhrase>>> =
    LazyLock::new(|| WEEKDAYS_WITHIN.iter().map(|day| day.split('|').map(GatePhrase::read).collect()).collect());

/// Reads the phrases of a table.
pub(super) fn read_all(phrases: GatePhrases) -> Vec<GatePhrase> {
    phrases.iter().map(|phrase| GatePhrase::read(phrase)).collect()
}

/// The first phrase of a table that a question has.
pub(super) fn first_of(table: TimesOf, words: &GateWords<'_>) -> Option<SaidTime> {
    of_tables(words, move |of, _| of == table).next()
}

/// The phrases of all tables that a question has, of the times for which `is` holds.
pub(super) fn all_of<'w>(
    words: &'w GateWords<'_>,
    is: impl Fn(TimeSpan) -> bool + 'w,
) -> impl Iterator<Item = SaidTime> + 'w {
    of_tables(words, move |_, span| is(span))
}

fn of_tables<'w>(
    words: &'w GateWords<'_>,
    is: impl Fn(TimesOf, TimeSpan) -> bool + 'w,
) -> impl Iterator<Item = SaidTime> + 'w {
    let rows = TABLES.iter().flat_map(|(of, table)| table.iter().map(|row| (*of, row)));
    rows.filter(move |(of, (span, _))| is(*of, *span)).flat_map(move |(of, (span, phrases))| {
        phrases.iter().filter_map(move |phrase| {
            let places = words.places_of(phrase)?;
            let number = words.number(&places).filter(|_| phrase.has_number());
            Some(SaidTime { span: *span, number, places, is_over: of != TimesOf::Now })
        })
    })
}

impl SaidTime {
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
