//! `vault open`

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::backend::home;
use super::client::{Client, PATIENCE};
use super::exit::Outcome;
use super::terminal::{remark, shell_quoted, stdout};

/// Open the page of the vault, "My memory", in your browser.
///
/// The address holds a code that opens the page once, within a minute.
#[derive(Debug, Args)]
pub(super) struct OpenCommand {
    /// Print the address, and open nothing.
    #[arg(long)]
    print: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Whoever opens a browser has said within that time when it cannot.
const OPENING: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct GivenCode {
    code: String,
}

impl OpenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let running = match home.daemon() {
            Some(daemon) => Client::reach(&daemon.socket, PATIENCE)?.map(|client| (daemon, client)),
            None => None,
        };
        let Some((daemon, mut client)) = running else {
            let root = shell_quoted(home.root());
            bail!(
                "no daemon serves {root}, and the page comes from it. Start one: `vault serve --vault {root}`, or in \
                 the background: `vault service install --vault {root}`"
            );
        };
        let Ok(address) = daemon.address.parse::<SocketAddr>() else {
            bail!(
                "process {} serves this vault to agents alone, without the page. `vault serve` serves both",
                daemon.pid
            );
        };
        let GivenCode { code } = client.post("/page/code", &())?;
        let url = format!("http://{}/#code={code}", reachable(address));
        let mut out = stdout();
        let opened = !self.print && open(&url);
        if self.json {
            out.json(&json!({ "address": url, "opened": opened }))?;
        } else if !opened {
            writeln!(out, "{url}")?;
            if !self.print && out.is_terminal() {
                remark!("vault: no browser could be started; open this address within a minute");
            }
        } else {
            writeln!(out, "opened http://{} in your browser", reachable(address))?;
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
