//! The commands that show what there is: `vault ls`, `tags`, `collections`, `get`, `links`, `related` and `graph`.

use std::path::Path;

use anyhow::Context;
use clap::Args;

use super::backend::{Backend, home};
use super::note_named::{CommandTarget, NameFit, NoteNames, meant, without_brackets};
use super::search::place_names;
use super::terminal::{DIM, Out, Outcome, PLAIN, TITLE, answer, bytes, count, list, remark, remark_end, remark_none};
use crate::access::request::RequestError;
use crate::base::clock::local_day;
use crate::base::path::AttachmentKind;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    AttachmentState, ChunkView, EdgeView, FactState, GraphParams, GraphView, LinkView, Linked, LinksParams,
    NotesParams, RelatedParams, UnresolvedParams, citation, passage_citation, split_page,
};
use crate::text::note::Lines;

/// List notes with their titles, newest first.
#[derive(Debug, Args)]
pub(super) struct LsCommand {
    #[command(flatten)]
    which: NotesParams,
    /// List the attachments instead (PDF, Word documents, web pages, pictures), and why any of them is not searched.
    #[arg(long, conflicts_with_all = ["tag", "since", "limit"])]
    attachments: bool,
}

impl LsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        let folder = self.which.folder.map(|folder| folder.trim_start_matches("./").to_owned());
        if self.attachments {
            return attachments(&mut backend, folder.as_deref());
        }
        let none = match self.which.tag.is_some() || self.which.since.is_some() {
            true => "no note matches",
            false => "there are no notes yet",
        };
        let params = NotesParams { folder, ..self.which };
        let found = backend.ask(&endpoints::links::NOTES_IN, &params)?;
        answer(&found, !found.notes.is_empty(), |out| {
            for note in &found.notes {
                out.row(&[(DIM, &local_day(&note.updated_at)), (TITLE, &note.path), (PLAIN, &note.title)]);
            }
            match found.total - found.notes.len().min(found.total) {
                _ if found.notes.is_empty() => remark!("vault: {}", found.degraded.as_deref().unwrap_or(none)),
                0 => {}
                more => remark!("vault: {more} older; --limit shows more"),
            }
        })
    }
}

fn attachments(backend: &mut Backend, folder: Option<&str>) -> anyhow::Result<Outcome> {
    let mut found = backend.ask(&endpoints::attachments::ATTACHMENTS, &())?;
    if let Some(folder) = folder.map(|folder| folder.trim_matches('/')) {
        let is_in = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        found.attachments.retain(|attachment| is_in(&attachment.path));
    }
    answer(&found, !found.attachments.is_empty(), |out| {
        for attachment in &found.attachments {
            let mut state = match attachment.state {
                AttachmentState::Searched => count(attachment.passages, "passage"),
                AttachmentState::Waiting => "waiting to be read".to_owned(),
                AttachmentState::NotRead => "not read".to_owned(),
            };
            if !attachment.reasons.is_empty() {
                state += &format!(": {}", attachment.reasons.join("; "));
            }
            out.row(&[(DIM, &local_day(&attachment.updated_at)), (TITLE, &attachment.path), (PLAIN, &state)]);
        }
        if found.attachments.is_empty() {
            remark!("vault: there are no attachments");
        } else if !found.searched {
            remark!("vault: to search their text, set `[index] attachments = true` in memory.toml");
        }
    })
}

/// List the tags, each with its number of notes.
///
/// Shown as a tree: a tag's number includes the notes of the tags below it.
#[derive(Debug, Args)]
pub(super) struct TagsCommand {
    /// One line per tag, the most frequent first, without the tags below it.
    #[arg(long)]
    flat: bool,
}

impl TagsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut tags = Backend::caught_up(vault)?.ask(&endpoints::links::TAGS, &())?;
        if self.flat {
            tags.tags.retain(|tag| tag.notes > 0);
            // Sorting keeps the alphabet among those that are as frequent.
            tags.tags.sort_by_key(|tag| std::cmp::Reverse(tag.notes));
        }
        let shown = |tag: &str| match tag.rsplit_once('/').filter(|_| !self.flat) {
            Some((above, name)) => format!("{}{name}", "  ".repeat(above.matches('/').count() + 1)),
            None => tag.to_owned(),
        };
        let width = tags.tags.iter().map(|tag| shown(&tag.tag).chars().count()).max().unwrap_or(0);
        list(&tags, &tags.tags, "no note has a tag", |tag, out| {
            let notes = if self.flat { tag.notes } else { tag.with_below };
            out.row(&[(TITLE, &format!("{:width$}", shown(&tag.tag))), (DIM, &count(notes, "note"))]);
        })
    }
}

/// A number of things in a column: `1 note ` has a blank for the `s`, so that numbers stand below each other.
fn column(number: usize, thing: &str) -> String {
    format!("{}{}", count(number, thing), if number == 1 { " " } else { "" })
}

