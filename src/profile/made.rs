//! Makes `profile/profile.md`, and says whether it is to be made anew.

use serde_json::{Map, Value};

use super::compose::{Contribution, body, compare, contributions, count};
use crate::config::{MemoryScope, PROFILE_TOKENS};
use crate::derive::entries::{EntryShelf, MemoryEntry, MemoryHolder};
use crate::derive::generated::{GeneratedNote, compose_generated};
use crate::fs::crash;
use crate::items::entries_path;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, Workspace, trust_of_place};
use crate::vault::{Action, CheckpointId, until_written};
use crate::wire::{ProfileMade, ProfileState};

/// The page.
pub(super) const PROFILE: &str = "profile/profile.md";
/// Its frontmatter.
const VERSION: &str = "version";
const CONTRIBUTIONS: &str = "contributions";

/// The page as it is, and what it would be made of.
pub(super) struct ProfilePage {
    path: VaultPath,
    /// What it says, with the hash to name when it is written over.
    text: Option<(String, blake3::Hash)>,
    pub(super) state: ProfileState,
    now: Vec<Contribution>,
}

impl ProfilePage {
    /// Reads it, and all that it is made of.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, RequestError> {
        let path = VaultPath::new(PROFILE).map_err(|error| RequestError::internal(error.to_string()))?;
        let on_disk = path.on_disk(workspace.home().root());
        let text = match std::fs::read(&on_disk) {
            Ok(bytes) => {
                let hash = blake3::hash(&bytes);
                let refused = |_| RequestError::conflict(format!("`{path}` is not text"));
                Some((String::from_utf8(bytes).map_err(refused)?, hash))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(RequestError::unavailable(
                    format!("`{path}` cannot be read: {error}"),
                    "look at its permissions",
                ));
            }
        };
        let now = of_person(workspace)?;
        let made = text.as_ref().and_then(|(text, _)| GeneratedNote::read(text));
        let known: Vec<String> = made.iter().flat_map(|made| texts(&made.metadata, CONTRIBUTIONS)).collect();
        let (new, outdated) = compare(&known, &now);
        let version = made.as_ref().and_then(|made| made.metadata.get(VERSION)?.as_u64()).unwrap_or(0);
        let is_persons = match &made {
            Some(made) => made.is_edited,
            None => text.is_some(),
        };
        let state =
            ProfileState { path: path.to_string(), version, contributions: count(&known), new, outdated, is_persons };
        Ok(Self { path, text, state, now })
    }

    /// Whether it is time to make it.
    fn is_due(&self, after: usize) -> bool {
        !self.state.is_persons
            && (self.state.outdated || self.state.new >= after || (self.state.version == 0 && self.state.new > 0))
    }
}

/// What says who the person is.
fn of_person(workspace: &Workspace) -> Result<Vec<Contribution>, RequestError> {
    let entries = workspace.layers().entries(&MemoryHolder::Person)?;
    let entries_path = entries_path(&MemoryHolder::Person, EntryShelf::Known)?;
    let facts = workspace.ledger().book(&MemoryScope::User)?;
    let now = jiff::Timestamp::now().as_millisecond();
    let entries = as_trusted(workspace, entries.entries());
    Ok(contributions((&entries, entries_path.as_str()), (facts.true_at(now), facts.path.as_str()), now))
}

/// Entries, each trusted no more than what it was learned from.
fn as_trusted(workspace: &Workspace, entries: &[MemoryEntry]) -> Vec<MemoryEntry> {
    let snapshot = workspace.shared().snapshot();
    let mut entries = entries.to_vec();
    if let Some(snapshot) = &snapshot {
        for entry in &mut entries {
            let of_sources = entry.sources.iter().map(|place| trust_of_place(snapshot.files(), place));
            entry.trust = of_sources.fold(entry.trust, Ord::min);
        }
    }
    entries
}

fn texts(metadata: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = metadata.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Makes the profile anew, whether it is time or not.
///
/// # Errors
/// When the page is the person's, the index is not open yet, something it is made of cannot be read, or the disk refuses.
pub(crate) fn regenerate(owner: &Owner) -> Result<ProfileMade, RequestError> {
    // Before the index is open, nobody knows how far the sources of entries are trusted.
    owner.now()?;
    let page = ProfilePage::read(owner.workspace())?;
    if page.state.is_persons {
        let hint = format!("it is given as it is; move `{PROFILE}` away to have one made");
        let message = "the profile was written or edited by a person, and is not written over";
        return Err(RequestError { hint: Some(hint), ..RequestError::conflict(message) });
    }
    let checkpoint = make(owner.workspace(), |_| true)?;
    let state = ProfilePage::read(owner.workspace())?.state;
    Ok(ProfileMade { ok: true, state, checkpoint_id: checkpoint.map(|id| id.to_string()) })
}

/// Makes the profile where it is time to; gives what undoes that.
///
/// # Errors
/// As [`regenerate`].
pub(super) fn refresh(workspace: &Workspace) -> Result<Option<CheckpointId>, RequestError> {
    if workspace.shared().snapshot().is_none() {
        // How far the sources of entries are trusted is not known yet.
        return Ok(None);
    }
    let after = workspace.config().memory.regenerate_after;
    make(workspace, |page| page.is_due(after))
}

fn make(workspace: &Workspace, is_wanted: impl Fn(&ProfilePage) -> bool) -> Result<Option<CheckpointId>, RequestError> {
    let files = workspace.files()?;
    let _one = files.one_generation();
    until_written(|| {
        let page = ProfilePage::read(workspace)?;
        if page.state.is_persons || !is_wanted(&page) {
            return Ok(Ok(None));
        }
        let (body, keys, sources) = body(&page.now, PROFILE_TOKENS);
        let before = page.text.as_ref().and_then(|(text, _)| GeneratedNote::read(text));
        let known: Vec<String> = before.iter().flat_map(|made| texts(&made.metadata, CONTRIBUTIONS)).collect();
        let is_same = before.as_ref().is_some_and(|made| made.body.trim() == body.trim()) && known == keys;
        if is_same || (page.text.is_none() && keys.is_empty()) {
            return Ok(Ok(None));
        }
        let mut own = Map::new();
        own.insert("title".into(), "Profile".into());
        own.insert(VERSION.into(), (page.state.version + 1).into());
        own.insert(CONTRIBUTIONS.into(), keys.into());
        let text = compose_generated(&own, &sources, &body, before.as_ref())
            .map_err(|error| RequestError::conflict(format!("`{PROFILE}`: {error}")))?;
        crash::point("profile-made");
        let act = Action::Edit.done_by("profile");
        let written = match page.text {
            Some((_, hash)) => files.replace(&page.path, hash, &text, act),
            None => files.create_for(&page.path, &text, Action::Create.done_by("profile")),
        };
        Ok(written.map(Some))
    })
}
