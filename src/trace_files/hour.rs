//! The hours by which events are kept.

use jiff::Timestamp;

/// An hour of UTC, counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TraceHour(i64);

const SECONDS: i64 = 3600;
/// Delay until a file is sealed after its hour has ended, in hours.
const OPEN_HOURS: i64 = 2;

impl TraceHour {
    /// The hour of a time, in seconds since 1970; `None` for what is no time of a calendar.
    pub(super) fn of(seconds: f64) -> Option<Self> {
        let last = Timestamp::MAX.as_second();
        (0.0..last as f64).contains(&seconds).then_some(Self(seconds as i64 / SECONDS))
    }

    /// The hour in which a moment is.
    pub(super) fn at(time: Timestamp) -> Self {
        Self(time.as_second().div_euclid(SECONDS))
    }

    /// `2026-03-02T10`.
    pub(super) fn name(self) -> String {
        let start = Timestamp::from_second(self.0 * SECONDS).unwrap_or(Timestamp::UNIX_EPOCH);
        start.strftime("%Y-%m-%dT%H").to_string()
    }

    /// Reads what [`TraceHour::name`] gives.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let start: Timestamp = format!("{name}:00:00Z").parse().ok()?;
        Some(Self::at(start)).filter(|hour| hour.name() == name)
    }

    /// Whether some of its time is between these, in seconds since 1970.
    pub(super) fn meets(self, since: Option<f64>, until: Option<f64>) -> bool {
        let (start, end) = ((self.0 * SECONDS) as f64, ((self.0 + 1) * SECONDS) as f64);
        since.is_none_or(|since| end > since) && until.is_none_or(|until| start <= until)
    }

    /// Whether its file is sealed.
    pub(super) fn is_sealed(self, now: Timestamp) -> bool {
        now.as_second() >= (self.0 + 1 + OPEN_HOURS) * SECONDS
    }

    /// Whether it ended more than so many days ago.
    pub(super) fn is_older_than(self, days: u64, now: Timestamp) -> bool {
        now.as_second().saturating_sub((self.0 + 1) * SECONDS) >= (days as i64).saturating_mul(24 * SECONDS)
    }

    /// The hours whose files are not sealed yet.
    pub(super) fn open(now: Timestamp) -> impl Iterator<Item = Self> {
        let Self(now) = Self::at(now);
        (now - OPEN_HOURS..=now).map(Self)
    }
}

/// Whether a time, in seconds since 1970, is one of a calendar.
pub(crate) fn is_time(seconds: f64) -> bool {
    TraceHour::of(seconds).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_named_as_it_is_read_and_sealed_two_hours_after_it() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let hour = TraceHour::at(at("2026-03-02T10:59:59.999Z"));
        assert_eq!((hour.name().as_str(), TraceHour::parse("2026-03-02T10")), ("2026-03-02T10", Some(hour)));
        for bad in ["2026-03-02T1", "2026-03-02", "2026-13-02T10", "2026-03-02T10.late", "2026-03-02T24", "x"] {
            assert_eq!(TraceHour::parse(bad), None, "{bad}");
        }
        assert!(!hour.is_sealed(at("2026-03-02T12:59:59Z")) && hour.is_sealed(at("2026-03-02T13:00:00Z")));
        let open: Vec<_> = TraceHour::open(at("2026-03-02T12:59:59Z")).collect();
        assert!(open.contains(&hour) && open.iter().all(|hour| !hour.is_sealed(at("2026-03-02T12:59:59Z"))));
        assert!(!TraceHour::open(at("2026-03-02T13:00:00Z")).any(|open| open == hour));
        let start = at("2026-03-02T10:00:00Z").as_second() as f64;
        assert_eq!((TraceHour::of(start), TraceHour::of(start + 3599.9)), (Some(hour), Some(hour)));
        assert!(hour.meets(Some(start + 3599.0), None) && !hour.meets(Some(start + 3600.0), None));
        assert!(hour.meets(None, Some(start)) && !hour.meets(None, Some(start - 0.1)));
        assert_eq!((TraceHour::of(-1.0), TraceHour::of(f64::NAN), TraceHour::of(1e18)), (None, None, None));
        assert!(
            hour.is_older_than(1, at("2026-03-03T11:00:00Z")) && !hour.is_older_than(1, at("2026-03-03T10:00:00Z"))
        );
    }
}
