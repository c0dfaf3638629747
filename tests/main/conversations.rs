//! Conversations: what was asked is found with what was answered.

use memory_vault::serve::wire::HitView;

use crate::support::prelude::*;

/// A captured conversation, in which nothing of the question is in its answer.
fn conversation() -> String {
    let turns = [
        "**10:00 · user:** Good morning",
        "**10:01 · assistant:** Good morning! What is on today?",
        "**10:02 · user:** The bathroom, with a ladder.",
        "**10:03 · user:** Who has the tile cutter?",
        "**10:04 · assistant:** Jonas borrowed it in March.",
        "**10:05 · user:** Then I will call him, and bring the ladder back.",
        "**10:06 · assistant:** His number is in your notes.",
        "**10:07 · user:** Thanks, that is all.",
    ];
    format!("---\ntitle: Monday\nsource: capture\nsession: s1\n---\n\n{}\n", turns.join("\n\n"))
}

fn vault() -> TestVault {
    TestVault::new()
        .with("conversations/2026-01-05-s1.md", conversation())
        .with("notes/tools.md", "# Tools\n\nThe cutter for glass is in the shed, beside the tiles for the roof.\n")
        .synced()
}

fn found(vault: &TestVault, q: &str, context: Option<usize>) -> Vec<HitView> {
    let query =
        SearchQuery { q: q.into(), mode: Some(Mode::Keyword), context, highlight: true, ..SearchQuery::default() };
    vault.search_with(&query).0.results
}

/// The times of the turns in a text.
fn times(text: &str) -> Vec<&str> {
    text.split("**10:").skip(1).map(|turn| &turn[..2]).collect()
}

#[test]
fn a_question_brings_its_answer() {
    let vault = vault();
    // A question that was captured beat its answer.
    for mode in [Mode::Keyword, Mode::Hybrid] {
        let found = vault.search_by(mode, "who has the tile cutter").0.results;
        let hit = &found[0];
        assert_eq!(hit.chunk.path, "conversations/2026-01-05-s1.md");
        assert!(hit.chunk.content.contains("Jonas borrowed it"), "{}", hit.chunk.content);
        assert!(hit.snippet.contains("tile cutter") && hit.snippet.contains("Jonas borrowed it"), "{}", hit.snippet);
        assert_eq!(times(&hit.chunk.content)[..5], ["01", "02", "03", "04", "05"][..], "{}", hit.chunk.content);
        assert_eq!((hit.chunk.line_start, hit.chunk.citation.split_once('#').unwrap().0), (9, hit.chunk.path.as_str()));
        let again = found.iter().filter(|other| other.chunk.path == hit.chunk.path).count();
        assert_eq!(again, 1, "what the window shows is no hit of its own");
    }
    // The name is that of the turn that was found.
    let hit = &found(&vault, "tile cutter", None)[0];
    let alone = &found(&vault, "tile cutter", Some(0))[0];
    assert_eq!(hit.chunk.hash, alone.chunk.hash);
    assert_eq!(alone.chunk.content, "**10:03 · user:** Who has the tile cutter?");
    assert_eq!((alone.chunk.line_start, alone.chunk.line_end, hit.score), (13, 13, alone.score));
    assert_eq!((hit.chunk.line_start, hit.chunk.line_end), (9, 17));
    assert_eq!(hit.chunk.citation, "conversations/2026-01-05-s1.md#L9-L17");
    let source = vault.read("conversations/2026-01-05-s1.md");
    let cited: Vec<&str> = source.lines().skip(8).take(9).collect();
    assert_eq!(hit.chunk.content, cited.join("\n"), "the text is what the lines say");
    let marked = hit.highlights.as_ref().unwrap().iter();
    let marked: Vec<String> =
        marked.map(|[from, to]| hit.snippet.chars().skip(*from).take(to - from).collect()).collect();
    assert_eq!(marked, ["tile", "cutter"]);
}

