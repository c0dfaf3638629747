//! Where something was forgotten, and who could read it there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::access::rules::{Grant, is_agents, own_file};
use crate::base::path::{VaultPath, folded};
use crate::base::state::DigestKey;

/// A note out of which something goes for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgottenNote {
    /// The note.
    pub path: VaultPath,
    /// Its tags, and what may be meant as some.
    pub tags: Vec<String>,
    /// Whether no agent reads it.
    pub private: bool,
    /// Whether it was made of other notes, and is seen where those are.
    pub derived: bool,
    /// The agents that could read it.
    pub readers: Vec<String>,
    /// Whether all of it goes: then its name is not kept either.
    pub gone: bool,
}

/// Whose tombstones count.
#[derive(Debug, Clone, Copy)]
pub enum TombstoneScope<'a> {
    /// All of them: for what programs send.
    All,
    /// Those of what an agent could read.
    Agent(&'a AgentReach),
}

/// What an agent may read now.
#[derive(Debug, Clone)]
pub struct AgentReach {
    /// The agent.
    pub slug: String,
    /// Whose own memory it reads.
    pub own: Vec<String>,
    /// What of the person's memory it was given.
    pub grant: Option<Arc<Grant>>,
}

/// What is kept of a place: no name of what is gone, and of tags digests alone.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredForgottenNote {
    /// The note, while it is there.
    pub(super) path: Option<String>,
    collection: String,
    /// Whose own memory it is of.
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    private: bool,
    derived: bool,
    /// Those that could read it then.
    pub(super) readers: Vec<String>,
}

/// The folder that stands for a note that is gone for good: its collection, or the folder of an agent.
pub(crate) fn folder_of(path: &VaultPath) -> String {
    match own_slug(path.as_str()) {
        Some(slug) => format!("agents/{slug}/"),
        None => path.as_str().split_once('/').map_or_else(|| "./".into(), |(top, _)| format!("{top}/")),
    }
}

fn own_slug(path: &str) -> Option<&str> {
    let rest = path.split_once('/').filter(|_| is_agents(path))?.1;
    rest.split_once('/').map(|(slug, _)| slug)
}

/// Whether a file is an agent's own memory, which it reads: its page and what waits for the person are not.
fn is_own(path: &str) -> bool {
    own_slug(path).is_some_and(|slug| own_file(slug, path).is_some())
}

impl ForgottenNote {
    /// As the person is shown it.
    pub(super) fn shown(&self) -> String {
        if self.gone { folder_of(&self.path) } else { self.path.to_string() }
    }

    pub(super) fn kept(&self, key: &DigestKey) -> StoredForgottenNote {
        let above = |tag: &String| {
            let tag = folded(tag);
            let ends = tag.match_indices('/').map(|(at, _)| at).chain([tag.len()]);
            ends.map(|end| digest_of(key, &tag[..end])).collect::<Vec<_>>()
        };
        let mut tags: Vec<String> = self.tags.iter().flat_map(above).collect();
        tags.sort_unstable();
        tags.dedup();
        StoredForgottenNote {
            path: (!self.gone).then(|| self.path.to_string()),
            collection: self.path.collection().to_owned(),
            agent: own_slug(self.path.as_str()).map(str::to_owned),
            tags,
            private: self.private || (is_agents(self.path.as_str()) && !is_own(self.path.as_str())),
            derived: self.derived,
            readers: self.readers.clone(),
        }
    }
}

