//! One session: read, compared with what is known of it, and written.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::channel::{ChannelStores, SessionChannel};
use super::gone::GoneSessions;
use super::part::{NotExported, SessionWriter};
use super::place::SessionPlace;
use super::render::SessionAbout;
use super::trash::take_notes_away;
use crate::config::{ChannelScope, SessionProgram, SessionsConfig};
use crate::forgotten::ForgottenLookup;
use crate::fs::crash;
use crate::imports::{SessionTranscript, SourceKind, session, session_id, session_kind};
use crate::request::Workspace;
use crate::state::{Digest, SessionSource, SessionTable, StateError};
use crate::vault::{ElsewhereFile, Files};

/// Maximum size of a file, in bytes; a larger one is left out, as its turns are held together.
const MAX_SOURCE_BYTES: u64 = 256 << 20;

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
    /// What the sessions are called of which that is known, by their files; `None` where no store tells their channel.
    pub(super) told: &'e mut HashMap<Digest, Option<ToldSession>>,
    /// Those whose files are gone.
    pub(super) gone: &'e mut GoneSessions,
}

/// What a session is called.
#[derive(Debug)]
pub(super) struct ToldSession {
    kind: SourceKind,
    id: String,
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
        let Some(transcript) = self.transcript(file, opened).map_err(unread)? else {
            return Err(NotExported::Lasting("it is no session of a program that is known".into()));
        };
        let moved = self.taken_over(key, file, before, &transcript)?;
        let before = moved.as_ref().or(before);
        let kind = transcript.kind;
        let channel = self.stores.channel(kind, &transcript.id, &file.path);
        self.told.insert(*key, Some(ToldSession { kind, id: transcript.id.clone() }));
        // Where nothing tells it any more, as once the channel has a newer session, what was told of it counts.
        let told_scope = channel.scope.or_else(|| ChannelScope::of(&before?.told_scope));
        let told_name = channel.name.or_else(|| before.map(|before| before.told_name.clone()));
        let about = SessionAbout {
            scope: told_scope.unwrap_or(self.entry.scope),
            channel: told_name.clone().filter(|name| !name.is_empty()),
            agent: self.entry.agent.clone(),
        };
        let (turns, settings) = (transcript.turns.len(), self.settings());
        let seen = SessionSource {
            entry: self.entry_key,
            size: file.stamp.size,
            mtime_ns: file.stamp.mtime_ns,
            told_scope: told_scope.map(|scope| scope.name().to_owned()).unwrap_or_default(),
            told_name: told_name.unwrap_or_default(),
            ..before.cloned().unwrap_or_default()
        };
        if turns == 0 {
            self.table.keep_source(key, &SessionSource { settings, ..seen })?;
            let was_more = before.is_some_and(|before| before.turns > 0);
            return Ok(if was_more { SessionFate::CutShort } else { SessionFate::Empty });
        }
        let generation = match self.place(key, before, prefix, &transcript)? {
            SessionPlace::Notes(generation) => generation,
            SessionPlace::Said(generation) if generation == seen.generation => {
                self.table.keep_source(key, &SessionSource { settings, ..seen })?;
                return Ok(SessionFate::CutShort);
            }
            SessionPlace::Said(generation) => {
                // By what it has now it is told from the next that has its place.
                let (digest, turns, content) = (transcript.digest(turns), turns as u64, Digest::default());
                let back = SessionSource { settings, generation, turns, content, digest, length: 0, ..seen };
                self.table.keep_source(key, &back)?;
                return Ok(SessionFate::CutShort);
            }
        };
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

    /// The session of a file, as far as it was written when that was looked at; `None` where it is of no program that is known.
    fn transcript(&self, file: &ElsewhereFile, mut opened: File) -> io::Result<Option<SessionTranscript>> {
        let Some(kind) = self.kind(&file.path, &mut opened)? else { return Ok(None) };
        opened.rewind()?;
        let at_ms = file.stamp.mtime_ns / 1_000_000;
        Ok(Some(session(kind, &file.path, Some(at_ms), &mut opened.take(file.stamp.size))))
    }

