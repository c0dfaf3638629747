//! `vault mcp`: lines in, lines out, and what a line says as far as passing it on takes.

mod link;

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use self::link::DaemonLink;
use super::backend::home;
use super::exit;
use super::exit::Outcome;
use super::terminal::stdout;
use crate::access::policy::agent_file;
use crate::serve::mcp::{MAX_MESSAGE_BYTES, changes_nothing};
use crate::vault::disk::slug;

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
        exit::after(answer_lines(Arc::new(DaemonLink::new(home, agent, answers))))
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

async fn answer<L: AnswersMessages>(link: &Arc<L>, line: InputLine, answers: &mpsc::Sender<Vec<u8>>) {
    let answer = match ReadLine::of(line) {
        ReadLine::Nothing => None,
        ReadLine::Refused(answer) => Some(answer),
        ReadLine::Message(message) => match link.answer_message(&message).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!("{}: {error:#}", message.method);
                message.id.as_ref().map(|id| refusal(id, INTERNAL, &format!("{error:#}")))
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
pub(super) enum AnswerForm {
    /// As structured content, with the same JSON as text
    Structured,
    /// As text for a model
    Text,
}

impl AnswerForm {
    /// Where they are given so.
    pub(super) fn address(self) -> &'static str {
        match self {
            Self::Structured => "/mcp?answers=structured",
            Self::Text => "/mcp?answers=text",
        }
    }
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Nobody could answer.
pub(super) const INTERNAL: i32 = -32603;

/// Where a request names the version of the protocol that it is of, since there are no sessions any more.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// What a line came to.
pub(super) enum ReadLine {
    /// Nothing to be done.
    Nothing,
    /// No message; what to answer.
    Refused(Vec<u8>),
    /// A message to be passed on.
    Message(RpcMessage),
}

/// A request or a notification.
pub(in crate::cli) struct RpcMessage {
    /// As it came.
    pub(in crate::cli) bytes: Bytes,
    /// What its answer is known by; a notification has none.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// What it names: a tool, a prompt or a resource.
    name: Option<String>,
    /// The version of the protocol that it says it is of.
    version: Option<String>,
    /// Whether it may be sent again when nobody knows what became of it.
    pub(super) changes_nothing: bool,
}

impl ReadLine {
    /// Reads a line.
    pub(super) fn of(line: InputLine) -> Self {
        let refused = |code, message: &str| Self::Refused(refusal(&Value::Null, code, message));
        let line = match line {
            InputLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => return Self::Nothing,
            InputLine::Whole(line) => line,
            InputLine::TooLong => {
                return refused(INVALID_REQUEST, &format!("a message may have at most {MAX_MESSAGE_BYTES} bytes"));
            }
        };
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(error) => return refused(PARSE_ERROR, &format!("each line must be one JSON message: {error}")),
        };
        if message.is_array() {
            return refused(INVALID_REQUEST, "MCP has no batches; send one message per line");
        }
        if !message.is_object() {
            return refused(INVALID_REQUEST, "a message must be a JSON object");
        }
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
                Self::Message(RpcMessage {
                    changes_nothing,
                    id: id.cloned(),
                    method: method.clone(),
                    name: name.map(str::to_owned),
                    version: version.as_str().map(str::to_owned),
                    bytes: line.into(),
                })
            }
            Some(Value::String(_)) => refused(INVALID_REQUEST, "`id` must be a string or a number"),
            Some(_) => refused(INVALID_REQUEST, "`method` must be a string"),
            // An answer to a question that was never asked.
            None if message.get("result").is_some() || message.get("error").is_some() => Self::Nothing,
            None => refused(INVALID_REQUEST, "`method` is required"),
        }
    }
}

impl RpcMessage {
    /// The headers that go with it over HTTP; `agreed` is the version that was agreed on at the start.
    pub(super) fn headers(&self, agreed: Option<&str>) -> Vec<(&'static str, String)> {
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
pub(super) fn refusal(id: &Value, code: i32, message: &str) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string().into_bytes()
}

/// What came on standard input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// One that is longer than any message; it was not kept.
    TooLong,
}

/// The lines of standard input, until it ends.
pub(super) fn input_lines() -> mpsc::Receiver<InputLine> {
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
pub(super) fn output_lines() -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<()>) {
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

/// Reads a line and keeps at most `limit` bytes of it in memory. The last one may have no end.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<InputLine>> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let read = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        let at_end = read.is_empty();
        too_long |= line.len() + part.len() > limit;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() || at_end {
            return Ok(match (too_long, at_end && line.is_empty()) {
                (true, _) => Some(InputLine::TooLong),
                (false, true) => None,
                (false, false) => Some(InputLine::Whole(line)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> ReadLine {
        ReadLine::of(InputLine::Whole(line.into()))
    }

    #[test]
    fn what_is_no_message_is_answered_or_passed_over() {
        for (line, code) in [
            ("nonsense", PARSE_ERROR),
            ("{\"jsonrpc\":", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"id":null,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"id":{},"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"id":1,"method":7}"#, INVALID_REQUEST),
        ] {
            let ReadLine::Refused(answer) = read(line) else { panic!("{line} is refused") };
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{line}");
        }
        let deep = format!("{{\"id\":1,\"method\":\"ping\",\"params\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(matches!(read(&deep), ReadLine::Refused(_)));
        assert!(matches!(ReadLine::of(InputLine::Whole(vec![b'"', 0xff, b'"'])), ReadLine::Refused(_)));
        assert!(matches!(ReadLine::of(InputLine::TooLong), ReadLine::Refused(_)));
        assert!(
            matches!(read(" \r"), ReadLine::Nothing) && matches!(read(r#"{"id":1,"result":{}}"#), ReadLine::Nothing)
        );
    }

    #[test]
    fn a_message_says_in_headers_what_it_is() {
        let ReadLine::Message(message) = read(r#"{"id":1,"method":"tools/call","params":{"name":"sück"}}"#) else {
            panic!()
        };
        let headers = message.headers(Some("2025-11-25"));
        let expected = ["tools/call", "2025-11-25", "=?base64?c8O8Y2s=?="];
        assert_eq!(headers.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), expected);
        assert!(!message.changes_nothing);
        let ReadLine::Message(message) = read(r#"{"method":"notifications/initialized"}"#) else { panic!() };
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
            let ReadLine::Message(message) = read(&call.to_string()) else { panic!("{call}") };
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
            let whole = |text: &str| InputLine::Whole(text.into());
            assert_eq!(
                input_lines,
                [whole("one"), whole(""), whole("four\r"), InputLine::TooLong, whole("last")],
                "{piece}"
            );
        }
    }
}
