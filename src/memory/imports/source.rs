//! A source, from its files to what is handed over: one file, those of a folder, or those of a zip archive, one after the other. What they are
//! called there is a name and no path. And one session of another program, read as a whole.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;
use walkdir::WalkDir;
use zip::ZipArchive;

use super::clean::is_program;
use super::conversations::{NO_JSON, TOO_LONG, of_chatgpt, of_claude, transcript};
use super::json::elements;
use super::kinds::{BESIDE, FILES, HEAD_BYTES, SourceKind, bookmarks, is_markdown, note, notes_in, seems, stem};
use super::sink::{CUT_TURNS, ImportItem, ImportSink, MAX_NOTE_BYTES, ReadConversation};
use crate::vault::disk::Stamp;

/// Maximum length of a file of bookmarks, in bytes: it is read as a whole.
const MAX_BOOKMARKS_BYTES: u64 = 64 << 20;
/// Reads a source, of a folder those files alone for which `only` holds, given what they are called below it, and hands what is in it to
/// `sink`.
///
/// # Errors
/// When it cannot be opened, or has no file of the kind, as a sentence.
pub(crate) fn read(
    kind: SourceKind,
    path: &Path,
    only: &dyn Fn(&str) -> bool,
    sink: &mut ImportSink<'_>,
) -> Result<(), String> {
    let SourceFiles { wanted, unwanted, has, vault } = each_file(kind, path, only, sink)?;
    if wanted > 0 {
        return Ok(());
    }
    let has = has.or_else(|| {
        let what = if unwanted == 0 { "only a vault" } else { "a vault" };
        Some(format!("{what}, `{}`, which is left out: to import it, name that folder", vault?))
    });
    let has = has.map(|has| format!("; it has {has}")).unwrap_or_default();
    Err(format!("there is nothing of `{}` in {}: it takes {}{has}", kind.name(), path.display(), kind.takes()))
}

/// Reads a file of a source, and says what it seems to be where nothing came of it. A conversation that says no name is called by when it began
/// and what was said first: another of the same file, or in a file of the same name, is another. A session is called as its file is.
pub(super) fn one(kind: SourceKind, file: FoundFile<'_>, sink: &mut ImportSink<'_>) {
    let (stem, name, at_ms) = (file.session_stem(kind), file.name, file.at_ms);
    let came = |sink: &ImportSink<'_>| (sink.tally.turns, sink.tally.bookmarks, sink.tally.notes);
    let before = came(sink);
    // What it begins with is kept, to say what it seems to be; what cannot be read of it is said below.
    let mut head = Vec::new();
    let _ = Read::take(&mut *file.from, HEAD_BYTES).read_to_end(&mut head);
    let mut from = head.as_slice().chain(&mut *file.from);
    let mut give = |mut conversation: ReadConversation, sink: &mut ImportSink<'_>| {
        if conversation.session.is_none() {
            let beginning = || conversation.beginning();
            conversation.session = Some(match kind {
                _ if sink.is_session => stem.clone(),
                SourceKind::ChatGpt | SourceKind::Claude => beginning(),
                _ => format!("{stem}-{}", &beginning()[..12]),
            });
        }
        conversation.at_ms = conversation.at_ms.or(at_ms);
        sink.conversation(kind, conversation);
    };
    match kind {
        SourceKind::ChatGpt | SourceKind::Claude => export(kind, &mut from, &name, sink, &mut give),
        SourceKind::ClaudeCode | SourceKind::Codex | SourceKind::OpenClaw | SourceKind::Moltis => {
            let conversations = transcript(kind, &mut from, (&name, &stem), sink);
            conversations.into_iter().for_each(|conversation| give(conversation, sink));
        }
        SourceKind::Bookmarks => {
            if let Some(bytes) = whole(&mut from, MAX_BOOKMARKS_BYTES, &name, sink) {
                if bytes.len() as u64 > MAX_BOOKMARKS_BYTES {
                    sink.remark(format!("{name} has more than 64 MB: the rest was left out"));
                }
                bookmarks(&String::from_utf8_lossy(&bytes), sink);
            }
        }
        kind => {
            if let Some(bytes) = whole(&mut from, MAX_NOTE_BYTES as u64, &name, sink) {
                note(kind, &file.place, &name, &bytes, sink);
            }
        }
    }
    if came(sink) == before && !kind.is_of_notes() && !sink.is_over() {
        kind.refusal(&name, &head).into_iter().for_each(|refusal| sink.remark(refusal));
    }
}

