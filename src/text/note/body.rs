//! Reads the Markdown of a note in one pass over the parser's events, and makes of what that names blocks that cover the body.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use super::links::Links;
use super::model::{merged, outside, parent_of};
use super::parse::OPTIONS;
use super::tags::TagSet;
use super::{Block, BlockKind, Heading, Lines, Link, Problem, mask, tags};

/// What a note's Markdown holds. Offsets are into the whole source.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) headings: Vec<Heading>,
    /// What the parser names, in order; not yet whole lines, and not all of the text.
    pub(super) blocks: Vec<Block>,
    pub(super) links: Vec<Link>,
    pub(super) comments: Vec<Range<usize>>,
    /// What is there as a tag is, but not as one: in a comment, HTML or math, or after an unlikely character.
    pub(super) doubtful: TagSet,
    /// Where the `#` of each of those is, and of each tag.
    pub(super) hashes: Vec<usize>,
    pub(super) problems: Vec<Problem>,
    /// Where what was read ends; all of it, but where there is too much.
    pub(super) end: usize,
}

/// Maximum number of what the parser takes memory for: lines, each of which counts twice, and marks of inline Markdown.
/// A tenth of a kilobyte for each: 20 MB of `[` took 1.6 GB. 20 MB of prose have less than half as many, of tables and
/// lists of links up to twice.
const MAX_MARKS: usize = 2_000_000;

/// Where the text ends that is not too much for the parser.
fn readable(text: &str) -> usize {
    let mut left = MAX_MARKS;
    let too_much = text.bytes().position(|byte| {
        let marks = match byte {
            b'\n' | b'\r' => 2,
            b'[' | b']' | b'!' | b'*' | b'_' | b'~' | b'`' | b'$' | b'<' | b'&' | b'|' | b'\\' | b'^' => 1,
            _ => 0,
        };
        left = left.saturating_sub(marks);
        left == 0
    });
    // Each of these bytes is a character.
    too_much.unwrap_or(text.len())
}

/// Reads the Markdown from an offset on, and adds its tags to those of the frontmatter.
pub(super) fn read(source: &str, start: usize, lines: &Lines, tags: &mut TagSet) -> Body {
    let original = &source[start..];
    let original = &original[..readable(original)];
    let end = start + original.len();
    let masked = mask::mask(original);
    let mut walk = BodyWalk {
        original,
        text: &masked.text,
        start,
        lines,
        masked: &masked.comments,
        body: Body { end, ..Body::default() },
        tags,
        containers: Vec::new(),
        in_leaf: false,
        in_raw: false,
        loose: None,
        heading: None,
        links: Links::default(),
        run: None,
        html_comments: Vec::new(),
    };
    walk.body.problems.extend(masked.unclosed.map(|at| {
        Problem::new(lines.line_of(start + at), "`%%` opens a comment that is never closed; it is read as text")
    }));
    for comment in &masked.comments {
        walk.doubt(original, comment.clone());
    }
    for (event, range) in Parser::new_ext(&masked.text, OPTIONS).into_offset_iter() {
        walk.event(event, range);
    }
    walk.finish()
}

/// Offsets are into `text` until they are put into `body`.
struct BodyWalk<'a> {
    original: &'a str,
    text: &'a str,
    start: usize,
    lines: &'a Lines,
    masked: &'a [Range<usize>],
    body: Body,
    tags: &'a mut TagSet,
    /// Lists and quotes around, by the kind of their paragraphs.
    containers: Vec<BlockKind>,
    /// Inside of a block that is already noted, so that inline events are part of it.
    in_leaf: bool,
    /// Inside of code or HTML.
    in_raw: bool,
    /// Inline content directly in a list item, where the parser names no paragraph.
    loose: Option<Range<usize>>,
    /// Level, span and text of the open heading.
    heading: Option<(u8, Range<usize>, String)>,
    links: Links,
    /// Adjoining plain text, in which to look for tags: the parser splits `#a_b` in three.
    run: Option<Range<usize>>,
    html_comments: Vec<Range<usize>>,
}

