//! Links: where they are, what they point at and what they show.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use pulldown_cmark::LinkType;

use super::{Link, LinkKind};

/// Maximum depth of links within each other (images in images) that get text: each holds the text of those inside it,
/// so all of them together would be quadratic.
const MAX_DEPTH: usize = 4;

/// The links of a note, gathered while its text goes by.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By their start.
    pub(super) found: Vec<Link>,
    open: Vec<Open>,
    /// The text of the outermost open link.
    text: String,
    no_prose: usize,
}

#[derive(Debug)]
struct Open {
    /// `None`: not a link after all.
    index: Option<usize>,
    text_start: usize,
    no_prose: bool,
}

impl Links {
    /// Starts a link. A wikilink without alias has no text of its own: it shows its target.
    pub(super) fn open(&mut self, link_type: LinkType, image: bool, written: &str, span: Range<usize>, line: usize) {
        let no_prose = matches!(link_type, LinkType::WikiLink { .. } | LinkType::Autolink | LinkType::Email);
        let has_text = !matches!(link_type, LinkType::WikiLink { has_pothole: false });
        let destination = destination(link_type, written);
        let index = destination.is_some().then_some(self.found.len());
        self.open.push(Open { index, text_start: self.text.len(), no_prose });
        self.no_prose += usize::from(no_prose);
        if let Some(Destination { target, heading, block }) = destination {
            let text = (has_text && self.open.len() <= MAX_DEPTH).then(String::new);
            let kind = match (link_type, image) {
                (LinkType::WikiLink { .. }, false) => LinkKind::Wiki,
                (LinkType::WikiLink { .. }, true) => LinkKind::Embed,
                (_, false) => LinkKind::Markdown,
                (_, true) => LinkKind::Image,
            };
            self.found.push(Link { kind, target, heading, block, text, span, line, property: None });
        }
    }

    /// Adds to the text of the open links, if there are any.
    pub(super) fn push_text(&mut self, text: &str) {
        if self.is_open() {
            self.text.push_str(text);
        }
    }

    /// Ends the innermost open link.
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        self.no_prose -= usize::from(open.no_prose);
        if let Some(link) = open.index.and_then(|index| self.found.get_mut(index)) {
            let text = self.text[open.text_start..].trim();
            link.text = link.text.take().map(|_| text.to_owned()).filter(|text| !text.is_empty());
        }
        if self.open.is_empty() {
            self.text.clear();
        }
    }

    /// Whether text belongs to a link now.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the text of the open links is a target or a URL, where a `#` starts no tag.
    pub(super) fn no_prose(&self) -> bool {
        self.no_prose > 0
    }
}

/// The parts of a link's destination.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Destination {
    pub(super) target: String,
    pub(super) heading: Option<String>,
    pub(super) block: Option<String>,
}

/// Takes a destination apart. `None` where Obsidian sees no link: `[[` and `]]` on different lines.
pub(super) fn destination(link_type: LinkType, written: &str) -> Option<Destination> {
    match link_type {
        LinkType::WikiLink { .. } => {
            // In a table the `|` of `[[note\|alias]]` is escaped, and the parser leaves the backslash.
            let written = written.strip_suffix('\\').unwrap_or(written);
            (!written.contains(['\n', '\r'])).then(|| split(written))
        }
        LinkType::Email => Some(Destination { target: format!("mailto:{written}"), ..Destination::default() }),
        _ if has_scheme(written) => Some(Destination { target: written.to_owned(), ..Destination::default() }),
        // What is not valid UTF-8 once decoded stays as it is.
        _ => Some(split(&percent_decode_str(written).decode_utf8().unwrap_or(written.into()))),
    }
}

/// The wikilinks of a text that is no Markdown, as the value of a property; their spans are of the text.
pub(crate) fn wikilinks_in(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(open) = text[start..].find("[[").map(|at| start + at) {
        let Some(close) = text[open..].find("]]").map(|at| open + at) else { break };
        let inner = &text[open + 2..close];
        start = close + 2;
        let (written, shows) = inner.split_once('|').map_or((inner, None), |(written, shows)| (written, Some(shows)));
        if let Some(Destination { target, heading, block }) =
            destination(LinkType::WikiLink { has_pothole: false }, written)
        {
            let text = shows.map(|shows| shows.trim().to_owned()).filter(|shows| !shows.is_empty());
            let (kind, span) = (LinkKind::Wiki, open..start);
            found.push(Link { kind, target, heading, block, text, span, line: 1, property: None });
        }
    }
    found
}

/// `note#heading`, `note#a#b`, `note#^block`, `note^block`, `#heading`.
fn split(written: &str) -> Destination {
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let (place, block) = match written.split_once('^') {
        Some((place, block)) => (place.trim_end().trim_end_matches('#'), some(block)),
        None => (written, None),
    };
    let (target, heading) = match place.split_once('#') {
        Some((target, heading)) => (target, some(heading)),
        None => (place, None),
    };
    Destination { target: target.trim().to_owned(), heading, block }
}

/// `https:`, `mailto:`, `obsidian:`; not `C:`.
pub(crate) fn has_scheme(written: &str) -> bool {
    let Some((scheme, _)) = written.split_once(':') else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.len() > 1 && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(link_type: LinkType, written: &str) -> (String, Option<String>, Option<String>) {
        let found = destination(link_type, written).expect("a link");
        (found.target, found.heading, found.block)
    }

    #[test]
    fn wikilinks_come_apart() {
        let wiki = LinkType::WikiLink { has_pothole: true };
        let some = |text: &str| Some(text.to_owned());
        for (written, target, heading, block) in [
            ("note", "note", None, None),
            ("a/b c", "a/b c", None, None),
            ("note#h", "note", some("h"), None),
            ("note#a#b", "note", some("a#b"), None),
            ("#h", "", some("h"), None),
            ("note#^id", "note", None, some("id")),
            ("note^id", "note", None, some("id")),
            ("#^id", "", None, some("id")),
            ("note#h^id", "note", some("h"), some("id")),
            ("note#", "note", None, None),
            ("note\\", "note", None, None),
            ("100% sure", "100% sure", None, None),
        ] {
            assert_eq!(parts(wiki, written), (target.to_owned(), heading, block), "{written}");
        }
        assert_eq!(destination(wiki, "a\nb"), None);
    }

    #[test]
    fn markdown_destinations_come_apart() {
        for (written, target, heading) in [
            ("My%20note.md#A%20b", "My note.md", Some("A b")),
            ("https://x.org/a%20b#c", "https://x.org/a%20b#c", None),
            ("obsidian://open?vault=a#b", "obsidian://open?vault=a#b", None),
            ("%ff.md", "%ff.md", None),
            ("50%.md", "50%.md", None),
            ("", "", None),
        ] {
            let expected = (target.to_owned(), heading.map(str::to_owned), None);
            assert_eq!(parts(LinkType::Inline, written), expected, "{written}");
        }
        assert_eq!(parts(LinkType::Email, "a@b.org").0, "mailto:a@b.org");
    }
}