/// What a file is that somebody hands over without saying it: by how it begins, an archive by the names in it. `None` where nothing tells it.
pub(crate) fn kind_of_file(path: &Path) -> Option<SourceKind> {
    let begin = |from: &mut dyn Read| {
        let mut head = Vec::new();
        from.take(HEAD_BYTES).read_to_end(&mut head).ok().map(|_| head)
    };
    let mut file = File::open(path).ok()?;
    let head = begin(&mut file)?;
    if !head.starts_with(b"PK\x03\x04") {
        return seems(&path.file_name()?.to_string_lossy(), &head);
    }
    let mut archive = ZipArchive::new(file).ok()?;
    let names: Vec<String> = archive.file_names().filter(|name| !name.ends_with('/')).map(str::to_owned).collect();
    if let Some(export) = names.iter().find(|name| SourceKind::ChatGpt.why_not(name).is_none()) {
        return seems(export, &begin(&mut archive.by_name(export).ok()?)?);
    }
    if let Some(session) = names.iter().find(|name| name.ends_with(".jsonl") && !is_beside_session(name)) {
        return seems(session, &begin(&mut archive.by_name(session).ok()?)?);
    }
    notes_in(&names)
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

/// The conversations of an export, one after the other.
fn export<'s>(
    kind: SourceKind,
    from: impl Read,
    name: &str,
    sink: &mut ImportSink<'s>,
    give: &mut dyn FnMut(ReadConversation, &mut ImportSink<'s>),
) {
    let is_cut = elements(from, &mut |value| {
        match value {
            Ok(value) => {
                let read = match kind {
                    SourceKind::ChatGpt => of_chatgpt(&value, sink),
                    _ => of_claude(&value, sink),
                };
                match read {
                    Some(conversation) => give(conversation, sink),
                    None => sink.leave_out("conversations in an unknown format"),
                }
            }
            Err(reason) => sink.leave_out(reason),
        }
        if sink.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if is_cut {
        sink.remark(format!("{name} is incomplete: its complete part was read"));
    }
}

/// A file that was found.
pub(super) struct FoundFile<'f> {
    /// What it is called, with the folders that it is in, below the source.
    pub(super) name: String,
    /// Where it is: the path of the file, or that of the archive with the name in it.
    pub(super) place: String,
    /// When it was changed, in milliseconds since 1970.
    pub(super) at_ms: Option<i64>,
    pub(super) from: &'f mut dyn Read,
}

impl FoundFile<'_> {
    /// What a session is called by its file. Moltis has it in the folders around `history.jsonl`, in hexadecimal.
    pub(super) fn session_stem(&self, kind: SourceKind) -> String {
        let in_folders = || {
            let folders = self.name.strip_suffix("/history.jsonl")?;
            let folders: Vec<&str> = folders.split('/').collect();
            let at = folders.iter().rposition(|name| name.starts_with('k'))?;
            from_hex(&folders[at..].concat()[1..])
        };
        let in_folders = (kind == SourceKind::Moltis).then(in_folders).flatten();
        in_folders.unwrap_or_else(|| stem(&self.name).to_owned())
    }
}

/// A text of its bytes in hexadecimal.
fn from_hex(digits: &str) -> Option<String> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// What files a source has.
#[derive(Debug, Default)]
struct SourceFiles {
    /// How many were wanted.
    wanted: usize,
    /// How many were not.
    unwanted: usize,
    /// What it has instead, as a sentence says it.
    has: Option<String>,
    /// A folder of it that is a vault, by its name.
    vault: Option<String>,
}

impl SourceFiles {
    /// Whether a file is wanted; counts it, and why it is not.
    fn wants(&mut self, kind: SourceKind, name: &str, sink: &mut ImportSink<'_>) -> bool {
        let Some(reason) = kind.why_not(name) else {
            self.wanted += 1;
            return true;
        };
        sink.leave_out(reason);
        self.unwanted += 1;
        if self.has.is_none() && reason == BESIDE {
            self.has = Some(BESIDE.into());
        } else if self.has.is_none() {
            let takes = SourceKind::ALL.into_iter().filter(|kind| kind.why_not(name).is_none());
            let takes: Vec<&str> = takes.map(SourceKind::name).collect();
            let file = name.rsplit('/').next().unwrap_or_default();
            self.has = (!takes.is_empty()).then(|| format!("{file}: try --from {}", takes.join(" or ")));
        }
        false
    }

    /// Reads a file of a folder, if it is wanted.
    fn read(&mut self, kind: SourceKind, file: &Path, name: &str, sink: &mut ImportSink<'_>) {
        if !self.wants(kind, name, sink) {
            return;
        }
        match File::open(file) {
            Ok(mut from) => {
                let at_ms = from.metadata().ok().map(|meta| changed_ms(&meta));
                let place = file.to_string_lossy().into_owned();
                one(kind, FoundFile { name: name.to_owned(), place, at_ms, from: &mut from }, sink);
            }
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("{name} cannot be read: {error}"));
            }
        }
    }
}

