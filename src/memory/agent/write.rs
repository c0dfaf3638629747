//! Writes what an agent remembers, takes it out again, and undoes either; and which files of an agent's folder it may write.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::edit::{EditError, with_content, without_text};
use super::forget::delete_chunk;
use super::read::{get, own_file};
use crate::access::request::{ErrorKind, MemoryWriter, RequestError, now, text};
use crate::access::rules::{self as access, MemoryMode};
use crate::base::fence::without_fenced;
use crate::base::path::{VaultPath, folded};
use crate::base::redact::redact;
use crate::serve::wire::{
    MemoryChange, MemoryDeleteParams, MemoryFlushParams, MemoryGetParams, MemoryRestoreParams, MemorySaveParams,
    SaveParams, Saved,
};
use crate::text::derive::facts::{Fact, FactsFile};
use crate::text::derive::words::fold;
use crate::text::derive::{ChunkId, chunk, is_housekeeping, is_silence};
use crate::text::note::Note;
use crate::vault::disk::{Action, CheckpointId, NoteEdit, WriteError, is_folder_name, slug};
use crate::vault::forgotten::{ForgottenLookup, WithoutForgotten};

/// Adds a text to a file of an agent's own memory, or replaces what it says. Returns when it can be found.
///
/// # Errors
/// When it may not write the file, a parameter makes no sense, the agent could not read the
/// file any more, or the disk refuses.
pub(crate) fn save(writer: &MemoryWriter, params: &MemorySaveParams) -> Result<MemoryChange, RequestError> {
    saved(writer, params).map(|(change, _)| change)
}

/// The same, with what the file would say where nothing was written.
///
/// What the person has forgotten for good is left out of what the agent brings, as far as the agent could have read it. It hears success
/// in any case: a refusal would tell it what was forgotten.
fn saved(writer: &MemoryWriter, params: &MemorySaveParams) -> Result<(MemoryChange, Option<String>), RequestError> {
    let path = file_to_write(writer, params.file.as_deref())?;
    let given = text("content", &params.content)?;
    let content = if writer.workspace().redacts() { redact(&given).into_owned() } else { given.clone() };
    let append = params.append.unwrap_or(true);
    let mut made = Map::new();
    made.insert("created".into(), Value::from(now()));
    let redacted = content != given;
    let forgotten = &writer.workspace().forgotten;
    let asked = forgotten.ask()?;
    let left = asked.without(&content, &writer.rights);
    let brought = left.as_ref().map_or(Some(&content), |left| left.text.as_ref());
    let mut would = None;
    let id = rewrite(writer, &path, Action::Edit, content.len(), |existing| {
        // What is refused is so whether it was forgotten or not.
        let all = with_content(existing, &content, append, &made).map_err(|error| refused(&path, error))?;
        let kept = brought.and_then(|kept| with_content(existing, kept, append, &made).ok());
        match kept {
            Some(text) => Ok(NoteEdit::Text(text)),
            None => {
                may_be_long(writer, &path, &all)?;
                would = Some(all);
                Ok(NoteEdit::Left)
            }
        }
    })?;
    drop(asked);
    if let Some(WithoutForgotten { tombstone, .. }) = left {
        forgotten.note(&format!("agent {}", writer.slug), path.as_str(), would.is_some(), tombstone);
    }
    Ok((MemoryChange { redacted, ..changed(writer, "memory_save", &path, &id, would.as_deref()) }, would))
}

/// Deletes a text from a file of an agent's own memory, or the file. Returns when it can no longer be found.
///
/// # Errors
/// As [`save`]; when the text is not there, or more than once.
pub(crate) fn delete(writer: &MemoryWriter, params: &MemoryDeleteParams) -> Result<MemoryChange, RequestError> {
    let whole = params.whole_file.unwrap_or(false);
    if whole && params.file.is_none() {
        return Err(RequestError::invalid("`whole_file` takes a `file`"));
    }
    let text = match (whole, params.text.as_deref()) {
        (true, None) => None,
        (false, Some(text)) if !text.trim().is_empty() => Some(text),
        _ => return Err(RequestError::invalid("give `text`, or `whole_file` and no `text`")),
    };
    let path = file_to_write(writer, params.file.as_deref())?;
    let mut matches = None;
    let id = rewrite(writer, &path, Action::Forget, 0, |existing| {
        let existing = existing.ok_or_else(|| RequestError::no_note(&path))?;
        let Some(text) = text else { return Ok(NoteEdit::Gone) };
        let left = without_text(existing, text, params.all_matches.unwrap_or(false));
        let left = left.map_err(|error| refused(&path, error))?;
        matches = Some(left.matches);
        let goes = left.empty && params.delete_if_empty.unwrap_or(true);
        Ok(if goes { NoteEdit::Gone } else { NoteEdit::Text(left.text) })
    })?;
    Ok(MemoryChange { matches_removed: matches, ..changed(writer, "memory_delete", &path, &id, None) })
}