    /// Has a file that is new be known as the one that it was before it moved; says whether there is such a one.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub(super) fn take_over(
        &mut self,
        key: &Digest,
        file: &ElsewhereFile,
        before: Option<&SessionSource>,
    ) -> Result<bool, StateError> {
        if file.stamp.size > MAX_SOURCE_BYTES {
            return Ok(false);
        }
        // What cannot be read is said where it is to be kept.
        let read = File::open(&file.path).and_then(|opened| self.transcript(file, opened));
        let Ok(Some(transcript)) = read else { return Ok(false) };
        Ok(self.taken_over(key, file, before, &transcript)?.is_some())
    }

    fn taken_over(
        &mut self,
        key: &Digest,
        file: &ElsewhereFile,
        before: Option<&SessionSource>,
        transcript: &SessionTranscript,
    ) -> Result<Option<SessionSource>, StateError> {
        // One whose notes went to the trash may have had others at another place since.
        let is_free = before.is_none_or(|before| before.is_out);
        if !is_free || before.is_some() && !self.table.all_notes(key)?.is_empty() {
            return Ok(None);
        }
        let stamp = (file.stamp.size, file.stamp.mtime_ns);
        let Some((from, source)) = self.gone.take(transcript, stamp, self.table)? else { return Ok(None) };
        self.table.move_file(&from, key)?;
        crash::point("session-moved");
        Ok(Some(source))
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
        if before.settings != self.settings() {
            return false;
        }
        if !self.told.contains_key(key) {
            // As long as there is no store, none has changed.
            if !self.stores.has_store(&file.path) {
                return true;
            }
            self.told.insert(*key, self.named(file));
        }
        let Some(Some(ToldSession { kind, id })) = self.told.get(key) else { return true };
        let SessionChannel { scope, name } = self.stores.channel(*kind, id, &file.path);
        scope.is_none_or(|scope| scope.name() == before.told_scope) && name.is_none_or(|name| name == before.told_name)
    }

    /// What the session of a file is called that was not read since the start, where a store may tell its channel.
    fn named(&self, file: &ElsewhereFile) -> Option<ToldSession> {
        let mut opened = File::open(&file.path).ok()?;
        let kind = self.kind(&file.path, &mut opened).ok()??;
        opened.rewind().ok()?;
        (kind == SourceKind::OpenClaw).then(|| ToldSession { kind, id: session_id(&file.path, opened) })
    }

    /// What the notes are made by, besides the file.
    fn settings(&self) -> Digest {
        let SessionsConfig { agent, scope, .. } = self.entry;
        digest_of(format!("{agent:?} {scope} {}", self.workspace.redacts()).as_bytes())
    }

    fn place(
        &self,
        key: &Digest,
        before: Option<&SessionSource>,
        prefix: Option<Digest>,
        transcript: &SessionTranscript,
    ) -> Result<SessionPlace, NotExported> {
        let generation = before.map_or(0, |before| before.generation);
        let asked = self.workspace.forgotten().look()?;
        self.writer(self.workspace.files()?, &asked, "", (key, generation), transcript).place(before, prefix)
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
        let asked = self.workspace.forgotten().ask()?;
        let count = self.writer(files, &asked, &self.entry.collection(), (key, generation), transcript).write(about)?;
        // What was in the notes behind them is in others now, or is said no more.
        let is_behind = |of: u32, part: usize| of == generation && part >= count;
        match take_notes_away(self.workspace, self.table, key, is_behind)? {
            Some((note, reason)) => Err(NotExported::Passing(format!("`{note}`: {reason}"))),
            None => Ok(()),
        }
    }

    fn writer<'w>(
        &'w self,
        files: &'w Files,
        asked: &'w ForgottenLookup<'w>,
        collection: &'w str,
        (key, generation): (&'w Digest, u32),
        transcript: &'w SessionTranscript,
    ) -> SessionWriter<'w> {
        let Self { workspace, table, .. } = self;
        SessionWriter { workspace, table, files, asked, collection, key, generation, transcript }
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
