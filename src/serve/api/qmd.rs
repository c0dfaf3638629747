//! The addresses and shapes of `qmd serve`, so that a program made for it finds the vault where it looks for its index.
//!
//! They are lenient where such programs differ: fields that are not known are passed over.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::endpoint::{Asked, wants_fresh};
use crate::access::request::{RequestError, Viewer};
use crate::base::config::Mode;
use crate::serve::wire::{
    Browse, BrowseParams, ChunkView, Collection, EmbeddedAs, Embedding, ForgetParams, HitView, Removed, SaveParams,
    Saved, SearchQuery, SearchResponse, whole,
};
use crate::{memory::agent as memory, serve::jobs, vault::notes};

/// What a search of one of the three kinds finds.
pub(super) fn find<P: Into<SearchBody>>(a: Asked<'_, Viewer, P>, mode: Mode) -> Result<QmdFound, RequestError> {
    let is_local = a.is_local;
    let mut params = a.params.into().params(mode)?;
    params.fresh = wants_fresh(params.fresh, is_local);
    notes::search_times(a.role, &params, 2).map(QmdFound::of)
}

/// The collections, by name.
///
/// # Errors
/// As [`notes::stats`].
pub(super) fn collections(viewer: &Viewer) -> Result<NamedCollections, RequestError> {
    let details = notes::stats(viewer)?.details.into_iter();
    Ok(NamedCollections(details.map(|(name, collection)| NamedCollection { name, collection }).collect()))
}

/// Embeds `text`, or keeps `content`.
///
/// # Errors
/// When it has neither or both; as [`jobs::embed`] and [`keep`].
pub(super) fn embed(viewer: &Viewer, asked: Embed) -> Result<EmbedAnswer, RequestError> {
    let Embed { text, options, content, title, collection, tags, metadata, db_path } = asked;
    match (text, content) {
        (Some(text), None) => {
            let is_query = options.and_then(|options| options.is_query).unwrap_or_default();
            let kind = if is_query { EmbeddedAs::Query } else { EmbeddedAs::Document };
            jobs::embed(viewer, &text, kind).map(EmbedAnswer::Embedded)
        }
        (None, Some(content)) => {
            let asked = Ingest { content, title, collection, tags, metadata, db_path };
            keep(viewer, &asked.params()?).map(EmbedAnswer::Kept)
        }
        _ => Err(RequestError::invalid("it takes `text`, which is embedded, or `content`, which is kept")),
    }
}

/// Keeps a text.
///
/// # Errors
/// As [`notes::save`] and [`memory::keep`].
pub(crate) fn keep(viewer: &Viewer, params: &SaveParams) -> Result<Saved, RequestError> {
    match viewer.owner() {
        Some(owner) => notes::save(&owner, params),
        None => memory::keep(&viewer.memory_writer()?, params),
    }
}

/// Lists passages, page by page.
///
/// # Errors
/// As [`notes::browse`].
pub(super) fn browse(viewer: &Viewer, asked: Browsing) -> Result<Page, RequestError> {
    let Browsing { collection, limit, offset, db_path } = asked;
    one_index(db_path.as_deref())?;
    let params = BrowseParams { collection: said(collection), limit, offset, ..BrowseParams::default() };
    let Browse { chunks, total } = notes::browse(viewer, &params)?;
    Ok(Page { chunks, total, offset: offset.unwrap_or(0) })
}

/// Drops the chunk with a hash, and says what brings it back.
///
/// # Errors
/// As [`notes::forget`] and [`memory::drop_chunk`].
pub(super) fn drop_chunk(viewer: &Viewer, Named { hash, db_path }: Named) -> Result<Removed, RequestError> {
    one_index(db_path.as_deref())?;
    let checkpoint_id = match viewer.owner() {
        Some(owner) => {
            notes::forget(&owner, &ForgetParams { hash: Some(hash), ..ForgetParams::default() })?.checkpoint_id
        }
        None => Some(memory::drop_chunk(&viewer.memory_writer()?, &hash)?.checkpoint_id),
    };
    Ok(Removed { ok: true, checkpoint_id })
}

