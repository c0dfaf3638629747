//! What is asked, checked as every use case checks it; how much an agent gets, and how much of notes an answer may still give.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{Timestamp, Zoned};
use serde_json::Value;

use super::{Request, RequestError, Workspace};
use crate::access::rules::{Principal, Scope};
use crate::base::clock::{self, moment};
pub(crate) use crate::base::clock::{Edge, rfc3339};
use crate::base::config::{AgentLimits, AgentsConfig, MemoryScope, Mode, SearchConfig};
use crate::base::path::{VaultPath, folded};
use crate::index::sync::{FRESH_WITHIN, ModelStatus, Phase};
use crate::memory::items::ProposeRules;
use crate::models::{Embedder, sameness};
use crate::serve::wire::ChunkView;
use crate::text::derive::facts::{Moment, Validity, is_tag};
use crate::text::note::written;
use crate::vault::disk::Quota;
use crate::vault::forgotten::ForgottenLookup;

/// Maximum length of a text that is kept: what is longer is a document, and can be put into the folder.
const MAX_CONTENT_BYTES: usize = 50 * 1024;
/// Maximum length of a query: nothing that a person or an agent looks for is longer.
const MAX_QUERY_BYTES: usize = 16 * 1024;
/// Maximum number of tags of a fact or an entry.
const MAX_TAGS: usize = 20;
/// Maximum length of such a tag, in bytes.
const MAX_TAG_BYTES: usize = 200;
/// Maximum length of a place that is named as a source, in bytes.
const MAX_SOURCE_BYTES: usize = 1_000;

/// A text of somebody's.
///
/// # Errors
/// When it is empty, too long, or has control characters.
pub(crate) fn text(field: &str, text: &str) -> Result<String, RequestError> {
    let text = text.replace("\r\n", "\n");
    let message = if text.trim().is_empty() {
        "is empty".to_owned()
    } else if text.len() > MAX_CONTENT_BYTES {
        format!("has {} bytes; it takes {MAX_CONTENT_BYTES}", text.len())
    } else if let Some(odd) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        format!("has the control character {odd:?}")
    } else {
        return Ok(text);
    };
    Err(RequestError::invalid(format!("`{field}` {message}")))
}

/// A query, by the name of its field.
///
/// # Errors
/// When it is too long.
pub(crate) fn query_text<'a>(field: &str, text: &'a str) -> Result<&'a str, RequestError> {
    if text.len() > MAX_QUERY_BYTES {
        let message = format!("`{field}` has {} bytes; it takes {MAX_QUERY_BYTES}", text.len());
        return Err(RequestError::invalid(message));
    }
    Ok(text)
}

/// What is asked for, as far as it is said, by the name of its field.
///
/// # Errors
/// When it is out of the range that it takes.
pub(crate) fn within<T: Copy + PartialOrd + Display>(
    field: &str,
    asked: Option<T>,
    takes: RangeInclusive<T>,
) -> Result<Option<T>, RequestError> {
    match asked.filter(|asked| !takes.contains(asked)) {
        Some(asked) => {
            let (first, last) = takes.into_inner();
            Err(RequestError::invalid(format!("`{field}` is {asked}; it takes {first} to {last}")))
        }
        None => Ok(asked),
    }
}

/// How many are asked for.
///
/// # Errors
/// When it is none, or over 1,000.
pub(crate) fn limit(asked: Option<usize>, default: usize) -> Result<usize, RequestError> {
    Ok(within("limit", asked, 1..=1000)?.unwrap_or(default))
}

/// Maximum number of chunks on either side of a hit.
pub(crate) const MAX_CONTEXT: usize = 20;

/// Maximum number of memory scopes that one request names.
const MAX_SCOPES: usize = 50;

