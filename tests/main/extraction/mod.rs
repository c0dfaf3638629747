//! Conversations, read by a chat model that is a server of the test's own, which answers well, badly, and with malice.

mod hostile;
pub mod kills;
mod layers;
pub mod librarian;
mod score;

use std::sync::mpsc::channel;

use crate::support::prelude::*;

/// `[memory]` for a model at an address.
pub fn config(address: &str, memory: &str) -> String {
    format!(
        "[embed]\nmodel = \"none\"\n[search]\nmode = \"keyword\"\n[memory]\nendpoint = \"{address}\"\nmodel = \"reader\"\n{memory}\n"
    )
}

/// A conversation of these turns: who, and what.
pub fn conversation(turns: &[(&str, &str)]) -> String {
    let turns: Vec<String> = turns.iter().map(|(who, said)| format!("**18:32 · {who}:** {said}\n")).collect();
    format!("---\ntitle: Talk\ncreated: 2026-01-05T18:32:00+01:00\n---\n\n{}", turns.join("\n"))
}

/// The lines that a model was shown: their numbers, who spoke, and what.
pub fn shown(asked: &Asked) -> Vec<(u64, String, String)> {
    let lines = asked.texts[1].lines().filter_map(|line| {
        let (head, said) = line.split_once(": ")?;
        let (number, voice) = head.split_once(' ')?;
        let voice = voice.split(" (").next()?.to_owned();
        Some((number.parse().ok()?, voice, said.to_owned()))
    });
    lines.collect()
}

/// What a good model finds: everything that somebody likes.
pub fn likes(asked: &Asked) -> String {
    let liked = shown(asked).into_iter().filter(|(.., said)| said.contains("I like "));
    let entries: Vec<Value> = liked
        .map(|(line, _, said)| {
            let what = said.split("I like ").nth(1).unwrap_or_default().trim_end_matches('.').to_owned();
            json!({"kind": "preference", "text": format!("Likes {what}"), "confidence": 0.95, "tags": ["taste"], "valid_from": "",
                "lines": [line, line], "quote": format!("I like {what}")})
        })
        .collect();
    let text: Vec<Value> =
        entries.iter().map(|entry| json!({"text": entry["text"], "lines": entry["lines"]})).collect();
    json!({"summary": {"text": text, "topics": [], "decisions": [], "dates": [], "actions": []}, "entries": entries})
        .to_string()
}

/// A server that answers well.
pub fn good() -> Endpoint {
    let endpoint = Endpoint::start();
    endpoint.fails(|asked| Some(Fault::SaysThis(likes(asked))));
    endpoint
}

/// A server that answers well, and a vault whose `[memory]` has it.
fn reading(memory: &str) -> (Endpoint, Daemon) {
    let endpoint = good();
    let vault = Daemon::with_config(&config(&endpoint.address(), memory));
    (endpoint, vault)
}

/// What waits for the person.
pub fn pending(vault: &Daemon) -> String {
    fs::read_to_string(vault.path("memories/pending.md")).unwrap_or_default()
}

pub fn sync(vault: &Daemon) -> Value {
    vault.run(&["memory", "sync", "--json"]).ok().json()
}

