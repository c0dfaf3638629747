//! Memory of agents' own, over HTTP against the real binary.

mod guessing;
mod limits;
mod sharing;
mod tools;
mod undo;

use memory_vault::access::policy::AgentRegistry;
use memory_vault::access::rules::Session;
use memory_vault::base::state::State;

use crate::support::prelude::*;

/// An agent that asks over TCP with a token of its own.
#[derive(Clone)]
pub struct Agent {
    slug: String,
    token: String,
    address: String,
}

/// A vault in which nobody asks too often, with its daemon.
pub fn vault() -> Daemon {
    Daemon::without_model("[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n").started()
}

/// Makes an agent's page, whose frontmatter says `more`, and gives it a token.
pub fn agent(vault: &Daemon, slug: &str, more: &str) -> Agent {
    agent_in(vault, slug, more, Session::direct())
}

pub fn agent_in(vault: &Daemon, slug: &str, more: &str, session: Session) -> Agent {
    page(vault, slug, more);
    let agents = AgentRegistry::new(vault.path(""), &State::in_folder(&vault.path(".vault/state")));
    let token = agents.give_token(slug, Some(session)).unwrap().reveal().to_owned();
    Agent { slug: slug.into(), token, address: vault.address().into() }
}

/// What an agent's page says from now on.
pub fn page(vault: &Daemon, slug: &str, more: &str) {
    let text = format!("---\ntitle: {slug}\n{more}\n---\n\nThe secret policy of {slug}.\n");
    write_file(vault.path(&format!("agents/{slug}/agent.md")), text);
}

impl Agent {
    /// What a tool answers, with its status.
    #[track_caller]
    pub fn ask(&self, tool: &str, body: Value) -> (u16, Value) {
        self.try_ask(tool, body).expect("the server answers")
    }

    /// The same, where the server may be killed.
    pub fn try_ask(&self, tool: &str, body: Value) -> Option<(u16, Value)> {
        let reply = self.reply("POST", &format!("/api/memory/{tool}"), &body)?;
        Some((reply.status, reply.json()))
    }

    fn reply(&self, method: &str, target: &str, body: &Value) -> Option<Reply> {
        Connection::try_open(&self.address)?.send(&Request::send(method, target, body).bearer(&self.token))
    }

    /// Sets a fact of its own; gives what is answered, which must be no error.
    #[track_caller]
    pub fn fact(&self, body: Value) -> Value {
        self.reply("PUT", "/api/facts", &body).expect("the server answers").ok()
    }

    /// What is answered to something that it posts, with its status.
    pub fn send(&self, target: &str, body: Value) -> (u16, Value) {
        let reply = self.reply("POST", target, &body).expect("the server answers");
        (reply.status, reply.json())
    }

    /// What a tool answers, which must be no error.
    #[track_caller]
    pub fn call(&self, tool: &str, body: Value) -> Value {
        let (status, answer) = self.ask(tool, body.clone());
        assert_eq!(status, 200, "{tool} {body}: {answer}");
        answer
    }

    /// Which error it is, whose shape must be that of all errors.
    #[track_caller]
    pub fn refused(&self, tool: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.ask(tool, body.clone());
        assert!((400..500).contains(&status), "{tool} {body}: {status} {answer}");
        assert!(answer["error"]["code"].is_string(), "{answer}");
        (status, answer["error"]["message"].as_str().unwrap().to_owned())
    }

    /// Saves a text, and gives the checkpoint.
    #[track_caller]
    pub fn save(&self, file: &str, content: &str) -> Value {
        let saved = self.call("save", json!({"file": file, "content": content}));
        assert_eq!(saved["searchable"], true, "{saved}");
        saved["checkpoint_id"].clone()
    }

    /// The citations of what a search finds.
    #[track_caller]
    pub fn find(&self, query: &str) -> Vec<String> {
        column(&self.call("search", json!({"query": query}))["results"], "citation")
    }

    /// What a file of its folder says; nothing when it is not there.
    pub fn text(&self, vault: &Daemon, file: &str) -> Option<String> {
        fs::read_to_string(vault.path(&format!("agents/{}/{file}", self.slug))).ok()
    }
}

/// All that the person and the agents have, to be compared.
fn all(vault: &Daemon) -> Vec<(PathBuf, Vec<u8>)> {
    notes_of(&vault.path(""))
}
