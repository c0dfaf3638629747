//! What comes in, checked.

use crate::derive::entries::{MAX_ENTRY_BYTES, MemoryHolder, one_line};
use crate::derive::facts::Validity;
use crate::note::Note;
use crate::redact::redact;
use crate::request::{RequestError, Viewer, moment, note_path, text};
use crate::vault::is_folder_name;

/// Maximum number of sources.
const MAX_SOURCES: usize = 20;
/// Maximum length of a place that is named as a source, in bytes.
const MAX_SOURCE_BYTES: usize = 1_000;
/// Maximum length of a text.
const MAX_TEXT_BYTES: usize = MAX_ENTRY_BYTES / 2;

/// The memory of an agent, or the person's.
pub(super) fn holder_named(viewer: &Viewer, agent: Option<&str>) -> Result<MemoryHolder, RequestError> {
    let Some(slug) = agent.filter(|slug| !slug.is_empty()) else { return Ok(MemoryHolder::Person) };
    if viewer.agent().is_some_and(|own| own != slug) {
        return Err(RequestError::forbidden("an agent has its own memory alone"));
    }
    if !is_folder_name(slug) {
        return Err(RequestError::invalid(format!("`agent` is {slug:?}, which is no agent's folder")));
    }
    Ok(MemoryHolder::Agent(slug.to_owned()))
}

/// What an entry says, on one line, and whether secrets were taken out of it.
pub(super) fn entry_text(viewer: &Viewer, given: &str) -> Result<(String, bool), RequestError> {
    let given = one_line(&text("text", given)?);
    if given.len() > MAX_TEXT_BYTES {
        return Err(RequestError::invalid(format!("`text` has {} bytes; it takes {MAX_TEXT_BYTES}", given.len())));
    }
    let kept = if viewer.workspace().redacts() { redact(&given).into_owned() } else { given.clone() };
    // All of the file would be.
    if Note::parse(&format!("- x {kept}\n"), "").is_private() {
        return Err(RequestError::invalid("`text` has a tag `private`, which would hide the whole file from agents"));
    }
    let redacted = kept != given;
    Ok((kept, redacted))
}

pub(super) fn confidence(given: Option<f64>) -> Result<Option<f64>, RequestError> {
    match given {
        Some(given) if !(0.0..=1.0).contains(&given) => {
            Err(RequestError::invalid(format!("`confidence` is {given}; it takes 0 to 1")))
        }
        // More digits say nothing.
        given => Ok(given.map(|given| (given * 1000.0).round() / 1000.0)),
    }
}

pub(super) fn window(from: Option<&str>, until: Option<&str>) -> Result<Validity, RequestError> {
    let some = |name: &str, text: Option<&str>| moment(name, text.filter(|text| !text.trim().is_empty()));
    let window = Validity { from: some("from", from)?, until: some("until", until)? };
    if window.is_empty_span() { Err(RequestError::invalid("`until` is not after `from`")) } else { Ok(window) }
}

/// Places in the vault: `notes/api.md#L12`.
pub(super) fn sources(given: &[String]) -> Result<Vec<String>, RequestError> {
    if given.len() > MAX_SOURCES {
        return Err(RequestError::invalid(format!("`sources` has {} places; it takes {MAX_SOURCES}", given.len())));
    }
    let check = |text: &String| {
        let invalid = || RequestError::invalid(format!("`sources` has `{text}`; it takes places: notes/api.md#L12"));
        let (path, place) = text.split_once('#').map_or((text.as_str(), None), |(path, place)| (path, Some(place)));
        note_path(path).map_err(|_| invalid())?;
        let is_place =
            |place: &str| !place.is_empty() && !place.contains(|c: char| c.is_control() || c.is_whitespace());
        let is_well = text.len() <= MAX_SOURCE_BYTES
            && !path.chars().any(char::is_control)
            && path.trim() == path
            && place.is_none_or(is_place);
        if is_well { Ok(text.clone()) } else { Err(invalid()) }
    };
    given.iter().map(check).collect()
}
