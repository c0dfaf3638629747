//! The real binary: one command at a time, or the daemon.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::{Connection, Reply, Request};
use super::{Folder, PATIENCE, column, contents, eventually, set_time, until};

/// The binary with a home of the tests' own. The model is unpacked once for all tests and runs.
pub fn vault_command() -> Command {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_vault"));
    // For the tests of what names a variable.
    command.env("VAULT_TEST_PASSWORD", "se cret");
    command.env_remove("VAULT_DIR").env_remove("VAULT_LOG").env("HOME", scratch.join("home")).stdin(Stdio::null());
    for folder in ["cache", "data", "state", "config"] {
        command.env(format!("XDG_{}_HOME", folder.to_uppercase()), scratch.join(folder));
    }
    command
}

/// Runs git as a person would, and gives what it says.
#[track_caller]
pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = git_command(folder, args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text.trim_end().to_owned()
}

pub fn git_command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    for (name, value) in vault_command().get_envs() {
        value.map(|value| command.env(name, value));
    }
    command
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=Maya", "-c", "user.email=maya@example.org", "-c", "gc.auto=0"])
        .args(args);
    command
}

/// The page of an agent that may read what is the person's.
pub const READS: &str = "---\ncan_read_user_memory: true\n---\n";

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran =
            Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!ran.stderr.contains("panicked"), "{command:?}: {}", ran.stderr);
        ran
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{} {}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr))
    }
}

/// A vault for the real binary, and its daemon while it runs.
pub struct Daemon {
    folder: TempDir,
    running: Option<Running>,
}

struct Running {
    child: Child,
    address: String,
    token: String,
    output: [Output; 2],
}

struct Output {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// How long a daemon is waited for: until it has done nothing for a while, or works for very long. On a machine that compiles
/// besides, an import of thousands of notes by a binary that is not optimised takes minutes by the clock.
pub struct Patience {
    began: Instant,
    cpu: Duration,
    idle_since: Instant,
}

impl Patience {
    /// From now on.
    pub fn with(daemon: &Daemon) -> Self {
        Self { began: Instant::now(), cpu: daemon.cpu(), idle_since: Instant::now() }
    }

    /// Whether it has an end.
    pub fn is_over(&mut self, daemon: &Daemon) -> bool {
        // Some of it goes into its answers to how far it is.
        const LITTLE: Duration = Duration::from_millis(500);
        let cpu = daemon.cpu();
        if cpu > self.cpu + LITTLE {
            (self.cpu, self.idle_since) = (cpu, Instant::now());
        }
        self.idle_since.elapsed() > PATIENCE || self.began.elapsed() > 5 * PATIENCE
    }
}

/// How a daemon ended.
pub struct Stopped {
    pub status: ExitStatus,
    pub after: Duration,
}

impl Folder for Daemon {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }
}

impl Daemon {
    /// A vault without notes, keyword search alone. Nothing runs yet.
    pub fn vault() -> Self {
        Self::without_model("")
    }

    /// The same, with more that is set.
    pub fn without_model(config: &str) -> Self {
        Self::with_config(&format!("[embed]\nmodel = \"none\"\n{config}"))
    }

    pub fn with_config(config: &str) -> Self {
        Self::below(&std::env::temp_dir(), config)
    }

    /// A vault in a new folder below `parent`.
    pub fn below(parent: &Path, config: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("vault-").tempdir_in(parent).unwrap();
        fs::write(folder.path().join("memory.toml"), config).unwrap();
        Self { folder, running: None }
    }

    /// With the agent Ada, who may read what is the person's.
    pub fn with_ada(self) -> Self {
        self.with("agents/ada/agent.md", READS)
    }

    pub fn started(mut self) -> Self {
        self.start();
        self
    }

    pub fn settled(self) -> Self {
        let vault = self.started();
        vault.settle();
        vault
    }

