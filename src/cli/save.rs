//! `vault save`

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Map, Value};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{remark, remark_behind, remark_undo, say, stdout};
use crate::api::endpoints;
use crate::wire::SaveParams;

/// Save a text as a note: from the arguments, or from standard input.
///
/// It can be found when the command ends. The same text again is recognised, and a note of the same title in `notes` gets
/// the new text; what it had can be brought back with `vault restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault save \"The spare key is with Maya\"\n  xclip -o | vault save --title \"From the web\" --tag reading"
)]
pub(super) struct SaveCommand {
    /// The text. Without one, or with -, it is read from standard input.
    text: Vec<String>,
    /// The note's title; the first line of the text when it is not said.
    #[arg(long)]
    title: Option<String>,
    /// The top-level folder that it goes to; snippets when it is not said.
    #[arg(long, short)]
    collection: Option<String>,
    /// A tag, without #; may be given more than once.
    #[arg(long = "tag", short, value_name = "TAG")]
    tags: Vec<String>,
    /// What else is to be in the frontmatter; may be given more than once.
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl SaveCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let content = match self.text.as_slice() {
            [] => read_stdin()?,
            [dash] if dash == "-" => read_stdin()?,
            words => words.join(" "),
        };
        let metadata = self.metadata.iter().map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), Value::from(value))),
            None => bail!("--meta takes KEY=VALUE, and `{pair}` has no ="),
        });
        let metadata: Map<String, Value> = metadata.collect::<anyhow::Result<_>>()?;
        let params = SaveParams {
            content,
            title: self.title,
            collection: self.collection,
            tags: (!self.tags.is_empty()).then_some(self.tags),
            metadata: (!metadata.is_empty()).then_some(metadata),
        };
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        let saved = backend.ask(&endpoints::writes::SAVE, &params)?;
        if self.json {
            stdout().json(&saved)?;
        } else {
            if saved.redacted {
                remark!("vault: secrets were taken out of the text; `[capture] redact = false` keeps them");
            }
            remark_behind(saved.searchable);
            say!("{}{}", saved.path, if saved.existing { " (was there before)" } else { "" })?;
            remark_undo(saved.checkpoint_id.as_deref());
        }
        Ok(Outcome::Done)
    }
}

pub(super) fn read_stdin() -> anyhow::Result<String> {
    if std::io::stdin().is_terminal() {
        remark!("vault: type the text, and end with Ctrl-D");
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input is not text")?;
    Ok(text)
}
