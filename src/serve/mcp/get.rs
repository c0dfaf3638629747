//! `get` and `fetch`: the texts of passages and notes, by whatever names them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::tool::{DATA, Render, ToolEntry, count};
use crate::access::request::{RequestError, Viewer};
use crate::serve::wire::{NoteParams, passage_citation, percent_decode, percent_encode_path, split_lines, split_page};
use crate::text::note::Lines;
use crate::vault::attachments::page_lines;
use crate::vault::notes;

/// What to get: `what`, `list` or `glob`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GetArgs {
    /// Path, citation or hash: `notes/api.md`, `notes/api.md#L42-L58`, `a.pdf#page=3`.
    #[schema(min_length = 1)]
    what: Option<String>,
    /// Several.
    #[schema(min_items = 1, max_items = 50)]
    list: Option<Vec<String>>,
    /// `daily/2026-01-*.md`; `**` crosses folders.
    #[schema(min_length = 1)]
    glob: Option<String>,
    /// The first line.
    #[schema(minimum = 1)]
    line: Option<usize>,
    /// Number of lines.
    #[schema(minimum = 1)]
    lines: Option<usize>,
    /// In total; default 50000.
    #[schema(minimum = 1000, maximum = 200000)]
    max_bytes: Option<usize>,
}

/// What there was.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum GotTexts {
    One(NoteText),
    Many(Texts),
}

impl Render for GotTexts {
    fn text(&self) -> String {
        match self {
            Self::One(text) => text.text(),
            Self::Many(texts) => texts.text(),
        }
    }
}

pub(super) fn get_tool() -> ToolEntry {
    let description = "Reads a note or passage by a path or citation from a search, whole or from a line; several at once by `list` \
            or a pattern (`glob`). Read the lines around a hit before you rely on it.";
    ToolEntry::reader("get", "Read notes", description, |_, viewer: &Viewer, args| get(viewer, args))
}

fn get(viewer: &Viewer, args: GetArgs) -> Result<GotTexts, RequestError> {
    let GetArgs { what, list, glob, line, lines, max_bytes } = args;
    let bytes = max_bytes.unwrap_or(MOST_BYTES);
    match (what, list, glob) {
        (Some(what), None, None) => {
            let window = Window { line, lines, page: None, bytes: room(viewer, bytes.min(MOST_BYTES)) };
            read(viewer, &what, window).map(GotTexts::One)
        }
        (None, ..) if line.is_some() => Err(RequestError::invalid("`line` needs `what`")),
        (None, Some(names), None) => several(viewer, names, lines, bytes).map(GotTexts::Many),
        (None, None, Some(glob)) => {
            let names = matching(viewer, glob)?;
            several(viewer, names, lines, bytes).map(GotTexts::Many)
        }
        _ => Err(RequestError::invalid("give exactly one of `what`, `list` and `glob`")),
    }
}

/// Maximum number of notes that a glob gives, as many as may be named.
const MOST_NAMES: usize = 50;

/// What there was.
#[derive(Debug, Serialize)]
pub(super) struct Texts {
    /// The texts, in the order asked for; of a glob in the order of their paths.
    results: Vec<NoteText>,
    /// What could not be had, and why.
    failed: Vec<Failed>,
    /// What there was no room for; ask for it again.
    left_out: Vec<String>,
}

/// What could not be had.
#[derive(Debug, Serialize)]
struct Failed {
    /// What was asked for.
    what: String,
    /// A word for programs.
    code: String,
    /// A sentence.
    message: String,
}

impl Render for Texts {
    fn text(&self) -> String {
        let more = [(self.failed.len(), "failed"), (self.left_out.len(), "did not fit")];
        let more = more.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!(", {number} {what}"));
        let mut text = format!("{}{}. {DATA}\n\n", count(self.results.len(), "text"), more.collect::<String>());
        text.extend(self.results.iter().map(|result| result.body() + "\n---\n\n"));
        for failed in &self.failed {
            text += &format!("{}: {}: {}\n", failed.what, failed.code, failed.message);
        }
        if !self.left_out.is_empty() {
            text += &format!("These did not fit: {}\n", self.left_out.join(", "));
        }
        text
    }
}

/// The paths that match a glob, the first fifty of them.
pub(super) fn matching(viewer: &Viewer, glob: String) -> Result<Vec<String>, RequestError> {
    let (notes, _) = notes::listing(viewer, Some(&glob), None, MOST_NAMES)?;
    Ok(notes.into_iter().map(|note| note.path).collect())
}

/// Reads what a caller names, as far as there is room.
fn several(viewer: &Viewer, names: Vec<String>, lines: Option<usize>, bytes: usize) -> Result<Texts, RequestError> {
    let mut left = room(viewer, bytes);
    let mut texts = Texts { results: Vec::new(), failed: Vec::new(), left_out: Vec::new() };
    for what in names {
        if left == 0 {
            texts.left_out.push(what);
            continue;
        }
        let window = Window { line: None, lines, page: None, bytes: left.min(MOST_BYTES) };
        match read(viewer, &what, window) {
            // The first is given in part, so that something is given.
            Ok(text) if texts.results.is_empty() || (!text.is_cut() && text.bytes() <= left) => {
                left = left.saturating_sub(text.bytes());
                texts.results.push(text);
            }
            Ok(_) => texts.left_out.push(what),
            Err(error) => {
                let error = error.told_to(viewer.principal());
                texts.failed.push(Failed { what, code: error.kind.code().into(), message: error.message });
            }
        }
    }
    Ok(texts)
}

