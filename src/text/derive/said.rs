//! What a text says, whatever marks it is written with: its blocks and sentences as words alone, so that the same sentence in another
//! list, quote or turn of a conversation is known again. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::chunk::turn_mark;
use super::words::{count, fold, is_word};
use crate::text::note::without_entities;

/// Minimum length of a whole text that is told from others, in words: "Thanks!" is nobody's secret.
const MIN_TEXT_WORDS: usize = 3;
/// Minimum length of a sentence that is told from others, in words.
const MIN_SENTENCE_WORDS: usize = 6;
/// Minimum length of a sentence with a number that is told from others, in words.
const MIN_NUMBERED_WORDS: usize = 2;

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlainText {
    /// Paragraphs, list items, rows of tables, turns, headings.
    pub blocks: Vec<TextBlock>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextBlock {
    /// Its lines in the text, with the end of the last.
    pub span: Range<usize>,
    /// Whether it is a heading, which is no text by itself.
    pub heading: bool,
    /// As long as the span: what of it is said, with blanks in place of marks, a tab where a line ends, and an end of a line where a cell does.
    pub said: String,
    /// Its words, folded, with a blank between them.
    pub words: String,
}

/// A sentence of a block, or a cell of a row and what tags of HTML set apart, which says what it says whatever stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPiece {
    /// Where it is in the text.
    pub span: Range<usize>,
    /// Its words.
    pub words: String,
}

impl TextBlock {
    /// What it is made of.
    pub(crate) fn sentences(&self) -> Vec<TextPiece> {
        self.parted(sentence_bounds(&self.said))
    }

    /// Its cells, where it is not one piece.
    pub(crate) fn cells(&self) -> Vec<TextPiece> {
        let cells = self.said.contains('\n').then(|| self.parted(self.said.split_inclusive('\n')));
        cells.filter(|cells| cells.len() > 1).unwrap_or_default()
    }

    /// The parts of it that say something, out of all of them in their order. The blanks behind one are part of it.
    fn parted<'s>(&self, parts: impl Iterator<Item = &'s str>) -> Vec<TextPiece> {
        let mut end = 0;
        let pieces = parts.map(|part| {
            let at = end;
            end += part.len();
            let last = at + part.trim_end().len();
            let blanks = self.said[last..].len() - self.said[last..].trim_start_matches(' ').len();
            let start = self.span.start + at + part.len() - part.trim_start().len();
            TextPiece { span: start..self.span.start + last + blanks, words: plain(part) }
        });
        pieces.filter(|piece| !piece.words.is_empty()).collect()
    }
}

impl PlainText {
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
pub(crate) fn said(text: &str) -> PlainText {
    read(text, true)
}

/// What a text says without its tags, and where it has some with them as words, as it would stand in a file of another kind.
pub(crate) fn readings(text: &str) -> Vec<PlainText> {
    let without = read(text, true);
    let with = text.contains('<').then(|| read(text, false)).filter(|with| *with != without);
    std::iter::once(without).chain(with).collect()
}

fn read(text: &str, strips: bool) -> PlainText {
    let (mut blocks, mut is_open): (Vec<TextBlock>, bool) = (Vec::new(), false);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let (marks, begins, heading) = line_marks(line);
        let content = marks..line.trim_end().len().max(marks);
        let is_blank = !line[content.clone()].chars().any(is_word);
        is_open &= !(is_blank || begins || blocks.last().is_some_and(|block| block.heading));
        if is_blank {
            continue;
        }
        if !is_open {
            blocks.push(TextBlock { span: start..start, heading, said: String::new(), words: String::new() });
            is_open = true;
        }
        if let Some(block) = blocks.last_mut() {
            block.span.end = at;
            say(line, content, strips, &mut block.said);
        }
    }
    blocks.retain_mut(|block| {
        block.words = plain(&block.said);
        !block.words.is_empty()
    });
    PlainText { blocks }
}

