//! The text of a passage, a note, or some lines of it, by whatever names it.

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::refs::{Reference, uri_of};
use super::tool::{DATA, Render, count};
use crate::attachments::page_lines;
use crate::note::Lines;
use crate::notes;
use crate::request::{RequestError, Viewer};
use crate::wire::{NoteParams, passage_citation, split_page};

/// Maximum of what one answer holds of a note, in bytes; the rest is asked for by line.
pub(super) const MOST_BYTES: usize = 50_000;

/// Text of a note.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct NoteText {
    /// Where it is, to be cited: `notes/api.md#L42-L58`.
    pub(super) citation: String,
    /// The note's path.
    pub(super) path: String,
    /// The note as a resource.
    pub(super) uri: String,
    /// The note's title.
    pub(super) title: String,
    /// The name of the passage, or of the note as it is now.
    hash: String,
    /// The note's tags.
    tags: Vec<String>,
    /// When the note was last changed, as RFC 3339.
    pub(super) updated_at: String,
    /// The text, as it is in the file.
    pub(super) text: String,
    /// Its first line, from 1.
    line_start: usize,
    /// Its last line.
    line_end: usize,
    /// How many lines the note has; absent for a passage.
    total_lines: Option<usize>,
    /// The line at which to go on, when the text was too long for one answer.
    pub(super) next_line: Option<usize>,
    /// Whether the last line is cut, as it alone is longer than an answer may be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl Render for NoteText {
    fn text(&self) -> String {
        format!("{DATA}\n{}", self.body())
    }
}

impl NoteText {
    /// Where it is, and what it says.
    pub(super) fn body(&self) -> String {
        let more = match self.next_line {
            _ if self.cut => "\n(The last line is longer than an answer may be, and is cut.)\n".into(),
            Some(line) => format!("\n(There is more: get `{}` with `line` {line}.)\n", self.path),
            None => String::new(),
        };
        format!("[{}] {}\n\n{}\n{more}", self.citation, self.title, self.text.trim_end())
    }

    /// Bytes of all that it gives of a note.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + names(&self.title, &self.tags)
    }

    /// Whether more was asked for than there was room for.
    pub(super) fn is_cut(&self) -> bool {
        self.cut || self.next_line.is_some()
    }
}

/// Bytes of what is given of a note besides its text.
fn names(title: &str, tags: &[String]) -> usize {
    title.len() + tags.iter().map(String::len).sum::<usize>()
}

/// Which lines, and how much of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) line: Option<usize>,
    pub(super) lines: Option<usize>,
    /// Of a PDF, the page that they are on.
    pub(super) page: Option<u32>,
    pub(super) bytes: usize,
}

/// How many bytes an answer may hold for who asks.
pub(super) fn room(viewer: &Viewer, at_most: usize) -> usize {
    viewer.limits().map_or(at_most, |limits| at_most.min(limits.max_injected_chars))
}

/// Reads what a caller names.
pub(super) fn read(viewer: &Viewer, what: &str, window: Window) -> Result<NoteText, RequestError> {
    if window.line == Some(0) || window.lines == Some(0) {
        return Err(RequestError::invalid("lines are counted from 1"));
    }
    let (what, window) = match split_page(what.trim()) {
        Some((path, page)) => (path, Window { page: Some(page), ..window }),
        None => (what, window),
    };
    match Reference::parse(what)? {
        Reference::Hash(hash) => passage(viewer, &hash, window),
        Reference::Note(path, named) => {
            let line = window.line.or(named.map(|(first, _)| first));
            let first = line.unwrap_or(1);
            let last = named.filter(|_| window.line.is_none()).and_then(|(_, last)| last);
            let lines = match last {
                Some(last) if last < first => {
                    return Err(RequestError::invalid(format!("`{what}` ends before it begins")));
                }
                Some(last) => Some(window.lines.unwrap_or(usize::MAX).min(last - first + 1)),
                None => window.lines,
            };
            note(viewer, path, Window { line, lines, ..window })
        }
    }
}

fn passage(viewer: &Viewer, hash: &str, window: Window) -> Result<NoteText, RequestError> {
    if window.line.is_some() {
        return Err(RequestError::invalid("a hash names a whole passage; `line` goes with a path"));
    }
    let (passage, cut) = notes::passage(viewer, hash)?;
    let chunk = passage.chunk;
    Ok(NoteText {
        uri: uri_of(&chunk.path),
        citation: chunk.citation,
        path: chunk.path,
        title: chunk.title,
        hash: chunk.hash,
        tags: chunk.tags,
        updated_at: chunk.updated_at,
        text: chunk.content,
        line_start: chunk.line_start as usize,
        line_end: chunk.line_end as usize,
        total_lines: None,
        next_line: None,
        cut,
    })
}

fn note(viewer: &Viewer, path: String, window: Window) -> Result<NoteText, RequestError> {
    let mut note = notes::whole_note(viewer, &NoteParams::of(path))?;
    let index = Lines::new(&note.text);
    // What follows the last line's end is no line.
    let total = (index.count() - usize::from(note.text.ends_with('\n'))).max(1);
    let (page_begin, page_end) = match window.page {
        Some(page) => page_lines(&note.text, page)
            .ok_or_else(|| RequestError::not_found(format!("{} has no text on a page {page}", note.path)))?,
        None => (1, total),
    };
    let first = window.line.unwrap_or(page_begin);
    if first == 0 || first > total {
        return Err(RequestError::invalid(format!(
            "{} has {}; line {first} was asked for",
            note.path,
            count(total, "line")
        )));
    }
    let until = first.saturating_add(window.lines.unwrap_or(total) - 1).min(page_end).max(first);
    let start = index.span(first).start;
    let mut bytes = window.bytes;
    if viewer.limits().is_some() {
        // What is given besides the text counts too, and is not to take its place.
        if note.tags.iter().map(String::len).sum::<usize>() > bytes / 4 {
            note.tags.clear();
        }
        bytes = bytes.saturating_sub(names(&note.title, &note.tags));
    }
    let fits = |line: &usize| index.span(*line).end - start <= bytes;
    let last = (first..=until).take_while(fits).last();
    let (last, text, cut) = match last {
        Some(last) => (last, &note.text[start..index.span(last).end], false),
        // One line that is too long for an answer.
        None => (first, &note.text[start..note.text.floor_char_boundary(start + bytes)], true),
    };
    Ok(NoteText {
        citation: passage_citation(&note.path, window.page, first as u32, last as u32),
        uri: uri_of(&note.path),
        path: note.path,
        title: note.title,
        hash: note.hash,
        tags: note.tags,
        updated_at: note.updated_at,
        text: text.to_owned(),
        line_start: first,
        line_end: last,
        total_lines: Some(total),
        next_line: (last < until).then_some(last + 1),
        cut,
    })
}
