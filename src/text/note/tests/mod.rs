//! Tests of the module as a whole: from source to note.

mod body;
mod frontmatter;
mod hostile;
mod privacy;
mod property;

use super::{BlockKind, Note, Visibility};

fn parse(source: &str) -> Note {
    let note = Note::parse(source, "stem");
    check(source, &note);
    note
}

/// The kinds and texts of the blocks.
fn blocks<'s>(source: &'s str, note: &Note) -> Vec<(BlockKind, &'s str)> {
    note.blocks.iter().map(|block| (block.kind, &source[block.span.clone()])).collect()
}

/// What holds for every note whatever its source.
fn check(source: &str, note: &Note) {
    assert!(note.body.end == source.len() && source.get(note.body.clone()).is_some());
    let mut at = note.body.start;
    let mut section = None;
    for block in &note.blocks {
        assert!(block.span.start >= at, "blocks overlap or are out of order: {block:?}");
        let between = source.get(at..block.span.start).expect("a block starts within a character");
        assert!(between.trim().is_empty(), "{between:?} is in no block");
        let text = source.get(block.span.clone()).expect("a block ends within a character");
        assert!(!text.trim().is_empty() && text.trim_end() == text, "blank end: {text:?}");
        let line = note.lines.span(note.lines.line_of(block.span.start));
        assert_eq!(block.span.start, line.start.max(note.body.start), "starts within a line: {text:?}");
        if let BlockKind::Heading(level) = block.kind {
            let next = section.map_or(0, |index: usize| index + 1);
            assert_eq!(note.headings[next].level, level);
            section = Some(next);
        }
        assert_eq!(block.section, section, "{text:?}");
        at = block.span.end;
    }
    assert!(source[at..].trim().is_empty(), "{:?} is in no block", &source[at..]);
    assert_eq!(section.map_or(0, |index| index + 1), note.headings.len());
    for (index, heading) in note.headings.iter().enumerate() {
        assert!((1..=6).contains(&heading.level) && source.get(heading.span.clone()).is_some());
        let parent = heading.parent.map(|parent| (parent < index, note.headings[parent].level < heading.level));
        assert!(parent.is_none_or(|found| found == (true, true)));
    }
    for link in &note.links {
        assert!(source.get(link.span.clone()).is_some() && link.line == note.lines.line_of(link.span.start));
    }
    let mut at = note.body.start;
    for comment in &note.comments {
        assert!(comment.start >= at && source.get(comment.clone()).is_some());
        at = comment.end;
    }
    if note.visibility == Visibility::BrokenFrontmatter {
        assert!(note.metadata.is_empty() && !note.problems.is_empty());
    }
}
