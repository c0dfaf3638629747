//! A search and its answer, a block of memory for a question, and how texts and JSON name what they mean.

use clap::{Args, ValueEnum};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::base::config::{MemoryLayer, Mode};

/// A search by HTTP, MCP or the command line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, `"a phrase"`, `+word`, `-word` and `begin*`, or a question; with conditions like `tag:travel`, `in:notes`, `path:daily/*`,
    /// `title:plan`, `before:2026-01-05`, `after:7d`, `has:task`, in conversations `role:user` and `conversation:ID`, `layer:summaries`, and any property: `type:book`, `status:done`, `[rating:>3]`. Lines
    /// `lex: words`, `vec: a question` and `hyde: a possible answer` search in one way each; `intent: a topic` helps them.
    #[arg(skip)]
    pub q: String,
    /// How to search; default `[search] mode`.
    #[arg(long)]
    pub mode: Option<Mode>,
    /// Only this collection.
    #[arg(long)]
    pub collection: Option<String>,
    /// Only notes with this tag, or one below it; several tags, separated by commas, must all occur.
    #[arg(long)]
    pub tag: Option<String>,
    /// Only notes whose path starts like this.
    #[arg(long)]
    pub path: Option<String>,
    /// Only notes of these memory scopes, separated by commas: `user`, `project:mech`, `agent-type:coding`, `system`. `=0.7` after one weighs
    /// its scores, which affects only the order; defaults: project 1, the owner's 1, agent type 0.7, shared memory 0.4.
    #[arg(long, value_name = "SCOPES")]
    pub scope: Option<String>,
    /// Memory scopes as for facts, the most specific first. Hits are merged by the weights of their scopes.
    #[arg(long, value_name = "SCOPES", conflicts_with = "scope")]
    pub resolve: Option<String>,
    /// Only one layer of the memory: `entries`, `conversations`, `summaries` (as long as they are kept), `graph` (notes of persons, companies and
    /// the like, and those with named relations) or `notes`, which are all others.
    #[arg(long)]
    pub layer: Option<MemoryLayer>,
    /// Only notes with this `topic`; if fewer than three hits have it, all notes are searched, and the answer says so.
    #[arg(long)]
    pub topic: Option<String>,
    /// Only notes updated then or later: a date, `yesterday`, an RFC 3339 time, or how long ago (`7d`).
    #[arg(long)]
    pub since: Option<String>,
    /// Only notes updated by then; a date includes its day.
    #[arg(long)]
    pub until: Option<String>,
    /// Maximum hits, 1 to 1,000; default `[search] limit`.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Minimum relevance of hits, 0 to 1. By default agents get hits from `[search] min_score` on, and
    /// the owner all.
    #[arg(long, value_name = "SHARE")]
    pub min_score: Option<f64>,
    /// Passages shown on either side of a hit, 0 to 20: in conversations these are turns, default 2; in other notes default
    /// 0. Hits that overlap become one.
    #[arg(long, value_name = "N")]
    pub context: Option<usize>,
    /// Time limit for the models, 1 to 60,000 ms; then the search continues without them, and says so.
    #[arg(long, value_name = "MS")]
    pub timeout_ms: Option<u64>,
    /// Keys of `[search]` with other values for this search only, `per_file=0,min_score=0.3`; not for agents.
    #[arg(skip)]
    pub set: Option<String>,
    /// Whether each hit marks the words of the query in its snippet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[arg(skip)]
    pub highlight: bool,
    /// Whether to wait, at most a second, until the newest changes can be found by their words. Default `true` over the
    /// Unix socket.
    #[arg(skip)]
    pub fresh: Option<bool>,
}

