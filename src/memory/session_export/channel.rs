//! From what kind of channel a session comes, as its program says it: by the key of the session, or by what is kept of it beside the file.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::config::ChannelScope;
use crate::memory::imports::SourceKind;
use crate::vault::disk::Stamp;

/// Where OpenClaw keeps what is known of its sessions, beside them.
const STORE: &str = "sessions.json";
/// Maximum size of a store, in bytes; a larger one is not read.
const MAX_STORE_BYTES: u64 = 64 << 20;

/// The channel of a session, as far as it is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SessionChannel {
    /// Of what kind it is; `None` where nothing says so.
    pub(super) scope: Option<ChannelScope>,
    /// What it is called: `telegram`.
    pub(super) name: Option<String>,
}

/// The stores that were read, by their folder: of each the channels of its sessions.
#[derive(Debug, Default)]
pub(super) struct ChannelStores(HashMap<PathBuf, (Stamp, HashMap<String, SessionChannel>)>);

impl ChannelStores {
    /// The channel of a session of a program, which has that file.
    pub(super) fn channel(&mut self, kind: SourceKind, id: &str, file: &Path) -> SessionChannel {
        match kind {
            SourceKind::OpenClaw => {
                let known = file.parent().and_then(|folder| self.store(folder)?.get(id).cloned());
                known.unwrap_or_default()
            }
            SourceKind::Moltis => of_key(id),
            // Somebody and a program, on this machine.
            _ => SessionChannel { scope: None, name: None },
        }
    }

    /// The store of a folder, read where it has changed.
    fn store(&mut self, folder: &Path) -> Option<&HashMap<String, SessionChannel>> {
        let path = folder.join(STORE);
        let meta = fs::metadata(&path).ok().filter(|meta| meta.is_file() && meta.len() <= MAX_STORE_BYTES)?;
        let stamp = Stamp::of(&meta);
        if self.0.get(folder).is_none_or(|(known, _)| *known != stamp) {
            let store = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            // One that is being written is read again when it is whole; until then what was known of it counts.
            match store {
                Some(store) => drop(self.0.insert(folder.to_owned(), (stamp, sessions_of(&store)))),
                None => return self.0.get(folder).map(|(_, sessions)| sessions),
            }
        }
        self.0.get(folder).map(|(_, sessions)| sessions)
    }
}

/// The channels of the sessions that a store names: a map of keys to what is known of each. One that several keys lead to is the
/// narrowest of them.
fn sessions_of(store: &Value) -> HashMap<String, SessionChannel> {
    let mut sessions: HashMap<String, SessionChannel> = HashMap::new();
    for (key, entry) in store.as_object().into_iter().flatten() {
        let Some(id) = entry["sessionId"].as_str() else { continue };
        let told = of_key(key);
        let said = ["chatType", "chat_type"].iter().find_map(|field| entry[*field].as_str());
        let scope = said.map_or(told.scope, |said| Some(scope_of(said).unwrap_or(ChannelScope::Direct)));
        let name = ["channel", "lastChannel", "provider"].iter().find_map(|field| entry[*field].as_str());
        let name = name.map(str::to_owned).or(told.name);
        let found = SessionChannel { scope, name };
        let narrower = |known: &SessionChannel| {
            // A key that says nothing of it takes nothing from one that does.
            let order = |scope: Option<ChannelScope>| {
                ChannelScope::ALL.iter().position(|one| Some(*one) == scope).unwrap_or(ChannelScope::ALL.len())
            };
            order(found.scope) < order(known.scope)
        };
        if sessions.get(id).is_none_or(narrower) {
            sessions.insert(id.to_owned(), found);
        }
    }
    sessions
}

