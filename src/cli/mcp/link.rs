//! The way to the daemon: the one that runs, or one of this process's own where there is none.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;

use super::{AnswerForm, AnswersMessages, INTERNAL, RpcMessage, refusal};
use crate::base::config::Config;
use crate::index::sync::Shared;
use crate::serve::api::AS_AGENT;
use crate::serve::daemon::{Daemon, DaemonError, Serves};
use crate::serve::mcp::SESSION;
use crate::vault::disk::{Home, HomeError};

/// Maximum time for a daemon that was there to come back, before this process does its work.
const RETURNS_WITHIN: Duration = Duration::from_secs(10);

/// Maximum time for whoever has the vault's lock and is no daemon to let go of it.
const LETS_GO_WITHIN: Duration = Duration::from_secs(20);

/// Maximum time that an index which is opened or brought up to date is waited for at the start.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(5);

/// Between two looks for a daemon.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Interval at which it is checked whether a daemon that serves all, and not this agent alone, wants the lock: it goes
/// first.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum time for the daemon of this process to end: requests under way, then the stores.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A daemon that has not answered by then does not answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The way to the daemon, for one agent or the owner.
pub(super) struct DaemonLink {
    home: Home,
    agent: Option<String>,
    /// Where a daemon was last reached.
    reached: Mutex<Option<PathBuf>>,
    /// How answers are to be given, where the person says it.
    answers: Option<AnswerForm>,
    /// The version of the protocol that was agreed on.
    agreed: Mutex<Option<String>>,
    /// The session that the handshake gave, which says what the client shows.
    session: Mutex<Option<HeaderValue>>,
    own: tokio::sync::Mutex<Option<Own>>,
}

/// The daemon of this process.
struct Own {
    stop: watch::Sender<bool>,
    running: JoinHandle<bool>,
}

impl DaemonLink {
    pub(super) fn new(home: Home, agent: Option<String>, answers: Option<AnswerForm>) -> Self {
        Self {
            home,
            agent,
            reached: Mutex::default(),
            answers,
            agreed: Mutex::default(),
            session: Mutex::default(),
            own: Default::default(),
        }
    }

