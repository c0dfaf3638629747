//! `vault mcp`: with a daemon, without one, and when one comes and goes.

use super::{owner, vault};
use crate::support::prelude::*;

fn finds(mcp: &mut Mcp, word: &str) -> bool {
    !mcp.tool("search", json!({ "query": word }))["results"].as_array().unwrap().is_empty()
}

#[test]
fn whoever_asks_must_be_named() {
    let vault = vault();
    let ran = vault.run(&["mcp"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("--agent NAME") && ran.stderr.contains("--owner"), "{}", ran.stderr);
    for agent in ["", "  ", "a b", "a\nb", "ü"] {
        let ran = Ran::of(vault.command(&["mcp"]).env("VAULT_AGENT", agent));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{agent:?}");
    }
    assert_eq!(vault.run(&["mcp", "--owner", "--agent", "x"]).code, 2);
    assert!(!vault.path(".vault/daemon.json").exists());
}

#[test]
fn without_a_daemon_it_does_the_work_itself() {
    let vault = vault();
    let mut one = owner(&vault);
    assert!(finds(&mut one, "tomatoes"));
    // What is saved is found, by others that were started beside it too, and by commands.
    let mut two = owner(&vault);
    fs::write(vault.path("notes/new.md"), "# New\n\nA zeppelin came by.\n").unwrap();
    until("the new note", || finds(&mut two, "zeppelin"));
    assert!(finds(&mut one, "zeppelin"));
    assert_eq!(vault.run(&["search", "zeppelin"]).code, 0);
    // It is no server for the network, and no page.
    let ran = vault.run(&["open", "--print"]);
    assert!(ran.code == 2 && ran.stderr.contains(&format!("process {}", one.pid())), "{}", ran.stderr);
    // The one that did the work ends; the other takes over.
    let (code, said) = one.finish();
    assert_eq!((code, said.as_str()), (0, ""));
    fs::write(vault.path("notes/newer.md"), "# Newer\n\nA walrus came by.\n").unwrap();
    until("the newer note", || finds(&mut two, "walrus"));
    assert_eq!(two.finish().0, 0);
    assert!(!vault.path(".vault/daemon.json").exists(), "nobody serves it any more");
}

#[test]
fn a_restart_of_the_daemon_is_not_noticed() {
    let mut vault = vault().started();
    let mut mcp = owner(&vault);
    assert!(finds(&mut mcp, "tomatoes"));
    vault.restart();
    assert!(finds(&mut mcp, "tomatoes"));
    // Killed: the socket is there, and nobody listens. The request waits for the next daemon.
    vault.kill();
    mcp.line(r#"{"jsonrpc":"2.0","id":"late","method":"tools/call","params":{"name":"search","arguments":{"query":"plums"}}}"#);
    vault.start();
    let answer = mcp.next();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!("late"), &json!(false)), "{answer}");
    assert_eq!(mcp.finish().0, 0);
}

#[test]
fn a_daemon_that_is_started_later_goes_first() {
    let mut vault = vault();
    let mut mcp = owner(&vault);
    assert!(finds(&mut mcp, "tomatoes"));
    // As a service of the system may start after the program that an agent lives in.
    vault.start();
    assert!(finds(&mut mcp, "tomatoes"));
    assert!(!vault.find("tomatoes").is_empty());
    assert!(!vault.path(".vault/lock-wanted").exists());
    vault.terminate();
    assert_eq!(mcp.finish().0, 0);
}

#[test]
fn everything_asked_before_the_end_is_answered_and_a_client_that_dies_ends_it() {
    let vault = vault().started();
    let mut mcp = owner(&vault);
    for id in 0..50 {
        mcp.line(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string());
    }
    let mut seen: Vec<u64> = (0..50).map(|_| mcp.next()["id"].as_u64().unwrap()).collect();
    seen.sort();
    assert!(seen == (0..50).collect::<Vec<u64>>());
    // A client that does not wait for its answers, and one that does not end its last line.
    let mut mcp = Mcp::spawn(&mut vault.command(&["mcp", "--owner"]));
    mcp.line(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    assert_eq!(mcp.next()["id"], "last");
    assert_eq!(mcp.finish(), (0, String::new()));
    // Nor does it go on where the client has died.
    let mut command = vault.command(&["mcp", "--owner"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Nobody reads what it writes, though its input stays open.
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let status = eventually("its end", || {
        let _ = std::io::Write::write_all(&mut input, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_last_answer_is_out_before_the_program_ends() {
    // Nobody can answer, so nothing is open whose closing would take a moment.
    let vault = Daemon::with_config("not toml");
    let request = vault.path("request.json");
    fs::write(&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    for _ in 0..20 {
        let input = fs::File::open(&request).unwrap();
        let ran = Ran::of(vault.command(&["mcp", "--owner"]).stdin(input)).ok();
        assert!(ran.json()["error"]["message"].as_str().unwrap().contains("memory.toml"), "{}", ran.stdout);
    }
}

#[test]
fn a_signal_closes_what_it_had_open() {
    let vault = vault();
    let mut mcp = owner(&vault);
    let pid = rustix::process::Pid::from_raw(mcp.pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(mcp.ended().0, 0);
    assert!(!vault.path(".vault/daemon.json").exists());
}
