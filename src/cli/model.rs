//! `vault model`: models are listed; one that is chosen is checked, and memory.toml names it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use serde_with::skip_serializing_none;

use super::backend::{Backend, home};
use super::eval::name;
use super::terminal::{BAD, Bar, DIM, Out, Outcome, PLAIN, TITLE, answer, bytes, count, is_in_json, remark, say};
use crate::base::config::{Config, EmbedConfig, PoolingChoice};
use crate::base::fs::create_dir;
use crate::models::{self, KNOWN_MODELS, KnownModel, ModelFile, download, model_file, models_folder, read_model_file};
use crate::serve::api::endpoints;
use crate::serve::wire::ModelReloaded;
use crate::vault::disk::Home;

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
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
    /// Without --sha256, the checksum is printed for next time.
    Pull {
        /// Its address: https://…/model.gguf.
        address: String,
        /// The expected SHA-256 of the file, as 64 hex digits.
        #[arg(long, value_name = "HEX", value_parser = sha256)]
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
}

impl ModelCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        match self {
            Self::List => list(&home),
            Self::Use { name, shape } => use_model(&home, &name, shape),
            Self::Gc => gc(vault),
            Self::Import { file, keep, shape } => import(&home, &file, !keep, shape),
            Self::Pull { address, sha256, keep, shape } => pull(&home, &address, sha256.as_deref(), !keep, shape),
        }
    }
}

