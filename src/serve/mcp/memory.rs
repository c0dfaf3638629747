//! The tools of what is known: `memory`, `entry`, `fact`, `graph`, `context` and `status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::search::Hits;
use super::tool::{DATA, Effect, Render, ToolAction, ToolEntry, count};
use crate::access::request::{MemoryWriter, RequestError, Viewer};
use crate::base::config::MemoryKind;
use crate::serve::app::App;
use crate::serve::wire::{
    AgentWriteParams, AgentWritten, ContextMode, ContextParams, ContextView, EntityView, EntriesParams, EntriesView,
    EntryAddParams, EntryAdded, FactSetParams, FactState, FactView, FactWrittenView, FactsParams, FactsView,
    GraphParams, GraphView, MemoryChange, MemoryFiles, MemoryForgotten, MemorySearchParams, MemoryText, SuggestParams,
    Suggested,
};
use crate::text::derive::facts::{full_name, split_name};
use crate::{memory::agent as memory, memory::context, memory::entries, memory::facts, vault::notes};

impl Render for MemoryText {
    fn text(&self) -> String {
        let more = if self.cut { "\n(There is more: continue from the next line.)\n" } else { "" };
        format!("[{}] {DATA}\n\n{}\n{more}", self.citation, self.text.trim_end())
    }
}

impl Render for MemoryChange {
    fn text(&self) -> String {
        let mut text = match (self.matches_removed, self.file_deleted) {
            (_, true) => format!("{} is deleted.", self.path),
            (Some(1), false) => format!("Deleted from {}.", self.path),
            (Some(times), false) => format!("Deleted from {}, {}.", self.path, count(times, "time")),
            (None, false) => format!("{} is saved.", self.path),
        };
        if self.redacted {
            text += " Secrets were removed from the text.";
        }
        if !self.searchable {
            text += " Searches find it in a moment.";
        }
        text + &format!(" Checkpoint {} undoes it.\n", self.checkpoint_id)
    }
}

impl Render for MemoryForgotten {
    fn text(&self) -> String {
        let mut text = match (self.deleted.len(), self.candidates.len()) {
            (0, 0) => "Nothing in your memory matches that.\n".to_owned(),
            (0, _) if self.needs_confirmation => "Nothing was deleted: several passages match. Ask again with \
                the hash of one.\n"
                .to_owned(),
            (0, _) => "Nothing was deleted. This would be deleted:\n".to_owned(),
            _ => format!("Deleted. Checkpoint {} undoes it.\n", self.checkpoint_ids.join(", ")),
        };
        for candidate in self.deleted.iter().chain(&self.candidates) {
            text += &format!("\n[{}] hash {}\n{}\n", candidate.citation, candidate.hash, candidate.text.trim_end());
        }
        text
    }
}

impl Render for MemoryFiles {
    fn text(&self) -> String {
        format!("{}.\n{}\n", count(self.files.len(), "file"), self.files.join("\n"))
    }
}

impl Render for Suggested {
    fn text(&self) -> String {
        format!("Suggested for {}. It takes effect when the user accepts it.\n", self.path)
    }
}

impl Render for AgentWritten {
    fn text(&self) -> String {
        format!("{} is written. The user can undo it by checkpoint {}.\n", self.path, self.checkpoint_id)
    }
}

/// An edit to suggest; several at once are for HTTP.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NoteSuggestArgs {
    /// The note.
    path: String,
    /// As it was read.
    hash: Option<String>,
    /// Exact text.
    old: String,
    /// New text.
    new: String,
    /// Reason.
    why: String,
}

/// What to write into a note.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NoteWriteArgs {
    /// The note.
    path: String,
    /// As it was read.
    hash: Option<String>,
    /// Exact text.
    old: Option<String>,
    /// New text.
    new: String,
    /// Below.
    heading: Option<String>,
}

/// A note to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NoteCreateArgs {
    /// Its path.
    path: String,
    /// Its text.
    new: String,
}

