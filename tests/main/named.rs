//! A note is taken by its name, by a link and by a heading wherever a command takes one.

use crate::support::prelude::*;

const BREAD: &str = "---\ncategories: [\"[[Books]]\"]\n---\n# Bread\n\nFlour.\n\n## The rest\n\nOvernight.\n\n### In the fridge\n\n\
    Or two days. ^cold\n\n## The oven\n\nHot.\n";

fn vault() -> Daemon {
    let mut vault = Daemon::vault().with("notes/Bread.md", BREAD).with(
        "trips/Kyoto.md",
        "---\naliases: [The old capital]\n---\n# Kyoto\n\nSee [[bread#The rest]], [[nowhere]] and [[Gone|it]].\n",
    );
    vault.write("trips/plan.md", "Plan one.\n").write("notes/plan.md", "Plan two, [[nowhere]].\n");
    vault
}

#[test]
fn what_changes_a_note_takes_no_name_that_is_only_like_it() {
    let vault = vault();
    for (args, said) in [
        (&["forget", "kyot", "--yes"][..], "did you mean trips/Kyoto.md?"),
        (&["annotate", "brede", "x"], "did you mean notes/Bread.md?"),
        (&["forget", "plan", "--yes"], "plan could mean any of 2 notes: notes/plan.md, trips/plan.md"),
        (&["forget", "zeppelin", "--yes"], "there is no note `zeppelin`"),
    ] {
        let refused = vault.run(args);
        assert!(refused.code == 1 && refused.stderr.contains(said), "{args:?} {} {}", refused.code, refused.stderr);
    }
    assert!(vault.path("trips/Kyoto.md").exists() && vault.path("notes/plan.md").exists());
}

