//! A search and its answer, a block of memory for a question, and how texts and JSON name what they mean.

use std::fmt;
use std::marker::PhantomData;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::base::config::{MemoryLayer, Mode};

/// A search: what HTTP, MCP and the command line all ask.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, `"a phrase"`, `+word`, `-word` and `begin*`, or a question; with conditions like `tag:travel`, `in:notes`, `path:daily/*`,
    /// `title:plan`, `before:2026-01-05`, `after:7d`, `has:task`, in conversations `role:user` and `conversation:ID`, `layer:summaries`, and any property: `type:book`, `status:done`, `[rating:>3]`. Lines
    /// `lex: words`, `vec: a question` and `hyde: what an answer might say` ask one side each; `intent: what it is about` helps them.
    pub q: String,
    /// Which sides are asked; `[search] mode` when it is not said.
    pub mode: Option<Mode>,
    /// Only this collection.
    pub collection: Option<String>,
    /// Only notes with this tag, or one below it; with commas between them several, of which each must be there.
    pub tag: Option<String>,
    /// Only notes whose path starts so.
    pub path: Option<String>,
    /// Only notes of these memory scopes, separated by commas: `user`, `project:mech`, `agent-type:coding`, `system`. `=0.7` behind one weighs
    /// its scores, which orders and leaves nothing out; else a project counts 1, the person's 1, an agent type 0.7, what all share 0.4.
    pub scope: Option<String>,
    /// The same, as facts have it: memory scopes, the most specific first. Hits are merged by the weights of their scopes.
    pub resolve: Option<String>,
    /// Only one layer of the memory: `entries`, `conversations`, `summaries` (as long as they are kept), `graph` (notes of persons, companies and
    /// the like, and those with named relations) or `notes`, which are all others.
    pub layer: Option<MemoryLayer>,
    /// Only notes with this `topic`; where fewer than three hits have it, all are searched, which is said.
    pub topic: Option<String>,
    /// Only notes updated then or later: a date, an RFC 3339 time, or how long ago (`7d`).
    pub since: Option<String>,
    /// Only notes updated by then; a date includes its day.
    pub until: Option<String>,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Only hits that are as likely to answer, 0 to 1. When it is not said, agents are given those that `[search] min_score` lets through, and
    /// the person all.
    #[param(minimum = 0, maximum = 1)]
    pub min_score: Option<f64>,
    /// How many passages are shown on either side of a hit, 0 to 20: in conversations turns, 2 when it is not said; in other notes none
    /// then. Hits that overlap become one.
    #[param(minimum = 0, maximum = 20)]
    #[serialize_always]
    pub context: Option<usize>,
    /// How long the models are waited for, 1 to 60,000 ms: then the search goes on without them, and says so. An agent waits no longer
    /// than `[search] timeout_ms` says.
    #[param(minimum = 1, maximum = 60_000)]
    pub timeout_ms: Option<u64>,
    /// Keys of `[search]` with other values for this search alone, `fusion=rrf,per_file=0`; agents cannot.
    pub set: Option<String>,
    /// Whether each hit says where its snippet has words of the query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub highlight: bool,
    /// Whether what was saved just before is waited for, a second at most, until it can be found by its words. Over the
    /// Unix socket it is, unless this is `false`.
    pub fresh: Option<bool>,
}

/// The answer to a search.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResponse {
    /// What was asked.
    pub query: String,
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub results: Vec<HitView>,
    /// Why the answer is less than it could be, when it is.
    pub degraded: Option<String>,
    /// Whether the hits are of any topic, as fewer than three had the one that was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_topic: bool,
    /// How many more hits are left out, as less likely to answer than was asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Where no note is seen in the collection that was asked for: those that there are.
    #[serde(skip)]
    pub no_such_collection: Option<Vec<String>>,
    /// Whether all that was saved before can be found, where that was waited for; in a second it cannot always be made
    /// sure of. Agents are not told.
    pub fresh: Option<bool>,
    /// The share of the passages that may be seen that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// How long the server took, in milliseconds. Agents are not told, so that the same answer is the same bytes.
    pub took_ms: Option<f64>,
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
#[skip_serializing_none]
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
    pub page: Option<u32>,
    /// `notes/api.md#L42-L58`: path and lines of the file as indexed; of a PDF `files/report.pdf#page=3`.
    pub citation: String,
    /// Opens the note in Obsidian. Agents are not told where the vault is.
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HitView {
    /// The passage.
    #[serde(flatten)]
    pub chunk: ChunkView,
    /// The part of the passage that answers best.
    pub snippet: String,
    /// First character and the one after the last of each word of the query in the snippet, when they were asked for.
    pub highlights: Option<Vec<[usize; 2]>>,
    /// What the hits are ordered by; compares within one response only.
    pub score: f64,
    /// How likely the passage answers, 0 to 1; compares across responses. Absent where nothing was looked for, or the model was never
    /// measured.
    pub relevance: Option<f64>,
    /// Whether it is less likely to answer than `[search] min_score` says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps: bool,
    /// The scores of each side.
    pub scores: Scores,
}

