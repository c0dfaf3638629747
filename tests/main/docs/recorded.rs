//! What pages show of commands, held against what the program says.

use crate::support::prelude::*;

/// The words of a command, as a shell takes them apart.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

fn said(vault: &Daemon, line: &str) -> String {
    let words = words(line);
    assert_eq!(words[0], "vault", "{line}");
    let ran = vault.run(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    ran.stdout + &ran.stderr
}

/// Whether a text is what a recording shows, in which `[…]` stands for anything.
pub fn is_as_recorded(text: &str, recorded: &str) -> bool {
    let parts: Vec<&str> = recorded.split("[…]").collect();
    let mut rest = text;
    for (at, part) in parts.iter().enumerate() {
        let found = if at == 0 { rest.starts_with(part).then_some(0) } else { rest.find(part) };
        let Some(found) = found else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.is_empty() || recorded.ends_with("[…]")
}

/// Runs each command of a page's `console` blocks, in their order; gives how many there are.
pub fn assert_recorded(vault: &Daemon, page: &str) -> usize {
    let mut recorded: Vec<(&str, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => recorded.push((command, String::new())),
                None => recorded.last_mut().unwrap().1 += &format!("{line}\n"),
            }
        }
    }
    for (command, recorded) in &recorded {
        let said = said(vault, command);
        // What is undone is named by the time.
        assert!(
            is_as_recorded(said.trim_end(), recorded.trim_end()),
            "$ {command}\n{said}\nnot as recorded:\n{recorded}"
        );
    }
    recorded.len()
}
