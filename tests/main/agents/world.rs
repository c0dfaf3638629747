//! A vault with everything in it that can be hidden, and agents that see some of it.

use crate::support::prelude::*;

/// Who asks. Each sees what it is listed for in [`NOTES`].
pub const AGENTS: [&str; 4] = ["ada", "bob", "eve", "gus"];

/// What each agent's page says.
pub fn page(agent: &str) -> String {
    let rules = match agent {
        "ada" => {
            "true\ncollections: [notes, annotations, summaries, memories]\nexclude_tags: [health]\npaths: [\"**\", \"!notes/diary/**\"]\ncan_suggest: true\nwrite_collections: [\"*\"]"
        }
        "bob" => "false",
        // It talks in a group, where `[scope]` lets nobody read.
        "gus" => "true",
        // What makes no sense denies.
        "eve" => "true\ncollections: 5",
        other => panic!("no agent is called {other}"),
    };
    format!("---\ntitle: {agent}\ncan_read_user_memory: {rules}\n---\n")
}

/// Paths, texts, and which agents see the note as the person's. Dates are said, so that two vaults give the same ones.
pub const NOTES: &[(&str, &str, &[&str])] = &[
    (
        "notes/open.md",
        "---\ncreated: 2026-01-02\n---\n# Open\n\nThe quokka eats at noon. See [[secret]] and [[plan]].\n\n- eats [[plan]]\n- eats [[secret]]\n",
        &["ada"],
    ),
    (
        "notes/plan.md",
        "---\ncreated: 2026-01-03\ntags: [work]\n---\n# Plan\n\nBuild a house for the quokka.\n",
        &["ada"],
    ),
    (
        "notes/secret.md",
        "---\ncreated: 2026-01-04\nprivate: true\n---\n# Secret\n\nThe quokka hides a xylophone.\n\n- eats [[plan]]\n- knows [[open]]\n",
        &[],
    ),
    ("notes/tagged.md", "---\ncreated: 2026-01-04\n---\n# Tagged\n\nA quokka of mine. #private\n", &[]),
    (
        "notes/session-private.md",
        "---\ncreated: 2026-01-04\nsource: session\nsession_scope: direct\nsession_agent: zoe\n---\n# Session p\n\n\
         **10:00 · user:** The quokka of [[plan]] is a secret of marsupials.\n",
        &[],
    ),
    (
        "notes/session-of-nobody.md",
        "---\ncreated: 2026-01-04\nsource: session\nSession_Scope: whatever\n---\n# Session n\n\nA quokka's house at noon.\n",
        &[],
    ),
    (
        "notes/session-own.md",
        "---\ncreated: 2026-01-04\nsource: session\nsession_scope: direct\nsession_agent: ada\n---\n# Session o\n\nThe quokka told ada.\n",
        &["ada"],
    ),
    (
        "notes/session-group.md",
        "---\ncreated: 2026-01-04\nsource: session\nsession_scope: group\nsession_agent: zoe\n---\n# Session g\n\nA quokka for all.\n",
        &["ada"],
    ),
    (
        "summaries/of-session.md",
        "---\ncreated: 2026-01-10\nsources: [notes/session-private.md]\n---\n# Sum\n\nA quokka that nobody else knows.\n",
        &[],
    ),
    ("notes/broken.md", "---\ncreated: 2026-01-04\nbroken: [\n---\n# Broken\n\nThe quokka fell.\n", &[]),
    ("notes/double.md", "---\na: 1\na: 2\n---\n# Double\n\nTwo quokkas.\n", &[]),
    (
        "notes/ill.md",
        "---\ncreated: 2026-01-05\ntags: [health/teeth]\n---\n# Ill\n\nThe quokka has a toothache.\n",
        &[],
    ),
    ("notes/diary/today.md", "---\ncreated: 2026-01-06\n---\n# Today\n\nI met a quokka.\n", &[]),
    ("journal/one.md", "---\ncreated: 2026-01-07\n---\n# Journal\n\nQuokka, quokka, quokka.\n", &[]),
    ("notes/vault/glob.md", "---\ncreated: 2026-01-07\n---\n# Glob\n\nA quokka behind a glob.\n", &[]),
    ("facts.md", "# Facts\n\n## Animals\n\n- quokka: at large #marsupial\n- [ a bad: one\n- broken: [\n", &[]),
    ("projects/zoo/facts.md", "- quokka: in the zoo (until 2026-01-31)\n", &[]),
    ("loose.md", "---\ncreated: 2026-01-08\n---\n# Loose\n\nA quokka at large.\n", &[]),
    (
        "annotations/on-plan.md",
        "---\ncreated: 2026-01-09\nannotates:\n  path: notes/plan.md\n  line_start: 7\n  quote: Build a house for the quokka.\n---\n\
         On [[plan]], `notes/plan.md#L7`:\n\n> Build a house for the quokka.\n\nWith a marsupial door.\n",
        &["ada"],
    ),
    (
        "annotations/on-secret.md",
        "---\ncreated: 2026-01-09\nannotates:\n  path: notes/secret.md\n  line_start: 7\n  quote: The quokka hides a xylophone.\n---\n\
         On [[secret]], `notes/secret.md#L7`:\n\n> The quokka hides a xylophone.\n\nWhat a marsupial.\n",
        &[],
    ),
    (
        "annotations/on-gone.md",
        "---\ncreated: 2026-01-09\nannotates:\n  path: notes/gone.md\n  quote: The quokka is gone.\n---\n> The quokka is gone.\n\nGone.\n",
        &[],
    ),
    (
        "summaries/open.md",
        "---\ncreated: 2026-01-10\nsources: [\"[[notes/open]]\", notes/plan.md#L7]\n---\n# Week\n\nA quokka, twice.\n",
        &["ada"],
    ),
    (
        "summaries/all.md",
        "---\ncreated: 2026-01-10\nsources: [notes/open.md, notes/ill.md]\n---\n# All\n\nAll quokkas.\n",
        &[],
    ),
    ("summaries/deep.md", "---\ncreated: 2026-01-10\nsources: [summaries/all.md]\n---\n# Deep\n\nDeep quokkas.\n", &[]),
    (
        "summaries/made-open.md",
        "---\ncreated: 2026-01-10\ngenerated: true\nof: notes/open.md\nsources: [notes/open.md]\ndigest: x\n---\n## Topics\n\n\
         - quokka (notes/open.md#L6)\n",
        &["ada"],
    ),
    (
        "summaries/made-secret.md",
        "---\ncreated: 2026-01-10\ngenerated: true\nof: notes/secret.md\nsources: [notes/secret.md]\ndigest: x\n---\n## Topics\n\n\
         - xylophone (notes/secret.md#L7)\n",
        &[],
    ),
    // Written by hand: each line says itself where it comes from. One that counts makes a profile some time.
    ("memories/user.md", "- [fact] The quokka hides a xylophone (until 2020-01-01, source notes/secret.md#L7)\n", &[]),
    ("agents/ada/entries.md", "- [fact] A quokka has a toothache (source notes/ill.md#L6)\n", &[]),
    ("agents/zoe/agent.md", "---\ntitle: Zoe\ncan_read_user_memory: true\n---\nA quokka.\n", &[]),
    ("agents/zoe/MEMORY.md", "---\ncreated: 2026-01-11\n---\n# Zoe\n\nMy quokka.\n", &[]),
    ("agents/zoe/memory/quokka.md", "---\ncreated: 2026-01-11\n---\nZoe's quokka.\n", &[]),
];

