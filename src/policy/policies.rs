//! What each agent may do, as its `agent.md` says now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::access::{AGENTS, Policy};
use crate::config::CollectionConfig;
use crate::note::{Note, PrivateReason, Visibility};
use crate::path::VaultPath;
use crate::vault::{ReadError, Stamp, read, slug};

/// Maximum size of a page that says what an agent may do, in bytes. None is longer.
const MAX_BYTES: u64 = 1 << 20;

/// The policies of all agents, read again whenever a file has changed.
#[derive(Debug)]
pub struct Policies {
    root: PathBuf,
    /// Where memory scopes are.
    collections: Vec<CollectionConfig>,
    known: Mutex<HashMap<String, KnownPolicy>>,
}

#[derive(Debug, Clone)]
struct KnownPolicy {
    stamp: Stamp,
    policy: Arc<Policy>,
    /// What the page gives, to tell when it gives more.
    given: Value,
}

impl Policies {
    /// Those of the vault at `root`.
    pub fn new(root: PathBuf) -> Self {
        let collections = Vec::new();
        Self { root, collections, known: Mutex::default() }
    }

    /// The same where these are the folders elsewhere.
    #[must_use]
    pub(super) fn with_folders(self, collections: Vec<CollectionConfig>) -> Self {
        Self { collections, ..self }
    }

    /// What an agent may do; `None` when there is no such agent. A page that cannot be read allows nothing.
    pub fn of(&self, slug: &str) -> Option<Arc<Policy>> {
        Some(self.known(slug)?.policy)
    }

    /// What an agent may do and, as JSON, what its page gives, both of one look at the page.
    pub fn with_given(&self, slug: &str) -> Option<(Arc<Policy>, Value)> {
        let known = self.known(slug)?;
        Some((known.policy, known.given))
    }

    /// The folders in `agents/` that have a page, in alphabetical order.
    pub fn slugs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(AGENTS)).into_iter().flatten().flatten();
        let mut slugs: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|slug| self.known(slug).is_some())
            .collect();
        slugs.sort_unstable();
        slugs
    }

    fn known(&self, slug: &str) -> Option<KnownPolicy> {
        let path = agent_file(slug)?;
        let on_disk = path.on_disk(&self.root);
        if !is_within(&self.root, &on_disk) {
            return None;
        }
        let stamp = Stamp::of(&on_disk.symlink_metadata().ok()?);
        // A file that is older than the file system's clock can tell apart does not change unseen.
        if let Some(known) = self.all().get(slug).filter(|known| known.stamp == stamp && is_settled(stamp)) {
            return Some(known.clone());
        }
        let known = match read(&self.root, &path, MAX_BYTES) {
            Ok(source) => {
                let (policy, given) = parse(&source.text);
                let policy = policy.with_folders(&self.collections).of_agent(slug);
                KnownPolicy { stamp: source.stamp, policy: Arc::new(policy), given }
            }
            Err(ReadError::Gone) => return None,
            Err(error) => {
                KnownPolicy { stamp, policy: Arc::new(Policy::nothing(error.to_string())), given: Value::Null }
            }
        };
        for problem in &known.policy.problems {
            tracing::warn!("{path}: {problem}; the agent reads and writes nothing");
        }
        self.all().insert(slug.to_owned(), known.clone());
        Some(known)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, KnownPolicy>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(text: &str) -> (Policy, Value) {
    let note = Note::parse(text, "agent");
    if note.visibility == Visibility::Private(PrivateReason::BrokenFrontmatter) {
        return (Policy::nothing("its frontmatter cannot be read"), Value::Null);
    }
    let policy = Policy::parse(&note.metadata);
    let given = json!({
        "rules": policy.rules,
        "write_mode": policy.write_mode,
        "expires": policy.expires,
        "session_headers": policy.session_headers,
        "shares_memory_with": policy.shares_memory_with,
        "limits": policy.limits,
        "problems": policy.problems.len(),
    });
    (policy, given)
}

/// Where an agent's page is; `None` for what is no agent's name.
pub(crate) fn agent_file(slug: &str) -> Option<VaultPath> {
    is_slug(slug).then(|| VaultPath::new(format!("{AGENTS}/{slug}/agent.md")).ok()).flatten()
}

/// Whether a text can be the name of an agent's folder: what [`slug`] makes of names.
pub(crate) fn is_slug(text: &str) -> bool {
    !text.is_empty() && slug(text) == text
}

/// No folder on the way is a symbolic link.
fn is_within(root: &Path, file: &Path) -> bool {
    let folders = file.ancestors().skip(1).take_while(|folder| *folder != root);
    folders.into_iter().all(|folder| folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()))
}

fn is_settled(stamp: Stamp) -> bool {
    let now = jiff::Timestamp::now().as_nanosecond() as i64;
    now.saturating_sub(stamp.mtime_ns.max(stamp.ctime_ns)) > 2_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
