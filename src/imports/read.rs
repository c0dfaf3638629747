//! A source, from its files to what is handed over.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::elements::{Ending, elements};
use super::found::{FoundFile, SourceFiles, unwanted};
use super::held::NotHeld;
use super::item::{ImportReadError, SourceKind};
use super::parts::{BESIDE, is_beside_session};
use super::seems::{HEAD_BYTES, Seeming, seems};
use super::sink::{ImportSink, MAX_NOTE_BYTES, ReadConversation};
use super::unpack::each_file;
use super::{bookmarks, chat_lines, chatgpt, claude, claude_code, codex, markdown};

/// Maximum length of a file of bookmarks, in bytes: it is read as a whole.
const MAX_BOOKMARKS_BYTES: u64 = 64 << 20;
/// Why a conversation is left out that is too long.
const TOO_LONG: &str = "conversations of more than 64 MB, or that would take more than 256 MB of memory";

/// What a conversation is called that says no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unnamed {
    /// As its file is.
    ByFile,
    /// By when it began and what was said first: another of the same file, or in a file of the same name, is another.
    ByBeginning,
}

/// Reads a source, and hands what is in it to `sink`; `bytes` counts what was read.
///
/// # Errors
/// When it cannot be opened, or has no file of the kind.
pub(crate) fn read(
    kind: SourceKind,
    path: &Path,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'_>,
) -> Result<(), ImportReadError> {
    read_some(kind, path, &|_| true, bytes, sink)
}

/// The same of those files of a folder alone for which `only` holds, given what they are called below it.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_some(
    kind: SourceKind,
    path: &Path,
    only: &dyn Fn(&str) -> bool,
    bytes: &Rc<Cell<u64>>,
    sink: &mut ImportSink<'_>,
) -> Result<(), ImportReadError> {
    let why_not = |name: &str| why_not(kind, name);
    let alone = |name: &str, seeming: Option<Seeming>| {
        // What is in a file tells it, but for notes: any text could be one.
        if !is_note_kind(kind) || markdown::is_markdown(name) {
            return Ok(());
        }
        let seems = seeming.map_or_else(|| "is no note".into(), |seeming| format!("seems to be {}", seeming.said()));
        Err(ImportReadError::OtherKind { kind: kind.name(), path: path.to_owned(), takes: takes(kind), seems })
    };
    let mut each = |file: FoundFile<'_>, sink: &mut ImportSink<'_>| one(kind, Unnamed::ByBeginning, file, sink);
    let found = each_file(path, &why_not, &alone, only, bytes, sink, &mut each)?;
    let (kind, path, takes) = (kind.name(), path.to_owned(), takes(kind));
    match found.wanted {
        0 => Err(ImportReadError::Nothing { kind, path, takes, seems: instead(&found) }),
        _ => Ok(()),
    }
}

/// What a source has in which nothing is wanted: the end of a sentence, or nothing.
fn instead(found: &SourceFiles) -> String {
    if let Some(other) = &found.other {
        return format!("; it has {other}{}", tried(other));
    }
    if found.has_copies {
        return format!("; it has {BESIDE}");
    }
    let Some(vault) = &found.vault else { return String::new() };
    let what = if found.unwanted == 0 { "nothing but a vault" } else { "a vault" };
    format!("; it has {what}, `{vault}`, which is left out: name that folder itself to bring in what is in it")
}

/// What to try where there is a file of this name.
fn tried(name: &str) -> &'static str {
    match name {
        name if name.starts_with("conversations") => ": try --from chatgpt or --from claude",
        name if name.starts_with("rollout-") => ": try --from codex",
        name if name.ends_with(".jsonl") => ": try --from claude-code, openclaw or moltis",
        name if markdown::is_markdown(name) => ": try --from folder",
        _ => "",
    }
}

fn is_note_kind(kind: SourceKind) -> bool {
    use SourceKind::{Folder, Logseq, MoltisMemory, Notion, Obsidian, OpenClawMemory};
    matches!(kind, Obsidian | Folder | Notion | Logseq | MoltisMemory | OpenClawMemory)
}

