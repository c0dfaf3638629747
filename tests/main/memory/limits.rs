//! What an agent may write, and where.

use super::{agent, all, page, vault};
use crate::support::prelude::*;

#[cfg(unix)]
#[test]
fn a_link_leads_nowhere() {
    use std::os::unix::fs::symlink;
    let vault = vault();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "A secret walrus.\n").unwrap();
    let coder = agent(&vault, "coder", "");
    let folder = vault.path("agents/coder");
    symlink(outside.path(), folder.join("memory")).unwrap();
    symlink(outside.path().join("secret.md"), folder.join("MEMORY.md")).unwrap();
    let refused = |file: &str| {
        assert_eq!(coder.refused("save", json!({"file": file, "content": "x"})).0, 400, "{file}");
        assert_eq!(coder.refused("save", json!({"file": file, "content": "x", "append": false})).0, 400, "{file}");
        assert_eq!(coder.refused("delete", json!({"file": file, "whole_file": true})).0, 400, "{file}");
        assert_eq!(coder.refused("delete", json!({"file": file, "text": "secret"})).0, 400, "{file}");
        assert_eq!(coder.refused("get", json!({"path": file})).0, 404, "{file}");
    };
    ["memory/secret.md", "memory/new.md", "MEMORY.md"].into_iter().for_each(refused);
    // One that takes the place of a file that was its own.
    let (bob, folder) = (agent(&vault, "bob", ""), vault.path("agents/bob"));
    bob.save("memory/secret.md", "Of my own.");
    fs::rename(folder.join("memory"), folder.join("gone")).unwrap();
    symlink(outside.path(), folder.join("memory")).unwrap();
    assert_eq!(bob.refused("get", json!({"path": "memory/secret.md"})).0, 404);
    assert_eq!(bob.refused("save", json!({"file": "memory/secret.md", "content": "x"})).0, 400);
    let found = bob.call("search", json!({"query": "walrus"}));
    assert_eq!(found["results"], json!([]));
    assert_eq!(fs::read_to_string(outside.path().join("secret.md")).unwrap(), "A secret walrus.\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn texts_are_bounded_plain_and_without_secrets() {
    let mut vault = Daemon::without_model(
        "[index]\nexclude = [\"agents/*/memory/left-out.md\"]\n\
         [access]\nprivate = [\"agents/*/memory/kept.md\"]\n[agents]\ntimeout_ms = 60000\n",
    );
    vault.start();
    let coder = agent(&vault, "coder", "");
    let text = |bytes: usize| "word ".repeat(bytes / 5);
    assert_eq!(coder.refused("save", json!({"content": text(51_300)})).0, 400);
    for bad in ["", "  \n", "a\u{1b}[2Jb", "a\0b", "a\rb"] {
        assert_eq!(coder.refused("save", json!({"content": bad})).0, 400, "{bad:?}");
    }
    assert!(!vault.path("agents/coder/MEMORY.md").exists());
    coder.save("MEMORY.md", &text(51_200));
    coder.save("MEMORY.md", &text(51_200));
    assert_eq!(coder.text(&vault, "MEMORY.md").unwrap().len(), 2 * 51_199 + 3);
    for file in ["memory/left-out.md", "memory/kept.md", "memory/a.tmp.md", "memory/~a.md"] {
        assert_eq!(coder.refused("save", json!({"file": file, "content": "x"})).0, 403, "{file}");
    }
    let key = ["gh", "p_", "a8F3kZ0qL9xT2mB7a8F3kZ0qL9xT2mB7a8F3"].concat();
    let saved = coder.call("save", json!({"file": "memory/k.md", "content": format!("The key is {key}.")}));
    assert_eq!(saved["redacted"], true);
    let text = coder.text(&vault, "memory/k.md").unwrap();
    assert!(text.contains("[redacted: ") && !text.contains(&key), "{text}");
}

