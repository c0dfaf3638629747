//! The people of a server of several vaults: who they are, and which vaults each has with which right.
//!
//! Each is a page in `people/`, for whoever runs the server to read and edit. An edit counts at once. Their sessions are the server's state, so
//! that a page which comes back from a backup signs nobody in.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::policy::revised_page;
use crate::access::rules::{Member, Policy, Principal, Token, literal};
use crate::base::fs::{Context, FsError, create_private_dir, write_atomically};
use crate::base::state::{PageSession, PageSessionTable, State, StateError};
use crate::text::note::{Note, Visibility, compose, is_switch};
use crate::vault::disk::slug;

/// The folder of their pages, in the server's.
pub(crate) const FOLDER: &str = "people";
/// The folder of what the server keeps.
const STATE: &str = ".server";
/// Maximum size of a page, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// An invitation counts so long.
const INVITED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Minimum and maximum length of a passphrase, in bytes: of a longer one each byte would be hashed.
pub(crate) const PASSPHRASE_BYTES: std::ops::RangeInclusive<usize> = 10..=256;

/// In the place of a browser, of what was made for a program.
const TOKEN: &str = "a token";

/// The people of a server.
#[derive(Debug)]
pub(crate) struct People {
    folder: PathBuf,
    lock: PathBuf,
    state: Arc<State>,
    sessions: PageSessionTable,
    /// What pages say, by their bytes.
    pages: Mutex<HashMap<String, (blake3::Hash, Arc<Person>)>>,
}

/// A person, as their page says.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    /// The name of their page, which signs them in.
    pub(crate) name: Arc<str>,
    /// What they are called.
    pub(crate) title: String,
    /// What a proxy that signs them in calls them.
    proxy_name: Option<String>,
    /// Argon2id of their passphrase, as a PHC string.
    passphrase: Option<String>,
    /// Their account at an OpenID provider, with its issuer.
    pub(crate) openid: Option<String>,
    /// BLAKE3 of the code of an invitation, in hexadecimal, and until when it counts.
    invited: Option<(String, Timestamp)>,
    /// Their vaults.
    pub(crate) vaults: BTreeMap<String, Right>,
}

/// What a person may do in a vault.
#[derive(Debug, Clone)]
pub(crate) enum Right {
    /// Everything.
    Owner,
    /// What a policy says; nothing, where it has problems.
    Given(Arc<Policy>),
}

impl Right {
    /// As a person's page says it: `owner`, `editor` or `reader`, or a map with such a `right` and the rules of an agent's page.
    pub(crate) fn read(value: &Value, person: &str) -> Self {
        let rules = value.as_object().cloned().unwrap_or_default();
        let name = value.as_str().or_else(|| value.get("right")?.as_str()).unwrap_or_default().trim();
        let known = ["right", "collections", "exclude_tags", "paths", "expires"];
        if let Some(other) = rules.keys().find(|key| !known.contains(&key.as_str())) {
            return Self::Given(Arc::new(Policy::nothing(format!("`{other}` is no rule"))));
        }
        match name {
            "owner" if rules.len() < 2 => Self::Owner,
            "owner" => Self::Given(Arc::new(Policy::nothing("an owner takes no rules"))),
            "editor" | "reader" => {
                let mut page = rules;
                page.insert("can_read_user_memory".into(), true.into());
                if name == "editor" {
                    page.insert("write_collections".into(), json!(["*"]));
                }
                let mut policy = Policy::parse(&page);
                policy.grant = policy.grant.map(|grant| grant.of_person(person));
                Self::Given(Arc::new(policy))
            }
            other => Self::Given(Arc::new(Policy::nothing(format!("`{other}` is no right")))),
        }
    }

    /// Who somebody with it is; `None` where it gives nothing.
    pub(crate) fn principal(&self, name: &Arc<str>) -> Option<Principal> {
        match self {
            Self::Owner => Some(Principal::Owner(Some(Arc::clone(name)))),
            Self::Given(policy) if policy.grant.is_none() || policy.is_expired(Timestamp::now()) => None,
            Self::Given(policy) => {
                Some(Principal::Member(Member { name: Arc::clone(name), policy: Arc::clone(policy) }))
            }
        }
    }

