//! The files of an agent, for who reads all of its events.

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;

use serde_json::Value;

use super::error::TraceFilesError;
use super::file::{TraceFile, files_of, open_whole};
use super::line::event_of;
use super::write::TraceFiles;
use crate::fs::Context;
use crate::vault::Stamp;

/// A file of an agent's events, the late ones of an hour apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceHourFile {
    file: TraceFile,
    /// Its length, and when it was changed.
    pub(crate) stamp: Stamp,
}

impl TraceHourFile {
    /// What tells it from all others.
    pub(crate) fn name(&self) -> String {
        let TraceFile { agent, hour, late } = &self.file;
        format!("{agent}/{}{}", hour.name(), if *late { ".late" } else { "" })
    }
}

impl TraceFiles {
    /// The files of an agent, the newest hour first.
    ///
    /// # Errors
    /// When its folder cannot be listed.
    pub(crate) fn hours_of(&self, agent: &str) -> Result<Vec<TraceHourFile>, TraceFilesError> {
        let files = files_of(&self.root, agent)?.into_iter();
        let seen = |file: TraceFile| {
            let stamp = Stamp::of(&file.path(&self.root).symlink_metadata().ok()?);
            Some(TraceHourFile { file, stamp })
        };
        Ok(files.filter_map(seen).collect())
    }

    /// The events of a file in the order in which they came, each to `each`, until that has enough. A line that is damaged, or is being
    /// written, is passed over.
    ///
    /// # Errors
    /// When it cannot be read. One that is gone has none.
    pub(crate) fn each_event(
        &self,
        hour: &TraceHourFile,
        each: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), TraceFilesError> {
        let path = hour.file.path(&self.root);
        let opened = match open_whole(&path, false) {
            Err(error) if error.is_not_found() => return Ok(()),
            opened => opened?,
        };
        let (mut reader, mut line) = (BufReader::new(opened), Vec::new());
        while reader.read_until(b'\n', &mut line).on("read", &path)? > 0 && line.ends_with(b"\n") {
            if event_of(&line).is_some_and(|event| each(event).is_break()) {
                break;
            }
            line.clear();
        }
        Ok(())
    }
}
