//! The notes of a session. Which they are: those that it has, those of a session that its file had before, or new ones. And their text: each is
//! a part of the session, written where nobody has edited what was written before, and added to where somebody has.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use blake3::Hash;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use crate::access::request::Workspace;
use crate::access::rules::{SESSION_AGENT, SESSION_SCOPE, Scope};
use crate::base::config::ChannelScope;
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::base::state::{Digest, SessionNote, SessionSource, SessionTable};
use crate::memory::imports::{SessionTranscript, SessionTurn, SourceKind};
use crate::text::derive::generated::TRUST;
use crate::text::note::{Note, compose, guarded, turn_block, untagged, written};
use crate::vault::disk::{Action, Files, WriteError, is_numbered, slug};
use crate::vault::forgotten::ForgottenLookup;

/// Who writes, as the log of changes says it.
const BY: &str = "sessions";
/// Names that are tried for a note.
const NAMES: usize = 1000;
/// What a note is about to be that goes to the trash for its age or number: one that is not there then was not taken away by the person.
const TRASHED: &str = "trash";

/// Why a session is not kept, as a sentence.
#[derive(Debug)]
pub(super) enum NotExported {
    /// It is as it is until somebody changes something.
    Lasting(String),
    /// It may be kept with the next look.
    Passing(String),
}

impl<E: std::error::Error> From<E> for NotExported {
    fn from(error: E) -> Self {
        Self::Passing(error.to_string())
    }
}

/// A part of a session: its number, from 0, and its turns.
type SessionPart<'p> = (usize, &'p Range<usize>);

/// Writes the notes of a session.
pub(super) struct SessionWriter<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) table: &'w SessionTable,
    pub(super) files: &'w Files,
    /// Held until it is written: what is purged meanwhile would come back.
    pub(super) asked: &'w ForgottenLookup<'w>,
    /// Where the notes go.
    pub(super) collection: &'w str,
    /// The name of the file in the table, and how often it was begun anew.
    pub(super) key: &'w Digest,
    pub(super) generation: u32,
    pub(super) transcript: &'w SessionTranscript,
    pub(super) about: &'w SessionAbout,
}

