//! Starts what another program's settings say, and asks it something, as that program would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// Maximum time for an answer: the first one may wait for an index that is being made.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum length of an answer over HTTP.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// What was answered.
pub(super) struct CheckAnswer {
    /// How many tools there are.
    pub(super) tools: usize,
    /// How many notes they see.
    pub(super) notes: u64,
}

/// Asks what an entry starts for its tools, and one of them for what it sees.
///
/// # Errors
/// When it cannot be started, ends, answers with an error, or not in time.
pub(super) fn check(entry: &Value) -> anyhow::Result<CheckAnswer> {
    let command = entry["command"].as_str().context("the entry has no `command`")?;
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let mut process = Command::new(command);
    process.args(texts(&entry["args"])).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in entry["env"].as_object().into_iter().flatten() {
        process.env(name, value.as_str().unwrap_or_default());
    }
    let mut child = process.spawn().with_context(|| format!("cannot start {command}"))?;
    let asked = ask(&mut child);
    let mut said = String::new();
    match &asked {
        // Nothing more can be asked: it ends.
        Ok(_) => drop(child.wait()),
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            if let Some(stderr) = child.stderr.take() {
                let _ = stderr.take(10_000).read_to_string(&mut said);
            }
        }
    }
    asked.map_err(|error| match said.trim() {
        "" => error,
        said => error.context(format!("it said: {said}")),
    })
}

/// Asks at an address with a token in it (`http://TOKEN@HOST:PORT`), as clients of `qmd serve` do, how many notes it sees.
///
/// # Errors
/// When it is no such address, nobody answers there in time, or the token does not count.
pub(super) fn check_address(url: &str) -> anyhow::Result<u64> {
    let rest = url.strip_prefix("http://").context("it begins with something else than `http://`")?;
    let rest = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (token, host) = rest.rsplit_once('@').context("there is no token before the `@`")?;
    let token = token.split(':').next().unwrap_or(token);
    let with_port = if host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    if token.is_empty() || token.chars().any(char::is_control) || host.chars().any(char::is_control) {
        bail!("there is no token before the `@`");
    }
    let address = with_port.to_socket_addrs().with_context(|| format!("there is no {with_port}"))?.next();
    let address = address.with_context(|| format!("there is no {with_port}"))?;
    let mut stream =
        TcpStream::connect_timeout(&address, PATIENCE).with_context(|| format!("nobody listens at {host}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // The older version ends the connection behind the answer.
    write!(stream, "GET /status HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER_BYTES).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer is none of HTTP")?;
    let body: Value = serde_json::from_str(body).context("the answer is no JSON")?;
    match head.split(' ').nth(1) {
        Some("200") => body["files"].as_u64().context("the answer does not say how many notes it sees"),
        Some("401") => bail!("the token does not count; `vault agent rotate NAME` prints another"),
        status => bail!("{} {}", status.unwrap_or_default(), body["error"]["message"].as_str().unwrap_or_default()),
    }
}

fn ask(child: &mut Child) -> anyhow::Result<CheckAnswer> {
    let stdout = child.stdout.take().context("it has no standard output")?;
    let mut stdin = child.stdin.take().context("it has no standard input")?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let client = json!({ "name": "vault-connect", "version": env!("CARGO_PKG_VERSION") });
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    request(&mut stdin, &lines, 1, "initialize", &begin)?;
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    let tools = request(&mut stdin, &lines, 2, "tools/list", &json!({}))?;
    let tools = tools["tools"].as_array().context("it lists no tools")?.len();
    let seen = request(&mut stdin, &lines, 3, "tools/call", &json!({ "name": "status", "arguments": {} }))?;
    if seen["isError"] == true {
        bail!("its tool `status` answers: {}", seen["content"][0]["text"]);
    }
    let notes = seen["structuredContent"]["notes"].as_u64().or_else(|| {
        let text = seen["content"][0]["text"].as_str()?;
        text.split_whitespace().next()?.replace(',', "").parse().ok()
    });
    Ok(CheckAnswer { tools, notes: notes.context("its tool `status` does not say how many notes it sees")? })
}

/// Asks, and gives the result.
fn request(
    stdin: &mut impl Write,
    lines: &Receiver<String>,
    id: u64,
    method: &str,
    params: &Value,
) -> anyhow::Result<Value> {
    let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    // Where it has ended, what it said is the reason.
    let _ = writeln!(stdin, "{asked}").and_then(|()| stdin.flush());
    loop {
        let line = lines.recv_timeout(PATIENCE).map_err(|_| anyhow::anyhow!("no answer to `{method}`"))?;
        let Ok(mut answer) = serde_json::from_str::<Value>(&line) else {
            bail!("`{method}` is answered by what is no JSON")
        };
        if answer["id"] != id {
            continue;
        }
        if let Some(error) = answer["error"]["message"].as_str() {
            bail!("`{method}` is answered by an error: {error}");
        }
        return Ok(answer["result"].take());
    }
}
