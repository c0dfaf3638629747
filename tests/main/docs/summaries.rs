//! `docs/memory.md`, on summaries and digests: what it shows is what the program says of the conversation that it shows.

use super::recorded::assert_recorded;
use crate::support::prelude::*;

#[test]
fn the_page_of_memory_shows_what_summaries_and_digests_say() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/memory.md")).unwrap();
    let section = page.split("## Summaries and digests\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut vault = Daemon::vault();
    let talk = page.split("```markdown\n").find(|block| block.starts_with("---\ntitle: Bread")).unwrap();
    vault.write("conversations/2026-01-05-bread.md", talk.split("```").next().unwrap()).start().settle();
    assert_eq!(assert_recorded(&vault, section), 7);
}
