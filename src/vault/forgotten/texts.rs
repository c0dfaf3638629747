//! What was forgotten, of one vault: where, and who could read it there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::lookup::{ForgottenLookup, TextPart, of_fact, of_words};
use crate::access::rules::{Scope, is_agents, own_file};
use crate::base::path::{VaultPath, folded};
use crate::base::state::{
    DigestKey, ForgottenKind, KnownTombstones, LeftOut, LeftOutTable, State, StateError, TombstoneTable, Tombstones,
};

/// What was forgotten for good, and what was left out because of it.
#[derive(Debug)]
pub struct ForgottenTexts {
    state: Arc<State>,
    /// What was forgotten.
    pub(crate) tombstones: TombstoneTable,
    /// What was left out.
    pub(crate) left_out: LeftOutTable,
    /// Who asks and then writes holds it: what was asked before something is forgotten is written before, too.
    writing: RwLock<()>,
    /// What was forgotten when files were looked over, and what was found in each.
    looked: Mutex<Looked>,
}

type Looked = (Option<Arc<Tombstones>>, HashMap<VaultPath, LookedAt>);

/// A note as it was looked at: its hash, and the lines that were forgotten, each with its tombstone.
type LookedAt = ([u8; 32], Vec<(usize, i64)>);

/// Stands for all memory scopes: what was forgotten in one comes again in another.
pub(crate) const ANY_SCOPE: &str = "*";

impl ForgottenTexts {
    /// Of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let (tombstones, left_out) = (TombstoneTable::new(state), LeftOutTable::new(state));
        Self { state: Arc::clone(state), tombstones, left_out, writing: RwLock::default(), looked: Mutex::default() }
    }

    /// What was forgotten, for one who is about to write, and holds it until that is done.
    ///
    /// # Errors
    /// When the state cannot be read: then nothing may be written.
    pub fn ask(&self) -> Result<ForgottenLookup<'_>, StateError> {
        let writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        Ok(ForgottenLookup { _writing: Some(writing), known: self.known()? })
    }

    /// The same for one who only looks.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn look(&self) -> Result<ForgottenLookup<'static>, StateError> {
        Ok(ForgottenLookup { _writing: None, known: self.known()? })
    }

    fn known(&self) -> Result<Option<KnownTombstones>, StateError> {
        let all = self.tombstones.all()?;
        if all.all.is_empty() { Ok(None) } else { Ok(Some((all, self.state.keys()?))) }
    }

    /// Remembers parts of texts and facts of a memory scope as forgotten, safe on disk when this returns; gives the number that lifts all of
    /// it. Each fact is one of its scope and one of any; a name is namespace and key, joined by `/`. Nothing, where all of it says too little
    /// to be known again. `purge` is the one that is under way, if one is, and which of the things in its list this is.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub(crate) fn remember(
        &self,
        place: &ForgottenNote,
        parts: &[TextPart],
        scope: &str,
        facts: &[(String, &str)],
        purge: Option<(i64, Option<usize>)>,
    ) -> Result<Option<i64>, StateError> {
        let key = self.state.key_or_new()?;
        let digest = |scope: &str, name: &str, value: &str| (ForgottenKind::Fact, of_fact(&key, scope, name, value));
        let both = |(name, value): &(String, &str)| [scope, ANY_SCOPE].map(|scope| digest(scope, name, value));
        let digests: Vec<_> = parts
            .iter()
            .map(|part| (part.kind, of_words(&key, &part.words)))
            .chain(facts.iter().flat_map(both))
            .collect();
        if digests.is_empty() {
            return Ok(None);
        }
        let about = encoded(&place.kept(&key));
        let _none_writes = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        self.tombstones.add(Timestamp::now(), &place.shown(), &about, &digests, purge).map(Some)
    }

    /// A note is gone for good: its name goes from what was forgotten of it before. `readers` are those that could read it.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn gone(&self, path: &VaultPath, readers: &[String]) -> Result<(), StateError> {
        for tombstone in &self.tombstones.all()?.all {
            let Ok(mut place) = serde_json::from_str::<StoredForgottenNote>(&tombstone.about) else { continue };
            if place.path.as_deref() == Some(path.as_str()) {
                (place.path, place.readers) = (None, readers.to_vec());
                self.tombstones.set_place(tombstone.id, &folder_of(path), &encoded(&place))?;
            }
        }
        Ok(())
    }

    /// The lines of a note, from 1, that were `known` as forgotten, each with what was: the person has written them again. What was found in
    /// a note that has not changed is remembered; of another they are looked for by `find`, if that may be (`reads`), else nothing is known.
    pub fn lines_of(
        &self,
        known: &ForgottenLookup<'_>,
        path: &VaultPath,
        hash: &[u8; 32],
        reads: bool,
        find: impl FnOnce() -> Vec<(usize, i64)>,
    ) -> Option<Vec<(usize, i64)>> {
        let Some((tombstones, _)) = &known.known else { return Some(Vec::new()) };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.0.as_ref().is_none_or(|before| !Arc::ptr_eq(before, tombstones)) {
            *looked = (Some(Arc::clone(tombstones)), HashMap::new());
        }
        match looked.1.get(path) {
            Some((at, lines)) if at == hash => Some(lines.clone()),
            _ if !reads => None,
            _ => {
                let lines = find();
                looked.1.insert(path.clone(), (*hash, lines.clone()));
                Some(lines)
            }
        }
    }

    /// Notes what was left out, all of it or a part, for the person to see: who brought it, and what it was for.
    pub fn note(&self, by: &str, into: &str, whole: bool, tombstone: i64) {
        let (at, by, into) = (Timestamp::now(), by.to_owned(), into.to_owned());
        self.left_out.add(LeftOut { at, by, into, whole, tombstone });
    }
}

