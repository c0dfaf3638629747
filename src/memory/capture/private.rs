//! What the person has made private stays so when its sender goes on: which new files are to be private from the start. What they forgot for
//! good is left out, and its sender hears nothing of that.
//!
//! A file that goes on with another inherits its privacy. That holds above all where the other cannot be gone on with: a private
//! note is never written over, and of one whose frontmatter is broken nobody knows whose it is.
//!
//! Whoever sends events and reads as an agent, too, sees which of its files are private. So a text is held against a private one
//! as a whole, never against a part of it: else it could be guessed letter by letter.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::drafts::Drafts;
use super::event::{Captured, Event};
use super::pages::{SOURCE, activity_line, file_line, head, search_line, urls_of};
use crate::access::rules::Scope;
use crate::base::path::VaultPath;
use crate::index::sync::Shared;
use crate::text::note::{Note, compose, untagged};
use crate::vault::disk::{Globs, is_numbered};
use crate::vault::forgotten::{ForgottenLookup, WithoutForgotten};

/// Maximum number of lines in which the frontmatter of a captured file says of what session it is.
const HEAD_LINES: usize = 100;

/// Knows what is private.
pub(super) struct PrivacyCarryover {
    /// What the index knows of it.
    pub(super) shared: Arc<Shared>,
    /// Notes that are private whatever they say themselves.
    pub(super) globs: Globs,
}