#[test]
fn what_is_written_is_never_answered_with_an_error() {
    let vault = Daemon::without_model("[agents]\nrequests_per_minute = 100000\ntimeout_ms = 250\n").started();
    let coder = agent(&vault, "coder", "");
    // So large that reading it takes about as long as the agent's time.
    let line = "A line of what it remembers, as long as a line may well be.\n\n";
    fs::create_dir_all(vault.path("agents/coder/memory")).unwrap();
    fs::write(vault.path("agents/coder/memory/big.md"), line.repeat(60_000)).unwrap();
    for at in 0..12 {
        let (file, mark) = (["memory/big.md", "memory/small.md"][at % 2], format!("mark-{at}-here"));
        let (status, answer) = coder.ask("save", json!({"file": file, "content": mark}));
        assert!(matches!(status, 200 | 503), "{status}: {answer}");
        assert!(status != 200 || answer["searchable"].is_boolean(), "{answer}");
        // An answer that came late is late for good.
        let has = coder.text(&vault, file).is_some_and(|text| text.contains(&mark));
        assert_eq!(has, status == 200, "{at}: {answer}");
    }
    until("the index", || vault.status()["caught_up"] == true);
    for at in 0..12 {
        let file = ["memory/big.md", "memory/small.md"][at % 2];
        let text = coder.text(&vault, file).unwrap_or_default();
        assert!(text.matches(&format!("mark-{at}-here")).count() <= 1, "{at}");
    }
}

#[test]
fn an_agent_writes_and_keeps_so_much_and_no_more() {
    let mut vault = vault();
    let limits = "limits: {max_files: 3, max_written_bytes_per_day: 4000, max_checkpoints: 10}";
    let (coder, other) = (agent(&vault, "coder", limits), agent(&vault, "other", "limits: {max_files: 1}"));
    for file in ["MEMORY.md", "memory/a.md", "memory/b.md"] {
        coder.save(file, "One.");
    }
    let (status, message) = coder.refused("save", json!({"file": "memory/c.md", "content": "x"}));
    assert!(status == 403 && message.contains("3 files"), "{status} {message}");
    other.save("MEMORY.md", "One.");
    assert_eq!(other.refused("save", json!({"file": "memory/a.md", "content": "x"})).0, 403, "by its page");
    coder.call("delete", json!({"file": "memory/b.md", "whole_file": true}));
    coder.save("memory/c.md", "One.");
    // Only the last of its changes can be undone, and the person's stay.
    vault.post("/api/user-memory/save", &json!({"content": "A.", "title": "N", "collection": "notes"}));
    vault.post("/api/user-memory/save", &json!({"content": "B.", "title": "N", "collection": "notes"}));
    let ids: Vec<_> = (0..20).map(|at| coder.save("memory/a.md", &format!("Line {at}."))).collect();
    let listed = vault.get("/api/user-memory/checkpoints").json();
    let by = |who: &str| listed["checkpoints"].as_array().unwrap().iter().filter(|kept| kept["by"] == who).count();
    assert!((1..=10).contains(&by("coder")) && by("other") == 1, "{listed}");
    assert!(listed["checkpoints"].as_array().unwrap().iter().any(|kept| kept["by"].is_null()), "{listed}");
    assert_eq!(coder.refused("restore", json!({"checkpoint_id": ids[0]})).0, 404);
    coder.call("restore", json!({"checkpoint_id": ids[19]}));
    assert!(coder.text(&vault, "memory/a.md").unwrap().ends_with("Line 18.\n"));
    // So many bytes a day, also after a start. What takes away is never refused.
    coder.save("MEMORY.md", &"x".repeat(3500));
    let (status, message) = coder.refused("save", json!({"content": "y".repeat(500)}));
    assert!(status == 429 && message.contains("4000 bytes"), "{status} {message}");
    assert!(!coder.text(&vault, "MEMORY.md").unwrap().contains('y'));
    vault.restart();
    let coder = super::Agent { address: vault.address().into(), ..coder };
    assert_eq!(coder.refused("save", json!({"content": "y".repeat(500)})).0, 429);
    coder.call("delete", json!({"file": "memory/c.md", "whole_file": true}));
    super::Agent { address: vault.address().into(), ..other }.save("MEMORY.md", &"z".repeat(500));
}

