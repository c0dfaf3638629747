//! The rules as they change.

use memory_vault::access::agents;
use memory_vault::access::request::{Role, Viewer};
use memory_vault::access::rules::{Caller, Principal, Session, Turn};
use memory_vault::base::config::{ScopeConfig, ScopeDecision};
use memory_vault::serve::wire::{BrowseParams, HitView, LinksParams, LinksView, NoteParams};
use proptest::prelude::*;

use crate::support::prelude::*;

/// What Ada's request is, where there is such an agent.
fn ada(vault: &TestVault) -> Option<Viewer> {
    Some(viewer(vault, vault.app().agents.named("ada")?))
}

fn viewer(vault: &TestVault, caller: Caller) -> Viewer {
    Viewer::of(vault.app().request(Principal::Agent(caller), Turn::default())).unwrap()
}

fn owner(vault: &TestVault) -> Option<Viewer> {
    Some((*vault.owner()).clone())
}

fn vault(page: &str) -> TestVault {
    let mut vault = TestVault::new().with("agents/ada/agent.md", format!("---\n{page}\n---\n"));
    vault.write("notes/a.md", "# A\n\nThe quokka sleeps.\n").write("notes/b.md", "# B\n\nThe quokka wakes.\n").sync();
    vault
}

fn found(viewer: Option<Viewer>) -> Vec<String> {
    let Some(viewer) = viewer else { return Vec::new() };
    let params = SearchQuery { q: "quokka".into(), ..SearchQuery::default() };
    let found = notes::search(&viewer, &params).unwrap();
    let mut paths: Vec<String> = found.results.into_iter().map(|hit| hit.chunk.path).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn a_word_of_a_note_that_is_private_by_now_is_not_named() {
    let mut vault = vault("can_read_user_memory: true");
    let says = |vault: &TestVault, query: &str, word: &str| {
        let query = SearchQuery { q: query.into(), limit: Some(1), ..SearchQuery::default() };
        notes::search(&ada(vault).unwrap(), &query).unwrap().degraded.unwrap_or_default().contains(word)
    };
    vault.write("notes/p.md", "# P\n\nThe platypus digs.\n").sync();
    assert!(says(&vault, "quokka sleeps platypuss", "shown: platypus"));
    vault.write("notes/p.md", "---\nprivate: true\n---\n# P\n\nThe platypus digs.\n");
    assert!(!says(&vault, "quokka sleeps platypuss", "shown: platypus"));
}

#[test]
fn an_edit_of_the_page_counts_at_once() {
    let mut vault = vault("can_read_user_memory: true");
    // A note that was touched and read again is given again.
    for mode in [0o600, 0o640] {
        fs::set_permissions(vault.root().join("notes/a.md"), fs::Permissions::from_mode(mode)).unwrap();
        vault.sync();
        assert_eq!(found(ada(&vault)), ["notes/a.md", "notes/b.md"], "{mode:o}");
    }
    for (page, sees) in [
        ("can_read_user_memory: true\npaths: [notes/a.md]", &["notes/a.md"][..]),
        ("can_read_user_memory: false", &[]),
        ("can_read_user_memory: true\npaths: [\"!notes/a*\"]", &["notes/b.md"]),
        ("can_read_user_memory: true\ncollections: [snippets]", &[]),
        ("can_read_user_memory: true\nexpires: 2020-01-01", &[]),
        ("can_read_user_memory: true", &["notes/a.md", "notes/b.md"]),
    ] {
        vault.write("agents/ada/agent.md", format!("---\n{page}\n---\n"));
        assert_eq!(found(ada(&vault)), sees, "{page}");
    }
    vault.remove("agents/ada/agent.md");
    assert!(found(ada(&vault)).is_empty());
}

#[test]
fn a_note_that_becomes_private_is_hidden_with_its_remarks_before_it_is_read_again() {
    let mut vault = vault("can_read_user_memory: true")
        .with("annotations/x.md", "---\nannotates:\n  path: notes/a.md\n  quote: The quokka sleeps.\n---\nA quokka!\n")
        .synced();
    let all = ["annotations/x.md", "notes/a.md", "notes/b.md"];
    assert_eq!(found(ada(&vault)), all);
    let params = SearchQuery { q: "quokka".into(), ..SearchQuery::default() };
    let hits = notes::search(&ada(&vault).unwrap(), &params).unwrap().results;
    let hash = hits.iter().find(|hit| hit.chunk.path == "notes/a.md").unwrap().chunk.hash.clone();
    assert!(notes::passage(&ada(&vault).unwrap(), &hash).is_ok());
    vault.write("notes/a.md", "---\nprivate: true\n---\n# A\n\nThe quokka sleeps.\n");
    assert_eq!(found(ada(&vault)), ["notes/b.md"]);
    assert!(notes::passage(&ada(&vault).unwrap(), &hash).is_err());
    assert!(notes::note(&ada(&vault).unwrap(), &NoteParams::of("notes/a.md")).is_err());
    let browsed = notes::browse(&ada(&vault).unwrap(), &BrowseParams::default()).unwrap();
    assert_eq!((browsed.total, browsed.chunks.len()), (1, 1));
    assert_eq!(notes::stats(&ada(&vault).unwrap()).unwrap().files, 1);
    vault.sync();
    assert_eq!((found(ada(&vault)), found(owner(&vault))), (vec!["notes/b.md".into()], all.map(Into::into).into()));
}

#[test]
fn a_session_that_no_rule_allows_reads_nothing() {
    let mut vault = vault("can_read_user_memory: true");
    let in_session = |vault: &TestVault, chat_type: Option<&str>, claimed: Option<&str>| {
        let session = |chat_type: Option<&str>| Session { chat_type: chat_type.map(Into::into), channel: None };
        let mut caller = vault.app().agents.named("ada").unwrap();
        (caller.session, caller.claimed) = (session(chat_type), session(claimed));
        Some(viewer(vault, caller))
    };
    let both = ["notes/a.md", "notes/b.md"];
    assert_eq!(found(in_session(&vault, Some("direct"), Some("group"))), both, "what it claims does not count");
    for denied in [None, Some("group")] {
        assert!(found(in_session(&vault, denied, Some("direct"))).is_empty(), "{denied:?}");
    }
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\nsession_headers: true\n---\n");
    assert_eq!(found(in_session(&vault, Some("group"), Some("direct"))), both, "now it does");
    assert!(found(in_session(&vault, Some("direct"), None)).is_empty(), "and what is missing denies");
    let log = vault.app().agents.log().entries("ada", 1).unwrap();
    assert!(log[0].refused.as_ref().unwrap().contains("[scope]"), "{log:?}");

    vault.config.scope = ScopeConfig { default: ScopeDecision::Allow, rules: Vec::new() };
    vault.restart();
    assert!(found(in_session(&vault, Some("direct"), None)).is_empty(), "whoever is to say it has to");
    vault.write("agents/ada/agent.md", READS);
    assert_eq!(found(in_session(&vault, None, None)), both);
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
        let params = SearchQuery { q: "quokka".into(), limit: Some(100), ..SearchQuery::default() };
        notes::search(&ada(vault).unwrap(), &params).unwrap().results
    };
    assert_eq!(limited(&mut vault, "max_results: 3").len(), 3);
    let all = BrowseParams { limit: Some(100), ..BrowseParams::default() };
    assert_eq!(notes::browse(&ada(&vault).unwrap(), &all).unwrap().chunks.len(), 3);
    let short = limited(&mut vault, "max_snippet_chars: 60");
    assert!(short.iter().all(|hit| hit.snippet.chars().count() <= 60));
    let few = limited(&mut vault, "max_injected_chars: 1000");
    let chars: usize = few.iter().map(|hit| hit.snippet.chars().count() + hit.chunk.content.chars().count()).sum();
    assert!(!few.is_empty() && chars <= 1000, "{chars}");
    // What is given beside the text counts too.
    let meta = format!("---\nnote: {}\n---\n", "x".repeat(400));
    for number in 0..20 {
        let text = vault.read(&format!("notes/{number}.md"));
        vault.write(&format!("notes/{number}.md"), format!("{meta}{text}"));
    }
    vault.sync();
    let few = limited(&mut vault, "max_injected_chars: 1000");
    let given = |hit: &HitView| {
        hit.snippet.chars().count() + hit.chunk.content.chars().count() + hit.chunk.metadata.to_string().chars().count()
    };
    assert!(!few.is_empty() && few.iter().map(given).sum::<usize>() <= 1000, "{few:?}");
    assert!(limited(&mut vault, "max_results: many").is_empty(), "what makes no sense denies");
}

