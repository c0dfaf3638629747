//! From when and until when a value is true, as a person says it.

use std::fmt;

use jiff::Timestamp;

use crate::clock::{Edge, moment};

/// A moment as it was written, and what it means: a date is the beginning of that day in the local time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// As it was written.
    pub(crate) text: String,
    /// Milliseconds since 1970; `None` for `0`, which is always or until further notice.
    pub(crate) ms: Option<i64>,
}

impl Moment {
    /// Reads a date, a time, or `0`; `None` when it is none of these.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_open = text == "0";
        // How long ago is no moment that stays.
        let is_written = text.len() >= "2026-01-05".len() && text.starts_with(|first: char| first.is_ascii_digit());
        let ms = is_written.then(|| moment(text, Edge::Start, Timestamp::UNIX_EPOCH)).flatten();
        (is_open || ms.is_some()).then(|| Self { text: text.to_owned(), ms })
    }
}

/// A half-open span of time: from the first moment up to, and without, the second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validity {
    /// Not said is from when it was learned.
    pub(crate) from: Option<Moment>,
    /// Not said is until further notice.
    pub(crate) until: Option<Moment>,
}

impl Validity {
    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.is_none() && self.until.is_none()
    }

    /// The moment at which it ends, in milliseconds since 1970.
    pub(crate) fn end(&self) -> Option<i64> {
        self.until.as_ref().and_then(|until| until.ms)
    }

    /// Whether it ends before it begins.
    pub(crate) fn is_empty_span(&self) -> bool {
        let from = self.from.as_ref().and_then(|from| from.ms);
        from.zip(self.end()).is_some_and(|(from, until)| until <= from)
    }

    /// Where a moment lies: before it, in it, or after it. What is not said does not bound it.
    pub(crate) fn phase(&self, at: i64) -> FactPhase {
        if self.from.as_ref().and_then(|from| from.ms).is_some_and(|from| at < from) {
            FactPhase::Future
        } else if self.end().is_some_and(|until| at >= until) {
            FactPhase::Expired
        } else {
            FactPhase::Current
        }
    }

    /// Reads `(from 2026-03-09, until 2026-06-01)`, either part of it, at the end of a text; gives what is before it. `None` where there
    /// is nothing of the kind.
    ///
    /// # Errors
    /// When it names dates that cannot be read.
    pub(crate) fn at_end(text: &str) -> Result<Option<(&str, Self)>, String> {
        let Some(open) = text.rfind('(').filter(|_| text.ends_with(')')) else { return Ok(None) };
        if open > 0 && !text[..open].ends_with(char::is_whitespace) {
            return Ok(None);
        }
        let (mut window, inner) = (Self::default(), &text[open + 1..text.len() - 1]);
        for part in inner.split(',') {
            let mut words = part.split_whitespace();
            let (name, when) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>().join(" "));
            let slot = match name {
                "from" => &mut window.from,
                "until" => &mut window.until,
                _ => return Ok(None),
            };
            // "(from Jonas)" is a remark.
            if !when.starts_with(|first: char| first.is_ascii_digit()) {
                return Ok(None);
            }
            let moment = Moment::read(&when).ok_or_else(|| format!("`{when}` is no date (2026-03-09) and no time"))?;
            if slot.replace(moment).is_some() {
                return Err(format!("`{name}` is said twice"));
            }
        }
        if window.is_empty_span() {
            return Err("it ends before it begins".to_owned());
        }
        Ok(Some((text[..open].trim_end(), window)))
    }
}

/// As it is written at the end of a fact; nothing where nothing is said.
impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.until) {
            (None, None) => Ok(()),
            (Some(from), None) => write!(f, "(from {})", from.text),
            (None, Some(until)) => write!(f, "(until {})", until.text),
            (Some(from), Some(until)) => write!(f, "(from {}, until {})", from.text, until.text),
        }
    }
}

/// Where a moment lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactPhase {
    /// The window has not begun.
    Future,
    /// It is in the window.
    Current,
    /// The window is over.
    Expired,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_read_from_the_end_and_written_as_it_was() {
        let read =
            |text: &str| Validity::at_end(text).map(|found| found.map(|(rest, window)| (rest.to_owned(), window)));
        for said in
            ["(from 2026-03-09, until 2026-06-01)", "(until 2026-06-01)", "(from 0)", "(from 2026-03-09T10:00:00Z)"]
        {
            let (rest, window) = read(&format!("release {said}")).unwrap().unwrap();
            assert_eq!((rest.as_str(), window.to_string().as_str()), ("release", said));
        }
        assert_eq!(read("(from  2026-03-09 )").unwrap().unwrap().1.to_string(), "(from 2026-03-09)");
        for prose in
            ["release", "tea (from Jonas)", "a(from 2026-03-09)", "a (since 2026-03-09)", "f()", "a (until then)"]
        {
            assert_eq!(read(prose), Ok(None), "{prose}");
        }
        for bad in [
            "a (from 2026-13-09)", "a (from 2026-01-01, from 2026-01-02)", "a (from 2026-06-01, until 2026-03-09)",
            "a (until 5)",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_window_is_half_open() {
        let (_, window) =
            Validity::at_end("x (from 2026-03-09T00:00:00Z, until 2026-06-01T00:00:00Z)").unwrap().unwrap();
        let at = |text: &str| window.phase(text.parse::<Timestamp>().unwrap().as_millisecond());
        assert_eq!(at("2026-03-08T23:59:59Z"), FactPhase::Future);
        assert_eq!(at("2026-03-09T00:00:00Z"), FactPhase::Current);
        assert_eq!(at("2026-05-31T23:59:59Z"), FactPhase::Current);
        assert_eq!(at("2026-06-01T00:00:00Z"), FactPhase::Expired);
    }
}
