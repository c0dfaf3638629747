//! The query server: searches and reads vaults whose daemons keep a copy of their index in PostgreSQL. It has no folder and no lock, so that any
//! number of them may run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
use super::query_page;
use super::router::{headers, health};
use crate::access::people::Right;
use crate::access::policy::policy_on;
use crate::access::request::{Budget, chunk_view, hit_view, limit, query_text, within};
use crate::access::rules::{Principal, Scope, Token, Turn};
use crate::base::clock::{Clock, rfc3339};
use crate::base::config::{AgentLimits, AgentsConfig, CollectionConfig, Mode, SearchConfig};
use crate::index::engine::{Filter, Predicate, Reader};
use crate::index::local::keyword::FORMAT;
use crate::index::postgres::{Backend, Holder, OpenedVault, PostgresError, PostgresReader};
use crate::index::search::{Degraded, Highlighter, SearchHelp, SearchRequest, Visible, assisted_search, snippet};
use crate::models::{Embedder, LoadEmbedder, ModelAsker};
use crate::serve::wire::{ChunkView, HitView};

/// A search across vaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultsQuery {
    /// The query.
    #[serde(default)]
    pub(crate) q: String,
    /// Names of vaults, separated by commas; all that the token opens when it is not said.
    pub(crate) vaults: Option<String>,
    pub(crate) mode: Option<Mode>,
    pub(crate) collection: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) min_score: Option<f64>,
}

/// The answer.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
pub(crate) struct VaultsResponse {
    pub(crate) query: String,
    /// Those that were searched.
    pub(crate) vaults: Vec<String>,
    pub(crate) results: Vec<VaultHit>,
    pub(crate) degraded: Option<String>,
    /// Owners alone get it, so that the same answer to an agent has the same bytes.
    took_ms: Option<f64>,
}

/// A hit, and the vault that it is of.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct VaultHit {
    pub(crate) vault: String,
    #[serde(flatten)]
    pub(crate) hit: HitView,
}

/// Which note of a vault.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteQuery {
    pub(crate) path: String,
}

/// A note as it was copied: its passages in their order.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CopiedNote {
    pub(crate) vault: String,
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) updated_at: String,
    pub(crate) passages: Vec<ChunkView>,
    /// Whether there is more of it than whoever asks is given at a time.
    pub(crate) cut: bool,
    pub(crate) degraded: Option<String>,
}

/// What searches the vaults of some servers.
pub(crate) struct QueryServer {
    backends: Vec<Arc<Backend>>,
    load: Mutex<Option<LoadEmbedder>>,
    embedder: OnceLock<Option<Arc<dyn Embedder>>>,
    max_age: Duration,
}

/// Vaults of a search that are asked at a time, after the first, with which the model has embedded the query.
const AT_A_TIME: usize = 8;

type Opened = (Arc<Backend>, OpenedVault);

/// What a vault says to a search.
#[derive(Default)]
struct VaultAnswer {
    hits: Vec<HitView>,
    /// Why they are not all that was asked for.
    lack: Option<String>,
    /// Whether it was not searched at all.
    is_left_out: bool,
}

impl VaultAnswer {
    fn left_out(why: String) -> Self {
        Self { lack: Some(why), is_left_out: true, ..Self::default() }
    }
}

impl QueryServer {
    /// One that asks these servers, and embeds queries by a model which is loaded when it is first wanted. Who is no owner reads nothing of a
    /// vault whose daemon has not been heard of for `max_age`.
    pub(crate) fn new(backends: Vec<Arc<Backend>>, load: Option<LoadEmbedder>, max_age: Duration) -> Arc<Self> {
        Arc::new(Self { backends, load: load.into(), embedder: OnceLock::new(), max_age })
    }

    /// What it serves, to requests that name it as one of `hosts`, beside `others`.
    pub(crate) fn router(self: Arc<Self>, hosts: impl IntoIterator<Item = String>, others: Router) -> Router {
        let guard = Arc::new(Guard::new(Vec::new(), hosts));
        Router::new()
            .route("/", get(query_page::page))
            .route("/search", get(search_all))
            .route("/vaults/{name}/search", get(search_one))
            .route("/vaults/{name}/note", get(note))
            .route("/vaults", get(list))
            .with_state(self)
            .merge(others)
            .route("/health", get(health))
            .layer(middleware::from_fn_with_state(guard, only_from_here))
            .layer(middleware::map_response(headers))
    }

    fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        let load = || self.load.lock().unwrap_or_else(PoisonError::into_inner).take();
        let embedder = self.embedder.get_or_init(|| {
            let loaded = load()?();
            loaded.inspect_err(|error| tracing::warn!("search is by keyword alone: {error}")).ok()
        });
        embedder.clone()
    }

    /// The names of the vaults that a token opens.
    pub(crate) fn vaults(&self, token: &Token) -> Result<Vec<String>, ApiError> {
        Ok(self.opened_by(token)?.0.into_iter().map(|(_, vault)| vault.name).collect())
    }

    /// The vaults that a token opens, each with the server that has it, and what to say of servers that cannot be asked.
    fn opened_by(&self, token: &Token) -> Result<(Vec<Opened>, Vec<String>), ApiError> {
        let (mut opened, mut lacks) = (Vec::<Opened>::new(), Vec::new());
        for found in
            in_parallel(&self.backends, |backend| (Arc::clone(backend), backend.opened_by(token.hash().as_bytes())))
        {
            match found {
                (backend, Ok(vaults)) => opened.extend(vaults.into_iter().map(|vault| (Arc::clone(&backend), vault))),
                (_, Err(error)) => {
                    tracing::warn!("{error}");
                    lacks.push("one of the databases cannot be asked now".to_owned());
                }
            }
        }
        // A vault that has moved is where its daemon was heard of last.
        opened.sort_by(|(_, one), (_, two)| one.name.cmp(&two.name).then(one.age.total_cmp(&two.age)));
        opened.dedup_by(|(_, later), (_, first)| later.name == first.name);
        match (opened.is_empty(), lacks.is_empty()) {
            (true, true) => {
                Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "no vault here knows this token"))
            }
            (true, false) => Err(unavailable(&"no database can be asked")),
            _ => Ok((opened, lacks)),
        }
    }

    /// Those of these names alone; all where there is no name.
    fn named(&self, token: &Token, names: &str) -> Result<(Vec<Opened>, Vec<String>), ApiError> {
        let (mut opened, lacks) = self.opened_by(token)?;
        let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(name) = names.iter().find(|name| !opened.iter().any(|(_, vault)| vault.name == **name)) {
            // Whether there is one is not for who may not read it.
            let message = format!("this token opens no vault `{name}`");
            return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", message));
        }
        opened.retain(|(_, vault)| names.is_empty() || names.contains(&vault.name.as_str()));
        Ok((opened, lacks))
    }

    /// One state of a vault, and what to say of it; why it is left out, else.
    fn state_of(
        &self,
        (backend, vault): &Opened,
    ) -> Result<Result<(PostgresReader, Option<String>), String>, PostgresError> {
        let left_out = |why: &str| Ok(Err(format!("`{}` {why}, and left out", vault.name)));
        let Some((reader, age)) = backend.open(&vault.name)? else { return left_out("is gone") };
        if reader.words_format() != FORMAT {
            return left_out("is pushed by another version");
        }
        let is_old = age > self.max_age.as_secs_f64();
        if is_old && vault.holder != Holder::Owner {
            // A note may have become private meanwhile.
            return left_out("is not up to date");
        }
        let lack = || format!("nothing was heard of `{}` for a while: newer changes are missing", vault.name);
        Ok(Ok((reader, is_old.then(lack))))
    }

    /// Searches the vaults that a token opens.
    ///
    /// # Errors
    /// When it opens none, or not those that are named; when a server cannot be asked; when something is asked that makes no sense.
    pub(crate) fn search(&self, token: &Token, params: &VaultsQuery) -> Result<VaultsResponse, ApiError> {
        let started = Instant::now();
        let text = query_text("q", &params.q)?.to_owned();
        let (opened, mut lacks) = self.named(token, params.vaults.as_deref().unwrap_or_default())?;
        let config = SearchConfig::default();
        let mut predicates: Vec<Predicate> = params.collection.clone().map(Predicate::Collection).into_iter().collect();
        let tags = params.tag.iter().flat_map(|tags| tags.split(',')).map(str::trim).filter(|tag| !tag.is_empty());
        predicates.extend(tags.map(|tag| Predicate::Tag(tag.to_owned())));
        predicates.extend(params.path.clone().map(Predicate::PathPrefix));
        let request = SearchRequest {
            text,
            mode: params.mode.unwrap_or(config.mode),
            limit: limit(params.limit, config.limit)?,
            min_relevance: within("min_score", params.min_score, 0.0..=1.0)?,
            filter: Filter::of(predicates),
            parts: Vec::new(),
            at: Clock::default().now(),
            context: Some(0),
            turn: Turn::default(),
        };
        let asker = ModelAsker::Agent(token.hash().to_hex().to_string());
        let answers = in_parallel(&opened, |opened| {
            self.search_one(opened, &request, &asker).unwrap_or_else(|error| {
                tracing::warn!("{error}");
                VaultAnswer::left_out(format!("`{}` cannot be asked now, and is left out", opened.1.name))
            })
        });
        if answers.iter().all(|answer| answer.is_left_out) {
            let whys: Vec<String> = answers.into_iter().filter_map(|answer| answer.lack).collect();
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", whys.join("; ")));
        }
        lacks.extend(answers.iter().filter_map(|answer| answer.lack.clone()));
        let is_owner = opened.iter().all(|(_, vault)| vault.holder == Holder::Owner);
        let vaults: Vec<String> = opened.into_iter().map(|(_, vault)| vault.name).collect();
        let of_vault = |(vault, answer): (&String, VaultAnswer)| {
            let vault = vault.clone();
            answer.hits.into_iter().map(move |hit| VaultHit { vault: vault.clone(), hit })
        };
        let mut results: Vec<VaultHit> = vaults.iter().zip(answers).flat_map(of_vault).collect();
        // How likely a hit answers compares across vaults; its score does not. Those of one vault stay in their order.
        let likely = |hit: &VaultHit| hit.hit.relevance.unwrap_or_default();
        results.sort_by(|one, two| likely(two).total_cmp(&likely(one)));
        results.truncate(request.limit);
        Ok(VaultsResponse {
            query: request.text,
            vaults,
            results,
            degraded: (!lacks.is_empty()).then(|| lacks.join("; ")),
            took_ms: is_owner.then(|| started.elapsed().as_secs_f64() * 1000.0),
        })
    }

    fn search_one(
        &self,
        opened: &Opened,
        request: &SearchRequest,
        asker: &ModelAsker,
    ) -> Result<VaultAnswer, PostgresError> {
        let (reader, old) = match self.state_of(opened)? {
            Ok(state) => state,
            Err(why) => return Ok(VaultAnswer::left_out(why)),
        };
        let name = &opened.1.name;
        let (hits, lack) = self.search_in(&reader, &opened.1, reader.search_settings(), request.clone(), asker)?;
        let lacks: Vec<String> = old.into_iter().chain(lack.map(|lack| format!("`{name}`: {lack}"))).collect();
        Ok(VaultAnswer { hits, lack: (!lacks.is_empty()).then(|| lacks.join("; ")), is_left_out: false })
    }

    /// The hits of one vault, and why they are not all that was asked for.
    fn search_in(
        &self,
        reader: &PostgresReader,
        vault: &OpenedVault,
        config: &SearchConfig,
        mut request: SearchRequest,
        asker: &ModelAsker,
    ) -> Result<(Vec<HitView>, Option<String>), PostgresError> {
        let (scope, limits) = rights(vault);
        let visible = Visible::of(&scope, reader.files());
        let embedder = if request.mode == Mode::Keyword { None } else { self.embedder() };
        let mut snippet_chars = config.max_snippet_chars;
        if let Some(limits) = limits {
            request.limit = request.limit.min(limits.max_results);
            snippet_chars = snippet_chars.min(limits.max_snippet_chars);
        }
        if !matches!(scope, Scope::Everything) {
            request.min_relevance = request.min_relevance.or(Some(config.min_score));
        }
        let help = SearchHelp { asker: Some(asker), ..SearchHelp::default() };
        let found = assisted_search(reader, embedder.as_deref(), &visible, config, &request, help)?;
        let mut highlighter = Highlighter::new(&request.text, config.stemmer);
        let (mut hits, mut room) = (Vec::with_capacity(found.hits.len()), Budget::of(limits, 1));
        for hit in found.hits {
            highlighter.turn_to(hit.file.language());
            let snippet = snippet(&hit.chunk.text, &mut highlighter, snippet_chars);
            let mut chunk = chunk_view(reader, &hit.file, hit.chunk.clone(), None)?;
            // As of the vault itself: what does not fit is cut.
            let Some(_) = room.take_chunk(&mut chunk, snippet.chars().count()) else { continue };
            hits.push(hit_view(&hit, chunk, snippet, config));
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

    /// The passages of a note.
    ///
    /// # Errors
    /// When the token does not open the vault or its holder does not see the note; when the server cannot be asked, or is behind.
    pub(crate) fn note(&self, token: &Token, vault: &str, path: &str) -> Result<CopiedNote, ApiError> {
        let (opened, _) = self.named(token, vault)?;
        let absent = || ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is no note `{path}`"));
        let opened = opened.iter().find(|(_, opened)| opened.name == vault).ok_or_else(absent)?;
        let (reader, degraded) = match self.state_of(opened).map_err(|error| unavailable(&error))? {
            Ok(state) => state,
            Err(why) => return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &why)),
        };
        let (scope, limits) = rights(&opened.1);
        let visible = Visible::of(&scope, reader.files());
        let file = reader.files().at(path).filter(|file| visible.has(file)).ok_or_else(absent)?;
        let (mut passages, mut room, mut cut) = (Vec::with_capacity(file.chunks.len()), Budget::of(limits, 1), false);
        for chunk in reader.chunks_of(file).map_err(|error| unavailable(&error))? {
            let mut view = chunk_view(&reader, file, chunk, None).map_err(|error| unavailable(&error))?;
            let taken = room.take_chunk(&mut view, 0);
            cut |= taken.unwrap_or(true);
            passages.extend(taken.map(|_| view));
        }
        Ok(CopiedNote {
            vault: opened.1.name.clone(),
            path: file.path.to_string(),
            title: file.title.clone(),
            updated_at: rfc3339(file.updated_ms),
            passages,
            cut,
            degraded,
        })
    }
}

