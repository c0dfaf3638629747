//! A place that answers a question.

use std::fmt;

/// A note, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relevant {
    /// Its path, or its end; without `.md` its name.
    note: String,
    part: RelevantPart,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RelevantPart {
    Whole,
    /// Under a heading of this name.
    Heading(String),
    /// First and last line, from 1.
    Lines(u32, u32),
}

/// Where a hit stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The note's path.
    pub path: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The headings that the hit stands under.
    pub heading_path: &'a [String],
    /// First and last line, from 1.
    pub lines: (u32, u32),
}

impl Relevant {
    /// Reads `path.md#L3-L8`, `path.md#L3`, `path.md#Heading`, `path.md`, or the same without `.md`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (note, part) = match text.trim().split_once('#') {
            None => (text, RelevantPart::Whole),
            Some((note, part)) => (note, lines(part).unwrap_or_else(|| RelevantPart::Heading(part.trim().to_owned()))),
        };
        let note = note.trim().trim_start_matches("./").to_owned();
        (!note.is_empty()).then_some(Self { note, part })
    }

    /// Whether it is in the note at a path, or that note.
    pub(crate) fn is_in(&self, path: &str, title: &str) -> bool {
        if self.note.ends_with(".md") {
            path == self.note || path.strip_suffix(&self.note).is_some_and(|rest| rest.ends_with('/'))
        } else {
            let name = folded(&self.note);
            let path = folded(path.strip_suffix(".md").unwrap_or(path));
            name == path || path.strip_suffix(&name).is_some_and(|rest| rest.ends_with('/')) || name == folded(title)
        }
    }

    /// Whether a hit is there, or a part of it.
    pub(crate) fn is_at(&self, place: &Place<'_>) -> bool {
        self.is_in(place.path, place.title)
            && match &self.part {
                RelevantPart::Whole => true,
                RelevantPart::Heading(heading) => {
                    let is_called = |name: &str| words(name) == words(heading);
                    is_called(place.title) || place.heading_path.iter().any(|name| is_called(name))
                }
                RelevantPart::Lines(first, last) => place.lines.0 <= *last && *first <= place.lines.1,
            }
    }
}

impl fmt::Display for Relevant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            RelevantPart::Whole => write!(f, "{}", self.note),
            RelevantPart::Heading(heading) => write!(f, "{}#{heading}", self.note),
            RelevantPart::Lines(first, last) => write!(f, "{}#L{first}-L{last}", self.note),
        }
    }
}

fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

/// A heading without its marks: "Using `Box<T>`" and "Using Box<T>" are one.
fn words(heading: &str) -> String {
    let marks = |character: &char| !"`*_[]\\".contains(*character);
    folded(&heading.chars().filter(marks).collect::<String>())
}

/// `L3-L8` or `L3`.
fn lines(part: &str) -> Option<RelevantPart> {
    let number = |text: &str| text.strip_prefix('L')?.parse::<u32>().ok().filter(|line| *line > 0);
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(RelevantPart::Lines(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_note_a_heading_or_lines() {
        let headings = ["Bread".to_owned(), "Rising".to_owned()];
        let place = Place { path: "notes/bread.md", title: "Bread", heading_path: &headings, lines: (5, 9) };
        let hits = |text: &str| Relevant::parse(text).unwrap().is_at(&place);
        for there in [
            "notes/bread.md", "bread.md", "bread", "Bread", "bread#*rising*", "bread.md#L9-L12", "bread.md#L5",
            "./bread.md",
        ] {
            assert!(hits(there), "{there}");
        }
        for elsewhere in ["read.md", "read", "bread.md#L10", "bread#crust", "bread.md#L1-L4", "other/bread.md"] {
            assert!(!hits(elsewhere), "{elsewhere}");
        }
        assert!(Relevant::parse(" #x").is_none());
        assert_eq!(Relevant::parse("a b.md#L3").unwrap().to_string(), "a b.md#L3-L3");
    }
}