fn encoded(place: &StoredForgottenNote) -> String {
    // It is made of texts and switches alone.
    serde_json::to_string(place).unwrap_or_default()
}

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
    pub(super) fn is_in(&self, reach: &Scope, key: &DigestKey) -> bool {
        let (slugs, given) = match reach {
            Scope::Everything => return true,
            Scope::Own { slugs, given } => (slugs, given),
            Scope::Public | Scope::Nothing | Scope::Given(_) => return false,
        };
        if let Some(slug) = &self.agent {
            return !self.private && slugs.contains(slug) && self.path.as_deref().is_none_or(is_own);
        }
        if is_agents(&self.collection) {
            return false;
        }
        let Some(grant) = given else { return false };
        // Its own memory comes before what others share with it.
        let read_it_then = || slugs.first().is_some_and(|slug| self.readers.contains(slug));
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
    use super::super::lookup::FactToWrite;
    use super::super::lookup::parts_of;
    use super::*;
    use crate::access::rules::Scope;

    fn forgotten(texts: &[&str]) -> (tempfile::TempDir, ForgottenTexts) {
        let folder = tempfile::tempdir().unwrap();
        let forgotten = ForgottenTexts::new(&State::in_folder(folder.path()));
        let path = VaultPath::new("notes/a.md").unwrap();
        let place = ForgottenNote { path, tags: vec![], private: false, derived: false, readers: vec![], gone: false };
        forgotten.remember(&place, &parts_of(texts), "", &[], None).unwrap();
        (folder, forgotten)
    }

    #[test]
    fn what_was_forgotten_is_left_out_and_nothing_else() {
        let secret = "# Bread\n\nThe key lies under the third pot. Thanks!\n\n- Bob owes me 40 euros\n- I like tea\n";
        let (_folder, forgotten) = forgotten(&[secret]);
        let asked = forgotten.ask().unwrap();
        let left = |text: &str| asked.without(text, &Scope::Everything).map(|left| left.text);
        for all in [
            secret,
            "the key lies under the third pot",
            "> **The key** lies under\n> the third pot!",
            "1. Bob owes me 40 Euros.",
            "I like tea",
            "<p>The <b>key</b> lies under the third pot.</p>",
            "| I like tea | The key lies under the third pot. |",
            "## Today\n\n- I like tea\n- bob owes me 40 euros",
        ] {
            assert_eq!(left(all), Some(None), "{all}");
        }
        for (text, kept) in [
            ("Go. The key lies under the third pot. Now.", "Go. Now."),
            ("- I like tea\n- I like coffee", "- I like coffee"),
            ("one\n\nBob owes me 40 euros\n\ntwo", "one\n\n\ntwo"),
            ("| The key lies under the third pot. | x |", "| | x |"),
            ("<tr><td>I like tea</td><td>x</td></tr>", "<tr><td></td><td>x</td></tr>"),
            ("one | Bob owes me 40 euros | two", "one | | two"),
            ("See: a.\nThe key lies under\nthe third pot. End.", "See: a.\nEnd."),
        ] {
            assert_eq!(left(text), Some(Some(kept.into())), "{text}");
        }
        for other in [
            "Thanks!", "Bread", "The key lies under the fourth pot.", "| Thanks! | x |", "<p>Bread</p>",
            "Do you know that I like tea? Yes.", "",
        ] {
            assert_eq!(left(other), None, "{other}");
        }
        assert_eq!(asked.lines("x\n\n# y\n- I like tea\n- z\n").iter().map(|(at, _)| *at).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn of_a_note_the_summary_goes_too_and_no_blank_line() {
        let secret = "- The key lies under the third pot\n- I like tea very much\n";
        let (_folder, forgotten) = forgotten(&[secret]);
        let asked = forgotten.ask().unwrap();
        let left = |text: &str| {
            let left = asked.without_in_file(text, false, &Scope::Everything, &|_, _| false);
            left.map(|left| left.text)
        };
        let item = "- The key lies under the third pot\n";
        assert_eq!(left(&format!("- a: 1\n{item}\nProse.\n")).unwrap().unwrap(), "- a: 1\n\nProse.\n");
        let note = |head: &str| format!("---\n{head}tags: [x]\n---\nProse.\n");
        assert_eq!(left(&note("summary: The key lies under the third pot.\n")).unwrap().unwrap(), note(""));
        let long = "summary: >-\n  Pots. The key lies\n  under the third pot.\n";
        assert_eq!(left(&note(long)).unwrap().unwrap(), note(""));
        assert_eq!(left(&note("summary: Of pots.\n")), None);
        let shared = note("summary: &s The key lies under the third pot.\nother: *s\n");
        assert_eq!(left(&shared).unwrap().unwrap(), "Prose.\n", "its lines cannot be told apart");
        let all = note("summary: I like tea very much\n").replace("Prose.", item.trim_end());
        assert_eq!(left(&all).unwrap(), None);
        let kept = asked.without_in_file(&all, false, &Scope::Everything, &|_, part| part.contains("tea"));
        assert_eq!(kept.unwrap().text, None, "nothing is left below it");
    }

    #[test]
    fn facts_are_known_by_scope_key_and_value() {
        let (_folder, forgotten) = forgotten(&[]);
        assert!(forgotten.ask().unwrap().is_empty(), "nothing is remembered of nothing");
        let path = VaultPath::new("facts.md").unwrap();
        let place = ForgottenNote { path, tags: vec![], private: false, derived: false, readers: vec![], gone: false };
        let id = forgotten.remember(&place, &[], "user", &[("home/Code".into(), "47-11")], None).unwrap().unwrap();
        let has = |scope: &str, name: &str, value: &str| {
            forgotten.ask().unwrap().has_fact(scope, name, value, &Scope::Everything) == Some(id)
        };
        assert!(has("user", "home/code", "47 11") && !has("user", "home/code", "4711"));
        assert!(!has("system", "home/code", "47-11") && !has("user", "code", "47-11"));
        assert!(forgotten.tombstones.remove(id).unwrap() && !has("user", "home/code", "47-11"));
    }

    #[test]
    fn a_fact_is_known_by_whatever_of_it_says_what_was_forgotten() {
        let (_folder, forgotten) = forgotten(&["PIN 4711", "The zibeline key lies under the third flowerpot."]);
        let asked = forgotten.ask().unwrap();
        let has = |namespace: &str, key: &str, value: &str| {
            asked.in_fact("user", FactToWrite { namespace, key, value }, &Scope::Everything).is_some()
        };
        for (namespace, key, value) in [
            ("x", "PIN", "4711"),
            ("x", "PIN", "'4711'"),
            ("x", "pin", "[4711, 5]"),
            ("x", "codes", "{pin: 4711}"),
            ("x", "codes", "[{a: {Pin: 4711}}]"),
            ("the zibeline key lies under the third flowerpot", "a", "yes"),
            ("x/the zibeline key lies under the third flowerpot", "a", "yes"),
            ("x", "the_zibeline_key_lies_under_the_third_flowerpot", "yes"),
            ("x", "ok", "[\"The zibeline key lies under the third flowerpot.\", b]"),
            ("x", "ok", "{The zibeline key lies under the third flowerpot: b}"),
            ("x", "ok", "Well. The zibeline key lies under the third flowerpot."),
        ] {
            assert!(has(namespace, key, value), "{namespace}/{key}: {value}");
        }
        for (namespace, key, value) in
            [("x", "pin", "4712"), ("x", "code", "4711"), ("pin", "a", "4711"), ("", "ok", "[a, b]")]
        {
            assert!(!has(namespace, key, value), "{namespace}/{key}: {value}");
        }
    }

    #[test]
    fn a_note_that_is_gone_is_named_no_more() {
        let (folder, forgotten) = forgotten(&["The key lies under the third pot."]);
        let path = VaultPath::new("notes/a.md").unwrap();
        assert_eq!(forgotten.tombstones.all().unwrap().all[0].place, "notes/a.md");
        forgotten.gone(&path, &["ada".into()]).unwrap();
        let tombstone = &forgotten.tombstones.all().unwrap().all[0];
        assert_eq!(tombstone.place, "notes/");
        assert!(!tombstone.about.contains("a.md") && tombstone.about.contains("ada"), "{}", tombstone.about);
        assert!(
            ForgottenTexts::new(&State::in_folder(folder.path()))
                .ask()
                .unwrap()
                .without("the key lies under the third pot", &Scope::Everything)
                .is_some()
        );
    }
}

#[cfg(test)]
mod tests_of_place {
    use std::sync::Arc;

    use super::*;
    use crate::access::rules::Grant;
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
        let grant = |collections: &str, tag: &str, allowed: Option<&str>| Grant {
            collections: vec![collections.to_owned()],
            exclude_tags: vec![tag.to_owned()],
            allowed: allowed.map(globs),
            denied: crate::access::rules::Globs::default(),
            scopes: None,
            parts: Vec::new(),
            sessions: Vec::new(),
            own: "ada".into(),
        };
        let reads = |place: &ForgottenNote, slug: &str, grant: Option<Grant>| {
            let reach = Scope::Own { slugs: vec![slug.into()], given: grant.map(Arc::new) };
            place.kept(&key).is_in(&reach, &key)
        };
        let all = |tag: &str| Some(grant("*", tag, None));
        let session = |agent: &str| place("conversations/s.md", &[&format!("@session/direct/{agent}")], false);
        assert!(reads(&session("ada"), "ada", all("x")) && !reads(&session("bob"), "ada", all("x")));
        let diary = place("notes/diary.md", &["Health/Teeth"], false);
        assert!(diary.kept(&key).is_in(&Scope::Everything, &key));
        assert!(reads(&diary, "ada", all("work")) && reads(&diary, "new", all("work")));
        assert!(
            !reads(&diary, "ada", None)
                && !reads(&diary, "ada", all("health"))
                && !reads(&diary, "ada", all("health/teeth"))
        );
        assert!(!reads(&diary, "ada", Some(grant("files", "x", None))));
        assert!(!reads(&diary, "ada", Some(grant("*", "x", Some("notes/work/**")))));
        assert!(reads(&diary, "ada", Some(grant("*", "x", Some("notes/d*")))));
        let gone = place("notes/diary.md", &[], true);
        let ruled = || Some(grant("*", "x", Some("notes/d*")));
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
