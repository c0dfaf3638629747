//! `qmd collection`, `qmd context` and `qmd init`

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use serde_json::json;

use super::index::QmdIndex;
use super::listing::say_pending;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{remark, say, stdout};
use crate::serve::qmd::{IndexPaths, IndexVariables, QmdCollection, QmdCollections, QmdError};

/// What can be done with collections.
#[derive(Debug, Subcommand)]
pub(super) enum QmdCollectionAction {
    /// Add a folder.
    Add {
        /// The folder; the current one unless told.
        #[arg(default_value = ".")]
        path: PathBuf,
        /// The collection's name; that of the folder unless told.
        #[arg(long)]
        name: Option<String>,
        /// Which files of it count; only Markdown is read.
        #[arg(long, visible_aliases = ["glob", "pattern"], value_name = "GLOB", default_value = "**/*.md")]
        mask: String,
    },
    /// List the collections.
    #[command(alias = "ls")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one; the exit code says whether it is there.
    #[command(alias = "info")]
    Show {
        /// Its name.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove one from the index; its files stay.
    #[command(visible_alias = "rm")]
    Remove {
        /// Its name.
        name: String,
    },
    /// Give one another name.
    #[command(visible_alias = "mv")]
    Rename {
        /// Its name.
        name: String,
        /// Its new name.
        new: String,
    },
    /// Search it, too, where a search names no collection, as at first.
    Include {
        /// Its name.
        name: String,
    },
    /// Search it only where a search names it.
    Exclude {
        /// Its name.
        name: String,
    },
    /// Keep a command that QMD would run before an update. It is never run here.
    #[command(visible_alias = "set-update")]
    UpdateCmd {
        /// The name of the collection.
        name: String,
        /// The command; none takes it away.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

impl QmdCollectionAction {
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        match self {
            Self::Add { path, name, mask } => return add(index, &path, name, &mask),
            Self::List { json: true } => {
                stdout().json(&index.collections.collections.iter().map(described).collect::<Vec<_>>())?
            }
            Self::List { json: false } => {
                let all = &index.collections.collections;
                if all.is_empty() {
                    say!("No collections found. Run 'qmd collection add .' to create one.")?;
                    return Ok(Outcome::Done);
                }
                say!("Collections ({}):\n", all.len())?;
                for collection in all {
                    let excluded = if collection.is_left_out { " [excluded]" } else { "" };
                    show(index, &format!("{0} (qmd://{0}/){excluded}", collection.name), collection)?;
                    say!("")?;
                }
            }
            Self::Show { name, json } => {
                let collection = index.collections.required(&name)?;
                match json {
                    true => stdout().json(&described(collection))?,
                    false => show(index, &format!("Collection: {name}"), collection)?,
                }
            }
            Self::Remove { name } => {
                index.collections.required(&name)?;
                index.change(|all| {
                    all.collections.retain(|collection| collection.name != name);
                    Ok(())
                })?;
                let dropped = index.documents.drop_other_collections()?;
                say!("✓ Removed collection '{name}'\n  Deleted {dropped} documents")?;
            }
            Self::Rename { name, new } => {
                let before = index.collections.required(&name)?;
                QmdCollection::new(&new, &before.path, &before.pattern)?;
                index.change(|all| {
                    all.is_free(&new)?;
                    all.required_mut(&name)?.name.clone_from(&new);
                    Ok(())
                })?;
                index.documents.refresh()?;
                say!(
                    "✓ Renamed collection '{name}' to '{new}'\n  Virtual paths updated: qmd://{name}/ → qmd://{new}/"
                )?;
            }
            Self::Include { name } => {
                change(index, &name, |collection| collection.is_left_out = false)?;
                say!("✓ Collection '{name}' included in default queries")?;
            }
            Self::Exclude { name } => {
                change(index, &name, |collection| collection.is_left_out = true)?;
                say!("✓ Collection '{name}' excluded from default queries")?;
            }
            Self::UpdateCmd { name, command } => {
                let command = Some(command.join(" ")).filter(|command| !command.trim().is_empty());
                change(index, &name, |collection| collection.update.clone_from(&command))?;
                match command {
                    Some(command) => {
                        say!("✓ Set update command for '{name}': {command}")?;
                        remark!("qmd: it is kept, and never run");
                    }
                    None => say!("✓ Cleared update command for '{name}'")?,
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// Changes the collection of a name.
fn change(index: &mut QmdIndex, name: &str, change: impl FnOnce(&mut QmdCollection)) -> anyhow::Result<()> {
    // The index is not closed for one that is not there.
    index.collections.required(name)?;
    index.change(|all| {
        change(all.required_mut(name)?);
        Ok(())
    })
}

fn add(index: &mut QmdIndex, path: &Path, name: Option<String>, mask: &str) -> anyhow::Result<Outcome> {
    let folder = path.canonicalize().or_else(|_| std::path::absolute(path)).context("there is no such folder")?;
    let of_folder = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.or_else(of_folder).unwrap_or_else(|| "root".into());
    let new = QmdCollection::new(&name, &folder, mask)?;
    if !folder.is_dir() {
        return Err(QmdError::Collection(format!("{} is no folder", folder.display())).into());
    }
    index.change(|all| Ok(all.add(new)?))?;
    let found = index.documents.refresh()?.remove(&name).unwrap_or_default();
    say!("Creating collection '{name}'...\nCollection: {} ({mask})\n\nIndexed: {found}\n", folder.display())?;
    say_pending(index)?;
    say!("✓ Collection '{name}' created successfully")?;
    Ok(Outcome::Done)
}

fn described(collection: &QmdCollection) -> serde_json::Value {
    let QmdCollection { name, path, pattern, ignore, context: _, is_left_out, update } = collection;
    json!({
        "name": name, "path": path, "pattern": pattern, "mask": pattern, "ignore": ignore,
        "includeByDefault": !is_left_out, "update": update,
    })
}

fn show(index: &QmdIndex, head: &str, collection: &QmdCollection) -> anyhow::Result<()> {
    let QmdCollection { name, path, pattern, ignore, context: _, is_left_out, update } = collection;
    let mut more = format!("\n  Include:  {}", if *is_left_out { "no" } else { "yes (default)" });
    if !ignore.is_empty() {
        more += &format!("\n  Ignore:   {}", ignore.join(", "));
    }
    if let Some(command) = update {
        more += &format!("\n  Update:   {command} (never run)");
    }
    let files = index.documents.all(Some(name))?.len();
    say!("{head}\n  Path:     {}\n  Pattern:  {pattern}{more}\n  Files:    {files}", path.display())?;
    Ok(())
}

/// What can be said of collections and folders.
#[derive(Debug, Subcommand)]
pub(super) enum QmdContextAction {
    /// Say what a place is about.
    Add {
        /// `/` is everything, else `qmd://collection/folder`, or a folder on the disk; the current one unless told.
        #[arg(num_args = 1..=2, value_names = ["PLACE", "TEXT"], required = true)]
        what: Vec<String>,
    },
    /// List what was said.
    List,
    /// Take it back.
    #[command(visible_alias = "remove")]
    Rm {
        /// The place, as it is listed.
        place: String,
    },
}

impl QmdContextAction {
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        match self {
            Self::Add { what } => {
                let (place, text) = match &what[..] {
                    [text] => (".", text),
                    [place, text, ..] => (place.as_str(), text),
                    [] => return Ok(Outcome::Done),
                };
                let slot = slot(&index.collections, place)?;
                let said = match &slot {
                    None => "Set global context".to_owned(),
                    Some((name, folder)) if folder == "/" => {
                        format!("Added context for: qmd://{name}/ (collection root)")
                    }
                    Some((name, folder)) => format!("Added context for: qmd://{name}{folder}"),
                };
                index.change(|all| {
                    match slot {
                        None => all.global_context = Some(text.clone()),
                        Some((name, folder)) => drop(all.required_mut(&name)?.context.insert(folder, text.clone())),
                    }
                    Ok(())
                })?;
                say!("✓ {said}\nContext: {text}")?;
            }
            Self::List => {
                say!("\nConfigured Contexts\n")?;
                if let Some(text) = &index.collections.global_context {
                    say!("*\n  / (root)\n    {text}")?;
                }
                for collection in index.collections.collections.iter().filter(|one| !one.context.is_empty()) {
                    say!("{}", collection.name)?;
                    for (folder, text) in &collection.context {
                        say!("  {folder}{}\n    {text}", if folder == "/" { " (root)" } else { "" })?;
                    }
                }
            }
            Self::Rm { place } => {
                let slot = slot(&index.collections, &place)?;
                let mut removed = false;
                index.change(|all| {
                    removed = match slot {
                        None => all.global_context.take().is_some(),
                        Some((name, folder)) => all.required_mut(&name)?.context.remove(&folder).is_some(),
                    };
                    Ok(())
                })?;
                if !removed {
                    return Err(QmdError::Collection(format!("No context found for: {place}")).into());
                }
                say!("✓ Removed context for: {place}")?;
            }
        }
        Ok(Outcome::Done)
    }
}

/// The collection and the folder in it that a place names; nothing of both where it is everything.
fn slot(all: &QmdCollections, place: &str) -> Result<Option<(String, String)>, QmdError> {
    if place == "/" {
        return Ok(None);
    }
    let slot = |collection: &QmdCollection, rest: &str| {
        Ok(Some((collection.name.clone(), format!("/{}", rest.trim_matches('/')))))
    };
    if let Some(address) = place.strip_prefix("qmd://") {
        let (name, rest) = address.split_once('/').unwrap_or((address, ""));
        return slot(all.named(name).ok_or_else(|| QmdError::no_collection(place))?, rest);
    }
    let on_disk = Path::new(place).canonicalize().map_err(|_| QmdError::no_collection(place))?;
    // Of folders within each other, the innermost.
    let around = all.collections.iter().filter(|collection| on_disk.starts_with(&collection.path));
    let collection = around.max_by_key(|collection| collection.path.components().count());
    let collection = collection.ok_or_else(|| QmdError::no_collection(place))?;
    slot(collection, &on_disk.strip_prefix(&collection.path).unwrap_or(&on_disk).to_string_lossy())
}

/// Gives the current folder an index of its own, which counts there and below where no other is named. One that is there stays.
///
/// # Errors
/// When the folder is the home folder, or it cannot be made there.
pub(super) fn init() -> anyhow::Result<Outcome> {
    let folder = std::env::current_dir()?;
    let is_same = |home: &Path| home.canonicalize().is_ok_and(|home| folder.canonicalize().is_ok_and(|it| it == home));
    if std::env::home_dir().is_some_and(|home| is_same(&home)) {
        return Err(QmdError::Collection(
            "Refusing to initialize a local index in $HOME: the usual one is there without it. Call `qmd init` in the folder of a project."
                .into(),
        )
        .into());
    }
    drop(QmdIndex::open(IndexPaths::make_in(&folder)?)?);
    if IndexVariables::of_process().name_one() {
        remark!(
            "qmd: it counts where QMD_CONFIG_DIR, XDG_CONFIG_HOME and XDG_CACHE_HOME are not set: here, they name another index"
        );
    }
    // Scripts look for these words.
    say!("ready to go with new local index")?;
    Ok(Outcome::Done)
}