/// Undoes a change that an agent made to its own memory. Returns when the index agrees.
///
/// # Errors
/// When there is no such change of its own to a file that it may write, the file has changed
/// since, or the disk refuses.
pub(crate) fn restore(writer: &MemoryWriter, params: &MemoryRestoreParams) -> Result<MemoryChange, RequestError> {
    let files = writer.workspace().files()?;
    let absent =
        || RequestError::not_found(format!("none of your changes has the checkpoint {:?}", params.checkpoint_id));
    let id: CheckpointId = params.checkpoint_id.parse().map_err(|_| absent())?;
    let checkpoint = match files.checkpoint(&id) {
        Err(WriteError::NoCheckpoint(_)) => return Err(absent()),
        checkpoint => checkpoint?,
    };
    // What the person took away stays so, whoever guesses the checkpoint's name.
    let is_own = checkpoint.by.as_ref() == Some(&writer.slug);
    let path = match own_name(&writer.slug, &checkpoint.path).filter(|_| is_own) {
        Some(file) => file_to_write(writer, Some(file))?,
        None if is_own && checkpoint.path.as_str() == format!("{}facts.md", folder(&writer.slug)) => {
            let may = matches!(writer.mode, MemoryMode::Hybrid | MemoryMode::SearchOnly) && !writer.is_closed();
            may.then(|| checkpoint.path.clone()).ok_or_else(absent)?
        }
        None => return Err(absent()),
    };
    let act = writer.act(Action::Restore, 0);
    writer.begin()?;
    let forgotten = &writer.workspace().forgotten;
    let asked = forgotten.ask()?;
    let (mut left, mut would) = (None, None);
    let restored = files.restore(
        &id,
        act,
        |_, _, _| false,
        |had, now| {
            let (had, now) = (std::str::from_utf8(had).ok()?, std::str::from_utf8(now).ok()?);
            let without = without_forgotten(writer, &asked, &path, had, now)?;
            would = Some(had.to_owned());
            left.insert(without).text.clone().into()
        },
    );
    let (_, undo) = restored.inspect_err(|_| writer.turn().rest())?;
    drop(asked);
    if let Some(WithoutForgotten { text, tombstone }) = left {
        forgotten.note(&format!("agent {}", writer.slug), path.as_str(), text.is_none(), tombstone);
    }
    Ok(changed(writer, "checkpoint_restore", &path, &undo, would.as_deref()))
}

/// What a file was, without what the person has forgotten for good since, as far as the agent could have read it; `None` where nothing of
/// it was. What the file says now is the person's to take out.
fn without_forgotten(
    writer: &MemoryWriter,
    asked: &ForgottenLookup<'_>,
    path: &VaultPath,
    had: &str,
    now: &str,
) -> Option<WithoutForgotten> {
    let there = FactsFile::read(now);
    let keeps = |fact: Option<&Fact>, part: &str| match fact {
        Some(fact) => there.get(&fact.namespace, &fact.key).is_some_and(|fact| fact.says(part)),
        None => now.contains(part.trim()),
    };
    let of_facts = writer.workspace().fact_store.scope_of(path).is_some();
    asked.without_in_file(had, of_facts, &writer.rights, &keeps)
}

/// The file that is meant, when the agent may write it and would find what it writes.
pub(super) fn file_to_write(writer: &MemoryWriter, file: Option<&str>) -> Result<VaultPath, RequestError> {
    if writer.is_closed() {
        return Err(RequestError::forbidden("your memory is closed in this session")
            .hint("the owner set this in `memory.toml`"));
    }
    let file = file.unwrap_or(default_file(writer.mode));
    let path = writable(&writer.slug, writer.mode, file)?;
    if writer.workspace().hides(&path) {
        let message = format!("`memory.toml`, or its name, excludes `{path}` from what you can read");
        return Err(RequestError::forbidden(message).hint("nothing was written; use another file"));
    }
    Ok(path)
}

