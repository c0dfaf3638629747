//! What each agent may do, as its `agent.md` says now, and that page as it is made and revised.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::access::rules::{AGENTS, Policy};
use crate::base::config::CollectionConfig;
use crate::base::path::VaultPath;
use crate::text::note::{Note, PrivateReason, Visibility, compose, revise};
use crate::vault::disk::{ReadError, read, slug};

/// Maximum size of a page that says what an agent may do, in bytes. None is longer.
const MAX_BYTES: u64 = 1 << 20;

/// The policies of all agents, as their pages say whenever they are asked for.
#[derive(Debug)]
pub struct Policies {
    root: PathBuf,
    /// Where memory scopes are.
    pub(super) collections: Vec<CollectionConfig>,
}

impl Policies {
    /// Those of the vault at `root`.
    pub fn new(root: PathBuf) -> Self {
        Self { root, collections: Vec::new() }
    }

    /// The folders in `agents/` that have a page, in alphabetical order.
    pub fn slugs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(AGENTS)).into_iter().flatten().flatten();
        let mut slugs: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|slug| self.of(slug).is_some())
            .collect();
        slugs.sort_unstable();
        slugs
    }

    /// What an agent may do; `None` when there is no such agent. A page that cannot be read allows nothing.
    pub fn of(&self, slug: &str) -> Option<Arc<Policy>> {
        let path = agent_file(slug)?;
        if !is_within(&self.root, &path.on_disk(&self.root)) {
            return None;
        }
        let policy = match read(&self.root, &path, MAX_BYTES) {
            Ok(source) => {
                let mut policy = parse(&source.text);
                policy.grant = policy.grant.map(|grant| grant.with_folders(&self.collections).of_agent(slug));
                policy
            }
            Err(ReadError::Gone) => return None,
            Err(error) => Policy::nothing(error.to_string()),
        };
        Some(Arc::new(policy))
    }
}

fn parse(text: &str) -> Policy {
    let note = Note::parse(text, "agent");
    if note.visibility == Visibility::Private(PrivateReason::BrokenFrontmatter) {
        return Policy::nothing("its frontmatter cannot be read");
    }
    let mut policy = Policy::parse(&note.metadata);
    policy.given = json!({
        "rules": policy.rules,
        "write_mode": policy.write_mode,
        "expires": policy.expires,
        "session_headers": policy.session_headers,
        "shares_memory_with": policy.shares_memory_with,
        "limits": policy.limits,
        "problems": policy.problems.len(),
    });
    policy
}

/// Where an agent's page is; `None` for what is no name of its folder: what [`slug`] makes of names.
pub(crate) fn agent_file(name: &str) -> Option<VaultPath> {
    let is_slug = !name.is_empty() && slug(name) == name;
    is_slug.then(|| VaultPath::new(format!("{AGENTS}/{name}/agent.md")).ok()).flatten()
}

/// No folder on the way is a symbolic link.
fn is_within(root: &Path, file: &Path) -> bool {
    let folders = file.ancestors().skip(1).take_while(|folder| *folder != root);
    folders.into_iter().all(|folder| folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()))
}

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
    use crate::access::rules::Policy;

    fn write(root: &Path, slug: &str, text: &str) {
        let folder = root.join(AGENTS).join(slug);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("agent.md"), text).unwrap();
    }

    #[test]
    fn an_edit_counts_at_once() {
        let vault = tempfile::tempdir().unwrap();
        let policies = Policies::new(vault.path().to_owned());
        assert!(policies.of("ada").is_none());
        write(vault.path(), "ada", "---\ncan_read_user_memory: false\n---\n");
        assert!(policies.of("ada").unwrap().grant.is_none());
        write(vault.path(), "ada", "---\ncan_read_user_memory: true \n---\n");
        assert!(policies.of("ada").unwrap().grant.is_some());
        assert_eq!(policies.slugs(), ["ada"]);
        for broken in ["---\ncan_read_user_memory: true\n", "---\ncan_read_user_memory: true\n  x: [\n---\n"] {
            write(vault.path(), "ada", broken);
            assert!(policies.of("ada").unwrap().grant.is_none(), "{broken}");
        }
        std::fs::remove_dir_all(vault.path().join(AGENTS)).unwrap();
        assert!(policies.of("ada").is_none());
    }

    #[test]
    fn only_a_plain_name_is_an_agents() {
        for bad in ["", ".", "..", "a/b", "../x", "A", "a b", "a\0", "a\\b", "-a", "a.md", "ａ／ｂ"] {
            assert!(agent_file(bad).is_none(), "{bad:?}");
        }
        assert_eq!(agent_file("ada-2").unwrap().as_str(), "agents/ada-2/agent.md");
    }

    #[test]
    fn a_link_is_not_followed() {
        let (vault, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(elsewhere.path(), "ada", "---\ncan_read_user_memory: true\n---\n");
        std::os::unix::fs::symlink(elsewhere.path().join(AGENTS), vault.path().join(AGENTS)).unwrap();
        assert!(Policies::new(vault.path().to_owned()).of("ada").is_none());
    }

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
