//! `vault eval`: questions with the places that answer them, and what became of them, as numbers with intervals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::backend::Backend;
use super::search::joined;
use super::terminal::{Bar, DIM, EMBEDDING, Out, Outcome, TITLE, answer, count, remark};
use crate::access::request::ORDER_KEPT;
use crate::base::config::Mode;
use crate::serve::api::endpoints;
use crate::serve::wire::{ChunkView, NoteName, NotesParams, SearchQuery, SearchResponse, split_lines};

/// Measure how well searches find the answers to a list of questions.
///
/// A file of questions is Markdown, a list item each:
///
///   - how long does the dough rest → notes/bread.md#L12-L18
///   - who repaired the bike → [[people#Mechanics]], [[bike]]
///   - what nothing here answers
///
/// vault searches for each question in every mode. hit@k is the share of questions with an answer
/// among the first k passages, recall@10 the share of all answers among the first ten, and MRR the
/// mean of 1 over the rank of the first answer; with 95 % intervals. --against measures again with
/// other settings, and prints the difference.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  vault eval questions.md\n  vault eval questions.md --mode hybrid --against limit=20 --against per_file=0\n  vault eval questions.md --mode hybrid,keyword --misses"
)]
pub(super) struct EvalCommand {
    /// Files of questions with their answers.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The modes to measure; default: keyword, semantic and hybrid, or only keyword if there is no model.
    #[arg(long, value_enum, value_delimiter = ',')]
    mode: Vec<Mode>,
    /// Only the questions under the heading with this name.
    #[arg(long, value_name = "HEADING")]
    section: Option<String>,
    /// Only this collection (a top-level folder).
    #[arg(long)]
    collection: Option<String>,
    /// Only notes with this tag, or one below it.
    #[arg(long)]
    tag: Option<String>,
    /// Only notes whose path in the vault starts with this.
    #[arg(long)]
    path: Option<String>,
    /// Override a key of `[search]` in memory.toml: per_file=1. May be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Override a key for a second measurement, to compare with the first.
    #[arg(long, value_name = "KEY=VALUE")]
    against: Vec<String>,
    /// List the questions without an answer among the first five passages.
    #[arg(long)]
    misses: bool,
}

/// As many hits of each search are looked at.
const HITS: usize = 10;

/// What was measured.
#[derive(Serialize)]
struct Measured {
    questions: usize,
    without_answer: usize,
    runs: Vec<MeasuredRun>,
}

/// What one mode with one set of settings gave.
#[derive(Serialize)]
struct MeasuredRun {
    mode: Mode,
    set: Option<String>,
    measures: Intervals,
    /// By how much it is higher than with the first settings.
    differs: Option<Intervals>,
    /// How many of the questions without an answer were given hits that are more than a perhaps.
    answered_all_the_same: usize,
    /// How many answers say that a chat model did not help as it was to.
    unhelped: usize,
    #[serde(skip)]
    first_unhelped: Option<String>,
    p50_ms: f64,
    /// Of those with an answer.
    questions: Vec<MeasuredQuestion>,
}

#[derive(Serialize)]
struct MeasuredQuestion {
    query: String,
    /// The place of the first passage that answers, from 1.
    first: Option<usize>,
    #[serde(skip)]
    ranks: Ranks,
}

/// Each measure with its mean.
type Intervals = BTreeMap<&'static str, Interval>;