    async fn post(
        &self,
        stream: UnixStream,
        message: &RpcMessage,
    ) -> anyhow::Result<(StatusCode, Option<HeaderValue>, Bytes)> {
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut request = Request::post(self.answers.map_or("/mcp", AnswerForm::address))
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in message.headers(agreed.as_deref()) {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        if let Some(agent) = &self.agent {
            request = request.header(AS_AGENT, agent.as_bytes());
        }
        let request = request.body(Full::new(message.bytes.clone()))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        let session = response.headers().get(SESSION).cloned();
        Ok((response.status(), session, response.into_body().collect().await?.to_bytes()))
    }

    /// Connects to the daemon. Where there was none so far, this process becomes it; one that was there may come back first.
    async fn connect(&self) -> anyhow::Result<UnixStream> {
        let started = Instant::now();
        loop {
            let known = self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let home = self.home.clone();
            let said = move || [home.daemon().map(|daemon| daemon.socket), Home::socket_outside(home.root())];
            let [announced, outside] = spawn_blocking(said).await?;
            for socket in [announced, known.clone(), outside].into_iter().flatten() {
                if let Ok(stream) = UnixStream::connect(&socket).await {
                    *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
                    return Ok(stream);
                }
            }
            if known.is_none() || started.elapsed() >= RETURNS_WITHIN {
                self.become_daemon(started).await?;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Does the daemon's work in this process, on the vault's socket alone.
    async fn become_daemon(&self, started: Instant) -> anyhow::Result<()> {
        let mut own = self.own.lock().await;
        if own.as_ref().is_some_and(|own| !own.running.is_finished()) {
            return Ok(());
        }
        let (stop, stopped) = watch::channel(false);
        let (tell, told) = oneshot::channel();
        // A task of its own: whoever asks may be sent away while it starts, and it is ended in order all the same.
        *own = Some(Own { stop, running: tokio::spawn(serve(self.home.clone(), stopped, tell)) });
        let shared = match told.await.context("the daemon of this process failed unexpectedly; please report this")? {
            Ok(shared) => shared,
            // One that is just starting says where it listens in a moment; a command is done in a moment.
            Err(error) if is_held(&error) && started.elapsed() < LETS_GO_WITHIN => return Ok(()),
            Err(error) => return Err(error.context("no daemon serves the vault, and this process cannot serve it")),
        };
        let caught_up =
            move || shared.wait(CATCHES_UP_WITHIN, |progress| progress.caught_up || progress.failure.is_some());
        spawn_blocking(caught_up).await?;
        Ok(())
    }
}

impl AnswersMessages for DaemonLink {
    /// Passes a message on; gives the answer, where there is one to give.
    async fn answer_message(self: &Arc<Self>, message: &RpcMessage) -> anyhow::Result<Option<Vec<u8>>> {
        let mut again = message.changes_nothing;
        let (status, session, body) = loop {
            let stream = self.connect().await?;
            match tokio::time::timeout(PATIENCE, self.post(stream, message)).await {
                Ok(Ok(answer)) => break answer,
                // One that was just ending takes connections that it never looks at.
                Ok(Err(error)) if again => {
                    tracing::debug!("asking again: {error:#}");
                    again = false;
                }
                Ok(Err(error)) => {
                    return Err(error
                        .context("the daemon stopped during this request; check whether it was done, then try again"));
                }
                Err(_) => bail!("the daemon did not answer within {PATIENCE:?}"),
            }
        };
        let Some(id) = &message.id else { return Ok(None) };
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if answer.get("jsonrpc").is_some() {
            if message.method == "initialize"
                && let Some(version) = answer["result"]["protocolVersion"].as_str()
            {
                *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
                *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
            }
            return Ok(Some(answer.to_string().into_bytes()));
        }
        let said = |key: &str| answer["error"][key].as_str().map(str::to_owned);
        let message = said("message").unwrap_or_else(|| format!("the daemon answers with {status}"));
        let message = [Some(message), said("hint")].into_iter().flatten().collect::<Vec<_>>().join(". ");
        Ok(Some(refusal(id, INTERNAL, &message)))
    }

    /// Ends what this process did as the daemon. Tells whether the stores could be closed in time.
    async fn close(&self) -> bool {
        let Some(Own { stop, running }) = self.own.lock().await.take() else { return true };
        let _ = stop.send(true);
        // One that is still waiting for the disk to start is not waited for.
        matches!(tokio::time::timeout(ENDS_WITHIN, running).await, Ok(Ok(true)))
    }
}

/// Does a daemon's work until `stopped` says so, or one that serves all wants to. Tells what it shares, or why it cannot start.
/// Gives whether the stores could be closed in time.
async fn serve(
    home: Home,
    mut stopped: watch::Receiver<bool>,
    tell: oneshot::Sender<anyhow::Result<Arc<Shared>>>,
) -> bool {
    let opened = home.clone();
    let started = spawn_blocking(move || {
        let config = Config::load(opened.root())?;
        anyhow::Ok(Daemon::start(opened, config, Serves::Locally)?)
    });
    let daemon = match started.await {
        Ok(Ok(daemon)) => daemon,
        Ok(Err(error)) => {
            let _ = tell.send(Err(error));
            return true;
        }
        // Whoever waits sees that nobody tells any more.
        Err(_) => return false,
    };
    let _ = tell.send(Ok(Arc::clone(daemon.app().shared())));
    let over = async {
        loop {
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => break,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            let home = home.clone();
            if spawn_blocking(move || home.is_lock_wanted()).await.unwrap_or(true) {
                break;
            }
        }
    };
    daemon.run(over).await
}

fn is_held(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(DaemonError::Home(HomeError::Held(_))))
}
