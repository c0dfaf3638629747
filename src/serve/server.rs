//! A server of several vaults: each a folder with its own index, lock and files, at `/v/NAME/`. A vault is opened by the first request that it
//! lets in, and closed when nobody has asked it for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use hyper::body::{Frame, SizeHint};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::access::openid::{OpenId, is_issuer};
use crate::access::people::{FOLDER, People};
use crate::base::config::{Config, ConfigError, FILE_NAME, ServerConfig};
use crate::base::fs::{Context, FsError};
use crate::serve::api::{
    self, ConnectionLimits, Door, HOME, OAuthOfServer, PeopleDoor, is_vault_name, make_page_ready,
};
use crate::serve::daemon::{Daemon, DaemonError, Serves, listen};
use crate::vault::disk::{Home, HomeError};

/// The settings of a server, in the folder of its vaults.
const SETTINGS: &str = "server.toml";
/// What the addresses of a vault begin with, before its name.
const PREFIX: &str = "/v/";
/// Whoever is let in nowhere is told so after this time, whether there is a vault of that name or not.
const REFUSED_AFTER: Duration = Duration::from_millis(50);
/// The first request waits so long at most for the notes of a vault to be read.
const READ_WITHIN: Duration = Duration::from_secs(5);
/// Interval at which it is looked for vaults that nobody asks.
const TIDY_INTERVAL: Duration = Duration::from_secs(1);

/// `server.toml`. Every key has a default.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSettings {
    /// As in `memory.toml`; the vaults' own `[server]` does not count here.
    pub(crate) server: ServerConfig,
    /// Vaults that may be open at a time.
    open_vaults: usize,
    /// A vault that nobody has asked for so long is closed, in seconds.
    idle_seconds: u64,
    /// While the process takes more memory than this, in MB, vaults that nobody asks are closed. 0 is no limit.
    memory_mb: u64,
    /// Vaults in other folders.
    vaults: Vec<ElsewhereVault>,
    /// Who else may say who is signed in.
    pub(crate) sign_in: SignInSettings,
}

/// A proxy or an OpenID provider that signs people in.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SignInSettings {
    /// The header in which it says who: the name of a page in `people/`, or the `proxy_name` on it.
    proxy_header: String,
    /// The addresses from which that counts.
    proxies: Vec<IpAddr>,
    /// The issuer of an OpenID provider, as it writes it itself.
    openid_issuer: String,
    /// What the provider calls this server.
    openid_client_id: String,
    /// The name of the environment variable with the secret that the provider has given this server, if it has.
    openid_secret_env: String,
}

impl SignInSettings {
    /// The header and the addresses, where both are said.
    fn proxy(&self) -> Option<(HeaderName, Vec<IpAddr>)> {
        let header = self.proxy_header.parse().ok().filter(|_| !self.proxies.is_empty())?;
        Some((header, self.proxies.clone()))
    }

    /// The issuer of the OpenID provider, if there is one.
    pub(crate) fn issuer(&self) -> Option<&str> {
        Some(&*self.openid_issuer).filter(|issuer| !issuer.is_empty())
    }

    /// What is wrong, as a sentence that names the keys.
    fn violation(&self, server: &ServerConfig) -> Option<String> {
        let Self { proxy_header, proxies, openid_issuer, openid_client_id, openid_secret_env } = self;
        let is_half =
            proxy_header.is_empty() != proxies.is_empty() || (!proxy_header.is_empty() && self.proxy().is_none());
        let is_anywhere = server.host.parse().is_ok_and(|host: IpAddr| host.is_unspecified());
        if is_half {
            Some("`[sign_in]` takes `proxy_header`, the name of a header, and `proxies`, its addresses".into())
        } else if [openid_client_id, openid_secret_env].iter().any(|key| !key.is_empty()) && openid_issuer.is_empty()
            || openid_client_id.is_empty() && !openid_issuer.is_empty()
        {
            Some("`[sign_in]` takes `openid_issuer`, the address of a provider, and `openid_client_id`, what it calls this server".into())
        } else if !openid_issuer.is_empty() && !is_issuer(openid_issuer) {
            Some(format!(
                "`sign_in.openid_issuer` is {openid_issuer:?}; it has to be an address such as https://accounts.example.com, as the provider writes it"
            ))
        } else if !openid_issuer.is_empty() && is_anywhere && server.public().is_none() {
            Some(format!(
                "`sign_in.openid_issuer` needs `server.public_url`, as {} is no address to come back to",
                server.host
            ))
        } else {
            None
        }
    }

