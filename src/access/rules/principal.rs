//! Principals: who asks, and by which token; what of the person's memory an agent was given, why a note is not, and what a principal may read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use blake3::Hash;
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::agent_page::Policy;
use super::globs::Globs;
use crate::base::config::{
    ChannelScope, CollectionConfig, MemoryScope, ScopeConfig, ScopeDecision, ScopeRule, VaultPart,
};
use crate::base::path::{ROOT_COLLECTION, composed, folded};

/// Who asks.
#[derive(Debug, Clone)]
pub enum Principal {
    /// The person: the command line, and whoever holds the owner's token; with a name where it is one of several owners.
    Owner(Option<Arc<str>>),
    /// A person who is not the owner.
    Member(Member),
    /// A program that says what happens, by the name its token was made with. It reads nothing.
    Capture(String),
    /// An agent. It reads what the person gave it, and keeps a memory of its own.
    Agent(Caller),
}

/// A person to whom a server of several people gives a part of a vault. They have no memory of their own in it, and nobody is told what they read.
#[derive(Debug, Clone)]
pub struct Member {
    /// Their page's name in `people/`.
    pub name: Arc<str>,
    /// What they may read and write, in the words of an agent's page.
    pub policy: Arc<Policy>,
}

/// An agent that asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its folder's name in `agents/`.
    pub slug: String,
    /// The session that its token is bound to.
    pub session: Session,
    /// The session that the request itself names. It counts for agents whose `agent.md` says so.
    pub claimed: Session,
    /// What its page said when the request came. One request is held to one policy, whatever becomes of the page meanwhile.
    pub policy: Arc<Policy>,
}

impl Caller {
    /// An agent in a session, with a request that names none, held to a policy.
    pub fn new(slug: impl Into<String>, session: Session, policy: Arc<Policy>) -> Self {
        Self { slug: slug.into(), session, claimed: Session::default(), policy }
    }
}

/// Where an agent talks, as OpenClaw tells sessions apart.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// With whom: `direct`, `group`, `channel`.
    pub chat_type: Option<String>,
    /// Through which service: `telegram`, `slack`.
    pub channel: Option<String>,
}

impl Session {
    /// A conversation with one person.
    pub fn direct() -> Self {
        Self { chat_type: Some("direct".into()), channel: None }
    }
}

/// Whether reading is allowed in a session: the first rule that fits decides, else the default. A rule fits when all that it
/// names is so. What a session does not say fits no rule that allows, and every rule that denies: leaving something out opens
/// nothing.
pub(crate) fn may_read(config: &ScopeConfig, session: &Session) -> bool {
    let fits = |rule: &ScopeRule, wanted: &Option<String>, said: &Option<String>| match (wanted, said) {
        (None, _) => true,
        (Some(wanted), Some(said)) => wanted.eq_ignore_ascii_case(said),
        (Some(_), None) => rule.action == ScopeDecision::Deny,
    };
    let rule = config
        .rules
        .iter()
        .find(|rule| fits(rule, &rule.chat_type, &session.chat_type) && fits(rule, &rule.channel, &session.channel));
    rule.map_or(config.default, |rule| rule.action) == ScopeDecision::Allow
}

/// The property that says from what kind of channel a session is.
pub(crate) const SESSION_SCOPE: &str = "session_scope";
/// The property that says whose session it is, by the name of the agent's folder.
pub(crate) const SESSION_AGENT: &str = "session_agent";

/// What marks begin with; nothing that is written after a `#` does.
const BEGIN: &str = "@session/";

/// Where a session comes from, and whose it is: [`folded`], and empty for nobody's. `None` for what is no mark.
fn session_of(mark: &str) -> Option<(ChannelScope, &str)> {
    let (scope, agent) = mark.strip_prefix(BEGIN)?.split_once('/')?;
    // What says nothing that is known is for nobody else.
    Some((ChannelScope::of(scope).unwrap_or(ChannelScope::Direct), agent))
}

