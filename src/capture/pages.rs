//! Where each event goes, and how it is put there.

use std::collections::HashMap;
use std::fs;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::drafts::{Draft, Drafts};
use super::event::{BookmarkEvent, Captured, ClipboardEvent, Event, EventKind, MessageEvent, NoteEvent};
use super::frontmatter::{front, is_captured, is_of, is_ours, united, urls_of, with_participant};
use super::kept::{Goes, Kept};
use super::markdown::{activity_line, file_line, search_line, turn};
use super::names::Names;
use crate::derive::extraction::EXTRACTION_PROPERTY;
use crate::note::{self, compose, kept_private, title_of, untagged, with_property, written};
use crate::path::VaultPath;
use crate::vault::{WriteError, slug};

/// Maximum number of conversations, and of addresses, whose files are remembered; those forgotten are looked for again.
const MAX_KNOWN: usize = 10_000;
/// Finds notes that are elsewhere than their title says.
pub(crate) type FindNote = Box<dyn Fn(&str) -> Vec<VaultPath> + Send>;

/// Where events go.
pub(super) struct Pages {
    zone: TimeZone,
    sessions: HashMap<String, VaultPath>,
    /// Of bookmarks, by their address; none until they were looked for.
    addresses: Option<HashMap<String, VaultPath>>,
    names: Names,
    find_note: FindNote,
    kept: Kept,
}

impl Pages {
    pub(super) fn new(zone: TimeZone, find_note: FindNote, kept: Kept) -> Self {
        Self { zone, sessions: HashMap::new(), addresses: None, names: Names::default(), find_note, kept }
    }

    /// Looks again next time: a file is not what it was.
    pub(super) fn forget(&mut self, path: &VaultPath) {
        self.sessions.retain(|_, known| known != path);
        self.addresses = None;
        self.names.forget();
    }

    /// Puts an event where it belongs.
    pub(super) fn put(&mut self, drafts: &mut Drafts<'_>, number: u64, captured: &Captured) -> Result<(), WriteError> {
        let at = Timestamp::from_millisecond(captured.at_ms).unwrap_or(Timestamp::UNIX_EPOCH);
        let at = at.to_zoned(self.zone.clone());
        match &captured.event {
            Event::Message(message) => self.message(drafts, number, message, &at),
            Event::File(file) => self.day(drafts, number, EventKind::Files, "Files", file_line(file, &at), &at),
            Event::Search(search) => {
                self.day(drafts, number, EventKind::Searches, "Searches", search_line(search, &at), &at)
            }
            Event::AgentActivity(activity) => {
                self.day(drafts, number, EventKind::AgentActivity, "Agent activity", activity_line(activity, &at), &at)
            }
            Event::Note(note) => self.note(drafts, number, note, &at),
            Event::Bookmark(bookmark) => self.bookmark(drafts, number, bookmark, &at),
            Event::Clipboard(clipboard) => self.clipboard(drafts, number, clipboard, &at),
        }
    }

    /// One line of the file of a day.
    fn day(
        &self,
        drafts: &mut Drafts<'_>,
        number: u64,
        kind: EventKind,
        what: &str,
        line: String,
        at: &Zoned,
    ) -> Result<(), WriteError> {
        let date = at.date();
        let base = format!("{}/{date}", kind.folder());
        let draft = drafts.first(&base, |draft| !draft.is_full())?;
        let (path, is_new) = (draft.path.clone(), !draft.exists());
        let hides = |path: &VaultPath, text: Option<&str>| self.kept.hides(Goes::Day, path, text);
        let private = is_new && (drafts.any(&base, hides)? || self.hides_new(drafts, &path, kind, &base, Goes::Day)?);
        let draft = drafts.first(&base, |draft| !draft.is_full())?;
        if draft.exists() {
            draft.append_item(&line);
        } else {
            let mut front = front(&format!("{what} of {}", at.strftime("%-d %B %Y")), at);
            front.insert("date".into(), date.to_string().into());
            draft.text = compose(&kept_private(front, private), &line);
        }
        draft.note(number, line);
        Ok(())
    }

