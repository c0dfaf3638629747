//! The words of a question that say what it is about; which turns, list items and sentences of passages answer it, each with its own lines;
//! and what of conversations somebody said, read from the files: a passage does not tell what began before it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use crate::access::request::Workspace;
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::text::derive::entries::MemoryEntry;
use crate::text::derive::words::{Stemming, count, fold, plain_words};
use crate::text::derive::{TextBlock, TextPiece, lines_with_machinery, said, stop_words, turn_start};
use crate::text::note::Note;

/// Maximum number of words of a question that are held against texts: as many as bits of which are told.
const MAX_WORDS: usize = 100;
/// Words with which people ask: they are about nothing.
const ASKING: &str = "know tell say said show list give find search look everything anything something happened happen doing done remember recall \
    mind please exactly really again still think thing things like's hey need want let make made get got";

/// Whether a folded word says what a text is about: it is no stop word of any language, and nothing that people ask with.
fn is_telling(word: &str) -> bool {
    static ASKED_WITH: LazyLock<HashSet<&'static str>> = LazyLock::new(|| ASKING.split_whitespace().collect());
    !(stop_words::is_one(word) || ASKED_WITH.contains(word) || is_letter(word))
}

/// What an apostrophe parts from a word.
fn is_letter(word: &str) -> bool {
    matches!(word, "s" | "d" | "l" | "m" | "t" | "j" | "n" | "re" | "ve" | "ll" | "qu")
}

/// A question without the words, parted by blanks, that say nothing of what it is about.
pub(super) fn telling(query: &str) -> String {
    let tells = |run: &&str| plain_words(run, false).iter().any(|word| is_telling(word));
    query.split_whitespace().filter(tells).collect::<Vec<_>>().join(" ")
}

/// The words of a question that say what it is about.
pub(super) struct QuestionWords {
    /// Each with its stem, folded.
    words: Vec<(String, String)>,
    stemming: Stemming,
}

impl QuestionWords {
    /// Those of a question, with the word forms of a language.
    pub(super) fn of(query: &str, language: StemmerLanguage) -> Self {
        let mut stemming = Stemming::new(language);
        let mut words: Vec<(String, String)> = Vec::new();
        for word in plain_words(query, true).into_iter().filter(|word| is_telling(word)) {
            let stem = stemming.stem(&word).to_owned();
            if !words.iter().any(|(_, known)| *known == stem) {
                words.push((word, stem));
            }
            if words.len() == MAX_WORDS {
                break;
            }
        }
        Self { words, stemming }
    }

    /// Whether it has none.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many of them an entry has, in whatever form.
    pub(super) fn in_entry(&mut self, entry: &MemoryEntry) -> usize {
        let words = plain_words(&entry.text, true).into_iter().chain(entry.tags.iter().map(|tag| fold(tag)));
        self.which_of(&words.collect()).count_ones() as usize
    }

    /// How many of them a text has.
    pub(super) fn in_text(&mut self, text: &str) -> usize {
        self.which(text).count_ones() as usize
    }

    /// Whether so many of them are enough for an entry that nobody asked to remember: half, or two of a longer question.
    pub(super) fn are_enough(&self, found: usize) -> bool {
        found > 0 && (found * 2 >= self.words.len() || (found >= 2 && found * 4 >= self.words.len()))
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.words.len()
    }

    /// Which of them a text has, the first as the lowest bit.
    fn which(&mut self, text: &str) -> u128 {
        self.which_of(&plain_words(text, true).into_iter().collect())
    }

    fn which_of(&mut self, has: &HashSet<String>) -> u128 {
        let Self { words, stemming } = self;
        let mut has_it = |(word, stem): &(String, String)| {
            has.contains(word.as_str())
                // Few words begin alike, and only of those a stem is worked out.
                || has.iter().any(|other| other.chars().take(2).eq(word.chars().take(2)) && stemming.stem(other) == stem)
        };
        words.iter().enumerate().fold(0, |all, (at, word)| all | (u128::from(has_it(word)) << at))
    }
}

/// A passage that was found.
pub(super) struct Passage {
    pub(super) text: String,
    /// The line in the file of each line of the text; empty where they cannot be told.
    pub(super) lines: Vec<u32>,
    /// How well it answers, as the search says, 0 to 1.
    pub(super) score: f64,
}

