//! `docs/configuration.md`, out of `memory.toml`; and that the comments there name the ranges of the code.

use std::fmt::Write;

use memory_vault::base::config::REFERENCE;

use super::{cell, hold, plain};
use crate::support::prelude::*;

const INTRODUCTION: &str = "# Configuration

Written by a test from [memory.toml](../memory.toml), which `vault config` prints. The file in the root of a new vault has the ten
keys that people set most. A key that is left out has its default; one that is not known, or out of its range, is an error that names
file, line and key. `vault serve` reads the file when it starts, so a change counts after a restart; `[capture]` and `[retention]` count as soon as they are saved. Commands
that run without a daemon read it each time. Numbers of bytes and times have their unit in the key or in its text.
";

/// A section as the file has it.
struct Section {
    /// `[search]`, or `[[collections]]`.
    title: String,
    about: String,
    keys: Vec<Key>,
}

struct Key {
    name: String,
    value: String,
    about: String,
}

/// Reads the sections, the comment before each of them and that before each key. The end of the file is an example that is
/// commented out, in the same form.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut about = String::new();
    let mut in_example = false;
    for line in REFERENCE.lines() {
        in_example |= line.starts_with("# [[");
        let line = if in_example { line.strip_prefix("# ").unwrap_or(line) } else { line };
        if let Some(comment) = line.strip_prefix('#') {
            about = format!("{about}{comment}");
        } else if line.starts_with('[') {
            sections.push(Section { title: line.into(), about: std::mem::take(&mut about), keys: Vec::new() });
        } else if let Some((name, value)) = line.split_once(" = ") {
            let key = Key { name: name.into(), value: value.into(), about: std::mem::take(&mut about) };
            sections.last_mut().unwrap().keys.push(key);
        } else {
            about.clear();
        }
    }
    sections
}

#[test]
fn the_description_of_the_configuration_is_that_of_the_shipped_file() {
    let mut text = INTRODUCTION.to_owned();
    for Section { title, about, keys } in sections() {
        let shown = if title.starts_with("[[") { "example" } else { "default" };
        write!(text, "\n## `{title}`\n\n{}\n\n| key | {shown} | |\n|---|---|---|\n", cell(&plain(&about))).unwrap();
        for Key { name, value, about } in keys {
            assert!(!about.is_empty(), "{title} {name} has no comment of its own in memory.toml");
            writeln!(text, "| `{name}` | `{}` | {} |", cell(&value), cell(&plain(&about))).unwrap();
        }
    }
    hold("configuration.md", &text);
}

#[test]
fn the_comments_name_what_the_code_takes() {
    let parse = |text: &str| Config::parse(text, Path::new("memory.toml"));
    let mut ranges = 0;
    for Section { title, keys, .. } in sections().iter().filter(|section| !section.title.starts_with("[[")) {
        for Key { name, value, about } in keys {
            // What is far out of any range, and no word: the error says what the key takes.
            for wrong in ["9223372036854775807", "4294967295", "1e9", "\"none of these\""] {
                let Err(error) = parse(&format!("{title}\n{name} = {wrong}")) else { continue };
                let error = error.to_string();
                let range = error.split_once("; it takes ").map(|(_, range)| range.replace('"', "`"));
                let words = error.split_once("unknown variant").and_then(|(_, rest)| rest.split_once("expected"));
                let taken = range.into_iter().chain(words.map(|(_, words)| words.to_owned()));
                for taken in taken {
                    let parts: Vec<&str> = match taken.contains('`') {
                        true => taken.split('`').skip(1).step_by(2).filter(|word| !word.is_empty()).collect(),
                        false => vec![taken.trim()],
                    };
                    for part in parts {
                        assert!(about.contains(part), "memory.toml, {title} {name} = {value}: {about} … not {part}");
                        ranges += 1;
                    }
                }
            }
        }
    }
    assert!(ranges > 60, "{ranges}");
}

#[test]
fn the_example_that_is_commented_out_is_one() {
    let (_, example) = REFERENCE.split_once("\n# [[collections]]").unwrap();
    let example: String =
        example.lines().map(|line| line.strip_prefix("# ").unwrap_or(line).to_owned() + "\n").collect();
    let config = Config::parse(&format!("[[collections]]{example}"), Path::new("memory.toml")).unwrap();
    assert_eq!((config.collections.len(), &*config.collections[0].name), (1, "papers"));
    assert_eq!((config.sessions.len(), config.sessions[0].keep_days), (1, 90));
}