impl EvalCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        let questions = self.questions()?;
        backend.catch_up(false)?;
        let modes = self.modes(&mut backend)?;
        if modes.iter().any(|mode| *mode != Mode::Keyword) {
            wait_for_embeddings(&mut backend)?;
        }
        let (with, without): (Vec<&Question>, Vec<&Question>) =
            questions.iter().partition(|question| !question.targets.is_empty());
        say_absent(&with, &mut backend)?;
        let settings = [Some(joined(&self.set)), joined(&self.against).map(Some)];
        let settings: Vec<Option<String>> = settings.into_iter().flatten().collect();
        let bar = Bar::of("asking");
        let (total, mut done) = (modes.len() * settings.len() * questions.len(), 0);
        let mut runs: Vec<MeasuredRun> = Vec::new();
        for (mode, set) in modes.iter().flat_map(|mode| settings.iter().map(|set| (*mode, set.clone()))) {
            let (mut measured, mut took_ms, mut unhelped) = (Vec::new(), Vec::new(), Vec::new());
            let mut answered_all_the_same = 0;
            for question in &questions {
                bar.show(done, total - done);
                done += 1;
                let found = self.search(&mut backend, question, (mode, &set))?;
                took_ms.extend(found.took_ms);
                unhelped.extend(found.degraded.filter(|said| said.contains(ORDER_KEPT)));
                if question.targets.is_empty() {
                    answered_all_the_same += usize::from(found.results.iter().any(|hit| !hit.perhaps));
                } else {
                    let ranks = ranks(question, found.results.iter().map(|hit| &hit.chunk));
                    measured.push(MeasuredQuestion { query: question.query.clone(), first: first(&ranks), ranks });
                }
            }
            took_ms.sort_by(f64::total_cmp);
            let differs = runs.last().filter(|first| first.mode == mode).map(|first| {
                each(&|measure| difference(&values(&first.questions, measure), &values(&measured, measure)))
            });
            runs.push(MeasuredRun {
                mode,
                set,
                measures: each(&|measure| interval(&values(&measured, measure))),
                differs,
                answered_all_the_same,
                unhelped: unhelped.len(),
                first_unhelped: unhelped.into_iter().next(),
                p50_ms: took_ms.get(took_ms.len() / 2).copied().unwrap_or_default(),
                questions: measured,
            });
        }
        bar.finish();
        let measured = Measured { questions: with.len(), without_answer: without.len(), runs };
        answer(&measured, true, |out| self.print(&measured, &with, out))
    }

    /// The modes that are measured.
    fn modes(&self, backend: &mut Backend) -> anyhow::Result<Vec<Mode>> {
        if !self.mode.is_empty() {
            return Ok(self.mode.clone());
        }
        if backend.status()?.model.state == "off" {
            remark!("vault: `embed.model` is \"none\": only keyword is measured, not semantic and hybrid");
            return Ok(vec![Mode::Keyword]);
        }
        Ok(vec![Mode::Keyword, Mode::Semantic, Mode::Hybrid])
    }

    fn questions(&self) -> anyhow::Result<Vec<Question>> {
        let mut questions = Vec::new();
        for file in &self.files {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            questions.extend(read(&text));
        }
        if questions.is_empty() {
            bail!(
                "no questions found: write list items such as `- query → notes/a.md#L3-L8` or `- query → [[note#heading]]`"
            );
        }
        if let Some(section) = &self.section {
            questions.retain(|question| question.section.eq_ignore_ascii_case(section));
            if questions.is_empty() {
                bail!("there is no question under a heading `{section}`");
            }
        }
        Ok(questions)
    }

    fn search(
        &self,
        backend: &mut Backend,
        question: &Question,
        (mode, set): (Mode, &Option<String>),
    ) -> anyhow::Result<SearchResponse> {
        let found = backend.search(&SearchQuery {
            q: question.query.clone(),
            mode: Some(mode),
            limit: Some(HITS),
            // A hit is where it stands, and not what is around it.
            context: Some(0),
            set: set.clone(),
            fresh: Some(false),
            collection: self.collection.clone(),
            tag: self.tag.clone(),
            path: self.path.clone(),
            ..SearchQuery::default()
        })?;
        let wanted = if mode == Mode::Deep { Mode::Hybrid } else { mode };
        if found.mode != wanted {
            let why = found.degraded.unwrap_or_else(|| "`embed.model` is \"none\"".to_owned());
            let (by, wanted) = (name(found.mode), name(wanted));
            bail!("`{}` was searched by {by} instead of {wanted}: {why}", question.query);
        }
        Ok(found)
    }

    fn print(&self, measured: &Measured, with: &[&Question], out: &mut Out) {
        let Measured { questions, without_answer: without, runs } = measured;
        let none = if *without > 0 { format!(", and {without} without one") } else { String::new() };
        writeln!(out, "{} with an answer{none}; in %, with 95 % intervals\n", count(*questions, "question"));
        let columns = |cell: &dyn Fn(&str) -> String| -> String {
            MEASURES.iter().map(|(name, _)| format!("{:>20}", cell(name))).collect()
        };
        if !with.is_empty() {
            write!(out, "{:28}", "");
            out.row(&[(TITLE, &format!("{}{:>10}", columns(&str::to_owned), "p50"))]);
        }
        for run in runs.iter().filter(|_| !with.is_empty()) {
            let measured = columns(&|name| percent(&run.measures[name], false));
            writeln!(out, "{:28}{measured}{:>7.1} ms", run.title(), run.p50_ms);
            if let Some(differs) = &run.differs {
                write!(out, "{:28}", "  differs by");
                out.row(&[(DIM, &columns(&|name| percent(&differs[name], true)))]);
            }
        }
        for run in runs.iter().filter(|_| *without > 0) {
            let said = "of the questions without an answer got a hit that is more than \"perhaps\"";
            writeln!(out, "\n{}: {} of {without} {said}", run.title(), run.answered_all_the_same);
        }
        for (run, first) in runs.iter().filter_map(|run| Some((run, run.first_unhelped.as_ref()?))) {
            let (title, unhelped, of) = (run.title(), run.unhelped, questions + without);
            writeln!(
                out,
                "\n{title}: in {unhelped} of {of} answers the chat model did not help; the first time because: {first}"
            );
        }
        for run in runs.iter().filter(|_| self.misses) {
            writeln!(out);
            out.row(&[(TITLE, &format!("{}: not among the first five", run.title()))]);
            for (question, _) in with.iter().zip(&run.questions).filter(|(_, found)| within(&found.ranks, 5) == 0) {
                let targets: Vec<String> = question.targets.iter().map(Target::text).collect();
                writeln!(out, "- {} → {}", question.query, targets.join(", "));
            }
        }
    }
}

