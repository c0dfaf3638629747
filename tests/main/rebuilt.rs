//! The layers after many changes are those that a full reindex makes: entries, graph, contexts, digest, summaries, profile.

use crate::support::prelude::*;

const ENTRIES: &str = "# Known\n\n- [preference] Prefers rye bread (source notes/bread.md#L7) ^e-1\n\
    - [fact] Keeps a kestrel named Robin (source notes/robin.md#L5) ^e-2\n\
    - [skill] Bakes on Sundays (source notes/secret.md#L4) ^e-3\n- [decision] Waxes the tent in May ^e-4\n";
const TALK: &str = "---\ntitle: Bread\ncreated: 2026-01-05T18:32:00Z\nsource: capture\nsession: bread\nparticipants:\n- Maya\n---\n\n\
    **18:32 · Maya:** Which flour is best for a sourdough loaf?\n\n**18:33 · assistant:** Rye gives a sourdough its taste.\n\n\
    **18:35 · Maya:** We decided to take rye.\n";

fn vault() -> Daemon {
    let mut vault = Daemon::vault();
    vault
        .write("profile/overrides.md", "# Always\n\n- Answer in German.\n")
        .write("USER.md", "---\nname: Maya\n---\n")
        .write("memories/user.md", ENTRIES)
        .write(
            "notes/bread.md",
            "---\ntype: concept\naliases: [Loaf]\n---\n# Rye bread\n\nRye bread of the [[Mill]] rests for twelve hours.\n\n- baked by [[Maya]]\n",
        )
        .write("notes/mill.md", "---\ntype: place\n---\n# Mill\n\nowner:: [[Robin]]\n\nThe mill grinds rye.\n")
        .write("notes/robin.md", "---\ntype: person\nknows: \"[[Maya]]\"\n---\n# Robin\n\nRobin works at the [[Mill]].\n")
        .write("notes/maya.md", "---\ntype: person\n---\n# Maya\n\nManages the bakery.\n")
        .write("notes/secret.md", "---\nprivate: true\n---\nThe oven of the bakery is broken.\n")
        .write("conversations/2026-01-05-bread.md", TALK)
        .write("agents/ada/agent.md", READS)
        .write("agents/ada/entries.md", "- [fact] The bakery opens at six ^e-a\n");
    vault
}

const QUERIES: [&str; 5] =
    ["rye bread", "Robin", "Remember the Mill", "What did we decide about the sourdough?", "Who am I?"];

/// Until the profile says what it would say if it were made now.
#[track_caller]
fn profile_is_made(vault: &Daemon) {
    until("the profile", || {
        let state = &vault.get("/api/profile").json()["state"];
        state["new"] == 0 && state["outdated"] == false
    });
    vault.settle();
}

#[test]
fn the_layers_after_many_changes_are_those_of_a_full_reindex() {
    let mut vault = vault().settled();
    vault.run(&["memory", "summaries", "make"]).ok();
    vault.run(&["digest", "2026-01-05", "--write"]).ok();
    vault.run(&["memory", "profile", "make"]).ok();
    vault.settle();
    profile_is_made(&vault);
    assert_as_rebuilt(&vault, &QUERIES);
    // By hand: moved, renamed, hidden and shown, said otherwise, and taken away.
    fs::create_dir(vault.path("places")).unwrap();
    fs::rename(vault.path("notes/mill.md"), vault.path("places/mill.md")).unwrap();
    vault.write(
        "notes/robin.md",
        "---\ntype: person\nprivate: true\n---\n# Robin\n\nRobin left the [[Mill]] for [[Maya]].\n",
    );
    vault.write("notes/secret.md", "The oven of the bakery is mended by [[Robin]].\n");
    vault.write("notes/maya.md", "---\ntype: person\naliases: [Mill]\n---\n# Maya Berg\n\n- manages [[Rye bread]]\n");
    vault.write(
        "memories/user.md",
        ENTRIES.replace("rye bread (", "wheat bread (").replace("- [decision] Waxes the tent in May ^e-4\n", ""),
    );
    vault.write(
        "conversations/2026-01-05-bread.md",
        format!("{TALK}\n**18:36 · Maya:** We decided to buy wheat as well.\n"),
    );
    vault.settle();
    vault.run(&["memory", "summaries", "make"]).ok();
    // By the program.
    vault.run(&["memory", "add", "--kind", "decision", "Sells bread at the Mill"]).ok();
    vault.run(&["memory", "remove", "e-2", "--archive"]).ok();
    vault.post("/api/user-memory/forget", &json!({ "path": "notes/bread.md", "line_start": 9 })).ok();
    vault.settle();
    profile_is_made(&vault);
    assert_as_rebuilt(&vault, &QUERIES);
    fs::remove_file(vault.path("notes/bread.md")).unwrap();
    fs::remove_file(vault.path("conversations/2026-01-05-bread.md")).unwrap();
    // What was made of it goes by itself.
    let summary = vault.path("summaries/2026-01-05-bread.md");
    until("its summary to go", || !summary.exists());
    vault.settle();
    profile_is_made(&vault);
    assert_as_rebuilt(&vault, &QUERIES);
}