#[test]
fn a_conversation_becomes_proposals_that_cite_their_lines() {
    let (_endpoint, mut vault) = reading("");
    let turns = [("user", "I like green tea."), ("bot", "Noted."), ("user", "Bye.")];
    vault.write("conversations/tea.md", conversation(&turns));
    let before = fs::read(vault.path("conversations/tea.md")).unwrap();
    // Alone, and by a daemon.
    let view = sync(&vault);
    assert_eq!((&view["state"], &view["queued"], &view["calls"]), (&json!("idle"), &json!(0), &json!(1)));
    let proposed = pending(&vault);
    assert!(proposed.contains("Likes green tea") && proposed.contains("conversations/tea.md#L6"), "{proposed}");
    assert!(proposed.contains("confidence 0.95") && proposed.contains("#taste"), "{proposed}");
    assert_eq!(fs::read(vault.path("conversations/tea.md")).unwrap(), before);
    vault.start();
    // What was saved just before is read as well.
    vault.write("conversations/soup.md", conversation(&[("user", "I like tomato soup.")]));
    let view = sync(&vault);
    assert_eq!((&view["calls"], &view["day"]["calls"]), (&json!(2), &json!(2)));
    assert!(pending(&vault).contains("Likes tomato soup"));
    // What it cost is as the service has counted.
    assert_eq!((&view["prompt_tokens"], &view["answer_tokens"]), (&json!(200), &json!(20)));
    assert_eq!((&view["success"], &view["outcomes"]), (&json!(1.0), &json!([{"outcome": "answered", "calls": 2}])));
    assert!(view["p50_ms"].is_u64() && view["p95_ms"].is_u64() && view["bytes_sent"].as_u64() > Some(1_000), "{view}");
    assert_eq!(view["recent"][0]["kept"], 2, "{view}");
    let status = vault.run(&["status"]).ok().stdout;
    assert!(status.contains("reader at 127.0.0.1") && status.contains("2 calls"), "{status}");
}

#[test]
fn without_a_model_nothing_is_asked_and_nothing_is_sent() {
    let endpoint = good();
    let chat = format!("[embed]\nmodel = \"none\"\n[chat]\nendpoint = \"{}\"\nmodel = \"judge\"\n", endpoint.address());
    for config in [chat.clone(), format!("{chat}[memory]\nmodel = \"reader\"\nenabled = false\n")] {
        let mut vault = Daemon::with_config(&config);
        vault.write("conversations/tea.md", conversation(&[("user", "I like green tea.")])).start();
        let view = sync(&vault);
        assert_eq!((&view["state"], &view["calls"], &view["bytes_sent"]), (&json!("off"), &json!(0), &json!(0)));
        let shown = vault.run(&["memory", "processing"]).ok().stdout;
        assert!(shown.contains("0 calls, 0 B sent, since the vault was made"), "{shown}");
        assert!(vault.run(&["status"]).ok().stdout.contains("0 calls, 0 B sent since the vault was made"));
        assert!(endpoint.asked().is_empty() && !vault.path("memories").exists());
    }
    // With a name alone, it is at the endpoint of `[chat]`.
    let mut vault = Daemon::with_config(&format!("{chat}[memory]\nmodel = \"reader\"\n"));
    vault.write("conversations/tea.md", conversation(&[("user", "I like green tea.")]));
    assert_eq!(sync(&vault)["calls"], 1);
    assert_eq!(endpoint.asked()[0].body["model"], "reader");
}

#[test]
fn nothing_is_read_twice_and_what_was_edited_is_read_again() {
    let (_endpoint, mut vault) = reading("");
    let talk = conversation(&[("user", "I like green tea."), ("bot", "Noted.")]);
    vault.write("conversations/tea.md", &talk);
    sync(&vault);
    let first = pending(&vault);
    assert_eq!(sync(&vault)["calls"], 1);
    // A tag is none of its turns.
    vault.write("conversations/tea.md", talk.replace("title: Talk", "title: Talk\ntags: [drinks]"));
    assert_eq!(sync(&vault)["calls"], 1);
    // What a program has put among them is neither.
    let more = "\n**18:40 · tool:** I like secrets.\n**18:41 · user:** NO_REPLY\n";
    vault.write("conversations/tea.md", format!("{talk}{more}"));
    assert_eq!(sync(&vault)["calls"], 1);
    assert_eq!(pending(&vault), first);
    vault.write("conversations/tea.md", format!("{talk}\n**18:42 · user:** I like black tea, too.\n"));
    assert_eq!(sync(&vault)["calls"], 2);
    let second = pending(&vault);
    assert_eq!(["green", "black"].map(|tea| second.matches(&format!("Likes {tea} tea")).count()), [1, 1], "{second}");
    // A file that goes is forgotten, and nothing of its name is left in the state.
    fs::remove_file(vault.path("conversations/tea.md")).unwrap();
    assert_eq!(sync(&vault)["queued"], 0);
    for file in [".vault/state/state.db", ".vault/state/state.db-wal"] {
        assert_eq!(files_with(&vault.path(file), "green tea"), [""; 0], "{file}");
    }
}

