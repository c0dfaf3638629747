//! `vault qmd`, and `vault` called as `qmd`.

mod documents;
mod find;
mod index;
mod mcp;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{ArgAction, Args, CommandFactory as _, Parser, Subcommand};
use serde_json::json;

use self::documents::say_pending;
use self::find::FOR_QMD;
use self::index::QmdIndex;
use super::search;
use super::terminal::{Outcome, remark, say, stdout};
use crate::base::config::Mode;
use crate::serve::qmd::{IndexPaths, IndexVariables, QMD_VERSION, QmdCollection, QmdCollections, QmdError};

/// Search folders of Markdown with the commands of QMD. This is `vault`, called by the name of `qmd`.
#[derive(Debug, Parser)]
#[command(name = "qmd", version = QMD_VERSION, disable_help_subcommand = true)]
pub(super) struct QmdCli {
    #[command(flatten)]
    pub(super) asked: QmdCommand,
}

/// Search folders of Markdown with the commands of QMD, for programs that call `qmd`.
///
/// A link called `qmd` that leads to `vault` does the same. Each `--index`, XDG_CACHE_HOME and QMD_CONFIG_DIR (or XDG_CONFIG_HOME) names an
/// index of its own; the files are only read, and private notes are not in it. The first call starts a process in the background that
/// answers the next ones, and ends after ten minutes without any.
#[derive(Debug, Args)]
#[command(
    version = QMD_VERSION,
    display_name = "qmd",
    disable_help_subcommand = true,
    disable_version_flag = true,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "-c, --collection may be given several times: a search then looks in one or more collections and merges what it finds.\n\nExamples:\n  qmd collection add ~/notes --name notes\n  qmd search \"sourdough\" --json -n 5 -c notes -c recipes\n  qmd query \"how do I know that the dough has risen\"\n  qmd get notes/bread.md:10 -l 20"
)]
pub(super) struct QmdCommand {
    /// The index; `index` unless told.
    #[arg(long, global = true, value_name = "NAME")]
    index: Option<String>,
    /// Print the version.
    #[arg(short, short_alias = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    /// Without effect: the model runs on the processor.
    #[arg(long, global = true, help_heading = FOR_QMD)]
    no_gpu: bool,
    #[command(subcommand)]
    action: QmdAction,
}

