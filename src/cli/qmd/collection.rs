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
                let Some(collection) = index.collections.named(&name) else { return not_found(&name) };
                match json {
                    true => stdout().json(&described(collection))?,
                    false => show(index, &format!("Collection: {name}"), collection)?,
                }
            }
            Self::Remove { name } => {
                if index.collections.named(&name).is_none() {
                    return not_found(&name);
                }
                index.change(|all| {
                    all.collections.retain(|collection| collection.name != name);
                    Ok(())
                })?;
                let dropped = index.documents.drop_other_collections()?;
                say!("✓ Removed collection '{name}'\n  Deleted {dropped} documents")?;
            }
            Self::Rename { name, new } => {
                let Some(before) = index.collections.named(&name) else { return not_found(&name) };
                QmdCollection::new(&new, &before.path, &before.pattern)?;
                index.change(|all| {
                    all.is_free(&new)?;
                    all.collections.iter_mut().filter(|one| one.name == name).for_each(|one| one.name.clone_from(&new));
                    Ok(())
                })?;
                index.documents.refresh()?;
                say!(
                    "✓ Renamed collection '{name}' to '{new}'\n  Virtual paths updated: qmd://{name}/ → qmd://{new}/"
                )?;
            }
            Self::Include { name } => return keep_in_or_out(index, &name, false),
            Self::Exclude { name } => return keep_in_or_out(index, &name, true),
            Self::UpdateCmd { name, command } => {
                let command = Some(command.join(" ")).filter(|command| !command.trim().is_empty());
                if !change(index, &name, |collection| collection.update.clone_from(&command))? {
                    return not_found(&name);
                }
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

/// Changes a collection; tells whether there is one of that name.
fn change(index: &mut QmdIndex, name: &str, change: impl FnOnce(&mut QmdCollection)) -> anyhow::Result<bool> {
    if index.collections.named(name).is_none() {
        return Ok(false);
    }
    let mut is_there = false;
    index.change(|all| {
        if let Some(collection) = all.collections.iter_mut().find(|one| one.name == name) {
            change(collection);
            is_there = true;
        }
        Ok(())
    })?;
    Ok(is_there)
}

fn keep_in_or_out(index: &mut QmdIndex, name: &str, out: bool) -> anyhow::Result<Outcome> {
    if !change(index, name, |collection| collection.is_left_out = out)? {
        return not_found(name);
    }
    say!("✓ Collection '{name}' {} default queries", if out { "excluded from" } else { "included in" })?;
    Ok(Outcome::Done)
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
    say!(
        "Creating collection '{name}'...\nCollection: {} ({mask})\n\nIndexed: {} new, {} updated, {} unchanged, {} removed\n",
        folder.display(),
        found.new,
        found.updated,
        found.unchanged,
        found.removed
    )?;
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

/// Says that there is no such collection.
pub(super) fn not_found(name: &str) -> anyhow::Result<Outcome> {
    remark!("{}", not_found_text(name));
    Ok(Outcome::NothingFound)
}

/// What is said of a collection that there is none of.
pub(super) fn not_found_text(name: &str) -> String {
    format!("Collection not found: {name}\nRun 'qmd collection list' to see those there are.")
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
                let Some(slot) = slot(&index.collections, place) else { return not_found(place) };
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
                        Some((name, folder)) => {
                            let place = named(all, &name)?;
                            place.context.insert(folder, text.clone());
                        }
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
                let Some(slot) = slot(&index.collections, &place) else { return not_found(&place) };
                let mut removed = false;
                index.change(|all| {
                    removed = match slot {
                        None => all.global_context.take().is_some(),
                        Some((name, folder)) => named(all, &name)?.context.remove(&folder).is_some(),
                    };
                    Ok(())
                })?;
                if !removed {
                    remark!("No context found for: {place}");
                    return Ok(Outcome::NothingFound);
                }
                say!("✓ Removed context for: {place}")?;
            }
        }
        Ok(Outcome::Done)
    }
}

fn named<'a>(all: &'a mut QmdCollections, name: &str) -> Result<&'a mut QmdCollection, QmdError> {
    let found = all.collections.iter_mut().find(|collection| collection.name == name);
    found.ok_or_else(|| QmdError::Collection(format!("Collection not found: {name}")))
}

/// The collection and the folder in it that a place names; nothing of both where it is everything.
fn slot(all: &QmdCollections, place: &str) -> Option<Option<(String, String)>> {
    if place == "/" {
        return Some(None);
    }
    let folder_of = |rest: &str| format!("/{}", rest.trim_matches('/'));
    if let Some(address) = place.strip_prefix("qmd://") {
        let (name, rest) = address.split_once('/').unwrap_or((address, ""));
        return all.named(name).map(|collection| Some((collection.name.clone(), folder_of(rest))));
    }
    let on_disk = std::path::Path::new(place).canonicalize().ok()?;
    // Of folders within each other, the innermost.
    let around = all.collections.iter().filter(|collection| on_disk.starts_with(&collection.path));
    let collection = around.max_by_key(|collection| collection.path.components().count())?;
    let rest = on_disk.strip_prefix(&collection.path).ok()?;
    Some(Some((collection.name.clone(), folder_of(&rest.to_string_lossy()))))
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
