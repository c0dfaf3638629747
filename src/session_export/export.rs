//! One session: read, compared with what is known of it, and written.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::channel::{ChannelStores, SessionChannel};
use super::part::{NotExported, SessionWriter};
use super::render::SessionAbout;
use crate::config::{SessionProgram, SessionsConfig};
use crate::forgotten::ForgottenLookup;
use crate::fs::crash;
use crate::imports::{SessionTranscript, SourceKind, session, session_kind};
use crate::path::VaultPath;
use crate::request::Workspace;
use crate::state::{Digest, SessionSource, SessionTable};
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
                // Somebody has changed a line of it: it is the same session, and its notes follow it.
                if !self.says_most(key, generation, &transcript)? {
                    generation += 1;
                }
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
        let files = self.workspace.files()?;
        let Some((bytes, _)) = files.read(&path)? else { return Ok(false) };
        let asked = self.workspace.forgotten().look()?;
        let writer = self.writer(files, &asked, "", (key, generation), transcript);
        let text = writer.said(&(0..transcript.turns.len()), 0);
        Ok(String::from_utf8_lossy(&bytes).contains(text.trim()))
    }

    /// Whether at least half of what is kept of a session is said in it still.
    fn says_most(&self, key: &Digest, generation: u32, transcript: &SessionTranscript) -> Result<bool, NotExported> {
        let files = self.workspace.files()?;
        let asked = self.workspace.forgotten().look()?;
        let writer = self.writer(files, &asked, "", (key, generation), transcript);
        let now = writer.said(&(0..transcript.turns.len()), 0);
        let now: HashSet<&str> = now.lines().collect();
        let (mut all, mut still) = (0, 0);
        for note in self.table.notes(key, generation)? {
            let Ok(path) = VaultPath::new(note.path) else { continue };
            let Some((bytes, _)) = files.read(&path)? else { continue };
            let text = String::from_utf8_lossy(&bytes);
            // What is before the heading it says of itself.
            let said = text.split_once("\n# ").and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(_, said)| said);
            for line in said.lines().filter(|line| !line.trim().is_empty()) {
                all += 1;
                still += usize::from(now.contains(line));
            }
        }
        Ok(all > 0 && still * 2 >= all)
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
        self.writer(files, &asked, &self.entry.collection(), (key, generation), transcript).write(about)
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
