//! Entries, the working memory, from outside: by the command line, HTTP, MCP and an editor.

use crate::forgotten::{Secret, assert_in_no_file};
use crate::support::prelude::*;

/// Points between the files of a memory.
pub const POINTS: [&str; 4] = ["entries-written", "entries-accepted", "entries-set-aside", PURGED];

/// Between a purged entry and the list of its sources.
const PURGED: &str = "entry-purged";

const KNOWN: &str = "---\nsources: [notes/open.md, notes/secret.md]\n---\n# What is known\n\nProse.\n\n- [preference] Prefers tabs over spaces #editor ^e-1\n\
    - [fact] Lives by the harbour (source notes/open.md#L1) ^e-2\n- [fact] The quokka bites (source notes/secret.md#L3) ^e-3\n\
    - Likes tea\n";

pub fn vault() -> Daemon {
    Daemon::vault()
        .with("notes/open.md", "The harbour is nice.\nI moved there in May.\n")
        .with("notes/secret.md", "---\nprivate: true\n---\nThe quokka bites.\n")
        .with_ada()
}

pub fn read(vault: &Daemon, path: &str) -> String {
    fs::read_to_string(vault.path(path)).unwrap_or_default()
}

#[track_caller]
pub fn texts(found: &Value) -> Vec<String> {
    column(&found["entries"], "text")
}

pub fn propose(vault: &Daemon, text: &str, more: &Value) -> Value {
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let mut body = json!({ "action": "propose", "text": text });
    body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let told = mcp.tool("entry", body);
    mcp.finish();
    told
}

/// How much the proposals with the numbers 0 to 3 are trusted.
pub fn trusted(vault: &Daemon) -> [String; 4] {
    let pending = read(vault, "agents/ada/pending.md");
    [0, 1, 2, 3].map(|at| {
        let line = pending.lines().find(|line| line.contains(&format!("number {at}"))).unwrap_or_default();
        line.rsplit_once("trust ").and_then(|(_, rest)| rest.split(')').next()).unwrap_or_default().to_owned()
    })
}

/// The entries that an agent sees.
fn listed(vault: &Daemon, agent: &str) -> Value {
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", agent]));
    mcp.tool("entry", json!({ "action": "list" }))
}

fn waiting(vault: &Daemon) -> Vec<Value> {
    vault.get("/api/review").json()["proposals"].as_array().unwrap().clone()
}

#[test]
fn entries_are_lines_that_anybody_may_edit() {
    let vault = vault().with("memories/user.md", KNOWN).settled();
    let all = texts(&vault.get("/api/entries").json());
    assert_eq!(all, ["Prefers tabs over spaces", "Lives by the harbour", "The quokka bites", "Likes tea"]);
    assert_eq!(texts(&vault.get("/api/entries?kind=preference&tag=editor").json()), all[..1]);
    let added =
        vault.post("/api/entries", &json!({"text": "Ships on Fridays", "kind": "decision", "from": "2026-03-02"})).ok();
    let id = added["id"].as_str().unwrap().to_owned();
    assert_eq!(
        read(&vault, "memories/user.md"),
        format!("{KNOWN}- [decision] Ships on Fridays (from 2026-03-02) ^{id}\n")
    );
    let again = vault.post("/api/entries", &json!({"text": "ships on fridays!", "kind": "decision"})).ok();
    assert_eq!((again["status"].as_str(), again["id"].as_str()), (Some("duplicate"), Some(id.as_str())));
    vault.post("/api/entries/edit", &json!({"id": "e-1", "text": "Prefers tabs", "from": "2026-01-01"})).ok();
    assert!(read(&vault, "memories/user.md").contains("- [preference] Prefers tabs (from 2026-01-01) #editor ^e-1\n"));
    let gone = vault.post("/api/entries/remove", &json!({"id": "e-3"})).ok();
    let text = read(&vault, "memories/user.md");
    assert!(!text.contains("quokka") && text.contains("sources: [\"notes/open.md\"]"), "{text}");
    vault.run(&["undo", gone["checkpoint_ids"][0].as_str().unwrap()]).ok();
    assert!(read(&vault, "memories/user.md").contains("The quokka bites"));
    vault.post("/api/entries/remove", &json!({"id": "e-3", "archive": true})).ok();
    assert_eq!(texts(&vault.get("/api/entries?status=archived").json()), ["The quokka bites"]);
    for (path, body, status) in [
        ("/api/entries", json!({"text": " "}), 400),
        ("/api/entries", json!({"text": "x #private"}), 400),
        ("/api/entries", json!({"text": "x", "confidence": 2}), 400),
        ("/api/entries", json!({"text": "x", "until": "soon"}), 400),
        ("/api/entries", json!({"text": "x", "sources": ["../x.md"]}), 400),
        ("/api/entries", json!({"text": "x", "agent": "nobody"}), 404),
        ("/api/entries/edit", json!({"id": "e-99", "text": "x"}), 404),
        ("/api/entries/remove", json!({"id": "e-99"}), 404),
        ("/api/review", json!({"decisions": []}), 400),
        ("/api/review", json!({"decisions": [{"accept": true}]}), 400),
    ] {
        assert_eq!(vault.post(path, &body).status, status, "{path} {body}");
    }
}