proptest! {
    #![proptest_config(proptest_config(64))]

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
        use memory_vault::access::rules::{Policy, Scope};
        use memory_vault::index::search::{Visible, subject};
        let mut vault = TestVault::new();
        for (folder, name, tags) in &files {
            let path = if folder.is_empty() { format!("{name}.md") } else { format!("{folder}/{name}.md") };
            vault.write(&path, format!("---\ntags: [{}]\n---\nText.\n", tags.join(", ")));
        }
        vault.sync();
        let grant = Policy::parse(json!({
            "can_read_user_memory": true, "collections": collections, "exclude_tags": tags, "paths": paths,
        }).as_object().unwrap()).grant.unwrap();
        let scope = Scope::Given(grant.clone().into());
        let snapshot = vault.app().shared.snapshot().unwrap();
        let visible = Visible::of(&scope, snapshot.files());
        for file in snapshot.files().iter() {
            let refusal = grant.refusal(&subject(file));
            prop_assert_eq!(visible.has(file), refusal.is_none(), "{} {:?}", file.path, refusal);
            prop_assert!(!(visible.has(file) && file.path.as_str().to_lowercase().starts_with("agents")));
        }
    }
}

#[test]
fn an_excluded_tag_is_looked_for_as_closely_as_private_is() {
    let mut vault = vault("can_read_user_memory: true\nexclude_tags: [health]");
    for text in [
        "%% #health %%\n\nThe quokka sleeps.\n",
        "<!-- #Health/teeth -->\n\nThe quokka sleeps.\n",
        "\n---\ntags: [health]\n---\nThe quokka sleeps.\n",
        "---\ntags: {health: true}\n---\nThe quokka sleeps.\n",
        "---\ntags: [a] # #health\n---\nThe quokka sleeps.\n",
        "---\nmeta: {tags: [health]}\n---\nThe quokka sleeps.\n",
        "---\ntags: [work health]\n---\nThe quokka sleeps.\n",
        "The quokka tags:#health sleeps.\n",
    ] {
        vault.write("notes/a.md", text).sync();
        assert_eq!(found(ada(&vault)), ["notes/b.md"], "{text}");
        assert_eq!(found(owner(&vault)), ["notes/a.md", "notes/b.md"], "{text}");
        let explained = agents::explain(&vault.owner(), "ada", "notes/a.md").unwrap();
        assert!(!explained.visible && explained.because[0].contains("exclude_tags"), "{explained:?}");
        // So it is after a start.
        vault.restart();
        assert_eq!(found(ada(&vault)), ["notes/b.md"], "{text}");
    }
    vault.write("notes/a.md", "`#health`: the quokka sleeps.\n").sync();
    assert_eq!(found(ada(&vault)), ["notes/a.md", "notes/b.md"]);
}

