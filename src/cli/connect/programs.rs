//! The programs that can be set up: where each has its settings, and how an MCP server stands there.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use directories::BaseDirs;
use serde_json::{Value, json};

use super::settings::{SettingsFile, SettingsFormat};

/// A program, as it is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgramName {
    /// Claude Code
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Moltis
    Moltis,
    /// OpenClaw
    Openclaw,
    /// taOS, which reads an address from its environment
    Taos,
    /// VS Code
    Vscode,
}

/// Where a program has its settings.
#[derive(Debug, Clone, Copy)]
enum SettingsLocation {
    /// Below the home folder, or in the folder that an environment variable names; which, and the path in it.
    Home(&'static [&'static str], Option<(&'static str, &'static str)>),
    /// Below the user's folder of configurations, as the system names it.
    Config(&'static str),
    /// In its environment.
    Environment,
}

/// A program.
#[derive(Debug)]
pub(super) struct Program {
    named: ProgramName,
    /// What it is called.
    pub(super) title: &'static str,
    /// The agent that it asks as, when nobody says.
    pub(super) agent: &'static str,
    place: SettingsLocation,
    /// A variable that names the file itself.
    file_in: Option<&'static str>,
    format: SettingsFormat,
    /// Where in the file MCP servers stand, each under its name.
    servers: &'static [&'static str],
    /// Whether an entry says that it is one of standard input and output.
    says_stdio: bool,
    /// What has to be done then.
    pub(super) then: &'static str,
}

/// What most of them have in common: servers under `mcpServers` in a file of JSON.
const USUAL: Program = Program {
    named: ProgramName::ClaudeCode,
    title: "",
    agent: "",
    place: SettingsLocation::Environment,
    file_in: None,
    format: SettingsFormat::Json,
    servers: &["mcpServers"],
    says_stdio: false,
    then: "",
};

/// All of them, by name.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        named: ProgramName::ClaudeCode,
        title: "Claude Code",
        agent: "claude",
        place: SettingsLocation::Home(&[".claude.json"], Some(("CLAUDE_CONFIG_DIR", ".claude.json"))),
        says_stdio: true,
        then: "its next session uses it",
        ..USUAL
    },
    Program {
        named: ProgramName::ClaudeDesktop,
        title: "Claude Desktop",
        agent: "claude",
        place: SettingsLocation::Config("Claude/claude_desktop_config.json"),
        then: "restart it",
        ..USUAL
    },
    Program {
        named: ProgramName::Codex,
        title: "Codex",
        agent: "codex",
        place: SettingsLocation::Home(&[".codex", "config.toml"], Some(("CODEX_HOME", "config.toml"))),
        format: SettingsFormat::Toml,
        servers: &["mcp_servers"],
        then: "its next session uses it",
        ..USUAL
    },
    Program {
        named: ProgramName::Cursor,
        title: "Cursor",
        agent: "cursor",
        place: SettingsLocation::Home(&[".cursor", "mcp.json"], None),
        then: "switch it on in its settings, under MCP",
        ..USUAL
    },
    Program {
        named: ProgramName::Moltis,
        title: "Moltis",
        agent: "moltis",
        place: SettingsLocation::Home(
            &[".config", "moltis", "moltis.toml"],
            Some(("MOLTIS_CONFIG_DIR", "moltis.toml")),
        ),
        format: SettingsFormat::Toml,
        servers: &["mcp", "servers"],
        then: "restart its gateway",
        ..USUAL
    },
    Program {
        named: ProgramName::Openclaw,
        title: "OpenClaw",
        agent: "openclaw",
        place: SettingsLocation::Home(&[".openclaw", "openclaw.json"], Some(("OPENCLAW_STATE_DIR", "openclaw.json"))),
        file_in: Some("OPENCLAW_CONFIG_PATH"),
        servers: &["mcp", "servers"],
        then: "restart its gateway",
        ..USUAL
    },
    Program { named: ProgramName::Taos, title: "taOS", agent: "taos", ..USUAL },
    Program {
        named: ProgramName::Vscode,
        title: "VS Code",
        agent: "vscode",
        place: SettingsLocation::Config("Code/User/mcp.json"),
        servers: &["servers"],
        says_stdio: true,
        then: "start it there with `MCP: List Servers`",
        ..USUAL
    },
];

impl Program {
    /// The program of a name.
    pub(super) fn of(name: ProgramName) -> &'static Self {
        PROGRAMS.iter().find(|program| program.named == name).expect("each name has a program")
    }

    /// Its name on the command line.
    pub(super) fn name(&self) -> String {
        self.named.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Its settings; `None` where they are its environment.
    ///
    /// # Errors
    /// When there is no home folder.
    pub(super) fn settings(&self) -> anyhow::Result<Option<SettingsFile>> {
        let dirs = BaseDirs::new().context("you have no home folder, so programs have no settings")?;
        let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = match self.place {
            SettingsLocation::Environment => return Ok(None),
            SettingsLocation::Config(path) => dirs.config_dir().join(path),
            SettingsLocation::Home(path, folder) => folder
                .and_then(|(variable, path)| Some(named(variable)?.join(path)))
                .unwrap_or_else(|| path.iter().fold(dirs.home_dir().to_owned(), |folder, part| folder.join(part))),
        };
        let path = self.file_in.and_then(named).unwrap_or(path);
        Ok(Some(SettingsFile::new(path, self.format, self.servers)))
    }

    /// What stands in its settings for this vault.
    pub(super) fn entry(&self, command: &Path, root: &Path, agent: &str) -> Value {
        let (command, root) = (command.to_string_lossy(), root.to_string_lossy());
        let args = json!(["mcp", "--vault", root, "--agent", agent]);
        match self.says_stdio {
            true => json!({ "type": "stdio", "command": command, "args": args }),
            false => json!({ "command": command, "args": args }),
        }
    }
}