/// Memory scopes as somebody names them, each with its weight, if one is said: `project:mech,system=0.4`.
///
/// # Errors
/// When one is none, or its weight is no number from 0 to 10.
pub(crate) fn memory_scopes(name: &str, text: &str) -> Result<Vec<(MemoryScope, Option<f64>)>, RequestError> {
    let one = |text: &str| -> Result<(MemoryScope, Option<f64>), RequestError> {
        let (scope, weight) = text.split_once('=').map_or((text, None), |(scope, weight)| (scope, Some(weight)));
        let scope = MemoryScope::parse(scope).map_err(|error| RequestError::invalid(format!("`{name}`: {error}")))?;
        let weight = weight.map(|weight| {
            let number = weight.trim().parse().ok().filter(|weight: &f64| (0.0..=10.0).contains(weight));
            number.ok_or_else(|| RequestError::invalid(format!("`{name}` has the weight `{weight}`; it takes 0 to 10")))
        });
        Ok((scope, weight.transpose()?))
    };
    let scopes = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
    if scopes.len() > MAX_SCOPES {
        return Err(RequestError::invalid(format!("`{name}` has {} scopes; it takes {MAX_SCOPES}", scopes.len())));
    }
    Ok(scopes)
}

/// A path as somebody gives it.
///
/// # Errors
/// When it leaves the vault, or cannot be a path.
pub(crate) fn note_path(path: &str) -> Result<VaultPath, RequestError> {
    VaultPath::new(path).map_err(|error| RequestError::invalid(format!("`path`: {error}")))
}

/// How long a model is asked about all texts of one request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Compares texts by their embeddings, each of which is made once. Where no model is loaded, and once the time is over, nobody can tell.
pub(crate) struct MeaningAlike {
    model: Option<Arc<dyn Embedder>>,
    until: Instant,
    made: RefCell<HashMap<String, Option<Vec<f32>>>>,
    /// Why there is no model, though one is to be there.
    missing: Option<&'static str>,
    /// Why texts were compared by their words alone, though a model is to compare their meaning.
    lacked: Cell<Option<&'static str>>,
}

impl MeaningAlike {
    /// By the model that a vault has now. What waits for the person is private: a model elsewhere is asked only where it may be given that.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let serving = workspace.shared.embedder();
        let missing = match workspace.shared.progress().model {
            ModelStatus::Loading if serving.is_none() => Some("the model is still loading"),
            ModelStatus::Failed(_) if serving.is_none() => Some("the model cannot be used"),
            _ => None,
        };
        let model = serving.filter(|model| model.takes_private());
        let until = Instant::now() + PATIENCE;
        Self { model, until, made: RefCell::default(), missing, lacked: Cell::default() }
    }

    /// Why texts were compared by their words alone, though a model is to compare their meaning; `None` where it did, and where none is to.
    pub(crate) fn degraded(&self) -> Option<String> {
        self.lacked.get().map(|why| format!("{why}: duplicates in other words were not looked for"))
    }

    /// How likely two texts say the same, 0 to 1, as far as their meaning tells; `None` where nobody can tell.
    pub(crate) fn likeness(&self, one: &str, other: &str) -> Option<f64> {
        self.lacked.set(self.missing.or(self.lacked.get()));
        let model = self.model.as_ref()?;
        let (one, other) = (self.vector(model.as_ref(), one)?, self.vector(model.as_ref(), other)?);
        let cosine: f64 = one.iter().zip(&other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum();
        Some(sameness(model.name(), cosine))
    }

    /// The rules that new entries are held to: what `[memory]` says, what was forgotten for good as far as `reach` goes, and how alike texts are.
    pub(crate) fn rules<'a>(
        &'a self,
        workspace: &'a Workspace,
        forgotten: &'a ForgottenLookup<'a>,
        reach: &'a Scope,
    ) -> ProposeRules<'a> {
        let likeness = |one: &str, other: &str| self.likeness(one, other);
        ProposeRules { config: &workspace.config.memory, forgotten, reach, likeness: Box::new(likeness) }
    }

    fn vector(&self, model: &dyn Embedder, text: &str) -> Option<Vec<f32>> {
        if let Some(made) = self.made.borrow().get(text) {
            return made.clone();
        }
        let in_time = Instant::now() < self.until;
        let made = in_time.then(|| model.embed_query(text, Some(self.until)).ok()).flatten();
        if made.is_none() {
            self.lacked.set(self.missing.or(Some("the model did not answer")));
        }
        self.made.borrow_mut().insert(text.to_owned(), made.clone());
        made
    }
}