#[test]
fn windows_that_overlap_are_one_hit_and_others_take_their_place() {
    let mut vault = vault();
    vault.config.search.per_file = 0;
    let many = |word: &str| {
        let turn = |at: usize| match at % 20 {
            3 | 5 | 8 => format!("**10:{at:02} · user:** {word} number {at}"),
            _ => format!("**10:{at:02} · user:** nothing of it"),
        };
        (0..60).map(turn).collect::<Vec<_>>().join("\n\n")
    };
    vault.write("conversations/long.md", many("walrus")).restart();
    let hits = found(&vault, "walrus", None);
    let mut shown: Vec<&str> = hits.iter().flat_map(|hit| times(&hit.chunk.content)).collect();
    shown.sort_unstable();
    assert!(shown.windows(2).all(|pair| pair[0] != pair[1]), "no turn is shown twice: {shown:?}");
    let said: usize = hits.iter().map(|hit| hit.chunk.content.matches("walrus").count()).sum();
    assert_eq!(said, 9, "{hits:#?}");
    assert!((3..=6).contains(&hits.len()), "{}", hits.len());
    let limited = |limit| {
        let query = SearchQuery { q: "walrus".into(), limit: Some(limit), ..SearchQuery::default() };
        vault.search_with(&query).0.results.len()
    };
    assert_eq!((limited(1), limited(2), limited(3)), (1, 2, 3), "what was merged leaves its place to others");
    assert!(found(&vault, "walrus", Some(0)).len() >= 9);
    // Two that do not overlap are bridged by a third.
    let text = "**10:00 · user:** seal seal seal\n\n**10:01 · user:** x\n\n**10:02 · user:** x\n\n**10:03 · user:** seal and others\n\n\
                **10:04 · user:** x\n\n**10:05 · user:** x\n\n**10:06 · user:** seal seal seal\n";
    vault.write("conversations/bridge.md", text).sync();
    let hits = found(&vault, "seal", Some(1));
    assert_eq!(hits.len(), 3, "windows of one turn do not touch");
    let hits = found(&vault, "seal", Some(2));
    assert_eq!((hits.len(), times(&hits[0].chunk.content).len()), (1, 7));
}

#[test]
fn other_notes_show_what_is_around_a_passage_when_asked() {
    let mut vault = vault();
    let text = |at: usize| format!("Part{at} {}", format!("tells of subject{at} at length. ").repeat(8));
    let sections: Vec<String> = (0..6).map(|at| format!("## S{at}\n\n{}", text(at))).collect();
    vault.write("notes/long.md", sections.join("\n\n")).sync();
    let alone = &found(&vault, "Part3", None)[0].chunk;
    assert!(!alone.content.contains("Part2") && !alone.content.contains("Part4"), "{}", alone.content);
    let around = &found(&vault, "Part3", Some(1))[0].chunk;
    assert!(["Part2", "Part3", "Part4"].iter().all(|part| around.content.contains(part)), "{}", around.content);
    assert!(!around.content.contains("Part1") && !around.content.contains("Part5"), "{}", around.content);
    assert!(around.line_start < alone.line_start && around.line_end > alone.line_end);
    assert_eq!(around.hash, alone.hash);
    // What only stands among conversations has no turns.
    vault.write("conversations/plan.md", sections.join("\n\n").replace("Part", "Plan")).sync();
    let plan = &found(&vault, "Plan3", None)[0].chunk;
    assert!(!plan.content.contains("Plan2") && !plan.content.contains("Plan4"), "{}", plan.content);
}

#[test]
fn a_long_turn_is_shown_from_its_beginning_and_not_without_end() {
    let mut vault = TestVault::new();
    let long: String = (0..30).map(|at| format!("> sentence{at} of what was said at some length.\n>\n")).collect();
    let text = format!(
        "**10:00 · user:** before\n\n**10:01 · user:**\n{long}\n**10:02 · assistant:** after\n\n**10:03 · user:**\n{}\n",
        long.replace("sentence", "other").repeat(20)
    );
    vault.write("conversations/long.md", text).sync();
    let hits = found(&vault, "sentence29", None);
    let content = &hits[0].chunk.content;
    assert!(content.contains("sentence29") && content.contains("**10:02 · assistant:** after"), "{content}");
    let own = found(&vault, "sentence29", Some(0))[0].chunk.content.chars().count();
    assert!(content.chars().count() <= own + 2_100, "{}", content.len());
    assert!(hits[0].snippet.contains("sentence29") && hits[0].snippet.chars().count() <= 700, "{}", hits[0].snippet);
    assert!(hits[0].snippet.contains("after"), "{}", hits[0].snippet);
}

