//! A vault is served with another engine than the one of this process as it is with that.

mod summaries;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::App;
use crate::base::clock::Clock;
use crate::base::config::{Config, Mode};
use crate::index::engine::Engine;
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::sync::Phase;
use crate::models::{Embedder, HashEmbedder};
use crate::serve::wire::SearchQuery;
use crate::vault::disk::Home;
use crate::{serve::jobs, vault::notes};

const PATIENCE: Duration = Duration::from_secs(60);

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    // Lists go by time, and both engines are to find the same.
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
}

fn start(root: &Path, engine: Option<Box<dyn Engine>>) -> App {
    let (home, config) = (Home::open(root).unwrap(), Config::default());
    let lock = home.lock().unwrap();
    let embedder: Arc<dyn Embedder> = Arc::new(HashEmbedder::new(32));
    let model: crate::models::LoadEmbedder = Box::new(move || Ok(Arc::clone(&embedder)));
    let app = match engine {
        Some(engine) => App::with_engine(home, config, lock, false, Some(model.into()), Clock::default(), engine),
        None => App::with_model(home, config, lock, false, Some(model)),
    };
    settled(app.unwrap())
}

/// The app, once all is read and embedded.
fn settled(app: App) -> App {
    let progress = app.shared.wait(PATIENCE, |progress| {
        progress.caught_up
            && progress.phase == Phase::Idle
            && progress.pending_embeddings == 0
            && progress.embeddings_done > 0
    });
    assert!(progress.caught_up && progress.phase == Phase::Idle, "{progress:?}");
    app
}

fn hits(app: &App, query: &str, mode: Mode) -> Vec<String> {
    let query = SearchQuery { q: query.into(), mode: Some(mode), ..SearchQuery::default() };
    let found = notes::search(&app.owner(), &query).unwrap();
    assert_eq!(found.degraded, None);
    found.results.iter().map(|hit| format!("{} {:?} {}", hit.chunk.path, hit.chunk.hash, hit.score)).collect()
}

#[test]
fn a_vault_is_served_with_another_engine() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "memory.toml", "");
    write(root, "notes/river.md", "# River\n\nThe boat lies by the bridge.\n\n## Ferry\n\nIt goes at nine.\n");
    write(root, "notes/garden.md", "---\ntags: [home]\n---\nApples and a bench under the tree.\n");
    write(root, "journal/2026-02-03.md", "Rowed the boat to the garden.\n");
    write(root, "notes/odd.md", "---\nkey: [unclosed\n---\nStill found by its words: ferry.\n");
    let said = |engine: Option<Box<dyn Engine>>| {
        let app = start(root, engine);
        let mut said = Vec::new();
        let mut ask = |app: &App| {
            for (query, mode) in ["boat garden", "ferry", "tag", "-boat"]
                .iter()
                .flat_map(|query| [Mode::Keyword, Mode::Semantic, Mode::Hybrid].map(|mode| (query, mode)))
            {
                said.push((query.to_string(), mode, hits(app, query, mode)));
            }
            let status = app.status(&app.owner()).unwrap();
            said.push((
                format!("{:?}", status.problems),
                Mode::Hybrid,
                vec![format!("{} files, {} chunks, {} embedded", status.files, status.chunks, status.embedded)],
            ));
        };
        ask(&app);
        write(root, "notes/garden.md", "Pears by now, and a boat.\n");
        fs::remove_file(root.join("journal/2026-02-03.md")).unwrap();
        jobs::reindex(&app.owner(), false).unwrap();
        let app = settled(app);
        ask(&app);
        jobs::reindex(&app.owner(), true).unwrap();
        let app = settled(app);
        ask(&app);
        assert_eq!(jobs::verify(&app.owner()).unwrap().damage, Vec::<String>::new());
        write(root, "notes/garden.md", "---\ntags: [home]\n---\nApples and a bench under the tree.\n");
        write(root, "journal/2026-02-03.md", "Rowed the boat to the garden.\n");
        said
    };
    let exact = said(Some(Box::new(ExactEngine::new(Config::default().search.stemmer))));
    assert!(exact.iter().any(|(query, _, hits)| query == "ferry" && hits.len() > 1), "{exact:#?}");
    assert_eq!(exact, said(None));
}

#[test]
fn a_search_waits_for_a_model_that_is_being_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "memory.toml", "");
    write(root, "notes/river.md", "# River\n\nThe boat lies by the bridge.\n");
    let (home, (load, loads)) = (Home::open(root).unwrap(), std::sync::mpsc::channel::<()>());
    let lock = home.lock().unwrap();
    let model: crate::models::LoadEmbedder = Box::new(move || {
        let _ = loads.recv_timeout(PATIENCE);
        Ok(Arc::new(HashEmbedder::new(32)))
    });
    let app = App::with_model(home, Config::default(), lock, false, Some(model)).unwrap();
    app.shared.wait(PATIENCE, |progress| progress.caught_up);
    let by_words = SearchQuery { q: "boat".into(), mode: Some(Mode::Keyword), ..SearchQuery::default() };
    assert_eq!(notes::search(&app.owner(), &by_words).unwrap().results.len(), 1, "the words need none");
    let not_long = SearchQuery { q: "boat".into(), timeout_ms: Some(1), ..SearchQuery::default() };
    assert_eq!(notes::search(&app.owner(), &not_long).unwrap().mode, Mode::Keyword);
    let mode = std::thread::scope(|scope| {
        let search = scope.spawn(|| {
            let query = SearchQuery { q: "boat".into(), ..SearchQuery::default() };
            notes::search(&app.owner(), &query).unwrap().mode
        });
        load.send(()).unwrap();
        search.join().unwrap()
    });
    assert_eq!(mode, Mode::Hybrid);
}
