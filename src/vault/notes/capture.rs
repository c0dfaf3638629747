//! Captures a thought of the owner: appends it to the note of the day, to the inbox or to another note, once for each id.

use std::path::Path;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use serde_json::{Map, Value};

use crate::access::request::{Owner, RequestError, Workspace, note_path, text};
use crate::access::rules::Scope;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::serve::wire::{CaptureParams, ThoughtCaptured};
use crate::text::note::{BlockKind, Note, compose, guarded, written};
use crate::vault::disk::{Action, Checkpoint, Files, NoteEdit, WriteError, obsidian_settings};

/// The folder of daily notes where Obsidian has none.
const DAILY: &str = "notes/daily";
/// The inbox where no note is called so.
const INBOX: &str = "notes/inbox.md";
/// Collections in which a note called inbox is not the owner's.
const OF_OTHERS: [&str; 2] = ["agents", "conversations"];
/// Maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 100;
/// By so much the clock of a phone may be wrong.
const SKEW: SignedDuration = SignedDuration::from_hours(1);
/// A word that comes after a text, to see whether that hides it.
const PROBE: &str = "probe";
/// Maximum number of places from the end of a note that are tried; what is left open is most often the last block.
const MAX_PLACES: usize = 20;

/// Appends a thought to a note, which is made where it is missing. Returns when searches can find it, or after a while.
///
/// # Errors
/// When a parameter makes no sense, nothing can be added to the note, or the disk refuses.
pub fn capture(owner: &Owner, params: &CaptureParams) -> Result<ThoughtCaptured, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let given = text("text", &params.text)?;
    let said = if workspace.redacts() { redact(&given).into_owned() } else { given.clone() };
    let id = params.id.as_deref();
    if id.is_some_and(|id| id.is_empty() || id.len() > MAX_ID_BYTES) {
        return Err(RequestError::invalid(format!("`id` takes 1 to {MAX_ID_BYTES} bytes")));
    }
    let at = params.at_ms.map(Timestamp::from_millisecond).transpose();
    let at = at.map_err(|error| RequestError::invalid(format!("`at_ms`: {error}")))?.unwrap_or(owner.at());
    let at = at.min(owner.at()).to_zoned(TimeZone::system());
    let (path, title) = destination(workspace, &params.to, &at)?;
    let time = if params.to == "today" { at.strftime("%H:%M") } else { at.strftime("%Y-%m-%d %H:%M") };
    let item = item(&said, &time.to_string());
    let one = workspace.one_save();
    let before = id.map(|id| earlier(files, id, at.timestamp())).transpose()?.flatten();
    let existing = before.is_some();
    let (path, checkpoint, hash) = match before {
        Some((checkpoint, hash)) => (checkpoint.path, checkpoint.id, hash),
        None => add(owner, path, &title, &item, id, &at)?,
    };
    drop(one);
    Ok(ThoughtCaptured {
        ok: true,
        hash: hash.to_hex().to_string(),
        checkpoint_id: checkpoint.to_string(),
        existing,
        redacted: said != given,
        forgotten_before: workspace
            .forgotten
            .look()
            .is_ok_and(|known| known.without(&said, &Scope::Everything).is_some()),
        searchable: workspace.settled_in_time(&path).is_some(),
        path: path.to_string(),
    })
}

type Added = (VaultPath, crate::vault::disk::CheckpointId, blake3::Hash);

fn add(
    owner: &Owner,
    path: VaultPath,
    title: &str,
    item: &str,
    id: Option<&str>,
    at: &Zoned,
) -> Result<Added, RequestError> {
    let mut hash = None;
    let act = |is_new| owner.act(if is_new { Action::Create } else { Action::Edit }).requested(id);
    let checkpoint = owner.workspace().files()?.edit(&path, act, |bytes| {
        let text = match bytes.map(std::str::from_utf8).transpose() {
            Ok(Some(there)) => with_item(there, item),
            Ok(None) => {
                let front: [(&str, Value); 2] = [("title", title.into()), ("created", written(at).into())];
                let front: Map<String, Value> = front.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                Some(compose(&front, item))
            }
            Err(_) => {
                return Err(RequestError::invalid(format!("`{path}` is not UTF-8, so nothing can be added to it")));
            }
        };
        let Some(text) = text else {
            let message = format!("`{path}` leaves a comment or its frontmatter open, which would hide what is added");
            return Err(RequestError::conflict(message).hint("close it, or capture into the inbox"));
        };
        hash = Some(blake3::hash(text.as_bytes()));
        Ok::<_, RequestError>(NoteEdit::Text(text))
    })?;
    match (checkpoint, hash) {
        (Some(checkpoint), Some(hash)) => Ok((path, checkpoint, hash)),
        _ => Err(WriteError::Gone(path).into()),
    }
}

