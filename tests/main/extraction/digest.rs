//! What a model says a day was.

use super::kills::die_at;
use super::{config, conversation, likes, sync};
use crate::support::prelude::*;

const DAY: &str = "2026-01-05";
const PAGE: &str = "summaries/days/2026-01-05.md";
const NOTE: &str =
    "---\ncreated: 2026-01-05T10:00:00Z\n---\n# Trip\n\nWe decided to visit Lisbon.\n\n- [ ] buy a raincoat\n";
const SECRET: &str =
    "---\nprivate: true\ncreated: 2026-01-05T10:00:00Z\n---\nIt was decided to sell the boat in Graz.\n";
const GOOD: &str = "We decided to visit Lisbon, and buy a raincoat.";
const TEXT: &str = "## In short\n\n- We decided to visit Lisbon, and buy a raincoat. (notes/trip.md#L6, notes/trip.md#L8)\n\n## Written and captured\n";

const WEEK: &str = "2026-W02";
const WEEK_PAGE: &str = "summaries/weeks/2026-W02.md";

fn is_of_a_day(asked: &Asked) -> bool {
    asked.texts[0].starts_with("You say in at most five sentences")
}

/// The number of the line that a model was shown of a digest, by a part of it; 0 where there is none.
fn line(asked: &Asked, part: &str) -> u64 {
    let found = asked.texts[1].lines().find(|line| line.contains("] ") && line.contains(part));
    found.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or_default()
}

/// The good sentence, and what nobody wrote, or cites nothing.
fn sentences(asked: &Asked) -> Value {
    let lines = [line(asked, "decided to visit"), line(asked, "buy a raincoat")];
    json!([
        {"text": "We decided to visit Porto.", "lines": lines},
        {"text": "We decided to visit Lisbon in 12 weeks.", "lines": lines},
        {"text": "We decided to visit Lisbon.", "lines": []},
        {"text": "We decided to visit Lisbon."},
        {"text": "We decided to visit Lisbon.", "lines": [999]},
        {"text": GOOD, "lines": lines},
    ])
}

fn says(answer: impl Fn(&Asked) -> String + Send + Sync + 'static) -> Endpoint {
    let endpoint = Endpoint::start();
    endpoint.fails(move |asked| Some(Fault::SaysThis(if is_of_a_day(asked) { answer(asked) } else { likes(asked) })));
    endpoint
}

fn good() -> Endpoint {
    says(|asked| json!({ "sentences": sentences(asked) }).to_string())
}

fn of_days(endpoint: &Endpoint) -> usize {
    endpoint.asked().iter().filter(|asked| is_of_a_day(asked)).count()
}

/// A vault with a note of the day, and the page that rules have made of it.
fn with_page(config: &str) -> Daemon {
    let vault = Daemon::with_config(config).with("notes/trip.md", NOTE);
    vault.run(&["digest", DAY, "--write"]).ok();
    vault
}

fn page(vault: &Daemon) -> String {
    vault.read(PAGE)
}

/// The lines of a digest's short text, as an answer gives them.
fn in_short(digest: &Value) -> Value {
    let sections = digest["sections"].as_array().unwrap();
    sections.iter().find(|section| section["heading"] == "In short").map_or(Value::Null, |found| found["lines"].clone())
}

