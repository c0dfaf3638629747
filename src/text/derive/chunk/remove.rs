//! Takes a chunk out of a note's text, and nothing else.
//!
//! The difficulty is in what stays: a heading that others stand under, the fence of a long code block, the blank line that
//! keeps two paragraphs apart. So several ways of joining what is left are tried, and each is read again: the first that has
//! all the other blocks as they were is taken.

use std::ops::Range;

use super::chunker::{Chunk, trimmed};
use crate::text::note::{Block, BlockKind, Lines, Note, merged, outside};

/// A note without a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remainder {
    /// The text that stays; `None` when that was all there was.
    pub text: Option<String>,
    /// What goes, as it was: one part, or more where a fence between them stays.
    pub removed: Vec<String>,
}

/// Why a part of a note cannot be taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// There is nothing but blank space.
    #[error("these lines are empty")]
    Nothing,
    /// The lines are not all of the body.
    #[error("the lines reach into the frontmatter, or past the end of the note")]
    Outside,
    /// Whatever is done, other text would read differently.
    #[error("removing it would change the meaning of the text around it; edit the note by hand, or forget the lines")]
    Entangled,
    /// What makes the note private is in it.
    #[error("these lines make the note private; first write `private: true` into its frontmatter")]
    KeepsPrivate,
}

/// A note without one of its chunks. A heading goes with the last that stands under it.
///
/// # Errors
/// When other text would read differently, or the note would no longer be private.
pub fn without_chunk(note: &Note, source: &str, chunk: &Chunk) -> Result<Remainder, RemoveError> {
    let inside: Vec<&Block> = note.blocks.iter().filter(|block| overlap(&block.span, &chunk.bytes)).collect();
    // A heading stays while other chunks stand under it.
    let stays = |heading: &&&Block| {
        let others = |block: &&Block| block.span != heading.span && !within(&block.span, &chunk.bytes);
        let below = |block: &Block| heading.section.is_some_and(|top| note.stands_under(block.section, top));
        is_heading(heading) && note.blocks.iter().filter(others).any(below)
    };
    let (mut spans, mut at) = (Vec::new(), chunk.bytes.start);
    for heading in inside.iter().filter(stays) {
        spans.push(at..heading.span.start.max(at));
        at = heading.span.end;
    }
    spans.push(at..chunk.bytes.end.max(at));
    // A comment between two headings that stay is no part of the chunk.
    let says =
        |span: &Range<usize>| inside.iter().any(|block| block.kind != BlockKind::Comment && overlap(&block.span, span));
    let cuts: Vec<Range<usize>> =
        spans.into_iter().filter(says).flat_map(|span| outside_fences(note, source, span)).collect();
    if cuts.is_empty() {
        return Err(RemoveError::Entangled);
    }
    take(note, source, &cuts)?.ok_or(RemoveError::Entangled)
}

/// A note without lines of its body, from 1 and both included.
///
/// # Errors
/// When they are not all of the body, or hold nothing, or the note would no longer be private.
pub fn without_lines(note: &Note, source: &str, first: usize, last: usize) -> Result<Remainder, RemoveError> {
    let lines = &note.lines;
    let span = lines.span(first).start..lines.span(last).end;
    if first == 0 || last < first || last > lines.count() || span.start < note.body.start {
        return Err(RemoveError::Outside);
    }
    let cut = trimmed(source, span.clone());
    if cut.is_empty() {
        return Err(RemoveError::Nothing);
    }
    let cuts = [cut];
    match take(note, source, &cuts)? {
        Some(remainder) => Ok(remainder),
        // Exactly these lines were asked for, whatever becomes of the others.
        None => {
            let text = joined(note, source, &cuts, false);
            if note.is_private() && !Note::parse(&text, "").is_private() {
                return Err(RemoveError::KeepsPrivate);
            }
            Ok(Remainder { text: Some(text), removed: vec![source[span].to_owned()] })
        }
    }
}

/// Cuts spans out of a note. `None` when other text would read differently.
fn take(note: &Note, source: &str, cuts: &[Range<usize>]) -> Result<Option<Remainder>, RemoveError> {
    let removed: Vec<String> = cuts.iter().map(|cut| source[cut.clone()].to_owned()).collect();
    if note.blocks.iter().all(|block| outside(cuts, source, block.span.clone()).trim().is_empty()) {
        return Ok(Some(Remainder { text: None, removed }));
    }
    let texts = [false, true].map(|apart| joined(note, source, cuts, apart));
    let expected = read(note, source, cuts);
    let found = texts.map(|text| (Note::parse(&text, ""), text));
    // Rather with every block as it was; else with every word, as when a list loses the item that others are below.
    let same = found.iter().find(|(after, text)| as_expected(&expected, &read(after, text, &[])));
    let same = same.or_else(|| {
        let words = |blocks: Vec<ReadBlock>| {
            let mut sections: Vec<(Vec<String>, String)> = Vec::new();
            for ReadBlock { headings, text, .. } in blocks {
                match sections.last_mut().filter(|(last, _)| *last == headings) {
                    Some((_, words)) => words.push_str(&text),
                    None => sections.push((headings, text)),
                }
            }
            sections
        };
        let expected = words(expected.clone());
        found.iter().find(|(after, text)| words(read(after, text, &[])) == expected)
    });
    let Some((after, text)) = same else { return Ok(None) };
    if note.is_private() && !after.is_private() {
        return Err(RemoveError::KeepsPrivate);
    }
    Ok(Some(Remainder { text: Some(text.clone()), removed }))
}

