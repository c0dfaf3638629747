//! Takes what was forgotten for good out of all traces. A person's deletion goes before the promise that no event is lost: the event
//! stays, and what it said of this goes.

use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::error::TraceFilesError;
use super::file::{agents, copies_of, files_of, open_whole, torn_of};
use super::known::without_known;
use super::line::{event_of, line_of};
use super::needles::TraceNeedles;
use super::text::change_texts;
use super::write::TraceFiles;
use crate::forgotten::{AgentReach, ForgottenLookup, Reach};
use crate::fs::{Context, FsError, crash, replace_with, sync_folder};

/// The fields of an event that are texts; all others are names and numbers.
const TEXTS: [&str; 4] = ["payload", "error", "backend_name", "model"];

/// Takes out of an event what was forgotten; says whether there was any.
pub(super) fn without_texts(event: &mut Value, change: &mut dyn FnMut(&str) -> Option<String>) -> bool {
    let mut any = false;
    for field in TEXTS {
        if let Some(value) = event.get_mut(field) {
            any |= change_texts(value, &mut |_, text| change(text));
        }
    }
    any
}

/// What goes out of the traces of one agent: nothing that it could not read, or it would see by what is missing that it guessed right.
#[derive(Debug, Default)]
pub(crate) struct TraceShare {
    /// What it may read; `None` where all goes.
    pub reach: Option<AgentReach>,
    /// What is forgotten now.
    pub texts: Vec<String>,
}

impl TraceFiles {
    /// Takes out of every agent's traces its share of what is `known` as forgotten, and of texts that are forgotten now, wherever in a text
    /// they stand; gives how many events were changed. What was torn off files goes whole: it was never promised to be kept.
    ///
    /// # Errors
    /// When a file cannot be read or written; those before it are done.
    pub(crate) fn sweep(
        &self,
        known: &ForgottenLookup<'_>,
        share_of: &dyn Fn(&str) -> TraceShare,
    ) -> Result<usize, TraceFilesError> {
        let mut changed = 0;
        for agent in agents(&self.root) {
            let TraceShare { reach, texts } = share_of(&agent);
            let (reach, needles) = (reach.as_ref().map_or(Reach::All, Reach::Agent), TraceNeedles::of(&texts));
            if known.is_empty() && needles.is_empty() {
                continue;
            }
            let without = |text: &str| {
                let left = without_known(known, text, reach).map(|left| left.text.unwrap_or_default());
                needles.without(left.as_deref().unwrap_or(text)).or(left)
            };
            for file in files_of(&self.root, &agent)? {
                let mut files = self.files();
                let events = rewrite(&file.path(&self.root), &without)?;
                if events > 0 {
                    files.close(&file);
                    changed += events;
                }
            }
            for copy in copies_of(&self.root, &agent)? {
                changed += rewrite(&copy, &without)?;
            }
            for torn in torn_of(&self.root, &agent)? {
                fs::remove_file(&torn).on("remove", &torn)?;
                sync_folder(&torn)?;
            }
        }
        Ok(changed)
    }
}

/// Writes a file anew without what is to go, in one step; gives how many of its events had any of it.
fn rewrite(path: &Path, without: &dyn Fn(&str) -> Option<String>) -> Result<usize, FsError> {
    let file = match open_whole(path, false) {
        Err(error) if error.is_not_found() => return Ok(0),
        file => file?,
    };
    let mode = file.metadata().on("look at", path)?.permissions().mode() & 0o777;
    let (mut reader, mut line, mut first) = (BufReader::new(&file), Vec::new(), None);
    let mut at = 0;
    while first.is_none() && reader.read_until(b'\n', &mut line).on("read", path)? > 0 {
        first = changed(&line, without).map(|_| at);
        at += line.len() as u64;
        line.clear();
    }
    let Some(first) = first else { return Ok(0) };
    let mut events = 0;
    replace_with(path, mode, |out| {
        let mut out = BufWriter::new(out);
        let mut reader = &file;
        reader.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut std::io::Read::take(reader, first), &mut out)?;
        let mut reader = BufReader::new(reader);
        while reader.read_until(b'\n', &mut line)? > 0 {
            match changed(&line, without) {
                Some(left) => {
                    events += 1;
                    out.write_all(&left)?;
                }
                None => out.write_all(&line)?,
            }
            line.clear();
        }
        out.flush()?;
        drop(out);
        crash::point("trace-sweeping");
        Ok(())
    })?;
    Ok(events)
}

/// A line without what is to go; `None` where it has none of it. Of a damaged line that has it nothing stays.
fn changed(line: &[u8], without: &dyn Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    match event_of(line) {
        Some(mut event) => without_texts(&mut event, &mut |text| without(text)).then(|| line_of(&event)),
        None => {
            let text = String::from_utf8_lossy(line);
            let plain = ["\\n", "\\r", "\\t"].iter().fold(text.into_owned(), |text, blank| text.replace(blank, " "));
            without(&plain).map(|_| Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forgotten::ForgottenTexts;
    use crate::state::State;
    use serde_json::json;

    #[test]
    fn what_goes_leaves_the_event_and_the_other_lines_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let forgotten = ForgottenTexts::new(&State::in_folder(folder.path()));
        let path = folder.path().join("traces/ada/2026-03-02T10.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let secret = "The key lies under the third pot of the garden.";
        let event = |id: &str, said: &str| json!({ "id": id, "kind": "message_in", "created_at": 1.0, "payload": { "text": said } });
        let other = line_of(&event("a", "Other"));
        let with = line_of(&event("b", &format!("Context: {secret} (notes/a.md#L1)")));
        fs::write(&path, [&other[..], &with, b"damaged: ", secret.as_bytes(), b"\n", &other].concat()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(path.with_extension("torn"), secret).unwrap();
        // As a sync service names its copies.
        let copy = path.with_file_name("2026-03-02T10.sync-conflict-20260302-101500-ABCDEFG.jsonl");
        fs::write(&copy, &with).unwrap();
        let traces = TraceFiles::new(folder.path(), 1 << 30);
        let all = |_: &str| TraceShare { reach: None, texts: vec![secret.to_owned()] };
        assert_eq!(traces.sweep(&forgotten.look().unwrap(), &all).unwrap(), 3);
        let left = line_of(&event("b", "Context:  (notes/a.md#L1)"));
        assert_eq!(fs::read(&path).unwrap(), [&other[..], &left, &other].concat());
        assert_eq!(fs::read(&copy).unwrap(), left);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o400);
        assert!(!path.with_extension("torn").exists());
        assert_eq!(traces.sweep(&forgotten.look().unwrap(), &all).unwrap(), 0);
    }
}
