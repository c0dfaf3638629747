//! HTTP by hand, so that tests can send what no client library would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::PATIENCE;

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// With a body in JSON.
    pub fn send(method: &str, target: &str, body: &Value) -> Self {
        Self::new(method, target).json(body.to_string())
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub fn json(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", "application/json")
    }

    pub fn form(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", "application/x-www-form-urlencoded")
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.has("host") {
            text.push_str("Host: localhost\r\n");
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        [text.into_bytes(), self.body.clone()].concat()
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", String::from_utf8_lossy(&self.body)))
    }

    /// What a good answer says.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The message of an error, which must be shaped as all errors are.
    #[track_caller]
    pub fn error(&self) -> String {
        let body = self.json();
        assert!(self.status >= 400, "{} is no error: {body}", self.status);
        assert!(body["error"]["code"].is_string(), "{body}");
        body["error"]["message"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
    }
}

/// A connection that is kept open.
pub struct Connection {
    stream: BufReader<TcpStream>,
    token: Option<String>,
}

impl Connection {
    pub fn open(address: &str) -> Self {
        Self::try_open(address).expect("somebody listens")
    }

    /// The same, where nobody may be there.
    pub fn try_open(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(Self { stream: BufReader::new(stream), token: None })
    }

    pub fn with_token(self, token: &str) -> Self {
        Self { token: Some(format!("Bearer {token}")), ..self }
    }

    /// What is at a target; it must be there.
    #[track_caller]
    pub fn get(&mut self, target: &str) -> Value {
        let request = Request::get(target).header("Authorization", self.token.as_deref().unwrap_or_default());
        let reply = self.send(&request).expect("the server answers");
        assert_eq!(reply.status, 200, "{target}: {}", reply.json());
        reply.json()
    }

    /// Sends a request and reads the answer; `None` when the server hangs up instead.
    pub fn send(&mut self, request: &Request) -> Option<Reply> {
        // The server may answer and hang up before it has read all of a huge request.
        let _ = self.stream.get_mut().write_all(&request.bytes());
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        let length = reply.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        reply.body = vec![0; if request.method == "HEAD" { 0 } else { length }];
        self.stream.read_exact(&mut reply.body).ok()?;
        Some(reply)
    }
}

/// Sends bytes as they are, and gives the connection, which goes on, and the status of what comes back.
#[track_caller]
pub fn send_raw(address: &str, bytes: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    (stream, String::from_utf8_lossy(&head[9..]).into_owned())
}
