//! The agents that a person lets in: who they are, what they may do, and what they read.
//!
//! Who an agent is and what it may do stands in `agents/<slug>/agent.md`, for the person to read and edit. Its token's hash,
//! the session the token is bound to and the log of what it read are the vault's state: a checkout brings no removed agent
//! back.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::access::rules::{AGENTS, Authenticator, Caller, Policy, Principal, Session, Token};
use crate::base::config::{CollectionConfig, Config};
use crate::base::fs::Context;
use crate::base::path::VaultPath;
use crate::base::state::{AgentRow, AgentTable, LogEntry, ReadLog, State, StateError};
use crate::text::note::{Note, Visibility, compose, revise};
use crate::vault::disk::{ReadError, read, slug};

/// The agents of one vault.
#[derive(Debug)]
pub struct AgentRegistry {
    tokens: AgentTable,
    root: PathBuf,
    /// Where memory scopes are.
    collections: Vec<CollectionConfig>,
    /// What pages say, by their bytes.
    pages: Mutex<HashMap<String, (blake3::Hash, Arc<Policy>)>>,
    log: ReadLog,
    rates: RateLimiter,
}

/// The session that an agent's token is bound to.
pub(crate) fn session(row: &AgentRow) -> Session {
    Session { chat_type: row.chat_type.clone(), channel: row.channel.clone() }
}

impl AgentRegistry {
    /// The agents of the vault at `root`.
    pub fn new(root: PathBuf, state: &Arc<State>) -> Self {
        Self {
            tokens: AgentTable::new(state),
            root,
            collections: Vec::new(),
            pages: Mutex::default(),
            log: ReadLog::new(state),
            rates: RateLimiter::default(),
        }
    }

    /// The same in a vault whose memory scopes are in the folders that its configuration says.
    #[must_use]
    pub fn with_folders_of(mut self, config: &Config) -> Self {
        self.collections = config.collections.clone();
        self
    }

    /// What each has read.
    pub fn log(&self) -> &ReadLog {
        &self.log
    }

    /// How often each asks.
    pub fn rates(&self) -> &RateLimiter {
        &self.rates
    }

    /// Gives an agent a token, in place of the one it had. It is shown this once.
    ///
    /// # Errors
    /// When the disk refuses, or the system has no random numbers.
    pub fn give_token(&self, slug: &str, session: Option<Session>) -> Result<Token, StateError> {
        let given = self.page(slug).map(|policy| policy.given.clone()).unwrap_or_default().to_string();
        let token = Token::random().on("get random numbers from", Path::new("the system"))?;
        self.tokens.put(slug, |before| {
            let before = before.as_ref().map(self::session);
            let bound = session.clone().or(before).unwrap_or_else(Session::direct);
            AgentRow {
                slug: slug.to_owned(),
                created_at: Timestamp::now(),
                hash: token.hash(),
                chat_type: bound.chat_type,
                channel: bound.channel,
                given: given.clone(),
                given_since: None,
            }
        })?;
        Ok(token)
    }

