//! `docs/memory.md`: what it shows is what the program says.

use std::fs;
use std::path::Path;

use super::facts::{is_as_recorded, said};
use crate::support::Daemon;

#[test]
fn the_page_of_memory_shows_what_the_program_says() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/memory.md")).unwrap();
    let files: Vec<&str> =
        page.split("```markdown\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let mut vault = Daemon::with_config("[embed]\nmodel = \"none\"\n");
    vault.write("memories/user.md", files[0]);
    vault.write("memories/pending.md", files[1]);
    vault
        .write("conversations/2026-03-02.md", "I use tabs, and test with make quick.\nPriya gets the drill next week.\n");
    vault.start().settle();
    let mut recorded: Vec<(&str, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => recorded.push((command, String::new())),
                None => recorded.last_mut().unwrap().1 += &format!("{line}\n"),
            }
        }
    }
    assert!(recorded.len() > 8, "{}", recorded.len());
    for (command, recorded) in recorded {
        let said = said(&vault, command);
        assert!(
            is_as_recorded(said.trim_end(), recorded.trim_end()),
            "$ {command}\n{said}\nnot as recorded:\n{recorded}"
        );
    }
}