/// The marks of a note's frontmatter: none, where it is no session. A key counts whatever its case. A scope that makes no sense is the
/// narrowest.
pub(crate) fn session_marks(metadata: &Map<String, Value>) -> Vec<String> {
    let of = |wanted: &'static str| {
        metadata.iter().filter(move |(key, _)| key.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    let agents: Vec<&str> = of(SESSION_AGENT).map(|value| value.as_str().unwrap_or_default().trim()).collect();
    // Said twice it is nobody's.
    let agent = folded(if agents.len() == 1 { agents[0] } else { "" });
    let scope = |value: &Value| value.as_str().and_then(ChannelScope::of).unwrap_or(ChannelScope::Direct);
    of(SESSION_SCOPE).map(|value| session_mark(scope(value), &agent)).collect()
}

/// The mark of sessions of a channel and an agent, whose name is [`folded`].
fn session_mark(scope: ChannelScope, agent: &str) -> String {
    format!("{BEGIN}{scope}/{agent}")
}

/// The mark of a note that is private to one of several people, whose name is [`folded`]; nothing that is written after a `#` begins so.
pub(crate) fn private_mark(person: &str) -> String {
    format!("{PRIVATE_TO}{person}")
}

/// What such marks begin with.
pub(crate) const PRIVATE_TO: &str = "@private/";

const OPEN: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// A request's turn to change something, which whoever waits for the answer may give up. It is one or the other: what was given up
/// changes nothing any more, and what is being changed is waited for. So nobody is told that nothing came of a change.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    stage: Arc<AtomicU8>,
    until: Option<Instant>,
}

impl Turn {
    /// A turn that is waited for until then.
    pub fn until(until: Instant) -> Self {
        Self { stage: Arc::default(), until: Some(until) }
    }

    /// Until when it is waited for; `None` where nobody minds.
    pub fn until_when(&self) -> Option<Instant> {
        self.until
    }

    /// How long it is waited for still; `None` where nobody minds.
    pub fn left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Whether nobody waits any more, so that no more is to be done.
    pub fn is_over(&self) -> bool {
        match self.stage.load(Ordering::SeqCst) {
            OPEN => self.until.is_some_and(|until| until <= Instant::now()),
            stage => stage == GIVEN_UP,
        }
    }

    /// Begins to change something; false when that was given up, and nothing may be changed.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.go(OPEN, BEGUN) || self.stage.load(Ordering::SeqCst) == BEGUN
    }

    /// Says that nothing was changed after all.
    pub fn rest(&self) {
        self.go(BEGUN, OPEN);
    }

    /// Waits no more; false while something is being changed, or was.
    #[must_use]
    pub fn give_up(&self) -> bool {
        self.go(OPEN, GIVEN_UP)
    }

    fn go(&self, from: u8, to: u8) -> bool {
        self.stage.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Tells whose tokens of one kind are.
pub trait Authenticator: Send + Sync {
    /// Who holds a token; `None` when it is none of these.
    fn holder(&self, token: &Hash) -> Option<Principal>;
}

/// The one token that is the person's.
pub struct OwnerToken(Hash);

impl OwnerToken {
    /// Remembers the token by its hash.
    pub fn new(token: &Token) -> Self {
        Self(token.hash())
    }
}

impl Authenticator for OwnerToken {
    fn holder(&self, token: &Hash) -> Option<Principal> {
        (*token == self.0).then_some(Principal::Owner(None))
    }
}

/// A bearer token: 32 random bytes in hexadecimal. Not shown by `Debug`.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Makes a new one from the system's random numbers.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(std::io::Error::from)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Takes a token as a person or a file gives it; white space around it does not count.
    pub fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The token itself, to hand it to its holder.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept to recognise it. `==` of two takes the same time for every pair.
    pub fn hash(&self) -> Hash {
        blake3::hash(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The folder of the agents. It is nobody's memory but theirs.
pub(crate) const AGENTS: &str = "agents";

/// Rules over notes. A note is given when all of them let it through.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The collections that were given; `*` stands for all, those to come as well.
    pub collections: Vec<String>,
    /// [`folded`]; a tag stands for those below it.
    pub exclude_tags: Vec<String>,
    /// Where the note has to be, if that is said.
    pub allowed: Option<Globs>,
    /// Where it must not be.
    pub denied: Globs,
    /// The memory scopes that it is bound to, if it is.
    pub(crate) scopes: Option<Vec<MemoryScope>>,
    /// Where those are.
    pub(crate) parts: Vec<VaultPart>,
    /// Of which channels it reads the sessions of others.
    pub(crate) sessions: Vec<ChannelScope>,
    /// Its own name, [`folded`]: sessions of its own it reads in any case.
    pub(crate) own: String,
    /// The name of the person, [`folded`], whom notes that are private to them are not hidden from; empty for agents.
    pub(crate) person: String,
}

/// What the rules look at in a note.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its path in the vault.
    pub path: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// What may be meant as tags where none counts.
    pub doubtful: &'a [String],
    /// Whether only the owner sees it.
    pub private: bool,
}

/// The rule that hides a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is private.
    Private,
    /// It is in the folder of the agents.
    Agents,
    /// Its collection was not given.
    Collection(String),
    /// It has an excluded tag.
    Tag(String),
    /// `paths` has a rule against it.
    Denied,
    /// No rule of `paths` allows it.
    NotAllowed,
    /// It is in none of the scopes that the agent is bound to.
    OtherScope,
    /// It is a session of somebody else, from a channel of which it reads none.
    Session(ChannelScope),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => write!(f, "the note is private; no agent sees it"),
            Self::Agents => write!(f, "the folder `{AGENTS}` is not part of the owner's memory"),
            Self::Collection(name) => write!(f, "`collections` does not name `{name}`"),
            Self::Tag(tag) => write!(f, "`exclude_tags` hides its tag `{tag}`"),
            Self::Denied => write!(f, "a rule of `paths` that starts with `!` hides it"),
            Self::NotAllowed => write!(f, "no rule of `paths` names it"),
            Self::OtherScope => write!(f, "it is in none of the agent's `scopes`"),
            Self::Session(scope) => {
                write!(f, "it is a {scope} session of somebody else, and `sessions` does not name `{scope}`")
            }
        }
    }
}