/// What an earlier request with an id has written, by its checkpoint: whoever has heard no answer sends it again. Its note may have changed
/// since; where it is as before, a kill came between the checkpoint and the change, or somebody has undone it.
fn earlier(files: &Files, id: &str, at: Timestamp) -> Result<Option<(Checkpoint, blake3::Hash)>, RequestError> {
    for checkpoint in files.checkpoints_since(at - SKEW)?.into_iter().filter(|checkpoint| checkpoint.is_of(id)) {
        if let Some((_, now)) = files.read(&checkpoint.path)?.filter(|(_, now)| !checkpoint.is_undone_by(now)) {
            return Ok(Some((checkpoint, now)));
        }
    }
    Ok(None)
}

/// The note that is meant, and its title if it has to be made.
fn destination(workspace: &Workspace, to: &str, at: &Zoned) -> Result<(VaultPath, String), RequestError> {
    let path = match to {
        "today" => return Ok((daily(workspace.home.root(), at.date())?, at.strftime("%-d %B %Y").to_string())),
        "inbox" => inbox(workspace)?,
        path => note_path(path)?,
    };
    let title = if to == "inbox" { "Inbox".to_owned() } else { path.stem().to_owned() };
    Ok((path, title))
}

/// The note of a day: as Obsidian's *Daily notes* has it in this vault, else `notes/daily/2026-01-05.md`.
fn daily(root: &Path, day: Date) -> Result<VaultPath, RequestError> {
    let settings = obsidian_settings(root, "daily-notes.json");
    let set = |key: &str| settings.as_ref().and_then(|settings| settings[key].as_str()).unwrap_or_default();
    let folder = if settings.is_some() { set("folder").trim_matches('/') } else { DAILY };
    let [year, month, date] = ["%Y", "%m", "%d"].map(|part| day.strftime(part).to_string());
    let name = set("format").replace("YYYY", &year).replace("MM", &month).replace("DD", &date);
    // Names of months and weekdays depend on a language that is not known here.
    let name = if name.is_empty() || name.contains(char::is_alphabetic) { day.to_string() } else { name };
    note_path(format!("{folder}/{name}.md").trim_start_matches('/'))
}

/// The owner's note called inbox with the shortest path, else `notes/inbox.md`.
fn inbox(workspace: &Workspace) -> Result<VaultPath, RequestError> {
    let snapshot = workspace.shared.snapshot();
    let notes = snapshot.iter().flat_map(|snapshot| snapshot.files().iter()).map(|file| &file.path);
    let named = notes.filter(|path| {
        workspace.outside.of(path).is_none()
            && path.stem().eq_ignore_ascii_case("inbox")
            && !path.is_document()
            && !OF_OTHERS.contains(&path.collection())
    });
    named.min_by_key(|path| (path.as_str().len(), *path)).cloned().map_or_else(|| note_path(INBOX), Ok)
}

/// A text with its time: an item of a list, or paragraphs. What leaves a fence or a comment open is quoted, so that it ends with the quote.
fn item(text: &str, time: &str) -> String {
    let text = text.trim_start_matches('\n').trim_end();
    let item = |text: &str| match text.contains('\n') {
        true => format!("**{time}**\n\n{text}"),
        false => format!("- {time} {}", text.trim_start()),
    };
    let plain = item(text);
    if shows(&format!("{plain}\n\n{PROBE} %% --> {PROBE}"), plain.len() + 2) {
        return plain;
    }
    match guarded(text) {
        line if !line.contains('\n') => item(&line),
        lines => format!("**{time}**\n{}", lines.lines().map(|line| format!("\n> {line}")).collect::<String>()),
    }
}

/// Whether the text from an offset to the end is read as text: not as code, and not hidden.
fn shows(source: &str, from: usize) -> bool {
    let note = Note::parse(source, "");
    let block = note.blocks.iter().find(|block| block.span.contains(&from));
    let is_text = block.is_some_and(|block| {
        block.span.start == from
            && matches!(block.kind, BlockKind::Paragraph | BlockKind::ListItem)
            && note.visible(source, block.span.clone()).trim() == source[block.span.clone()].trim()
    });
    is_text && note.body.start <= from
}

