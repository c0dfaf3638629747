//! The person edits a note: its whole text, some lines, or the box of a task. What they did not change keeps its bytes.

use std::ops::Range;
use std::time::{Duration, Instant};

use blake3::Hash;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::agent_writes::is_kept;
use super::exact_edits::refusal;
use super::removal::is_generated;
use crate::access::request::{Editor, ErrorKind, RequestError, Workspace, note_path};
use crate::access::rules::{Scope, Subject};
use crate::base::path::VaultPath;
use crate::serve::wire::{NoteMakeParams, NoteNow, NoteText, NoteWriteParams, NoteWritten, TaskParams, TextParams};
use crate::text::derive::ChunkId;
use crate::text::note::{BlockKind, Note};
use crate::vault::disk::{Act, Action, ReadError, WriteError, is_facts_history};

/// Maximum time that an answer waits until searches reflect what was written: whoever types writes again in a moment.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum time that lines are compared, to find those that stay.
const MOST_COMPARED: Duration = Duration::from_millis(100);
/// What begins a text by which it is known as UTF-8, and belongs to no line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a note as it is on disk.
///
/// # Errors
/// When there is no such note, or it is no text.
pub fn note_text(editor: &Editor, params: &TextParams) -> Result<NoteText, RequestError> {
    let (workspace, path) = (editor.workspace(), note_path(&params.path)?);
    may_see(editor, &path)?;
    // What is in a folder elsewhere is read, and not written.
    if workspace.outside.of(&path).is_none() || workspace.leaves_out(&path) || path.is_document() {
        workspace.files.check(&path)?;
    }
    let (text, hash) = read_as(editor, &path)?;
    Ok(NoteText { path: path.to_string(), text, hash: hash.to_string() })
}

/// Writes over a note that is as it was read, or over lines of it.
///
/// # Errors
/// When it has changed since, may not be written, or has no such lines; or the disk refuses.
pub fn write(editor: &Editor, params: &NoteWriteParams) -> Result<NoteWritten, RequestError> {
    let note = OpenNote::of(editor, &params.path)?;
    note.expect(&params.if_hash)?;
    let revised = match (params.line_start, params.line_end) {
        (None, None) => Revised::whole(&note.text, &params.text),
        (Some(first), Some(last)) => Revised::lines(&note.text, &params.text, first, last).ok_or_else(|| {
            let lines = note.text.split('\n').count();
            let message =
                format!("`{}` has {lines} lines; `line_start` {first} and `line_end` {last} are none", note.path);
            RequestError::invalid(message)
        })?,
        _ => return Err(RequestError::invalid("give `line_start` and `line_end`, or neither")),
    };
    note.write(revised, editor.act(Action::Edit).typed())
}

/// Makes a note.
///
/// # Errors
/// When there is one, none may be there, or the disk refuses.
pub fn make(editor: &Editor, params: &NoteMakeParams) -> Result<NoteWritten, RequestError> {
    let (workspace, path) = (editor.workspace(), note_path(&params.path)?);
    if is_facts_history(&path) {
        return Err(generated(&path));
    }
    fits(workspace, &path, &params.text)?;
    may_leave(editor, &path, None, &params.text)?;
    let made = workspace.files()?.replace(&path, None, &params.text, editor.act(Action::Create));
    let checkpoint = made.map_err(|error| match error {
        WriteError::Exists(_) => {
            let now = now(editor, &path);
            RequestError { kind: ErrorKind::Exists, now, ..RequestError::from(error) }
                .hint("choose another name, or edit it")
        }
        error => error.into(),
    })?;
    written(editor, &path, &params.text, &params.text, Some(checkpoint.to_string()))
}

/// Ticks a task, or unticks it.
///
/// # Errors
/// When the line is no task, or the note is another than was read.
pub fn tick(editor: &Editor, params: &TaskParams) -> Result<NoteWritten, RequestError> {
    let note = OpenNote::of(editor, &params.path)?;
    params.if_hash.as_ref().map_or(Ok(()), |hash| note.expect(hash))?;
    let Some(mark) = task_mark(&note.path, &note.text, params.line) else {
        return Err(note.conflict(format!("line {} of `{}` is not a task", params.line, note.path)));
    };
    let is_as_wanted = match &note.text[mark.clone()] {
        "x" | "X" => params.done,
        " " => !params.done,
        _ => false,
    };
    let (before, after) = (&note.text[..mark.start], &note.text[mark.end..]);
    let text = match is_as_wanted {
        true => note.text.clone(),
        false => format!("{before}{}{after}", if params.done { 'x' } else { ' ' }),
    };
    note.write(Revised { text, new: String::new() }, editor.act(Action::Edit))
}