#[test]
fn an_agent_gets_a_window_only_where_it_fits() {
    let page = "---\ncan_read_user_memory: true\nlimits: { max_injected_chars: 300 }\n---\n";
    let daemon =
        Daemon::vault().with("conversations/s1.md", conversation()).with("agents/ada/agent.md", page).started();
    let mut ada = Mcp::start(&mut daemon.command(&["mcp", "--agent", "ada"]));
    let found = ada.tool("search", json!({ "query": "tile cutter" }));
    let hit = &found["results"][0];
    assert!(hit["snippet"].as_str().unwrap().contains("tile cutter"), "{found}");
    assert_eq!(hit["citation"], "conversations/s1.md#L13", "{found}");
}

#[test]
fn every_way_of_asking_takes_a_context() {
    let daemon = Daemon::vault().with("conversations/s1.md", conversation()).started();
    let q = encode("tile cutter");
    let content = |more: &str| {
        let found = daemon.get(&format!("/api/user-memory/search?q={q}{more}")).json();
        times(found["results"][0]["content"].as_str().unwrap()).len()
    };
    assert_eq!((content(""), content("&context=0"), content("&context=1"), content("&context=20")), (5, 1, 3, 8));
    let refused = daemon.get(&format!("/api/user-memory/search?q={q}&context=21"));
    assert_eq!((refused.status, refused.error().contains("`context` is 21; it takes 0 to 20")), (400, true));
    let shown = daemon.run(&["search", "tile", "cutter", "--full"]).ok().stdout;
    assert!(shown.contains("Jonas borrowed it"), "{shown}");
    let shown = daemon.run(&["search", "tile", "cutter", "-n", "1", "--full", "--context", "0"]).ok().stdout;
    assert!(shown.contains("tile cutter") && !shown.contains("Jonas"), "{shown}");
    let mut mcp = Mcp::start(&mut daemon.command(&["mcp", "--owner"]));
    let found = mcp.tool("search", json!({ "query": "tile cutter" }));
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("Jonas"), "{found}");
    let found = mcp.tool("search", json!({ "query": "tile cutter", "context": 0, "limit": 1 }));
    assert!(!found.to_string().contains("Jonas"), "{found}");
    // A program that knows `qmd serve` has the answer too.
    let found = daemon.get(&format!("/search?q={q}")).json();
    assert!(found["items"][0]["content"].as_str().unwrap().contains("Jonas"), "{found}");
}

#[test]
fn a_turn_is_found_by_who_speaks_and_in_which_conversation() {
    let mut vault = vault();
    vault.write("conversations/2026-01-06-loans.md", "**10:00 · Code Agent:** A ladder and a tile cutter are lent.\n");
    vault.write("notes/ladder.md", "**10:00 · user:** The ladder of the bathroom is no turn.\n").sync();
    for mode in [Mode::Keyword, Mode::Semantic, Mode::Hybrid] {
        let found = |q: &str| -> Vec<String> {
            let query = SearchQuery {
                q: q.into(),
                mode: Some(mode),
                context: Some(0),
                limit: Some(50),
                ..SearchQuery::default()
            };
            vault.search_with(&query).0.results.into_iter().map(|hit| hit.chunk.content).collect()
        };
        let all = |q: &str, speaker: &str| {
            let found = found(q);
            assert!(!found.is_empty(), "{q} {mode:?}");
            assert!(found.iter().all(|text| text.contains(speaker)), "{q} {mode:?}: {found:?}");
        };
        all("ladder role:user", "· user:");
        all("role:assistant jonas", "· assistant:");
        all("role:assistant", "· assistant:");
        all("role:\"code agent\" ladder", "· Code Agent:");
        for id in ["s1", "S1", "2026-01-05-s1", "conversations/2026-01-05-s1.md"] {
            let found = found(&format!("conversation:{id} ladder role:user"));
            assert!(!found.is_empty() && !found.iter().any(|text| text.contains("lent")), "{id} {mode:?}");
        }
        let others = found("ladder -role:user in:conversations");
        assert!(!others.is_empty() && !others.iter().any(|text| text.contains("· user:")), "{mode:?}: {others:?}");
        assert!(found("ladder -role:user").iter().any(|text| text.contains("no turn")), "what is no turn is nobody's");
        assert!(found("role:nobody ladder").is_empty(), "{mode:?}");
        assert!(found("conversation:none ladder").is_empty(), "{mode:?}");
    }
    assert_eq!(vault.words("\"usr\" role:user").0.degraded, None, "a speaker is no word to correct another by");
}

