//! Files of facts that are away, or half written, and histories of which one machine has purged something.

use crate::facts::{FACTS, facts, noted, notes_eventually, read, vault};
use crate::support::prelude::*;

const STYLE: &str = "`project/conventions/style`: — → `[short, plain]` · by edit";

/// Takes a file apart and puts it together again, until that has taken less time than it may: then no fact was noted as gone.
fn in_time(mut vault: Daemon, mut attempt: impl FnMut(&mut Daemon, usize)) -> Daemon {
    let mut round = 0;
    until("a round that is fast enough", || {
        let (from, before) = (Instant::now(), unset(&vault));
        round += 1;
        attempt(&mut vault, round);
        let is_fast = from.elapsed() < Duration::from_secs(2);
        assert!(!is_fast || unset(&vault) == before, "{}", read(&vault, "facts.history.md"));
        is_fast
    });
    vault
}

fn unset(vault: &Daemon) -> usize {
    noted(vault, "facts.history.md").iter().filter(|line| line.contains("→ — ·")).count()
}

#[test]
fn what_a_half_written_file_lacks_is_noted_once_it_stays_so_and_the_rest_at_once() {
    let vault = vault().started();
    notes_eventually(&vault, "facts.history.md", STYLE);
    let half = |value: &str| FACTS.split("## Project/").next().unwrap().replace("make test", value);
    let mut vault = in_time(vault, |vault, round| {
        let change = |from: &str, to: &str| format!("`project/test_command`: `{from}` → `{to}` · by edit");
        let was = if round == 1 { "make test".to_owned() } else { format!("whole {}", round - 1) };
        let (now, then) = (format!("half {round}"), format!("whole {round}"));
        vault.write("facts.md", half(&now));
        notes_eventually(vault, "facts.history.md", &change(&was, &now));
        vault.write("facts.md", FACTS.replace("make test", &then));
        notes_eventually(vault, "facts.history.md", &change(&now, &then));
    });
    // Once it stays so, it has gone.
    let lasting = half("half");
    vault.write("facts.md", &lasting);
    let written = fs::metadata(vault.path("facts.md")).unwrap().modified().unwrap();
    notes_eventually(&vault, "facts.history.md", "`project/conventions/style`: `[short, plain]` → — · by edit");
    let told = facts(&vault, "namespace=project/conventions&key=style&history=true");
    let last = told[0]["history"].as_array().unwrap().last().unwrap().clone();
    let learned: jiff::Timestamp = last["learned"].as_str().unwrap().parse().unwrap();
    let written = jiff::Timestamp::try_from(written).unwrap();
    assert!(learned.as_millisecond() - written.as_millisecond() >= 3_000, "{last} {written}");
    assert_eq!(read(&vault, "facts.md"), lasting);
}

#[test]
fn what_has_gone_only_just_is_true_neither_now_nor_later() {
    let vault = vault();
    vault.run(&["fact", "list"]).ok();
    fs::write(vault.path("facts.md"), FACTS.replace("- version: 3.10\n", "")).unwrap();
    for args in [&["fact", "get", "project/version"][..], &["fact", "get", "project/version", "--as-of", "2199-01-01"]]
    {
        assert_eq!(vault.run(args).code, 1, "{args:?}");
    }
}

#[test]
fn a_fact_that_is_set_while_the_file_is_away_unsets_no_other() {
    let mut vault = vault().started();
    notes_eventually(&vault, "facts.history.md", STYLE);
    let set = |vault: &Daemon, by_http: bool, value: &str| {
        if by_http {
            let body = json!({ "namespace": "project", "key": "version", "value": value }).to_string();
            vault.ask(Request::new("PUT", "/api/facts").json(body)).ok();
        } else {
            vault.run(&["fact", "set", "project/version", value]).ok();
        }
    };
    for by_http in [true, false] {
        vault = in_time(vault, |vault, round| {
            let (aside, value) = (vault.path(".facts.md.tmp"), format!("{round}-{by_http}"));
            fs::rename(vault.path("facts.md"), &aside).unwrap();
            set(vault, by_http, &value);
            assert!(read(vault, "facts.md").contains(&format!("version: {value}")));
            fs::rename(&aside, vault.path("facts.md")).unwrap();
            notes_eventually(vault, "facts.history.md", &format!("`project/version`: `{value}` → `3.10` · by edit"));
        });
        assert_eq!(read(&vault, "facts.md"), FACTS);
    }
    // Without a daemon, too: nothing is noted of the others, and nothing is lost.
    vault.terminate();
    let vault = in_time(vault, |vault, round| {
        let aside = vault.path(".facts.md.tmp");
        fs::rename(vault.path("facts.md"), &aside).unwrap();
        set(vault, false, &format!("alone {round}"));
        fs::rename(&aside, vault.path("facts.md")).unwrap();
        vault.run(&["fact", "list"]).ok();
    });
    let told = noted(&vault, "facts.history.md");
    assert!(told.iter().any(|line| line.contains("`alone 1` → `3.10` · by edit")), "{told:?}");
}