impl SessionWriter<'_> {
    /// Brings the notes up to date; says how many there are to be.
    ///
    /// # Errors
    /// When one of them cannot be written.
    pub(super) fn write(&self) -> Result<usize, NotExported> {
        let known = self.table.notes(self.key, self.generation)?;
        let parts = parts(&self.transcript.turns);
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            let note = known.iter().find(|note| note.part as usize == at);
            match note {
                Some(note) => self.again((at, &part), note.clone())?,
                None => self.anew((at, &part))?,
            }
        }
        Ok(count)
    }

    /// Some turns of a part, without secrets and what was forgotten.
    fn said(&self, part: &Range<usize>, turns: Range<usize>) -> String {
        let redacts = self.workspace.redacts();
        let mut left = Vec::new();
        for at in turns {
            let text = &self.transcript.turns[at].text;
            // A thought, whose place it keeps.
            if text.is_empty() {
                continue;
            }
            let text = if redacts { redact(text) } else { text.into() };
            match self.asked.without(&text, &Scope::Everything) {
                None => left.push((at, text.into_owned())),
                Some(without) => {
                    let (whole, tombstone) = (without.text.is_none(), without.tombstone);
                    self.workspace.forgotten.note(BY, self.collection, whole, tombstone);
                    left.extend(without.text.map(|text| (at, text)));
                }
            }
        }
        said(self.transcript, part, left.iter().map(|(at, text)| (*at, text.as_str())))
    }

    /// All of a part.
    fn text(&self, (at, part): SessionPart<'_>) -> String {
        let Self { transcript, asked, workspace, about, .. } = self;
        let title = transcript.title.as_deref().filter(|title| asked.without(title, &Scope::Everything).is_none());
        let title = title.map(|title| if workspace.redacts() { redact(title) } else { title.into() });
        let head = head(transcript, about, title.as_deref(), (at, part));
        head + &self.said(part, part.clone())
    }

    /// Whether a note says of itself that it is this part of this session.
    fn is_this(&self, text: &str, at: usize) -> bool {
        let note = Note::parse(text, "");
        let says = |key: &str, value: &str| note.metadata.get(key).and_then(Value::as_str) == Some(value);
        let part = note.metadata.get("part").and_then(Value::as_u64).unwrap_or(1);
        says("source", SOURCE) && says("session", &self.transcript.name()) && part == at as u64 + 1
    }

    /// A part that has no note yet. One that says that it is this one was made before the state was lost.
    fn anew(&self, (at, part): SessionPart<'_>) -> Result<(), NotExported> {
        let (text, turns) = (self.text((at, part)), part.len() as u64);
        let date = begun(self.transcript, part).date();
        let number = if at > 0 { format!("-part-{}", at + 1) } else { String::new() };
        let name = format!("{}/{date}-{}{number}", self.collection, slug(&self.transcript.id));
        let mut edited = None;
        for count in 1..=NAMES {
            let path = if count == 1 { format!("{name}.md") } else { format!("{name}-{count}.md") };
            let Ok(path) = VaultPath::new(path) else { break };
            let row = SessionNote { part: at as u32, path: path.to_string(), ..SessionNote::default() };
            match self.files.read(&path) {
                Ok(None) if edited.is_some() => break,
                Ok(None) => match self.put(row, None, &text, turns) {
                    // Somebody took the name at this very moment.
                    Err(NotExported::Passing(_)) if self.files.read(&path)?.is_some() => {}
                    put => return put,
                },
                Ok(Some((bytes, hash))) => {
                    let taken = self.table.is_of_another(path.as_str(), self.key, self.generation, row.part)?;
                    let there = String::from_utf8(bytes).ok().filter(|there| !taken && self.is_this(there, at));
                    let Some(there) = there else { continue };
                    let after = hash.to_hex().to_string();
                    if text.starts_with(&there) {
                        return self.again((at, part), SessionNote { after, ..row });
                    }
                    // What of it the person has written nobody knows: it stays, and what comes is added. One that has none of its turns is
                    // of a session that the file had before.
                    let turns = self.turns_in(&there, part);
                    if edited.is_none() && turns > 0 {
                        edited = Some(SessionNote { after, turns, is_edited: true, ..row });
                    }
                }
                Err(WriteError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match edited {
            Some(row) => self.again((at, part), row),
            None => Err(NotExported::Lasting(format!("no free name: `{name}.md` and similar names are taken"))),
        }
    }

    /// How many turns there are up to the last that a note has as it is, behind those before it.
    fn turns_in(&self, there: &str, part: &Range<usize>) -> u64 {
        let (mut turns, mut from) = (0, 0);
        for at in part.clone() {
            let block = self.said(part, at..at + 1);
            if let Some(end) = end_of_block(&there[from..], block.trim()) {
                (turns, from) = (at + 1 - part.start, from + end);
            }
        }
        turns as u64
    }

    /// A part that was written before.
    fn again(&self, (at, part): SessionPart<'_>, mut row: SessionNote) -> Result<(), NotExported> {
        let turns = part.len() as u64;
        // Forgotten for good.
        let Ok(path) = VaultPath::new(row.path.clone()) else { return Ok(()) };
        let Some((bytes, hash)) = self.files.read(&path)? else {
            // Not written yet, or taken away: then it stays away.
            let is_owed = row.after.is_empty() || row.next == TRASHED;
            return if is_owed { self.put(row, None, &self.text((at, part)), turns) } else { Ok(()) };
        };
        let now = hash.to_hex().to_string();
        if now == row.next {
            (row.after, row.turns) = (now, row.next_turns);
        } else if row.after.is_empty() {
            // It was never written, and the name is somebody else's.
            return self.anew((at, part));
        } else if now != row.after {
            row.is_edited = true;
        }
        let Ok(there) = String::from_utf8(bytes) else {
            return Err(NotExported::Lasting(format!("`{path}` was edited and is not text: it was not changed")));
        };
        if !row.is_edited {
            let text = self.text((at, part));
            return match text == there {
                true => self.done(SessionNote { turns, ..row }),
                false => self.put(row, Some((&there, hash)), &text, turns),
            };
        }
        let from = part.start + row.turns as usize;
        if from >= part.end {
            return self.done(SessionNote { after: hash.to_hex().to_string(), ..row });
        }
        let more = self.said(part, from..part.end);
        let end = if there.ends_with('\n') { "" } else { "\n" };
        let text = format!("{there}{end}{more}");
        self.put(row, Some((&there, hash)), &text, turns)
    }

    /// Writes a text where that is, or nothing; what it is about to be is kept before, so that it is known after a kill.
    fn put(&self, row: SessionNote, there: Option<(&str, Hash)>, text: &str, turns: u64) -> Result<(), NotExported> {
        let Ok(path) = VaultPath::new(row.path.clone()) else { return Ok(()) };
        let next = blake3::hash(text.as_bytes()).to_hex().to_string();
        let row = SessionNote { next: next.clone(), next_turns: turns, ..row };
        self.table.keep_note(self.key, self.generation, &row)?;
        crash::point("session-planned");
        let act = if there.is_some() { Action::Edit } else { Action::Create }.done_by(BY);
        match there {
            Some((before, hash)) if !text.starts_with(before) => {
                _ = self.files.replace(&path, hash, text, act)?;
            }
            there => _ = self.files.extend(&path, there.map(|(_, hash)| hash), text, act)?,
        }
        crash::point("session-written");
        self.done(SessionNote { after: next, turns, ..row })
    }

    fn done(&self, row: SessionNote) -> Result<(), NotExported> {
        let row = SessionNote { next: String::new(), next_turns: 0, ..row };
        Ok(self.table.keep_note(self.key, self.generation, &row)?)
    }
}

/// Where a block ends in a text that has it whole: on lines of its own, and with no more of its quote behind it.
fn end_of_block(text: &str, block: &str) -> Option<usize> {
    let ends = text.match_indices(block).filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    ends.map(|(at, _)| at + block.len()).find(|end| {
        let behind = text[*end..].trim_start_matches([' ', '\t', '\r']);
        !block.is_empty() && (behind.is_empty() || behind.strip_prefix('\n').is_some_and(|next| !next.starts_with('>')))
    })
}

/// What says in frontmatter that a note is a session.
const SOURCE: &str = "session";
/// Maximum size of the turns of one note, in bytes; a session with more goes on in another.
const MAX_PART_BYTES: usize = 1 << 20;
/// What a turn takes beside its text, at least.
const TURN_BYTES: usize = 40;

/// What a session is besides what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionAbout {
    pub(super) scope: ChannelScope,
    pub(super) channel: Option<String>,
    pub(super) agent: Option<String>,
}

/// The parts that a session is kept in: which of its turns are in which. What grows changes the last one alone.
fn parts(turns: &[SessionTurn]) -> Vec<Range<usize>> {
    let (mut parts, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, turn) in turns.iter().enumerate() {
        if bytes > MAX_PART_BYTES {
            parts.push(from..at);
            (from, bytes) = (at, 0);
        }
        bytes += turn.text.len() + TURN_BYTES;
    }
    if from < turns.len() {
        parts.push(from..turns.len());
    }
    parts
}

/// When a part of a session began.
fn begun(transcript: &SessionTranscript, turns: &Range<usize>) -> Zoned {
    let first = transcript.turns[turns.clone()].iter().find_map(|turn| turn.at);
    first.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system())
}