/// Refuses a file more than an agent may have.
fn may_make(writer: &MemoryWriter) -> Result<(), RequestError> {
    let Some(limits) = writer.limits() else { return Ok(()) };
    let folder = writer.workspace().home.root().join(folder(&writer.slug));
    let count = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "md")).count()
    };
    // `agent.md` is none of its memory.
    let files = count(&folder).saturating_sub(1) + count(&folder.join("memory"));
    if files < limits.max_files {
        return Ok(());
    }
    let message = format!("your memory has {files} files, the maximum");
    Err(RequestError::forbidden(message).hint("nothing was written; use an existing file, or delete one"))
}

/// Works out what a file says after a change, and writes that over what it said, as often as somebody else was faster.
/// `written` is how many bytes the agent brings.
pub(super) fn rewrite(
    writer: &MemoryWriter,
    path: &VaultPath,
    action: Action,
    written: usize,
    mut change: impl FnMut(Option<&str>) -> Result<NoteEdit, RequestError>,
) -> Result<CheckpointId, RequestError> {
    let workspace = writer.workspace();
    let files = workspace.files()?;
    let scope = writer.own_memory()?;
    if scope.reader().files().at(path.as_str()).is_some_and(|file| !scope.has(file)) {
        return Err(kept(path));
    }
    drop(scope);
    let act = |is_new| writer.act(if is_new { Action::Create } else { action }, written);
    let done = files.edit(path, act, |bytes| {
        let existing = bytes.map(|bytes| as_text(path, bytes)).transpose()?;
        let edit = change(existing)?;
        match &edit {
            NoteEdit::Gone if existing.is_none() => return Err(RequestError::no_note(path)),
            NoteEdit::Text(text) => may_be_long(writer, path, text)?,
            _ => {}
        }
        if existing.is_none() {
            may_make(writer)?;
        }
        writer.begin()?;
        Ok(edit)
    });
    let id = done.inspect_err(|_| writer.turn().rest())?.ok_or_else(|| RequestError::no_note(path))?;
    Ok(id)
}

/// What became of a file that was changed, once the index says so too. The agent hears of the change in any case: what it
/// is not told of it would do again. Where something that was forgotten was left out, it hears what it would have heard of the text as it `would` be.
pub(super) fn changed(
    writer: &MemoryWriter,
    what: &str,
    path: &VaultPath,
    id: &CheckpointId,
    would: Option<&str>,
) -> MemoryChange {
    writer.log_own(what, path.as_str(), Vec::new());
    let settled = writer.workspace().settled_within(path, writer.patience());
    if let Err(error) = &settled {
        tracing::warn!("{error}");
    }
    let of_index = || settled.as_ref().ok().copied().flatten().map_or(0, |(_, chunks)| chunks);
    let of_text = |text: &str| chunk(path, &Note::parse(text, path.stem()), text).len();
    MemoryChange {
        ok: true,
        path: path.to_string(),
        checkpoint_id: id.to_string(),
        checkpoint_id_there: id.to_string(),
        chunks: would.map_or_else(of_index, of_text),
        searchable: settled.is_ok(),
        file_deleted: would.is_none() && path.on_disk(writer.workspace().home.root()).symlink_metadata().is_err(),
        ..MemoryChange::default()
    }
}

/// What a file says, unless the person keeps it from its agent.
fn as_text<'b>(path: &VaultPath, bytes: &'b [u8]) -> Result<&'b str, RequestError> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(RequestError::conflict(format!("`{path}` is not text; nothing was written")));
    };
    if Note::parse(text, path.stem()).is_private() {
        return Err(kept(path));
    }
    Ok(text)
}

fn kept(path: &VaultPath) -> RequestError {
    RequestError::forbidden(format!("you cannot access `{path}`")).hint("nothing was written; use another file")
}

pub(super) fn refused(path: &VaultPath, error: EditError) -> RequestError {
    let kind = match error {
        EditError::Absent => ErrorKind::NotFound,
        EditError::Ambiguous(_) => ErrorKind::Conflict,
        EditError::Private | EditError::Hidden | EditError::Frontmatter => ErrorKind::Invalid,
    };
    RequestError { kind, message: format!("`{path}`: {error}"), hint: Some("nothing was written".into()), now: None }
}

