//! How good answers are: questions with the places that answer them, and what became of them, as numbers.
//!
//! [`read`] takes questions from Markdown or JSON Lines, [`Judged`] says at which places of a list of hits the answers stand, and
//! [`MEASURES`] makes numbers of it, with [`interval`]s by the bootstrap.

use std::fmt;

use serde::Deserialize;

/// A question, and where its answers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// What is searched for.
    pub query: String,
    /// The places that answer; none when nothing does.
    pub targets: Vec<Relevant>,
    /// The heading that it stands under; empty in JSON Lines.
    pub section: String,
}

/// Why a file has no questions.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuestionsError {
    /// A line of JSON Lines is none.
    #[error("line {line}: {reason}")]
    Json {
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is none.
    #[error(
        "no questions found: write list items such as `- query → notes/a.md#L3-L8` or `- query → [[note#heading]]`"
    )]
    None,
}

/// Reads questions: list items of Markdown, `- query → target, target`, or JSON Lines, `{"query": …, "relevant": [target, …]}`. All else of
/// a Markdown page is prose.
///
/// # Errors
/// When a line is not JSON where the first is, or there is no question.
pub(crate) fn read(text: &str) -> Result<Vec<Question>, QuestionsError> {
    let text = text.trim_start_matches('\u{feff}');
    let questions = if text.trim_start().starts_with('{') { json_lines(text)? } else { markdown(text) };
    if questions.is_empty() { Err(QuestionsError::None) } else { Ok(questions) }
}

fn markdown(text: &str) -> Vec<Question> {
    let mut section = String::new();
    let mut questions = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            section = heading.trim_start_matches('#').trim().to_owned();
        }
        let Some(item) = ["- ", "* ", "+ "].iter().find_map(|marker| line.trim_start().strip_prefix(marker)) else {
            continue;
        };
        let (query, targets) = match item.split_once(" → ").or_else(|| item.split_once(" -> ")) {
            Some((query, targets)) => (query, split_targets(targets)),
            None => (item, Vec::new()),
        };
        if !query.trim().is_empty() {
            questions.push(Question { query: query.trim().to_owned(), targets, section: section.clone() });
        }
    }
    questions
}

/// Cuts at commas, but for those within a path: what has folders ends with its lines or heading or with `.md`, where any follows.
fn split_targets(targets: &str) -> Vec<Relevant> {
    let mut found = Vec::new();
    let mut rest = targets.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix("[[") {
            Some(link) => link.find("]]").map_or(rest.len(), |end| end + "[[]]".len()),
            None => {
                rest.match_indices(", ").map(|(at, _)| at).find(|at| is_whole(&rest[..*at], rest)).unwrap_or(rest.len())
            }
        };
        let one = rest[..end].trim_start_matches("[[").trim_end_matches("]]");
        let one = one.split_once('|').map_or(one, |(target, _)| target);
        found.extend(Relevant::parse(one));
        rest = rest[end..].trim_start_matches([',', ' ']);
    }
    found
}

fn is_whole(target: &str, rest: &str) -> bool {
    target.ends_with(".md") || target.contains('#') || !target.contains('/') || !rest.contains(".md")
}

#[derive(Deserialize)]
struct JsonQuestion {
    query: String,
    #[serde(default)]
    relevant: Vec<JsonTarget>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonTarget {
    Text(String),
    Lines { path: String, lines: Option<(u32, u32)> },
}

fn json_lines(text: &str) -> Result<Vec<Question>, QuestionsError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let wrong = |reason: String| QuestionsError::Json { line: at + 1, reason };
            let JsonQuestion { query, relevant } =
                serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if query.trim().is_empty() {
                return Err(wrong("`query` is empty".into()));
            }
            let target = |target: &JsonTarget| match target {
                JsonTarget::Text(text) => Relevant::parse(text.trim_start_matches("[[").trim_end_matches("]]")),
                JsonTarget::Lines { path, lines: None } => Relevant::parse(path),
                JsonTarget::Lines { path, lines: Some((first, last)) } => {
                    Relevant::parse(&format!("{path}#L{first}-L{last}"))
                }
            };
            let targets = relevant.iter().map(target).collect::<Option<Vec<_>>>();
            let targets = targets.ok_or_else(|| wrong("a target has no note".to_owned()))?;
            Ok(Question { query, targets, section: String::new() })
        })
        .collect()
}

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
pub(crate) struct HitLocation<'a> {
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
            Some((note, part)) => {
                (note, line_range(part).unwrap_or_else(|| RelevantPart::Heading(part.trim().to_owned())))
            }
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
    pub(crate) fn is_at(&self, place: &HitLocation<'_>) -> bool {
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
fn line_range(part: &str) -> Option<RelevantPart> {
    let number = |text: &str| text.strip_prefix('L')?.parse::<u32>().ok().filter(|line| *line > 0);
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(RelevantPart::Lines(first, last))
}

/// At which places of an answer its targets stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    /// For each target its place, from 1; `None` where it was not found.
    ranks: Vec<Option<usize>>,
}

