//! Facts by the program, by hand and by git, through restarts, kills and rebuilds: the files alone say it all.

use crate::clones::{change, clone_of, commit, could};
use crate::facts::{facts, git, noted, read};
use crate::support::prelude::*;

/// What is done with the facts, or with what knows them.
#[derive(Clone, Copy)]
enum Step {
    Set,
    Unset,
    Retract,
    Past,
    Since,
    Future,
    End,
    WriteWindow,
    Strike,
    Write,
    TakeOut,
    Halve,
    Restart,
    Kill,
    Reindex,
    Merge,
}

/// Whether the history ends with what the file says, of each fact.
fn is_noted(vault: &Daemon) -> bool {
    facts(vault, "scope=user&history=true").iter().all(|fact| {
        let last = fact["history"].as_array().unwrap().iter().rfind(|change| change["change"] != "was");
        // What is to come stands in the file, and what was to come and is struck out.
        let next = &fact["next"]["value"];
        match (fact["state"].as_str().unwrap(), last) {
            ("unset" | "retracted", last) => last.is_none_or(|last| last["new"].is_null()),
            (_, last) if !next.is_null() => last.is_some_and(|last| last["new"] == *next),
            (_, last) => last.is_some_and(|last| last["new"] == fact["value"] || last["change"] == "retracted"),
        }
    })
}

fn settled(vault: &Daemon) {
    until("all changes to be noted", || is_noted(vault));
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
        vault.ask(Request::send("PUT", "/api/facts", &body));
    };
    let named = json!({ "namespace": "n", "key": key });
    match step {
        Step::Set => put(vault, json!({ "correct": dice.below(4) == 0 })),
        Step::Unset => drop(vault.post("/api/facts/unset", &named)),
        Step::Retract => drop(vault.post("/api/facts/retract", &named)),
        Step::Past => put(vault, json!({ "from": "2025-01-01", "until": "2025-02-01" })),
        Step::Since => {
            let from = ["2024-06-01", "2025-01-10", "0"][dice.below(3)];
            put(vault, json!({ "from": from }));
        }
        Step::Future => put(vault, json!({ "from": "2199-01-01", "correct": dice.below(4) == 0 })),
        Step::End => put(vault, json!({ "from": "2025-03-01", "until": "2199-01-01" })),
        Step::WriteWindow => {
            let window = ["(from 2199-01-01)", "(from 2025-05-01)", "(until 2025-06-01)", "(from 0)"][dice.below(4)];
            let text = read(vault, "facts.md");
            let value = ["1", "2"][dice.below(2)];
            vault.write("facts.md", text + &format!("\n## n\n\n- {key}: {value} {window}\n"));
        }
        Step::Strike => {
            let mut lines: Vec<String> = read(vault, "facts.md").lines().map(str::to_owned).collect();
            let begin = format!("- {key}: ");
            // The last one counts.
            if let Some(line) = lines.iter_mut().rfind(|line| line.starts_with(&begin) && !line.contains("~~")) {
                let value = line[begin.len()..].split(" (").next().unwrap();
                *line = format!("{begin}~~{value}~~");
            }
            vault.write("facts.md", lines.join("\n") + "\n");
        }
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
            vault.restart();
        }
        Step::Kill => {
            vault.kill();
            vault.start();
        }
        Step::Reindex => drop(vault.run(&["reindex", "--full"])),
        Step::Merge => merge(vault, dice),
    }
}

/// A vault whose facts git keeps, and its daemon.
fn kept_by_git() -> Daemon {
    let mut vault = Daemon::vault()
        .with(".gitattributes", "facts.history.md merge=union\n")
        .with("facts.md", "# Facts\n\n## n\n\n- a: 1\n- b: 1\n");
    git(&vault.path(""), &["init", "--quiet", "--initial-branch", "main"]);
    git(&vault.path(""), &["add", ".gitattributes"]);
    vault.start();
    vault
}

/// Does each kind of step a few times, in any order, and `after` each of them something else. Gives moments in between.
fn play(vault: &mut Daemon, dice: &mut Random, mut after: impl FnMut(&Daemon, &mut Random)) -> Vec<jiff::Timestamp> {
    use Step::{
        End, Future, Halve, Kill, Merge, Past, Reindex, Restart, Retract, Set, Since, Strike, TakeOut, Unset, Write,
        WriteWindow,
    };
    let mut moments = Vec::new();
    for _ in 0..cases(1) {
        let mut steps = vec![Set; 12];
        steps.extend([Unset, Unset, Retract, Retract, Past, Past, Write, Write, Write, Write, TakeOut, TakeOut, Halve]);
        steps
            .extend([Since, Since, Future, Future, Future, End, WriteWindow, WriteWindow, WriteWindow, Strike, Strike]);
        steps.extend([Restart, Kill, Reindex, Merge, Merge]);
        while !steps.is_empty() {
            let at = dice.below(steps.len());
            step(vault, dice, steps.swap_remove(at));
            after(vault, dice);
            if steps.len().is_multiple_of(10) {
                moments.push(jiff::Timestamp::now());
            }
        }
    }
    settled(vault);
    vault.settle();
    moments
}

/// What is asked of the facts: all there are, with their windows, now, then, and as was known then.
fn told(vault: &Daemon, moments: &[jiff::Timestamp]) -> Vec<(String, Vec<Value>)> {
    let mut asked =
        vec!["history=true".to_owned(), "expired=true".to_owned(), "as_of=2025-01-15".to_owned(), String::new()];
    asked.extend(moments.iter().flat_map(|at| [format!("as_of={at}"), format!("known_at={at}")]));
    let answer = |query: String| (query.clone(), facts(vault, &format!("scope=user&{query}")));
    asked.into_iter().map(answer).collect()
}

