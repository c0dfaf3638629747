//! The text that was taken from an attachment, as a note: headings and paragraphs, and nothing that Markdown would make of it.
//!
//! A line `# …` is a heading, of as many levels as it has marks; lines between blank ones are a paragraph. There is no frontmatter, no tag,
//! no link and no comment, whatever the text says.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Parser};
use regex::{Captures, Regex};

use super::model::{Block, BlockKind, Heading, parent_of};
use super::tree::{Element, Node, Tree};
use super::{Lines, Note};
use crate::base::path::VaultPath;

/// The level and the text of a line that is a heading.
pub(crate) fn plain_heading(line: &str) -> Option<(u8, &str)> {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = line[marks..].strip_prefix(' ')?.trim();
    ((1..=6).contains(&marks) && !text.is_empty()).then_some((marks as u8, text))
}

impl Note {
    /// Reads a file of the vault: a note, or the text of an attachment.
    pub fn of(path: &VaultPath, text: &str) -> Self {
        if path.is_document() { Self::plain(text, path.stem()) } else { Self::parse(text, path.stem()) }
    }

    /// Reads the text of an attachment. `stem` is the file's name without extension: the title of last resort.
    pub(crate) fn plain(source: &str, stem: &str) -> Self {
        let lines = Lines::new(source);
        let (mut headings, mut blocks): (Vec<Heading>, Vec<Block>) = (Vec::new(), Vec::new());
        // Whether the line before goes on here.
        let mut goes_on = false;
        for number in 1..=lines.count() {
            let start = lines.span(number).start;
            let line = source[lines.span(number)].trim_end();
            let span = start..start + line.len();
            if line.trim().is_empty() {
                goes_on = false;
            } else if let Some((level, text)) = plain_heading(line) {
                let parent = parent_of(&headings, level);
                let section = Some(headings.len());
                headings.push(Heading { level, text: text.to_owned(), span: span.clone(), line: number, parent });
                blocks.push(Block { kind: BlockKind::Heading(level), span, section });
                goes_on = false;
            } else if let Some(block) = blocks.last_mut().filter(|_| goes_on) {
                block.span.end = span.end;
            } else {
                let section = headings.len().checked_sub(1);
                blocks.push(Block { kind: BlockKind::Paragraph, span, section });
                goes_on = true;
            }
        }
        let title = headings.iter().find(|heading| heading.level == 1).map_or(stem, |heading| &heading.text).to_owned();
        Self { title, headings, blocks, body: 0..source.len(), lines, ..Self::default() }
    }

    /// The text of an attachment as a tree, as [`Note::tree`] makes of a note; of one that is too long the part around a line.
    pub(crate) fn plain_tree(&self, source: &str, around: usize) -> Tree {
        let part = self.part(0..source.len(), around);
        let mut nodes = Vec::new();
        for block in self.blocks.iter().filter(|block| part.start <= block.span.start && block.span.end <= part.end) {
            let text = &source[block.span.clone()];
            let (tag, text) = match block.kind {
                BlockKind::Heading(level) => (
                    ["h1", "h2", "h3", "h4", "h5", "h6"][usize::from(level.clamp(1, 6)) - 1],
                    text.trim_start_matches('#').trim(),
                ),
                _ => ("p", text),
            };
            nodes.push(Node::Element(Element {
                tag,
                attrs: BTreeMap::new(),
                line_start: Some(self.lines.line_of(block.span.start)),
                line_end: Some(self.lines.line_of(block.span.end.saturating_sub(1))),
                children: vec![Node::Text(text.to_owned())],
            }));
        }
        Tree { nodes, cut: part.len() < source.len() }
    }
}

/// A text with the characters that its references stand for.
pub(crate) fn without_entities(text: &str) -> Cow<'_, str> {
    // The longest name has 31 letters.
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| Regex::new("&#?[A-Za-z0-9]{1,38};").expect("a test uses it"));
    let text_of = |event: Event<'_>| if let Event::Text(text) = event { Some(text.into_string()) } else { None };
    REFERENCE.replace_all(text, |found: &Captures<'_>| Parser::new(&found[0]).filter_map(text_of).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nprivate: true\n---\n\n# Report #private\n\nOne [[link]]\ngoes on. %%not a comment%%\n\n## Part\n\n ## no heading\n\ntail";

    #[test]
    fn nothing_in_the_text_of_an_attachment_is_markdown_but_headings() {
        let note = Note::plain(TEXT, "stem");
        assert_eq!(
            (note.title.as_str(), note.is_private(), note.tags.len(), note.links.len()),
            ("Report #private", false, 0, 0)
        );
        assert!(note.metadata.is_empty() && note.problems.is_empty() && note.comments.is_empty());
        let blocks: Vec<&str> = note.blocks.iter().map(|block| &TEXT[block.span.clone()]).collect();
        assert_eq!(
            blocks,
            [
                "---\nprivate: true\n---",
                "# Report #private",
                "One [[link]]\ngoes on. %%not a comment%%",
                "## Part",
                " ## no heading",
                "tail"
            ]
        );
        assert_eq!(note.heading_path(note.blocks[5].section), ["Report #private", "Part"]);
        let path = VaultPath::new("a.pdf").unwrap();
        assert_eq!(Note::of(&path, TEXT), Note::plain(TEXT, "a"));
    }

    #[test]
    fn the_tree_of_an_attachment_is_its_blocks() {
        let note = Note::plain(TEXT, "stem");
        let tree = note.plain_tree(TEXT, 1);
        let tags: Vec<&str> = tree
            .nodes
            .iter()
            .map(|node| match node {
                Node::Element(element) => element.tag,
                Node::Text(_) => "",
            })
            .collect();
        assert_eq!((tags, tree.cut), (vec!["p", "h1", "p", "h2", "p", "p"], false));
        let long = "a line of text\n\n".repeat(100_000);
        let note = Note::plain(&long, "x");
        let tree = note.plain_tree(&long, 150_001);
        assert!(tree.cut);
        let shows = |node: &Node| matches!(node, Node::Element(shown) if shown.line_start == Some(150_001));
        assert!(tree.nodes.iter().any(shows));
    }

    #[test]
    fn texts_of_any_kind_are_read() {
        for text in ["", "\n", "#", "# ", "####### x", "\r\r\n# a\r", "\u{2028}# x"] {
            let note = Note::plain(text, "stem");
            assert!(note.blocks.iter().all(|block| text.get(block.span.clone()).is_some()), "{text:?}");
        }
    }
}

#[cfg(test)]
mod tests_of_entities {
    use super::*;

    #[test]
    fn references_are_what_they_stand_for_and_all_else_stays() {
        assert_eq!(without_entities("k&#101;y&nbsp;&#x6b; &uuml;&amp;"), "key\u{a0}k ü&");
        for text in ["", "no & b;", "&", "&;", "&nothing;", "a & b", "&é;", "&#;", "AT&T; x"] {
            assert_eq!(without_entities(text), text);
        }
    }
}
