//! How a note is related to others: its links, with the name of the relation where the note gives one, when it was true and how sure it is.

use std::collections::{HashMap, VecDeque};

use super::facts::{Validity, inline_fields, is_key, without_tail};
use super::links::{note_links, wikilinks_apart};
use super::properties::is_kept;
use crate::text::note::{BlockKind, Link, Note};

/// A link of a note, and what the note says of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relation {
    /// Its name as written, as that of a property or an inline field; `None` of a link that only stands in the text.
    pub(crate) name: Option<String>,
    /// The link.
    pub(crate) link: Link,
    /// When it is true; of a link about which nothing is said, always.
    pub(crate) window: Validity,
    /// How sure it is, 0 to 1, where that is said.
    pub(crate) confidence: Option<f64>,
}

/// The relations of a note: those of its properties, then those of its text, in the order of its lines. One with a name is
///
/// - a link in a property: `author: "[[Ridley Scott]]"`,
/// - a link in an inline field: `manages:: [[Alice]], [[Bob]]`,
/// - the link of a list item that has a name before it and nothing else: `- works_at [[Acme]]`,
///
/// and behind each link may stand `(from 2026-03-09, until 2026-06-01)` and `confidence 0.8`, in either order.
pub(crate) fn relations(note: &Note, source: &str) -> Vec<Relation> {
    described(note, source, note_links(note, source))
}

/// The links of a note with what it says of them.
pub(super) fn described(note: &Note, source: &str, links: Vec<Link>) -> Vec<Relation> {
    let mut said = named_links(note, source);
    let describe = |link: Link| {
        let (name, behind) = match &link.property {
            Some(property) => ((!is_kept(&property.key)).then(|| property.key.clone()), behind(&property.behind)),
            // The same link twice in a line is described twice.
            None => match said.get_mut(&(link.line, link.target.clone())).and_then(VecDeque::pop_front) {
                Some((name, behind)) => (Some(name), behind),
                None => Default::default(),
            },
        };
        Relation { name, link, window: behind.window, confidence: behind.confidence }
    };
    links.into_iter().map(describe).collect()
}

/// What the lines of a text say of the links on them, by line and target.
type NamedLinks = HashMap<(usize, String), VecDeque<(String, Behind)>>;

fn named_links(note: &Note, source: &str) -> NamedLinks {
    let mut said = NamedLinks::new();
    let text = source.get(note.body.clone()).unwrap_or_default();
    let mut put = |name: &str, line: usize, target: String, behind: Behind| {
        said.entry((line, target)).or_default().push_back((name.to_owned(), behind));
    };
    if !text.contains("[[") {
        return said;
    }
    if text.contains("::") {
        for field in inline_fields(note, source) {
            for (link, after) in wikilinks_apart(&field.text) {
                put(&field.key, field.line, link.target, behind(after));
            }
        }
    }
    for block in note.blocks.iter().filter(|block| block.kind == BlockKind::ListItem) {
        let first = source[block.span.clone()].lines().next().unwrap_or_default();
        let line = note.visible(source, block.span.start..block.span.start + first.len());
        let Some((name, rest)) = named_item(&line) else { continue };
        let links: Vec<(String, Behind)> =
            wikilinks_apart(rest).into_iter().map(|(link, after)| (link.target, behind(after))).collect();
        // What has more to say is prose.
        if links.iter().all(|(_, behind)| behind.is_all) {
            let number = note.lines.line_of(block.span.start);
            links.into_iter().for_each(|(target, behind)| put(name, number, target, behind));
        }
    }
    said
}

/// The name and the rest of `- name [[…`.
fn named_item(line: &str) -> Option<(&str, &str)> {
    let marked = line.trim_start_matches([' ', '\t', '>']);
    let text = ["- ", "* ", "+ "].iter().find_map(|marker| marked.strip_prefix(marker))?.trim_start();
    let (before, rest) = text.split_at(text.find("[[")?);
    let name = before.trim_end();
    (name.len() < before.len() && is_key(name)).then_some((name, rest))
}

/// What stands behind a link.
#[derive(Debug, Clone, Default, PartialEq)]
struct Behind {
    window: Validity,
    confidence: Option<f64>,
    /// Whether that is all that stands there, but for a remark in brackets, tags and marks between links.
    is_all: bool,
}

fn behind(text: &str) -> Behind {
    let mut found = Behind::default();
    let mut left = text;
    loop {
        left = without_tail(left.trim_end_matches([',', ';', ' ', '\t', '\r', '\n'])).0;
        let Some((before, window, confidence)) = window_at_end(left).or_else(|| confidence_at_end(left)) else { break };
        if !window.is_empty() && found.window.is_empty() {
            found.window = window;
        }
        found.confidence = found.confidence.or(confidence);
        left = before;
    }
    let left = left.trim();
    found.is_all = left.is_empty() || (left.starts_with('(') && left.ends_with(')'));
    found
}