#[test]
fn notes_are_listed_by_tag_and_time() {
    let vault = Daemon::vault()
        .with("a.md", "---\ntags: [trip/japan]\nupdated: 2020-01-05\n---\nA.\n")
        .with("b.md", "---\ntags: [trips]\n---\nB.\n");
    let listed = |args: &[&str]| -> Vec<String> {
        let shown = vault.run(&[&["ls"], args].concat());
        shown.stdout.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&["--tag", "#Trip"]), ["a.md"]);
    assert_eq!(listed(&["--since", "yesterday"]), ["b.md"]);
    assert_eq!(listed(&["--tag", "trip", "--since", "7d"]), [""; 0]);
    let wrong = vault.run(&["ls", "--since", "whenever"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("`since` is `whenever`"), "{}", wrong.stderr);
    let nothing = vault.run(&["ls", "--tag", "none"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (1, "vault: no note matches\n"));
}

#[test]
fn times_are_those_of_the_person_s_clock_and_json_has_them_exactly() {
    let vault = vault().started();
    vault.run(&["save", "The quokka sleeps."]).ok();
    let token = vault.run(&["token", "add", "--capture", "browser"]).ok();
    assert!(!token.stdout.is_empty());
    let at = |zone: &str, args: &[&str]| Ran::of(vault.command(args).env("TZ", zone).stdin(Stdio::null())).ok().stdout;
    let hours = |shown: &str, nth: usize| -> jiff::civil::DateTime {
        let words: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
        format!("{}T{}", words[nth], words[nth + 1]).parse().unwrap()
    };
    for (args, nth) in [(&["log"][..], 0), (&["token", "list"], 4)] {
        let (here, there) = (hours(&at("UTC", args), nth), hours(&at("Asia/Tokyo", args), nth));
        assert_eq!(here.until(there).unwrap().get_hours(), 9, "{args:?}");
    }
    let json = vault.run(&["log", "--json"]).ok().json();
    assert!(json["changes"][0]["at"].as_str().unwrap().ends_with('Z'), "{json}");
    let tokens = vault.run(&["token", "list", "--json"]).ok().json();
    assert_eq!(tokens["tokens"][0]["name"], "browser");
    assert!(vault.run(&["digest", "yesterday"]).stderr.contains("nothing was written or captured in "));
}

#[test]
fn a_name_a_link_and_a_heading_are_taken_by_every_command() {
    let mut vault = vault();
    for served in [false, true] {
        if served {
            vault.start();
        }
        // An agent that is not there is named to the person.
        let refused = vault.run(&["context", "--agent", "nobody", "x"]);
        let said = "vault: there is no agent `nobody`. `vault agent list` lists all agents\n";
        assert_eq!((refused.code, refused.stderr.as_str()), (1, said));
        let by_title = vault.run(&["agent", "allow", "No Body"]);
        assert!(by_title.stderr.contains("perhaps `no-body`"), "{}", by_title.stderr);
        // Links that lead nowhere are listed over the whole vault.
        let shown = vault.run(&["links", "--unresolved"]).ok().stdout;
        let places: Vec<&str> = shown.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(
            places,
            [
                "notes/Bread.md#L2  Books", "notes/plan.md#L1  nowhere", "trips/Kyoto.md#L6  nowhere",
                "trips/Kyoto.md#L6  Gone"
            ],
            "{shown}"
        );
        let one = vault.run(&["links", "--unresolved", "-n", "1", "--json"]).ok().json();
        assert_eq!((one["links"].as_array().unwrap().len(), &one["total"]), (1, &4.into()), "{one}");
        // A name, a link and a heading are taken by every command.
        for what in ["kyoto", "[[Kyoto]]", "[[The old capital]]", "![[trips/Kyoto|there]]", "[[Kyoto.md]]"] {
            assert!(vault.run(&["get", what]).ok().stdout.contains("# Kyoto\n"), "{what}");
            assert!(vault.run(&["links", what]).ok().stdout.starts_with("links to\n  notes/Bread.md"), "{what}");
            vault.run(&["agent", "explain", "nobody", what]);
        }
        let rest = "## The rest\n\nOvernight.\n\n### In the fridge\n\nOr two days. ^cold\n";
        for what in ["bread#The rest", "[[Bread#the rest]]", "notes/Bread.md#The rest"] {
            assert_eq!(vault.run(&["get", what]).ok().stdout, rest, "{what}");
        }
        assert_eq!(vault.run(&["get", "bread#^cold"]).ok().stdout, "Or two days. ^cold\n");
        let absent = vault.run(&["get", "bread#Crust"]);
        let said = "notes/Bread.md has no heading `Crust`; its headings: Bread, The rest, In the fridge, The oven";
        assert!(absent.code == 1 && absent.stderr.contains(said), "{}", absent.stderr);
        let found = |query: &str| vault.run(&["search", query, "--json"]).ok().json()["results"][0]["path"].clone();
        assert_eq!(
            (found("categories:\"[[Books]]\""), found("categories:Books")),
            ("notes/Bread.md".into(), "notes/Bread.md".into())
        );
    }
    assert_eq!(vault.get("/api/user-memory/links/unresolved?limit=0").status, 400);
    let remark = vault.run(&["annotate", "bread#The oven", "230 degrees"]).ok().stdout;
    assert!(fs::read_to_string(vault.path(remark.trim())).unwrap().contains("Hot."), "{remark}");
    let forgotten = vault.run(&["forget", "[[bread#The rest]]", "--yes"]).ok();
    assert!(forgotten.stderr.contains("this is notes/Bread.md"), "{}", forgotten.stderr);
    let left = vault.read("notes/Bread.md");
    assert!(left.contains("Flour.") && left.contains("Hot.") && !left.contains("two days"), "{left}");
    vault.run(&["forget", "kyoto", "--yes"]).ok();
    assert!(!vault.path("trips/Kyoto.md").exists());
    assert!(vault.run(&["log", "--path", "notes/Bread.md"]).ok().stdout.contains("notes/Bread.md"));
}