    /// One turn of the file of a conversation.
    fn message(
        &mut self,
        drafts: &mut Drafts<'_>,
        number: u64,
        message: &MessageEvent,
        at: &Zoned,
    ) -> Result<(), WriteError> {
        let speaker = message.agent.as_ref().unwrap_or(&message.role);
        let is_skipped = message.skip_extraction == Some(true);
        let belongs =
            |draft: &Draft| draft.exists() && !draft.is_full() && is_of(&draft.text, "session", &message.session);
        let before = self.sessions.get(&message.session).cloned();
        let known = match &before {
            Some(path) => drafts.open(path)?.filter(|draft| belongs(draft)).map(|draft| draft.path.clone()),
            None => find_session(drafts, &message.session, &belongs)?,
        };
        let path = match known {
            Some(path) => path,
            None => {
                let base = format!("{}/{}-{}", EventKind::Conversations.folder(), at.date(), slug(&message.session));
                drafts.first(&base, belongs)?.path.clone()
            }
        };
        let exists = drafts.open(&path)?.is_some_and(|draft| draft.exists());
        let private = !exists && self.hides_session(drafts, &path, &message.session, before.as_ref())?;
        let Some(draft) = drafts.open(&path)? else { return Ok(()) };
        let block = if draft.exists() {
            let block = turn(message, at, date_of(&draft.path).unwrap_or_else(|| at.date()));
            draft.append_block(&block);
            if let Some(text) = with_participant(&draft.text, speaker) {
                draft.text = text;
            }
            if is_skipped && let Some(text) = with_property(&draft.text, EXTRACTION_PROPERTY, &false.into()) {
                draft.text = text;
            }
            block
        } else {
            let untitled = || title_of(&message.text, &format!("Conversation {}", message.session));
            let mut front = front(&message.title.as_deref().map_or_else(untitled, one_line), at);
            front.insert("session".into(), message.session.clone().into());
            front.insert("participants".into(), vec![speaker.clone()].into());
            front.insert("tags".into(), vec!["conversation"].into());
            if is_skipped {
                front.insert(EXTRACTION_PROPERTY.into(), false.into());
            }
            let block = turn(message, at, at.date());
            draft.text = compose(&kept_private(front, private), &block);
            block
        };
        draft.note(number, block);
        if self.sessions.len() >= MAX_KNOWN {
            self.sessions.clear();
        }
        self.sessions.insert(message.session.clone(), draft.path.clone());
        Ok(())
    }

    /// Whether the next file of a conversation is to be private: an earlier one is.
    fn hides_session(
        &self,
        drafts: &Drafts<'_>,
        new: &VaultPath,
        session: &str,
        before: Option<&VaultPath>,
    ) -> Result<bool, WriteError> {
        let goes = Goes::Session(session);
        for path in before.into_iter().chain(&session_files(drafts, session)) {
            if drafts.says(path)?.is_some_and(|text| self.kept.hides(goes, path, text.as_deref())) {
                return Ok(true);
            }
        }
        Ok(self.kept.hides_elsewhere(drafts, new, EventKind::Conversations, &slug(session), goes))
    }

    /// A note, known by its title: a new text takes the place of the old one, which is kept. What the person wrote, or keeps
    /// private, is left alone: the new text gets a file of its own, as private as that.
    fn note(&mut self, drafts: &mut Drafts<'_>, number: u64, new: &NoteEvent, at: &Zoned) -> Result<(), WriteError> {
        let title = one_line(&new.title);
        let content = untagged(new.content.trim_end(), 0);
        let tags: Vec<String> = new.tags.iter().map(|tag| tag_of(tag)).filter(|tag| !tag.is_empty()).collect();
        let titles = |draft: &Draft| {
            let note = note::Note::parse(&draft.text, draft.path.stem());
            let may = is_ours(&draft.text, &note) && !self.kept.is_by_place(&draft.path);
            if may { vec![note.title] } else { Vec::new() }
        };
        let mut elsewhere = None;
        for path in (self.find_note)(&title) {
            if drafts.open(&path)?.is_some_and(|draft| draft.exists() && titles(draft).contains(&title)) {
                elsewhere = Some(path);
                break;
            }
        }
        let base = format!("{}/{}", EventKind::Notes.folder(), slug(&title));
        let goes = Goes::Title(&title);
        let (path, passed) = match elsewhere {
            Some(path) => (path, false),
            None => {
                let hides = |path: &VaultPath, text: Option<&str>| self.kept.hides(goes, path, text);
                let (draft, hidden) = drafts.keyed(&mut self.names, &base, &title, titles, hides)?;
                (draft.path.clone(), hidden)
            }
        };
        let private = passed || self.hides_new(drafts, &path, EventKind::Notes, &base, goes)?;
        let Some(draft) = drafts.open(&path)? else { return Ok(()) };
        if draft.exists() {
            let note = note::Note::parse(&draft.text, draft.path.stem());
            let same = draft.text[note.body.clone()].trim() == content.trim();
            let more: Vec<String> = tags.into_iter().filter(|tag| !note.tags.contains(tag)).collect();
            if !same || !more.is_empty() {
                let mut front = note.metadata.clone();
                front.insert("updated".into(), written(at).into());
                if !more.is_empty() {
                    front.insert("tags".into(), united(front.get("tags"), more));
                }
                let text = compose(&front, &content);
                // What the person wrote into the text that goes may hide it.
                let lost = note.tags_missing_in(&note::Note::parse(&text, draft.path.stem()));
                draft.text = if lost.is_empty() {
                    text
                } else {
                    front.insert("tags".into(), united(front.get("tags"), lost));
                    compose(&front, &content)
                };
            }
        } else {
            let mut front = front(&title, at);
            front.insert("tags".into(), tags.into());
            draft.text = compose(&kept_private(front, private), &content);
        }
        draft.note(number, content.trim().to_owned());
        Ok(())
    }

