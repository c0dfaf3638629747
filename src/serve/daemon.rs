//! Wires a vault to its listeners: start, serve, drain, stop.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::access::rules::{OwnerToken, Token};
use crate::base::config::{Config, ConfigError, ServerConfig};
use crate::base::fs::{Context, FsError};
use crate::memory::capture::CaptureTokens;
use crate::serve::api::{ConnectionLimits, Door, Guard, Live, OAuth, guarded, local, make_page_ready, serve};
use crate::serve::app::{App, StartError};
use crate::serve::mcp;
use crate::vault::disk::{DaemonInfo, Home, HomeError};

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DaemonError {
    /// The vault cannot be opened, or another daemon serves it.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The configuration is not right.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The vault could not be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Others than this machine could reach the address, and nobody said that they may.
    #[error(
        "{0} can be reached from other machines, over plain HTTP. Give it a certificate (`--tls-cert`, `--tls-key`), or use \
         `--allow-remote` where something in front ends TLS, as docs/security.md says"
    )]
    Remote(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}. Use `--port 0` for any free port")]
    Listen(String, #[source] io::Error),
    /// The certificate or its key cannot be used.
    #[error("cannot use the certificate: {0}")]
    Tls(String),
}

/// A daemon that listens and indexes.
pub(crate) struct Daemon {
    /// What it serves.
    pub(crate) app: Arc<App>,
    tcp: Option<(Door, SocketAddr)>,
    guard: Guard,
    live: Live,
    stopping: watch::Sender<bool>,
    socket: PathBuf,
    unix: UnixListener,
    announced: Announced,
}

/// Where a daemon serves.
#[derive(Debug, Clone)]
pub(crate) enum Serves {
    /// Over TCP too, and to other machines where that is allowed.
    Network { allow_remote: bool },
    /// Through a server of several vaults, which listens there and passes on what begins with this path.
    Behind { address: SocketAddr, scheme: &'static str, path: String },
    /// On its Unix socket alone: for a program that is to be reached by nobody but the person's own.
    Locally,
}

/// What the daemon says of itself in the vault.
#[derive(Clone)]
struct Announced {
    daemon: DaemonInfo,
    token: Token,
}

/// A daemon that stands in for this one lets go of the vault within that time.
const GIVES_WAY_WITHIN: Duration = Duration::from_secs(10);

/// One that was told to stop, or another command, does so within that time, mostly.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Two seconds after it was told to stop the process is gone; its end takes a moment too.
const STOPS_WITHIN: Duration = Duration::from_millis(1800);

/// Interval at which what was announced is looked for: whoever deletes and restores a vault deletes it too.
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(1);

impl Daemon {
    /// Takes the vault's lock, starts to index and listens on TCP and on the vault's Unix socket. It blocks for as long as the disk
    /// does: for a thread that may, of the runtime in which it is to run.
    ///
    /// # Errors
    /// When another daemon serves the vault, the address cannot be listened on, or it can be reached from other machines and not
    /// `allow_remote`.
    ///
    /// # Panics
    /// On a thread that runs tasks, and outside of a runtime.
    pub(crate) fn start(home: Home, config: Config, serves: Serves) -> Result<Self, DaemonError> {
        let lock = home.lock()?;
        let token = home.owner_token()?;
        let tcp = match serves {
            Serves::Network { allow_remote } => Some(listen(&config.server, allow_remote)?),
            Serves::Behind { .. } | Serves::Locally => None,
        };
        let socket = home.socket();
        let unix = listen_locally(&socket)?;
        let (known, scheme, path) = match serves {
            Serves::Behind { address, scheme, path } => (Some(address), scheme, path),
            _ => {
                let scheme = tcp.as_ref().map_or("http", |(door, _)| door.scheme());
                (tcp.as_ref().map(|(_, address)| *address), scheme, String::new())
            }
        };
        let address = known.map_or_else(|| socket.display().to_string(), |address| address.to_string());
        let daemon = DaemonInfo {
            pid: std::process::id(),
            address,
            scheme: scheme.into(),
            path: path.clone(),
            socket: socket.clone(),
        };
        home.announce(&lock, &daemon)?;
        let announced = Announced { daemon, token: token.clone() };
        let hosts = config.server.hosts();
        let app = Arc::new(App::start(home, config, lock, true)?);
        let captures = Arc::new(CaptureTokens::new(&app.state));
        // It listens at one address all its life.
        known.iter().for_each(|address| _ = app.address.set(*address));
        let agents = Arc::clone(&app.agents);
        let guard = Guard::new(vec![Arc::new(OwnerToken::new(&token)), captures, agents], hosts);
        let (stopping, stopped) = watch::channel(false);
        let live = Live::new(&app, stopped).and_remote(OAuth::of(&app, &path));
        Ok(Self { app, tcp, guard, live, stopping, socket, unix, announced })
    }