    /// The OpenID provider, which sends browsers back to the server at this address.
    fn openid(&self, server: &str) -> Result<Option<OpenId>, String> {
        let Some(issuer) = self.issuer() else { return Ok(None) };
        let name = &self.openid_secret_env;
        let secret = Some(name).filter(|name| !name.is_empty()).map(std::env::var);
        let secret = secret.transpose().ok().filter(|secret| secret.as_ref().is_none_or(|secret| !secret.is_empty()));
        let secret = secret.ok_or_else(|| {
            format!("`sign_in.openid_secret_env` names the environment variable {name:?}, which is not set")
        })?;
        let openid = OpenId::new(issuer, &self.openid_client_id, secret, format!("{server}{HOME}"));
        openid.map(Some).map_err(|why| format!("`sign_in.openid_issuer` {why}"))
    }
}

/// A vault in another folder than the server's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ElsewhereVault {
    name: String,
    path: PathBuf,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            server: ServerConfig::default(),
            open_vaults: 64,
            idle_seconds: 600,
            memory_mb: 0,
            vaults: Vec::new(),
            sign_in: SignInSettings::default(),
        }
    }
}

impl ServerSettings {
    /// Reads `server.toml` of a folder; defaults where there is none.
    ///
    /// # Errors
    /// When it cannot be read, has an unknown key, or names a vault as no address can.
    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    pub(crate) fn load(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join(SETTINGS);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.on("read", &path)?,
        };
        let settings: Self = toml::from_str(&text)
            .map_err(|source| ConfigError::Syntax { path: path.clone(), source: source.into() })?;
        let wrong = settings
            .vaults
            .iter()
            .find(|vault| !is_vault_name(&vault.name))
            .map(|vault| format!("the vault `{}` needs a name of small letters, digits, `-` and `_`", vault.name));
        let wrong = wrong.or_else(|| settings.server.violation());
        let none = (settings.open_vaults == 0).then(|| "`open_vaults` has to be 1 at least".to_owned());
        let half = || settings.sign_in.violation(&settings.server);
        wrong.or(none).or_else(half).map_or(Ok(settings), |message| Err(ConfigError::Range { path, message }))
    }

    /// The folder of a vault of the server in `folder`, if there is one of that name now. It asks the disk.
    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    pub(crate) fn root_of(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        if !is_vault_name(name) {
            return None;
        }
        let elsewhere = self.vaults.iter().find(|vault| vault.name == name);
        let root = elsewhere.map_or_else(|| folder.join(name), |vault| folder.join(&vault.path));
        root.join(FILE_NAME).is_file().then_some(root)
    }

    /// Whether a server has been in a folder: it has settings or people there.
    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    pub(crate) fn are_in(folder: &Path) -> bool {
        folder.join(SETTINGS).is_file() || folder.join(FOLDER).is_dir()
    }

    /// Where the server is reached: from outside where that is said, else on this machine.
    pub(crate) fn place(&self) -> String {
        let config = &self.server;
        let scheme = if config.tls_cert.as_os_str().is_empty() { "http" } else { "https" };
        config.public().unwrap_or_else(|| format!("{scheme}://{}:{}", config.host, config.port))
    }

    /// The name of the vault in a folder, if it is one of the server in `folder`; both without symbolic links.
    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    pub(crate) fn name_of(&self, folder: &Path, root: &Path) -> Option<String> {
        let is_it = |name: &String| {
            self.root_of(folder, name)
                .is_some_and(|known| std::fs::canonicalize(known).is_ok_and(|known| known == root))
        };
        let here = root.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        self.vaults.iter().map(|vault| vault.name.clone()).chain(here).find(is_it)
    }
}

