//! A day or a week of the local time zone.

use std::ops::Range;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::clock::day_named;
use crate::derive::summary::SUMMARIES;
use crate::request::RequestError;

/// A day or a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DigestSpan {
    /// `2026-11-21`, or `2026-W47`.
    pub(super) name: String,
    /// Its first day.
    pub(super) first: Date,
    /// Its last day.
    pub(super) last: Date,
    /// Whether it is a week.
    is_week: bool,
    /// Its milliseconds since 1970.
    pub(super) ms: Range<i64>,
}

impl DigestSpan {
    /// The day or week that is asked for: today where nothing is. A week is named `2026-W47`, or by one of its days.
    pub(super) fn asked(day: Option<&str>, week: Option<&str>, now: Timestamp) -> Result<Self, RequestError> {
        let invalid = |field: &str, text: &str, what: &str| {
            RequestError::invalid(format!("`{field}` is `{text}`; it takes {what}"))
        };
        let found = match (day, week) {
            (Some(_), Some(_)) => return Err(RequestError::invalid("give `day` or `week`")),
            (Some(day), None) => {
                let date = day.trim().parse().ok().or_else(|| day_named(day, now));
                Self::of_day(date.ok_or_else(|| invalid("day", day, "a date (2026-11-21), `today` or `yesterday`"))?)
            }
            (None, Some(week)) => {
                let date = match week.trim() {
                    "now" => Some(now.to_zoned(TimeZone::system()).date()),
                    week => monday_of(week).or_else(|| day_named(week, now)),
                };
                let date = date.ok_or_else(|| invalid("week", week, "2026-W47, a date in it, or `now`"))?;
                Self::of_week(date)
            }
            (None, None) => Self::of_day(now.to_zoned(TimeZone::system()).date()),
        };
        found.ok_or_else(|| RequestError::invalid("no such day"))
    }

    /// A day; `None` for one that no calendar has.
    pub(super) fn of_day(day: Date) -> Option<Self> {
        Some(Self { name: day.to_string(), first: day, last: day, is_week: false, ms: millis(day, day)? })
    }

    /// The week of a day.
    pub(super) fn of_week(day: Date) -> Option<Self> {
        let week = day.iso_week_date();
        let first = ISOWeekDate::new(week.year(), week.week(), Weekday::Monday).ok()?.date();
        let last = first.checked_add(6.days()).ok()?;
        let name = format!("{:04}-W{:02}", week.year(), week.week());
        Some(Self { name, first, last, is_week: true, ms: millis(first, last)? })
    }

    /// Whether a day is in it.
    pub(super) fn has(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// What it is called in frontmatter: `day` or `week`.
    pub(super) fn key(&self) -> &'static str {
        if self.is_week { "week" } else { "day" }
    }

    /// Its file, below `summaries/`, without the extension.
    pub(super) fn file(&self) -> String {
        format!("{}s/{}", self.key(), self.name)
    }

    /// Its file, if no other took the name.
    pub(super) fn path(&self) -> String {
        format!("{SUMMARIES}/{}.md", self.file())
    }

    /// As people say it.
    pub(super) fn title(&self) -> String {
        match self.is_week {
            true => format!("Week {} ({} to {})", self.name, self.first, self.last),
            false => self.first.strftime("%A, %-d %B %Y").to_string(),
        }
    }
}

fn monday_of(text: &str) -> Option<Date> {
    if let Ok(day) = text.parse::<Date>() {
        return Some(day);
    }
    let (year, week) = text.split_once("-W").or_else(|| text.split_once("-w"))?;
    Some(ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?.date())
}

fn millis(first: Date, last: Date) -> Option<Range<i64>> {
    let start = |day: Date| Some(day.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond());
    Some(start(first)?..start(last.checked_add(1.day()).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_weeks_are_those_of_the_calendar() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let span = |day, week| DigestSpan::asked(day, week, now).unwrap();
        assert_eq!(span(Some("2026-11-21"), None).path(), "summaries/days/2026-11-21.md");
        let week = span(None, Some("2026-W47"));
        assert_eq!(
            (week.first.to_string().as_str(), week.path().as_str()),
            ("2026-11-16", "summaries/weeks/2026-W47.md")
        );
        assert_eq!(span(None, Some("2026-11-21")), week);
        assert_eq!(span(None, Some("2021-01-01")).name, "2020-W53", "a week is of the year that has most of it");
        assert_eq!(span(Some("yesterday"), None).name, span(Some("2026-11-20"), None).name);
        assert!(week.has("2026-11-22".parse().unwrap()) && !week.has("2026-11-23".parse().unwrap()));
        for (day, week) in [(Some("tomorrow"), None), (None, Some("2026-W60")), (Some("2026-11-21"), Some("2026-W47"))]
        {
            assert!(DigestSpan::asked(day, week, now).is_err());
        }
    }
}
