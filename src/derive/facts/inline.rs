//! Inline fields as Obsidian's Dataview has them: `key:: value` on a line, `[key:: value]` and `(key:: value)` within one.

use super::item::is_key;
use crate::note::{BlockKind, Note};

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
                "manages=[[Alice]] @4",
                "status=done @6",
                "due=2026-03-09 @7",
                "mood=fine @9",
                "led=[[Ann]] @9",
                "wind=west @9"
            ]
        );
    }
}