/// A block as it reads, apart from blank space.
#[derive(Debug, Clone)]
struct ReadBlock {
    headings: Vec<String>,
    text: String,
    /// What it is; not known of a block of which a part is cut.
    kind: Option<BlockKind>,
}

/// The blocks of a note without what is cut.
fn read(note: &Note, source: &str, cuts: &[Range<usize>]) -> Vec<ReadBlock> {
    let hidden = merged([note.comments.as_slice(), cuts].concat());
    let mut blocks = Vec::new();
    for block in &note.blocks {
        let mut text = outside(&hidden, source, block.span.clone()).into_owned();
        text.retain(|character| !character.is_whitespace() && character != '>');
        if !text.is_empty() {
            let whole = !cuts.iter().any(|cut| overlap(cut, &block.span));
            let headings = note.heading_path(block.section).into_iter().map(str::to_owned).collect();
            blocks.push(ReadBlock { headings, text, kind: whole.then_some(block.kind) });
        }
    }
    blocks
}

fn as_expected(expected: &[ReadBlock], found: &[ReadBlock]) -> bool {
    let same = |(one, other): (&ReadBlock, &ReadBlock)| {
        one.text == other.text && one.headings == other.headings && (one.kind.is_none() || one.kind == other.kind)
    };
    expected.len() == found.len() && expected.iter().zip(found).all(same)
}

/// The span without the fences of code of which a part stays.
fn outside_fences(note: &Note, source: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let is_fence = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "->*+.0123456789".contains(c));
        line.starts_with("```") || line.starts_with("~~~")
    };
    let mut cuts = Vec::new();
    let mut at = span.start;
    for code in note.blocks.iter().filter(|block| block.kind == BlockKind::Code && overlap(&block.span, &span)) {
        let [first, last] =
            [code.span.start, code.span.end - 1].map(|offset| note.lines.span(note.lines.line_of(offset)));
        if within(&code.span, &span) || !is_fence(&source[first.clone()]) {
            continue;
        }
        if span.start <= code.span.start {
            cuts.push(at..code.span.start);
            at = first.end;
        }
        if span.end >= code.span.end && is_fence(&source[last.clone()]) && last.start > first.start {
            cuts.push(at..last.start.max(at));
            at = last.end.min(span.end);
        }
    }
    cuts.push(at..span.end.max(at));
    cuts.into_iter().map(|cut| trimmed(source, cut)).filter(|cut| !cut.is_empty()).collect()
}

/// The text without what is cut, with a blank line put in where nothing kept two blocks `apart`.
fn joined(note: &Note, source: &str, cuts: &[Range<usize>], apart: bool) -> String {
    let mut text = source.to_owned();
    for cut in cuts.iter().rev() {
        let (gone, put) = seam(source, &note.lines, note.body.start, cut.clone(), apart);
        text.replace_range(gone, put);
    }
    text
}

/// What goes with a cut of the blank space around it, and what comes in its place. Of two runs of blank lines the longer one
/// stays.
fn seam(source: &str, lines: &Lines, body: usize, cut: Range<usize>, apart: bool) -> (Range<usize>, &'static str) {
    let (first, last) = (lines.line_of(cut.start), lines.line_of(cut.end - 1));
    let (start, end) = (lines.span(first).start.max(body), lines.span(last).end);
    let inline = |c: char| c.is_whitespace() && c != '\n' && c != '\r';
    let starts_line = source[start..cut.start].trim().is_empty();
    let ends_line = source[cut.end..end].trim().is_empty();
    match (starts_line, ends_line) {
        (true, true) => {}
        (false, true) => return (source[..cut.start].trim_end_matches(inline).len()..cut.end, ""),
        (_, false) => {
            let after = source[cut.end..].len() - source[cut.end..].trim_start().len();
            return (cut.start..cut.end + after, "");
        }
    }
    let blank = |line: &usize| source[lines.span(*line)].trim().is_empty();
    let top = lines.line_of(body);
    let before = (top..first).rev().take_while(|line| lines.span(*line).start >= body && blank(line)).count();
    let after = (last + 1..=lines.count()).take_while(|line| blank(line) && !lines.span(*line).is_empty()).count();
    let is_first = source[body..start].trim().is_empty();
    let is_last = source[end..].trim().is_empty();
    let above = lines.span(first - before).start.max(body).min(start);
    let below = lines.span(last + after).end;
    let blank_between = if is_first { before } else { before.max(after) };
    let put = match apart && blank_between == 0 {
        false => "",
        true if source.contains("\r\n") => "\r\n",
        true => "\n",
    };
    if is_last && !is_first {
        (above..end, "")
    } else if is_first || before >= after {
        (start..below, put)
    } else {
        (above..end, put)
    }
}

fn is_heading(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Heading(_))
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

fn within(one: &Range<usize>, other: &Range<usize>) -> bool {
    other.start <= one.start && one.end <= other.end
}
