//! Where each event goes, and how it is put there.

use std::collections::HashMap;
use std::fs;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use super::drafts::{Draft, Drafts, Names};
use super::event::{
    AgentActivityEvent, BOOKMARKS, BookmarkEvent, CONVERSATIONS, Captured, ClipboardEvent, Event, FileEvent,
    MessageEvent, NOTES, NoteEvent, SearchEvent,
};
use super::private::{Destination, PrivacyCarryover};
use crate::base::path::VaultPath;
use crate::text::derive::extraction::EXTRACTION_PROPERTY;
use crate::text::note::{
    self, INHERITED, PRIVATE, Visibility, compose, guarded, kept_private, title_of, turn_block, untagged,
    with_property, written,
};
use crate::vault::disk::{WriteError, slug};

/// Maximum number of conversations, and of addresses, whose files are remembered; those forgotten are looked for again.
const MAX_KNOWN: usize = 10_000;

/// The file that an event was put into, and its text there; `None` where that is no text, so that the event waits.
type Added = Option<(VaultPath, String)>;

/// Where events go.
pub(super) struct Pages {
    zone: TimeZone,
    sessions: HashMap<String, VaultPath>,
    /// Of bookmarks, by their address; none until they were looked for.
    addresses: Option<HashMap<String, VaultPath>>,
    names: Names,
    kept: PrivacyCarryover,
}

impl Pages {
    pub(super) fn new(zone: TimeZone, kept: PrivacyCarryover) -> Self {
        Self { zone, sessions: HashMap::new(), addresses: None, names: Names::new(), kept }
    }

    /// Looks again next time: a file is not what it was.
    pub(super) fn forget(&mut self, path: &VaultPath) {
        self.sessions.retain(|_, known| known != path);
        self.addresses = None;
        self.names.clear();
    }

    /// Puts an event where it belongs.
    pub(super) fn put(&mut self, drafts: &mut Drafts<'_>, number: u64, captured: &Captured) -> Result<(), WriteError> {
        let at = Timestamp::from_millisecond(captured.at_ms).unwrap_or(Timestamp::UNIX_EPOCH);
        let at = at.to_zoned(self.zone.clone());
        let folder = captured.event.folder();
        let added = match &captured.event {
            Event::Message(message) => self.message(drafts, message, &at)?,
            Event::File(file) => self.day(drafts, (folder, "Files"), file_line(file, &at), &at)?,
            Event::Search(search) => self.day(drafts, (folder, "Searches"), search_line(search, &at), &at)?,
            Event::AgentActivity(activity) => {
                self.day(drafts, (folder, "Agent activity"), activity_line(activity, &at), &at)?
            }
            Event::Note(note) => self.note(drafts, note, &at)?,
            Event::Bookmark(bookmark) => self.bookmark(drafts, bookmark, &at)?,
            Event::Clipboard(clipboard) => self.clipboard(drafts, clipboard, &at)?,
        };
        if let Some((path, text)) = added
            && let Some(draft) = drafts.open(&path)?
        {
            draft.note(number, text, captured.by());
        }
        Ok(())
    }

    /// One line of the file of a day.
    fn day(
        &self,
        drafts: &mut Drafts<'_>,
        (folder, what): (&str, &str),
        line: String,
        at: &Zoned,
    ) -> Result<Added, WriteError> {
        let date = at.date();
        let base = format!("{folder}/{date}");
        let path = drafts.first(&base, |draft| !draft.is_full())?;
        let is_new = drafts.open(&path)?.is_some_and(|draft| !draft.exists());
        let hides = |path: &VaultPath, text: Option<&str>| self.kept.hides(Destination::Day, path, text);
        let hides_elsewhere = || self.kept.hides_elsewhere(drafts, &path, &date.to_string(), Destination::Day);
        let private = is_new && (drafts.any(&base, hides)? || hides_elsewhere());
        let Some(draft) = drafts.open(&path)? else { return Ok(None) };
        if draft.exists() {
            draft.append_item(&line);
        } else {
            let mut front = front(&format!("{what} of {}", at.strftime("%-d %B %Y")), at);
            front.insert("date".into(), date.to_string().into());
            draft.text = compose(&kept_private(front, private), &line);
        }
        Ok(Some((path, line)))
    }

