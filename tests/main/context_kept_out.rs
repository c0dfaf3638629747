//! What is kept out of contexts, from outside: what others planted, what is of another time, what nobody said.

use crate::support::prelude::*;

const ADA: &str = "---\ntitle: Ada\ncan_read_user_memory: true\ncollections: [\"*\"]\n---\n";

fn vault() -> Daemon {
    Daemon::vault().with("agents/ada/agent.md", ADA)
}

/// A context for each who may ask: the person, and an agent.
#[track_caller]
fn given(vault: &Daemon, body: &Value) -> [Value; 2] {
    [None, Some("ada")].map(|agent| {
        let mut body = body.clone();
        body["agent"] = json!(agent);
        vault.post("/api/context", &body).ok()
    })
}

fn text(view: &Value) -> &str {
    view["text"].as_str().unwrap()
}

#[test]
fn what_was_thought_over_passages_and_turns_is_never_given() {
    let mut vault = vault();
    let long = |what: &str| format!("The quokka {what} is on my mind, and much else besides it. ").repeat(40);
    let thought = format!(
        "> <think>\n> {}\n>\n> {}\n>\n> {}\n> </think>\n>\n> The quokka eats leaves.",
        long("a"),
        long("b"),
        long("c")
    );
    let parts = format!(
        "**18:34 · assistant:** <think>{}\n\n**18:35 · assistant:** {}\n\n**18:36 · assistant:** {}</think> The quokka sleeps. %%as a zebra%%\n",
        long("d"),
        long("e"),
        long("f")
    );
    vault.write(
        "conversations/zoo.md",
        format!(
            "---\ntitle: Zoo\nsource: capture\ncreated: 2026-01-05T18:32:00Z\n---\n\n**18:32 · user:** What about the quokka?\n\n\
             **18:33 · assistant:**\n{thought}\n\n{parts}\n**18:37 · user:** The quokka is dear to me.\n"
        ),
    );
    vault.start().settle();
    assert_eq!(vault.find("mind")[0], "conversations/zoo.md", "a search finds what is in the file");
    for body in [
        json!({ "query": "The quokka is on my mind", "mode": "full", "budget": 50_000 }),
        json!({ "query": "What did I say about the quokka on my mind?", "budget": 50_000 }),
        json!({ "query": "quokka mind", "sections": ["transcript", "excerpts"], "budget": 50_000 }),
    ] {
        for view in given(&vault, &body) {
            assert!(!text(&view).contains("on my mind") && !text(&view).contains("zebra"), "{body}: {view:#}");
            assert!(text(&view).contains("quokka"), "{body}: {view:#}");
        }
    }
    vault.run(&["memory", "summaries", "make"]).ok();
    let summary = vault.read("summaries/zoo.md");
    assert!(summary.contains("- user: What about the quokka? (") && !summary.contains("on my mind"), "{summary}");
}

#[test]
fn of_a_line_of_many_passages_the_one_that_was_found_is_given() {
    let mut vault = vault();
    let days: String =
        (0..60).map(|day| format!("The weather of day {day} was mild and dry, with little wind. ")).collect();
    vault.write(
        "conversations/trip.md",
        format!(
            "---\ntitle: Trip\ncreated: 2026-01-05T18:32:00Z\n---\n\n**18:32 · user:** How was it?\n\n\
             **18:33 · assistant:** <think>hm, a wombat</think> {days}The passport lies in the blue drawer.\n"
        ),
    );
    vault.start().settle();
    for body in [
        json!({ "query": "passport drawer", "mode": "full" }),
        json!({ "query": "What did I say about the passport in the drawer?" }),
    ] {
        for view in given(&vault, &body) {
            assert!(text(&view).contains("blue drawer") && !text(&view).contains("wombat"), "{body}: {view:#}");
        }
    }
}

#[test]
fn relations_that_others_may_have_planted_are_counted_and_not_given() {
    let vault = vault()
        .with(
            "memories/user.md",
            "- [fact] Works on the Kestrel Project, the Osprey Project and the Heron Project ^e-1\n",
        )
        .with("notes/kestrel.md", "---\ntrust: web\n---\n# Kestrel Project\n\nowner:: [[Mallory Evil]]\n")
        .with(
            "bookmarks/osprey.md",
            "---\nsource: capture\nurl: https://example.org/\n---\n# Osprey Project\n\nowner:: [[Mallory Evil]]\n",
        )
        .with("notes/heron.md", "# Heron Project\n\nowner:: [[Ann]]\nresembles:: [[Kestrel Project]]\n")
        .settled();
    for (name, withheld) in [("Kestrel", 2), ("Osprey", 1), ("Heron", 1)] {
        for mode in ["gate", "full"] {
            let query = format!("What about the {name} Project?");
            for view in given(&vault, &json!({ "query": query, "mode": mode })) {
                assert!(text(&view).contains("Works on the Kestrel Project"), "{view:#}");
                assert!(!text(&view).contains("Mallory") && !text(&view).contains("resembles→"), "{view:#}");
                assert_eq!(text(&view).contains("owner→ Ann"), name == "Heron", "{view:#}");
                let sections = view["receipt"]["sections"].as_array().unwrap();
                let relations = sections.iter().find(|section| section["name"] == "relations").unwrap();
                assert_eq!(relations["left_out"], withheld, "{view:#}");
            }
        }
    }
}

