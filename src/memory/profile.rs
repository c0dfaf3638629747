//! The profile of the person: `profile/overrides.md`, which is theirs alone, `USER.md`, which is written as far as they let the program, and
//! `profile/profile.md`: what it says, out of entries and facts, by rules alone; made where it is time to, and shown with all else that says who
//! the person is.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::access::request::{Owner, RequestError, Workspace, now, trust_of_place};
use crate::base::config::{MemoryKind, MemoryScope, PROFILE_TOKENS, ProfileWriteMode};
use crate::base::fs::{FsError, crash};
use crate::base::path::VaultPath;
use crate::base::tasks::{Task, TaskSignal};
use crate::memory::generated_files::{self, GeneratedError, GeneratedFile};
use crate::serve::wire::{ProfileMade, ProfileState, ProfileView, UserSet, UserSetParams};
use crate::text::derive::entries::{MemoryEntry, TrustLevel};
use crate::text::derive::facts::Fact;
use crate::text::derive::generated::listed_bytes;
use crate::text::derive::{USER_FILE, UserPage, token_estimate};
use crate::text::note::{Note, compose, with_property};
use crate::vault::disk::{Act, Action, CheckpointId, NoteEdit, ReadError, until_written};

/// The page.
const PROFILE: &str = "profile/profile.md";
/// What the person says in any case.
const OVERRIDES: &str = "profile/overrides.md";
/// Frontmatter of the page.
const VERSION: &str = "version";
/// The longest time between two looks, where nothing is heard of a change: what is true until a day is true no more on the next.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// The page as it is, and what it would be made of.
struct ProfilePage {
    /// `None` where a person has written it.
    file: Option<GeneratedFile>,
    /// What it would say, and the notes that it would be made of.
    body: String,
    sources: Vec<String>,
    state: ProfileState,
}

