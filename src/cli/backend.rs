//! Who answers a command: the running daemon, over its Unix socket, or this process, by the same router.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use axum::Router;
use axum::body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
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
    patience: Duration,
    /// The agent that is asked for; the person where there is none.
    agent: Option<String>,
}

/// The way to who answers.
enum Answers {
    /// The daemon, at its socket.
    Daemon(PathBuf),
    /// This process, which has the vault open.
    Here(Arc<App>, TowerToHyperService<Router>),
}

/// A daemon that has not answered by then does not answer: searches take milliseconds, and what takes longer is not
/// waited for over HTTP.
const PATIENCE: Duration = Duration::from_secs(30);
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
    fn new(answers: Answers, patience: Duration) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, answers, patience, agent: None })
    }

    /// The daemon at a socket; `None` when nobody answers there: also where the system alone takes connections still, for a process that was
    /// killed a moment ago.
    ///
    /// # Errors
    /// When somebody is there who does not answer in time.
    fn reach(socket: &Path, patience: Duration) -> anyhow::Result<Option<Self>> {
        let client = Self::new(Answers::Daemon(socket.to_owned()), patience)?;
        Ok(client.exchange(&EndpointCall::get("/health"))?.is_ok().then_some(client))
    }

    /// The daemon of a vault, where one answers.
    ///
    /// # Errors
    /// As [`Self::reach`].
    pub(super) fn daemon_of(home: &Home) -> anyhow::Result<Option<Self>> {
        home.daemon().map_or(Ok(None), |daemon| Self::reach(&daemon.socket, PATIENCE))
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
            if let Some(daemon) = Self::daemon_of(&home)? {
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
        let app = Arc::new(app);
        Self::new(Answers::Here(Arc::clone(&app), TowerToHyperService::new(alone(app))), Duration::MAX)
    }

    /// Whether the daemon answers.
    pub(super) fn is_served(&self) -> bool {
        matches!(self.answers, Answers::Daemon(_))
    }

    /// Finds passages.
    pub(super) fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse> {
        let mut found = self.ask(&routes::SEARCH, params)?;
        if !self.is_served() {
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
        if !self.is_served() {
            return Err(anyhow!("no daemon serves this vault; start `vault serve`"));
        }
        self.post::<EventsAccepted>("/api/user-memory/events", &events).map(drop)
    }

    /// Lets the index catch up with the files, when this process works alone; the daemon does so all the time.
    pub(super) fn catch_up(&self, embed: bool) -> anyhow::Result<()> {
        let Answers::Here(app, _) = &self.answers else { return Ok(()) };
        let shared = &app.shared;
        if let Some(failure) = follow_files(shared).failure {
            return Err(anyhow!(failure));
        }
        if embed {
            follow_embeddings(shared, EMBED_WAIT);
        }
        Ok(())
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
            ..EndpointCall::get(path)
        })
    }

    fn send<T: DeserializeOwned>(&mut self, asked: &EndpointCall) -> anyhow::Result<T> {
        let (status, bytes) = self.exchange(asked)?.context("the daemon does not answer")?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).context("the daemon is of another version; restart it");
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = body["error"]["message"].as_str().unwrap_or("the daemon refused").to_owned();
        let hint = body["error"]["hint"].as_str().map(str::to_owned);
        Err(match body["error"]["code"].as_str().and_then(ErrorKind::from_code) {
            Some(kind) => RequestError { kind, message, hint, now: None }.into(),
            None => anyhow!([Some(message), hint].into_iter().flatten().collect::<Vec<_>>().join(". ")),
        })
    }

    /// Sends a request and waits for what comes of it; the inner error is that nobody answers.
    ///
    /// # Errors
    /// When it does not come in time.
    fn exchange(&self, asked: &EndpointCall) -> anyhow::Result<anyhow::Result<(StatusCode, Bytes)>> {
        let mut request = Request::builder()
            .method(&asked.method)
            .uri(&asked.uri)
            .header("host", "localhost")
            .header("content-type", "application/json");
        if let Some(agent) = &self.agent {
            request = request.header(AS_AGENT, agent.as_str());
        }
        let request = request.body(Full::new(asked.body.clone()))?;
        let patience = if asked.is_slow { self.patience.max(SLOW_PATIENCE) } else { self.patience };
        let exchanged = async {
            let response = match &self.answers {
                Answers::Daemon(socket) => {
                    let stream = TokioIo::new(UnixStream::connect(socket).await?);
                    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
                    tokio::spawn(connection);
                    sender.send_request(request).await?.map(Body::new)
                }
                Answers::Here(_, router) => {
                    let Ok(response) = router.call(request).await;
                    response
                }
            };
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| anyhow!(error))?;
            anyhow::Ok((status, body.to_bytes()))
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(patience, exchanged).await });
        answer.map_err(|_| late(patience))
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
        // As with a stopped process: the system accepts, and nobody answers.
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mut client = Backend::new(Answers::Daemon(socket), Duration::from_millis(20)).unwrap();
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
}