impl MeasuredRun {
    fn title(&self) -> String {
        let set = self.set.iter().map(|set| format!(", {set}"));
        std::iter::once(name(self.mode)).chain(set).collect()
    }
}

/// What each measure says.
fn each(interval_of: &dyn Fn(Measure) -> Interval) -> Intervals {
    MEASURES.iter().map(|(name, measure)| (*name, interval_of(*measure))).collect()
}

fn values(questions: &[MeasuredQuestion], measure: Measure) -> Vec<f64> {
    questions.iter().map(|question| measure(&question.ranks)).collect()
}

/// Notes that are asked for at once.
const LISTED: usize = 1_000;

/// Names the answers that stand at notes which are not there: each counts as not found.
fn say_absent(questions: &[&Question], backend: &mut Backend) -> anyhow::Result<()> {
    let mut there: Vec<NoteName> = Vec::new();
    loop {
        let params = NotesParams { limit: Some(LISTED), offset: Some(there.len()), ..NotesParams::default() };
        let page = backend.ask(&endpoints::links::NOTES_IN, &params)?;
        let is_last = page.notes.is_empty();
        there.extend(page.notes);
        if is_last || there.len() >= page.total {
            break;
        }
    }
    for question in questions {
        for target in &question.targets {
            if !there.iter().any(|note| target.is_in(&note.path, &note.title)) {
                remark!(
                    "vault: `{}`: there is no note `{}`; this answer counts as not found",
                    question.query,
                    target.text()
                );
            }
        }
    }
    Ok(())
}

/// Number of checks, a tenth of a second apart, in which nothing waits to be embedded, after which what is not embedded
/// will not be.
const IDLE_ROUNDS: usize = 20;

