//! What people say in several languages, by which a question is told from others: `phrases.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::matching::GatePhrase;

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
    /// Yesterday and today.
    LastNight,
    /// A week up to today.
    Lately,
    /// Some time that is over.
    SomeTime,
}