    /// A page, known by its address: a new title takes the place of the old one, a new remark comes below the others.
    /// Where the person has a bookmark of it, that is left alone, and says it already.
    fn bookmark(
        &mut self,
        drafts: &mut Drafts<'_>,
        number: u64,
        new: &BookmarkEvent,
        at: &Zoned,
    ) -> Result<(), WriteError> {
        let title = one_line(&new.title);
        let remark = new.note.as_ref().map(|note| note.trim().to_owned());
        let urls = |draft: &Draft| urls_of(&draft.text);
        let before = self.addresses.get_or_insert_with(|| addresses(drafts)).get(&new.url).cloned();
        let mut known = None;
        let mut hidden = false;
        let goes = Goes::Url(&new.url);
        if let Some(path) = before {
            known = drafts.open(&path)?.filter(|draft| urls(draft).contains(&new.url)).map(|draft| draft.path.clone());
            if known.is_none() {
                hidden = drafts.says(&path)?.is_some_and(|text| self.kept.hides(goes, &path, text.as_deref()));
                // The person may have moved it.
                let addresses = self.addresses.insert(addresses(drafts));
                known = addresses.get(&new.url).cloned();
            }
        }
        let base = format!("{}/{}", EventKind::Bookmarks.folder(), slug(&title));
        let path = match known {
            Some(path) => path,
            None => {
                let hides = |path: &VaultPath, text: Option<&str>| self.kept.hides(goes, path, text);
                let (draft, passed) = drafts.keyed(&mut self.names, &base, &new.url, urls, hides)?;
                hidden |= passed;
                draft.path.clone()
            }
        };
        let private = hidden || self.hides_new(drafts, &path, EventKind::Bookmarks, &base, goes)?;
        let Some(draft) = drafts.open(&path)? else { return Ok(()) };
        let mut added = remark.clone();
        if draft.exists() && is_captured(&draft.text) {
            let note = note::Note::parse(&draft.text, draft.path.stem());
            let body = draft.text[note.body.clone()].trim().to_owned();
            let with = remark.as_ref().map(|remark| untagged(&format!("{body}\n\n{remark}"), body.len()));
            added = with.as_ref().map(|with| with[body.len()..].trim().to_owned());
            let remarked = added.as_ref().is_none_or(|remark| body.contains(remark.as_str()));
            if note.title != title || !remarked {
                let mut front = note.metadata.clone();
                front.insert("title".into(), title.clone().into());
                front.insert("updated".into(), written(at).into());
                draft.text = compose(&front, &with.filter(|_| !remarked).unwrap_or(body));
            }
        } else if !draft.exists() {
            let mut front = front(&title, at);
            front.insert("url".into(), new.url.clone().into());
            let link = format!("<{}>", new.url);
            let body = untagged(&format!("{link}\n\n{}", remark.as_deref().unwrap_or_default()), link.len());
            added = remark.map(|_| body[link.len()..].trim().to_owned());
            draft.text = compose(&kept_private(front, private), &body);
        }
        draft.note(number, added.unwrap_or_else(|| new.url.clone()));
        let known = self.addresses.get_or_insert_default();
        if known.len() < MAX_KNOWN {
            known.insert(new.url.clone(), draft.path.clone());
        }
        Ok(())
    }