#[test]
fn a_day_begins_with_sentences_that_cite_and_without_what_nobody_wrote() {
    let endpoint = good();
    let mut vault = with_page(&config(&endpoint.address(), ""));
    let rules = page(&vault);
    let view = sync(&vault);
    assert_eq!((&view["calls"], &view["queued"], &view["dead"]), (&json!(1), &json!(0), &json!(0)), "{view}");
    let call = &view["recent"][0];
    assert_eq!((&call["kind"], &call["kept"], &call["dropped"]), (&json!("digest"), &json!(1), &json!(5)), "{view}");
    let told = page(&vault);
    assert!(told.contains(TEXT) && told.contains("made_by: reader"), "{told}");
    assert!(!told.contains("Porto") && !told.contains("12 weeks"), "{told}");
    // The lines by rules stay below, and its sources are what they were.
    let (front, body) = rules.split_once("## Written").unwrap();
    assert!(told.ends_with(body), "{told}");
    let sources = front.split("sources:").nth(1).unwrap().split("digest:").next().unwrap();
    assert!(told.contains(sources) && sources.contains("notes/trip.md"), "{told}");
    // Whoever asks is told the same, with its citations.
    let shown = vault.run(&["digest", DAY]).ok().stdout;
    assert!(shown.contains(&format!("In short\n  {GOOD}  notes/trip.md#L6 notes/trip.md#L8\n")), "{shown}");
    // Nothing is asked or written twice.
    assert_eq!(sync(&vault)["calls"], 1);
    let again = vault.run(&["digest", DAY, "--write", "--json"]).ok().json();
    assert_eq!(again["reason"], "the file already has this text");
    assert_eq!(page(&vault), told);
    // Other lines get another text.
    vault.write("notes/trip.md", NOTE.replace("# Trip", "# Journey"));
    vault.run(&["digest", DAY, "--write"]).ok();
    let anew = page(&vault);
    assert!(anew.contains("Journey") && !anew.contains("In short") && anew.contains("made_by: rules"), "{anew}");
    assert_eq!(sync(&vault)["calls"], 2);
    assert!(page(&vault).contains(TEXT) && page(&vault).contains("made_by: reader"));
}

#[test]
fn a_week_begins_with_sentences_of_its_days_and_stays_the_persons_once_it_is_edited() {
    let endpoint = good();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    let of_day = |day: &str, said: &str| format!("---\ncreated: {day}T10:00:00Z\n---\n# Trip\n\n{said}\n");
    vault
        .write("notes/monday.md", of_day("2026-01-05", "We decided to visit Lisbon."))
        .write("notes/friday.md", of_day("2026-01-09", "- [ ] buy a raincoat"))
        .write("notes/before.md", of_day("2026-01-04", "We decided to visit Porto in 12 weeks."));
    let week = |vault: &Daemon| vault.read(WEEK_PAGE);
    vault.run(&["digest", WEEK, "--write"]).ok();
    let rules = week(&vault);
    assert!(rules.contains("decided to visit Lisbon") && !rules.contains("Porto"), "{rules}");
    let view = sync(&vault);
    let call = &view["recent"][0];
    assert_eq!((&call["kind"], &call["kept"], &call["dropped"]), (&json!("digest"), &json!(1), &json!(5)), "{view}");
    // Nothing of another week is sent.
    assert_eq!((of_days(&endpoint), endpoint.sent("Porto"), endpoint.sent("Lisbon")), (1, 0, 1));
    let told = week(&vault);
    assert!(told.contains(&format!("## In short\n\n- {GOOD} (notes/monday.md#L6, notes/friday.md#L6)\n")), "{told}");
    assert!(told.ends_with(rules.split_once("## Written").unwrap().1) && !told.contains("12 weeks"), "{told}");
    let shown = vault.run(&["digest", WEEK]).ok().stdout;
    assert!(shown.contains(&format!("In short\n  {GOOD}  notes/monday.md#L6 notes/friday.md#L6\n")), "{shown}");
    // Nothing is asked twice, and what the person edits is hers.
    let mine = told + "- mine\n";
    vault.write(WEEK_PAGE, &mine).write("notes/sunday.md", of_day("2026-01-11", "We decided to fly."));
    assert_eq!((&sync(&vault)["calls"], week(&vault)), (&json!(1), mine));
}