#[test]
fn what_says_the_same_by_its_meaning_is_no_new_entry_once_a_model_is_loaded() {
    let endpoint = Endpoint::start();
    let known = "User prefers strong freshly roasted mountain coffee out of small copper pots every single morning";
    let same = "User favours strong freshly roasted mountain coffee out of small copper pots every single morning";
    let config = |embed: &str| format!("[embed]\n{embed}\n");
    let at_endpoint = config(&format!("endpoint = \"{}\"\nmodel = \"hashed\"", endpoint.address()));
    let cases =
        [(at_endpoint.clone(), true, false), (config("model = \"none\""), false, false), (at_endpoint, false, true)];
    for (embed, by_meaning, fails) in cases {
        let vault = Daemon::with_config(&embed).with_ada().settled();
        if fails {
            endpoint.fails(|_| Some(Fault::Close));
        }
        let add = |text: &str| vault.post("/api/entries", &json!({"text": text, "kind": "preference"})).ok();
        let first = add(known);
        let again = add(same);
        assert_eq!((again["status"] == "duplicate", again["id"] == first["id"]), (by_meaning, by_meaning), "{again}");
        // What waits is held against what is known, and an agent hears the same in any case.
        let holder = json!({"text": known, "kind": "preference", "agent": "ada"});
        assert_eq!(vault.post("/api/entries", &holder).ok()["status"], "active");
        assert_eq!(propose(&vault, same, &json!({"kind": "preference"}))["status"], "pending");
        assert_eq!(waiting(&vault).len(), usize::from(!by_meaning));
    }
}

#[test]
fn while_a_model_is_loading_words_alone_count_and_that_is_said() {
    let endpoint = Endpoint::start();
    endpoint.fails(|_| Some(Fault::Hang));
    let embed = format!("endpoint = \"{}\"\nmodel = \"hashed\"\ntimeout_ms = 500", endpoint.address());
    let vault = Daemon::with_config(&format!("[embed]\n{embed}\n")).started();
    let add = |text: &str| vault.post("/api/entries", &json!({"text": text, "kind": "preference"})).ok();
    let first =
        add("User prefers strong freshly roasted mountain coffee out of small copper pots every single morning");
    assert!(first["degraded"].is_null(), "there was nothing to compare it with: {first}");
    let again =
        add("User favours strong freshly roasted mountain coffee out of small copper pots every single morning");
    assert_eq!(again["status"], "active");
    assert!(again["degraded"].as_str().unwrap().contains("in other words were not looked for"), "{again}");
    assert_eq!(
        add("user prefers strong, freshly roasted mountain coffee out of small copper pots every single morning")["status"],
        "duplicate",
        "words count"
    );
    endpoint.fails(|_| None);
    until("the model to answer", || vault.settle()["model"]["state"] == "ready");
    let third =
        add("User fancies strong freshly roasted mountain coffee out of small copper pots every single morning");
    assert_eq!((&third["status"], &third["degraded"]), (&json!("duplicate"), &Value::Null));
}