    /// The word for it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Given(policy) if policy.grant.is_none() => "none",
            Self::Given(policy) if policy.write_collections.is_empty() => "reader",
            Self::Given(_) => "editor",
        }
    }

    /// The notes and folders to which it is narrowed, as globs, and until when.
    pub(crate) fn parts(&self) -> (&[String], Option<Timestamp>) {
        match self {
            Self::Owner => (&[], None),
            Self::Given(policy) => (&policy.rules.paths, policy.expires),
        }
    }

    /// What of it makes no sense.
    pub(crate) fn problems(&self) -> &[String] {
        match self {
            Self::Owner => &[],
            Self::Given(policy) => &policy.problems,
        }
    }
}

impl Person {
    /// Who they are to a vault; `None` where they have nothing to do with it.
    pub(crate) fn principal(&self, vault: &str) -> Option<Principal> {
        self.vaults.get(vault)?.principal(&self.name)
    }

    /// Whether somebody has yet to accept an invitation.
    pub(crate) fn is_invited(&self) -> bool {
        self.invited.as_ref().is_some_and(|(_, until)| *until > Timestamp::now())
    }

    /// Whether they can sign in with a passphrase.
    pub(crate) fn has_passphrase(&self) -> bool {
        self.passphrase.is_some()
    }

    fn parse(name: &str, text: &str) -> Self {
        let note = Note::parse(text, name);
        let front = if note.visibility == Visibility::BrokenFrontmatter { Map::new() } else { note.metadata };
        let says = |key: &str| front.get(key).and_then(Value::as_str).map(str::to_owned);
        let invited = says("invitation").zip(says("invited_until").and_then(|until| until.parse().ok()));
        let vaults = front.get("vaults").and_then(Value::as_object).into_iter().flatten();
        Self {
            name: name.into(),
            title: note.title,
            proxy_name: says("proxy_name").filter(|name| !name.is_empty()),
            passphrase: says("passphrase").filter(|hash| PasswordHash::new(hash).is_ok()),
            openid: says("openid").filter(|account| !account.is_empty()),
            invited,
            vaults: vaults.map(|(vault, right)| (vault.clone(), Right::read(right, name))).collect(),
        }
    }
}

/// The people cannot be looked up or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeopleError {
    /// There is nobody of that name, or somebody already; or the name is none.
    #[error("{0}")]
    Refused(String),
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

/// A hash that no passphrase has, so that an unknown name takes as long as a known one.
static NOBODY: LazyLock<String> = LazyLock::new(|| hashed(NOT_ONE).unwrap_or_default());
const NOT_ONE: &str = "nobody has this passphrase";

impl People {
    /// Those of the server in a folder.
    pub(crate) fn of(server: &Path) -> Self {
        let state = State::in_folder(&server.join(STATE));
        Self {
            folder: server.join(FOLDER),
            lock: server.join(STATE).join("people.lock"),
            sessions: PageSessionTable::new(&state),
            state,
            pages: Mutex::default(),
        }
    }