#[test]
fn a_daemon_does_it_by_itself_and_who_does_not_see_all_sources_is_told_nothing_of_it() {
    let endpoint = good();
    let mut vault = with_page(&config(&endpoint.address(), "summary_debounce_seconds = 10"));
    vault.write("agents/ada/agent.md", READS);
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    set_time(vault.path(PAGE), long_ago);
    vault.start();
    until("the text", || page(&vault).contains(TEXT));
    vault.settle();
    let token = vault.token_of("ada");
    let ask = |vault: &Daemon| vault.get_as(&token, "/api/digest?day=2026-01-05").json();
    let told = json!([{"text": GOOD, "citations": ["notes/trip.md#L6", "notes/trip.md#L8"]}]);
    let own = vault.get("/api/digest?day=2026-01-05").json();
    assert_eq!((in_short(&own), in_short(&ask(&vault))), (told.clone(), told.clone()));
    // A page that is made of a private note as well.
    vault.write("notes/secret.md", SECRET).settle();
    vault.run(&["digest", DAY, "--write"]).ok();
    sync(&vault);
    vault.settle();
    until("the text", || in_short(&vault.get("/api/digest?day=2026-01-05").json()) == told);
    let hers = ask(&vault);
    assert!(in_short(&hers).is_null() && hers.to_string().contains("Lisbon"), "{hers}");
    // Who forgets a source takes the page along.
    vault.post("/api/user-memory/forget", &json!({ "path": "notes/trip.md" })).json();
    assert!(!vault.path(PAGE).exists());
}

#[test]
fn a_day_with_a_private_note_goes_to_no_model_on_another_machine() {
    let endpoint = good();
    let elsewhere = endpoint.address().replace("127.0.0.1", "http://0.0.0.0");
    let mut vault = with_page(&config(&elsewhere, "")).with("notes/secret.md", SECRET);
    vault.run(&["digest", DAY, "--write"]).ok();
    let rules = page(&vault);
    let view = sync(&vault);
    assert_eq!((&view["calls"], &view["queued"]), (&json!(0), &json!(0)), "{view}");
    assert_eq!((endpoint.asked().len(), page(&vault)), (0, rules));
    vault.write("memory.toml", config(&elsewhere, "send_private = true"));
    assert_eq!(sync(&vault)["calls"], 1);
    assert!(page(&vault).contains(GOOD) && endpoint.sent("Graz") == 1);
}

#[test]
fn what_no_model_may_read_is_not_sent_with_a_day_either() {
    let endpoint = good();
    let mut vault = with_page(&config(&endpoint.address(), ""));
    let said = "We decided to sell the quokka. My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD.";
    let talk = conversation(&[("user", said)]);
    vault.write("conversations/2026-01-05-zoo.md", talk.replace("title:", "extraction: false\ntitle:"));
    vault.run(&["digest", DAY, "--write"]).ok();
    assert!(page(&vault).contains("sell the quokka"));
    assert_eq!(sync(&vault)["calls"], 1);
    assert_eq!((endpoint.sent("quokka"), endpoint.sent("sk-proj"), endpoint.sent("Lisbon")), (0, 0, 1));
    assert!(page(&vault).contains(TEXT) && page(&vault).contains("sell the quokka"));
}