fn may_be_long(writer: &MemoryWriter, path: &VaultPath, text: &str) -> Result<(), RequestError> {
    if text.len() as u64 <= writer.workspace().config.index.max_file_bytes {
        return Ok(());
    }
    let message = format!("`{path}` would have {} bytes, more than are indexed", text.len());
    Err(RequestError::invalid(message).hint("nothing was written; use another file, or delete what you no longer need"))
}

/// Adds a text to `memory/<collection>.md`, or to the file that [`save`](super::write::save) takes, below a heading that is its title; tags and
/// metadata are the person's alone. The hash is then that of its last chunk; zeros where somebody has changed the file since.
///
/// # Errors
/// As [`save`](super::write::save).
pub(crate) fn keep(writer: &MemoryWriter, params: &SaveParams) -> Result<Saved, RequestError> {
    if let Some(name) = params.collection.as_deref().filter(|name| !is_folder_name(name)) {
        return Err(RequestError::invalid(format!("`collection` is {name:?}; it takes the name of a file")));
    }
    let content = match &params.title {
        Some(title) => format!("## {title}\n\n{}", params.content),
        None => params.content.clone(),
    };
    let save = |file| saved(writer, &MemorySaveParams { content: content.clone(), file, append: None });
    let file = params.collection.as_deref().map(|collection| format!("memory/{}.md", slug(collection)));
    let change = match save(file.clone()) {
        // Where the agent may write `MEMORY.md` alone, it goes there.
        Err(error) if error.kind == ErrorKind::Forbidden && file.is_some() && writer.mode == MemoryMode::PromptOnly => {
            save(None)?
        }
        change => change?,
    };
    let (MemoryChange { path, chunks, redacted, searchable, checkpoint_id, .. }, would) = change;
    // It is written, whatever became of the file since.
    let last = VaultPath::new(&path).ok().and_then(|path| {
        let text = would.or_else(|| Some(writer.workspace().source(&path).ok()?.text))?;
        chunk(&path, &Note::parse(&text, path.stem()), &text).pop()
    });
    let hash = last.map_or(ChunkId::from_bits(0), |chunk| chunk.id).to_string();
    let checkpoint_id = Some(checkpoint_id);
    Ok(Saved {
        ok: true,
        hash,
        path,
        chunks,
        existing: false,
        redacted,
        searchable,
        forgotten_before: false,
        checkpoint_id,
    })
}

/// Drops the chunk with a hash. It has to be one of its own.
///
/// # Errors
/// As [`delete_chunk`].
pub(crate) fn drop_chunk(writer: &MemoryWriter, hash: &str) -> Result<MemoryChange, RequestError> {
    let named = MemoryGetParams { hash: Some(hash.to_owned()), ..MemoryGetParams::default() };
    let passage = get(writer, &named)?;
    let own = format!("agents/{}/", writer.slug);
    // Others may share their memory with it, to be read.
    let file = passage.path.strip_prefix(&own).ok_or_else(|| RequestError::forbidden("this is not your memory"))?;
    let id = hash.parse().map_err(|error| RequestError::invalid(format!("`{hash}` is not a hash: {error}")))?;
    delete_chunk(writer, file, id)
}

/// Adds lines to the agent's memory of the day, `memory/2026-11-23.md`, or to `MEMORY.md` where it may write that alone. What the file has
/// already, what was recalled, and that there is nothing (`NO_REPLY`) is left out; where nothing else is left, nothing is written.
///
/// # Errors
/// As [`save`].
pub(crate) fn flush(writer: &MemoryWriter, params: &MemoryFlushParams) -> Result<MemoryChange, RequestError> {
    let file = match writer.mode {
        MemoryMode::PromptOnly => "MEMORY.md".to_owned(),
        _ => format!("memory/{}.md", writer.at().to_zoned(jiff::tz::TimeZone::system()).date()),
    };
    let given = text("content", &params.content)?;
    let given = without_fenced(&given);
    let there = own_file(writer, &file)?.map(|(_, text)| text).unwrap_or_default();
    let plain = |line: &str| fold(line.trim().trim_start_matches(['-', '*', '+', ' ']));
    let mut known: HashSet<String> = there.lines().map(plain).collect();
    let mut has_more = false;
    let mut content = String::new();
    // A program that was asked to keep what matters, and has nothing, says so; and its question is none of the answer.
    let given = if is_housekeeping(&given) { "" } else { &*given };
    for line in given.lines().filter(|line| !is_silence(line)) {
        let said = plain(line);
        let is_heading = line.trim_start().starts_with('#');
        if said.is_empty() || is_heading || known.insert(said) {
            has_more |= !line.trim().is_empty() && !is_heading;
            content += line;
            content.push('\n');
        }
    }
    if !has_more {
        return Ok(MemoryChange {
            ok: true,
            path: folder(&writer.slug) + &file,
            searchable: true,
            ..MemoryChange::default()
        });
    }
    save(writer, &MemorySaveParams { content, file: Some(file), append: Some(true) })
}

