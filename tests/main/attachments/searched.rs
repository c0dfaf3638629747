//! From a document in the vault to a hit, to whom it is given, and how it goes.

use super::documents::{PdfStyle, docx, encrypted, paragraph, pdf};
use crate::support::prelude::*;

const ON: &str = "[embed]\nmodel = \"none\"\n[index]\nattachments = true\n[agents]\nrequests_per_minute = 100000\n\
                  [access]\nprivate = [\"files/diary\"]\n";

fn report(third: &str) -> Vec<u8> {
    pdf(&["The quokka eats at noon.", "Nothing of note.", third], PdfStyle { flate: true, unicode: true })
}

/// A vault with a document of each kind and a note.
fn vault(config: &str) -> Daemon {
    let mut vault = Daemon::with_config(config);
    let letter = [paragraph("berschrift1", "Letter"), paragraph("", "The wombat sleeps.")].concat();
    vault
        .write("notes/plan.md", "# Plan\n\nA plain note of a marsupial. [[report]]\n")
        .write("files/report.pdf", report("A xylophone for the koala. Чай с хлебом."))
        .write("files/letter.docx", docx(&letter))
        .write("files/page.html", "<title>Page</title><h2>Birds</h2><p>The emu runs.</p><p>#private [[secret]]</p>")
        .write("files/photo.png", b"\x89PNG\r\n\x1a\n");
    vault
}

#[track_caller]
fn hit(vault: &Daemon, word: &str) -> Value {
    vault.run(&["search", "--json", word]).ok().json()["results"][0].clone()
}

/// Waits until a search by words finds these files. A passage is found by the words of those beside it, too.
#[track_caller]
fn finds(vault: &Daemon, word: &str, paths: &[&str]) {
    until(&format!("{word} to be found in {paths:?}"), || {
        let mut found = vault.find(word);
        found.sort();
        found.dedup();
        found == paths
    });
}

fn listed(vault: &Daemon) -> Vec<Value> {
    vault.run(&["ls", "--attachments", "--json"]).ok().json()["attachments"].as_array().unwrap().clone()
}

fn reason(vault: &Daemon, path: &str) -> Option<String> {
    let status = vault.status();
    let problem = status["problems"].as_array().unwrap().iter().find(|problem| problem["path"] == path)?;
    Some(problem["reason"].as_str().unwrap().to_owned())
}

/// How many texts are kept of documents.
fn kept(vault: &Daemon) -> usize {
    fs::read_dir(vault.path(".vault/index/attachments")).unwrap().count()
}

#[test]
fn a_document_is_found_with_its_page_or_heading_and_read_by_what_the_hit_names() {
    for served in [false, true] {
        let mut vault = vault(ON);
        if served {
            vault.start();
        }
        let found = hit(&vault, "xylophone");
        assert_eq!(found["path"], "files/report.pdf");
        assert_eq!((&found["page"], &found["citation"]), (&json!(3), &json!("files/report.pdf#page=3")));
        assert_eq!((&found["heading_path"], &found["title"]), (&json!(["Page 3"]), &json!("report")));
        assert_eq!(hit(&vault, "хлебом")["page"], 3);
        let page = vault.run(&["get", "files/report.pdf#page=3"]).ok().stdout;
        assert_eq!(page, "## Page 3\n\nA xylophone for the koala. Чай с хлебом.\n");
        assert_eq!(vault.run(&["get", "files/report.pdf#page=9"]).code, 1);
        let whole = vault.run(&["get", "files/report.pdf"]).ok().stdout;
        assert!(whole.starts_with("## Page 1\n\nThe quokka eats at noon.\n\n## Page 2\n"), "{whole}");

        let found = hit(&vault, "wombat");
        assert_eq!((&found["path"], &found["heading_path"]), (&json!("files/letter.docx"), &json!(["Letter"])));
        assert_eq!((&found["page"], &found["title"]), (&Value::Null, &json!("Letter")));
        assert_eq!(found["citation"], "files/letter.docx#L1-L3");
        let cited = vault.run(&["get", "files/letter.docx#L1-L3"]).ok().stdout;
        assert_eq!(cited.trim_end(), found["content"].as_str().unwrap());

        let found = hit(&vault, "emu");
        assert_eq!((&found["title"], &found["heading_path"]), (&json!("Page"), &json!(["Page", "Birds"])));
        assert_eq!(hit(&vault, "marsupial")["page"], Value::Null);

        let kinds: Vec<Value> = listed(&vault).iter().map(|one| json!([one["path"], one["state"]])).collect();
        let expected = json!([
            ["files/letter.docx", "searched"],
            ["files/page.html", "searched"],
            ["files/photo.png", "not_read"],
            ["files/report.pdf", "searched"],
        ]);
        assert_eq!(json!(kinds), expected);
    }
}