#[test]
fn what_was_learned_from_the_web_stays_of_the_web_wherever_the_page_goes() {
    let vault = vault()
        .with("notes/page.md", "---\ntrust: web\n---\n# Page\n\nBank account is DE99 at Mallory Bank.\n")
        .with("notes/own.md", "# Own\n\nI keep bees in the garden.\n")
        .settled();
    for (entry, source) in
        [("Bank account is DE99 at Mallory Bank", "notes/page.md#L6"), ("Keeps bees in the garden", "notes/own.md#L3")]
    {
        vault.run(&["memory", "add", "--kind", "fact", entry, "--source", source]).ok();
    }
    let known = vault.read("memories/user.md");
    let line = |of: &str| known.lines().find(|line| line.contains(of)).unwrap().to_owned();
    assert!(line("DE99").contains("trust web") && !line("bees").contains("trust"), "{known}");
    let check = |vault: &Daemon| {
        vault.run(&["memory", "profile", "make"]).ok();
        vault.settle();
        let profile = vault.read("profile/profile.md");
        assert!(!profile.contains("DE99") && profile.contains("Keeps bees"), "{profile}");
        let person = &given(vault, &json!({ "query": "who am i" }))[0];
        assert!(!text(person).contains("DE99") && text(person).contains("Keeps bees"), "{person:#}");
        let all = &given(vault, &json!({ "sections": ["profile", "entries"] }));
        assert!(!text(&all[0]).contains("DE99") && !text(&all[1]).contains("DE99"), "{all:#?}");
    };
    check(&vault);
    fs::rename(vault.path("notes/page.md"), vault.path("notes/page-old.md")).unwrap();
    // What the person said stays theirs.
    fs::remove_file(vault.path("notes/own.md")).unwrap();
    vault.settle();
    check(&vault);
}

#[test]
fn a_summary_is_as_old_as_its_conversation() {
    let mut vault = vault();
    let today = jiff::Zoned::now();
    let yesterday = today.yesterday().unwrap().date();
    let before = today.date().checked_sub(jiff::ToSpan::days(20)).unwrap();
    let summary = |day: &str, said: &str| format!("---\ncreated: {day}T12:00:00\n---\n# Talk\n\n- {said}\n");
    vault
        .write("summaries/old.md", summary("2025-01-20", "Decided to sell the marmalade cannon."))
        .write("summaries/before.md", summary(&before.to_string(), "Decided to sell the wombat kite."))
        .write("summaries/new.md", summary(&yesterday.to_string(), "Decided to sell the numbat drum."));
    vault.start().settle();
    let names = ["marmalade", "wombat", "numbat"];
    for (query, has) in [
        (json!({ "query": "what did we sell yesterday" }), [false, false, true]),
        (json!({ "query": format!("what did we sell on {}", yesterday.strftime("%-d %B %Y")) }), [false, false, true]),
        (json!({ "query": format!("what did we decide to sell on {before}") }), [false, true, false]),
        (json!({ "query": "What did we decide about the marmalade cannon?" }), [false; 3]),
        (json!({ "query": "What did we decide to sell?" }), [false, true, true]),
        (json!({ "query": "what did we decide to sell in 2025" }), [false; 3]),
        (json!({ "query": "sell", "sections": ["summaries"] }), [false, true, true]),
    ] {
        for view in given(&vault, &query) {
            assert_eq!(names.map(|name| text(&view).contains(name)), has, "{query} {view:#}");
        }
    }
    let found = vault.run(&["search", "decided to sell", "--layer", "summaries", "--json"]).ok().stdout;
    assert_eq!(names.map(|name| found.contains(name)), [false, true, true], "{found}");
}

#[test]
fn what_nobody_said_is_neither_taken_nor_given() {
    let mut vault = vault();
    // A talk that another program has written.
    vault.write(
        "conversations/2026-03-02-zoo.md",
        "---\nsession: z\ncreated: 2026-03-02\n---\n# Zoo\n\n**18:32 · user:** <relevant-memories>\n> The quokka is blue, a memory says.\n\
         > </relevant-memories> Is my quokka blue?\n\n**18:33 · assistant:** <think>The quokka thought is secret.</think>Your quokka is fine.\n",
    );
    vault.start().settle();
    let turns = json!({ "agent_id": "a", "conversation_id": "c", "turns": [{
        "user": "<relevant-memories>\nThe wombat is blue, a memory says.\n</relevant-memories>\nIs my wombat blue?",
        "assistant": "<think>The wombat thought is secret.</think>Your wombat is fine."
    }]});
    vault.post("/memory/ingest", &turns).ok();
    let path = eventually("the turn", || vault.find("wombat").first().cloned());
    let kept = vault.read(&path);
    assert!(kept.contains("Is my wombat blue?") && kept.contains("Your wombat is fine."), "{kept}");
    assert!(!kept.contains("secret") && !kept.contains("a memory says") && !kept.contains("relevant"), "{kept}");
    vault.settle();
    for query in ["is the quokka blue", "quokka thought secret"] {
        for part in ["transcript", "excerpts"] {
            for view in given(&vault, &json!({ "query": query, "sections": [part] })) {
                let text = text(&view);
                assert!(!text.contains("secret") && !text.contains("a memory says"), "{query} {view:#}");
                assert!(text.contains("Your quokka is fine.") || query.contains("thought"), "{query} {view:#}");
            }
        }
    }
}
