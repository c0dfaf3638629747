//! A note's Markdown as a tree of nodes from which a page builds its elements. Nothing in it is markup: raw HTML is text,
//! tags and attributes are of a fixed set, and a link leads to an address of a known scheme or to a note.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Parser, Tag};
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::links::{Destination, destination, has_scheme};
use super::model::outside;
use super::parse::OPTIONS;
use super::{Note, frontmatter, mask};

/// Maximum depth of elements; what is inside of deeper ones goes to the last that counts. Hostile text nests without
/// end, and readers of JSON stop at 128 levels, of which each element takes two.
const MAX_DEPTH: usize = 48;

/// Maximum bytes of a note that are made a tree, cut at lines: a page with more elements than that is of no use.
const MAX_BYTES: usize = 1 << 20;

/// Schemes that a link may have.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "obsidian"];

/// An element, or text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Node {
    /// An element with what is in it.
    Element(Element),
    /// Text, to be shown as it is.
    Text(String),
}

/// An element of a note.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Its HTML name.
    pub tag: &'static str,
    /// Its attributes: `href`, `class`, `title`, `start`, `data-path`, `data-target`, `data-heading`, `data-block` and `data-fold`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attrs: BTreeMap<&'static str, String>,
    /// The first line of a block in the file, from 1.
    pub line_start: Option<usize>,
    /// Its last line.
    pub line_end: Option<usize>,
    /// What is in it.
    pub children: Vec<Node>,
}

/// A note's body as nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The blocks.
    pub nodes: Vec<Node>,
    /// Whether the note is so long that its end is left out, or what is before.
    pub cut: bool,
}

impl Note {
    /// Makes a tree of the note's body; of a note that is too long, of the part around the line `around`. `source` is what the note
    /// was parsed from; `resolve` gives the path of the note that a link means, if there is one.
    pub fn tree(&self, source: &str, around: usize, resolve: impl FnMut(&str) -> Option<String>) -> Tree {
        let frontmatter = frontmatter::read(source, &self.lines);
        let start = frontmatter.markdown_start;
        let Range { start: from, end } = self.part(start..source.len(), around);
        let masked = mask::mask(&source[start..end]);
        let mut builder = Builder {
            note: self,
            source,
            start,
            from,
            passed_over: 0,
            resolve,
            open: vec![Element::default()],
            ignored: 0,
            skip_until: 0,
            in_html: false,
            cell: "td",
            columns: Vec::new(),
            column: 0,
            in_anchor: 0,
        };
        // The lines of frontmatter that could not be read are shown as they are.
        if frontmatter.broken && frontmatter.body_start < start && from == start {
            builder.broken_frontmatter(frontmatter.body_start..start);
        }
        for (event, range) in Parser::new_ext(&masked.text, OPTIONS).into_offset_iter() {
            builder.event(event, range, &masked.text);
        }
        Tree { nodes: builder.finish(), cut: start < from || end < source.len() }
    }

    /// The lines of the body that are shown: all, or as many around a line as there is room for.
    pub(super) fn part(&self, body: Range<usize>, around: usize) -> Range<usize> {
        if body.len() <= MAX_BYTES {
            return body;
        }
        let middle = self.lines.span(around).start.clamp(body.start, body.end);
        let from = middle.saturating_sub(MAX_BYTES / 2).clamp(body.start, body.end - MAX_BYTES);
        let start_of_line = |at: usize| self.lines.span(self.lines.line_of(at)).start;
        let until =
            if from + MAX_BYTES == body.end { body.end } else { start_of_line(from + MAX_BYTES).max(body.start) };
        let line = self.lines.span(self.lines.line_of(from));
        // A line that is cut is left out.
        let from = if from == body.start || line.start == from { from } else { line.end };
        from.min(until)..until
    }
}