/// A part of a passage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Which of the passages it is of.
    pub(super) passage: usize,
    /// Without the marks of headings, lists, quotes and turns.
    pub(super) text: String,
    /// Its first and last line in the file; `None` where they cannot be told.
    pub(super) lines: Option<(u32, u32)>,
    score: f64,
}

/// How much the words of a part count beside the score of its passage.
const WORDS: f64 = 1.5;
/// How much of what a question has of the words is passed on to the turn that answers it.
const ANSWERS: f64 = 0.5;
/// How much it counts that a question names who speaks.
const SPEAKS: f64 = 0.5;
/// Maximum length of the name of who speaks, or of a label, in characters.
const MAX_LABEL: usize = 60;

/// The parts of passages, the best first. Of a turn or a paragraph with more than `most` words only the sentences that have most of the
/// question, and what stands around them. A word counts by how few of the parts have it.
pub(super) fn parts(passages: &[Passage], words: &mut QuestionWords, most: usize) -> Vec<Part> {
    let blocks: Vec<Block<'_>> = passages.iter().enumerate().flat_map(|(at, one)| blocks_of(at, one, words)).collect();
    let weights = weights(&blocks, words.len());
    let weigh = |has: u128| -> f64 {
        weights.iter().enumerate().filter(|(at, _)| has_bit(has, *at)).map(|(_, weight)| weight).sum()
    };
    let all: f64 = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut asked = (usize::MAX, 0.0);
    let mut parts = Vec::with_capacity(blocks.len());
    for block in &blocks {
        let run = block.run(&weigh, most);
        let own: f64 = weigh(block.has_in(run.clone())) / all;
        // The turn after a question answers it.
        let answers = if asked.0 == block.passage { asked.1 * ANSWERS } else { 0.0 };
        let passage = &passages[block.passage];
        parts.push(Part {
            passage: block.passage,
            text: block.text(run.clone(), &passage.text),
            lines: block.lines(run, passage),
            score: passage.score + WORDS * own.max(answers) + if block.of_label == 0 { 0.0 } else { SPEAKS },
        });
        asked = if block.asks(&passage.text) { (block.passage, own) } else { (usize::MAX, 0.0) };
    }
    // Of equals the first.
    parts.sort_by(|one, two| two.score.total_cmp(&one.score));
    parts
}

/// How much each word of a question counts: the fewer blocks have it, the more.
fn weights(blocks: &[Block<'_>], words: usize) -> Vec<f64> {
    let has: Vec<u128> = blocks.iter().map(|block| block.has_in(0..block.sentences.len())).collect();
    let having = |at: usize| has.iter().filter(|has| has_bit(**has, at)).count();
    let weight = |having: usize| (1.0 + blocks.len() as f64 / having as f64).ln();
    (0..words).map(having).map(|having| if having == 0 { 0.0 } else { weight(having) }).collect()
}

fn has_bit(has: u128, at: usize) -> bool {
    (has >> at) & 1 == 1
}

/// A turn, a paragraph, a list item or a row.
struct Block<'t> {
    passage: usize,
    /// Who speaks, or what stands before a colon in bold letters.
    label: Option<&'t str>,
    /// What of the marks before it says something: whether a task is done, the time.
    mark: &'t str,
    /// Each with the words of the question that it has.
    sentences: Vec<(TextPiece, u128)>,
    /// Those that the label has.
    of_label: u128,
}

fn blocks_of<'t>(at: usize, passage: &'t Passage, words: &mut QuestionWords) -> Vec<Block<'t>> {
    let text = passage.text.as_str();
    let (mut blocks, mut speaker, mut looked) = (Vec::new(), None, 0);
    for block in said(text).blocks {
        let sentences = block.sentences();
        let Some(begin) = sentences.first().map(|first| first.span.start) else { continue };
        // A turn may begin on a line of its own, and be several blocks.
        let mut turns = text[looked..begin].lines().filter_map(turn_start);
        speaker = turns.next_back().map(|start| start.speaker).or(speaker);
        looked = begin;
        if !block.heading {
            blocks.push(Block::of(at, text, (block, sentences), speaker, words));
        }
    }
    blocks
}

