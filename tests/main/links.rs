//! How notes hang together: links there and back, what is near a note, and who is told of it.

use memory_vault::access::request::ErrorKind;
use memory_vault::serve::wire::{Linked, LinksParams, LinksView, RelatedParams, RelatedView};

use crate::support::prelude::*;

fn links(vault: &TestVault, path: &str) -> LinksView {
    notes::links(&vault.owner(), &LinksParams { path: path.into(), limit: None }).unwrap()
}

fn related(vault: &TestVault, path: &str, line: Option<usize>) -> RelatedView {
    notes::related(&vault.owner(), &RelatedParams { path: path.into(), line, limit: Some(3) }).unwrap()
}

fn leads_to(view: &LinksView) -> Vec<&str> {
    view.outgoing.iter().map(|link| link.path.as_deref().unwrap()).collect()
}

fn linked_from(view: &LinksView) -> Vec<&str> {
    view.incoming.iter().map(|link| link.citation.as_str()).collect()
}

fn vault() -> TestVault {
    let mut vault = TestVault::new();
    vault
        .write(
            "notes/start.md",
            "---\nabout: \"[[Bread]]\"\n---\n# Start\n\nSee [[bread#Crust|the crust]] and ![[Sea Salt]], [[notes/Bread.md]].\n\n\
             [plan](../work/my%20plan.md#week) [[my plan#^day]] [[Granate]] [[nowhere]] [out](https://a.example)\n\n\
             `[[code]]` %%[[Hidden]]%% [[#start]] ![[a.png]]\n",
        )
        .write("notes/Bread.md", "---\ntags: [food]\n---\n# Bread\n\nDough and [[sea salt]].\n")
        .write("notes/sea salt.md", "# Sea salt\n\nIt comes of the sea.\n")
        .write("work/my plan.md", "# Plan\n\nNothing ^day\n")
        .write("notes/fruit.md", "---\naliases: [Granate]\n---\nSeeds.\n")
        .write("far/away/bread.md", "# Another\n\nNot that one: [[../bread]].\n").sync();
    vault
}

#[test]
fn links_lead_where_obsidian_leads_them_and_back() {
    let vault = vault();
    let start = links(&vault, "notes/start.md");
    assert_eq!(
        leads_to(&start),
        [
            "notes/Bread.md", "notes/Bread.md", "notes/sea salt.md", "notes/Bread.md", "work/my plan.md",
            "work/my plan.md", "notes/fruit.md"
        ],
        "a note beside it before one of the same name elsewhere; by path, name and alias, in properties too"
    );
    let crust = &start.outgoing[1];
    assert_eq!((crust.heading.as_deref(), crust.alias.as_deref()), (Some("Crust"), Some("the crust")));
    assert_eq!((crust.line, crust.embeds, start.outgoing[2].embeds), (6, false, true));
    assert!(crust.text.starts_with("See [[bread#Crust"), "{}", crust.text);
    assert_eq!(start.outgoing[5].block.as_deref(), Some("day"));
    let nowhere: Vec<&str> = start.unresolved.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(nowhere, ["nowhere"], "neither code nor comments, pictures nor addresses");

    let bread = links(&vault, "notes/Bread.md");
    let places = ["notes/start.md#L2", "notes/start.md#L6", "notes/start.md#L6"];
    assert_eq!(linked_from(&bread), places, "not from the note that means another one of this name");
    assert_eq!(bread.incoming[0].text, "about: \"[[Bread]]\"");
    assert_eq!(linked_from(&links(&vault, "notes/fruit.md")), ["notes/start.md#L8"]);
    assert_eq!(leads_to(&links(&vault, "far/away/bread.md")), Vec::<&str>::new());
    let absent = notes::links(&vault.owner(), &LinksParams { path: "notes/none.md".into(), limit: None }).unwrap_err();
    assert_eq!(absent.kind, ErrorKind::NotFound);
}