#[test]
fn after_a_purge_on_one_machine_the_lines_of_both_join() {
    let here = Daemon::vault();
    let set = |name: &str, value: &str, source: &str| {
        here.run(&["fact", "set", name, value, "--source", source]).ok();
    };
    fs::create_dir_all(here.path("notes")).unwrap();
    for note in ["a", "b"] {
        fs::write(here.path(&format!("notes/{note}.md")), format!("# {note}\n\nSomething of {note}.\n")).unwrap();
    }
    for value in ["one", "two", "three"] {
        set("p/gone", value, "notes/b.md");
        set("p/stays", value, "notes/b.md");
    }
    for (value, note) in [("at seven", "b"), ("at eight", "a"), ("at nine", "b"), ("at ten", "b")] {
        set("p/part", value, &format!("notes/{note}.md"));
    }
    let mut there = Daemon::vault();
    for file in ["facts.md", "facts.history.md"] {
        there.write(file, read(&here, file));
    }
    let lines = |vault: &Daemon, key: &str| -> Vec<String> {
        read(vault, "facts.history.md")
            .lines()
            .filter(|line| line.contains(&format!("`p/{key}`")))
            .map(Into::into)
            .collect()
    };
    let stays = lines(&here, "stays");
    here.run(&["forget", "fact:p/gone", "--purge", "--yes"]).ok();
    here.run(&["forget", "notes/a.md", "--purge", "--derived", "--yes"]).ok();
    assert_eq!((lines(&here, "stays"), lines(&here, "gone")), (stays, Vec::new()), "names and all");
    assert!(!read(&here, "facts.history.md").contains("eight"));
    let history = |vault: &Daemon, key: &str| {
        let found = vault.run(&["fact", "history", &format!("p/{key}"), "--json"]).ok().json()["facts"][0].clone();
        let said = |row: &Value| format!("{} {} → {}", row["learned"], row["old"], row["new"]);
        let lines: Vec<String> = found["history"].as_array().unwrap().iter().map(said).collect();
        (lines, found["windows"].clone())
    };
    let stays = history(&there, "stays");
    assert_eq!(history(&here, "stays"), stays);
    // Joined, as git does with `merge=union`, in either order.
    let (one, two) = (read(&here, "facts.history.md"), read(&there, "facts.history.md"));
    for joined in [format!("{one}{two}"), format!("{two}{one}")] {
        fs::write(here.path("facts.history.md"), &joined).unwrap();
        assert_eq!(history(&here, "stays"), stays);
        assert_eq!(lines(&here, "stays").len(), 6, "each stands there twice, and counts once");
    }
    // What both note after it has two names, and stands there twice.
    fs::write(here.path("facts.history.md"), &one).unwrap();
    for (value, vault) in [("at eleven", &here), ("at eleven", &there), ("at twelve", &here), ("at twelve", &there)] {
        fs::write(vault.path("facts.md"), format!("## p\n\n- stays: three\n- part: {value}\n")).unwrap();
        vault.run(&["fact", "list"]).ok();
    }
    let (one, two) = (read(&here, "facts.history.md"), read(&there, "facts.history.md"));
    assert_ne!(
        lines(&here, "part").last().unwrap().split_once('^'),
        lines(&there, "part").last().unwrap().split_once('^')
    );
    for joined in [format!("{one}{two}"), format!("{two}{one}")] {
        fs::write(here.path("facts.history.md"), &joined).unwrap();
        let (said, _) = history(&here, "part");
        let values: Vec<&str> = said.iter().map(|line| line.rsplit(" → ").next().unwrap()).collect();
        assert_eq!(values.last(), Some(&"\"at twelve\""));
        // Of the fact that only the other machine had it is noted that it is gone, some seconds later.
        let noted = || (lines(&here, "stays"), lines(&here, "part"));
        let before = noted();
        here.run(&["fact", "list"]).ok();
        assert_eq!(noted(), before, "nothing is noted once more");
    }
}

#[test]
fn who_writes_in_place_and_who_sets_facts_lose_no_line() {
    use std::io::Write;
    let vault = vault().started();
    notes_eventually(&vault, "facts.history.md", STYLE);
    let path = vault.path("facts.md");
    let editor = std::thread::spawn(move || {
        for at in 0..150 {
            // As `>>` in a shell does: what is there stays, and the line is written where the file is open.
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            std::thread::yield_now();
            file.write_all(format!("- edited_{at}: x\n").as_bytes()).unwrap();
        }
    });
    let mut set = 0;
    // Once more when the editor is done: each write looks at what was left by those before.
    let mut is_done = false;
    while !is_done || set < 20 {
        is_done = editor.is_finished();
        let body = json!({ "namespace": "set", "key": format!("key_{set}"), "value": "y" }).to_string();
        // Who comes while the other is writing may be told to try again.
        until("the fact to be set", || {
            let reply = vault.ask(Request::new("PUT", "/api/facts").json(&*body));
            assert!([200, 409, 503].contains(&reply.status), "{}", reply.json());
            reply.status == 200
        });
        set += 1;
    }
    editor.join().unwrap();
    let text = read(&vault, "facts.md");
    for at in 0..set {
        assert!(text.contains(&format!("- key_{at}: y\n")), "key_{at} of {set}\n{text}");
    }
    // Of two that were written at the very moment of one of ours, the last stays, and the other is in the trash.
    let trash = fs::read_dir(vault.path(".trash")).into_iter().flatten().flatten();
    let kept: String = trash.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect();
    for at in 0..150 {
        let line = format!("- edited_{at}: x\n");
        assert!(text.contains(&line) || kept.contains(&line), "edited_{at}\n{text}");
    }
}
