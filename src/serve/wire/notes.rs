//! What there is: notes, their links and their graph, pages of passages, collections, files beside the notes.

use std::collections::BTreeMap;

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::facts::FactState;
use super::search::ChunkView;
use super::writes::AnnotationView;
use crate::base::config::Mode;
use crate::text::note::Node;

/// A page of passages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BrowseParams {
    /// Only this collection.
    pub collection: Option<String>,
    /// Only notes updated on this day of the local time zone: `2026-01-05`.
    pub day: Option<String>,
    /// Maximum passages, 1 to 1,000; default 20.
    pub limit: Option<usize>,
    /// Number of passages to skip.
    pub offset: Option<usize>,
}

/// Passages, of the newest notes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Browse {
    /// This page.
    pub chunks: Vec<ChunkView>,
    /// Total number on all pages.
    pub total: usize,
}

/// The names of the collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collections {
    /// Sorted by name.
    pub collections: Vec<String>,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collection {
    /// Notes.
    pub files: usize,
    /// Passages.
    pub chunks: usize,
    /// Bytes of its notes.
    pub bytes: u64,
    /// The share of its passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// When a note of it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// Statistics of the vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    /// Passages.
    pub total: usize,
    /// Passages of each collection.
    pub collections: BTreeMap<String, usize>,
    /// Notes.
    pub files: usize,
    /// Bytes of all notes.
    pub bytes: u64,
    /// The share of the passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// Details of each collection.
    pub details: BTreeMap<String, Collection>,
    /// Notes created per month, oldest first; empty months are left out.
    pub growth: Vec<Growth>,
}

/// Notes created in a month, by their dates of creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Growth {
    /// `2026-01`, in the local time zone.
    pub month: String,
    /// Notes.
    pub notes: usize,
    /// Their present passages.
    pub chunks: usize,
}

/// Maximum number of collections that are named to whoever asks for one that is not there.
const SHOWN_NAMES: usize = 50;

/// Which notes to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotesParams {
    /// Only notes of this collection, or in this folder or one below it: `notes/daily`.
    pub folder: Option<String>,
    /// Only notes with this tag, or one below it.
    #[arg(long)]
    pub tag: Option<String>,
    /// Only notes updated then or later: a date, `yesterday`, an RFC 3339 time, or how long ago (`7d`).
    #[arg(long)]
    pub since: Option<String>,
    /// Maximum notes, 1 to 1,000; default 50.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Number of notes to skip.
    #[arg(skip)]
    pub offset: Option<usize>,
    /// Only notes updated then or earlier; takes what `since` takes.
    #[arg(skip)]
    pub until: Option<String>,
    /// The order: `changed` (default, newest first), `name` or `size` (largest first).
    #[arg(skip)]
    pub sort: Option<NoteOrder>,
}

/// How notes are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteOrder {
    /// Newest first.
    #[default]
    Changed,
    /// By title.
    Name,
    /// Largest first.
    Size,
}

/// The folders of the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoldersView {
    /// Every folder that has notes in it or below it, sorted by path.
    pub folders: Vec<FolderCount>,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FolderCount {
    /// Its path: `notes/daily`.
    pub path: String,
    /// Notes in it and below it.
    pub notes: usize,
}

/// A span of days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DaysParams {
    /// The first day, in the local time zone: `2026-01-01`.
    pub from: String,
    /// The last day.
    pub until: String,
}

/// What there is of each day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DaysView {
    /// The days that have a daily note or saved notes, in order.
    pub days: Vec<DayCount>,
}

/// A day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayCount {
    /// The day: `2026-01-05`.
    pub day: String,
    /// Notes last changed on it.
    pub notes: usize,
    /// Its daily note: the one that has the day as its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily: Option<String>,
}

/// Notes in the order that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotesView {
    /// This page.
    pub notes: Vec<NoteName>,
    /// Total number on all pages.
    pub total: usize,
    /// Why there are none, if no visible note is in this folder, whatever its tags and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// Name and size of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoteName {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// The names of collections for a sentence, not more than can be read; `None` when there is none.
pub(crate) fn named(collections: &[String]) -> Option<String> {
    let shown: Vec<String> = collections.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect();
    match collections.len().checked_sub(SHOWN_NAMES) {
        _ if collections.is_empty() => None,
        None | Some(0) => Some(shown.join(", ")),
        Some(more) => Some(format!("{}, and {more} more", shown.join(", "))),
    }
}

/// The tags of visible notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagsView {
    /// Sorted by name, including tags of which notes have only tags below.
    pub tags: Vec<TagCount>,
    /// Whether there are more than an agent may get.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagCount {
    /// Its name, as most notes write it: `work/plan`.
    pub tag: String,
    /// Notes with exactly this tag.
    pub notes: usize,
    /// Notes with it or one below it.
    pub with_below: usize,
}

