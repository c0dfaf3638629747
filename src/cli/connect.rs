//! `vault connect`

mod settings;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use directories::BaseDirs;
use serde_json::{Value, json};

use self::settings::{SettingsFile, SettingsFormat};
use super::backend::{Backend, home};
use super::changes::agreed;
use super::service;
use super::terminal::{DIM, Outcome, PLAIN, TITLE, answer, is_in_json, remark, say, stdout};
use crate::access::policy::agent_file;
use crate::serve::api::endpoints;
use crate::serve::wire::{AgentParams, AgentRules};
use crate::vault::disk::{Home, slug};

/// Set up a program so that it can search your notes, over MCP.
///
/// The program becomes an agent, which reads what you allow and keeps its own memory. vault asks before it edits the program's
/// settings, and changes nothing there but its own entry; `--undo` removes that. Without a program, lists the programs vault knows.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault connect claude-code --allow\n  vault connect codex --print\n  vault connect --check\n  vault connect cursor --undo"
)]
pub(super) struct ConnectCommand {
    /// The program.
    #[arg(value_parser = names())]
    program: Option<String>,
    /// The agent it connects as; created if missing. Default: an agent named after the program.
    #[arg(long, value_name = "NAME", requires = "program")]
    agent: Option<String>,
    /// Let a new agent read your notes, except private ones.
    #[arg(long, requires = "program")]
    allow: bool,
    /// Print what to add to its settings, and write nothing.
    #[arg(long, requires = "program", group = "what")]
    print: bool,
    /// Remove vault from its settings.
    #[arg(long, requires = "program", group = "what")]
    undo: bool,
    /// Start the configured command as the program would, and ask how many notes it sees.
    #[arg(long, group = "what")]
    check: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

impl ConnectCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let named = |program: &&Program| self.program.as_ref().is_some_and(|name| name == program.name);
        let Some(program) = PROGRAMS.iter().find(named) else { return self.all() };
        if self.check {
            return self.checked(&[program]);
        }
        if self.undo {
            return self.take_out(program);
        }
        let home = home(vault)?;
        let agent = slug(self.agent.as_deref().unwrap_or(program.agent));
        self.put_in(program, &program.settings()?, &home, &agent)
    }

    /// What is known of each program.
    fn all(&self) -> anyhow::Result<Outcome> {
        let mut found = Vec::new();
        for program in PROGRAMS {
            let file = program.settings()?;
            // What cannot be read has no entry of ours, as far as can be told.
            let entry = file.read().ok().and_then(|text| file.entry(&text).ok().flatten());
            found.push((program, file, entry.is_some_and(|entry| is_ours(&entry))));
        }
        if self.check {
            let connected: Vec<&Program> =
                found.iter().filter(|(.., ours)| *ours).map(|(program, ..)| *program).collect();
            if connected.is_empty() {
                bail!("no program is set up; `vault connect PROGRAM` sets one up");
            }
            return self.checked(&connected);
        }
        let as_json = |(program, file, ours): &(&Program, SettingsFile, bool)| json!({ "program": program.name, "file": file.path, "connected": ours });
        let programs: Vec<Value> = found.iter().map(as_json).collect();
        answer(&json!({ "programs": programs }), true, |out| {
            for (program, file, ours) in &found {
                let state = if *ours { "set up" } else { "not set up" };
                out.row(&[(TITLE, program.name), (PLAIN, state), (DIM, &file.path.display().to_string())]);
            }
        })
    }

    fn put_in(&self, program: &Program, file: &SettingsFile, home: &Home, agent: &str) -> anyhow::Result<Outcome> {
        let own = program.entry(&service::program()?, home.root(), agent);
        let snippet = file.with_entry("", Some(&own))?;
        if self.print {
            let entry = json!({ "program": program.name, "file": file.path, "entry": own });
            return answer(&entry, true, |out| {
                remark!("vault: add to {}:", file.path.display());
                writeln!(out, "{}", snippet.trim_end());
            });
        }
        let by_hand = || format!("nothing was written. Add this to {} yourself:\n\n{snippet}", file.path.display());
        let refused = |error: anyhow::Error| anyhow!("{error:#}; {}", by_hand());
        let before = file.read()?;
        let there = file.entry(&before).map_err(refused)?;
        if let Some(other) = there.as_ref().filter(|there| !is_ours(there)) {
            bail!("{} has another `vault` already: {other}. Rename it there; {}", file.path.display(), by_hand());
        }
        // What a person has added to one that is there stays: an environment, a switch, a list of tools that are allowed.
        let mut entry = there.clone().unwrap_or_else(|| json!({}));
        if let (Some(entry), Some(own)) = (entry.as_object_mut(), own.as_object()) {
            entry.extend(own.clone());
        }
        let after = file.with_entry(&before, Some(&entry)).map_err(refused)?;
        if after != before {
            file.is_writable().map_err(refused)?;
        }
        let is_agent = agent_file(agent).is_some_and(|page| page.on_disk(home.root()).is_file());
        if there.as_ref() == Some(&entry) && is_agent {
            remark!("vault: {} is set up already; `vault connect {} --check` tests it", program.title, program.name);
            return self.told(program, file, agent, false);
        }
        for (key, value) in entry.as_object().into_iter().flatten().filter(|_| there.is_some()) {
            let before = there.as_ref().and_then(|there| there.get(key));
            if before != Some(value) {
                before.iter().for_each(|before| remark!("- {key}: {before}"));
                remark!("+ {key}: {value}");
            }
        }
        if let Some(other) = there.as_ref().and_then(vault_of).filter(|other| Some(*other) != vault_of(&own)) {
            remark!(
                "vault: {} is connected to another vault, {other}; this connects it to this one instead",
                program.title
            );
        }
        if !self.yes {
            if there.is_none() {
                remark!("{}", snippet.trim_end());
            }
            let reads = if self.allow { "your notes except private ones" } else { "none of your notes yet" };
            let makes = format!(", and add the agent `{agent}`, which reads {reads}");
            let makes = if is_agent { "" } else { &makes };
            if !agreed(&format!("Write this into {}{makes}?", file.path.display()))? {
                bail!("nothing was written; --yes skips the question");
            }
        }
        if !is_agent {
            let rules = AgentRules { can_read_user_memory: self.allow.then_some(true), ..AgentRules::default() };
            Backend::without_model(Some(home.root()))?.ask(
                &endpoints::agents::ADD,
                &AgentParams { name: agent.to_owned(), rules, chat_type: None, channel: None },
            )?;
        }
        file.write(&before, &after)?;
        self.told(program, file, agent, !is_agent)
    }

    fn told(&self, program: &Program, file: &SettingsFile, agent: &str, made: bool) -> anyhow::Result<Outcome> {
        let name = program.name;
        let told = json!({ "program": name, "file": file.path, "agent": agent, "agent_made": made });
        answer(&told, true, |out| {
            writeln!(out, "{} connects as the agent `{agent}`: {}", program.title, file.path.display());
            if made && !self.allow {
                writeln!(out, "it reads none of your notes yet: vault agent allow {agent}");
            }
            let prove = format!("to test it: vault connect {name} --check\nto undo: vault connect {name} --undo");
            writeln!(out, "{}\n{prove}", program.then);
        })
    }

    fn take_out(&self, program: &Program) -> anyhow::Result<Outcome> {
        let file = program.settings()?;
        let now = file.read()?;
        if !file.entry(&now)?.is_some_and(|entry| is_ours(&entry)) {
            bail!("{} has no entry of `vault connect`", file.path.display());
        }
        file.is_writable()?;
        if !self.yes && !agreed(&format!("Remove `vault` from {}?", file.path.display()))? {
            bail!("nothing was written; --yes skips the question");
        }
        file.write(&now, &file.with_entry(&now, None)?)?;
        let taken_out = json!({ "program": program.name, "file": file.path });
        answer(&taken_out, true, |out| writeln!(out, "`vault` is removed from {}", file.path.display()))
    }

    fn checked(&self, programs: &[&Program]) -> anyhow::Result<Outcome> {
        let mut answers = Vec::new();
        for program in programs {
            let name = program.name;
            let file = program.settings()?;
            let path = file.path.display();
            let Some(entry) = file.entry(&file.read()?)?.filter(is_ours) else {
                bail!("{path} has no entry of `vault connect`; `vault connect {name}` writes it");
            };
            let (tools, notes) =
                check_entry(&entry).with_context(|| format!("the command in {path} does not answer"))?;
            if !is_in_json() {
                say!("{name}: answers, with {tools} tools, and sees {notes} notes");
                if notes == 0 {
                    remark!("vault: it sees no note of yours; `vault agent list` shows what each agent may read");
                }
            }
            answers.push(json!({ "program": name, "file": file.path, "tools": tools, "notes": notes }));
        }
        if is_in_json() {
            stdout().json(&json!({ "programs": answers }));
        }
        Ok(Outcome::Done)
    }
}