/// What the key of a session says: `agent:main:telegram:group:-100`, `telegram:bot:-100`, `main`.
fn of_key(key: &str) -> SessionChannel {
    let key = key.to_lowercase();
    let mut parts: Vec<&str> = key.split(':').filter(|part| !part.is_empty()).collect();
    if parts.first() == Some(&"agent") && parts.len() > 2 {
        parts.drain(..2);
    }
    let is_name = |part: &&str| !NO_CHANNELS.contains(part) && scope_of(part).is_none();
    let name = parts.first().filter(|part| parts.len() > 1 && is_name(part)).map(|part| (*part).to_owned());
    // The first that says so: what follows is a name that somebody else has given.
    let scope = match parts.as_slice() {
        ["main"] => Some(ChannelScope::Direct),
        ["telegram", _, chat] if chat.strip_prefix('-').is_some_and(is_number) => Some(ChannelScope::Group),
        ["telegram", _, chat] if is_number(chat) => Some(ChannelScope::Direct),
        [first, ..] if NO_CHANNELS.contains(first) => None,
        // The account may stand between.
        parts => parts.iter().take(3).find_map(|part| scope_of(part)),
    };
    SessionChannel { scope, name }
}

/// What keys begin with that are of no channel.
const NO_CHANNELS: [&str; 7] = ["main", "session", "cron", "hook", "subagent", "acp", "node"];

fn scope_of(word: &str) -> Option<ChannelScope> {
    match word {
        "dm" | "private" => Some(ChannelScope::Direct),
        "supergroup" => Some(ChannelScope::Group),
        "room" => Some(ChannelScope::Channel),
        word => ChannelScope::of(word),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_says_the_scope_or_nothing() {
        use ChannelScope::{Channel, Direct, Group};
        for (key, scope, name) in [
            ("agent:main:main", Some(Direct), None),
            ("main", Some(Direct), None),
            ("agent:main:telegram:group:-100:topic:42", Some(Group), Some("telegram")),
            ("agent:main:discord:channel:123:thread:9", Some(Channel), Some("discord")),
            ("agent:main:telegram:default:dm:7", Some(Direct), Some("telegram")),
            ("agent:main:slack:direct:group", Some(Direct), Some("slack")),
            ("agent:main:dm:7", Some(Direct), None),
            ("telegram:bot:-1001", Some(Group), Some("telegram")),
            ("telegram:bot:1001", Some(Direct), Some("telegram")),
            ("session:5e55", None, None),
            ("agent:main:cron:group", None, None),
            ("agent:main:subagent:group", None, None),
            ("matrix:a:b:group", None, Some("matrix")),
            ("", None, None),
            ("agent", None, None),
        ] {
            let found = of_key(key);
            assert_eq!((found.scope, found.name.as_deref()), (scope, name), "{key}");
        }
    }

    #[test]
    fn a_store_says_it_of_each_session_and_the_narrowest_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s1.jsonl");
        let mut stores = ChannelStores::default();
        let mut of = |id: &str| stores.channel(SourceKind::OpenClaw, id, &file);
        assert_eq!(of("s1"), SessionChannel::default());
        let write = |store: &Value| fs::write(folder.path().join(STORE), store.to_string()).unwrap();
        write(&json!({
            "agent:main:discord:channel:1": { "sessionId": "s1", "chatType": "channel" },
            "agent:main:main": { "sessionId": "s2", "lastChannel": "whatsapp" },
            "agent:main:telegram:group:1": { "sessionId": "s2" },
            "agent:main:telegram:group:2": { "sessionId": "s3", "chatType": "everybody" },
            "strange": 7,
        }));
        assert_eq!(of("s1"), SessionChannel { scope: Some(ChannelScope::Channel), name: Some("discord".into()) });
        assert_eq!(of("s2"), SessionChannel { scope: Some(ChannelScope::Direct), name: Some("whatsapp".into()) });
        assert_eq!(of("s3").scope, Some(ChannelScope::Direct), "what makes no sense is the narrowest");
        fs::write(folder.path().join(STORE), "{\"half").unwrap();
        assert_eq!(of("s1").scope, Some(ChannelScope::Channel), "it is being written");
    }
}
