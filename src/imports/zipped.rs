//! The files of a zip archive, one after the other.

use std::io::{Read, Seek};
use std::path::Path;

use zip::ZipArchive;

use super::error::ImportReadError;
use super::found::{EachFile, FoundFile, SourceFiles, WhyNot, is_hidden};
use super::sink::ImportSink;

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