/// The vault that an entry of ours names.
fn vault_of(entry: &Value) -> Option<&str> {
    let args = entry["args"].as_array()?;
    let at = args.iter().position(|arg| arg == "--vault")?;
    args.get(at + 1)?.as_str()
}

/// Whether an entry starts `vault mcp`, and is no other program's of that name.
fn is_ours(entry: &Value) -> bool {
    let called = entry["command"].as_str().and_then(|command| Path::new(command).file_name()?.to_str());
    called == Some("vault") && entry["args"][0] == "mcp"
}

/// Asks what an entry starts for its tools, and one of them for what it sees; gives how many tools and notes there are.
///
/// # Errors
/// When it cannot be started, ends, or answers with an error.
fn check_entry(entry: &Value) -> anyhow::Result<(usize, u64)> {
    let command = entry["command"].as_str().context("the entry has no `command`")?;
    let args = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let env = entry["env"].as_object().into_iter().flatten();
    let mut process = Command::new(command);
    process.args(args).envs(env.map(|(name, value)| (name, value.as_str().unwrap_or_default())));
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().with_context(|| format!("cannot start {command}"))?;
    let asked = ask_tools(&mut child);
    if asked.is_err() {
        // It may never end by itself.
        let _ = child.kill();
    }
    let ended = child.wait_with_output()?;
    asked.map_err(|error| match String::from_utf8_lossy(&ended.stderr).trim() {
        "" => error,
        said => error.context(format!("it said: {said}")),
    })
}