/// What to fetch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FetchArgs {
    /// As search gave it.
    #[schema(min_length = 1)]
    id: String,
}

/// A document, as ChatGPT reads it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct FetchedNote(Value);

impl Render for FetchedNote {
    /// JSON in any case, as only the client for which it is there looks for this tool.
    fn text(&self) -> String {
        self.0.to_string()
    }
}

pub(super) fn fetch_tool() -> ToolEntry {
    let description = "For ChatGPT: the whole document for an `id` from search, as JSON. Other clients use get.";
    ToolEntry::reader("fetch", "Fetch", description, |_, viewer: &Viewer, args| fetch(viewer, args))
}

fn fetch(viewer: &Viewer, FetchArgs { id }: FetchArgs) -> Result<FetchedNote, RequestError> {
    let window = |line| Window { line, lines: None, page: None, bytes: room(viewer, MOST_BYTES) };
    let note = match Reference::parse(&id)? {
        Reference::Note(path, Some((first, _))) => match read(viewer, &path, window(None))? {
            // What was found is to be in it.
            whole if whole.is_cut() => read(viewer, &path, window(Some(first)))?,
            whole => whole,
        },
        Reference::Note(_, None) | Reference::Hash(_) => read(viewer, &id, window(None))?,
    };
    let NoteText { citation, path, uri, title, updated_at, text, next_line, .. } = note;
    let mut metadata = json!({ "citation": citation, "updated_at": updated_at });
    // What follows, where it is too long for one answer.
    if let Some(line) = next_line {
        metadata["next_id"] = format!("{path}#L{line}").into();
    }
    Ok(FetchedNote(json!({ "id": id, "title": title, "text": text, "url": uri, "metadata": metadata })))
}

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
            _ if self.cut => "\n(The last line is longer than the limit of an answer, and is cut.)\n".into(),
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
        return Err(RequestError::invalid("a hash names a whole passage; `line` needs a path"));
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
            "{} has {}; there is no line {first}",
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

/// What notes are called as resources.
pub(super) const SCHEME: &str = "vault://";

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    /// A passage.
    Hash(String),
    /// A note, or some lines of it, from the first to the last.
    Note(String, Option<(usize, Option<usize>)>),
}

impl Reference {
    /// Reads what a search names: `3f2a…`, `notes/a.md`, `notes/a.md:3`, `notes/a.md:3-5`, `notes/a.md#L3-L5`, or a path as
    /// `vault://notes/a.md`. Says nothing of whether it is there.
    pub(super) fn parse(text: &str) -> Result<Self, RequestError> {
        let text = text.trim();
        if text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Hash(text.to_owned()));
        }
        let (name, lines) = split_lines(text);
        let path = if is_uri(name) { path_of(name)? } else { name.to_owned() };
        Ok(Self::Note(path, lines))
    }
}

/// Whether a text starts as a resource's name does.
fn is_uri(text: &str) -> bool {
    text.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// What a note is called as a resource.
pub(super) fn uri_of(path: &str) -> String {
    format!("{SCHEME}{}", percent_encode_path(path))
}

/// The path that a resource's name stands for.
pub(super) fn path_of(uri: &str) -> Result<String, RequestError> {
    let not_one =
        || RequestError::invalid(format!("`{uri}` is not the URI of a note: `{SCHEME}path`, percent-encoded"));
    let encoded = uri.get(SCHEME.len()..).filter(|_| is_uri(uri)).ok_or_else(not_one)?;
    let path = percent_decode(encoded);
    // Each `%` stands for one byte with the two digits behind it.
    let is_whole = path.len() + 2 * encoded.matches('%').count() == encoded.len();
    is_whole.then_some(path).ok_or_else(not_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str, lines: Option<(usize, Option<usize>)>) -> Reference {
        Reference::Note(path.into(), lines)
    }

    #[test]
    fn takes_what_a_search_names() {
        for (text, place) in [
            ("0123456789abcdef", Reference::Hash("0123456789abcdef".into())),
            ("notes/a.md", note("notes/a.md", None)),
            ("notes/a.md:3", note("notes/a.md", Some((3, None)))),
            ("notes/a.md:3-5", note("notes/a.md", Some((3, Some(5))))),
            ("notes/#1.md#L3-L5", note("notes/#1.md", Some((3, Some(5))))),
            ("notes/10:30 talk.md", note("notes/10:30 talk.md", None)),
            ("vault://my%20notes/%C3%BC.md", note("my notes/ü.md", None)),
            ("VAULT://a.md:7", note("a.md", Some((7, None)))),
            ("vault://a.md#L2-L4", note("a.md", Some((2, Some(4))))),
        ] {
            assert_eq!(Reference::parse(text).unwrap(), place, "{text}");
        }
    }

    #[test]
    fn a_uri_gives_back_its_path() {
        for path in ["notes/a b.md", "ü#1?.md", "a%2Fb.md", "Notes/C:\\x.md", "東京.md"] {
            assert_eq!(path_of(&uri_of(path)).unwrap(), path);
        }
        for uri in ["vault://a%2.md", "vault://%ff.md", "vault://a%zz.md", "file:///etc/passwd", "vault:", "ü"] {
            assert!(path_of(uri).is_err(), "{uri}");
        }
    }
}