fn digest_of(key: &DigestKey, tag: &str) -> String {
    key.digest("tag", &[tag.as_bytes()]).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl StoredForgottenNote {
    /// Whether somebody could read what was there, by the rules as they are now. In doubt not: then the text is kept as any is.
    pub(super) fn is_in(&self, reach: TombstoneScope<'_>, key: &DigestKey) -> bool {
        let TombstoneScope::Agent(agent) = reach else { return true };
        if let Some(slug) = &self.agent {
            return !self.private && agent.own.contains(slug) && self.path.as_deref().is_none_or(is_own);
        }
        if is_agents(&self.collection) {
            return false;
        }
        let Some(grant) = agent.grant.as_deref() else { return false };
        let read_it_then = || self.readers.contains(&agent.slug);
        let excluded = |tag: &String| self.tags.contains(&digest_of(key, tag));
        !self.private
            && grant.has_collection(&self.collection)
            && !grant.exclude_tags.iter().any(excluded)
            && !grant.hidden_sessions().any(|(mark, own)| excluded(&mark) && !own.is_some_and(|own| excluded(&own)))
            && match &self.path {
                Some(path) => grant.has_path(path),
                None => !grant.has_path_rules() || read_it_then(),
            }
            && (!self.derived || read_it_then())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::rules::GrantedCollections;
    use crate::base::state::State;

    fn place(path: &str, tags: &[&str], gone: bool) -> ForgottenNote {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let path = VaultPath::new(path).unwrap();
        ForgottenNote { path, tags, private: false, derived: false, readers: vec!["ada".into()], gone }
    }

    #[test]
    fn an_agent_is_held_to_what_it_could_read() {
        let folder = tempfile::tempdir().unwrap();
        let key = State::in_folder(folder.path()).key_or_new().unwrap();
        let globs = |glob: &str| crate::access::rules::Globs::new(&[glob]).unwrap();
        let grant = |collections: GrantedCollections, tag: &str, allowed: Option<&str>| Grant {
            collections,
            exclude_tags: vec![tag.to_owned()],
            allowed: allowed.map(globs),
            denied: crate::access::rules::Globs::default(),
            scopes: None,
            parts: Vec::new(),
            sessions: Vec::new(),
            own: "ada".into(),
        };
        let reads = |place: &ForgottenNote, slug: &str, grant: Option<Grant>| {
            let reach = AgentReach { slug: slug.into(), own: vec![slug.into()], grant: grant.map(Arc::new) };
            place.kept(&key).is_in(TombstoneScope::Agent(&reach), &key)
        };
        let all = |tag: &str| Some(grant(GrantedCollections::All, tag, None));
        let session = |agent: &str| place("conversations/s.md", &[&format!("@session/direct/{agent}")], false);
        assert!(reads(&session("ada"), "ada", all("x")) && !reads(&session("bob"), "ada", all("x")));
        let diary = place("notes/diary.md", &["Health/Teeth"], false);
        assert!(diary.kept(&key).is_in(TombstoneScope::All, &key));
        assert!(reads(&diary, "ada", all("work")) && reads(&diary, "new", all("work")));
        assert!(
            !reads(&diary, "ada", None)
                && !reads(&diary, "ada", all("health"))
                && !reads(&diary, "ada", all("health/teeth"))
        );
        assert!(!reads(&diary, "ada", Some(grant(GrantedCollections::These(vec!["files".into()]), "x", None))));
        assert!(!reads(&diary, "ada", Some(grant(GrantedCollections::All, "x", Some("notes/work/**")))));
        assert!(reads(&diary, "ada", Some(grant(GrantedCollections::All, "x", Some("notes/d*")))));
        let gone = place("notes/diary.md", &[], true);
        let ruled = || Some(grant(GrantedCollections::All, "x", Some("notes/d*")));
        assert!(reads(&gone, "ada", ruled()) && !reads(&gone, "new", ruled()), "its name is not known any more");
        assert!(!reads(&ForgottenNote { private: true, ..diary.clone() }, "ada", all("x")));
        assert!(!reads(&ForgottenNote { derived: true, ..diary.clone() }, "new", all("x")));
        let own = place("agents/ada/memory/n.md", &[], true);
        assert!(reads(&own, "ada", None) && !reads(&own, "bob", all("x")));
        for path in ["agents/ada/agent.md", "agents/ada/pending.md", "agents/ada/archive.md", "agents/loose.md"] {
            for gone in [false, true] {
                assert!(!reads(&place(path, &[], gone), "ada", all("x")), "{path}");
            }
        }
        assert_eq!(
            (own.shown().as_str(), gone.shown().as_str(), diary.shown().as_str()),
            ("agents/ada/", "notes/", "notes/diary.md")
        );
        let kept = serde_json::to_string(&place("notes/diary.md", &["Health/Teeth"], true).kept(&key)).unwrap();
        assert!(!kept.to_lowercase().contains("teeth") && !kept.contains("diary"), "{kept}");
    }
}