/// A note that may be written, as it is now.
struct OpenNote<'a> {
    editor: &'a Editor,
    path: VaultPath,
    text: String,
    hash: Hash,
}

impl<'a> OpenNote<'a> {
    fn of(editor: &'a Editor, path: &str) -> Result<Self, RequestError> {
        let path = note_path(path)?;
        may_see(editor, &path)?;
        editor.workspace().files()?.check(&path)?;
        let (text, hash) = read_as(editor, &path)?;
        // To parse a whole note at each key would be slow.
        if is_facts_history(&path) || (text.contains("generated") && is_generated(&text)) {
            return Err(generated(&path));
        }
        Ok(Self { editor, path, text, hash })
    }

    /// Whether it is what somebody has read.
    fn expect(&self, hash: &str) -> Result<(), RequestError> {
        let is_it = self.hash.to_hex().as_str() == hash
            || ChunkId::of_note(&self.path, self.hash.as_bytes()).to_string() == hash;
        if is_it { Ok(()) } else { Err(self.conflict(WriteError::Changed(self.path.clone()).to_string())) }
    }

    fn conflict(&self, message: String) -> RequestError {
        let now = Some(Box::new(NoteNow { text: self.text.clone(), hash: self.hash.to_string() }));
        RequestError { now, ..RequestError::conflict(message) }.hint("look at what it says now, and decide")
    }

    fn write(&self, revised: Revised, act: Act<'_>) -> Result<NoteWritten, RequestError> {
        let Revised { text, new } = revised;
        if text == self.text {
            return written(self.editor, &self.path, &text, "", None);
        }
        let workspace = self.editor.workspace();
        fits(workspace, &self.path, &text)?;
        may_leave(self.editor, &self.path, Some(&self.text), &text)?;
        let checkpoint = workspace.files()?.replace(&self.path, self.hash, &text, act).map_err(|error| {
            let is_conflict = matches!(error, WriteError::Changed(_));
            let now = is_conflict.then(|| now(self.editor, &self.path)).flatten();
            RequestError { now, ..RequestError::from(error) }
        })?;
        written(self.editor, &self.path, &text, &new, Some(checkpoint.to_string()))
    }
}

fn read(workspace: &Workspace, path: &VaultPath) -> Result<(String, Hash), RequestError> {
    match workspace.source(path) {
        Ok(source) => Ok((source.text, source.hash)),
        Err(ReadError::Gone) => Err(RequestError::no_note(path)),
        Err(error @ ReadError::Changing) => {
            Err(RequestError::unavailable(format!("`{path}`: {error}"), "try again in a moment"))
        }
        Err(ReadError::Unfit(reason)) => {
            let message = format!("`{path}` cannot be edited here: {reason}");
            Err(RequestError::invalid(message).hint("edit it with the program that wrote it"))
        }
    }
}

/// The text of a note that [may be seen](may_see).
fn read_as(editor: &Editor, path: &VaultPath) -> Result<(String, Hash), RequestError> {
    let (text, hash) = read(editor.workspace(), path)?;
    // As it is now, not only as the index has it.
    let is_seen = editor.member().is_none() || is_given(editor, path, &text);
    if is_seen { Ok((text, hash)) } else { Err(RequestError::no_note(path)) }
}

/// Refuses a member what they do not see, before the disk is asked: what is hidden is as what is not there.
fn may_see(editor: &Editor, path: &VaultPath) -> Result<(), RequestError> {
    if editor.member().is_none() {
        return Ok(());
    }
    editor.make_fresh();
    let is_seen = editor.read_scope()?.file(path.as_str()).is_some();
    if is_seen { Ok(()) } else { Err(RequestError::no_note(path)) }
}

/// Whether a member is given a note that says this.
fn is_given(editor: &Editor, path: &VaultPath, text: &str) -> bool {
    let note = Note::of(path, text);
    let subject =
        Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private: note.is_private() };
    let grant = editor.member().and_then(|member| member.policy.grant.as_ref());
    grant.is_some_and(|grant| grant.refusal(&subject).is_none()) && !editor.workspace().hides(path)
}

/// What a member says in the frontmatter of a new note; that of one which is there is the owner's.
const OF_NEW_NOTES: [&str; 4] = ["title", "created", "tags", "aliases"];

