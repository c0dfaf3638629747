//! `vault serve`, and `vault open` for its page

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
#[cfg(feature = "postgres")]
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::backend::{Backend, home};
use super::exit;
use super::terminal::{
    Outcome, count, follow_embeddings, follow_files, is_in_json, printed, remark, say, shell_quoted, stdout,
};
use crate::base::config::{Config, ServerConfig};
use crate::index::sync::{ModelStatus, Shared};
#[cfg(feature = "postgres")]
use crate::serve::api::{ConnectionLimits, QueryServer};
use crate::serve::daemon::{Daemon, DaemonError, Serves};
use crate::serve::server::{Server, ServerSettings};
use crate::serve::wire::percent_encode;
#[cfg(feature = "postgres")]
use crate::{
    base::config::EmbedConfig,
    index::postgres::{Address, Backend as PostgresBackend},
    models,
    serve::daemon::listen,
    serve::mcp::router_of_copies,
};

/// Keep the vault searchable: watch its notes, index changes, and answer over HTTP.
///
/// Runs in the foreground until Ctrl-C or SIGTERM. `vault service install` runs it in the background instead.
#[derive(Debug, Args)]
pub(super) struct ServeCommand {
    /// The address to listen on, instead of `[server] host`.
    #[arg(long)]
    host: Option<String>,
    /// The port, instead of `[server] port`; 0 takes any free one.
    #[arg(long)]
    port: Option<u16>,
    /// A certificate in PEM, for TLS, instead of `[server] tls_cert`. A renewed one counts at once.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its key in PEM, instead of `[server] tls_key`.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen without TLS on an address that other machines can reach, where something in front ends it.
    #[arg(long)]
    allow_remote: bool,
    /// Serve all vaults in this folder, each at `/v/NAME/`, with the settings of its `server.toml`.
    #[arg(long, value_name = "DIR")]
    vaults: Option<PathBuf>,
    /// Serve searches in the vaults whose daemons copy their index to this PostgreSQL server (`[remote]`); several are possible.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "URL", conflicts_with = "vaults")]
    backend: Vec<String>,
    /// The environment variable with the password of the PostgreSQL servers.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "NAME", requires = "backend")]
    backend_password_env: Option<String>,
    /// The certificate of the authority that signed theirs, in PEM, if it is your own.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "FILE", requires = "backend")]
    backend_ca: Option<PathBuf>,
    /// Another name of this server in the addresses of requests, as behind a proxy; several are possible.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "NAME", requires = "backend")]
    allowed_host: Vec<String>,
    /// How long ago a vault's daemon may have been heard of; then only its owner gets anything of it.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "SECONDS", default_value_t = 600, requires = "backend")]
    max_age: u64,
}

/// Maximum time that one which is told to stop while it starts is waited for to have begun.
const STARTS_WITHIN: Duration = Duration::from_secs(1);

impl ServeCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        if let Some(folder) = &self.vaults {
            return self.serve_vaults(folder);
        }
        #[cfg(feature = "postgres")]
        if !self.backend.is_empty() {
            return self.serve_backends();
        }
        let home = home(vault)?;
        let mut config = Config::load(home.root())?;
        self.over(&mut config.server);
        let (root, token) = (home.root().to_owned(), home.owner_token_file());
        exit::after(async {
            // Before anyone can know that it runs: who is told to stop in that moment closes the stores as well.
            let mut stop = std::pin::pin!(exit::told()?);
            let mut starting = spawn_blocking(move || {
                let serves = Serves::Network { allow_remote: self.allow_remote };
                Daemon::start_when_free(&home, &config, &serves)
            });
            let daemon = tokio::select! {
                daemon = &mut starting => daemon??,
                () = &mut stop => {
                    // What has begun is ended in order, if the disk lets it.
                    return match tokio::time::timeout(STARTS_WITHIN, starting).await {
                        Ok(daemon) => Ok(daemon??.run(std::future::ready(())).await),
                        Err(_) => Ok(false),
                    };
                }
            };
            say!("serving {}", root.display());
            let token = token.strip_prefix(&root).unwrap_or(&token).display();
            if let Some(address) = daemon.address() {
                say!("    at {address}   (token in {token})");
            }
            say!("    try: vault search --vault {} \"something you wrote\"", shell_quoted(&root));
            printed()?;
            // Not the vault: the stores are closed when the daemon lets go of it.
            let shared = Arc::clone(&daemon.app.shared);
            std::thread::spawn(move || show_progress(&shared));
            anyhow::Ok(daemon.run(stop).await)
        })
    }

    /// Puts what the command says in the place of what the configuration does.
    fn over(&self, config: &mut ServerConfig) {
        let &Self { ref host, port, ref tls_cert, ref tls_key, .. } = self;
        host.iter().for_each(|host| config.host.clone_from(host));
        port.iter().for_each(|port| config.port = *port);
        tls_cert.iter().for_each(|cert| config.tls_cert.clone_from(cert));
        tls_key.iter().for_each(|key| config.tls_key.clone_from(key));
    }

    /// Serves what is on PostgreSQL servers, with the bundled model.
    #[cfg(feature = "postgres")]
    fn serve_backends(&self) -> anyhow::Result<Outcome> {
        let password = self.backend_password_env.as_ref().map(|name| {
            std::env::var(name).map_err(|_| anyhow::anyhow!("the environment variable `{name}` is not set"))
        });
        let password = password.transpose()?;
        let address = |url: &String| Address::new(url, password.as_deref(), self.backend_ca.as_deref());
        let backends =
            self.backend.iter().map(|url| address(url).map(PostgresBackend::new)).collect::<Result<_, _>>()?;
        let mut config = ServerConfig { allowed_hosts: self.allowed_host.clone(), ..ServerConfig::default() };
        self.over(&mut config);
        let (allow_remote, max_age) = (self.allow_remote, Duration::from_secs(self.max_age));
        exit::after(async {
            let stop = std::pin::pin!(exit::told()?);
            let model = models::open(&EmbedConfig::default(), Path::new("/"));
            let server = QueryServer::new(backends, model, max_age);
            let router = Arc::clone(&server).router(config.hosts(), router_of_copies(server));
            let (door, address) = spawn_blocking(move || listen(&config, allow_remote)).await??;
            say!("serving {} at {}://{address}", count(self.backend.len(), "PostgreSQL server"), door.scheme());
            printed()?;
            let (stopping, stopped) = watch::channel(false);
            let stop = async {
                stop.await;
                let _ = stopping.send(true);
            };
            tokio::join!(door.serve(router, ConnectionLimits::default(), stopped), stop);
            anyhow::Ok(true)
        })
    }

    fn serve_vaults(&self, folder: &Path) -> anyhow::Result<Outcome> {
        let mut settings = ServerSettings::load(folder)?;
        self.over(&mut settings.server);
        let (folder, allow_remote) = (folder.to_owned(), self.allow_remote);
        exit::after(async {
            let stop = std::pin::pin!(exit::told()?);
            let starting = spawn_blocking(move || {
                let server = Server::start(&folder, settings, allow_remote)?;
                let names = server.names()?;
                Ok::<_, DaemonError>((server, names))
            });
            let (server, names) = starting.await??;
            say!("serving {} at {}", count(names.len(), "vault"), server.address());
            for name in names.iter().take(SHOWN_VAULTS) {
                say!("    {}/v/{name}/", server.address());
            }
            if names.len() > SHOWN_VAULTS {
                say!("    … and {} more", names.len() - SHOWN_VAULTS);
            }
            printed()?;
            anyhow::Ok(server.run(stop).await)
        })
    }
}

