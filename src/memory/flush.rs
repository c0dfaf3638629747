//! Keeps what an agent would lose when its conversation is shortened. Nothing that is there is changed: lines only come to the end.

use std::collections::HashSet;

use super::read::own_file;
use super::target::folder;
use super::write::save;
use crate::access::WriteMode;
use crate::derive::words::fold;
use crate::derive::{is_housekeeping, is_silence};
use crate::fence::without_fenced;
use crate::request::{MemoryWriter, RequestError, text};
use crate::wire::{MemoryChange, MemoryFlushParams, MemorySaveParams};

/// Adds lines to the agent's memory of the day, `memory/2026-11-23.md`, or to `MEMORY.md` where it may write that alone. What the file has
/// already, what was recalled, and that there is nothing (`NO_REPLY`) is left out; where nothing else is left, nothing is written.
///
/// # Errors
/// As [`save`].
pub(crate) fn flush(writer: &MemoryWriter, params: &MemoryFlushParams) -> Result<MemoryChange, RequestError> {
    let file = match writer.mode() {
        WriteMode::PromptOnly => "MEMORY.md".to_owned(),
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
            path: folder(writer.slug()) + &file,
            checkpoint_id: String::new(),
            checkpoint_id_there: String::new(),
            chunks: 0,
            searchable: true,
            file_deleted: false,
            redacted: false,
            matches_removed: None,
        });
    }
    save(writer, &MemorySaveParams { content, file: Some(file), append: Some(true) })
}