/// What each agent remembers itself.
pub fn own(agent: &str) -> [(String, String); 2] {
    [
        ("MEMORY.md", format!("# Mine\n\nThe quokka of {agent}.\n")),
        ("memory/notes.md", format!("{agent} likes quokkas.\n")),
    ]
    .map(|(file, text)| (format!("agents/{agent}/{file}"), format!("---\ncreated: 2026-02-01\n---\n{text}")))
}

const CONFIG: &str =
    "[access]\nprivate = [\"notes/vault\"]\n[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n";

/// No model is asked.
pub const BY_WORDS: &str = "[embed]\nmodel = \"none\"\n";
/// The bundled model is.
pub const BY_MEANING: &str = "";

/// The vault with all notes, or for one agent with those alone that it sees; and as many more private ones as are asked for.
pub fn world(only_for: Option<&str>, crowd: usize) -> Daemon {
    world_with(BY_WORDS, only_for, crowd)
}

/// The same with a model, or without.
pub fn world_with(model: &str, only_for: Option<&str>, crowd: usize) -> Daemon {
    let mut vault = Daemon::with_config(&format!("{model}{CONFIG}"));
    for (path, text, _) in NOTES.iter().filter(|(.., seen)| only_for.is_none_or(|agent| seen.contains(&agent))) {
        vault.write(path, text);
    }
    for agent in AGENTS.into_iter().filter(|agent| only_for.is_none_or(|only| only == *agent)) {
        vault.write(&format!("agents/{agent}/agent.md"), page(agent));
        // Nor may these read what they remember.
        let reads_own = only_for.is_none() || !["eve", "gus"].contains(&agent);
        for (path, text) in own(agent).into_iter().filter(|_| reads_own) {
            vault.write(&path, text);
        }
    }
    for number in 0..crowd {
        let noon = "noon ".repeat(number % 7);
        let text = format!("---\nprivate: true\n---\n# Crowd {number}\n\nquokka marsupial house {noon}\n");
        vault.write(&format!("notes/crowd/{number}.md"), text);
    }
    // Where the frontmatter has no date, that of the file counts.
    let made = std::time::UNIX_EPOCH + Duration::from_secs(1_760_000_000);
    contents(&vault.path("")).iter().for_each(|(path, _)| set_time(path, made));
    vault.start().settle();
    vault
}

/// A token of an agent's, made by the person.
pub fn token_of(vault: &Daemon, agent: &str) -> String {
    let chat_type = if agent == "gus" { "group" } else { "direct" };
    let made = vault.post(&format!("/api/agents/{agent}/rotate"), &json!({ "chat_type": chat_type })).ok();
    made["token"].as_str().unwrap().to_owned()
}

/// The hashes of all passages, by path, as the person sees them.
pub fn hashes(vault: &Daemon) -> Vec<(String, String)> {
    let all = vault.get("/api/user-memory/browse?limit=1000").json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all["chunks"].as_array().unwrap().iter().map(|chunk| (text(&chunk["path"]), text(&chunk["hash"]))).collect()
}
