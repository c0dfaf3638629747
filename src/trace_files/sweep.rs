//! Takes what was forgotten for good out of all traces. A person's deletion goes before the promise that no event is lost: the event
//! stays, and what it said of this goes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::error::TraceFilesError;
use super::file::{TraceFile, agents, copies_of, files_of, open_whole, torn_of};
use super::known::without_known;
use super::line::{event_of, line_of};
use super::needles::TraceNeedles;
use super::text::change_texts;
use super::write::TraceFiles;
use crate::forgotten::{AgentReach, ForgottenLookup, TombstoneScope};
use crate::fs::{Context, FsError, crash, replace_with, sync_folder};

/// The fields of an event that are texts; all others are names and numbers.
const TEXTS: [&str; 4] = ["payload", "error", "backend_name", "model"];

/// A text without what goes; `None` where it has none of it.
type TraceWithout<'w> = &'w dyn Fn(&str) -> Option<String>;

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

/// Events that say what goes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ToldTraces {
    /// So many lines, of whatever file.
    pub events: usize,
    /// Whose they are, and what they are called; not of those whose lines were damaged.
    pub of: BTreeSet<(String, String)>,
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
    /// they stand; gives out of how many events. What was torn off files goes whole: it was never promised to be kept.
    ///
    /// # Errors
    /// When a file cannot be read or written; those before it are done.
    pub(crate) fn sweep(
        &self,
        known: &ForgottenLookup<'_>,
        share_of: &dyn Fn(&str) -> TraceShare,
    ) -> Result<usize, TraceFilesError> {
        let _one = self.sweeping();
        let mut swept = 0;
        self.each_share(known, share_of, &mut |agent, without| {
            swept += self.sweep_agent(agent, without)?;
            Ok(())
        })?;
        Ok(swept)
    }

    /// Which events a sweep would change.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn told(
        &self,
        known: &ForgottenLookup<'_>,
        share_of: &dyn Fn(&str) -> TraceShare,
    ) -> Result<ToldTraces, TraceFilesError> {
        let mut told = ToldTraces::default();
        self.each_share(known, share_of, &mut |agent, without| {
            let files = files_of(&self.root, agent)?.into_iter().map(|file| file.path(&self.root));
            for path in files.chain(copies_of(&self.root, agent)?) {
                look_through(agent, &path, without, &mut told)?;
            }
            Ok(())
        })?;
        Ok(told)
    }

    /// What goes out of a text of each agent, for those of whom anything may go.
    fn each_share(
        &self,
        known: &ForgottenLookup<'_>,
        share_of: &dyn Fn(&str) -> TraceShare,
        each: &mut dyn FnMut(&str, TraceWithout<'_>) -> Result<(), TraceFilesError>,
    ) -> Result<(), TraceFilesError> {
        for agent in agents(&self.root) {
            let TraceShare { reach, texts } = share_of(&agent);
            let (reach, needles) =
                (reach.as_ref().map_or(TombstoneScope::All, TombstoneScope::Agent), TraceNeedles::of(&texts));
            if known.is_empty() && needles.is_empty() {
                continue;
            }
            each(&agent, &|text| {
                let left = without_known(known, text, reach).map(|left| left.text.unwrap_or_default());
                needles.without(left.as_deref().unwrap_or(text)).or(left)
            })?;
        }
        Ok(())
    }

    fn sweep_agent(&self, agent: &str, without: TraceWithout<'_>) -> Result<usize, TraceFilesError> {
        let mut swept = 0;
        for file in files_of(&self.root, agent)? {
            swept += self.rewrite(&file.path(&self.root), Some(&file), without)?;
        }
        for copy in copies_of(&self.root, agent)? {
            swept += self.rewrite(&copy, None, without)?;
        }
        for torn in torn_of(&self.root, agent)? {
            fs::remove_file(&torn).on("remove", &torn)?;
            sync_folder(&torn)?;
        }
        Ok(swept)
    }

    /// Writes a file anew without what is to go, in one step; gives how many of its events had any of it. Events go on coming meanwhile: only
    /// what has come to this very file by then is read while nobody writes. A copy is no `file` of ours.
    fn rewrite(&self, path: &Path, file: Option<&TraceFile>, without: TraceWithout<'_>) -> Result<usize, FsError> {
        let opened = match open_whole(path, false) {
            Err(error) if error.is_not_found() => return Ok(0),
            opened => opened?,
        };
        let mode = opened.metadata().on("look at", path)?.permissions().mode() & 0o777;
        let (mut reader, mut line, mut first) = (BufReader::new(&opened), Vec::new(), None);
        let mut at = 0;
        while first.is_none() && reader.read_until(b'\n', &mut line).on("read", path)? > 0 {
            first = changed(&line, without).map(|_| at);
            at += line.len() as u64;
            line.clear();
        }
        let Some(first) = first else { return Ok(0) };
        let (mut held, mut swept) = (None, 0);
        replace_with(path, mode, |out| {
            let mut out = BufWriter::new(out);
            let mut reader = &opened;
            reader.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut reader.take(first), &mut out)?;
            let mut lines = TraceRewriting { out: &mut out, at: first, without, swept: &mut swept };
            lines.go_on(&opened, false)?;
            lines.out.flush()?;
            lines.out.get_ref().sync_data()?;
            crash::point("trace-swept");
            // From here on until the file is in its place nobody writes.
            held = Some(self.files());
            lines.go_on(&opened, true)?;
            out.flush()?;
            drop(out);
            crash::point("trace-sweeping");
            Ok(())
        })?;
        if let Some((mut files, file)) = held.zip(file) {
            files.close(file);
        }
        Ok(swept)
    }
}

