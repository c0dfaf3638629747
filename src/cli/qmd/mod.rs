//! `vault qmd`, and `vault` called as `qmd`.

mod collection;
mod find;
mod get;
mod index;
mod listing;
mod mcp;
mod shapes;

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, Args, CommandFactory as _, Parser, Subcommand};

use self::index::QmdIndex;
use self::shapes::FOR_QMD;
use super::exit::Outcome;
use super::search;
use super::terminal::remark;
use crate::base::config::Mode;
use crate::serve::qmd::{IndexPaths, IndexVariables, QMD_VERSION, QmdError};

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
    Collection(collection::QmdCollectionAction),
    /// Say what a collection or a folder is about; it is shown with each hit in it.
    #[command(subcommand)]
    Context(collection::QmdContextAction),
    /// Find documents by their words.
    Search(find::QmdFindArgs),
    /// Find documents by their meaning.
    #[command(alias = "vector-search")]
    Vsearch(find::QmdFindArgs),
    /// Find documents by their words and their meaning.
    #[command(alias = "deep-search")]
    Query(find::QmdFindArgs),
    /// Print a document: by #docid, path or qmd:// address, from a line on.
    Get(get::QmdGetArgs),
    /// Print several documents: a glob, or names with commas between them.
    MultiGet(get::QmdMultiGetArgs),
    /// List the collections, or the documents of one.
    Ls(listing::QmdLsArgs),
    /// Say what is in the index and where it is.
    Status(listing::QmdStatusArgs),
    /// Look for changed files; searches find them without it, too.
    Update(listing::QmdUpdateArgs),
    /// Wait until all can be found by its meaning.
    Embed(listing::QmdEmbedArgs),
    /// Say that nothing is left over: what is gone is dropped as it goes.
    Cleanup(listing::QmdCleanupArgs),
    /// Give the current folder an index of its own, in `.qmd`, for the calls that are made in it or below.
    Init,
    /// Say that nothing is fetched: the model is in the program.
    Pull(listing::QmdPullArgs),
    /// Serve the Model Context Protocol on standard input and output, or over HTTP.
    Mcp(mcp::QmdMcpArgs),
    /// Answer for all indexes until nobody asks any more; the other commands start it.
    #[command(hide = true)]
    Keep,
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
            QmdAction::Ls(args) => args.run(&mut open()?),
            QmdAction::Status(args) => args.run(&mut open()?),
            QmdAction::Update(_) => listing::update(&mut open()?),
            QmdAction::Embed(_) => listing::embed(&mut open()?),
            QmdAction::Cleanup(args) => args.run(),
            QmdAction::Init => collection::init(),
            QmdAction::Pull(args) => args.run(),
            QmdAction::Mcp(args) => args.run(open()?),
            QmdAction::Keep => index::keep(),
        }
    }
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
