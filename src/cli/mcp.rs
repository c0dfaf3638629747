//! `vault mcp`: lines in, lines out, what a line says as far as passing it on takes, and the way to the daemon: the one that runs, or one of
//! this process's own where there is none.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::backend::home;
use super::exit;
use super::terminal::{Outcome, stdout};
use crate::access::policy::agent_file;
use crate::base::config::Config;
use crate::index::sync::Shared;
use crate::serve::api::AS_AGENT;
use crate::serve::daemon::{Daemon, DaemonError, Serves, until};
use crate::serve::mcp::{ErrorCode, MAX_MESSAGE_BYTES, SESSION, changes_nothing, read_message, refusal};
use crate::vault::disk::{Home, HomeError, slug};

/// Serve the Model Context Protocol on standard input and output, for the programs that start it.
///
/// Claude Desktop, Cursor, VS Code and others start it themselves, for one agent. It forwards their requests to the vault's
/// daemon; if there is none, it does the daemon's work itself as long as it runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault mcp --vault ~/vault --agent claude\n  vault mcp --vault ~/vault --owner")]
pub(super) struct McpCommand {
    /// The agent to serve; default: $VAULT_AGENT. It sees what you allow it to see.
    #[arg(long, value_name = "NAME", conflicts_with = "owner")]
    agent: Option<String>,
    /// Serve you, the owner: all notes, including private ones.
    #[arg(long)]
    owner: bool,
    /// The form of answers; default: `text`, except for programs that ask for structured content, such as ChatGPT.
    #[arg(long, value_enum, value_name = "FORM")]
    answers: Option<AnswerForm>,
}

/// Requests that are answered at a time; more wait.
const AT_A_TIME: usize = 8;

/// When standard input ends, requests under way get this long.
const DRAIN: Duration = Duration::from_secs(30);

/// A program that has ended this one, or its answers, reads no more than what is on its way.
const STOPS_WRITING: Duration = Duration::from_millis(200);

impl McpCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let answers = self.answers;
        let agent = self.agent()?;
        let home = home(vault)?;
        if let Some(slug) = &agent
            && !agent_file(slug).is_some_and(|page| page.on_disk(home.root()).is_file())
        {
            bail!(
                "there is no agent `{slug}`. `vault agent add {slug} --allow` adds one that reads your notes; \
                 `vault agent list` lists all agents"
            );
        }
        let (reached, agreed, own) = Default::default();
        exit::after(answer_lines(Arc::new(DaemonLink { home, agent, reached, answers, agreed, own })))
    }

    /// The folder's name of the agent that asks; `None` is the owner, who must have been named.
    fn agent(self) -> anyhow::Result<Option<String>> {
        if self.owner {
            return Ok(None);
        }
        let named = self.agent.or_else(|| std::env::var("VAULT_AGENT").ok()).map(|name| name.trim().to_owned());
        let Some(name) = named.filter(|name| !name.is_empty()) else {
            bail!(
                "name an agent: `vault mcp --agent NAME` serves an agent, which sees what you allow (or set \
                 VAULT_AGENT=NAME); `vault mcp --owner` serves you, with all your notes"
            );
        };
        Ok(Some(slug(&name)))
    }
}

/// What answers messages, one by one.
pub(super) trait AnswersMessages: Send + Sync + 'static {
    /// The answer to a message, where there is one to give.
    ///
    /// # Errors
    /// When nobody can answer.
    fn answer_message(
        self: &Arc<Self>,
        message: &RpcMessage,
    ) -> impl Future<Output = anyhow::Result<Option<Vec<u8>>>> + Send;

    /// Ends what it has begun. Tells whether the stores could be closed in time, where this process had them open.
    fn close(&self) -> impl Future<Output = bool> + Send;
}

/// Answers each line until standard input ends, nobody reads the answers any more, or a signal says so. Tells whether the
/// stores could be closed in time, where this process had them open.
pub(super) async fn answer_lines<L: AnswersMessages>(link: Arc<L>) -> anyhow::Result<bool> {
    let mut lines = input_lines();
    let (answers, written) = output_lines();
    let free = Arc::new(Semaphore::new(AT_A_TIME));
    let mut tasks = JoinSet::new();
    let mut stop = std::pin::pin!(exit::told()?);
    let ended = loop {
        while tasks.try_join_next().is_some() {}
        let line = tokio::select! {
            line = lines.recv() => line,
            () = answers.closed() => break false,
            () = &mut stop => break false,
        };
        let Some(line) = line else { break true };
        let Ok(turn) = Arc::clone(&free).acquire_owned().await else { break false };
        let (link, answers) = (Arc::clone(&link), answers.clone());
        tasks.spawn(async move {
            answer(&link, line, &answers).await;
            drop(turn);
        });
    };
    let until = tokio::time::Instant::now() + if ended { DRAIN } else { STOPS_WRITING };
    if ended {
        let finished = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout_at(until, finished).await;
    }
    tasks.shutdown().await;
    drop(answers);
    let closed = link.close().await;
    // The process must not end with an answer that is made and not out.
    let _ = tokio::time::timeout_at(until, written).await;
    Ok(closed)
}