/// How a model wants its texts, where neither its file nor the table of known models is to say it.
#[derive(Debug, Default, Args)]
pub(super) struct ShapeArgs {
    /// The prefix of each query.
    #[arg(long, value_name = "TEXT")]
    query_prefix: Option<String>,
    /// The prefix of each passage.
    #[arg(long, value_name = "TEXT")]
    document_prefix: Option<String>,
    /// How the vectors of a text's tokens become one.
    #[arg(long)]
    pooling: Option<PoolingChoice>,
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
    pooling: Option<PoolingChoice>,
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
    fn file(name: String, path: PathBuf, in_use: bool) -> Self {
        let listed = Self { name, in_use, path: Some(path.clone()), ..Self::default() };
        let file = match read_model_file(&path) {
            Ok(file) => file,
            Err(error) => return Self { problem: Some(error.to_string()), ..listed },
        };
        let listed = Self {
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

fn list(home: &Home) -> anyhow::Result<Outcome> {
    let config = Config::load(home.root())?.embed;
    let folder = models_folder();
    let is_local = config.endpoint.is_empty();
    let used = model_file(&config.model, home.root());
    let known = &KNOWN_MODELS[0];
    let (dimension, pooling) = (Some(known.dimension), Some(known.pooling));
    let in_use = is_local && config.model == "bundled";
    let bundled = ListedModel { name: "bundled".into(), in_use, dimension, pooling, ..ListedModel::default() };
    let mut models = vec![bundled.with(known)];
    if !is_local && config.model != "none" {
        let name = format!("{} at {}", config.model, config.endpoint);
        models.push(ListedModel { name, in_use: true, ..ListedModel::default() });
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

fn print(list: &ModelList, out: &mut Out) {
    for model in &list.models {
        let about = model.about();
        let (style, said) = model.problem.as_ref().map_or((DIM, &about), |problem| (BAD, problem));
        write!(out, "{} ", if model.in_use { "*" } else { " " });
        out.row(&[(TITLE, &model.name), (style, said)]);
    }
    if !list.models.iter().any(|model| model.in_use) {
        writeln!(out, "\nnone of them is used: search works by words only");
    }
    let here = |known: &&KnownModel| list.models.iter().any(|model| model.known == Some(known.name));
    let missing: Vec<&KnownModel> = list.known.iter().filter(|known| !here(known)).collect();
    let heading = "\nknown to work, not installed (`vault model import FILE`, `vault model pull ADDRESS`):";
    out.section(heading, &missing, |known, out| {
        let about = format!("{} numbers, {}, {}", known.dimension, known.languages, known.licence);
        out.row(&[(PLAIN, &format!("  {}", known.name)), (DIM, &about)]);
    });
}

fn gc(vault: Option<&Path>) -> anyhow::Result<Outcome> {
    let mut backend = Backend::open(vault, |_| {})?;
    backend.catch_up(true)?;
    let dropped = backend.ask(&endpoints::routes::DROP_KEPT_VECTORS, &())?;
    answer(&dropped, true, |out| match dropped.dropped {
        0 => writeln!(out, "there are no vectors of other models"),
        some => writeln!(out, "deleted {} of other models", count(some, "vector")),
    })
}

/// What memory.toml says of a model.
struct Chosen {
    embed: EmbedConfig,
    /// What the model calls itself, once it is opened.
    is: Option<String>,
    dimension: Option<usize>,
}

/// Takes 64 hex digits.
fn sha256(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase()).ok_or_else(|| "a SHA-256 has 64 hex digits".into())
}

fn use_model(home: &Home, name: &str, shape: ShapeArgs) -> anyhow::Result<Outcome> {
    let chosen = if ["bundled", "none"].contains(&name) {
        Chosen { embed: shaped(name, None, shape), is: None, dimension: None }
    } else {
        let path = find(name, home.root())?;
        checked(&path, &path_in_config(&path, home), shape, home)?
    };
    settle(home, chosen, true, None)
}

fn import(home: &Home, file: &Path, used: bool, shape: ShapeArgs) -> anyhow::Result<Outcome> {
    let file = &std::path::absolute(file)?;
    let name = file_name(file)?;
    // It is known to work before anything is copied.
    let chosen = checked(file, &name, shape, home)?;
    let target = kept_as(&name)?;
    if target != *file {
        copy(file, &target).with_context(|| format!("cannot copy the model to {}", target.display()))?;
    }
    settle(home, chosen, used, Some(&target))
}

fn pull(home: &Home, address: &str, wanted: Option<&str>, used: bool, shape: ShapeArgs) -> anyhow::Result<Outcome> {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let name = file_name(Path::new(path.rsplit('/').next().unwrap_or_default()))
        .with_context(|| format!("{address} is not the address of a GGUF file"))?;
    let target = kept_as(&name)?;
    let bar = Bar::bytes("downloading");
    let got = download(address, &target, wanted, &mut |done, left| bar.show(done as usize, left as usize));
    bar.finish();
    let (fetched, sha256) = got?;
    // What is no model is not kept, and takes no other's place.
    let chosen = checked(fetched.path(), &name, shape, home)?;
    fetched.persist(&target).with_context(|| format!("cannot write {}", target.display()))?;
    if wanted.is_none() && !is_in_json() {
        say!("its SHA-256 is {sha256}");
    }
    settle(home, chosen, used, Some(&target))
}

/// Where a file of a name is put.
fn kept_as(name: &str) -> anyhow::Result<PathBuf> {
    let folder = models_folder();
    create_dir(&folder)?;
    Ok(folder.join(name))
}

/// The name of a GGUF file, as it is kept.
fn file_name(path: &Path) -> anyhow::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !name.to_ascii_lowercase().ends_with(".gguf") || name.starts_with('.') {
        bail!("{} is not a GGUF file name: use NAME.gguf", path.display());
    }
    Ok(name.to_owned())
}

/// The file that a name means.
fn find(name: &str, root: &Path) -> anyhow::Result<PathBuf> {
    // As the shell means it, and not from the vault's folder.
    let given = std::path::absolute(name)?;
    let folder = models_folder();
    let candidates = [model_file(name, root), folder.join(format!("{name}.gguf")), given, folder.join(name)];
    candidates
        .iter()
        .find(|path| path.is_file())
        .cloned()
        .with_context(|| format!("there is no model {name:?}: `vault model list` lists those in {}", folder.display()))
}

/// How memory.toml names a file: by its name alone where models are, from the vault's folder within it, and by its whole path elsewhere
/// or where that would name another one.
fn path_in_config(path: &Path, home: &Home) -> String {
    let folder = models_folder();
    let short = path.strip_prefix(&folder).or_else(|_| path.strip_prefix(home.root())).unwrap_or(path);
    let short = short.to_string_lossy();
    let means_it = model_file(&short, home.root()) == path && !["bundled", "none"].contains(&short.as_ref());
    if means_it { short.into_owned() } else { path.to_string_lossy().into_owned() }
}

/// What memory.toml is to say of a model.
fn shaped(model: &str, file: Option<&ModelFile>, shape: ShapeArgs) -> EmbedConfig {
    let known = file.and_then(KnownModel::of);
    let of = |said: Option<String>, known: Option<&str>| said.unwrap_or_else(|| known.unwrap_or_default().to_owned());
    // Where the file does not say it, or is known to say it wrong.
    let pooling = known.map(|known| known.pooling).filter(|known| file.and_then(|file| file.pooling) != Some(*known));
    EmbedConfig {
        model: model.to_owned(),
        query_prefix: of(shape.query_prefix, known.map(|known| known.query_prefix)),
        document_prefix: of(shape.document_prefix, known.map(|known| known.document_prefix)),
        pooling: shape.pooling.or(pooling).unwrap_or(PoolingChoice::Auto),
        ..EmbedConfig::default()
    }
}

/// Has the daemon load what memory.toml names now.
fn reload(home: &Home) -> anyhow::Result<ModelReloaded> {
    let mut backend = Backend::open(Some(home.root()), |_| {})?;
    if !backend.is_served() {
        bail!("it has just stopped");
    }
    backend.ask(&endpoints::routes::RELOAD_MODEL, &())
}

/// Checks a file: its header, and whether it embeds a text. `named` is how memory.toml is to name it.
fn checked(path: &Path, named: &str, shape: ShapeArgs, home: &Home) -> anyhow::Result<Chosen> {
    let embed = shaped(named, Some(&read_model_file(path)?), shape);
    let config = EmbedConfig { threads: 1, model: path.to_string_lossy().into_owned(), ..embed.clone() };
    let opened = models::open(&config, home.root()).map(|mut open| open()).transpose()?;
    let is = opened.as_ref().map(|embedder| embedder.name().to_owned());
    Ok(Chosen { embed, is, dimension: opened.map(|embedder| embedder.dimension()) })
}

/// Copies a file so that it is there whole or not at all.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut beside = tempfile::NamedTempFile::new_in(models_folder())?;
    std::io::copy(&mut fs::File::open(from)?, &mut beside)?;
    beside.as_file().sync_all()?;
    beside.persist(to)?;
    Ok(())
}

/// Has memory.toml name the model, unless it is only kept, and says what was done.
fn settle(home: &Home, mut chosen: Chosen, used: bool, kept: Option<&Path>) -> anyhow::Result<Outcome> {
    if let Some(kept) = kept {
        chosen.embed.model = path_in_config(kept, home);
    }
    let before = Config::load(home.root())?.embed;
    let embed = &chosen.embed;
    let pooling = [before.pooling, embed.pooling].map(name);
    let wanted = [
        ("model", before.model.as_str(), embed.model.as_str()),
        ("query_prefix", &before.query_prefix, &embed.query_prefix),
        ("document_prefix", &before.document_prefix, &embed.document_prefix),
        ("pooling", &pooling[0], &pooling[1]),
        ("endpoint", &before.endpoint, ""),
    ];
    let changes: Vec<_> = wanted
        .iter()
        .filter(|(_, before, after)| used && before != after)
        .map(|(key, _, after)| (*key, (*after).into()))
        .collect();
    if !changes.is_empty() {
        Config::set_values(home.root(), "embed", &changes)?;
    }
    let settled = json!({
        "model": embed.model,
        "name": chosen.is,
        "dimension": chosen.dimension,
        "query_prefix": embed.query_prefix,
        "document_prefix": embed.document_prefix,
        "pooling": embed.pooling,
        "path": kept,
        "used": used,
        "changed": changes.iter().map(|(key, _)| format!("embed.{key}")).collect::<Vec<_>>(),
    });
    answer(&settled, true, |out| {
        let name = chosen.is.as_deref().unwrap_or(&embed.model);
        if let Some(kept) = kept {
            writeln!(out, "{name} works, and is in {}", kept.display());
        }
        if !used {
            writeln!(out, "use it with `vault model use {}`", embed.model);
        } else if changes.is_empty() {
            writeln!(out, "memory.toml names it already");
        } else {
            let keys: Vec<String> = changes.iter().map(|(key, _)| format!("`embed.{key}`")).collect();
            writeln!(out, "memory.toml: {} set for {name}", keys.join(", "));
        }
        if used && !changes.is_empty() && home.daemon().is_some() {
            match reload(home) {
                Ok(_) if embed.model == "none" => remark!("vault: the daemon now works without a model"),
                Ok(_) => {
                    remark!(
                        "vault: the daemon now embeds every passage with it; until it is done, the previous model answers"
                    );
                }
                Err(error) => remark!("vault: the daemon uses it after its next start ({error})"),
            }
        }
    })
}