/// The frontmatter of a part, and its heading.
fn head(
    transcript: &SessionTranscript,
    about: &SessionAbout,
    title: Option<&str>,
    (part, turns): SessionPart<'_>,
) -> String {
    let session = format!("Session {}", transcript.id);
    let number = if part > 0 { format!(" ({})", part + 1) } else { String::new() };
    let mut front = Map::new();
    let mut set = |key: &str, value: Value| front.insert(key.to_owned(), value);
    set("title", format!("{}{number}", title.unwrap_or(&session)).into());
    set("created", written(&begun(transcript, turns)).into());
    set("source", SOURCE.into());
    set("session", transcript.name().into());
    set(SESSION_SCOPE, about.scope.name().into());
    if let Some(agent) = &about.agent {
        set(SESSION_AGENT, agent.as_str().into());
    }
    if let Some(channel) = &about.channel {
        set("channel", channel.as_str().into());
    }
    if about.scope != ChannelScope::Direct {
        // Anybody may have said it.
        set(TRUST, "untrusted".into());
    }
    if part > 0 {
        set("part", (part + 1).into());
    }
    let heading = untagged(&guarded(&format!("# {session}{number}")), 0);
    compose(&front, &format!("{heading}\n"))
}

/// Turns, each a paragraph of its own, to follow what stands before.
fn said<'t>(
    transcript: &'t SessionTranscript,
    part: &Range<usize>,
    turns: impl Iterator<Item = (usize, &'t str)>,
) -> String {
    let begun = begun(transcript, part);
    let mut said = String::new();
    for (at, text) in turns {
        let turn = &transcript.turns[at];
        let time = turn.at.map_or_else(|| begun.clone(), |at| at.to_zoned(TimeZone::system()));
        said.push('\n');
        said.push_str(&turn_block(&turn.role, text, &time, begun.date()));
        said.push('\n');
    }
    said
}

