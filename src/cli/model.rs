//! `vault model`

mod bench;
mod choose;
mod gc;
mod list;
mod shape;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use self::shape::ShapeArgs;
use super::exit::Outcome;

/// See, choose, fetch and time the models by which meaning is found.
///
/// The bundled one needs nothing. Another one is a GGUF file: `import` it from this disk, or `pull` it from the web; both check it,
/// put it into a folder for all your vaults, and have this vault use it, with the prefixes and the pooling that it was trained with.
/// For a service (Ollama, OpenAI and others) set `embed.endpoint` in memory.toml. With another model every passage is embedded anew; the
/// one before answers until that is done, and its vectors are kept until `vault model gc`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault model list\n  vault model import ~/Downloads/bge-small-en-v1.5-q8_0.gguf\n  vault model bench\n  vault model use bundled"
)]
pub(super) struct ModelCommand {
    #[command(subcommand)]
    action: ModelAction,
}

#[derive(Debug, Subcommand)]
enum ModelAction {
    /// List the models that are here, which one is used, and those that are known to work.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Have this vault use a model that is here. A running daemon turns to it at once.
    ///
    /// memory.toml gets its name, its prefixes and its pooling; comments stay as they are. "none" is search by words alone.
    Use {
        /// "bundled", "none", a name that `vault model list` has, or the path of a GGUF file, which stays where it is.
        name: String,
        #[command(flatten)]
        shape: ShapeArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a GGUF file, copy it to where models are, and have this vault use it.
    ///
    /// It has to be whole, of an architecture that is run here, and to embed a text.
    Import {
        /// The file.
        file: PathBuf,
        /// Copy it, and use the model there is.
        #[arg(long)]
        keep: bool,
        #[command(flatten)]
        shape: ShapeArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Download a GGUF file, check it, and have this vault use it.
    ///
    /// A download that was cut off goes on where it ended. Without --sha256 its checksum is printed, for the next time.
    Pull {
        /// Where it is: https://…/model.gguf.
        address: String,
        /// What the file's SHA-256 has to be, as 64 hex digits.
        #[arg(long, value_name = "HEX", value_parser = choose::sha256)]
        sha256: Option<String>,
        /// Keep it, and use the model there is.
        #[arg(long)]
        keep: bool,
        #[command(flatten)]
        shape: ShapeArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Drop the vectors that are kept of models which are not in use.
    ///
    /// They are kept so that going back to a model costs nothing. `vault status` says how many there are.
    Gc {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Time a model: how long it takes to load, passages a second, and how long a query takes.
    ///
    /// The passages are 500 characters of English each, and the queries 60. A service is asked over the network, and may cost money.
    Bench {
        /// As for `vault model use`; the one that the vault uses when it is not said.
        name: Option<String>,
        /// Passages to embed. 1 to 100000.
        #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        passages: u32,
        /// Also embed the whole vault with it, in a place of its own, and run `vault eval` on this file; not while a daemon runs.
        #[arg(long, value_name = "FILE")]
        questions: Vec<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

impl ModelCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.action {
            ModelAction::List { json } => list::run(vault, json),
            ModelAction::Use { name, shape, json } => choose::use_model(vault, &name, shape, json),
            ModelAction::Gc { json } => gc::run(vault, json),
            ModelAction::Import { file, keep, shape, json } => choose::import(vault, &file, !keep, shape, json),
            ModelAction::Pull { address, sha256, keep, shape, json } => {
                choose::pull(vault, &address, sha256.as_deref(), !keep, shape, json)
            }
            ModelAction::Bench { name, passages, questions, json } => {
                bench::run(vault, name.as_deref(), passages as usize, questions, json)
            }
        }
    }
}
