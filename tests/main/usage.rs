//! How often passages are given: counted for who was given them, and for nobody else.

use crate::support::prelude::*;

/// Asks as an agent that may read all.
fn as_agent(vault: &Daemon, target: &str) -> Value {
    let added = vault.run(&["agent", "add", "Eve", "--allow", "--json"]);
    let made = if added.code == 0 { added } else { vault.run(&["agent", "rotate", "eve", "--json"]).ok() }.json();
    vault.get_as(made["token"].as_str().unwrap(), target).ok()
}

/// Two notes that answer alike, of which one comes first.
fn vault(config: &str) -> Daemon {
    let mut vault = Daemon::with_config(config).with("notes/a.md", "# A\n\nThe quokka sleeps by the river.\n");
    vault.write("notes/b.md", "# B\n\nThe quokka sleeps by the lake.\n").start().settle();
    vault
}

fn counted(vault: &Daemon) -> (u64, u64) {
    let status = vault.status();
    (status["given_chunks"].as_u64().unwrap(), status["given_times"].as_u64().unwrap())
}

#[track_caller]
fn is_counted(vault: &Daemon, chunks: u64, times: u64) {
    until("the counts", || counted(vault) == (chunks, times));
}

fn hashes(found: &Value) -> Vec<String> {
    found["results"].as_array().unwrap().iter().map(|hit| hit["hash"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_search_gives_is_counted_until_it_is_forgotten() {
    let mut vault = vault("");
    assert_eq!(counted(&vault), (0, 0));
    assert_eq!(hashes(&vault.get("/api/user-memory/search?q=quokka").json()).len(), 2);
    let one = as_agent(&vault, "/api/user-memory/search?q=river&limit=1");
    let both = as_agent(&vault, "/api/user-memory/search?q=quokka");
    assert_eq!((hashes(&one).len(), hashes(&both).len()), (1, 2));
    // The person's own search does not count.
    is_counted(&vault, 2, 3);
    assert!(vault.get("/api/user-memory/browse").json()["chunks"].as_array().unwrap().len() >= 2);
    assert!(vault.run(&["status"]).ok().stdout.contains("2 passages or entries to agents, 3 times"));
    let before = fs::read(vault.path("notes/a.md")).unwrap();
    vault.post("/api/user-memory/forget", &json!({ "path": "notes/a.md", "purge": true })).ok();
    is_counted(&vault, 1, 1);
    // The same text anew: nobody was given it since.
    vault.write("notes/a.md", before).settle();
    is_counted(&vault, 1, 1);
}

#[test]
fn what_was_given_before_comes_first_where_that_is_asked_for() {
    let vault = vault("[search]\nusage_weight = 1.0\nmode = \"keyword\"\n");
    let order = |query: &str| hashes(&vault.get(&format!("/api/user-memory/search?q={query}")).json());
    let first = order("quokka");
    let other = vault.get("/api/user-memory/search?q=lake&limit=1").json();
    assert_eq!(hashes(&other), first[1..], "both are alike, and the first is so by its path");
    assert_eq!(order("quokka"), [first[1].clone(), first[0].clone()]);
    // Nothing of it is an agent's.
    let allowed = vault.run(&["agent", "add", "ada", "--allow", "--json"]).ok().json();
    let token = allowed["token"].as_str().unwrap();
    let asked = Request::get("/api/user-memory/search?q=quokka").bearer(token);
    assert_eq!(hashes(&vault.send(&asked).json()), first);
}