/// What goes into prompts.
const PROMPT_FILES: [&str; 2] = ["MEMORY.md", "memory.md"];
/// The folder of what is only searched.
const FOLDER: &str = "memory/";
/// Maximum length of a name, in bytes; file systems take 255, and sync services add to it.
const MAX_NAME_BYTES: usize = 100;
/// Who the agent is. No file that could be taken for it is ever named.
const AGENT: &str = "agent.md";

/// Why a file is none of an agent's memory.
const NOT_MEMORY: &str = "the file must be `MEMORY.md`, `memory.md` or `memory/<name>.md`";
const NAME: &str = "a name has up to 100 bytes of visible characters in NFC, such as letters and digits: no separators or \
    look-alikes, no `%`, no dot or space at either end, and not `agent.md`";

/// The person lets the agent write other files only.
pub(super) fn not_allowed(mode: MemoryMode) -> RequestError {
    RequestError::forbidden(format!("`write_mode` is {}", allowed(mode))).hint("the owner set this in your `agent.md`")
}

fn allowed(mode: MemoryMode) -> &'static str {
    match mode {
        MemoryMode::Hybrid => "`hybrid`: you may write all files of the memory",
        MemoryMode::PromptOnly => "`prompt-only`: you may write only `MEMORY.md`",
        MemoryMode::SearchOnly => "`search-only`: you may write only `memory/<name>.md`",
        MemoryMode::Off => "`off`: you may write nothing",
    }
}

/// Where a text goes when nobody says.
pub(super) fn default_file(mode: MemoryMode) -> &'static str {
    match mode {
        MemoryMode::SearchOnly => "memory/notes.md",
        MemoryMode::Hybrid | MemoryMode::PromptOnly | MemoryMode::Off => "MEMORY.md",
    }
}

/// The folder of an agent.
pub(super) fn folder(slug: &str) -> String {
    format!("agents/{slug}/")
}

/// A file of an agent's memory that may be written, by its name within the agent's folder.
pub(super) fn writable(slug: &str, mode: MemoryMode, file: &str) -> Result<VaultPath, RequestError> {
    let refused = |reason| RequestError::invalid(format!("`file` is {file:?}; {reason}"));
    check(file).map_err(refused)?;
    let is_prompt = PROMPT_FILES.contains(&file);
    match mode {
        MemoryMode::Hybrid => {}
        MemoryMode::PromptOnly if is_prompt => {}
        MemoryMode::SearchOnly if !is_prompt => {}
        mode => return Err(not_allowed(mode)),
    }
    VaultPath::new(folder(slug) + file).map_err(|_| refused(NAME))
}

/// The name within an agent's folder of a file of its memory that may be written in some mode.
pub(super) fn own_name<'p>(slug: &str, path: &'p VaultPath) -> Option<&'p str> {
    access::own_file(slug, path.as_str()).filter(|file| check(file).is_ok())
}

fn check(file: &str) -> Result<(), &'static str> {
    if PROMPT_FILES.contains(&file) {
        return Ok(());
    }
    let name = file.strip_prefix(FOLDER).ok_or(NOT_MEMORY)?;
    let stem = name.strip_suffix(".md").ok_or(NOT_MEMORY)?;
    let plain = is_folder_name(stem)
        && is_nfc(name)
        && name.len() <= MAX_NAME_BYTES
        && !stem.chars().any(|c| c == '%' || looks_like_another(c))
        && folded(&name.nfkc().collect::<String>()) != AGENT;
    if plain { Ok(()) } else { Err(NAME) }
}