/// The answer to a search.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResponse {
    /// The query.
    pub query: String,
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub results: Vec<HitView>,
    /// Why the answer is limited, if it is.
    pub degraded: Option<String>,
    /// Whether all topics were searched, as fewer than three hits had the requested one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_topic: bool,
    /// Hits left out because their relevance is too low.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// If the requested collection has no visible note: the existing collections.
    #[serde(skip)]
    pub no_such_collection: Option<Vec<String>>,
    /// Whether all earlier changes can be found, if the search waited for them; a second is not always enough.
    /// Agents do not get it.
    pub fresh: Option<bool>,
    /// The share of visible passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// Duration in milliseconds. Agents do not get it, so that the same answer has the same bytes.
    pub took_ms: Option<f64>,
}

impl SearchResponse {
    /// Where each hit stands.
    pub(crate) fn citations(&self) -> Vec<String> {
        self.results.iter().map(|hit| hit.chunk.citation.clone()).collect()
    }
}

/// A passage with its source.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChunkView {
    /// The passage's hash.
    pub hash: String,
    /// The collection of its note.
    pub collection: String,
    /// The note's path in the vault.
    pub path: String,
    /// The note's title.
    pub title: String,
    /// The headings above it, outermost first.
    pub heading_path: Vec<String>,
    /// The text of the passage; with its context if a search requested it, or found it in a conversation.
    pub content: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The page in a PDF, from 1; absent for files without pages. Lines then count in the extracted text.
    pub page: Option<u32>,
    /// `notes/api.md#L42-L58`: path and lines of the file as indexed; of a PDF `files/report.pdf#page=3`.
    pub citation: String,
    /// Link that opens the note in Obsidian. Agents do not get it.
    pub obsidian_url: Option<String>,
    /// The note's tags.
    pub tags: Vec<String>,
    /// The note's frontmatter.
    pub metadata: Value,
    /// When the note was created, as RFC 3339: from its frontmatter, else from the file.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
}

/// A hit. Lines and citation cover the whole shown text; the hash is that of the passage itself.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HitView {
    /// The passage.
    #[serde(flatten)]
    pub chunk: ChunkView,
    /// The part of the passage that answers best.
    pub snippet: String,
    /// Start and end (exclusive) of each query word in the snippet, in characters, if requested.
    pub highlights: Option<Vec<[usize; 2]>>,
    /// The sort key of the hits; comparable only within one response.
    pub score: f64,
    /// How likely the passage answers the query, 0 to 1; comparable across responses. Absent without a query, or if the model was never
    /// measured.
    pub relevance: Option<f64>,
    /// Whether its relevance is below `[search] min_score`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps: bool,
    /// The scores by kind of search.
    pub scores: Scores,
}

/// The scores by kind of search.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scores {
    /// BM25; absent without a keyword search.
    pub keyword: Option<f64>,
    /// Cosine; absent without a semantic search, or if the passage is not embedded yet.
    pub semantic: Option<f64>,
    /// MaxSim, the mean over the query's tokens of the best cosine with a token of the passage; for passages of
    /// conversations.
    pub late: Option<f64>,
    /// The score of the reranking model, 0 to 1; only for the best, if `[search] rerank` names a model.
    pub rerank: Option<f64>,
    /// BM25 as a share of about the maximum for this query (a passage with only its words), 0 to 1.
    pub coverage: Option<f64>,
}

/// Something that could not be indexed, stored or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skipped {
    /// Where it is.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Splits `a.md:3-5`, `a.md:3` or `a.md#L3-L5` into the path and its first and last line, the last if it is said. What
/// [`citation`] makes is read again.
pub(crate) fn split_lines(text: &str) -> (&str, Option<(usize, Option<usize>)>) {
    let number = |text: &str| text.strip_prefix('L').unwrap_or(text).parse().ok();
    let parse = |range: &str| match range.split_once('-') {
        Some((first, last)) => Some((number(first)?, Some(number(last)?))),
        None => number(range).map(|line| (line, None)),
    };
    [text.rsplit_once("#L"), text.rsplit_once(':')]
        .into_iter()
        .flatten()
        .find_map(|(path, range)| Some((path, Some(parse(range)?))))
        .unwrap_or((text, None))
}

