//! What of an event was forgotten for good, and is left out. Its sender hears nothing of that.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::event::{Captured, Event};
use super::markdown::{activity_line, file_line, search_line};
use crate::forgotten::{ForgottenLookup, TombstoneScope, WithoutForgotten};

/// What stays of an event.
pub(super) struct LeftOfEvent {
    /// None, where nothing is left of it.
    pub(super) captured: Option<Captured>,
    pub(super) tombstone: i64,
}

/// What stays of an event of which something was forgotten; `None` where nothing was.
///
/// A turn, a note, a remark on a page and a snippet lose what was forgotten of them. What is a line of a day, and what is known by its
/// title or address, goes whole.
pub(super) fn without_forgotten(asked: &ForgottenLookup<'_>, captured: &Captured) -> Option<LeftOfEvent> {
    if asked.is_empty() {
        return None;
    }
    let of = |text: &str| asked.without(text, TombstoneScope::All);
    let at = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let line = match &captured.event {
        Event::File(file) => Some(file_line(file, &at)),
        Event::Search(search) => Some(search_line(search, &at)),
        Event::AgentActivity(activity) => Some(activity_line(activity, &at)),
        Event::Bookmark(_) | Event::Note(_) | Event::Message(_) | Event::Clipboard(_) => None,
    };
    let is_message = matches!(captured.event, Event::Message(_));
    let (mut left, mut tombstone, mut is_gone) = (captured.clone(), None, line.is_some());
    for (field, _, text) in left.event.texts() {
        let goes_whole = match field {
            "url" | "text" | "content" | "query" | "summary" => true,
            "title" => !is_message,
            "note" => false,
            _ => continue,
        };
        let Some(WithoutForgotten { text: kept, tombstone: met }) = of(text) else { continue };
        // An address is no text.
        if kept.is_some() && field == "url" {
            continue;
        }
        tombstone.get_or_insert(met);
        is_gone |= kept.is_none() && goes_whole;
        *text = kept.unwrap_or_default();
    }
    // As it would stand in the file.
    let tombstone = tombstone.or_else(|| Some(of(&line?)?.tombstone))?;
    let says = |text: &mut Option<String>| *text = text.take().filter(|text| !text.is_empty());
    match &mut left.event {
        Event::Message(message) => says(&mut message.title),
        Event::Bookmark(bookmark) => says(&mut bookmark.note),
        _ => {}
    }
    Some(LeftOfEvent { captured: (!is_gone).then_some(left), tombstone })
}
