//! `vault mcp`, as the programs start it that speak to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::{PATIENCE, eventually};

/// The version of the protocol that the tests speak, unless they are about another.
pub const VERSION: &str = "2025-11-25";

/// What a client says of itself first.
pub fn hello(version: &str, name: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": name, "version": "1" });
    json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client })
}

/// A running `vault mcp`.
pub struct Mcp {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
}

impl Mcp {
    /// Starts it, and shakes hands, as a client that wants structured content.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let mut mcp = Self::spawn(command);
        mcp.shake_hands("test", &json!({ "experimental": { "structuredContent": {} } }));
        mcp
    }

    /// Says who asks, and what it can do.
    #[track_caller]
    pub fn shake_hands(&mut self, name: &str, capabilities: &Value) {
        let answer = self.result("initialize", hello(VERSION, name, capabilities));
        assert_eq!(answer["protocolVersion"], VERSION, "{answer}");
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Starts it, and says nothing yet.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { input: child.stdin.take(), child, lines, asked: 0 }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line as it is. Whoever has ended does not take it.
    pub fn line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        let _ = input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }

    /// The next line that comes. Nothing but messages may come.
    #[track_caller]
    pub fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer comes");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a line and gives what comes back.
    #[track_caller]
    pub fn say(&mut self, line: &str) -> Value {
        self.line(line);
        self.next()
    }

    /// Asks and gives the whole answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        let answer = self.say(&request.to_string());
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer
    }

    /// The result of a request that must succeed.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The result of a tool, which may be a failure that the tool tells of.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// What a tool gives that must succeed.
    #[track_caller]
    pub fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| !text.is_empty()), "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// What a tool says that must fail.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The error of a request that the protocol itself refuses.
    #[track_caller]
    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["error"]["message"].is_string(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// Ends the input, and gives the exit code and what was said on standard error.
    pub fn finish(mut self) -> (i32, String) {
        drop(self.input.take());
        self.ended()
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> (i32, String) {
        let status = eventually("the end of vault mcp", || self.child.try_wait().unwrap());
        let mut said = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut errors, &mut said).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        (status.code().unwrap_or(-1), said)
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