#[test]
fn what_goes_on_with_a_turn_kept_its_former_speaker() {
    let long = |speaker: &str, more: &str| {
        let said: Vec<String> =
            (0..40).map(|at| format!("> Line {at} tells of the ladder {}.", "and the roof ".repeat(12))).collect();
        format!(
            "**10:00 · user:** Hello\n\n{more}**10:01 · {speaker}:**\n{}\n\n**10:02 · user:** Thanks\n",
            said.join("\n>\n")
        )
    };
    let mut vault = TestVault::new().with("conversations/a.md", long("assistant", "")).synced();
    let queries = ["role:assistant ladder", "role:user ladder", "role:maya roof", "-role:maya ladder"];
    assert!(
        vault
            .search_with(&SearchQuery { q: "role:assistant ladder".into(), context: Some(0), ..SearchQuery::default() })
            .0
            .results
            .len()
            > 1
    );
    for (speaker, more) in [("Maya", ""), ("user", ""), ("Maya", "**10:00 · assistant:** One more\n\n")] {
        vault.write("conversations/a.md", long(speaker, more)).sync();
        let edited = vault.answers(&queries);
        assert_same(&edited, &vault.fresh_answers(&queries));
    }
    // The turn is not begun any more: it is part of the one before.
    vault.write("conversations/a.md", long("Maya", "").replace("**10:01 · Maya:**", "And:\n")).sync();
    let edited = vault.answers(&queries);
    assert_same(&edited, &vault.fresh_answers(&queries));
}

/// A conversation as a person writes it, with a line a turn.
fn lines(speakers: &[&str]) -> String {
    let turns =
        speakers.iter().enumerate().map(|(at, name)| format!("**10:{at:02} · {name}:** Word{at} of the ladder\n"));
    format!("# Talk\n\n{}", turns.collect::<String>())
}

#[test]
fn who_spoke_second_in_a_paragraph_was_not_found() {
    let mut vault = TestVault::new();
    vault.write("conversations/a.md", format!("![[photo.png]]\n\n{}\nand no more\n", lines(&["Maya", "Jonas"])));
    vault.write("conversations/b.md", lines(&["Ada", "Maya"])).sync();
    for mode in [Mode::Keyword, Mode::Semantic, Mode::Hybrid] {
        let paths = |q: &str| {
            let mut paths: Vec<String> = vault.search_by(mode, q).paths().into_iter().map(str::to_owned).collect();
            paths.dedup();
            paths.sort();
            paths
        };
        assert_eq!(paths("role:jonas ladder"), ["conversations/a.md"], "{mode:?}");
        assert_eq!(paths("role:ada ladder"), ["conversations/b.md"], "{mode:?}");
        assert_eq!(paths("role:maya ladder"), ["conversations/a.md", "conversations/b.md"], "{mode:?}");
        assert_eq!(paths("-role:jonas ladder"), ["conversations/b.md"], "{mode:?}");
    }
    // However the turns change, and whatever of the index is lost, what is found is what a new index finds.
    let queries = ["role:maya ladder", "role:jonas", "role:ada word1", "-role:maya more"];
    let more = (0..30).map(|at| format!("\nPart {at} {}\n", "and the roof ".repeat(30))).collect::<String>();
    for speakers in [&["Maya", "Ada"][..], &["Ada"], &["Jonas", "Maya", "Ada", "Jonas"]] {
        vault.write("conversations/a.md", lines(speakers) + &more).sync();
        let edited = vault.answers(&queries);
        vault.stop();
        fs::remove_dir_all(vault.index_dir().join("tantivy")).unwrap();
        vault.sync();
        let recovered = vault.answers(&queries);
        let fresh = vault.fresh_answers(&queries);
        assert_same(&edited, &fresh);
        assert_same(&recovered, &fresh);
        vault.sync();
    }
}