/// A file that is being written anew.
struct TraceRewriting<'r, W: Write> {
    out: &'r mut BufWriter<W>,
    /// So far it was read.
    at: u64,
    without: TraceWithout<'r>,
    swept: &'r mut usize,
}

impl<W: Write> TraceRewriting<'_, W> {
    /// Writes what follows, as far as its lines are whole or, with `all`, to its end.
    fn go_on(&mut self, mut from: &fs::File, all: bool) -> std::io::Result<()> {
        from.seek(SeekFrom::Start(self.at))?;
        let (mut reader, mut line) = (BufReader::new(from), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && (all || line.ends_with(b"\n")) {
            match changed(&line, self.without) {
                Some(left) => {
                    *self.swept += 1;
                    self.out.write_all(&left)?;
                }
                None => self.out.write_all(&line)?,
            }
            self.at += line.len() as u64;
            line.clear();
        }
        Ok(())
    }
}

/// Counts the lines of a file that say what goes.
fn look_through(agent: &str, path: &Path, without: TraceWithout<'_>, told: &mut ToldTraces) -> Result<(), FsError> {
    let opened = match open_whole(path, false) {
        Err(error) if error.is_not_found() => return Ok(()),
        opened => opened?,
    };
    let (mut reader, mut line) = (BufReader::new(opened), Vec::new());
    while reader.read_until(b'\n', &mut line).on("read", path)? > 0 {
        if let Some(left) = changed(&line, without) {
            told.events += 1;
            let id = event_of(&left).and_then(|event| event["id"].as_str().map(str::to_owned));
            told.of.extend(id.map(|id| (agent.to_owned(), id)));
        }
        line.clear();
    }
    Ok(())
}

/// A line without what is to go; `None` where it has none of it. Of a damaged line that has it nothing stays.
fn changed(line: &[u8], without: TraceWithout<'_>) -> Option<Vec<u8>> {
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
    use super::super::{NewTrace, TraceHour, TraceQuestion};
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
        let told = traces.told(&forgotten.look().unwrap(), &all).unwrap();
        assert_eq!((told.events, told.of), (3, BTreeSet::from([("ada".to_owned(), "b".to_owned())])));
        assert_eq!(traces.sweep(&forgotten.look().unwrap(), &all).unwrap(), 3);
        let left = line_of(&event("b", "Context:  (notes/a.md#L1)"));
        assert_eq!(fs::read(&path).unwrap(), [&other[..], &left, &other].concat());
        assert_eq!(fs::read(&copy).unwrap(), left);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o400);
        assert!(!path.with_extension("torn").exists());
        assert_eq!(traces.sweep(&forgotten.look().unwrap(), &all).unwrap(), 0);
        assert_eq!(traces.told(&forgotten.look().unwrap(), &all).unwrap(), ToldTraces::default());
    }

    #[test]
    fn events_go_on_coming_while_a_file_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("memory.toml"), "").unwrap();
        let traces = TraceFiles::new(folder.path(), 1 << 30);
        let now = "2026-03-02T10:30:00Z".parse().unwrap();
        let new = |agent: &str, id: &str, said: &str| NewTrace {
            agent: agent.into(),
            hour: TraceHour::of(1_772_445_600.0).unwrap(),
            id: id.into(),
            event: json!({ "id": id, "kind": "message_in", "created_at": 1_772_445_600.0, "payload": { "text": said } }),
        };
        for number in 0..100 {
            traces.append(new("ada", &format!("e{number}"), "secret"), now).unwrap();
        }
        // Each text that is looked at brings an event to another file and to this one, in the very thread that sweeps.
        let more = std::cell::Cell::new(0);
        let swept = traces.sweep_agent("ada", &|text| {
            if more.get() < 50 {
                more.set(more.get() + 1);
                assert!(traces.append(new("zoe", &format!("z{}", more.get()), "open"), now).unwrap());
                assert!(traces.append(new("ada", &format!("more{}", more.get()), "open"), now).unwrap());
            }
            (text == "secret").then(String::new)
        });
        assert_eq!(swept.unwrap(), 100);
        assert!(traces.append(new("ada", "last", "open"), now).unwrap());
        assert!(!traces.append(new("ada", "more7", "open"), now).unwrap(), "it is known still");
        for (agent, events) in [("ada", 151), ("zoe", 50)] {
            let question = TraceQuestion { limit: 1000, ..TraceQuestion::default() };
            let found = traces.newest(agent, &question, || true).unwrap();
            assert_eq!((found.events.len(), found.damaged), (events, 0), "{agent}");
            assert!(found.events.iter().all(|event| event["payload"]["text"] != "secret"));
        }
    }
}