#[test]
fn a_rewrite_that_drops_too_much_is_refused_and_shown() {
    let vault = vault().with("memories/user.md", KNOWN).settled();
    let content = KNOWN.replace("- Likes tea\n", "");
    let fewer = content.replace("- [preference] Prefers tabs over spaces #editor ^e-1\n", "");
    let refused = vault.post("/api/entries/rewrite", &json!({"content": fewer}));
    assert_eq!(refused.status, 409);
    let hint = refused.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("- Prefers tabs over spaces") && hint.contains("- Likes tea"), "{hint}");
    assert_eq!(read(&vault, "memories/user.md"), KNOWN);
    assert_eq!(vault.post("/api/entries/rewrite", &json!({"content": content})).ok()["entries"], 3);
    let done = vault.post("/api/entries/rewrite", &json!({"content": "- One\n", "allow_loss": true})).ok();
    vault.run(&["undo", done["checkpoint_id"].as_str().unwrap()]).ok();
    assert_eq!(read(&vault, "memories/user.md"), content);
}

#[test]
fn what_takes_a_place_leaves_it_again() {
    let vault = vault().started();
    let add = |body: Value| vault.post("/api/entries", &body).ok();
    let first = add(json!({"text": "User likes tea", "kind": "preference"}));
    let second = add(json!({"text": "User likes green tea in the morning", "kind": "preference"}));
    assert_eq!(second["supersedes"], first["id"]);
    assert_eq!(texts(&vault.get("/api/entries").json()), ["User likes green tea in the morning"]);
    assert_eq!(texts(&vault.get("/api/entries?status=superseded").json()), ["User likes tea"]);
    vault.post("/api/entries/remove", &json!({"id": second["id"]})).ok();
    assert_eq!(texts(&vault.get("/api/entries").json()), ["User likes tea"], "the winner is gone");
    let other = add(json!({"text": "User does not like tea", "kind": "preference"}));
    assert_eq!((&other["contradicts"], &other["status"]), (&first["id"], &json!("active")));
    let third = add(json!({"text": "User likes black tea in the evening", "kind": "preference"}));
    assert_eq!(third["supersedes"], first["id"]);
    vault.post("/api/entries/remove", &json!({"id": third["id"], "archive": true})).ok();
    assert_eq!(texts(&vault.get("/api/entries").json()), ["User likes tea", "User does not like tea"]);
    assert_eq!(
        texts(&vault.get("/api/entries?status=archived").json()),
        ["User likes green tea in the morning", "User likes black tea in the evening"][1..]
    );
}

#[test]
fn a_proposal_is_inert_until_it_is_accepted() {
    let vault = vault().with("conversations/c.md", "# C\n\n> I always test with make quokkatest.\n").settled();
    let source = json!({"sources": ["conversations/c.md#L3"], "kind": "preference"});
    let told = propose(&vault, "Tests with make quokkatest", &source);
    assert_eq!(told["status"], "pending");
    let pending = read(&vault, "agents/ada/pending.md");
    assert!(pending.contains("private: true") && pending.contains("trust agent"), "{pending}");
    assert_eq!(texts(&vault.get("/api/entries?agent=ada").json()), [""; 0]);
    assert_eq!(texts(&listed(&vault, "ada")), [""; 0]);
    let proposal = &waiting(&vault)[0];
    assert_eq!(
        (proposal["verdict"].as_str(), &proposal["diff"]),
        (Some("new"), &json!(["+ [preference] Tests with make quokkatest"]))
    );
    assert_eq!(proposal["quotes"][0]["text"], "> I always test with make quokkatest.");
    let id = proposal["entry"]["id"].as_str().unwrap();
    let done = vault.post("/api/review", &json!({"decisions": [{"id": id, "agent": "ada", "accept": true}]})).ok();
    assert_eq!(done["accepted"], json!([id]));
    assert!(waiting(&vault).is_empty());
    assert_eq!(texts(&vault.get("/api/entries?agent=ada").json()), ["Tests with make quokkatest"]);
    assert_eq!(texts(&listed(&vault, "ada")), ["Tests with make quokkatest"]);
    // Undone in the order that is given, it waits again.
    for checkpoint in done["checkpoint_ids"].as_array().unwrap() {
        vault.run(&["undo", checkpoint.as_str().unwrap()]).ok();
    }
    assert_eq!(waiting(&vault).len(), 1);
}

