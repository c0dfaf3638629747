//! What a text says, whatever marks it is written with: its blocks and sentences as words alone, so that the same sentence in another
//! list, quote or turn of a conversation is known again. Pure.

use std::ops::Range;

use super::chunk::turn_mark;
use super::sentences::sentence_bounds;
use super::words::{count, fold, is_word};

/// Minimum length of a whole text that is told from others, in words: "Thanks!" is nobody's secret.
const MIN_TEXT_WORDS: usize = 3;
/// Minimum length of a sentence that is told from others, in words.
const MIN_SENTENCE_WORDS: usize = 6;
/// Minimum length of a sentence with a number that is told from others, in words.
const MIN_NUMBERED_WORDS: usize = 2;

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// Paragraphs, list items, rows of tables, turns, headings.
    pub blocks: Vec<SaidBlock>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SaidBlock {
    /// Its lines in the text, with the end of the last.
    pub span: Range<usize>,
    /// Its words, folded, with a blank between them.
    pub words: String,
    /// Whether it is a heading, which is no text by itself.
    pub heading: bool,
    /// What it is made of.
    pub sentences: Vec<SaidSentence>,
}

/// A sentence of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SaidSentence {
    /// Where it is in the text.
    pub span: Range<usize>,
    /// Its words.
    pub words: String,
}

impl Said {
    /// The words of all of it.
    pub(crate) fn whole(&self) -> String {
        let words: Vec<&str> = self.blocks.iter().map(|block| block.words.as_str()).collect();
        words.join(" ")
    }
}

/// Whether words are enough for a text of its own.
pub(crate) fn is_a_text(words: &str) -> bool {
    count(words) >= MIN_TEXT_WORDS
}

/// Whether words are enough for a sentence that is told from all others.
pub(crate) fn is_a_sentence(words: &str) -> bool {
    let numbered = words.chars().any(char::is_numeric);
    count(words) >= if numbered { MIN_NUMBERED_WORDS } else { MIN_SENTENCE_WORDS }
}

/// The words of a text, folded, with a blank between them: without case, accents, marks and line breaks.
pub(crate) fn plain(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut pending = false;
    for character in fold(text).chars() {
        if is_word(character) {
            if std::mem::take(&mut pending) && !words.is_empty() {
                words.push(' ');
            }
            words.push(character);
        } else if !matches!(character, '\'' | '\u{2019}') {
            pending = true;
        }
    }
    words
}

/// What a text says. Frontmatter is no part of it: whoever has a note gives its body.
pub(crate) fn said(text: &str) -> Said {
    let mut blocks = Vec::new();
    let mut open: Option<OpenBlock> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let span = at..at + line.len();
        at = span.end;
        let marks = LineMarks::of(line);
        let content = span.start + marks.end..span.start + line.trim_end().len().max(marks.end);
        let blank = !text[content.clone()].chars().any(is_word);
        if (blank || marks.begins || open.as_ref().is_some_and(|block| block.heading))
            && let Some(block) = open.take()
        {
            blocks.extend(block.close(text));
        }
        if !blank {
            let block =
                open.get_or_insert_with(|| OpenBlock { span: span.clone(), parts: Vec::new(), heading: marks.heading });
            block.span.end = span.end;
            block.parts.extend(without_targets(text, content));
        }
    }
    blocks.extend(open.and_then(|block| block.close(text)));
    Said { blocks }
}

struct OpenBlock {
    span: Range<usize>,
    /// What of it is text.
    parts: Vec<Range<usize>>,
    heading: bool,
}

impl OpenBlock {
    fn close(self, text: &str) -> Option<SaidBlock> {
        // On one line: the end of a line would end a sentence.
        let mut line = String::new();
        let mut starts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            if !line.is_empty() {
                line.push(' ');
            }
            starts.push(line.len());
            line.push_str(&text[part.clone()]);
        }
        let words = plain(&line);
        let in_text = |at: usize| {
            let part = starts.partition_point(|start| *start <= at).saturating_sub(1);
            let within = &self.parts[part];
            (within.start + at.saturating_sub(starts[part])).min(within.end)
        };
        let mut sentences = Vec::new();
        let mut start = 0;
        for sentence in sentence_bounds(&line) {
            let end = start + sentence.len();
            let words = plain(sentence);
            let trimmed = start + sentence.trim_end().len();
            if !words.is_empty() {
                let last = line[..trimmed].char_indices().next_back().map_or((start, 0), |(at, c)| (at, c.len_utf8()));
                let from = start + (sentence.len() - sentence.trim_start().len());
                let end = in_text(last.0) + last.1;
                sentences
                    .push(SaidSentence { span: in_text(from)..with_what_follows(text, end, self.span.end), words });
            }
            start = end;
        }
        (!words.is_empty()).then_some(SaidBlock { span: self.span, words, heading: self.heading, sentences })
    }
}

/// Where a sentence ends with where its last link leads and the blanks behind it.
fn with_what_follows(text: &str, end: usize, most: usize) -> usize {
    let rest = &text[end..most];
    let target = (text[..end].ends_with(']') && rest.starts_with('(')).then(|| rest.find(')')).flatten();
    let rest = &rest[target.map_or(0, |at| at + 1)..];
    most - rest.trim_start_matches([' ', '\t']).len()
}

/// The marks that a line begins with.
struct LineMarks {
    /// Where the text begins.
    end: usize,
    /// Whether it begins a block.
    begins: bool,
    heading: bool,
}

