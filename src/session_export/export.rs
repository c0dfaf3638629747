//! One session: read, compared with what is known of it, and written.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use blake3::Hash;
use jiff::Timestamp;

use super::channel::{ChannelStores, SessionChannel};
use super::render::{SOURCE, SessionAbout, begun, head, parts, said};
use crate::config::{SessionProgram, SessionsConfig};
use crate::forgotten::{ForgottenLookup, Reach};
use crate::fs::crash;
use crate::imports::{SessionTranscript, SourceKind, session, session_kind};
use crate::note::Note;
use crate::path::VaultPath;
use crate::redact::redact;
use crate::request::{RequestError, Workspace};
use crate::state::{Digest, LeftOut, SessionNote, SessionSource, SessionTable, StateError};
use crate::vault::{Action, ElsewhereFile, Files, WriteError, slug};

/// Who writes, as the log of changes says it.
pub(super) const BY: &str = "sessions";
/// A longer file is left out: its turns are held together.
const MAX_SOURCE_BYTES: u64 = 256 << 20;
/// Names that are tried for a note.
const NAMES: usize = 1000;

/// Why a session is not kept, as a sentence.
#[derive(Debug)]
pub(super) enum NotExported {
    /// It is as it is until somebody changes something.
    Lasting(String),
    /// It may be kept with the next look.
    Passing(String),
}

impl From<StateError> for NotExported {
    fn from(error: StateError) -> Self {
        Self::Passing(error.to_string())
    }
}

impl From<RequestError> for NotExported {
    fn from(error: RequestError) -> Self {
        Self::Passing(error.message)
    }
}

impl From<WriteError> for NotExported {
    fn from(error: WriteError) -> Self {
        Self::Passing(error.to_string())
    }
}

/// What became of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionFate {
    /// Its notes have what it has.
    Kept,
    /// Nobody has said anything in it.
    Empty,
    /// It is shorter than it was: what was kept of it stays.
    CutShort,
}

/// Writes sessions into the vault.
pub(super) struct SessionExporter<'e> {
    pub(super) workspace: &'e Workspace,
    pub(super) table: &'e SessionTable,
    pub(super) stores: &'e mut ChannelStores,
    pub(super) entry: &'e SessionsConfig,
    /// What tells the entry from the others.
    pub(super) entry_key: Digest,
    /// What the sessions are that were kept since the start, by their files.
    pub(super) told: &'e mut HashMap<Digest, ToldSession>,
}

/// What a session was when it was kept.
#[derive(Debug)]
pub(super) struct ToldSession {
    kind: SourceKind,
    id: String,
    channel: SessionChannel,
}

/// The name of a file, of an entry or of settings in the tables.
pub(super) fn digest_of(bytes: &[u8]) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    digest
}

