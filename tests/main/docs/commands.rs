//! `docs/commands.md`, out of what the program says of itself.

use std::fmt::Write;

use super::{cell, hold, plain};
use crate::support::prelude::*;

const INTRODUCTION: &str = "# Commands

Written by a test from `vault --help` and the help of each command. The vault is the one named by `--vault` or `$VAULT_DIR`, else
the nearest at or above the current folder; every command takes `--vault` and `--help`. Where a daemon runs, commands ask it; where
none runs, they bring the index up to date and answer themselves. Exit codes: 0 done, 1 nothing found (or, by `verify`, damage), 2 an
error. `VAULT_LOG=info` shows more of what happens, `NO_COLOR` turns colours off.
";

/// What every command has, and the introduction says.
const EVERYWHERE: [&str; 3] = ["--vault <DIR>", "-h, --help", "-V, --version"];

fn help(command: &[&str]) -> String {
    // Neither the width of a terminal nor what is set on this machine is part of it.
    let mut program = vault_command();
    program.env_remove("COLUMNS").env_remove("VAULT_AGENT").args(command).arg("--help");
    Ran::of(&mut program).ok().stdout
}

/// The names of a command's own commands, with what they do. Those of the program itself are listed by what they are for.
fn commands(help: &str, is_all: bool) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut is_listed = false;
    for line in help.lines().filter(|line| !line.is_empty()) {
        if !line.starts_with(' ') {
            is_listed = if is_all { line.ends_with(':') && line != "Options:" } else { line == "Commands:" };
            continue;
        }
        if !is_listed {
            continue;
        }
        match (line.strip_prefix("  ").filter(|line| !line.starts_with(' ')), commands.last_mut()) {
            (Some(line), _) => {
                let (name, about) = line.split_once(' ').unwrap_or((line, ""));
                commands.push((name.into(), about.trim().into()));
            }
            (None, Some((_, about))) => *about = format!("{about} {}", line.trim()),
            (None, None) => {}
        }
    }
    commands.retain(|(name, _)| name != "help");
    commands
}

/// The help without what every command has, and without the list of commands, which follow by themselves.
fn without_the_rest(help: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let is_everywhere = indent <= 6 && EVERYWHERE.iter().any(|option| line.trim_start().starts_with(option));
        if is_everywhere || line == "Commands:" {
            let deeper = if is_everywhere { 8 } else { 1 };
            while lines.next_if(|next| next.is_empty() || next.starts_with(&" ".repeat(deeper))).is_some() {}
        } else {
            kept.push(line.trim_end());
        }
    }
    let mut text = String::new();
    for (at, line) in kept.iter().enumerate() {
        let next = kept[at + 1..].iter().find(|next| !next.is_empty());
        let heads_nothing = *line == "Options:" && next.is_none_or(|next| !next.starts_with(' '));
        let heads_a_part = line.ends_with(':') && !line.starts_with(' ') || line.starts_with("Exit codes");
        if heads_a_part && !text.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        let again_empty = line.is_empty() && text.ends_with("\n\n");
        if !heads_nothing && !again_empty {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}

fn part(text: &mut String, command: &[&str]) {
    let help = help(command);
    let (about, usage) = help.split_once("Usage: ").unwrap();
    let usage = without_the_rest(usage);
    write!(text, "\n## vault {}\n\n{}\n\n```text\n{usage}\n```\n", command.join(" "), plain(about.trim())).unwrap();
    for (name, _) in commands(&help, false) {
        part(text, &[command, &[&*name][..]].concat());
    }
}

#[test]
fn the_description_of_the_commands_is_what_they_say_themselves() {
    let mut text = INTRODUCTION.to_owned();
    let commands = commands(&help(&[]), true);
    assert!(commands.len() > 20, "{commands:?}");
    text.push_str("\n| command | what it does |\n|---|---|\n");
    for (name, about) in &commands {
        writeln!(text, "| [`vault {name}`](#vault-{name}) | {} |", cell(&plain(about))).unwrap();
    }
    for (name, _) in &commands {
        part(&mut text, &[name.as_str()]);
    }
    hold("commands.md", &text);
}