#[cfg(unix)]
#[test]
fn another_name_of_a_hidden_note_shows_nothing_of_it() {
    use std::fs::hard_link;
    let mut vault = TestVault::new();
    vault.config.access.private = vec!["secret".into()];
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\npaths: [\"!notes/diary\"]\n---\n");
    vault.write("secret/s.md", "The secret quokka.\n").write("notes/diary/d.md", "The quokka of my diary.\n");
    vault.write("notes/open.md", "The open quokka.\n").write("work/c.md", "The common quokka.\n").sync();
    assert_eq!(found(ada(&vault)), ["notes/open.md", "work/c.md"]);
    hard_link(vault.path("secret/s.md"), vault.path("notes/s.md")).unwrap();
    hard_link(vault.path("notes/diary/d.md"), vault.path("work/d.md")).unwrap();
    hard_link(vault.path("work/c.md"), vault.path("notes/c.md")).unwrap();
    vault.sync();
    assert_eq!(found(ada(&vault)), ["notes/c.md", "notes/open.md", "work/c.md"]);
    assert!(notes::note(&ada(&vault).unwrap(), &NoteParams { path: "notes/s.md".into(), line: None }).is_err());
    let explained = agents::explain(&vault.owner(), "ada", "notes/s.md").unwrap();
    assert!(!explained.visible && explained.because[0].contains("secret/s.md"), "{explained:?}");
    vault.restart();
    assert_eq!(found(ada(&vault)), ["notes/c.md", "notes/open.md", "work/c.md"]);
    // An edit through one name, of which the watcher says nothing for the other: no word of it under that.
    let inode = fs::File::options().write(true).truncate(true).open(vault.path("notes/c.md"));
    std::io::Write::write_all(&mut inode.unwrap(), b"---\nprivate: true\n---\nThe hidden quokka.\n").unwrap();
    let shown = found(ada(&vault));
    assert_eq!(shown, ["notes/open.md"], "before either is read again");
    vault.sync();
    assert_eq!(found(ada(&vault)), ["notes/open.md"]);
    // With the hidden name gone, the other is a note like any.
    vault.remove("secret/s.md").sync();
    assert_eq!(found(ada(&vault)), ["notes/open.md", "notes/s.md"]);
}

