//! What the lines of a generated file cite: their sources in brackets, or in notes of their own, at the end.

use std::collections::HashSet;
use std::ops::Range;

use super::generated::is_generated;
use crate::note::{Note, sources};

/// Maximum number of brackets of a line that are tried for the first that cites: a text may have some of its own.
const MAX_BRACKETS: usize = 64;

/// The paths that a file says it was made of.
#[derive(Debug)]
pub(crate) struct CitedPaths<'p> {
    paths: HashSet<&'p str>,
    /// The bytes of the longest.
    longest: usize,
}

impl<'p> CitedPaths<'p> {
    /// Of these paths.
    pub(crate) fn new(paths: &'p [String]) -> Self {
        let paths: HashSet<&str> = paths.iter().map(String::as_str).filter(|path| !path.is_empty()).collect();
        Self { longest: paths.iter().map(|path| path.len()).max().unwrap_or_default(), paths }
    }

    /// Whether a text begins with one of them, or a place in it. A path may have a comma, or a `#`.
    pub(crate) fn begin(&self, text: &str) -> bool {
        let ends = text.match_indices(['#', ',']).map(|(at, _)| at).take_while(|at| *at <= self.longest);
        ends.chain(Some(text.len())).filter(|end| *end <= self.longest).any(|end| self.paths.contains(&text[..end]))
    }

    /// Where in a line, that has no blank space at its end, `(a.md#L3, b.md)` begins, with the blank before it.
    pub(crate) fn in_brackets(&self, line: &str) -> Option<usize> {
        let inside = line.strip_suffix(')')?;
        let brackets = inside.rmatch_indices(" (").take(MAX_BRACKETS);
        brackets.filter(|(at, open)| self.begin(&inside[at + open.len()..])).map(|(at, _)| at).last()
    }

    /// Where in a line, that has no blank space at its end, its last `^[a.md#L3]` begin, with the blank before them.
    fn in_notes(&self, line: &str) -> Option<usize> {
        let mut start = None;
        let mut rest = line;
        while let Some(inside) = rest.strip_suffix(']')
            && let Some(at) = inside.rfind(" ^[")
            && self.begin(&inside[at + " ^[".len()..])
        {
            start = Some(at);
            rest = &rest[..at];
        }
        start
    }
}

/// Where the lines of a note cite what it was made of, in order: of a generated file, what is said of its sources is no part of what it says.
/// A meeting's name in the path of its minutes would else be in each line of their summary.
pub(crate) fn citation_spans(note: &Note, source: &str) -> Vec<Range<usize>> {
    if !is_generated(&note.metadata) {
        return Vec::new();
    }
    let paths = sources(&note.metadata);
    let cited = CitedPaths::new(&paths);
    let mut spans = Vec::new();
    let mut start = note.body.start;
    for line in source[note.body.clone()].split_inclusive('\n') {
        let said = line.trim_end();
        if let Some(at) = cited.in_brackets(said).or_else(|| cited.in_notes(said)) {
            spans.push(start + at..start + said.len());
        }
        start += line.len();
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(front: &str, body: &str) -> String {
        let text = format!("---\n{front}sources: ['c/a (1), b.md', notes/x.md]\n---\n{body}");
        let note = Note::parse(&text, "x");
        let mut shown = text.clone();
        for span in citation_spans(&note, &text).into_iter().rev() {
            shown.replace_range(span, "");
        }
        shown[shown.find("\n---\n").unwrap() + 5..].to_owned()
    }

    #[test]
    fn what_a_generated_line_cites_is_told_from_what_it_says() {
        for (line, said) in [
            ("- tool (notes/x.md#L3)", "- tool"),
            ("- a (b) (c/a (1), b.md#L3-L4, notes/x.md#L1)  ", "- a (b)  "),
            ("- a (notes/x.md)", "- a"),
            ("Likes rye. ^[notes/x.md#L3] ^[c/a (1), b.md#L1]", "Likes rye."),
            ("- a (notes/y.md#L3)", "- a (notes/y.md#L3)"),
            ("- a (see notes/x.md#L3)", "- a (see notes/x.md#L3)"),
            ("- a (notes/x.md#L3) and more", "- a (notes/x.md#L3) and more"),
            ("- ä (notes/x.md#L3", "- ä (notes/x.md#L3"),
        ] {
            assert_eq!(shown("generated: true\n", &format!("{line}\nnext\n")), format!("{said}\nnext\n"));
            assert_eq!(shown("", line), line, "nobody made it of these");
        }
    }
}