/// Refuses what a member may not write there, would not see any more, or would have others see.
fn may_leave(editor: &Editor, path: &VaultPath, before: Option<&str>, text: &str) -> Result<(), RequestError> {
    let Some(member) = editor.member() else { return Ok(()) };
    let collection = path.collection();
    is_kept(editor.workspace(), path, text)?;
    let note = Note::of(path, text);
    let why = match before {
        Some(before) => refusal(before, text),
        None if note.metadata.iter().all(|(key, value)| {
            OF_NEW_NOTES.contains(&key.as_str()) || key == "private" && value.as_str() == Some(&member.name)
        }) =>
        {
            refusal("", &text[note.body])
        }
        None => Some("a new note takes `title`, `created`, `tags` and `aliases` in its frontmatter"),
    };
    if let Some(why) = why {
        return Err(RequestError::invalid(format!("`{path}`: {why}")).hint("nothing was written"));
    }
    if !member.policy.writes(collection) {
        return Err(RequestError::forbidden(format!("you may not write in `{collection}`")).hint("ask the owner"));
    }
    if !is_given(editor, path, text) {
        let message = format!("`{path}`: you could not read it any more");
        return Err(RequestError::invalid(message).hint("nothing was written"));
    }
    Ok(())
}

fn now(editor: &Editor, path: &VaultPath) -> Option<Box<NoteNow>> {
    may_see(editor, path).ok()?;
    let (text, hash) = read_as(editor, path).ok()?;
    Some(Box::new(NoteNow { text, hash: hash.to_string() }))
}

/// Refuses a text that would be in no index, and could not be edited again.
fn fits(workspace: &Workspace, path: &VaultPath, text: &str) -> Result<(), RequestError> {
    let most = workspace.config.index.max_file_bytes;
    if text.len() as u64 <= most {
        return Ok(());
    }
    let message = format!("`{path}` would have {} bytes; it takes {most}", text.len());
    Err(RequestError::invalid(message).hint("`[index] max_file_bytes` in memory.toml is the limit"))
}

/// Says where to edit instead what a file that the program writes is made of.
fn generated(path: &VaultPath) -> RequestError {
    let hint = match path.collection() {
        _ if is_facts_history(path) => "edit `facts.md` beside it; the history follows",
        "profile" => "edit `USER.md`, the entries or the facts; the page follows",
        _ => "edit the notes that it is made of, which its `sources` name; it follows",
    };
    RequestError::invalid(format!("`{path}` cannot be written: the vault itself writes it")).hint(hint)
}

fn written(
    editor: &Editor,
    path: &VaultPath,
    text: &str,
    new: &str,
    checkpoint_id: Option<String>,
) -> Result<NoteWritten, RequestError> {
    let workspace = editor.workspace();
    // It is written: what cannot be looked up now is not pointed out.
    let forgotten_before = !new.is_empty()
        && editor.member().is_none()
        && workspace.forgotten.look().is_ok_and(|known| known.without(new, &Scope::Everything).is_some());
    let searchable = !workspace.leaves_out(path) && workspace.settled_within(path, PATIENCE).is_ok();
    let (path, hash) = (path.to_string(), blake3::hash(text.as_bytes()).to_string());
    Ok(NoteWritten { ok: true, path, hash, checkpoint_id, searchable, forgotten_before })
}

/// A note's text after a change, and what of it is new.
struct Revised {
    text: String,
    new: String,
}

/// A line, and what ends it: nothing at the end of a text, or where what is usual there is to end it.
type Line<'t> = (&'t str, &'t str);

impl Revised {
    /// Another text for a note: lines at its beginning and its end that are the same keep the ends that they have.
    fn whole(had: &str, text: &str) -> Self {
        let has_ends = text.contains("\r\n");
        let (old, new) = (lines_of(had), lines_of(text));
        let is_same = |(one, other): &(&Line<'_>, &Line<'_>)| one.0 == other.0 && (!has_ends || one.1 == other.1);
        let first = old.iter().zip(&new).take_while(is_same).count();
        let most = old.len().min(new.len()) - first;
        let last = old.iter().rev().zip(new.iter().rev()).take(most).take_while(is_same).count();
        Self::of(had, &old, first..old.len() - last, &new[first..new.len() - last], has_ends)
    }

    /// A note with other lines; `None` where it has no such lines.
    fn lines(had: &str, text: &str, first: usize, last: usize) -> Option<Self> {
        let old = lines_of(had);
        let start = first.checked_sub(1).filter(|start| (*start..=old.len()).contains(&last))?;
        let mut new = lines_of(text);
        new.pop_if(|last| last.0.is_empty());
        Some(Self::of(had, &old, start..last, &new, text.contains("\r\n")))
    }