/// Maximum length of a title or a tag, in characters; the rest of a longer one does not count.
const MAX_TITLE_CHARS: usize = 200;

/// A search, in the address. Parameters that are not known are passed over.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Searching {
    /// Words, `"phrases"` and `-exclusions`, or a question; also as `query`.
    #[serde(alias = "query")]
    q: String,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    limit: Option<usize>,
    /// Only this collection.
    collection: Option<String>,
    /// Only notes with all these tags, or ones below them; with commas between them.
    #[serde(alias = "tag")]
    tags: Option<String>,
    /// Which sides are asked, instead of the one that the address stands for.
    mode: Option<Mode>,
    /// Whether what was saved just before is waited for, a second at most.
    fresh: Option<bool>,
    #[serde(rename = "dbPath")]
    #[param(ignore)]
    db_path: Option<String>,
}

/// A search. Fields that are not known are passed over.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct SearchBody {
    /// Words, `"phrases"` and `-exclusions`, or a question; also as `q`.
    #[serde(alias = "q")]
    query: String,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
    /// Only this collection.
    collection: Option<String>,
    /// Only notes with all these tags, or ones below them.
    tags: Option<Vec<String>>,
    /// Which sides are asked, instead of the one that the address stands for.
    mode: Option<Mode>,
    /// Whether what was saved just before is waited for, a second at most.
    fresh: Option<bool>,
    #[serde(rename = "dbPath")]
    #[schema(ignore)]
    db_path: Option<String>,
}

impl From<Searching> for SearchBody {
    fn from(asked: Searching) -> Self {
        let Searching { q: query, limit, collection, tags, mode, fresh, db_path } = asked;
        let tags = tags.map(|tags| tags.split(',').map(str::to_owned).collect());
        Self { query, limit, collection, tags, mode, fresh, db_path }
    }
}

impl SearchBody {
    /// The search that is meant; `mode` where it does not say.
    pub(crate) fn params(self, mode: Mode) -> Result<SearchQuery, RequestError> {
        one_index(self.db_path.as_deref())?;
        Ok(SearchQuery {
            q: self.query,
            mode: Some(self.mode.unwrap_or(mode)),
            collection: said(self.collection),
            tag: self.tags.map(|tags| tags.join(",")),
            limit: self.limit,
            fresh: self.fresh,
            ..SearchQuery::default()
        })
    }
}

/// What was found: the same hits as `results` and as `items`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Found)]
pub(crate) struct QmdFound {
    #[serde(flatten)]
    response: SearchResponse,
    /// The hits once more.
    items: Vec<HitView>,
    /// How many hits these are.
    total: usize,
}

impl QmdFound {
    pub(crate) fn of(response: SearchResponse) -> Self {
        Self { items: response.results.clone(), total: response.results.len(), response }
    }
}

/// Which passages. Parameters that are not known are passed over.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Browsing {
    /// Only this collection.
    collection: Option<String>,
    /// Passages at most, 1 to 1,000; 20 when it is not said.
    limit: Option<usize>,
    /// Passages to leave out first.
    offset: Option<usize>,
    #[serde(rename = "dbPath")]
    #[param(ignore)]
    db_path: Option<String>,
}

/// A page of passages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page {
    /// This page.
    chunks: Vec<ChunkView>,
    /// How many passages there are on all pages.
    total: usize,
    /// How many were left out first.
    offset: usize,
}

/// The collections.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NamedCollections(Vec<NamedCollection>);

/// A collection, with its name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NamedCollection {
    /// Its name.
    name: String,
    #[serde(flatten)]
    collection: Collection,
}

/// How to embed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmbedOptions {
    /// Whether the text is a query; else it is embedded as a document is.
    is_query: Option<bool>,
    // So that an array of its values is no such object.
    #[serde(flatten)]
    #[schema(ignore)]
    others: Map<String, Value>,
}