/// A span of time that two parameters name.
///
/// # Errors
/// When one is no moment, or the end is not after the beginning.
pub(crate) fn validity(from: Option<&str>, until: Option<&str>) -> Result<Validity, RequestError> {
    let moment = |name: &str, text: &str| {
        Moment::read(text).ok_or_else(|| {
            let takes = "it takes a date (2026-01-05), a time (2026-01-05T10:00:00Z), or 0";
            RequestError::invalid(format!("`{name}` is `{text}`; {takes}"))
        })
    };
    let from = from.map(|text| moment("from", text)).transpose()?;
    let until = until.map(|text| moment("until", text)).transpose()?;
    let window = Validity { from, until, ..Validity::default() };
    if window.is_empty_span() { Err(RequestError::invalid("`until` is not after `from`")) } else { Ok(window) }
}

/// A place in the vault from which something was learned: `notes/api.md#L12`; with `takes_blanks` also `notes/api.md#My heading`.
///
/// # Errors
/// When it is none.
pub(crate) fn source_place(name: &str, text: &str, takes_blanks: bool) -> Result<String, RequestError> {
    let (path, place) = text.split_once('#').map_or((text, None), |(path, place)| (path, Some(place)));
    let is_place = |place: &str| {
        !place.is_empty() && !place.contains(|c: char| c.is_control() || !takes_blanks && c.is_whitespace())
    };
    let is_well = text.len() <= MAX_SOURCE_BYTES
        && note_path(path).is_ok()
        && !path.chars().any(char::is_control)
        && path.trim() == path
        && place.is_none_or(is_place);
    let invalid = || RequestError::invalid(format!("`{name}` has `{text}`; it takes a place: notes/api.md#L12"));
    if is_well { Ok(text.to_owned()) } else { Err(invalid()) }
}

/// Tags of a fact or an entry, without their `#`.
///
/// # Errors
/// When they are too many or too long, one is none, or it would hide the file.
pub(crate) fn tags(tags: &[String]) -> Result<Vec<String>, RequestError> {
    if tags.len() > MAX_TAGS {
        return Err(RequestError::invalid(format!("`tags` has {} tags; it takes {MAX_TAGS}", tags.len())));
    }
    let tags: Vec<String> = tags.iter().map(|tag| tag.trim_start_matches('#').to_owned()).collect();
    for tag in &tags {
        let wrong = if !is_tag(tag) {
            format!("has `{tag}`, which is not a valid tag")
        } else if tag.len() > MAX_TAG_BYTES {
            format!("has a tag of {} bytes; it takes {MAX_TAG_BYTES}", tag.len())
        } else if folded(tag).split('/').next() == Some("private") {
            // All of the file would be.
            format!("has `{}`, which would hide the whole file from agents", folded(tag))
        } else {
            continue;
        };
        return Err(RequestError::invalid(format!("`tags` {wrong}")));
    }
    Ok(tags)
}

/// Maximum number of bytes that are kept so that changes of an agent's own memory can be undone; the oldest go first.
const MAX_CHECKPOINT_BYTES: u64 = 100_000_000;

/// How much who asks gets: an agent as its page says, else as `[agents]` does; the person gets all.
pub(crate) fn agent_limits(config: &AgentsConfig, principal: &Principal) -> Option<AgentLimits> {
    match principal {
        Principal::Agent(caller) => Some(caller.policy.limits_over(config)),
        Principal::Owner(_) | Principal::Member(_) | Principal::Capture(_) => None,
    }
}

/// What an agent may write, and have kept of that.
pub(super) fn quota(limits: &AgentLimits) -> Quota {
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
        let is_owner = matches!(self.principal, Principal::Owner(_));
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
    pub(crate) fn of(limits: Option<AgentLimits>, times: usize) -> Self {
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