fn ask_tools(child: &mut Child) -> anyhow::Result<(usize, u64)> {
    let (mut stdin, stdout) = child.stdin.take().zip(child.stdout.take()).context("it has no input and output")?;
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let mut answers = lines.flat_map(|line| serde_json::from_str::<Value>(&line));
    let mut ask = |id: u32, method: &str, params: Value| {
        // Where it has ended, what it said is the reason.
        let _ = writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = answers.find(|answer| answer["id"] == id);
        let mut answer = answer.with_context(|| format!("no answer to `{method}`"))?;
        if let Some(error) = answer["error"]["message"].as_str() {
            bail!("the answer to `{method}` is an error: {error}");
        }
        Ok(answer["result"].take())
    };
    let client = json!({ "name": "vault-connect", "version": env!("CARGO_PKG_VERSION") });
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    ask(1, "initialize", begin)?;
    let tools = ask(2, "tools/list", json!({}))?["tools"].as_array().context("it lists no tools")?.len();
    let seen = ask(3, "tools/call", json!({ "name": "status", "arguments": {} }))?;
    let text = &seen["content"][0]["text"];
    if seen["isError"] == true {
        bail!("its tool `status` answers: {text}");
    }
    let first_word = || text.as_str()?.split_whitespace().next()?.replace(',', "").parse().ok();
    let notes = seen["structuredContent"]["notes"].as_u64().or_else(first_word);
    Ok((tools, notes.context("its tool `status` does not say how many notes it sees")?))
}

