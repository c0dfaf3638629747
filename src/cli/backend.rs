//! Who answers a command: the running daemon, over its Unix socket, or this process, by the same router.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use axum::Router;
use axum::body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::service::Service;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use super::terminal::{follow_embeddings, follow_files, remark};
use crate::access::request::{ErrorKind, RequestError};
use crate::base::config::{Config, FILE_NAME};
use crate::serve::api::endpoints::routes;
use crate::serve::api::{AS_AGENT, Endpoint, EndpointCall, Input, alone};
use crate::serve::app::App;
use crate::serve::wire::{ContextParams, ContextView, EventsAccepted, SearchQuery, SearchResponse, Status};
use crate::vault::disk::{Home, HomeError};

/// Who answers: the daemon of the vault, or this process.
pub(super) struct Backend {
    runtime: Runtime,
    answers: Answers,
    /// The vault, where this process has it open.
    app: Option<Arc<App>>,
    patience: Duration,
    /// The agent that is asked for; the person where there is none.
    agent: Option<String>,
    /// Connects anew where who answered is gone; nothing where nobody answers any more.
    reconnect: Reconnect,
}

type Reconnect = Box<dyn FnMut() -> anyhow::Result<Option<Backend>>>;

/// The way to who answers.
enum Answers {
    /// The daemon, over its socket.
    Daemon(SendRequest<Full<Bytes>>),
    /// This process.
    Here(TowerToHyperService<Router>),
}

/// Why there is no answer.
enum CallError {
    /// It did not come in time.
    Late,
    /// The connection ended before anything of the answer came.
    Lost {
        /// Whether any of the request was written.
        is_sent: bool,
        why: anyhow::Error,
    },
    /// It ended within the answer.
    Torn(anyhow::Error),
}

/// A daemon that has not answered by then does not answer: searches take milliseconds, and what takes longer is not
/// waited for over HTTP.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// What reads the whole index or calls a model may take longer, on a disk that is slow.
const SLOW_PATIENCE: Duration = Duration::from_secs(1800);

/// Maximum time for another command to let go of the vault, and for a daemon that is starting to say where it listens.
const LETS_GO_WITHIN: Duration = Duration::from_secs(5);

/// Maximum time that a search which works alone waits for texts to be embedded; then it answers with what there is.
const EMBED_WAIT: Duration = Duration::from_secs(5);

/// Opens the vault that a command means.
pub(super) fn home(named: Option<&Path>) -> anyhow::Result<Home> {
    Ok(Home::find(named, &std::env::current_dir()?)?)
}

/// The vault's configuration, for how a command shows its answer. While `memory.toml` cannot be read, which is said, that of a vault
/// without one.
pub(super) fn shown_by(home: &Home) -> Config {
    Config::load(home.root()).unwrap_or_else(|error| {
        remark!("vault: {FILE_NAME} cannot be read: {}", error.reason());
        Config::default()
    })
}

