//! Memory scopes, topics and summaries, from outside.

use crate::support::prelude::*;

fn vault() -> Daemon {
    Daemon::vault()
        .with("projects/mech/notes/plan.md", "# Plan\n\nThe gearbox is turned on Fridays.\n")
        .with("agent-types/coding/style.md", "# Style\n\nA gearbox of short functions.\n")
        .with("system/rules.md", "# Rules\n\nNobody opens the gearbox, gearbox, gearbox.\n")
        .with("notes/mine.md", "# Mine\n\nI like the gearbox.\n")
}

#[test]
fn a_search_is_narrowed_to_scopes_and_weighs_them_and_a_tag_alone_lists_its_notes() {
    let vault = vault().with("notes/tagged.md", "---\ntags: [work]\n---\n# T\n\nOf gears.\n").settled();
    // A search is narrowed to scopes and weighs them.
    assert_eq!(vault.search("q=gearbox&scope=project:mech"), ["projects/mech/notes/plan.md"]);
    assert_eq!(vault.search("q=gearbox&scope=user"), ["notes/mine.md"]);
    assert_eq!(vault.search("q=gearbox&collection=aq_agenttype_coding"), ["agent-types/coding/style.md"]);
    assert_eq!(vault.search("q=gearbox").len(), 4);
    // The word is there three times, and what all share counts less than a project; a low weight orders and leaves nothing out.
    let all = vault.search("q=gearbox&scope=project:mech,agent-type:coding,system");
    assert_eq!(all.last().unwrap(), "system/rules.md");
    assert_eq!(vault.search("q=gearbox&resolve=project:mech,agent-type:coding,system"), all);
    let turned = vault.search("q=gearbox&scope=project:mech%3D0.01,agent-type:coding%3D0,system%3D1");
    assert_eq!((turned.len(), turned[0].as_str()), (3, "system/rules.md"));
    for bad in ["scope=nobody", "scope=system%3D11", "scope=system%3Dx"] {
        assert_eq!(vault.get(&format!("/api/user-memory/search?q=gearbox&{bad}")).status, 400, "{bad}");
    }
    let listed = vault.run(&["search", "gearbox", "--scope", "project:mech", "--json"]).ok().json();
    assert_eq!(listed["results"].as_array().unwrap().len(), 1);
    // A tag alone lists its notes.
    assert_eq!(vault.search("q=&tag=work"), ["notes/tagged.md"]);
    assert_eq!(vault.search("q=&tag=other"), [""; 0]);
    assert_eq!(vault.search("q="), [""; 0]);
}

#[test]
fn many_notes_that_count_little_do_not_silence_one_that_counts() {
    let mut vault = vault();
    for at in 0..300 {
        vault.write(
            &format!("system/n{at}.md"),
            format!("# N{at}\n\nA grommet, grommet, grommet and a grommet {at}.\n"),
        );
    }
    let long = "It has a long story of wheels and teeth. ".repeat(10);
    vault.write("projects/mech/a.md", format!("# A\n\nThere is a grommet. {long}\n")).start().settle();
    for mode in ["keyword", "hybrid"] {
        let found = vault.search(&format!("q=grommet&scope=project:mech%3D10,system%3D0&limit=3&mode={mode}"));
        assert!(found[0] == "projects/mech/a.md" && found.len() == 3, "{mode}: {found:?}");
    }
    // Of equal weight the best come first.
    let found = vault.search("q=grommet&scope=project:mech%3D1,system%3D1&limit=3");
    assert!(found.iter().all(|path| path.starts_with("system/")), "{found:?}");
}

#[test]
fn a_folder_elsewhere_is_of_a_project() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("api.md"), "# API\n\nHow the gearbox is called.\n").unwrap();
    let config = format!(
        "[embed]\nmodel = \"none\"\n[[collections]]\nname = \"mech-docs\"\npath = {:?}\nscope = \"project:mech\"\n",
        elsewhere.path()
    );
    let vault = Daemon::with_config(&config).with("notes/mine.md", "# Mine\n\nI like the gearbox.\n").settled();
    assert_eq!(vault.search("q=gearbox&scope=project:mech"), ["mech-docs/api.md"]);
    assert_eq!(vault.search("q=gearbox&scope=user"), ["notes/mine.md"]);
    let wrong = Daemon::with_config("[[collections]]\nname = \"x\"\npath = \"/tmp\"\nscope = \"nobody\"\n");
    assert!(wrong.run(&["status"]).stderr.contains("`scope`"));
}

