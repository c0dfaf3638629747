//! `vault model use`, `import` and `pull`: a model is checked, and memory.toml names it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::json;

use super::ShapeArgs;
use crate::base::config::{Config, EmbedConfig, PoolingChoice};
use crate::cli::backend::{Backend, home};
use crate::cli::eval::name;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{Bar, answer, is_in_json, remark, say};
use crate::models::{self, KnownModel, ModelClaim, ModelFile, download, model_file, models_folder, read_model_file};
use crate::serve::api::endpoints;
use crate::serve::wire::ModelReloaded;
use crate::vault::disk::Home;

/// What memory.toml says of a model.
struct Chosen {
    embed: EmbedConfig,
    /// What the model calls itself, once it is opened.
    is: Option<String>,
    dimension: Option<usize>,
}

/// Takes 64 hex digits.
pub(super) fn sha256(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase()).ok_or_else(|| "a SHA-256 has 64 hex digits".into())
}

pub(super) fn use_model(vault: Option<&Path>, name: &str, shape: ShapeArgs) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let chosen = if ["bundled", "none"].contains(&name) {
        shaped(name, None, shape)
    } else {
        let path = find(name, home.root())?;
        let named = path_in_config(&path, &home);
        checked(&path, &named, shape, &home)?
    };
    settle(&home, &chosen, true, None)
}

pub(super) fn import(vault: Option<&Path>, file: &Path, used: bool, shape: ShapeArgs) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let file = &std::path::absolute(file)?;
    let name = file_name(file)?;
    // It is known to work before anything is copied.
    let mut chosen = checked(file, &name, shape, &home)?;
    let folder = models_folder();
    let target = folder.join(&name);
    if target != *file {
        fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let _claim = claim(&target)?;
        copy(file, &target).with_context(|| format!("cannot copy the model to {}", target.display()))?;
    }
    chosen.embed.model = path_in_config(&target, &home);
    settle(&home, &chosen, used, Some(&target))
}

pub(super) fn pull(
    vault: Option<&Path>,
    address: &str,
    wanted: Option<&str>,
    used: bool,
    shape: ShapeArgs,
) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let name = file_name(Path::new(path.rsplit('/').next().unwrap_or_default()))
        .with_context(|| format!("{address} is not the address of a GGUF file"))?;
    let folder = models_folder();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let target = folder.join(&name);
    let _claim = claim(&target)?;
    let fetched = target.with_extension("gguf.new");
    let bar = Bar::bytes("downloading");
    let got = download(address, &fetched, wanted, &mut |done, left| bar.show(done as usize, left as usize));
    bar.finish();
    let sha256 = got?;
    // What is no model is not kept, and takes no other's place.
    let mut chosen = checked(&fetched, &name, shape, &home).inspect_err(|_| drop(fs::remove_file(&fetched)))?;
    fs::rename(&fetched, &target).with_context(|| format!("cannot write {}", target.display()))?;
    chosen.embed.model = path_in_config(&target, &home);
    if wanted.is_none() && !is_in_json() {
        say!("its SHA-256 is {sha256}")?;
    }
    settle(&home, &chosen, used, Some(&target))
}

/// Has nobody else write the file meanwhile.
fn claim(target: &Path) -> anyhow::Result<ModelClaim> {
    ModelClaim::take(target)?.with_context(|| {
        format!("another `vault model` is downloading {}; try again when it has finished", target.display())
    })
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
pub(super) fn find(name: &str, root: &Path) -> anyhow::Result<PathBuf> {
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
fn shaped(model: &str, known: Option<&KnownModel>, shape: ShapeArgs) -> Chosen {
    let of = |said: Option<String>, known: Option<&str>| said.unwrap_or_else(|| known.unwrap_or_default().to_owned());
    let embed = EmbedConfig {
        model: model.to_owned(),
        query_prefix: of(shape.query_prefix, known.map(|known| known.query_prefix)),
        document_prefix: of(shape.document_prefix, known.map(|known| known.document_prefix)),
        pooling: shape.pooling.unwrap_or(PoolingChoice::Auto),
        ..EmbedConfig::default()
    };
    Chosen { embed, is: None, dimension: None }
}

/// Has the daemon load what memory.toml names now.
fn reload(home: &Home) -> anyhow::Result<ModelReloaded> {
    let mut backend = Backend::open(Some(home.root()), |_| {})?;
    if !backend.is_served() {
        bail!("it has just stopped");
    }
    backend.ask(&endpoints::routes::RELOAD_MODEL, &())
}

/// What it is to say of a file.
fn shaped_by(file: &ModelFile, named: &str, shape: ShapeArgs) -> Chosen {
    let known = KnownModel::of(file);
    let said = shape.pooling.is_some();
    let mut chosen = shaped(named, known, shape);
    // Where the file does not say it, or is known to say it wrong.
    if let Some(known) = known.filter(|known| !said && file.pooling != Some(known.pooling)) {
        chosen.embed.pooling = serde_json::from_value(known.pooling.into()).unwrap_or(PoolingChoice::Auto);
    }
    chosen
}

/// The configuration by which a file is opened that nobody said anything of.
pub(super) fn config_of(path: &Path) -> anyhow::Result<EmbedConfig> {
    Ok(shaped_by(&read_model_file(path)?, "", ShapeArgs::default()).config(path))
}

/// Checks a file: its header, and whether it embeds a text. `named` is how memory.toml is to name it.
fn checked(path: &Path, named: &str, shape: ShapeArgs, home: &Home) -> anyhow::Result<Chosen> {
    let mut chosen = shaped_by(&read_model_file(path)?, named, shape);
    let config = EmbedConfig { threads: 1, ..chosen.config(path) };
    let opened = models::open(&config, home.root(), Path::new("")).map(|mut open| open()).transpose()?;
    if let Some(embedder) = opened {
        (chosen.is, chosen.dimension) = (Some(embedder.name().to_owned()), Some(embedder.dimension()));
    }
    Ok(chosen)
}

impl Chosen {
    /// The configuration by which it is opened, from `path`.
    fn config(&self, path: &Path) -> EmbedConfig {
        EmbedConfig { model: path.to_string_lossy().into_owned(), ..self.embed.clone() }
    }
}

/// Copies a file so that it is there whole or not at all.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let beside = to.with_extension("gguf.new");
    fs::copy(from, &beside)?;
    fs::File::open(&beside)?.sync_all()?;
    fs::rename(&beside, to)
}

/// Has memory.toml name the model, unless it is only kept, and says what was done.
fn settle(home: &Home, chosen: &Chosen, used: bool, kept: Option<&Path>) -> anyhow::Result<Outcome> {
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
            writeln!(out, "{name} works, and is in {}", kept.display())?;
        }
        if !used {
            writeln!(out, "use it with `vault model use {}`", embed.model)?;
        } else if changes.is_empty() {
            writeln!(out, "memory.toml names it already")?;
        } else {
            let keys: Vec<String> = changes.iter().map(|(key, _)| format!("`embed.{key}`")).collect();
            writeln!(out, "memory.toml: {} set for {name}", keys.join(", "))?;
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
        Ok(())
    })
}