impl Backend {
    /// Connects; `None` when nobody listens. Each answer is waited for so long.
    ///
    /// The system takes a connection for a process that was killed a moment ago, and resets it. Where it ends before anything of an answer
    /// comes, it is made once more, and what may be asked twice is asked again.
    pub(super) fn connect(socket: &Path, patience: Duration) -> anyhow::Result<Option<Self>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sender = runtime.block_on(async {
            let Ok(stream) = UnixStream::connect(socket).await else { return Ok(None) };
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            anyhow::Ok(Some(sender))
        })?;
        let socket = socket.to_owned();
        Ok(sender.map(|sender| Self {
            runtime,
            answers: Answers::Daemon(sender),
            app: None,
            patience,
            agent: None,
            reconnect: Box::new(move || Self::connect(&socket, patience)),
        }))
    }

    /// Connects to who answers; `None` when nobody does: also where the system alone takes connections still, for a process that was killed a
    /// moment ago.
    ///
    /// # Errors
    /// When somebody is there who does not answer in time.
    pub(super) fn reach(socket: &Path, patience: Duration) -> anyhow::Result<Option<Self>> {
        let Some(mut client) = Self::connect(socket, patience)? else { return Ok(None) };
        match client.exchange(&EndpointCall::get("/health"))? {
            Ok(_) => Ok(Some(client)),
            Err(CallError::Late) => Err(late(patience)),
            Err(CallError::Lost { .. } | CallError::Torn(_)) => Ok(None),
        }
    }

    /// Connects to the vault's daemon, or starts to work alone. `adjust` changes the configuration for the latter.
    pub(super) fn open(named: Option<&Path>, adjust: impl FnOnce(&mut Config)) -> anyhow::Result<Self> {
        Self::open_for(named, false, adjust)
    }

    /// The same without a model: what is asked is no question of meaning.
    pub(super) fn without_model(named: Option<&Path>) -> anyhow::Result<Self> {
        Self::open(named, |config| config.embed.model = "none".into())
    }

    /// The same when all files have been read.
    pub(super) fn caught_up(named: Option<&Path>) -> anyhow::Result<Self> {
        let backend = Self::without_model(named)?;
        backend.catch_up(false)?;
        Ok(backend)
    }

    /// The same, and what is captured is brought into its files by this process, too; no model and no git is called.
    pub(super) fn open_capturing(named: Option<&Path>) -> anyhow::Result<Self> {
        Self::open_for(named, true, |config| {
            config.embed.model = "none".into();
            config.memory.enabled = false;
            config.backup.every.clear();
        })
    }

    fn open_for(named: Option<&Path>, captures: bool, adjust: impl FnOnce(&mut Config)) -> anyhow::Result<Self> {
        let home = home(named)?;
        let started = Instant::now();
        loop {
            if let Some(daemon) = home.daemon()
                && let Some(daemon) = Self::reach(&daemon.socket, PATIENCE)?
            {
                return Ok(daemon);
            }
            let mut config = Config::load(home.root())?;
            match home.lock() {
                Ok(lock) => {
                    adjust(&mut config);
                    return Self::of(App::start(home, config, lock, captures)?);
                }
                // A daemon that is just starting says where it listens in a moment; a command is done in a moment.
                Err(HomeError::Held(_)) if started.elapsed() < LETS_GO_WITHIN => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// This process, which has the vault open.
    ///
    /// # Errors
    /// When there is no room to ask it.
    pub(super) fn of(app: App) -> anyhow::Result<Self> {
        let (runtime, app) = (tokio::runtime::Builder::new_current_thread().enable_all().build()?, Arc::new(app));
        let answers = Answers::Here(TowerToHyperService::new(alone(Arc::clone(&app))));
        let reconnect = Box::new(|| Ok(None));
        Ok(Self { runtime, answers, app: Some(app), patience: Duration::MAX, agent: None, reconnect })
    }

    /// Whether the daemon answers.
    pub(super) fn is_served(&self) -> bool {
        self.app.is_none()
    }

    /// Finds passages.
    pub(super) fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse> {
        let mut found = self.ask(&routes::SEARCH, params)?;
        if self.app.is_some() {
            // All that was saved before has been read before.
            found.fresh = Some(true);
        }
        Ok(found)
    }

    /// What is worth giving for a question.
    pub(super) fn context(&mut self, params: &ContextParams) -> anyhow::Result<ContextView> {
        let body = serde_json::to_vec(params)?.into();
        self.send(&EndpointCall { method: Method::POST, body, ..EndpointCall::get("/api/context") })
    }

    /// Has events kept; without a daemon nobody takes them.
    pub(super) fn send_events(&mut self, events: &[Value]) -> anyhow::Result<()> {
        if self.app.is_some() {
            return Err(anyhow!("no daemon serves this vault; start `vault serve`"));
        }
        self.post::<EventsAccepted>("/api/user-memory/events", &events).map(drop)
    }

    /// Lets the index catch up with the files, when this process works alone; the daemon does so all the time.
    pub(super) fn catch_up(&self, embed: bool) -> anyhow::Result<()> {
        let Some(app) = &self.app else { return Ok(()) };
        let shared = &app.shared;
        if let Some(failure) = follow_files(shared).failure {
            return Err(anyhow!(failure));
        }
        if embed {
            follow_embeddings(shared, EMBED_WAIT);
        }
        Ok(())
    }

    /// Connects anew by this from now on, where who answered is gone.
    pub(super) fn reconnect_by(&mut self, reconnect: impl FnMut() -> anyhow::Result<Option<Self>> + 'static) {
        self.reconnect = Box::new(reconnect);
    }

    /// Asks as an agent from now on, or as the person.
    pub(super) fn ask_as(&mut self, agent: Option<&str>) -> &mut Self {
        self.agent = agent.map(str::to_owned);
        self
    }

    /// Asks an endpoint.
    pub(super) fn ask<In: Input, Out: DeserializeOwned>(
        &mut self,
        endpoint: &Endpoint<In, Out>,
        params: &In::Params,
    ) -> anyhow::Result<Out> {
        self.ask_of(endpoint, "", params)
    }

    /// The same for one whose address has a name.
    pub(super) fn ask_of<In: Input, Out: DeserializeOwned>(
        &mut self,
        endpoint: &Endpoint<In, Out>,
        name: &str,
        params: &In::Params,
    ) -> anyhow::Result<Out> {
        self.send(&endpoint.call(name, params)?)
    }

    /// How the vault and its index are.
    pub(super) fn status(&mut self) -> anyhow::Result<Status> {
        self.ask(&routes::STATUS.answering(), &())
    }

    /// Looks at the status again and again until it is as it should be.
    ///
    /// # Errors
    /// When it does not answer, or nothing is read or embedded any more.
    pub(super) fn wait_until(
        &mut self,
        every: Duration,
        mut is_it: impl FnMut(&Status) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Status> {
        loop {
            let status = self.status()?;
            if let Some(failure) = status.failure {
                return Err(anyhow!(failure));
            }
            if is_it(&status)? {
                return Ok(status);
            }
            std::thread::sleep(every);
        }
    }

    /// Asks with `POST`.
    pub(super) fn post<T: DeserializeOwned>(&mut self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        self.send(&EndpointCall {
            method: Method::POST,
            body: serde_json::to_vec(body)?.into(),
            is_repeatable: false,
            ..EndpointCall::get(path)
        })
    }

    fn send<T: DeserializeOwned>(&mut self, asked: &EndpointCall) -> anyhow::Result<T> {
        let mut answer = self.exchange(asked)?;
        if let Err(CallError::Lost { is_sent, .. }) = answer
            && (asked.is_repeatable || !is_sent)
            && let Some(anew) = (self.reconnect)()?
        {
            (self.runtime, self.answers) = (anew.runtime, anew.answers);
            answer = self.exchange(asked)?;
        }
        let patience = self.patience_for(asked);
        let (status, bytes) = match answer {
            Ok(answer) => answer,
            Err(CallError::Late) => return Err(late(patience)),
            Err(CallError::Lost { why, .. } | CallError::Torn(why)) => {
                return Err(why.context("the daemon does not answer"));
            }
        };
        if status.is_success() {
            return serde_json::from_slice(&bytes).context("the daemon is of another version; restart it");
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = body["error"]["message"].as_str().unwrap_or("the daemon refused").to_owned();
        let hint = body["error"]["hint"].as_str().map(str::to_owned);
        Err(match body["error"]["code"].as_str().and_then(ErrorKind::from_code) {
            Some(kind) => RequestError { kind, message, hint }.into(),
            None => anyhow!([Some(message), hint].into_iter().flatten().collect::<Vec<_>>().join(". ")),
        })
    }

    fn patience_for(&self, asked: &EndpointCall) -> Duration {
        if asked.is_slow { self.patience.max(SLOW_PATIENCE) } else { self.patience }
    }

    /// Sends a request and waits for what comes of it.
    ///
    /// # Errors
    /// When there can be no such request.
    fn exchange(&mut self, asked: &EndpointCall) -> anyhow::Result<Result<(StatusCode, Bytes), CallError>> {
        let mut request = Request::builder()
            .method(&asked.method)
            .uri(&asked.uri)
            .header("host", "localhost")
            .header("content-type", "application/json");
        if let Some(agent) = &self.agent {
            request = request.header(AS_AGENT, agent.as_str());
        }
        let request = request.body(Full::new(asked.body.clone()))?;
        let patience = self.patience_for(asked);
        let answers = &mut self.answers;
        let exchanged = async {
            let response = match answers {
                Answers::Daemon(sender) => {
                    sender.ready().await.map_err(|error| CallError::Lost { is_sent: false, why: error.into() })?;
                    let response = sender.try_send_request(request).await.map_err(|mut error| CallError::Lost {
                        is_sent: error.take_message().is_none(),
                        why: error.into_error().into(),
                    })?;
                    response.map(Body::new)
                }
                Answers::Here(router) => {
                    let Ok(response) = router.call(request).await;
                    response
                }
            };
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| CallError::Torn(anyhow!(error)))?;
            Ok((status, body.to_bytes()))
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(patience, exchanged).await });
        Ok(answer.unwrap_or(Err(CallError::Late)))
    }
}

fn late(patience: Duration) -> anyhow::Error {
    anyhow!("the daemon did not answer within {patience:?}. It is stopped or stuck: end it and start it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_is_stopped_is_not_waited_for_forever() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        assert!(Backend::connect(&socket, PATIENCE).unwrap().is_none());
        // As with a stopped process: the system accepts, and nobody answers.
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mut client = Backend::connect(&socket, Duration::from_millis(20)).unwrap().unwrap();
        let error = client.send::<Value>(&EndpointCall::get("/status")).unwrap_err().to_string();
        assert!(error.starts_with("the daemon did not answer within 20ms"), "{error}");
    }

    /// A daemon of a test: of each connection it reads a request, and answers it or ends as if it was killed. Gives what was asked.
    fn daemon(socket: &Path, answers: &'static [bool]) -> std::thread::JoinHandle<Vec<String>> {
        use std::io::{BufRead as _, BufReader, Read as _, Write as _};
        let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        std::thread::spawn(move || {
            let read = |answer: &bool| {
                let (stream, _) = listener.accept().unwrap();
                let mut lines = BufReader::new(&stream);
                let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
                lines.read_line(&mut first).unwrap();
                while lines.read_line(&mut line).unwrap() > 2 {
                    length = line.strip_prefix("content-length: ").map_or(length, |at| at.trim().parse().unwrap());
                    line.clear();
                }
                lines.read_exact(&mut vec![0; length]).unwrap();
                if *answer {
                    (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue").unwrap();
                }
                first.split(' ').next().unwrap().to_owned()
            };
            answers.iter().map(read).collect()
        })
    }

    fn posted() -> EndpointCall {
        EndpointCall { method: Method::POST, ..EndpointCall::get("/a") }
    }

    #[test]
    fn what_may_be_asked_twice_is_asked_again_where_the_daemon_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        let asked = daemon(&socket, &[false, true, false, true, false]);
        let connected = || Backend::connect(&socket, PATIENCE).unwrap().unwrap();
        assert_eq!(connected().send::<Value>(&EndpointCall::get("/a")).unwrap(), true);
        assert_eq!(connected().send::<Value>(&EndpointCall { is_repeatable: true, ..posted() }).unwrap(), true);
        // What has perhaps been done is not done again.
        let error = connected().post::<Value>("/a", &()).unwrap_err().to_string();
        assert_eq!(error, "the daemon does not answer");
        assert_eq!(asked.join().unwrap(), ["GET", "GET", "POST", "POST", "POST"]);
    }

    #[test]
    fn who_was_killed_a_moment_ago_is_not_reached() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        let reached = || Backend::reach(&socket, PATIENCE).unwrap().is_some();
        assert!(!reached());
        let asked = daemon(&socket, &[false, true]);
        assert!(!reached(), "the connection is reset");
        assert!(reached());
        assert_eq!(asked.join().unwrap(), ["GET", "GET"]);
        assert!(!reached(), "nobody listens any more");
    }

    #[test]
    fn another_daemon_is_asked_where_one_is_started_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, next) = (folder.path().join("sock"), folder.path().join("next"));
        let killed = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mut client = Backend::connect(&socket, PATIENCE).unwrap().unwrap();
        // The system has taken the connection, and resets it.
        drop(killed);
        let asked = daemon(&next, &[true]);
        let started = next.clone();
        client.reconnect_by(move || Backend::connect(&started, PATIENCE));
        // None of it has been sent, or it cannot be told and is not asked again.
        let posted = client.post::<Value>("/a", &());
        let answer = if posted.is_ok() { posted } else { client.send(&EndpointCall::get("/a")) };
        assert_eq!(answer.unwrap(), true);
        assert_eq!(asked.join().unwrap().len(), 1);
    }
}