#[test]
fn what_programs_put_into_a_conversation_is_not_sent() {
    let (endpoint, vault) = reading("");
    let turns = [
        ("system", "I like quokkas."),
        ("tool", "I like wombats."),
        ("user", "<recalled_context>I like koalas.</recalled_context>Hello"),
        ("bot", "<think>I like emus.</think>Hello"),
        ("user", "Pre-compaction memory flush. I like dingos."),
        ("user", "My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH, keep it."),
        ("user", "I like green tea."),
    ];
    let vault = vault.with("conversations/all.md", conversation(&turns));
    sync(&vault);
    let sent = endpoint.asked()[0].texts.join("\n");
    for word in ["quokka", "wombat", "koala", "emus", "dingo", "sk-proj"] {
        assert!(!sent.contains(word), "{word}: {sent}");
    }
    assert!(sent.contains("Hello") && sent.contains("[redacted"));
    let proposed = pending(&vault);
    assert_eq!(proposed.matches("Likes ").count(), 1, "{proposed}");
}

#[test]
fn private_conversations_go_to_no_model_on_another_machine() {
    let endpoint = good();
    // This machine, by an address that could be any.
    let elsewhere = endpoint.address().replace("127.0.0.1", "http://0.0.0.0");
    let mut vault =
        Daemon::with_config(&(config(&elsewhere, "") + "[access]\nprivate = [\"conversations/doctor/**\"]\n"));
    let private = conversation(&[("user", "I like quokkas.")]).replace("title:", "private: true\ntitle:");
    vault
        .write("conversations/open.md", conversation(&[("user", "I like green tea.")]))
        .write("conversations/secret.md", private)
        .write("conversations/doctor/x.md", conversation(&[("user", "I like wombats.")]));
    let view = sync(&vault);
    assert_eq!((&view["calls"], &view["withheld"], &view["queued"]), (&json!(1), &json!(2), &json!(0)));
    assert_eq!((endpoint.sent("quokka"), endpoint.sent("wombat")), (0, 0));
    vault.write("memory.toml", config(&elsewhere, "send_private = true"));
    assert_eq!(sync(&vault)["calls"], 3);
    vault.write("memory.toml", config(&endpoint.address(), ""));
    vault.write("conversations/secret2.md", "---\nprivate: true\n---\n**18:00 · user:** I like cocoa.\n");
    assert_eq!(sync(&vault)["calls"], 4, "and to one on this machine they go");
}

#[test]
fn beyond_the_calls_of_a_day_nothing_is_asked_after_a_start_either() {
    let endpoint = good();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "calls_per_day = 1"))
        .with("conversations/a.md", conversation(&[("user", "I like green tea.")]))
        .with("conversations/b.md", conversation(&[("user", "I like black tea.")]));
    for with_daemon in [false, true] {
        if with_daemon {
            vault.start();
        }
        let view = sync(&vault);
        assert_eq!((&view["calls"], &view["queued"], &view["dead"]), (&json!(1), &json!(1), &json!(0)), "{view}");
        assert_eq!(view["state"], "waiting");
        assert_eq!(view["reason"], "the limit of calls or tokens in 24 hours is reached");
    }
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "tokens_per_day = 100"));
    vault.write("conversations/a.md", conversation(&[("user", "I like green tea.")]));
    assert_eq!(sync(&vault)["calls"], 0, "it would cost more");
}

