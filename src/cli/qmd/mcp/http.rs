//! `qmd mcp --http`: over HTTP, in the foreground or in the background.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::QmdAnswers;
use crate::cli::exit;
use crate::cli::exit::Outcome;
use crate::cli::qmd::index::background;
use crate::cli::terminal::{remark, say};
use crate::serve::api::{ConnectionLimits, OpenService, serve as serve_http, without_token};
use crate::serve::qmd::IndexPaths;

/// Maximum time for the one in the background to be there, or to end.
const WITHIN: Duration = Duration::from_secs(20);

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Maximum time that those who look for the one in the background hold its lock.
const LOOKS_WITHIN: Duration = Duration::from_secs(1);

/// Serves until it is told to stop; in the background it says where it is, and ends when that is taken back.
pub(super) fn serve(
    answers: Arc<QmdAnswers>,
    place: &IndexPaths,
    port: u16,
    background: bool,
) -> anyhow::Result<Outcome> {
    let mark = match background {
        true => match BackgroundMark::take(place)? {
            Some(mark) => Some(mark),
            None => bail!("it runs in the background already; `qmd mcp stop` ends it"),
        },
        false => None,
    };
    exit::after(async move {
        let told = exit::told()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.with_context(|| format!("cannot listen on port {port}; `--port` names another"))?;
        let address = listener.local_addr()?;
        let mark = match mark {
            Some(mark) => {
                let mark = Arc::new(mark);
                let saying = Arc::clone(&mark);
                spawn_blocking(move || saying.say(address)).await??;
                Some(mark)
            }
            None => {
                say!("serving MCP at http://localhost:{}/mcp", address.port())?;
                None
            }
        };
        let find = Arc::clone(&answers);
        let service = OpenService {
            message: Box::new(move |message| answers.answer(message)),
            search: Box::new(move |asked| find.find(asked)),
        };
        let (stop, stopped) = watch::channel(false);
        let ended = async {
            tokio::select! {
                () = told => {}
                () = taken_back(mark.as_deref()) => {}
            }
            let _ = stop.send(true);
        };
        tokio::join!(serve_http(listener, without_token(service), ConnectionLimits::default(), stopped), ended);
        spawn_blocking(move || drop(mark)).await?;
        Ok(true)
    })
}

/// Done when somebody has taken the mark away; never where there is none.
async fn taken_back(mark: Option<&BackgroundMark>) {
    match mark {
        Some(mark) => {
            let is_there = || {
                let file = mark.file.clone();
                spawn_blocking(move || file.exists())
            };
            while is_there().await.unwrap_or(true) {
                tokio::time::sleep(LOOK_AGAIN * 5).await;
            }
        }
        None => std::future::pending().await,
    }
}

/// Starts one in the background, and waits until it serves.
pub(super) fn start(place: &IndexPaths, port: u16) -> anyhow::Result<Outcome> {
    if let Some((pid, port)) = running(place) {
        say!("QMD MCP server is running already: http://localhost:{port}/mcp (PID {pid})")?;
        return Ok(Outcome::Done);
    }
    let mut command = background(File::create(place.folder.join("mcp.log")))?;
    command.arg("qmd");
    match place.project() {
        // It has no name; it is meant by whoever is called there.
        Some(project) => command.current_dir(project).env_remove("QMD_CONFIG_DIR"),
        None => command.args(["--index", &place.name]),
    };
    command.args(["mcp", "--http", "--background", "--port", &port.to_string()]);
    let mut child = command.spawn().context("cannot start it")?;
    let started = Instant::now();
    while started.elapsed() < WITHIN {
        if let Some((pid, port)) = running(place).filter(|(pid, _)| *pid == child.id()) {
            say!("QMD MCP server started: http://localhost:{port}/mcp (PID {pid})")?;
            return Ok(Outcome::Done);
        }
        if child.try_wait()?.is_some() {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    let said = fs::read_to_string(place.folder.join("mcp.log")).unwrap_or_default();
    bail!("it does not start. {}", said.lines().last().unwrap_or_default());
}

/// Ends the one in the background.
pub(super) fn stop(place: &IndexPaths) -> anyhow::Result<Outcome> {
    let Some((pid, _)) = running(place) else {
        remark!("No QMD MCP server is running in the background.");
        return Ok(Outcome::NothingFound);
    };
    let file = BackgroundMark::of(place);
    fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    let started = Instant::now();
    while BackgroundMark::is_held(place) {
        if started.elapsed() > WITHIN {
            bail!("process {pid} does not end");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    say!("Stopped QMD MCP server (PID {pid}).")?;
    Ok(Outcome::Done)
}

/// The process in the background and its port, where one serves.
fn running(place: &IndexPaths) -> Option<(u32, u16)> {
    if !BackgroundMark::is_held(place) {
        return None;
    }
    let text = fs::read_to_string(BackgroundMark::of(place)).ok()?;
    let (pid, port) = text.trim().split_once(' ')?;
    let (pid, port) = (pid.parse().ok()?, port.parse().ok()?);
    TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok().map(|_| (pid, port))
}

/// What says, in the index's folder, which process serves in the background. A lock beside it says whether that one is there still: ids of
/// processes are given again.
struct BackgroundMark {
    file: PathBuf,
    _lock: File,
}

impl BackgroundMark {
    fn of(place: &IndexPaths) -> PathBuf {
        place.folder.join("mcp.pid")
    }

    fn lock_file(place: &IndexPaths) -> std::io::Result<File> {
        File::options().write(true).create(true).truncate(false).open(place.folder.join("mcp.lock"))
    }

    /// Takes the lock; `None` where another has it.
    fn take(place: &IndexPaths) -> anyhow::Result<Option<Self>> {
        let (lock, started) = (Self::lock_file(place)?, Instant::now());
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                // Whoever looks for it has it for a moment.
                Err(TryLockError::WouldBlock) if started.elapsed() < LOOKS_WITHIN => std::thread::sleep(LOOK_AGAIN),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        let file = Self::of(place);
        // It is there from now on: whoever takes it away ends this one.
        crate::base::fs::write_atomically(&file, b"", 0o600)?;
        Ok(Some(Self { file, _lock: lock }))
    }

    fn is_held(place: &IndexPaths) -> bool {
        Self::lock_file(place).is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Says where it listens.
    fn say(&self, address: SocketAddr) -> anyhow::Result<()> {
        let mut file = File::options().write(true).truncate(true).open(&self.file)?;
        writeln!(file, "{} {}", std::process::id(), address.port())?;
        Ok(())
    }
}

impl Drop for BackgroundMark {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.file);
    }
}
