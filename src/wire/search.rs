//! A search and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::config::{MemoryLayer, Mode};

/// A search: what HTTP, MCP and the command line all ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, `"a phrase"`, `+word`, `-word` and `begin*`, or a question; with conditions like `tag:travel`, `in:notes`, `path:daily/*`,
    /// `title:plan`, `before:2026-01-05`, `after:7d`, `has:task`, in conversations `role:user` and `conversation:ID`, `layer:summaries`, and any property: `type:book`, `status:done`, `[rating:>3]`. Lines
    /// `lex: words`, `vec: a question` and `hyde: what an answer might say` ask one side each; `intent: what it is about` helps them.
    pub q: String,
    /// Which sides are asked; `[search] mode` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Only this collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Only notes with this tag, or one below it; with commas between them several, of which each must be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only notes whose path starts so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only notes of these memory scopes, separated by commas: `user`, `project:mech`, `agent-type:coding`, `system`. `=0.7` behind one weighs
    /// its scores, which orders and leaves nothing out; else a project counts 1, the person's 1, an agent type 0.7, what all share 0.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The same, as facts have it: memory scopes, the most specific first. Hits are merged by the weights of their scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve: Option<String>,
    /// Only one layer of the memory: `entries`, `conversations`, `summaries` (as long as they are kept), `graph` (notes of persons, companies and
    /// the like, and those with named relations) or `notes`, which are all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<MemoryLayer>,
    /// Only notes with this `topic`; where fewer than three hits have it, all are searched, which is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Only notes updated then or later: a date, an RFC 3339 time, or how long ago (`7d`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only notes updated by then; a date includes its day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Only hits that are as likely to answer, 0 to 1. When it is not said, agents are given those that `[search] min_score` lets through, and
    /// the person all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0, maximum = 1)]
    pub min_score: Option<f64>,
    /// How many passages are shown on either side of a hit, 0 to 20: in conversations turns, 2 when it is not said; in other notes none
    /// then. Hits that overlap become one.
    #[param(minimum = 0, maximum = 20)]
    pub context: Option<usize>,
    /// How long the models are waited for, 1 to 60,000 ms: then the search goes on without them, and says so. An agent waits no longer
    /// than `[search] timeout_ms` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 60_000)]
    pub timeout_ms: Option<u64>,
    /// Keys of `[search]` with other values for this search alone, `fusion=rrf,rrf_k=60`; agents cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Whether each hit says where its snippet has words of the query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub highlight: bool,
    /// Whether what was saved just before is waited for, a second at most, until it can be found by its words. Over the
    /// Unix socket it is, unless this is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResponse {
    /// What was asked.
    pub query: String,
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub results: Vec<HitView>,
    /// Why the answer is less than it could be, when it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// Whether the hits are of any topic, as fewer than three had the one that was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_topic: bool,
    /// How many more hits are left out, as less likely to answer than was asked for.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub left_out: usize,
    /// Where no note is seen in the collection that was asked for: those that there are.
    #[serde(skip)]
    pub no_such_collection: Option<Vec<String>>,
    /// Whether all that was saved before can be found, where that was waited for; in a second it cannot always be made
    /// sure of. Agents are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    /// The share of the passages that may be seen that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// How long the server took, in milliseconds. Agents are not told, so that the same answer is the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<f64>,
}

fn is_none_left_out(count: &usize) -> bool {
    *count == 0
}

impl SearchResponse {
    /// The names of the chunks that are given.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &str> {
        self.results.iter().map(|hit| hit.chunk.hash.as_str())
    }

    /// Where each hit stands.
    pub(crate) fn citations(&self) -> Vec<String> {
        self.results.iter().map(|hit| hit.chunk.citation.clone()).collect()
    }
}

/// A passage with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChunkView {
    /// The passage's name.
    pub hash: String,
    /// The collection of its note.
    pub collection: String,
    /// The note's path in the vault.
    pub path: String,
    /// The note's title.
    pub title: String,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
    /// The passage; where a search was asked for more, or finds it in a conversation, with what stands around it.
    pub content: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The page of a PDF that it is on, from 1; absent where there are no pages. Its lines are then those of the file's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// `notes/api.md#L42-L58`: path and lines of the file as indexed; of a PDF `files/report.pdf#page=3`.
    pub citation: String,
    /// Opens the note in Obsidian. Agents are not told where the vault is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obsidian_url: Option<String>,
    /// The note's tags.
    pub tags: Vec<String>,
    /// The note's frontmatter.
    pub metadata: Value,
    /// When the note was made, as RFC 3339: its frontmatter's word, else the file's.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
}

/// A passage that was found. Lines and citation are those of all that is shown; the hash names the passage itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HitView {
    /// The passage.
    #[serde(flatten)]
    pub chunk: ChunkView,
    /// The part of the passage that answers best.
    pub snippet: String,
    /// First character and the one after the last of each word of the query in the snippet, when they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlights: Option<Vec<[usize; 2]>>,
    /// What the hits are ordered by; compares within one response only.
    pub score: f64,
    /// How likely the passage answers, 0 to 1; compares across responses. Absent where nothing was looked for, or the model was never
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f64>,
    /// Whether it is less likely to answer than `[search] min_score` says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps: bool,
    /// The scores of each side.
    pub scores: Scores,
}

/// The scores of each side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scores {
    /// BM25; absent when the words were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword: Option<f64>,
    /// Cosine; absent when the meaning was not asked, or the passage is not embedded yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic: Option<f64>,
    /// MaxSim, the mean over the query's tokens of the best cosine with one of the passage's; of passages of
    /// conversations, and in deep searches of the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    /// What a model says of the passage that has read it, 0 to 1; where `[search] rerank` has one, of the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<f64>,
    /// BM25 as a share of what a passage with all of the words and nothing else comes near to, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}