    fn of<'t>(had: &str, old: &[Line<'t>], replaced: Range<usize>, new: &[Line<'t>], has_ends: bool) -> Self {
        // As the line ends that was there, or the one before it.
        let near = replaced.start.min(old.len().saturating_sub(2));
        let usual = if old[near].1 == "\r\n" { "\r\n" } else { "\n" };
        let mut new: Vec<Line<'t>> = new.iter().map(|(line, end)| (*line, if has_ends { *end } else { "" })).collect();
        if !has_ends {
            // Lines between two that were edited have the ends that they had.
            let bare = |lines: &[Line<'t>]| -> Vec<&'t str> {
                lines.iter().map(|(line, _)| line.trim_start_matches(BYTE_ORDER_MARK)).collect()
            };
            let (was, is) = (bare(&old[replaced.clone()]), bare(&new));
            let until = Some(Instant::now() + MOST_COMPARED);
            for operation in capture_diff_slices_deadline(Algorithm::Myers, &was, &is, until) {
                if let DiffOp::Equal { old_index, new_index, len } = operation {
                    for at in 0..len {
                        new[new_index + at].1 = old[replaced.start + old_index + at].1;
                    }
                }
            }
        }
        let lines = [&old[..replaced.start], &new, &old[replaced.end..]].concat();
        let mut text = String::with_capacity(had.len());
        for (at, (line, end)) in lines.iter().enumerate() {
            text += line;
            if at + 1 < lines.len() {
                text += if end.is_empty() { usual } else { end };
            }
        }
        if had.starts_with(BYTE_ORDER_MARK) && !text.starts_with(BYTE_ORDER_MARK) {
            text.insert(0, BYTE_ORDER_MARK);
        }
        Self { text, new: new.iter().map(|(line, _)| *line).collect::<Vec<_>>().join("\n") }
    }
}

/// The lines of a text; the last is empty where it ends in a newline.
fn lines_of(text: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> =
        text.split('\n').map(|line| line.strip_suffix('\r').map_or((line, "\n"), |line| (line, "\r\n"))).collect();
    if let Some(last) = lines.last_mut() {
        *last = (text.rsplit('\n').next().unwrap_or_default(), "");
    }
    lines
}

