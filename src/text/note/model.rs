//! What a parsed note is made of, and its lines.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::tags::is_private;

/// One Markdown file, read: what its frontmatter says, and where everything in its body is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Note {
    /// Frontmatter `title`, else a level-1 heading that is the first block, else the file's stem.
    pub title: String,
    /// The whole frontmatter as JSON, in the order written (TOML: by key). Empty when it is broken.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Tags without `#`, from the frontmatter (`tags`, `tag`), then inline; each once, whatever its case.
    pub tags: Vec<String>,
    /// What may be meant as tags where none counts: in comments, HTML and math, in mappings and comments of the frontmatter.
    /// They only hide: a note is kept from whoever its tags would keep it from.
    pub doubtful: Vec<String>,
    /// Other names for the note: frontmatter `aliases`, `alias`.
    pub aliases: Vec<String>,
    /// Whether agents may see the note at all.
    pub visibility: Visibility,
    /// Frontmatter `created`, else `date`. A date without time is midnight UTC; a time without offset is UTC.
    pub created: Option<jiff::Timestamp>,
    /// Frontmatter `updated`, else `modified`.
    pub updated: Option<jiff::Timestamp>,
    /// The headings that open sections. One inside a quote, a list item or a footnote opens none and is not here.
    pub headings: Vec<Heading>,
    /// The atoms of the body, in source order: disjoint, each of whole lines, together holding every non-blank byte as far as the
    /// body was read: where it is too much to be, [`Note::problems`] says from which line on.
    pub blocks: Vec<Block>,
    /// Links of the body in source order of their start.
    pub links: Vec<Link>,
    /// `%%…%%` and `<!-- … -->`, in source order and disjoint: kept out of the index.
    pub comments: Vec<Range<usize>>,
    /// What could not be read, and why.
    pub problems: Vec<Problem>,
    /// The source after byte order mark and frontmatter. Frontmatter that could not be read is part of the body (all but
    /// its opening line), so that its owner can still find its words.
    pub body: Range<usize>,
    /// The source's lines.
    pub lines: Lines,
}

/// Whether agents may see a note, and why only the owner does: the first reason that applies, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Nothing in the note forbids it.
    #[default]
    Public,
    /// The frontmatter is unclosed, invalid, too large, not a mapping, or names a key twice.
    BrokenFrontmatter,
    /// A `private` key, at any depth of the frontmatter, whose value is not clearly false.
    Property,
    /// The tag `private` or one below it (`private/…`), in the frontmatter or inline.
    Tag,
    /// `private` stands where it does not count by the letter, but was surely meant: `#private` in a comment, in HTML, in
    /// math, after an unlikely character or as a YAML comment; or frontmatter that is not at the very start. Or there is too much
    /// in the note for all of it to be read.
    Ambiguous,
}

/// A heading of level 1 to 6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// The text without markup and comments; may be empty.
    pub text: String,
    /// The heading's line or lines (Setext), as its block has them.
    pub span: Range<usize>,
    /// 1-based line of its start.
    pub line: usize,
    /// Index of the heading that this one is under: the nearest above of a lower level.
    pub parent: Option<usize>,
}

/// An atom of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its bytes: from the start of a line (indentation, list and quote markers included) to the last non-blank byte of a line.
    pub span: Range<usize>,
    /// Index into [`Note::headings`] of the nearest heading above; of a heading block, the heading itself.
    pub section: Option<usize>,
}

/// What a block is. Where blocks nest, a paragraph is named after the innermost list item, quote or footnote around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// A heading that opens a section, with its level. Its `section` is its own index.
    Heading(u8),
    /// A paragraph on its own.
    Paragraph,
    /// The text of one list item, without nested items; or a further paragraph of it.
    ListItem,
    /// Fenced or indented code.
    Code,
    /// One row of a table; the header row together with the delimiter row.
    TableRow,
    /// A paragraph of a block quote.
    Quote,
    /// A paragraph of a callout (`> [!note]`).
    Callout,
    /// An HTML block.
    Html,
    /// A thematic break.
    Rule,
    /// A paragraph of a footnote definition.
    Footnote,
    /// Nothing but a comment.
    Comment,
    /// A line that Markdown gives no place: a link reference definition, an empty list item, broken frontmatter.
    Other,
}

/// A link to a note, a file or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// What it points at, without heading and block: a note's name or path, percent-decoded where it is relative, or a
    /// whole URL. Empty for a link within the note (`[[#heading]]`).
    pub target: String,
    /// The heading pointed at; `a#b` where it is `b` under `a`.
    pub heading: Option<String>,
    /// The block id pointed at, without `^`.
    pub block: Option<String>,
    /// The text shown instead of the target: an alias, a link text, an image's description.
    pub text: Option<String>,
    /// Its bytes.
    pub span: Range<usize>,
    /// 1-based line of its start.
    pub line: usize,
    /// The property in which it stands, if in one.
    pub property: Option<LinkProperty>,
}

/// The property in which a link stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkProperty {
    /// Its key; of one within another `outer.inner`.
    pub key: String,
    /// What stands behind the link in its value, up to the next one.
    pub behind: String,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `[[target]]`
    Wiki,
    /// `![[target]]`
    Embed,
    /// `[text](target)`, `[text][ref]`, `<https://…>`
    Markdown,
    /// `![text](target)`
    Image,
}

