//! `vault model list`

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::super::backend::home;
use super::super::exit::Outcome;
use super::super::terminal::{BAD, DIM, TITLE, bytes, stdout};
use crate::config::Config;
use crate::models::{KNOWN_MODELS, KnownModel, model_file, models_folder, read_model_file};

/// A model that is here, or that the configuration names.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
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

/// One that is known to work.
#[derive(Debug, Serialize)]
struct ListedKnown {
    name: &'static str,
    dimension: usize,
    pooling: &'static str,
    query_prefix: &'static str,
    document_prefix: &'static str,
    languages: &'static str,
    licence: &'static str,
}

#[derive(Debug, Serialize)]
struct ModelList {
    /// Where models are put.
    folder: PathBuf,
    models: Vec<ListedModel>,
    known: Vec<ListedKnown>,
}

impl ListedModel {
    fn named(name: String, in_use: bool) -> Self {
        Self {
            name,
            in_use,
            path: None,
            bytes: None,
            architecture: None,
            dimension: None,
            pooling: None,
            known: None,
            languages: None,
            licence: None,
            problem: None,
        }
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

pub(super) fn run(vault: Option<&Path>, json: bool) -> anyhow::Result<Outcome> {
    let home = home(vault)?;
    let config = Config::load(home.root())?.embed;
    let folder = models_folder();
    let is_local = config.endpoint.is_empty();
    let used = model_file(&config.model, home.root());
    let mut models = vec![ListedModel::bundled(is_local && config.model == "bundled")];
    if !is_local && config.model != "none" {
        models.push(ListedModel::named(format!("{} at {}", config.model, config.endpoint), true));
    }
    for path in files(&folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let in_use = is_local && path == used;
        models.push(ListedModel::file(name, path, in_use));
    }
    // One that lies elsewhere, or is gone.
    if is_local && !["bundled", "none"].contains(&config.model.as_str()) && !models.iter().any(|model| model.in_use) {
        models.push(ListedModel::file(config.model, used, true));
    }
    let known = KNOWN_MODELS.iter().map(|known| ListedKnown {
        name: known.name,
        dimension: known.dimension,
        pooling: known.pooling,
        query_prefix: known.query_prefix,
        document_prefix: known.document_prefix,
        languages: known.languages,
        licence: known.licence,
    });
    let list = ModelList { folder, models, known: known.collect() };
    if json {
        stdout().json(&list)?;
    } else {
        print(&list)?;
    }
    Ok(Outcome::Done)
}

/// The models in a folder, by name.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_model = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    let mut files: Vec<PathBuf> = entries.filter(is_model).collect();
    files.sort();
    files
}

fn print(list: &ModelList) -> anyhow::Result<()> {
    let mut out = stdout();
    for model in &list.models {
        write!(out, "{} ", if model.in_use { "*" } else { " " })?;
        out.paint(TITLE, &model.name)?;
        match &model.problem {
            Some(problem) => {
                write!(out, "  ")?;
                out.paint(BAD, problem)?;
            }
            None => {
                write!(out, "  ")?;
                out.paint(DIM, &model.about())?;
            }
        }
        writeln!(out)?;
    }
    if !list.models.iter().any(|model| model.in_use) {
        writeln!(out, "\nnone of them is used: search is by words alone")?;
    }
    let here = |known: &&ListedKnown| list.models.iter().any(|model| model.known == Some(known.name));
    let missing: Vec<&ListedKnown> = list.known.iter().filter(|known| !here(known)).collect();
    if !missing.is_empty() {
        writeln!(out, "\nknown to work, and not here (`vault model import FILE`, `vault model pull ADDRESS`):")?;
    }
    for known in missing {
        write!(out, "  {}  ", known.name)?;
        out.paint(DIM, &format!("{} numbers, {}, {}", known.dimension, known.languages, known.licence))?;
        writeln!(out)?;
    }
    Ok(())
}