#[test]
fn what_is_read_is_given_kept_and_found_anew_when_it_changes() {
    let mut vault = vault(ON).started();
    // It is given over HTTP and MCP, and never as what its text says it is.
    let hit = &vault.get("/api/user-memory/search?mode=keyword&q=xylophone").json()["results"][0];
    assert_eq!((&hit["page"], &hit["citation"]), (&json!(3), &json!("files/report.pdf#page=3")));
    let note = vault.get("/api/user-memory/note?path=files/page.html").json();
    assert_eq!(note["tags"], json!([]), "what looks like a tag is text");
    assert_eq!(note["body"][0], json!({ "tag": "h1", "line_start": 1, "line_end": 1, "children": ["Page"] }));
    assert!(note["text"].as_str().unwrap().ends_with("#private [[secret]]\n"), "{note}");
    // A link to a name is one to a note.
    let links = vault.get("/api/user-memory/links?path=notes/plan.md").json();
    assert!(!links.to_string().contains("report.pdf"), "{links}");
    let list = vault.get("/api/attachments").json();
    assert_eq!((&list["searched"], list["attachments"].as_array().unwrap().len()), (&json!(true), 4));

    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner"]));
    let page = mcp.tool("get", json!({ "what": "files/report.pdf#page=3" })).to_string();
    assert!(page.contains("xylophone") && !page.contains("quokka") && page.contains("report.pdf#page=3"), "{page}");
    mcp.refused("get", json!({ "what": "files/report.pdf#page=7" }));
    // What was read once is not read again, and the index is as one made anew.
    finds(&vault, "xylophone", &["files/report.pdf"]);
    let times = |vault: &Daemon| {
        let files = fs::read_dir(vault.path(".vault/index/attachments")).unwrap().flatten();
        files.map(|file| (file.file_name(), file.metadata().unwrap().modified().unwrap())).collect::<BTreeSet<_>>()
    };
    let before = times(&vault);
    assert_eq!(before.len(), 3);
    vault.run(&["reindex"]).ok();
    vault.settle();
    vault.run(&["get", "files/report.pdf"]).ok();
    assert_eq!(times(&vault), before);
    vault.run(&["reindex", "--full"]).ok();
    vault.settle();
    finds(&vault, "xylophone", &["files/report.pdf"]);
    assert_ne!(times(&vault), before, "from nothing");
    vault.terminate();
    // A cache that is damaged or gone costs a reading.
    for file in fs::read_dir(vault.path(".vault/index/attachments")).unwrap().flatten() {
        fs::write(file.path(), "damaged").unwrap();
    }
    assert!(vault.run(&["get", "files/report.pdf#page=3"]).ok().stdout.contains("xylophone"));
    vault.start();
    finds(&vault, "xylophone", &["files/report.pdf"]);
    assert_as_rebuilt(&vault, &["xylophone", "wombat", "emu", "marsupial"]);
    // What changes is found anew, and what goes is gone.
    finds(&vault, "xylophone", &["files/report.pdf"]);
    vault.write("files/report.pdf", report("A trombone."));
    finds(&vault, "trombone", &["files/report.pdf"]);
    finds(&vault, "xylophone", &[]);
    vault.write("files/late.htm", "<p>A dingo");
    finds(&vault, "dingo", &["files/late.htm"]);
    fs::rename(vault.path("files/late.htm"), vault.path("files/moved.html")).unwrap();
    finds(&vault, "dingo", &["files/moved.html"]);
    fs::remove_file(vault.path("files/report.pdf")).unwrap();
    finds(&vault, "trombone", &[]);
    finds(&vault, "quokka", &[]);
    // Emptied, it is there and says nothing; then it says something again.
    fs::write(vault.path("files/moved.html"), "").unwrap();
    finds(&vault, "dingo", &[]);
    eventually("the reason", || (reason(&vault, "files/moved.html")? == "it is empty").then_some(()));
    vault.write("files/moved.html", "<p>A quoll");
    finds(&vault, "quoll", &["files/moved.html"]);
    assert_eq!(reason(&vault, "files/moved.html"), None);
    vault.settle();
    // Nothing is kept of what is gone.
    assert_eq!(kept(&vault), 3, "letter, page and moved");
}

