//! `vault eval`, settings for one search, and deep searches, from outside.

use crate::support::prelude::*;

const QUESTIONS: &str = "# Questions

## Tuning

- where is the bicycle → [[bike#Bicycle cellar]]
- tea in the morning → notes/tea.md#L3

## Held out

- green -> tea, notes/bike.md#L100
- who has the walrus
";

fn daemon() -> Daemon {
    let mut daemon = Daemon::vault().with("notes/bike.md", "# Bicycle cellar\n\nThe bicycle is in the cellar.\n");
    daemon.write("notes/tea.md", "# Tea\n\nGreen tea in the morning.\n");
    fs::write(daemon.path("questions.txt"), QUESTIONS).unwrap();
    daemon
}

/// Lets an agent in that may read all; its token.
fn agent(daemon: &Daemon) -> String {
    daemon.run(&["agent", "add", "ada", "--allow"]).ok().stdout.trim().to_owned()
}

#[test]
fn questions_become_numbers_and_what_cannot_be_measured_is_said() {
    let mut daemon = daemon();
    let questions = daemon.path("questions.txt");
    let questions = questions.to_str().unwrap();
    // What cannot be measured is said.
    let empty = daemon.path("empty.txt");
    fs::write(&empty, "# Nothing\n").unwrap();
    let no_model = "`where is the bicycle` was searched by keyword instead of semantic";
    for (args, said) in [
        (&["eval", "/nowhere.md"][..], "cannot read /nowhere.md"),
        (&["eval", empty.to_str().unwrap()], "no questions found"),
        (&["eval", questions, "--section", "elsewhere"], "there is no question under a heading `elsewhere`"),
        (&["eval", questions, "--mode", "semantic"], no_model),
        (&["eval", questions, "--mode", "keyword", "--set", "fusio=rrf"], "unknown field `fusio`"),
        (&["eval"], "required"),
    ] {
        let ran = daemon.run(args);
        assert!(ran.code == 2 && ran.stderr.contains(said), "{args:?}: {} {}", ran.code, ran.stderr);
    }
    // Questions become numbers.
    for with_daemon in [false, true] {
        if with_daemon {
            daemon.start();
        }
        let measured = daemon.run(&["eval", questions, "--mode", "keyword", "--json"]).ok().json();
        assert_eq!((&measured["questions"], &measured["without_answer"]), (&json!(3), &json!(1)));
        let run = &measured["runs"][0];
        let mean = |run: &Value, measure: &str| run["measures"][measure]["mean"].as_f64().unwrap();
        assert_eq!((mean(run, "hit@1"), mean(run, "MRR")), (1.0, 1.0), "{run}");
        assert!((mean(run, "recall@10") - 2.5 / 3.0).abs() < 1e-9, "{run}");
        assert_eq!(run["questions"][2], json!({ "query": "green", "first": 1 }));

        let args = ["eval", questions, "--mode", "keyword", "--section", "tuning", "--against", "limit=1,per_file=1"];
        let shown = daemon.run(&args).ok().stdout;
        assert!(shown.contains("2 questions with an answer;") && shown.contains("+0.0 (+0.0–+0.0)"), "{shown}");
    }
    let missed = daemon.run(&["eval", questions, "--mode", "keyword", "--collection", "nothing", "--misses"]).ok();
    assert!(missed.stdout.contains("- green → tea, notes/bike.md#L100-L100"), "{}", missed.stdout);
}

#[test]
fn a_setting_counts_for_one_search_and_is_the_persons() {
    let mut daemon = daemon();
    for at in 0..3 {
        daemon.write(&format!("notes/{at}.md"), format!("# One {at}\n\n## A\n\nkiwi one\n\n## B\n\nkiwi two {at}\n"));
    }
    daemon.start();
    let found =
        |args: &[&str]| daemon.run(&[&["search", "kiwi", "--mode", "keyword", "--json"], args].concat()).ok().json();
    assert_eq!(found(&[])["results"].as_array().unwrap().len(), 6);
    assert_eq!(found(&["--set", "per_file=1"])["results"].as_array().unwrap().len(), 3);
    assert_eq!(found(&["--set", "per_file=1", "--set", "limit=2"])["results"].as_array().unwrap().len(), 2);
    for (set, said) in [
        ("per_file=many", "expected usize"),
        ("per_file", "is not `key=value`"),
        ("min_score=7", "takes 0.0 to 1.0"),
        ("nothing=1", "unknown field `nothing`"),
    ] {
        let ran = daemon.run(&["search", "kiwi", "--set", set]);
        assert!(ran.code == 2 && ran.stderr.contains(said), "{set}: {}", ran.stderr);
    }
    let asked = daemon.get_as(&agent(&daemon), "/api/user-memory/search?q=kiwi&set=per_file%3D1");
    assert_eq!((asked.status, asked.json()["error"]["code"].as_str()), (403, Some("forbidden")), "{:?}", asked.json());
}

#[test]
fn a_vault_without_a_model_is_measured_by_its_words_and_an_answer_that_is_nowhere_is_named() {
    let vault = Daemon::vault().with("notes/bread.md", "# Bread\n\nThe dough rests overnight.\n");
    let questions = vault.path("questions.txt");
    fs::write(
        &questions,
        "- how long does the dough rest → notes/bread.md\n- where is the oven → notes/gone.md, [[bread]]\n",
    )
    .unwrap();
    let measured = vault.run(&["eval", questions.to_str().unwrap(), "--json"]).ok();
    assert!(measured.stderr.contains("only keyword is measured, not semantic and hybrid"), "{}", measured.stderr);
    assert!(
        measured
            .stderr
            .contains("`where is the oven`: there is no note `notes/gone.md`; this answer counts as not found"),
        "{}",
        measured.stderr
    );
    assert_eq!(measured.stderr.matches("there is no note").count(), 1);
    let runs = measured.json()["runs"].as_array().unwrap().clone();
    assert!(matches!(&runs[..], [run] if run["mode"] == "keyword"), "{runs:?}");
    let asked = vault.run(&["eval", questions.to_str().unwrap(), "--mode", "hybrid"]);
    assert!(asked.code == 2 && asked.stderr.contains("instead of hybrid: `embed.model` is"), "{}", asked.stderr);
}