/// What a new file goes on with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Destination<'a> {
    /// The files of a day.
    Day,
    /// A conversation.
    Session(&'a str),
    /// A note of a title.
    Title(&'a str),
    /// A page.
    Url(&'a str),
    /// What was on the clipboard.
    Content(&'a str),
}

impl PrivacyCarryover {
    /// Whether a file is private by its place.
    pub(super) fn is_by_place(&self, path: &VaultPath) -> bool {
        self.globs.is_match(path.as_str())
    }

    /// Whether a file with this text (none, where it is no text) hides what goes on with it. In doubt it does.
    pub(super) fn hides(&self, goes: Destination<'_>, path: &VaultPath, text: Option<&str>) -> bool {
        let Some(text) = text else { return true };
        goes.is_with(text) && (self.is_by_place(path) || Note::parse(text, path.stem()).is_private())
    }

    /// Whether the index knows of a private note elsewhere that hides what goes on with it in a new file: the person may have moved
    /// or renamed it. `stem` is the name of the files without number and date.
    pub(super) fn hides_elsewhere(
        &self,
        drafts: &Drafts<'_>,
        new: &VaultPath,
        stem: &str,
        goes: Destination<'_>,
    ) -> bool {
        if self.is_by_place(new) {
            return false;
        }
        let is_named = |path: &VaultPath| {
            let name = if matches!(goes, Destination::Session(_)) { path.stem().get(11..) } else { Some(path.stem()) };
            name.is_some_and(|name| is_numbered(name, stem))
        };
        let Some(snapshot) = self.shared.snapshot() else { return false };
        let files = snapshot.files();
        files.facets().private().iter().filter_map(|id| files.get(id)).any(|file| {
            let path = &file.path;
            let is_here = path.collection() == new.collection();
            let reads = || match drafts.says(path) {
                Ok(text) => text.is_some_and(|text| self.hides(goes, path, text.as_deref())),
                Err(_) => false,
            };
            match goes {
                Destination::Day => is_here && is_named(path),
                // What the person wrote themselves is not gone on with.
                Destination::Title(wanted) => file.title == wanted && heads(drafts, path, "source", SOURCE),
                // Of one whose frontmatter is broken nobody knows by its text alone whose it is.
                Destination::Session(session) => {
                    (is_named(path) && (is_here || heads(drafts, path, "source", SOURCE)))
                        || (is_here && heads(drafts, path, "session", session))
                }
                Destination::Url(_) | Destination::Content(_) => is_here && reads(),
            }
        })
    }
}

impl Destination<'_> {
    /// Whether a file of this text is one that it goes on with, or may be: where its frontmatter says nothing of that.
    fn is_with(self, text: &str) -> bool {
        let note = head(text);
        match self {
            Self::Day => true,
            Self::Session(session) => match note.metadata.get("session").and_then(Value::as_str) {
                Some(named) => named == session,
                None => true,
            },
            // A title of its own, and not one of the file's name.
            Self::Title(title) => match note.metadata.get("title").and_then(Value::as_str) {
                Some(named) => named == title || !note.problems.is_empty(),
                None => true,
            },
            Self::Url(url) => match urls_of(text) {
                unknown if unknown.is_empty() => has_line(text, "url", url) || has_link(text, url),
                known => known.iter().any(|known| known == url),
            },
            Self::Content(content) => snippet(text) == content,
        }
    }
}

/// Whether a file says something of itself, if only in a line of frontmatter that cannot be read.
fn heads(drafts: &Drafts<'_>, path: &VaultPath, key: &str, value: &str) -> bool {
    matches!(drafts.says(path), Ok(Some(Some(text))) if has_line(&text, key, value))
}

fn has_line(text: &str, key: &str, value: &str) -> bool {
    let field = Map::from_iter([(key.to_owned(), Value::from(value))]);
    let line = compose(&field, "");
    let line = line.lines().nth(1).unwrap_or_default();
    text.lines().take(HEAD_LINES).any(|found| found == line)
}

/// Whether a line is the link to a page, as captured bookmarks have it.
fn has_link(text: &str, url: &str) -> bool {
    text.lines().any(|line| line.trim().strip_prefix('<').and_then(|line| line.strip_suffix('>')) == Some(url))
}

/// What a file has of what was on the clipboard: its text, but for lines of nothing but tags, which the person put there to hide it.
fn snippet(text: &str) -> String {
    let body = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((_, body)) => body,
        None => &text[Note::parse(text, "").body],
    };
    let is_tag = |word: &str| word.starts_with('#') && word.contains(|c| c != '#');
    let says = |line: &&str| line.trim().is_empty() || !line.split_whitespace().all(is_tag);
    let lines: Vec<&str> = body.lines().filter(says).collect();
    untagged(lines.join("\n").trim(), 0)
}

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
    let of = |text: &str| asked.without(text, &Scope::Everything);
    let at = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let line = match &captured.event {
        Event::File(file) => Some(file_line(file, &at)),
        Event::Search(search) => Some(search_line(search, &at)),
        Event::AgentActivity(activity) => Some(activity_line(activity, &at)),
        Event::Bookmark(_) | Event::Note(_) | Event::Message(_) | Event::Clipboard(_) => None,
    };
    let is_message = matches!(captured.event, Event::Message(_));
    let (mut left, mut tombstone, mut is_gone) = (captured.clone(), None, line.is_some());
    left.event.change_texts(|field, text| {
        let goes_whole = match field {
            "url" | "text" | "content" | "query" | "summary" => true,
            "title" => !is_message,
            "note" => false,
            _ => return,
        };
        let Some(WithoutForgotten { text: kept, tombstone: met }) = of(text) else { return };
        // An address is no text.
        if kept.is_some() && field == "url" {
            return;
        }
        tombstone.get_or_insert(met);
        is_gone |= kept.is_none() && goes_whole;
        *text = kept.unwrap_or_default();
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_hides_what_is_the_same_and_nothing_that_it_begins_with() {
        let of_head = |head: &str| format!("---\n{head}private: true\nsource: capture\n---\n\nThe code is 4711\n");
        let with_tag = "The code is 4711\n\n#private #mine\n".to_owned();
        for text in [of_head(""), of_head("broken: [\n"), with_tag] {
            assert!(Destination::Content("The code is 4711").is_with(&text), "{text}");
            for guess in ["The code is 4", "4711", "The code is 4711\n\nprivate", "T", ""] {
                assert!(!Destination::Content(guess).is_with(&text), "{guess:?} in {text}");
            }
        }
        let page = "#private\n\n<https://a.example/reset?key=4711>\n";
        let broken = "---\nbroken: [\nurl: https://a.example/reset?key=4711\n---\n\nMine\n";
        for text in [page, broken] {
            assert!(Destination::Url("https://a.example/reset?key=4711").is_with(text), "{text}");
            for guess in ["https://a.example/", "https://a.example/reset?key=4", "https://a.example/reset?key=47111"] {
                assert!(!Destination::Url(guess).is_with(text), "{guess} in {text}");
            }
        }
    }
}