    /// Where their sessions are.
    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Somebody, by the name of their page.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<Person>> {
        let text = self.text(name)?;
        let hash = blake3::hash(text.as_bytes());
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, person)) = pages.get(name).filter(|(known, _)| *known == hash) {
            return Some(Arc::clone(person));
        }
        let person = Arc::new(Person::parse(name, &text));
        pages.insert(name.to_owned(), (hash, Arc::clone(&person)));
        Some(person)
    }

    /// All, in the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<Person>> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut people: Vec<Arc<Person>> = names.filter_map(|name| self.named(name.strip_suffix(".md")?)).collect();
        people.sort_by(|one, other| one.name.cmp(&other.name));
        people
    }

    /// Whoever a proxy calls so: by the name of their page, or the `proxy_name` on it.
    pub(crate) fn known_to_proxy(&self, name: &str) -> Option<Arc<Person>> {
        let is_called = |person: &Arc<Person>| person.proxy_name.as_deref() == Some(name);
        self.named(name).or_else(|| self.all().into_iter().find(is_called))
    }

    /// Whose session or token this is.
    pub(crate) fn holder(&self, token: &Token) -> Option<Arc<Person>> {
        let session = self.sessions.used(&token.hash(), Timestamp::now());
        let session = session.inspect_err(|error| tracing::warn!("nobody is signed in now: {error}")).ok()??;
        self.named(session.person()?)
    }

    /// Whoever has this name and passphrase. It takes a tenth of a second, whether there is anybody or not.
    pub(crate) fn with_passphrase(&self, name: &str, passphrase: &str) -> Option<Arc<Person>> {
        let person = self.named(name).filter(|person| person.has_passphrase());
        let known = person.as_ref().and_then(|person| person.passphrase.as_ref());
        let hash = PasswordHash::new(known.unwrap_or(&NOBODY)).ok()?;
        let fits = Argon2::default().verify_password(passphrase.as_bytes(), &hash).is_ok();
        person.filter(|_| fits)
    }

    /// Whoever has this account at an OpenID provider. One that stands on two pages is nobody's.
    pub(crate) fn with_openid(&self, account: &str) -> Option<Arc<Person>> {
        let mut theirs = self.all().into_iter().filter(|person| person.openid.as_deref() == Some(account));
        theirs.next().filter(|_| theirs.next().is_none())
    }

    /// Accepts an invitation, once: whoever has its code chooses the passphrase. `None` where it does not count.
    ///
    /// # Errors
    /// When the page cannot be written.
    pub(crate) fn join(&self, code: &str, passphrase: &str) -> Result<Option<Arc<Person>>, PeopleError> {
        self.accept(code, |_| Ok((hashed(passphrase).map_err(PeopleError::Refused)?, String::new())))
    }

    /// The same for whoever has signed in at an OpenID provider: with that account they sign in from now on.
    ///
    /// # Errors
    /// When the account is another person's, or the page cannot be written.
    pub(crate) fn join_with_openid(&self, code: &str, account: &str) -> Result<Option<Arc<Person>>, PeopleError> {
        self.accept(code, |person| {
            self.refuse_taken(account, &person.name)?;
            Ok((String::new(), account.to_owned()))
        })
    }

    /// Refuses an account that is on the page of another than this person.
    fn refuse_taken(&self, account: &str, name: &str) -> Result<(), PeopleError> {
        let is_other = |person: &Arc<Person>| person.openid.as_deref() == Some(account) && &*person.name != name;
        match self.all().iter().any(is_other) {
            true => Err(PeopleError::Refused("this account is another person's here".into())),
            false => Ok(()),
        }
    }

    /// Accepts an invitation with a passphrase's hash and an account, in the place of those that there are.
    fn accept(
        &self,
        code: &str,
        with: impl FnOnce(&Person) -> Result<(String, String), PeopleError>,
    ) -> Result<Option<Arc<Person>>, PeopleError> {
        let _one = self.lock()?;
        let code = Token::from_text(code).hash();
        let is_of = |person: &Arc<Person>| {
            let invited = person.invited.as_ref().and_then(|(hash, _)| blake3::Hash::from_hex(hash).ok());
            invited.is_some_and(|invited| invited == code) && person.is_invited()
        };
        let Some(person) = self.all().into_iter().find(is_of) else { return Ok(None) };
        let (hash, account) = with(&person)?;
        let set = json!({ "passphrase": hash, "openid": account, "invitation": "", "invited_until": "" });
        // Before, as a kill may come after; and after, as the old passphrase opens some until then.
        self.end_sessions(&person.name)?;
        self.revise(&person.name, &set)?;
        self.end_sessions(&person.name)?;
        Ok(self.named(&person.name))
    }

    /// Adds somebody with some vaults: their page, with their account at an OpenID provider, or without a way to sign in yet.
    ///
    /// # Errors
    /// When there is somebody of that name or account, the name makes no file's, or the disk refuses.
    pub(crate) fn add(
        &self,
        title: &str,
        vaults: &BTreeMap<String, String>,
        openid: Option<&str>,
    ) -> Result<Arc<Person>, PeopleError> {
        let name = slug(title);
        if !title.chars().any(char::is_alphanumeric)
            || title.chars().any(char::is_control)
            || self.file(&name).is_none()
            || is_switch(&name)
        {
            return Err(PeopleError::Refused(format!(
                "{title:?} gives no name; use letters or digits, and not a yes or no"
            )));
        }
        let _one = self.lock()?;
        if self.named(&name).is_some() {
            return Err(PeopleError::Refused(format!("there is a person `{name}` already")));
        }
        openid.map_or(Ok(()), |account| self.refuse_taken(account, &name))?;
        self.end_sessions(&name)?;
        let front = json!({
            "title": title, "vaults": vaults, "passphrase": "", "openid": openid.unwrap_or_default(), "invitation": "",
            "invited_until": "",
        });
        create_private_dir(&self.folder)?;
        let text = compose(front.as_object().unwrap_or(&Map::new()), BODY);
        self.write(&name, &text)?;
        self.named(&name).ok_or_else(|| nobody(&name))
    }

    /// Makes an invitation, in the place of any earlier one; gives its code. Until it is accepted the passphrase stays.
    ///
    /// # Errors
    /// When there is nobody of that name, or the disk refuses.
    pub(crate) fn invite(&self, name: &str) -> Result<Token, PeopleError> {
        let _one = self.lock()?;
        let code = Token::random().on("get random numbers from", Path::new("the system"))?;
        let until = (Timestamp::now() + INVITED).to_string();
        self.revise(name, &json!({ "invitation": code.hash().to_hex().as_str(), "invited_until": until }))?;
        Ok(code)
    }

    /// Gives somebody a vault with a right, or takes it where there is none.
    ///
    /// # Errors
    /// When there is nobody of that name, the right makes no sense, or the disk refuses.
    pub(crate) fn give(&self, name: &str, vault: &str, right: Option<&Value>) -> Result<Arc<Person>, PeopleError> {
        self.change_right(name, vault, |_| Ok(right.cloned()))
    }

    /// Gives somebody a note or folder of a vault, besides others that they were given so: with a right, for some days if that is said.
    ///
    /// # Errors
    /// When there is nobody of that name, they have the vault in another way already, or the disk refuses.
    pub(crate) fn share(
        &self,
        name: &str,
        vault: &str,
        path: &str,
        right: &str,
        days: Option<u16>,
    ) -> Result<Arc<Person>, PeopleError> {
        let (_one, path) = (self.lock()?, json!(literal(path)));
        let last = |days: u16| Timestamp::now() + SignedDuration::from_hours(24 * i64::from(days));
        let until = days.map(|days| last(days).strftime("%Y-%m-%d").to_string());
        self.change_right(name, vault, |before| {
            let given = [("right", Some(right)), ("expires", until.as_deref())].into_iter();
            let mut rules: Map<String, Value> =
                given.filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))).collect();
            let mut paths = Vec::new();
            // A right that is over is none.
            let is_over = |right: &&Value| Right::read(right, name).parts().1.is_some_and(|end| end <= Timestamp::now());
            if let Some(before) = before.filter(|right| !is_over(right)) {
                let mut before = before.as_object().cloned().unwrap_or_default();
                paths = before.shift_remove("paths").and_then(|all| all.as_array().cloned()).unwrap_or_default();
                // To a right that says more, or has all of the vault, nothing is added.
                if paths.is_empty() || before != rules {
                    return Err(format!(
                        "`{name}` has `{vault}` with another right, or until another day; end that first, or edit {FOLDER}/{name}.md"
                    ));
                }
            }
            if !paths.contains(&path) {
                paths.push(path);
            }
            rules.insert("paths".into(), Value::Array(paths));
            Ok(Some(Value::Object(rules)))
        })
    }

    /// Takes a note or folder from somebody to whom it was given so; whoever has nothing else of the vault then does not have the vault.
    ///
    /// # Errors
    /// When there is nobody of that name, it was not given to them, or the disk refuses.
    pub(crate) fn end_share(&self, name: &str, vault: &str, path: &str) -> Result<Arc<Person>, PeopleError> {
        let (_one, glob) = (self.lock()?, json!(literal(path)));
        self.change_right(name, vault, |before| {
            let mut rules = before.and_then(Value::as_object).cloned().unwrap_or_default();
            let paths = rules.get_mut("paths").and_then(Value::as_array_mut);
            let at = paths.as_ref().and_then(|paths| paths.iter().position(|path| *path == glob));
            let (Some(paths), Some(at)) = (paths, at) else {
                return Err(format!("`{path}` is not shared with `{name}`"));
            };
            paths.remove(at);
            let is_over = paths.is_empty();
            Ok((!is_over).then_some(Value::Object(rules)))
        })
    }

    /// Puts what `next` makes of the right that somebody has in a vault in its place.
    fn change_right(
        &self,
        name: &str,
        vault: &str,
        next: impl FnOnce(Option<&Value>) -> Result<Option<Value>, String>,
    ) -> Result<Arc<Person>, PeopleError> {
        let text = self.whole(name)?;
        let mut vaults =
            Note::parse(&text, name).metadata.get("vaults").and_then(Value::as_object).cloned().unwrap_or_default();
        match next(vaults.get(vault)).map_err(PeopleError::Refused)? {
            Some(right) => {
                if let Some(problem) = Right::read(&right, name).problems().first() {
                    return Err(PeopleError::Refused(problem.clone()));
                }
                vaults.insert(vault.to_owned(), right);
            }
            None => _ = vaults.shift_remove(vault),
        }
        self.revise(name, &json!({ "vaults": vaults }))?;
        self.named(name).ok_or_else(|| nobody(name))
    }

    /// Removes somebody: their page and their sessions. What they wrote stays.
    ///
    /// # Errors
    /// When there is nobody of that name, or the disk refuses.
    pub(crate) fn remove(&self, name: &str) -> Result<(), PeopleError> {
        let _one = self.lock()?;
        let file = self.file(name).filter(|file| file.is_file()).ok_or_else(|| nobody(name))?;
        std::fs::remove_file(&file).on("remove", &file)?;
        Ok(self.end_sessions(name)?)
    }

    /// Gives somebody a token for a program of theirs. It is shown this once, and ends as their sessions do.
    ///
    /// # Errors
    /// When there is nobody of that name, or the disk refuses.
    pub(crate) fn give_token(&self, name: &str) -> Result<Token, PeopleError> {
        let _one = self.lock()?;
        self.named(name).ok_or_else(|| nobody(name))?;
        let random = || Token::random().on("get random numbers from", Path::new("the system"));
        let (token, id, now) = (random()?, random()?, Timestamp::now());
        let session = PageSession {
            id: PageSession::id_of(name, id.reveal()),
            made_at: now,
            used_at: now,
            browser: TOKEN.into(),
            hash: token.hash(),
        };
        self.sessions.add(&session)?;
        Ok(token)
    }

    /// Whoever has both a token for their programs and a vault: the token's hash, their name, and their right as their page says it.
    ///
    /// # Errors
    /// When the sessions cannot be read.
    #[cfg(feature = "postgres")]
    pub(crate) fn holders(&self, vault: &str) -> Result<Vec<(blake3::Hash, String, Value)>, StateError> {
        let now = Timestamp::now();
        let tokens =
            self.sessions.list()?.into_iter().filter(|session| session.browser == TOKEN && session.is_open(now));
        let holder = |session: PageSession| {
            let name = session.person()?;
            let note = Note::parse(&self.text(name)?, name);
            let right = note.metadata.get("vaults")?.get(vault)?.clone();
            (note.visibility != Visibility::BrokenFrontmatter).then(|| (session.hash, name.to_owned(), right))
        };
        Ok(tokens.filter_map(holder).collect())
    }

    fn end_sessions(&self, name: &str) -> Result<(), StateError> {
        let all = self.sessions.list()?;
        let mut theirs = all.iter().filter(|session| session.person() == Some(name));
        theirs.try_for_each(|session| self.sessions.remove(&session.id).map(drop))
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        (!name.is_empty() && slug(name) == name).then(|| self.folder.join(format!("{name}.md")))
    }

    /// A page; `None` where there is none that can be read.
    fn text(&self, name: &str) -> Option<String> {
        let file = self.file(name)?;
        file.symlink_metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MAX_BYTES)?;
        std::fs::read_to_string(file).ok()
    }

    /// A page that can be written again without losing anything.
    fn whole(&self, name: &str) -> Result<String, PeopleError> {
        let text = self.text(name).ok_or_else(|| nobody(name))?;
        match Note::parse(&text, name).visibility {
            Visibility::BrokenFrontmatter => Err(PeopleError::Refused(format!(
                "the frontmatter of {FOLDER}/{name}.md cannot be read; repair it first"
            ))),
            _ => Ok(text),
        }
    }

    fn revise(&self, name: &str, set: &Value) -> Result<(), PeopleError> {
        let text = self.whole(name)?;
        self.write(name, &revised_page(&text, set.as_object().unwrap_or(&Map::new())))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), PeopleError> {
        let file = self.file(name).ok_or_else(|| nobody(name))?;
        Ok(write_atomically(&file, text.as_bytes(), 0o600)?)
    }

    /// One change at a time, of all processes.
    fn lock(&self) -> Result<File, FsError> {
        create_private_dir(self.lock.parent().unwrap_or(&self.folder))?;
        let file = File::options().write(true).create(true).truncate(false).open(&self.lock).on("open", &self.lock)?;
        file.lock().on("lock", &self.lock)?;
        Ok(file)
    }
}