impl<'t> Block<'t> {
    fn of(
        passage: usize,
        text: &'t str,
        (block, mut sentences): (TextBlock, Vec<TextPiece>),
        speaker: Option<&'t str>,
        words: &mut QuestionWords,
    ) -> Self {
        let begin = sentences[0].span.clone();
        let marks = &text[block.span.start..begin.start];
        let time = || marks.find(" · ").and_then(|at| at.checked_sub("10:02".len()));
        let mark = marks.rfind('[').or_else(time).filter(|_| speaker.is_none());
        let mark = mark.and_then(|at| marks.get(at..)).unwrap_or_default();
        let label = speaker.or_else(|| {
            let rest = text[begin].strip_prefix("**")?;
            let (label, _) = rest.split_once(":**").filter(|(label, _)| label.chars().count() <= MAX_LABEL)?;
            sentences[0].span.start += label.len() + "**:**".len();
            Some(label)
        });
        let sentences = sentences.into_iter().map(|one| (words.which(&text[one.span.clone()]), one));
        let sentences = sentences.map(|(has, one)| (one, has)).collect();
        Self { passage, label, mark, sentences, of_label: label.map_or(0, |label| words.which(label)) }
    }

    /// The words of the question that some of its sentences have, and who says them.
    fn has_in(&self, run: Range<usize>) -> u128 {
        self.sentences[run].iter().fold(self.of_label, |all, (_, has)| all | has)
    }

    /// The sentences that are given: all that fit, or the best with those behind it, then those before.
    fn run(&self, weigh: &dyn Fn(u128) -> f64, most: usize) -> Range<usize> {
        let length = |at: usize| count(&self.sentences[at].0.words);
        let best = (1..self.sentences.len())
            .fold(0, |best, at| if weigh(self.sentences[at].1) > weigh(self.sentences[best].1) { at } else { best });
        let (mut run, mut left) = (best..best + 1, most.saturating_sub(length(best)));
        while run.end < self.sentences.len() && length(run.end) <= left {
            left -= length(run.end);
            run.end += 1;
        }
        while run.start > 0 && length(run.start - 1) <= left {
            run.start -= 1;
            left -= length(run.start);
        }
        run
    }

    fn span(&self, run: Range<usize>) -> Range<usize> {
        self.sentences[run.start].0.span.start..self.sentences[run.end - 1].0.span.end
    }

    fn text(&self, run: Range<usize>, text: &str) -> String {
        let begins = run.start == 0;
        let said = text[self.span(run)]
            .lines()
            .map(|line| line.trim_matches(|mark: char| mark.is_whitespace() || matches!(mark, '>' | '|')));
        let said = said.collect::<Vec<_>>().join(" ");
        let label = self.label.map_or_else(String::new, |label| format!("{label}: "));
        let mark = if begins { self.mark } else { "" };
        let cut = if begins { "" } else { "… " };
        format!("{label}{mark}{cut}{}", said.trim())
    }

    fn lines(&self, run: Range<usize>, passage: &Passage) -> Option<(u32, u32)> {
        let span = self.span(run);
        let line = |at: usize| passage.text[..at].matches('\n').count();
        let last = span.start + passage.text[span.clone()].trim_end().len();
        Some((*passage.lines.get(line(span.start))?, *passage.lines.get(line(last))?))
    }

    /// Whether it is a question.
    fn asks(&self, text: &str) -> bool {
        text[self.span(0..self.sentences.len())].trim_end().ends_with(['?', '？', '؟'])
    }
}

/// The conversations that one request has looked into.
#[derive(Default)]
pub(super) struct Talks {
    read: RefCell<HashMap<VaultPath, Option<TalkText>>>,
}

/// A conversation out of which something is taken.
struct TalkText {
    /// Its lines as they are seen.
    lines: Vec<String>,
    /// What is left of some, by their numbers.
    left: BTreeMap<usize, String>,
}

impl Talks {
    /// What is left of some lines of a conversation, the first and the last, each with its number; `None` where nothing is taken out of these, or
    /// the file is not on disk as it was indexed. `names` are the person's.
    pub(super) fn said(
        &self,
        workspace: &Workspace,
        file: &FileEntry,
        (first, last): (u32, u32),
        names: impl Fn() -> Vec<String>,
    ) -> Option<Vec<(u32, String)>> {
        let mut read = self.read.borrow_mut();
        let talk = read.entry(file.path.clone()).or_insert_with(|| {
            let source = workspace.source(&file.path).ok().filter(|source| source.stamp == file.stamp)?;
            TalkText::of(&source.text, file.path.stem(), &names())
        });
        let talk = talk.as_ref()?;
        let lines = first.max(1) as usize..=last.max(first).max(1) as usize;
        talk.left.range(lines.clone()).next()?;
        let line = |at: usize| talk.left.get(&at).or_else(|| talk.lines.get(at - 1)).cloned().unwrap_or_default();
        Some(lines.map(|at| (at as u32, line(at))).collect())
    }
}

