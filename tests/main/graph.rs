//! How notes are related: by name, by relation, around a note, then and now; and who is told of it.

use memory_vault::access::request::{ErrorKind, graph, key_relations};
use memory_vault::serve::wire::{GraphParams, GraphView};

use crate::support::prelude::*;

fn ask(vault: &TestVault, params: &GraphParams) -> GraphView {
    graph(&vault.owner(), params).unwrap()
}

fn around(vault: &TestVault, name: &str, depth: usize) -> GraphView {
    ask(vault, &GraphParams { depth: Some(depth), ..named(name) })
}

fn named(name: &str) -> GraphParams {
    GraphParams { name: Some(name.into()), ..GraphParams::default() }
}

fn of_relation(name: &str) -> GraphParams {
    GraphParams { relation: Some(name.into()), ..GraphParams::default() }
}

fn lines(view: &GraphView) -> Vec<String> {
    view.edges.iter().map(|edge| format!("{} {}", edge.line(), edge.citation)).collect()
}

/// The notes with how many steps away they are.
fn notes(view: &GraphView) -> Vec<(&str, usize)> {
    view.entities.iter().map(|note| (note.title.as_str(), note.distance)).collect()
}

const PEOPLE: [(&str, &str); 8] = [
    (
        "people/ann.md",
        "---\ntitle: Ann Lee\naliases: [Annie]\ntype: person\nlives_in: \"[[Zürich]]\"\nupdated: 2026-01-05\n---\nmanages:: [[Bob]] (from 2026-03-09, until 2026-06-01)\n\n\
         - works_at [[Acme]] confidence 0.8\n- manages [[Carl]]\n\nShe likes [[Tea]] and [[nowhere]].\n",
    ),
    (
        "people/Bob.md",
        "---\ntype: [person, author]\nupdated: 2026-01-04\n---\n- works_at [[Acme]]\n- reports_to [[Annie]]\n",
    ),
    ("people/carl.md", "---\ntitle: Carl\ntype: person\nupdated: 2026-01-03\n---\n- works_at [[Other Inc]] #old\n"),
    (
        "companies/acme.md",
        "---\ntitle: Acme\ntype: company\nupdated: 2026-01-02\n---\n[owner:: [[Holding]]] in [[Zürich]].\n",
    ),
    ("companies/holding.md", "---\ntitle: Holding\ntype: company\nupdated: 2026-01-01\n---\nOwned by [[Ann Lee]].\n"),
    ("places/zurich.md", "---\ntitle: Zürich\ntype: place\nupdated: 2026-01-01\n---\nA town.\n"),
    ("notes/tea.md", "---\nupdated: 2026-01-01\n---\n# Tea\n\nGreen.\n"),
    ("notes/plain.md", "---\nupdated: 2026-01-01\n---\n# Plain\n\nOf nobody.\n"),
];

fn people() -> TestVault {
    let mut vault = TestVault::new();
    for (path, text) in PEOPLE {
        vault.write(path, text);
    }
    vault.sync();
    vault
}