/// What to find by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FindParams {
    /// The name as far as it is typed: of a note, `#` before a heading or a tag, or `note#heading`. The newest notes if empty.
    #[serde(default)]
    pub q: String,
    /// Only notes, headings or tags.
    pub kind: Option<NameKind>,
    /// Maximum names, 1 to 1,000; default 20.
    pub limit: Option<usize>,
}

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameKind {
    /// A note: by title, file name, alias or path.
    Note,
    /// A heading.
    Heading,
    /// A tag.
    Tag,
}

/// Names, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamesView {
    /// The names.
    pub results: Vec<NameView>,
}

/// A name.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NameView {
    /// What it is of.
    pub kind: NameKind,
    /// The note's path; absent for a tag.
    pub path: Option<String>,
    /// The note's title, the heading or the tag.
    pub title: String,
    /// The alias that fits, if neither title nor file name does.
    pub alias: Option<String>,
    /// The heading's line, from 1.
    pub line: Option<u32>,
    /// The tag, without `#`.
    pub tag: Option<String>,
}

/// A note by its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelatedParams {
    /// Its path in the vault.
    pub path: String,
    /// Compare the passage on this line, from 1; default the whole note.
    pub line: Option<usize>,
    /// Maximum notes, 1 to 1,000; default `[search] limit`.
    pub limit: Option<usize>,
}

/// The notes related to a note, without the note itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelatedView {
    /// The note's path.
    pub path: String,
    /// The comparison: `semantic`, or `keyword` if the note has no embedding.
    pub mode: Mode,
    /// The notes, nearest first.
    pub results: Vec<RelatedNote>,
    /// Why the answer is limited, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// A related note, with its nearest passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelatedNote {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// The headings above its nearest passage, outermost first.
    pub heading_path: Vec<String>,
    /// The beginning of that passage.
    pub snippet: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// Citation: `notes/api.md#L42-L58`.
    pub citation: String,
    /// When the note was last changed, as RFC 3339.
    pub updated_at: String,
    /// Similarity: a cosine, or for words a share of the maximum. Comparable only within one answer.
    pub score: f64,
    /// Which of the two links to the other; absent if neither does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<Linked>,
}

/// Which of two notes links to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Linked {
    /// The requested note.
    Out,
    /// The related note.
    In,
    /// Both.
    Both,
}

/// A note by its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoteParams {
    /// Its path in the vault.
    pub path: String,
    /// For a note too long for `body` (1 MB): return the part around this line, from 1; default its beginning.
    pub line: Option<usize>,
}

impl NoteParams {
    /// The note with a path.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}

/// A note as on disk, with its indexed passages.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoteView {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its collection.
    pub collection: String,
    /// The note's hash: it changes with the note.
    pub hash: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its frontmatter.
    pub metadata: Value,
    /// The notes that links in the frontmatter lead to: the target as written, and its path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub property_links: BTreeMap<String, String>,
    /// When it was created, as RFC 3339.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Link that opens it in Obsidian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obsidian_url: Option<String>,
    /// Its whole text, frontmatter included.
    pub text: String,
    /// Its body as nodes: a text, or `{tag, attrs?, line_start?, line_end?, children}`. Raw HTML is text.
    #[schema(value_type = Vec<Value>)]
    pub body: Vec<Node>,
    /// Whether `body` is only a part of a very long note; for an agent also whether `text` is cut and `body` is empty.
    pub cut: bool,
    /// Its passages, in the order of the text.
    pub chunks: Vec<PassageSpan>,
    /// The remarks on its passages.
    pub annotations: Vec<AnnotationView>,
}

/// Where a passage of a note is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PassageSpan {
    /// The passage's hash.
    pub hash: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The headings above it, outermost first.
    pub heading_path: Vec<String>,
}

/// A note by its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LinksParams {
    /// Its path in the vault.
    pub path: String,
    /// Maximum links of each kind, 1 to 1,000; default 200.
    pub limit: Option<usize>,
}

/// The links of a note. Notes that the caller does not see are treated as missing: links to them are broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinksView {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its links to notes, in the order of the text.
    pub outgoing: Vec<LinkView>,
    /// Links of other notes to it, sorted by path.
    pub incoming: Vec<Backlink>,
    /// Its broken links.
    pub unresolved: Vec<LinkView>,
    /// Whether there are more of a kind than were returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A link of a note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkView {
    /// The path of the target note.
    pub path: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The target as written: a name or a path, without heading and block.
    pub target: String,
    /// The target heading.
    pub heading: Option<String>,
    /// The target block.
    pub block: Option<String>,
    /// The displayed text.
    pub alias: Option<String>,
    /// Whether the link embeds the note (`![[…]]`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embeds: bool,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
}