#[derive(Debug, Subcommand)]
enum QmdAction {
    /// Add, list, show, rename and remove collections: folders whose Markdown files are searched.
    #[command(subcommand)]
    Collection(QmdCollectionAction),
    /// Say what a collection or a folder is about; it is shown with each hit in it.
    #[command(subcommand)]
    Context(QmdContextAction),
    /// Find documents by their words.
    Search(find::QmdFindArgs),
    /// Find documents by their meaning.
    #[command(alias = "vector-search")]
    Vsearch(find::QmdFindArgs),
    /// Find documents by their words and their meaning.
    #[command(alias = "deep-search")]
    Query(find::QmdFindArgs),
    /// Print a document: by #docid, path or qmd:// address, from a line on.
    Get(documents::QmdGetArgs),
    /// Print several documents: a glob, or names with commas between them.
    MultiGet(documents::QmdMultiGetArgs),
    /// List the collections, or the documents of one.
    Ls {
        /// COLLECTION, COLLECTION/FOLDER or qmd://COLLECTION/FOLDER; the collections unless told.
        what: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what is in the index and where it is.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look for changed files; searches find them without it, too.
    Update {
        /// Not these alone.
        #[arg(help_heading = FOR_QMD)]
        paths: Vec<String>,
        /// The same.
        #[arg(long, value_name = "PATH", help_heading = FOR_QMD)]
        path: Vec<String>,
        /// Nothing is pulled.
        #[arg(long, help_heading = FOR_QMD)]
        pull: bool,
    },
    /// Wait until all can be found by its meaning.
    Embed {
        /// What has changed is embedded anew in any case.
        #[arg(short, long, help_heading = FOR_QMD)]
        force: bool,
        /// All collections are embedded.
        #[arg(short, long, value_name = "NAME", help_heading = FOR_QMD)]
        collection: Vec<String>,
        /// Batches are as long as the model takes them.
        #[arg(long, value_name = "N", help_heading = FOR_QMD)]
        max_docs_per_batch: Option<String>,
        /// The same.
        #[arg(long, value_name = "N", help_heading = FOR_QMD)]
        max_batch_mb: Option<String>,
        /// It ends when all is done.
        #[arg(long, value_name = "MINUTES", help_heading = FOR_QMD)]
        timeout: Option<String>,
        /// Notes are cut at their headings and paragraphs.
        #[arg(long, value_name = "NAME", help_heading = FOR_QMD)]
        chunk_strategy: Option<String>,
    },
    /// Say that nothing is left over: what is gone is dropped as it goes.
    Cleanup {
        /// Nothing is dropped.
        #[arg(short = 'n', long, help_heading = FOR_QMD)]
        dry_run: bool,
    },
    /// Give the current folder an index of its own, in `.qmd`, for the calls that are made in it or below.
    Init,
    /// Say that nothing is fetched: the model is in the program.
    Pull {
        /// Print JSON: no model was fetched.
        #[arg(long)]
        json: bool,
        /// Nothing is fetched.
        #[arg(long, help_heading = FOR_QMD)]
        refresh: bool,
        /// The same.
        #[arg(long, help_heading = FOR_QMD)]
        progress: bool,
    },
    /// Serve the Model Context Protocol on standard input and output, or over HTTP.
    Mcp(mcp::QmdMcpArgs),
    /// Answer for the index in a folder until nobody asks any more; the other commands start it.
    #[command(hide = true)]
    Keep {
        /// The folder.
        folder: PathBuf,
    },
}

/// Whether the program was called by the name of `qmd`, or by its own with `qmd` as the command.
pub(super) fn is_called(mut args: impl Iterator<Item = OsString>) -> bool {
    let program = args.next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default();
    name.as_encoded_bytes().ends_with(b"qmd") || args.next().is_some_and(|command| command == "qmd")
}

/// The words of a call with the query of a search behind all options, as [`search::dashed_query_last`] has it. (QMD takes a word that begins with
/// a hyphen for options that it does not know, and is left with no query.)
pub(super) fn dashed_query_last(args: impl IntoIterator<Item = OsString>, behind: usize) -> Vec<OsString> {
    search::dashed_query_last(QmdCli::command(), args, behind, true)
}

impl QmdCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.asked() {
            // Programs that call `qmd` look for 1, and for these words.
            Err(error) if error.downcast_ref::<QmdError>().is_some() => {
                remark!("{error}");
                Ok(Outcome::NothingFound)
            }
            done => done,
        }
    }

    fn asked(self) -> anyhow::Result<Outcome> {
        let by_address = if let QmdAction::Get(args) = &self.action { args.index() } else { None };
        let named = by_address.or(self.index.as_deref()).map(str::to_owned);
        let place = || IndexPaths::of(named.as_deref(), &IndexVariables::of_process());
        let open = || QmdIndex::open(place()?);
        match self.action {
            QmdAction::Collection(action) => action.run(&mut open()?),
            QmdAction::Context(action) => action.run(&mut open()?),
            QmdAction::Search(args) => args.run(&mut open()?, Mode::Keyword),
            QmdAction::Vsearch(args) => args.run(&mut open()?, Mode::Semantic),
            QmdAction::Query(args) => args.run(&mut open()?, Mode::Hybrid),
            QmdAction::Get(args) => args.run(&mut open()?),
            QmdAction::MultiGet(args) => args.run(&mut open()?),
            QmdAction::Ls { what, json } => documents::ls(&mut open()?, what.as_deref(), json),
            QmdAction::Status { json } => documents::status(&mut open()?, json),
            QmdAction::Update { .. } => documents::update(&mut open()?),
            QmdAction::Embed { .. } => documents::embed(&mut open()?),
            QmdAction::Cleanup { dry_run } => {
                let dry = "Dry run — no changes made. Would remove 0 documents: ";
                say!("{}what is gone is dropped as it goes.", if dry_run { dry } else { "✓ Removed 0 documents: " });
                Ok(Outcome::Done)
            }
            QmdAction::Init => init(),
            QmdAction::Pull { json, .. } => {
                match json {
                    true => stdout().json(&[(); 0]),
                    false => {
                        say!(
                            "Pulling models: none, as the model is in the program; `vault model pull` fetches another."
                        );
                    }
                }
                Ok(Outcome::Done)
            }
            QmdAction::Mcp(args) => args.run(open()?),
            QmdAction::Keep { folder } => index::keep(&folder),
        }
    }
}

