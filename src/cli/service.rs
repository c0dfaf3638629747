//! `vault service`: the daemon as a service of the user's session (systemd on Linux, launchd on macOS).

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::json;

use super::backend::home;
use super::terminal::{Outcome, answer, is_in_json, remark, say};
use crate::base::fs::{create_dir, write_atomically};
use crate::vault::disk::Home;

#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    /// Install and start the service of this vault.
    Install {
        /// Print what would be installed, and install nothing.
        #[arg(long)]
        print: bool,
    },
    /// Show whether it runs. Exit code 1: it does not.
    Status,
    /// Stop and remove it.
    Remove,
}

impl ServiceCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let unit = Unit::of(&home(vault)?)?;
        match self {
            Self::Install { print: true } => say!("# {}\n{}", unit.file.display(), unit.text()?),
            Self::Install { print: false } => {
                has_session()?;
                create_dir(unit.file.parent().unwrap_or(Path::new("/")))?;
                write_atomically(&unit.file, unit.text()?.as_bytes(), 0o644)?;
                if let Err(error) = unit.switch(true) {
                    // What does not run now is not left for the next session to start.
                    drop(unit.switch(false));
                    unit.delete()?;
                    return Err(error);
                }
                say!("installed {}\nlogs: {}", unit.file.display(), unit.logs());
            }
            Self::Status => {
                let installed = unit.file.exists();
                if !installed && !is_in_json() {
                    bail!("this vault has no service; `vault service install` installs one");
                }
                let state = if installed { unit.state()? } else { "not installed".to_owned() };
                let runs = state == "active";
                let (name, file) = (&unit.name, unit.file.display().to_string());
                let status =
                    json!({ "name": name, "file": file, "installed": installed, "state": state, "runs": runs });
                return answer(&status, runs, |out| writeln!(out, "{name} is {state}\nlogs: {}", unit.logs()));
            }
            Self::Remove => {
                if !unit.file.exists() {
                    bail!("this vault has no service");
                }
                let stopped = unit.switch(false);
                unit.delete()?;
                say!("removed {}", unit.file.display());
                if let Err(error) = stopped {
                    remark!(
                        "vault: cannot stop the service: {error:#}. If its daemon runs, it keeps running until you stop it"
                    );
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// The service of one vault. Each vault has its own, named after the path.
struct Unit {
    name: String,
    file: PathBuf,
    root: PathBuf,
}

const LAUNCHD: bool = cfg!(target_os = "macos");

impl Unit {
    fn of(home: &Home) -> anyhow::Result<Self> {
        let dirs = directories::BaseDirs::new().context("you have no home folder to install a service in")?;
        let key = &blake3::hash(home.root().as_os_str().as_encoded_bytes()).to_hex()[..8];
        let (name, file) = if LAUNCHD {
            let name = format!("memory-vault.{key}");
            (name.clone(), dirs.home_dir().join("Library/LaunchAgents").join(format!("{name}.plist")))
        } else {
            let name = format!("memory-vault-{key}.service");
            (name.clone(), dirs.config_dir().join("systemd/user").join(name))
        };
        Ok(Self { name, file, root: home.root().to_owned() })
    }

    fn text(&self) -> anyhow::Result<String> {
        let program = program()?;
        let (program, root) = (program.to_string_lossy(), self.root.to_string_lossy());
        Ok(if LAUNCHD { plist(&self.name, &program, &root) } else { systemd(&program, &root) })
    }

    /// Starts it, now and at each login, or stops it.
    fn switch(&self, on: bool) -> anyhow::Result<()> {
        if LAUNCHD {
            let act = if on { "load" } else { "unload" };
            return run("launchctl", &[act, "-w", &self.file.to_string_lossy()]);
        }
        if on {
            run("systemctl", &["--user", "daemon-reload"])?;
        }
        run("systemctl", &["--user", if on { "enable" } else { "disable" }, "--now", &self.name])
    }

    /// Removes what was installed.
    fn delete(&self) -> anyhow::Result<()> {
        if !LAUNCHD && let Some(folder) = self.file.parent() {
            // Where there is no session, nobody else takes it away.
            drop(std::fs::remove_file(folder.join("default.target.wants").join(&self.name)));
        }
        std::fs::remove_file(&self.file).with_context(|| format!("cannot remove {}", self.file.display()))
    }

    /// How it is, in the words of systemd: `active`, `inactive`, `failed`.
    fn state(&self) -> anyhow::Result<String> {
        if LAUNCHD {
            let listed =
                Command::new("launchctl").args(["list", &self.name]).output().context("cannot run launchctl")?;
            return Ok(if listed.status.success() { "active" } else { "inactive" }.to_owned());
        }
        let asked = Command::new("systemctl").args(["--user", "is-active", &self.name]).output();
        let state = String::from_utf8_lossy(&asked.context("cannot run systemctl")?.stdout).trim().to_owned();
        if state.is_empty() {
            has_session()?;
        }
        Ok(state)
    }

    fn logs(&self) -> String {
        if LAUNCHD { "Console, or `log show`".into() } else { format!("journalctl --user -u {}", self.name) }
    }
}

/// The program by its whole path, as one without a shell of its own finds it.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(std::env::args_os().next().and_then(|called| as_called(&called, &program)).unwrap_or(program))
}

/// The path by which the program was called, where that leads to it: what a person has installed is often a link, which will
/// lead to the next version too. Of a bare name, the place where the shell has found it.
fn as_called(called: &OsStr, program: &Path) -> Option<PathBuf> {
    let program = std::fs::canonicalize(program).ok()?;
    let called = Path::new(called);
    let places = if called.parent() == Some(Path::new("")) {
        std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(called)).collect()
    } else {
        vec![called.to_owned()]
    };
    let absolute = places.into_iter().filter_map(|place| std::path::absolute(place).ok());
    // systemd takes no path with `..` in it.
    let mut plain = absolute.filter(|place| place.components().all(|part| part != Component::ParentDir));
    plain.find(|place| std::fs::canonicalize(place).is_ok_and(|found| found == program))
}

/// A service of systemd belongs to a session of the user's, which is not there in a container, and may not be over SSH.
fn has_session() -> anyhow::Result<()> {
    let asks = || Command::new("systemctl").args(["--user", "show-environment"]).output();
    if !LAUNCHD && !asks().is_ok_and(|asked| asked.status.success()) {
        bail!(
            "there is no user session of systemd: run `vault serve` yourself, or enable one with `loginctl enable-linger`"
        );
    }
    Ok(())
}

fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program).args(args).status().with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("`{program} {}` failed", args.join(" "));
    }
    Ok(())
}

