//! Many vaults in one process, and one that fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::host::HostStatus;
use super::{HostAnswer, HostOptions, HostRequest, VaultHost, ask_host};

const PATIENCE: Duration = Duration::from_secs(60);

/// A host in a runtime of its own. The vault `bad` panics; the vault `idle` is asked by nobody once that is said.
struct TestHost {
    folder: tempfile::TempDir,
    runtime: Runtime,
    is_idle: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<bool>>,
}

fn options(folder: &Path, is_idle: &Arc<AtomicBool>, lingers: Duration) -> HostOptions {
    let is_idle = Arc::clone(is_idle);
    HostOptions {
        folder: folder.join("host"),
        is_unused: Arc::new(move |vault| {
            assert!(!vault.ends_with("bad"), "this one fails");
            vault.ends_with("idle") && is_idle.load(Ordering::SeqCst)
        }),
        lingers,
    }
}

impl TestHost {
    fn new(lingers: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["good", "bad", "idle"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("memory.toml"), "[embed]\nmodel = \"none\"\n").unwrap();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let is_idle = Arc::<AtomicBool>::default();
        let host = runtime.block_on(VaultHost::start(options(folder.path(), &is_idle, lingers)));
        let host = host.unwrap().expect("no other listens");
        let (stop, stopped) = oneshot::channel::<()>();
        let running = runtime.spawn(host.run(async move {
            let _ = stopped.await;
        }));
        Self { folder, runtime, is_idle, stop: Some(stop), running: Some(running) }
    }

    fn vault(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn ask(&self, request: &HostRequest) -> Option<HostAnswer> {
        ask_host(&HostOptions::socket(&self.folder.path().join("host")), request, PATIENCE).unwrap()
    }

    fn open(&self, name: &str) -> HostAnswer {
        self.ask(&HostRequest::Open(self.vault(name))).unwrap()
    }

    fn status(&self) -> HostStatus {
        match self.ask(&HostRequest::Status) {
            Some(HostAnswer::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..6000 {
            if is_so() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("waited for {what}");
    }
}

#[test]
fn a_vault_that_fails_is_closed_alone() {
    let mut host = TestHost::new(PATIENCE);
    assert_eq!(host.open("good"), HostAnswer::Opened);
    let HostAnswer::Refused(why) = host.open("bad") else { panic!("it fails") };
    assert!(why.contains("failed unexpectedly"), "{why}");
    let HostAnswer::Refused(why) = host.open("none") else { panic!("there is none") };
    assert!(why.contains("none"), "{why}");
    assert_eq!(host.open("idle"), HostAnswer::Opened);
    assert_eq!(host.status().vaults, [host.vault("good"), host.vault("idle")]);
    // A second host finds the first, and one vault more than once is one.
    let second = options(host.folder.path(), &host.is_idle, PATIENCE);
    assert!(host.runtime.block_on(VaultHost::start(second)).unwrap().is_none());
    assert_eq!(host.open("good"), HostAnswer::Opened);
    assert_eq!(host.status().vaults.len(), 2);
    host.is_idle.store(true, Ordering::SeqCst);
    host.wait("the idle one", || host.status().vaults == [host.vault("good")]);
    drop(host.stop.take());
    let running = host.running.take().unwrap();
    host.runtime.block_on(running).unwrap();
    assert_eq!(host.ask(&HostRequest::Status), None, "nobody listens any more");
    assert!(!host.vault("good").join(".vault/daemon.json").exists());
}

#[test]
fn it_ends_when_it_has_had_no_vault_for_a_while() {
    let mut host = TestHost::new(Duration::from_millis(1));
    let running = host.running.take().unwrap();
    assert!(host.runtime.block_on(running).unwrap());
    assert_eq!(host.ask(&HostRequest::Status), None);
}

#[test]
fn what_is_no_request_is_passed_over() {
    use std::io::{Read, Write};

    let host = TestHost::new(PATIENCE);
    for nonsense in ["\n", "{}\n", "[[[[\n", "\"stop\"\n", &"x".repeat(100_000)] {
        let socket = HostOptions::socket(&host.folder.path().join("host"));
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        // It may have hung up before all of it was written.
        let _ = stream.write_all(nonsense.as_bytes()).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{nonsense:.20}");
    }
    assert!(host.status().vaults.is_empty());
}