#[test]
fn an_entry_is_trusted_no_more_than_what_it_was_learned_from() {
    let mut vault = vault();
    vault.write("notes/web.md", "---\ntrust: web\n---\nThe invoice portal wants all customer passwords.\n");
    vault.write("notes/copy.md", "---\nsources: [notes/web.md]\n---\nThe invoice portal wants a lot.\n");
    vault.write("notes/tool.md", "---\ntrust: tool\n---\nThe invoice portal\n").write(
        "memories/user.md",
        "# Known\n\n- The invoice portal wants secrets (source notes/web.md#L4, trust agent) ^e-1\n\
         - The invoice portal is blue (source notes/open.md#L1, trust agent) ^e-2\n",
    );
    vault.start().settle();
    for (at, source) in ["notes/web.md#L4", "notes/copy.md", "notes/tool.md", "notes/open.md#L1"].iter().enumerate() {
        let text = format!("The invoice portal wants number {at}");
        propose(&vault, &text, &json!({"sources": ["notes/open.md", source]}));
    }
    assert_eq!(trusted(&vault), ["web", "web", "tool", "agent"]);
    vault.run(&["memory", "review", "accept", "--all-of", "notes/open.md", "--agent", "ada"]).ok();
    vault.settle();
    // Neither what was accepted nor what is trusted more than its source is given unasked.
    let asked = json!({"query": "Do you remember the invoice portal?", "sections": ["entries"]});
    let given = vault.post("/api/context", &asked).ok().to_string();
    assert!(given.contains("portal is blue") && !given.contains("secrets"), "{given}");
    let own = vault
        .run(&["context", "--agent", "ada", "--sections", "entries", "Do you remember the invoice portal?"])
        .ok()
        .stdout;
    assert!(own.contains("number 3"), "{own}");
    assert!(["number 0", "number 1", "number 2", "secrets"].iter().all(|text| !own.contains(text)), "{own}");
}

#[test]
fn what_was_rejected_or_forgotten_never_comes_back_and_the_agent_hears_success() {
    let vault = vault().with("notes/gone.md", "The numbat key lies under the third pot.\n").settled();
    let told = propose(&vault, "Hates mornings", &json!({}));
    let id = told["id"].as_str().unwrap().to_owned();
    vault.run(&["memory", "review", "reject", &id, "--agent", "ada", "--reason", "a joke"]).ok();
    assert!(read(&vault, "agents/ada/archive.md").contains("rejected: a joke"));
    assert_eq!(propose(&vault, "hates mornings.", &json!({}))["status"], "pending");
    vault.run(&["forget", "notes/gone.md", "--purge", "--yes"]).ok();
    let told = propose(&vault, "The numbat key lies under the third pot", &json!({}));
    assert_eq!((told["ok"].as_bool(), told["status"].as_str()), (Some(true), Some("pending")));
    assert!(waiting(&vault).is_empty());
    assert!(!read(&vault, "agents/ada/pending.md").contains("numbat"));
}

#[test]
fn an_agent_sees_an_entry_where_all_its_sources_are_seen() {
    let mut vault = vault().with("memories/user.md", KNOWN);
    vault.write("agents/eve/agent.md", "---\ncan_read_user_memory: true\ncollections: [notes]\n---\n").start().settle();
    let found = listed(&vault, "ada");
    assert_eq!(texts(&found), ["Prefers tabs over spaces", "Lives by the harbour", "Likes tea"]);
    assert!(found["agents"].is_null() && found["problems"].is_null(), "{found}");
    assert_eq!(texts(&listed(&vault, "eve")), [""; 0], "the collection `memories` was not given");
    // The file as a whole is as private as the most private of its sources.
    let token = vault.token_of("ada");
    let mut agent = Connection::open(vault.address()).with_token(&token);
    let found = agent.get("/api/user-memory/search?q=tabs");
    assert_eq!(found["results"].as_array().map_or(0, Vec::len), 0, "{found}");
    for (method, path) in [
        ("GET", "/api/review"),
        ("POST", "/api/review"),
        ("POST", "/api/entries/remove"),
        ("POST", "/api/entries/edit"),
    ] {
        let request = Request::send(method, path, &json!({"id": "e-1", "text": "x"}));
        let reply: Reply = agent.send(&request.bearer(&token)).unwrap();
        assert_eq!(reply.status, 403, "{method} {path}");
    }
    for target in ["/api/entries?status=pending", "/api/entries?status=archived", "/api/entries?agent=zoe"] {
        assert_eq!(agent.get(target)["entries"], json!([]), "{target}");
    }
}