/// The scores of each side.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scores {
    /// BM25; absent when the words were not asked.
    pub keyword: Option<f64>,
    /// Cosine; absent when the meaning was not asked, or the passage is not embedded yet.
    pub semantic: Option<f64>,
    /// MaxSim, the mean over the query's tokens of the best cosine with one of the passage's; of passages of
    /// conversations, and in deep searches of the best.
    pub late: Option<f64>,
    /// What a model says of the passage that has read it, 0 to 1; where `[search] rerank` has one, of the best.
    pub rerank: Option<f64>,
    /// BM25 as a share of what a passage with all of the words and nothing else comes near to, 0 to 1.
    pub coverage: Option<f64>,
}

/// Something that could not be indexed, or kept.
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

/// What is an object in JSON, and not an array of its values in their order, which serde would take, too.
#[derive(Debug)]
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Reads an object.
///
/// # Errors
/// When it is none, or its fields are not right.
pub(crate) fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Reads a whole number, also as `5.0`: to JSON, and to languages that know one kind of number, that is the same.
///
/// # Errors
/// When it is no number, not whole, or too large.
pub(crate) fn whole<'de, N: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<N>, D::Error> {
    let expected =
        |said: &dyn std::fmt::Display| serde::de::Error::custom(format!("`{said}` is not a valid whole number"));
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

/// What is asked for.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextParams {
    /// What a model is asked; without it what is worth knowing in any case is given.
    pub query: Option<String>,
    /// The agent that it is for: any for the person, and for an agent itself alone.
    pub agent: Option<String>,
    /// Tokens at most, 50 to 100,000; `[memory] context_tokens` when it is not said, and in full mode the sum of the sections'.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 50, maximum = 100_000)]
    pub budget: Option<usize>,
    /// Only these sections, whatever the question is.
    pub sections: Option<Vec<ContextPart>>,
    /// `gate` decides whether anything is worth giving; `full` gives all layers within their budgets. The latter where there is no question.
    pub mode: Option<ContextMode>,
    /// Whether it goes into a prompt without anybody having asked for it: then `style` on the agent's page counts.
    pub unasked: Option<bool>,
    /// When the session began. An agent whose page says `prompt_memory_mode: frozen-at-session-start` is given memory as it was then, as far
    /// as notes have not changed since.
    pub session_start: Option<String>,
}

/// A section that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextPart {
    /// Who the person is.
    Profile,
    /// Entries of the working memory.
    Entries,
    /// How what is named is related to others.
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

/// How much is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextMode {
    /// What the question is worth, or nothing.
    Gate,
    /// All layers.
    Full,
}

/// A block of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextView {
    /// What a model may be given, fenced as data; empty where nothing is worth it.
    pub text: String,
    /// What it was made of.
    pub receipt: ContextReceipt,
}

/// What a block was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextReceipt {
    /// Names what was given: the same for the same, and the `ETag`.
    pub id: String,
    /// What decided: `profile`, `transcript`, `summaries`, `entries`, `search`, `nothing`, `full`, `asked`.
    pub gate: String,
    /// Why.
    pub why: String,
    /// Tokens of the text.
    pub tokens: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Who counted them: a model, or `estimate`.
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
    /// The places of its lines.
    pub items: Vec<String>,
    /// Lines that were left out, of those that who asks sees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Why they were.
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

    #[test]
    fn an_array_is_no_object() {
        let read = |text: &str| serde_json::from_str::<Object<Inner>>(text).map(|Object(inner)| inner.on);
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
