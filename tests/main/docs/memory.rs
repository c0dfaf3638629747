//! `docs/memory.md`: what it shows is what the program says.

use super::recorded::assert_recorded;
use crate::support::prelude::*;

#[test]
fn the_page_of_memory_shows_what_the_program_says() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/memory.md")).unwrap();
    let files: Vec<&str> =
        page.split("```markdown\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let vault = Daemon::vault()
        .with("memories/user.md", files[0])
        .with("memories/pending.md", files[1])
        .with("conversations/2026-03-02.md", "I use tabs, and test with make quick.\nPriya gets the drill next week.\n")
        .settled();
    let shown = assert_recorded(&vault, page.split("\n## Context").next().unwrap());
    assert!(shown > 8, "{shown}");
}

#[test]
fn the_page_of_memory_shows_a_day_as_it_is() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/memory.md")).unwrap();
    let day = page.split("\n## A day\n").nth(1).unwrap().split("\n## Settings\n").next().unwrap();
    let mut vault = Daemon::vault();
    let parts: Vec<&str> = day.split("```markdown\n").collect();
    for pair in parts.windows(2) {
        let path = pair[0].rsplit('`').nth(1).filter(|path| path.ends_with(".md"));
        let path = path.or_else(|| pair[0].rsplit('`').find(|word| word.ends_with(".md"))).unwrap();
        vault.write(path, pair[1].split("```").next().unwrap());
    }
    assert_eq!(parts.len(), 4, "a conversation, proposals and a note");
    vault.write("notes/bakery.md", "---\ntitle: Bakery\ntype: place\ncreated: 2026-02-01\n---\nOpens at six.\n");
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncollections: [\"*\"]\n---\n").start().settle();
    assert_eq!(assert_recorded(&vault, day), 15);
    // As the page says, what was made of the conversation goes with it.
    vault.run(&["forget", "conversations/2026-03-02-flour.md", "--derived", "--yes"]).ok();
    for path in ["summaries/2026-03-02-flour.md", "summaries/days/2026-03-02.md"] {
        assert!(!vault.path(path).exists(), "{path}");
    }
    for path in ["agents/ada/entries.md", "memories/user.md"] {
        assert!(!vault.read(path).contains("^e-"), "{path}");
    }
}

#[test]
fn the_page_of_memory_shows_a_context_and_a_profile_as_they_are() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/memory.md")).unwrap();
    let mut vault = Daemon::vault().with("profile/overrides.md", "# Always\n\n- Answer in German.\n");
    let summary = "---\ntitle: The tent\nof: conversations/tent.md\ntags: [tent]\n---\n\nDecided to wax the tent.\n";
    vault.write("summaries/tent.md", summary).start().settle();
    let part = |from: &str, to: &str| page.split(from).nth(1).unwrap().split(to).next().unwrap();
    assert_eq!(assert_recorded(&vault, part("\n## Context\n", "\n## Profile\n")), 1);
    let entries = "- [preference] Prefers tabs over spaces ^e-7f3a2b9c\n- [skill] Bakes rye bread ^e-0c1d2e3f\n";
    vault.write("memories/user.md", entries).settle();
    assert_eq!(assert_recorded(&vault, part("\n## Profile\n", "\n## Summaries and digests\n")), 3);
}