#[test]
fn it_is_searched_only_where_that_is_wanted() {
    let mut vault = vault(&ON.replace("true", "false")).started();
    finds(&vault, "marsupial", &["notes/plan.md"]);
    finds(&vault, "xylophone", &[]);
    finds(&vault, "emu", &[]);
    let listed = listed(&vault);
    assert_eq!(listed.len(), 4);
    assert!(listed.iter().all(|one| one["state"] == "not_read" && one["passages"] == 0), "{listed:?}");
    assert!(vault.run(&["get", "files/report.pdf"]).stderr.contains("attachments = true"));
    vault.terminate();
    vault.write("memory.toml", ON).start();
    finds(&vault, "xylophone", &["files/report.pdf"]);
    vault.terminate();
    vault.write("memory.toml", ON.replace("true", "false")).start();
    finds(&vault, "xylophone", &[]);
    assert_eq!(kept(&vault), 0);
    vault.terminate();
    vault.write("memory.toml", ON.replace("[index]", "[index]\nexclude = [\"files/*.pdf\"]")).start();
    finds(&vault, "xylophone", &[]);
    finds(&vault, "emu", &["files/page.html"]);
}

#[test]
fn what_cannot_be_read_is_listed_with_the_reason_and_keeps_nothing_else_back() {
    let mut vault = vault(ON);
    let bomb = docx(&paragraph("", &"a".repeat(150_000_000)));
    vault
        .write("files/locked.pdf", encrypted("A numbat", "open"))
        .write("files/other.pdf", "<p>A numbat")
        .write("files/bomb.docx", bomb)
        .write("files/empty.pdf", "");
    vault.start();
    finds(&vault, "xylophone", &["files/report.pdf"]);
    finds(&vault, "numbat", &[]);
    vault.settle();
    let listed = listed(&vault);
    for (path, why) in [
        ("files/locked.pdf", "it is encrypted, and takes a password"),
        ("files/other.pdf", "it is not a PDF"),
        ("files/empty.pdf", "it is empty"),
        ("files/bomb.docx", "it takes more than 200 MB of memory to read"),
    ] {
        assert_eq!(reason(&vault, path).as_deref(), Some(why), "{path}");
        let one = listed.iter().find(|one| one["path"] == path).unwrap();
        assert_eq!((&one["state"], &one["reasons"][0]), (&json!("not_read"), &json!(why)), "{path}");
    }
    let shown = vault.run(&["ls", "--attachments", "files"]).ok().stdout;
    assert!(shown.contains("files/other.pdf  not read: it is not a PDF"), "{shown}");
    assert!(shown.contains("files/photo.png  not read: pictures are listed"), "{shown}");
    let refused = vault.run(&["get", "files/locked.pdf"]);
    assert!(refused.code == 2 && refused.stderr.contains("takes a password"), "{}", refused.stderr);
}

#[test]
fn an_agent_sees_it_where_it_sees_notes() {
    let mut vault = vault(ON);
    vault.write("private/own.pdf", report("A bilby.")).write("files/diary/day.html", "<p>A bettong");
    for (agent, collection) in [("ada", "files"), ("bob", "notes")] {
        let page = format!("---\ncan_read_user_memory: true\ncollections: [{collection}, annotations]\n---\n");
        vault.write(&format!("agents/{agent}/agent.md"), page);
    }
    vault.start();
    finds(&vault, "bilby", &["private/own.pdf"]);
    finds(&vault, "bettong", &["files/diary/day.html"]);
    let ask = |agent: &str| {
        let token = vault.token_of(agent);
        move |vault: &Daemon, target: &str| vault.get_as(&token, target)
    };
    let (ada, bob) = (ask("ada"), ask("bob"));
    let search = |word: &str| format!("/api/user-memory/search?mode=keyword&q={}", encode(word));
    assert_eq!(ada(&vault, &search("xylophone")).json()["results"][0]["page"], 3);
    for hidden in ["bilby", "bettong", "marsupial"] {
        assert_eq!(ada(&vault, &search(hidden)).json()["results"], json!([]), "{hidden}");
    }
    assert_eq!(bob(&vault, &search("xylophone")).json()["results"], json!([]));
    let note = |path: &str| format!("/api/user-memory/note?path={path}");
    assert_eq!(ada(&vault, &note("files/report.pdf")).status, 200);
    let absent = ada(&vault, &note("files/nothing.pdf"));
    for (who, hidden) in [(&ada, "private/own.pdf"), (&ada, "files/diary/day.html"), (&bob, "files/report.pdf")] {
        let reply = who(&vault, &note(hidden));
        assert_eq!((reply.status, reply.error()), (404, absent.error().replace("files/nothing.pdf", hidden)));
    }
    // What quotes a document is seen where that is.
    let hash = vault.get(&search("xylophone")).json()["results"][0]["hash"].clone();
    let remarked = vault.post("/api/user-memory/annotate", &json!({ "hash": hash, "note": "A numbat said so." })).ok();
    let remark = note(remarked["path"].as_str().unwrap());
    assert_eq!((ada(&vault, &remark).status, bob(&vault, &remark).status), (200, 404));
    // What is no note of the vault's is for the person alone.
    assert_eq!(ada(&vault, "/api/attachments").status, 403);
    // Nobody who did not ask for it is given what others may have written.
    let context = vault.post("/api/context", &json!({ "query": "Where is the xylophone for the koala?" }));
    assert!(context.status == 200 && !context.json().to_string().contains("koala."), "{}", context.json());
}