/// A server that listens.
pub(crate) struct Server {
    vaults: Arc<Vaults>,
    listener: Door,
}

/// The vaults of a server, by their names: those that were asked for.
struct Vaults {
    folder: PathBuf,
    settings: ServerSettings,
    people: PeopleDoor,
    oauth: Option<OAuthOfServer>,
    address: SocketAddr,
    scheme: &'static str,
    places: Arc<Semaphore>,
    known: Mutex<BTreeMap<String, Arc<Slot>>>,
}

/// A vault that is open or not. Who opens or closes it holds the lock.
struct Slot {
    name: String,
    root: PathBuf,
    open: tokio::sync::Mutex<Option<Arc<OpenVault>>>,
}

/// An open vault. Each answer that is under way holds it.
struct OpenVault {
    router: Router,
    stop: watch::Sender<bool>,
    ended: JoinHandle<bool>,
    used: Mutex<Instant>,
    _place: OwnedSemaphorePermit,
}

/// Why a vault does not answer.
enum Unavailable {
    /// As many vaults are open as may be, and all of them are asked.
    Full,
    /// It cannot be opened.
    Failed(DaemonError),
    /// Opening it panicked.
    Panicked,
}

impl Server {
    /// Listens, and opens no vault yet. It blocks: for a thread that may, of the runtime in which it is to run.
    ///
    /// # Errors
    /// When there is no such folder, the address cannot be listened on, or it can be reached from other machines and not `allow_remote`.
    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    pub(crate) fn start(folder: &Path, settings: ServerSettings, allow_remote: bool) -> Result<Self, DaemonError> {
        let folder = std::fs::canonicalize(folder).on("open", folder)?;
        let (listener, address) = listen(&settings.server, allow_remote)?;
        let at = settings.server.public().unwrap_or_else(|| format!("{}://{address}", listener.scheme()));
        let openid = settings.sign_in.openid(&at);
        let openid = openid.map_err(|message| ConfigError::Range { path: folder.join(SETTINGS), message })?;
        let vaults = Vaults {
            people: PeopleDoor::new(People::of(&folder), settings.sign_in.proxy(), openid),
            folder,
            address,
            scheme: listener.scheme(),
            places: Arc::new(Semaphore::new(settings.open_vaults)),
            known: Mutex::default(),
            oauth: OAuthOfServer::of(&settings.server),
            settings,
        };
        Ok(Self { vaults: Arc::new(vaults), listener })
    }

    /// Where it listens: `http://127.0.0.1:7833`.
    pub(crate) fn address(&self) -> String {
        format!("{}://{}", self.vaults.scheme, self.vaults.address)
    }

    /// The names of the vaults that it has now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn names(&self) -> Result<Vec<String>, FsError> {
        self.vaults.names()
    }

    /// Serves until `stop` is done, then lets requests under way finish and closes all vaults. Says whether all could be closed.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let Self { vaults, listener } = self;
        drop(spawn_blocking(make_page_ready));
        let known = Arc::clone(&vaults);
        drop(spawn_blocking(move || known.make_tokens()));
        let (stopping, stopped) = watch::channel(false);
        let hosts = vaults.settings.server.hosts();
        let router =
            api::several(hosts, vaults.people.clone(), Router::new().fallback(pass).with_state(Arc::clone(&vaults)));
        let serving = listener.serve(router, ConnectionLimits::default(), stopped);
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = tidy(&vaults) => {}
            }
            // Streams of events end with their vault.
            vaults.all().iter().for_each(|slot| slot.tell_to_stop());
            let _ = stopping.send(true);
        };
        tokio::join!(serving, stop);
        let closing = vaults.all().into_iter().map(|slot| async move {
            match slot.open.lock().await.take() {
                Some(vault) => close(vault).await,
                None => true,
            }
        });
        futures_util::future::join_all(closing).await.into_iter().all(|closed| closed)
    }
}

