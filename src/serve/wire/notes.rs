//! What there is: notes, their links and their graph, pages of passages, collections, files beside the notes.

use std::collections::BTreeMap;

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
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BrowseParams {
    /// Only this collection.
    pub collection: Option<String>,
    /// Only notes updated on this day of the local time zone: `2026-01-05`.
    pub day: Option<String>,
    /// Passages at most, 1 to 1,000; 20 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Passages to leave out first.
    pub offset: Option<usize>,
}

/// Passages, of the newest notes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Browse {
    /// This page.
    pub chunks: Vec<ChunkView>,
    /// How many there are on all pages.
    pub total: usize,
}

/// The names of the collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collections {
    /// In alphabetical order.
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

/// What there is, in numbers.
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
    /// More of each collection.
    pub details: BTreeMap<String, Collection>,
    /// What was made in each month that has anything, the oldest first.
    pub growth: Vec<Growth>,
}

/// What was made in a month, by the notes' dates of creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Growth {
    /// `2026-01`, in the local time zone.
    pub month: String,
    /// Notes.
    pub notes: usize,
    /// Their passages, as they are now.
    pub chunks: usize,
}

/// Maximum number of collections that are named to whoever asks for one that is not there.
const SHOWN_NAMES: usize = 50;

/// Which notes, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListingParams {
    /// Only notes whose paths match this glob; `*` stays within a folder, `**` does not.
    pub glob: Option<String>,
    /// Only notes that come after this path.
    pub after: Option<String>,
    /// Notes at most.
    pub limit: usize,
}

/// A page of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// This page.
    pub notes: Vec<NoteName>,
    /// How many there are on this page and those after it.
    pub total: usize,
}

/// Which notes are listed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotesParams {
    /// Only notes of this collection, or in this folder or one below it: `notes/daily`.
    pub folder: Option<String>,
    /// Only notes with this tag, or one below it.
    pub tag: Option<String>,
    /// Only notes updated then or later: a date, an RFC 3339 time, or how long ago (`7d`).
    pub since: Option<String>,
    /// Notes at most, 1 to 1,000; 50 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Notes to leave out first.
    #[param(minimum = 0)]
    pub offset: Option<usize>,
}

/// Notes, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotesView {
    /// This page.
    pub notes: Vec<NoteName>,
    /// How many there are on all pages.
    pub total: usize,
    /// Why there are none, when nothing that is seen is in such a folder, whatever its tags and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// What a note is called.
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

/// The tags of the notes that are seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagsView {
    /// In alphabetical order, also those that notes have only one below of.
    pub tags: Vec<TagCount>,
    /// Whether there are more than an agent may be given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagCount {
    /// Its name, as most notes write it: `work/plan`.
    pub tag: String,
    /// Notes with this very tag.
    pub notes: usize,
    /// Notes with it or one below it.
    pub with_below: usize,
}

/// Which note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelatedParams {
    /// Its path in the vault.
    pub path: String,
    /// Near the passage on this line, from 1; near the whole note when it is not said.
    #[param(minimum = 1)]
    pub line: Option<usize>,
    /// Notes at most, 1 to 1,000; `[search] limit` when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The notes near a note, which itself is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelatedView {
    /// The note's path.
    pub path: String,
    /// What was compared: `semantic`, or `keyword` where the note has no embedding.
    pub mode: Mode,
    /// The notes, the nearest first.
    pub results: Vec<RelatedNote>,
    /// Why the answer is less than it could be, when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// A note near another, with its nearest passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelatedNote {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// The headings that its nearest passage stands under, outermost first.
    pub heading_path: Vec<String>,
    /// How that passage begins.
    pub snippet: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// Where it is: `notes/api.md#L42-L58`.
    pub citation: String,
    /// When the note was last changed, as RFC 3339.
    pub updated_at: String,
    /// How near it is: a cosine, or by words a share of what could be. Compares within one answer only.
    pub score: f64,
    /// Which of the two links to the other; absent where neither does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<Linked>,
}

/// Which of two notes links to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Linked {
    /// The one that was asked about.
    Out,
    /// The one that is near it.
    In,
    /// Each to the other.
    Both,
}

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoteParams {
    /// Its path in the vault.
    pub path: String,
    /// Of a note that is too long for `body` (1 MB), the part around this line is given, from 1; its beginning when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub line: Option<usize>,
}

impl NoteParams {
    /// The note with a path.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}

/// A note as it is on disk, with its passages as they are indexed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoteView {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its collection.
    pub collection: String,
    /// The note's name: it changes when the note does.
    pub hash: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its frontmatter.
    pub metadata: Value,
    /// When it was made, as RFC 3339.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Opens it in Obsidian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obsidian_url: Option<String>,
    /// Its whole text, frontmatter included.
    pub text: String,
    /// Its body as nodes: a text, or `{tag, attrs?, line_start?, line_end?, children}`. Raw HTML is text.
    #[schema(value_type = Vec<Value>)]
    pub body: Vec<Node>,
    /// Whether `body` is only a part of a very long note; for an agent also whether `text` is cut, and `body` is empty.
    pub cut: bool,
    /// Its passages, in the order of the text.
    pub chunks: Vec<PassageSpan>,
    /// What was written about its passages.
    pub annotations: Vec<AnnotationView>,
}