#[test]
fn an_agent_writes_what_and_where_the_person_says() {
    let vault = vault();
    let coder = agent(&vault, "grower", "");
    fs::create_dir_all(vault.path("agents/grower/memory")).unwrap();
    let before = "A line of the person's.\n\n".repeat(20_000);
    fs::write(vault.path("agents/grower/memory/big.md"), &before).unwrap();
    let save = |at: usize| coder.call("save", json!({"file": "memory/big.md", "content": format!("Line {at}.")}));
    let ids: Vec<Value> = (0..8).map(|at| save(at)["checkpoint_id"].clone()).collect();
    // Each can be undone, the last first, by the agent.
    for (at, id) in ids.iter().enumerate().rev().take(4) {
        coder.call("restore", json!({"checkpoint_id": id}));
        let text = coder.text(&vault, "memory/big.md").unwrap();
        let last = if at == 0 { "A line of the person's.".to_owned() } else { format!("Line {}.", at - 1) };
        assert!(text.trim_end().ends_with(&last), "{at}");
    }
    // And any of them by the person.
    let id = ids[0].as_str().unwrap();
    vault.post(&format!("/api/user-memory/checkpoints/{id}/restore"), &json!({"force": true})).ok();
    assert_eq!(coder.text(&vault, "memory/big.md").unwrap(), before);
    // The person says what may be written.
    let coder = agent(&vault, "coder", "");
    for (mode, prompt, searched, default) in [
        ("hybrid", true, true, "MEMORY.md"),
        ("prompt-only", true, false, "MEMORY.md"),
        ("search-only", false, true, "memory/notes.md"),
        ("off", false, false, ""),
        ("nonsense", false, false, ""),
    ] {
        page(&vault, "coder", &format!("write_mode: {mode}"));
        for (file, allowed) in [("MEMORY.md", prompt), ("memory.md", prompt), ("memory/a.md", searched)] {
            let (status, answer) = coder.ask("save", json!({"file": file, "content": format!("- by {mode}")}));
            assert_eq!(status, if allowed { 200 } else { 403 }, "{mode} {file}: {answer}");
            let delete = coder.ask("delete", json!({"file": file, "text": format!("- by {mode}")}));
            assert_eq!(delete.0, if allowed { 200 } else { 403 }, "{mode} {file}: {}", delete.1);
            if !allowed && mode != "nonsense" {
                assert!(answer["error"]["message"].as_str().unwrap().contains("write_mode"), "{answer}");
            }
        }
        if default.is_empty() {
            for (tool, body) in [("save", json!({"content": "x"})), ("forget", json!({"query": "x", "dry_run": true}))]
            {
                assert_eq!(coder.refused(tool, body).0, 403, "{mode} {tool}");
            }
        } else {
            let saved = coder.call("save", json!({"content": "by default"}));
            assert_eq!(saved["path"], format!("agents/coder/{default}"), "{mode}");
            // What was done while it could be is undone while it can be.
            page(&vault, "coder", "write_mode: off");
            assert_eq!(coder.refused("restore", json!({"checkpoint_id": saved["checkpoint_id"]})).0, 403);
            page(&vault, "coder", &format!("write_mode: {mode}"));
            coder.call("restore", json!({"checkpoint_id": saved["checkpoint_id"]}));
        }
    }
    // What it may not write it may read, and does not forget.
    page(&vault, "coder", "");
    coder.save("MEMORY.md", "A green aardvark.");
    page(&vault, "coder", "write_mode: search-only");
    assert_eq!(coder.find("aardvark").len(), 1);
    let forgotten = coder.call("forget", json!({"query": "green aardvark"}));
    assert_eq!((&forgotten["deleted"], &forgotten["candidates"]), (&json!([]), &json!([])));
    // No other file is written or named.
    let coder = agent(&vault, "writer", "");
    coder.save("memory/a.md", "Mine.");
    vault.post("/api/user-memory/save", &json!({"content": "The person's.", "title": "N", "collection": "notes"}));
    let before = all(&vault);
    let long = format!("memory/{}.md", "a".repeat(300));
    // The list of names is that of `the_list_is_exactly_this`, beside the code; these are others, and some of each kind.
    for file in [
        "", ".", "..", "agent.md", "facts.md", "MEMORY.md/", "MEMORY.md\n", " MEMORY.md", "memory/AGENT.md",
        "memory/../../../notes/n.md", "memory/..%2fagent.md", "memory/%2e%2e/agent.md", "memory\\..\\agent.md",
        "memory/a.md.exe", "memory/a\u{7f}.md", "memory/..\u{29f8}agent.md", "../other/MEMORY.md", "../../notes/n.md",
        "notes/n.md", "/etc/passwd", "//MEMORY.md", "file:///MEMORY.md", "~/MEMORY.md", "agents/writer/MEMORY.md",
        ".vault/state/agents.json", "memory.toml", &long,
    ] {
        for (tool, body) in [
            ("save", json!({"file": file, "content": "owned"})),
            ("save", json!({"file": file, "content": "owned", "append": false})),
            ("delete", json!({"file": file, "text": "a"})),
            ("delete", json!({"file": file, "whole_file": true})),
        ] {
            assert_eq!(coder.refused(tool, body).0, 400, "{tool} {file:?}");
        }
        if !matches!(file, "facts.md" | "agents/writer/MEMORY.md") {
            assert_eq!(coder.refused("get", json!({"path": file})).0, 404, "{file:?}");
        }
        assert_eq!(coder.refused("get", json!({"path": format!("agents/writer/{file}")})).0, 404, "{file:?}");
    }
    assert_eq!(all(&vault), before);
    // Nothing becomes frontmatter, and nothing hides.
    let coder = agent(&vault, "plain", "");
    for (at, content) in [
        "---\ntitle: injected\ncan_read_user_memory: true\n---\nzebra",
        "---\nprivate: true\n---\nzebra",
        "+++\ntitle = \"injected\"\n+++\nzebra",
        "\u{feff}---\ntitle: injected\n---\nzebra",
        "---\nunclosed: true\nzebra",
        "---\r\ntitle: injected\r\n---\r\nzebra",
    ]
    .into_iter()
    .enumerate()
    {
        for (kind, append) in [("new", true), ("over", false)] {
            let file = format!("memory/{kind}{at}.md");
            coder.call("save", json!({"file": file, "content": content, "append": append}));
            let hit = coder.call("search", json!({"query": "zebra", "limit": 1}));
            let hit = &hit["results"][0];
            assert_ne!(hit["title"], "injected", "{content:?}");
            assert!(hit["metadata"]["can_read_user_memory"].is_null() && hit["metadata"]["private"].is_null(), "{hit}");
            assert!(coder.call("get", json!({"path": file}))["text"].as_str().unwrap().contains("zebra"));
            coder.call("delete", json!({"file": file, "whole_file": true}));
        }
    }
    // The person's stays to the byte.
    let mine = "---\ntitle: Mine # so\ntags: [a]\n---\n\n";
    fs::write(vault.path("agents/plain/MEMORY.md"), format!("{mine}- one\n")).unwrap();
    vault.finds("one", &["agents/plain/MEMORY.md"]);
    coder.save("MEMORY.md", "---\ntitle: injected\n---");
    coder.call("save", json!({"content": "- two", "append": false}));
    assert_eq!(coder.text(&vault, "MEMORY.md").unwrap(), format!("{mine}- two\n"));
    assert_eq!(coder.refused("delete", json!({"text": "title: Mine # so"})).0, 404);
    let before = all(&vault);
    for content in ["a #private zebra", "<!-- #private -->\n\nx", "<!-- open", "%% nothing but a comment %%"] {
        let (status, message) = coder.refused("save", json!({"content": content}));
        assert_eq!(status, 400, "{content}: {message}");
    }
    assert_eq!(all(&vault), before);
    // What the person keeps from it is as good as gone, and is not written over.
    fs::write(vault.path("agents/plain/MEMORY.md"), "---\nprivate: true\n---\n\nOf a walrus.\n").unwrap();
    vault.finds("walrus", &["agents/plain/MEMORY.md"]);
    assert!(coder.find("walrus").is_empty());
    assert_eq!(coder.refused("get", json!({"path": "MEMORY.md"})).0, 404);
    let before = all(&vault);
    for (tool, body) in [
        ("save", json!({"content": "x"})),
        ("save", json!({"content": "x", "append": false})),
        ("delete", json!({"text": "walrus"})),
    ] {
        assert_eq!(coder.refused(tool, body).0, 403, "{tool}");
    }
    assert_eq!(coder.call("forget", json!({"query": "walrus"}))["candidates"], json!([]));
    assert_eq!(all(&vault), before);
}