    /// Runs git in the vault.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.path(""), args)
    }

    /// A command on this vault.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = vault_command();
        command.args(args).arg("--vault").arg(self.folder.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Starts the daemon, and waits until every note can be found by its words.
    pub fn start(&mut self) -> &mut Self {
        assert!(self.launch(None), "the daemon was killed");
        self.at_work("the daemon to catch up", || (self.status()["caught_up"] == true).then_some(()));
        self
    }

    pub fn restart(&mut self) -> &mut Self {
        self.terminate();
        self.start()
    }

    /// Starts the daemon, and waits for nothing. It may be told to die at a point: `words-committed:2`.
    pub fn spawn(&mut self, crash_at: Option<&str>) {
        let mut command = self.command(&["serve", "--port", "0"]);
        if let Some(point) = crash_at {
            command.env("VAULT_CRASH_AT", point);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = [collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap())];
        self.running = Some(Running { child, address: String::new(), token: String::new(), output });
    }

    /// Starts the daemon and waits until it listens; says no when it was killed before.
    pub fn launch(&mut self, crash_at: Option<&str>) -> bool {
        self.spawn(crash_at);
        let (pid, info) = (self.pid(), self.path(".vault/daemon.json"));
        let address = eventually("the daemon's address", || {
            if self.was_killed() {
                return Some(None);
            }
            let info: Value = serde_json::from_slice(&fs::read(&info).ok()?).ok()?;
            (info["pid"] == pid).then(|| Some(info["address"].as_str().unwrap().to_owned()))
        });
        let Some(address) = address else { return false };
        let token = fs::read_to_string(self.path(".vault/owner-token")).unwrap().trim().to_owned();
        let running = self.running.as_mut().expect("it was not killed");
        (running.address, running.token) = (address, token);
        true
    }

    /// Whether the daemon has died of a `SIGKILL`. It may end in no other way.
    #[track_caller]
    pub fn was_killed(&mut self) -> bool {
        let Some(running) = &mut self.running else { return true };
        let Some(status) = running.child.try_wait().unwrap() else { return false };
        running.check();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(9), "the daemon ended with {status}: {}", running.output[1].text.lock().unwrap());
        self.running = None;
        true
    }

    /// Waits until all is read and embedded that can be; gives the status.
    pub fn settle(&self) -> Value {
        self.notice_saves();
        self.at_work("the daemon to come to rest", || {
            let status = self.status();
            let done = ["pending_files", "pending_embeddings"].iter().all(|count| status[*count] == 0);
            let loading = status["model"]["state"] == "loading";
            (done && !loading && status["caught_up"] == true && status["phase"] == "idle").then_some(status)
        })
    }

    /// Has the daemon hear of what was saved before, as far as it can be waited for: until then it is at rest.
    fn notice_saves(&self) {
        const TRIES: usize = 20;
        for _ in 0..TRIES {
            let reply = self.get("/api/user-memory/search?mode=keyword&fresh=true&q=tag:nothing-is-asked-of-a-model");
            if reply.status != 200 || reply.json()["fresh"] != false {
                break;
            }
        }
    }

    /// Waits for what the daemon works for, as long as it does.
    #[track_caller]
    fn at_work<T>(&self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut patience = Patience::with(self);
        loop {
            if let Some(ready) = ready() {
                return ready;
            }
            assert!(!patience.is_over(self), "waited for {what}; status: {}", self.status());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("the daemon was started")
    }

    pub fn address(&self) -> &str {
        &self.running().address
    }

    pub fn token(&self) -> &str {
        &self.running().token
    }

    pub fn pid(&self) -> u32 {
        self.running().child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.running().output[1].text.lock().unwrap().clone()
    }

    /// What it has said on standard output so far.
    pub fn said(&self) -> String {
        self.running().output[0].text.lock().unwrap().clone()
    }

    /// A connection on which every request has the token.
    pub fn connection(&self) -> Connection {
        Connection::open(self.address()).with_token(self.token())
    }

    /// Sends a request as it is, on a connection of its own.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Reply {
        Connection::open(self.address()).send(request).expect("the server answers")
    }

    /// Sends a request with the token.
    #[track_caller]
    pub fn ask(&self, request: Request) -> Reply {
        self.send(&request.bearer(self.token()))
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Reply {
        self.ask(Request::get(target))
    }

    #[track_caller]
    pub fn post(&self, target: &str, body: &Value) -> Reply {
        self.ask(Request::send("POST", target, body))
    }

    /// A vault that is made of an archive of this one with its state, and the folder that it is in.
    #[track_caller]
    pub fn copy_by_archive(&self) -> (TempDir, PathBuf) {
        let elsewhere = tempfile::tempdir().unwrap();
        let (archive, copy) = (elsewhere.path().join("all.tar.zst"), elsewhere.path().join("copy"));
        self.run(&["export", "--with-state", archive.to_str().unwrap()]).ok();
        Ran::of(vault_command().arg("import").args([&archive, &copy])).ok();
        (elsewhere, copy)
    }

    /// Sends a request with another's token.
    #[track_caller]
    pub fn get_as(&self, token: &str, target: &str) -> Reply {
        self.send(&Request::get(target).bearer(token))
    }

    #[track_caller]
    pub fn post_as(&self, token: &str, target: &str, body: &Value) -> Reply {
        self.send(&Request::send("POST", target, body).bearer(token))
    }

    /// Asks over MCP, which answers with what is structured.
    #[track_caller]
    pub fn rpc(&self, method: &str, params: Value) -> Reply {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::send("POST", "/mcp?answers=structured", &request);
        self.ask(request.header("Accept", "application/json, text/event-stream"))
    }

    /// What is at an address for whom a token is of: the status, and what is said.
    pub fn told(&self, token: &str, target: &str) -> (u16, String) {
        let reply = self.get_as(token, target);
        (reply.status, String::from_utf8(reply.body).unwrap())
    }

    /// A new token for an agent.
    #[track_caller]
    pub fn token_of(&self, agent: &str) -> String {
        self.post(&format!("/api/agents/{agent}/rotate"), &json!({})).ok()["token"].as_str().unwrap().to_owned()
    }

    pub fn status(&self) -> Value {
        self.get("/status").json()
    }

    /// The paths that a search by words finds.
    #[track_caller]
    pub fn find(&self, word: &str) -> Vec<String> {
        self.search(&format!("mode=keyword&q={}", encode(word)))
    }

    /// The paths that a search finds.
    #[track_caller]
    pub fn search(&self, query: &str) -> Vec<String> {
        column(&self.get(&format!("/api/user-memory/search?{query}")).ok()["results"], "path")
    }

    /// Waits until a search by words finds exactly these paths.
    #[track_caller]
    pub fn finds(&self, word: &str, paths: &[&str]) -> &Self {
        self.at_work(&format!("{word} to be found in {paths:?}"), || {
            let mut found = self.find(word);
            found.sort();
            (found == paths).then_some(self)
        })
    }

    /// The time that the daemon has kept a processor busy. On a machine that is busy with other things it tells more than
    /// the clock. Zero where the system does not say.
    pub fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        // The fields after the program's name, which may hold spaces; times are in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
        Duration::from_millis(10 * (ticks(11) + ticks(12)))
    }

    /// Writes a note and says how long it took until a search found it, by the clock and in work of the daemon.
    #[track_caller]
    pub fn found_after(&self, path: &str, word: &str) -> (Duration, Duration) {
        let (started, before) = (Instant::now(), self.cpu());
        fs::write(self.path(path), format!("# Probe\n\n{word}\n")).unwrap();
        self.finds(word, &[path]);
        (started.elapsed(), self.cpu() - before)
    }

    /// Starts the daemon, which dies at a point by itself.
    #[track_caller]
    pub fn dies_at(&mut self, point: &str) {
        self.spawn(Some(point));
        until("the daemon's end", || self.was_killed());
    }

    /// Sends a request of which it dies before it answers.
    #[track_caller]
    pub fn dies_of(&mut self, request: Request) {
        let request = request.bearer(self.token());
        assert!(Connection::open(self.address()).send(&request).is_none(), "it answered");
        until("the daemon's end", || self.was_killed());
    }

    /// Dies at a point of forgetting something for good, and is started again.
    #[track_caller]
    pub fn dies_forgetting(&mut self, point: &str, what: &[&str]) {
        assert!(self.launch(Some(point)), "{point}");
        // While the index is not open yet, nothing is purged.
        self.settle();
        let died = self.run(&[&["forget"], what, &["--purge", "--yes"]].concat());
        assert_ne!(died.code, 0, "{point}: {} {}", died.stdout, died.stderr);
        until(&format!("the end, as forgetting said: {}", died.stderr), || self.was_killed());
        self.start();
    }

    /// Sends a signal to the daemon.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.running().child), signal).unwrap();
    }

    /// Sends a signal to the daemon and waits for its end.
    pub fn stop_with(&mut self, signal: rustix::process::Signal) -> Stopped {
        let started = Instant::now();
        self.signal(signal);
        let mut running = self.running.take().expect("the daemon was started");
        let status = eventually("the daemon's end", || running.child.try_wait().unwrap());
        let after = started.elapsed();
        running.check();
        Stopped { status, after }
    }

    pub fn terminate(&mut self) -> Stopped {
        self.stop_with(rustix::process::Signal::TERM)
    }

    pub fn kill(&mut self) -> Stopped {
        self.stop_with(rustix::process::Signal::KILL)
    }

    /// Kills the daemon if it still runs.
    pub fn ensure_killed(&mut self) {
        if !self.was_killed() {
            self.kill();
        }
    }
}

