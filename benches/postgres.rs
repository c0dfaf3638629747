//! A copy of many vaults on PostgreSQL: how big it is, how fast it is pushed, and searches of it beside those of the embedded index.
//!
//!     scripts/test-postgres cargo bench --bench postgres -- [PASSAGES [VAULTS]]
//!
//! One vault is made of the manuals of this repository, embedded by the bundled model, and pushed under many names, which share no row. Prints
//! JSON. Hits and the bits of their scores are compared with those of the embedded index each time: nothing is approximate.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_vault::access::rules::{Scope, Turn};
use memory_vault::base::config::{Config, Mode};
use memory_vault::index::engine::{Filter, Reader};
use memory_vault::index::local::keyword::FORMAT;
use memory_vault::index::postgres::{Address, Backend, Copied, Holder, PrincipalRow, PushOptions, Pusher};
use memory_vault::index::search::{SearchRequest, Visible, search};
use memory_vault::serve::app::App;
use memory_vault::vault::disk::Home;
use serde_json::json;

#[allow(dead_code)] // the tests need more of it
#[path = "../tests/main/support/postgres.rs"]
mod postgres;

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";
const QUERIES: [&str; 6] = [
    "how are notes indexed", "private notes of an agent", "restore a backup", "\"semantic search\"", "tokens -agent",
    "what happens when the daemon is killed",
];
const ROUNDS: usize = 30;
/// Times that all vaults are asked each query.
const ROUNDS_OF_ALL: usize = 2;

/// A vault of about so many passages, indexed and embedded.
fn vault(folder: &Path, passages: usize) -> App {
    let docs = walkdir::WalkDir::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).into_iter().flatten();
    let pages = docs.filter(|page| page.path().extension().is_some_and(|extension| extension == "md"));
    let sections: Vec<String> = pages
        .map(|page| fs::read_to_string(page.path()).unwrap())
        .flat_map(|text| text.split("\n## ").map(|section| format!("## {section}\n")).collect::<Vec<_>>())
        .collect();
    fs::write(folder.join("memory.toml"), "").unwrap();
    fs::create_dir_all(folder.join("notes")).unwrap();
    // A section is about two passages.
    for at in 0..passages / 2 {
        let text = format!("# Note {at}\n\nThe number {at} of these.\n\n{}", sections[at % sections.len()]);
        fs::write(folder.join(format!("notes/{at}.md")), text).unwrap();
    }
    let home = Home::open(folder).unwrap();
    let lock = home.lock().unwrap();
    let app = App::start(home, Config::default(), lock, false).unwrap();
    app.shared.wait(Duration::from_secs(36_000), |progress| progress.is_complete());
    app
}

/// Milliseconds in the middle, and of the slowest of a hundred.
fn times(mut took: Vec<Duration>) -> serde_json::Value {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    json!({ "p50": at(0.5), "p99": at(0.99) })
}

/// A query server, and where it listens.
fn query_server(address: &str) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vault"));
    let mut child =
        command.args(["serve", "--port", "0", "--backend", address]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().rsplit("http://").next().unwrap().to_owned())
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let (passages, vaults) = (numbers.first().copied().unwrap_or(20_000), numbers.get(1).copied().unwrap_or(10));
    let Some(address) = postgres::database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let app = vault(folder.path(), passages / vaults);
    let reader: Arc<dyn Reader> = app.shared.snapshot().expect("it is indexed");
    let each = reader.statistics(None).chunks as usize;
    let to = Address::new(&address, None, None).unwrap().with_more_patience();
    let token = *blake3::hash(TOKEN.as_bytes()).as_bytes();
    let owner = [PrincipalRow { token, holder: Holder::Owner, folders: "[]".into() }];
    let all = Copied { reader: reader.as_ref(), files: None, principals: &owner, is_now: true };
    let begun = Instant::now();
    for at in 0..vaults {
        let options = PushOptions {
            address: to.clone(),
            name: format!("vault{at}"),
            writer: "bench".into(),
            search: Config::default().search,
            words_format: FORMAT,
        };
        Pusher::new(options).push(&all, |_, _| {}).unwrap();
    }
    let pushed = begun.elapsed().as_secs_f64();
    postgres::sql(&address, "analyze");
    let size = "select relname, pg_total_relation_size(oid) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'";
    let bytes: BTreeMap<String, f64> = postgres::sql(&address, size)
        .into_iter()
        .map(|row| (row[0].clone(), row[1].parse::<f64>().unwrap() / (each * vaults) as f64))
        .collect();
    let embedder = app.shared.embedder().expect("the bundled model");
    let (config, backend) = (Config::default().search, Backend::new(to));
    let asked = |reader: &dyn Reader, text: &str, mode: Mode| {
        let request = SearchRequest {
            text: text.into(),
            mode,
            limit: 10,
            min_relevance: None,
            filter: Filter::default(),
            parts: Vec::new(),
            at: jiff::Timestamp::UNIX_EPOCH,
            context: None,
            turn: Turn::default(),
        };
        let visible = Visible::of(&Scope::Everything, reader.files());
        let found = search(reader, Some(embedder.as_ref()), &visible, &config, &request).unwrap();
        found.hits.iter().map(|hit| (hit.file.path.to_string(), hit.score.to_bits())).collect::<Vec<_>>()
    };
    let mut took: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for (round, query) in (0..ROUNDS).flat_map(|round| QUERIES.map(|query| (round, query))) {
        for mode in [Mode::Keyword, Mode::Hybrid] {
            // In turns, so that whatever else the machine does is the same for both.
            let begun = Instant::now();
            let here = asked(reader.as_ref(), query, mode);
            took.entry(format!("embedded {mode:?}")).or_default().push(begun.elapsed());
            let begun = Instant::now();
            let name = format!("vault{}", round % vaults);
            let there = asked(&backend.open(&name).unwrap().unwrap().0, query, mode);
            took.entry(format!("copy {mode:?}")).or_default().push(begun.elapsed());
            assert_eq!(here, there, "{query} {mode:?}");
        }
    }
    let (mut server, at) = query_server(&address);
    for query in (0..ROUNDS_OF_ALL).flat_map(|_| QUERIES) {
        for mode in ["keyword", "hybrid"] {
            let begun = Instant::now();
            let ask = ureq::get(format!("http://{at}/search")).query("q", query).query("mode", mode);
            let answer = ask.header("Authorization", format!("Bearer {TOKEN}")).call().unwrap();
            let answer = answer.into_body().with_config().limit(1 << 30).read_to_string().unwrap();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["vaults"].as_array().unwrap().len(), vaults);
            assert!(!answer["results"].as_array().unwrap().is_empty());
            took.entry(format!("all vaults, {mode}")).or_default().push(begun.elapsed());
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let memory = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default().to_owned();
    server.kill().unwrap();
    server.wait().unwrap();
    let searches: BTreeMap<String, _> = took.into_iter().map(|(what, took)| (what, times(took))).collect();
    let report = json!({
        "passages": each * vaults,
        "vaults": vaults,
        "pushed_per_second": (each * vaults) as f64 / pushed,
        "bytes_per_passage": bytes,
        "searches_ms": searches,
        "query_server": memory,
    });
    println!("{report:#}");
}