#[test]
fn relations_have_names_and_times_and_are_followed_both_ways() {
    let vault = people();
    // Relations have names, lines and times.
    let view = ask(&vault, &GraphParams { depth: Some(1), as_of: Some("2026-04-01".into()), ..named("ann lee") });
    assert_eq!(
        lines(&view),
        [
            "Ann Lee —lives_in→ Zürich people/ann.md#L5",
            "Ann Lee —manages→ Bob (from 2026-03-09, until 2026-06-01) people/ann.md#L8",
            "Ann Lee —works_at→ Acme people/ann.md#L10",
            "Ann Lee —manages→ Carl people/ann.md#L11",
            "Bob —reports_to→ Ann Lee people/Bob.md#L6",
            "Ann Lee → Tea people/ann.md#L13",
            "Holding → Ann Lee companies/holding.md#L6",
        ],
        "those with a name first, its own before those of others"
    );
    assert_eq!(view.edges[2].confidence, Some(0.8));
    assert_eq!(view.edges[2].text, "- works_at [[Acme]] confidence 0.8");
    let ann = &view.entities[0];
    assert_eq!((ann.types.as_slice(), ann.aliases.as_slice()), (&["person".to_owned()][..], &["Annie".to_owned()][..]));
    assert_eq!(ann.distance, 0);

    // What is over is left out, unless it is asked for.
    for (as_of, there) in [("2026-03-08", false), ("2026-03-09", true), ("2026-05-31", true), ("2026-06-01", false)] {
        let view = ask(&vault, &GraphParams { as_of: Some(as_of.into()), ..of_relation("MANAGES") });
        assert_eq!(view.edges.iter().any(|edge| edge.to_title == "Bob"), there, "{as_of}");
        let all = GraphParams { as_of: Some(as_of.into()), expired: Some(true), ..of_relation("manages") };
        assert_eq!(lines(&ask(&vault, &all)).len(), 2, "{as_of}");
    }
    let typed = ask(&vault, &GraphParams { kind: Some("Author".into()), ..GraphParams::default() });
    assert_eq!(notes(&typed), [("Bob", 0)]);
    let listed = ask(&vault, &GraphParams::default());
    assert_eq!(listed.entities.len(), 6, "those with a type");
    assert!(listed.edges.is_empty());
    let of_places =
        GraphParams { relation: Some("works_at".into()), kind: Some("company".into()), ..GraphParams::default() };
    assert_eq!(lines(&ask(&vault, &of_places)).len(), 2, "Carl works where there is no note");
    assert_eq!(lines(&ask(&vault, &of_relation("works_at")))[2], "Carl —works_at→ Other Inc people/carl.md#L6");
    let with = GraphParams { kind: Some("company".into()), ..named("Ann Lee") };
    assert_eq!(
        notes(&ask(&vault, &with)),
        [("Ann Lee", 0), ("Acme", 1), ("Holding", 1)],
        "companies alone are stepped to"
    );
    // Steps go both ways, as far as they are asked to, and end in circles.
    let far = |depth| {
        let view = around(&vault, "Zürich", depth);
        view.entities.iter().map(|note| (note.title.clone(), note.distance)).collect::<Vec<_>>()
    };
    let at = |notes: &[(&str, usize)]| notes.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
    let one = at(&[("Zürich", 0), ("Ann Lee", 1), ("Acme", 1)]);
    assert_eq!(far(1), one);
    let two = far(2);
    assert_eq!(two[..3], one[..]);
    let names: Vec<&str> = two[3..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Carl", "Bob", "Tea", "Holding"], "{two:?}");
    assert_eq!(far(5).len(), 7, "all that hang together, each once");
    let mut citations: Vec<String> =
        around(&vault, "zurich", 5).edges.iter().map(|edge| format!("{}{}", edge.citation, edge.to_title)).collect();
    let all = citations.len();
    citations.sort();
    citations.dedup();
    assert_eq!(citations.len(), all, "each relation once");
    let only = ask(&vault, &GraphParams { depth: Some(5), relation: Some("works_at".into()), ..named("Ann Lee") });
    assert_eq!(notes(&only), [("Ann Lee", 0), ("Acme", 1), ("Bob", 2)], "along this relation alone");
    for (bad, message) in [
        (GraphParams { depth: Some(0), ..GraphParams::default() }, "`depth` is 0; it takes 1 to 5"),
        (GraphParams { depth: Some(6), ..GraphParams::default() }, "`depth` is 6; it takes 1 to 5"),
        (GraphParams { limit: Some(0), ..GraphParams::default() }, "`limit` is 0; it takes 1 to 1000"),
    ] {
        let error = graph(&vault.owner(), &bad).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Invalid, message));
    }
    let odd = graph(&vault.owner(), &GraphParams { as_of: Some("soon".into()), ..GraphParams::default() }).unwrap_err();
    assert!(odd.message.starts_with("`as_of` is `soon`"), "{}", odd.message);
}