/// Until all that has a meaning has its vector; a bar says how far it is.
fn wait_for_embeddings(backend: &mut Backend) -> anyhow::Result<()> {
    let bar = Bar::of(EMBEDDING);
    let mut idle = 0;
    let status = backend.wait_until(Duration::from_millis(100), |status| {
        if let Some(trouble) = &status.model.trouble {
            bail!("not all passages are embedded: {trouble}");
        }
        bar.show(status.embedded, status.embeddable.saturating_sub(status.embedded));
        let is_read = status.caught_up && status.model.state == "ready";
        idle = if is_read && status.pending_embeddings == 0 { idle + 1 } else { 0 };
        let is_coming = matches!(status.model.state.as_str(), "loading" | "ready");
        Ok(!is_coming || is_read && status.embedded >= status.embeddable || idle == IDLE_ROUNDS)
    })?;
    bar.finish();
    if idle == IDLE_ROUNDS && status.embedded < status.embeddable {
        remark!("vault: {} of {} passages are embedded", status.embedded, status.embeddable);
    }
    Ok(())
}

/// A question, and where its answers are.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Question {
    /// What is searched for.
    query: String,
    /// The places that answer; none when nothing does.
    targets: Vec<Target>,
    /// The heading that it stands under.
    section: String,
}

/// Reads questions: list items of Markdown, `- query → target, target`. All else is prose.
fn read(text: &str) -> Vec<Question> {
    let mut section = String::new();
    let mut questions = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            section = heading.trim_start_matches('#').trim().to_owned();
        }
        let Some(item) = ["- ", "* ", "+ "].iter().find_map(|marker| line.trim_start().strip_prefix(marker)) else {
            continue;
        };
        let parted = item.split_once(" → ").or_else(|| item.split_once(" -> "));
        let (query, targets) = parted.map_or((item, Vec::new()), |(query, targets)| (query, read_targets(targets)));
        if !query.trim().is_empty() {
            questions.push(Question { query: query.trim().to_owned(), targets, section: section.clone() });
        }
    }
    questions
}

/// Cuts at commas, but for those within a link.
fn read_targets(targets: &str) -> Vec<Target> {
    let mut found = Vec::new();
    let mut rest = targets.trim();
    while !rest.is_empty() {
        let end = if rest.starts_with("[[") { rest.find("]]").map(|end| end + 2) } else { rest.find(", ") };
        let (one, after) = rest.split_at(end.unwrap_or(rest.len()));
        let one = one.trim_start_matches("[[").trim_end_matches("]]");
        found.extend(Target::read(one.split_once('|').map_or(one, |(target, _)| target)));
        rest = after.trim_start_matches([',', ' ']);
    }
    found
}

/// A note, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    /// The note's path, or its end; without `.md` its name.
    note: String,
    /// The heading that it stands under.
    heading: Option<String>,
    /// First and last line, from 1.
    lines: Option<(u32, u32)>,
}

impl Target {
    /// Reads `path.md#L3-L8`, `path.md#L3`, `path.md#Heading`, `path.md`, or the same without `.md`.
    fn read(text: &str) -> Option<Self> {
        let (note, lines) = split_lines(text.trim());
        let lines = lines.map(|(first, last)| (first as u32, last.unwrap_or(first) as u32));
        let (note, heading) = note.split_once('#').map_or((note, None), |(note, heading)| (note, Some(heading)));
        let note = note.trim().trim_start_matches("./").to_owned();
        (!note.is_empty()).then(|| Self { note, heading: heading.map(|heading| heading.trim().to_owned()), lines })
    }

    /// As it is written.
    fn text(&self) -> String {
        match (&self.heading, self.lines) {
            (Some(heading), _) => format!("{}#{heading}", self.note),
            (None, Some((first, last))) => format!("{}#L{first}-L{last}", self.note),
            (None, None) => self.note.clone(),
        }
    }