    /// A file for what was put on the clipboard; the same again is recognised.
    fn clipboard(
        &mut self,
        drafts: &mut Drafts<'_>,
        number: u64,
        new: &ClipboardEvent,
        at: &Zoned,
    ) -> Result<(), WriteError> {
        let title = title_of(&new.content, "Snippet");
        let content = untagged(new.content.trim_end(), 0);
        let body = |draft: &Draft| {
            let note = note::Note::parse(&draft.text, draft.path.stem());
            vec![untagged(draft.text[note.body].trim(), 0)]
        };
        let base = format!("{}/{}", EventKind::Snippets.folder(), slug(&title));
        let goes = Goes::Content(content.trim());
        let hides = |path: &VaultPath, text: Option<&str>| self.kept.hides(goes, path, text);
        let (draft, passed) = drafts.keyed(&mut self.names, &base, content.trim(), body, hides)?;
        let path = draft.path.clone();
        let private = passed || self.hides_new(drafts, &path, EventKind::Snippets, &base, goes)?;
        let Some(draft) = drafts.open(&path)? else { return Ok(()) };
        if !draft.exists() {
            let mut front = front(&title, at);
            if let Some(app) = &new.app {
                front.insert("app".into(), app.clone().into());
            }
            draft.text = compose(&kept_private(front, private), &content);
        }
        draft.note(number, content.trim().to_owned());
        Ok(())
    }

    /// Whether a file that is not there yet is to be private, because one that was moved elsewhere is.
    fn hides_new(
        &self,
        drafts: &mut Drafts<'_>,
        path: &VaultPath,
        kind: EventKind,
        base: &str,
        goes: Goes<'_>,
    ) -> Result<bool, WriteError> {
        let exists = drafts.open(path)?.is_some_and(|draft| draft.exists());
        let stem = base.rsplit('/').next().unwrap_or(base);
        Ok(!exists && self.kept.hides_elsewhere(drafts, path, kind, stem, goes))
    }
}

/// The day in the name of a conversation's file.
fn date_of(path: &VaultPath) -> Option<Date> {
    path.stem().get(..10)?.parse().ok()
}

/// A title as it is read again from frontmatter.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A tag without what no tag has.
fn tag_of(text: &str) -> String {
    text.trim_start_matches('#').split_whitespace().collect::<Vec<_>>().join("-")
}

/// The last file of a conversation that began on whatever day.
fn find_session(
    drafts: &mut Drafts<'_>,
    session: &str,
    belongs: &impl Fn(&Draft) -> bool,
) -> Result<Option<VaultPath>, WriteError> {
    for path in session_files(drafts, session) {
        if drafts.open(&path)?.is_some_and(|draft| belongs(draft)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The files that have the name of a conversation, the last first.
fn session_files(drafts: &Drafts<'_>, session: &str) -> Vec<VaultPath> {
    let folder = EventKind::Conversations.folder();
    let names = drafts.sessions(folder).with(&slug(session));
    names.iter().filter_map(|name| VaultPath::new(format!("{folder}/{name}")).ok()).collect()
}

/// The addresses of the bookmarks there are.
fn addresses(drafts: &Drafts<'_>) -> HashMap<String, VaultPath> {
    let folder = EventKind::Bookmarks.folder();
    let entries = fs::read_dir(drafts.root.join(folder)).into_iter().flatten().flatten();
    let read = entries.filter_map(|entry| {
        let path = VaultPath::new(format!("{folder}/{}", entry.file_name().to_str()?)).ok()?;
        let (bytes, _) = drafts.files.read(&path).ok()??;
        let text = std::str::from_utf8(&bytes).ok()?;
        Some((is_captured(text), urls_of(text).into_iter().find(|url| url.contains(':'))?, path))
    });
    let mut read: Vec<_> = read.take(MAX_KNOWN).collect();
    // Of several of one address the last counts: one that can be added to, where there is one.
    read.sort_unstable();
    read.into_iter().map(|(_, url, path)| (url, path)).collect()
}