/// A note's text with an item at its end, or above what is left open there: a fence, a comment, HTML. All that was there stays to the byte.
fn with_item(text: &str, item: &str) -> Option<String> {
    let note = Note::parse(text, "");
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let places = note.blocks.iter().rev().take(MAX_PLACES).map(|block| block.span.start);
    let places = std::iter::once(text.len()).chain(places.filter(|at| *at >= note.body.start));
    places.chain([note.body.start]).find_map(|at| {
        let (above, below) = text.split_at(at);
        let mut new = above.to_owned();
        if !new.is_empty() && !new.ends_with('\n') {
            new.push_str(end);
        }
        let last = new.trim_end().lines().next_back().unwrap_or_default();
        let is_list = item.starts_with("- ") && last.starts_with("- ");
        if !new.is_empty() && !is_list && !new.ends_with(&format!("{end}{end}")) {
            new.push_str(end);
        }
        let from = new.len();
        new.push_str(&item.replace('\n', end));
        // Below it stands only what was above before; the item is looked at with all of that.
        let more = if below.is_empty() { String::new() } else { format!("{end}{below}") };
        let new = format!("{new}{end}{more}");
        let after = Note::parse(&new, "");
        let stays = after.metadata == note.metadata && after.body.start == note.body.start;
        // A `%%` that is never closed hides nothing here, but all below it in Obsidian.
        let is_below_comment = !after.problems.is_empty() && !shows(&format!("{new}{end}%%{end}"), from);
        (stays && shows(&new, from) && !is_below_comment).then_some(new)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_item_and_lines_are_paragraphs() {
        assert_eq!(item(" Buy rye. ", "18:32"), "- 18:32 Buy rye.");
        assert_eq!(item("\nOne.\n\n    two\n", "18:32"), "**18:32**\n\nOne.\n\n    two");
        assert_eq!(item("```\nfn main() {}\n```", "18:32"), "**18:32**\n\n```\nfn main() {}\n```");
    }

    #[test]
    fn what_is_left_open_ends_with_its_quote() {
        assert_eq!(item("```\nopen", "18:32"), "**18:32**\n\n> ```\n> open");
        assert_eq!(item("100 %% sure", "18:32"), "- 18:32 100 %\\% sure");
        for open in ["<!--\nopen", "%%\nopen", "~~~~\nopen", "a\n\n<pre>\nopen"] {
            let item = item(open, "18:32");
            assert!(item.starts_with("**18:32**\n\n> "), "{item}");
            assert!(shows(&format!("{item}\n\n- 18:33 next\n"), item.len() + 2), "{item}");
        }
    }

    #[test]
    fn all_that_was_there_stays_and_the_new_is_read() {
        for (before, after) in [
            ("", "- 18:32 new\n"),
            ("---\ntitle: x\n---\n", "---\ntitle: x\n---\n\n- 18:32 new\n"),
            ("Text", "Text\n\n- 18:32 new\n"),
            ("- 9:00 a\n", "- 9:00 a\n- 18:32 new\n"),
            ("- 9:00 a\n\n\n", "- 9:00 a\n\n\n- 18:32 new\n"),
            ("a\r\n\r\nb\r\n", "a\r\n\r\nb\r\n\r\n- 18:32 new\r\n"),
            ("a\n\n```\nopen\n", "a\n\n- 18:32 new\n\n```\nopen\n"),
            ("```\n- open\n", "- 18:32 new\n\n```\n- open\n"),
            ("a\n\n%%\nopen\n", "a\n\n- 18:32 new\n\n%%\nopen\n"),
            ("a\n\n<!-- open\n\nmore\n", "a\n\n- 18:32 new\n\n<!-- open\n\nmore\n"),
        ] {
            assert_eq!(with_item(before, "- 18:32 new").as_deref(), Some(after), "{before:?}");
        }
        let lines = with_item("- a\n", "**18:32**\n\none\n\ntwo").unwrap();
        assert_eq!(lines, "- a\n\n**18:32**\n\none\n\ntwo\n");
    }

    #[test]
    fn a_day_is_where_obsidian_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join(".obsidian");
        std::fs::create_dir(&settings).unwrap();
        let day = jiff::civil::date(2026, 1, 5);
        assert_eq!(daily(folder.path(), day).unwrap().as_str(), "notes/daily/2026-01-05.md");
        for (json, path) in [
            ("{}", "2026-01-05.md"),
            (r#"{"folder": "/Journal/"}"#, "Journal/2026-01-05.md"),
            (r#"{"folder": "J", "format": "YYYY/MM/YYYY-MM-DD"}"#, "J/2026/01/2026-01-05.md"),
            (r#"{"folder": "J", "format": "dddd D MMMM"}"#, "J/2026-01-05.md"),
            ("no json", "notes/daily/2026-01-05.md"),
        ] {
            std::fs::write(settings.join("daily-notes.json"), json).unwrap();
            assert_eq!(daily(folder.path(), day).unwrap().as_str(), path, "{json}");
        }
        std::fs::write(settings.join("daily-notes.json"), r#"{"folder": "../elsewhere"}"#).unwrap();
        assert!(daily(folder.path(), day).is_err(), "never out of the vault");
    }
}