/// The values that an answer has.
fn values(vault: &Daemon, query: &str) -> Vec<(Value, Value)> {
    let found = facts(vault, &format!("scope=user&{query}"));
    found.iter().map(|fact| (fact["key"].clone(), fact["value"].clone())).collect()
}

/// Brings the files as they are to another vault, as a sync service does: one after the other, the whole file at once or in place, and none
/// that is there already.
fn carry(from: &Daemon, to: &Daemon, dice: &mut Random) {
    let mut files = ["facts.md", "facts.history.md"];
    if dice.below(2) == 0 {
        files.reverse();
    }
    for file in files {
        let Ok(bytes) = fs::read(from.path(file)) else { continue };
        if fs::read(to.path(file)).is_ok_and(|known| known == bytes) {
            continue;
        }
        if dice.below(2) == 0 {
            fs::write(to.path(".carried"), &bytes).unwrap();
            fs::rename(to.path(".carried"), to.path(file)).unwrap();
        } else {
            fs::write(to.path(file), &bytes).unwrap();
        }
    }
}

#[test]
fn who_sees_the_files_change_and_nothing_else_comes_to_the_same() {
    let mut dice = Random::new(seed());
    let mut vault = kept_by_git();
    let mut mirror = Daemon::vault().started();
    let moments = play(&mut vault, &mut dice, |vault, dice| match dice.below(8) {
        // Some states come late, and are seen together with the next.
        0 => {}
        1 => {
            mirror.terminate();
            carry(vault, &mirror, dice);
            mirror.start();
        }
        2 => {
            carry(vault, &mirror, dice);
            mirror.kill();
            mirror.start();
        }
        3 => {
            carry(vault, &mirror, dice);
            mirror.run(&["reindex", "--full"]).ok();
        }
        4 => {
            // It notes what it finds, where the other has not noted it yet.
            carry(vault, &mirror, dice);
            settled(&mirror);
        }
        _ => carry(vault, &mirror, dice),
    });
    carry(&vault, &mirror, &mut dice);
    settled(&mirror);
    mirror.settle();
    // What it was about to note of a state before comes between, once; then there is nothing left to note.
    until("both to have the same files", || {
        carry(&vault, &mirror, &mut dice);
        told(&mirror, &moments) == told(&vault, &moments)
    });
    for _ in 0..2 {
        assert_eq!(told(&mirror, &moments), told(&vault, &moments));
        for file in ["facts.md", "facts.history.md"] {
            assert_eq!(read(&mirror, file), read(&vault, file), "{file}");
        }
        mirror.terminate();
        mirror.start();
        settled(&mirror);
    }
}

#[test]
fn the_files_alone_say_it_all() {
    let mut dice = Random::new(seed());
    let mut vault = kept_by_git();
    let moments = play(&mut vault, &mut dice, |_, _| {});
    // What the daemon has noticed, and what one makes of it that has nothing but the files.
    let answers = |vault: &Daemon| told(vault, &moments);
    let here = answers(&vault);
    assert_eq!(
        values(&vault, &format!("as_of={}", jiff::Timestamp::now())),
        values(&vault, ""),
        "now is one moment:\n{}\n{}",
        read(&vault, "facts.md"),
        read(&vault, "facts.history.md")
    );
    let text = read(&vault, "facts.history.md");
    let mut copy = Daemon::vault();
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
    // The file without its history says the same of now, but since when, and not what is true until that begins which it says.
    let new = Daemon::vault().with("facts.md", fs::read(vault.path("facts.md")).unwrap()).started();
    let now = |vault: &Daemon| -> Vec<(Value, Value)> {
        let found = facts(vault, "scope=user");
        let of_file = found.iter().filter(|fact| fact["citation"].as_str().unwrap().contains("#L"));
        of_file.map(|fact| (fact["key"].clone(), fact["value"].clone())).collect()
    };
    assert_eq!(now(&new), now(&vault));
    // Each line counts, but for those that two have noted alike, and where both say that a fact begins with the same.
    let mut lines = noted(&vault, "facts.history.md").len();
    let told: usize = here[0].1.iter().map(|fact| fact["history"].as_array().unwrap().len()).sum();
    let ids: Vec<&str> = here[0]
        .1
        .iter()
        .flat_map(|fact| fact["history"].as_array().unwrap())
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    lines -= text_doubles(&read(&vault, "facts.history.md"), &ids);
    assert!(told <= lines && lines - told <= begun_again(&read(&vault, "facts.history.md")), "{told} of {lines}");
}

/// How many lines begin a fact with a value that it began with before.
fn begun_again(history: &str) -> usize {
    let begun = history.lines().filter_map(|line| line.split_once(" · by ")?.0.split_once(' ')?.1.split_once(' '));
    let mut begun: Vec<&str> = begun.map(|(_, said)| said).filter(|said| said.contains(": — → ")).collect();
    let all = begun.len();
    begun.sort_unstable();
    begun.dedup();
    all - begun.len()
}

/// Lines that stand more than once by their names.
fn text_doubles(history: &str, ids: &[&str]) -> usize {
    ids.iter().map(|id| history.lines().filter(|line| line.ends_with(&format!("^{id}"))).count() - 1).sum()
}