fn systemd(program: &str, root: &str) -> String {
    // Within double quotes systemd reads backslashes, quotes, `%` and `$` as its own (systemd.service(5)).
    let quote = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
        format!("\"{escaped}\"")
    };
    format!(
        "[Unit]\nDescription=vault: {}\n\n[Service]\nExecStart={} serve --vault {}\nRestart=on-failure\nNice=5\n\n\
         [Install]\nWantedBy=default.target\n",
        root.replace('%', "%%").replace('\n', " "),
        quote(program),
        quote(root)
    )
}

fn plist(name: &str, program: &str, root: &str) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let arguments: String = [program, "serve", "--vault", root]
        .iter()
        .map(|argument| format!("        <string>{}</string>\n", escape(argument)))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n    <key>Label</key>\n    <string>{}</string>\n\
         \x20   <key>ProgramArguments</key>\n    <array>\n{arguments}    </array>\n\
         \x20   <key>RunAtLoad</key>\n    <true/>\n    <key>KeepAlive</key>\n    <true/>\n</dict>\n</plist>\n",
        escape(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_each_system_reads_them() {
        let unit = systemd("/opt/my tools/vault", "/home/me/100% \"mine\" $HOME");
        let expected = "ExecStart=\"/opt/my tools/vault\" serve --vault \"/home/me/100%% \\\"mine\\\" $$HOME\"\n";
        assert!(unit.contains(expected), "{unit}");
        let plist = plist("memory-vault.x", "/opt/vault", "/Users/me/a & b");
        assert!(plist.contains("<string>/Users/me/a &amp; b</string>"), "{plist}");
    }
}