impl Vaults {
    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Arc<Slot>> {
        self.known().values().cloned().collect()
    }

    #[allow(clippy::disallowed_methods, reason = "called on a thread that may block")]
    fn names(&self) -> Result<Vec<String>, FsError> {
        let entries = std::fs::read_dir(&self.folder).on("read", &self.folder)?;
        let here = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let all: BTreeSet<String> = here.chain(self.settings.vaults.iter().map(|vault| vault.name.clone())).collect();
        Ok(all.into_iter().filter(|name| self.slot(name).is_some()).collect())
    }

    /// What a request asks of how remote assistants sign in to a vault: the same for one that is not there.
    fn metadata(&self, request: &Request) -> Option<Response> {
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        self.oauth.as_ref().filter(|_| reads)?.metadata(request.uri().path())
    }

    /// Whether a vault, which may be closed, knows the token of a request for a path within it.
    async fn knows(self: &Arc<Self>, slot: &Slot, path: &str, headers: &HeaderMap) -> bool {
        let (all, root, path, asked) = (Arc::clone(self), slot.root.clone(), path.to_owned(), path.to_owned());
        let address = format!("{PREFIX}{}", slot.name);
        let remote = move || all.oauth.as_ref()?.remote(&address, root, &path);
        let remote = spawn_blocking(remote).await.ok().flatten();
        api::knows(slot.root.clone(), &asked, headers, remote).await
    }

    /// Has every vault have its owner's token, by which it can be opened.
    fn make_tokens(&self) {
        for name in self.names().unwrap_or_default() {
            let Some(slot) = self.slot(&name) else { continue };
            if let Err(error) = Home::open(&slot.root).and_then(|home| Ok(home.owner_token()?)) {
                tracing::warn!("the vault `{name}` cannot be opened: {error}");
            }
        }
    }

    /// The vault of this name; `None` where there is none, now. It asks the disk.
    fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        let root = self.settings.root_of(&self.folder, name)?;
        let new = || Arc::new(Slot { name: name.to_owned(), root, open: tokio::sync::Mutex::default() });
        Some(Arc::clone(self.known().entry(name.to_owned()).or_insert_with(new)))
    }

    /// The vault, opened if it is not.
    async fn open(&self, slot: &Slot) -> Result<Arc<OpenVault>, Unavailable> {
        let mut open = slot.open.lock().await;
        if let Some(vault) = &*open {
            vault.touch();
            return Ok(Arc::clone(vault));
        }
        let place = loop {
            match Arc::clone(&self.places).try_acquire_owned() {
                Ok(place) => break place,
                Err(_) if self.close_one(Duration::ZERO).await => {}
                Err(_) => return Err(Unavailable::Full),
            }
        };
        let (root, server) = (slot.root.clone(), self.settings.server.clone());
        let people = (Arc::clone(self.people.people()), slot.name.clone());
        let serves =
            Serves::Behind { address: self.address, scheme: self.scheme, path: format!("{PREFIX}{}", slot.name) };
        let starting = spawn_blocking(move || {
            let home = Home::open(&root)?;
            let mut config = Config::load(home.root())?;
            config.server = server;
            let daemon = Daemon::start_when_free(&home, &config, &serves)?;
            _ = daemon.app.people.set(people);
            // Whoever opened it has it answer.
            daemon.app.shared.wait(READ_WITHIN, |progress| progress.caught_up || progress.failure.is_some());
            Ok(daemon)
        });
        let daemon = starting.await.map_err(|_| Unavailable::Panicked)?.map_err(Unavailable::Failed)?;
        let (stop, mut stopped) = watch::channel(false);
        let router = daemon.router();
        let ended = tokio::spawn(daemon.run(async move { _ = stopped.wait_for(|stop| *stop).await }));
        let vault = OpenVault { router, stop, ended, used: Mutex::new(Instant::now()), _place: place };
        Ok(Arc::clone(open.insert(Arc::new(vault))))
    }

    /// Closes the vault that was asked least lately, if it has no request and was not asked for so long. Says whether there was one.
    async fn close_one(&self, idle: Duration) -> bool {
        let slots = self.all();
        let free = slots.iter().filter_map(|slot| {
            let open = slot.open.try_lock().ok()?;
            let vault = open.as_ref().filter(|vault| Arc::strong_count(vault) == 1)?;
            let unused = vault.used().elapsed();
            (unused >= idle).then_some((unused, open))
        });
        let Some((_, mut open)) = free.max_by_key(|(unused, _)| *unused) else { return false };
        // Held until it is closed: whoever asks for it waits, and opens it anew.
        let vault = open.take();
        futures_util::future::OptionFuture::from(vault.map(close)).await;
        true
    }
}

