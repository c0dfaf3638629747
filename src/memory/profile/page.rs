//! The page `profile/profile.md`: made where it is time to, and shown with all else that says who the person is.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use super::compose::{Contribution, body, compare, contributions, keys};
use super::user::fill_in;
use crate::access::request::{Owner, RequestError, Workspace, trust_of_place};
use crate::base::config::{MemoryScope, PROFILE_TOKENS};
use crate::base::fs::FsError;
use crate::base::path::VaultPath;
use crate::base::tasks::{Task, TaskSignal};
use crate::memory::generated_files::{GeneratedError, GeneratedFile, Generator};
use crate::serve::wire::{ProfileMade, ProfileState, ProfileView, UserView};
use crate::text::derive::{USER_FILE, UserPage};
use crate::text::note::Note;
use crate::vault::disk::{CheckpointId, ReadError, until_written};

/// The page.
const PROFILE: &str = "profile/profile.md";
/// What the person says in any case.
const OVERRIDES: &str = "profile/overrides.md";
/// Frontmatter of the page.
const VERSION: &str = "version";
const CONTRIBUTIONS: &str = "contributions";
/// The longest time between two looks, where nothing is heard of a change: what is true until a day is true no more on the next.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// The page as it is, and what it would be made of.
struct ProfilePage {
    /// `None` where a person has written it.
    file: Option<GeneratedFile>,
    /// The keys of what it was made of.
    known: Vec<String>,
    now: Vec<Contribution>,
    state: ProfileState,
}

impl ProfilePage {
    /// Reads it, and all that it is made of.
    fn read(workspace: &Workspace) -> Result<Self, RequestError> {
        let path = VaultPath::new(PROFILE).map_err(|error| RequestError::internal(error.to_string()))?;
        let there = match std::fs::read(path.on_disk(workspace.home().root())) {
            Ok(bytes) => {
                let hash = blake3::hash(&bytes);
                Some((bytes, hash))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                let message = format!("`{path}` cannot be read: {error}");
                return Err(RequestError::unavailable(message, "check its permissions"));
            }
        };
        let file = GeneratedFile::of(path, there);
        let note = file.as_ref().and_then(GeneratedFile::note);
        let listed = note.and_then(|note| note.metadata.get(CONTRIBUTIONS)?.as_array());
        let known: Vec<String> =
            listed.into_iter().flatten().filter_map(|key| Some(key.as_str()?.to_owned())).collect();
        let now = of_person(workspace)?;
        let (new, outdated) = compare(&known, &keys(&now));
        let version = note.and_then(|note| note.metadata.get(VERSION)?.as_u64()).unwrap_or(0);
        let is_persons = file.as_ref().is_none_or(GeneratedFile::is_edited);
        let contributions = known.len();
        let state = ProfileState { path: PROFILE.to_owned(), version, contributions, new, outdated, is_persons };
        Ok(Self { file, known, now, state })
    }

    /// Whether it is time to make it.
    fn is_due(&self, after: usize) -> bool {
        self.state.outdated || self.state.new >= after || (self.state.version == 0 && self.state.new > 0)
    }
}

/// What says who the person is: entries are trusted no more than what they were learned from.
fn of_person(workspace: &Workspace) -> Result<Vec<Contribution>, RequestError> {
    let known = workspace.entry_store().entries(&MemoryScope::User)?;
    let facts = workspace.fact_store().book(&MemoryScope::User)?;
    let now = jiff::Timestamp::now().as_millisecond();
    let mut entries = known.entries.clone();
    if let Some(snapshot) = workspace.shared().snapshot() {
        for entry in &mut entries {
            let of_sources = entry.sources.iter().map(|place| trust_of_place(snapshot.files(), place));
            entry.trust = of_sources.fold(entry.trust, Ord::min);
        }
    }
    Ok(contributions((&entries, known.path.as_str()), (facts.true_at(now), facts.path.as_str()), now))
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
        let hint = format!("it is used unchanged; to have one made, move `{PROFILE}` away");
        let message = "a person wrote or edited the profile, so it is not overwritten";
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
fn refresh(workspace: &Workspace) -> Result<Option<CheckpointId>, RequestError> {
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
        let Some(file) = page.file.as_ref().filter(|_| !page.state.is_persons && is_wanted(&page)) else {
            return Ok(Ok(None));
        };
        let (body, sources) = body(&page.now, PROFILE_TOKENS);
        let keys = keys(&page.now);
        let is_same = file.note().is_some_and(|made| made.body.trim() == body.trim()) && page.known == keys;
        if is_same || (file.note().is_none() && keys.is_empty()) {
            return Ok(Ok(None));
        }
        let mut own = Map::new();
        own.insert("title".into(), "Profile".into());
        own.insert(VERSION.into(), (page.state.version + 1).into());
        own.insert(CONTRIBUTIONS.into(), keys.into());
        match file.write(files, Generator::Profile, &own, &sources, &body) {
            Ok(id) => Ok(Ok(Some(id))),
            Err(GeneratedError::Write(error)) => Ok(Err(error)),
            Err(error) => Err(RequestError::conflict(error.to_string())),
        }
    })
}

/// The whole profile.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn profile(owner: &Owner) -> Result<ProfileView, RequestError> {
    let state = ProfilePage::read(owner.workspace())?.state;
    let user = text(owner, USER_FILE)?.map(|text| {
        let note = Note::parse(&text, "USER");
        let page = UserPage::read(&note.metadata);
        UserView {
            name: page.name,
            timezone: page.timezone,
            latitude: page.latitude,
            longitude: page.longitude,
            location_place: page.location_place,
            location_updated_at: page.location_updated_at,
            text: text[note.body].trim().to_owned(),
        }
    });
    let body = |path: &str| {
        let text = text(owner, path)?;
        Ok::<_, RequestError>(text.map(|text| text[Note::parse(&text, "").body].trim().to_owned()))
    };
    Ok(ProfileView {
        overrides: body(OVERRIDES)?,
        user,
        profile: body(PROFILE)?,
        state,
        regenerate_after: owner.workspace().config().memory.regenerate_after,
    })
}

fn text(owner: &Owner, path: &str) -> Result<Option<String>, RequestError> {
    let path = VaultPath::new(path).map_err(|error| RequestError::internal(error.to_string()))?;
    match owner.workspace().source(&path) {
        Ok(source) => Ok(Some(source.text)),
        Err(ReadError::Gone) => Ok(None),
        Err(error) => Err(RequestError::unavailable(format!("`{path}`: {error}"), "try again in a moment")),
    }
}

/// Starts the task.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn keep_profile(workspace: &Arc<Workspace>) -> Result<Task, FsError> {
    let (vault, signal) = (Arc::clone(workspace), TaskSignal::default());
    vault.shared().wakes(&signal);
    Task::start("profile", signal, move |_, _| {
        if let Err(error) = fill_in(&vault).and_then(|()| refresh(&vault)) {
            tracing::warn!("the profile is not made anew: {error}");
        }
        Some(LOOK_EVERY)
    })
}
