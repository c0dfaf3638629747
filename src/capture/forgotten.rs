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
    let whole = |text: &str| of(text).filter(|left| left.text.is_none()).map(|left| left.tombstone);
    let gone = |tombstone: i64| LeftOfEvent { captured: None, tombstone };
    let at = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let mut left = captured.clone();
    let text = match &mut left.event {
        Event::File(file) => return of(&file_line(file, &at)).map(|line| gone(line.tombstone)),
        Event::Search(search) => return line(asked, &search.query, &search_line(search, &at)).map(gone),
        Event::AgentActivity(activity) => {
            return line(asked, &activity.summary, &activity_line(activity, &at)).map(gone);
        }
        Event::Bookmark(bookmark) => {
            if let Some(tombstone) = whole(&bookmark.url).or_else(|| whole(&bookmark.title)) {
                return Some(gone(tombstone));
            }
            let (title, remark) = (of(&bookmark.title), bookmark.note.as_deref().and_then(of));
            let tombstone = title.as_ref().or(remark.as_ref())?.tombstone;
            bookmark.title = title.and_then(|title| title.text).unwrap_or_else(|| bookmark.title.clone());
            bookmark.note = remark.map_or_else(|| bookmark.note.clone(), |remark| remark.text);
            return Some(LeftOfEvent { tombstone, captured: Some(left) });
        }
        Event::Note(note) => {
            if let Some(tombstone) = whole(&note.title) {
                return Some(gone(tombstone));
            }
            // A sentence of a title is cut out of it.
            let title = of(&note.title);
            note.title = title.as_ref().and_then(|title| title.text.clone()).unwrap_or_else(|| note.title.clone());
            if let (Some(title), None) = (title, of(&note.content)) {
                return Some(LeftOfEvent { tombstone: title.tombstone, captured: Some(left) });
            }
            &mut note.content
        }
        Event::Message(message) => {
            if let Some(title) = message.title.as_deref().and_then(of) {
                message.title = title.text;
                if of(&message.text).is_none() {
                    return Some(LeftOfEvent { tombstone: title.tombstone, captured: Some(left) });
                }
            }
            &mut message.text
        }
        Event::Clipboard(clipboard) => &mut clipboard.content,
    };
    let WithoutForgotten { text: kept, tombstone } = of(text)?;
    let Some(kept) = kept else { return Some(gone(tombstone)) };
    *text = kept;
    Some(LeftOfEvent { captured: Some(left), tombstone })
}

/// Of a line of a day: what was said, or the line as it would stand in the file.
fn line(asked: &ForgottenLookup<'_>, said: &str, line: &str) -> Option<i64> {
    let of = |text: &str| asked.without(text, TombstoneScope::All).map(|left| left.tombstone);
    of(said).or_else(|| of(line))
}
