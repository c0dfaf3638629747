//! Remarks on chunks, and where those chunks are by now.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::access::request::{Owner, ReadScope, RequestError, Viewer, no_chunk, note_path, now, text};
use crate::base::config::Mode;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::index::engine::{ChunkText, FileEntry, Filter, Reader};
use crate::index::search::SearchRequest;
use crate::serve::wire::{AnnotateParams, Annotated, AnnotationView, PassageView, passage_citation};
use crate::text::derive::ChunkId;
use crate::text::note::{Note, compose, cut_at_word};
use crate::vault::attachments::page_of;
use crate::vault::disk::{Action, ReadError, WriteError, free_name, until_written};

/// The collection of remarks.
pub(super) const ANNOTATIONS: &str = "annotations";
/// The key of a remark's frontmatter that says what it is on.
pub(super) const KEY: &str = "annotates";
/// Words of a quote that are looked for, and chunks looked at, when the quote is not where it was.
const QUOTE_WORDS: usize = 40;
const CANDIDATES: usize = 50;

/// What a remark says of its chunk.
struct Annotates {
    path: VaultPath,
    lines: (u32, u32),
    hash: Option<ChunkId>,
    quote: String,
}

/// A chunk with the remarks on it, and whether its text was cut, as an agent gets no more at once.
///
/// # Errors
/// As [`super::chunk`].
pub fn passage(viewer: &Viewer, hash: &str) -> Result<(PassageView, bool), RequestError> {
    viewer.logged("passage", hash, with_remarks(viewer, hash), |(found, _)| {
        let remarks = found.annotations.iter().map(|remark| remark.path.clone());
        std::iter::once(found.chunk.citation.clone()).chain(remarks).collect()
    })
}

fn with_remarks(viewer: &Viewer, hash: &str) -> Result<(PassageView, bool), RequestError> {
    let scope = viewer.read_scope()?;
    let mut chunk = scope.chunk(hash)?;
    let mut remarks = annotations(&scope, &chunk.path)?;
    remarks.retain(|annotation| {
        annotation.path == chunk.path
            || (annotation.line_start <= chunk.line_end && chunk.line_start <= annotation.line_end)
    });
    let mut room = scope.room();
    let cut = room.take_chunk(&mut chunk, 0).unwrap_or_else(|| {
        chunk.content.clear();
        true
    });
    remarks.retain(|remark| room.take(chars_of(remark)));
    Ok((PassageView { chunk, annotations: remarks }, cut))
}

/// Characters of what is given of a remark.
pub(super) fn chars_of(remark: &AnnotationView) -> usize {
    remark.note.chars().count() + remark.quote.chars().count()
}

/// The remarks on a note's chunks, oldest first; of a remark's own note, that remark. A chunk is looked for where it was, then by
/// its words anywhere; a remark whose chunk is gone stays with the note that had it.
///
/// # Errors
/// When the index is damaged.
pub fn annotations(scope: &ReadScope, path: &str) -> Result<Vec<AnnotationView>, RequestError> {
    let mut remarks: Vec<&FileEntry> = scope
        .files()
        .map(AsRef::as_ref)
        .filter(|file| file.path.collection() == ANNOTATIONS)
        .filter(|file| scope.gives(file))
        .collect();
    remarks.sort_by(|one, two| one.created_ms.cmp(&two.created_ms).then_with(|| one.path.cmp(&two.path)));
    let mut texts = HashMap::new();
    let mut views = Vec::new();
    for file in remarks {
        let metadata = scope.reader().metadata(file.id).map_err(|error| scope.workspace().damaged(error))?;
        let Some(annotates) = metadata.as_deref().and_then(annotates) else { continue };
        // One whose chunk is gone stays with the note that had it.
        let place = find_chunk(scope, &mut texts, &annotates)?;
        let found = place.is_some();
        let (source, lines) = place.unwrap_or_else(|| (annotates.path.clone(), annotates.lines));
        let hidden = scope.reader().files().at(source.as_str()).is_some_and(|source| !scope.has(source));
        if hidden || (source.as_str() != path && file.path.as_str() != path) {
            continue;
        }
        views.push(AnnotationView {
            path: file.path.to_string(),
            hash: ChunkId::of_note(&file.path, &file.hash).to_string(),
            note: match remark(scope, file) {
                Some(note) => note,
                None if scope.is_agents() => continue,
                None => String::new(),
            },
            quote: annotates.quote,
            source: source.to_string(),
            line_start: lines.0,
            line_end: lines.1,
            found,
        });
    }
    Ok(views)
}

