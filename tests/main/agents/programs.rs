//! Agents at the addresses of `qmd serve`, and the search that answers as one of them would be answered.

use super::world::{token_of, world};
use crate::support::prelude::*;

#[test]
fn what_an_agent_ingests_goes_to_its_own_memory_as_it_may_write() {
    let vault = world(None, 0);
    // What an agent ingests goes to its own memory alone.
    let (ada, eve) = (token_of(&vault, "ada"), token_of(&vault, "eve"));
    let before = vault.get("/api/user-memory/stats").json()["collections"].clone();
    let asked = json!({"content": "The echidna naps.", "title": "Echidnas", "collection": "Knowledge!", "tags": ["x"],
        "metadata": {"created": "1970-01-01"}});
    let saved = vault.post_as(&ada, "/ingest", &asked).ok();
    assert_eq!((&saved["ok"], &saved["path"]), (&true.into(), &"agents/ada/memory/knowledge.md".into()));
    let text = vault.read("agents/ada/memory/knowledge.md");
    assert!(text.ends_with("## Echidnas\n\nThe echidna naps.\n") && !text.contains("1970"), "{text}");
    let plain = vault.post_as(&ada, "/embed", &json!({"content": "An echidna snores."})).ok();
    assert_eq!(plain["path"], "agents/ada/MEMORY.md");
    let found = vault.post_as(&ada, "/api/memory/search", &json!({"query": "echidna"})).ok();
    let found: Vec<&Value> = found["results"].as_array().unwrap().iter().map(|hit| &hit["hash"]).collect();
    assert!(found.contains(&&saved["hash"]) && found.contains(&&plain["hash"]), "{found:?} {saved} {plain}");
    assert_eq!(vault.post_as(&ada, "/search", &json!({"query": "echidna"})).ok()["total"], 0, "it is not the person's");

    for token in [&eve, &token_of(&vault, "bob")] {
        assert_eq!(vault.post_as(token, "/delete-chunk", &json!({"hash": saved["hash"]})).status, 404);
    }
    let deleted = vault.post_as(&ada, "/delete-chunk", &json!({"hash": saved["hash"]})).ok();
    assert!(deleted["ok"] == true && deleted["checkpoint_id"].is_string(), "{deleted}");
    assert_eq!(vault.post_as(&ada, "/delete-chunk", &json!({"hash": saved["hash"]})).status, 404);
    let mut after = vault.get("/api/user-memory/stats").json()["collections"].clone();
    after["agents"].take();
    let mut before = before;
    before["agents"].take();
    assert_eq!(after, before);
    // A chunk with a hidden comment is deleted with it.
    let ada = token_of(&vault, "ada");
    let own = vault.path("agents/ada/memory/hidden.md");
    write_file(&own, "# Kept\n\nA numbat stays.\n\n# Gone\n\nAn echidna %% of old %% naps.\n");
    vault.settle();
    let hash = eventually("the chunk", || {
        let found = vault.post_as(&ada, "/api/memory/search", &json!({"query": "echidna naps"})).ok();
        let mut hits = found["results"].as_array()?.iter();
        Some(hits.find(|hit| hit["path"] == "agents/ada/memory/hidden.md")?["hash"].clone())
    });
    vault.post_as(&ada, "/delete-chunk", &json!({"hash": hash})).ok();
    assert_eq!(fs::read_to_string(&own).unwrap(), "# Kept\n\nA numbat stays.\n");
    // What an agent ingests is bound by its write mode.
    let asked = json!({"content": "x", "collection": "knowledge"});
    for (mode, expected) in [
        ("hybrid", Some("agents/bob/memory/knowledge.md")),
        ("prompt-only", Some("agents/bob/MEMORY.md")),
        ("search-only", Some("agents/bob/memory/knowledge.md")),
        ("off", None),
    ] {
        let page = format!("---\ntitle: Bob\nwrite_mode: {mode}\n---\n");
        fs::write(vault.path("agents/bob/agent.md"), page).unwrap();
        let bob = token_of(&vault, "bob");
        let reply = vault.post_as(&bob, "/ingest", &asked);
        match expected {
            Some(path) => assert_eq!(reply.ok()["path"], path, "{mode}"),
            None => assert_eq!(reply.status, 403, "{mode}"),
        }
    }
    let bob = token_of(&vault, "bob");
    for body in [json!({"content": "x", "metadata": {"": 1}}), json!({"content": "x", "metadata": {"a\u{7}": 1}})] {
        assert_eq!(vault.post_as(&bob, "/ingest", &body).status, 400);
    }
    for collection in ["../zoe", "..", "agent", "/etc", "a/../../zoe/MEMORY"] {
        let reply = vault.post_as(&bob, "/ingest", &json!({"content": "x", "collection": collection}));
        assert!(matches!(reply.status, 400 | 403), "{collection}: {}", reply.status);
    }
    let page = vault.read("agents/bob/agent.md");
    assert_eq!(page, "---\ntitle: Bob\nwrite_mode: off\n---\n");
}

#[test]
fn what_an_agent_may_not_is_as_if_it_were_not_there() {
    let vault = world(None, 0);
    // The person is answered as an agent would be.
    let ada = token_of(&vault, "ada");
    for word in ["quokka", "xylophone", "marsupial"].map(encode) {
        let own = vault.get_as(&ada, &format!("/api/user-memory/search?q={word}")).ok();
        let as_ada = vault.get(&format!("/api/user-memory/agent-search?q={word}&agent_name=ada")).ok();
        assert_eq!((&as_ada["results"], &as_ada["query"]), (&own["results"], &own["query"]));
        assert_eq!(as_ada["agent"], "ada");
        let itself = vault.get_as(&ada, &format!("/api/user-memory/agent-search?q={word}&agent_name=ada"));
        let nobody = vault.get_as(&ada, &format!("/api/user-memory/agent-search?q={word}"));
        assert_eq!((itself.ok(), itself.body), (as_ada, nobody.body));
    }
    let log = vault.get("/api/agents/ada/log").json();
    assert!(log["entries"].as_array().unwrap().iter().any(|entry| entry["query"] == "xylophone"), "{log}");
    // An agent that may not, one that is not, and another are the same.
    let refused = vault.get("/api/user-memory/agent-search?q=quokka&agent_name=nobody");
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (403, "forbidden".into()));
    let names = ["bob", "eve", "zo", "Ada", "ada/", "..", "../ada", "ada%00", "%ff", "agents/ada", &"a".repeat(5000)];
    for name in names {
        let reply = vault.get(&format!("/api/user-memory/agent-search?q=quokka&agent_name={name}"));
        assert_eq!((reply.status, &reply.body), (403, &refused.body), "{name:.20}");
    }
    let unnamed = vault.get("/api/user-memory/agent-search?q=quokka");
    assert_eq!(unnamed.status, 403);
    assert!(unnamed.error().contains("agent_name"), "{}", unnamed.error());
    assert_eq!(vault.get("/api/user-memory/agent-search?agent_name=ada").status, 400);
    // The status tells an agent of what it sees.
    let status = vault.get_as(&token_of(&vault, "ada"), "/status").ok();
    let mut keys: Vec<&String> = status.as_object().unwrap().keys().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["chunks", "collections", "embedded_share", "files", "model", "version"]);
    assert_eq!(status["files"], 7, "{status}");
    let nothing = vault.get_as(&token_of(&vault, "bob"), "/status").ok();
    assert_eq!((&nothing["files"], &nothing["collections"]), (&0.into(), &json!({})));
    assert!(vault.status()["index_dir"].is_string(), "the person is told all");
}