    /// One turn of the file of a conversation.
    fn message(&mut self, drafts: &mut Drafts<'_>, message: &MessageEvent, at: &Zoned) -> Result<Added, WriteError> {
        let speaker = message.agent.as_ref().unwrap_or(&message.role);
        let is_skipped = message.skip_extraction == Some(true);
        let belongs =
            |draft: &Draft| draft.exists() && !draft.is_full() && is_of(&draft.text, "session", &message.session);
        let before = self.sessions.get(&message.session).cloned();
        // Of one that began on whatever day the last file.
        let files = match &before {
            Some(path) => vec![path.clone()],
            None => drafts.conversations(&slug(&message.session)),
        };
        let mut known = None;
        for path in files {
            if known.is_none() && drafts.open(&path)?.is_some_and(|draft| belongs(draft)) {
                known = Some(path);
            }
        }
        let path = match known {
            Some(path) => path,
            None => {
                let base = format!("{}/{}-{}", CONVERSATIONS, at.date(), slug(&message.session));
                drafts.first(&base, belongs)?
            }
        };
        let exists = drafts.open(&path)?.is_some_and(|draft| draft.exists());
        let private = !exists && self.hides_session(drafts, &path, &message.session, before.as_ref())?;
        let Some(draft) = drafts.open(&path)? else { return Ok(None) };
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
        if self.sessions.len() >= MAX_KNOWN {
            self.sessions.clear();
        }
        self.sessions.insert(message.session.clone(), path.clone());
        Ok(Some((path, block)))
    }

    /// Whether the next file of a conversation is to be private: an earlier one is.
    fn hides_session(
        &self,
        drafts: &Drafts<'_>,
        new: &VaultPath,
        session: &str,
        before: Option<&VaultPath>,
    ) -> Result<bool, WriteError> {
        let goes = Destination::Session(session);
        for path in before.into_iter().chain(&drafts.conversations(&slug(session))) {
            if drafts.says(path)?.is_some_and(|text| self.kept.hides(goes, path, text.as_deref())) {
                return Ok(true);
            }
        }
        Ok(self.kept.hides_elsewhere(drafts, new, &slug(session), goes))
    }

    /// A note, known by its title: a new text takes the place of the old one, which is kept. What the person wrote, or keeps
    /// private, is left alone: the new text gets a file of its own, as private as that.
    fn note(&mut self, drafts: &mut Drafts<'_>, new: &NoteEvent, at: &Zoned) -> Result<Added, WriteError> {
        let title = one_line(&new.title);
        let content = untagged(new.content.trim_end(), 0);
        let tags: Vec<String> = new.tags.iter().map(|tag| tag_of(tag)).filter(|tag| !tag.is_empty()).collect();
        let titles = |kept: &PrivacyCarryover, draft: &Draft| {
            let note = note::Note::parse(&draft.text, draft.path.stem());
            let may = is_ours(&draft.text, &note) && !kept.is_by_place(&draft.path);
            if may { vec![note.title] } else { Vec::new() }
        };
        let mut elsewhere = None;
        // It may be elsewhere than its title says.
        let snapshot = self.kept.shared.snapshot();
        let notes = snapshot.iter().flat_map(|snapshot| snapshot.files().iter());
        let notes = notes.filter(|file| file.path.collection() == NOTES && file.title == title);
        for path in notes.map(|file| file.path.clone()) {
            if drafts.open(&path)?.is_some_and(|draft| draft.exists() && titles(&self.kept, draft).contains(&title)) {
                elsewhere = Some(path);
                break;
            }
        }
        let (path, private) = match elsewhere {
            Some(path) => (path, false),
            None => self.keyed(drafts, (NOTES, &title), &title, titles, Destination::Title(&title))?,
        };
        let Some(draft) = drafts.open(&path)? else { return Ok(None) };
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
        Ok(Some((path, content.trim().to_owned())))
    }