    /// Whether it is in the note at a path, or that note.
    fn is_in(&self, path: &str, title: &str) -> bool {
        if self.note.ends_with(".md") {
            path == self.note || path.strip_suffix(&self.note).is_some_and(|rest| rest.ends_with('/'))
        } else {
            let (name, path) = (self.note.to_lowercase(), path.strip_suffix(".md").unwrap_or(path).to_lowercase());
            let is_end = path.strip_suffix(&name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
            is_end || name == title.trim().to_lowercase()
        }
    }

    /// Whether a passage is there, or a part of it.
    fn is_at(&self, chunk: &ChunkView) -> bool {
        let is_called = |name: &String| self.heading.as_ref().is_none_or(|heading| words(name) == words(heading));
        self.is_in(&chunk.path, &chunk.title)
            && std::iter::once(&chunk.title).chain(&chunk.heading_path).any(is_called)
            && self.lines.is_none_or(|(first, last)| chunk.line_start <= last && first <= chunk.line_end)
    }
}

/// A heading without its marks: "Using `Box<T>`" and "Using Box<T>" are one.
fn words(heading: &str) -> String {
    heading.replace(['`', '*', '_', '[', ']', '\\'], "").trim().to_lowercase()
}

/// For each target of a question the place at which it was found, from 1.
type Ranks = Vec<Option<usize>>;

/// Looks for a question's targets among the hits, the best first. A hit counts for the first target that it is at and that no better one was
/// at.
fn ranks<'a>(question: &Question, hits: impl Iterator<Item = &'a ChunkView>) -> Ranks {
    let mut ranks = vec![None; question.targets.len()];
    for (at, hit) in hits.enumerate() {
        let new = ranks.iter_mut().zip(&question.targets).find(|(rank, target)| rank.is_none() && target.is_at(hit));
        if let Some((rank, _)) = new {
            *rank = Some(at + 1);
        }
    }
    ranks
}

/// The place of the first that answers.
fn first(ranks: &[Option<usize>]) -> Option<usize> {
    ranks.iter().flatten().min().copied()
}

/// How many are among the first `k`.
fn within(ranks: &[Option<usize>], k: usize) -> usize {
    ranks.iter().flatten().filter(|rank| **rank <= k).count()
}

/// A number from 0 to 1 of one question.
type Measure = fn(&[Option<usize>]) -> f64;

/// What is measured, in the order in which it is shown.
const MEASURES: [(&str, Measure); 4] = [
    ("hit@1", |ranks| f64::from(within(ranks, 1) > 0)),
    ("hit@5", |ranks| f64::from(within(ranks, 5) > 0)),
    ("recall@10", |ranks| within(ranks, 10) as f64 / ranks.len().max(1) as f64),
    ("MRR", |ranks| first(ranks).map_or(0.0, |rank| 1.0 / rank as f64)),
];

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Interval {
    mean: f64,
    low: f64,
    high: f64,
}

/// The mean of some values, and 1.96 standard errors to either side. All 0 of none.
fn interval(values: &[f64]) -> Interval {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let error = 1.96 * (variance / count).sqrt();
    Interval { mean, low: mean - error, high: mean + error }
}

/// By how much the second is higher, question by question.
fn difference(one: &[f64], two: &[f64]) -> Interval {
    interval(&one.iter().zip(two).map(|(one, two)| two - one).collect::<Vec<_>>())
}

fn percent(interval: &Interval, signed: bool) -> String {
    // Added to nothing, what is a little less than nothing loses its sign.
    let rounded = |share: f64| (share * 1000.0).round() / 10.0 + 0.0;
    let [mean, low, high] = [interval.mean, interval.low, interval.high].map(rounded);
    if signed { format!("{mean:+.1} ({low:+.1}–{high:+.1})") } else { format!("{mean:.1} ({low:.1}–{high:.1})") }
}