/// Whether a file is in a folder, or has a name, that programs keep hidden: `.obsidian`, `.trash`, what macOS puts into archives.
pub(super) fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part == "__MACOSX" || (part.starts_with('.') && !matches!(part, "." | "..")))
}

/// Whether a file is a copy that OpenClaw lays beside a session, or a session that it has put away, by its name: with or without folders.
pub(crate) fn is_beside_session(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.ends_with(".trajectory.jsonl")
        || [".checkpoint.", ".deleted.", ".reset."].iter().any(|mark| name.contains(mark))
}

/// Maximum number of folders within one another.
const MAX_DEPTH: usize = 32;
/// The folder that every vault has.
const VAULT_DIR: &str = ".vault";
/// Why a folder below a source is left out that is a vault.
const A_VAULT: &str = "this vault or another one";
/// Why what a link leads to is left out.
const A_LINK: &str = "links, which are not followed";
/// Why a folder is left out that lies deeper than folders are looked into.
const TOO_DEEP: &str = "folders more than 32 levels deep";

/// Reads each file of a kind, of a folder those alone for which `only` holds.
///
/// # Errors
/// When the source cannot be opened, is neither a file nor a folder, or a file that is none of the kind.
fn each_file(
    kind: SourceKind,
    path: &Path,
    only: &dyn Fn(&str) -> bool,
    sink: &mut ImportSink<'_>,
) -> Result<SourceFiles, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let meta = fs::metadata(path).map_err(failed)?;
    // By whatever way it was named.
    let place = path.canonicalize().map_err(failed)?;
    if meta.is_dir() {
        fs::read_dir(&place).map_err(failed)?;
        return Ok(of_folder(kind, &place, only, sink));
    }
    // A pipe would be waited for.
    if !meta.is_file() {
        return Err(format!("{} is neither a file nor a folder", path.display()));
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let at_ms = Some(changed_ms(&meta));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if head.starts_with(b"PK\x03\x04") {
        let mut files = Ok(SourceFiles::default());
        sink.of_file(&name, |sink| files = of_zip(kind, file, &place, at_ms, sink));
        return files;
    }
    // What is in a file tells it, but for notes: any text could be one.
    if kind.is_of_notes() && !is_markdown(&name) {
        return Err(kind.refusal(&path.display().to_string(), &head).unwrap_or_default());
    }
    let place = place.to_string_lossy().into_owned();
    let found = FoundFile { name: name.clone(), place, at_ms, from: &mut file };
    sink.of_file(&name, |sink| one(kind, found, sink));
    Ok(SourceFiles { wanted: 1, ..SourceFiles::default() })
}

/// Reads the wanted files of a folder: none that is hidden, none by way of a link, and none of a vault below it: what comes into that would be
/// imported again, without an end.
fn of_folder(kind: SourceKind, path: &Path, only: &dyn Fn(&str) -> bool, sink: &mut ImportSink<'_>) -> SourceFiles {
    let mut files = SourceFiles::default();
    let name_of = |file: &Path| file.strip_prefix(path).unwrap_or(file).to_string_lossy().into_owned();
    let mut entries = WalkDir::new(path).min_depth(1).sort_by_file_name().into_iter();
    while let Some(entry) = entries.next().filter(|_| !sink.is_over()) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let name = name_of(error.path().unwrap_or(path));
                if only(&name) {
                    sink.leave_out("folders that cannot be read");
                    sink.remark(format!("{name} cannot be read: {error}"));
                }
                continue;
            }
        };
        let (file, is) = (entry.path(), entry.file_type());
        let name = name_of(file);
        let left_out = if is_hidden(&entry.file_name().to_string_lossy()) {
            None
        } else if is.is_file() {
            if only(&name) {
                sink.of_file(&name, |sink| files.read(kind, file, &name, sink));
            }
            continue;
        } else if is.is_symlink() {
            Some(A_LINK)
        } else if !is.is_dir() {
            Some(FILES)
        } else if file.join(VAULT_DIR).is_dir() {
            Some(A_VAULT)
        } else if entry.depth() > MAX_DEPTH {
            Some(TOO_DEEP)
        } else {
            continue;
        };
        if is.is_dir() {
            entries.skip_current_dir();
        }
        let Some(reason) = left_out.filter(|_| only(&name)) else { continue };
        sink.leave_out(reason);
        match reason {
            A_VAULT => _ = files.vault.get_or_insert(name),
            _ => files.unwanted += 1,
        }
    }
    files
}