/// What each comes to, in their order: the first by itself, the others several at a time.
fn in_parallel<T: Sync, A: Send>(all: &[T], each: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let mut done = vec![(0, each(first))];
    let next = AtomicUsize::new(0);
    let work = || {
        let mut mine = Vec::new();
        while let Some((at, one)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, others.get(at)?)))
        {
            mine.push((at + 1, each(one)));
        }
        mine
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME.min(others.len())).map(|_| scope.spawn(work)).collect();
        let theirs = workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.extend(theirs);
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, answer)| answer).collect()
}

/// What a token's holder may read of a vault, and how much: by what was pushed of an agent's page, or of the rights of a person.
fn rights(vault: &OpenedVault) -> (Scope, Option<AgentLimits>) {
    let given = |grant: Option<_>| grant.map_or(Scope::Nothing, |grant| Scope::Given(Arc::new(grant)));
    match &vault.holder {
        Holder::Owner => (Scope::Everything, None),
        Holder::Agent(slug, page) => {
            let folders: Vec<CollectionConfig> = serde_json::from_str(&vault.folders).unwrap_or_default();
            let policy = policy_on(slug, page, &folders);
            let limits = policy.limits_over(&AgentsConfig::default());
            (given(policy.grant.clone().filter(|_| !policy.is_expired(Clock::default().now()))), Some(limits))
        }
        Holder::Person(name, right) => {
            let right = Right::read(&serde_json::from_str(right).unwrap_or_default(), name);
            match right.principal(&name.as_str().into()) {
                Some(Principal::Owner(_)) => (Scope::Everything, None),
                Some(Principal::Member(member)) => (given(member.policy.grant.clone()), None),
                _ => (Scope::Nothing, None),
            }
        }
    }
}

