//! The parts of a message, as all programs write them that talk to a model: a text, or a list of texts, images and calls of tools.

use std::io::{Read, Seek};
use std::path::Path;

use serde_json::Value;
use zip::ZipArchive;

use super::found::{EachFile, FoundFile, SourceFiles, WhyNot, is_hidden};
use super::item::ImportReadError;
use super::sink::ImportSink;

/// The texts of a message: a text by itself, or the parts of a list that are texts of one of these types.
pub(super) fn text_of(content: &Value, types: &[&str]) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| match part {
        Value::String(text) => Some(text.as_str()),
        part => part["text"].as_str().filter(|_| part["type"].as_str().is_none_or(|kind| types.contains(&kind))),
    });
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// How many parts of a message are images or files.
pub(super) fn media_of(content: &Value) -> usize {
    let kinds = ["image", "image_url", "input_image", "document", "audio", "file", "media"];
    let parts = content.as_array().into_iter().flatten();
    parts.filter(|part| part["type"].as_str().is_some_and(|kind| kinds.contains(&kind))).count()
}

/// Why it is left out.
pub(super) const BESIDE: &str =
    "copies of sessions, and sessions that were put away (.checkpoint., .trajectory.jsonl, .deleted., .reset.)";

/// Whether a file is a copy that OpenClaw lays beside a session, or a session that it has put away, by its name: with or without folders.
pub(crate) fn is_beside_session(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.ends_with(".trajectory.jsonl")
        || [".checkpoint.", ".deleted.", ".reset."].iter().any(|mark| name.contains(mark))
}

/// Calls `each` with every wanted file; returns how many there were.
///
/// # Errors
/// When the list of its files, which stands at its end, cannot be read.
pub(super) fn of_zip<'s>(
    from: impl Read + Seek,
    path: &Path,
    at_ms: Option<i64>,
    why_not: &WhyNot<'_>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> Result<SourceFiles, ImportReadError> {
    let mut archive = ZipArchive::new(from).map_err(|_| ImportReadError::CutShort { path: path.to_owned() })?;
    let mut files = SourceFiles::default();
    let mut entry = |name: &str, from: &mut dyn Read, sink: &mut ImportSink<'s>| {
        let name = if name.contains('/') { name.to_owned() } else { name.replace('\\', "/") };
        // A folder, or what programs keep beside what is yours.
        if name.ends_with('/') || is_hidden(&name) {
            return;
        }
        if name.to_ascii_lowercase().ends_with(".zip") {
            sink.leave_out("archives within the archive");
            return sink
                .remark(format!("{name} is an archive within the archive: unpack it, and import what comes of it"));
        }
        if let Some(reason) = why_not(&name) {
            files.note_unwanted(&name, reason);
            return sink.leave_out(reason);
        }
        files.wanted += 1;
        // A name in an archive is none of a path, whatever it begins with.
        let place = format!("{}/{name}", path.display());
        each(FoundFile { name, place, at_ms, from }, sink);
    };
    for at in 0..archive.len() {
        if sink.is_over() {
            break;
        }
        match archive.by_index(at) {
            Ok(mut file) => {
                let name = file.name().to_owned();
                entry(&name, &mut file, sink);
            }
            Err(error) => {
                sink.leave_out("files that cannot be read");
                sink.remark(format!("a file of {} cannot be read: {error}", path.display()));
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::is_beside_session;

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
}
