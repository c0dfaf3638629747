use std::collections::HashSet;

use memory_vault::base::path::VaultPath;
use memory_vault::text::derive::{chunk, cut_heading, token_estimate};
use memory_vault::text::note::{Node, Note};

/// What is embedded of a passage never has more tokens.
const LIMIT: usize = 256;
/// Noise that is joined to it on either side never has more.
const JOINED: usize = 1024;

/// Any text is a note. Its passages cover all of its body but blanks and comments, know their lines and their headings,
/// and keep the limit. As a tree it holds nothing that a page must not show.
pub fn note(data: &[u8]) {
    let text = super::text(data);
    let path = VaultPath::new("notes/a.md").expect("a path");
    let note = Note::parse(text, path.stem());
    let chunks = chunk(&path, &note, text);
    assert_eq!(chunks, chunk(&path, &Note::parse(text, path.stem()), text), "cutting is a function");

    let (mut covered, mut at) = (vec![false; text.len()], note.body.start);
    let mut ids = HashSet::new();
    for chunk in &chunks {
        let source = text.get(chunk.bytes.clone()).expect("a passage is whole characters");
        if chunk.bytes.end <= note.body.start {
            // It stands for a note that has no text.
            assert!(chunks.len() == 1 && chunk.heading_path.is_empty() && chunk.lines.0 == 1, "{chunk:?}");
            assert!(!chunk.text.trim().is_empty() && source.trim() == source, "{chunk:?}");
            continue;
        }
        assert!(chunk.bytes.start >= at, "passages overlap: {chunk:?}");
        at = chunk.bytes.end;
        covered[chunk.bytes.clone()].fill(true);
        assert!(!source.is_empty() && source.trim() == source, "blanks at the ends of {source:?}");
        assert_eq!(chunk.lines, (line(text, chunk.bytes.start), line(text, at - 1)), "the lines of {source:?}");
        assert!(!chunk.text.trim().is_empty(), "nothing to show of {source:?}");
        let tokens = token_estimate(chunk.prose());
        assert!(tokens <= LIMIT, "{tokens} tokens in {:?}", chunk.prose());
        let tokens = token_estimate(chunk.body());
        assert!(tokens <= LIMIT + 2 * JOINED, "{tokens} tokens in {:?}", chunk.body());
        assert!(chunk.prose.start >= chunk.body_start, "headings of {source:?} are embedded twice");
        assert!(ids.insert(chunk.id), "two passages are named {}", chunk.id);

        let path = |section| note.heading_path(section).into_iter().map(cut_heading).collect::<Vec<_>>();
        let inside = note.blocks.iter().filter(|block| block.span.start < at && block.span.end > chunk.bytes.start);
        let paths: Vec<Vec<&str>> = inside.map(|block| path(block.section)).collect();
        let all_under = paths.iter().all(|path| {
            path.len() >= chunk.heading_path.len()
                && path.iter().zip(&chunk.heading_path).all(|(one, other)| one == other)
        });
        let stands_at_one = paths.iter().any(|path| chunk.heading_path == *path);
        assert!(stands_at_one || all_under, "the headings of {source:?}: {:?}", chunk.heading_path);
    }
    for (at, character) in text.char_indices().filter(|(at, _)| note.body.contains(at)) {
        let comment = note.comments.iter().any(|range| range.contains(&at));
        assert!(covered[at] || comment || character.is_whitespace(), "{character:?} at {at} is in no passage");
    }
    nodes(&note.tree(text, 1, |_| None).nodes, note.lines.count(), 0);
}

/// Elements nest so deep, are on lines of the note, and lead to addresses of known schemes.
fn nodes(nodes: &[Node], lines: usize, depth: usize) {
    assert!(depth <= 50, "elements nest too deep");
    for node in nodes {
        let Node::Element(element) = node else { continue };
        if let Some(first) = element.line_start {
            let last = element.line_end.expect("a first line has a last");
            assert!((1..=last).contains(&first) && last <= lines, "{first} to {last} of {lines}: {}", element.tag);
        }
        if let Some(href) = element.attrs.get("href") {
            let scheme = href.split(':').next().unwrap_or_default().to_ascii_lowercase();
            assert!(["http", "https", "mailto", "obsidian"].contains(&scheme.as_str()), "a link leads to {href:?}");
        }
        self::nodes(&element.children, lines, depth + 1);
    }
}

/// The line of a byte, counted by hand: LF, CRLF and a lone CR end one.
fn line(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at];
    let ends = |at: usize| before[at] == b'\n' || before[at] == b'\r' && text.as_bytes().get(at + 1) != Some(&b'\n');
    1 + (0..at).filter(|at| ends(*at)).count()
}