    /// A page, known by its address: a new title takes the place of the old one, a new remark comes below the others.
    /// Where the person has a bookmark of it, that is left alone, and says it already.
    fn bookmark(&mut self, drafts: &mut Drafts<'_>, new: &BookmarkEvent, at: &Zoned) -> Result<Added, WriteError> {
        let title = one_line(&new.title);
        let remark = new.note.as_ref().map(|note| note.trim().to_owned());
        let urls = |_: &PrivacyCarryover, draft: &Draft| urls_of(&draft.text);
        let before = self.addresses.get_or_insert_with(|| addresses(drafts)).get(&new.url).cloned();
        let mut known = None;
        let mut hidden = false;
        let goes = Destination::Url(&new.url);
        if let Some(path) = before {
            known = drafts
                .open(&path)?
                .filter(|draft| urls_of(&draft.text).contains(&new.url))
                .map(|draft| draft.path.clone());
            if known.is_none() {
                hidden = drafts.says(&path)?.is_some_and(|text| self.kept.hides(goes, &path, text.as_deref()));
                // The person may have moved it.
                let addresses = self.addresses.insert(addresses(drafts));
                known = addresses.get(&new.url).cloned();
            }
        }
        let (path, passed) = match known {
            Some(path) => (path, false),
            None => self.keyed(drafts, (BOOKMARKS, &title), &new.url, urls, goes)?,
        };
        let private = hidden || passed;
        let Some(draft) = drafts.open(&path)? else { return Ok(None) };
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
        let known = self.addresses.get_or_insert_default();
        if known.len() < MAX_KNOWN {
            known.insert(new.url.clone(), path.clone());
        }
        Ok(Some((path, added.unwrap_or_else(|| new.url.clone()))))
    }

    /// A file for what was put on the clipboard; the same again is recognised.
    fn clipboard(&mut self, drafts: &mut Drafts<'_>, new: &ClipboardEvent, at: &Zoned) -> Result<Added, WriteError> {
        let title = title_of(&new.content, "Snippet");
        let content = untagged(new.content.trim_end(), 0);
        let body = |_: &PrivacyCarryover, draft: &Draft| {
            let note = note::Note::parse(&draft.text, draft.path.stem());
            vec![untagged(draft.text[note.body].trim(), 0)]
        };
        let key = content.trim();
        let (path, private) = self.keyed(drafts, ("snippets", &title), key, body, Destination::Content(key))?;
        let Some(draft) = drafts.open(&path)? else { return Ok(None) };
        if !draft.exists() {
            let mut front = front(&title, at);
            if let Some(app) = &new.app {
                front.insert("app".into(), app.clone().into());
            }
            draft.text = compose(&kept_private(front, private), &content);
        }
        Ok(Some((path, key.to_owned())))
    }

