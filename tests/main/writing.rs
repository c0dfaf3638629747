//! What the program writes into the vault when it is asked to.

use memory_vault::access::request::{ErrorKind, RequestError};
use memory_vault::serve::wire::{SaveParams, Saved};

use crate::support::prelude::*;

fn params(value: Value) -> SaveParams {
    serde_json::from_value(value).unwrap()
}

fn save(vault: &TestVault, value: Value) -> Result<Saved, RequestError> {
    notes::save(&vault.owner(), &params(value))
}

#[test]
fn what_is_saved_is_found_at_once_and_is_plain_markdown() {
    let vault = TestVault::new().synced();
    let saved = save(
        &vault,
        json!({"content": "The spare key hangs behind the aardvark", "tags": ["home"], "metadata": {"app": "phone"}}),
    )
    .unwrap();
    assert_eq!((saved.path.as_str(), saved.chunks), ("snippets/the-spare-key-hangs-behind-the-aardvark.md", 1));
    assert_eq!(vault.words("aardvark").paths(), [saved.path.as_str()]);
    let text = fs::read_to_string(vault.path(&saved.path)).unwrap();
    let (frontmatter, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    for line in ["title: The spare key hangs behind the aardvark", "source: save", "- home", "app: phone"] {
        assert!(frontmatter.contains(line), "{line} in {frontmatter}");
    }
    assert_eq!(body, "\nThe spare key hangs behind the aardvark\n");
}

#[test]
fn the_same_again_is_recognised_and_notes_are_known_by_their_titles() {
    let vault = TestVault::new().synced();
    let snippet = json!({"content": "cargo tree --duplicates"});
    let first = save(&vault, snippet.clone()).unwrap();
    let again = save(&vault, snippet).unwrap();
    assert!(!first.existing && again.existing);
    assert_eq!((&first.path, &first.hash), (&again.path, &again.hash));
    let other = save(&vault, json!({"content": "something else", "title": "cargo tree --duplicates"})).unwrap();
    assert_eq!(other.path, "snippets/cargo-tree-duplicates-2.md");

    let note = |content: &str| json!({"content": content, "title": "Plan", "collection": "notes"});
    let first = save(&vault, note("sow beans")).unwrap();
    let second = save(&vault, note("sow peas")).unwrap();
    assert_eq!((first.path.as_str(), second.path.as_str()), ("notes/plan.md", "notes/plan.md"));
    assert_ne!(first.hash, second.hash);
    assert_eq!(vault.words("peas").paths(), ["notes/plan.md"]);
    assert!(vault.words("beans").paths().is_empty());
    // What it had is kept.
    let kept = fs::read_dir(vault.path(".vault/state/checkpoints")).unwrap().flatten();
    let kept: Vec<_> = kept.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "content")).collect();
    assert_eq!(kept.len(), 1);
    assert!(fs::read_to_string(kept[0].path()).unwrap().contains("sow beans"));
}

#[test]
fn the_same_at_the_same_moment_is_saved_once() {
    let vault = TestVault::new().synced();
    let at_once = |value: fn(usize) -> Value| -> Vec<Saved> {
        std::thread::scope(|scope| {
            let vault = &vault;
            let saves: Vec<_> = (0..6).map(|at| scope.spawn(move || save(vault, value(at)).unwrap())).collect();
            saves.into_iter().map(|save| save.join().unwrap()).collect()
        })
    };
    let same = at_once(|_| json!({"content": "par"}));
    assert!(same.iter().all(|saved| saved.path == "snippets/par.md"), "{same:?}");
    assert_eq!(same.iter().filter(|saved| !saved.existing).count(), 1);
    let titled = at_once(|at| json!({"content": format!("text {at}"), "title": "Plan", "collection": "notes"}));
    assert!(titled.iter().all(|saved| saved.path == "notes/plan.md"), "{titled:?}");
    assert_eq!(vault.status().files, 2);
}

#[test]
fn what_others_wrote_into_the_frontmatter_stays() {
    let mut vault = TestVault::new();
    let head = "---\ntitle: Plan\n# mine\nversion: 1.10\ntags: [garden]\n---\n";
    let toml = "+++\ntitle = \"Bed\" # mine\n+++\n";
    vault.write("notes/plan.md", format!("{head}\nsow beans\n")).write("notes/bed.md", format!("{toml}\nold\n")).sync();
    save(&vault, json!({"content": "sow peas", "title": "Plan", "collection": "notes", "tags": ["spring"]})).unwrap();
    let text = vault.read("notes/plan.md");
    let start = "---\ntitle: Plan\n# mine\nversion: 1.10\ntags: [garden, spring]\nupdated: ";
    assert!(text.starts_with(start) && text.ends_with("\n---\n\nsow peas\n"), "{text}");
    save(&vault, json!({"content": "new", "title": "Bed", "collection": "notes"})).unwrap();
    assert_eq!(vault.read("notes/bed.md"), format!("{toml}\nnew\n"));
}