fn nobody(name: &str) -> PeopleError {
    PeopleError::Refused(format!("there is no person `{name}`"))
}

/// Argon2id of a passphrase, with the parameters that OWASP names: 19 MiB, two passes.
fn hashed(passphrase: &str) -> Result<String, String> {
    let mut salt = [0u8; 16];
    getrandom::fill(&mut salt).map_err(|error| format!("no random numbers: {error}"))?;
    let salt = SaltString::encode_b64(&salt).map_err(|error| error.to_string())?;
    let hash = Argon2::default().hash_password(passphrase.as_bytes(), &salt).map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

const BODY: &str = "This page says which vaults a person has. An edit counts at once.

- `vaults`: for each vault `owner` (everything), `editor` or `reader` (all that is not private); or a map with such a `right`,
  and `collections`, `exclude_tags`, `paths` and `expires` as on an agent's page.
- `passphrase`: a hash (Argon2id). `openid`: the issuer of an OpenID provider, a space, and the person's subject there. `vault person invite`
  makes a link by which one of them is set, in the place of both.

To delete this page signs them out everywhere. What they wrote stays.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> (tempfile::TempDir, People) {
        let folder = tempfile::tempdir().unwrap();
        let people = People::of(folder.path());
        (folder, people)
    }

    fn vaults(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(vault, right)| ((*vault).to_owned(), (*right).to_owned())).collect()
    }

    #[test]
    fn an_invitation_is_accepted_once_and_signs_in_until_the_page_is_gone() {
        let (_folder, people) = people();
        people.add("Sam", &vaults(&[("family", "editor"), ("sam", "owner")]), None).unwrap();
        assert!(people.add("sam", &BTreeMap::new(), None).is_err() && people.add("…", &BTreeMap::new(), None).is_err());
        let none = |passphrase| people.with_passphrase("sam", passphrase).is_none();
        assert!(none("") && none(NOT_ONE), "there is none yet");
        let (old, code) = (people.invite("sam").unwrap(), people.invite("sam").unwrap());
        assert!(people.join(old.reveal(), "correct horse").unwrap().is_none(), "the later one counts");
        assert_eq!(&*people.join(code.reveal(), "correct horse").unwrap().unwrap().name, "sam");
        assert!(people.join(code.reveal(), "another horse").unwrap().is_none());
        assert!(people.with_passphrase("sam", "correct horse").is_some());
        for (name, passphrase) in
            [("sam", "another horse"), ("sam", ""), ("maya", "correct horse"), ("../sam", "x"), ("maya", NOT_ONE)]
        {
            assert!(people.with_passphrase(name, passphrase).is_none(), "{name} {passphrase}");
        }
        let token = people.give_token("sam").unwrap();
        assert!(people.holder(&token).is_some() && people.holder(&Token::from_text("x")).is_none());
        people.remove("sam").unwrap();
        assert!(people.holder(&token).is_none() && people.with_passphrase("sam", "correct horse").is_none());
        people.add("Sam", &BTreeMap::new(), None).unwrap();
        assert!(people.holder(&token).is_none(), "who comes again is another");
    }

    #[test]
    fn an_account_signs_in_one_person_in_the_place_of_what_did_before() {
        let (folder, people) = people();
        for name in ["Sam", "Kim"] {
            people.add(name, &BTreeMap::new(), None).unwrap();
        }
        let joined = |name: &str, account: &str| {
            let code = people.invite(name).unwrap();
            (people.join_with_openid(code.reveal(), account), code)
        };
        let is = |account: &str| people.with_openid(account).map(|person| person.name.to_string());
        assert_eq!(is(""), None);
        people.join(people.invite("sam").unwrap().reveal(), "correct horse").unwrap().unwrap();
        let token = people.give_token("sam").unwrap();
        joined("sam", "https://a.example #1: x").0.unwrap().unwrap();
        assert_eq!(is("https://a.example #1: x").as_deref(), Some("sam"));
        assert!(people.holder(&token).is_none() && people.with_passphrase("sam", "correct horse").is_none());
        assert!(is("https://b.example #1: x").is_none() && is("#1: x").is_none());
        let (taken, code) = joined("kim", "https://a.example #1: x");
        assert!(matches!(taken, Err(PeopleError::Refused(_))));
        assert!(people.add("Ann", &BTreeMap::new(), Some("https://a.example #1: x")).is_err());
        people.join(code.reveal(), "correct horse").unwrap().expect("an invitation that was refused still counts");
        joined("sam", "https://a.example 2").0.unwrap().unwrap();
        assert_eq!((is("https://a.example #1: x"), is("https://a.example 2").as_deref()), (None, Some("sam")));
        let page = std::fs::read_to_string(folder.path().join("people/sam.md")).unwrap();
        std::fs::write(folder.path().join("people/ann.md"), page).unwrap();
        assert_eq!(is("https://a.example 2"), None, "whose it is nobody knows");
    }

    #[test]
    fn rights_are_what_the_page_says_and_what_makes_no_sense_gives_nothing() {
        for (right, name) in [
            (json!("owner"), "owner"),
            (json!("editor"), "editor"),
            (json!(" reader "), "reader"),
            (json!({ "right": "owner" }), "owner"),
            (json!({ "right": "reader", "collections": ["notes"], "exclude_tags": ["health"] }), "reader"),
            (json!({ "right": "owner", "collections": ["notes"] }), "none"),
            (json!({ "right": "reader", "collection": ["notes"] }), "none"),
            (json!({ "right": "reader", "paths": "a, b" }), "none"),
            (json!({ "collections": ["notes"] }), "none"),
            (json!("Owner"), "none"),
            (json!(true), "none"),
            (json!(null), "none"),
        ] {
            assert_eq!(Right::read(&right, "sam").name(), name, "{right}");
        }
        let (folder, people) = people();
        people.add("Sam", &vaults(&[("family", "reader")]), None).unwrap();
        let is = |vault: &str| people.named("sam").unwrap().principal(vault).is_some();
        assert!(is("family") && !is("other"));
        people.give("sam", "work", Some(&json!({ "right": "editor", "expires": "2020-01-01" }))).unwrap();
        assert!(!is("work"), "it is over");
        people.give("sam", "family", None).unwrap();
        assert!(!is("family") && people.give("sam", "family", Some(&json!("king"))).is_err());
        let parts = || match &people.named("sam").unwrap().vaults.get("maya") {
            Some(right) => right.parts().0.to_vec(),
            None => Vec::new(),
        };
        let share = |path: &str, right: &str| people.share("sam", "maya", path, right, None).map(drop);
        share("notes/recipes", "reader").unwrap();
        share("a[1].md", "reader").unwrap();
        share("a[1].md", "reader").unwrap();
        assert_eq!(parts(), ["notes/recipes", "a\\[1\\].md"]);
        assert!(share("b.md", "editor").is_err() && people.share("sam", "maya", "b.md", "reader", Some(9)).is_err());
        assert!(people.end_share("sam", "maya", "notes").is_err());
        people.end_share("sam", "maya", "notes/recipes").unwrap();
        people.end_share("sam", "maya", "a[1].md").unwrap();
        assert!(!people.named("sam").unwrap().vaults.contains_key("maya"));
        people.give("sam", "maya", Some(&json!({ "right": "reader" }))).unwrap();
        assert!(share("b.md", "reader").is_err(), "it would narrow what they have");
        std::fs::write(folder.path().join("people/sam.md"), "---\nvaults: {family: owner\n---\n").unwrap();
        assert!(!is("family"), "what cannot be read gives nothing");
    }
}