#[test]
fn links_follow_the_notes() {
    let mut vault = vault();
    vault.write("notes/new.md", "To the [[fruit]], and [[nowhere]].\n").write("x/nowhere.md", "Here.\n").sync();
    assert_eq!(linked_from(&links(&vault, "x/nowhere.md")), ["notes/new.md#L1", "notes/start.md#L8"]);
    assert!(links(&vault, "notes/start.md").unresolved.is_empty());
    vault.rename("notes/Bread.md", "notes/Loaf.md").write("notes/new.md", "To nobody.\n").sync();
    let all = |vault: &TestVault| {
        let paths = ["notes/start.md", "notes/Loaf.md", "notes/fruit.md", "x/nowhere.md", "far/away/bread.md"];
        paths.map(|path| links(vault, path))
    };
    let now = all(&vault);
    assert_eq!(leads_to(&now[0])[0], "far/away/bread.md", "the other one of this name");
    assert!(linked_from(&now[1]).is_empty() && linked_from(&now[3]) == ["notes/start.md#L8"]);
    vault.rebuild();
    assert_eq!(all(&vault), now, "as in an index that is built anew");
}

#[test]
fn what_is_near_is_another_note_and_says_whether_it_is_linked() {
    let mut vault = TestVault::new();
    vault
        .write("notes/rye.md", "# Rye bread\n\nRye flour, sourdough, water, salt.\n\n## Boat\n\nThe keel of the boat is oak. [[harbour]]\n")
        .write("notes/wheat.md", "# Wheat bread\n\nWheat flour, sourdough, water, salt.\n")
        .write("notes/harbour.md", "# Harbour\n\nThe boat lies in the harbour, its keel of oak. [[rye]]\n")
        .write("notes/pizza.md", "# Pizza\n\nFlour, sourdough, water, salt, tomato: see [[rye]].\n")
        .write("notes/tax.md", "# Tax\n\nForms are due in May.\n")
        .sync();
    let near = related(&vault, "notes/rye.md", None);
    assert_eq!((near.mode, near.degraded.as_deref()), (Mode::Semantic, None));
    let found: Vec<(&str, Option<Linked>)> =
        near.results.iter().map(|note| (note.path.as_str(), note.linked)).collect();
    assert_eq!(found.len(), 3);
    for expected in
        [("notes/wheat.md", None), ("notes/pizza.md", Some(Linked::In)), ("notes/harbour.md", Some(Linked::Both))]
    {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert!(near.results.is_sorted_by(|one, two| one.score >= two.score), "{near:?}");
    // A passage is near others than the note is.
    assert_eq!(related(&vault, "notes/rye.md", Some(7)).results[0].path, "notes/harbour.md");
    let flour = related(&vault, "notes/rye.md", Some(3)).results.swap_remove(0).path;
    assert!(["notes/wheat.md", "notes/pizza.md"].contains(&flour.as_str()), "{flour}");
    assert_eq!(
        related(&vault, "notes/wheat.md", Some(900)).results.len(),
        3,
        "below the last line is the last passage"
    );
    let refused = |params: RelatedParams| notes::related(&vault.owner(), &params).unwrap_err().kind;
    let of = |path: &str, line, limit| RelatedParams { path: path.into(), line, limit };
    assert_eq!(refused(of("notes/none.md", None, None)), ErrorKind::NotFound);
    assert_eq!(refused(of("notes/rye.md", Some(0), None)), ErrorKind::Invalid);
    assert_eq!(refused(of("../x.md", None, None)), ErrorKind::Invalid);
    assert_eq!(refused(of("notes/rye.md", None, Some(0))), ErrorKind::Invalid);
}

/// Notes, and nothing that embeds.
fn daemon() -> Daemon {
    Daemon::vault()
        .with(
            "notes/sourdough.md",
            "---\ntags: [food/bread, Work]\n---\n# Sourdough\n\nRye flour and a warm oven. See [[oven]].\n",
        )
        .with("notes/oven.md", "---\ntags: [food]\n---\n# Oven\n\nThe oven is warm for rye bread of sourdough.\n")
        .with("notes/rye-sourdough.md", "# Rye\n\nFlour.\n")
        .with("journal/2026-01-05.md", "---\ntags: [work]\nupdated: 2026-01-05\n---\n# Monday\n\nForms and taxes.\n")
}

#[test]
fn what_hangs_together_is_told_with_a_daemon_and_without() {
    let mut vault = daemon();
    for served in [false, true] {
        if served {
            vault.start();
        }
        // Links, tags and notes are listed.
        let links = vault.run(&["links", "sourdough"]).ok();
        let shown = "links to\n  notes/oven.md  notes/sourdough.md#L6\n    Rye flour and a warm oven. See [[oven]].\n";
        assert_eq!(links.stdout, shown);
        assert_eq!(links.stderr, "vault: this is notes/sourdough.md\n");
        let none = vault.run(&["links", "journal/2026-01-05.md"]);
        assert_eq!((none.code, none.stdout.as_str()), (1, ""));

        let tags = vault.run(&["tags"]).ok().stdout;
        assert_eq!(tags, "food     2 notes\n  bread  1 note\nWork     2 notes\n");
        assert_eq!(
            vault.run(&["tags", "--flat"]).ok().stdout,
            "Work        2 notes\nfood        1 note\nfood/bread  1 note\n"
        );
        let json = vault.run(&["tags", "--json"]).ok().json();
        assert_eq!(json["tags"][0], json!({ "tag": "food", "notes": 1, "with_below": 2 }));

        let listed = vault.run(&["ls", "journal"]).ok();
        assert_eq!(
            (listed.stdout.as_str(), listed.stderr.as_str()),
            ("2026-01-05  journal/2026-01-05.md  Monday\n", "")
        );
        let newest = vault.run(&["ls", "-n", "1"]).ok();
        assert!(newest.stdout.contains("  notes/") && newest.stderr == "vault: 3 older; --limit shows more\n");
        let json = vault.run(&["ls", "--json"]).ok().json();
        assert_eq!((json["notes"].as_array().unwrap().len(), &json["total"]), (4, &json!(4)));
        let wrong = vault.run(&["ls", "jounral"]);
        assert_eq!((wrong.code, wrong.stdout.as_str()), (1, ""));
        assert_eq!(wrong.stderr, "vault: no note is in a collection `jounral`; did you mean `journal`?\n");
        // Without a model what is near is told by words, and that is said.
        let near = vault.run(&["related", "notes/sourdough.md:6", "-n", "2"]).ok();
        assert!(near.stdout.starts_with("notes/oven.md#L"), "{}", near.stdout);
        assert!(near.stdout.lines().next().unwrap().contains("  linked: out  Oven"), "{}", near.stdout);
        assert!(!near.stdout.contains("notes/sourdough.md"), "{}", near.stdout);
        assert_eq!(near.stderr, "vault: compared by words alone: `embed.model` is \"none\"\n");
        let json = vault.run(&["related", "oven", "--json"]).ok().json();
        assert_eq!((&json["mode"], &json["path"]), (&json!("keyword"), &json!("notes/oven.md")));
        assert_eq!(json["results"][0]["linked"], "in", "{json}");
        assert_eq!(vault.run(&["related", "notes/none.md"]).code, 1);
        assert_eq!(vault.run(&["related", "notes/oven.md", "words"]).code, 2);
    }
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner"]));
    let near = mcp.tool("related", json!({ "what": "notes/sourdough.md" }));
    assert_eq!(near["results"][0]["citation"], "notes/oven.md#L4-L6", "{near}");
    assert_eq!((&near["links_to"], &near["linked_from"]), (&json!(["notes/oven.md"]), &json!([])));
    let back = mcp.tool("related", json!({ "what": "notes/oven.md#L6", "limit": 1 }));
    assert_eq!(back["linked_from"], json!(["notes/sourdough.md#L6"]), "{back}");
    assert!(mcp.refused("related", json!({ "what": "notes/none.md" })).starts_with("not_found: "));
}

#[test]
fn a_note_is_got_by_its_name_a_part_of_it_or_a_slip_and_json_fails_in_json() {
    let vault = daemon();
    // A note is got by its name, by a part of it or by a slip.
    let text = "# Rye\n\nFlour.\n";
    for name in ["rye-sourdough", "RYE", "rye-sourdoguh", "notes/rye"] {
        let got = vault.run(&["get", name]).ok();
        assert_eq!((got.stdout.as_str(), got.stderr.as_str()), (text, "vault: this is notes/rye-sourdough.md\n"));
    }
    assert_eq!(vault.run(&["get", "rye:3"]).ok().stdout, "Flour.\n");
    assert!(vault.run(&["get", "sourdough"]).ok().stdout.starts_with("---\n"), "the exact name, not one that has it");
    vault.run(&["get", "o"]).ok();
    let several = vault.run(&["get", "ou"]);
    assert_eq!((several.code, several.stdout.as_str()), (1, ""));
    assert_eq!(several.stderr, "vault: ou could mean any of 2 notes: notes/rye-sourdough.md, notes/sourdough.md\n");
    // Who spells a path out means that one, and another day is another note.
    let path = vault.run(&["get", "notes/ovne.md"]);
    assert!(path.code == 1 && path.stderr.ends_with("did you mean notes/oven.md?\n"), "{}", path.stderr);
    assert_eq!(vault.run(&["get", "2026-01-06"]).code, 1);
    assert!(vault.run(&["get", "zeppelin"]).stderr.starts_with("vault: there is no note `zeppelin`"));
    // What is asked in JSON fails in JSON.
    for (args, code, kind) in [
        (&["get", "notes", "--json"][..], 2, "invalid"),
        (&["get", "zeppelin", "--json"], 1, "not_found"),
        (&["get", "notes/oven.md:99", "--json"], 2, "invalid"),
        (&["links", "--json", "zeppelin"], 1, "not_found"),
        (&["eval", "--json", "none.md"], 2, "internal"),
    ] {
        let ran = vault.run(args);
        let error = &ran.json()["error"];
        assert_eq!((ran.code, error["code"].as_str()), (code, Some(kind)), "{args:?} {error}");
        assert!(
            !error["message"].as_str().unwrap_or_default().is_empty() && ran.stderr.is_empty(),
            "{error} {}",
            ran.stderr
        );
    }
    let hint = vault.run(&["get", "notes", "--json"]).json()["error"]["hint"].clone();
    assert_eq!(hint, "`vault ls notes` lists its notes");
}

#[test]
fn a_folder_s_name_is_no_note_but_where_one_is_called_so() {
    let mut vault = daemon().with("notes/my-notes.md", "# Mine\n");
    for args in [["get", "notes"], ["get", "notes/"], ["links", "notes"], ["related", "notes"]] {
        let ran = vault.run(&args);
        let said = "vault: `notes` is a folder. `vault ls notes` lists its notes\n";
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (2, "", said), "{args:?}");
    }
    vault.write("journal/notes.md", "# Of the day\n");
    assert_eq!(vault.run(&["get", "notes"]).ok().stdout, "# Of the day\n");
}