/// A program.
#[derive(Debug)]
struct Program {
    /// What it is called on the command line, and otherwise.
    name: &'static str,
    title: &'static str,
    /// The agent that it asks as, when nobody says.
    agent: &'static str,
    /// Its settings: `~/…` below the home folder, else below the user's folder of configurations, as the system names it.
    path: &'static str,
    /// A variable that names the folder of the file, and one that names the file itself.
    folder_in: Option<&'static str>,
    file_in: Option<&'static str>,
    /// Where in the file MCP servers stand, each under its name.
    servers: &'static [&'static str],
    /// Whether an entry says that it is one of standard input and output.
    says_stdio: bool,
    /// What has to be done then.
    then: &'static str,
}

/// What most of them have in common: servers under `mcpServers` in a file of JSON.
const USUAL: Program = Program {
    name: "",
    title: "",
    agent: "",
    path: "",
    folder_in: None,
    file_in: None,
    servers: &["mcpServers"],
    says_stdio: false,
    then: "",
};

/// All of them, by name.
const PROGRAMS: &[Program] = &[
    Program {
        name: "claude-code",
        title: "Claude Code",
        agent: "claude",
        path: "~/.claude.json",
        folder_in: Some("CLAUDE_CONFIG_DIR"),
        says_stdio: true,
        then: "its next session uses it",
        ..USUAL
    },
    Program {
        name: "claude-desktop",
        title: "Claude Desktop",
        agent: "claude",
        path: "Claude/claude_desktop_config.json",
        then: "restart it",
        ..USUAL
    },
    Program {
        name: "codex",
        title: "Codex",
        agent: "codex",
        path: "~/.codex/config.toml",
        folder_in: Some("CODEX_HOME"),
        servers: &["mcp_servers"],
        then: "its next session uses it",
        ..USUAL
    },
    Program {
        name: "cursor",
        title: "Cursor",
        agent: "cursor",
        path: "~/.cursor/mcp.json",
        then: "switch it on in its settings, under MCP",
        ..USUAL
    },
    Program {
        name: "moltis",
        title: "Moltis",
        agent: "moltis",
        path: "~/.config/moltis/moltis.toml",
        folder_in: Some("MOLTIS_CONFIG_DIR"),
        servers: &["mcp", "servers"],
        then: "restart its gateway",
        ..USUAL
    },
    Program {
        name: "openclaw",
        title: "OpenClaw",
        agent: "openclaw",
        path: "~/.openclaw/openclaw.json",
        folder_in: Some("OPENCLAW_STATE_DIR"),
        file_in: Some("OPENCLAW_CONFIG_PATH"),
        servers: &["mcp", "servers"],
        then: "restart its gateway",
        ..USUAL
    },
    Program {
        name: "vscode",
        title: "VS Code",
        agent: "vscode",
        path: "Code/User/mcp.json",
        servers: &["servers"],
        says_stdio: true,
        then: "start it there with `MCP: List Servers`",
        ..USUAL
    },
];

/// What names a program on the command line.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(PROGRAMS.iter().map(|program| PossibleValue::new(program.name).help(program.title)))
}

impl Program {
    /// Its settings.
    ///
    /// # Errors
    /// When there is no home folder.
    fn settings(&self) -> anyhow::Result<SettingsFile> {
        let dirs = BaseDirs::new().context("you have no home folder, so programs have no settings")?;
        let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = match self.path.strip_prefix("~/") {
            Some(path) => dirs.home_dir().join(path),
            None => dirs.config_dir().join(self.path),
        };
        let format = if self.path.ends_with(".toml") { SettingsFormat::Toml } else { SettingsFormat::Json };
        let in_folder = self.folder_in.and_then(named).zip(usual.file_name()).map(|(folder, name)| folder.join(name));
        let path = self.file_in.and_then(named).or(in_folder).unwrap_or(usual);
        Ok(SettingsFile::new(path, format, self.servers))
    }

    /// What stands in its settings for this vault.
    fn entry(&self, command: &Path, root: &Path, agent: &str) -> Value {
        let (command, root) = (command.to_string_lossy(), root.to_string_lossy());
        let args = json!(["mcp", "--vault", root, "--agent", agent]);
        match self.says_stdio {
            true => json!({ "type": "stdio", "command": command, "args": args }),
            false => json!({ "command": command, "args": args }),
        }
    }
}