/// Nothing is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

pub(super) fn memory_tool() -> ToolEntry {
    let description = "Your own notes for later conversations. `search` before you `save`: what matters later (preferences, names, how something \
            is done), in whole sentences with absolute dates, no secrets. `list` files, `get` one, `delete` a `text`, `forget` what \
            `query` is about, `undo` a change by `checkpoint_id`. `note_suggest` an edit of the user's notes.";
    let search = |_: &App, writer: &MemoryWriter, params: MemorySearchParams| {
        if params.query.trim().is_empty() {
            return Err(RequestError::invalid("`query` is empty"));
        }
        memory::search(writer, &params).map(|found| Hits::of(found, &writer.workspace().config.search))
    };
    let suggest = |_: &App, writer: &MemoryWriter, args: NoteSuggestArgs| {
        let NoteSuggestArgs { path, hash, old, new, why } = args;
        let (old, new) = (Some(old), Some(new));
        notes::suggest(writer, &SuggestParams { path, base_hash: hash, old, new, why, edits: None })
    };
    let write = |_: &App, writer: &MemoryWriter, args: NoteWriteArgs| {
        let NoteWriteArgs { path, hash, old, new, heading } = args;
        notes::agent_write(writer, &AgentWriteParams { path, base_hash: hash, old, new, heading, create: None })
    };
    let create = |_: &App, writer: &MemoryWriter, NoteCreateArgs { path, new }: NoteCreateArgs| {
        notes::agent_write(writer, &AgentWriteParams { path, new, create: Some(true), ..AgentWriteParams::default() })
    };
    let actions = vec![
        ToolAction::new("search", Effect::Reads, search),
        ToolAction::new("list", Effect::Reads, |_, writer, NoArgs {}| memory::list(writer)),
        ToolAction::new("get", Effect::Reads, |_, writer, params| memory::get(writer, &params)),
        ToolAction::new("save", Effect::Changes, |_, writer, params| memory::save(writer, &params)),
        ToolAction::new("delete", Effect::Changes, |_, writer, params| memory::delete(writer, &params)),
        ToolAction::new("forget", Effect::Changes, |_, writer, params| memory::forget(writer, &params)),
        ToolAction::new("undo", Effect::Changes, |_, writer, params| memory::restore(writer, &params)),
        ToolAction::new("note_suggest", Effect::Changes, suggest),
        ToolAction::new("note_write", Effect::Changes, write),
        ToolAction::new("note_create", Effect::Changes, create),
    ];
    ToolEntry::new("memory", "Your own memory", description, actions)
}

/// Which entries.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EntryListArgs {
    /// Kind.
    #[schema(inline)]
    kind: Option<MemoryKind>,
    /// Tag.
    tag: Option<String>,
    /// Default 200.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What to remember.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EntryProposeArgs {
    /// One sentence.
    #[schema(min_length = 1)]
    text: String,
    /// Kind; default a fact.
    #[schema(inline)]
    kind: Option<MemoryKind>,
    /// How sure.
    #[schema(minimum = 0.0, maximum = 1.0)]
    confidence: Option<f64>,
    /// notes/api.md#L12.
    sources: Option<Vec<String>>,
}

impl Render for EntriesView {
    fn text(&self) -> String {
        if self.entries.is_empty() {
            return "No such entries.\n".to_owned();
        }
        let mut text = format!("{}. {DATA}\n", count(self.entries.len(), "entry"));
        for entry in &self.entries {
            let trust = if entry.trust == "person" { String::new() } else { format!(", by {}", entry.trust) };
            text += &format!("- [{}] {} [{}{trust}]\n", entry.kind.word(), entry.text, entry.citation);
        }
        if self.cut {
            text += "There are more: filter by kind or tag.\n";
        }
        text
    }
}

