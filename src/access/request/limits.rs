//! How much an agent gets, and how much of notes an answer may still give.

use std::ops::Range;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use serde_json::Value;

use super::{Request, RequestError};
use crate::access::rules::Principal;
use crate::base::clock::{self, moment};
pub(crate) use crate::base::clock::{Edge, rfc3339};
use crate::base::config::{AgentsConfig, Mode, SearchConfig};
use crate::index::sync::{FRESH_WITHIN, ModelStatus, Phase};
use crate::serve::wire::ChunkView;
use crate::text::note::written;
use crate::vault::disk::Quota;

/// Maximum number of bytes that are kept so that changes of an agent's own memory can be undone; the oldest go first.
const MAX_CHECKPOINT_BYTES: u64 = 100_000_000;

/// How much who asks gets: an agent as its page says, else as `[agents]` does; the person gets all.
pub(crate) fn agent_limits(config: &AgentsConfig, principal: &Principal) -> Option<AgentsConfig> {
    match principal {
        Principal::Agent(caller) => Some(caller.policy.limits_over(config)),
        Principal::Owner | Principal::Capture(_) => None,
    }
}

/// What an agent may write, and have kept of that.
pub(super) fn quota(limits: &AgentsConfig) -> Quota {
    Quota {
        checkpoints: limits.max_checkpoints,
        checkpoint_bytes: MAX_CHECKPOINT_BYTES,
        written_bytes_per_day: limits.max_written_bytes_per_day,
    }
}

/// Maximum time that an agent's search waits: what keeps the index busy may be hidden from it.
const AGENTS_WAIT: Duration = Duration::from_millis(100);
/// Maximum time that a search waits for a model. The bundled one takes half a second to load, and on a busy machine two.
const MODEL_WAIT: Duration = Duration::from_secs(3);

impl Request {
    /// Waits until all that was saved before can be found by its words: a second at most. To be
    /// called before the request is held to a state of the index. Tells the person whether it can; nothing where nobody watches the vault.
    ///
    /// An agent is not told.
    pub(crate) fn make_fresh(&self) -> Option<bool> {
        let is_owner = matches!(self.principal, Principal::Owner);
        let most = if is_owner { FRESH_WITHIN } else { AGENTS_WAIT };
        let is_fresh = self.workspace.shared.fresh().wait(self.half_left(most));
        is_fresh.filter(|_| is_owner)
    }

    /// Waits until a model that is being loaded is there: without it the words would answer alone, and take what it knows for slips. To be
    /// called as [`Request::make_fresh`] is, with the settings of the search.
    pub(crate) fn await_model(&self, mode: Mode, config: &SearchConfig) {
        let timeout = Some(Duration::from_millis(config.timeout_ms)).filter(|timeout| !timeout.is_zero());
        let most = timeout.map_or(MODEL_WAIT, |timeout| timeout.min(MODEL_WAIT));
        if mode != Mode::Keyword {
            self.workspace.shared.wait(self.half_left(most), |progress| {
                progress.model != ModelStatus::Loading || progress.phase == Phase::Stopped
            });
        }
    }

    /// So long, and no longer than half of the time that whoever waits has left.
    fn half_left(&self, most: Duration) -> Duration {
        self.turn.left().map_or(most, |left| most.min(left / 2))
    }
}

/// What the person is told where it could not be made sure of.
pub(crate) const MAY_LACK_THE_NEWEST: &str = "the newest changes may not be found yet";

/// Reads a [moment] of a parameter, in milliseconds since 1970.
///
/// # Errors
/// When it is none.
pub(crate) fn parse(name: &str, text: &str, edge: Edge, now: Timestamp) -> Result<i64, RequestError> {
    moment(text, edge, now).ok_or_else(|| {
        let text = text.trim();
        RequestError::invalid(format!(
            "`{name}` is `{text}`; it takes a date (2026-01-05), a time (2026-01-05T10:00:00Z) `yesterday`, or how long ago (7d)"
        ))
    })
}

/// The same, of a date its last millisecond: what is asked about a day counts to its end.
///
/// # Errors
/// When it is none.
pub(crate) fn parse_last(name: &str, text: &str, now: Timestamp) -> Result<i64, RequestError> {
    let (start, end) = (parse(name, text, Edge::Start, now)?, parse(name, text, Edge::End, now)?);
    Ok(if end > start { end - 1 } else { start })
}

