//! `qmd context`

use clap::Subcommand;

use super::collection::not_found;
use super::index::QmdIndex;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{remark, say};
use crate::qmd::{QmdCollection, QmdCollections, QmdError};

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