impl SessionExporter<'_> {
    /// Brings the notes of a file up to date. `before` is how it was read last.
    pub(super) fn export(
        &mut self,
        key: &Digest,
        file: &ElsewhereFile,
        before: Option<&SessionSource>,
    ) -> Result<SessionFate, NotExported> {
        let unread = |error: io::Error| NotExported::Lasting(format!("it cannot be read: {error}"));
        if file.stamp.size > MAX_SOURCE_BYTES {
            return Err(NotExported::Lasting(format!("it has more than {} MB", MAX_SOURCE_BYTES >> 20)));
        }
        let mut opened = File::open(&file.path).map_err(unread)?;
        // What is written behind that meanwhile is for the next look.
        let (content, prefix) =
            hashes(&mut opened, file.stamp.size, before.map_or(0, |before| before.length)).map_err(unread)?;
        let kind = self.kind(&file.path, &mut opened).map_err(unread)?;
        let Some(kind) = kind else {
            return Err(NotExported::Lasting("it is no session of a program that is known".into()));
        };
        opened.rewind().map_err(unread)?;
        let at_ms = file.stamp.mtime_ns / 1_000_000;
        let transcript = session(kind, &file.path, Some(at_ms), &mut opened.take(file.stamp.size));
        let channel = self.stores.channel(kind, &transcript.id, &file.path);
        let about = SessionAbout {
            scope: channel.scope.unwrap_or(self.entry.scope),
            channel: channel.name.clone(),
            agent: self.entry.agent.clone(),
        };
        self.told.insert(*key, ToldSession { kind, id: transcript.id.clone(), channel });
        let (turns, settings) = (transcript.turns.len(), self.settings());
        let seen = SessionSource {
            entry: self.entry_key,
            size: file.stamp.size,
            mtime_ns: file.stamp.mtime_ns,
            ..before.cloned().unwrap_or_default()
        };
        if turns == 0 {
            self.table.keep_source(key, &SessionSource { settings, ..seen })?;
            let was_more = before.is_some_and(|before| before.turns > 0);
            return Ok(if was_more { SessionFate::CutShort } else { SessionFate::Empty });
        }
        let mut generation = seen.generation;
        if let Some(before) = before {
            // What was purged is known by its number alone.
            let is_unknown = before.digest == Digest::default();
            let had = before.turns as usize;
            let goes_on = turns >= had && (is_unknown || transcript.digest(had) == before.digest)
                || prefix == Some(before.content) && before.length > 0;
            if !goes_on {
                if turns < had && self.says_already(key, generation, &transcript)? {
                    self.table.keep_source(key, &SessionSource { settings, ..seen })?;
                    return Ok(SessionFate::CutShort);
                }
                generation += 1;
            }
        }
        self.write(key, generation, &transcript, &about)?;
        let now = SessionSource {
            settings,
            length: file.stamp.size,
            content,
            turns: turns as u64,
            digest: transcript.digest(turns),
            generation,
            is_out: false,
            ..seen
        };
        self.table.keep_source(key, &now)?;
        crash::point("session-marked");
        match transcript.remarks.iter().find(|remark| !remark.contains("is not whole")) {
            // It is kept as far as it could be read.
            Some(remark) => Err(NotExported::Lasting(remark.clone())),
            None => Ok(SessionFate::Kept),
        }
    }

    fn kind(&self, path: &Path, opened: &mut File) -> io::Result<Option<SourceKind>> {
        opened.rewind()?;
        Ok(match self.entry.kind {
            Some(SessionProgram::OpenClaw) => Some(SourceKind::OpenClaw),
            Some(SessionProgram::Moltis) => Some(SourceKind::Moltis),
            Some(SessionProgram::ClaudeCode) => Some(SourceKind::ClaudeCode),
            Some(SessionProgram::Codex) => Some(SourceKind::Codex),
            None => session_kind(path, opened),
        })
    }

    /// Whether the notes of a file that has not changed say of it what they would say now.
    pub(super) fn is_as_set(&mut self, key: &Digest, before: &SessionSource, file: &ElsewhereFile) -> bool {
        let told = self.told.get(key);
        before.settings == self.settings()
            && told.is_none_or(|told| self.stores.channel(told.kind, &told.id, &file.path) == told.channel)
    }

    /// What the notes are made by, besides the file.
    fn settings(&self) -> Digest {
        let SessionsConfig { agent, scope, .. } = self.entry;
        digest_of(format!("{agent:?} {scope} {}", self.workspace.redacts()).as_bytes())
    }

    /// Whether what is kept of a session begins with all that it has now.
    fn says_already(&self, key: &Digest, generation: u32, transcript: &SessionTranscript) -> Result<bool, NotExported> {
        let notes = self.table.notes(key, generation)?;
        let Some(note) = notes.first().filter(|note| !note.path.is_empty()) else { return Ok(false) };
        let Ok(path) = VaultPath::new(note.path.clone()) else { return Ok(false) };
        let Some((bytes, _)) = self.workspace.files()?.read(&path)? else { return Ok(false) };
        let asked = self.workspace.forgotten().look()?;
        let part = 0..transcript.turns.len();
        let text = self.said(&asked, transcript, &part, part.start);
        Ok(String::from_utf8_lossy(&bytes).contains(text.trim()))
    }

    fn write(
        &self,
        key: &Digest,
        generation: u32,
        transcript: &SessionTranscript,
        about: &SessionAbout,
    ) -> Result<(), NotExported> {
        let files = self.workspace.files()?;
        let _one = files.one_generation();
        // Held until it is written: what is purged meanwhile would come back.
        let asked = self.workspace.forgotten().ask()?;
        let known = self.table.notes(key, generation)?;
        for (at, part) in parts(&transcript.turns).into_iter().enumerate() {
            let note = known.iter().find(|note| note.part as usize == at);
            let write =
                SessionPart { exporter: self, files, asked: &asked, key, generation, transcript, about, at, part };
            match note {
                Some(note) => write.again(note.clone())?,
                None => write.anew()?,
            }
        }
        Ok(())
    }

    /// The turns of a part from one on, without secrets and what was forgotten.
    fn said(
        &self,
        asked: &ForgottenLookup<'_>,
        transcript: &SessionTranscript,
        part: &Range<usize>,
        from: usize,
    ) -> String {
        let redacts = self.workspace.redacts();
        let mut left = Vec::new();
        for at in from..part.end {
            let text = &transcript.turns[at].text;
            let text = if redacts { redact(text) } else { text.into() };
            match asked.without(&text, Reach::All) {
                None => left.push((at, text.into_owned())),
                Some(without) => {
                    let (by, into, whole) = (BY.to_owned(), self.entry.collection(), without.text.is_none());
                    let tombstone = without.tombstone;
                    self.workspace.forgotten().note(LeftOut { at: Timestamp::now(), by, into, whole, tombstone });
                    left.extend(without.text.map(|text| (at, text)));
                }
            }
        }
        said(transcript, part, left.iter().map(|(at, text)| (*at, text.as_str())))
    }
}