#[test]
fn what_goes_over_the_cap_is_archived_by_confidence_and_age() {
    // 500 may count.
    let many: String = (0..497).map(|at| format!("- Number{at} stands on shelf{at}\n")).collect();
    let vault = Daemon::vault().with("memories/user.md", format!("# Known\n\n{many}")).settled();
    let add =
        |text: &str, confidence: f64| vault.post("/api/entries", &json!({"text": text, "confidence": confidence})).ok();
    add("Alpha is blue", 1.0);
    add("Beta grows in pots", 0.5);
    add("Gamma rays are loud", 1.0);
    let fourth = add("Delta flies south", 1.0);
    assert_eq!(fourth["archived"].as_array().unwrap().len(), 1);
    let left = vault.read("memories/user.md");
    assert!(!left.contains("Beta") && left.contains("Alpha") && left.contains("Number0 "), "{left}");
    add("Epsilon sleeps late", 1.0);
    assert_eq!(
        texts(&vault.get("/api/entries?status=archived").json()),
        ["Beta grows in pots", "Number0 stands on shelf0"],
        "the oldest"
    );
}

#[test]
fn what_took_anothers_place_and_was_deleted_by_hand_can_come_back() {
    let vault = Daemon::vault().settled();
    vault.run(&["memory", "add", "Likes tea"]).ok();
    vault.run(&["memory", "add", "Likes green tea in the morning"]).ok();
    for _ in 0..2 {
        let text = vault.read("memories/user.md");
        let (green, left): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains("green tea"));
        assert!(green.len() == 1 && text.contains("superseded by"), "{text}");
        fs::write(vault.path("memories/user.md"), left.join("\n") + "\n").unwrap();
        vault.run(&["memory", "add", "Likes green tea in the morning"]).ok();
    }
    assert_eq!(texts(&vault.get("/api/entries").json()), ["Likes green tea in the morning"]);
}

#[test]
fn many_that_go_over_the_cap_are_warned_of_and_told_as_a_number() {
    let mut vault = Daemon::vault();
    let many: String = (0..2_000).map(|at| format!("- Number{at} stands on shelf{at}\n")).collect();
    vault.write("memories/user.md", format!("# Known\n\n{many}")).start().settle();
    let warned = "2000 entries are active, 1500 more than the limit of 500";
    let said = vault.run(&["status"]).ok().stdout;
    assert!(said.contains(warned), "{said}");
    let listed = vault.run(&["memory", "list", "--limit", "1"]).ok();
    assert!(listed.stderr.contains(warned), "{}", listed.stderr);
    let added = vault.run(&["memory", "add", "The zebra is striped"]).ok().stdout;
    assert!(added.contains("archived 1501 entries") && added.lines().count() < 5, "{added}");
    assert!(!vault.run(&["status"]).ok().stdout.contains("entries are active"));
    let added = vault.run(&["memory", "add", "The okapi is shy"]).ok().stdout;
    assert!(added.contains("    archived e-"), "{added}");
}

#[test]
fn the_queue_is_decided_from_the_command_line() {
    let mut vault = vault().with(
        "memories/pending.md",
        "---\nprivate: true\n---\n- [fact] One is here (source conversations/a.md#L1) ^e-a\n- [fact] Two were there (source conversations/a.md#L2) ^e-b\n\
         - [fact] Three (source conversations/b.md#L1) ^e-c\n- [fact] Four ^e-d\n",
    );
    vault.start().settle();
    let listed = vault.run(&["memory", "review", "--list", "--json"]).ok();
    assert_eq!(listed.json()["proposals"].as_array().unwrap().len(), 4);
    let shown = vault.run(&["memory", "review", "--list"]).ok().stdout;
    assert!(shown.contains("+ [fact] Four"), "{shown}");
    assert_ne!(vault.run(&["memory", "review"]).code, 0, "nobody is there to be asked");
    vault.run(&["memory", "review", "accept", "--all-of", "conversations/a.md"]).ok();
    vault.run(&["memory", "review", "reject", "e-c"]).ok();
    vault.run(&["memory", "review", "edit", "e-d", "Four of them"]).ok();
    assert_eq!(texts(&vault.get("/api/entries").json()), ["One is here", "Two were there", "Four of them"]);
    assert_eq!(vault.run(&["memory", "review", "--list"]).code, 1);
    assert_eq!(vault.run(&["memory", "review", "accept", "e-zz"]).code, 1);
    let listed = vault.run(&["memory", "list"]).ok().stdout;
    assert!(listed.starts_with("e-a  [fact] One is here"), "{listed}");
}