#[test]
fn a_quiet_conversation_is_read_by_itself() {
    let (_endpoint, mut vault) = reading("summary_debounce_seconds = 10");
    vault.write("conversations/old.md", conversation(&[("user", "I like green tea.")]));
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    set_time(vault.path("conversations/old.md"), long_ago);
    // One that an ahead clock has dated is quiet from now on, and not for years.
    vault.write("conversations/new.md", conversation(&[("user", "I like black tea.")]));
    let ahead = SystemTime::now() + Duration::from_secs(86_400 * 3_650);
    set_time(vault.path("conversations/new.md"), ahead);
    vault.start();
    until("the orphan to be read", || pending(&vault).contains("Likes green tea"));
    assert!(!pending(&vault).contains("black tea"), "it was just written");
    until("the other to wait", || {
        let view = vault.get("/api/processing").json();
        view["state"] == "waiting" && view["queued"] == 1
    });
    assert_eq!(sync(&vault)["queued"], 0);
    assert!(pending(&vault).contains("Likes black tea"));
}

#[test]
fn a_renamed_or_copied_conversation_is_no_second_one() {
    let (_endpoint, mut vault) = reading("");
    let said = [("bot", "So what is it?"), ("user", "If it rains I like green tea.")];
    vault.write("conversations/a.md", conversation(&said));
    sync(&vault);
    assert!(pending(&vault).contains("Likes green tea"), "{}", pending(&vault));
    vault.write("conversations/copy.md", conversation(&said));
    sync(&vault);
    fs::remove_file(vault.path("conversations/copy.md")).unwrap();
    fs::rename(vault.path("conversations/a.md"), vault.path("conversations/b.md")).unwrap();
    sync(&vault);
    let waits = pending(&vault);
    assert!(waits.contains("Likes green tea") && !waits.contains("copy.md"), "{waits}");
    assert_eq!(waits.matches("ikes green tea").count(), 1, "{waits}");
}

#[test]
fn what_was_removed_or_rejected_is_not_proposed_again() {
    let (_endpoint, mut vault) = reading("");
    vault.write("conversations/tea.md", conversation(&[("user", "I like green tea."), ("user", "I like rye bread.")]));
    sync(&vault);
    let id = |what: &str| {
        let waiting = pending(&vault);
        let line = waiting.lines().find(|line| line.contains(what)).unwrap_or_default().to_owned();
        line.rsplit_once('^').map(|(_, id)| id.to_owned()).unwrap()
    };
    let (tea, bread) = (id("green tea"), id("rye bread"));
    vault.run(&["memory", "review", "accept", &tea]).ok();
    vault.run(&["memory", "remove", &tea]).ok();
    vault.run(&["memory", "review", "reject", &bread]).ok();
    let said = [("user", "I like green tea."), ("user", "I like rye bread."), ("user", "I like tomato soup.")];
    vault.write("conversations/again.md", conversation(&said));
    sync(&vault);
    let waits = pending(&vault);
    assert!(waits.contains("tomato soup") && !waits.contains("green tea") && !waits.contains("rye bread"), "{waits}");
}

#[test]
fn a_conversation_that_says_so_is_read_by_no_model() {
    let endpoint = good();
    let vault = Daemon::with_config(&config(&endpoint.address(), "")).settled();
    let capture = vault.run(&["token", "add", "--capture", "osaurus"]).ok().stdout;
    let turns = |id: &str, skip: bool| {
        let turns = json!([{ "user": format!("I like {id} tea."), "assistant": "Noted." }]);
        let body = json!({ "agent_id": "a", "conversation_id": id, "turns": turns, "skip_extraction": skip });
        vault.post_as(capture.trim(), "/memory/ingest", &body).ok();
        eventually("the turns", || vault.find(id).first().cloned())
    };
    let (read, left) = (turns("green", false), turns("black", true));
    assert!(vault.read(&left).contains("extraction: false"));
    assert!(!vault.read(&read).contains("extraction"));
    assert_eq!(sync(&vault)["calls"], 1);
    assert!(pending(&vault).contains("Likes green tea") && !pending(&vault).contains("black"));
}