impl ProfilePage {
    /// Reads it, and all that it is made of.
    fn read(workspace: &Workspace) -> Result<Self, RequestError> {
        let path = VaultPath::new(PROFILE).map_err(|error| RequestError::internal(error.to_string()))?;
        let there = match std::fs::read(path.on_disk(workspace.home.root())) {
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
        let (body, sources) = body(&of_person(workspace)?, PROFILE_TOKENS);
        let before = note.map_or("", |note| &note.body);
        let (new, outdated) = compare(before, &body);
        let version = note.and_then(|note| note.metadata.get(VERSION)?.as_u64()).unwrap_or(0);
        let is_persons = file.as_ref().is_none_or(GeneratedFile::is_edited);
        let contributions = items(before).count();
        let state = ProfileState { path: PROFILE.to_owned(), version, contributions, new, outdated, is_persons };
        Ok(Self { file, body, sources, state })
    }

    /// Whether it is time to make it.
    fn is_due(&self, after: usize) -> bool {
        self.state.outdated || self.state.new >= after || (self.state.version == 0 && self.state.new > 0)
    }
}

/// What says who the person is: entries are trusted no more than what they were learned from.
fn of_person(workspace: &Workspace) -> Result<Vec<Contribution>, RequestError> {
    let known = workspace.entry_store.entries(&MemoryScope::User)?;
    let facts = workspace.fact_store.book(&MemoryScope::User)?;
    let now = jiff::Timestamp::now().as_millisecond();
    let mut entries = known.entries.clone();
    if let Some(snapshot) = workspace.shared.snapshot() {
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
    if workspace.shared.snapshot().is_none() {
        // How far the sources of entries are trusted is not known yet.
        return Ok(None);
    }
    let after = workspace.config.memory.regenerate_after;
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
        let is_same = file.note().map_or("", |made| made.body.trim()) == page.body.trim();
        if is_same {
            return Ok(Ok(None));
        }
        let mut own = Map::new();
        own.insert("title".into(), "Profile".into());
        own.insert(VERSION.into(), (page.state.version + 1).into());
        match file.write(files, generated_files::PROFILE, &own, &page.sources, &page.body) {
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
        UserPage { text: text[note.body].trim().to_owned(), ..UserPage::read(&note.metadata) }
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
        regenerate_after: owner.workspace().config.memory.regenerate_after,
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
    vault.shared.wakes(&signal);
    Task::start("profile", signal, move |_, _| {
        if let Err(error) = refresh(&vault) {
            tracing::warn!("the profile is not made anew: {error}");
        }
        Some(LOOK_EVERY)
    })
}

/// Headings of `facts.md`, in lower case, below which facts are about the person.
const ABOUT_PERSON: [&str; 16] = [
    "profile", "about me", "me", "user", "personal", "profil", "über mich", "persönlich", "a propos",
    "à propos de moi", "perfil", "sobre mí", "profilo", "профиль", "个人资料", "プロフィール",
];
/// Maximum length of the sources that the page names in its frontmatter, in bytes; the frontmatter is read up to 64
/// KiB.
const MAX_SOURCE_BYTES: usize = 24 << 10;
/// What is less sure is no part of a profile.
const SURE: f64 = 0.5;

/// Something that the profile is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Contribution {
    heading: &'static str,
    text: String,
    /// Where it is from.
    sources: Vec<String>,
}

/// The headings, in their order.
const HEADINGS: [&str; 5] = ["Facts", "Preferences", "Skills", "People", "Commitments"];

fn heading(kind: MemoryKind) -> Option<&'static str> {
    match kind {
        MemoryKind::Fact | MemoryKind::Correction => Some("Facts"),
        MemoryKind::Preference => Some("Preferences"),
        MemoryKind::Skill => Some("Skills"),
        MemoryKind::Relationship => Some("People"),
        MemoryKind::Commitment => Some("Commitments"),
        // What was decided is about a thing, not about somebody.
        MemoryKind::Decision => None,
    }
}

/// What of the person's entries, and of facts that are true with their values, says who the person is, at a moment. Nothing that is not the person's own word.
fn contributions<'a>(
    (entries, entries_path): (&[MemoryEntry], &str),
    (facts, facts_path): (impl Iterator<Item = (&'a Fact, &'a str)>, &str),
    at: i64,
) -> Vec<Contribution> {
    let counts =
        |entry: &&MemoryEntry| entry.counts_at(at) && entry.trust == TrustLevel::Person && entry.confidence >= SURE;
    let mut known: Vec<&MemoryEntry> = entries.iter().filter(counts).collect();
    known.sort_by(|one, two| two.confidence.total_cmp(&one.confidence).then(one.line_start.cmp(&two.line_start)));
    let of_entry = |entry: &&MemoryEntry| {
        let sources = std::iter::once(format!("{entries_path}#^{}", entry.id)).chain(entry.sources.iter().cloned());
        Contribution::new(heading(entry.kind)?, &entry.text, sources.collect())
    };
    let of_fact = |(fact, value): (&Fact, &str)| {
        let first = fact.namespace.split('/').next().unwrap_or_default();
        let is_so = ABOUT_PERSON.contains(&first);
        let source = format!("{facts_path}#L{}", fact.line);
        is_so.then(|| Contribution::new("Facts", &format!("{}: {value}", fact.key), vec![source]))?
    };
    let mut all: Vec<Contribution> = facts.filter_map(of_fact).collect();
    all.sort_by(|one, two| one.text.cmp(&two.text));
    all.extend(known.iter().filter_map(of_entry));
    all
}

impl Contribution {
    fn new(heading: &'static str, text: &str, sources: Vec<String>) -> Option<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_place = |source: &String| !source.contains(['[', ']', '\n']);
        (!text.is_empty() && sources.iter().all(is_place)).then_some(Self { heading, text, sources })
    }

    /// The notes that it is from.
    fn notes(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.split('#').next().unwrap_or_default())
    }

    fn line(&self) -> String {
        let end = if self.text.ends_with(['.', '!', '?', '。', '؟', '।']) { "" } else { "." };
        let sources: String = self.sources.iter().map(|source| format!(" ^[{source}]")).collect();
        format!("- {}{end}{sources}\n", self.text)
    }
}

