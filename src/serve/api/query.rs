//! The query server: searches vaults whose daemons keep a copy of their index in PostgreSQL. It has no folder and no lock, so that any number of
//! them may run.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::ask::{ApiError, blocking, query};
use super::auth::{Guard, only_from_here, token};
use super::router::{headers, health};
use crate::access::policy::policy_on;
use crate::access::request::{limit, query_text, within};
use crate::access::rules::{Scope, Token, Turn};
use crate::base::clock::{Clock, rfc3339};
use crate::base::config::{AgentLimits, AgentsConfig, CollectionConfig, Mode, SearchConfig};
use crate::index::engine::{Filter, Predicate, Reader};
use crate::index::local::keyword::FORMAT;
use crate::index::postgres::{Backend, OpenedVault, PostgresReader};
use crate::index::search::{Degraded, Highlighter, SearchRequest, Visible, search, snippet};
use crate::models::{Embedder, LoadEmbedder};
use crate::serve::wire::{ChunkView, HitView, Scores, passage_citation};
use crate::vault::attachments::page_of;

/// A search across vaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultsQuery {
    q: String,
    /// Names of vaults, separated by commas; all that the token opens when it is not said.
    vaults: Option<String>,
    mode: Option<Mode>,
    collection: Option<String>,
    tag: Option<String>,
    path: Option<String>,
    limit: Option<usize>,
    min_score: Option<f64>,
}

/// The answer.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
pub(crate) struct VaultsResponse {
    query: String,
    /// Those that were searched.
    vaults: Vec<String>,
    results: Vec<VaultHit>,
    degraded: Option<String>,
    /// Owners alone get it, so that the same answer to an agent has the same bytes.
    took_ms: Option<f64>,
}

/// A hit, and the vault that it is of.
#[derive(Debug, Clone, Serialize)]
struct VaultHit {
    vault: String,
    #[serde(flatten)]
    hit: HitView,
}

/// What searches the vaults of some servers.
pub(crate) struct QueryServer {
    backends: Vec<Arc<Backend>>,
    load: std::sync::Mutex<Option<LoadEmbedder>>,
    embedder: OnceLock<Option<Arc<dyn Embedder>>>,
    max_age: Duration,
}

impl QueryServer {
    /// One that asks these servers, and embeds queries by a model which is loaded when it is first wanted. Who is no owner reads nothing of a
    /// vault whose daemon has not been heard of for `max_age`.
    pub(crate) fn new(backends: Vec<Arc<Backend>>, load: Option<LoadEmbedder>, max_age: Duration) -> Arc<Self> {
        Arc::new(Self { backends, load: load.into(), embedder: OnceLock::new(), max_age })
    }

    /// What it serves, to requests that name it as one of `hosts`.
    pub(crate) fn router(self: Arc<Self>, hosts: impl IntoIterator<Item = String>) -> Router {
        let guard = Arc::new(Guard::new(Vec::new(), hosts));
        Router::new()
            .route("/search", get(search_all))
            .route("/vaults/{name}/search", get(search_one))
            .route("/vaults", get(list))
            .with_state(self)
            .route("/health", get(health))
            .layer(middleware::from_fn_with_state(guard, only_from_here))
            .layer(middleware::map_response(headers))
    }

    fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        let load = || self.load.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let embedder = self.embedder.get_or_init(|| {
            let loaded = load()?();
            loaded.inspect_err(|error| tracing::warn!("search is by keyword alone: {error}")).ok()
        });
        embedder.clone()
    }

    /// The vaults that a token opens, each with the server that has it.
    fn opened_by(&self, token: &Token) -> Result<Vec<(Arc<Backend>, OpenedVault)>, ApiError> {
        let mut opened = Vec::new();
        for backend in &self.backends {
            let found = backend.opened_by(token.hash().as_bytes()).map_err(|error| unavailable(&error))?;
            opened.extend(found.into_iter().map(|vault| (Arc::clone(backend), vault)));
        }
        if opened.is_empty() {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "no vault here knows this token"));
        }
        Ok(opened)
    }

    fn search(&self, token: &Token, params: &VaultsQuery) -> Result<VaultsResponse, ApiError> {
        let started = Instant::now();
        let text = query_text("q", &params.q)?.to_owned();
        let mut opened = self.opened_by(token)?;
        if let Some(names) = &params.vaults {
            let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            if let Some(name) = names.iter().find(|name| !opened.iter().any(|(_, vault)| vault.name == **name)) {
                // Whether there is one is not for who may not read it.
                let message = format!("this token opens no vault `{name}`");
                return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", message));
            }
            opened.retain(|(_, vault)| names.contains(&vault.name.as_str()));
        }
        let mut config = SearchConfig::default();
        let wanted = limit(params.limit, config.limit)?;
        let now = Clock::default().now();
        let mut predicates: Vec<Predicate> = params.collection.clone().map(Predicate::Collection).into_iter().collect();
        let tags = params.tag.iter().flat_map(|tags| tags.split(',')).map(str::trim).filter(|tag| !tag.is_empty());
        predicates.extend(tags.map(|tag| Predicate::Tag(tag.to_owned())));
        predicates.extend(params.path.clone().map(Predicate::PathPrefix));
        let request = SearchRequest {
            text,
            mode: params.mode.unwrap_or(config.mode),
            limit: wanted,
            min_relevance: within("min_score", params.min_score, 0.0..=1.0)?,
            filter: Filter::of(predicates),
            parts: Vec::new(),
            at: now,
            context: Some(0),
            turn: Turn::default(),
        };
        let (mut answer, mut lacks, mut left_out) = (Vec::new(), Vec::new(), 0);
        for (backend, vault) in &opened {
            let Some((reader, age)) = backend.open(&vault.name).map_err(|error| unavailable(&error))? else { continue };
            let (format, stemmer) = reader.word_settings();
            if format != FORMAT {
                lacks.push(format!("`{}` is pushed by another version, and left out", vault.name));
                left_out += 1;
                continue;
            }
            if age > self.max_age.as_secs_f64() {
                if vault.agent.is_some() {
                    // A note may have become private meanwhile.
                    left_out += 1;
                    lacks.push(format!("`{}` is not up to date, and left out", vault.name));
                    continue;
                }
                lacks.push(format!("nothing was heard of `{}` for a while: newer changes are missing", vault.name));
            }
            config.stemmer = stemmer;
            let found = self.search_in(&reader, vault, &config, &request)?;
            lacks.extend(found.1.map(|lack| format!("`{}`: {lack}", vault.name)));
            answer.extend(found.0.into_iter().map(|hit| VaultHit { vault: vault.name.clone(), hit }));
        }
        if left_out == opened.len() {
            let message = "what is here of these vaults is not up to date";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
        }
        // How likely a hit answers compares across vaults; its score does not.
        answer.sort_by(|one, two| {
            let likely = |hit: &VaultHit| hit.hit.relevance.unwrap_or_default();
            let place = |hit: &VaultHit| (hit.vault.clone(), hit.hit.chunk.path.clone(), hit.hit.chunk.line_start);
            likely(two).total_cmp(&likely(one)).then_with(|| {
                if one.vault == two.vault {
                    two.hit.score.total_cmp(&one.hit.score)
                } else {
                    place(one).cmp(&place(two))
                }
            })
        });
        answer.truncate(wanted);
        let is_owner = opened.iter().all(|(_, vault)| vault.agent.is_none());
        Ok(VaultsResponse {
            query: request.text,
            vaults: opened.into_iter().map(|(_, vault)| vault.name).collect(),
            results: answer,
            degraded: (!lacks.is_empty()).then(|| lacks.join("; ")),
            took_ms: is_owner.then(|| started.elapsed().as_secs_f64() * 1000.0),
        })
    }

    /// The hits of one vault, and why they are not all that was asked for.
    fn search_in(
        &self,
        reader: &PostgresReader,
        vault: &OpenedVault,
        config: &SearchConfig,
        request: &SearchRequest,
    ) -> Result<(Vec<HitView>, Option<String>), ApiError> {
        let (scope, limits) = rights(vault);
        let visible = Visible::of(&scope, reader.files());
        let embedder = if request.mode == Mode::Keyword { None } else { self.embedder() };
        let mut request = request.clone();
        let mut snippet_chars = config.max_snippet_chars;
        if let Some(limits) = limits {
            request.limit = request.limit.min(limits.max_results);
            request.min_relevance = request.min_relevance.or(Some(config.min_score));
            snippet_chars = snippet_chars.min(limits.max_snippet_chars);
        }
        let found = search(reader, embedder.as_deref(), &visible, config, &request);
        let found = found.map_err(|error| unavailable(&error))?;
        let mut highlighter = Highlighter::new(&request.text, config.stemmer);
        let mut hits = Vec::with_capacity(found.hits.len());
        for hit in found.hits {
            highlighter.turn_to(hit.file.language());
            let snippet = snippet(&hit.chunk.text, &mut highlighter, snippet_chars);
            let metadata = reader.metadata(hit.file.id).map_err(|error| unavailable(&error))?;
            let page = page_of(hit.file.path.as_str(), &hit.chunk.heading_path);
            let (line_start, line_end) = hit.chunk.lines;
            let chunk = ChunkView {
                hash: hit.chunk.id.to_string(),
                collection: hit.file.path.collection().to_owned(),
                path: hit.file.path.to_string(),
                title: hit.file.title.clone(),
                heading_path: hit.chunk.heading_path,
                content: hit.chunk.text,
                line_start,
                line_end,
                page,
                citation: passage_citation(hit.file.path.as_str(), page, line_start, line_end),
                obsidian_url: None,
                tags: hit.file.tags.clone(),
                metadata: metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()).unwrap_or_default(),
                created_at: rfc3339(hit.file.created_ms),
                updated_at: rfc3339(hit.file.updated_ms),
            };
            let scores = Scores {
                keyword: hit.keyword,
                semantic: hit.semantic,
                late: hit.late,
                rerank: hit.rerank,
                coverage: hit.coverage,
            };
            let perhaps = hit.relevance.is_some_and(|relevance| relevance < config.min_score);
            let (score, relevance) = (hit.score, hit.relevance);
            hits.push(HitView { chunk, snippet, highlights: None, score, relevance, perhaps, scores });
        }
        let lack = found.degraded.map(|lack| match lack {
            Degraded::NoModel => "searched by keyword alone".to_owned(),
            Degraded::ModelFailed(_) => "the model failed: searched by keyword alone".to_owned(),
            Degraded::Embedding { .. } => "some passages are found by keyword alone so far".to_owned(),
            Degraded::PhraseAbsent => "no passage has the exact phrase; these have its words".to_owned(),
            Degraded::Unknown(unknown) => unknown.said,
            Degraded::Damaged(_) => "some passages cannot be shown now".to_owned(),
        });
        Ok((hits, lack))
    }
}