/// Whether a character looks like a separator, or becomes one, or a dot, where names are normalised.
fn looks_like_another(c: char) -> bool {
    let slashes = "\u{2044}\u{2215}\u{29f8}\u{2571}\u{27cb}\u{1735}\u{31d3}\u{3033}\u{338}\u{337}\u{2f03}";
    let backslashes = "\u{2216}\u{29f5}\u{29f9}\u{2572}\u{27cd}\u{31d4}\u{244a}";
    let becomes = std::iter::once(c).nfkc().any(|found| found != c && "/\\.%:".contains(found));
    becomes || slashes.contains(c) || backslashes.contains(c)
}

#[cfg(test)]
mod tests_of_target {
    use super::*;

    #[test]
    fn the_list_is_exactly_this() {
        for good in [
            "MEMORY.md", "memory.md", "memory/notes.md", "memory/2026-01-05.md", "memory/Zürich 東京.md",
            "memory/a.b.md",
        ] {
            let path = writable("coder", MemoryMode::Hybrid, good).unwrap();
            assert_eq!(path.as_str(), format!("agents/coder/{good}"));
            assert_eq!(own_name("coder", &path), Some(good));
        }
        let long = format!("memory/{}.md", "a".repeat(MAX_NAME_BYTES));
        for bad in [
            "", "Memory.md", "MEMORY.MD", "facts.md", "agent.md", "AGENT.md", "memory", "memory/", "memory/.md",
            "memory/a", "memory/a.txt", "memory/a.MD", "memory/a/b.md", "memory/../agent.md", "memory/..md",
            "memory/./a.md", "memory//a.md", "../coder/MEMORY.md", "../other/MEMORY.md", "agents/coder/MEMORY.md",
            "/MEMORY.md", "/etc/passwd", "C:\\MEMORY.md", "./MEMORY.md", "memory\\a.md", "memory/a\\b.md",
            "memory/..\\..\\agent.md", "memory/%2e%2e%2fagent.md", "memory/a%00.md", "memory/a\0.md", "MEMORY.md\0",
            "memory/a\nb.md", "memory/.hidden.md", "memory/ a.md", "memory/a .md", "memory/agent.md",
            "memory/Agent.md", "memory/ａｇｅｎｔ.md", "memory/a\u{2215}b.md", "memory/a\u{2044}b.md",
            "memory/a\u{ff0f}b.md", "memory/a\u{ff3c}b.md", "memory/\u{2024}\u{2024}.md", "memory/\u{ff0e}\u{ff0e}.md",
            "memory/\u{2025}a.md", "memory/a\u{202e}b.md", "memory/a\u{200b}.md", "memory/cafe\u{301}.md",
            "memory/con.md", "memory/a:b.md", &long,
        ] {
            assert!(writable("coder", MemoryMode::Hybrid, bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn modes_allow_what_they_say() {
        let allowed = |mode| ["MEMORY.md", "memory.md", "memory/a.md"].map(|file| writable("x", mode, file).is_ok());
        assert_eq!(allowed(MemoryMode::Hybrid), [true; 3]);
        assert_eq!(allowed(MemoryMode::PromptOnly), [true, true, false]);
        assert_eq!(allowed(MemoryMode::SearchOnly), [false, false, true]);
        assert_eq!(allowed(MemoryMode::Off), [false; 3]);
        for mode in [MemoryMode::Hybrid, MemoryMode::PromptOnly, MemoryMode::SearchOnly] {
            assert!(writable("x", mode, default_file(mode)).is_ok());
        }
        let said = writable("x", MemoryMode::SearchOnly, "MEMORY.md").unwrap_err().message;
        assert_eq!(said, "`write_mode` is `search-only`: you may write only `memory/<name>.md`");
    }

    #[test]
    fn names_are_within_the_folder_of_one() {
        let path = VaultPath::new("agents/a/memory/n.md").unwrap();
        assert_eq!(own_name("a", &path), Some("memory/n.md"));
        assert_eq!(own_name("b", &path), None);
        assert_eq!(own_name("a", &VaultPath::new("agents/a/facts.md").unwrap()), None);
        assert_eq!(own_name("a", &VaultPath::new("agents/a/memory/agent.md").unwrap()), None);
    }
}
