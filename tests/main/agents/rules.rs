//! The rules as they change, in this process.

use memory_vault::access::{Caller, Principal, Session};
use memory_vault::config::{ScopeConfig, ScopeDecision};
use memory_vault::service::{BrowseParams, NoteParams, SearchParams};
use proptest::prelude::*;

use crate::support::TestVault;

fn ada() -> Principal {
    Principal::Agent(Caller::new("ada", Session::direct()))
}

fn vault(page: &str) -> TestVault {
    let mut vault = TestVault::new();
    vault.write("agents/ada/agent.md", format!("---\n{page}\n---\n"));
    vault.write("notes/a.md", "# A\n\nThe quokka sleeps.\n").write("notes/b.md", "# B\n\nThe quokka wakes.\n");
    vault.sync();
    vault
}

fn found(vault: &TestVault, principal: &Principal) -> Vec<String> {
    let params = SearchParams { q: "quokka".into(), ..SearchParams::default() };
    let found = vault.service().search(principal, &params).unwrap();
    let mut paths: Vec<String> = found.results.into_iter().map(|hit| hit.chunk.path).collect();
    paths.sort();
    paths
}

#[test]
fn an_edit_of_the_page_counts_at_once() {
    let mut vault = vault("can_read_user_memory: true");
    assert_eq!(found(&vault, &ada()), ["notes/a.md", "notes/b.md"]);
    for (page, sees) in [
        ("can_read_user_memory: true\npaths: [notes/a.md]", &["notes/a.md"][..]),
        ("can_read_user_memory: false", &[]),
        ("can_read_user_memory: true\npaths: [\"!notes/a*\"]", &["notes/b.md"]),
        ("can_read_user_memory: true\ncollections: [snippets]", &[]),
        ("can_read_user_memory: true\nexpires: 2020-01-01", &[]),
        ("can_read_user_memory: true", &["notes/a.md", "notes/b.md"]),
    ] {
        vault.write("agents/ada/agent.md", format!("---\n{page}\n---\n"));
        assert_eq!(found(&vault, &ada()), sees, "{page}");
    }
    vault.remove("agents/ada/agent.md");
    assert!(found(&vault, &ada()).is_empty());
}

#[test]
fn a_note_that_becomes_private_is_hidden_before_it_is_read_again() {
    let mut vault = vault("can_read_user_memory: true");
    let service = vault.service();
    let params = SearchParams { q: "quokka".into(), ..SearchParams::default() };
    let hits = service.search(&ada(), &params).unwrap().results;
    let hash = hits.iter().find(|hit| hit.chunk.path == "notes/a.md").unwrap().chunk.hash.clone();
    assert!(service.passage(&ada(), &hash).is_ok());
    vault.write("notes/a.md", "---\nprivate: true\n---\n# A\n\nThe quokka sleeps.\n");
    assert_eq!(found(&vault, &ada()), ["notes/b.md"]);
    let service = vault.service();
    assert!(service.passage(&ada(), &hash).is_err());
    assert!(service.note(&ada(), &NoteParams::of("notes/a.md")).is_err());
    let browsed = service.browse(&ada(), &BrowseParams::default()).unwrap();
    assert_eq!((browsed.total, browsed.chunks.len()), (1, 1));
    assert_eq!(service.stats(&ada()).unwrap().files, 1);
    vault.sync();
    assert_eq!(found(&vault, &ada()), ["notes/b.md"]);
}

#[test]
fn a_remark_is_hidden_as_soon_as_its_note_is() {
    let mut vault = vault("can_read_user_memory: true");
    vault.write(
        "annotations/x.md",
        "---\nannotates:\n  path: notes/a.md\n  quote: The quokka sleeps.\n---\nA quokka!\n",
    );
    vault.sync();
    assert_eq!(found(&vault, &ada()), ["annotations/x.md", "notes/a.md", "notes/b.md"]);
    vault.write("notes/a.md", "---\nprivate: true\n---\n# A\n\nThe quokka sleeps.\n");
    assert_eq!(found(&vault, &ada()), ["notes/b.md"], "before the note is read again");
    vault.sync();
    assert_eq!(found(&vault, &ada()), ["notes/b.md"]);
    assert_eq!(found(&vault, &Principal::Owner), ["annotations/x.md", "notes/a.md", "notes/b.md"]);
}