/// What a token's holder may read of a vault, and how much; an agent what its page gives, as it was pushed.
fn rights(vault: &OpenedVault) -> (Scope, Option<AgentLimits>) {
    let Some(slug) = &vault.agent else { return (Scope::Everything, None) };
    let folders: Vec<CollectionConfig> = serde_json::from_str(&vault.folders).unwrap_or_default();
    let policy = policy_on(slug, &vault.page, &folders);
    let limits = policy.limits_over(&AgentsConfig::default());
    let grant = policy.grant.clone().filter(|_| !policy.is_expired(Clock::default().now()));
    (grant.map_or(Scope::Nothing, |grant| Scope::Given(Arc::new(grant))), Some(limits))
}

fn unavailable(error: &dyn std::fmt::Display) -> ApiError {
    tracing::warn!("{error}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the database cannot be asked now")
        .hint("try again in a moment")
}

fn holder(headers: &HeaderMap) -> Result<Token, ApiError> {
    let missing =
        || ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is missing: `Authorization: Bearer TOKEN`");
    token(headers).ok_or_else(missing)
}

async fn search_all(
    State(server): State<Arc<QueryServer>>,
    headers: HeaderMap,
    params: Result<Query<VaultsQuery>, QueryRejection>,
) -> Result<Json<VaultsResponse>, ApiError> {
    let (token, params) = (holder(&headers)?, query(params)?);
    blocking(move || server.search(&token, &params)).await?.map(Json)
}

async fn search_one(
    State(server): State<Arc<QueryServer>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    params: Result<Query<VaultsQuery>, QueryRejection>,
) -> Result<Json<VaultsResponse>, ApiError> {
    let (token, params) = (holder(&headers)?, query(params)?);
    let params = VaultsQuery { vaults: Some(name), ..params };
    blocking(move || server.search(&token, &params)).await?.map(Json)
}

async fn list(State(server): State<Arc<QueryServer>>, headers: HeaderMap) -> Result<Json<Vec<String>>, ApiError> {
    let token = holder(&headers)?;
    let opened = blocking(move || server.opened_by(&token)).await??;
    Ok(Json(opened.into_iter().map(|(_, vault)| vault.name).collect()))
}
