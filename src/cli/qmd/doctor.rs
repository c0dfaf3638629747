//! `qmd doctor`: whether all of an index is as it should be, and what to do where it is not.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::index::{client, process_status};
use super::pull::QmdModel;
use crate::cli::outcome::Outcome;
use crate::cli::terminal::{say, stdout};
use crate::config::Config;
use crate::qmd::{DatabaseHealth, IndexPlace, QMD_VERSION, QmdCollections};

/// How to print what was found.
#[derive(Debug, Args)]
pub(super) struct QmdDoctorArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct QmdCheck {
    label: String,
    ok: bool,
    details: String,
    /// What to do where it is not right.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl QmdCheck {
    fn right(label: impl Into<String>, details: impl Into<String>) -> Self {
        Self { label: label.into(), ok: true, details: details.into(), next: None }
    }

    fn wrong(label: impl Into<String>, details: impl Into<String>, next: impl Into<String>) -> Self {
        Self { label: label.into(), ok: false, details: details.into(), next: Some(next.into()) }
    }
}

impl QmdDoctorArgs {
    /// Looks at an index without changing it. What is wrong is no error, and told by the exit code.
    pub(super) fn run(self, place: &IndexPlace) -> anyhow::Result<Outcome> {
        let checks = checks(place);
        let ok = checks.iter().all(|check| check.ok);
        if self.json {
            stdout().json(&json!({
                "version": QMD_VERSION, "index": place.name, "database": place.database, "folder": place.folder,
                "ok": ok, "checks": checks,
            }))?;
        } else {
            say!("QMD Doctor\n\nIndex: {}\nFolder: {}\n", place.database.display(), place.folder.display())?;
            for QmdCheck { label, ok, details, .. } in &checks {
                say!("{} {label}: {details}", if *ok { "✓" } else { "✗" })?;
            }
            if !ok {
                say!("\nNext steps")?;
            }
            for next in checks.iter().filter_map(|check| check.next.as_ref()) {
                say!("- {next}")?;
            }
        }
        Ok(if ok { Outcome::Done } else { Outcome::Damaged })
    }
}

fn checks(place: &IndexPlace) -> Vec<QmdCheck> {
    let health = || DatabaseHealth::of(&place.database);
    let collections = match QmdCollections::load(place) {
        Ok(Some(collections)) => collections,
        Ok(None) => {
            let none = "none yet; the first command that uses it makes it";
            return vec![QmdCheck::right("index", none), database(place, health()), model(place)];
        }
        Err(error) => {
            let next = format!("move {} away, and add the collections again", place.folder.display());
            return vec![QmdCheck::wrong("index", error.to_string(), next)];
        }
    };
    let mut checks = vec![for_you_alone("index", &place.folder, "there")];
    let settings = Config::load(&place.folder).map(drop);
    let is_readable = settings.is_ok();
    if let Err(error) = settings {
        let next = format!("mend {}", place.folder.join(crate::config::FILE_NAME).display());
        checks.push(QmdCheck::wrong("settings", error.to_string(), next));
    }
    let health = health();
    // The process would set it aside and make it anew, or finish what was cut off.
    let is_left_alone = matches!(health, DatabaseHealth::Damaged(_) | DatabaseHealth::Foreign | DatabaseHealth::CutOff);
    checks.push(database(place, health));
    checks.push(model(place));
    for collection in &collections.collections {
        let label = format!("collection {}", collection.name);
        checks.push(match collection.path.read_dir() {
            Ok(_) => QmdCheck::right(label, collection.path.display().to_string()),
            Err(error) => QmdCheck::wrong(
                label,
                format!("{}: {error}", collection.path.display()),
                format!("bring the folder back, or `qmd collection remove {}`", collection.name),
            ),
        });
    }
    if is_readable && !is_left_alone {
        checks.push(process(place));
    }
    checks
}

/// Whether a file or folder is closed to others.
fn for_you_alone(label: &str, path: &Path, details: &str) -> QmdCheck {
    match path.metadata().map(|meta| meta.permissions().mode() & 0o777) {
        Ok(mode) if mode & 0o077 == 0 => QmdCheck::right(label, details),
        Ok(mode) => QmdCheck::wrong(
            label,
            format!("others may read it (mode {mode:o})"),
            format!("chmod go= '{}'", path.display()),
        ),
        Err(error) => QmdCheck::wrong(label, error.to_string(), format!("make {} readable", path.display())),
    }
}

fn database(place: &IndexPlace, health: DatabaseHealth) -> QmdCheck {
    let anew = "`qmd update` sets it aside and makes it anew";
    match health {
        DatabaseHealth::Missing => QmdCheck::right("database", "none yet; the next command makes it"),
        DatabaseHealth::Whole { documents } => {
            for_you_alone("database", &place.database, &format!("ours and whole, with {documents} documents"))
        }
        DatabaseHealth::CutOff => {
            let said = "ours; a transaction was cut off, and the next command finishes that";
            for_you_alone("database", &place.database, said)
        }
        DatabaseHealth::Foreign => {
            QmdCheck::wrong("database", format!("{} is another program's", place.database.display()), anew)
        }
        DatabaseHealth::Damaged(why) => QmdCheck::wrong("database", format!("damaged: {why}"), anew),
        DatabaseHealth::Closed(why) => {
            QmdCheck::wrong("database", why, format!("make {} readable and writable", place.database.display()))
        }
    }
}

fn model(place: &IndexPlace) -> QmdCheck {
    let settings = place.folder.join(crate::config::FILE_NAME);
    match QmdModel::of(place) {
        Ok(QmdModel { model, said, is_there: true, .. }) => QmdCheck::right("model", format!("{model}: {said}")),
        Ok(QmdModel { model, said, .. }) => {
            let next = format!("name another model in {}, or fetch this one with `vault model`", settings.display());
            QmdCheck::wrong("model", format!("{model}: {said}"), next)
        }
        Err(error) => QmdCheck::wrong("model", format!("{error:#}"), format!("mend {}", settings.display())),
    }
}

/// Whether the process that answers does; it is started where it does not run.
fn process(place: &IndexPlace) -> QmdCheck {
    let asked = client(place).and_then(|mut client| process_status(&mut client));
    let next = "end it, and ask again; `host.log` beside the indexes may say more";
    let status: Value = match asked {
        Ok(status) => status,
        Err(error) => return QmdCheck::wrong("process", format!("{error:#}"), next),
    };
    let model = &status["model"];
    let said = model["detail"].as_str().unwrap_or_default();
    let failed = (model["state"] == "failed").then(|| format!("the model cannot be used: {said}"));
    match status["failure"].as_str().map(str::to_owned).or(failed) {
        Some(why) => QmdCheck::wrong("process", why, next),
        None if status["pending_embeddings"] == 0 => QmdCheck::right("process", "answers, and all is embedded"),
        None => {
            let waiting = &status["pending_embeddings"];
            QmdCheck::right("process", format!("answers; {waiting} passages are found by their words alone so far"))
        }
    }
}