/// Why a file of a folder or an archive is not read; `None` where it is.
fn why_not(kind: SourceKind, name: &str) -> Option<&'static str> {
    use SourceKind::{ClaudeCode, Codex, Moltis, OpenClaw};
    if matches!(kind, ClaudeCode | Codex | Moltis | OpenClaw) && is_beside_session(name) {
        return Some(BESIDE);
    }
    (!wants(kind, name)).then(|| unwanted(name))
}

/// Whether a file is one of a kind of source.
fn wants(kind: SourceKind, name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    match kind {
        SourceKind::ChatGpt | SourceKind::Claude => file.starts_with("conversations") && file.ends_with(".json"),
        SourceKind::Codex => file.starts_with("rollout-") && file.ends_with(".jsonl"),
        SourceKind::ClaudeCode | SourceKind::OpenClaw | SourceKind::Moltis => file.ends_with(".jsonl"),
        SourceKind::Bookmarks => file.to_ascii_lowercase().ends_with(".html"),
        _ => markdown::is_note(kind, name),
    }
}

fn takes(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::ChatGpt | SourceKind::Claude => "the zip as downloaded, its folder, or conversations.json",
        SourceKind::ClaudeCode => "~/.claude/projects, a folder of it, or a .jsonl of it",
        SourceKind::Codex => "~/.codex/sessions, or a rollout-….jsonl of it",
        SourceKind::OpenClaw | SourceKind::Moltis => "a folder of sessions, or a .jsonl of it",
        SourceKind::Bookmarks => "the .html that a browser exports",
        SourceKind::Logseq => "a graph, with the folders pages and journals",
        SourceKind::MoltisMemory | SourceKind::OpenClawMemory => "a folder with MEMORY.md or memory/",
        SourceKind::Obsidian | SourceKind::Folder | SourceKind::Notion => "a folder or zip of Markdown files",
    }
}

/// Reads a file of a source, and says what it seems to be where nothing came of it. A conversation that says no name is called as `unnamed` says.
pub(super) fn one(kind: SourceKind, unnamed: Unnamed, file: FoundFile<'_>, sink: &mut ImportSink<'_>) {
    let (stem, name, at_ms) = (file.session_stem(kind), file.name, file.at_ms);
    let came = |sink: &ImportSink<'_>| (sink.tally.turns, sink.tally.bookmarks, sink.tally.notes);
    let before = came(sink);
    let mut from = HeadReader { from: file.from, head: Vec::new() };
    let mut give = |mut conversation: ReadConversation, sink: &mut ImportSink<'_>| {
        if conversation.session.is_none() {
            let beginning = || conversation.beginning();
            conversation.session = Some(match (unnamed, kind) {
                (Unnamed::ByFile, _) => stem.clone(),
                (Unnamed::ByBeginning, SourceKind::ChatGpt | SourceKind::Claude) => beginning(),
                (Unnamed::ByBeginning, _) => format!("{stem}-{}", &beginning()[..12]),
            });
        }
        conversation.at_ms = conversation.at_ms.or(at_ms);
        sink.conversation(kind, conversation);
    };
    match kind {
        SourceKind::ChatGpt | SourceKind::Claude => export(kind, &mut from, &name, sink, &mut give),
        SourceKind::ClaudeCode => {
            for conversation in claude_code::conversations(&mut from, &name, &stem, sink) {
                give(conversation, sink);
            }
        }
        SourceKind::Codex => give(codex::conversation(&mut from, &name, &stem, sink), sink),
        SourceKind::OpenClaw | SourceKind::Moltis => give(chat_lines::conversation(&mut from, &name, sink), sink),
        SourceKind::Bookmarks => {
            if let Some(bytes) = whole(&mut from, MAX_BOOKMARKS_BYTES, &name, sink) {
                if bytes.len() as u64 > MAX_BOOKMARKS_BYTES {
                    sink.remark(format!("{name} has more than 64 MB: what is behind them was left out"));
                }
                bookmarks::bookmarks(&String::from_utf8_lossy(&bytes), sink);
            }
        }
        kind => {
            if let Some(bytes) = whole(&mut from, MAX_NOTE_BYTES as u64, &name, sink) {
                markdown::note(kind, &file.place, &name, &bytes, sink);
            }
        }
    }
    if came(sink) == before && !is_note_kind(kind) && !sink.is_over() {
        say_what_it_is(kind, &name, &from.head, sink);
    }
}