impl TalkText {
    fn of(text: &str, stem: &str, names: &[String]) -> Option<Self> {
        // Most have nothing of it.
        if lines_with_machinery(text, names).is_empty() {
            return None;
        }
        // What stands in comments is seen by nobody.
        let note = Note::parse(text, stem);
        let start = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
        let seen = |line: &str| note.visible(text, start(line)..start(line) + line.len()).into_owned();
        let lines: Vec<String> = text.lines().map(seen).collect();
        let left = lines_with_machinery(&lines.join("\n"), names);
        Some(Self { lines, left })
    }
}

/// A line without the mark of a list or a quote before it, and the name of a block behind it.
pub(super) fn without_marks(line: &str) -> &str {
    let line = line.trim().trim_start_matches("> ").trim_start();
    let line = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim();
    match line.rsplit_once(" ^") {
        Some((rest, name))
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') =>
        {
            rest.trim_end()
        }
        _ => line,
    }
}

/// A line without the places in it, `^[notes/a.md#L3]`, and those. One that is not closed goes on to the end.
pub(super) fn without_sources(line: &str) -> (String, Vec<&str>) {
    let (mut said, mut sources, mut rest) = (String::with_capacity(line.len()), Vec::new(), line);
    while let Some((before, after)) = rest.split_once("^[") {
        let mut open = 1;
        let end = after.find(|character| {
            open += match character {
                '[' => 1,
                ']' => -1,
                _ => 0,
            };
            open == 0
        });
        let (source, left) = end.map_or((after, ""), |end| (&after[..end], &after[end + 1..]));
        said.push_str(before.trim_end());
        sources.push(source.trim());
        rest = left;
    }
    said.push_str(rest);
    (said.trim().to_owned(), sources)
}

#[cfg(test)]
mod tests_of_words {
    use super::*;
    use crate::base::config::MemoryKind;

    #[test]
    fn an_entry_is_like_a_question_in_whatever_form_its_words_are() {
        let entry = |text: &str| MemoryEntry::new(MemoryKind::Preference, text);
        for (query, text, found, enough) in [
            ("Which editor should I configure?", "Prefers vim as editor", 1, true),
            ("How do I set up vim", "Prefers vim as editor", 1, true),
            ("do you remember which editors I use", "Prefers vim as editor", 1, true),
            ("do you recall teas I like", "Likes tea", 2, true),
            ("Wie ist das Dach zu decken?", "Hat das Dach neu gedeckt", 1, true),
            ("How long does sourdough rest in the cellar?", "Likes long walks", 1, false),
            ("what do you know about me", "Knows what is about", 0, false),
            ("", "Likes tea", 0, false),
        ] {
            let mut words = QuestionWords::of(query, StemmerLanguage::English);
            let got = words.in_entry(&entry(text));
            assert_eq!((got, words.are_enough(got)), (found, enough), "{query}");
        }
    }

