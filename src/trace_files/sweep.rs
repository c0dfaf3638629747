//! Takes what was forgotten for good out of all traces. A person's deletion goes before the promise that no event is lost: the event
//! stays, and what it said of this goes.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::file::{agents, event_of, line_of, lines, paths_of};
use super::store::{TraceFiles, TraceFilesError};
use super::text::{TraceNeedles, change_texts};
use crate::forgotten::{AgentReach, ForgottenLookup, TextPart, TombstoneScope};
use crate::fs::{Context, FsError, crash, replace_with};

/// A text without what goes; `None` where it has none of it.
type TraceWithout<'w> = &'w dyn Fn(&str) -> Option<String>;

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
    pub parts: Vec<TextPart>,
}

impl TraceFiles {
    /// Finds in every agent's traces its share of what is `known` as forgotten, and of texts that are forgotten now, wherever in a text they
    /// stand, and takes it out where this `writes`; gives which events there were.
    ///
    /// # Errors
    /// When a file cannot be read or written; those before it are done.
    pub(crate) fn sweep(
        &self,
        known: &ForgottenLookup<'_>,
        share_of: &dyn Fn(&str) -> TraceShare,
        writes: bool,
    ) -> Result<ToldTraces, TraceFilesError> {
        let mut told = ToldTraces::default();
        for agent in agents(&self.root) {
            let TraceShare { reach, parts } = share_of(&agent);
            let reach = reach.as_ref().map_or(TombstoneScope::All, TombstoneScope::Agent);
            let needles = TraceNeedles::of(&parts);
            if known.is_empty() && needles.is_empty() {
                continue;
            }
            let without = |text: &str| {
                let left = known.without(text, reach).map(|left| left.text.unwrap_or_default());
                needles.without(left.as_deref().unwrap_or(text)).or(left)
            };
            for path in paths_of(&self.root, &agent)? {
                let before = told.events;
                for line in lines(&path)? {
                    if let Some(left) = changed(&line?, &without) {
                        told.events += 1;
                        let id = event_of(&left).and_then(|event| event["id"].as_str().map(str::to_owned));
                        told.of.extend(id.map(|id| (agent.clone(), id)));
                    }
                }
                if writes && told.events > before {
                    self.rewrite(&path, &without)?;
                }
            }
        }
        Ok(told)
    }

    /// Writes a file anew without what is to go, in one step. Events that come meanwhile wait.
    fn rewrite(&self, path: &Path, without: TraceWithout<'_>) -> Result<(), FsError> {
        let _one = self.lock();
        let mode = path.symlink_metadata().on("look at", path)?.permissions().mode() & 0o777;
        replace_with(path, mode, |out| {
            let mut out = BufWriter::new(out);
            for line in lines(path).map_err(std::io::Error::other)? {
                let line = line.map_err(std::io::Error::other)?;
                out.write_all(&changed(&line, without).unwrap_or(line))?;
            }
            out.flush()?;
            crash::point("trace-swept");
            Ok(())
        })
    }
}

/// A line without what is to go; `None` where it has none of it. Of a damaged line that has it nothing stays.
fn changed(line: &[u8], without: TraceWithout<'_>) -> Option<Vec<u8>> {
    match event_of(line) {
        Some(mut event) => change_texts(&mut event, &mut |_, text| without(text)).then(|| line_of(&event)),
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
    use crate::forgotten::{ForgottenTexts, parts_of};
    use crate::state::State;
    use serde_json::json;
    use std::fs;

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
        // As a sync service names its copies, with a last line that is torn.
        let copy = path.with_file_name("2026-03-02T10.sync-conflict-20260302-101500-ABCDEFG.jsonl");
        fs::write(&copy, [&with, secret.as_bytes()].concat()).unwrap();
        let traces = TraceFiles::new(folder.path(), 1 << 30);
        let all = |_: &str| TraceShare { reach: None, parts: parts_of(&[secret]) };
        let sweep = |writes: bool| traces.sweep(&forgotten.look().unwrap(), &all, writes).unwrap();
        let told = sweep(false);
        assert_eq!((told.events, &told.of), (4, &BTreeSet::from([("ada".to_owned(), "b".to_owned())])));
        assert_eq!(sweep(true), told);
        let left = line_of(&event("b", "Context:  (notes/a.md#L1)"));
        assert_eq!(fs::read(&path).unwrap(), [&other[..], &left, &other].concat());
        assert_eq!(fs::read(&copy).unwrap(), left);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o400);
        assert_eq!((sweep(true), sweep(false)), (ToldTraces::default(), ToldTraces::default()));
    }
}
