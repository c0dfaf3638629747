//! `vault annotate`

use std::path::Path;

use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::{CommandTarget, NameFit, NoteNames};
use super::save::read_stdin;
use super::terminal::{remark_behind, remark_undo, say, stdout};
use crate::api::endpoints;
use crate::wire::AnnotateParams;

/// Write a remark on a passage.
///
/// It becomes a note in annotations/ that quotes the passage and links to it, is shown with it, and finds it again when it
/// has moved. A remark on a private note is private.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault annotate notes/sourdough.md:19 \"Eleven hours with cold water\"")]
pub(super) struct AnnotateCommand {
    /// HASH, PATH or PATH:LINE, as searches name them; the note's NAME, NAME#HEADING or [[LINK]].
    what: String,
    /// The remark. Without one, or with -, it is read from standard input.
    note: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl AnnotateCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let target = NoteNames::of(&home(vault)?)?.target(&self.what, NameFit::Exact)?;
        let note = match self.note.as_slice() {
            [] => read_stdin()?,
            [dash] if dash == "-" => read_stdin()?,
            words => words.join(" "),
        };
        let params = match target {
            CommandTarget::Hash(hash) => AnnotateParams { hash: Some(hash), note, ..AnnotateParams::default() },
            CommandTarget::Note(path, lines) => {
                let line = lines.map(|(first, _)| u32::try_from(first).unwrap_or(u32::MAX));
                AnnotateParams { path: Some(path.into()), line, note, ..AnnotateParams::default() }
            }
        };
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        let annotated = backend.ask(&endpoints::writes::ANNOTATE, &params)?;
        if self.json {
            stdout().json(&annotated)?;
        } else {
            remark_behind(annotated.searchable);
            say!("{}", annotated.path)?;
            remark_undo(annotated.checkpoint_id.as_deref());
        }
        Ok(Outcome::Done)
    }
}