#[test]
fn a_name_means_each_note_that_is_called_so() {
    let vault = people()
        .with("a/plan.md", "# Plan\n\n- part_of [[Acme]]\n")
        .with("b/plan.md", "# Other\n\n- part_of [[Holding]]\n")
        .with("c/third.md", "---\naliases: [Plan]\n---\n# Third\n\n- part_of [[Tea]]\n")
        .with("notes/東京.md", "---\ntype: place\n---\n- 首都 [[日本]]\n")
        .with("notes/日本.md", "# 日本\n\nRTL: [[שלום]] – [[e\u{301}clair]]\n")
        .with("notes/éclair.md", "# Éclair\n")
        .with("notes/שלום.md", "# שלום\n")
        .synced();
    let paths = |name: &str| -> Vec<String> {
        let view = around(&vault, name, 1);
        view.entities.iter().filter(|note| note.distance == 0).map(|note| note.path.clone()).collect()
    };
    assert_eq!(paths("plan"), ["a/plan.md", "b/plan.md", "c/third.md"], "an alias is a name as any, and comes last");
    assert_eq!(around(&vault, "PLAN", 1).edges.len(), 3);
    assert_eq!(paths("b/plan.md"), ["b/plan.md"]);
    assert_eq!(paths("b/Plan"), ["b/plan.md"]);
    assert_eq!(paths("[[annie]]"), ["people/ann.md"]);
    assert_eq!(paths("zurich"), ["places/zurich.md"], "accents do not count");
    assert_eq!(paths("notes/none.md"), [""; 0]);
    assert_eq!(lines(&around(&vault, "東京", 1)), ["東京 —首都→ 日本 notes/東京.md#L4"]);
    assert_eq!(around(&vault, "ÉCLAIR", 2).entities.len(), 4, "in any normalisation, and from right to left");
    // What begins so: the only one, or what may be meant.
    assert_eq!(paths("annie l"), [""; 0]);
    assert_eq!(paths("ann l"), ["people/ann.md"]);
    let near = around(&vault, "p", 1);
    let near: Vec<&str> = near.near.iter().map(|note| note.title.as_str()).collect();
    assert_eq!(near, ["Other", "Plain", "Plan"]);
    assert!(around(&vault, "zeppelin", 1).near.is_empty());
}

#[test]
fn the_graph_follows_the_notes() {
    let mut vault = people();
    let all = |vault: &TestVault| {
        let asked =
            [named("Acme"), named("Annie"), of_relation("works_at"), of_relation("knows"), GraphParams::default()];
        asked.map(|params| ask(vault, &GraphParams { expired: Some(true), ..params }))
    };
    vault
        .write("people/dora.md", "---\ntitle: Dora\ntype: person\n---\n- knows [[Bob]]\nworks_at:: [[Acme]]\n")
        .write("people/carl.md", "---\ntitle: Carl\naliases: [Annie]\n---\nNobody's.\n")
        .remove("companies/holding.md")
        .rename("companies/acme.md", "companies/acme-ltd.md")
        .sync();
    let now = all(&vault);
    assert_eq!(notes(&now[1])[..2], [("Ann Lee", 0), ("Carl", 0)]);
    assert_eq!(now[2].edges.len(), 3);
    assert_eq!(lines(&now[3]), ["Dora —knows→ Bob people/dora.md#L5"]);
    vault.rebuild();
    assert_eq!(all(&vault), now, "as in an index that is built anew");
}

#[test]
fn ten_thousand_links_are_a_bounded_answer() {
    let mut vault = TestVault::new();
    let links: String = (0..10_000).map(|at| format!("[[n{at}]]\n")).collect();
    vault.write("hub.md", format!("# Hub\n\n- leads_to [[n9999]]\n\n{links}"));
    for at in (0..10_000).step_by(10) {
        vault.write(&format!("notes/n{at}.md"), format!("# N{at}\n\nFrom [[hub]].\n"));
    }
    vault.write("notes/n9999.md", "# Last\n\n- led_by [[Hub]]\n").sync();
    let view = around(&vault, "Hub", 2);
    assert_eq!((view.edges.len(), view.cut), (200, true));
    assert_eq!(lines(&view)[..2], ["Hub —leads_to→ Last hub.md#L3", "Last —led_by→ Hub notes/n9999.md#L3"]);
    let most = ask(&vault, &GraphParams { limit: Some(1000), depth: Some(5), ..named("n50") });
    assert_eq!((most.edges.len(), most.cut), (1000, true));
    let led = ask(&vault, &GraphParams { relation: Some("led_by".into()), ..named("hub") });
    assert_eq!(
        (led.edges.len(), led.cut),
        (1, false),
        "of this name there is one, and all notes were looked at that have any"
    );
}