#[test]
fn nonsense_by_hand_is_told_and_harms_nothing() {
    let mut vault = vault();
    let nonsense = "---\nsources: 7\n---\n- ok ^e-1\n- twice ^e-1\n- x (confidence 900, trust lots, source notes/open.md#L1)\n- [nokind] y\n\
        <!-- open\n- hidden\n";
    vault.write("memories/user.md", nonsense).start().settle();
    let found = vault.get("/api/entries").json();
    assert_eq!(found["problems"].as_array().unwrap().len(), 3, "{found}");
    let told = vault.run(&["status", "--json"]).ok().json();
    let of_line = |problem: &&Value| {
        problem["path"] == "memories/user.md" && problem["reason"].as_str().unwrap().starts_with("line ")
    };
    assert_eq!(told["problems"].as_array().unwrap().iter().filter(of_line).count(), 4, "with the open comment: {told}");
    let said = vault.run(&["status"]).ok().stdout;
    assert!(said.contains("`trust lots` cannot be read"), "{said}");
    assert_eq!(vault.post("/api/entries", &json!({"text": "new"})).status, 409);
    assert_eq!(read(&vault, "memories/user.md"), nonsense);
    vault.write("memories/user.md", "<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n");
    assert_eq!(vault.post("/api/entries", &json!({"text": "new"})).status, 409);
}

#[test]
fn a_kill_after_an_entry_is_purged_brings_nothing_back() {
    let mut vault = vault().with("notes/bilby.md", "The bilby code is seven seven one nine.\n");
    let line = "- The bilby code is seven seven one nine (source notes/bilby.md#L1) ^e-2\n";
    vault.write(
        "memories/user.md",
        format!("---\nsources: [notes/bilby.md]\n---\n- Likes tea ^e-1\n{line}- Likes jam ^e-3\n"),
    );
    vault.start().settle();
    vault.kill();
    vault.dies_forgetting(&format!("{PURGED}:1"), &["notes/bilby.md", "--derived"]);
    vault.settle();
    assert_eq!(texts(&vault.get("/api/entries").json()), ["Likes tea", "Likes jam"]);
    let told = propose(&vault, "The bilby code is seven seven one nine", &json!({}));
    assert_eq!(told["status"], "pending");
    assert!(waiting(&vault).is_empty(), "it stays forgotten");
}

#[test]
fn entries_go_with_the_note_that_they_were_learned_from() {
    let mut vault = vault();
    let secret = "The bilby code is seven seven one nine";
    vault.write("notes/bilby.md", format!("{secret}.\n")).write(
        "memories/user.md",
        format!("---\nsources: [notes/bilby.md]\n---\n- Likes tea ^e-1\n- {secret} (source notes/bilby.md#L1) ^e-2\n- Likes jam ^e-3\n"),
    );
    vault.start().settle();
    let listed = vault.run(&["forget", "notes/bilby.md", "--dry-run", "--json"]).ok().json();
    // The profile may have been made of it by then.
    let derived = |told: &Value| told["derived"].as_array().unwrap().clone();
    let of_it = derived(&listed);
    assert!(of_it.iter().any(|made| made["path"] == "memories/user.md#^e-2"), "{listed}");
    assert!(of_it.iter().all(|made| made["path"] != "memories/user.md"), "{listed}");
    let gone = vault.run(&["forget", "notes/bilby.md", "--purge", "--derived", "--yes", "--json"]).ok().json();
    assert!(derived(&gone).iter().all(|made| made["gone"] == true), "{gone}");
    let text = read(&vault, "memories/user.md");
    assert_eq!(text, "---\nsources: []\n---\n- Likes tea ^e-1\n- Likes jam ^e-3\n");
    vault.run(&["reindex", "--full"]).ok();
    vault.settle();
    vault.terminate();
    let bilby = Secret { needle: "bilby", query: "", text: "" };
    assert_in_no_file(&vault.path(""), &[&bilby]);
}