impl Render for EntryAdded {
    fn text(&self) -> String {
        match self.status.as_str() {
            "pending" => "Proposed. It takes effect when the user accepts it.\n".to_owned(),
            "duplicate" => format!("{} already says this.\n", self.id),
            _ => format!("Added as {}.\n", self.id),
        }
    }
}

pub(super) fn entry_tool() -> ToolEntry {
    let description = "`list`: what the user has accepted as known about them, one line each: preferences, decisions, commitments. `propose`: one \
            new sentence; it waits until the user accepts it.";
    let list = |_: &App, viewer: &Viewer, args: EntryListArgs| {
        let EntryListArgs { kind, tag, limit } = args;
        entries::entries(viewer, &EntriesParams { kind, tag, limit, ..EntriesParams::default() })
    };
    let propose = |_: &App, viewer: &Viewer, args: EntryProposeArgs| {
        let EntryProposeArgs { text, kind, confidence, sources } = args;
        entries::add(viewer, &EntryAddParams { kind, text, confidence, sources, ..EntryAddParams::default() })
    };
    let actions =
        vec![ToolAction::new("list", Effect::Reads, list), ToolAction::new("propose", Effect::Changes, propose)];
    ToolEntry::new("entry", "What is known", description, actions)
}

/// Which fact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactArgs {
    /// `namespace/key`, or `key`.
    #[schema(min_length = 1)]
    name: String,
    /// Most specific first: `project:mech,system`.
    scopes: Option<String>,
    /// True on this day.
    as_of: Option<String>,
    /// Known on this day.
    known_at: Option<String>,
}

/// Which facts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactListArgs {
    /// Headings above.
    namespace: Option<String>,
    /// As `project:mech,system`; `*` for all.
    scopes: Option<String>,
    /// Their key.
    key: Option<String>,
    /// Name prefix.
    prefix: Option<String>,
    /// Their tag.
    tag: Option<String>,
    /// True then.
    as_of: Option<String>,
    /// Known then.
    known_at: Option<String>,
    /// Also past and future.
    expired: Option<bool>,
    /// As 7d.
    changed_since: Option<String>,
    /// Default 200; by tag 10.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// A fact to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FactSetArgs {
    /// `namespace/key`, or `key`.
    #[schema(min_length = 1)]
    name: String,
    /// A text, a list or a map.
    value: Value,
    /// 2026-03-09.
    from: Option<String>,
    /// The end.
    until: Option<String>,
    /// Replaces its tags.
    tags: Option<Vec<String>>,
    /// notes/api.md#L12.
    source: Option<String>,
    /// The old was never true.
    correct: Option<bool>,
    /// Only over this value.
    if_value: Option<String>,
}

fn split(name: &str) -> (Option<String>, String) {
    let (namespace, key) = split_name(name);
    (Some(namespace.to_lowercase()), key.to_owned())
}

fn one(meant: FactArgs, history: bool) -> FactsParams {
    let FactArgs { name, scopes, as_of, known_at } = meant;
    let (namespace, key) = split(&name);
    let (resolve, history) = (scopes, history.then_some(true));
    FactsParams { resolve, namespace, key: Some(key), as_of, known_at, history, ..FactsParams::default() }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "nothing".to_owned(),
        other => other.to_string(),
    }
}

/// A sentence of what there is instead; nothing where that is nothing.
fn listed(what: &str, names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { String::new() } else { format!("{what}: {}.", names.join(", ")) }
}

fn line(fact: &FactView) -> String {
    let name = full_name(&fact.namespace, &fact.key);
    let state = match fact.state {
        FactState::Current => "",
        FactState::Expired => " (no longer)",
        FactState::Future => " (not yet)",
        FactState::Retracted => " (never true)",
        FactState::Unset => " (unset)",
    };
    let from = fact.valid_from.as_ref().map(|from| format!(", from {from}")).unwrap_or_default();
    let until = fact.valid_to.as_ref().map(|until| format!(", until {until}")).unwrap_or_default();
    let next = fact
        .next
        .as_ref()
        .map(|next| format!("; then {} from {}", shown(&next.value), next.valid_from.as_deref().unwrap_or_default()));
    let (value, next) = (shown(&fact.value), next.unwrap_or_default());
    format!("{name}: {value}{state} [{}, {}{from}{until}]{next}\n", fact.scope, fact.citation)
}

