//! What of conversations somebody said, read from the files: a passage does not tell what began before it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use crate::derive::lines_with_machinery;
use crate::engine::FileEntry;
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::Workspace;

/// The conversations that one request has looked into.
#[derive(Default)]
pub(super) struct Talks {
    read: RefCell<HashMap<VaultPath, Option<TalkText>>>,
}

/// A conversation without comments, and what is left of the lines out of which something is taken.
struct TalkText {
    text: String,
    left: BTreeMap<usize, String>,
}

impl Talks {
    /// What is left of some lines of a conversation, the first and the last; `None` where nothing is taken out of these, or the file is not
    /// on disk as it was indexed. `names` are the person's.
    pub(super) fn said(
        &self,
        workspace: &Workspace,
        file: &FileEntry,
        (first, last): (u32, u32),
        names: impl Fn() -> Vec<String>,
    ) -> Option<String> {
        let mut read = self.read.borrow_mut();
        let talk = read.entry(file.path.clone()).or_insert_with(|| {
            let source = workspace.source(&file.path).ok().filter(|source| source.stamp == file.stamp)?;
            // Most have nothing of it.
            if lines_with_machinery(&source.text, &names()).is_empty() {
                return None;
            }
            let text = without_comments(&source.text, file.path.stem());
            let left = lines_with_machinery(&text, &names());
            Some(TalkText { text, left })
        });
        let TalkText { text, left } = talk.as_ref()?;
        let (first, last) = (first as usize, last as usize);
        left.range(first..=last.max(first)).next()?;
        let lines = text.lines().enumerate().skip(first.saturating_sub(1)).take(last.max(first) + 1 - first);
        let said = lines.filter_map(|(at, line)| match left.get(&(at + 1)) {
            Some(left) => (!left.trim().is_empty()).then_some(left.as_str()),
            None => Some(line),
        });
        Some(said.collect::<Vec<_>>().join("\n").trim().to_owned())
    }
}

/// A conversation without the comments in it, each line in its place.
fn without_comments(source: &str, stem: &str) -> String {
    let note = Note::parse(source, stem);
    let mut text = String::with_capacity(source.len());
    for number in 1..=source.lines().count() {
        text.push_str(note.visible(source, note.lines.span(number)).trim_end_matches(['\r', '\n']));
        text.push('\n');
    }
    text
}