#[test]
fn where_an_answer_cannot_be_read_or_nothing_of_it_stands_the_page_by_rules_stays() {
    let nothing = r#"{"sentences":[{"text":"We flew to Porto.","lines":[1]},{"text":"A good day."}]}"#;
    for (answer, outcome, calls) in [
        ("Dear friend, it was a good day in Lisbon.", "unreadable", 2),
        (r#"{"sentences":[{"text":"We decided"#, "unreadable", 2),
        (r#"{"entries":[]}"#, "unreadable", 2),
        (nothing, "answered", 1),
        (r#"{"sentences":[]}"#, "answered", 1),
    ] {
        let endpoint = says(move |_| answer.to_owned());
        let mut vault = with_page(&config(&endpoint.address(), ""));
        let rules = page(&vault);
        for _ in 0..2 {
            let view = sync(&vault);
            let outcomes = json!([{"outcome": outcome, "calls": calls}]);
            assert_eq!((&view["calls"], &view["outcomes"]), (&json!(calls), &outcomes), "{view}");
            assert_eq!(page(&vault), rules);
            let dead = view["dead_letters"].as_array().unwrap();
            let paths: Vec<&str> = dead.iter().map(|dead| dead["path"].as_str().unwrap()).collect();
            assert_eq!(paths, if outcome == "unreadable" { vec![PAGE] } else { vec![] }, "{view}");
        }
        // The same lines are not asked about again, wherever else the page has changed.
        vault.write(PAGE, rules.replacen("---\n", "---\ntags: [mine]\n", 1));
        if outcome == "answered" {
            assert_eq!(sync(&vault)["calls"], calls);
        }
    }
}

#[test]
fn a_page_that_a_person_has_edited_and_one_that_only_counts_are_left_alone() {
    let endpoint = good();
    let mut vault = with_page(&config(&endpoint.address(), ""));
    let mine = page(&vault) + "- mine\n";
    let counted = "---\ncreated: 2026-02-03T10:00:00Z\nsource: capture\n---\n# Quokkas\n\nWe decided to buy one.\n";
    vault.write(PAGE, &mine).write("bookmarks/a.md", counted);
    vault.run(&["digest", "2026-02-03", "--write"]).ok();
    assert!(vault.path("summaries/days/2026-02-03.md").exists());
    let view = sync(&vault);
    assert_eq!((&view["calls"], &view["queued"], of_days(&endpoint)), (&json!(0), &json!(0), 0), "{view}");
    assert_eq!(page(&vault), mine);
}

#[test]
fn a_sentence_that_says_what_was_forgotten_for_good_is_not_written() {
    let endpoint = good();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    vault.write("notes/old.md", format!("{GOOD}\n")).start().settle();
    vault.post("/api/user-memory/forget", &json!({ "path": "notes/old.md", "purge": true })).json();
    vault.write("notes/trip.md", NOTE).settle();
    vault.run(&["digest", DAY, "--write"]).ok();
    let rules = page(&vault);
    assert!(rules.contains("We decided to visit Lisbon. ("), "{rules}");
    vault.settle();
    sync(&vault);
    until("the call", || sync(&vault)["outcomes"] == json!([{"outcome": "answered", "calls": 1}]));
    assert_eq!((of_days(&endpoint), page(&vault)), (1, rules));
}

#[test]
fn a_day_counts_among_the_calls_of_a_day() {
    let endpoint = good();
    let mut vault = with_page(&config(&endpoint.address(), "calls_per_day = 1"));
    vault.write("conversations/tea.md", conversation(&[("user", "I like green tea.")]));
    let view = sync(&vault);
    assert_eq!((&view["day"]["calls"], &view["queued"]), (&json!(1), &json!(1)), "{view}");
    assert_eq!(endpoint.asked().len(), 1);
}

#[test]
fn clearing_the_layers_takes_the_text_along_and_purging_leaves_nothing_of_it() {
    let endpoint = good();
    let vault = with_page(&config(&endpoint.address(), ""));
    sync(&vault);
    let told = page(&vault);
    let cleared = vault.run(&["memory", "clear", "--json"]).ok().json();
    assert_eq!(cleared["files"][0]["path"], PAGE, "{cleared}");
    assert!(!vault.path(PAGE).exists());
    vault.run(&["undo", cleared["files"][0]["checkpoint_id"].as_str().unwrap()]).ok();
    assert_eq!(page(&vault), told);
    assert_eq!(sync(&vault)["calls"], 1, "it has its text");
    vault.run(&["memory", "clear", "--purge"]).ok();
    assert!(!vault.path(PAGE).exists() && !vault.path(&format!(".trash/{PAGE}")).exists());
    assert_eq!(files_with(&vault.path(".vault/state/checkpoints"), "buy a raincoat. ("), [""; 0]);
}

#[test]
fn a_kill_at_any_step_asks_once_more_at_most_and_writes_one_text() {
    for (step, calls) in [
        ("extraction-claimed", 1),
        ("extraction-reserved", 1),
        ("extraction-answered", 2),
        ("summary-made", 2),
        ("summary-written", 1),
        ("extraction-summarised", 1),
        ("extraction-turns-marked", 1),
        ("extraction-marked", 1),
    ] {
        let endpoint = good();
        let mut vault = with_page(&config(&endpoint.address(), ""));
        die_at(&mut vault, step);
        vault.start();
        let view = sync(&vault);
        assert_eq!((&view["queued"], &view["dead"]), (&json!(0), &json!(0)), "{step}: {view}");
        let told = page(&vault);
        assert!(told.contains(TEXT) && told.matches("## In short").count() == 1, "{step}: {told}");
        assert_eq!(endpoint.asked().len(), calls, "{step}");
        assert_eq!(fs::read_dir(vault.path("summaries/days")).unwrap().count(), 1, "{step}");
    }
}
