//! A source, from its files to what is handed over.

use std::cell::Cell;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::elements::{Ending, elements};
use super::error::ImportReadError;
use super::kind::SourceKind;
use super::sink::{ImportSink, ReadConversation};
use super::unpack::{FoundFile, each_file};
use super::{bookmarks, chat_lines, chatgpt, claude, claude_code, codex, markdown};

/// Maximum length of a file that is read as a whole.
const MAX_WHOLE_BYTES: u64 = 256 << 20;

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
    let source = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let source = source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Each download of an export is called otherwise.
    let source = if kind == SourceKind::Notion { "notion" } else { &source };
    let wants = |name: &str| wants(kind, name);
    let found = each_file(path, &wants, only, bytes, sink, &mut |file, sink| one(kind, source, file, sink))?;
    if found == 0 {
        return Err(ImportReadError::Nothing { kind: kind.name(), path: path.to_owned(), takes: takes(kind) });
    }
    Ok(())
}

/// Whether a file of a folder or an archive is read.
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

/// Reads a file of a source.
pub(super) fn one(kind: SourceKind, source: &str, file: FoundFile<'_>, sink: &mut ImportSink<'_>) {
    let (name, stem, at_ms) = (file.name.clone(), file.session_stem(kind), file.at_ms);
    let mut give = |mut conversation: ReadConversation, sink: &mut ImportSink<'_>| {
        conversation.at_ms = conversation.at_ms.or(at_ms);
        sink.conversation(kind, conversation);
    };
    match kind {
        SourceKind::ChatGpt | SourceKind::Claude => export(kind, file, sink, &mut give),
        SourceKind::ClaudeCode => {
            for conversation in claude_code::conversations(file.from, &name, &stem, sink) {
                give(conversation, sink);
            }
        }
        SourceKind::Codex => give(codex::conversation(file.from, &name, &stem, sink), sink),
        SourceKind::OpenClaw | SourceKind::Moltis => {
            give(chat_lines::conversation(file.from, &name, &stem, sink), sink)
        }
        _ => {
            let mut bytes = Vec::new();
            if let Err(error) = file.from.take(MAX_WHOLE_BYTES).read_to_end(&mut bytes) {
                sink.leave_out("files that cannot be read");
                return sink.remark(format!("{name} cannot be read: {error}"));
            }
            match kind {
                SourceKind::Bookmarks => bookmarks::bookmarks(&String::from_utf8_lossy(&bytes), sink),
                kind => markdown::note(kind, source, &name, &bytes, sink),
            }
        }
    }
}

/// The conversations of an export, one after the other.
fn export<'s>(
    kind: SourceKind,
    file: FoundFile<'_>,
    sink: &mut ImportSink<'s>,
    give: &mut dyn FnMut(ReadConversation, &mut ImportSink<'s>),
) {
    let name = file.name;
    let ending = elements(file.from, &mut |value| {
        let read = value.as_ref().and_then(|value| match kind {
            SourceKind::ChatGpt => chatgpt::conversation(value, sink),
            _ => claude::conversation(value, sink),
        });
        match (read, value) {
            (Some(conversation), _) => give(conversation, sink),
            (None, Some(value)) => not_a_conversation(kind, &value, sink),
            (None, None) => sink.leave_out("conversations that cannot be read"),
        }
        if sink.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match ending {
        Ending::Whole => {}
        Ending::Cut => sink.remark(format!("{name} was cut short: what was whole of it was read")),
        Ending::Strange => sink.remark(format!("{name} is no JSON: nothing of it was read")),
    }
}

fn not_a_conversation(kind: SourceKind, value: &Value, sink: &mut ImportSink<'_>) {
    sink.leave_out("what is no conversation of a shape that is known");
    let other = match kind {
        SourceKind::ChatGpt if value["chat_messages"].is_array() => "claude",
        SourceKind::Claude if value["mapping"].is_object() => "chatgpt",
        _ => return,
    };
    sink.remark(format!("it looks like an export of another program: try --from {other}"));
}