/// Where a passage begins, as a line below its text.
pub(crate) fn source_line(path: &str, first: u32) -> String {
    format!("Source: {path}#{first}")
}

/// Names lines of a note: `notes/api.md#L42-L58`, or `notes/api.md#L42` for one.
pub(crate) fn citation(path: &str, first: u32, last: u32) -> String {
    if first == last { format!("{path}#L{first}") } else { format!("{path}#L{first}-L{last}") }
}

/// Names a passage of a file: its page where it has pages, as `files/report.pdf#page=3`, else its lines.
pub(crate) fn passage_citation(path: &str, page: Option<u32>, first: u32, last: u32) -> String {
    page.map_or_else(|| citation(path, first, last), |page| format!("{path}#page={page}"))
}

/// Splits `report.pdf#page=3` into the path and the page.
pub(crate) fn split_page(text: &str) -> Option<(&str, u32)> {
    let (path, page) = text.rsplit_once("#page=")?;
    Some((path, page.parse().ok().filter(|page| *page > 0)?))
}

/// RFC 3986's unreserved characters.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const WITHOUT_SLASH: AsciiSet = UNRESERVED.remove(b'/');

/// Percent-encodes a text for a URL: all but RFC 3986's unreserved characters.
pub(crate) fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

/// Takes back what a URL cannot hold; what is no text then stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}

/// The same for a path, whose slashes stay.
pub(crate) fn percent_encode_path(path: &str) -> String {
    utf8_percent_encode(path, &WITHOUT_SLASH).to_string()
}

/// Reads an object, and not an array of its values in their order, which serde would take, too.
///
/// # Errors
/// When it is none, or its fields are not right.
pub(crate) fn object<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(deserializer)?;
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(Error::custom)
}

/// Reads a whole number, also as `5.0`: to JSON, and to languages that know one kind of number, that is the same.
///
/// # Errors
/// When it is no number, not whole, or too large.
pub(crate) fn whole<'de, N: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<N>, D::Error> {
    let expected = |said: &dyn std::fmt::Display| Error::custom(format!("`{said}` is not a valid whole number"));
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| {
        // Up to here every whole number is a float of its own.
        let float =
            number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(float));
        float.map(|float| float as u64)
    });
    let number = whole.and_then(|whole| N::try_from(whole).ok()).ok_or_else(|| expected(&number))?;
    Ok(Some(number))
}

/// A request for context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct ContextParams {
    /// The question to the model; without it, general context is returned.
    pub query: Option<String>,
    /// The agent that it is for; default who asks. The owner may name any agent, an agent only itself.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Maximum tokens, 50 to 100,000; default 800, in full mode the sum of the sections.
    #[serde(default, deserialize_with = "whole")]
    #[arg(long, value_name = "N")]
    pub budget: Option<usize>,
    /// Only these sections, whatever the question.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help = "Only these sections, separated by commas")]
    pub sections: Option<Vec<ContextPart>>,
    /// `gate` chooses layers by the question, or none; `full` returns all layers within their budgets, the default without a question.
    #[arg(long, value_name = "MODE")]
    pub mode: Option<ContextMode>,
    /// Whether it is put into a prompt automatically: then `style` on the agent's page applies.
    #[arg(skip)]
    pub unasked: Option<bool>,
    /// When the session began. With `prompt_memory_mode: frozen-at-session-start` on its page, an agent gets memory as it was then, except
    /// for notes that have changed since.
    #[arg(skip)]
    pub session_start: Option<String>,
}

/// A section of context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ContextPart {
    /// Who the user is.
    Profile,
    /// Entries of the working memory.
    Entries,
    /// Relations of what the question names.
    Relations,
    /// Summaries of conversations.
    Summaries,
    /// Turns of conversations.
    Transcript,
    /// Passages of notes.
    Excerpts,
    /// Passages of an agent's own memory.
    Memories,
}