impl LineMarks {
    fn of(line: &str) -> Self {
        let mut marks = Self { end: 0, begins: false, heading: false };
        loop {
            let rest = &line[marks.end..];
            let rest = rest.trim_start_matches([' ', '\t', '\u{3000}']);
            marks.end = line.len() - rest.len();
            if let Some(length) = turn_mark(rest) {
                marks.end += length;
                marks.begins = true;
            } else if let Some((length, heading)) = mark(rest) {
                marks.end += length;
                marks.begins |= !rest.starts_with('>');
                marks.heading |= heading;
            } else if rest.starts_with('|') {
                marks.begins = true;
                return marks;
            } else {
                return marks;
            }
        }
    }
}

/// The length of the mark that a line begins with, if it does, and whether that is a heading's: quotes, list items, boxes of tasks, the
/// time in a file of a day.
fn mark(rest: &str) -> Option<(usize, bool)> {
    if rest.starts_with('>') {
        return Some((1, false));
    }
    let blank = |after: &str| after.is_empty() || after.starts_with([' ', '\t', '\n', '\r']);
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if (1..=6).contains(&hashes) && blank(&rest[hashes..]) {
        return Some((hashes, true));
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if (1..=9).contains(&digits)
        && let Some(after) = rest[digits..].strip_prefix(['.', ')'])
        && blank(after)
    {
        return Some((digits + 1, false));
    }
    if let Some(after) = rest.strip_prefix(['-', '*', '+'])
        && blank(after)
    {
        return Some((1, false));
    }
    for task in ["[ ] ", "[x] ", "[X] "] {
        if rest.starts_with(task) {
            return Some((task.len(), false));
        }
    }
    let time = rest.as_bytes().get(..5).is_some_and(|time| {
        time.iter().enumerate().all(|(at, byte)| if at == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    });
    (time && rest[5..].starts_with(" · ")).then_some((5 + " · ".len(), false))
}

/// The parts of a line that are read, without where its links lead.
fn without_targets(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = line.start;
    while let Some(open) = text[from..line.end].find("](").map(|at| from + at + 1) {
        let Some(close) = text[open..line.end].find(')').map(|at| open + at + 1) else { break };
        parts.push(from..open);
        from = close;
    }
    parts.push(from..line.end);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        said(text).blocks.into_iter().map(|block| block.words).collect()
    }

    #[test]
    fn the_same_is_said_with_whatever_marks() {
        let same = "the key lies under the third pot by the door";
        for text in [
            "The key lies under the third pot, by the door.",
            "- **The key** lies under the *third* pot, by the door!",
            "3. [ ] the KEY lies under the third\n   pot — by the door",
            "> The key lies\n> under the third pot by the door",
            "**18:32 · Maya:** The key lies under the third pot, by the door",
            "**2026-01-05 18:32 · code agent:**\n> The key lies under the third pot by the door",
            "- 10:12 · The key lies under the third pot by the door",
            "| The key | lies under the third pot | by the door |",
            "The [key](https://example.com/k_(1) \"t\") lies under the third pot by the door"
                .replace("_(1)", "")
                .as_str(),
            "Ｔｈｅ ｋｅｙ lies under the third pot by the door",
            "# The key lies under the third pot by the door",
            "The key lies under the third pot\r\nby the door.\r\n",
        ] {
            assert_eq!(words(text), [same], "{text}");
        }
        assert_eq!(words("Don\u{2019}t! I can't."), ["dont i cant"]);
        assert_eq!(
            words("one\ntwo\n\nthree\n- four\n- five\n# six\nseven\n---\neight"),
            ["one two", "three", "four", "five", "six", "seven", "eight"]
        );
        assert!(words("!?\n\n---\n\n> \n").is_empty());
    }

    #[test]
    fn sentences_are_found_where_they_stand() {
        let text = "- Buy milk. The code of the garage\n  is 4711 now! Thanks.\n- Other.\n";
        let said = said(text);
        let of = |block: usize| -> Vec<&str> {
            said.blocks[block].sentences.iter().map(|sentence| text[sentence.span.clone()].trim()).collect()
        };
        assert_eq!(of(0), ["Buy milk.", "The code of the garage\n  is 4711 now!", "Thanks."]);
        assert_eq!(said.blocks[0].sentences[1].words, "the code of the garage is 4711 now");
        assert_eq!(&text[said.blocks[1].span.clone()], "- Other.\n");
        assert_eq!(said.whole(), "buy milk the code of the garage is 4711 now thanks other");
    }

    #[test]
    fn what_everybody_says_is_no_text() {
        for (text, is_text, is_sentence) in [
            ("Thanks!", false, false),
            ("Thank you", false, false),
            ("I like tea", true, false),
            ("PIN: 4711", false, true),
            ("2026", false, false),
            ("one two three four five six", true, true),
            ("one two three four five", true, false),
            ("谢谢", false, false),
            ("我明天去北京开会", true, false),
            ("ฉันชอบดื่มชาเย็น", true, false),
            ("ありがとう", false, false),
        ] {
            let words = plain(text);
            assert_eq!((is_a_text(&words), is_a_sentence(&words)), (is_text, is_sentence), "{text}");
        }
    }

    #[test]
    fn any_text_has_its_spans_in_it() {
        for text in
            ["é", "> é. 東京。次の文。", "[a](b", "](", "- [x] ", "1. ", "**", "|", "a](b) c](d)", "\u{feff}a\u{85}b"]
        {
            for block in said(text).blocks {
                assert!(text.get(block.span.clone()).is_some(), "{text:?}");
                for sentence in block.sentences {
                    assert!(text.get(sentence.span.clone()).is_some(), "{text:?} {sentence:?}");
                }
            }
        }
    }
}