/// The body of the profile, and the notes that it was made of. What does not fit into so many tokens is left out at whole lines, the least
/// sure first, and so is what has more sources than there is room for.
fn body(contributions: &[Contribution], max_tokens: usize) -> (String, Vec<String>) {
    let mut left = max_tokens;
    let mut taken: Vec<&Contribution> = Vec::new();
    let (mut sources, mut source_bytes) = (HashSet::new(), 0);
    for contribution in contributions {
        let tokens = token_estimate(&contribution.line());
        let new: HashSet<&str> = contribution.notes().filter(|note| !sources.contains(note)).collect();
        let bytes: usize = new.iter().copied().map(listed_bytes).sum();
        if tokens <= left && source_bytes + bytes <= MAX_SOURCE_BYTES {
            (left, source_bytes) = (left - tokens, source_bytes + bytes);
            sources.extend(new);
            taken.push(contribution);
        }
    }
    let mut text = String::new();
    for heading in HEADINGS {
        let lines: String = taken.iter().filter(|one| one.heading == heading).map(|one| one.line()).collect();
        if !lines.is_empty() {
            text += &format!("## {heading}\n\n{lines}\n");
        }
    }
    let mut sources: Vec<String> = sources.into_iter().map(str::to_owned).collect();
    sources.sort_unstable();
    (text, sources)
}

/// The items of a page.
fn items(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter(|line| line.starts_with("- "))
}

/// How many items are new, and whether one that was there is gone or says something else.
fn compare(before: &str, now: &str) -> (usize, bool) {
    let (known, said): (HashSet<&str>, HashSet<&str>) = (items(before).collect(), items(now).collect());
    (said.difference(&known).count(), !known.is_subset(&said))
}

/// Maximum length of a name or a place.
const MAX_CHARS: usize = 200;
/// A tenth of a degree is a town, about ten kilometres.
const TOWN: f64 = 10.0;

/// Writes what is said into the frontmatter of `USER.md`; an empty text takes a field away. All else in it stays.
///
/// # Errors
/// When the settings keep the program from writing it, a value makes no sense, or the disk refuses.
pub(crate) fn set_user(owner: &Owner, params: &UserSetParams) -> Result<UserSet, RequestError> {
    let workspace = owner.workspace();
    if workspace.config.memory.user_profile_write_mode == ProfileWriteMode::Off {
        let hint = format!("edit {USER_FILE} yourself, or change `[memory] user_profile_write_mode`");
        let message = format!("only you may edit {USER_FILE}: `user_profile_write_mode` is \"off\"");
        return Err(RequestError { hint: Some(hint), ..RequestError::forbidden(message) });
    }
    let set = checked(params)?;
    if set.is_empty() {
        return Err(RequestError::invalid("there is nothing to write"));
    }
    let path = VaultPath::new(USER_FILE).map_err(|error| RequestError::internal(error.to_string()))?;
    let act = |is_new| Act::from(if is_new { Action::Create } else { Action::Edit });
    let checkpoint = workspace.files()?.edit(&path, act, |bytes| {
        let refused = |_| RequestError::conflict(format!("`{path}` is not text; nothing was written"));
        let before = bytes.map(std::str::from_utf8).transpose().map_err(refused)?.unwrap_or_default();
        let text = with_fields(before, &set);
        if text == before {
            return Ok(NoteEdit::Stays);
        }
        crash::point("user-page-made");
        Ok::<_, RequestError>(NoteEdit::Text(text))
    })?;
    Ok(UserSet { ok: true, path: USER_FILE.to_owned(), checkpoint_id: checkpoint.map(|id| id.to_string()) })
}

/// What is to stand in the frontmatter.
fn checked(params: &UserSetParams) -> Result<Map<String, Value>, RequestError> {
    let mut set = Map::new();
    for (field, text) in
        [("name", &params.name), ("timezone", &params.timezone), ("location_place", &params.location_place)]
    {
        let Some(text) = text else { continue };
        let text = text.trim();
        if text.chars().count() > MAX_CHARS || text.chars().any(char::is_control) {
            return Err(RequestError::invalid(format!("`{field}` takes a line of up to {MAX_CHARS} characters")));
        }
        if field == "timezone" && !text.is_empty() && jiff::tz::TimeZone::get(text).is_err() {
            return Err(RequestError::invalid(format!(
                "`timezone` is `{text}`; it takes a name such as Europe/Vienna"
            )));
        }
        set.insert(field.into(), text.into());
    }
    for (field, degrees, most) in [("latitude", params.latitude, 90.0), ("longitude", params.longitude, 180.0)] {
        let Some(degrees) = degrees else { continue };
        if !(-most..=most).contains(&degrees) {
            return Err(RequestError::invalid(format!("`{field}` is {degrees}; it takes -{most} to {most}")));
        }
        let exact = params.exact == Some(true);
        set.insert(field.into(), json!(if exact { degrees } else { (degrees * TOWN).round() / TOWN }));
    }
    if ["latitude", "longitude", "location_place"].iter().any(|field| set.contains_key(*field)) {
        set.insert("location_updated_at".into(), now().into());
    }
    Ok(set)
}

