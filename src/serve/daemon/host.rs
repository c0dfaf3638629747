//! Many vaults in one process: each is opened when somebody wants it, on the socket that it would have alone, and closed by
//! itself. Models are loaded once for all of them. It is asked on a socket of its own: a line of JSON each way.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::future::Future;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream as BlockingStream;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};

use super::{Daemon, DaemonError, Serves, listen_locally};
use crate::base::config::Config;
use crate::base::fs::{Context, FsError, create_private_dir};
use crate::models::model_loads;
use crate::vault::disk::{Home, HomeError};

/// Between two looks whether something is to be closed.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Between two tries to take a lock.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Maximum time for whoever has a lock to let go of it.
const LETS_GO_WITHIN: Duration = Duration::from_secs(20);

/// Timeout of reading from a connection, and of writing to it.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// How the vaults of a process are kept.
pub(crate) struct HostOptions {
    /// Where its socket and its lock are; it is made private where it is not there.
    pub folder: PathBuf,
    /// Whether the open vault of a folder is to be closed: nobody has asked it for a while, or its folder is gone.
    pub is_unused: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    /// How long it goes on without a vault, so that one which is opened anew finds it.
    pub lingers: Duration,
}

impl HostOptions {
    /// The socket of the process whose files are in a folder.
    pub(crate) fn socket(folder: &Path) -> PathBuf {
        folder.join("host.sock")
    }
}

/// The one process of many vaults.
pub(crate) struct VaultHost {
    options: HostOptions,
    /// Held as long as it lives, by the process that listens on the socket.
    _lock: File,
    listener: UnixListener,
}

impl VaultHost {
    /// Listens, if no other process does; `None` where one does.
    ///
    /// # Errors
    /// When the socket or the lock cannot be made.
    pub(crate) async fn start(options: HostOptions) -> Result<Option<Self>, FsError> {
        blocking(move || {
            let Some((lock, listener)) = only_one(&options.folder)? else { return Ok(None) };
            Ok(Some(Self { options, _lock: lock, listener }))
        })
        .await
    }

    /// Answers until `stop` is done, or it has had no vault for a while. Says whether the stores of all vaults could be closed.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let Self { options, _lock, listener } = self;
        let socket = HostOptions::socket(&options.folder);
        let (stopping, stopped) = watch::channel(false);
        let vaults =
            HostedVaults { open: BTreeMap::new(), tasks: JoinSet::new(), empty_since: Instant::now(), ending: false };
        let house = Arc::new(House { options, vaults: Mutex::new(vaults), stopped });
        let (mut stop, mut look) = (std::pin::pin!(stop), tokio::time::interval(LOOK_AGAIN));
        let mut asked = JoinSet::new();
        loop {
            tokio::select! {
                () = &mut stop => break,
                Ok((stream, _)) = listener.accept() => {
                    let house = Arc::clone(&house);
                    asked.spawn(async move { house.answer(stream).await });
                }
                _ = look.tick() => {
                    while asked.try_join_next().is_some() {}
                    let place = socket.clone();
                    // Without its socket nobody finds it any more, and another begins.
                    #[allow(clippy::disallowed_methods, reason = "on a thread that may block")]
                    if !blocking(move || place.exists()).await || house.ends_if_empty() {
                        break;
                    }
                }
            }
        }
        house.vaults().ending = true;
        drop(listener);
        #[allow(clippy::disallowed_methods, reason = "on a thread that may block")]
        let _ = blocking(move || std::fs::remove_file(socket)).await;
        let _ = stopping.send(true);
        let mut tasks = std::mem::take(&mut house.vaults().tasks);
        let mut all_closed = true;
        while let Some(closed) = tasks.join_next().await {
            all_closed &= closed.unwrap_or(false);
        }
        // Whoever waits is told.
        while asked.join_next().await.is_some() {}
        all_closed
    }
}

