//! What the person has made private stays so when its sender goes on: which new files are to be private from the start.
//!
//! A file that goes on with another inherits its privacy. That holds above all where the other cannot be gone on with: a private
//! note is never written over, and of one whose frontmatter is broken nobody knows whose it is.

use serde_json::{Map, Value};

use super::drafts::Drafts;
use super::event::EventKind;
use super::frontmatter::{head, urls_of};
use super::names::is_number;
use crate::note::{Note, compose, untagged};
use crate::path::VaultPath;
use crate::vault::Globs;

/// Maximum number of lines in which the frontmatter of a captured file says of what session it is.
const HEAD_LINES: usize = 100;

/// Calls back with the path and the title of each private note, until one is what is looked for; says whether one was.
pub(crate) type FindPrivate = Box<dyn Fn(&mut dyn FnMut(&VaultPath, &str) -> bool) -> bool + Send>;

/// Knows what is private.
pub(super) struct Kept {
    /// Of the index.
    find: FindPrivate,
    /// Notes that are private whatever they say themselves.
    globs: Globs,
}

/// What a new file goes on with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goes<'a> {
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

impl Kept {
    pub(super) fn new(find: FindPrivate, globs: Globs) -> Self {
        Self { find, globs }
    }

    /// Whether a file is private by its place.
    pub(super) fn is_by_place(&self, path: &VaultPath) -> bool {
        self.globs.is_match(path.as_str())
    }

    /// Whether a file with this text (none, where it is no text) hides what goes on with it. In doubt it does.
    pub(super) fn hides(&self, goes: Goes<'_>, path: &VaultPath, text: Option<&str>) -> bool {
        let Some(text) = text else { return true };
        goes.is_with(text) && (self.is_by_place(path) || Note::parse(text, path.stem()).is_private())
    }

    /// Whether the index knows of a private note elsewhere that hides what goes on with it in a new file: the person may have moved
    /// or renamed it. `stem` is the name of the files without number and date.
    pub(super) fn hides_elsewhere(
        &self,
        drafts: &Drafts<'_>,
        new: &VaultPath,
        kind: EventKind,
        stem: &str,
        goes: Goes<'_>,
    ) -> bool {
        if self.is_by_place(new) {
            return false;
        }
        let is_named = |path: &VaultPath| {
            let name = if matches!(goes, Goes::Session(_)) { path.stem().get(11..) } else { Some(path.stem()) };
            let rest = name.and_then(|name| name.strip_prefix(stem));
            rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
        };
        (self.find)(&mut |path, title| {
            let is_here = path.collection() == kind.folder();
            let reads = || match drafts.says(path) {
                Ok(text) => text.is_some_and(|text| self.hides(goes, path, text.as_deref())),
                Err(_) => false,
            };
            match goes {
                Goes::Day => is_here && is_named(path),
                Goes::Title(wanted) => title == wanted,
                // Of one whose frontmatter is broken nobody knows by its text alone whose it is.
                Goes::Session(session) => is_named(path) || (is_here && names_session(drafts, path, session)),
                Goes::Url(_) | Goes::Content(_) => is_here && reads(),
            }
        })
    }
}

impl Goes<'_> {
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
                unknown if unknown.is_empty() => text.contains(url),
                known => known.iter().any(|known| known == url),
            },
            Self::Content(content) => untagged(text, 0).contains(content),
        }
    }
}

/// Whether a file says that it is of a session, if only in a line of frontmatter that cannot be read.
fn names_session(drafts: &Drafts<'_>, path: &VaultPath, session: &str) -> bool {
    let Ok(Some(Some(text))) = drafts.says(path) else { return false };
    let field = Map::from_iter([("session".to_owned(), Value::from(session))]);
    let line = compose(&field, "");
    let line = line.lines().nth(1).unwrap_or_default();
    text.lines().take(HEAD_LINES).any(|found| found == line)
}