/// Says of each conversation what is true of its first line, and what nobody said.
fn summarizer() -> Endpoint {
    let endpoint = Endpoint::start();
    endpoint.fails(|_| {
        let summary = json!({
            "text": [{"text": "Likes green tea from Kyoto", "lines": [6, 6]}, {"text": "Sold the house in Paris", "lines": [6, 6]}],
            "topics": [], "decisions": [], "dates": [], "actions": [{"text": "Buy green tea", "lines": [999]}],
        });
        Some(Fault::SaysThis(json!({"summary": summary, "entries": []}).to_string()))
    });
    endpoint
}

#[test]
fn a_models_summary_is_written_without_what_nobody_said_and_a_persons_edit_stays() {
    let endpoint = summarizer();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    // Where nothing stands, nothing is written.
    vault.write("conversations/soup.md", conversation(&[("user", "Soup is good.")]));
    assert_eq!(sync(&vault)["calls"], 1);
    assert!(!vault.path("summaries").exists());
    let talk = conversation(&[("user", "I like green tea from Kyoto."), ("bot", "Noted.")]);
    vault.write("conversations/tea.md", talk.replace("title:", "trust: web\ntitle:").replace("---\n\n", "---\n"));
    sync(&vault);
    let read = || vault.read("summaries/tea.md");
    let first = read();
    assert!(first.contains("- Likes green tea from Kyoto (conversations/tea.md#L6)"), "{first}");
    assert!(!first.contains("Paris") && !first.contains("Buy green"), "{first}");
    assert!(first.contains("made_by: reader") && first.contains("trust: web"), "{first}");
    // Neither again, nor by rules.
    assert_eq!(sync(&vault)["calls"], 2);
    vault.run(&["memory", "summaries", "make"]);
    assert_eq!(read(), first);
    let edited = first.replace("- Likes", "- Adores");
    vault.write("summaries/tea.md", &edited);
    vault.write("conversations/tea.md", format!("{talk}\n**18:40 · user:** Bye, then.\n"));
    assert_eq!(sync(&vault)["calls"], 3);
    assert_eq!(vault.read("summaries/tea.md"), edited);
    assert_eq!(fs::read_dir(vault.path("summaries")).unwrap().count(), 1);
}

#[test]
fn what_is_purged_while_the_model_reads_is_neither_proposed_nor_sent_again() {
    for is_readable in [true, false] {
        let endpoint = Endpoint::start();
        let ((asks, is_asked), (go_on, goes_on)) = (channel(), channel());
        let (goes_on, was_asked) = (Mutex::new(goes_on), AtomicBool::new(false));
        endpoint.fails(move |asked| {
            if !was_asked.swap(true, Ordering::SeqCst) {
                asks.send(()).unwrap();
                goes_on.lock().unwrap().recv().unwrap();
                if !is_readable {
                    return Some(Fault::Says("prose"));
                }
            }
            Some(Fault::SaysThis(likes(asked)))
        });
        let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
        let turns = [("user", "I like green tea."), ("bot", "Noted."), ("user", "I like onion soup.")];
        vault.write("conversations/tea.md", conversation(&turns)).start();
        std::thread::scope(|scope| {
            scope.spawn(|| sync(&vault));
            is_asked.recv().unwrap();
            vault.run(&["forget", "conversations/tea.md:6", "--purge", "--yes"]).ok();
            go_on.send(()).unwrap();
        });
        until("the rest to be read", || pending(&vault).contains("Likes onion soup"));
        assert!(!pending(&vault).contains("green tea"), "{}", pending(&vault));
        assert_eq!(endpoint.sent("green tea"), 1, "it is not sent again");
    }
}
