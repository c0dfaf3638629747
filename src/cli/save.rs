//! `vault save` and `vault annotate`

use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Map, Value};

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::{CommandTarget, NameFit, NoteNames};
use super::terminal::{answer, remark, remark_behind, remark_undo};
use crate::serve::api::endpoints;
use crate::serve::wire::{AnnotateParams, SaveParams};

/// Save a text as a note: from the arguments, or from standard input.
///
/// You can find it as soon as the command ends. Saving the same text again adds nothing. A note with the same title in `notes`
/// gets the new text; `vault restore` brings back the old one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault save \"The spare key is with Maya\"\n  xclip -o | vault save --title \"From the web\" --tag reading"
)]
pub(super) struct SaveCommand {
    /// The text. Without one, or with -, it is read from standard input.
    text: Vec<String>,
    #[command(flatten)]
    note: SaveParams,
    /// Another frontmatter property; may be given more than once.
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
}

impl SaveCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let content = text_of(&self.text)?;
        let metadata = self.metadata.iter().map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), Value::from(value))),
            None => bail!("--meta takes KEY=VALUE, and `{pair}` has no ="),
        });
        let metadata: Map<String, Value> = metadata.collect::<anyhow::Result<_>>()?;
        let params = SaveParams { content, metadata: (!metadata.is_empty()).then_some(metadata), ..self.note };
        let saved = Backend::caught_up(vault)?.ask(&endpoints::writes::SAVE, &params)?;
        answer(&saved, true, |out| {
            if saved.redacted {
                remark!("vault: secrets were removed from the text; `[capture] redact = false` keeps them");
            }
            remark_behind(saved.searchable);
            writeln!(out, "{}{}", saved.path, if saved.existing { " (was there before)" } else { "" })?;
            remark_undo(saved.checkpoint_id.as_deref());
            Ok(())
        })
    }
}

/// The text of arguments; that of standard input, where there are none, or `-`.
fn text_of(words: &[String]) -> anyhow::Result<String> {
    if !(words.is_empty() || words == ["-"]) {
        return Ok(words.join(" "));
    }
    if std::io::stdin().is_terminal() {
        remark!("vault: type the text, and end with Ctrl-D");
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input is not UTF-8 text")?;
    Ok(text)
}

/// Write a remark on a passage.
///
/// The remark becomes a note in annotations/. It quotes the passage, links to it, is shown with it, and finds it again when
/// the passage moves. A remark on a private note is private.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault annotate notes/sourdough.md:19 \"Eleven hours with cold water\"")]
pub(super) struct AnnotateCommand {
    /// HASH, PATH or PATH:LINE, as search prints them; the note's NAME, NAME#HEADING or [[LINK]].
    what: String,
    /// The remark. Without one, or with -, it is read from standard input.
    note: Vec<String>,
}

impl AnnotateCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let target = NoteNames::of(&home(vault)?)?.target(&self.what, NameFit::Exact)?;
        let note = text_of(&self.note)?;
        let params = match target {
            CommandTarget::Hash(hash) => AnnotateParams { hash: Some(hash), note, ..AnnotateParams::default() },
            CommandTarget::Note(path, lines) => {
                let line = lines.map(|(first, _)| u32::try_from(first).unwrap_or(u32::MAX));
                AnnotateParams { path: Some(path.into()), line, note, ..AnnotateParams::default() }
            }
        };
        let annotated = Backend::caught_up(vault)?.ask(&endpoints::writes::ANNOTATE, &params)?;
        answer(&annotated, true, |out| {
            remark_behind(annotated.searchable);
            writeln!(out, "{}", annotated.path)?;
            remark_undo(annotated.checkpoint_id.as_deref());
            Ok(())
        })
    }
}