/// What can be done with collections.
#[derive(Debug, Subcommand)]
enum QmdCollectionAction {
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
    fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        match self {
            Self::Add { path, name, mask } => return add(index, &path, name, &mask),
            Self::List { json: true } => {
                stdout().json(&index.collections.collections.iter().map(described).collect::<Vec<_>>());
            }
            Self::List { json: false } => {
                let all = &index.collections.collections;
                if all.is_empty() {
                    say!("No collections found. Run 'qmd collection add .' to create one.");
                    return Ok(Outcome::Done);
                }
                say!("Collections ({}):\n", all.len());
                for collection in all {
                    let excluded = if collection.is_left_out { " [excluded]" } else { "" };
                    show(index, &format!("{0} (qmd://{0}/){excluded}", collection.name), collection)?;
                    say!("");
                }
            }
            Self::Show { name, json } => {
                let collection = index.collections.required(&name)?;
                match json {
                    true => stdout().json(&described(collection)),
                    false => show(index, &format!("Collection: {name}"), collection)?,
                }
            }
            Self::Remove { name } => {
                index.collections.required(&name)?;
                index.change(|all| {
                    all.collections.retain(|collection| collection.name != name);
                    Ok(())
                })?;
                let dropped = index.documents.drop_others()?;
                say!("✓ Removed collection '{name}'\n  Deleted {dropped} documents");
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
                say!("✓ Renamed collection '{name}' to '{new}'\n  Virtual paths updated: qmd://{name}/ → qmd://{new}/");
            }
            Self::Include { name } => {
                change(index, &name, |collection| collection.is_left_out = false)?;
                say!("✓ Collection '{name}' included in default queries");
            }
            Self::Exclude { name } => {
                change(index, &name, |collection| collection.is_left_out = true)?;
                say!("✓ Collection '{name}' excluded from default queries");
            }
            Self::UpdateCmd { name, command } => {
                let command = Some(command.join(" ")).filter(|command| !command.trim().is_empty());
                change(index, &name, |collection| collection.update.clone_from(&command))?;
                match command {
                    Some(command) => {
                        say!("✓ Set update command for '{name}': {command}");
                        remark!("qmd: it is kept, and never run");
                    }
                    None => say!("✓ Cleared update command for '{name}'"),
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
        return Err(QmdError::Refused(format!("{} is no folder", folder.display())).into());
    }
    index.change(|all| all.add(new))?;
    let found = index.documents.refresh()?.remove(&name).unwrap_or_default();
    say!("Creating collection '{name}'...\nCollection: {} ({mask})\n\nIndexed: {found}\n", folder.display());
    say_pending(index)?;
    say!("✓ Collection '{name}' created successfully");
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
    say!("{head}\n  Path:     {}\n  Pattern:  {pattern}{more}\n  Files:    {files}", path.display());
    Ok(())
}

/// What can be said of collections and folders.
#[derive(Debug, Subcommand)]
enum QmdContextAction {
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
    fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
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
                say!("✓ {said}\nContext: {text}");
            }
            Self::List => {
                say!("\nConfigured Contexts\n");
                if let Some(text) = &index.collections.global_context {
                    say!("*\n  / (root)\n    {text}");
                }
                for collection in index.collections.collections.iter().filter(|one| !one.context.is_empty()) {
                    say!("{}", collection.name);
                    for (folder, text) in &collection.context {
                        say!("  {folder}{}\n    {text}", if folder == "/" { " (root)" } else { "" });
                    }
                }
            }
            Self::Rm { place } => {
                let slot = slot(&index.collections, &place)?;
                let removed = index.change(|all| {
                    Ok(match slot {
                        None => all.global_context.take(),
                        Some((name, folder)) => all.required_mut(&name)?.context.remove(&folder),
                    })
                })?;
                if removed.is_none() {
                    return Err(QmdError::Refused(format!("No context found for: {place}")).into());
                }
                say!("✓ Removed context for: {place}");
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
fn init() -> anyhow::Result<Outcome> {
    let folder = std::env::current_dir()?;
    let is_same = |home: &Path| home.canonicalize().is_ok_and(|home| folder.canonicalize().is_ok_and(|it| it == home));
    if std::env::home_dir().is_some_and(|home| is_same(&home)) {
        return Err(QmdError::Refused(
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
    say!("ready to go with new local index");
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_called_by_the_name_of_qmd() {
        for (typed, called) in [
            ("qmd", true),
            ("/usr/bin/qmd search", true),
            ("vault", false),
            ("/qmd/vault search qmd", false),
            ("vault qmd search", true),
        ] {
            assert_eq!(is_called(typed.split(' ').map(OsString::from)), called, "{typed}");
        }
    }

    fn split(line: &str) -> Vec<OsString> {
        line.split('|').map(OsString::from).collect()
    }

    #[test]
    fn a_query_that_begins_with_a_hyphen_is_a_query() {
        for (typed, parsed) in [
            ("qmd|search|-5 degrees|--json", "qmd|search|--json|--|-5 degrees"),
            ("qmd|search|--json|-5 degrees", "qmd|search|--json|--|-5 degrees"),
            ("qmd|search|--json|-n|3|-5 degrees|-c|a", "qmd|search|--json|-n|3|-c|a|--|-5 degrees"),
            ("qmd|search|-5|degrees", "qmd|search|--|-5|degrees"),
            ("qmd|search|below|-5", "qmd|search|--|below|-5"),
            ("qmd|search|-dogs", "qmd|search|--|-dogs"),
            ("qmd|query|-x", "qmd|query|--|-x"),
            ("qmd|query|-nobody knows|--json", "qmd|query|--json|--|-nobody knows"),
            ("qmd|query|-c in gcc", "qmd|query|--|-c in gcc"),
            ("qmd|query|-vegan", "qmd|query|--|-vegan"),
            ("qmd|deep-search|--what is it", "qmd|deep-search|--|--what is it"),
            ("qmd|search|--dry-run|--json", "qmd|search|--json|--|--dry-run"),
            ("qmd|--index|search|vsearch|-x y", "qmd|--index|search|vsearch|--|-x y"),
            ("qmd|--no-gpu|search|-5", "qmd|--no-gpu|search|--|-5"),
            ("qmd|search|-5|--|-6", "qmd|search|--|-5|-6"),
        ] {
            assert_eq!(dashed_query_last(split(typed), 0), split(parsed), "{typed}");
        }
        let typed = split("vault|qmd|search|-5 degrees|--json");
        assert_eq!(dashed_query_last(typed, 1), split("vault|qmd|search|--json|--|-5 degrees"));
    }

    #[test]
    fn options_are_no_query() {
        for typed in [
            "qmd|query|--json|x",
            "qmd|query|-n|3|x",
            "qmd|query|-n3|-cnotes|-C=5|x",
            "qmd|search|--|-x y",
            "qmd|search|--format|json|--min-score=0.3|x",
            "qmd|search|--jsn|x",
            "qmd|search|-h",
            "qmd|search|--help",
            "qmd|search|-",
            "qmd|search",
            "qmd|collection|add|search|-x y",
            "qmd|get|-5 degrees",
            "qmd|-v",
            "qmd",
        ] {
            assert_eq!(dashed_query_last(split(typed), 0), split(typed), "{typed}");
        }
    }
}
