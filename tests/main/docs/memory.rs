//! `docs/memory.md`: what it shows is what the program says.

use std::fs;
use std::path::Path;

use super::recorded::assert_recorded;
use crate::support::Daemon;

#[test]
fn the_page_of_memory_shows_what_the_program_says() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/memory.md")).unwrap();
    let files: Vec<&str> =
        page.split("```markdown\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let mut vault = Daemon::with_config("[embed]\nmodel = \"none\"\n");
    vault.write("memories/user.md", files[0]);
    vault.write("memories/pending.md", files[1]);
    vault.write(
        "conversations/2026-03-02.md",
        "I use tabs, and test with make quick.\nPriya gets the drill next week.\n",
    );
    vault.start().settle();
    let shown = assert_recorded(&vault, page.split("\n## Context").next().unwrap());
    assert!(shown > 8, "{shown}");
}