/// Something in a note that could not be read as it was surely meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// 1-based line, where known.
    pub line: Option<usize>,
    /// What is wrong and what to do about it. Names no path: the caller knows it.
    pub message: String,
}

impl Problem {
    pub(super) fn new(line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Self { line: line.into(), message: message.into() }
    }
}

impl Note {
    /// Returns the texts of a section's heading and those it is under, outermost first.
    pub fn heading_path(&self, section: Option<usize>) -> Vec<&str> {
        let mut path: Vec<&str> = self.headings_above(section).map(|at| self.headings[at].text.as_str()).collect();
        path.reverse();
        path
    }

    /// Whether a section is that of a heading, or below it.
    pub(crate) fn stands_under(&self, section: Option<usize>, top: usize) -> bool {
        self.headings_above(section).any(|heading| heading == top)
    }

    /// The heading of a section and those it is under, innermost first.
    pub(crate) fn headings_above(&self, section: Option<usize>) -> impl Iterator<Item = usize> {
        let known = section.filter(|at| *at < self.headings.len());
        std::iter::successors(known, |at| self.headings[*at].parent)
    }

    /// Returns a span of the source without the comments in it. `source` must be what the note was parsed from.
    pub fn visible<'s>(&self, source: &'s str, span: Range<usize>) -> Cow<'s, str> {
        outside(&self.comments, source, span)
    }

    /// The tags, doubtful ones too, that another version of the note lacks, and that may hide it from somebody. Whether it is
    /// private is told by `visibility`.
    pub fn tags_missing_in(&self, other: &Self) -> Vec<String> {
        let all = |note: &'_ Self| note.tags.iter().chain(&note.doubtful).cloned().collect::<Vec<_>>();
        let has: HashSet<String> = all(other).iter().map(|tag| tag.to_lowercase()).collect();
        all(self).into_iter().filter(|tag| !has.contains(&tag.to_lowercase()) && !is_private(tag)).collect()
    }

    /// Whether agents must not see the note.
    pub fn is_private(&self) -> bool {
        self.visibility != Visibility::Public
    }
}

/// The heading that one of a level, which comes next, is under.
pub(super) fn parent_of(headings: &[Heading], level: u8) -> Option<usize> {
    let mut parent = headings.len().checked_sub(1);
    while let Some(index) = parent.filter(|index| headings[*index].level >= level) {
        parent = headings[index].parent;
    }
    parent
}

/// The same ranges, sorted and disjoint.
pub(crate) fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let joined = next.start <= last.end;
        if joined {
            last.end = last.end.max(next.end);
        }
        joined
    });
    ranges
}

/// Cuts sorted, disjoint ranges out of a span.
pub(crate) fn outside<'s>(cut: &[Range<usize>], source: &'s str, span: Range<usize>) -> Cow<'s, str> {
    let first = cut.partition_point(|range| range.end <= span.start);
    let inside = cut[first..].iter().take_while(|range| range.start < span.end);
    let mut kept = String::new();
    let mut at = span.start;
    let mut any = false;
    for range in inside {
        any = true;
        kept.push_str(source.get(at..range.start.max(at)).unwrap_or_default());
        at = range.end;
    }
    let rest = source.get(at..span.end.max(at)).unwrap_or_default();
    if !any {
        return Cow::Borrowed(rest);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The line starts of a text, found once, so that an offset becomes a line by binary search.
///
/// A line ends at LF, CRLF or a lone CR, as in CommonMark and in Obsidian's editor. Lines count from 1. The text after
/// the last line end is a line too, even when it is empty, so every offset up to and including the length has a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    starts: Vec<usize>,
    len: usize,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn new(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        for (i, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(i + 1) != Some(&b'\n')) {
                starts.push(i + 1);
            }
        }
        Self { starts, len: bytes.len() }
    }

    /// Returns how many lines there are; an empty text has one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the 1-based line that holds a byte offset. An offset past the end is on the last line.
    pub fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    /// Returns the bytes of a 1-based line, its line end included. A line that does not exist is empty.
    pub fn span(&self, line: usize) -> Range<usize> {
        let start = |line: usize| self.starts.get(line).copied().unwrap_or(self.len);
        match line {
            0 => 0..0,
            _ => start(line - 1)..start(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_lf_crlf_and_lone_cr() {
        let text = "a\nb\r\nc\rd";
        let lines = Lines::new(text);
        let found: Vec<&str> = (1..=lines.count()).map(|n| &text[lines.span(n)]).collect();
        assert_eq!(found, ["a\n", "b\r\n", "c\r", "d"]);
        let of: Vec<usize> = (0..=text.len()).map(|at| lines.line_of(at)).collect();
        assert_eq!(of, [1, 1, 2, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn empty_text_and_offsets_past_the_end_have_a_line() {
        let lines = Lines::new("");
        assert_eq!((lines.count(), lines.line_of(0), lines.line_of(9)), (1, 1, 1));
        assert_eq!((lines.span(0), lines.span(1), lines.span(7)), (0..0, 0..0, 0..0));
        assert_eq!(Lines::new("a\n").line_of(2), 2);
    }
}