/// A text to keep. Fields that are not known are passed over.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Ingest {
    /// Markdown, up to 50 KB; also as `body` or `text`.
    #[serde(alias = "body", alias = "text")]
    content: String,
    /// The note's title; the first line of the content when it is not said.
    title: Option<String>,
    /// The top-level folder that it goes to, `snippets` when it is not said; of an agent, the file in its `memory/`.
    collection: Option<String>,
    /// Tags; those of an agent are not kept.
    tags: Option<Vec<String>>,
    /// What else is to be in the frontmatter; not kept of an agent. What has a field of its own here, such as `title`, is taken for that.
    metadata: Option<Map<String, Value>>,
    #[serde(rename = "dbPath")]
    #[schema(ignore)]
    db_path: Option<String>,
}

impl Ingest {
    pub(crate) fn params(self) -> Result<SaveParams, RequestError> {
        one_index(self.db_path.as_deref())?;
        let mut metadata = self.metadata.unwrap_or_default();
        if let Some(name) = metadata.keys().find(|name| name.trim().is_empty() || name.contains(char::is_control)) {
            return Err(RequestError::invalid(format!("`metadata` has the key {name:?}")));
        }
        let mut named = |key: &str| metadata.remove(key);
        let text = |value: Value| value.as_str().map(str::to_owned);
        let (title, collection) = (named("title").and_then(text), named("collection").and_then(text));
        let tags = named("tags").and_then(|tags| serde_json::from_value(tags).ok());
        let tags = self.tags.or(tags).map(|tags: Vec<String>| tags.iter().filter_map(|tag| as_tag(tag)).collect());
        Ok(SaveParams {
            content: self.content,
            title: self.title.and_then(|title| as_title(&title)).or_else(|| as_title(&title?)),
            collection: said(self.collection).or_else(|| said(collection)),
            tags,
            metadata: Some(metadata),
        })
    }
}

/// A text to embed, or one to keep as `/ingest` does. Fields that are not known are passed over.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Embed {
    /// To embed: up to 50 KB. Of a longer text than the model reads, the rest does not count.
    text: Option<String>,
    /// How to embed it.
    options: Option<EmbedOptions>,
    /// To keep: Markdown, up to 50 KB; also as `body`.
    #[serde(alias = "body")]
    content: Option<String>,
    title: Option<String>,
    collection: Option<String>,
    tags: Option<Vec<String>>,
    metadata: Option<Map<String, Value>>,
    #[serde(rename = "dbPath")]
    #[schema(ignore)]
    db_path: Option<String>,
}

/// The embedding, or where the text is kept.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum EmbedAnswer {
    /// The text was embedded.
    Embedded(Embedding),
    /// The text was kept.
    Kept(Saved),
}

/// A passage, or a note, by its hash.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Named {
    /// 16 hexadecimal digits.
    hash: String,
    #[serde(rename = "dbPath")]
    #[schema(ignore)]
    db_path: Option<String>,
}

/// Programs send empty texts for what they do not want to say.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Pages and files have titles of any form: one line of it, of the length that a title may have.
fn as_title(title: &str) -> Option<String> {
    words_with(" ", title)
}

/// A tag as Obsidian has them: no `#` before it and no white space in it.
fn as_tag(tag: &str) -> Option<String> {
    words_with("-", tag.trim_start_matches(|c: char| c == '#' || is_space(c)))
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

fn words_with(between: &str, text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    let text: String = words.join(between).chars().take(MAX_TITLE_CHARS).collect();
    said(Some(text))
}

/// `qmd serve` opens whatever index a request names. Here there is one, and to act on it in the place of another would be wrong.
fn one_index(db_path: Option<&str>) -> Result<(), RequestError> {
    match db_path {
        Some(path) if !path.is_empty() => {
            Err(RequestError::invalid("`dbPath` names another index; there is one here, which needs no name"))
        }
        _ => Ok(()),
    }
}
