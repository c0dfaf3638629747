//! `vault eval`

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::search::joined;
use super::terminal::{Bar, DIM, EMBEDDING, Out, Outcome, TITLE, answer, count, remark};
use crate::access::request::ORDER_KEPT;
use crate::base::config::Mode;
use crate::index::eval::{self, HitLocation, Interval, Judged, MEASURES, Question, difference, interval};
use crate::serve::api::endpoints;
use crate::serve::wire::{HitView, NoteName, NotesParams, SearchQuery};

/// Measure how well searches find the answers to a list of questions.
///
/// A file of questions is Markdown, a list item each, or JSON Lines:
///
///   - how long does the dough rest → notes/bread.md#L12-L18
///   - who repaired the bike → [[people#Mechanics]], [[bike]]
///   - what nothing here answers
///
///   {"query": "dough rest", "relevant": ["notes/bread.md#L12-L18"]}
///
/// vault searches for each question in every mode. hit@k is the share of questions with an answer
/// among the first k passages, recall@10 the share of all answers among the first ten, MRR the mean
/// of 1 over the rank of the first answer, and nDCG@10 weights each answer by its rank; with 95 %
/// intervals (bootstrap over the questions). --against measures again with other settings, and
/// prints the difference.
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

/// What is measured of a question.
type Measure = fn(&Judged) -> f64;

/// As many hits of each search are looked at.
const HITS: usize = 10;

/// What one mode with one set of settings gave.
struct MeasuredRun {
    mode: Mode,
    settings: Option<String>,
    /// Of the questions with an answer.
    judged: Vec<Judged>,
    /// How many of those without one were given hits that are more than a perhaps.
    answered_all_the_same: usize,
    took_ms: Vec<f64>,
    /// Why a chat model did not help as it was to, of each answer that says so.
    unhelped: Vec<String>,
}