/// Moves those notes of a session to the trash of which `goes` holds, given how often the file was begun and the part, but for those that
/// somebody has edited.
///
/// # Errors
/// When one of them cannot go, or the state cannot be read or written.
pub(super) fn take_notes_away(
    workspace: &Workspace,
    table: &SessionTable,
    key: &Digest,
    goes: impl Fn(u32, usize) -> bool,
) -> Result<(), NotExported> {
    let files = workspace.files()?;
    for (generation, note) in table.all_notes(key)? {
        let (Ok(path), part) = (VaultPath::new(note.path.clone()), note.part) else { continue };
        if !goes(generation, part as usize) {
            continue;
        }
        let failed = |error: WriteError| NotExported::Passing(format!("`{path}`: {error}"));
        let is_in_trash = match files.read(&path).map_err(failed)? {
            None => note.after.is_empty() || note.next == TRASHED,
            Some((_, hash)) if note.is_edited || hash.to_hex().as_str() != note.after => false,
            Some((_, hash)) => {
                table.keep_note(key, generation, &SessionNote { next: TRASHED.into(), ..note })?;
                crash::point("session-trashing");
                files.trash(&path, hash, Action::Trash.done_by(BY)).map_err(failed)?;
                crash::point("session-trashed");
                true
            }
        };
        // Else it is known still: what comes of the session is added to one that was edited, and one that was taken away stays away.
        if is_in_trash {
            table.drop_note(key, generation, part)?;
        }
    }
    Ok(())
}

