//! What a model says a conversation was about.

use super::{config, conversation, sync};
use crate::support::prelude::*;

/// Says of each conversation what is true of its first line, and what nobody said.
fn summarizer() -> Endpoint {
    let endpoint = Endpoint::start();
    endpoint.fails(|_| {
        let summary = json!({
            "text": [{"text": "Likes green tea from Kyoto", "lines": [6, 6]}, {"text": "Sold the house in Paris", "lines": [6, 6]}],
            "topics": [], "decisions": [], "dates": [], "actions": [{"text": "Buy green tea", "lines": [999]}],
        });
        Some(Fault::SaysThis(json!({"summary": summary, "entries": []}).to_string()))
    });
    endpoint
}

#[test]
fn a_models_summary_is_written_without_what_nobody_said_and_a_persons_edit_stays() {
    let endpoint = summarizer();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    let talk = conversation(&[("user", "I like green tea from Kyoto."), ("bot", "Noted.")]);
    vault.write("conversations/tea.md", talk.replace("title:", "trust: web\ntitle:").replace("---\n\n", "---\n"));
    sync(&vault);
    let read = || vault.read("summaries/tea.md");
    let first = read();
    assert!(first.contains("- Likes green tea from Kyoto (conversations/tea.md#L6)"), "{first}");
    assert!(!first.contains("Paris") && !first.contains("Buy green"), "{first}");
    assert!(first.contains("made_by: reader") && first.contains("trust: web"), "{first}");
    // Neither again, nor by rules.
    assert_eq!(sync(&vault)["calls"], 1);
    vault.run(&["summaries", "make"]);
    assert_eq!(read(), first);
    let edited = first.replace("- Likes", "- Adores");
    vault.write("summaries/tea.md", &edited);
    vault.write("conversations/tea.md", format!("{talk}\n**18:40 · user:** Bye, then.\n"));
    assert_eq!(sync(&vault)["calls"], 2);
    assert_eq!(vault.read("summaries/tea.md"), edited);
    assert_eq!(fs::read_dir(vault.path("summaries")).unwrap().count(), 1);
}

#[test]
fn where_nothing_stands_nothing_is_written() {
    let endpoint = summarizer();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    vault.write("conversations/a.md", conversation(&[("user", "Soup is good.")]));
    assert_eq!(sync(&vault)["calls"], 1);
    assert!(!vault.path("summaries").exists());
}