impl BodyWalk<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.open(tag, range),
            Event::End(end) => self.close(end, range),
            Event::Text(text) if !self.in_raw => {
                self.inline(&range);
                self.prose(&range);
                self.plain(&text, range);
            }
            Event::Text(_) | Event::Html(_) => {}
            Event::Code(text) => {
                self.inline(&range);
                self.plain(&text, range);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.inline(&range);
                self.doubt(self.text, range.clone());
                self.plain(&text, range);
            }
            Event::InlineHtml(html) => {
                self.inline(&range);
                self.doubt(self.text, range.clone());
                if html.starts_with("<!--") {
                    self.html_comments.push(range);
                } else if is_text(&html) {
                    self.plain(&html, range);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.inline(&range);
                self.plain(" ", range);
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => self.inline(&range),
            Event::Rule => {
                self.end_loose();
                self.add(BlockKind::Rule, range);
            }
        }
    }

    fn open(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Superscript | Tag::Subscript | Tag::TableCell => {
                self.inline(&range);
            }
            Tag::Link { link_type, dest_url, .. } => self.open_link(link_type, false, &dest_url, range),
            Tag::Image { link_type, dest_url, .. } => self.open_link(link_type, true, &dest_url, range),
            block => {
                self.end_run();
                self.end_loose();
                self.open_block(block, range);
            }
        }
    }

    fn open_block(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let around = self.containers.last().copied();
        match tag {
            Tag::Paragraph => self.leaf(around.unwrap_or(BlockKind::Paragraph), range),
            Tag::Heading { level, .. } => match around {
                Some(kind) => self.leaf(kind, range),
                None => {
                    self.in_leaf = true;
                    self.heading = Some((level as u8, range, String::new()));
                }
            },
            Tag::CodeBlock(_) => {
                self.in_raw = true;
                self.leaf(BlockKind::Code, range);
            }
            Tag::HtmlBlock => {
                self.in_raw = true;
                self.html_block(range.clone());
                self.leaf(BlockKind::Html, range);
            }
            Tag::TableHead => {
                // The row of dashes follows on the next line.
                let next = self.lines.line_of(self.start + range.start) + 1;
                let end = (self.lines.span(next).end - self.start).clamp(range.end, self.text.len());
                self.leaf(BlockKind::TableRow, range.start..end);
            }
            Tag::TableRow => self.leaf(BlockKind::TableRow, range),
            Tag::Item => self.containers.push(BlockKind::ListItem),
            Tag::FootnoteDefinition(_) => self.containers.push(BlockKind::Footnote),
            Tag::BlockQuote(_) => {
                let inside = self.text[range].trim_start_matches(['>', ' ']);
                let kind = if inside.starts_with("[!") { BlockKind::Callout } else { BlockKind::Quote };
                self.containers.push(kind);
            }
            _ => {}
        }
    }

    fn close(&mut self, end: TagEnd, range: Range<usize>) {
        self.end_run();
        match end {
            TagEnd::Link | TagEnd::Image => self.links.close(),
            TagEnd::Item | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.end_loose();
                self.containers.pop();
            }
            TagEnd::Heading(_) => {
                self.in_leaf = false;
                self.close_heading();
            }
            TagEnd::Paragraph | TagEnd::TableHead | TagEnd::TableRow => self.in_leaf = false,
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                self.in_leaf = false;
                self.in_raw = false;
            }
            TagEnd::List(_) | TagEnd::Table => self.end_loose(),
            _ => self.inline(&range),
        }
    }

    fn leaf(&mut self, kind: BlockKind, range: Range<usize>) {
        self.add(kind, range);
        self.in_leaf = true;
    }

    fn add(&mut self, kind: BlockKind, range: Range<usize>) {
        let section = self.body.headings.len().checked_sub(1);
        self.body.blocks.push(Block { kind, span: self.absolute(range), section });
    }

    fn absolute(&self, range: Range<usize>) -> Range<usize> {
        range.start + self.start..range.end + self.start
    }

    /// Notes inline content, which ends a run of text and may belong to a list item's lead.
    fn inline(&mut self, range: &Range<usize>) {
        if self.run.as_ref().is_some_and(|run| run.end != range.start) {
            self.end_run();
        }
        if !self.in_leaf {
            let start = self.loose.as_ref().map_or(range.start, |loose| loose.start.min(range.start));
            let end = self.loose.as_ref().map_or(range.end, |loose| loose.end.max(range.end));
            self.loose = Some(start..end);
        }
    }

    fn end_loose(&mut self) {
        if let Some(range) = self.loose.take() {
            self.add(self.containers.last().copied().unwrap_or(BlockKind::Paragraph), range);
        }
    }

    /// Plain text of the source that may hold tags.
    fn prose(&mut self, range: &Range<usize>) {
        if self.links.no_prose() {
            return;
        }
        match &mut self.run {
            Some(run) => run.end = range.end,
            None => self.run = Some(range.clone()),
        }
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        tags::scan(self.text, run, |name, at, is_certain| {
            self.body.hashes.push(self.start + at);
            if is_certain { self.tags.add(name) } else { self.body.doubtful.add(name) }
        });
    }

    /// Notes what would be tags in a part of a text where none counts.
    fn doubt(&mut self, text: &str, range: Range<usize>) {
        tags::scan(text, range, |name, at, _| {
            self.body.hashes.push(self.start + at);
            self.body.doubtful.add(name);
        });
    }

    /// Text as shown, for headings and links, without the comments in it.
    fn plain(&mut self, shown: &str, range: Range<usize>) {
        if self.heading.is_none() && !self.links.is_open() {
            return;
        }
        let shown = if self.masked.is_empty() || !shown.contains('%') {
            shown.into()
        } else {
            outside(self.masked, self.original, range)
        };
        if let Some((_, _, text)) = &mut self.heading {
            text.push_str(&shown);
        }
        self.links.push_text(&shown);
    }

    fn close_heading(&mut self) {
        let Some((level, range, text)) = self.heading.take() else {
            return;
        };
        let span = self.absolute(range.clone());
        let parent = parent_of(&self.body.headings, level);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = self.lines.line_of(span.start);
        self.body.headings.push(Heading { level, text, span, line, parent });
        self.add(BlockKind::Heading(level), range);
    }

    fn open_link(&mut self, link_type: LinkType, image: bool, written: &str, range: Range<usize>) {
        self.end_run();
        self.inline(&range);
        let span = self.absolute(range);
        let line = self.lines.line_of(span.start);
        self.links.open(link_type, image, written, span, line);
    }

    fn html_block(&mut self, range: Range<usize>) {
        let html = &self.text[range.clone()];
        self.doubt(self.text, range.clone());
        let mut at = 0;
        while let Some(open) = html[at..].find("<!--").map(|offset| at + offset) {
            let Some(close) = html[open + 4..].find("-->").map(|offset| open + 4 + offset + 3) else {
                let line = self.lines.line_of(self.start + range.start + open);
                let message = "`<!--` opens a comment that is never closed; the rest is read as HTML";
                self.body.problems.push(Problem::new(line, message));
                return;
            };
            self.html_comments.push(range.start + open..range.start + close);
            at = close;
        }
    }

    fn finish(mut self) -> Body {
        self.end_run();
        self.end_loose();
        let both = self.masked.iter().chain(&self.html_comments).cloned();
        // An HTML comment within masked text cannot be, but the ranges must be disjoint whatever the parser does.
        self.body.comments = merged(both.map(|range| self.absolute(range)).collect());
        self.body.links = self.links.found;
        self.body
    }
}