impl Running {
    /// No test may make the daemon panic.
    fn check(&mut self) {
        for output in &mut self.output {
            output.reader.take().map(JoinHandle::join);
        }
        let stderr = self.output[1].text.lock().unwrap();
        // As Rust says it; tantivy says of a writer whose disk failed that it "encountered an error or panicked".
        assert!(std::thread::panicking() || !stderr.contains("panicked at"), "{stderr}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.child.kill();
            let _ = running.child.wait();
            if std::thread::panicking() {
                eprintln!("the daemon said: {}", running.output[1].text.lock().unwrap());
            }
            running.check();
        }
    }
}

fn collect(mut from: impl Read + Send + 'static) -> Output {
    let text = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&text);
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            into.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    });
    Output { text, reader: Some(reader) }
}

/// Percent-encodes all but letters and digits.
pub fn encode(text: &str) -> String {
    let encoded =
        |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encoded).collect()
}

/// Ada is told the same, byte for byte, where there are hidden notes and where there are none; gives the vault with them, and her token.
#[track_caller]
pub fn assert_hidden(
    config: &str,
    open: &[(&str, &str)],
    hidden: &[(&str, &str)],
    targets: &[String],
) -> (Daemon, String) {
    let (with, without) = (seen_by_ada(config, &[open, hidden].concat()), seen_by_ada(config, open));
    for target in targets {
        let [told, expected] = [&with, &without].map(|(vault, token)| vault.told(token, target));
        assert_eq!(told, expected, "{target}");
    }
    with
}

/// A daemon with these notes and no others, all changed in the same moment, and the token of the agent Ada, who may read what is the person's.
pub fn seen_by_ada(config: &str, notes: &[(&str, &str)]) -> (Daemon, String) {
    let mut vault = Daemon::with_config(config);
    vault.write("agents/ada/agent.md", READS);
    for (path, text) in notes {
        vault.write(path, text);
    }
    let made = UNIX_EPOCH + Duration::from_secs(1_760_000_000);
    contents(&vault.path("")).iter().for_each(|(path, _)| set_time(path, made));
    vault.start();
    let token = vault.token_of("ada");
    (vault, token)
}