    /// Takes the lock as [`start`](Self::start) does. A `vault mcp` that stands in for a daemon gives way, and one that is ending is waited
    /// for.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    pub(crate) fn start_when_free(home: &Home, config: &Config, serves: &Serves) -> Result<Self, DaemonError> {
        let (started, mut asked) = (Instant::now(), false);
        loop {
            match Self::start(home.clone(), config.clone(), serves.clone()) {
                // One that is giving way no longer says who it is.
                Err(DaemonError::Home(HomeError::Held(other)))
                    if (asked || other.as_ref().is_some_and(DaemonInfo::is_stopgap))
                        && started.elapsed() < GIVES_WAY_WITHIN =>
                {
                    asked = true;
                    home.want_lock()?;
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(DaemonError::Home(HomeError::Held(_))) if started.elapsed() < ENDS_WITHIN => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                result => return result,
            }
        }
    }

    /// Where it listens over TCP, if it does: `http://127.0.0.1:7833`.
    pub(crate) fn address(&self) -> Option<String> {
        self.tcp.as_ref().map(|(door, address)| format!("{}://{address}", door.scheme()))
    }

    /// All that is served over TCP.
    pub(crate) fn router(&self) -> Router {
        guarded(Arc::clone(&self.app), &self.live, self.guard.clone(), mcp::router(Arc::clone(&self.app)))
    }

    /// Serves until `stop` is done, then lets requests under way finish and closes the stores.
    /// Says whether they could be: in the middle of something long they are left as they are, which loses nothing.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let router = self.tcp.is_some().then(|| self.router());
        let Self { app, tcp, guard: _, live, stopping, socket, unix, announced } = self;
        let stopped = stopping.subscribe();
        let outside = async {
            if let (Some((listener, _)), Some(router)) = (tcp, router) {
                drop(tokio::task::spawn_blocking(make_page_ready));
                listener.serve(router, ConnectionLimits::default(), stopped.clone()).await;
            }
        };
        let inside = serve_locally(Arc::clone(&app), &live, announced, unix, stopped.clone());
        let stop = async {
            stop.await;
            let _ = stopping.send(true);
            tokio::time::Instant::now()
        };
        let (.., stopped_at) = tokio::join!(outside, inside, stop);
        // Closing the stores blocks; requests that outlived the drain no longer matter. What is being opened, checked or built
        // just now may take longer than anyone waits: then it ends like a killed process, which loses nothing.
        let closing = tokio::task::spawn_blocking(move || {
            app.home.withdraw();
            #[allow(clippy::disallowed_methods, reason = "on a thread that may block")]
            let _ = std::fs::remove_file(socket);
            drop(app);
        });
        let closed = tokio::time::timeout_at(stopped_at + STOPS_WITHIN, closing).await.is_ok();
        if !closed {
            tracing::warn!("the index could not be closed in time; the next start checks it");
        }
        closed
    }
}

