//! `vault connect`

mod check;
mod json;
mod programs;
mod settings;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::{Value, json};

use self::check::{check, check_address};
use self::programs::{PROGRAMS, Program, ProgramName};
use self::settings::SettingsFile;
use super::backend::{Backend, home};
use super::exit::Outcome;
use super::forget::agreed;
use super::service::as_called;
use super::terminal::{DIM, TITLE, remark, say, stdout};
use crate::api::endpoints;
use crate::policy::agent_file;
use crate::vault::{Home, slug};
use crate::wire::{AgentParams, AgentRules};

/// Where taOS has the address of the memory, with a token in it.
const USER_MEMORY_URL: &str = "QMD_USER_MEMORY_URL";

/// Set a program up so that it searches your notes, over MCP.
///
/// It becomes an agent, which reads what you say and keeps a memory of its own. You are asked before its settings are
/// touched, and a copy stays beside them (`….before-vault`); `--undo` takes it back. Without a program it lists those that it
/// knows.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault connect claude-code --allow\n  vault connect codex --print\n  vault connect --check\n  vault connect cursor --undo"
)]
pub(super) struct ConnectCommand {
    /// The program.
    #[arg(value_enum)]
    program: Option<ProgramName>,
    /// The agent that it asks as; it is made where it is not there. When not said, it is called after the program.
    #[arg(long, value_name = "NAME", requires = "program")]
    agent: Option<String>,
    /// Let a new agent read your notes, but for what is private.
    #[arg(long, requires = "program")]
    allow: bool,
    /// Print what belongs into its settings, and write nothing.
    #[arg(long, requires = "program", group = "what")]
    print: bool,
    /// Take it out of its settings: where nothing else has changed, they are again what they were, to the byte.
    #[arg(long, requires = "program", group = "what")]
    undo: bool,
    /// Start what its settings say, as it would, and ask that how many notes it sees. Of taOS, ask at the address that its environment has.
    #[arg(long, group = "what")]
    check: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ConnectCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Some(name) = self.program else { return self.all() };
        let program = Program::of(name);
        if self.check {
            return self.checked(&[program]);
        }
        if self.undo {
            return self.take_out(program);
        }
        let home = home(vault)?;
        let agent = slug(self.agent.as_deref().unwrap_or(program.agent));
        match program.settings()? {
            Some(file) => self.put_in(program, &file, &home, &agent, vault),
            None => self.by_environment(program, &home, &agent),
        }
    }

    /// What is known of each program.
    fn all(&self) -> anyhow::Result<Outcome> {
        let mut found = Vec::new();
        for program in PROGRAMS {
            let Some(file) = program.settings()? else { continue };
            // What cannot be read has no entry of ours, as far as can be told.
            let entry = file.read().ok().and_then(|text| file.entry(&text).ok().flatten());
            found.push((program, file, entry.is_some_and(|entry| is_ours(&entry))));
        }
        if self.check {
            let connected: Vec<&Program> =
                found.iter().filter(|(.., ours)| *ours).map(|(program, ..)| *program).collect();
            let taos = std::env::var_os(USER_MEMORY_URL).map(|_| Program::of(ProgramName::Taos));
            let connected: Vec<&Program> = connected.into_iter().chain(taos).collect();
            if connected.is_empty() {
                bail!("no program is set up; `vault connect PROGRAM` sets one up");
            }
            return self.checked(&connected);
        }
        let mut out = stdout();
        if self.json {
            let programs: Vec<Value> = found
                .iter()
                .map(|(program, file, ours)| json!({ "program": program.name(), "file": file.path, "connected": ours }))
                .collect();
            out.json(&json!({ "programs": programs }))?;
            return Ok(Outcome::Done);
        }
        for (program, file, ours) in &found {
            out.paint(TITLE, program.name())?;
            write!(out, "  {}", if *ours { "set up" } else { "not set up" })?;
            out.paint(DIM, &format!("  {}", file.path.display()))?;
            writeln!(out)?;
        }
        Ok(Outcome::Done)
    }

    fn put_in(
        &self,
        program: &Program,
        file: &SettingsFile,
        home: &Home,
        agent: &str,
        vault: Option<&Path>,
    ) -> anyhow::Result<Outcome> {
        let own = program.entry(&command()?, home.root(), agent);
        let snippet = file.snippet(&own)?;
        if self.print {
            if self.json {
                stdout().json(&json!({ "program": program.name(), "file": file.path, "entry": own }))?;
            } else {
                remark!("vault: into {}:", file.path.display());
                say!("{}", snippet.trim_end())?;
            }
            return Ok(Outcome::Done);
        }
        let by_hand =
            || format!("nothing was written. This is what belongs into {}:\n\n{snippet}", file.path.display());
        let refused = |error: anyhow::Error| anyhow!("{error:#}; {}", by_hand());
        let before = file.read()?;
        let there = file.entry(&before).map_err(refused)?;
        if let Some(other) = there.as_ref().filter(|there| !is_ours(there)) {
            bail!("{} has another `vault` already: {other}. Rename it there; {}", file.path.display(), by_hand());
        }
        let entry = there.as_ref().map_or_else(|| own.clone(), |there| merged(there, &own));
        let after = file.with_entry(&before, Some(&entry)).map_err(refused)?;
        if after != before {
            file.is_writable().map_err(refused)?;
        }
        let is_agent = agent_file(agent).is_some_and(|page| page.on_disk(home.root()).is_file());
        if there.as_ref() == Some(&entry) && is_agent {
            remark!("vault: {} is set up already; `vault connect {} --check` proves it", program.title, program.name());
            return self.told(program, file, agent, false);
        }
        let changes = there.as_ref().map(|there| changes(there, &entry)).unwrap_or_default();
        if !changes.is_empty() {
            remark!("{}", changes.join("\n"));
        }
        if let Some(other) = there.as_ref().and_then(vault_of).filter(|other| Some(*other) != vault_of(&own)) {
            remark!("vault: {} is connected to another vault, {other}; now it is to be to this one", program.title);
        }
        if !self.yes {
            if there.is_none() {
                remark!("{}", snippet.trim_end());
            }
            let makes = match (is_agent, self.allow) {
                (true, _) => String::new(),
                (false, true) => {
                    format!(", and make the agent `{agent}`, which reads your notes but for what is private")
                }
                (false, false) => format!(", and make the agent `{agent}`, which reads nothing of yours yet"),
            };
            if !agreed(&format!("Write this into {}{makes}?", file.path.display()))? {
                bail!("nothing was written; --yes asks nothing");
            }
        }
        if !is_agent {
            let rules = AgentRules { can_read_user_memory: self.allow.then_some(true), ..AgentRules::default() };
            let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
            backend.ask(
                &endpoints::agents::ADD,
                &AgentParams { name: agent.to_owned(), rules, chat_type: None, channel: None },
            )?;
        }
        file.keep_and_write(&before, &after, there.is_none())?;
        self.told(program, file, agent, !is_agent)
    }

    fn told(&self, program: &Program, file: &SettingsFile, agent: &str, made: bool) -> anyhow::Result<Outcome> {
        if self.json {
            let copy = file.copy();
            let copy = copy.exists().then_some(copy);
            stdout().json(&json!({ "program": program.name(), "file": file.path, "copy": copy, "agent": agent, "agent_made": made }))?;
            return Ok(Outcome::Done);
        }
        say!("{} asks as the agent `{agent}`: {}", program.title, file.path.display())?;
        if made && !self.allow {
            say!("it reads nothing of yours yet: vault agent allow {agent}")?;
        }
        say!(
            "{}\nto prove it: vault connect {} --check\nto undo: vault connect {} --undo",
            program.then,
            program.name(),
            program.name()
        )?;
        Ok(Outcome::Done)
    }

    /// What takes an address and a token from its environment.
    fn by_environment(&self, program: &Program, home: &Home, agent: &str) -> anyhow::Result<Outcome> {
        let address = home.daemon().filter(|daemon| !daemon.is_stopgap()).map(|daemon| daemon.address);
        let address = address.unwrap_or_else(|| "127.0.0.1:7833".into());
        say!("export {USER_MEMORY_URL}=\"http://TOKEN@{address}\"")?;
        remark!(
            "vault: {} takes this from its environment, with a token in place of TOKEN: `vault agent add {agent} --allow` \
             prints one, `vault agent rotate {agent}` another",
            program.title
        );
        Ok(Outcome::Done)
    }

    fn take_out(&self, program: &Program) -> anyhow::Result<Outcome> {
        let Some(file) = program.settings()? else {
            bail!("{} has it in its environment; take {USER_MEMORY_URL} out of that", program.title);
        };
        let now = file.read()?;
        let Some(entry) = file.entry(&now)?.filter(is_ours) else {
            bail!("{} has no entry of `vault connect`", file.path.display());
        };
        let as_it_was = file.is_copy_with(&now, &entry)?;
        file.is_writable()?;
        if !self.yes && !agreed(&format!("Take `vault` out of {}?", file.path.display()))? {
            bail!("nothing was written; --yes asks nothing");
        }
        if as_it_was {
            file.put_back(&now)?;
        } else {
            let without = file.without_entry(&now)?;
            file.write(&now, &without)?;
        }
        if self.json {
            stdout().json(&json!({ "program": program.name(), "file": file.path, "as_it_was": as_it_was }))?;
        } else if as_it_was {
            say!("{} is as it was", file.path.display())?;
        } else {
            say!("`vault` is out of {}; what else has changed there stays", file.path.display())?;
            if file.copy().exists() {
                say!("as it was before: {}", file.copy().display())?;
            }
        }
        Ok(Outcome::Done)
    }

    fn checked(&self, programs: &[&Program]) -> anyhow::Result<Outcome> {
        let mut answers = Vec::new();
        for program in programs {
            let Some(file) = program.settings()? else {
                let Ok(url) = std::env::var(USER_MEMORY_URL) else {
                    bail!(
                        "{USER_MEMORY_URL} is not set here: call this where {} runs, or with what `vault connect {}` prints",
                        program.title,
                        program.name()
                    );
                };
                let notes =
                    check_address(&url).with_context(|| format!("what {USER_MEMORY_URL} says does not answer"))?;
                if self.json {
                    answers.push(json!({ "program": program.name(), "notes": notes }));
                } else {
                    say!("{}: answers, and sees {notes} notes", program.name())?;
                    told_of_none(notes);
                }
                continue;
            };
            let text = file.read()?;
            let Some(entry) = file.entry(&text)?.filter(is_ours) else {
                bail!(
                    "{} has no entry of `vault connect`; `vault connect {}` writes it",
                    file.path.display(),
                    program.name()
                );
            };
            let answer = check(&entry).with_context(|| format!("what {} says does not answer", file.path.display()))?;
            if self.json {
                answers.push(json!({ "program": program.name(), "file": file.path, "tools": answer.tools, "notes": answer.notes }));
            } else {
                say!("{}: answers, with {} tools, and sees {} notes", program.name(), answer.tools, answer.notes)?;
                told_of_none(answer.notes);
            }
        }
        if self.json {
            stdout().json(&json!({ "programs": answers }))?;
        }
        Ok(Outcome::Done)
    }
}

/// Says what it means that a program sees nothing.
fn told_of_none(notes: u64) {
    if notes == 0 {
        remark!("vault: it sees no note of yours; `vault agent list` says what each agent may read");
    }
}

/// An entry that is there already, with what is ours of it as it is now. What a person has added to it stays: an environment, a switch, a list
/// of tools that are allowed.
fn merged(there: &Value, own: &Value) -> Value {
    let mut merged = there.clone();
    if let (Some(merged), Some(own)) = (merged.as_object_mut(), own.as_object()) {
        merged.extend(own.clone());
    }
    merged
}

/// How an entry changes, by line: what goes and what comes.
fn changes(before: &Value, after: &Value) -> Vec<String> {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return Vec::new() };
    let differs = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let lines = |(key, value): (&String, &Value)| {
        let gone = before.get(key).map(|before| format!("- {key}: {before}"));
        gone.into_iter().chain([format!("+ {key}: {value}")]).collect::<Vec<_>>()
    };
    differs.flat_map(lines).collect()
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

/// The program by its whole path, as a program without a shell of its own finds it.
fn command() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    Ok(std::env::args_os().next().and_then(|called| as_called(&called, &program)).unwrap_or(program))
}
