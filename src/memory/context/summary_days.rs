//! Which days summaries and digests are of.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Timestamp, ToSpan};

use crate::index::engine::FileEntry;

/// Where summaries are.
pub(super) const SUMMARIES: &str = "summaries/";

/// The day of a summary, as that of its conversation's last turn, or the day or the week that a digest is of: `2026-W47`.
pub(super) fn day_of(file: &FileEntry) -> Option<String> {
    let name = file.path.as_str().strip_prefix(SUMMARIES).and_then(|rest| rest.strip_suffix(".md"))?;
    let of_digest = name.strip_prefix("days/").filter(|day| day.parse::<Date>().is_ok());
    let of_digest = of_digest.or_else(|| name.strip_prefix("weeks/").filter(|week| monday_of(week).is_some()));
    of_digest.map(str::to_owned).or_else(|| day_at(file.created_ms).map(|day| day.to_string()))
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
    let mut weeks: Vec<(Date, &str)> = Vec::new();
    let mut days: Vec<(Date, &str)> = Vec::new();
    for path in paths {
        let Some(name) = path.strip_prefix(SUMMARIES).and_then(|rest| rest.strip_suffix(".md")) else { continue };
        if let Some(day) = name.strip_prefix("days/").and_then(|day| day.parse().ok()) {
            days.extend(span.has(day).then_some((day, path)));
        } else if let Some(monday) = name.strip_prefix("weeks/").and_then(monday_of) {
            weeks.extend((is_whole(span, monday) && is_given(path)).then_some((monday, path)));
        }
    }
    let has = |monday: &Date, day: Date| (*monday..=monday.saturating_add(6.days())).contains(&day);
    days.retain(|(day, _)| !weeks.iter().any(|(monday, _)| has(monday, *day)));
    let mut all: Vec<(Date, &str)> = weeks.into_iter().chain(days).collect();
    all.sort_unstable_by(|one, two| two.cmp(one));
    all.into_iter().map(|(_, path)| path).collect()
}

/// Whether all days of a week are meant.
pub(super) fn is_whole(span: DaySpan, monday: Date) -> bool {
    span.has(monday) && monday.checked_add(6.days()).is_ok_and(|sunday| span.has(sunday))
}

/// The first day of a week: `2026-W47`.
pub(super) fn monday_of(week: &str) -> Option<Date> {
    let (year, week) = week.split_once("-W")?;
    Some(ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?.date())
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