/// What a remark's note says, less the quote above it.
fn remark(scope: &ReadScope, file: &FileEntry) -> Option<String> {
    let source = scope.workspace().source(&file.path).ok().filter(|source| source.stamp == file.stamp)?;
    let note = Note::of(&file.path, &source.text);
    Some(below_quote(&source.text[note.body]).to_owned())
}

/// What stands below the line that names the chunk, and the quote.
fn below_quote(body: &str) -> &str {
    let body = body.trim();
    let rest = match body.split_once('\n') {
        Some((first, rest)) if first.starts_with("On ") && first.trim_end().ends_with(':') => rest.trim_start(),
        _ => return body,
    };
    let quote: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('>')).map(|line| line.len()).sum();
    rest[quote..].trim()
}

/// What a note's frontmatter says it is a remark on.
fn annotates(metadata: &str) -> Option<Annotates> {
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    let says = metadata.get(KEY)?;
    let line = |key: &str| says.get(key).and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let first = line("line_start").unwrap_or(1);
    Some(Annotates {
        path: VaultPath::new(says.get("path")?.as_str()?).ok()?,
        lines: (first, line("line_end").unwrap_or(first)),
        hash: says.get("hash").and_then(Value::as_str).and_then(|hash| hash.parse().ok()),
        quote: says.get("quote").and_then(Value::as_str).unwrap_or_default().to_owned(),
    })
}

/// A note, and the first and the last line of a quote in it.
type QuotePlace = (VaultPath, (u32, u32));

/// The note and the lines where a chunk is; `texts` are the notes that have been read.
fn find_chunk(
    scope: &ReadScope,
    texts: &mut HashMap<VaultPath, Option<Squeezed>>,
    annotates: &Annotates,
) -> Result<Option<QuotePlace>, RequestError> {
    let damaged = |error| scope.workspace().damaged(error);
    if let Some(hash) = annotates.hash {
        for row in scope.reader().rows_of(hash).map_err(damaged)? {
            let Some(chunk) = scope.reader().chunk(row).map_err(damaged)? else { continue };
            if let Some(file) = scope.reader().files().get(chunk.file) {
                return Ok(Some((file.path.clone(), chunk.lines)));
            }
        }
    }
    let quote: String = annotates.quote.chars().filter(|c| !c.is_whitespace()).collect();
    if quote.is_empty() {
        return Ok(None);
    }
    let mut place_in = |path: VaultPath| {
        let read = || Some(Squeezed::of(&scope.workspace().source(&path).ok()?.text, &path));
        let text = texts.entry(path.clone()).or_insert_with(read).as_ref()?;
        let lines = text.lines_of(&quote, annotates.lines.0)?;
        Some((path, lines))
    };
    let found = place_in(annotates.path.clone());
    Ok(found.or_else(|| candidates(scope, annotates).into_iter().find_map(place_in)))
}

/// Other notes that may have the quote, the likeliest first.
fn candidates(scope: &ReadScope, annotates: &Annotates) -> Vec<VaultPath> {
    let words = annotates.quote.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let request = SearchRequest {
        text: words.take(QUOTE_WORDS).collect::<Vec<_>>().join(" "),
        mode: Mode::Keyword,
        limit: CANDIDATES,
        filter: Filter::default(),
        parts: Vec::new(),
        // No word of a quote is a time.
        at: Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: Some(0),
        turn: scope.turn().clone(),
    };
    let Ok(found) = scope.search_with(None, &scope.workspace().config.search, &request) else { return Vec::new() };
    let given = found.hits.iter().map(|hit| &hit.file).filter(|file| scope.gives(file));
    // A remark has the quote too. A note is looked at once for each of its hits, and read once.
    given.map(|file| file.path.clone()).filter(|path| path.collection() != ANNOTATIONS).collect()
}

/// What can be read in a note, without blank space, and the line of each byte.
struct Squeezed {
    text: String,
    lines: Vec<u32>,
}