/// Done when something is so, which is looked at now and then on a thread that may block, or when that look fails.
pub(crate) async fn until(every: Duration, is_so: impl Fn() -> bool + Clone + Send + 'static) {
    loop {
        tokio::time::sleep(every).await;
        if tokio::task::spawn_blocking(is_so.clone()).await.unwrap_or(true) {
            return;
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
pub(crate) fn listen(config: &ServerConfig, allow_remote: bool) -> Result<(Door, SocketAddr), DaemonError> {
    let (host, port) = (&config.host, config.port);
    let is_by_tls = !config.tls_cert.as_os_str().is_empty();
    let refused = |error| DaemonError::Listen(format!("{host}:{port}"), error);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = (bare, port).to_socket_addrs().map_err(refused)?.next();
    let address = address.ok_or_else(|| refused(io::Error::other("the name has no address")))?;
    if !address.ip().is_loopback() {
        if !allow_remote && !is_by_tls {
            return Err(DaemonError::Remote(address));
        }
        tracing::warn!("listening on {address}: whoever reaches this address and has a token can read the vault");
    }
    let listener = Handle::current().block_on(TcpListener::bind(address)).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((Door::new(listener, config).map_err(DaemonError::Tls)?, address))
}

/// Serves on the Unix socket, and makes it anew, with all that the daemon says of itself, when the vault was restored
/// without them.
async fn serve_locally(
    app: Arc<App>,
    live: &Live,
    announced: Announced,
    unix: UnixListener,
    mut stopped: watch::Receiver<bool>,
) {
    let mut listener = unix;
    loop {
        let (close, closed) = watch::channel(false);
        let router = local(Arc::clone(&app), live, mcp::router(Arc::clone(&app)));
        let serving = serve(listener, router, ConnectionLimits::default(), closed);
        let lost = async {
            let found = loop {
                tokio::select! {
                    _ = stopped.wait_for(|stopped| *stopped) => break None,
                    () = tokio::time::sleep(ANNOUNCE_INTERVAL) => {}
                }
                let (app, announced) = (Arc::clone(&app), announced.clone());
                // Files may be on a disk that does not answer.
                let again = tokio::task::spawn_blocking(move || announce_again(&app, &announced));
                if let Ok(Some(listener)) = again.await {
                    break Some(listener);
                }
            };
            let _ = close.send(true);
            found
        };
        match tokio::join!(serving, lost).1 {
            Some(found) => listener = found,
            None => return,
        }
    }
}

/// Says again what is no longer said, where the vault is and is ours, and listens on the socket where that is gone too.
#[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
fn announce_again(app: &App, announced: &Announced) -> Option<UnixListener> {
    let (home, daemon) = (&app.home, &announced.daemon);
    if !app.lock.is_held() {
        return None;
    }
    if home.daemon().as_ref() != Some(daemon)
        && let Err(error) = home.announce(&app.lock, daemon).and_then(|()| home.restore_owner_token(&announced.token))
    {
        tracing::warn!("the command line cannot find this daemon: {error}");
    }
    (!daemon.socket.exists()).then(|| listen_locally(&daemon.socket).ok()).flatten()
}

/// Listens on the Unix socket; only the person may open it. Whoever has the lock may replace what a killed daemon left.
fn listen_locally(socket: &Path) -> Result<UnixListener, FsError> {
    // It is made where nobody else can come, and moved to its place when it is private: the mask of new files is the whole
    // process's, and would be that of notes which are written at this moment.
    let private = socket.with_extension("d");
    let _ = std::fs::remove_dir_all(&private);
    std::fs::DirBuilder::new().mode(0o700).create(&private).on("make", &private)?;
    let made = private.join("s");
    let listener = UnixListener::bind(&made).on("listen on", &made)?;
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o600)).on("protect", &made)?;
    std::fs::rename(&made, socket).on("listen on", socket)?;
    let _ = std::fs::remove_dir(&private);
    Ok(listener)
}