/// How much is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ContextMode {
    /// What the question needs, or nothing.
    Gate,
    /// All layers.
    Full,
}

/// A block of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextView {
    /// The text for a model, fenced as data; empty if nothing matters.
    pub text: String,
    /// What it was made of.
    pub receipt: ContextReceipt,
}

/// What a block was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextReceipt {
    /// Id of this content, also the `ETag`: the same content has the same id.
    pub id: String,
    /// The decision: `profile`, `transcript`, `summaries`, `entries`, `search`, `nothing`, `full`, `asked`.
    pub gate: String,
    /// Why.
    pub why: String,
    /// Tokens of the text.
    pub tokens: usize,
    /// Its bytes.
    pub bytes: usize,
    /// How they were counted: `estimate`, by characters.
    pub counted_by: String,
    /// Its sections, in their order.
    pub sections: Vec<ContextSection>,
}

/// A part of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextSection {
    /// Its name.
    pub name: String,
    /// Its tokens.
    pub tokens: usize,
    /// The sources of its lines.
    pub items: Vec<String>,
    /// Visible lines that were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Why they were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether a number is not worth saying.
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl ContextReceipt {
    /// The places that were given.
    pub(crate) fn places(&self) -> Vec<String> {
        self.sections.iter().flat_map(|section| &section.items).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_and_read_again() {
        assert_eq!(passage_citation("a.pdf", Some(3), 7, 9), "a.pdf#page=3");
        assert_eq!(passage_citation("a.md", None, 7, 9), "a.md#L7-L9");
        assert_eq!(split_page("notes/a#page=1.pdf#page=12"), Some(("notes/a#page=1.pdf", 12)));
        for none in ["a.pdf", "a.pdf#page=0", "a.pdf#page=x"] {
            assert_eq!(split_page(none), None);
        }
    }

    #[test]
    fn what_a_search_names_is_read_again() {
        for (text, path, lines) in [
            ("notes/a.md", "notes/a.md", None),
            ("notes/a.md:3", "notes/a.md", Some((3, None))),
            ("notes/a.md:3-5", "notes/a.md", Some((3, Some(5)))),
            ("notes/#1.md#L3-L5", "notes/#1.md", Some((3, Some(5)))),
            ("notes/10:30 talk.md", "notes/10:30 talk.md", None),
        ] {
            assert_eq!(split_lines(text), (path, lines), "{text}");
        }
        assert_eq!(split_lines(&citation("a.md", 2, 9)), ("a.md", Some((2, Some(9)))));
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        on: Option<bool>,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(deserialize_with = "object")]
        inner: Inner,
    }

    #[test]
    fn an_array_is_no_object() {
        let read =
            |text: &str| serde_json::from_str::<Outer>(&format!("{{\"inner\": {text}}}")).map(|outer| outer.inner.on);
        assert_eq!(read(r#"{"on": true}"#).unwrap(), Some(true));
        assert_eq!(read("{}").unwrap(), None);
        for bad in ["[true]", "[null]", "[]", "null", "\"on\"", r#"{"on": 1}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}

#[cfg(test)]
mod tests_of_whole {
    use super::*;

    #[derive(Deserialize)]
    struct Lines {
        #[serde(default, deserialize_with = "whole")]
        line: Option<u32>,
    }

    #[test]
    fn a_whole_number_may_have_a_point() {
        let line = |text: &str| serde_json::from_str::<Lines>(text).map(|lines| lines.line);
        assert_eq!(line(r#"{"line": 5}"#).unwrap(), Some(5));
        assert_eq!(line(r#"{"line": 5.0}"#).unwrap(), Some(5));
        assert_eq!(line(r#"{"line": null}"#).unwrap(), None);
        assert_eq!(line("{}").unwrap(), None);
        for bad in ["-1", "1.5", "1e300", "4294967296", "\"5\"", "true", "[]", "-0.5"] {
            assert!(line(&format!("{{\"line\": {bad}}}")).is_err(), "{bad}");
        }
    }
}
