//! `vault model`

mod choose;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use serde_with::skip_serializing_none;

use self::choose::{config_of, find};
use super::backend::{Backend, home};
use super::eval::EvalCommand;
use super::exit::Outcome;
use super::terminal::{BAD, Bar, DIM, Out, PLAIN, TITLE, answer, bytes, count};
use crate::base::config::{Config, EmbedConfig, PoolingChoice, SHIPPED};
use crate::models::{self, Document, KNOWN_MODELS, KnownModel, model_file, models_folder, read_model_file};
use crate::serve::api::endpoints;
use crate::serve::app::App;
use crate::vault::disk::{Home, Lock};

/// List, choose, download and time embedding models, for search by meaning.
///
/// The bundled model needs no set-up. Others are GGUF files: `import` one from this disk, or `pull` it from the web. Both check it, put it
/// into a folder for all your vaults, and make this vault use it, with the prefixes and the pooling it was trained with. For a service
/// (Ollama, OpenAI and others) set `embed.endpoint` in memory.toml. A new model embeds every passage again; the previous one answers until
/// that is done, and its vectors are kept until `vault model gc`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault model list\n  vault model import ~/Downloads/bge-small-en-v1.5-q8_0.gguf\n  vault model bench\n  vault model use bundled"
)]
pub(super) struct ModelCommand {
    #[command(subcommand)]
    action: ModelAction,
}

#[derive(Debug, Subcommand)]
enum ModelAction {
    /// List the installed models, the one in use, and others known to work.
    List,
    /// Make this vault use an installed model. A running daemon switches to it at once.
    ///
    /// Writes its name, prefixes and pooling to memory.toml; comments there stay. "none" means search by words only.
    Use {
        /// "bundled", "none", a name from `vault model list`, or the path of a GGUF file, which stays where it is.
        name: String,
        #[command(flatten)]
        shape: ShapeArgs,
    },
    /// Check a GGUF file, copy it to the folder of models, and make this vault use it.
    ///
    /// The file must be complete, have a supported architecture, and embed a test text.
    Import {
        /// The file.
        file: PathBuf,
        /// Only copy it; keep using the current model.
        #[arg(long)]
        keep: bool,
        #[command(flatten)]
        shape: ShapeArgs,
    },
    /// Download a GGUF file, check it, and make this vault use it.
    ///
    /// An interrupted download resumes. Without --sha256, the checksum is printed for next time.
    Pull {
        /// Its address: https://…/model.gguf.
        address: String,
        /// The expected SHA-256 of the file, as 64 hex digits.
        #[arg(long, value_name = "HEX", value_parser = choose::sha256)]
        sha256: Option<String>,
        /// Only download it; keep using the current model.
        #[arg(long)]
        keep: bool,
        #[command(flatten)]
        shape: ShapeArgs,
    },
    /// Delete the stored vectors of models that are not in use.
    ///
    /// They are kept so that you can switch back to a model at once. `vault status` shows how many there are.
    Gc,
    /// Time a model: time to load, passages per second, and time per query.
    ///
    /// Each passage is 500 characters of English, each query 60. A service is called over the network, and may cost money.
    Bench {
        /// As for `vault model use`; default: the model in use.
        name: Option<String>,
        /// Passages to embed. 1 to 100000.
        #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        passages: u32,
        /// Also embed the whole vault with it, in a separate index, and run `vault eval` on this file; not while a daemon runs.
        #[arg(long, value_name = "FILE")]
        questions: Vec<PathBuf>,
    },
}

impl ModelCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.action {
            ModelAction::List => list(vault),
            ModelAction::Use { name, shape } => choose::use_model(vault, &name, shape),
            ModelAction::Gc => gc(vault),
            ModelAction::Import { file, keep, shape } => choose::import(vault, &file, !keep, shape),
            ModelAction::Pull { address, sha256, keep, shape } => {
                choose::pull(vault, &address, sha256.as_deref(), !keep, shape)
            }
            ModelAction::Bench { name, passages, questions } => {
                bench(vault, name.as_deref(), passages as usize, questions)
            }
        }
    }
}