fn changed_ms(meta: &fs::Metadata) -> i64 {
    // Of a file of before 1970 nothing is known.
    (Stamp::of(meta).mtime_ns / 1_000_000).max(0)
}

/// Reads every wanted file of an archive.
///
/// # Errors
/// When the list of its files, which stands at its end, cannot be read.
fn of_zip(
    kind: SourceKind,
    from: impl Read + Seek,
    path: &Path,
    at_ms: Option<i64>,
    sink: &mut ImportSink<'_>,
) -> Result<SourceFiles, String> {
    let mut archive =
        ZipArchive::new(from).map_err(|_| format!("{} is incomplete: download it again", path.display()))?;
    let mut files = SourceFiles::default();
    for at in 0..archive.len() {
        if sink.is_over() {
            break;
        }
        let mut file = match archive.by_index(at) {
            Ok(file) => file,
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("a file of {} cannot be read: {error}", path.display()));
                continue;
            }
        };
        let name = file.name().to_owned();
        let name = if name.contains('/') { name } else { name.replace('\\', "/") };
        // A folder, or what programs keep beside what is yours.
        if name.ends_with('/') || is_hidden(&name) {
            continue;
        }
        if files.wants(kind, &name, sink) {
            // A name in an archive is none of a path, whatever it begins with.
            let place = format!("{}/{name}", path.display());
            one(kind, FoundFile { name, place, at_ms, from: &mut file }, sink);
        }
    }
    Ok(files)
}

/// What is left out of a session although somebody may have said it: that is told.
const LOST: [&str; 3] = [TOO_LONG, NO_JSON, CUT_TURNS];

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionTurn {
    /// Who speaks.
    pub(crate) role: String,
    /// When; where the session does not say it, when its file was changed.
    pub(crate) at: Option<Timestamp>,
    /// What was said; empty where it turned out to be a thought.
    pub(crate) text: String,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionTranscript {
    /// Whose it is.
    pub(crate) kind: SourceKind,
    /// What the program calls it.
    pub(crate) id: String,
    /// Its title, where it has one.
    pub(crate) title: Option<String>,
    /// Its turns, in their order.
    pub(crate) turns: Vec<SessionTurn>,
    /// What was not understood of it, as sentences.
    pub(crate) remarks: Vec<String>,
}

impl SessionTranscript {
    /// Its name among the sessions of all programs.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.kind.name(), self.id)
    }
}