/// Adds what a line says, byte for byte where it stands: without where its links lead, the bars of a row and, if it `strips` them, tags.
fn say(line: &str, content: Range<usize>, strips: bool, said: &mut String) {
    let from = said.len();
    let blank = |said: &mut String, to: usize, first: char| {
        let count = from + to - said.len();
        said.extend(std::iter::once(first).chain(std::iter::repeat(' ')).take(count));
    };
    let (mut start, mut at, mut between, mut end) = (content.start, content.start, ' ', '\t');
    let mut has_targets = true;
    while let Some(next) = line[at..content.end].find(['|', '<', ']']).map(|next| at + next) {
        let rest = &line[next..content.end];
        at = next + 1;
        let (stop, behind, sets_apart) = if rest.starts_with('|') {
            if line[..next].ends_with('\\') {
                continue;
            }
            // The next row is another.
            end = '\n';
            (next, next + 1, true)
        } else if rest.starts_with("](") && has_targets {
            let Some(close) = rest.find(')') else {
                has_targets = false;
                continue;
            };
            (next + 1, next + close + 1, false)
        } else if let Some((length, sets_apart)) = tag(rest).filter(|_| strips) {
            (next, next + length, sets_apart)
        } else {
            continue;
        };
        blank(said, start, between);
        said.push_str(&line[start..stop]);
        between = if sets_apart { '\n' } else { ' ' };
        (start, at) = (behind, behind);
    }
    blank(said, start, between);
    said.push_str(&line[start..content.end]);
    blank(said, line.len(), end);
}

/// Where the text of a line begins behind its marks, whether those begin a block, and whether it is a heading.
fn line_marks(line: &str) -> (usize, bool, bool) {
    let (mut end, mut begins, mut heading) = (0, false, false);
    loop {
        let rest = line[end..].trim_start_matches([' ', '\t', '\u{3000}', '\u{200b}', '\u{2060}', '\u{feff}']);
        end = line.len() - rest.len();
        if let Some(length) = turn_mark(rest) {
            end += length;
            begins = true;
        } else if let Some(mark) = MARK.captures(rest) {
            end += mark[0].len();
            begins |= !rest.starts_with('>');
            heading |= mark.get(1).is_some();
        } else {
            return (end, begins || rest.starts_with('|'), heading);
        }
    }
}

/// The mark that a line begins with: of quotes, headings, list items, boxes of tasks, the time in a file of a day.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let blank = r"(?:[ \t\r\n]|\z)";
    let pattern =
        format!(r"\A(?:>|(#{{1,6}}){blank}|(?:[0-9]{{1,9}}[.)]|[-*+]){blank}|\[[ xX]\] |[0-9]{{2}}:[0-9]{{2}} · )");
    Regex::new(&pattern).expect("a test uses it")
});

/// Tags that set apart what stands in them.
const BLOCK_TAGS: [&str; 36] = [
    "article", "aside", "blockquote", "br", "caption", "center", "dd", "details", "div", "dl", "dt", "figcaption",
    "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "summary", "table", "tbody", "td", "th", "tr", "ul",
];
/// Tags within a sentence.
const INLINE_TAGS: [&str; 29] = [
    "a", "abbr", "b", "big", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins", "kbd", "label", "mark",
    "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
];