impl Grant {
    /// Why a note is not given; `None` when it is. The whole check, and nothing but it: sets of files are made of the parts.
    pub fn refusal(&self, subject: &Subject<'_>) -> Option<Refusal> {
        let collection = collection(subject.path);
        if subject.private && !self.is_private_to(subject.doubtful) {
            Some(Refusal::Private)
        } else if is_agents(subject.path) {
            Some(Refusal::Agents)
        } else if !self.has_collection(collection) {
            Some(Refusal::Collection(collection.to_owned()))
        } else if let Some(tag) = subject.tags.iter().chain(subject.doubtful).find(|tag| self.excludes(&folded(tag))) {
            Some(match session_of(tag) {
                Some((scope, _)) => Refusal::Session(scope),
                None => Refusal::Tag(tag.clone()),
            })
        } else if self.denied.is_match(subject.path) {
            Some(Refusal::Denied)
        } else if self.allowed.as_ref().is_some_and(|allowed| !allowed.is_match(subject.path)) {
            Some(Refusal::NotAllowed)
        } else if !self.has_path(subject.path) {
            Some(Refusal::OtherScope)
        } else {
            None
        }
    }

    /// The same where these are the folders elsewhere.
    #[must_use]
    pub(crate) fn with_folders(mut self, collections: &[CollectionConfig]) -> Self {
        let scopes = self.scopes.iter().flatten();
        self.parts = scopes.map(|scope| scope.part(collections)).collect();
        self
    }

    /// Whether a collection was given.
    pub fn has_collection(&self, name: &str) -> bool {
        self.collections.iter().any(|given| given == "*" || composed(given) == composed(name))
    }

    /// The same for the agent of this name.
    #[must_use]
    pub(crate) fn of_agent(self, slug: &str) -> Self {
        Self { own: folded(slug), ..self }
    }

    /// The same for this person.
    #[must_use]
    pub(crate) fn of_person(self, name: &str) -> Self {
        Self { person: folded(name), ..self }
    }

    /// The mark of what is private to the person alone.
    pub(crate) fn own_mark(&self) -> Option<String> {
        (!self.person.is_empty()).then(|| private_mark(&self.person))
    }

