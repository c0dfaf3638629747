//! The files of a zip archive, one after the other.

use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use zip::ZipArchive;

use super::cut_zip;
use super::found::{EachFile, FoundFile, SourceFiles, WhyNot, is_hidden};
use super::sink::ImportSink;

/// Gives each file that is wanted to `each`. Says how many there were.
pub(super) fn of_zip<'s>(
    mut from: impl Read + Seek,
    path: &Path,
    at_ms: Option<i64>,
    why_not: &WhyNot<'_>,
    sink: &mut ImportSink<'s>,
    each: &mut EachFile<'_, 's>,
) -> SourceFiles {
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
    let is_whole = match ZipArchive::new(&mut from) {
        Ok(mut archive) => {
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
            true
        }
        Err(_) => false,
    };
    if is_whole {
        return files;
    }
    // The list of its files stands at the end of it.
    sink.remark(format!("{} was cut short: only what came before that could be read", path.display()));
    let read = from.rewind().and_then(|()| {
        cut_zip::files(from, &mut |(name, text)| {
            match text {
                Ok(text) => entry(name, text, sink),
                Err(reason) => {
                    sink.leave_out("files that cannot be read");
                    sink.remark(format!("{name} cannot be read: {reason}"));
                }
            }
            if sink.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    if let Err(error) = read {
        sink.remark(format!("{} cannot be read to its end: {error}", path.display()));
    }
    files.is_cut = true;
    files
}
