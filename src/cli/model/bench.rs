//! `vault model bench`

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;

use super::super::backend::{Backend, home};
use super::super::eval::EvalCommand;
use super::super::exit::Outcome;
use super::super::progress::Bar;
use super::super::terminal::{say, stdout};
use super::choose::{config_of, find};
use crate::app::App;
use crate::config::{Config, EmbedConfig, SHIPPED};
use crate::models::{self, Document, ModelConfig};
use crate::vault::{Home, Lock};

/// Number of passages that the model is given at a time, as when a vault is indexed.
const BATCH: usize = 24;
const PASSAGE_CHARS: usize = 500;
const QUERIES: usize = 50;
const QUERY_CHARS: usize = 60;

pub(super) fn run(
    vault: Option<&Path>,
    name: Option<&str>,
    passages: usize,
    questions: Vec<PathBuf>,
    json: bool,
) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let config = match name {
        None => ModelConfig::of(&Config::load(home.root())?),
        Some(name @ ("bundled" | "none")) => EmbedConfig { model: name.into(), ..EmbedConfig::default() }.into(),
        Some(name) => config_of(&find(name, home.root())?)?.into(),
    };
    let index = home.index_dir(&Config::load(home.root())?.index.dir);
    // Before anything takes its time.
    let lock = if questions.is_empty() { None } else { Some(alone(&home)?) };
    let Some(mut open) = models::open(&config, home.root(), &index) else {
        bail!("`embed.model` is \"none\": name a model to time");
    };
    let begun = Instant::now();
    let model = open()?;
    let loaded = begun.elapsed();

    let texts: Vec<Document> = pieces(PASSAGE_CHARS, passages)
        .into_iter()
        .map(|text| Document { context: String::new(), text, ..Document::default() })
        .collect();
    let bar = Bar::embeddings();
    let begun = Instant::now();
    for (at, batch) in texts.chunks(BATCH).enumerate() {
        model.embed(batch, None).context("a passage could not be embedded")?;
        let done = (at + 1) * BATCH;
        bar.show(done.min(passages), passages.saturating_sub(done));
    }
    let embedding = begun.elapsed();
    bar.finish();
    let mut queries = Vec::with_capacity(QUERIES);
    for query in pieces(QUERY_CHARS, QUERIES) {
        let begun = Instant::now();
        model.embed_query(&query, None).context("a query could not be embedded")?;
        queries.push(begun.elapsed());
    }
    queries.sort();
    let rate = passages as f64 / embedding.as_secs_f64().max(1e-9);
    let all: Duration = queries.iter().sum();
    let query_rate = QUERIES as f64 / all.as_secs_f64().max(1e-9);
    let (half, most) = (queries[QUERIES / 2], queries[QUERIES * 95 / 100]);
    if json {
        stdout().json(&json!({
            "model": model.name(),
            "dimension": model.dimension(),
            "instructions": model.instructions(),
            "load_ms": milliseconds(loaded),
            "passages": passages,
            "passages_per_second": rounded(rate),
            "queries": QUERIES,
            "queries_per_second": rounded(query_rate),
            "query_p50_ms": milliseconds(half),
            "query_p95_ms": milliseconds(most),
        }))?;
    } else {
        let computed =
            model.instructions().map(|instructions| format!("computed with {instructions}, ")).unwrap_or_default();
        say!("{}, {} numbers, {computed}ready after {} ms", model.name(), model.dimension(), milliseconds(loaded))?;
        say!("passages   {rate:.1} a second ({passages} of {PASSAGE_CHARS} characters)")?;
        say!(
            "queries    {query_rate:.1} a second, one after the other; half within {} ms, 95 of 100 within {} ms",
            milliseconds(half),
            milliseconds(most)
        )?;
    }
    drop(model);
    match lock {
        Some(lock) => answers(home, config.embed, lock, questions, json),
        None => Ok(Outcome::Done),
    }
}

/// The right to have the vault to oneself.
fn alone(home: &Home) -> anyhow::Result<Lock> {
    home.lock().context("the questions are asked without a daemon: stop `vault serve` first")
}

/// Embeds the vault with a model, in a folder of its own, and measures how well questions are answered.
fn answers(home: Home, embed: EmbedConfig, lock: Lock, questions: Vec<PathBuf>, json: bool) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir().context("there is no room for another index")?;
    let mut config = Config { embed, ..Config::load(home.root())? };
    folder.path().clone_into(&mut config.index.dir);
    let mut backend = Backend::of(App::start(home, config, lock, false)?)?;
    EvalCommand::of(questions, json).measure(&mut backend)
}

/// So many pieces of English prose, none like another: each begins one character later in what this program says of its configuration.
fn pieces(length: usize, count: usize) -> Vec<String> {
    let prose: Vec<char> = SHIPPED.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let piece = |at: usize| {
        // Far from the one before, so that no cache and no luck has a part in it.
        let start = (at * 331) % prose.len();
        let text: String = prose.iter().cycle().skip(start).take(length).collect();
        format!("{at} {text}")
    };
    (0..count).map(piece).collect()
}

fn milliseconds(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1e3)
}

fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
