//! What pages show of commands and of three ways to ask, held against what the program says of the notes that they show.

use crate::support::prelude::*;

/// The words of a command, as a shell takes them apart.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

/// What a command says in a vault.
fn said(vault: &Daemon, line: &str) -> String {
    let words = words(line);
    assert_eq!(words[0], "vault", "{line}");
    let ran = vault.run(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    ran.stdout + &ran.stderr
}

/// Whether a text is what a recording shows, in which `[…]` stands for anything.
fn is_as_recorded(text: &str, recorded: &str) -> bool {
    let parts: Vec<&str> = recorded.split("[…]").collect();
    let mut rest = text;
    for (at, part) in parts.iter().enumerate() {
        let found = if at == 0 { rest.starts_with(part).then_some(0) } else { rest.find(part) };
        let Some(found) = found else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.is_empty() || recorded.ends_with("[…]")
}

/// Runs each command of a page's `console` blocks, in their order; gives how many there are.
pub fn assert_steps(page: &str, says: impl Fn(&str) -> String) -> usize {
    let blocks = page.split("```console\n$ ").skip(1).map(|block| block.split("```").next().unwrap());
    let steps: Vec<&str> = blocks.flat_map(|block| block.split("\n$ ")).collect();
    for step in &steps {
        let (command, recorded) = step.split_once('\n').unwrap_or((step, ""));
        let said = says(command);
        let is_so = is_as_recorded(said.trim_end(), recorded.trim_end());
        assert!(is_so, "$ {command}\n{said}\nnot as recorded:\n{recorded}");
    }
    steps.len()
}

fn assert_recorded(vault: &Daemon, page: &str) -> usize {
    // What is undone is named by the time.
    assert_steps(page, |line| said(vault, line))
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

/// What is between two marks of a text, or after the first.
fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split(from).nth(1).unwrap().split(to).next().unwrap()
}

/// Writes the notes that a text shows, each of which has its path before it; gives how many there are.
fn write_shown(vault: &mut Daemon, text: &str) -> usize {
    let parts: Vec<&str> = text.split("```markdown\n").collect();
    for pair in parts.windows(2) {
        let path = pair[0].rsplit('`').find(|word| word.ends_with(".md")).unwrap();
        vault.write(path, pair[1].split("```").next().unwrap());
    }
    parts.len() - 1
}

/// A page's five questions of a command have one answer by the command, over HTTP and by MCP as Ada; `answer` is what of it counts.
fn assert_one_answer_in_three_ways(vault: &Daemon, page: &str, command: &str, answer: impl Fn(Value) -> Value) {
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let rows: Vec<&str> = page.lines().filter(|line| line.contains(&format!("| `vault {command} "))).collect();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let cells: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [asked, query, call] = cells[..] else { panic!("{row}") };
        let words: Vec<String> = words(asked).split_off(1);
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--json"]).collect();
        let by_command = answer(vault.run(&args).ok().json());
        let path = if command == "fact" { "facts" } else { command };
        let by_http = answer(vault.get(&format!("/api/{path}?{query}")).json());
        let (tool, arguments) = call.split_once(' ').unwrap();
        let by_mcp = answer(mcp.tool(tool, serde_json::from_str(arguments).unwrap()));
        assert!(!by_command.as_array().unwrap().is_empty(), "{row}");
        assert_eq!((&by_http, &by_mcp), (&by_command, &by_command), "{row}");
    }
    mcp.finish();
}

#[test]
fn the_page_of_the_graph_shows_what_the_program_says_in_three_ways() {
    let page = page("graph.md");
    let mut vault = Daemon::vault();
    assert_eq!(write_shown(&mut vault, &page), 4);
    vault.write("agents/ada/agent.md", READS).start().settle();
    // Around, along, as of, of a relation, of a type. All of an answer is the same.
    assert_one_answer_in_three_ways(&vault, &page, "graph", |found| {
        let nothing = found["entities"].as_array().unwrap().is_empty();
        if nothing { json!([]) } else { json!([found]) }
    });
    assert_eq!(assert_recorded(&vault, &page), 8);
}

#[test]
fn the_page_of_facts_shows_what_the_program_says_in_three_ways() {
    let page = page("facts.md");
    // A vault with the starter's facts.
    let mut vault = Daemon::vault();
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("vault-template");
    for file in ["facts.md", "facts.history.md", "conversations/2026-01-05-tool-library-meeting.md"] {
        vault.write(file, fs::read(template.join(file)).unwrap());
    }
    vault.write("agents/ada/agent.md", READS).start().settle();
    // Get, list, as of, history, by tag: names, values and states.
    assert_one_answer_in_three_ways(&vault, &page, "fact", |found| {
        let of = |fact: &Value| json!([fact["namespace"], fact["key"], fact["value"], fact["history"]]);
        found["facts"].as_array().unwrap().iter().map(of).collect()
    });
    let recorded = assert_recorded(&vault, &page);
    assert!(recorded > 20, "{recorded}");
    let shown = part(&page, "```markdown\n", "```");
    let starter = fs::read_to_string(template.join("facts.md")).unwrap();
    assert!(starter.contains(shown), "the page shows what the starter's file has");
}

#[test]
fn the_page_of_memory_shows_what_the_program_says() {
    let page = page("memory.md");
    let files: Vec<&str> =
        page.split("```markdown\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let vault = Daemon::vault()
        .with("memories/user.md", files[0])
        .with("memories/pending.md", files[1])
        .with("conversations/2026-03-02.md", "I use tabs, and test with make quick.\nPriya gets the drill next week.\n")
        .settled();
    let shown = assert_recorded(&vault, page.split("\n## Context").next().unwrap());
    assert!(shown > 8, "{shown}");
    // Summaries and digests.
    let talk = page.split("```markdown\n").find(|block| block.starts_with("---\ntitle: Bread")).unwrap();
    let talk = talk.split("```").next().unwrap();
    let vault = Daemon::vault().with("conversations/2026-01-05-bread.md", talk).settled();
    assert_eq!(assert_recorded(&vault, part(&page, "## Summaries and digests\n", "\n## ")), 7);
}

#[test]
fn the_page_of_memory_shows_a_day_as_it_is() {
    let page = page("memory.md");
    let day = part(&page, "\n## A day\n", "\n## Settings\n");
    let mut vault = Daemon::vault();
    assert_eq!(write_shown(&mut vault, day), 3, "a conversation, proposals and a note");
    vault.write("notes/bakery.md", "---\ntitle: Bakery\ntype: place\ncreated: 2026-02-01\n---\nOpens at six.\n");
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncollections: [\"*\"]\n---\n").start().settle();
    assert_eq!(assert_recorded(&vault, day), 15);
    // As the page says, what was made of the conversation goes with it.
    vault.run(&["forget", "conversations/2026-03-02-flour.md", "--derived", "--yes"]).ok();
    for path in ["summaries/2026-03-02-flour.md", "summaries/days/2026-03-02.md"] {
        assert!(!vault.path(path).exists(), "{path}");
    }
    for path in ["agents/ada/entries.md", "memories/user.md"] {
        assert!(!vault.read(path).contains("^e-"), "{path}");
    }
}

#[test]
fn the_page_of_memory_shows_a_context_and_a_profile_as_they_are() {
    let page = page("memory.md");
    let mut vault = Daemon::vault().with("profile/overrides.md", "# Always\n\n- Answer in German.\n");
    let summary = "---\ntitle: The tent\nof: conversations/tent.md\ntags: [tent]\n---\n\nDecided to wax the tent.\n";
    vault.write("summaries/tent.md", summary).start().settle();
    assert_eq!(assert_recorded(&vault, part(&page, "\n## Context\n", "\n## Profile\n")), 1);
    let entries = "- [preference] Prefers tabs over spaces ^e-7f3a2b9c\n- [skill] Bakes rye bread ^e-0c1d2e3f\n";
    vault.write("memories/user.md", entries).settle();
    assert_eq!(assert_recorded(&vault, part(&page, "\n## Profile\n", "\n## Summaries and digests\n")), 3);
}

#[test]
fn the_page_of_several_machines_shows_what_is_said_of_conflicts() {
    let page = page("sync.md");
    let trip = "# Trip\nThe ferry leaves at nine.\n";
    let vault = Daemon::vault()
        .with("notes/trip.md", trip)
        .with("notes/trip.sync-conflict-20260105-183012-ABC2DEF.md", trip.replace("nine", "ten"))
        .with("notes/plan.md", "# Plan\n\n<<<<<<< HEAD\nBeans.\n=======\nPeas.\n>>>>>>> phone\n");
    assert_eq!(assert_recorded(&vault, &page), 3);
}

/// A new vault answers about its past at once, without a daemon; a folder that was adopted gets no history unasked.
#[test]
fn a_new_vault_has_a_past_and_an_adopted_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str], vault: &Path| {
        let mut command = vault_command();
        Ran::of(command.args(args).arg("--vault").arg(vault))
    };
    let new = folder.path().join("new");
    assert!(vault_command().args(["init", "--no-git"]).arg(&new).output().unwrap().status.success());
    let history = fs::read_to_string(new.join("facts.history.md")).unwrap();
    assert_eq!(run(&["fact", "get", "tools/loan_record", "--as-of", "2026-01-04"], &new).ok().stdout, "paper cards\n");
    assert_eq!(run(&["fact", "get", "tools/loan_record"], &new).ok().stdout, "loans-2026.ods\n");
    assert_eq!(fs::read_to_string(new.join("facts.history.md")).unwrap(), history, "nothing is noted anew");

    let adopted = folder.path().join("adopted");
    fs::create_dir(&adopted).unwrap();
    fs::write(adopted.join("facts.md"), "- color: blue (from 2026-01-01)\n").unwrap();
    assert!(vault_command().args(["init", "--adopt"]).arg(&adopted).output().unwrap().status.success());
    assert_eq!(run(&["fact", "get", "color"], &adopted).ok().stdout, "blue\n");
    run(&["fact", "set", "color", "green"], &adopted).ok();
    assert_eq!(fs::read_to_string(adopted.join("facts.md")).unwrap(), "- color: green\n");
    assert!(!adopted.join("facts.history.md").exists(), "the history is not written unasked");
}
