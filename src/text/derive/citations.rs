//! What the lines of a generated file cite: their sources in brackets, or in notes of their own, at the end.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Map;

use super::entries::{EntriesFile, shelf_of};
use super::generated::is_generated;
use crate::base::path::VaultPath;
use crate::text::note::{Note, sources};

/// Maximum number of brackets of a line that are tried for the first that cites: a text may have some of its own.
const MAX_BRACKETS: usize = 16;
/// Maximum bytes of a path; a longer one leads to no file.
const MAX_PATH_BYTES: usize = 4096;
/// Maximum number of `#` and `,` at which a path may end that are looked at: a path may have some itself.
const MAX_ENDS: usize = 64;

/// The paths that a file says it was made of.
#[derive(Debug)]
pub(crate) struct CitedPaths<'p>(HashSet<&'p str>);

impl<'p> CitedPaths<'p> {
    /// Of these paths.
    pub(crate) fn new(paths: &'p [String]) -> Self {
        let may_be = |path: &&str| (1..=MAX_PATH_BYTES).contains(&path.len());
        Self(paths.iter().map(String::as_str).filter(may_be).collect())
    }

    /// The longest path that a text begins with, alone or with a place in it. A path may have a comma, or a `#`.
    pub(crate) fn at_begin(&self, text: &str) -> Option<&'p str> {
        let ends = text.match_indices(['#', ',']).map(|(at, _)| at).take(MAX_ENDS).chain([text.len()]);
        let may_be = ends.take_while(|end| *end <= MAX_PATH_BYTES);
        may_be.filter_map(|end| self.0.get(&text[..end]).copied()).last()
    }

    /// Where in a line, that has no blank space at its end, `(a.md#L3, b.md)` begins, with the blank before it.
    pub(crate) fn in_brackets(&self, line: &str) -> Option<usize> {
        let inside = line.strip_suffix(')')?;
        let brackets = inside.rmatch_indices(" (").take(MAX_BRACKETS);
        brackets.filter(|(at, open)| self.at_begin(&inside[at + open.len()..]).is_some()).map(|(at, _)| at).last()
    }

    /// Where in a line, that has no blank space at its end, its last `^[a.md#L3]` begin, with the blank before them.
    fn in_notes(&self, line: &str) -> Option<usize> {
        let mut start = None;
        let mut rest = line;
        while let Some(inside) = rest.strip_suffix(']')
            && let Some(at) = inside.rfind(" ^[")
            && self.at_begin(&inside[at + " ^[".len()..]).is_some()
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

/// The notes that a note was made of, by their paths in the vault: those that its frontmatter names, and those that each entry cites, also
/// where a person wrote it. `within` is its path in its folder. In a folder `elsewhere` what is named lies in that folder: a note of the
/// same name in the vault says nothing of how private it is.
pub(crate) fn note_sources(note: &Note, within: &VaultPath, elsewhere: Option<&VaultPath>, text: &str) -> Vec<String> {
    let mut all = sources(&note.metadata);
    if let Some((_, shelf)) = shelf_of(within) {
        let entries = EntriesFile::read(text, shelf).entries;
        let cited: Vec<String> = entries.into_iter().flat_map(|entry| entry.sources).collect();
        all.extend(sources(&Map::from_iter([("sources".to_owned(), cited.into())])));
        all.sort_unstable();
        all.dedup();
    }
    match elsewhere {
        Some(folder) => all.iter().map(|source| format!("{folder}/{source}")).collect(),
        None => all,
    }
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
    fn a_text_begins_with_the_longest_path_that_ends_there() {
        let paths = ["a", "a.md", "a.md, b.md", "a.md#c.md", "é.md"].map(str::to_owned);
        let cited = CitedPaths::new(&paths);
        for (text, path) in [
            ("a.md#L3", Some("a.md")),
            ("a.md, b.md", Some("a.md, b.md")),
            ("a.md, b", Some("a.md")),
            ("a.md#c.md#L1", Some("a.md#c.md")),
            ("a.mdx", None),
            ("a,", Some("a")),
            ("é.md", Some("é.md")),
            ("", None),
        ] {
            assert_eq!(cited.at_begin(text), path, "{text}");
        }
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