#[test]
fn key_relations_are_lines_with_their_places() {
    let vault = people();
    let of = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (given, withheld) = key_relations(&vault.owner(), &names).unwrap();
        assert_eq!(withheld, 0);
        given.into_iter().map(|one| format!("{} {}", one.line(), one.citation)).collect::<Vec<_>>()
    };
    assert_eq!(
        of(&["Acme", "Carl"]),
        [
            "Ann Lee —works_at→ Acme people/ann.md#L10",
            "Bob —works_at→ Acme people/Bob.md#L5",
            "Acme —owner→ Holding companies/acme.md#L6",
            "Ann Lee —manages→ Carl people/ann.md#L11",
            "Carl —works_at→ Other Inc people/carl.md#L6",
        ],
        "of the first name first, the newest first, none twice, none without a name and none whose time is over"
    );
    assert_eq!(of(&["Tea", "nobody", ""]), [""; 0]);
}

const CONFIG: &str = "[embed]\nmodel = \"none\"\n[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n";

#[test]
fn the_graph_is_asked_by_a_command_over_http_and_mcp() {
    let mut vault = Daemon::with_config(CONFIG);
    for (path, text) in PEOPLE {
        vault.write(path, text);
    }
    for served in [false, true] {
        let shown = vault.run(&["graph", "annie", "--depth", "1", "--relation", "works_at"]).ok();
        let expected = "Ann Lee  person  people/ann.md\n  Ann Lee —works_at→ Acme  confidence 0.8  people/ann.md#L10\n";
        assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), (expected, ""));
        let over = vault.run(&["graph", "--relation", "manages", "--as-of", "2026-07-01", "--expired"]).ok().stdout;
        assert_eq!(
            over,
            "  Ann Lee —manages→ Bob (from 2026-03-09, until 2026-06-01)  expired  people/ann.md#L8\n  \
             Ann Lee —manages→ Carl  people/ann.md#L11\n"
        );
        let places = vault.run(&["graph", "--type", "place"]).ok().stdout;
        assert_eq!(places, "Zürich  place  places/zurich.md\n");
        let first = vault.run(&["graph", "annie", "-n", "1"]).ok();
        assert!(first.stderr == "vault: there is more; --limit shows it\n" && first.stdout.lines().count() == 2);
        for (args, said) in [
            (&["graph", "zeppelin"][..], "vault: there is no note `zeppelin`\n"),
            (&["graph", "pla"], "vault: there is no note `pla`; these begin so: Plain"),
            (&["graph", "--relation", "eats"], "vault: no note has a relation `eats` that is true then\n"),
            (&["graph", "--type", "ship"], "vault: no note has the type `ship`\n"),
        ] {
            let none = vault.run(args);
            // One name alone that begins so is meant.
            if args[1] == "pla" {
                assert_eq!((none.code, none.stdout.as_str()), (0, "Plain  notes/plain.md\n"));
                continue;
            }
            assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (1, "", said));
        }
        assert_eq!(vault.run(&["graph", "annie", "--depth", "9"]).code, 2);
        if !served {
            vault.start().settle();
        }
    }
    let by_command = vault.run(&["graph", "annie", "--json", "--as-of", "2026-04-01"]).ok().json();
    let by_http = vault.get("/api/graph?name=annie&as_of=2026-04-01").json();
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner"]));
    let by_mcp = mcp.tool("graph", json!({ "name": "annie", "as_of": "2026-04-01" }));
    assert_eq!((&by_http, &by_mcp), (&by_command, &by_command));
    assert!(mcp.refused("graph", json!({ "depth": 9 })).contains("`depth` is 9"));
    mcp.finish();
    assert_eq!(vault.get("/api/graph?depth=9").status, 400);
    assert_eq!(vault.get("/api/graph?nmae=x").status, 400);
}

const OPEN: [(&str, &str); 5] = [
    (
        "notes/open.md",
        "---\ntype: project\n---\n# Open\n\nled_by:: [[secret]]\n\n- part_of [[plan]]\n- knows [[Alias of the hidden]]\n- near [[twin]]\n\nSee [[secret]].\n",
    ),
    ("notes/plan.md", "---\ntype: project\n---\n# Plan\n\nA house.\n"),
    ("far/away/plain.md", "---\ntype: person\n---\n# Plain\n\n- reads [[plan]]\n- knows [[secret]]\n"),
    ("far/away/twin.md", "# Twin\n\nOf the other one.\n"),
    ("far/away/beyond.md", "---\ntype: person\n---\n# Beyond\n\nOf nobody but [[secret]].\n"),
];
const HIDDEN: [(&str, &str); 6] = [
    (
        "notes/secret.md",
        "---\nprivate: true\ntype: person\naliases: [Alias of the hidden, Plan, Beyond]\n---\n# Secret\n\n- leads [[plan]]\n- knows [[beyond]]\n",
    ),
    // It would take the link of its neighbour.
    ("notes/twin.md", "---\nprivate: true\ntype: ship\n---\n# Twin\n\n- sails [[open]]\n"),
    (
        "hidden/quokka.md",
        "---\nprivate: true\ntype: animal\n---\n- eats [[open]] (until 2026-01-01)\n- part_of [[plan]]\n",
    ),
    ("notes/of.md", "---\nsources: [notes/secret.md]\ntype: person\n---\n- part_of [[plan]]\n- knows [[Open]]\n"),
    ("far/bridge.md", "---\nprivate: true\n---\n- joins [[open]]\n- joins [[beyond]]\n"),
    ("agents/zoe/memory/x.md", "---\ntype: person\n---\n- part_of [[plan]]\n"),
];

