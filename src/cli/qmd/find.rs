//! `qmd search`, `qmd vsearch` and `qmd query`

use std::collections::HashMap;

use clap::Args;
use serde_json::{Value, json};

use super::collection::not_found;
use super::index::QmdIndex;
use super::shapes::{QmdFormat, QmdFormatArgs, QmdHit, numbered};
use crate::cli::outcome::Outcome;
use crate::config::Mode;
use crate::wire::{HitView, SearchQuery, SearchResponse};

/// Hits when nobody says how many, for people and for programs.
const SHOWN_HITS: usize = 5;
const LISTED_HITS: usize = 20;
const ALL_HITS: usize = 1000;

/// Characters of a snippet at most.
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
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
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
    /// Taken for QMD's sake: no model reads the hits unless the index's memory.toml says so.
    #[arg(long, hide = true)]
    no_rerank: bool,
    /// Taken for QMD's sake.
    #[arg(short = 'C', long, hide = true, value_name = "N")]
    candidate_limit: Option<usize>,
    /// What the query is about.
    #[arg(long, hide = true, value_name = "TEXT")]
    intent: Option<String>,
}

impl QmdFindArgs {
    pub(super) fn run(self, index: &mut QmdIndex, mode: Mode) -> anyhow::Result<Outcome> {
        let format = self.format.format();
        if let Some(missing) = self.collection.iter().find(|name| index.collections.named(name).is_none()) {
            return not_found(missing);
        }
        let usual = if matches!(format, QmdFormat::Json | QmdFormat::Files) { LISTED_HITS } else { SHOWN_HITS };
        let limit = if self.all { ALL_HITS } else { self.number.unwrap_or(usual).clamp(1, ALL_HITS) };
        let mut query = self.query.join(" ");
        if let Some(intent) = &self.intent {
            query = format!("{query}\nintent: {intent}");
        }
        let mut hits = Vec::new();
        if !query.trim().is_empty() && !index.collections.collections.is_empty() {
            let mut client = index.client()?;
            let within = |name: &String| index.collections.named(name).map(|collection| collection.name_in_vault());
            let mut asked: Vec<Option<String>> = self.collection.iter().map(within).collect();
            asked.dedup();
            if asked.is_empty() {
                asked.push(None);
            }
            for collection in asked {
                let found: SearchResponse = client.get(
                    "/api/user-memory/search",
                    &SearchQuery {
                        q: query.clone(),
                        mode: Some(mode),
                        collection,
                        limit: Some(limit),
                        min_score: Some(self.min_score.clamp(0.0, 1.0)),
                        ..SearchQuery::default()
                    },
                )?;
                hits.extend(scored(found.results));
            }
        }
        let mut hits = self.merged(index, hits)?;
        hits.truncate(limit);
        super::shapes::print_hits(&hits, format)?;
        Ok(Outcome::Done)
    }

    /// One hit a file, the best, the best files first; with what is printed of it.
    fn merged(&self, index: &mut QmdIndex, mut hits: Vec<(f64, HitView)>) -> anyhow::Result<Vec<QmdHit>> {
        hits.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let mut given = HashMap::new();
        let mut merged = Vec::new();
        for (score, hit) in hits {
            let Some((collection, path)) = index.collections.place(&hit.chunk.path) else { continue };
            let (name, path) = (collection.name.clone(), path.to_owned());
            let context = index.collections.context_of(collection, &path);
            // What its file does not say any more, or not to programs, is no hit.
            let Some(document) = index.documents.look(&name, &path)? else { continue };
            let Some(text) = index.documents.text(&document)? else { continue };
            if given.insert(index.documents.on_disk(&document), ()).is_some() {
                continue;
            }
            let lines: Vec<&str> = text.lines().collect();
            let first = (hit.chunk.line_start as usize).clamp(1, lines.len().max(1));
            let last = (hit.chunk.line_end as usize).clamp(first, lines.len().max(1));
            let numbers = self.format.line_numbers;
            let passage = lines.get(first - 1..last.min(lines.len())).unwrap_or_default();
            let shown = if numbers { numbered(passage, first) } else { passage.join("\n") };
            let shown: String = shown.chars().take(MAX_SNIPPET_CHARS).collect();
            let snippet = format!(
                "@@ -{first},{} @@ ({} before, {} after)\n{shown}",
                last + 1 - first,
                first - 1,
                lines.len().saturating_sub(last)
            );
            let body = self.full.then(|| if numbers { numbered(&lines, 1) } else { text.clone() });
            let explained = self.explain.then(|| explained(&hit));
            merged.push(QmdHit { document, score, first, last, context, snippet, body, explained });
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

fn explained(hit: &HitView) -> Value {
    json!({ "score": hit.score, "relevance": hit.relevance, "scores": hit.scores })
}
