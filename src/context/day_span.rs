//! A span of days.

use jiff::civil::Date;

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