/// A part of a session that is about to be written.
struct SessionPart<'w, 'e> {
    exporter: &'w SessionExporter<'e>,
    files: &'w Files,
    asked: &'w ForgottenLookup<'w>,
    key: &'w Digest,
    generation: u32,
    transcript: &'w SessionTranscript,
    about: &'w SessionAbout,
    at: usize,
    part: Range<usize>,
}

impl SessionPart<'_, '_> {
    /// All of it.
    fn text(&self) -> String {
        let transcript = self.transcript;
        let title = transcript.title.as_deref().filter(|title| self.asked.without(title, Reach::All).is_none());
        let title = title.map(|title| if self.exporter.workspace.redacts() { redact(title) } else { title.into() });
        let head = head(transcript, self.about, title.as_deref(), (self.at, &self.part));
        head + &self.exporter.said(self.asked, transcript, &self.part, self.part.start)
    }

    /// Whether a note says of itself that it is this part of this session.
    fn is_this(&self, text: &str) -> bool {
        let note = Note::parse(text, "");
        let says = |key: &str, value: &str| note.metadata.get(key).and_then(serde_json::Value::as_str) == Some(value);
        let part = note.metadata.get("part").and_then(serde_json::Value::as_u64).unwrap_or(1);
        says("source", SOURCE) && says("session", &self.transcript.name()) && part == self.at as u64 + 1
    }