const CONFIG: &str = "[embed]\nmodel = \"none\"\n[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n";
const OPEN: [(&str, &str); 3] = [
    ("notes/open.md", "# Open\n\nThe quokka eats: [[secret]], [[plan]], [[Alias of the hidden]].\n"),
    ("notes/plan.md", "---\ntags: [work]\n---\n# Plan\n\nA house for the quokka.\n"),
    ("far/away/plain.md", "# Plain\n\nA quokka and its [[plan]].\n"),
];
const HIDDEN: [(&str, &str); 4] = [
    (
        "notes/secret.md",
        "---\nprivate: true\ntags: [work/secret]\naliases: [Alias of the hidden]\n---\n# Secret\n\nA quokka: [[plan]].\n",
    ),
    ("far/away/plan.md", "---\nprivate: true\n---\n# Plan\n\nIt would take a link from its neighbour. [[open]]\n"),
    ("hidden/quokka.md", "---\nprivate: true\ntags: [hidden]\n---\nA house for the quokka: [[open]] and [[plan]].\n"),
    ("notes/of.md", "---\nsources: [notes/secret.md]\n---\nMade of it: [[plan]], quokka.\n"),
];

/// What an agent may not see is no target and no source, and takes no link from another note; nor is it near, counted or named.
#[test]
fn what_is_hidden_neither_links_nor_is_linked() {
    let mut targets: Vec<String> = ["tags", "notes", "notes?folder=hidden", "notes?folder=nothing", "notes?folder=far"]
        .map(|rest| format!("/api/user-memory/{rest}"))
        .into();
    for (path, _) in OPEN.iter().chain(&HIDDEN) {
        for what in ["links", "related", "note"] {
            targets.push(format!("/api/user-memory/{what}?path={}", encode(path)));
        }
    }
    for word in
        ["in:hidden quokka", "tag:hidden quokka", "tag:work/secret quokka", "in:hiden quokka", "aliases:x", "sorces:x"]
    {
        targets.push(format!("/api/user-memory/search?mode=keyword&q={}", encode(word)));
    }
    let (with, token) = assert_hidden(CONFIG, &OPEN, &HIDDEN, &targets);
    // The test would hold if nothing were seen.
    let links = |path: &str| -> Value {
        serde_json::from_str(&with.told(&token, &format!("/api/user-memory/links?path={path}")).1).unwrap()
    };
    let open = links("notes/open.md");
    assert_eq!(open["outgoing"][0]["path"], "notes/plan.md", "{open}");
    assert_eq!(column(&open["unresolved"], "target"), ["secret", "Alias of the hidden"]);
    assert_eq!(open["incoming"], json!([]));
    let plan = links("notes/plan.md");
    let from = column(&plan["incoming"], "path");
    assert_eq!(from, ["far/away/plain.md", "notes/open.md"], "the hidden note beside it takes no link from it");
    // The person sees all of it.
    let all = with.get("/api/user-memory/links?path=notes/plan.md").json();
    assert_eq!(all["incoming"].as_array().unwrap().len(), 4, "{all}");
}