    /// Takes an agent's token back: it counts no more, from this moment. Tells whether it had one.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn take_token(&self, slug: &str) -> Result<bool, StateError> {
        self.tokens.remove(slug)
    }

    /// The token that an agent was given, if any.
    ///
    /// # Errors
    /// When the tokens cannot be read.
    pub fn token_of(&self, slug: &str) -> Result<Option<AgentRow>, StateError> {
        Ok(self.tokens.list()?.into_iter().find(|row| row.slug == slug))
    }

    /// An agent as the person's own processes name it; `None` when there is none of that name, or its time is over.
    pub fn named(&self, slug: &str) -> Option<Caller> {
        let policy = self.policy(slug)?;
        let row = self.token_of(slug).ok().flatten();
        row.iter().for_each(|row| self.watch_page(row, &policy.given));
        Some(Caller::new(slug, row.as_ref().map_or_else(Session::direct, session), policy))
    }

    /// What an agent may do now; `None` when there is no such agent, or its time is over.
    pub fn policy(&self, slug: &str) -> Option<Arc<Policy>> {
        self.page(slug).filter(|policy| !policy.is_expired(Timestamp::now()))
    }

    /// Looks at an agent's page, so that what it gives from now on is told from what it gave: rights that were taken back and come
    /// again with a checkout are in the log.
    pub fn look_at_page(&self, slug: &str) {
        if let (Ok(Some(row)), Some(policy)) = (self.token_of(slug), self.page(slug)) {
            self.watch_page(&row, &policy.given);
        }
    }

    /// Notes in the log when an agent's page gives something else than when it was last looked at.
    fn watch_page(&self, known: &AgentRow, given: &Value) {
        let before: Value = serde_json::from_str(&known.given).unwrap_or_default();
        if *given == before {
            return;
        }
        match self.tokens.gives(known, &given.to_string(), Timestamp::now()) {
            Ok(true) => {
                tracing::info!("agents/{}/agent.md now gives {given}, before {before}", known.slug);
                let query = format!("agent.md gives {given}, before {before}");
                let entry = LogEntry::now("page", &query, Vec::new());
                self.log.add(&known.slug, LogEntry { changed: changed(&before, given), ..entry });
            }
            Ok(false) => {}
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

impl AgentRegistry {
    /// The agents whose tokens count, each with its page, and the session of its token.
    ///
    /// # Errors
    /// When the tokens cannot be read.
    #[cfg(feature = "postgres")]
    pub(crate) fn holders(&self) -> Result<Vec<(AgentRow, String)>, StateError> {
        let page = |row: AgentRow| {
            self.policy(&row.slug)?;
            let source = read(&self.root, &agent_file(&row.slug)?, MAX_BYTES).ok()?;
            Some((row, source.text))
        };
        Ok(self.tokens.list()?.into_iter().filter_map(page).collect())
    }
}

impl Authenticator for AgentRegistry {
    /// While tokens cannot be read, nobody has one.
    fn holder(&self, token: &blake3::Hash) -> Option<Principal> {
        let known = self.tokens.holder(token).inspect_err(|error| tracing::warn!("{error}")).ok()??;
        let policy = self.policy(&known.slug)?;
        self.watch_page(&known, &policy.given);
        Some(Principal::Agent(Caller::new(known.slug.as_str(), session(&known), policy)))
    }
}

/// Counts the requests of each agent: those of a minute, by a bucket that fills up again evenly, and those that are under way.
#[derive(Debug, Default)]
pub struct RateLimiter {
    buckets: Mutex<HashMap<String, Bucket>>,
    /// A permit for each that is under way, and one more.
    under_way: Mutex<HashMap<String, RequestPermit>>,
}

/// Maximum number of requests of one agent that are answered at a time.
const AT_A_TIME: usize = 8;
/// Maximum number of requests of one agent that a thread works on: those too that were given up while they hang on a disk.
const AT_WORK: usize = 32;

/// One of those that are under way, until this is dropped. A clone of what is in it would count as another.
#[derive(Debug, Default)]
pub struct RequestPermit(Arc<()>);

/// What a request takes of its agent's room.
#[derive(Debug)]
pub struct RequestPermits {
    /// Until it is answered, or given up.
    pub answered: RequestPermit,
    /// Until nothing works on it any more.
    pub at_work: RequestPermit,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    /// Begins to answer a request; `None` while too many of the agent's are answered, or hang.
    pub fn enter(&self, slug: &str) -> Option<RequestPermits> {
        // No agent has a name with a slash.
        let at_work = format!("{slug}/at work");
        Some(RequestPermits { answered: self.permit(slug, AT_A_TIME)?, at_work: self.permit(&at_work, AT_WORK)? })
    }

    /// Begins one more of these; `None` while `most` are under way.
    pub fn permit(&self, of: &str, most: usize) -> Option<RequestPermit> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let permit = under_way.entry(of.to_owned()).or_default();
        (Arc::strong_count(&permit.0) <= most).then(|| RequestPermit(Arc::clone(&permit.0)))
    }

    /// Counts a request of an agent that may make `per_minute`.
    ///
    /// # Errors
    /// How long it has to wait, when it has made too many.
    pub fn take(&self, slug: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let most = f64::from(per_minute.max(1));
        let a_second = most / 60.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(slug.to_owned()).or_insert(Bucket { left: most, at: now });
        let filled = now.saturating_duration_since(bucket.at).as_secs_f64() * a_second;
        *bucket = Bucket { left: (bucket.left + filled).min(most), at: now };
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64((1.0 - bucket.left) / a_second))
        }
    }
}

/// The keys whose values differ, in the order of the alphabet.
fn changed(before: &Value, after: &Value) -> Vec<String> {
    let keys = |value: &Value| value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect::<Vec<_>>();
    let all: BTreeSet<String> = keys(before).into_iter().chain(keys(after)).collect();
    let said = |value: Option<&Value>| value.map_or_else(|| "not said".to_owned(), Value::to_string);
    let of_key = |key: String| match (before.get(&key), after.get(&key)) {
        (before, after) if before == after => Vec::new(),
        // Of a map those within it.
        (Some(before @ Value::Object(_)), Some(after @ Value::Object(_))) => changed(before, after),
        (before, after) => vec![format!("{key}: {} → {}", said(before), said(after))],
    };
    all.into_iter().flat_map(of_key).collect()
}

