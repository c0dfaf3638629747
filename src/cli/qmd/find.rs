//! `qmd search`, `qmd vsearch` and `qmd query`

use std::collections::HashSet;

use clap::Args;
use serde_json::json;

use super::get::INDEX_MARK;
use super::index::{QmdIndex, get_as_agent};
use super::shapes::{FOR_QMD, QmdFormat, QmdFormatArgs, QmdHit, on_disk, print_hits};
use crate::base::config::Mode;
use crate::cli::exit::Outcome;
use crate::serve::qmd::{DEFAULT_NAME, QmdCollection};
use crate::serve::wire::{HitView, SearchQuery, SearchResponse};

/// Hits when nobody says how many, for people and for programs.
const SHOWN_HITS: usize = 5;
const LISTED_HITS: usize = 20;
/// Hits when all are wanted.
pub(super) const ALL_HITS: usize = 1000;

/// Maximum length of what is asked of a query, in characters: 16,000 bytes at most. No more of its words count, nor does a model read
/// more.
const MAX_QUERY_CHARS: usize = 4_000;

/// Maximum length of a snippet, in characters.
const MAX_SNIPPET_CHARS: usize = 700;

/// What to look for, and how to print it.
#[derive(Debug, Args)]
pub(super) struct QmdFindArgs {
    /// What to look for.
    #[arg(required = true)]
    query: Vec<String>,
    /// Hits at most; 5, or 20 as JSON or as a list of files, unless told.
    #[arg(short = 'n', long = "limit", value_name = "N")]
    number: Option<usize>,
    /// Only this collection; may be given several times.
    #[arg(short, long, value_name = "NAME")]
    collection: Vec<String>,
    /// Only hits that are as likely to answer, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = share)]
    min_score: f64,
    /// All hits.
    #[arg(long)]
    all: bool,
    /// Whole documents instead of the lines that answer.
    #[arg(long)]
    full: bool,
    /// Say of each hit what its score is made of.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    format: QmdFormatArgs,
    /// No model reads the hits unless the index's memory.toml says so.
    #[arg(long, help_heading = FOR_QMD)]
    no_rerank: bool,
    /// The same.
    #[arg(short = 'C', long, value_name = "N", help_heading = FOR_QMD)]
    candidate_limit: Option<String>,
    /// Notes are cut at their headings and paragraphs.
    #[arg(long, value_name = "NAME", help_heading = FOR_QMD)]
    chunk_strategy: Option<String>,
    /// What the query is about.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    intent: Option<String>,
}

impl QmdFindArgs {
    pub(super) fn run(self, index: &mut QmdIndex, mode: Mode) -> anyhow::Result<Outcome> {
        let format = self.format.format();
        let usual = if matches!(format, QmdFormat::Json | QmdFormat::Files) { LISTED_HITS } else { SHOWN_HITS };
        let query = self.query.join(" ");
        let search = QmdSearch {
            query: self.intent.map_or_else(|| query.clone(), |intent| format!("{query}\nintent: {intent}")),
            mode,
            collections: self.collection,
            limit: if self.all { ALL_HITS } else { self.number.filter(|number| *number > 0).unwrap_or(usual) },
            min_score: self.min_score,
            full: self.full,
            explain: self.explain,
        };
        let mut hits = search.run(index)?;
        for hit in &mut hits {
            match self.format.full_path {
                true => hit.address = on_disk(index, &hit.document),
                // An address of an index that has a name leads to it, whatever index is asked for that next.
                false if index.place.name != DEFAULT_NAME => {
                    hit.address += &format!("{INDEX_MARK}{}", index.place.name);
                }
                false => {}
            }
        }
        print_hits(&hits, &self.format)?;
        Ok(Outcome::Done)
    }
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "it takes a number from 0 to 1".into())
}

/// A search of an index.
#[derive(Debug, Clone)]
pub(super) struct QmdSearch {
    pub(super) query: String,
    pub(super) mode: Mode,
    /// All that are not left out unless they are named, where none is.
    pub(super) collections: Vec<String>,
    /// Hits at most.
    pub(super) limit: usize,
    /// Only hits that are as likely to answer, 0 to 1.
    pub(super) min_score: f64,
    /// Whether hits have their whole documents.
    pub(super) full: bool,
    /// Whether hits say what their scores are made of.
    pub(super) explain: bool,
}