/// `(from 2026-03-09, until 2026-06-01, confidence 0.8)`, any part of it, at the end of a text; with what is before it.
fn window_at_end(text: &str) -> Option<(&str, Validity, Option<f64>)> {
    let inner = text.strip_suffix(')')?;
    let (before, inner) = inner.split_at(inner.rfind('(')?);
    let (mut confidence, mut others) = (None, Vec::new());
    for part in inner[1..].split(',').map(str::trim) {
        match part.strip_prefix("confidence ").and_then(share_of) {
            Some(share) if confidence.is_none() => confidence = Some(share),
            _ => others.push(part),
        }
    }
    if others.is_empty() {
        return Some((before, Validity::default(), confidence));
    }
    let others = format!("({})", others.join(", "));
    // Dates that cannot be read bound nothing.
    let (_, window) = Validity::at_end(&others).ok().flatten()?;
    Some((before, window, confidence))
}

/// `confidence 0.8` at the end of a text; with what is before it.
fn confidence_at_end(text: &str) -> Option<(&str, Validity, Option<f64>)> {
    let (before, number) = text.rsplit_once([' ', '\t'])?;
    let before = before.trim_end().strip_suffix("confidence")?;
    let is_a_word = before.is_empty() || before.ends_with([' ', '\t', ',', ')']);
    is_a_word.then(|| share_of(number)).flatten().map(|share| (before, Validity::default(), Some(share)))
}

fn share_of(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|share| (0.0..=1.0).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |relation: &Relation| {
            let name = relation.name.as_deref().unwrap_or("·");
            let window = if relation.window.is_empty() { String::new() } else { format!(" {}", relation.window) };
            let sure = relation.confidence.map_or(String::new(), |share| format!(" {share}"));
            format!("{} {name} {}{window}{sure}", relation.link.line, relation.link.target)
        };
        relations(&Note::parse(text, "n"), text).iter().map(show).collect()
    }

    #[test]
    fn relations_have_the_name_that_the_note_gives_them() {
        let text = "---\nauthor: \"[[Ridley Scott]] (until 2026-01-01)\"\ncast: [\"[[Ford]], confidence 0.5\", \"[[Young]]\"]\n\
                    made: {by: \"[[Ladd]]\"}\nsources: [\"[[notes/a]]\"]\n---\n\
                    manages:: [[Alice]] (from 2026-03-09), [[people/Bob|Bob]]\n\
                    In prose [led_by:: [[Ann]] (from 2026-03-09, confidence 0.8)] and (near:: [[Oslo]]).\n\n\
                    - works_at [[Acme]] (from 2026-03-09, until 2026-06-01) confidence 0.8 #job ^b1\n\
                    - knows [[Alice]], [[Bob]] (of old)\n\
                    \x20 - ähnlich_wie [[Zürich]]\n\
                    > - part_of [[Whole]]\n";
        assert_eq!(
            shown(text),
            [
                "2 author Ridley Scott (until 2026-01-01)",
                "3 cast Ford 0.5",
                "3 cast Young",
                "4 made.by Ladd",
                "5 · notes/a",
                "7 manages Alice (from 2026-03-09)",
                "7 manages people/Bob",
                "8 led_by Ann (from 2026-03-09) 0.8",
                "8 near Oslo",
                "10 works_at Acme (from 2026-03-09, until 2026-06-01) 0.8",
                "11 knows Alice",
                "11 knows Bob",
                "12 ähnlich_wie Zürich",
                "13 part_of Whole"
            ]
        );
    }

    #[test]
    fn prose_has_links_without_a_name() {
        for prose in [
            "- see [[Plan]] for more", "- see also [[Plan]]", "- [[Plan]]", "- [ ] call [[Plan]]", "1. first [[Plan]]",
            "- see [[Plan]].", "- see [[Plan]] and [[Plan]]", "knows [[Plan]]", "std::vec [[Plan]]", "- with[[Plan]]",
        ] {
            let found = shown(prose);
            assert!(!found.is_empty() && found.iter().all(|one| one.starts_with("1 · Plan")), "{prose}: {found:?}");
        }
        for none in ["- knows `[[Plan]]`", "knows:: `[[Plan]]`", "```\nknows:: [[Plan]]\n```", "%%knows:: [[Plan]]%%"] {
            assert_eq!(shown(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn what_cannot_be_read_bounds_nothing() {
        for (text, expected) in [
            ("- in [[A]] (from 2026-13-01)", "1 in A"),
            ("- in [[A]] (from 2026-06-01, until 2026-01-01)", "1 in A"),
            ("- in [[A]] (confidence 7)", "1 in A"),
            ("in:: [[A]] confidence 2", "1 in A"),
            ("- in [[A]] (confidence 0.25)", "1 in A 0.25"),
            ("- in [[A]] confidence 1 (until 2026-01-01)", "1 in A (until 2026-01-01) 1"),
        ] {
            assert_eq!(shown(text), [expected], "{text}");
        }
    }
}