    /// The file of a folder that has a key, or a new one called so; and whether that is to be private, because one that is passed by, or was moved
    /// elsewhere, is.
    fn keyed(
        &mut self,
        drafts: &mut Drafts<'_>,
        (folder, title): (&str, &str),
        key: &str,
        keys_of: impl Fn(&PrivacyCarryover, &Draft) -> Vec<String>,
        goes: Destination<'_>,
    ) -> Result<(VaultPath, bool), WriteError> {
        let base = format!("{folder}/{}", slug(title));
        let Self { names, kept, .. } = self;
        let hides = |path: &VaultPath, text: Option<&str>| kept.hides(goes, path, text);
        let (path, passed) = drafts.keyed(names, &base, key, |draft| keys_of(kept, draft), hides)?;
        let exists = drafts.open(&path)?.is_some_and(|draft| draft.exists());
        // One that was moved elsewhere hides a new one, too.
        let private = passed || (!exists && kept.hides_elsewhere(drafts, &path, &slug(title), goes));
        Ok((path, private))
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

/// The addresses of the bookmarks there are.
fn addresses(drafts: &Drafts<'_>) -> HashMap<String, VaultPath> {
    let entries = fs::read_dir(drafts.root.join(BOOKMARKS)).into_iter().flatten().flatten();
    let read = entries.filter_map(|entry| {
        let path = VaultPath::new(format!("{BOOKMARKS}/{}", entry.file_name().to_str()?)).ok()?;
        let (bytes, _) = drafts.files.read(&path).ok()??;
        let text = std::str::from_utf8(&bytes).ok()?;
        Some((is_captured(text), urls_of(text).into_iter().find(|url| url.contains(':'))?, path))
    });
    let mut read: Vec<_> = read.take(MAX_KNOWN).collect();
    // Of several of one address the last counts: one that can be added to, where there is one.
    read.sort_unstable();
    read.into_iter().map(|(_, url, path)| (url, path)).collect()
}

/// What captured files say of where they come from.
pub(super) const SOURCE: &str = "capture";
/// Maximum number that is listed; each one more rewrites the file's head.
const MAX_PARTICIPANTS: usize = 50;

/// The frontmatter that every captured file begins with.
fn front(title: &str, at: &Zoned) -> Map<String, Value> {
    let mut front = Map::new();
    front.insert("title".into(), title.into());
    front.insert("created".into(), written(at).into());
    front.insert("source".into(), SOURCE.into());
    front
}

/// The note that the frontmatter alone makes: reading the rest of a long conversation for it would take its time.
pub(super) fn head(text: &str) -> note::Note {
    let end = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n")).map_or(text.len(), |at| at + 9);
    note::Note::parse(&text[..end.min(text.len())], "")
}

/// Whether the frontmatter has this text under this key.
fn is_of(text: &str, key: &str, value: &str) -> bool {
    head(text).metadata.get(key).and_then(Value::as_str) == Some(value)
}

/// Whether a file was made by an event.
pub(super) fn is_captured(text: &str) -> bool {
    is_of(text, "source", SOURCE)
}

/// Whether a note may be written over: made by an event or `save`, not private but by inheritance, and read without a doubt.
fn is_ours(text: &str, note: &note::Note) -> bool {
    let source = note.metadata.get("source").and_then(Value::as_str);
    source.is_some_and(|source| source == SOURCE || source == "save")
        && note.problems.is_empty()
        && (note.visibility == Visibility::Public || only_inherits(text, note))
}

/// Whether a note would not be private if it did not say that it inherits that.
fn only_inherits(text: &str, note: &note::Note) -> bool {
    let mut front = note.metadata.clone();
    front.shift_remove(PRIVATE).is_some_and(|value| value == INHERITED)
        && !note::Note::parse(&compose(&front, &text[note.body.clone()]), "").is_private()
}

/// The addresses in the frontmatter; none, where a change of it could lose what cannot be read.
pub(super) fn urls_of(text: &str) -> Vec<String> {
    let note = head(text);
    if !note.problems.is_empty() {
        return Vec::new();
    }
    ["url", "source"].iter().filter_map(|key| Some(note.metadata.get(*key)?.as_str()?.to_owned())).collect()
}

/// The tags of a frontmatter with more behind them.
fn united(tags: Option<&Value>, more: Vec<String>) -> Value {
    let mut all: Vec<Value> = match tags {
        Some(Value::Array(tags)) => tags.clone(),
        Some(Value::String(tags)) => tags.split([',', ' ']).filter(|tag| !tag.is_empty()).map(Value::from).collect(),
        _ => Vec::new(),
    };
    all.extend(more.into_iter().map(Value::from));
    all.into()
}

/// The text with one more name in the list of its participants; `None` when it has it, or no list that can be added to.
fn with_participant(text: &str, name: &str) -> Option<String> {
    let mut names = head(text).metadata.get("participants")?.as_array()?.clone();
    if names.len() >= MAX_PARTICIPANTS || names.iter().any(|known| known.as_str() == Some(name)) {
        return None;
    }
    names.push(name.into());
    with_property(text, "participants", &names.into())
}

/// A turn: `**18:32 · Maya:** text`.
fn turn(message: &MessageEvent, at: &Zoned, file_date: Date) -> String {
    turn_block(message.agent.as_ref().unwrap_or(&message.role), &message.text, at, file_date)
}

/// A line of a list: `- 09:12 · edited · …`.
pub(super) fn file_line(file: &FileEvent, at: &Zoned) -> String {
    let name = file.name.as_deref().filter(|name| file.path.rsplit(['/', '\\']).next() != Some(name));
    let parts = [
        Some(plain_line(&file.action)),
        Some(code(&file.path)),
        name.map(one_line),
        file.file_type.as_deref().map(one_line),
        file.app.as_deref().map(one_line),
    ];
    line(at, parts)
}

/// A line of a list: `- 08:41 · web · "dough rise time" · 12 found`.
pub(super) fn search_line(search: &SearchEvent, at: &Zoned) -> String {
    let found = search.results.map(|results| format!("{results} found"));
    let query = format!("\"{}\"", plain_line(&search.query));
    line(at, [search.place.as_deref().map(one_line), Some(query), found])
}

/// A line of a list: `- 14:05 · assistant · Compared three layouts`.
pub(super) fn activity_line(activity: &AgentActivityEvent, at: &Zoned) -> String {
    line(at, [Some(plain_line(&activity.agent)), Some(plain_line(&activity.summary))])
}

fn line(at: &Zoned, parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> =
        std::iter::once(at.strftime("%H:%M").to_string()).chain(parts.into_iter().flatten()).collect();
    untagged(&format!("- {}", parts.join(" · ")), 0)
}

/// All on one line, and no comment.
fn plain_line(text: &str) -> String {
    guarded(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// As code, whatever backticks it holds.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", guarded(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_participant_is_added_and_all_else_stays() {
        let text = "---\ntitle: x # mine\nparticipants:\n- user\ntags:\n- a\n---\n\nparticipants:\n- none\n";
        let more = with_participant(text, "a: b").unwrap();
        assert_eq!(more, text.replacen("- user\n", "- user\n- 'a: b'\n", 1));
        assert_eq!(with_participant(&more, "a: b"), None);
        let in_line = |names: &str| format!("---\nparticipants: [{names}]\n---\n");
        assert_eq!(with_participant(&in_line("user"), "b"), Some(in_line("user, b")));
    }

    #[test]
    fn the_head_is_the_frontmatter() {
        let text = "---\ntitle: t\nsession: s\n---\n\ntext\n\n---\nsession: other\n---\n";
        assert!(is_of(text, "session", "s") && !is_of(text, "session", "other"));
        assert!(!is_of("session: s\n", "session", "s"));
    }

    fn at() -> Zoned {
        "2026-01-05T18:32:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn said(text: &str) -> String {
        let message = MessageEvent {
            session: "s".into(),
            role: "user".into(),
            agent: Some("Ma*ya".into()),
            title: None,
            text: text.into(),
            id: None,
            time: None,
            skip_extraction: None,
        };
        turn(&message, &at(), at().date())
    }

    #[test]
    fn turns_as_people_write_them() {
        assert_eq!(said("I counted."), "**18:32 · Ma ya:** I counted.");
        assert_eq!(said("# Plan\n\n```\nx"), "**18:32 · Ma ya:**\n> # Plan\n>\n> ```\n> x");
        assert_eq!(said("100 %% <!-- <\\!-- %\\% %"), "**18:32 · Ma ya:** 100 %\\% <\\!-- <\\\\!-- %\\\\% %");
        // A tag would hide the whole conversation. Code has none.
        assert_eq!(said("a #private b"), "**18:32 · Ma ya:** a \\#private b");
        assert_eq!(said("#private\n`#a`"), "**18:32 · Ma ya:**\n> \\#private\n> `#a`");
        let other_day = "2026-01-04".parse().unwrap();
        let message = MessageEvent {
            session: "s".into(),
            role: "user".into(),
            agent: None,
            title: None,
            text: "x".into(),
            id: None,
            time: None,
            skip_extraction: None,
        };
        assert_eq!(turn(&message, &at(), other_day), "**2026-01-05 18:32 · user:** x");
    }

    #[test]
    fn a_line_an_event() {
        let file = FileEvent {
            name: Some("loans.ods".into()),
            path: "Documents/`loans`.ods".into(),
            file_type: None,
            action: "edited".into(),
            app: Some("Calc".into()),
            id: None,
            time: None,
        };
        assert_eq!(file_line(&file, &at()), "- 18:32 · edited · ``Documents/`loans`.ods`` · loans.ods · Calc");
        let search = SearchEvent {
            query: "git\nbring %%back".into(),
            place: Some("web".into()),
            results: Some(3),
            id: None,
            time: None,
        };
        assert_eq!(search_line(&search, &at()), "- 18:32 · web · \"git bring %\\%back\" · 3 found");
    }
}