/// The page with these fields in its frontmatter; those that are empty are taken away. Every other byte stays, as far as that can be had.
fn with_fields(before: &str, set: &Map<String, Value>) -> String {
    let is_said = |value: &Value| value.as_str() != Some("");
    let note = Note::parse(before, "USER");
    if !note.metadata.is_empty() && set.values().all(is_said) {
        let mut fields = set.iter();
        let revised = fields.try_fold(before.to_owned(), |text, (key, value)| with_property(&text, key, value));
        if let Some(text) = revised {
            return text;
        }
    }
    let mut frontmatter = note.metadata;
    frontmatter.extend(set.clone());
    frontmatter.retain(|key, value| !set.contains_key(key) || is_said(value));
    compose(&frontmatter, &before[note.body])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::derive::entries::{EntriesFile, EntryFileKind};
    use crate::text::derive::facts::FactsFile;

    fn of(entries: &str, facts: &str) -> Vec<Contribution> {
        let (entries, facts) = (EntriesFile::read(entries, EntryFileKind::Known), FactsFile::read(facts));
        contributions(
            (&entries.entries, "memories/user.md"),
            (facts.facts().map(|fact| (fact, fact.text.as_str())), "facts.md"),
            0,
        )
    }

    #[test]
    fn the_profile_is_the_persons_own_word_with_its_sources() {
        let all = of(
            "- [preference] Prefers tabs (source conversations/a.md#L3) ^e-1\n- [fact] Web says rich (trust web) ^e-2\n\
             - [decision] Use Rust ^e-3\n- [skill] Bakes bread! (confidence 0.9) ^e-4\n- [fact] Perhaps (confidence 0.2) ^e-5\n\
             - [fact] Agent says so (trust agent) ^e-6\n- [fact] Was (until 1960-01-01) ^e-7\n",
            "# Facts\n\n## Profile\n\n- city: Wien\n\n## Project\n\n- branch: main\n",
        );
        let (text, sources) = body(&all, 2_000);
        assert_eq!(
            text,
            "## Facts\n\n- city: Wien. ^[facts.md#L5]\n\n## Preferences\n\n- Prefers tabs. ^[memories/user.md#^e-1] ^[conversations/a.md#L3]\n\n\
             ## Skills\n\n- Bakes bread! ^[memories/user.md#^e-4]\n\n"
        );
        assert_eq!(
            (all.len(), sources),
            (3, vec!["conversations/a.md".to_owned(), "facts.md".into(), "memories/user.md".into()])
        );
        let (short, _) = body(&all, 15);
        assert!(short.contains("Wien") && !short.contains("bread"), "{short}");
    }

    #[test]
    fn of_thousands_those_are_named_that_have_room() {
        let entry = |at| {
            format!("- [fact] Has the thing number {at} (source notes/a longer name of a note {at}.md#L1) ^e-{at:08}\n")
        };
        let all = of(&(0..3_000).map(entry).collect::<String>(), "");
        let (_, sources) = body(&all, 50_000);
        let bytes: usize = sources.iter().map(|text| listed_bytes(text)).sum();
        assert!(all.len() == 3_000 && sources.len() > 300 && bytes <= MAX_SOURCE_BYTES);
    }

    #[test]
    fn what_is_new_is_counted_and_what_is_gone_is_noticed() {
        let body = |entries: &str| body(&of(entries, ""), 2_000).0;
        let known = body("- [fact] Likes tea ^e-1\n");
        assert_eq!(compare(&known, &known), (0, false));
        assert_eq!(compare(&known, &body("- [fact] Likes tea ^e-1\n- [fact] Has a cat ^e-2\n")), (1, false));
        assert_eq!(compare(&known, &body("- [fact] Likes coffee ^e-1\n")), (1, true));
        assert_eq!(compare(&known, ""), (0, true));
    }
}