/// Offsets are into the Markdown, which starts at `start` of the source.
struct Builder<'a, R> {
    note: &'a Note,
    source: &'a str,
    start: usize,
    /// What ends before this offset of the source is left out.
    from: usize,
    /// Elements of that which are open.
    passed_over: usize,
    resolve: R,
    /// The elements that are open, outermost first; the first stands for the body.
    open: Vec<Element>,
    /// Elements that are open and too deep to count.
    ignored: usize,
    /// Text before this is shown otherwise: the `[!note]` of a callout.
    skip_until: usize,
    in_html: bool,
    /// What a cell of the table's row is.
    cell: &'static str,
    /// How the columns of the table are aligned.
    columns: Vec<Alignment>,
    /// The cells of the row so far.
    column: usize,
    /// Links within links make no elements of their own.
    in_anchor: usize,
}

impl<R: FnMut(&str) -> Option<String>> Builder<'_, R> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>, text: &str) {
        if self.absolute(&range).end <= self.from && self.from > self.start {
            return self.left_out(&event);
        }
        match event {
            Event::Start(tag) => self.start(tag, range, text),
            Event::End(_) => self.end(),
            Event::Text(shown) => self.text(&shown, range),
            Event::Html(html) => self.text(&html, range),
            Event::InlineHtml(html) => {
                let shown = outside(&self.note.comments, self.source, self.absolute(&range)).into_owned();
                if !shown.is_empty() {
                    self.leaf(
                        class("code", "html"),
                        if shown.len() < range.len() { shown } else { html.into_string() },
                    );
                }
            }
            Event::Code(code) => self.leaf(element("code"), code.into_string()),
            Event::InlineMath(math) => self.leaf(class("code", "math"), math.into_string()),
            Event::DisplayMath(math) => self.leaf(class("code", "math display"), math.into_string()),
            Event::FootnoteReference(label) => self.leaf(class("sup", "footnote"), label.into_string()),
            Event::SoftBreak => self.push(Node::Text("\n".into())),
            Event::HardBreak => self.push(Node::Element(element("br"))),
            Event::Rule => {
                let rule = self.placed(element("hr"), &range);
                self.push(Node::Element(rule));
            }
            Event::TaskListMarker(done) => {
                let (name, mark) = if done { ("task done", "☑ ") } else { ("task", "☐ ") };
                self.leaf(class("span", name), mark.into());
            }
        }
    }

    /// Passes over what comes before the part that is shown; the items of a list that is cut keep their numbers.
    fn left_out(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => {
                if let (Tag::Item, 0, Some(list)) = (tag, self.passed_over, self.open.last_mut())
                    && list.tag == "ol"
                {
                    let first = list.attrs.get("start").and_then(|first| first.parse::<u64>().ok()).unwrap_or(1);
                    list.attrs.insert("start", first.saturating_add(1).to_string());
                }
                self.passed_over += 1;
            }
            Event::End(_) => self.passed_over -= 1,
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>, text: &str) {
        let element = match tag {
            Tag::Paragraph => self.placed(element("p"), &range),
            Tag::Heading { level, .. } => {
                let tag = ["h1", "h2", "h3", "h4", "h5", "h6"][(level as usize - 1).min(5)];
                self.placed(element(tag), &range)
            }
            Tag::BlockQuote(_) => return self.quote(range, text),
            Tag::CodeBlock(kind) => {
                let mut pre = self.placed(element("pre"), &range);
                if let CodeBlockKind::Fenced(info) = kind
                    && let Some(language) = info.split_whitespace().next()
                {
                    pre.attrs.insert("title", language.to_owned());
                }
                pre
            }
            Tag::HtmlBlock => {
                self.in_html = true;
                self.placed(class("pre", "html"), &range)
            }
            Tag::List(None) => self.placed(element("ul"), &range),
            Tag::List(Some(first)) => {
                let mut list = self.placed(element("ol"), &range);
                if first != 1 {
                    list.attrs.insert("start", first.to_string());
                }
                list
            }
            Tag::Item => self.placed(element("li"), &range),
            Tag::FootnoteDefinition(label) => {
                let note = self.placed(class("div", "footnote"), &range);
                self.enter(note);
                return self.leaf(class("sup", "footnote"), label.into_string());
            }
            Tag::Table(columns) => {
                self.columns = columns;
                self.placed(element("table"), &range)
            }
            Tag::TableHead => {
                (self.cell, self.column) = ("th", 0);
                self.placed(element("tr"), &range)
            }
            Tag::TableRow => {
                (self.cell, self.column) = ("td", 0);
                self.placed(element("tr"), &range)
            }
            Tag::TableCell => {
                self.column += 1;
                match self.columns.get(self.column - 1) {
                    Some(Alignment::Center) => class(self.cell, "center"),
                    Some(Alignment::Right) => class(self.cell, "right"),
                    _ => element(self.cell),
                }
            }
            Tag::Emphasis => element("em"),
            Tag::Strong => element("strong"),
            Tag::Strikethrough => element("del"),
            Tag::Superscript => element("sup"),
            Tag::Subscript => element("sub"),
            Tag::Link { link_type, dest_url, title, .. } => self.link(link_type, &dest_url, &title, false),
            Tag::Image { link_type, dest_url, title, .. } => self.link(link_type, &dest_url, &title, true),
            Tag::DefinitionList | Tag::DefinitionListTitle | Tag::DefinitionListDefinition | Tag::MetadataBlock(_) => {
                element("div")
            }
        };
        self.enter(element);
    }

    /// A quote, or a callout, whose kind comes first; what is behind it on its line is its title. `data-fold` says whether a callout that can be
    /// folded is open.
    fn quote(&mut self, range: Range<usize>, text: &str) {
        let inside = text[range.clone()].trim_start_matches(['>', ' ']);
        let from = range.end - inside.len();
        let kind = inside.strip_prefix("[!").and_then(|rest| rest.split_once(']')).map(|(kind, _)| kind);
        let Some(kind) = kind.filter(|kind| !kind.is_empty() && kind.chars().all(is_plain)) else {
            let quote = self.placed(element("blockquote"), &range);
            return self.enter(quote);
        };
        let mut callout = self.placed(class("blockquote", "callout"), &range);
        let fold = match inside.as_bytes().get(kind.len() + 3) {
            Some(b'+') => Some("open"),
            Some(b'-') => Some("closed"),
            _ => None,
        };
        callout.attrs.extend(fold.map(|fold| ("data-fold", fold.to_owned())));
        self.enter(callout);
        self.leaf(class("strong", "callout-kind"), kind.to_lowercase());
        self.skip_until = from + kind.len() + 3 + usize::from(fold.is_some());
    }

    /// A link to somewhere, or what stands for one that must not be followed. Images are links: the page loads nothing.
    fn link(&mut self, link_type: LinkType, written: &str, title: &str, image: bool) -> Element {
        let inner = self.in_anchor > 0;
        let plain = class("span", if image { "image" } else { "no-link" });
        let Some(Destination { target, heading, block }) = destination(link_type, written).filter(|_| !inner) else {
            return plain;
        };
        let mut link = element("a");
        if let LinkType::Email = link_type {
            link.attrs.insert("href", target);
        } else if has_scheme(&target) {
            let scheme = target.split(':').next().unwrap_or_default();
            if !SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                return plain;
            }
            link.attrs.insert("href", target);
        } else {
            if target.is_empty() && heading.is_none() && block.is_none() {
                return plain;
            }
            if let Some(path) = (self.resolve)(&target) {
                link.attrs.insert("data-path", path);
            }
            link.attrs.insert("data-target", target);
            link.attrs.extend(heading.map(|heading| ("data-heading", heading)));
            link.attrs.extend(block.map(|block| ("data-block", block)));
        }
        if image {
            link.attrs.insert("class", "image".into());
        }
        if !title.is_empty() {
            link.attrs.insert("title", title.to_owned());
        }
        link
    }

    fn broken_frontmatter(&mut self, bytes: Range<usize>) {
        let (first, last) = (self.note.lines.line_of(bytes.start), self.note.lines.line_of(bytes.end - 1));
        let text = Node::Text(self.source[bytes].to_owned());
        let mut pre = class("pre", "frontmatter");
        (pre.line_start, pre.line_end) = (Some(first), Some(last));
        pre.children.push(text);
        self.push(Node::Element(pre));
    }

    /// Text as shown, without the comments in it.
    fn text(&mut self, shown: &str, range: Range<usize>) {
        if range.end <= self.skip_until {
            return;
        }
        if range.start < self.skip_until {
            let rest = self.absolute(&(self.skip_until..range.end));
            return self.push(Node::Text(self.source[rest].to_owned()));
        }
        if self.note.comments.is_empty() || !(self.in_html || shown.contains('%')) {
            return self.push(Node::Text(shown.to_owned()));
        }
        let visible = outside(&self.note.comments, self.source, self.absolute(&range));
        self.push(Node::Text(visible.into_owned()));
    }

    fn absolute(&self, range: &Range<usize>) -> Range<usize> {
        range.start + self.start..range.end + self.start
    }

    /// Says on which lines of the file a block is, blank ones at its end left out.
    fn placed(&self, mut element: Element, range: &Range<usize>) -> Element {
        let bytes = self.absolute(range);
        let end = bytes.start + self.source[bytes.clone()].trim_end().len();
        // Of a block that is cut, the lines that are shown.
        element.line_start = Some(self.note.lines.line_of(bytes.start.max(self.from.min(end))));
        element.line_end = Some(self.note.lines.line_of(end.saturating_sub(1).max(bytes.start)));
        element
    }

    fn enter(&mut self, element: Element) {
        if self.open.len() > MAX_DEPTH || self.ignored > 0 {
            self.ignored += 1;
            return;
        }
        self.in_anchor += usize::from(element.tag == "a");
        self.open.push(element);
    }

    fn end(&mut self) {
        if self.ignored > 0 {
            self.ignored -= 1;
            return;
        }
        // The first stands for the body.
        let Some(mut element) = (self.open.len() > 1).then(|| self.open.pop()).flatten() else { return };
        self.in_anchor -= usize::from(element.tag == "a");
        if element.attrs.get("class").is_some_and(|class| class == "html") && element.tag == "pre" {
            self.in_html = false;
            let blank = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
            if element.children.iter().all(blank) {
                return;
            }
        }
        // An image or a link without words shows where it leads.
        if element.tag == "a" && element.children.is_empty() {
            let shown = element.attrs.get("data-target").or_else(|| element.attrs.get("href"));
            element.children.extend(shown.cloned().map(Node::Text));
        }
        self.push(Node::Element(element));
    }

    fn leaf(&mut self, mut element: Element, text: String) {
        element.children.push(Node::Text(text));
        self.push(Node::Element(element));
    }

    fn push(&mut self, node: Node) {
        let Some(parent) = self.open.last_mut() else { return };
        match (parent.children.last_mut(), node) {
            (_, Node::Text(text)) if text.is_empty() => {}
            (Some(Node::Text(before)), Node::Text(text)) => before.push_str(&text),
            (_, node) => parent.children.push(node),
        }
    }

    fn finish(mut self) -> Vec<Node> {
        while self.open.len() > 1 {
            self.ignored = 0;
            self.end();
        }
        self.open.pop().map(|body| body.children).unwrap_or_default()
    }
}

fn element(tag: &'static str) -> Element {
    Element { tag, ..Element::default() }
}

fn class(tag: &'static str, class: &str) -> Element {
    Element { tag, attrs: [("class", class.to_owned())].into(), ..Element::default() }
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_ ".contains(character)
}