impl EvalCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        let questions = self.questions()?;
        backend.catch_up(false)?;
        let modes = self.modes(&mut backend)?;
        if modes.iter().any(|mode| *mode != Mode::Keyword) {
            wait_for_embeddings(&mut backend)?;
        }
        let (with, without): (Vec<Question>, Vec<Question>) =
            questions.into_iter().partition(|question| !question.targets.is_empty());
        say_absent(&with, &mut backend)?;
        let (first, second) = (joined(&self.set), joined(&self.against));
        let bar = Bar::of("asking");
        let total = modes.len() * (1 + usize::from(second.is_some())) * (with.len() + without.len());
        let mut done = 0;
        let mut runs = Vec::new();
        for mode in &modes {
            for settings in std::iter::once(&first).chain(second.as_ref().map(|_| &second)) {
                let mut run = MeasuredRun {
                    mode: *mode,
                    settings: settings.clone(),
                    judged: Vec::with_capacity(with.len()),
                    answered_all_the_same: 0,
                    took_ms: Vec::new(),
                    unhelped: Vec::new(),
                };
                for question in with.iter().chain(&without) {
                    bar.show(done, total - done);
                    done += 1;
                    let hits = self.search(&mut backend, question, &mut run)?;
                    if question.targets.is_empty() {
                        run.answered_all_the_same += usize::from(hits.iter().any(|hit| !hit.perhaps));
                    } else {
                        run.judged.push(Judged::new(question, hits.iter().map(place)));
                    }
                }
                runs.push(run);
            }
        }
        bar.finish();
        let measured = self.as_json(&runs, &with, without.len());
        answer(&measured, true, |out| self.print(&runs, &with, without.len(), out))
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
            questions.extend(eval::read(&text).with_context(|| format!("{}", file.display()))?);
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
        run: &mut MeasuredRun,
    ) -> anyhow::Result<Vec<HitView>> {
        let found = backend.search(&SearchQuery {
            q: question.query.clone(),
            mode: Some(run.mode),
            limit: Some(HITS),
            // A hit is where it stands, and not what is around it.
            context: Some(0),
            set: run.settings.clone(),
            fresh: Some(false),
            collection: self.collection.clone(),
            tag: self.tag.clone(),
            path: self.path.clone(),
            ..SearchQuery::default()
        })?;
        run.took_ms.extend(found.took_ms);
        let unhelped = |said: &&String| said.contains(ORDER_KEPT);
        run.unhelped.extend(found.degraded.iter().filter(unhelped).cloned());
        let wanted = if run.mode == Mode::Deep { Mode::Hybrid } else { run.mode };
        if found.mode != wanted {
            let why = found.degraded.unwrap_or_else(|| "`embed.model` is \"none\"".to_owned());
            let (by, wanted) = (name(found.mode), name(wanted));
            bail!("`{}` was searched by {by} instead of {wanted}: {why}", question.query);
        }
        Ok(found.results)
    }

    fn print(&self, runs: &[MeasuredRun], with: &[Question], without: usize, out: &mut Out) {
        let none = if without > 0 { format!(", and {without} without one") } else { String::new() };
        writeln!(out, "{} with an answer{none}; in %, with 95 % intervals\n", count(with.len(), "question"));
        let columns = |cell: &dyn Fn(&str, Measure) -> String| -> String {
            MEASURES.iter().map(|(name, measure)| format!("{:>20}", cell(name, *measure))).collect()
        };
        if !with.is_empty() {
            write!(out, "{:28}", "");
            out.row(&[(TITLE, &format!("{}{:>10}", columns(&|name, _| name.to_owned()), "p50"))]);
        }
        for (at, run) in runs.iter().enumerate().filter(|_| !with.is_empty()) {
            let measured = columns(&|_, measure| percent(&interval(&run.values(measure)), false));
            writeln!(out, "{:28}{measured}{:>7.1} ms", run.title(), run.median_ms());
            if let Some(first) = compared(runs, at) {
                let differs = |measure| difference(&first.values(measure), &run.values(measure));
                write!(out, "{:28}", "  differs by");
                out.row(&[(DIM, &columns(&|_, measure| percent(&differs(measure), true)))]);
            }
        }
        for run in runs.iter().filter(|_| without > 0) {
            let said = "of the questions without an answer got a hit that is more than \"perhaps\"";
            writeln!(out, "\n{}: {} of {without} {said}", run.title(), run.answered_all_the_same);
        }
        for (run, first) in runs.iter().filter_map(|run| Some((run, run.unhelped.first()?))) {
            let (title, unhelped, of) = (run.title(), run.unhelped.len(), with.len() + without);
            writeln!(
                out,
                "\n{title}: in {unhelped} of {of} answers the chat model did not help; the first time because: {first}"
            );
        }
        for run in runs.iter().filter(|_| self.misses) {
            writeln!(out);
            out.row(&[(TITLE, &format!("{}: not among the first five", run.title()))]);
            for (question, _) in
                with.iter().zip(&run.judged).filter(|(_, judged)| judged.first().is_none_or(|at| at > 5))
            {
                let targets: Vec<String> = question.targets.iter().map(ToString::to_string).collect();
                writeln!(out, "- {} → {}", question.query, targets.join(", "));
            }
        }
    }

    fn as_json(&self, runs: &[MeasuredRun], with: &[Question], without: usize) -> Value {
        let each = |interval_of: &dyn Fn(Measure) -> Interval| -> Map<String, Value> {
            MEASURES.iter().map(|(name, measure)| ((*name).to_owned(), json!(interval_of(*measure)))).collect()
        };
        let measured = |run: &MeasuredRun| each(&|measure| interval(&run.values(measure)));
        let differs = |at: usize| {
            let (first, run) = (compared(runs, at)?, &runs[at]);
            Some(each(&|measure| difference(&first.values(measure), &run.values(measure))))
        };
        let questions = |run: &MeasuredRun| -> Vec<Value> {
            let one =
                |(question, judged): (&Question, &Judged)| json!({ "query": question.query, "first": judged.first() });
            with.iter().zip(&run.judged).map(one).collect()
        };
        let as_json = |(at, run): (usize, &MeasuredRun)| {
            json!({
                "mode": run.mode, "set": run.settings, "measures": measured(run), "differs": differs(at),
                "answered_all_the_same": run.answered_all_the_same, "unhelped": run.unhelped.len(),
                "p50_ms": run.median_ms(), "questions": questions(run),
            })
        };
        let runs: Vec<Value> = runs.iter().enumerate().map(as_json).collect();
        json!({ "questions": with.len(), "without_answer": without, "runs": runs })
    }
}

/// The run with the first settings, of one with the second: the one before it, of the same mode.
fn compared(runs: &[MeasuredRun], at: usize) -> Option<&MeasuredRun> {
    runs[..at].last().filter(|before| before.mode == runs[at].mode)
}

impl MeasuredRun {
    fn values(&self, measure: Measure) -> Vec<f64> {
        self.judged.iter().map(measure).collect()
    }

    fn title(&self) -> String {
        match &self.settings {
            None => name(self.mode),
            Some(settings) => format!("{}, {settings}", name(self.mode)),
        }
    }

    /// Of the server's time; 0 of none.
    fn median_ms(&self) -> f64 {
        let mut took = self.took_ms.clone();
        took.sort_by(f64::total_cmp);
        took.get(took.len() / 2).copied().unwrap_or_default()
    }
}

/// Notes that are asked for at once.
const LISTED: usize = 1_000;

/// Names the answers that stand at notes which are not there: each counts as not found.
fn say_absent(questions: &[Question], backend: &mut Backend) -> anyhow::Result<()> {
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
                remark!("vault: `{}`: there is no note `{target}`; this answer counts as not found", question.query);
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

fn place(hit: &HitView) -> HitLocation<'_> {
    let chunk = &hit.chunk;
    let lines = (chunk.line_start, chunk.line_end);
    HitLocation { path: &chunk.path, title: &chunk.title, heading_path: &chunk.heading_path, lines }
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

    #[test]
    fn nothing_has_no_sign() {
        let of = |mean, low, high| Interval { mean, low, high };
        assert_eq!(percent(&of(-0.0, -0.0001, 0.5), false), "0.0 (0.0–50.0)");
        assert_eq!(percent(&of(0.0, -0.0, -0.25), true), "+0.0 (+0.0–-25.0)");
    }
}