/// Widens the blocks found to whole lines, and gives a block to every line that has none. `found` is in source order.
pub(super) fn cover(
    source: &str,
    lines: &Lines,
    body: Range<usize>,
    found: Vec<Block>,
    comments: &[Range<usize>],
) -> Vec<Block> {
    let mut cover = Cover { source, lines, comments, blocks: Vec::with_capacity(found.len()), at: body.start };
    for block in found {
        // Masked comments may have had the parser see boundaries where the source has none.
        let span = source.floor_char_boundary(block.span.start)..source.floor_char_boundary(block.span.end);
        let content = source[span.clone()].trim_end().len();
        if content == 0 {
            continue;
        }
        let first = lines.span(lines.line_of(span.start));
        let last = lines.span(lines.line_of(span.start + content - 1));
        let start = first.start.max(cover.at);
        let end = start + source[start..last.end.max(start)].trim_end().len();
        if start >= end {
            continue;
        }
        cover.fill(start);
        cover.blocks.push(Block { span: start..end, ..block });
        cover.at = end;
    }
    cover.fill(body.end);
    cover.name_comments();
    cover.blocks
}

struct Cover<'a> {
    source: &'a str,
    lines: &'a Lines,
    comments: &'a [Range<usize>],
    blocks: Vec<Block>,
    /// Everything before is covered.
    at: usize,
}

impl Cover<'_> {
    /// Covers the lines up to an offset.
    fn fill(&mut self, end: usize) {
        if self.at >= end || self.source[self.at..end].trim().is_empty() {
            self.at = end.max(self.at);
            return;
        }
        for line in self.lines.line_of(self.at)..=self.lines.line_of(end - 1) {
            let span = self.lines.span(line);
            let start = span.start.max(self.at);
            let text = &self.source[start..span.end.min(end).max(start)];
            let span = start..start + text.trim_end().len();
            if !span.is_empty() {
                self.add_line(line, span);
            }
        }
        self.at = end;
    }

    fn add_line(&mut self, line: usize, span: Range<usize>) {
        let text = &self.source[span.clone()];
        let only_quote_marks = text.chars().all(|c| c == '>' || c.is_whitespace());
        let comment = self.comment_at(span.start).filter(|_| !self.is_visible(&span));
        let section = self.blocks.last().and_then(|block| block.section);
        if let Some(last) = self.blocks.last_mut() {
            // The `>` between two paragraphs of a quote is no block of its own.
            let continues_quote = only_quote_marks && self.lines.line_of(last.span.end - 1) + 1 == line;
            let continues_comment = last.kind == BlockKind::Comment
                && comment.is_some_and(|index| self.comments[index].start < last.span.end);
            if continues_quote || continues_comment {
                last.span.end = span.end;
                return;
            }
        }
        let kind = if comment.is_some() { BlockKind::Comment } else { BlockKind::Other };
        self.blocks.push(Block { kind, span, section });
    }

    /// A block that holds nothing but comments is one, but for headings, which open sections all the same.
    fn name_comments(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        for block in &mut blocks {
            if !matches!(block.kind, BlockKind::Heading(_)) && !self.is_visible(&block.span) {
                block.kind = BlockKind::Comment;
            }
        }
        self.blocks = blocks;
    }

    /// Index of the first comment that ends after an offset.
    fn comment_at(&self, offset: usize) -> Option<usize> {
        let index = self.comments.partition_point(|comment| comment.end <= offset);
        (index < self.comments.len()).then_some(index)
    }

    /// Whether a span has a non-blank byte outside of comments.
    fn is_visible(&self, span: &Range<usize>) -> bool {
        !outside(self.comments, self.source, span.clone()).trim().is_empty()
    }
}