/// Where a passage of a note is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PassageSpan {
    /// The passage's name.
    pub hash: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
}

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LinksParams {
    /// Its path in the vault.
    pub path: String,
    /// Links of each kind at most, 1 to 1,000; 200 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The links of a note. What the caller does not see is not there: a link to it leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinksView {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its links that lead to a note, in the order of the text.
    pub outgoing: Vec<LinkView>,
    /// The links of other notes that lead to it, in the order of their paths.
    pub incoming: Vec<Backlink>,
    /// Its links that lead to no note.
    pub unresolved: Vec<LinkView>,
    /// Whether there are more of a kind than are given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A link of a note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkView {
    /// The path of the note that it leads to.
    pub path: Option<String>,
    /// That note's title.
    pub title: Option<String>,
    /// What is written: a name or a path, without heading and block.
    pub target: String,
    /// The heading that it leads to.
    pub heading: Option<String>,
    /// The block that it leads to.
    pub block: Option<String>,
    /// What is shown in its place.
    pub alias: Option<String>,
    /// Whether the note is shown where the link stands (`![[…]]`).
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
    /// That note's title.
    pub title: String,
    /// The heading that it leads to.
    pub heading: Option<String>,
    /// The block that it leads to.
    pub block: Option<String>,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Where it stands: `notes/plan.md#L3`.
    pub citation: String,
}

/// How many links that lead nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UnresolvedParams {
    /// Links at most, 1 to 1,000; 200 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The links of a whole vault that lead to no note, in the order of the notes' paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnresolvedView {
    /// The first of them.
    pub links: Vec<UnresolvedLink>,
    /// How many there are.
    pub total: usize,
}

/// A link that leads to no note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnresolvedLink {
    /// What is written: a name or a path, without heading and block.
    pub target: String,
    /// The path of the note that has it.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Where it stands: `notes/plan.md#L3`.
    pub citation: String,
}

/// What of the graph; with nothing said, the notes that have a `type`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphParams {
    /// The note from which to look around: its title, its file's name, an alias, or its path. Where none is called so, what names begin with.
    pub name: Option<String>,
    /// Only relations of this name; case and accents do not count.
    pub relation: Option<String>,
    /// Only notes with this `type`: person, company, place, project, tool, concept, event, or any other.
    #[serde(default, rename = "type")]
    #[param(rename = "type")]
    pub kind: Option<String>,
    /// How many steps away from the note, 1 to 5; 2 when it is not said.
    #[param(minimum = 1, maximum = 5)]
    pub depth: Option<usize>,
    /// What was true then: a date (its end), a time, or how long ago (`7d`).
    pub as_of: Option<String>,
    /// Also relations whose time is over or has not come.
    pub expired: Option<bool>,
    /// Relations at most, and notes where there are no relations, 1 to 1,000; 200 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// A part of the graph. What the caller does not see is not there, and nothing is reached through it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphView {
    /// The notes: those that were asked for first, the others by how many steps away they are.
    pub entities: Vec<EntityView>,
    /// How they are related: the nearest first, those with a name before those without, then the newest.
    pub edges: Vec<EdgeView>,
    /// Where no note is called so: those whose names begin so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<EntityView>,
    /// Whether there is more than is given.
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
    /// What it is, as its property `type` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How many steps away it is from those that were asked for; 0 is one of them.
    pub distance: usize,
}

/// One line of a note that relates it to another.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EdgeView {
    /// The path of the note that says so.
    pub from: String,
    /// Its title.
    pub from_title: String,
    /// The name of the relation; a plain link has none.
    pub relation: Option<String>,
    /// The path of the note that it leads to; there may be none of that name.
    pub to: Option<String>,
    /// That note's title; where there is none, what is written.
    pub to_title: String,
    /// How many steps away from what was asked for it ends.
    pub distance: usize,
    /// Where its time stands with the moment that is asked about.
    pub state: FactState,
    /// From when it is true, as it is written.
    pub valid_from: Option<String>,
    /// Until when, not included, as it is written.
    pub valid_to: Option<String>,
    /// How sure it is, 0 to 1, where that is said.
    pub confidence: Option<f64>,
    /// The text of the line.
    pub text: String,
    /// Where it stands: `people/ann.md#L3`.
    pub citation: String,
}

impl EdgeView {
    /// What it says, in a line: `Ann —manages→ Bob (from 2026-03-09)`.
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
    /// Whether their text is searched: `[index] attachments`.
    pub searched: bool,
    /// All of them, by path.
    pub attachments: Vec<AttachmentView>,
}

/// A file beside the notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentView {
    /// Its path in the vault.
    pub path: String,
    /// `pdf`, `docx`, `html` or `image`, by the end of its name.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed on disk, as RFC 3339.
    pub updated_at: String,
    /// Whether its text is searched.
    pub state: AttachmentState,
    /// The passages of its text.
    pub passages: usize,
    /// Why it is not searched, or what of it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// Whether the text of an attachment is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentState {
    /// It is.
    Searched,
    /// It waits to be read.
    Waiting,
    /// It is not, for the reason given.
    NotRead,
}