    /// Whether a private note with these marks is private to the person.
    pub(crate) fn is_private_to(&self, marks: &[String]) -> bool {
        self.own_mark().is_some_and(|own| marks.contains(&own))
    }

    /// Whether a tag, or a mark of sessions, [`folded`], hides a note.
    pub fn excludes(&self, tag: &str) -> bool {
        if let Some((scope, agent)) = session_of(tag) {
            let is_own = !self.own.is_empty() && agent == self.own;
            return !is_own && !self.sessions.contains(&scope);
        }
        let below = |excluded: &String| tag.strip_prefix(excluded.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.exclude_tags.iter().any(|excluded| tag == excluded || below(excluded))
    }

    /// The beginnings of the marks of sessions that are hidden, each with the mark of its own sessions, which are not.
    pub(crate) fn hidden_sessions(&self) -> impl Iterator<Item = (String, Option<String>)> {
        let hidden = ChannelScope::ALL.into_iter().filter(|scope| !self.sessions.contains(scope));
        hidden.map(|scope| {
            let own = (!self.own.is_empty()).then(|| session_mark(scope, &self.own));
            (session_mark(scope, "").trim_end_matches('/').to_owned(), own)
        })
    }

    /// Whether there are rules for paths at all.
    pub fn has_path_rules(&self) -> bool {
        self.allowed.is_some() || !self.denied.is_empty() || self.scopes.is_some()
    }

    /// Whether the rules for paths let one through.
    pub fn has_path(&self, path: &str) -> bool {
        !self.denied.is_match(path)
            && self.allowed.as_ref().is_none_or(|allowed| allowed.is_match(path))
            && (self.scopes.is_none() || self.parts.iter().any(|part| part.holds(path)))
    }
}

fn collection(path: &str) -> &str {
    path.split_once('/').map_or(ROOT_COLLECTION, |(top, _)| top)
}

/// Whether a path is in the agents' folder, or a collection is that folder, in whatever case a disk may spell it.
pub(crate) fn is_agents(path: &str) -> bool {
    let top = path.split_once('/').map_or(path, |(top, _)| top);
    folded(top) == AGENTS
}

/// What a principal may read. The only thing that read paths accept.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Every note.
    Everything,
    /// Notes that are not private.
    Public,
    /// No note.
    Nothing,
    /// Of the person's memory, what an agent was given.
    Given(Arc<Grant>),
    /// The agents' own memory in these folders of `agents/`; what was made of the person's memory only as far as that was
    /// given.
    Own {
        /// The folders' names, that of the agent itself first.
        slugs: Vec<String>,
        /// What of the person's memory the agent was given, if anything.
        given: Option<Arc<Grant>>,
    },
}

impl Scope {
    /// Everything that is not private: what nobody has a reason to hide.
    pub fn public() -> Self {
        Self::Public
    }
}

/// The name of a file of an agent's own memory within its folder: `MEMORY.md`, `memory.md`, `facts.md`, `entries.md` or `memory/<name>.md`.
/// `None` for what is none, above all for `agent.md`.
pub(crate) fn own_file<'a>(slug: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix("agents/")?.strip_prefix(slug)?.strip_prefix('/')?;
    let is_own = match rest.split_once('/') {
        None => matches!(rest, "MEMORY.md" | "memory.md" | "facts.md" | "entries.md"),
        Some(("memory", name)) => !name.contains('/') && !name.starts_with('.') && name.ends_with(".md"),
        Some(_) => false,
    };
    is_own.then_some(rest)
}