/// A link from another note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backlink {
    /// The path of the note that has it.
    pub path: String,
    /// Its title.
    pub title: String,
    /// The target heading.
    pub heading: Option<String>,
    /// The target block.
    pub block: Option<String>,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Citation: `notes/plan.md#L3`.
    pub citation: String,
}

/// How many broken links to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UnresolvedParams {
    /// Maximum links, 1 to 1,000; default 200.
    pub limit: Option<usize>,
}

/// The broken links of the whole vault, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnresolvedView {
    /// The links.
    pub links: Vec<UnresolvedLink>,
    /// Their total number.
    pub total: usize,
}

/// A broken link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnresolvedLink {
    /// The target as written: a name or a path, without heading and block.
    pub target: String,
    /// The path of the note that has it.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Citation: `notes/plan.md#L3`.
    pub citation: String,
}

/// Which part of the graph; by default the notes with a `type`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphParams {
    /// The note at the centre: its title, its file's name, an alias, or its path. If there is none, a prefix of names.
    pub name: Option<String>,
    /// Only relations with this name; case and accents are ignored.
    #[arg(long)]
    pub relation: Option<String>,
    /// Only notes with this `type`: person, company, place, project, tool, concept, event, or any other.
    #[serde(default, rename = "type")]
    #[param(rename = "type")]
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Maximum steps from the note, 1 to 5; default 2.
    #[arg(long, value_name = "N")]
    pub depth: Option<usize>,
    /// Relations that were true then: a date (its end), a time, or how long ago (`7d`).
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    /// Include past and future relations.
    #[arg(long, action = ArgAction::SetTrue)]
    pub expired: Option<bool>,
    /// Maximum relations, or notes if there are no relations, 1 to 1,000; default 200.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

/// A part of the graph. Notes that the caller does not see are left out, with everything reached only through them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphView {
    /// The notes: the requested ones first, the others by their distance.
    pub entities: Vec<EntityView>,
    /// Their relations: nearest first, then named ones, then the newest.
    pub edges: Vec<EdgeView>,
    /// If no note has this name: notes whose names start like this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<EntityView>,
    /// Whether there is more than was returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A note of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntityView {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its types, from its property `type`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Steps from the requested notes; 0 for these themselves.
    pub distance: usize,
}

/// A line of a note that relates it to another note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EdgeView {
    /// The path of the note with this line.
    pub from: String,
    /// Its title.
    pub from_title: String,
    /// The name of the relation; absent for a plain link.
    pub relation: Option<String>,
    /// The path of the target note; absent if it does not exist.
    pub to: Option<String>,
    /// The title of the target note; if it does not exist, the link as written.
    pub to_title: String,
    /// Steps from the requested notes to its end.
    pub distance: usize,
    /// Its state at the requested time.
    pub state: FactState,
    /// From when it is true, as written.
    pub valid_from: Option<String>,
    /// Until when, exclusive, as written.
    pub valid_to: Option<String>,
    /// Its confidence, 0 to 1, if given.
    pub confidence: Option<f64>,
    /// The text of the line.
    pub text: String,
    /// Citation: `people/ann.md#L3`.
    pub citation: String,
}

impl EdgeView {
    /// In one line: `Ann —manages→ Bob (from 2026-03-09)`.
    pub fn line(&self) -> String {
        let name = self.relation.as_ref().map_or("→".to_owned(), |relation| format!("—{relation}→"));
        let part = |word: &str, at: &Option<String>| at.as_ref().map(|at| format!("{word} {at}"));
        let parts = [part("from", &self.valid_from), part("until", &self.valid_to)];
        let window = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let window = if window.is_empty() { window } else { format!(" ({window})") };
        format!("{} {name} {}{window}", self.from_title, self.to_title)
    }
}

/// The attachments of a vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentsView {
    /// Whether searches include their text: `[index] attachments`.
    pub searched: bool,
    /// All attachments, sorted by path.
    pub attachments: Vec<AttachmentView>,
}

/// A file beside the notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentView {
    /// Its path in the vault.
    pub path: String,
    /// `pdf`, `docx`, `html` or `image`, by its extension.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed on disk, as RFC 3339.
    pub updated_at: String,
    /// Whether searches include its text.
    pub state: AttachmentState,
    /// Number of passages of its text.
    pub passages: usize,
    /// Why it, or a part of it, is not searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// Whether searches include the text of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentState {
    /// Searched.
    Searched,
    /// Waiting to be read.
    Waiting,
    /// Not searched, for the given reason.
    NotRead,
}