impl Squeezed {
    fn of(source: &str, path: &VaultPath) -> Self {
        let note = Note::parse(source, path.stem());
        let mut squeezed = Self { text: String::new(), lines: Vec::new() };
        let mut comments = note.comments.iter().peekable();
        for (at, character) in source[note.body.clone()].char_indices() {
            let at = note.body.start + at;
            while comments.next_if(|comment| comment.end <= at).is_some() {}
            if character.is_whitespace() || comments.peek().is_some_and(|comment| comment.contains(&at)) {
                continue;
            }
            squeezed.text.push(character);
            squeezed.lines.resize(squeezed.text.len(), note.lines.line_of(at) as u32);
        }
        squeezed
    }

    fn lines_of(&self, quote: &str, near: u32) -> Option<(u32, u32)> {
        if quote.is_empty() {
            return None;
        }
        let places = self.text.match_indices(quote).map(|(at, _)| (self.lines[at], self.lines[at + quote.len() - 1]));
        places.min_by_key(|(first, _)| first.abs_diff(near))
    }
}

/// Maximum number of characters of what a remark is called after.
const MAX_SUBJECT_CHARS: usize = 80;

/// Writes a remark on a chunk into `annotations/`. It is private when the chunk's note is. Returns when it can be found.
///
/// # Errors
/// When a parameter makes no sense, there is no such chunk, or the disk refuses.
pub fn annotate(owner: &Owner, params: &AnnotateParams) -> Result<Annotated, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let mut remark = text("note", &params.note)?;
    if workspace.redacts() {
        remark = redact(&remark).into_owned();
    }
    let scope = owner.now()?;
    let (file, chunk) = chunk_of(&scope, params)?;
    let subject = chunk.heading_path.iter().rev().find(|heading| !heading.trim().is_empty());
    let subject: String = subject.unwrap_or(&file.title).chars().filter(|c| !c.is_control()).collect();
    let title = format!("On: {}", cut_at_word(subject.trim(), MAX_SUBJECT_CHARS));
    let link = wikilink(scope.reader(), file, chunk.heading_path.last().map_or("", String::as_str));
    let quote = match chunk.text[chunk.body_start..].trim() {
        "" => chunk.text.trim(),
        body => body,
    };
    let (line_start, line_end) = chunk.lines;
    let annotates: Value = json!({
        "path": file.path, "line_start": line_start, "line_end": line_end, "hash": chunk.id.to_string(), "quote": quote,
    });
    let values: [(&str, Value); 4] = [
        ("title", title.clone().into()),
        ("created", now().into()),
        ("source", link.clone().into()),
        ("tags", file.tags.clone().into()),
    ];
    let private = is_private(&scope, file)?.then(|| ("private", true.into()));
    let values = values.into_iter().chain(private).chain([(KEY, annotates)]);
    let frontmatter: Map<String, Value> = values.map(|(key, value)| (key.to_owned(), value)).collect();
    let quoted: Vec<String> = quote.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    let page = page_of(file.path.as_str(), &chunk.heading_path);
    let place = passage_citation(file.path.as_str(), page, line_start, line_end);
    let body = format!("On {link}, `{place}`:\n\n{}\n\n{}", quoted.join("\n"), remark.trim());
    let note = compose(&frontmatter, &body);
    let (path, checkpoint) = until_written(|| {
        let path = free_name(workspace.home.root(), ANNOTATIONS, &title);
        let created = files.replace(&path, None, &note, owner.act(Action::Create));
        Ok::<_, RequestError>(created.map(|checkpoint| (path, checkpoint)))
    })?;
    let found = workspace.settled_in_time(&path).flatten();
    let made = || ChunkId::of_note(&path, blake3::hash(note.as_bytes()).as_bytes());
    Ok(Annotated {
        ok: true,
        hash: found.map_or_else(made, |(name, _)| name).to_string(),
        path: path.to_string(),
        searchable: found.is_some(),
        checkpoint_id: Some(checkpoint.to_string()),
    })
}