/// What an agent may not see is no end of a step, on the way of none, and no name, type, relation or number: as if there were no such note.
#[test]
fn what_is_hidden_is_no_step_of_the_graph() {
    let mut targets = vec!["/api/graph".to_owned(), "/api/graph?limit=1".into(), "/api/graph?expired=true".into()];
    for name in [
        "open", "plan", "plain", "twin", "beyond", "secret", "Alias of the hidden", "quokka", "of", "bridge", "x", "b",
        "s", "p", "notes/secret.md", "notes/twin.md", "hidden/quokka.md", "notes/of.md", "far/bridge",
        "agents/zoe/memory/x.md",
    ] {
        for more in ["", "&depth=1", "&depth=5", "&expired=true&depth=3", "&limit=1", "&type=person", "&relation=knows"]
        {
            targets.push(format!("/api/graph?name={}{more}", encode(name)));
        }
    }
    for relation in ["leads", "knows", "eats", "sails", "joins", "part_of", "led_by"] {
        targets.push(format!("/api/graph?relation={relation}&expired=true"));
    }
    for kind in ["person", "ship", "animal", "project"] {
        targets.push(format!("/api/graph?type={kind}"));
    }
    let (with, token) = assert_hidden(CONFIG, &OPEN, &HIDDEN, &targets);
    let layers = ["graph", "notes"].map(|layer| format!("/api/user-memory/search?q=a&mode=keyword&layer={layer}"));
    for target in &layers {
        assert_eq!(with.told(&token, target).0, 200);
    }
    // The test would hold if nothing were seen.
    let seen = |target: &str| -> Value { serde_json::from_str(&with.told(&token, target).1).unwrap() };
    let open = seen("/api/graph?name=open&depth=5");
    let ends = column(&open["edges"], "to_title");
    assert_eq!(ends, ["secret", "Plan", "Alias of the hidden", "Twin", "Plan", "secret"], "{open}");
    assert_eq!(open["edges"][3]["to"], "far/away/twin.md", "the hidden note beside it takes no link from it");
    assert_eq!(open["edges"][0].get("to"), None, "what is written in a note that is seen is no secret");
    assert!(!open.to_string().contains("Beyond"), "it is two steps away, through a hidden note alone: {open}");
    assert_eq!(seen("/api/graph?name=plan")["entities"][0]["path"], "notes/plan.md");
    let person = with.get("/api/graph?name=open&depth=2").json();
    assert!(person.to_string().contains("Beyond"), "the person steps through it: {person}");
    // By MCP it is the same.
    let mut ada = Mcp::start(&mut with.command(&["mcp", "--agent", "ada"]));
    let by_mcp = ada.tool("graph", json!({ "name": "open", "depth": 5 }));
    assert_eq!(by_mcp, open);
    ada.finish();
}

/// A note that was made private a moment ago is hidden before it is indexed again, and takes no link.
#[test]
fn what_has_become_private_is_no_step_before_it_is_indexed() {
    let (mut vault, token) = seen_by_ada(CONFIG, &OPEN);
    vault.settle();
    let seen = |vault: &Daemon, name: &str| vault.told(&token, &format!("/api/graph?name={name}&depth=3")).1;
    assert!(seen(&vault, "open").contains("\"Plain\""));
    vault.write("notes/plan.md", "---\nprivate: true\ntype: project\n---\n# Plan\n\nA house.\n");
    assert!(!seen(&vault, "open").contains("\"Plain\"") && !seen(&vault, "plan").contains("notes/plan.md"));
}
