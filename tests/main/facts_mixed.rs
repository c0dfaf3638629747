//! Facts by the program, by hand and by git, through restarts, kills and rebuilds: the files alone say it all.

use std::fs;

use serde_json::{Value, json};

use crate::clones::{change, clone_of, commit, could};
use crate::facts::{facts, git, noted, read};
use crate::support::{Daemon, Random, Request, cases, eventually, seed};

/// What is done with the facts, or with what knows them.
#[derive(Clone, Copy)]
enum Step {
    Set,
    Unset,
    Retract,
    Past,
    Write,
    TakeOut,
    Halve,
    Restart,
    Kill,
    Reindex,
    Merge,
}

fn vault() -> Daemon {
    Daemon::with_config("[embed]\nmodel = \"none\"\n")
}

/// Whether the history ends with what the file says, of each fact.
fn is_noted(vault: &Daemon) -> bool {
    facts(vault, "scope=user&history=true").iter().all(|fact| {
        let last = fact["history"].as_array().unwrap().iter().rfind(|change| change["change"] != "was");
        match (fact["state"].as_str().unwrap(), last) {
            ("unset" | "retracted", last) => last.is_none_or(|last| last["new"].is_null()),
            (_, last) => last.is_some_and(|last| last["new"] == fact["value"]),
        }
    })
}

fn settled(vault: &Daemon) {
    eventually("all changes to be noted", || is_noted(vault).then_some(()));
}

/// Somebody clones it, both change facts, and it takes over what the other has.
fn merge(vault: &mut Daemon, dice: &mut Random) {
    settled(vault);
    commit(vault);
    let mut other = clone_of(vault);
    change(&mut other, dice);
    commit(&other);
    step(vault, dice, Step::Set);
    settled(vault);
    commit(vault);
    let root = vault.path("");
    git(&root, &["fetch", "--quiet", other.path("").to_str().unwrap(), "main"]);
    let side = ["-Xours", "-Xtheirs"][dice.below(2)];
    assert!(could(&root, &["merge", "--quiet", "--no-edit", side, "FETCH_HEAD"]), "{side}");
}

fn step(vault: &mut Daemon, dice: &mut Random, step: Step) {
    let key = ["a", "b", "c"][dice.below(3)];
    let value = ["1", "2", "[x, y]", "it's", "- z", "3.10"][dice.below(6)];
    let put = |vault: &Daemon, more: Value| {
        let mut body = json!({ "namespace": "n", "key": key, "value": value });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        // What was refused has changed nothing.
        vault.ask(Request::new("PUT", "/api/facts").json(body.to_string()));
    };
    let named = json!({ "namespace": "n", "key": key });
    match step {
        Step::Set => put(vault, json!({ "correct": dice.below(4) == 0 })),
        Step::Unset => drop(vault.post("/api/facts/unset", &named)),
        Step::Retract => drop(vault.post("/api/facts/retract", &named)),
        Step::Past => put(vault, json!({ "from": "2025-01-01", "until": "2025-02-01" })),
        Step::Write => {
            let text = read(vault, "facts.md").replace(": 1\n", ": 2\n");
            vault.write("facts.md", text + &format!("\n## n\n\n- {key}: {value}\n"));
        }
        Step::TakeOut => {
            let text = read(vault, "facts.md");
            let left: String =
                text.split_inclusive('\n').filter(|line| !line.starts_with(&format!("- {key}:"))).collect();
            vault.write("facts.md", left);
        }
        Step::Halve => {
            let text = read(vault, "facts.md");
            let half = text.split_inclusive('\n').take(text.lines().count() / 2).collect::<String>();
            vault.write("facts.md", half).write("facts.md", text);
        }
        Step::Restart => {
            vault.terminate();
            vault.start();
        }
        Step::Kill => {
            vault.kill();
            vault.start();
        }
        Step::Reindex => drop(vault.run(&["reindex", "--full"])),
        Step::Merge => merge(vault, dice),
    }
}

#[test]
fn the_files_alone_say_it_all() {
    use Step::{Halve, Kill, Merge, Past, Reindex, Restart, Retract, Set, TakeOut, Unset, Write};
    let mut dice = Random::new(seed());
    let mut vault = vault();
    vault
        .write(".gitattributes", "facts.history.md merge=union\n")
        .write("facts.md", "# Facts\n\n## n\n\n- a: 1\n- b: 1\n");
    git(&vault.path(""), &["init", "--quiet", "--initial-branch", "main"]);
    git(&vault.path(""), &["add", ".gitattributes"]);
    vault.start();
    let mut moments = Vec::new();
    for _ in 0..cases(1) {
        let mut steps = vec![Set; 12];
        steps.extend([Unset, Unset, Retract, Retract, Past, Past, Write, Write, Write, Write, TakeOut, TakeOut, Halve]);
        steps.extend([Restart, Kill, Reindex, Merge, Merge]);
        while !steps.is_empty() {
            let at = dice.below(steps.len());
            step(&mut vault, &mut dice, steps.swap_remove(at));
            if steps.len().is_multiple_of(10) {
                moments.push(jiff::Timestamp::now());
            }
        }
    }
    settled(&vault);
    vault.settle();
    // What the daemon has noticed, and what one makes of it that has nothing but the files.
    let mut asked =
        vec!["history=true".to_owned(), "expired=true".to_owned(), "as_of=2025-01-15".to_owned(), String::new()];
    asked.extend(moments.iter().flat_map(|at| [format!("as_of={at}"), format!("known_at={at}")]));
    let answers = |vault: &Daemon| -> Vec<(String, Vec<Value>)> {
        asked.iter().map(|query| (query.clone(), facts(vault, &format!("scope=user&{query}")))).collect()
    };
    let here = answers(&vault);
    let text = read(&vault, "facts.history.md");
    let mut copy = self::vault();
    for file in ["facts.md", "facts.history.md"] {
        copy.write(file, fs::read(vault.path(file)).unwrap());
    }
    copy.start().settle();
    assert_eq!(answers(&copy), here);
    assert_eq!(
        (read(&copy, "facts.history.md"), read(&vault, "facts.history.md")),
        (text.clone(), text),
        "nothing is noted twice"
    );
    // The file without its history says the same of now, but since when.
    let mut new = self::vault();
    new.write("facts.md", fs::read(vault.path("facts.md")).unwrap()).start();
    let now = |vault: &Daemon| -> Vec<(Value, Value)> {
        facts(vault, "scope=user").iter().map(|fact| (fact["key"].clone(), fact["value"].clone())).collect()
    };
    assert_eq!(now(&new), now(&vault));
    // Each line counts, but for those that two have noted alike.
    let mut lines = noted(&vault, "facts.history.md").len();
    let told: usize = here[0].1.iter().map(|fact| fact["history"].as_array().unwrap().len()).sum();
    let ids: Vec<&str> = here[0]
        .1
        .iter()
        .flat_map(|fact| fact["history"].as_array().unwrap())
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    lines -= text_doubles(&read(&vault, "facts.history.md"), &ids);
    assert_eq!(told, lines);
}

/// Lines that stand more than once by their names.
fn text_doubles(history: &str, ids: &[&str]) -> usize {
    ids.iter().map(|id| history.lines().filter(|line| line.ends_with(&format!("^{id}"))).count() - 1).sum()
}