#[test]
fn rights_that_come_back_with_an_older_page_count_at_once_and_are_told() {
    let vault = Daemon::vault().with("notes/a.md", "# A\n\nA quokka.\n").started();
    let git = |args: &[&str]| git(&vault.path(""), args);
    let token = vault.run(&["agent", "add", "Ada", "--allow"]).ok().stdout.trim().to_owned();
    git(&["init", "-q"]);
    git(&["add", "agents"]);
    git(&["commit", "-qm", "with rights"]);
    let asked = Request::get("/api/user-memory/search?q=quokka").bearer(&token);
    let hits = || vault.send(&asked).json()["results"].as_array().unwrap().len();
    let pages = || {
        let entries = vault.run(&["agent", "log", "ada", "--json"]).ok().json()["entries"].as_array().unwrap().clone();
        entries.into_iter().filter(|entry| entry["what"] == "page").collect::<Vec<_>>()
    };
    assert_eq!((hits(), pages().len()), (1, 0));
    // Nothing is asked between taking them back and the checkout.
    vault.run(&["agent", "deny", "ada"]).ok();
    git(&["checkout", "-q", "--", "agents/ada/agent.md"]);
    assert_eq!(hits(), 1, "the page is what counts");
    let said = pages();
    assert_eq!(said.len(), 2, "{said:?}");
    let query = said[0]["query"].as_str().unwrap();
    assert!(query.contains("\"can_read_user_memory\":true") && query.contains("before"), "{query}");
    let printed = vault.run(&["agent", "log", "ada"]).ok().stdout;
    assert!(printed.contains("  page      can_read_user_memory: false → true\n"), "{printed}");
    assert!(!printed.contains('{'), "{printed}");
    let shown = vault.get("/api/agents/ada").json();
    assert!(shown["rights_since"].is_string(), "{shown}");
    // And the other way round: rights that an older page does not have are gone at once.
    git(&["rm", "-q", "--cached", "agents/ada/agent.md"]);
    let page = vault.path("agents/ada/agent.md");
    let older = fs::read_to_string(&page).unwrap().replace("can_read_user_memory: true", "can_read_user_memory: false");
    let old = std::time::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    fs::write(page.with_extension("new"), older).unwrap();
    set_time(page.with_extension("new"), old);
    fs::rename(page.with_extension("new"), &page).unwrap();
    assert_eq!((hits(), pages().len()), (0, 3));
}

const SECRET: &str = "xylophone";

