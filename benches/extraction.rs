//! The extraction score of a chat model: `cargo bench --bench extraction -- ENDPOINT MODEL`. Each snippet of `benches/extraction` is the only
//! conversation of a vault of its own, which the real program reads, with all its checks.

#[allow(dead_code, reason = "a test uses the rest")]
#[path = "extraction/score.rs"]
mod score;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use score::{Score, as_conversation, entries_of, snippets};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|given| !given.starts_with("--")).collect();
    let [endpoint, model] = given.as_slice() else {
        println!(
            "give an endpoint and the model's name there: cargo bench --bench extraction -- localhost:11434 qwen3:8b"
        );
        return;
    };
    let mut by_language: BTreeMap<String, Score> = BTreeMap::new();
    for snippet in snippets() {
        let vault = tempfile::tempdir().unwrap();
        let config = format!(
            "[embed]\nmodel = \"none\"\n[memory]\nendpoint = \"{endpoint}\"\nmodel = \"{model}\"\ntimeout_ms = 600000\n"
        );
        fs::write(vault.path().join("memory.toml"), config).unwrap();
        fs::create_dir(vault.path().join("conversations")).unwrap();
        fs::write(vault.path().join("conversations/snippet.md"), as_conversation(&snippet)).unwrap();
        let run =
            Command::new(env!("CARGO_BIN_EXE_vault")).args(["memory", "sync", "--vault"]).arg(vault.path()).output();
        let run = run.unwrap();
        let file = fs::read_to_string(vault.path().join("memories/pending.md")).unwrap_or_default();
        let of = score::score(&snippet, &entries_of(&file));
        println!(
            "{} / {}: {} of {} found, {} invented",
            snippet.language, snippet.name, of.found, of.wanted, of.invented
        );
        if !run.status.success() {
            println!("{}", String::from_utf8_lossy(&run.stderr));
        }
        let sum = by_language.entry(snippet.language).or_default();
        *sum = sum.plus(of);
    }
    let all = by_language.values().fold(Score::default(), |all, one| all.plus(*one));
    for (language, score) in by_language.iter().chain([(&"all".to_owned(), &all)]) {
        let (found, invented) = (score.found_share() * 100.0, score.invented_share() * 100.0);
        println!(
            "{language:10} found {found:5.1} % of {:3}, invented {invented:5.1} % of {:3}",
            score.wanted, score.entries
        );
    }
}
