//! `qmd collection`

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use serde_json::json;

use super::index::QmdIndex;
use super::listing::say_pending;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{remark, say, stdout};
use crate::qmd::{QmdCollection, QmdError};

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