/// What is measured: a name, and a number from 0 to 1 of one question.
pub(crate) type Measure = (&'static str, fn(&Judged) -> f64);

/// In the order in which they are shown.
pub(crate) const MEASURES: [Measure; 5] = [
    ("hit@1", |judged| judged.hit(1)),
    ("hit@5", |judged| judged.hit(5)),
    ("recall@10", |judged| judged.recall(10)),
    ("MRR", Judged::reciprocal_rank),
    ("nDCG@10", |judged| judged.ndcg(10)),
];

impl Judged {
    /// Looks for a question's targets among the hits, the best first. A hit counts for the first target that it is at and that no better
    /// one was at.
    pub(crate) fn new<'a>(question: &Question, hits: impl Iterator<Item = HitLocation<'a>>) -> Self {
        let mut ranks = vec![None; question.targets.len()];
        for (at, hit) in hits.enumerate() {
            let new =
                ranks.iter_mut().zip(&question.targets).find(|(rank, target)| rank.is_none() && target.is_at(&hit));
            if let Some((rank, _)) = new {
                *rank = Some(at + 1);
            }
        }
        Self { ranks }
    }

    /// The place of the first that answers, from 1.
    pub(crate) fn first(&self) -> Option<usize> {
        self.ranks.iter().flatten().min().copied()
    }

    fn within(&self, k: usize) -> usize {
        self.ranks.iter().flatten().filter(|rank| **rank <= k).count()
    }

    /// 1 when any target is among the first `k`.
    fn hit(&self, k: usize) -> f64 {
        f64::from(u8::from(self.within(k) > 0))
    }

    /// The share of the targets that are among the first `k`.
    fn recall(&self, k: usize) -> f64 {
        self.within(k) as f64 / self.ranks.len().max(1) as f64
    }

    /// 1 over the place of the first target, 0 where there is none; its mean is MRR.
    fn reciprocal_rank(&self) -> f64 {
        self.first().map_or(0.0, |rank| 1.0 / rank as f64)
    }

    /// The discounted cumulative gain of the first `k`, each target a gain of 1, as a share of the highest there could be (Järvelin and
    /// Kekäläinen, TOIS 2002).
    fn ndcg(&self, k: usize) -> f64 {
        let gain = |rank: usize| 1.0 / (rank as f64 + 1.0).log2();
        let best: f64 = (1..=self.ranks.len().min(k)).map(gain).sum();
        let sum: f64 = self.ranks.iter().flatten().filter(|rank| **rank <= k).map(|rank| gain(*rank)).sum();
        if best > 0.0 { sum / best } else { 0.0 }
    }
}

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Interval {
    /// Of all values.
    pub mean: f64,
    /// 2.5 % of the resampled means are below.
    pub low: f64,
    /// 2.5 % are above.
    pub high: f64,
}

const ROUNDS: usize = 2_000;

/// The mean of some values with its interval by the percentile bootstrap (Efron, 1979), drawn the same way each time. All 0 of none.
pub(crate) fn interval(values: &[f64]) -> Interval {
    if values.is_empty() {
        return Interval { mean: 0.0, low: 0.0, high: 0.0 };
    }
    let mean = |sum: f64| sum / values.len() as f64;
    let mut state = 1;
    let mut drawn = || values[(next(&mut state) % values.len() as u64) as usize];
    let mut means: Vec<f64> = (0..ROUNDS).map(|_| mean((0..values.len()).map(|_| drawn()).sum())).collect();
    means.sort_by(f64::total_cmp);
    let (low, high) = (means[ROUNDS * 25 / 1000], means[ROUNDS * 975 / 1000 - 1]);
    Interval { mean: mean(values.iter().sum()), low, high }
}