impl QmdSearch {
    /// One hit a document, the best first.
    ///
    /// # Errors
    /// When a collection is not there, or the index cannot be asked.
    pub(super) fn run(&self, index: &mut QmdIndex) -> anyhow::Result<Vec<QmdHit>> {
        let named = self.collections.iter().map(|name| index.collections.required(name));
        let named: Vec<&QmdCollection> = named.collect::<Result<_, _>>()?;
        let limit = self.limit.clamp(1, ALL_HITS);
        let mut hits = Vec::new();
        if !self.query.trim().is_empty() && !index.collections.collections.is_empty() {
            let mut client = index.client()?;
            let all = &index.collections.collections;
            let counts: Vec<&QmdCollection> = match named.is_empty() {
                true => all.iter().filter(|collection| !collection.is_left_out).collect(),
                false => named,
            };
            let asked: Vec<Option<String>> = match self.collections.is_empty() && counts.len() == all.len() {
                true => vec![None],
                false => counts.iter().map(|collection| Some(collection.name_in_vault())).collect(),
            };
            let query = SearchQuery {
                q: self.query.chars().take(MAX_QUERY_CHARS).collect(),
                mode: Some(self.mode),
                limit: Some(limit),
                min_score: Some(self.min_score.clamp(0.0, 1.0)),
                ..SearchQuery::default()
            };
            for collection in asked {
                let query = SearchQuery { collection, ..query.clone() };
                let found: SearchResponse = get_as_agent(&mut client, "/api/user-memory/search", &query)?;
                hits.extend(scored(found.results));
            }
        }
        let mut hits = self.merged(index, hits)?;
        hits.truncate(limit);
        Ok(hits)
    }

    /// One hit a file, the best, the best files first; with what is given of it.
    fn merged(&self, index: &mut QmdIndex, mut hits: Vec<(f64, HitView)>) -> anyhow::Result<Vec<QmdHit>> {
        hits.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let words: Vec<String> = self.query.split_whitespace().map(str::to_lowercase).collect();
        let mut given = HashSet::new();
        let mut merged = Vec::new();
        for (score, hit) in hits {
            let Some((collection, path)) = index.collections.place(&hit.chunk.path) else { continue };
            let (name, path) = (collection.name.clone(), path.to_owned());
            // What its file does not say any more, or not to programs, is no hit.
            let Some(document) = index.documents.look(&name, &path)? else { continue };
            let Some(text) = index.documents.text(&document)? else { continue };
            if !given.insert(index.documents.on_disk(&document)) {
                continue;
            }
            let lines: Vec<&str> = text.split('\n').collect();
            let first = (hit.chunk.line_start as usize).clamp(1, lines.len());
            let last = (hit.chunk.line_end as usize).clamp(first, lines.len());
            let words_in = |line: &str| {
                let line = line.to_lowercase();
                words.iter().filter(|word| line.contains(*word)).count()
            };
            // The first of those with the most.
            let line = (first..=last).rev().max_by_key(|at| words_in(lines[at - 1])).unwrap_or(first);
            let shown: String = lines[first - 1..last].join("\n").chars().take(MAX_SNIPPET_CHARS).collect();
            let snippet = format!(
                "@@ -{first},{} @@ ({} before, {} after)\n{shown}",
                last + 1 - first,
                first - 1,
                lines.len() - last
            );
            let body = self.full.then(|| text.clone());
            let explained =
                self.explain.then(|| json!({ "score": hit.score, "relevance": hit.relevance, "scores": hit.scores }));
            let (context, address) = (index.context_of(&document), document.address());
            merged.push(QmdHit { document, address, score, first, last, line, context, snippet, body, explained });
        }
        Ok(merged)
    }
}

/// The hits with scores from 0 to 1 that compare with those of other searches, and that order them as they are.
fn scored(hits: Vec<HitView>) -> Vec<(f64, HitView)> {
    let mut scored: Vec<(f64, HitView)> =
        hits.into_iter().map(|hit| (hit.relevance.unwrap_or(hit.score).clamp(0.0, 1.0), hit)).collect();
    // One that comes before another is as likely as that, whatever put it there.
    let mut least = 0.0_f64;
    for (score, _) in scored.iter_mut().rev() {
        least = least.max(*score);
        *score = least;
    }
    scored
}