/// The milliseconds of a day of the local time zone.
///
/// # Errors
/// When the text is no date.
pub(crate) fn day_of(name: &str, text: &str) -> Result<Range<i64>, RequestError> {
    clock::day_of(text)
        .ok_or_else(|| RequestError::invalid(format!("`{name}` is `{text}`; it takes a date (2026-01-05)")))
}

/// Now, in the person's time zone, as people write it.
pub(crate) fn now() -> String {
    written(&Zoned::now())
}

/// Characters of notes that an answer may still give; the person's has no bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget(Option<usize>);

impl Budget {
    /// The room of an answer in which everything is given so many times.
    pub(crate) fn of(limits: Option<AgentsConfig>, times: usize) -> Self {
        Self(limits.map(|limits| limits.max_injected_chars / times.max(1)))
    }

    /// Takes so many characters, if they fit.
    #[must_use]
    pub(crate) fn try_take(&mut self, chars: usize) -> bool {
        let Some(left) = self.0 else { return true };
        let rest = left.checked_sub(chars);
        self.0 = Some(rest.unwrap_or(left));
        rest.is_some()
    }

    /// Takes so many characters; where they do not fit, nothing more does.
    #[must_use]
    pub(crate) fn take(&mut self, chars: usize) -> bool {
        let fits = self.try_take(chars);
        if !fits {
            self.0 = Some(0);
        }
        fits
    }

    /// Takes a text, cut to what fits. Tells whether it was cut.
    pub(crate) fn cut(&mut self, text: &mut String) -> bool {
        let Some(left) = self.0 else { return false };
        let end = text.char_indices().nth(left).map(|(end, _)| end);
        if let Some(end) = end {
            text.truncate(end);
        }
        self.0 = Some(left - text.chars().count());
        end.is_some()
    }

    /// Whether a chunk would fit whole, with a snippet of so many characters.
    pub(crate) fn holds(&self, chunk: &ChunkView, snippet: usize) -> bool {
        self.0.is_none_or(|left| snippet + around(chunk) + chunk.content.chars().count() <= left)
    }

    /// Takes a chunk, and a snippet of so many characters: its frontmatter is left out where that does not fit, its text is cut.
    /// Tells whether it was cut; `None` where nothing of it fits.
    #[must_use]
    pub(crate) fn take_chunk(&mut self, chunk: &mut ChunkView, snippet: usize) -> Option<bool> {
        let Some(left) = self.0 else { return Some(false) };
        let mut names = around(chunk);
        if snippet + names > left {
            chunk.metadata = Value::Object(serde_json::Map::new());
            names = around(chunk);
        }
        if left == 0 || !self.take(snippet + names) {
            self.0 = Some(0);
            return None;
        }
        Some(self.cut(&mut chunk.content))
    }
}

/// Characters of what is given of a chunk besides its text.
fn around(chunk: &ChunkView) -> usize {
    let names = chunk.heading_path.iter().chain(&chunk.tags).chain([&chunk.title]);
    names.map(|name| name.chars().count()).sum::<usize>() + frontmatter_chars(&chunk.metadata)
}

/// Characters of a note's frontmatter as it is given.
pub(crate) fn frontmatter_chars(metadata: &Value) -> usize {
    match metadata {
        Value::Object(fields) if fields.is_empty() => 0,
        metadata => metadata.to_string().chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_time_is_named() {
        let error = parse("since", "whenever", Edge::Start, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(error.message.starts_with("`since` is `whenever`"), "{}", error.message);
        assert_eq!(rfc3339(1_767_607_200_000), "2026-01-05T10:00:00Z");
    }
}

#[cfg(test)]
mod tests_of_budget {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_given() {
        let mut room = Budget(Some(5));
        assert!(!room.try_take(6) && room.try_take(2));
        let mut text = "äöü!".to_owned();
        assert!(room.cut(&mut text) && text == "äöü" && !room.try_take(1));
        let mut room = Budget(Some(5));
        assert!(!room.take(6) && !room.take(1) && room.take(0));
        let mut whole = Budget::of(None, 2);
        assert!(whole.take(usize::MAX) && !whole.cut(&mut "any".to_owned()));
    }
}