fn unavailable(error: &dyn std::fmt::Display) -> ApiError {
    tracing::warn!("{error}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the database cannot be asked now")
        .hint("try again in a moment")
}

/// The token that a request has.
///
/// # Errors
/// When it has none.
pub(crate) fn token_of(headers: &HeaderMap) -> Result<Token, ApiError> {
    let missing =
        || ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is missing: `Authorization: Bearer TOKEN`");
    token(headers).ok_or_else(missing)
}

async fn search_all(
    State(server): State<Arc<QueryServer>>,
    headers: HeaderMap,
    params: Result<Query<VaultsQuery>, QueryRejection>,
) -> Result<Json<VaultsResponse>, ApiError> {
    let (token, params) = (token_of(&headers)?, query(params)?);
    blocking(move || server.search(&token, &params)).await?.map(Json)
}

async fn search_one(
    State(server): State<Arc<QueryServer>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    params: Result<Query<VaultsQuery>, QueryRejection>,
) -> Result<Json<VaultsResponse>, ApiError> {
    let (token, params) = (token_of(&headers)?, query(params)?);
    let params = VaultsQuery { vaults: Some(name), ..params };
    blocking(move || server.search(&token, &params)).await?.map(Json)
}

async fn note(
    State(server): State<Arc<QueryServer>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    params: Result<Query<NoteQuery>, QueryRejection>,
) -> Result<Json<CopiedNote>, ApiError> {
    let (token, params) = (token_of(&headers)?, query(params)?);
    blocking(move || server.note(&token, &name, &params.path)).await?.map(Json)
}

async fn list(State(server): State<Arc<QueryServer>>, headers: HeaderMap) -> Result<Json<Vec<String>>, ApiError> {
    let token = token_of(&headers)?;
    blocking(move || server.vaults(&token)).await?.map(Json)
}
