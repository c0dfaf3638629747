//! A disk that hangs under what agents ask: the person and all else go on, and what was taken is given back.

use serde_json::json;

use crate::memory::{Agent, agent, page};
use crate::support::{Connection, Daemon, Over, Request, eventually};

/// More than there are threads for tasks, looks at a time, and requests of one agent that may hang.
const MANY: usize = 40;

fn vault() -> Daemon {
    let mut vault =
        Daemon::with_config("[embed]\nmodel = \"none\"\n[agents]\nrequests_per_minute = 100000\ntimeout_ms = 1000\n");
    vault.write("notes/bread.md", "The dough rests overnight.").start();
    vault
}

/// `MANY` requests of an agent at a time, one each on a connection of its own. Meanwhile `/health` and the person's search are
/// answered, again and again. Gives the status of each.
fn hang(vault: &Daemon, agent: &Agent, ask: impl Fn(&Agent) -> u16 + Sync) -> Vec<u16> {
    let over = Over::default();
    std::thread::scope(|scope| {
        let end = over.at_end();
        let asking: Vec<_> = (0..MANY).map(|_| scope.spawn(|| ask(agent))).collect();
        let health = scope.spawn(|| {
            while !over.is() {
                let reply = Connection::open(vault.address()).send(&Request::get("/health")).expect("it answers");
                assert_eq!(reply.status, 200);
            }
        });
        while !asking.iter().all(|asked| asked.is_finished()) {
            assert_eq!(vault.find("dough"), ["notes/bread.md"]);
        }
        drop(end);
        health.join().unwrap();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    })
}

/// Nine more, one after the other: that is more than are answered at a time.
fn places_are_given_back(ask: impl Fn() -> u16) {
    // What hung has heard from the disk, and ends.
    eventually("an answer", || (ask() == 200).then_some(()));
    let said: Vec<u16> = (0..9).map(|_| ask()).collect();
    assert!(!said.contains(&429), "{said:?}");
}

#[test]
fn agents_whose_pages_hang_hold_up_nobody() {
    let vault = vault();
    let ada = agent(&vault, "ada", "");
    let ask = |ada: &Agent| ada.ask("search", json!({"query": "dough"})).0;
    eventually("an answer", || (ask(&ada) == 200).then_some(()));
    vault.hold("agents/ada/agent.md");
    // It is read anew.
    page(&vault, "ada", "");
    assert_eq!(hang(&vault, &ada, ask), [503; MANY]);
    vault.let_go();
    places_are_given_back(|| ask(&ada));
}

#[test]
fn agents_whose_files_hang_hold_up_nobody() {
    let vault = vault();
    let ada = agent(&vault, "ada", "");
    ada.save("MEMORY.md", "A green aardvark.");
    let ask = |ada: &Agent| ada.ask("get", json!({"path": "MEMORY.md"})).0;
    eventually("an answer", || (ask(&ada) == 200).then_some(()));
    vault.hold("agents/ada/MEMORY.md");
    let mut hung = 0;
    while hung < 32 {
        let said = hang(&vault, &ada, ask);
        assert!(said.iter().all(|status| [429, 503].contains(status)), "{said:?}");
        hung += said.iter().filter(|status| **status == 503).count();
    }
    assert_eq!(hung, 32, "no more of one agent's are worked on at a time");
    assert_eq!(ask(&ada), 429);
    vault.let_go();
    places_are_given_back(|| ask(&ada));
}