#[test]
fn a_tag_of_a_thousand_levels_is_not_a_thousand_tags() {
    let daemon = Daemon::vault().with("notes/a.md", format!("#{}\n\n#work/plan/2026\n", "a/".repeat(40_000))).started();
    let tags = daemon.get("/api/user-memory/tags").json();
    let names = column(&tags["tags"], "tag");
    assert!(names.len() <= 20, "{}", names.len());
    assert!(["work", "work/plan", "work/plan/2026"].iter().all(|tag| names.iter().any(|name| name == tag)));
}

#[test]
fn folders_days_and_orders_of_notes_are_those_of_the_files() {
    let dated = |day: &str, text: &str| format!("---\nupdated: {day}T12:00:00\n---\n# {text}\n");
    let daemon = Daemon::vault()
        .with("zoo/daily/2026-01-05.md", dated("2026-01-07", "Zebra"))
        .with("zoo/ant.md", dated("2026-01-07", &format!("Ant {}", "x".repeat(500))))
        .with("zoo/summaries.md", dated("2026-01-04", "Bee"))
        .with("summaries/days/2026-01-06.md", dated("2026-01-06", "Of a day"))
        .started();
    let folders = daemon.get("/api/user-memory/folders").json();
    let of = |path: &str| {
        let all = folders["folders"].as_array().unwrap().iter();
        all.clone().find(|folder| folder["path"] == path).map(|folder| folder["notes"].clone())
    };
    assert_eq!([of("zoo"), of("zoo/daily"), of("zoo/none")], [Some(json!(3)), Some(json!(1)), None], "{folders}");
    let days = daemon.get("/api/user-memory/days?from=2026-01-05&until=2026-01-07").json();
    let expected = json!({ "days": [
        { "day": "2026-01-05", "notes": 0, "daily": "zoo/daily/2026-01-05.md" },
        { "day": "2026-01-06", "notes": 1 },
        { "day": "2026-01-07", "notes": 2 },
    ] });
    assert_eq!(days, expected);
    assert_eq!(daemon.get("/api/user-memory/days?from=monday&until=2026-01-07").status, 400);
    let listed =
        |query: &str| column(&daemon.get(&format!("/api/user-memory/notes?folder=zoo{query}")).json()["notes"], "path");
    let [ant, zebra, bee] = ["zoo/ant.md", "zoo/daily/2026-01-05.md", "zoo/summaries.md"];
    assert_eq!(listed(""), [ant, zebra, bee]);
    assert_eq!(listed("&sort=name"), [ant, bee, zebra]);
    assert_eq!(listed("&sort=size&limit=1"), [ant]);
    assert_eq!(listed("&until=2026-01-05"), [bee]);
    assert_eq!(listed("&since=2026-01-07&until=2026-01-07&sort=name"), [ant, zebra]);
}