impl Render for FactsView {
    fn text(&self) -> String {
        let mut text = match self.facts.len() {
            0 => {
                let near = self.near.iter();
                let near = near.map(|near| format!("{} [{}]", full_name(&near.namespace, &near.key), near.scope));
                return format!("No such fact.{}\n", listed(" Facts with this key", near));
            }
            facts => format!("{}. {DATA}\n", count(facts, "fact")),
        };
        for fact in &self.facts {
            text += &line(fact);
            for change in &fact.history {
                let times = [("from", &change.from), ("until", &change.until)];
                let times: String =
                    times.iter().filter_map(|(name, time)| Some(format!(" {name} {}", time.as_ref()?))).collect();
                let (old, new) = (shown(&change.old), shown(&change.new));
                text += &format!("  {} {}: {old} → {new}{times} (by {})\n", change.learned, change.change, change.by);
            }
        }
        if self.cut {
            text += "There are more: filter by namespace.\n";
        }
        text
    }
}

impl Render for FactWrittenView {
    fn text(&self) -> String {
        let undo = self.checkpoint_id.as_ref().map(|id| format!(" Checkpoint {id} undoes it."));
        let before = self.before.as_ref().map(|before| format!(" It was {before}.")).unwrap_or_default();
        format!("Set in {}.{before}{}\n", self.path, undo.unwrap_or_default())
    }
}

pub(super) fn fact_tool() -> ToolEntry {
    let description = "Exact values by name: a command, branch, address. `get` one by `name`; `list` those of a namespace, tag or \
            day; `history`: how one changed, and who changed it; `set` one of your own.";
    let list = |_: &App, viewer: &Viewer, args: FactListArgs| {
        let FactListArgs { namespace, scopes: scope, key, prefix, tag, as_of, known_at, expired, changed_since, limit } =
            args;
        let namespace = namespace.map(|namespace| namespace.to_lowercase());
        let asked = FactsParams { scope, namespace, prefix, tag, as_of, known_at, ..FactsParams::default() };
        facts::facts(viewer, &FactsParams { key, expired, changed_since, limit, ..asked })
    };
    let set = |_: &App, viewer: &Viewer, args: FactSetArgs| {
        let FactSetArgs { name, value, from, until, tags, source, correct, if_value } = args;
        let (namespace, key) = split(&name);
        let scope = None;
        facts::set(
            viewer,
            &FactSetParams { scope, namespace, key, value, from, until, tags, source, correct, if_value },
        )
    };
    let actions = vec![
        ToolAction::new("get", Effect::Reads, |_, viewer: &Viewer, args| facts::facts(viewer, &one(args, false))),
        ToolAction::new("list", Effect::Reads, list),
        ToolAction::new("history", Effect::Reads, |_, viewer: &Viewer, args| facts::facts(viewer, &one(args, true))),
        ToolAction::new("set", Effect::Changes, set),
    ];
    ToolEntry::new("fact", "Facts", description, actions)
}

/// Relations when nobody says how many.
const EDGES: usize = 30;

/// What of the graph.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GraphArgs {
    /// Title, alias or path.
    name: Option<String>,
    /// `manages`.
    relation: Option<String>,
    /// `person`.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Steps; default 2.
    #[schema(minimum = 1, maximum = 5)]
    depth: Option<usize>,
    /// True on this day.
    as_of: Option<String>,
    /// Default 30.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

fn named(entity: &EntityView) -> String {
    let what = if entity.types.is_empty() { String::new() } else { format!(" ({})", entity.types.join(", ")) };
    format!("{}{what} [{}]", entity.title, entity.path)
}