/// Vaults that are named when a server starts.
const SHOWN_VAULTS: usize = 20;

/// Shows the first indexing: notes, then embeddings. Ends when the indexer does.
fn show_progress(shared: &Shared) {
    let read = follow_files(shared);
    if let Some(failure) = read.failure {
        return remark!("vault: {failure}");
    }
    if !read.caught_up {
        return;
    }
    let notes = shared.snapshot().map_or(0, |snapshot| snapshot.files().len());
    let its = if notes == 1 { "its" } else { "their" };
    say!("{} can be found by {its} words", count(notes, "note"));
    // A daemon whose output is closed is none that failed.
    let _ = printed();
    let done = follow_embeddings(shared, Duration::MAX);
    if !done.is_complete() {
        return;
    }
    match done.model {
        ModelStatus::Failed(reason) => remark!("vault: search works by keyword only: {reason}"),
        ModelStatus::Ready { trouble: Some(trouble), .. } => {
            remark!("vault: {its} meaning cannot be searched yet; vault keeps trying to load the model: {trouble}");
        }
        ModelStatus::Ready { .. } => {
            say!("and by {its} meaning");
            let _ = printed();
        }
        ModelStatus::Off | ModelStatus::Loading => {}
    }
}

/// Open the page of the vault, "My memory", in your browser.
///
/// The address holds a code that opens the page once, within a minute. The browser then stays signed in until the page was not
/// used for 30 days.
#[derive(Debug, Args)]
pub(super) struct OpenCommand {
    /// The path of a note to show.
    note: Option<String>,
    /// Print the address instead of opening it.
    #[arg(long)]
    print: bool,
}

/// Whoever opens a browser has said within that time when it cannot.
const OPENING: Duration = Duration::from_secs(2);

impl OpenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let running = home.daemon().zip(Backend::daemon_of(&home)?);
        let Some((daemon, mut client)) = running else {
            let root = shell_quoted(home.root());
            bail!(
                "no daemon serves {root}, and the page needs one. Start it: `vault serve --vault {root}`, or in \
                 the background: `vault service install --vault {root}`"
            );
        };
        let Ok(address) = daemon.address.parse::<SocketAddr>() else {
            bail!(
                "process {} serves this vault only to agents, without the page. `vault serve` serves both",
                daemon.pid
            );
        };
        let given: Value = client.post("/page/code", &())?;
        let code = given["code"].as_str().unwrap_or_default();
        let note = self.note.map_or_else(String::new, |note| format!("&note={}", percent_encode(&note)));
        let place = format!("{}://{}", daemon.scheme, reachable(address));
        let url = format!("{place}{}/#code={code}{note}", daemon.path);
        let mut out = stdout();
        let opened = !self.print && open(&url);
        if is_in_json() {
            out.json(&json!({ "address": url, "opened": opened }));
        } else if !opened {
            writeln!(out, "{url}");
            if !self.print && out.is_terminal() {
                remark!("vault: no browser could be started; open this address within a minute");
            }
        } else {
            writeln!(out, "opened {place} in your browser");
        }
        Ok(Outcome::Done)
    }
}

/// The address at which this machine reaches a listener: one that listens everywhere is reached on the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Opens an address in the person's browser; says no when it cannot.
fn open(url: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // Without a display xdg-open would start a browser for terminals in the middle of this one.
    let display = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().any(|name| std::env::var_os(name).is_some());
    if !display && !cfg!(target_os = "macos") {
        return false;
    }
    let mut command = Command::new(opener);
    let silent = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = silent.spawn() else { return false };
    let deadline = Instant::now() + OPENING;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
    // Some openers are the browser itself, and stay.
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_listens_everywhere_is_reached_here() {
        for (listens, reached) in [
            ("127.0.0.1:7833", "127.0.0.1:7833"),
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:2", "[::1]:2"),
            ("192.168.1.2:3", "192.168.1.2:3"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()).to_string(), reached);
        }
    }
}