/// The bytes of a file, and one more where there are more than `max`.
fn whole(from: &mut dyn Read, max: u64, name: &str, sink: &mut ImportSink<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match from.take(max + 1).read_to_end(&mut bytes) {
        Ok(_) => Some(bytes),
        Err(error) => {
            sink.leave_out("files that cannot be read");
            sink.remark(format!("{name} cannot be read: {error}"));
            None
        }
    }
}

/// Says what a file seems to be of which nothing came, where that is not what it should be.
fn say_what_it_is(kind: SourceKind, name: &str, head: &[u8], sink: &mut ImportSink<'_>) {
    let takes = takes(kind);
    match seems(name, head) {
        Some(seeming) if seeming.is_of(kind) => {}
        Some(seeming) => sink.remark(format!("{name} seems to be {}", seeming.said())),
        None if head.trim_ascii().is_empty() => sink.remark(format!("{name} is empty")),
        None => sink.remark(format!("{name} is nothing of `{}`: it takes {takes}", kind.name())),
    }
}

/// A file, and what it began with.
struct HeadReader<'f> {
    from: &'f mut dyn Read,
    head: Vec<u8>,
}

impl Read for HeadReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        let room = (HEAD_BYTES as usize).saturating_sub(self.head.len());
        self.head.extend_from_slice(&into[..read.min(room)]);
        Ok(read)
    }
}

/// The conversations of an export, one after the other.
fn export<'s>(
    kind: SourceKind,
    from: &mut HeadReader<'_>,
    name: &str,
    sink: &mut ImportSink<'s>,
    give: &mut dyn FnMut(ReadConversation, &mut ImportSink<'s>),
) {
    let ending = elements(from, &mut |value| {
        match value {
            Ok(value) => {
                let read = match kind {
                    SourceKind::ChatGpt => chatgpt::conversation(&value, sink),
                    _ => claude::conversation(&value, sink),
                };
                match read {
                    Some(conversation) => give(conversation, sink),
                    None => not_a_conversation(kind, name, &value, sink),
                }
            }
            Err(NotHeld::TooLarge) => sink.leave_out(TOO_LONG),
            Err(NotHeld::Broken) => sink.leave_out("conversations that cannot be read"),
        }
        if sink.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match ending {
        // What is no JSON is something else, which is said.
        Ending::Whole | Ending::Strange => {}
        Ending::Cut => sink.remark(format!("{name} was cut short: what was whole of it was read")),
    }
}

fn not_a_conversation(kind: SourceKind, name: &str, value: &Value, sink: &mut ImportSink<'_>) {
    sink.leave_out("what is no conversation of a shape that is known");
    let seeming = match kind {
        SourceKind::ChatGpt if value["chat_messages"].is_array() => {
            Seeming { what: "an export of Claude", kind: Some(SourceKind::Claude) }
        }
        SourceKind::Claude if value["mapping"].is_object() => {
            Seeming { what: "an export of ChatGPT", kind: Some(SourceKind::ChatGpt) }
        }
        _ => return,
    };
    sink.remark(format!("{name} seems to be {}", seeming.said()));
}

/// Maximum number of remarks that are kept.
const MAX_REMARKS: usize = 20;

/// What was found, and what of it was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImportTally {
    /// Conversations that have a turn.
    pub conversations: usize,
    /// Turns.
    pub turns: usize,
    /// Pages.
    pub bookmarks: usize,
    /// Notes.
    pub notes: usize,
    /// How often something was left out, by the reason.
    pub left_out: BTreeMap<String, usize>,
    /// What else there is to say, as sentences.
    pub remarks: Vec<String>,
}

impl ImportTally {
    /// Keeps a remark, where it is new and there are few.
    pub(super) fn remark(&mut self, remark: String) {
        if self.remarks.len() < MAX_REMARKS && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Adds what was found later.
    pub(crate) fn add(&mut self, later: Self) {
        self.conversations += later.conversations;
        self.turns += later.turns;
        self.bookmarks += later.bookmarks;
        self.notes += later.notes;
        for (reason, times) in later.left_out {
            *self.left_out.entry(reason).or_default() += times;
        }
        later.remarks.into_iter().for_each(|remark| self.remark(remark));
    }
}