/// By how much the second is higher, question by question.
///
/// # Panics
/// When there are not as many of each.
pub(crate) fn difference(one: &[f64], two: &[f64]) -> Interval {
    assert_eq!(one.len(), two.len(), "the same questions");
    interval(&one.iter().zip(two).map(|(one, two)| two - one).collect::<Vec<_>>())
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use crate::index::eval::read;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(2000))]
        #[test]
        fn whatever_a_file_has_its_questions_are_questions(
            text in "\\PC{0,60}|(([#\\-*+] |  |\u{feff})?(a|é|\\[\\[|\\]\\]|#L?[0-9]{0,12}|-L3| → | -> |, |\"|\\|)*\\n){0,6}|(\\{\"query\":(\"a?\"|1)(,\"relevant\":(\\[(\"[a#L\\-0-9\\[\\]]{0,6}\",?)*\\]|\\[\\{\"path\":\"e\",\"lines\":\\[-?[0-9]{1,11},[0-9]\\]\\}\\]))?\\}?\\n){1,4}",
        ) {
            match read(&text) {
                Ok(questions) => prop_assert!(!questions.is_empty() && questions.iter().all(|question| !question.query.trim().is_empty())),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    fn said(text: &str) -> Vec<(String, Vec<String>)> {
        let said =
            |question: &Question| (question.query.clone(), question.targets.iter().map(Relevant::to_string).collect());
        read(text).unwrap().iter().map(said).collect()
    }

    #[test]
    fn questions_are_list_items_and_all_else_is_prose() {
        let text = "# Mine\n\nSome prose.\n\n## One\n\n- a → b → c.md#L1-L2\n* nothing answers\n\n## Two\n\n- d -> [[e#F, g|h]], Notes/a, b.md#L3, x.md, Y\n";
        assert_eq!(
            said(text),
            [
                ("a".to_owned(), vec!["b → c.md#L1-L2".to_owned()]),
                ("nothing answers".to_owned(), vec![]),
                ("d".to_owned(), ["e#F, g", "Notes/a, b.md#L3-L3", "x.md", "Y"].map(str::to_owned).to_vec()),
            ]
        );
        let sections: Vec<String> = read(text).unwrap().into_iter().map(|question| question.section).collect();
        assert_eq!(sections, ["One", "One", "Two"]);
        assert_eq!(read("only prose"), Err(QuestionsError::None));
    }

    #[test]
    fn questions_are_json_lines_too() {
        let text = "{\"query\":\"a\",\"relevant\":[\"b.md#L1-L2\",\"[[c#d]]\",{\"path\":\"e.md\",\"lines\":[3,4]}]}\n\n{\"query\":\"f\"}\n";
        let targets = ["b.md#L1-L2", "c#d", "e.md#L3-L4"].map(str::to_owned).to_vec();
        assert_eq!(said(text), [("a".to_owned(), targets), ("f".to_owned(), vec![])]);
        assert!(matches!(read("{\"query\":\"a\"}\nnonsense"), Err(QuestionsError::Json { line: 2, .. })));
        assert!(matches!(read("{\"query\":\"a\",\"relevant\":[\"\"]}"), Err(QuestionsError::Json { line: 1, .. })));
        assert!(matches!(read("{\"query\":\" \"}"), Err(QuestionsError::Json { line: 1, .. })));
    }

    #[test]
    fn a_target_is_a_note_a_heading_or_lines() {
        let headings = ["Bread".to_owned(), "Rising".to_owned()];
        let place = HitLocation { path: "notes/bread.md", title: "Bread", heading_path: &headings, lines: (5, 9) };
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

    fn measured(targets: &str, hits: &[&str]) -> [f64; 5] {
        let question = read(&format!("- q → {targets}")).unwrap().remove(0);
        let place = |path| HitLocation { path, title: "", heading_path: &[], lines: (1, 2) };
        let judged = Judged::new(&question, hits.iter().copied().map(place));
        MEASURES.map(|(_, measure)| measure(&judged))
    }

    #[test]
    fn measures_are_those_of_the_field() {
        assert_eq!(measured("a.md", &["a.md", "a.md"]), [1.0; 5]);
        assert_eq!(measured("a.md", &["b.md"]), [0.0; 5]);
        let second = 1.0 / 3f64.log2();
        assert_eq!(measured("a.md", &["b.md", "a.md"]), [0.0, 1.0, 1.0, 0.5, second]);
        assert_eq!(measured("a.md, b.md", &["c.md", "b.md"]), [0.0, 1.0, 0.5, 0.5, second / (1.0 + second)]);
        let late: Vec<&str> = std::iter::repeat_n("x.md", 10).chain(["a.md"]).collect();
        assert_eq!(measured("a.md", &late), [0.0, 0.0, 0.0, 1.0 / 11.0, 0.0]);
    }

    #[test]
    fn one_hit_is_one_answer() {
        let [first, .., ndcg] = measured("a.md#L1, a.md#L2", &["a.md"]);
        assert!(first == 1.0 && ndcg < 1.0);
    }

    #[test]
    fn more_values_make_a_narrower_interval_around_the_mean() {
        let half = |count: usize| (0..count).map(|at| (at % 2) as f64).collect::<Vec<_>>();
        let (few, many) = (interval(&half(20)), interval(&half(2000)));
        for found in [few, many] {
            assert!(found.mean == 0.5 && found.low < 0.5 && found.high > 0.5, "{found:?}");
        }
        assert!(many.high - many.low < (few.high - few.low) / 5.0);
        // The normal approximation of a mean of 2,000 coins: 0.5 ± 1.96 · 0.5 / √2000.
        assert!((many.high - 0.5219).abs() < 0.004, "{many:?}");
        assert_eq!(interval(&[]), Interval { mean: 0.0, low: 0.0, high: 0.0 });
    }

    #[test]
    fn a_difference_is_of_pairs() {
        let (one, two): (Vec<f64>, Vec<f64>) = (0..50).map(|at| (at as f64, at as f64 + 1.0)).unzip();
        assert_eq!(difference(&one, &two), Interval { mean: 1.0, low: 1.0, high: 1.0 });
    }
}