/// The length of the tag of HTML that a text begins with, if it does, and whether it sets apart. Another name between `<` and `>` is a word,
/// and "a <b and c> d" has none.
fn tag(rest: &str) -> Option<(usize, bool)> {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\A</?([A-Za-z0-9]+)(?:\s*|[ \t][^<>]*=[^<>]*)/*>").expect("a test uses it"));
    let found = TAG.captures(rest)?;
    let name = found[1].to_ascii_lowercase();
    let sets_apart = BLOCK_TAGS.contains(&name.as_str());
    (sets_apart || INLINE_TAGS.contains(&name.as_str())).then(|| (found[0].len(), sets_apart))
}

/// Maximum number of characters behind a full stop before the next letter, number or line. No text that is read has
/// more.
const MOST_BEHIND_STOP: usize = 64;

/// A full stop of which the next letter says whether it ends a sentence, and all before that, a number, an end of a line or another full stop. A
/// mark that is put on another character is no letter, though some count as such.
static STOP: LazyLock<Regex> = LazyLock::new(|| {
    let stops = r".\u{2024}\u{fe52}\u{ff0e}";
    let ends = r"\p{Alphabetic}\p{N}\n\r\u{85}\u{2028}\u{2029}";
    Regex::new(&format!(r"[{stops}](?:[^{ends}{stops}]|[\p{{M}}\u{{ff9e}}\u{{ff9f}}])+")).expect("a test uses it")
});

/// The sentences of a text as Unicode finds them (UAX #29), with all that is between them. Whether a full stop ends one is told by the next letter (rule
/// SB8). The library looks for that letter anew at every bracket and blank behind the stop, so that a stop with 200,000 brackets behind it takes
/// minutes: a run of more than [`MOST_BEHIND_STOP`] marks and blanks behind a full stop is
/// parted from what follows; all others are the library's.
pub(crate) fn sentence_bounds(text: &str) -> impl Iterator<Item = &str> {
    let behind = |stop: &str| stop.char_indices().nth(MOST_BEHIND_STOP + 1).map(|(at, _)| at);
    let cuts = STOP.find_iter(text).filter_map(move |stop| Some(stop.start() + behind(stop.as_str())?));
    let mut from = 0;
    let stretches = cuts.chain([text.len()]).map(move |end| &text[std::mem::replace(&mut from, end)..end]);
    stretches.flat_map(UnicodeSegmentation::split_sentence_bounds)
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
            let cells = blocks.iter().flat_map(TextBlock::cells);
            cells.map(|cell| (text[cell.span].trim().to_owned(), cell.words)).collect()
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
        let whole = |text: &str| readings(text).iter().map(PlainText::whole).collect::<Vec<_>>();
        assert_eq!(whole("a <b>c</b>"), ["a c", "a b c b"]);
        assert_eq!(whole("a < c"), ["a c"]);
    }

    #[test]
    fn sentences_are_found_where_they_stand() {
        let text = "- Buy milk. The code of the garage\n  is [4711](a.md) now! Thanks.\n- Other (notes/a.md#L5)\n";
        let said = said(text);
        let of = |block: usize| -> Vec<&str> {
            said.blocks[block].sentences().into_iter().map(|piece| &text[piece.span]).collect()
        };
        assert_eq!(of(0), ["Buy milk. ", "The code of the garage\n  is [4711](a.md) now! ", "Thanks."]);
        assert_eq!(said.blocks[0].sentences()[1].words, "the code of the garage is 4711 now");
        assert_eq!(of(1), ["Other (notes/a.md#L5)"]);
        assert_eq!(&text[said.blocks[1].span.clone()], "- Other (notes/a.md#L5)\n");
        assert_eq!(said.whole(), "buy milk the code of the garage is 4711 now thanks other notes a md l5");
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
            "é", "> é. 東京。次の文。", "[a](b", "](", "- [x] ", "1. ", "**", "|", "a](b) c](d)", "\u{feff}a\u{85}b",
            "|é|<p>ß</p>| ", "a<p>é<",
        ] {
            for block in said(text).blocks {
                assert_eq!(text.get(block.span.clone()).map(str::len), Some(block.said.len()), "{text:?}");
                for piece in block.sentences().into_iter().chain(block.cells()) {
                    assert!(text.get(piece.span.clone()).is_some(), "{text:?} {piece:?}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests_of_sentences {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;
    use crate::base::chance::proptest_config;
    use crate::text::derive::said;

    const WORDS: [&str; 40] = [
        "The", "key", "e.g.", "Dr.", "U.S.", "3.14", "p. 4", "Über", "straße", "C’est", "où", "¿Qué?", "años", "Это",
        "дом", "т.", "е.", "谢谢", "我们决定了", "。", "東京", "「はい。」", "ครับ", "สวัสดี", "नमस्ते", "।", "مرحبا", "؟",
        "שלום", "Ε.Ε.", "ναι", "한국어", "!", "...", "?", ".", "\u{301}", "(a.)", "“No.”", "…",
    ];
    const BETWEEN: [&str; 9] = [" ", "", "  ", "\n", "\r\n", ") ", ". ", " — ", "\u{a0}"];

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn ordinary_texts_have_the_sentences_that_the_library_finds(
            parts in prop::collection::vec((prop::sample::select(&WORDS[..]), prop::sample::select(&BETWEEN[..])), 0..60),
        ) {
            let text: String = parts.iter().flat_map(|(word, between)| [*word, *between]).collect();
            let ours: Vec<&str> = sentence_bounds(&text).collect();
            let theirs: Vec<&str> = text.split_sentence_bounds().collect();
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn a_megabyte_of_brackets_behind_a_full_stop_takes_no_minutes() {
        const BYTES: usize = 1 << 20;
        for run in [")", " ", " )", "\u{301})", "\u{345})", "1)", ".)", "“"] {
            let text = format!("a.{}b", run.repeat(BYTES / run.len()));
            let started = Instant::now();
            assert_eq!(sentence_bounds(&text).map(str::len).sum::<usize>(), text.len());
            assert!(!said(&text).blocks.is_empty());
            assert!(started.elapsed() < Duration::from_secs(30), "{run:?} took {:?}", started.elapsed());
        }
    }

    #[test]
    fn what_follows_a_long_run_begins_a_sentence() {
        let text = format!("Name. {}here", "_".repeat(100));
        let found: Vec<&str> = sentence_bounds(&text).collect();
        assert_eq!((found[0], found.concat()), ("Name. ", text.clone()));
        assert!(found.last().unwrap().ends_with("here"));
    }
}