#[test]
fn a_property_called_role_was_not_asked_for() {
    let vault = vault()
        .with("notes/maya.md", "---\nrole: engineer\nconversation: weekly\n---\n\n# Maya\n\nKnows of ladders.\n")
        .synced();
    assert_eq!(vault.words("role:engineer").paths(), ["notes/maya.md"]);
    assert_eq!(vault.words("conversation:weekly ladders").paths(), ["notes/maya.md"]);
    assert_eq!(
        vault.words("role:user ladder").paths(),
        ["conversations/2026-01-05-s1.md"],
        "one who speaks comes first"
    );
    assert!(vault.words("role:nobody").paths().is_empty());
    // Where there is neither, they are words.
    let vault = TestVault::new().with("notes/a.md", "# Rights\n\nThe role of an admin in a conversation.\n").synced();
    for query in ["role:admin", "conversation:admin rights"] {
        let found = vault.words(query);
        assert_eq!((found.paths(), found.0.degraded.clone()), (vec!["notes/a.md"], None), "{query}");
    }
}

#[test]
fn nobody_said_that_nobody_speaks_so() {
    let mut vault = vault();
    vault.write("conversations/2026-01-06-loans.md", "**10:00 · Code Agent:** A ladder is lent.\n").sync();
    for (query, said) in [
        ("role:asistant ladder", "nobody called `asistant` speaks in a conversation; did you mean `assistant`?"),
        ("role:\"code agnt\"", "nobody called `code agnt` speaks in a conversation; did you mean `code agent`?"),
        ("role:zebra ladder", "nobody called `zebra` speaks in a conversation"),
        (
            "conversation:2026-01-06-laons",
            "no conversation is called `2026-01-06-laons`; did you mean `2026-01-06-loans`?",
        ),
        ("conversation:zebra", "no conversation is called `zebra`"),
    ] {
        let found = vault.search(query).0;
        assert_eq!((found.results.len(), found.degraded.as_deref()), (0, Some(said)), "{query}");
    }
}

#[test]
fn hidden_conversations_decide_how_no_role_is_read() {
    let dates = "created: 2026-01-05\nupdated: 2026-01-06\n";
    let turns = (0..40).map(|at| format!("**10:{at:02} · Maya:** ladder zebra\n\n")).collect::<String>();
    let open = [
        ("notes/a.md", format!("---\n{dates}role: engineer\n---\nThe role of a maya in a ladder.\n")),
        ("conversations/b.md", format!("---\n{dates}---\n**10:00 · user:** ladder\n")),
    ];
    let hidden = [
        ("conversations/c.md", format!("---\n{dates}private: true\nsession: s1\n---\n{turns}")),
        ("notes/d.md", format!("---\n{dates}private: true\nconversation: s1\n---\n{turns}")),
    ];
    let [open, hidden] = [&open, &hidden].map(|notes| [0, 1].map(|at| (notes[at].0, notes[at].1.as_str())));
    let queries = [
        "role:maya ladder", "role:may", "role:user zebra", "conversation:s1 ladder", "conversation:c",
        "-role:maya ladder",
    ];
    let targets = queries.map(|query| format!("/api/user-memory/search?q={}&limit=20", encode(query)));
    assert_hidden("[embed]\nmodel = \"none\"\n", &open, &hidden, &targets);
}