/// Reads the session of the file at `path`, which was changed at `at_ms`, in milliseconds since 1970. Of one that has those before it
/// too, its own.
pub(crate) fn session(kind: SourceKind, path: &Path, at_ms: Option<i64>, from: &mut dyn Read) -> SessionTranscript {
    // In the order of their turns, each with what it is called. A record that was written twice is one, as with an import.
    let mut found: Vec<(String, Option<String>, Vec<SessionTurn>)> = Vec::new();
    let mut ids = HashSet::new();
    let mut take = |item: ImportItem| {
        let ImportItem::Event(event) = item else { return ControlFlow::Continue(()) };
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        let session = text("session").unwrap_or_default();
        if !ids.insert((session.clone(), text("id"))) {
            return ControlFlow::Continue(());
        }
        let at = event["time"].as_str().and_then(|time| time.parse().ok());
        let turn = SessionTurn { role: text("role").unwrap_or_default(), at, text: text("text").unwrap_or_default() };
        match found.iter_mut().find(|(name, ..)| *name == session) {
            Some((.., turns)) => turns.push(turn),
            None => found.push((session, text("title"), vec![turn])),
        }
        ControlFlow::Continue(())
    };
    let mut sink = ImportSink::new(&mut take);
    sink.is_session = true;
    let name = path.to_string_lossy().into_owned();
    let file = FoundFile { place: name.clone(), name, at_ms, from };
    let stem = file.session_stem(kind);
    one(kind, file, &mut sink);
    let mut remarks = std::mem::take(&mut sink.tally.remarks);
    let lost = LOST.iter().filter_map(|reason| sink.tally.left_out.get(*reason).map(|times| (times, reason)));
    remarks.extend(lost.map(|(times, reason)| format!("left out: {times} × {reason}")));
    let own_name =
        |session: &str| session.strip_prefix(kind.name()).and_then(|id| id.strip_prefix('/')).map(str::to_owned);
    let own = found.iter().position(|(session, ..)| own_name(session).as_ref().unwrap_or(session) == &stem);
    let most = (0..found.len()).max_by_key(|at| found[*at].2.len());
    let Some((session, title, mut turns)) = own.or(most).map(|at| found.swap_remove(at)) else {
        return SessionTranscript { kind, id: stem, title: None, turns: Vec::new(), remarks };
    };
    if !turns.iter().any(|turn| !turn.text.is_empty() && !is_program(&turn.role)) {
        turns.clear();
    }
    SessionTranscript { kind, id: own_name(&session).unwrap_or(session), title, turns, remarks }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_copy_is_told_by_its_name_and_not_by_its_folder() {
        for name in [
            "s.trajectory.jsonl",
            "a/b/s.checkpoint.7.jsonl",
            "s.jsonl.reset.2026-01-05T10-00-00.000Z",
            "s.jsonl.deleted.2026-01-05T10-00-00.000Z",
        ] {
            assert!(is_beside_session(name), "{name}");
        }
        for name in ["s.jsonl", "my.reset.folder/s.jsonl", "checkpoint.jsonl", "trajectory.jsonl", ""] {
            assert!(!is_beside_session(name), "{name}");
        }
    }

    #[test]
    fn a_session_is_read_as_one() {
        let lines = "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2025-10-01T10:00:00Z\"}\n\
             {\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"Grüß dich \u{1f44b}\"}}\n\
             {\"type\":\"message\",\"id\":\"b\",\"message\":{\"role\":\"system\",\"content\":\"x\"}}\n\
             {\"type\":\"message\",\"id\":\"c\",\"message\":{\"role\":\"assistant\",\"content\":\"NO_RE";
        let read = |text: &str| session(SourceKind::OpenClaw, Path::new("/x/s1.jsonl"), None, &mut text.as_bytes());
        let found = read(lines);
        assert_eq!((found.name().as_str(), found.turns.len()), ("openclaw/s1", 1));
        assert_eq!(found.turns[0].text, "Grüß dich \u{1f44b}");
        let grown = read(&format!(
            "{lines}PLY\"}}}}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"no\"}}}}\n"
        ));
        assert_eq!(grown.turns.len(), 2);
        assert!(read("").turns.is_empty());
    }

    #[test]
    fn a_record_that_was_written_twice_is_one_turn() {
        let line = |id: &str| {
            json!({"type": "message", "id": id, "message": {"role": "user", "content": "yes"}}).to_string() + "\n"
        };
        let text = line("a") + &line("b") + &line("a");
        let found = session(SourceKind::OpenClaw, Path::new("/x/s1.jsonl"), None, &mut text.as_bytes());
        assert_eq!(found.turns.len(), 2);
    }

    #[test]
    fn of_one_that_goes_on_with_another_its_own_turns_count() {
        let line = |session: &str, text: &str| {
            format!(
                "{}\n",
                json!({ "type": "user", "sessionId": session, "uuid": text, "message": { "role": "user", "content": text } })
            )
        };
        let text = line("one", "before") + &line("one", "before that") + &line("two", "now");
        let found = session(SourceKind::ClaudeCode, Path::new("/x/two.jsonl"), None, &mut text.as_bytes());
        assert_eq!((found.id.as_str(), found.turns.len()), ("two", 1));
    }

    #[test]
    fn moltis_has_the_name_of_a_session_in_its_folder() {
        let text = "{\"role\":\"user\",\"content\":\"hi\"}\n";
        let of = |path: &str| session(SourceKind::Moltis, Path::new(path), None, &mut text.as_bytes()).id;
        assert_eq!(of("/s/v1/k73657373696f6e3a61/history.jsonl"), "session:a");
        assert_eq!(of("/s/v1/k73657373/696f6e3a61/history.jsonl"), "session:a");
        assert_eq!(of("/s/main.jsonl"), "main");
    }
}