/// Maximum size of a page that says what an agent may do, in bytes. None is longer.
const MAX_BYTES: u64 = 1 << 20;

impl AgentRegistry {
    /// The folders in `agents/` that have a page, in alphabetical order.
    pub fn slugs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(AGENTS)).into_iter().flatten().flatten();
        let mut slugs: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|slug| self.page(slug).is_some())
            .collect();
        slugs.sort_unstable();
        slugs
    }

    /// What an agent may do; `None` when there is no such agent. A page that cannot be read allows nothing.
    pub fn page(&self, slug: &str) -> Option<Arc<Policy>> {
        let path = agent_file(slug)?;
        if !is_within(&self.root, &path.on_disk(&self.root)) {
            return None;
        }
        let source = match read(&self.root, &path, MAX_BYTES) {
            Ok(source) => source,
            Err(ReadError::Gone) => return None,
            Err(error) => return Some(Arc::new(Policy::nothing(error.to_string()))),
        };
        let pages = || self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, policy)) = pages().get(slug).filter(|(hash, _)| *hash == source.hash) {
            return Some(Arc::clone(policy));
        }
        let policy = Arc::new(self.policy_on(slug, &source.text));
        pages().insert(slug.to_owned(), (source.hash, Arc::clone(&policy)));
        Some(policy)
    }
}

impl AgentRegistry {
    /// What an agent may do with a page of this text.
    pub(crate) fn policy_on(&self, slug: &str, text: &str) -> Policy {
        policy_on(slug, text, &self.collections)
    }
}

/// What an agent may do with a page of this text, where memory scopes are in these folders.
pub(crate) fn policy_on(slug: &str, text: &str, folders: &[CollectionConfig]) -> Policy {
    let mut policy = parse(text);
    policy.grant = policy.grant.map(|grant| grant.with_folders(folders).of_agent(slug));
    policy
}

fn parse(text: &str) -> Policy {
    let note = Note::parse(text, "agent");
    if note.visibility == Visibility::BrokenFrontmatter {
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
    let usual = [
        ("title", json!(name)),
        ("created", json!(created)),
        ("can_read_user_memory", json!(false)),
        ("collections", json!(["*"])),
        ("exclude_tags", json!([])),
        ("paths", json!([])),
        ("write_mode", json!("hybrid")),
        ("expires", json!("")),
    ];
    let mut frontmatter = Map::from_iter(usual.map(|(key, value)| (key.to_owned(), value)));
    // A key that is there keeps its place.
    frontmatter.extend(set.clone());
    compose(&frontmatter, &BODY.replace("NAME", &name.replace(['`', '\n'], "")))
}

const BODY: &str = "This page says what the agent `NAME` may do. An edit counts at once, and no agent ever sees this page.

- `can_read_user_memory`: whether it may read anything of yours. While it is `false`, the next three lines do not matter.
- `collections`: the top-level folders it may read; `*` stands for all of them.
- `exclude_tags`: notes with one of these tags stay hidden, and so do those with a tag below it.
- `paths`: globs such as `notes/work/**`, if it is to read those alone; with `!` in front, what it must not read.
- `write_mode`: how it may write its own memory, which is this folder: `hybrid`, `prompt-only` (`MEMORY.md`),
  `search-only` (`memory/`) or `off`.
- `can_suggest`: `true` lets it suggest edits of notes that it reads; each waits for you in the review.
- `write_collections`: the collections in which it may edit notes that it reads, and add some; without the key, none.
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
    use crate::access::policy::agent_page;

    #[test]
    fn a_token_counts_while_its_agent_is_there() {
        let vault = tempfile::tempdir().unwrap();
        std::fs::create_dir(vault.path().join(".vault")).unwrap();
        let agents = AgentRegistry::new(vault.path().to_owned(), &State::in_folder(&vault.path().join(".vault/state")));
        let page = vault.path().join("agents/ada/agent.md");
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        let write = |set: serde_json::Value| {
            std::fs::write(&page, agent_page("Ada", "2026-01-01", set.as_object().unwrap())).unwrap();
        };
        write(serde_json::json!({}));
        let first = agents.give_token("ada", None).unwrap();
        assert!(matches!(agents.holder(&first.hash()), Some(Principal::Agent(ada)) if ada.slug == "ada"));
        let second = agents.give_token("ada", None).unwrap();
        assert!(agents.holder(&first.hash()).is_none(), "one token an agent");
        assert!(agents.holder(&second.hash()).is_some());
        write(serde_json::json!({ "expires": "2020-01-01" }));
        assert!(agents.holder(&second.hash()).is_none(), "its time is over");
        write(serde_json::json!({ "can_read_user_memory": true }));
        assert!(agents.holder(&second.hash()).is_some());
        let said = agents.log().entries("ada", 10).unwrap();
        assert!(said.iter().any(|entry| entry.what == "page"), "that it was given more is logged: {said:?}");
        std::fs::remove_file(&page).unwrap();
        assert!(agents.holder(&second.hash()).is_none(), "without its page it is nobody");
        write(serde_json::json!({}));
        assert!(agents.take_token("ada").unwrap());
        assert!(agents.holder(&second.hash()).is_none());
    }
}