/// Whether a file of a folder that lies elsewhere, and may be a vault or have one in it, is an agent's: its page, its memory, what waits.
pub(crate) fn is_agents_elsewhere(path: &str) -> bool {
    let path = folded(path);
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.filter_map(|at| path.get(at..)).any(|path| {
        let of_agent = path.strip_prefix(AGENTS).and_then(|path| path.strip_prefix('/')?.split_once('/'));
        of_agent.is_some_and(|(slug, name)| {
            matches!(name, "agent.md" | "pending.md" | "archive.md") || own_file(slug, path).is_some()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::Config;

    fn session(chat_type: &str, channel: &str) -> Session {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Session { chat_type: said(chat_type), channel: said(channel) }
    }

    fn config(text: &str) -> ScopeConfig {
        Config::parse(text, std::path::Path::new("memory.toml")).unwrap().scope
    }

    #[test]
    fn as_shipped_direct_chats_alone_read() {
        let shipped = ScopeConfig::default();
        assert!(may_read(&shipped, &session("direct", "")) && may_read(&shipped, &session("Direct", "slack")));
        for other in [session("", ""), session("group", ""), session("", "slack")] {
            assert!(!may_read(&shipped, &other), "{other:?}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = config(
            "[scope]\ndefault = \"deny\"\n[[scope.rules]]\naction = \"deny\"\nchannel = \"discord\"\n[[scope.rules]]\n\
             action = \"allow\"\nchat_type = \"group\"\n",
        );
        assert!(may_read(&rules, &session("group", "slack")));
        assert!(!may_read(&rules, &session("group", "")), "what is left out opens nothing");
        assert!(!may_read(&rules, &session("group", "discord")) && !may_read(&rules, &session("direct", "slack")));
        assert!(may_read(&config("[scope]\ndefault = \"allow\"\nrules = []"), &session("", "")));
    }
}

#[cfg(test)]
mod tests_of_session_mark {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_marked_by_its_scope_and_agent() {
        for (front, marks) in [
            (json!({}), &[][..]),
            (json!({ "session_agent": "ada" }), &[]),
            (json!({ "session_scope": "group" }), &["@session/group/"]),
            (json!({ "Session_Scope": "Channel", "session_agent": "Ada" }), &["@session/channel/ada"]),
            (json!({ "session_scope": "everybody", "session_agent": 5 }), &["@session/direct/"]),
            (json!({ "session_scope": null, "session_agent": "a", "SESSION_AGENT": "b" }), &["@session/direct/"]),
            (json!({ "session_scope": "group", "SESSION_SCOPE": "direct" }), &["@session/group/", "@session/direct/"]),
        ] {
            assert_eq!(session_marks(front.as_object().unwrap()), marks, "{front}");
        }
        assert_eq!(session_of("@session/group/ada"), Some((ChannelScope::Group, "ada")));
        assert_eq!(session_of("session/group/ada"), None);
    }
}

#[cfg(test)]
mod tests_of_turn {
    use super::*;

    #[test]
    fn what_is_given_up_changes_nothing_and_what_has_begun_is_waited_for() {
        let turn = Turn::until(Instant::now());
        assert_eq!(turn.left(), Some(Duration::ZERO));
        assert!(turn.begin() && turn.begin() && !turn.give_up());
        turn.rest();
        assert!(turn.clone().give_up() && !turn.begin());
        assert_eq!(Turn::default().left(), None);
    }

    #[test]
    fn tokens_differ_and_do_not_show() {
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one.hash(), two.hash());
        assert_eq!(one.reveal().len(), 64);
        assert_eq!(Token::from_text(&format!(" {}\n", one.reveal())).hash(), one.hash());
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}

#[cfg(test)]
mod tests_of_grant {
    use super::*;

    #[test]
    fn an_agents_own_files_are_few() {
        for own in ["MEMORY.md", "memory.md", "facts.md", "entries.md", "memory/a.md"] {
            assert_eq!(own_file("a", &format!("agents/a/{own}")), Some(own));
        }
        for other in [
            "agent.md", "AGENT.md", "pending.md", "archive.md", "memory/x/a.md", "memory/.a.md", "memory/a.txt",
            "b.md", "memory/",
        ] {
            assert_eq!(own_file("a", &format!("agents/a/{other}")), None, "{other}");
        }
        assert_eq!(own_file("a", "agents/ab/MEMORY.md"), None);
        for theirs in ["agents/a/agent.md", "Agents/a/MEMORY.md", "vault/agents/a/memory/x.md", "agents/a/pending.md"] {
            assert!(is_agents_elsewhere(theirs), "{theirs}");
        }
        for other in ["agents/a/readme.md", "agents/agent.md", "agents/a/b/agent.md", "my-agents/a/agent.md"] {
            assert!(!is_agents_elsewhere(other), "{other}");
        }
        assert_eq!(own_file("a", "agents/a"), None);
    }
}
