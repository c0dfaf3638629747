//! What of conversations somebody said, read from the files: a passage does not tell what began before it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::access::request::Workspace;
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::text::derive::{lines_with_machinery, turns_around};
use crate::text::note::Note;

/// The conversations that one request has looked into.
#[derive(Default)]
pub(super) struct Talks {
    read: RefCell<HashMap<VaultPath, Option<TalkText>>>,
}

/// A conversation.
struct TalkText {
    text: String,
    /// Where its lines are, without their ends.
    lines: Vec<Range<usize>>,
    /// Read where it is needed.
    note: Option<Note>,
}

impl Talks {
    /// What is left of some lines of a conversation, the first and the last, each with its number; `None` where nothing is taken out of these, or
    /// the file is not on disk as it was indexed. `names` are the person's.
    pub(super) fn said(
        &self,
        workspace: &Workspace,
        file: &FileEntry,
        (first, last): (u32, u32),
        names: impl Fn() -> Vec<String>,
    ) -> Option<Vec<(u32, String)>> {
        let mut read = self.read.borrow_mut();
        let talk = read.entry(file.path.clone()).or_insert_with(|| {
            let source = workspace.source(&file.path).ok().filter(|source| source.stamp == file.stamp)?;
            Some(TalkText::of(source.text))
        });
        let (first, last) = ((first as usize).saturating_sub(1), (last as usize).saturating_sub(1));
        talk.as_mut()?.said((first, last.max(first)), file.path.stem(), &names())
    }
}

impl TalkText {
    fn of(text: String) -> Self {
        let start = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
        let lines = text.lines().map(|line| start(line)..start(line) + line.len()).collect();
        Self { text, lines, note: None }
    }

    fn said(&mut self, (first, last): (usize, usize), stem: &str, names: &[String]) -> Option<Vec<(u32, String)>> {
        let around = turns_around(&|at| &self.text[self.lines[at].clone()], self.lines.len(), (first, last));
        let (from, end) = (self.lines.get(around.start)?.start, self.lines.get(around.end.checked_sub(1)?)?.end);
        // Most have nothing of it.
        if lines_with_machinery(&self.text[from..end], names).is_empty() {
            return None;
        }
        // What stands in comments is seen by nobody.
        let note = self.note.get_or_insert_with(|| Note::parse(&self.text, stem));
        let seen = |at: usize| note.visible(&self.text, self.lines[at].clone()).into_owned();
        let seen: Vec<String> = around.clone().map(seen).collect();
        let left = lines_with_machinery(&seen.join("\n"), names);
        let own = first.checked_sub(around.start)? + 1..=(last.min(around.end - 1) - around.start) + 1;
        left.range(own.clone()).next()?;
        let said = own.map(|number| {
            let line = left.get(&number).or_else(|| seen.get(number - 1)).cloned();
            ((around.start + number) as u32, line.unwrap_or_default())
        });
        Some(said.collect())
    }
}

/// A line without the mark of a list or a quote before it, and the name of a block behind it.
pub(super) fn without_marks(line: &str) -> &str {
    let line = line.trim().trim_start_matches("> ").trim_start();
    let line = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim();
    match line.rsplit_once(" ^") {
        Some((rest, name))
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') =>
        {
            rest.trim_end()
        }
        _ => line,
    }
}

/// A line without the places in it, `^[notes/a.md#L3]`, and those. One that is not closed goes on to the end.
pub(super) fn without_sources(line: &str) -> (String, Vec<&str>) {
    let (mut said, mut sources, mut rest) = (String::with_capacity(line.len()), Vec::new(), line);
    while let Some((before, after)) = rest.split_once("^[") {
        let mut open = 1;
        let end = after.find(|character| {
            open += match character {
                '[' => 1,
                ']' => -1,
                _ => 0,
            };
            open == 0
        });
        let (source, left) = end.map_or((after, ""), |end| (&after[..end], &after[end + 1..]));
        said.push_str(before.trim_end());
        sources.push(source.trim());
        rest = left;
    }
    said.push_str(rest);
    (said.trim().to_owned(), sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_it_says() {
        assert_eq!(without_marks("  - Prefers tabs ^e-7f"), "Prefers tabs");
        assert_eq!(without_marks("> * x ^ y"), "x ^ y");
        assert_eq!(
            without_sources("Prefers tabs. ^[a.md#L1] ^[b.md]"),
            ("Prefers tabs.".into(), vec!["a.md#L1", "b.md"])
        );
        assert_eq!(
            without_sources("A ^[a [1].md] b %% ^[c.md] %%. ^[d"),
            ("A b %% %%.".into(), vec!["a [1].md", "c.md", "d"])
        );
        assert_eq!(without_sources("a [b]"), ("a [b]".into(), vec![]));
    }
}