/// The chunk that is meant, and its note.
fn chunk_of<'a>(scope: &'a ReadScope, params: &AnnotateParams) -> Result<(&'a FileEntry, ChunkText), RequestError> {
    let row = match (&params.hash, &params.path, params.line) {
        (Some(hash), None, None) => {
            let id: ChunkId =
                hash.parse().map_err(|error| RequestError::invalid(format!("`hash`: `{hash}`: {error}")))?;
            if let Some(found) = scope.chunk_of(id)? {
                return Ok(found);
            }
            scope.note_of(id).and_then(|file| file.chunks.first()).map(|chunk| chunk.row)
        }
        (None, Some(path), line) => {
            let path = note_path(path)?;
            let file = scope.file(path.as_str()).ok_or_else(|| RequestError::no_note(&path))?;
            let before = |line: u32| file.chunks.iter().rev().find(|chunk| chunk.line <= line);
            line.map_or(file.chunks.first(), before).map(|chunk| chunk.row)
        }
        _ => return Err(RequestError::invalid("give `hash`, or `path` with or without `line`")),
    };
    let chunk = row.map(|row| scope.reader().chunk(row)).transpose();
    let chunk = chunk.map_err(|error| scope.workspace().damaged(error))?.flatten();
    let chunk = chunk.filter(|chunk| params.line.is_none_or(|line| line <= chunk.lines.1));
    let found = chunk.and_then(|chunk| Some((&**scope.reader().files().get(chunk.file)?, chunk)));
    found.ok_or_else(|| match (&params.hash, params.line) {
        (Some(hash), _) => no_chunk(hash),
        (None, Some(line)) => RequestError::not_found(format!("there is no passage at line {line}")),
        (None, None) => RequestError::not_found("the note has no passages"),
    })
}

/// Whether a note is private, as indexed or as it is on the disk by now.
fn is_private(scope: &ReadScope, file: &FileEntry) -> Result<bool, RequestError> {
    if file.private {
        return Ok(true);
    }
    match scope.workspace().source(&file.path) {
        Ok(source) => Ok(Note::of(&file.path, &source.text).is_private()),
        Err(ReadError::Gone) => Err(WriteError::Gone(file.path.clone()).into()),
        // In doubt it is.
        Err(ReadError::Changing | ReadError::Unfit(_)) => Ok(true),
    }
}

/// A link to a heading of a note: by the note's name where no other has it, else by its path. What would end a link is left
/// out of the heading, as Obsidian does.
fn wikilink(snapshot: &dyn Reader, file: &FileEntry, heading: &str) -> String {
    let ends = |c: char| matches!(c, '[' | ']' | '|' | '#' | '^' | '%' | ':' | '\\') || c.is_control();
    let stem = file.path.stem();
    let others =
        snapshot.files().iter().any(|other| other.id != file.id && other.path.stem().eq_ignore_ascii_case(stem));
    // An attachment is meant by its whole name.
    let by_path = others || file.path.is_document();
    let target = if by_path { file.path.as_str().strip_suffix(".md").unwrap_or(file.path.as_str()) } else { stem };
    if target.contains(ends) {
        return format!("[{}](<{}>)", stem.replace(ends, " "), file.path.as_str().replace(['<', '>', '\n'], " "));
    }
    if file.path.is_document() {
        let page = page_of(file.path.as_str(), &[heading.to_owned()]);
        return page.map_or_else(|| format!("[[{target}]]"), |page| format!("[[{target}#page={page}]]"));
    }
    let heading = heading.replace(ends, " ").split_whitespace().collect::<Vec<_>>().join(" ");
    if heading.is_empty() { format!("[[{target}]]") } else { format!("[[{target}#{heading}]]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_what_stands_below_the_quote() {
        for (body, remark) in [
            ("On [[a]], `a.md#L1`:\n\n> one\n> two\n\n> mine\n\nmore\n", "> mine\n\nmore"),
            ("On [[a]], `a.md#L1`:\n\nmine", "mine"),
            ("Just mine.\n\n> a quote", "Just mine.\n\n> a quote"),
            ("", ""),
        ] {
            assert_eq!(below_quote(body), remark, "{body}");
        }
    }

    #[test]
    fn a_quote_is_found_however_it_is_wrapped() {
        let path = VaultPath::new("a.md").unwrap();
        let text = Squeezed::of("---\nt: one two\n---\none\n%% x %%\ntwo\n\nthree\none  two", &path);
        assert_eq!(text.lines_of("onetwo", 1), Some((4, 6)));
        assert_eq!(text.lines_of("onetwo", 9), Some((9, 9)));
        assert_eq!(text.lines_of("four", 1), None);
    }
}