/// Maximum number of rounds. More are never needed but by hostile text, in which one backslash may begin what the next is in.
const ROUNDS: usize = 4;

/// Markdown in which no `#` from an offset on begins a tag, certain or doubtful: a backslash goes before each that would.
/// Markdown shows the text as it was. Code has no tags, and stays as it is.
pub(crate) fn untagged(markdown: &str, from: usize) -> String {
    let mut text = markdown.to_owned();
    for _ in 0..ROUNDS {
        let hashes = hashes(&text, from);
        if hashes.is_empty() {
            return text;
        }
        text = escaped(&text, &hashes);
    }
    let all: Vec<usize> = text.match_indices('#').map(|(at, _)| at).filter(|at| *at >= from).collect();
    escaped(&text, &all)
}

fn hashes(text: &str, from: usize) -> Vec<usize> {
    if !text.get(from..).is_some_and(|rest| rest.contains('#')) {
        return Vec::new();
    }
    let mut hashes = read(text, 0, &Lines::new(text), &mut TagSet::default()).hashes;
    hashes.retain(|at| *at >= from);
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn escaped(text: &str, hashes: &[usize]) -> String {
    let mut escaped = String::with_capacity(text.len() + hashes.len());
    let mut start = 0;
    for at in hashes {
        escaped.push_str(&text[start..*at]);
        escaped.push('\\');
        start = *at;
    }
    escaped.push_str(&text[start..]);
    escaped
}

/// The elements that a note may have without attributes.
const ELEMENTS: &str = "a abbr address article aside b bdi bdo big blockquote body br button caption center cite code col colgroup dd \
    del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd \
    label li link main mark math meta nav ol p picture pre q rp rt ruby s samp script section small source span strike strong \
    style sub summary sup svg table tbody td template tfoot th thead time title tr tt u ul var video wbr";

/// Whether what reads as the start of an element is a part of the text: `Vec<u8>` is no element `u8`.
fn is_text(tag: &str) -> bool {
    let Some(inside) = tag.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return false };
    let is_name = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_name && !ELEMENTS.split(' ').any(|element| element.eq_ignore_ascii_case(inside))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::chance::proptest_config;
    use crate::text::note::Note;

    #[test]
    fn what_would_be_a_tag_is_none_and_all_else_stays() {
        for (text, expected) in [
            ("a #private b", "a \\#private b"),
            ("#a/b, (#c) *#d*", "\\#a/b, (\\#c) *\\#d*"),
            ("# Heading\n\n`#code` C# #1 https://x/#y", "# Heading\n\n`#code` C# #1 https://x/#y"),
            ("```\n#include <x>\n```", "```\n#include <x>\n```"),
            ("<https://x.org/?a=#private> [[#private]]", "<https://x.org/?a=#private> [[#private]]"),
            ("x.#private $#private$ <b id=\"#private\">", "x.\\#private $\\#private$ <b id=\"\\#private\">"),
            ("\\#a \\\\#a", "\\#a \\\\#a"),
            ("plain", "plain"),
        ] {
            assert_eq!(untagged(text, 0), expected);
        }
        assert_eq!(untagged("#mine\n\n#theirs", 5), "#mine\n\n\\#theirs");
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn nothing_is_a_tag_any_more(text in "([#a-z\\\\ \\n`$%<>!*_\\[\\]()|.:/-]|#private|<!--|-->|%%|```){0,40}") {
            let text = untagged(&text, 0);
            let note = Note::parse(&format!("---\nx: 1\n---\n\n{text}\n"), "");
            prop_assert!(note.tags.is_empty() && note.doubtful.is_empty() && !note.is_private(), "{text:?} {:?}", note);
            prop_assert_eq!(untagged(&text, 0), text);
        }
    }
}