/// How a model wants its texts, where neither its file nor the table of known models is to say it.
#[derive(Debug, Default, Args)]
pub(super) struct ShapeArgs {
    /// The prefix of each query.
    #[arg(long, value_name = "TEXT")]
    pub(super) query_prefix: Option<String>,
    /// The prefix of each passage.
    #[arg(long, value_name = "TEXT")]
    pub(super) document_prefix: Option<String>,
    /// How the vectors of a text's tokens become one.
    #[arg(long)]
    pub(super) pooling: Option<PoolingChoice>,
}

/// A model that is here, or that the configuration names.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
struct ListedModel {
    /// What `vault model use` takes.
    name: String,
    in_use: bool,
    path: Option<PathBuf>,
    bytes: Option<u64>,
    architecture: Option<String>,
    dimension: Option<usize>,
    pooling: Option<&'static str>,
    /// The known model that it is.
    known: Option<&'static str>,
    languages: Option<&'static str>,
    licence: Option<String>,
    /// Why it cannot be used.
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct ModelList {
    /// Where models are put.
    folder: PathBuf,
    models: Vec<ListedModel>,
    known: &'static [KnownModel],
}

impl ListedModel {
    fn named(name: String, in_use: bool) -> Self {
        Self { name, in_use, ..Self::default() }
    }

    fn bundled(in_use: bool) -> Self {
        let known = &KNOWN_MODELS[0];
        Self { dimension: Some(known.dimension), pooling: Some(known.pooling), ..Self::named("bundled".into(), in_use) }
            .with(known)
    }

    fn file(name: String, path: PathBuf, in_use: bool) -> Self {
        let listed = Self::named(name, in_use);
        let file = match read_model_file(&path) {
            Ok(file) => file,
            Err(error) => return Self { path: Some(path), problem: Some(error.to_string()), ..listed },
        };
        let listed = Self {
            path: Some(path),
            bytes: Some(file.bytes),
            architecture: Some(file.architecture.clone()),
            dimension: Some(file.dimension),
            pooling: file.pooling,
            licence: file.licence.clone(),
            ..listed
        };
        match KnownModel::of(&file) {
            Some(known) => listed.with(known),
            None => listed,
        }
    }

    fn with(self, known: &'static KnownModel) -> Self {
        let licence = Some(self.licence.unwrap_or_else(|| known.licence.into()));
        Self { known: Some(known.name), languages: Some(known.languages), licence, ..self }
    }