/// What stands in the brackets of the task on a line of a note.
fn task_mark(path: &VaultPath, text: &str, line: usize) -> Option<Range<usize>> {
    let written = text.split_inclusive('\n').nth(line.checked_sub(1)?)?;
    let start = written.as_ptr() as usize - text.as_ptr() as usize;
    let rest = written.trim_start_matches(['>', ' ', '\t', BYTE_ORDER_MARK]);
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match rest.len() - number.len() {
        0 => rest.strip_prefix(['-', '*', '+'])?,
        1..=9 => number.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let open = item.trim_start_matches([' ', '\t']);
    let mark = open.strip_prefix('[')?;
    let (inside, after) = mark.split_once(']')?;
    let is_task = open.len() < item.len()
        && inside.chars().count() == 1
        && (after.is_empty() || after.starts_with(char::is_whitespace));
    let from = start + (written.len() - mark.len());
    // What stands in code, or in frontmatter, is no task.
    let note = Note::of(path, text);
    let is_code = note.blocks.iter().any(|block| block.kind == BlockKind::Code && block.span.contains(&from));
    (is_task && !is_code && note.body.contains(&from)).then(|| from..from + inside.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_lines(had: &str, text: &str, first: usize, last: usize) -> Option<String> {
        Revised::lines(had, text, first, last).map(|revised| revised.text)
    }

    #[test]
    fn lines_take_the_place_of_lines() {
        for (had, text, first, last, expected) in [
            ("a\nb\nc\n", "x", 2, 2, "a\nx\nc\n"),
            ("a\nb\nc\n", "x\n", 2, 2, "a\nx\nc\n"),
            ("a\nb\nc\n", "x\ny", 2, 3, "a\nx\ny\n"),
            ("a\nb\nc", "x\n", 3, 3, "a\nb\nx"),
            ("a\nb\nc", "", 2, 3, "a"),
            ("a\nb\nc", "\n", 3, 3, "a\nb\n"),
            ("a\nb\n", "x", 3, 2, "a\nb\nx\n"),
            ("a\nb\n", "x", 3, 3, "a\nb\nx"),
            ("a\nb", "x", 3, 2, "a\nb\nx"),
            ("a\nb", "x\n\n", 1, 0, "x\n\na\nb"),
            ("a\r\nb\r\n", "x\ny", 2, 2, "a\r\nx\r\ny\r\n"),
            ("a\r\nb", "x", 3, 2, "a\r\nb\r\nx"),
            ("a\nb\r\nc\n", "x", 2, 2, "a\nx\r\nc\n"),
            ("a\nb\n", "x\r\n", 1, 1, "x\r\nb\n"),
            ("\u{feff}a\r\nb", "x", 1, 1, "\u{feff}x\r\nb"),
            ("", "x", 1, 1, "x"),
            ("a", "", 1, 1, ""),
        ] {
            assert_eq!(
                with_lines(had, text, first, last).as_deref(),
                Some(expected),
                "{had:?} {text:?} {first} {last}"
            );
        }
        for (first, last) in [(0, 0), (1, 4), (5, 4), (3, 1), (4, 4)] {
            assert_eq!(with_lines("a\nb\n", "x", first, last), None, "{first} {last}");
        }
    }

    #[test]
    fn a_box_is_found_where_a_task_stands() {
        let path = VaultPath::new("a.md").unwrap();
        let mark = |line: &str| task_mark(&path, line, 1).map(|mark| line[mark].to_owned());
        for (line, expected) in [
            ("- [ ] a", " "),
            ("* [x] a", "x"),
            ("+ [X]", "X"),
            ("  1. [/] a\r\n", "/"),
            ("12) [-] a", "-"),
            ("> - [ ] a", " "),
            ("> > 3. [é] a", "é"),
            ("-\t[ ]\ta", " "),
        ] {
            assert_eq!(mark(line).as_deref(), Some(expected), "{line}");
        }
        for line in [
            "", "a", "[ ] a", "-[ ] a", "- [] a", "- [xx] a", "- [x]a", "- [a](b)", "1 [ ] a", "- a [ ]", "    - [ ] a",
        ] {
            assert_eq!(mark(line), None, "{line}");
        }
        let text = "---\nt:\n- [ ]\n---\n```\n- [ ] b\n```\n- [ ] c\n";
        let found = (0..10).filter(|line| task_mark(&path, text, *line).is_some()).collect::<Vec<_>>();
        assert_eq!(found, [8]);
    }

    proptest! {
        /// Whatever is written, each line outside keeps its bytes, those in it are those of the text, and nothing is lost between them.
        #[test]
        fn lines_outside_keep_their_bytes(
            had in "\u{feff}?(\\PC{0,3}(\n|\r\n|\r)?){0,8}", text in "([a-cé\r]{0,3}\n?){0,4}", first in 1_usize..9, count in 0_usize..9,
        ) {
            let old: Vec<&str> = had.split('\n').collect();
            let new = with_lines(&had, &text, first, first + count - 1);
            prop_assert_eq!(new.is_none(), first + count - 1 > old.len());
            let Some(new) = new else { return Ok(()) };
            let lines: Vec<&str> = new.split('\n').collect();
            let bare = |line: &str| line.trim_start_matches(BYTE_ORDER_MARK).trim_end_matches('\r').to_owned();
            let written = text.strip_suffix('\n').unwrap_or(&text).split('\n').map(bare);
            let mut expected: Vec<String> = old[..first - 1].iter().map(|line| bare(line)).collect();
            expected.extend(written.filter(|_| !text.is_empty()));
            expected.extend(old[first + count - 1..].iter().map(|line| bare(line)));
            if expected.is_empty() {
                expected.push(String::new());
            }
            prop_assert_eq!(lines.iter().map(|line| bare(line)).collect::<Vec<_>>(), expected);
            // The last line before and the first behind are next to what is new; the end of that before may have come, or gone.
            for line in 0..first.saturating_sub(2) {
                prop_assert_eq!(lines[line], old[line]);
            }
            let behind = old.len() - (first + count - 1);
            let from = |lines: &[&str]| lines[lines.len() - behind..].join("\n").trim_start_matches(BYTE_ORDER_MARK).to_owned();
            prop_assert_eq!(from(&lines), from(&old));
        }

        /// A whole text is written as it is; one without carriage returns says the same, and of lines that stay each has the end that it had.
        #[test]
        fn a_whole_text_is_what_was_written(had in "([ab]{0,2}(\n|\r\n)){0,6}a?", text in "([ab]{0,2}(\n|\r\n)){0,6}a?") {
            let written = Revised::whole(&had, &text).text;
            if text.contains('\r') || !had.contains('\r') {
                prop_assert_eq!(&written, &text);
            }
            prop_assert_eq!(written.replace('\r', ""), text.replace('\r', ""));
            let normal = had.replace('\r', "");
            prop_assert_eq!(Revised::whole(&had, &normal).text, had);
        }
    }
}