/// Asks for one after the other until it is `over`, and counts the answers. None has a byte of the secret.
fn ask_until(over: &Over, count: &AtomicUsize, address: &str, token: &str, targets: &[&str]) {
    let mut connection = Connection::open(address).with_token(token);
    for target in targets.iter().cycle() {
        if over.is() {
            break;
        }
        let reply = connection.send(&Request::get(target).bearer(token)).expect("the server answers");
        let body = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!body.contains(SECRET), "{target}: {body}");
        assert!(matches!(reply.status, 200 | 404 | 503), "{target}: {} {body}", reply.status);
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_private_note_that_is_renamed_under_searches_shows_not_a_byte() {
    let mut vault = Daemon::without_model("[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n");
    let secret = format!("---\nprivate: true\n---\n# Quokka\n\nThe quokka hides a {SECRET}.\n");
    vault.write("notes/secret.md", &secret).write("notes/open.md", "# Quokka\n\nThe quokka eats at noon.\n").start();
    let token = vault.run(&["agent", "add", "Ada", "--allow"]).ok().stdout.trim().to_owned();
    vault.settle();
    let (over, counts) = (Over::default(), [AtomicUsize::new(0), AtomicUsize::new(0)]);
    std::thread::scope(|scope| {
        let _end = over.at_end();
        let (over, address, token) = (&over, vault.address(), token.as_str());
        let [searches, reads] = &counts;
        scope.spawn(move || {
            ask_until(over, searches, address, token, &["/api/user-memory/search?q=quokka", "/api/user-memory/browse"]);
        });
        scope.spawn(move || {
            let notes = ["open", "secret", "away"].map(|name| format!("/api/user-memory/note?path=notes/{name}.md"));
            ask_until(over, reads, address, token, &notes.each_ref().map(String::as_str));
        });
        let rename = |from: &str, to: &str| {
            fs::rename(vault.path(&format!("notes/{from}")), vault.path(&format!("notes/{to}"))).unwrap();
            // Each asks what is so now.
            let before = [searches, reads].map(|count| count.load(Ordering::Relaxed));
            until("answers", || {
                let more = |(count, before): (&AtomicUsize, usize)| count.load(Ordering::Relaxed) > before + 1;
                [searches, reads].into_iter().zip(before).all(more)
            });
        };
        for round in 0..30 {
            rename("secret.md", "away.md");
            rename("open.md", "secret.md");
            rename("away.md", "open.md");
            if round % 5 == 0 {
                // Also where all of it has been read.
                vault.settle();
            }
            rename("open.md", "away.md");
            rename("secret.md", "open.md");
            rename("away.md", "secret.md");
        }
    });
    vault.finds(SECRET, &["notes/secret.md"]);
}

/// Characters of all texts in a value.
fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(values) => values.iter().map(characters).sum(),
        Value::Object(fields) => fields.values().map(characters).sum(),
        _ => 0,
    }
}

/// What links give of notes.
fn texts_of(links: &LinksView) -> Value {
    let own = links.outgoing.iter().chain(&links.unresolved);
    let own = own.map(|link| (&link.target, &link.title, &link.text)).collect::<Vec<_>>();
    let others = links.incoming.iter().map(|link| (&link.title, &link.text)).collect::<Vec<_>>();
    json!([links.title, own, others])
}

#[test]
fn whatever_is_given_of_a_note_counts_against_the_room() {
    let limits = "can_read_user_memory: true\nlimits: { max_injected_chars: 400 }";
    let mut vault = vault(limits);
    let tags: Vec<String> = (0..200).map(|at| format!("tag{at}")).collect();
    let aside = "word ".repeat(150);
    let text = format!(
        "---\ntags: [{}]\naside: {aside}\n---\n# Long\n\n## {}\n\nThe quokka {aside}.\n\n## Two\n\nMore {aside}.\n",
        tags.join(", "),
        "heading ".repeat(20),
    );
    vault.write("notes/long.md", text).sync();
    let more = vault.search("more two").0.results;
    let hash = more.iter().find(|hit| hit.chunk.path == "notes/long.md").unwrap().chunk.hash.clone();
    let note = notes::note(&ada(&vault).unwrap(), &NoteParams::of("notes/long.md")).unwrap();
    let given =
        json!([note.text, note.body, note.metadata, note.chunks.iter().map(|c| &c.heading_path).collect::<Vec<_>>()]);
    assert!(characters(&given) <= 400 && note.cut, "{given}");
    let (passage, cut) = notes::passage(&ada(&vault).unwrap(), &hash).unwrap();
    let given = json!([passage.chunk.content, passage.chunk.metadata, passage.annotations]);
    assert!(characters(&given) <= 400 && cut, "that it was cut is told: {given}");
    let lines: String = (0..40).map(|at| format!("See [[long]] and [[nothing {at}]].\n\n")).collect();
    vault.write("notes/links.md", lines).sync();
    let of = |path: &str| LinksParams { path: path.into(), limit: None };
    for path in ["notes/links.md", "notes/long.md"] {
        let links = notes::links(&ada(&vault).unwrap(), &of(path)).unwrap();
        assert!(links.cut && characters(&texts_of(&links)) <= 400, "{links:?}");
    }
    let all = notes::links(&vault.owner(), &of("notes/long.md")).unwrap();
    assert!(all.incoming.len() == 40 && !all.cut, "the person gets all");
    let (whole, cut) = notes::passage(&vault.owner(), &hash).unwrap();
    assert!(!cut && whole.chunk.content.len() > passage.chunk.content.len(), "the person gets all");
}