/// As `--mode` takes it.
pub(super) fn name(mode: impl Serialize) -> String {
    serde_json::to_value(mode).ok().and_then(|mode| Some(mode.as_str()?.to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn nothing_has_no_sign() {
        let of = |mean, low, high| Interval { mean, low, high };
        assert_eq!(percent(&of(-0.0, -0.0001, 0.5), false), "0.0 (0.0–50.0)");
        assert_eq!(percent(&of(0.0, -0.0, -0.25), true), "+0.0 (+0.0–-25.0)");
    }

    proptest! {
        #![proptest_config(proptest_config(2000))]
        #[test]
        fn whatever_a_file_has_its_questions_are_questions(
            text in "\\PC{0,60}|(([#\\-*+] |  |\u{feff})?(a|é|\\[\\[|\\]\\]|#L?[0-9]{0,12}|-L3| → | -> |, |\"|\\|)*\\n){0,6}",
        ) {
            prop_assert!(read(&text).iter().all(|question| !question.query.trim().is_empty()));
        }
    }

    #[test]
    fn questions_are_list_items_and_all_else_is_prose() {
        let text = "# Mine\n\nSome prose.\n\n## One\n\n- a → b → c.md#L1-L2\n* nothing answers\n\n## Two\n\n- d -> [[e#F, g|h]], Notes/b.md#L3, x.md, Y\n";
        let said = |question: &Question| (question.query.clone(), question.targets.iter().map(Target::text).collect());
        let questions: Vec<(String, Vec<String>)> = read(text).iter().map(said).collect();
        assert_eq!(
            questions,
            [
                ("a".to_owned(), vec!["b → c.md#L1-L2".to_owned()]),
                ("nothing answers".to_owned(), vec![]),
                ("d".to_owned(), ["e#F, g", "Notes/b.md#L3-L3", "x.md", "Y"].map(str::to_owned).to_vec()),
            ]
        );
        let sections: Vec<String> = read(text).into_iter().map(|question| question.section).collect();
        assert_eq!(sections, ["One", "One", "Two"]);
        assert!(read("only prose").is_empty());
    }

    fn chunk(path: &str, title: &str, headings: &[&str], (first, last): (u32, u32)) -> ChunkView {
        let json = json!({
            "hash": "", "collection": "", "path": path, "title": title, "heading_path": headings, "content": "",
            "line_start": first, "line_end": last, "citation": "", "tags": [], "metadata": {}, "created_at": "",
            "updated_at": "",
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_target_is_a_note_a_heading_or_lines() {
        let place = chunk("notes/bread.md", "Bread", &["Bread", "Rising"], (5, 9));
        let hits = |text: &str| Target::read(text).unwrap().is_at(&place);
        for there in [
            "notes/bread.md", "bread.md", "bread", "Bread", "bread#*rising*", "bread.md#L9-L12", "bread.md#L5",
            "./bread.md",
        ] {
            assert!(hits(there), "{there}");
        }
        for elsewhere in ["read.md", "read", "bread.md#L10", "bread#crust", "bread.md#L1-L4", "other/bread.md"] {
            assert!(!hits(elsewhere), "{elsewhere}");
        }
        assert!(Target::read(" #x").is_none());
        assert_eq!(Target::read("a b.md#L3").unwrap().text(), "a b.md#L3-L3");
    }

    fn measured(targets: &str, hits: &[&str]) -> [f64; 4] {
        let question = read(&format!("- q → {targets}")).remove(0);
        let hits: Vec<ChunkView> = hits.iter().map(|path| chunk(path, "", &[], (1, 2))).collect();
        let ranks = ranks(&question, hits.iter());
        MEASURES.map(|(_, measure)| measure(&ranks))
    }

    #[test]
    fn measures_are_those_of_the_field() {
        assert_eq!(measured("a.md", &["a.md", "a.md"]), [1.0; 4]);
        assert_eq!(measured("a.md", &["b.md"]), [0.0; 4]);
        assert_eq!(measured("a.md", &["b.md", "a.md"]), [0.0, 1.0, 1.0, 0.5]);
        assert_eq!(measured("a.md, b.md", &["c.md", "b.md"]), [0.0, 1.0, 0.5, 0.5]);
        let late: Vec<&str> = std::iter::repeat_n("x.md", 10).chain(["a.md"]).collect();
        assert_eq!(measured("a.md", &late), [0.0, 0.0, 0.0, 1.0 / 11.0]);
    }

    #[test]
    fn one_hit_is_one_answer() {
        assert_eq!(measured("a.md#L1, a.md#L2", &["a.md"]), [1.0, 1.0, 0.5, 1.0]);
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