#[test]
fn a_session_that_no_rule_allows_reads_nothing() {
    let mut vault = vault("can_read_user_memory: true");
    let in_session = |chat_type: Option<&str>, claimed: Option<&str>| {
        let session = |chat_type: Option<&str>| Session { chat_type: chat_type.map(Into::into), channel: None };
        let mut caller = Caller::new("ada", session(chat_type));
        caller.claimed = session(claimed);
        Principal::Agent(caller)
    };
    let both = ["notes/a.md", "notes/b.md"];
    assert_eq!(found(&vault, &in_session(Some("direct"), Some("group"))), both, "what it claims does not count");
    for denied in [None, Some("group")] {
        assert!(found(&vault, &in_session(denied, Some("direct"))).is_empty(), "{denied:?}");
    }
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\nsession_headers: true\n---\n");
    assert_eq!(found(&vault, &in_session(Some("group"), Some("direct"))), both, "now it does");
    assert!(found(&vault, &in_session(Some("direct"), None)).is_empty(), "and what is missing denies");
    let log = vault.service().agents().log().entries("ada", 1).unwrap();
    assert!(log[0].refused.as_ref().unwrap().contains("[scope]"), "{log:?}");

    vault.config.scope = ScopeConfig { default: ScopeDecision::Allow, rules: Vec::new() };
    vault.restart();
    assert!(found(&vault, &in_session(Some("direct"), None)).is_empty(), "whoever is to say it has to");
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\n---\n");
    assert_eq!(found(&vault, &in_session(None, None)), both);
}

#[test]
fn answers_keep_to_the_limits() {
    let mut vault = vault("can_read_user_memory: true");
    for number in 0..20 {
        vault.write(&format!("notes/{number}.md"), format!("# {number}\n\nA quokka {}.\n", "walks on and ".repeat(20)));
    }
    vault.sync();
    let limited = |vault: &mut TestVault, limits: &str| {
        vault.write("agents/ada/agent.md", format!("---\ncan_read_user_memory: true\nlimits: {{ {limits} }}\n---\n"));
        let params = SearchParams { q: "quokka".into(), limit: Some(100), ..SearchParams::default() };
        vault.service().search(&ada(), &params).unwrap().results
    };
    assert_eq!(limited(&mut vault, "max_results: 3").len(), 3);
    assert_eq!(
        vault
            .service()
            .browse(&ada(), &BrowseParams { limit: Some(100), ..BrowseParams::default() })
            .unwrap()
            .chunks
            .len(),
        3
    );
    let short = limited(&mut vault, "max_snippet_chars: 60");
    assert!(short.iter().all(|hit| hit.snippet.chars().count() <= 60));
    let few = limited(&mut vault, "max_injected_chars: 1000");
    let chars: usize = few.iter().map(|hit| hit.snippet.chars().count() + hit.chunk.content.chars().count()).sum();
    assert!(!few.is_empty() && chars <= 1000, "{chars}");
    assert!(limited(&mut vault, "max_results: many").is_empty(), "what makes no sense denies");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The sets that searches use are what the pure check says of each note.
    #[test]
    fn sets_and_the_check_agree(
        collections in prop::sample::subsequence(vec!["notes", "work", "vault", "agents"], 0..4),
        tags in prop::sample::subsequence(vec!["a", "a/b", "c"], 0..3),
        paths in prop::sample::subsequence(vec!["notes/**", "!notes/x.md", "work", "**/y.md", "!**/z*"], 0..4),
        files in prop::collection::vec((
            prop::sample::select(vec!["notes", "work", "agents/ada", "agents", "Notes", ""]),
            prop::sample::select(vec!["x", "y", "z", "memory"]),
            prop::sample::subsequence(vec!["a", "A/B", "ab", "c/d", "private"], 0..3),
        ), 1..8),
    ) {
        use memory_vault::access::{Policy, Scope};
        use memory_vault::search::{Visible, subject};
        let mut vault = TestVault::new();
        for (folder, name, tags) in &files {
            let path = if folder.is_empty() { format!("{name}.md") } else { format!("{folder}/{name}.md") };
            vault.write(&path, format!("---\ntags: [{}]\n---\nText.\n", tags.join(", ")));
        }
        vault.sync();
        let page = serde_json::json!({
            "can_read_user_memory": true, "collections": collections, "exclude_tags": tags, "paths": paths,
        });
        let grant = Policy::parse(page.as_object().unwrap()).grant.unwrap();
        let scope = Scope::Given(grant.clone().into());
        let snapshot = vault.service().shared().snapshot().unwrap();
        let visible = Visible::of(&scope, &snapshot.files);
        for file in snapshot.files.iter() {
            let refusal = grant.refusal(&subject(file));
            prop_assert_eq!(visible.has(file), refusal.is_none(), "{} {:?}", file.path, refusal);
            prop_assert!(!(visible.has(file) && file.path.as_str().to_lowercase().starts_with("agents")));
        }
    }
}
