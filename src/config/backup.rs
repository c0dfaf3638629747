//! `[backup]`: commits by themselves.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::{Deserialize, Serialize};

/// `[backup]`: commits by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupConfig {
    /// How often the daemon commits what has changed; empty means never.
    pub every: String,
}

impl BackupConfig {
    /// How often the daemon commits; `None` means never.
    pub fn interval(&self) -> Option<Duration> {
        interval(&self.every)
    }

    pub(super) fn violation(&self) -> Option<String> {
        let every = &self.every;
        (!every.trim().is_empty() && interval(every).is_none())
            .then(|| format!("`backup.every` is \"{every}\"; it takes \"1m\" to \"365d\", or \"\" for never"))
    }
}

/// Reads how long "1h", "90m" or "1 day" are; `None` for what is no length, or not one from a minute to a year.
fn interval(text: &str) -> Option<Duration> {
    let span: Span = text.trim().parse().ok()?;
    let length: Duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()?;
    (60..=365 * 86_400).contains(&length.as_secs()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_written_as_people_do() {
        let every = |text: &str| BackupConfig { every: text.into() };
        for (text, minutes) in [("1h", 60), ("90m", 90), ("1 day", 1440), ("1h 30m", 90), ("60s", 1), ("PT2H", 120)] {
            assert_eq!(every(text).interval(), Some(Duration::from_secs(60 * minutes)), "{text}");
            assert_eq!(every(text).violation(), None, "{text}");
        }
        assert_eq!((every("").interval(), every("").violation()), (None, None));
        for bad in ["59s", "hourly", "-1h", "10 years", "1"] {
            let violation = every(bad).violation().unwrap();
            assert!(violation.starts_with(&format!("`backup.every` is \"{bad}\"; it takes")), "{violation}");
        }
    }
}