/// Runs what waits for a disk, and panics where that does.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    spawn_blocking(work).await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Takes the lock of the one process and listens on its socket; `None` where another does.
fn only_one(folder: &Path) -> Result<Option<(File, UnixListener)>, FsError> {
    create_private_dir(folder)?;
    let (path, socket) = (folder.join("host.lock"), HostOptions::socket(folder));
    let lock = File::options().write(true).create(true).truncate(false).open(&path).on("open", &path)?;
    let started = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(error).on("lock", &path)?,
            // One that listens answers; one that is about to end lets go of the lock in a moment.
            Err(TryLockError::WouldBlock) => {
                let answer = ask_host(&socket, &HostRequest::Status, IO_TIMEOUT).on("ask", &socket)?;
                let is_there = answer.is_some_and(|answer| answer != HostAnswer::Ending);
                if is_there || started.elapsed() > LETS_GO_WITHIN {
                    return Ok(None);
                }
                #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
                std::thread::sleep(TRY_AGAIN);
            }
        }
    }
    Ok(Some((lock, listen_locally(&socket)?)))
}

/// What all connections share.
struct House {
    options: HostOptions,
    vaults: Mutex<HostedVaults>,
    stopped: watch::Receiver<bool>,
}

struct HostedVaults {
    /// What whoever wants each of them is answered; nothing yet while it is being opened or closed.
    open: BTreeMap<PathBuf, watch::Receiver<Option<HostAnswer>>>,
    /// Each says in the end whether the vault's stores could be closed.
    tasks: JoinSet<bool>,
    empty_since: Instant,
    /// Nothing is opened any more.
    ending: bool,
}

impl House {
    fn vaults(&self) -> MutexGuard<'_, HostedVaults> {
        // No code that can panic runs under this lock.
        self.vaults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that nothing is opened any more, where nothing has been open for a while.
    fn ends_if_empty(&self) -> bool {
        let mut vaults = self.vaults();
        if !vaults.open.is_empty() {
            vaults.empty_since = Instant::now();
        }
        vaults.ending |= vaults.empty_since.elapsed() > self.options.lingers;
        vaults.ending
    }

    async fn answer(self: &Arc<Self>, stream: UnixStream) {
        let read = || {
            let stream = stream.into_std()?;
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(IO_TIMEOUT))?;
            stream.set_write_timeout(Some(IO_TIMEOUT))?;
            let request = read_line(&stream)?;
            std::io::Result::Ok((stream, request))
        };
        let Ok(Ok((stream, Some(request)))) = spawn_blocking(read).await else { return };
        let answer = match request {
            HostRequest::Open(folder) => self.open(folder).await,
            HostRequest::Status => self.status(),
        };
        // Who does not wait for the answer has no use for it.
        let _ = spawn_blocking(move || write_line(&stream, &answer)).await;
    }

    fn status(&self) -> HostAnswer {
        let vaults = self.vaults();
        if vaults.ending {
            return HostAnswer::Ending;
        }
        let vaults = vaults.open.keys().cloned().collect();
        HostAnswer::Status(HostStatus { pid: std::process::id(), vaults, model_loads: model_loads() })
    }

    /// Opens a vault, and waits until it is served. One that is being closed is opened anew.
    async fn open(self: &Arc<Self>, folder: PathBuf) -> HostAnswer {
        loop {
            let mut answer = {
                let mut vaults = self.vaults();
                if vaults.ending {
                    return HostAnswer::Ending;
                }
                match vaults.open.get(&folder) {
                    Some(answer) => answer.clone(),
                    None => {
                        let (tell, answer) = watch::channel(None);
                        vaults.open.insert(folder.clone(), answer.clone());
                        vaults.tasks.spawn(Arc::clone(self).keep(folder.clone(), tell));
                        answer
                    }
                }
            };
            if let Ok(answer) = answer.wait_for(Option::is_some).await
                && let Some(answer) = &*answer
            {
                return answer.clone();
            }
        }
    }

    /// Keeps a vault open until it is to be closed, and says whether its stores could be. Whatever becomes of it, the others go on.
    async fn keep(self: Arc<Self>, folder: PathBuf, tell: watch::Sender<Option<HostAnswer>>) -> bool {
        let ended = AssertUnwindSafe(self.serve(&folder, &tell)).catch_unwind().await;
        self.vaults().open.remove(&folder);
        let failed = ended.is_err();
        let why = match ended {
            Ok(Ok(closed)) => return closed,
            Ok(Err(why)) => why,
            Err(_) => "it failed unexpectedly; please report this".into(),
        };
        tracing::warn!("{} is not open: {why}", folder.display());
        tell.send_replace(Some(HostAnswer::Refused(why)));
        !failed
    }

    /// Serves a vault. Says whether its stores could be closed.
    async fn serve(&self, folder: &Path, tell: &watch::Sender<Option<HostAnswer>>) -> Result<bool, String> {
        let folder = folder.to_owned();
        // Its disk may not answer, and the others are not to wait for it.
        let opened = blocking(move || open(&folder)).await?;
        let Some((home, daemon)) = opened else {
            tell.send_replace(Some(HostAnswer::Opened));
            return Ok(true);
        };
        let mut is_over = self.is_over(&home).await;
        tell.send_replace(Some(HostAnswer::Opened));
        let over = async {
            let mut stopped = self.stopped.clone();
            while !is_over {
                tokio::select! {
                    _ = stopped.wait_for(|stopped| *stopped) => break,
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
                is_over = self.is_over(&home).await;
            }
            tell.send_replace(None);
        };
        Ok(daemon.run(over).await)
    }

    /// Whether an open vault is to be closed.
    async fn is_over(&self, home: &Home) -> bool {
        let (is_unused, home) = (Arc::clone(&self.options.is_unused), home.clone());
        blocking(move || home.is_lock_wanted() || is_unused(home.root())).await
    }
}