#[test]
fn it_is_as_hidden_as_the_notes_that_show_it_until_one_does_that_is_seen() {
    let mut vault = vault(ON).with(
        "agents/ada/agent.md",
        "---\ntitle: Ada\ncan_read_user_memory: true\ncollections: [files, notes]\nexclude_tags: [health]\n---\n",
    );
    vault.start();
    let token = vault.token_of("ada");
    let ask = |target: &str| vault.get_as(&token, target);
    let becomes = |word: &str, path: &str, seen: bool| {
        until(&format!("{word} to be seen: {seen}"), || {
            let found = ask(&format!("/api/user-memory/search?mode=keyword&q={word}")).json()["results"].clone();
            let read = ask(&format!("/api/user-memory/note?path={path}")).status == 200;
            read == seen && (found != json!([])) == seen
        });
    };
    becomes("xylophone", "files/report.pdf", true);
    fs::write(vault.path("notes/tax.md"), "---\nprivate: true\n---\n\nOf this year: ![[Report.pdf#page=3]]\n").unwrap();
    becomes("xylophone", "files/report.pdf", false);
    fs::write(vault.path("notes/ill.md"), "#health [from the doctor](../files/letter.docx)\n").unwrap();
    becomes("wombat", "files/letter.docx", false);
    becomes("emu", "files/page.html", true);
    // The person sees all.
    finds(&vault, "xylophone", &["files/report.pdf"]);
    // What is hidden is answered as what is not there.
    let (hidden, absent) =
        (ask("/api/user-memory/note?path=files/report.pdf"), ask("/api/user-memory/note?path=files/nothing.pdf"));
    assert_eq!((hidden.status, hidden.error()), (404, absent.error().replace("nothing.pdf", "report.pdf")));
    fs::write(vault.path("notes/shown.md"), "Read [[files/report.pdf]].\n").unwrap();
    becomes("xylophone", "files/report.pdf", true);
    fs::remove_file(vault.path("notes/shown.md")).unwrap();
    becomes("xylophone", "files/report.pdf", false);
    fs::write(vault.path("notes/tax.md"), "---\nprivate: false\n---\n\n![[report.pdf]]\n").unwrap();
    becomes("xylophone", "files/report.pdf", true);
}

#[test]
fn it_is_never_written_and_forgotten_as_a_whole_alone() {
    for served in [false, true] {
        let mut vault = vault(ON);
        if served {
            vault.start();
        }
        let bytes = fs::read(vault.path("files/report.pdf")).unwrap();
        let found = hit(&vault, "xylophone");
        for what in [found["hash"].as_str().unwrap(), "files/report.pdf:1-3"] {
            let refused = vault.run(&["forget", what, "--yes"]);
            assert!(refused.code != 0 && refused.stderr.contains("can only be deleted whole"), "{}", refused.stderr);
        }
        assert_ne!(vault.run(&["forget", "files/report.pdf#page=3", "--yes"]).code, 0);
        assert_eq!(fs::read(vault.path("files/report.pdf")).unwrap(), bytes);
        let remarked = vault.run(&["annotate", found["hash"].as_str().unwrap(), "Read it again.", "--json"]);
        let remark = remarked.ok().json()["path"].as_str().unwrap().to_owned();
        let remark = vault.read(&remark);
        assert!(remark.contains("On [[files/report.pdf#page=3]], `files/report.pdf#page=3`:"), "{remark}");
        assert_eq!(fs::read(vault.path("files/report.pdf")).unwrap(), bytes);

        let gone = vault.run(&["forget", "files/report.pdf", "--yes", "--keep-derived", "--json"]).ok().json();
        assert!(vault.path(".trash/files/report.pdf").exists() && !vault.path("files/report.pdf").exists());
        assert_eq!(gone["whole"], true, "{gone}");
        assert_eq!(vault.run(&["search", "--json", "koala path:files/*"]).code, 1);
        vault.run(&["undo", gone["checkpoint_id"].as_str().unwrap()]).ok();
        assert_eq!(fs::read(vault.path("files/report.pdf")).unwrap(), bytes);
        vault.run(&["search", "--json", "koala path:files/*"]).ok();

        let purged = vault.run(&["forget", "files/report.pdf", "--purge", "--yes", "--derived", "--json"]).ok().json();
        assert!(purged["purged"]["tombstone"].is_i64(), "{purged}");
        assert!(!vault.path(".trash/files/report.pdf").exists() && !vault.path("files/report.pdf").exists());
        assert_eq!(vault.run(&["search", "--json", "koala"]).code, 1);
        assert_eq!(files_with(&vault.path(".vault/index/attachments"), "koala"), [""; 0]);
    }
}