impl Render for GraphView {
    fn text(&self) -> String {
        if self.entities.is_empty() {
            return format!("Nothing found.{}\n", listed(" Names that start like this", self.near.iter().map(named)));
        }
        let (notes, edges) = (count(self.entities.len(), "note"), count(self.edges.len(), "relation"));
        let mut text = format!("{notes} and {edges}. {DATA}\n");
        let listed = self.entities.iter().filter(|entity| entity.distance == 0 || !entity.types.is_empty());
        listed.for_each(|entity| text += &format!("{}\n", named(entity)));
        for edge in &self.edges {
            let state = match edge.state {
                FactState::Expired => " (no longer)",
                FactState::Future => " (not yet)",
                FactState::Current | FactState::Retracted | FactState::Unset => "",
            };
            let sure = edge.confidence.map_or(String::new(), |share| format!(", confidence {share}"));
            text += &format!("{}{state}{sure} [{}]\n", edge.line(), edge.citation);
        }
        if self.cut {
            text += "There is more.\n";
        }
        text
    }
}

pub(super) fn graph_tool() -> ToolEntry {
    let description = "Shows how a person, project or other note is related to others (who manages whom, who works where), each relation with its \
            line. Without `name`: all relations of a kind, or notes of a type.";
    let run = |_: &App, viewer: &Viewer, args: GraphArgs| {
        let GraphArgs { name, relation, kind, depth, as_of, limit } = args;
        let limit = Some(limit.unwrap_or(EDGES));
        crate::access::request::graph(viewer, &GraphParams { name, relation, kind, depth, as_of, expired: None, limit })
    };
    ToolEntry::reader("graph", "Who is related", description, run)
}

/// What it is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ContextArgs {
    /// The question; without it, general context.
    query: Option<String>,
    /// `full` for all layers.
    mode: Option<ContextMode>,
    /// Maximum tokens.
    #[schema(minimum = 50, maximum = 100_000)]
    budget: Option<usize>,
}

impl Render for ContextView {
    fn text(&self) -> String {
        if self.text.is_empty() {
            return format!("No context for this: {}.\n", self.receipt.why);
        }
        self.text.clone()
    }
}

pub(super) fn context_tool() -> ToolEntry {
    let description = "Returns the few lines of memory that matter for a question or task, each with its source, or nothing. \
            Use it first, at the start of a task; `search` looks further.";
    let run = |_: &App, viewer: &Viewer, ContextArgs { query, mode, budget }: ContextArgs| {
        context::context(viewer, &ContextParams { query, mode, budget, ..ContextParams::default() })
    };
    ToolEntry::reader("context", "Relevant memory", description, run)
}

/// What there is.
#[derive(Debug, Serialize)]
struct SeenStatus {
    /// Notes that can be found.
    notes: usize,
    /// Passages that can be found.
    passages: usize,
    /// Passages of each collection.
    collections: BTreeMap<String, usize>,
    /// How the vault and its index are; for the person alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    vault: Option<Value>,
}

impl Render for SeenStatus {
    fn text(&self) -> String {
        let mut text = format!("{}, {}.\n", count(self.notes, "note"), count(self.passages, "passage"));
        for (name, passages) in &self.collections {
            text += &format!("- {name}: {}\n", count(*passages, "passage"));
        }
        if let Some(vault) = &self.vault {
            text += &format!("\n{vault:#}\n");
        }
        text
    }
}

pub(super) fn status_tool() -> ToolEntry {
    let description = "Counts the notes that you can see, by collection (folder). If there are none, the user has given you no access.";
    let run = |app: &App, viewer: &Viewer, NoArgs {}: NoArgs| {
        let stats = notes::stats(viewer)?;
        let vault = match viewer.owner() {
            Some(owner) => serde_json::to_value(app.status(&owner)?).ok(),
            None => None,
        };
        Ok(SeenStatus { notes: stats.files, passages: stats.total, collections: stats.collections, vault })
    };
    ToolEntry::reader("status", "Status", description, run)
}