/// List the collections, with their notes and passages.
#[derive(Debug, Args)]
pub(super) struct CollectionsCommand;

impl CollectionsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let collections = Backend::caught_up(vault)?.ask(&endpoints::routes::STATS, &())?.details;
        answer(&collections, true, |out| {
            let width = collections.keys().map(|name| name.chars().count()).max().unwrap_or(0);
            for (name, collection) in &collections {
                let (notes, passages) = (column(collection.files, "note"), column(collection.chunks, "passage"));
                let numbers = format!("{notes:>12} {passages:>16} {:>9}", bytes(collection.bytes));
                let day = local_day(&collection.updated_at);
                out.row(&[(TITLE, &format!("{name:width$}")), (PLAIN, &numbers), (DIM, &day)]);
            }
            remark_none(!collections.is_empty(), "there are no notes yet");
        })
    }
}

/// Print a note, some lines of it, or the passage with a hash.
///
/// Takes what search prints: a path in the vault (or from the current folder), path:line, path:line-line, path#L12-L20, path#page=3 of a
/// PDF, or a hash. A name works too: exact, or the beginning or a part of one, or with a typo. Add "#Heading" for the text under that
/// heading; a link, "[[Kyoto#Temples]]", means the same.
#[derive(Debug, Args)]
pub(super) struct GetCommand {
    /// PATH, PATH:LINE, PATH:LINE-LINE, PATH#page=PAGE, NAME, NAME#HEADING, [[LINK]] or HASH.
    what: String,
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
        let value = serde_json::json!({
            "path": name, "line_start": first, "line_end": until, "content": text,
            "citation": passage_citation(name, page, first as u32, until as u32),
        });
        answer(&value, true, |out| {
            write!(out, "{text}{}", if text.ends_with('\n') { "" } else { "\n" });
        })
    }

    fn passage(&self, hash: &str, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let chunk = endpoints::routes::CHUNK.answering::<ChunkView>();
        let chunk = Backend::caught_up(vault)?.ask_of(&chunk, hash, &()).context("nothing to print")?;
        answer(&chunk, true, |out| writeln!(out, "{}", chunk.content))
    }
}

/// Show a note's links, backlinks and broken links; or all broken links.
///
/// A link names a note as in Obsidian: by its path, the end of its path, its name, or an alias. Links in properties count; links in code
/// and comments do not.
#[derive(Debug, Args)]
pub(super) struct LinksCommand {
    /// The note's path, its name, or a [[LINK]] to it.
    #[arg(required_unless_present = "unresolved")]
    note: Option<String>,
    /// List the broken links of all notes instead.
    #[arg(long, conflicts_with = "note")]
    unresolved: bool,
    /// Maximum number of links of each kind.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

impl LinksCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        let Some(note) = &self.note else { return self.unresolved(&mut backend) };
        let (path, _) = meant(note, &home(vault)?, &mut backend)?;
        let links = backend.ask(&endpoints::links::LINKS, &LinksParams { path, limit: self.limit })?;
        let any = !(links.outgoing.is_empty() && links.incoming.is_empty() && links.unresolved.is_empty());
        answer(&links, any, |out| {
            let path = &links.path;
            let print = |to: &str, link: &LinkView, out: &mut Out| {
                let place = citation(path, link.line as u32, link.line as u32);
                out.row(&[(TITLE, &format!("  {to}{}", part(link))), (DIM, &place)]);
                writeln!(out, "    {}", link.text);
            };
            out.section("links to", &links.outgoing, |link, out| {
                print(link.path.as_deref().unwrap_or_default(), link, out);
            });
            out.section("linked from", &links.incoming, |link, out| {
                out.row(&[(TITLE, &format!("  {}", link.citation))]);
                writeln!(out, "    {}", link.text);
            });
            out.section("leads nowhere", &links.unresolved, |link, out| print(&link.target, link, out));
            remark_end(any, links.cut, &format!("{path} has no links, and no note links to it"));
        })
    }

    /// Prints the links of all notes that lead nowhere.
    fn unresolved(&self, backend: &mut Backend) -> anyhow::Result<Outcome> {
        let found = backend.ask(&endpoints::links::UNRESOLVED_LINKS, &UnresolvedParams { limit: self.limit })?;
        answer(&found, !found.links.is_empty(), |out| {
            for link in &found.links {
                out.row(&[(TITLE, &link.citation), (PLAIN, &link.target)]);
                out.row(&[(DIM, &format!("    {}", link.text))]);
            }
            match found.total - found.links.len().min(found.total) {
                _ if found.links.is_empty() => remark!("vault: every link leads to a note"),
                0 => {}
                more => remark!("vault: {more} more; --limit shows them"),
            }
        })
    }
}