#[test]
fn a_kill_at_any_step_loses_nothing_and_does_nothing_twice() {
    for (point, passing) in
        [("entries-written", 1), ("entries-written", 2), ("entries-accepted", 1), ("entries-set-aside", 1)]
    {
        for accept in [true, false] {
            let mut vault = vault().with(
                "memories/pending.md",
                "---\nprivate: true\n---\n- [fact] One is here ^e-a\n- [fact] Two were there ^e-b\n",
            );
            vault.start().settle();
            vault.kill();
            vault.launch(Some(&format!("{point}:{passing}")));
            let body = json!({"decisions": [{"id": "e-a", "accept": accept}]});
            let request = Request::send("POST", "/api/review", &body).bearer(vault.token());
            if Connection::open(vault.address()).send(&request).is_some() {
                // Accepting and rejecting pass different points.
                assert!(point == if accept { "entries-set-aside" } else { "entries-accepted" }, "{point} {accept}");
                continue;
            }
            until("the kill", || vault.was_killed());
            vault.start().settle();
            post_again(&vault, accept);
            let (shelf, other) = if accept { ("active", "rejected") } else { ("rejected", "active") };
            assert_eq!(
                texts(&vault.get(&format!("/api/entries?status={shelf}")).json()),
                ["One is here"],
                "{point} {passing}"
            );
            assert_eq!(texts(&vault.get(&format!("/api/entries?status={other}")).json()), [""; 0]);
            assert_eq!(texts(&vault.get("/api/entries?status=pending").json()), ["Two were there"]);
        }
    }
}

/// Decides once more, where it is still to be decided.
fn post_again(vault: &Daemon, accept: bool) {
    if waiting(vault).iter().any(|proposal| proposal["entry"]["id"] == "e-a") {
        vault.post("/api/review", &json!({"decisions": [{"id": "e-a", "accept": accept}]})).ok();
    }
    until("it is decided", || waiting(vault).len() == 1);
}

#[test]
fn of_many_proposals_some_are_given_and_the_rest_is_counted() {
    let mut vault = vault();
    let lines: String = (0..130).map(|at| format!("- [fact] Proposal {at} is about topic{at} ^e-{at}\n")).collect();
    vault.write("memories/pending.md", format!("---\nprivate: true\n---\n{lines}")).start().settle();
    for (asked, given) in [("", 100), ("?limit=1", 1), ("?limit=1000", 130), ("?agent=ada", 0)] {
        let found = vault.get(&format!("/api/review{asked}")).json();
        let more = if asked == "?agent=ada" { 0 } else { 130 - given };
        let shown = (found["proposals"].as_array().unwrap().len(), found["more"].as_u64().unwrap());
        assert_eq!(shown, (given, more as u64), "{asked}");
    }
    assert_eq!(vault.get("/api/review?limit=0").status, 400);
    let listed = vault.run(&["memory", "review", "--list"]).ok();
    assert_eq!(listed.stdout.matches("  new, confidence").count(), 130);
}

#[test]
fn what_was_removed_leaves_a_mark_for_extraction_alone() {
    let vault = vault().settled();
    let added = vault.post("/api/entries", &json!({"text": "Bakes rye bread", "agent": "ada"})).ok();
    let of_ada = json!({"id": added["id"], "agent": "ada"});
    vault.post("/api/entries/remove", &of_ada).ok();
    assert!(!read(&vault, "agents/ada/entries.md").contains("rye"));
    assert!(read(&vault, "agents/ada/archive.md").contains("Bakes rye bread (rejected: removed"));
    propose(&vault, "Bakes rye bread", &json!({}));
    let [proposal] = waiting(&vault).try_into().unwrap();
    // Once it counts again, it can be set aside; removed there, it is gone.
    vault
        .post("/api/review", &json!({"decisions": [{"id": proposal["entry"]["id"], "agent": "ada", "accept": true}]}))
        .ok();
    let again = json!({"id": proposal["entry"]["id"], "agent": "ada"});
    vault.post("/api/entries/remove", &json!({"id": again["id"], "agent": "ada", "archive": true})).ok();
    assert_eq!(texts(&vault.get("/api/entries?agent=ada&status=archived").json()), ["Bakes rye bread"]);
    for _ in 0..2 {
        vault.post("/api/entries/remove", &again);
        vault.post("/api/entries/remove", &of_ada);
    }
    assert!(!read(&vault, "agents/ada/archive.md").contains("rye"));
}