#[test]
fn an_agent_that_is_bound_to_scopes_sees_nothing_else() {
    let mut vault = vault().with("projects/mech/facts.md", "- lang: rust\n").with("facts.md", "- home: here\n");
    let page = |scopes: &str| format!("---\ncan_read_user_memory: true\nscopes: {scopes}\n---\n");
    vault.write("agents/ada/agent.md", page("[project:mech, system]")).write("agents/bob/agent.md", page("[nonsense]"));
    vault.write("agents/eve/agent.md", page("[]")).start().settle();
    let ask = |agent: &str, target: &str| -> Value {
        let token = vault.token_of(agent);
        vault.get_as(&token, target).json()
    };
    let paths = |agent: &str| -> Vec<String> {
        let mut paths = column(&ask(agent, "/api/user-memory/search?q=gearbox")["results"], "path");
        paths.sort();
        paths
    };
    assert_eq!(paths("ada"), ["projects/mech/notes/plan.md", "system/rules.md"]);
    assert_eq!((paths("bob").len(), paths("eve").len()), (0, 0), "what makes no sense denies, and so does nothing");
    assert_eq!(ask("ada", "/api/facts?scope=*")["facts"].as_array().unwrap().len(), 1);
    assert_eq!(ask("ada", "/api/facts?scope=user")["facts"], json!([]));
    let why = vault.run(&["agent", "explain", "ada", "notes/mine.md"]).stdout;
    assert!(why.contains("`scopes`"), "{why}");
}

#[test]
fn a_topic_is_looked_for_first_and_then_anything() {
    let mut vault = Daemon::vault();
    for at in 0..4 {
        vault
            .write(&format!("notes/a{at}.md"), format!("---\ntopic: gears\n---\n# A{at}\n\nThe gearbox turns {at}.\n"));
    }
    vault.write("notes/b.md", "---\ntopic: other\n---\n# B\n\nThe gearbox of another.\n").start().settle();
    let ask = |topic: &str| vault.get(&format!("/api/user-memory/search?q=gearbox&topic={}", encode(topic))).json();
    let gears = ask("gears");
    assert_eq!((gears["results"].as_array().unwrap().len(), &gears["without_topic"]), (4, &Value::Null));
    let other = ask("other");
    assert_eq!((other["results"].as_array().unwrap().len(), &other["without_topic"]), (5, &json!(true)));
    let told = vault.run(&["search", "gearbox", "--topic", "nothing"]);
    assert!(told.stderr.contains("fewer than three hits have that topic"), "{}", told.stderr);
}

#[test]
fn a_summary_finds_its_text_and_stands_in_place_of_nothing() {
    let mut vault = Daemon::vault();
    let body = "Wheels turn and teeth meet in the dark of the housing. ".repeat(30);
    vault
        .write(
            "notes/long.md",
            format!("---\nsummary: Everything about quixotic transmissions.\n---\n# Long\n\n{body}\n"),
        )
        .write("notes/short.md", "---\nsummary: Little about zealous brakes.\n---\n# Short\n\nThey stop.\n");
    vault.start().settle();
    let reply = vault.get("/api/user-memory/search?q=%22quixotic%20transmissions%22").json();
    let hit = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["content"] == "Everything about quixotic transmissions.");
    assert_eq!(hit.unwrap_or_else(|| panic!("{reply}"))["citation"], "notes/long.md#L4-L6");
    let note = vault.get("/api/user-memory/note?path=notes/long.md").json();
    assert!(note["text"].as_str().unwrap().contains("teeth meet") && note["metadata"]["summary"].is_string());
    // Of a short note it says nothing new.
    let chunks = vault.get("/api/user-memory/browse?limit=100").json();
    let of_short =
        chunks["chunks"].as_array().unwrap().iter().filter(|chunk| chunk["path"] == "notes/short.md").count();
    assert_eq!(of_short, 1);
    // It follows the frontmatter.
    vault.write("notes/long.md", format!("# Long\n\n{body}\n"));
    until("the summary to be gone", || vault.find("quixotic").is_empty());
}