    /// A part that has no note yet. One that says that it is this one was made before the state was lost.
    fn anew(&self) -> Result<(), NotExported> {
        let (text, turns) = (self.text(), self.part.len() as u64);
        let date = begun(self.transcript, &self.part).date();
        let number = if self.at > 0 { format!("-part-{}", self.at + 1) } else { String::new() };
        let name = format!("{}/{date}-{}{number}", self.exporter.entry.collection(), slug(&self.transcript.id));
        for count in 1..=NAMES {
            let path = if count == 1 { format!("{name}.md") } else { format!("{name}-{count}.md") };
            let Ok(path) = VaultPath::new(path) else { break };
            let row = SessionNote { part: self.at as u32, path: path.to_string(), ..SessionNote::default() };
            match self.files.read(&path) {
                Ok(None) => match self.put(row, None, &text, turns) {
                    // Somebody took the name at this very moment.
                    Err(NotExported::Passing(_)) if self.files.read(&path)?.is_some() => {}
                    put => return put,
                },
                Ok(Some((bytes, hash))) => {
                    let taken =
                        self.exporter.table.is_of_another(path.as_str(), self.key, self.generation, row.part)?;
                    let there = String::from_utf8(bytes).ok().filter(|there| !taken && self.is_this(there));
                    let Some(there) = there else { continue };
                    let after = hash.to_hex().to_string();
                    if there == text {
                        return self.done(SessionNote { after, turns, ..row });
                    }
                    if text.starts_with(&there) {
                        return self.put(SessionNote { after, ..row }, Some((&there, hash)), &text, turns);
                    }
                    // What of it the person has written nobody knows: it stays, and what comes is added.
                    return self.done(SessionNote { after, turns, is_edited: true, ..row });
                }
                Err(WriteError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(NotExported::Lasting(format!("no name is free for it: `{name}.md` and those like it are taken")))
    }

    /// A part that was written before.
    fn again(&self, mut row: SessionNote) -> Result<(), NotExported> {
        let turns = self.part.len() as u64;
        // Forgotten for good.
        let Ok(path) = VaultPath::new(row.path.clone()) else { return Ok(()) };
        let Some((bytes, hash)) = self.files.read(&path)? else {
            // Not written yet, or taken away: then it stays away.
            return if row.after.is_empty() { self.put(row, None, &self.text(), turns) } else { Ok(()) };
        };
        let now = hash.to_hex().to_string();
        if now == row.next {
            (row.after, row.turns) = (now, row.next_turns);
        } else if row.after.is_empty() {
            // It was never written, and the name is somebody else's.
            return self.anew();
        } else if now != row.after {
            row.is_edited = true;
        }
        let Ok(there) = String::from_utf8(bytes) else {
            return Err(NotExported::Lasting(format!("`{path}` was edited, and is no text: it stays as it is")));
        };
        if !row.is_edited {
            let text = self.text();
            return match text == there {
                true => self.done(SessionNote { turns, ..row }),
                false => self.put(row, Some((&there, hash)), &text, turns),
            };
        }
        let from = self.part.start + row.turns as usize;
        if from >= self.part.end {
            return self.done(SessionNote { after: hash.to_hex().to_string(), ..row });
        }
        let more = self.exporter.said(self.asked, self.transcript, &self.part, from);
        let end = if there.ends_with('\n') { "" } else { "\n" };
        let text = format!("{there}{end}{more}");
        self.put(row, Some((&there, hash)), &text, turns)
    }

    /// Writes a text where that is, or nothing; what it is about to be is kept before, so that it is known after a kill.
    fn put(&self, row: SessionNote, there: Option<(&str, Hash)>, text: &str, turns: u64) -> Result<(), NotExported> {
        let Ok(path) = VaultPath::new(row.path.clone()) else { return Ok(()) };
        let next = blake3::hash(text.as_bytes()).to_hex().to_string();
        let row = SessionNote { next: next.clone(), next_turns: turns, ..row };
        self.exporter.table.keep_note(self.key, self.generation, &row)?;
        crash::point("session-planned");
        match there {
            None => _ = self.files.extend(&path, None, text, Action::Create.done_by(BY))?,
            Some((before, hash)) if text.starts_with(before) => {
                _ = self.files.extend(&path, Some(hash), text, Action::Edit.done_by(BY))?;
            }
            Some((_, hash)) => _ = self.files.replace(&path, hash, text, Action::Edit.done_by(BY))?,
        }
        crash::point("session-written");
        self.done(SessionNote { after: next, turns, ..row })
    }

    fn done(&self, row: SessionNote) -> Result<(), NotExported> {
        let row = SessionNote { next: String::new(), next_turns: 0, ..row };
        Ok(self.exporter.table.keep_note(self.key, self.generation, &row)?)
    }
}

/// The digest of the first bytes of a file, and of the first so many of them where it has those.
fn hashes(file: &mut File, size: u64, prefix: u64) -> io::Result<(Digest, Option<Digest>)> {
    let cut = |hasher: &blake3::Hasher| {
        let mut digest = Digest::default();
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        digest
    };
    let mut hasher = blake3::Hasher::new();
    file.seek(SeekFrom::Start(0))?;
    let first = prefix.min(size);
    hasher.update_reader(Read::take(&mut *file, first))?;
    let of_prefix = (first == prefix).then(|| cut(&hasher));
    hasher.update_reader(Read::take(&mut *file, size - first))?;
    Ok((cut(&hasher), of_prefix))
}