    /// What is known of it, in a line.
    fn about(&self) -> String {
        let dimension = self.dimension.map(|dimension| format!("{dimension} numbers"));
        let size = self.bytes.map(bytes);
        let known = self.known.filter(|known| !self.name.starts_with(known)).map(str::to_owned);
        let languages = self.languages.map(str::to_owned);
        let parts = [known, dimension, languages, self.licence.clone(), size];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn list(vault: Option<&Path>) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let config = Config::load(home.root())?.embed;
    let folder = models_folder();
    let is_local = config.endpoint.is_empty();
    let used = model_file(&config.model, home.root());
    let mut models = vec![ListedModel::bundled(is_local && config.model == "bundled")];
    if !is_local && config.model != "none" {
        models.push(ListedModel::named(format!("{} at {}", config.model, config.endpoint), true));
    }
    for path in model_files(&folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let in_use = is_local && path == used;
        models.push(ListedModel::file(name, path, in_use));
    }
    // One that lies elsewhere, or is gone.
    if is_local && !["bundled", "none"].contains(&config.model.as_str()) && !models.iter().any(|model| model.in_use) {
        models.push(ListedModel::file(config.model, used, true));
    }
    let list = ModelList { folder, models, known: &KNOWN_MODELS };
    answer(&list, true, |out| print(&list, out))
}

/// The models in a folder, by name.
fn model_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_model = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    let mut files: Vec<PathBuf> = entries.filter(is_model).collect();
    files.sort();
    files
}

fn print(list: &ModelList, out: &mut Out) -> anyhow::Result<()> {
    for model in &list.models {
        write!(out, "{} ", if model.in_use { "*" } else { " " })?;
        let about = model.about();
        let said = model.problem.as_ref().map_or((DIM, &about), |problem| (BAD, problem));
        out.row(&[(TITLE, &model.name), (said.0, said.1)])?;
    }
    if !list.models.iter().any(|model| model.in_use) {
        writeln!(out, "\nnone of them is used: search works by words only")?;
    }
    let here = |known: &&KnownModel| list.models.iter().any(|model| model.known == Some(known.name));
    let missing: Vec<&KnownModel> = list.known.iter().filter(|known| !here(known)).collect();
    if !missing.is_empty() {
        writeln!(out, "\nknown to work, not installed (`vault model import FILE`, `vault model pull ADDRESS`):")?;
    }
    for known in missing {
        let about = format!("{} numbers, {}, {}", known.dimension, known.languages, known.licence);
        out.row(&[(PLAIN, &format!("  {}", known.name)), (DIM, &about)])?;
    }
    Ok(())
}

pub(super) fn gc(vault: Option<&Path>) -> anyhow::Result<Outcome> {
    let mut backend = Backend::open(vault, |_| {})?;
    backend.catch_up(true)?;
    let dropped = backend.ask(&endpoints::routes::DROP_KEPT_VECTORS, &())?;
    answer(&dropped, true, |out| match dropped.dropped {
        0 => Ok(writeln!(out, "there are no vectors of other models")?),
        some => Ok(writeln!(out, "deleted {} of other models", count(some, "vector"))?),
    })
}

/// Number of passages that the model is given at a time, as when a vault is indexed.
const BATCH: usize = 24;
const PASSAGE_CHARS: usize = 500;
const QUERIES: usize = 50;
const QUERY_CHARS: usize = 60;

pub(super) fn bench(
    vault: Option<&Path>,
    name: Option<&str>,
    passages: usize,
    questions: Vec<PathBuf>,
) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let config = match name {
        None => Config::load(home.root())?.embed,
        Some(name @ ("bundled" | "none")) => EmbedConfig { model: name.into(), ..EmbedConfig::default() },
        Some(name) => config_of(&find(name, home.root())?)?,
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
        model.embed(batch, None).context("cannot embed a passage")?;
        let done = (at + 1) * BATCH;
        bar.show(done.min(passages), passages.saturating_sub(done));
    }
    let embedding = begun.elapsed();
    bar.finish();
    let mut queries = Vec::with_capacity(QUERIES);
    for query in pieces(QUERY_CHARS, QUERIES) {
        let begun = Instant::now();
        model.embed_query(&query, None).context("cannot embed a query")?;
        queries.push(begun.elapsed());
    }
    queries.sort();
    let rate = passages as f64 / embedding.as_secs_f64().max(1e-9);
    let all: Duration = queries.iter().sum();
    let query_rate = QUERIES as f64 / all.as_secs_f64().max(1e-9);
    let (half, most) = (queries[QUERIES / 2], queries[QUERIES * 95 / 100]);
    let measured = json!({
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
    });
    let done = answer(&measured, true, |out| {
        let computed =
            model.instructions().map(|instructions| format!("computed with {instructions}, ")).unwrap_or_default();
        let [loaded, half, most] = [loaded, half, most].map(milliseconds);
        writeln!(out, "{}, {} numbers, {computed}ready after {loaded} ms", model.name(), model.dimension())?;
        writeln!(out, "passages   {rate:.1} a second ({passages} of {PASSAGE_CHARS} characters)")?;
        Ok(writeln!(
            out,
            "queries    {query_rate:.1} a second, one after the other; half within {half} ms, 95 of 100 within {most} ms"
        )?)
    })?;
    drop(model);
    match lock {
        Some(lock) => answers(home, config, lock, questions),
        None => Ok(done),
    }
}

/// The right to have the vault to oneself.
fn alone(home: &Home) -> anyhow::Result<Lock> {
    home.lock().context("--questions needs the vault without a daemon: stop `vault serve` first")
}

/// Embeds the vault with a model, in a folder of its own, and measures how well questions are answered.
fn answers(home: Home, embed: EmbedConfig, lock: Lock, questions: Vec<PathBuf>) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder for another index")?;
    let mut config = Config { embed, ..Config::load(home.root())? };
    folder.path().clone_into(&mut config.index.dir);
    let mut backend = Backend::of(App::start(home, config, lock, false)?)?;
    EvalCommand::of(questions).measure(&mut backend)
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
