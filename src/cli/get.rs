//! `vault get`

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::{CommandTarget, NameFit, NoteNames, without_brackets};
use super::terminal::{count, say, stdout};
use crate::api::endpoints;
use crate::note::Lines;
use crate::path::AttachmentKind;
use crate::request::RequestError;
use crate::wire::{ChunkView, passage_citation, split_page};

/// Print a note, some lines of it, or the passage with a hash.
///
/// Takes what a search names: a path in the vault (or from the current folder), path:line, path:line-line, path#L12-L20, path#page=3 of a
/// PDF, or a hash. A name does as well: of the note that is called so, else of the one whose name begins so, has it, or is a slip of the
/// finger away. With "#Heading" behind it is what stands under that, and "[[Kyoto#Temples]]", as a link has it, is the same.
#[derive(Debug, Args)]
pub(super) struct GetCommand {
    /// PATH, PATH:LINE, PATH:LINE-LINE, PATH#page=PAGE, NAME, NAME#HEADING, [[LINK]] or HASH.
    what: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl GetCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let names = NoteNames::of(&home)?;
        let (path, lines) = match names.target(&self.what, NameFit::Near)? {
            CommandTarget::Hash(hash) => return self.passage(&hash, vault),
            CommandTarget::Note(path, lines) => (path, lines),
        };
        let source = names.read(&path).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
        let name = path.as_str();
        let index = Lines::new(&source.text);
        let last = index.count().max(1);
        let (first, until) = lines.unwrap_or((1, last));
        if first == 0 || first > last || until < first {
            let asked =
                if first == until { format!("line {first} was") } else { format!("lines {first} to {until} were") };
            return Err(RequestError::invalid(format!("{name} has {}; {asked} asked for", count(last, "line"))).into());
        }
        let until = until.min(last);
        let page = split_page(without_brackets(&self.what)).map(|(_, page)| page);
        let page = page.filter(|_| path.attachment() == Some(AttachmentKind::Pdf));
        let text = &source.text[index.span(first).start..index.span(until).end];
        if self.json {
            let value = serde_json::json!({
                "path": name, "line_start": first, "line_end": until, "content": text,
                "citation": passage_citation(name, page, first as u32, until as u32),
            });
            stdout().json(&value)?;
        } else {
            let mut out = stdout();
            out.write_all(text.as_bytes())?;
            if !text.ends_with('\n') {
                writeln!(out)?;
            }
        }
        Ok(Outcome::Done)
    }

    fn passage(&self, hash: &str, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let chunk =
            backend.ask_of(&endpoints::routes::CHUNK.answering::<ChunkView>(), hash, &()).context("nothing to get")?;
        if self.json {
            stdout().json(&chunk)?;
        } else {
            say!("{}", chunk.content)?;
        }
        Ok(Outcome::Done)
    }
}