impl Slot {
    /// Whether it is open, and neither being opened nor closed.
    fn is_open(&self) -> bool {
        self.open.try_lock().is_ok_and(|open| open.is_some())
    }

    /// Ends what it streams, where it is open and nobody opens or closes it.
    fn tell_to_stop(&self) {
        if let Ok(open) = self.open.try_lock() {
            open.iter().for_each(|vault| _ = vault.stop.send(true));
        }
    }
}

impl OpenVault {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Closes a vault; false where that took too long, which loses nothing.
async fn close(vault: Arc<OpenVault>) -> bool {
    let _ = vault.stop.send(true);
    match Arc::into_inner(vault) {
        Some(vault) => vault.ended.await.unwrap_or(false),
        None => false,
    }
}

/// Closes vaults that nobody asks, without end.
async fn tidy(vaults: &Vaults) {
    let settings = &vaults.settings;
    let idle = Duration::from_secs(settings.idle_seconds);
    loop {
        tokio::time::sleep(TIDY_INTERVAL).await;
        while vaults.close_one(idle).await {}
        if settings.memory_mb > 0 && resident_mb().is_some_and(|mb| mb > settings.memory_mb) {
            vaults.close_one(Duration::ZERO).await;
        }
    }
}

/// What the process has in memory, in MB, where the system tells.
fn resident_mb() -> Option<u64> {
    #[allow(clippy::disallowed_methods, reason = "the kernel answers from memory")]
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()? / 1024)
}