async fn answer<L: AnswersMessages>(link: &Arc<L>, line: Vec<u8>, answers: &mpsc::Sender<Vec<u8>>) {
    let answer = match RpcMessage::read(line) {
        Ok(None) => None,
        Err(answer) => Some(answer),
        Ok(Some(message)) => match link.answer_message(&message).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!("{}: {error:#}", message.method);
                message.id.as_ref().map(|id| refused(id, ErrorCode::INTERNAL_ERROR, &format!("{error:#}")))
            }
        },
    };
    if let Some(answer) = answer {
        // Whoever no longer reads has no use for it.
        let _ = answers.send(answer).await;
    }
}

/// How the answers of tools are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerForm {
    /// As structured content, with the same JSON as text
    Structured,
    /// As text for a model
    Text,
}

/// Where a request names the version of the protocol that it is of, since there are no sessions any more.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// A request or a notification.
pub(super) struct RpcMessage {
    /// As it came.
    pub(super) bytes: Bytes,
    /// What its answer is known by; a notification has none.
    id: Option<Value>,
    method: String,
    /// What it names: a tool, a prompt or a resource.
    name: Option<String>,
    /// The version of the protocol that it says it is of.
    version: Option<String>,
    /// Whether it may be sent again when nobody knows what became of it.
    changes_nothing: bool,
}