impl SessionWriter<'_> {
    /// In which notes a session goes on that was read `before`: in those that were made since its file was begun so often; and whether they say
    /// all of it already, and more. `goes_on` says whether the file begins with all that was read last.
    pub(super) fn place(&self, before: &SessionSource, goes_on: bool) -> Result<(u32, bool), NotExported> {
        let (now, last) = (self.transcript.turns.len() as u64, before.generation);
        let generations: BTreeSet<u32> =
            self.table.all_notes(self.key)?.into_iter().map(|(generation, _)| generation).collect();
        // A file may be put back, after it had another session.
        let others = generations.iter().rev().copied().filter(|generation| *generation != last);
        for generation in std::iter::once(last).chain(others) {
            if now < self.kept_in(generation)? && self.is_said_in(generation)? {
                return Ok((generation, true));
            }
            // Where somebody has changed a line of it, it is the same session, and its notes follow it.
            if goes_on && generation == last || self.says_most_of(generation)? {
                return Ok((generation, false));
            }
        }
        if before.turns == 1 && self.is_only_turn_of(last)? || self.was_taken_away(last)? {
            return Ok((last, false));
        }
        Ok((generations.last().copied().unwrap_or(last).max(last) + 1, false))
    }

    /// How many turns the notes of a session have.
    fn kept_in(&self, generation: u32) -> Result<u64, NotExported> {
        Ok(self.table.notes(self.key, generation)?.iter().map(|note| note.turns).sum())
    }

    fn text_of(&self, note: &SessionNote) -> Result<Option<String>, NotExported> {
        let Ok(path) = VaultPath::new(note.path.clone()) else { return Ok(None) };
        Ok(self.files.read(&path)?.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Whether what is kept of a session begins with all that it has now.
    fn is_said_in(&self, generation: u32) -> Result<bool, NotExported> {
        let notes = self.table.notes(self.key, generation)?;
        for (at, part) in parts(&self.transcript.turns).into_iter().enumerate() {
            let note = notes.iter().find(|note| note.part as usize == at);
            let Some(there) = note.map(|note| self.text_of(note)).transpose()?.flatten() else { return Ok(false) };
            if !there.contains(self.said(&part, part.clone()).trim()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether at least half of what is kept of a session is said in it still.
    fn says_most_of(&self, generation: u32) -> Result<bool, NotExported> {
        let all = 0..self.transcript.turns.len();
        let now = self.said(&all, all.clone());
        let now: HashSet<&str> = now.lines().collect();
        let (mut all, mut still) = (0, 0);
        for note in self.table.notes(self.key, generation)? {
            let Some(text) = self.text_of(&note)? else { continue };
            // What is before the heading it says of itself.
            let said = text.split_once("\n# ").and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(_, said)| said);
            for line in said.lines().filter(|line| !line.trim().is_empty()) {
                all += 1;
                still += usize::from(now.contains(line));
            }
        }
        Ok(all > 0 && still * 2 >= all)
    }

    /// Whether programs give the name of the session to no other. Moltis has one by the chat, and `/clear` begins the next in its file.
    fn has_own_name(&self) -> bool {
        self.transcript.kind != SourceKind::Moltis
    }

    /// Whether the only turn that is kept is the first of this session, rewritten. Where somebody has edited the note, what comes gets a
    /// note of its own: beside the words of the person it could not be told from them.
    fn is_only_turn_of(&self, generation: u32) -> Result<bool, NotExported> {
        let [note] = &self.table.notes(self.key, generation)?[..] else { return Ok(false) };
        let Some(there) = self.text_of(note)? else { return Ok(false) };
        if note.turns != 1 || note.is_edited || blake3::hash(there.as_bytes()).to_hex().as_str() != note.after {
            return Ok(false);
        }
        let note = Note::parse(&there, "");
        let says = |key: &str, value: &str| note.metadata.get(key).and_then(Value::as_str) == Some(value);
        let since = written(&begun(self.transcript, &(0..self.transcript.turns.len())));
        let is_same = says("source", SOURCE) && says("session", &self.transcript.name());
        Ok(is_same && (self.has_own_name() || says("created", &since)))
    }

    /// Whether somebody has taken the notes of this very session away, or forgotten one for good: however its file is changed they stay away.
    fn was_taken_away(&self, generation: u32) -> Result<bool, NotExported> {
        let notes = self.table.notes(self.key, generation)?;
        if !self.has_own_name() || notes.iter().any(|note| note.path.is_empty()) {
            return Ok(self.has_own_name());
        }
        let mut is_away = notes.iter().any(|note| is_note_of(&note.path, &self.transcript.id));
        for note in &notes {
            is_away = is_away && !note.after.is_empty() && self.text_of(note)?.is_none();
        }
        Ok(is_away)
    }
}

/// Length of the date with which the name of a note begins, and of the hyphen behind it.
const DATE_LENGTH: usize = 11;

/// Whether a note has the name that the first part of a session is given.
fn is_note_of(path: &str, id: &str) -> bool {
    let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".md")?.get(DATE_LENGTH..));
    name.is_some_and(|name| is_numbered(name, &slug(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_where_it_is_whole() {
        let text = "**10:00 · user:** ok and more\n\n**10:00 · user:** ok  \n\n**10:01 · user:**\n> a\n> b\n";
        let behind = |block: &str| end_of_block(text, block).map(|end| &text[end..]);
        assert!(behind("**10:00 · user:** ok").is_some_and(|left| left.starts_with("  \n\n**10:01")));
        assert_eq!(behind("**10:01 · user:**\n> a"), None);
        assert_eq!(behind("**10:01 · user:**\n> a\n> b"), Some("\n"));
        assert_eq!((behind(""), behind("user:** ok")), (None, None));
    }

    fn transcript(texts: &[&str]) -> SessionTranscript {
        let turn = |text: &&str| SessionTurn {
            role: "user".into(),
            at: Some("2026-01-05T18:32:00Z".parse().unwrap()),
            text: (*text).to_owned(),
        };
        SessionTranscript {
            kind: SourceKind::OpenClaw,
            id: "#1 %%<!-- **x**".into(),
            title: None,
            turns: texts.iter().map(turn).collect(),
            remarks: Vec::new(),
        }
    }

    fn text(transcript: &SessionTranscript, scope: ChannelScope) -> String {
        let about = SessionAbout { scope, channel: None, agent: Some("ada".into()) };
        let part = 0..transcript.turns.len();
        let turns = transcript.turns.iter().map(|turn| turn.text.as_str()).enumerate();
        head(transcript, &about, None, (0, &part)) + &said(transcript, &part, turns)
    }

    #[test]
    fn what_grows_begins_with_what_it_was() {
        let (before, after) =
            (transcript(&["Hi", "你好 🐘"]), transcript(&["Hi", "你好 🐘", "# no heading\n\n#no-tag"]));
        let (before, after) = (text(&before, ChannelScope::Direct), text(&after, ChannelScope::Direct));
        assert!(after.starts_with(&before) && after.contains("user:** 你好 🐘"), "{after}");
        let note = Note::parse(&after, "x");
        assert!(note.tags.is_empty() && note.comments.is_empty() && note.problems.is_empty(), "{note:?}");
        assert_eq!(note.headings.len(), 1);
        assert_eq!(note.doubtful, ["@session/direct/ada"]);
        assert!(
            !after.contains("trust:") && text(&transcript(&["x"]), ChannelScope::Group).contains("trust: untrusted")
        );
    }

    #[test]
    fn a_long_session_is_kept_in_parts_that_stay_as_they_are() {
        let long = "x".repeat(MAX_PART_BYTES / 3 - 100);
        let all = [&*long; 9];
        let of = |count: usize| parts(&transcript(&all[..count]).turns);
        assert_eq!(of(9), [0..4, 4..8, 8..9]);
        assert_eq!(of(8), [0..4, 4..8]);
        assert!(of(0).is_empty());
        assert_eq!(of(1).len(), 1);
    }

    #[test]
    fn a_note_is_known_by_its_name() {
        for (path, id, is) in [
            ("conversations/2026-01-05-s1.md", "s1", true),
            ("conversations/2026-01-05-s1-2.md", "s1", true),
            ("conversations/2026-01-05-s10.md", "s1", false),
            ("conversations/2026-01-05-s1-part-2.md", "s1", false),
            ("conversations/2026-01-05-s1-.md", "s1", false),
            ("conversations/s1.md", "s1", false),
            ("", "s1", false),
        ] {
            assert_eq!(is_note_of(path, id), is, "{path}");
        }
    }
}