/// Hands a request to the vault that its path names. Where it lets nobody in, or there is no such vault, the answer is the same.
async fn pass(State(vaults): State<Arc<Vaults>>, mut request: Request) -> Response {
    let refuse_at = tokio::time::Instant::now() + REFUSED_AFTER;
    if let Some(answer) = vaults.metadata(&request) {
        return answer;
    }
    let Some((name, path)) = split(request.uri()) else { return api::no_vault() };
    if path.is_empty() {
        return Redirect::permanent(&format!("{PREFIX}{name}/")).into_response();
    }
    let query = request.uri().query().map_or(path.clone(), |query| format!("{path}?{query}"));
    let Ok(within) = query.parse::<PathAndQuery>() else { return api::no_vault() };
    if let Some(answer) = api::for_all_vaults(&path, request.method(), request.headers(), vaults.oauth.is_some()).await
    {
        return answer;
    }
    *request.uri_mut() = Uri::from(within);
    let (of, known) = (name.clone(), Arc::clone(&vaults));
    let slot = spawn_blocking(move || known.slot(&of)).await.ok().flatten();
    let person = match vaults.people.person(request.headers(), request.extensions()).await {
        Ok(person) => person.and_then(|person| person.principal(&name)),
        Err(error) => return error.into_response(),
    };
    api::name_vault(request.headers_mut(), &name);
    let address = format!("{PREFIX}{name}");
    let mut request = match &vaults.oauth {
        None => request,
        Some(oauth) => match oauth.answer(&address, slot.as_ref().map(|slot| slot.root.clone()), request).await {
            Err(request) => request,
            Ok(answer) => {
                tokio::time::sleep_until(refuse_at).await;
                return answer;
            }
        },
    };
    let challenge = api::challenge(vaults.oauth.as_ref(), &address, &path, request.headers());
    let asks_first = api::asks_first(&path, request.method());
    let slot = match slot {
        // Who asks to be signed out is signed in to the vault alone.
        Some(slot) if person.is_some() && !asks_first => {
            person.map(|person| request.extensions_mut().insert(person));
            slot
        }
        Some(slot) if (slot.is_open() && !asks_first) || vaults.knows(&slot, &path, request.headers()).await => slot,
        _ => {
            let answer = api::nobody(&path, request, challenge.as_deref()).await;
            tokio::time::sleep_until(refuse_at).await;
            return answer;
        }
    };
    // Whoever hangs up meanwhile leaves no vault half open.
    let opening = tokio::spawn(async move { vaults.open(&slot).await });
    let vault = match opening.await.unwrap_or(Err(Unavailable::Panicked)) {
        Ok(vault) => vault,
        Err(why) => return why.into_response(&name),
    };
    let headers = request.headers().clone();
    let mut answer = api::call(vault.router.clone(), request).await;
    if answer.status() == StatusCode::UNAUTHORIZED {
        // To a method that an address does not have a router names those that it has.
        answer = api::refused(&path, &headers, challenge.as_deref()).unwrap_or(answer);
        tokio::time::sleep_until(refuse_at).await;
    }
    answer.map(|body| Body::new(HeldBody { body, _vault: vault }))
}

/// The vault's name and the path within it; `None` where the path names no vault.
fn split(uri: &Uri) -> Option<(String, String)> {
    let within = uri.path().strip_prefix(PREFIX)?;
    let (name, rest) = within.split_at(within.find('/').unwrap_or(within.len()));
    Some((name.to_owned(), rest.to_owned()))
}

impl Unavailable {
    /// The answer to who has a token of the vault.
    fn into_response(self, name: &str) -> Response {
        match self {
            Self::Full => api::unavailable(
                "too many vaults are in use",
                "try again in a moment, or raise `open_vaults` in server.toml",
            ),
            Self::Failed(error) => {
                tracing::warn!("the vault `{name}` cannot be opened: {error}");
                match error {
                    DaemonError::Home(HomeError::Held(_)) => {
                        api::unavailable("another program is using this vault", "try again in a moment")
                    }
                    _ => api::unavailable("this vault cannot be opened", "the server's log says why"),
                }
            }
            Self::Panicked => api::unavailable("this vault cannot be opened", "the server's log says why"),
        }
    }
}

/// The body of an answer, which keeps its vault open.
struct HeldBody {
    body: Body,
    _vault: Arc<OpenVault>,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_vault() {
        let split = |path: &str| split(&path.parse().unwrap());
        let some = |name: &str, rest: &str| Some((name.to_owned(), rest.to_owned()));
        assert_eq!(split("/v/maya/api/status?a=b"), some("maya", "/api/status"));
        assert_eq!((split("/v/maya"), split("/v/maya/")), (some("maya", ""), some("maya", "/")));
        assert_eq!((split("/"), split("/api/v/maya")), (None, None));
        assert!(["maya", "a-b_2"].iter().all(|name| is_vault_name(name)));
        assert!(["", "..", "a.b", "Maya", "a/b", "a%2f", "é", "people"].iter().all(|name| !is_vault_name(name)));
        assert!(!is_vault_name(&"a".repeat(65)));
    }
}