#[cfg(test)]
mod tests_of_rate_limiter {
    use super::*;

    #[test]
    fn so_many_are_answered_at_a_time() {
        let limiter = RateLimiter::default();
        let mut inside: Vec<_> = (0..AT_A_TIME).map(|_| limiter.enter("ada").unwrap()).collect();
        assert!(limiter.enter("ada").is_none() && limiter.enter("bob").is_some());
        inside.pop();
        assert!(limiter.enter("ada").is_some());
    }

    #[test]
    fn what_was_given_up_and_hangs_is_bounded_too() {
        let limiter = RateLimiter::default();
        let mut hanging: Vec<RequestPermit> = (0..AT_WORK).map(|_| limiter.enter("ada").unwrap().at_work).collect();
        assert!(limiter.enter("ada").is_none() && limiter.enter("bob").is_some());
        hanging.pop();
        assert!(limiter.enter("ada").is_some());
    }

    #[test]
    fn too_many_requests_wait_and_others_do_not() {
        let (limiter, start) = (RateLimiter::default(), Instant::now());
        for _ in 0..60 {
            limiter.take("ada", 60, start).unwrap();
        }
        let wait = limiter.take("ada", 60, start).unwrap_err();
        assert!(wait > Duration::from_millis(900) && wait <= Duration::from_secs(1), "{wait:?}");
        limiter.take("bob", 60, start).unwrap();
        limiter.take("ada", 60, start + Duration::from_millis(1001)).unwrap();
        assert!(limiter.take("ada", 60, start + Duration::from_millis(1002)).is_err());
    }

    #[test]
    fn of_a_page_the_keys_that_differ_are_told() {
        let before = serde_json::json!({ "rules": { "can_read_user_memory": false, "paths": [] }, "expires": "x" });
        let after = serde_json::json!({ "rules": { "can_read_user_memory": true, "paths": [] }, "tags": ["a"] });
        let told = ["expires: \"x\" → not said", "can_read_user_memory: false → true", "tags: not said → [\"a\"]"];
        assert_eq!(changed(&before, &after), told);
        assert_eq!(changed(&Value::Null, &Value::Null), [""; 0]);
    }
}

#[cfg(test)]
mod tests_of_policies {
    use super::*;

    fn agents(vault: &tempfile::TempDir) -> AgentRegistry {
        AgentRegistry::new(vault.path().to_owned(), &State::in_folder(vault.path()))
    }

    fn write(root: &Path, slug: &str, text: &str) {
        let folder = root.join(AGENTS).join(slug);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("agent.md"), text).unwrap();
    }

    #[test]
    fn an_edit_counts_at_once() {
        let vault = tempfile::tempdir().unwrap();
        let policies = agents(&vault);
        assert!(policies.page("ada").is_none());
        write(vault.path(), "ada", "---\ncan_read_user_memory: false\n---\n");
        assert!(policies.page("ada").unwrap().grant.is_none());
        write(vault.path(), "ada", "---\ncan_read_user_memory: true \n---\n");
        assert!(policies.page("ada").unwrap().grant.is_some());
        assert_eq!(policies.slugs(), ["ada"]);
        for broken in ["---\ncan_read_user_memory: true\n", "---\ncan_read_user_memory: true\n  x: [\n---\n"] {
            write(vault.path(), "ada", broken);
            assert!(policies.page("ada").unwrap().grant.is_none(), "{broken}");
        }
        std::fs::remove_dir_all(vault.path().join(AGENTS)).unwrap();
        assert!(policies.page("ada").is_none());
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
        assert!(agents(&vault).page("ada").is_none());
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
