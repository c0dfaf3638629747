//! The two clocks of a question: when it is to have been true, and when it is to have been known.

use jiff::Timestamp;

use crate::request::{Edge, RequestError, parse, parse_last};
use crate::wire::FactsParams;

/// The moments that a question is about, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moments {
    /// When it is to be true.
    pub(super) as_of: i64,
    /// When it is to be known; `None` is now.
    pub(super) known_at: Option<i64>,
    /// Whether the question is about another moment than now.
    pub(super) is_past: bool,
    /// Now.
    pub(super) now: i64,
    /// Changes since then alone.
    pub(super) changed_since: Option<i64>,
}

impl Moments {
    pub(super) fn of(params: &FactsParams, now: Timestamp) -> Result<Self, RequestError> {
        let moment =
            |name: &str, text: &Option<String>| text.as_deref().map(|text| parse_last(name, text, now)).transpose();
        let as_of = moment("as_of", &params.as_of)?;
        let known_at = moment("known_at", &params.known_at)?;
        let changed_since = params.changed_since.as_deref();
        Ok(Self {
            as_of: as_of.or(known_at).unwrap_or(now.as_millisecond()),
            known_at,
            now: now.as_millisecond(),
            is_past: as_of.is_some() || known_at.is_some(),
            changed_since: changed_since.map(|text| parse("changed_since", text, Edge::Start, now)).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_asked_about_at_its_end() {
        let now: Timestamp = "2026-05-01T12:00:00Z".parse().unwrap();
        let of = |as_of: Option<&str>, known_at: Option<&str>| {
            let params = FactsParams {
                as_of: as_of.map(Into::into),
                known_at: known_at.map(Into::into),
                ..FactsParams::default()
            };
            Moments::of(&params, now).unwrap()
        };
        let day = of(Some("2026-03-15"), None);
        assert_eq!(day.as_of + 1, parse("x", "2026-03-16", Edge::Start, now).unwrap());
        assert!(day.is_past && day.known_at.is_none());
        let known = of(None, Some("2026-03-15T10:00:00Z"));
        assert_eq!((known.as_of, known.known_at), (1_773_568_800_000, Some(1_773_568_800_000)));
        assert_eq!(of(None, None).as_of, now.as_millisecond());
        let params = FactsParams { as_of: Some("soon".into()), ..FactsParams::default() };
        assert!(Moments::of(&params, now).is_err());
    }
}