impl RpcMessage {
    /// Reads a line; `None` where nothing is to be done. The error is what to answer.
    fn read(line: Vec<u8>) -> Result<Option<Self>, Vec<u8>> {
        let invalid = |message: &str| Err(refused(&Value::Null, ErrorCode::INVALID_REQUEST, message));
        if line.len() > MAX_MESSAGE_BYTES {
            return invalid(&format!("a message may have at most {MAX_MESSAGE_BYTES} bytes"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let message = read_message(&line).map_err(|(code, why)| refused(&Value::Null, code, &why))?;
        let id = message.get("id");
        match message.get("method") {
            Some(Value::String(method)) if id.is_none_or(|id| id.is_string() || id.is_number()) => {
                let params = &message["params"];
                let version = match method.as_str() {
                    "initialize" => &params["protocolVersion"],
                    _ => &params["_meta"][VERSION_IN_META],
                };
                let name = match method.as_str() {
                    "tools/call" | "prompts/get" => params["name"].as_str(),
                    "resources/read" => params["uri"].as_str(),
                    _ => None,
                };
                let changes_nothing =
                    method != "tools/call" || name.is_some_and(|name| changes_nothing(name, &params["arguments"]));
                Ok(Some(Self {
                    changes_nothing,
                    id: id.cloned(),
                    method: method.clone(),
                    name: name.map(str::to_owned),
                    version: version.as_str().map(str::to_owned),
                    bytes: line.into(),
                }))
            }
            Some(Value::String(_)) => invalid("`id` must be a string or a number"),
            Some(_) => invalid("`method` must be a string"),
            // An answer to a question that was never asked.
            None if message.get("result").is_some() || message.get("error").is_some() => Ok(None),
            None => invalid("`method` is required"),
        }
    }

    /// The headers that go with it over HTTP; `agreed` is the version that was agreed on at the start.
    fn headers(&self, agreed: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("mcp-method", sayable(&self.method))];
        headers.extend(self.version.as_deref().or(agreed).map(|version| ("mcp-protocol-version", sayable(version))));
        headers.extend(self.name.as_deref().map(|name| ("mcp-name", sayable(name))));
        headers
    }
}

/// A text as the protocol writes it in a header: in Base64 where a header cannot hold it.
fn sayable(text: &str) -> String {
    let plain =
        text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text && !text.starts_with("=?");
    if plain && !text.is_empty() { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// The answer that there is none.
fn refused(id: &Value, code: ErrorCode, message: &str) -> Vec<u8> {
    refusal(id, code, message).to_string().into_bytes()
}

/// The lines of standard input, until it ends.
fn input_lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut input, MAX_MESSAGE_BYTES) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Takes lines for standard output, closed when nobody reads them any more; and what ends when the last one is out.
fn output_lines() -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<()>) {
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(8);
    let (writing, written) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut output = stdout().for_json();
        while let Some(mut line) = receiver.blocking_recv() {
            line.push(b'\n');
            if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        drop(writing);
    });
    (sender, written)
}

/// Reads a line, without its end; of one that is longer than `limit`, one byte more than that. The last one may have no end.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(limit as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() > limit {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

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
struct DaemonLink {
    home: Home,
    agent: Option<String>,
    /// Where a daemon was last reached.
    reached: Mutex<Option<PathBuf>>,
    /// How answers are to be given, where the person says it.
    answers: Option<AnswerForm>,
    /// The version of the protocol that was agreed on, and the session that the handshake gave, which says what the client shows.
    agreed: Mutex<(Option<String>, Option<HeaderValue>)>,
    own: tokio::sync::Mutex<Option<Own>>,
}

/// The daemon of this process.
struct Own {
    stop: watch::Sender<bool>,
    running: JoinHandle<bool>,
}

impl DaemonLink {
    async fn post(
        &self,
        stream: UnixStream,
        message: &RpcMessage,
    ) -> anyhow::Result<(StatusCode, Option<HeaderValue>, Bytes)> {
        let (agreed, session) = self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let address = match self.answers {
            None => "/mcp",
            Some(AnswerForm::Structured) => "/mcp?answers=structured",
            Some(AnswerForm::Text) => "/mcp?answers=text",
        };
        let mut request = Request::post(address)
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
            let announced = spawn_blocking(move || home.daemon().map(|daemon| daemon.socket)).await?;
            for socket in [announced, known.clone()].into_iter().flatten() {
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
            Err(error)
                if matches!(error.downcast_ref(), Some(DaemonError::Home(HomeError::Held(_))))
                    && started.elapsed() < LETS_GO_WITHIN =>
            {
                return Ok(());
            }
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
                *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = (Some(version.to_owned()), session);
            }
            return Ok(Some(answer.to_string().into_bytes()));
        }
        let said = |key: &str| answer["error"][key].as_str().map(str::to_owned);
        let message = said("message").unwrap_or_else(|| format!("the daemon answers with {status}"));
        let message = [Some(message), said("hint")].into_iter().flatten().collect::<Vec<_>>().join(". ");
        Ok(Some(refused(id, ErrorCode::INTERNAL_ERROR, &message)))
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
    let _ = tell.send(Ok(Arc::clone(&daemon.app.shared)));
    let over = async {
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => {}
            () = until(CHECK_INTERVAL, move || home.is_lock_wanted()) => {}
        }
    };
    daemon.run(over).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: &str) -> Result<Option<RpcMessage>, Vec<u8>> {
        RpcMessage::read(line.into())
    }

    #[test]
    fn what_is_no_message_is_answered_or_passed_over() {
        for (line, code) in [
            ("nonsense", ErrorCode::PARSE_ERROR),
            ("{\"jsonrpc\":", ErrorCode::PARSE_ERROR),
            ("[]", ErrorCode::INVALID_REQUEST),
            ("7", ErrorCode::INVALID_REQUEST),
            ("{}", ErrorCode::INVALID_REQUEST),
            (r#"{"id":null,"method":"ping"}"#, ErrorCode::INVALID_REQUEST),
            (r#"{"id":{},"method":"ping"}"#, ErrorCode::INVALID_REQUEST),
            (r#"{"id":1,"method":7}"#, ErrorCode::INVALID_REQUEST),
        ] {
            let Err(answer) = read(line) else { panic!("{line} is refused") };
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{line}");
        }
        let deep = format!("{{\"id\":1,\"method\":\"ping\",\"params\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(read(&deep).is_err());
        assert!(RpcMessage::read(vec![b'"', 0xff, b'"']).is_err());
        assert!(RpcMessage::read(vec![b' '; MAX_MESSAGE_BYTES + 1]).is_err());
        assert!(matches!(read(" \r"), Ok(None)) && matches!(read(r#"{"id":1,"result":{}}"#), Ok(None)));
    }

    #[test]
    fn a_message_says_in_headers_what_it_is() {
        let Ok(Some(message)) = read(r#"{"id":1,"method":"tools/call","params":{"name":"sück"}}"#) else { panic!() };
        let headers = message.headers(Some("2025-11-25"));
        let expected = ["tools/call", "2025-11-25", "=?base64?c8O8Y2s=?="];
        assert_eq!(headers.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), expected);
        assert!(!message.changes_nothing);
        let Ok(Some(message)) = read(r#"{"method":"notifications/initialized"}"#) else { panic!() };
        assert!(message.id.is_none() && message.changes_nothing && message.headers(None).len() == 1);
    }

    #[test]
    fn what_only_reads_may_be_sent_again() {
        for (name, arguments, again) in [
            ("search", json!({ "query": "x" }), true),
            ("fact", json!({ "action": "get", "name": "x" }), true),
            ("fact", json!({ "action": "set", "name": "x", "value": "y" }), false),
            ("memory", json!({ "action": "search", "query": "x" }), true),
            ("memory", json!({ "action": "save", "content": "x" }), false),
            ("memory", json!({}), false),
            ("none", json!({}), false),
        ] {
            let call = json!({ "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
            let Ok(Some(message)) = read(&call.to_string()) else { panic!("{call}") };
            assert_eq!(message.changes_nothing, again, "{call}");
        }
    }

    #[test]
    fn lines_are_kept_up_to_a_length() {
        let text = "one\n\nfour\r\nmuch too long\nlast";
        // Whatever pieces it comes in.
        for piece in [1, 2, 7, 100] {
            let mut input = io::BufReader::with_capacity(piece, text.as_bytes());
            let mut input_lines = Vec::new();
            while let Some(line) = next_line(&mut input, 6).unwrap() {
                input_lines.push(line);
            }
            // One that is too long is cut where that is seen.
            assert_eq!(input_lines, ["one", "", "four\r", "much to", "last"].map(Vec::from), "{piece}");
        }
    }
}