/// Opens a vault; `None` where another process serves it already.
fn open(folder: &Path) -> Result<Option<(Home, Daemon)>, String> {
    let started = Instant::now();
    let said = |error: &dyn std::fmt::Display| error.to_string();
    loop {
        let home = Home::open(folder).map_err(|error| said(&error))?;
        let config = Config::load(home.root()).map_err(|error| said(&error))?;
        match Daemon::start(home.clone(), config, Serves::Locally) {
            Ok(daemon) => return Ok(Some((home, daemon))),
            Err(DaemonError::Home(HomeError::Held(Some(daemon))))
                if std::os::unix::net::UnixStream::connect(&daemon.socket).is_ok() =>
            {
                return Ok(None);
            }
            // It is just being closed, or changed.
            Err(DaemonError::Home(HomeError::Held(_))) if started.elapsed() < LETS_GO_WITHIN => {
                #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
                std::thread::sleep(TRY_AGAIN);
            }
            Err(error) => return Err(said(&error)),
        }
    }
}

/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// What it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostRequest {
    /// To serve the vault in a folder, if it does not.
    Open(PathBuf),
    /// What it does.
    Status,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostAnswer {
    /// The vault is served, on the vault's own socket.
    Opened,
    /// It cannot be, for this reason.
    Refused(String),
    /// The process is about to end; another is to be started.
    Ending,
    /// What it does.
    Status(HostStatus),
}

/// What the process of many vaults does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostStatus {
    /// Its id.
    pub pid: u32,
    /// The folders of the vaults that it serves.
    pub vaults: Vec<PathBuf>,
    /// How often it has loaded a model.
    pub model_loads: u64,
}

/// Asks the process that listens on a socket; `None` where none does. The answer is waited for so long.
///
/// # Errors
/// When it does not answer in time, or not as it should.
pub(crate) fn ask_host(
    socket: &Path,
    request: &HostRequest,
    patience: Duration,
) -> std::io::Result<Option<HostAnswer>> {
    let stream = match BlockingStream::connect(socket) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        Err(error) => return Err(error),
    };
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    match write_line(&stream, request).and_then(|()| read_line(&stream)) {
        // It ended in the middle.
        Ok(None) => Ok(Some(HostAnswer::Ending)),
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
            Ok(Some(HostAnswer::Ending))
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(std::io::Error::new(ErrorKind::TimedOut, format!("no answer within {patience:?}")))
        }
        answer => answer,
    }
}

/// Reads what was written; `None` at the end.
///
/// # Errors
/// When it is too long, is no such thing, or does not come in the stream's time.
pub(super) fn read_line<T: DeserializeOwned>(stream: &BlockingStream) -> std::io::Result<Option<T>> {
    let line = serde_json::Deserializer::from_reader(BufReader::new(stream.take(MAX_LINE_BYTES)));
    Ok(line.into_iter().next().transpose()?)
}

/// Writes a line.
///
/// # Errors
/// When it does not go in the stream's time.
pub(super) fn write_line(mut stream: &BlockingStream, said: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    stream.write_all(&line)
}
