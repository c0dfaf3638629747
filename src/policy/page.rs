//! The page on which a person reads and says what an agent may do.

use serde_json::{Map, Value, json};

use crate::note::{Note, compose, revise};

/// The page of a new agent, which may read nothing unless `set` says so.
pub(crate) fn agent_page(name: &str, created: &str, set: &Map<String, Value>) -> String {
    let mut frontmatter = Map::new();
    for (key, value) in [
        ("title", json!(name)),
        ("created", json!(created)),
        ("can_read_user_memory", json!(false)),
        ("collections", json!(["*"])),
        ("exclude_tags", json!([])),
        ("paths", json!([])),
        ("write_mode", json!("hybrid")),
        ("expires", json!("")),
    ] {
        frontmatter.insert(key.into(), set.get(key).cloned().unwrap_or(value));
    }
    let more =
        set.iter().filter(|(key, _)| !frontmatter.contains_key(*key)).map(|(key, value)| (key.clone(), value.clone()));
    let more: Vec<_> = more.collect();
    frontmatter.extend(more);
    compose(&frontmatter, &BODY.replace("NAME", &name.replace(['`', '\n'], "")))
}

const BODY: &str = "This page says what the agent `NAME` may do. An edit counts at once, and no agent ever sees this page.

- `can_read_user_memory`: whether it may read anything of yours. While it is `false`, the next three lines do not matter.
- `collections`: the top-level folders it may read; `*` stands for all of them.
- `exclude_tags`: notes with one of these tags stay hidden, and so do those with a tag below it.
- `paths`: globs such as `notes/work/**`, if it is to read those alone; with `!` in front, what it must not read.
- `write_mode`: how it may write its own memory, which is this folder: `hybrid`, `prompt-only` (`MEMORY.md`),
  `search-only` (`memory/`) or `off`. Your notes are never an agent's to write.
- `expires`: the day on which its token ends, such as `2027-01-31`.

What is denied anywhere is denied, and what makes no sense denies all. Private notes stay hidden in any case.
`vault agent explain` says whether a note can be seen and why, `vault agent log` what was read.
";

/// An agent's page with some keys set, and every other byte as it was where that can be had.
pub(crate) fn revised_page(text: &str, set: &Map<String, Value>) -> String {
    let note = Note::parse(text, "agent");
    let is_set = |text: &str| {
        let metadata = Note::parse(text, "agent").metadata;
        set.iter().all(|(key, value)| metadata.get(key) == Some(value))
    };
    let revised = revise(text, "agent", &note.title, set, &[], &text[note.body.clone()]);
    if is_set(&revised) {
        return revised;
    }
    let mut frontmatter = note.metadata.clone();
    frontmatter.extend(set.clone());
    compose(&frontmatter, &text[note.body])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Policy;

    fn policy(text: &str) -> Policy {
        Policy::parse(&Note::parse(text, "agent").metadata)
    }

    #[test]
    fn a_new_agent_reads_nothing_unless_it_is_said() {
        let page = agent_page("Ada `x`", "2026-01-01", &Map::new());
        assert!(policy(&page).grant.is_none() && policy(&page).problems.is_empty(), "{page}");
        let set = json!({ "can_read_user_memory": true, "collections": ["notes"] });
        let page = agent_page("Ada", "2026-01-01", set.as_object().unwrap());
        let grant = policy(&page).grant.unwrap();
        assert!(grant.has_collection("notes") && !grant.has_collection("snippets"));
    }

    #[test]
    fn what_a_person_wrote_beside_a_list_stays() {
        let page = "---\ncan_read_user_memory: true\ncollections: # all that is mine\n  # first\n  - notes # daily\n  - work\n\
                    exclude_tags: [health] # never\n---\n\nMine.\n";
        let set = json!({ "collections": ["notes", "x: y"], "exclude_tags": ["health", "b, c"] });
        let revised = revised_page(page, set.as_object().unwrap());
        let grant = policy(&revised).grant.unwrap();
        assert!(grant.has_collection("notes") && grant.has_collection("x: y") && !grant.has_collection("work"));
        for kept in ["# all that is mine", "  # first\n  - notes # daily\n", "# never"] {
            assert!(revised.contains(kept), "{kept}: {revised}");
        }
        // Whatever the order asked for, and whatever stands below.
        let other = json!({ "collections": ["work", "notes"] });
        let page = page.replace("  - work\n", "  - work\n\n# Below.\n");
        let revised = revised_page(&page, other.as_object().unwrap());
        assert!(revised.contains("- work\n  # first\n  - notes # daily\n\n# Below.\n"), "{revised}");
        let more = revised_page(&page, json!({ "collections": ["notes", "work", "x"] }).as_object().unwrap());
        assert!(more.contains("- work\n  - x\n\n# Below.\n"), "{more}");
        for list in ["collections: notes # one\n", "collections:\n# above\n- a\n", "collections: # none\n"] {
            let page = format!("---\ncan_read_user_memory: true # on\n{list}---\n\nMine.\n");
            let revised = revised_page(&page, other.as_object().unwrap());
            let comment = list.split_once('#').unwrap().1.lines().next().unwrap();
            assert!(revised.contains("# on") && revised.contains(comment), "{revised}");
            assert!(policy(&revised).grant.unwrap().has_collection("work"));
        }
        // Line ends stay what they are.
        let windows = page.replace('\n', "\r\n");
        let twice = revised_page(&revised_page(&windows, other.as_object().unwrap()), set.as_object().unwrap());
        assert_eq!(twice.matches("\r\n").count(), twice.matches('\n').count());
        assert!(!twice.contains("\r\r") && twice.ends_with("\r\n\r\nMine.\r\n"), "{twice:?}");
        let none = json!({ "collections": [] });
        let revised = revised_page(&revised, none.as_object().unwrap());
        assert!(!policy(&revised).grant.unwrap().has_collection("notes") && revised.contains("# first"), "{revised}");
    }

    #[test]
    fn what_a_person_wrote_stays() {
        let page = "---\ntitle: Ada\n# my remark\ncan_read_user_memory: false # off\ncollections: [a]\n---\n\nMine.\n";
        let set = json!({ "can_read_user_memory": true, "collections": ["notes", "x y"] });
        let revised = revised_page(page, set.as_object().unwrap());
        let grant = policy(&revised).grant.unwrap();
        assert!(grant.has_collection("x y") && !grant.has_collection("a"));
        assert!(revised.contains("Mine.") && revised.contains("title: Ada"), "{revised}");
        assert!(revised.contains("# my remark") && revised.contains("# off"), "{revised}");
        let off = json!({ "can_read_user_memory": false });
        let revised = revised_page(&revised, off.as_object().unwrap());
        assert!(policy(&revised).grant.is_none());
    }
}