    #[test]
    fn a_question_may_be_about_nothing() {
        for (query, left) in [
            ("what did we do about it", ""),
            ("what do you know about me", ""),
            ("what exactly is a monad", "monad"),
            ("the roof, of course", "roof, course"),
        ] {
            assert_eq!(telling(query), left, "{query}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(text: &str, score: f64) -> Passage {
        let lines = (1..=text.lines().count() as u32).collect();
        Passage { text: text.to_owned(), lines, score }
    }

    fn found(question: &str, passages: &[Passage], most: usize) -> Vec<(String, Option<(u32, u32)>)> {
        let mut words = QuestionWords::of(question, StemmerLanguage::English);
        parts(passages, &mut words, most).into_iter().map(|part| (part.text, part.lines)).collect()
    }

    #[test]
    fn a_part_is_what_is_said_without_its_marks() {
        for (text, said, lines) in [
            ("## The problem\n\nThe paper cards get lost.", "The paper cards get lost.", (3, 3)),
            ("- The saw\n  is blunt.", "The saw is blunt.", (1, 2)),
            ("> quoted\n> twice", "quoted twice", (1, 2)),
            ("1. first", "first", (1, 1)),
            ("* [x] sharpen it", "[x] sharpen it", (1, 1)),
            ("- 10:02 · vault · \"tile cutter\"", "10:02 · vault · \"tile cutter\"", (1, 1)),
            ("| saw | Priya |", "saw | Priya", (1, 1)),
            ("**18:32 · Maya:** It leaks.", "Maya: It leaks.", (1, 1)),
            ("**18:33 · assistant:**\n> Wax it.", "assistant: Wax it.", (2, 2)),
            ("**Maya:** It leaks.", "Maya: It leaks.", (1, 1)),
            ("[the saw](saw.md) and **that**", "[the saw](saw.md) and **that**", (1, 1)),
        ] {
            assert_eq!(found("saw", &[passage(text, 1.0)], 50), [(said.to_owned(), Some(lines))], "{text}");
        }
        for nothing in ["# A heading", "---", ""] {
            assert_eq!(found("saw", &[passage(nothing, 1.0)], 50), [], "{nothing}");
        }
        let unknown = Passage { lines: Vec::new(), ..passage("It leaks.", 1.0) };
        assert_eq!(found("leak", &[unknown], 50), [("It leaks.".to_owned(), None)]);
    }

    #[test]
    fn the_parts_that_have_most_of_the_question_come_first_rare_words_before_common_ones() {
        let text = "- The tent is green.\n- The tent leaks.\n- The tent is old.\n- Bread rises.";
        let best = found("does the tent leak", &[passage(text, 0.5)], 50);
        assert_eq!(best[0].0, "The tent leaks.");
        assert_eq!(best[3].0, "Bread rises.");
        let two = [passage("The tent is here.", 0.2), passage("Nothing of it.", 0.9), passage("The tent stays.", 0.4)];
        let order: Vec<String> = found("tent", &two, 50).into_iter().map(|(text, _)| text).collect();
        assert_eq!(order, ["The tent stays.", "The tent is here.", "Nothing of it."]);
    }

    #[test]
    fn of_a_long_paragraph_the_sentences_around_the_best_are_given() {
        let text = "One is red. Two is green. The passport lies in the drawer. Three is blue. Four is grey.";
        let [(said, lines)] = &found("passport", &[passage(text, 1.0)], 9)[..] else { panic!() };
        assert_eq!((said.as_str(), *lines), ("… The passport lies in the drawer. Three is blue.", Some((1, 1))));
        let turn = format!("**18:32 · Maya:** {text}");
        let [(said, _)] = &found("passport", &[passage(&turn, 1.0)], 6)[..] else { panic!() };
        assert_eq!(said, "Maya: … The passport lies in the drawer.");
    }

    #[test]
    fn the_turn_after_a_question_answers_it_and_who_is_named_says_more() {
        let text = "**Ann:** Hello there.\n\n**Bob:** What did you research?\n\n**Ann:** Agencies, since May.\n\n**Bob:** Good.";
        let order: Vec<String> =
            found("What did she research?", &[passage(text, 1.0)], 50).into_iter().map(|(text, _)| text).collect();
        assert_eq!(order[..2], ["Bob: What did you research?", "Ann: Agencies, since May."]);
        let text = "**Bob:** The tent is dry.\n\n**Ann:** The tent is wet.\n\n**Bob:** A tent leaks.";
        assert_eq!(found("What of Ann's tent?", &[passage(text, 1.0)], 50)[0].0, "Ann: The tent is wet.");
    }
}

#[cfg(test)]
mod tests_of_talks {
    use super::*;

    #[test]
    fn a_line_is_what_it_says() {
        assert_eq!(without_marks("  - Prefers tabs ^e-7f"), "Prefers tabs");
        assert_eq!(without_marks("> * x ^ y"), "x ^ y");
        assert_eq!(
            without_sources("Prefers tabs. ^[a.md#L1] ^[b.md]"),
            ("Prefers tabs.".into(), vec!["a.md#L1", "b.md"])
        );
        assert_eq!(
            without_sources("A ^[a [1].md] b %% ^[c.md] %%. ^[d"),
            ("A b %% %%.".into(), vec!["a [1].md", "c.md", "d"])
        );
        assert_eq!(without_sources("a [b]"), ("a [b]".into(), vec![]));
    }
}