/// The heading or block that a link leads to.
fn part(link: &LinkView) -> String {
    let block = link.block.as_ref().map(|block| format!("#^{block}"));
    block.or_else(|| link.heading.as_ref().map(|heading| format!("#{heading}"))).unwrap_or_default()
}

/// Show the notes most similar to a note.
///
/// vault compares the embeddings of the note's passages or, if it has none yet, the words that are typical of it. Each similar note is
/// shown with its nearest passage, and whether the two notes link to each other.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault related sourdough\n  vault related notes/sourdough.md:12")]
pub(super) struct RelatedCommand {
    /// The note's path, its name, or a [[LINK]] to it; with :LINE, its passage on that line.
    note: String,
    /// Maximum number of notes.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

impl RelatedCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(true)?;
        let (path, line) = meant(&self.note, &home(vault)?, &mut backend)?;
        let found = backend.ask(&endpoints::links::RELATED, &RelatedParams { path, line, limit: self.limit })?;
        answer(&found, !found.results.is_empty(), |out| {
            if let Some(degraded) = &found.degraded {
                remark!("vault: {degraded}");
            }
            for (at, note) in found.results.iter().enumerate() {
                if at > 0 {
                    writeln!(out);
                }
                let linked = match note.linked {
                    Some(Linked::Out) => "  linked: out",
                    Some(Linked::In) => "  linked: in",
                    Some(Linked::Both) => "  linked: both",
                    None => "",
                };
                let place = place_names(&note.title, &note.heading_path);
                out.row(&[(TITLE, &note.citation), (DIM, &format!("{:.2}{linked}  {place}", note.score))]);
                for line in note.snippet.lines() {
                    writeln!(out, "    {line}");
                }
            }
            remark_none(!found.results.is_empty(), &format!("no note is similar to {}", found.path));
        })
    }
}

/// Show how notes are related: the notes around one, all relations of a name, or the notes of a type.
///
/// A note is related to the notes it links to. A property (author: "[[Ridley Scott]]"), a line or brackets in the text (manages::
/// [[Alice]]) or a list item (- works_at [[Acme]]) names the relation. After the link you may write, in round brackets, when it is
/// true (from 2026-03-09, until 2026-06-01) and how sure it is: confidence 0.8.
///
/// Without a name, lists the relations of --relation, or the notes of --type, or the notes with any `type`. Exit code 1: nothing found.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault graph \"Ann Lee\"\n  vault graph acme --depth 1 --relation works_at\n  vault graph acme --type person --as-of 2026-03-15\n  \
    vault graph --type project\n  vault graph --relation manages --expired"
)]
pub(super) struct GraphCommand {
    #[command(flatten)]
    which: GraphParams,
}

impl GraphCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut params = self.which;
        params.name = params.name.map(|name| match without_brackets(&name) {
            bare if bare == name => name,
            link => link.split('#').next().unwrap_or_default().to_owned(),
        });
        let found = Backend::caught_up(vault)?.ask(&endpoints::graph::NOTES_AROUND, &params)?;
        let any = match params.name.is_none() && params.relation.is_some() {
            true => !found.edges.is_empty(),
            false => !found.entities.is_empty(),
        };
        answer(&found, any, |out| {
            for entity in found.entities.iter().filter(|entity| entity.distance == 0) {
                out.row(&[(TITLE, &entity.title), (PLAIN, &entity.types.join(", ")), (DIM, &entity.path)]);
            }
            for edge in &found.edges {
                let (line, sure) = (format!("  {}", edge.line()), said(edge));
                out.row(&[(TITLE, &line), (DIM, &sure), (DIM, &edge.citation)]);
            }
            match (any, found.cut) {
                (false, _) => remark!("vault: {}", absent(&params, &found)),
                (true, true) => remark!("vault: there is more; --limit shows it"),
                (true, false) => {}
            }
        })
    }
}

/// What else is said of a relation.
fn said(edge: &EdgeView) -> String {
    let state = match edge.state {
        FactState::Expired => Some("expired".to_owned()),
        FactState::Future => Some("not yet".to_owned()),
        FactState::Current | FactState::Retracted | FactState::Unset => None,
    };
    let sure = edge.confidence.map(|share| format!("confidence {share}"));
    state.into_iter().chain(sure).collect::<Vec<_>>().join("  ")
}

fn absent(params: &GraphParams, found: &GraphView) -> String {
    let near: Vec<&str> = found.near.iter().map(|near| near.title.as_str()).collect();
    match (&params.name, &params.relation, &params.kind) {
        (Some(name), ..) if near.is_empty() => RequestError::no_note(name).to_string(),
        (Some(name), ..) => format!("{}; these begin so: {}", RequestError::no_note(name), near.join(", ")),
        (None, Some(relation), _) => format!("no note has a relation `{relation}` that is true then"),
        (None, None, Some(kind)) => format!("no note has the type `{kind}`"),
        (None, None, None) => "no note has a `type`".to_owned(),
    }
}