/// As in a folder that was adopted: nothing comes by itself, and what the person says and asks counts.
#[test]
fn where_nothing_is_kept_by_itself_the_person_s_own_word_counts() {
    let vault = Daemon::without_model("[memory]\nenabled = false\n").with("agents/ada/agent.md", READS).settled();
    vault.post("/api/entries", &json!({"text": "Prefers tea over coffee", "kind": "preference"})).ok();
    assert!(read(&vault, "memories/user.md").contains("- [preference] Prefers tea over coffee"));
    let asked = json!({"query": "do you remember what I prefer over coffee?"});
    let given = vault.post("/api/context", &asked).ok();
    assert!(given["text"].as_str().unwrap().contains("Prefers tea"), "{given}");

    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let told = mcp.call("entry", json!({"action": "propose", "text": "Prefers cocoa"})).to_string();
    mcp.finish();
    assert!(told.contains("this vault stores no entries"), "{told}");
    assert_eq!(waiting(&vault), [] as [Value; 0]);
    let given = vault.post_as(&vault.token_of("ada"), "/api/context", &asked).json();
    assert!(given["text"] == "" && given.to_string().contains("`[memory] enabled` is false"), "{given}");
}

#[test]
fn what_was_captured_of_the_web_is_no_more_than_the_web_says() {
    let mut vault = vault().started();
    vault.capture(json!([
        {"type": "bookmark", "title": "Invoice portal", "url": "https://portal.example/", "note": "The invoice portal wants passwords."},
        {"type": "clipboard", "content": "The invoice portal wants your key."},
        {"type": "note", "title": "Invoices", "content": "The invoice portal is closed on Sundays."},
    ]));
    vault.captured().settle();
    let snippet = fs::read_dir(vault.path("snippets")).unwrap().next().unwrap().unwrap().file_name();
    let snippet = format!("snippets/{}", snippet.to_str().unwrap());
    vault.write("notes/copy.md", "---\nsources: [bookmarks/invoice-portal.md]\n---\nThe invoice portal wants a lot.\n");
    vault.write(
        "memories/user.md",
        format!(
            "- [fact] The invoice portal wants passwords (source bookmarks/invoice-portal.md#L9) ^e-1\n\
             - [fact] The invoice portal wants a key (source {snippet}) ^e-2\n\
             - [fact] The invoice portal wants much (source notes/copy.md) ^e-3\n\
             - [fact] The invoice portal is closed on Sundays (source notes/invoices.md) ^e-4\n"
        ),
    );
    vault.settle();
    let sources = ["bookmarks/invoice-portal.md", &snippet, "notes/copy.md", "notes/invoices.md"];
    for (at, source) in sources.iter().enumerate() {
        propose(&vault, &format!("The invoice portal has number {at}"), &json!({"sources": [source]}));
    }
    assert_eq!(trusted(&vault), ["web", "tool", "web", "agent"]);
    // Nor is it given unasked, itself or what was learned from it, or made a part of the profile.
    vault.run(&["memory", "profile", "make"]).ok();
    vault.settle();
    let profile = read(&vault, "profile/profile.md");
    assert!(profile.contains("closed on Sundays") && !profile.contains("wants"), "{profile}");
    for body in [json!({"mode": "full"}), json!({"query": "what does the invoice portal want?"})] {
        let given = vault.post("/api/context", &body).ok();
        assert!(!given["text"].as_str().unwrap().contains("wants"), "{given:#}");
    }
    let given = vault.post("/api/context", &json!({"query": "Remember the invoice portal"})).ok();
    assert!(given["text"].as_str().unwrap().contains("closed on Sundays"), "{given:#}");
    let found = vault.get("/api/user-memory/search?q=portal+passwords").json();
    assert!(found.to_string().contains("bookmarks/invoice-portal.md"), "a search finds it");
    // The day tells how much was captured, and nothing of what it says: so it is trusted.
    vault.run(&["digest", "--write"]).ok();
    vault.settle();
    let day = fs::read_dir(vault.path("summaries/days")).unwrap().next().unwrap().unwrap().path();
    let digest = fs::read_to_string(&day).unwrap();
    assert!(digest.contains("- bookmarks: 1 new") && !digest.contains("passwords"), "{digest}");
    let given = vault.post("/api/context", &json!({"query": "what happened today?"})).ok();
    assert!(given["text"].as_str().unwrap().contains("bookmarks: 1 new"), "{given:#}");
    // What the person vouches for is theirs.
    let page = read(&vault, "bookmarks/invoice-portal.md").replacen("---\n", "---\ntrust: person\n", 1);
    vault.write("bookmarks/invoice-portal.md", page).settle();
    let given = vault.post("/api/context", &json!({"sections": ["entries"]})).ok();
    assert!(given["text"].as_str().unwrap().contains("wants passwords"), "{given:#}");
}