#[test]
fn secrets_are_taken_out_unless_they_are_wanted() {
    let mut vault = TestVault::new().synced();
    let secret = format!("ghp_{}", "a8F3kZ0qL9xT2mB7".repeat(3)[..36].to_owned());
    let text = json!({"content": format!("deploy key {secret}"), "metadata": {"from": [secret]}});
    for (at, mut value) in [
        text.clone(),
        json!({"title": format!("key {secret}")}),
        json!({"tags": [secret]}),
        json!({"metadata": {"password": secret}}),
        json!({"metadata": {"password": "hunter2"}}),
        json!({"metadata": {"deep": {"api_key": "12345678abcdef"}}}),
    ]
    .into_iter()
    .enumerate()
    {
        if at > 0 {
            value["content"] = format!("text {at}").into();
        }
        let saved = save(&vault, value).unwrap();
        let written = vault.read(&saved.path);
        assert!(saved.redacted && written.contains("redacted"), "{written}");
        for secret in [secret.as_str(), "hunter2", "12345678abcdef"] {
            assert!(!written.contains(secret), "{written}");
        }
    }
    assert!(save(&vault, text.clone()).unwrap().existing, "what was redacted is recognised too");
    let plain = save(&vault, json!({"content": "text", "tags": ["a"], "metadata": {"app": "phone"}})).unwrap();
    assert!(!plain.redacted);
    fs::write(vault.path("memory.toml"), "[capture]\nredact = false\n").unwrap();
    vault.config.capture.redact = false;
    let saved = save(vault.restart(), text).unwrap();
    assert!(!saved.redacted && vault.read(&saved.path).contains(&secret));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_field() {
    let vault = TestVault::new().synced();
    for (field, value) in [
        ("content", json!({"content": " \n"})),
        ("content", json!({"content": "a\u{0}b"})),
        ("content", json!({"content": "x".repeat(51 * 1024)})),
        ("title", json!({"content": "x", "title": "two\nlines"})),
        ("title", json!({"content": "x", "title": "t".repeat(201)})),
        ("collection", json!({"content": "x", "collection": "../out"})),
        ("collection", json!({"content": "x", "collection": ".git"})),
        ("collection", json!({"content": "x", "collection": "a/b"})),
        ("collection", json!({"content": "x", "collection": "notes "})),
        ("collection", json!({"content": "x", "collection": "a|b*?"})),
        ("collection", json!({"content": "x", "collection": "con"})),
        ("collection", json!({"content": "x", "collection": "a\u{202e}b"})),
        ("collection", json!({"content": "x", "collection": "Vault"})),
        ("tags", json!({"content": "x", "tags": ["two words"]})),
        ("metadata.title", json!({"content": "x", "metadata": {"title": "y"}})),
        ("metadata", json!({"content": "x", "metadata": {"k": "v".repeat(20_000)}})),
    ] {
        let error = save(&vault, value).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(error.message.contains(&format!("`{field}")), "{field}: {error}");
    }
    let status = vault.status();
    assert_eq!(status.files, 0, "nothing was written");
}

#[test]
fn a_collection_in_another_case_is_the_one_that_is_there() {
    let vault = TestVault::new().with("Notes/a.md", "text").synced();
    let saved = save(&vault, json!({"content": "x", "collection": "notes"})).unwrap();
    assert_eq!(saved.path, "Notes/x.md");
}

#[test]
fn texts_that_look_like_frontmatter_stay_texts() {
    let vault = TestVault::new().synced();
    for content in ["---\nprivate: true\n---\nzebra", "%%\nzebra", "```\nzebra", "<!-- zebra"] {
        let saved = save(&vault, json!({"content": content, "title": "T"})).unwrap();
        let text = fs::read_to_string(vault.path(&saved.path)).unwrap();
        assert!(text.ends_with(&format!("\n---\n\n{content}\n")), "{text}");
        let found = vault.words("zebra");
        assert!(found.paths().contains(&saved.path.as_str()), "{content}");
    }
}

#[test]
fn over_http_and_from_the_command_line() {
    let mut daemon = Daemon::vault();
    let alone = daemon.run(&["save", "alone", "aardvark", "--tag", "one", "--json"]).ok().json();
    assert_eq!(
        (alone["path"].as_str(), alone["existing"].as_bool()),
        (Some("snippets/alone-aardvark.md"), Some(false))
    );
    daemon.start();
    let path = daemon.run(&["save", "beside", "the", "daemon"]).ok().stdout;
    assert_eq!(path, "snippets/beside-the-daemon.md\n");
    daemon.finds("daemon", &["snippets/beside-the-daemon.md"]).finds("aardvark", &["snippets/alone-aardvark.md"]);
    let reply = daemon.post("/api/user-memory/save", &json!({"content": "over the wire", "colour": "red"}));
    assert_eq!(reply.status, 422);
    let refused = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(refused.starts_with("colour: unknown field"), "{refused}");
    let refused = daemon.post("/api/user-memory/save", &json!(["text"])).error();
    assert_eq!(refused, "the body must be a JSON object");
    let refused = daemon.post("/api/user-memory/save", &json!({"content": "x".repeat(2 << 20)}));
    assert_eq!((refused.status, refused.error().as_str()), (413, "the body has more than 1048576 bytes"));
    daemon.post("/api/user-memory/save", &json!({"content": "over the wire"})).ok();
    assert_eq!(daemon.find("wire"), ["snippets/over-the-wire.md"]);
}
