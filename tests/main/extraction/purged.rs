//! What is forgotten for good while the model reads it.

use std::sync::mpsc::channel;

use super::{config, conversation, likes, pending, sync};
use crate::support::prelude::*;

#[test]
fn what_is_purged_while_the_model_reads_is_neither_proposed_nor_sent_again() {
    for is_readable in [true, false] {
        let endpoint = Endpoint::start();
        let ((asks, is_asked), (go_on, goes_on)) = (channel(), channel());
        let (goes_on, was_asked) = (Mutex::new(goes_on), AtomicBool::new(false));
        endpoint.fails(move |asked| {
            if !was_asked.swap(true, Ordering::SeqCst) {
                asks.send(()).unwrap();
                goes_on.lock().unwrap().recv().unwrap();
                if !is_readable {
                    return Some(Fault::Says("prose"));
                }
            }
            Some(Fault::SaysThis(likes(asked)))
        });
        let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
        let turns = [("user", "I like green tea."), ("bot", "Noted."), ("user", "I like onion soup.")];
        vault.write("conversations/tea.md", conversation(&turns)).start();
        std::thread::scope(|scope| {
            scope.spawn(|| sync(&vault));
            is_asked.recv().unwrap();
            vault.run(&["forget", "conversations/tea.md:6", "--purge", "--yes"]).ok();
            go_on.send(()).unwrap();
        });
        eventually("the rest to be read", || pending(&vault).contains("Likes onion soup").then_some(()));
        assert!(!pending(&vault).contains("green tea"), "{}", pending(&vault));
        assert_eq!(endpoint.sent("green tea"), 1, "it is not sent again");
    }
}
