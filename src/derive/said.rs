//! What a text says, whatever marks it is written with: its blocks and sentences as words alone, so that the same sentence in another
//! list, quote or turn of a conversation is known again. Pure.

use std::ops::Range;

use super::said_marks::LineMarks;
use super::said_parts::{LinePart, PartEnd, parts};
use super::sentences::sentence_bounds;
use super::words::{count, fold, is_word};
use crate::note::without_entities;

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
    /// The cells of its rows, and what its tags of HTML set apart; none where it is one piece.
    pub cells: Vec<SaidCell>,
}

/// A cell of a row, which says what it says whatever stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SaidCell {
    /// Where it is in the text.
    pub span: Range<usize>,
    /// Its words.
    pub words: String,
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

/// Whether a character parts no words: what is not seen, and apostrophes.
pub(crate) fn parts_nothing(character: char) -> bool {
    matches!(character, '\'' | '\u{2019}' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// The words of a text, folded, with a blank between them: without case, accents, marks and line breaks, and its character references read.
pub(crate) fn plain(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut pending = false;
    for character in fold(&without_entities(text)).chars() {
        if is_word(character) {
            if std::mem::take(&mut pending) && !words.is_empty() {
                words.push(' ');
            }
            words.push(character);
        } else if !parts_nothing(character) {
            pending = true;
        }
    }
    words
}

/// What a text says, without its tags of HTML. Frontmatter is no part of it: whoever has a note gives its body.
pub(crate) fn said(text: &str) -> Said {
    read(text, true)
}

/// What a text says without its tags, and where it has some with them as words, as it would stand in a file of another kind.
pub(crate) fn readings(text: &str) -> Vec<Said> {
    let without = read(text, true);
    let with = text.contains('<').then(|| read(text, false)).filter(|with| *with != without);
    std::iter::once(without).chain(with).collect()
}

fn read(text: &str, strips: bool) -> Said {
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
            let new = || OpenBlock { span: span.clone(), cells: vec![Vec::new()], heading: marks.heading };
            let block = open.get_or_insert_with(new);
            block.span.end = span.end;
            block.add(parts(text, content, strips));
        }
    }
    blocks.extend(open.and_then(|block| block.close(text)));
    Said { blocks }
}

struct OpenBlock {
    span: Range<usize>,
    /// What of it is text, cell by cell; the last is open.
    cells: Vec<Vec<Range<usize>>>,
    heading: bool,
}

impl OpenBlock {
    fn add(&mut self, line: Vec<LinePart>) {
        let is_row = line.iter().any(|part| part.ends == PartEnd::Cell);
        for LinePart { span, ends } in line {
            if let Some(open) = self.cells.last_mut().filter(|_| !span.is_empty()) {
                open.push(span);
            }
            if ends != PartEnd::Mark {
                self.cells.push(Vec::new());
            }
        }
        // The next row is another.
        if is_row {
            self.cells.push(Vec::new());
        }
    }

    fn close(self, text: &str) -> Option<SaidBlock> {
        let most = self.span.end;
        let (words, sentences) = of_parts(text, &self.cells.concat(), most);
        let mut cells = Vec::new();
        if self.cells.iter().filter(|parts| !parts.is_empty()).count() > 1 {
            for parts in &self.cells {
                let (words, sentences) = of_parts(text, parts, most);
                if let (Some(first), Some(last)) = (sentences.first(), sentences.last()) {
                    cells.push(SaidCell { span: first.span.start..last.span.end, words, sentences });
                }
            }
        }
        let is_one = cells.len() < 2;
        cells.retain(|_| !is_one);
        (!words.is_empty()).then_some(SaidBlock { span: self.span, words, heading: self.heading, sentences, cells })
    }
}

/// The words and the sentences of parts of a text that follow each other, up to where the last may go on.
fn of_parts(text: &str, parts: &[Range<usize>], most: usize) -> (String, Vec<SaidSentence>) {
    // On one line: the end of a line would end a sentence.
    let mut line = String::new();
    let mut starts = Vec::with_capacity(parts.len());
    for part in parts {
        if !line.is_empty() {
            line.push(' ');
        }
        starts.push(line.len());
        line.push_str(&text[part.clone()]);
    }
    let in_text = |at: usize| {
        let part = starts.partition_point(|start| *start <= at).saturating_sub(1);
        let within = &parts[part];
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
            sentences.push(SaidSentence { span: in_text(from)..with_what_follows(text, end, most), words });
        }
        start = end;
    }
    (plain(&line), sentences)
}

/// Where a sentence ends with where its last link leads and the blanks behind it.
fn with_what_follows(text: &str, end: usize, most: usize) -> usize {
    let rest = &text[end..most];
    let target = (text[..end].ends_with(']') && rest.starts_with('(')).then(|| rest.find(')')).flatten();
    let rest = &rest[target.map_or(0, |at| at + 1)..];
    most - rest.trim_start_matches([' ', '\t']).len()
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
            "\u{feff}The k\u{200b}ey li\u{200c}es u\u{200d}nder the\u{2060} third pot by the do\u{ad}or",
            "The k&#101;y lies&nbsp;under the &#x74;hird p&ouml;t by the do&ZeroWidthSpace;or",
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
    fn cells_and_tags_set_apart_what_is_said() {
        let cells = |text: &str| -> Vec<(String, String)> {
            let blocks = said(text).blocks;
            let cells = blocks.iter().flat_map(|block| &block.cells);
            cells.map(|cell| (text[cell.span.clone()].trim().to_owned(), cell.words.clone())).collect()
        };
        let two = [("The key.".to_owned(), "the key".to_owned()), ("x".into(), "x".into())];
        for text in ["| The key. | x |", "The key. | x", "<tr><td>The key.</td><td class=\"a\">x</td></tr>"] {
            assert_eq!(cells(text), two, "{text}");
        }
        assert_eq!(cells("The key.<br/>x\ny")[1].1, "x y");
        for one in ["| The key. |", "<p>The <b>key</b>.</p>", r"The \| key.", "The key."] {
            assert_eq!(cells(one), [], "{one}");
        }
        assert_eq!(words("<p>The <b>key</b> lies<br>here</p>"), ["the key lies here"]);
        assert_eq!(words("3 <4711> <xylograph> <b 5 <https://a.b>"), ["3 4711 xylograph b 5 https a b"]);
        assert_eq!(words("if a <b and 4711> c"), ["if a b and 4711 c"]);
        let whole = |text: &str| readings(text).iter().map(Said::whole).collect::<Vec<_>>();
        assert_eq!(whole("a <b>c</b>"), ["a c", "a b c b"]);
        assert_eq!(whole("a < c"), ["a c"]);
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
        for text in [
            "é",
            "> é. 東京。次の文。",
            "[a](b",
            "](",
            "- [x] ",
            "1. ",
            "**",
            "|",
            "a](b) c](d)",
            "\u{feff}a\u{85}b",
            "|é|<p>ß</p>| ",
            "a<p>é<",
        ] {
            for block in said(text).blocks {
                assert!(text.get(block.span.clone()).is_some(), "{text:?}");
                let cells = block.cells.into_iter().flat_map(|cell| cell.sentences);
                for sentence in block.sentences.into_iter().chain(cells) {
                    assert!(text.get(sentence.span.clone()).is_some(), "{text:?} {sentence:?}");
                }
            }
        }
    }
}
