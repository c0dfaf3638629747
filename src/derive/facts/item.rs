//! One list item as a fact: `key: ~~was wrong~~ value (from 2026-03-09) #tag ^block`.

use std::ops::Range;

use super::window::Validity;
use crate::note::{BlockKind, Note};

/// What an item says, with the place of each part in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FactItem {
    pub(super) key: String,
    /// Values that are struck out: they were never true.
    pub(super) retracted: Vec<String>,
    /// The value; empty where there is none.
    pub(super) value: String,
    pub(super) window: Validity,
    pub(super) tags: Vec<String>,
    /// Why the window cannot be read; it is part of the value then.
    pub(super) problem: Option<String>,
    /// Where all between the key and the tags stands.
    pub(super) said: Range<usize>,
}

impl FactItem {
    /// Reads the text of an item, without its marker. `None` for prose.
    pub(super) fn read(text: &str) -> Option<Self> {
        // The whole of it may be struck out: what comes after is prose.
        let struck = text.strip_prefix("~~").and_then(|rest| Some((rest, rest.find("~~")?)));
        if let Some((rest, end)) = struck {
            let (key, value) = key_of(&rest[..end])?;
            let retracted = vec![value.trim().to_owned()];
            let (value, window, tags, problem) = (String::new(), Validity::default(), Vec::new(), None);
            return Some(Self { key: key.to_owned(), retracted, value, window, tags, problem, said: 0..text.len() });
        }
        let (key, rest) = key_of(text)?;
        let begin = text.len() - rest.trim_start().len();
        let (said, tags) = without_tags(text[begin..].trim_end());
        let range = begin..begin + said.len();
        let (mut left, mut retracted) = (said, Vec::new());
        while let Some((was, after)) = left.strip_prefix("~~").and_then(|rest| rest.split_once("~~")) {
            retracted.push(was.trim().to_owned());
            left = after.trim_start();
        }
        let (value, window, problem) = match Validity::at_end(left) {
            Ok(Some((value, window))) => (value, window, None),
            Ok(None) => (left, Validity::default(), None),
            Err(problem) => (left, Validity::default(), Some(problem)),
        };
        if value.is_empty() && retracted.is_empty() {
            return None;
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        Some(Self { key, retracted, value, window, tags, problem, said: range })
    }
}

/// A key, and what comes after its colon.
fn key_of(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = text.split_once(':')?;
    let is_apart = rest.is_empty() || rest.starts_with([' ', '\t']);
    (is_apart && is_key(key)).then_some((key, rest))
}

/// Whether a text is like an identifier: letters, digits, `_`, `-` and `.`, a letter or `_` first.
pub(crate) fn is_key(text: &str) -> bool {
    let is_first = |c: char| c.is_alphabetic() || c == '_';
    text.len() <= MAX_KEY_BYTES
        && text.starts_with(is_first)
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.') || is_mark(c))
}

/// Maximum length of a key.
const MAX_KEY_BYTES: usize = 200;

/// Whether a character belongs to a letter, as the vowels of many scripts do.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// A text without the tags and the block's name at its end, and those tags.
pub(crate) fn without_tags(text: &str) -> (&str, Vec<String>) {
    let (mut left, mut tags) = (text, Vec::new());
    while let Some(at) = left.rfind(char::is_whitespace) {
        let word = left[at..].trim_start();
        if let Some(tag) = word.strip_prefix('#').filter(|tag| is_tag(tag)) {
            tags.push(tag.to_owned());
        } else if !word.strip_prefix('^').is_some_and(is_block) {
            break;
        }
        left = left[..at].trim_end();
    }
    tags.reverse();
    (left, tags)
}

/// Whether a text can be a tag, without its `#`.
pub(crate) fn is_tag(text: &str) -> bool {
    let is_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || is_mark(c);
    text.chars().all(is_char) && text.chars().any(|c| !c.is_numeric())
}

fn is_block(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Whether a value can stand as it is, without its end being taken for a window, a tag or a block's name.
pub(super) fn has_no_tail(text: &str) -> bool {
    let (left, _) = without_tags(text);
    // Alone it is a value; behind another word it would be none.
    let alone = text.split_whitespace().count() == 1 && (text.starts_with('#') || text.starts_with('^'));
    left.len() == text.len() && !alone && matches!(Validity::at_end(text), Ok(None))
}

/// The name.
pub(crate) fn full_name(namespace: &str, key: &str) -> String {
    if namespace.is_empty() { key.to_owned() } else { format!("{namespace}/{key}") }
}

/// Namespace and key.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

/// A field of a note's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InlineField {
    /// Its key.
    pub(crate) key: String,
    /// Its value as it is written.
    pub(crate) text: String,
    /// 1-based line.
    pub(crate) line: usize,
}

/// The fields of a note, in the order of the text. Code and comments have none.
pub(crate) fn inline_fields(note: &Note, source: &str) -> Vec<InlineField> {
    let mut found = Vec::new();
    let prose = |kind: &BlockKind| {
        matches!(kind, BlockKind::Paragraph | BlockKind::ListItem | BlockKind::Quote | BlockKind::Callout)
    };
    for block in note.blocks.iter().filter(|block| prose(&block.kind)) {
        let mut at = block.span.start;
        for line in source[block.span.clone()].split_inclusive(['\n', '\r']) {
            let span = at..at + line.len();
            at = span.end;
            let number = note.lines.line_of(span.start);
            let visible = note.visible(source, span);
            let fields = whole_line(&visible).into_iter().chain(bracketed(&visible));
            found.extend(fields.map(|(key, text)| InlineField { key, text, line: number }));
        }
    }
    found
}

fn field(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once("::")?;
    let (key, value) = (key.trim().trim_matches(['*', '_']), value.trim());
    // A path in a program has no blank there.
    let is_apart = text.split_once("::").is_some_and(|(_, value)| value.starts_with([' ', '\t']));
    (is_apart && is_key(key) && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
}

fn whole_line(line: &str) -> Option<(String, String)> {
    let marked = line.trim_start_matches([' ', '\t', '>']);
    let text = ["- ", "* ", "+ "].iter().find_map(|marker| marked.strip_prefix(marker)).unwrap_or(marked);
    field(text)
}

/// Maximum number of brackets around a field that are looked into. A field within one has one or two: `[[note]]`.
const MAX_NESTED: usize = 8;

fn bracketed(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (open, close) in [('[', ']'), ('(', ')')] {
        // Where those begin that are open; what is nested deeper is only counted.
        let (mut begins, mut deeper) = (Vec::new(), 0);
        for (at, character) in line.char_indices() {
            if character == open {
                match begins.len() < MAX_NESTED {
                    true => begins.push(at + 1),
                    false => deeper += 1,
                }
            } else if character == close {
                match deeper {
                    0 => found.extend(begins.pop().and_then(|begin| field(&line[begin..at]))),
                    _ => deeper -= 1,
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_says_what_it_says() {
        let item = FactItem::read("deploy_branch: ~~main~~ release (from 2026-03-09) #deploy #ops/ci ^b-1").unwrap();
        assert_eq!((item.key.as_str(), item.value.as_str()), ("deploy_branch", "release"));
        assert_eq!(
            (item.retracted.as_slice(), item.tags.as_slice()),
            (&["main".to_owned()][..], &["deploy".into(), "ops/ci".into()][..])
        );
        assert_eq!(item.window.to_string(), "(from 2026-03-09)");
        assert_eq!(
            &"deploy_branch: ~~main~~ release (from 2026-03-09) #deploy"[item.said],
            "~~main~~ release (from 2026-03-09)"
        );
        let item = FactItem::read("test: cargo test -- a:b #1").unwrap();
        assert_eq!((item.value.as_str(), item.tags.len()), ("cargo test -- a:b #1", 0));
        let item = FactItem::read("~~test: make check~~ Not true since spring.").unwrap();
        assert_eq!((item.value.as_str(), item.retracted), ("", vec!["make check".to_owned()]));
        let item = FactItem::read("x: y (from 2026-99-01)").unwrap();
        assert_eq!((item.value.as_str(), item.problem.is_some()), ("y (from 2026-99-01)", true));
        assert_eq!(FactItem::read("größe:\t3 µm").unwrap().value, "3 µm");
        assert_eq!(FactItem::read("ที่อยู่: กรุงเทพ").unwrap().value, "กรุงเทพ");
    }

    #[test]
    fn prose_is_no_fact() {
        for prose in [
            "", "key", "key:", "key:value", "two words: x", "a/b: c", "🎉: x", "http://x", "1st: x", "[ ] a: b", ": x",
            "key:  ",
        ] {
            assert_eq!(FactItem::read(prose), None, "{prose}");
        }
    }
}

#[cfg(test)]
mod tests_of_inline {
    use super::*;

    #[test]
    fn fields_stand_on_lines_and_in_brackets() {
        let source = "---\na:: no\n---\nmanages:: [[Alice]]\n\n- **status**:: done\n> due:: 2026-03-09\n\nText with [mood:: fine] and (wind:: west), [led:: [[Ann]]].\n\n\
            ```\ncode:: no\n```\n%%hidden:: no%%\nstd::vec is none, nor is a b:: c\n";
        let note = Note::parse(source, "");
        let found = inline_fields(&note, source);
        let shown: Vec<String> =
            found.iter().map(|field| format!("{}={} @{}", field.key, field.text, field.line)).collect();
        assert_eq!(
            shown,
            [
                "manages=[[Alice]] @4", "status=done @6", "due=2026-03-09 @7", "mood=fine @9", "led=[[Ann]] @9",
                "wind=west @9"
            ]
        );
    }
}
