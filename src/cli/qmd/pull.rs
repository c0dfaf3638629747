//! `qmd pull`: which model an index has. None is fetched: the bundled one is in the program, and any other is the person's to choose.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::shapes::FOR_QMD;
use crate::cli::outcome::Outcome;
use crate::cli::output::bytes;
use crate::cli::terminal::{remark, say, stdout};
use crate::config::{Config, EmbedConfig, FILE_NAME};
use crate::models::{KNOWN_MODELS, model_file, read_model_file};
use crate::qmd::IndexPlace;

/// What QMD is told of its downloads.
#[derive(Debug, Args)]
pub(super) struct QmdPullArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Nothing is fetched.
    #[arg(long, help_heading = FOR_QMD)]
    refresh: bool,
    /// The same.
    #[arg(long, help_heading = FOR_QMD)]
    progress: bool,
}

/// The model of an index.
#[derive(Debug, Serialize)]
pub(super) struct QmdModel {
    /// As `memory.toml` names it.
    pub(super) model: String,
    /// The file that it is; none where it is in the program, at a service, or no model at all.
    path: Option<PathBuf>,
    /// What it is, or why it cannot be used, as a sentence without its end.
    pub(super) said: String,
    /// Whether it is there, or none is wanted.
    pub(super) is_there: bool,
}

impl QmdModel {
    /// That of an index, as its `memory.toml` says; the usual one where it has none yet.
    ///
    /// # Errors
    /// When `memory.toml` cannot be read.
    pub(super) fn of(place: &IndexPlace) -> anyhow::Result<Self> {
        let is_made = place.folder.join(FILE_NAME).exists();
        let embed = if is_made { Config::load(&place.folder)?.embed } else { EmbedConfig::default() };
        let EmbedConfig { model, endpoint, .. } = embed;
        let there = |model: String, said: String| Self { model, path: None, said, is_there: true };
        if !endpoint.is_empty() && model != "none" {
            return Ok(there(model, format!("asked at {endpoint}")));
        }
        Ok(match model.as_str() {
            "none" => there(model, "no model: searches are by words".into()),
            "bundled" if cfg!(feature = "bundled-model") => {
                there(model, format!("{}, in this program", KNOWN_MODELS[0].name))
            }
            "bundled" => Self { is_there: false, ..there(model, "this program was built without a model".into()) },
            name => {
                let path = model_file(name, &place.folder);
                let read = read_model_file(&path);
                let is_there = read.is_ok();
                let said = match read {
                    Ok(file) => format!("{}, {}", path.display(), bytes(file.bytes)),
                    Err(error) => error.to_string(),
                };
                Self { model, path: Some(path), said, is_there }
            }
        })
    }
}

impl QmdPullArgs {
    /// Says which model it is and whether it is there.
    pub(super) fn run(self, place: &IndexPlace) -> anyhow::Result<Outcome> {
        let model = QmdModel::of(place)?;
        if self.json {
            stdout().json(&model)?;
        } else {
            say!("Pulling models\n- {} -> {}", model.model, model.said)?;
        }
        if model.is_there {
            return Ok(Outcome::Done);
        }
        remark!(
            "qmd: nothing is fetched here; `vault model pull ADDRESS --vault {}` fetches a model",
            place.folder.display()
        );
        Ok(Outcome::NothingFound)
    }
}
