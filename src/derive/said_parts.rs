//! The parts of a line that say something: cells of a row, and what tags of HTML set apart, without the tags and where links lead.

use std::ops::Range;

/// Maximum length of a tag of HTML.
const MAX_TAG_BYTES: usize = 2_000;
/// Tags that set apart what stands in them.
const BLOCK_TAGS: [&str; 36] = [
    "article",
    "aside",
    "blockquote",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "ul",
];
/// Tags within a sentence.
const INLINE_TAGS: [&str; 29] = [
    "a", "abbr", "b", "big", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins", "kbd", "label", "mark",
    "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
];

/// A part of a line that is read, and what it ends with.
pub(super) struct LinePart {
    /// Where it is in the text.
    pub(super) span: Range<usize>,
    /// What it ends with.
    pub(super) ends: PartEnd,
}

/// What a part of a line ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartEnd {
    /// A mark within what is said, or the line.
    Mark,
    /// The bar between two cells.
    Cell,
    /// A tag of HTML that sets apart.
    Block,
}

/// The parts of a line that are read: without where its links lead, the bars of a row and, if it `strips` them, tags.
pub(super) fn parts(text: &str, line: Range<usize>, strips: bool) -> Vec<LinePart> {
    let mut parts = Vec::new();
    let (mut from, mut at, mut has_targets) = (line.start, line.start, true);
    while let Some(next) = text[at..line.end].find(['|', '<', ']']).map(|next| at + next) {
        let rest = &text[next..line.end];
        at = next + 1;
        let (end, behind, ends) = if rest.starts_with('|') {
            if text[..next].ends_with('\\') {
                continue;
            }
            (next, next + 1, PartEnd::Cell)
        } else if rest.starts_with("](") && has_targets {
            let Some(close) = rest.find(')') else {
                has_targets = false;
                continue;
            };
            (next + 1, next + close + 1, PartEnd::Mark)
        } else if let Some((length, ends)) = tag(rest).filter(|_| strips) {
            (next, next + length, ends)
        } else {
            continue;
        };
        parts.push(LinePart { span: from..end, ends });
        (from, at) = (behind, behind);
    }
    parts.push(LinePart { span: from..line.end, ends: PartEnd::Mark });
    parts
}

/// The length of the tag of HTML that a text begins with, if it does, and what it ends. Another name between `<` and `>` is a word.
fn tag(rest: &str) -> Option<(usize, PartEnd)> {
    let inner = rest.strip_prefix('<')?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let length = inner.bytes().take(MAX_TAG_BYTES).take_while(u8::is_ascii_alphanumeric).count();
    let (name, behind) = inner.split_at(length);
    let name = name.to_ascii_lowercase();
    let ends = match name.as_str() {
        name if BLOCK_TAGS.contains(&name) => PartEnd::Block,
        name if INLINE_TAGS.contains(&name) => PartEnd::Mark,
        _ => return None,
    };
    let end = behind.bytes().take(MAX_TAG_BYTES).position(|byte| matches!(byte, b'<' | b'>'))?;
    let (attributes, behind) = behind.split_at(end);
    let attributes = attributes.trim_end_matches('/');
    // "a <b and c> d" has none.
    let is_one = attributes.trim().is_empty() || (attributes.starts_with([' ', '\t']) && attributes.contains('='));
    if !(is_one && behind.starts_with('>')) {
        return None;
    }
    let end = rest.len() - behind.len();
    Some((end + 1, ends))
}
