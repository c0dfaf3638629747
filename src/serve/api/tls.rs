//! TLS: a listener whose connections have shaken hands, with a certificate that may be replaced while it listens.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::serve::{ConnectionLimits, serve};
use crate::base::config::ServerConfig as ServerSection;

/// Connections that shake hands, or wait to be served, at a time; more wait outside.
const HANDSHAKES: usize = 256;
/// A connection that has not shaken hands by then is closed.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Interval at which the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// A certificate and its key, in files.
#[derive(Debug, Clone)]
pub(crate) struct TlsFiles {
    /// The certificate and those between it and its root, in PEM.
    pub(crate) cert: PathBuf,
    /// Its key, in PEM.
    pub(crate) key: PathBuf,
}

impl TlsFiles {
    /// What they say. It may block.
    ///
    /// # Errors
    /// Which file cannot be read, or that the key is another certificate's.
    fn load(&self) -> Result<ServerConfig, String> {
        let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let certs = CertificateDer::pem_file_iter(&self.cert).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certs = certs.map_err(|error| wrong(&self.cert, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&self.key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        config.with_no_client_auth().with_single_cert(certs, key).map_err(|error| wrong(&self.cert, &error))
    }

    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    fn changed(&self) -> [Option<SystemTime>; 2] {
        [&self.cert, &self.key].map(|file| file.metadata().and_then(|meta| meta.modified()).ok())
    }
}

/// A listener over TLS.
pub(crate) struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Listens where `tcp` does. It blocks, to read the files: for a thread that may, in a runtime.
    ///
    /// # Errors
    /// When the certificate or its key cannot be used.
    pub(crate) fn new(tcp: TcpListener, files: TlsFiles) -> Result<Self, String> {
        let address = tcp.local_addr().map_err(|error| error.to_string())?;
        let changed = files.changed();
        let config = Arc::new(Mutex::new(Arc::new(files.load()?)));
        let (sender, ready) = mpsc::channel(1);
        tokio::runtime::Handle::current().spawn(async move {
            tokio::select! {
                () = accept(tcp, Arc::clone(&config), sender.clone()) => {}
                () = follow(files, changed, config) => {}
                // Nobody listens any more.
                () = sender.closed() => {}
            }
        });
        Ok(Self { ready, address })
    }
}

/// Shakes hands with whoever connects, without end.
async fn accept(
    mut tcp: TcpListener,
    config: Arc<Mutex<Arc<ServerConfig>>>,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let places = Arc::new(Semaphore::new(HANDSHAKES));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        // What fails for a moment is tried again there.
        let (stream, address) = Listener::accept(&mut tcp).await;
        let config = Arc::clone(&config.lock().unwrap_or_else(PoisonError::into_inner));
        let ready = ready.clone();
        tokio::spawn(async move {
            let shaken = tokio::time::timeout(HANDSHAKE_WITHIN, TlsAcceptor::from(config).accept(stream)).await;
            // Whoever speaks no TLS, or does not trust the certificate, is no failure of ours.
            if let Ok(Ok(stream)) = shaken {
                let _ = ready.send((stream, address)).await;
            }
            drop(place);
        });
    }
}

/// Takes a certificate that was renewed, without end. One that cannot be used leaves the one before.
async fn follow(files: TlsFiles, mut known: [Option<SystemTime>; 2], config: Arc<Mutex<Arc<ServerConfig>>>) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let (look, before) = (files.clone(), known);
        let looked = spawn_blocking(move || {
            let now = look.changed();
            (now != before).then(|| (now, look.load()))
        });
        match looked.await {
            Ok(Some((now, Ok(new)))) => {
                known = now;
                *config.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                tracing::info!("the certificate {} was renewed", files.cert.display());
            }
            // Its other file may be about to come.
            Ok(Some((now, Err(error)))) => {
                known = now;
                tracing::warn!("the certificate was changed and cannot be used: {error}");
            }
            Ok(None) | Err(_) => {}
        }
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(shaken) => shaken,
            // It has ended with its runtime.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

/// A listener, with TLS or without.
pub(crate) enum Door {
    /// Without.
    Plain(TcpListener),
    /// With.
    Tls(TlsListener),
}

impl Door {
    /// Listens where `tcp` does, with these files of `[server]`. It may block.
    ///
    /// # Errors
    /// When one of them is missing, or they cannot be used.
    pub(crate) fn new(tcp: TcpListener, config: &ServerSection) -> Result<Self, String> {
        let (cert, key) = (config.tls_cert.clone(), config.tls_key.clone());
        match (cert.as_os_str().is_empty(), key.as_os_str().is_empty()) {
            (true, true) => Ok(Self::Plain(tcp)),
            (false, false) => TlsListener::new(tcp, TlsFiles { cert, key }).map(Self::Tls),
            _ => Err("TLS takes a certificate and its key: `tls_cert` and `tls_key`".into()),
        }
    }

    /// What addresses begin with.
    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            Self::Plain(_) => "http",
            Self::Tls(_) => "https",
        }
    }

    /// Serves as [`serve`] does.
    pub(crate) async fn serve(self, router: Router, limits: ConnectionLimits, stop: watch::Receiver<bool>) {
        match self {
            Self::Plain(listener) => serve(listener, router, limits, stop).await,
            Self::Tls(listener) => serve(listener, router, limits, stop).await,
        }
    }
}
